"""What a step of MuJoCo takes from the step before besides its integration state belongs to a lane, not to a worker."""

import pickle

import numpy as np
import pytest

import batchenv
from helpers.mujoco import mujoco

ENERGY = """<mujoco><option><flag energy="enable"/></option><worldbody><body pos="0 0 1"><joint name="j" axis="0 1 0"/>
<geom type="capsule" size=".05 .2" pos="0 0 .2"/></body></worldbody><sensor><e_kinetic/><e_potential/></sensor>
<actuator><motor joint="j" ctrlrange="-1 1"/></actuator></mujoco>"""
INVERSE = """<mujoco><option><flag fwdinv="enable"/></option><worldbody><geom type="plane" size="9 9 1"/>
<body pos="0 0 .101"><joint name="j" type="slide" axis="0 0 1"/><geom size=".1"/></body></worldbody>
<actuator><motor joint="j" ctrlrange="-1 1" gear="200"/></actuator></mujoco>"""
CLOTH = """<mujoco><option timestep=".003" integrator="discrete"><flag ipc="enable"/></option><worldbody>
<geom type="plane" size="5 5 1"/>
<body pos="0 0 .12"><joint name="j" type="slide" axis="0 0 1"/><geom size=".05"/></body>
<flexcomp name="cloth" type="grid" count="3 3 1" spacing=".1 .1 .1" pos="0 0 .03" radius=".02" dim="2" mass=".1">
<contact selfcollide="none"/></flexcomp></worldbody>
<actuator><motor joint="j" ctrlrange="-1 1" gear="30"/></actuator></mujoco>"""
IPC = pytest.mark.skipif(not hasattr(mujoco.mjtEnableBit, "mjENBL_IPC"), reason="a flag of mujoco 4")
MODELS = pytest.mark.parametrize(
    "text, observed",
    [
        pytest.param(ENERGY, ["sensordata", "energy"], id="energy"),
        pytest.param(ENERGY.replace("<option", '<option integrator="RK4"'), ["sensordata"], id="energy-RK4"),
        pytest.param(INVERSE, ["qpos", "qfrc_inverse"], id="qfrc_inverse"),
        pytest.param(CLOTH, ["qpos", "flexvert_lambda"], id="cloth", marks=IPC),
    ],
)
ACTIONS = [np.sin(np.arange(5) + 0.3 * t).astype(np.float32)[:, None] for t in range(40)]


def bare(text, observed, frame_skip):
    """The same steps, by mj_step, with an mjData for each lane."""
    model = mujoco.MjModel.from_xml_string(text)
    lanes = [mujoco.MjData(model) for _ in range(5)]
    for data in lanes:
        mujoco.mj_forward(model, data)
    for action in ACTIONS:
        for data, control in zip(lanes, action, strict=True):
            data.ctrl[:] = control
            for _ in range(frame_skip):
                mujoco.mj_step(model, data)
        yield np.array([np.concatenate([getattr(data, name).ravel() for name in observed]) for data in lanes])


@MODELS
@pytest.mark.parametrize("frame_skip", [1, 3])
def test_lanes_that_share_a_worker(text, observed, frame_skip):
    """The results are those of an mjData for each lane, with any number of threads."""
    for threads in (1, 2):
        env = batchenv.make_mujoco(text, 5, frame_skip=frame_skip, observation=observed, num_threads=threads)
        env._backend.core.force_parallel(threads == 2)
        env.reset(seed=0)
        for action, expected in zip(ACTIONS, bare(text, observed, frame_skip), strict=True):
            np.testing.assert_array_equal(env.step(action)[0], expected)
    for data, row in zip(env.get_attr("data"), expected, strict=True):
        np.testing.assert_array_equal(np.concatenate([getattr(data, name).ravel() for name in observed]), row)


@MODELS
def test_a_restored_run_goes_on(text, observed):
    env, other = (batchenv.make_mujoco(text, 5, observation=observed, num_threads=1) for _ in range(2))
    env.reset(seed=0), other.reset(seed=1)
    for action in ACTIONS[:20]:
        env.step(action)
    copies = [env.snapshot(), pickle.loads(pickle.dumps(env))]
    expected = [env.step(action)[0] for action in ACTIONS[20:]]
    other.step(ACTIONS[5])
    for target in (env, other):
        target.restore(copies[0])
        for action, rows in zip(ACTIONS[20:], expected, strict=True):
            np.testing.assert_array_equal(target.step(action)[0], rows)
    for action, rows in zip(ACTIONS[20:], expected, strict=True):
        np.testing.assert_array_equal(copies[1].step(action)[0], rows)


@pytest.mark.skipif(not hasattr(mujoco.MjData, "efm_c"), reason="arrays of mujoco 4")
@pytest.mark.parametrize("name", ["efm_c", "efm_diag", "iacc"])
def test_arrays_that_lie_elsewhere_after_each_step(name):
    with pytest.raises(ValueError, match=f"no array of floats '{name}'"):
        batchenv.make_mujoco(ENERGY, 2, observation=[name])
