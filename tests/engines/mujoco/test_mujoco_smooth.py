"""Features of models that concern smooth forces, in groups: the same bits as mj_step's."""

import pickle

import numpy as np
import pytest

import batchenv
from batchenv import _core
from helpers.begun import begun
from helpers.mujoco import mujoco
from helpers.together import LANES, TOP, always_alone, assert_like_mj_step, compare, how, xml

pytestmark = pytest.mark.skipif(always_alone(), reason="this MuJoCo or CPU always takes mj_step")

# Two trees: an arm with sites, whose joints lie askew, and a body that flies with a hand on a ball joint.
ARM = """
<body pos="0 0 .5" {arm}><joint name="a" axis="0 1 0" damping=".2" {joint}/><geom size=".08"/><site name="base"/>
  <body pos=".2 0 0" {fore}><joint name="b" axis="1 2 0" {joint} {limit}/>
    <geom type="capsule" fromto="0 0 0 .2 0 0" size=".03"/>
    <site name="tip" pos=".2 .02 0" euler="10 20 30"/>
    <body pos=".2 0 0"><joint name="c" axis="0 0 1" {joint}/><geom size=".04" pos=".05 .02 0"/>
    <site name="end" pos=".05 0 .1" euler="-20 5 40"/></body></body></body>
<body pos="2 0 .6" {arm}><joint name="free" type="free" {free}/><geom size=".1"/><geom size=".05" pos=".1 .1 0"/>
  <body pos="0 .2 0" {fore}><joint name="ball" type="ball" damping=".1" {ball}/><geom size=".06" pos=".03 .05 .02"/>
  <site name="hand" pos=".03 .1 .02" euler="30 20 10"/></body></body>"""
KEYS = ("arm", "fore", "joint", "limit", "free", "ball")
MOTORS = "<actuator>{}</actuator>"
MOTOR = MOTORS.format('<motor joint="b" gear="2"/>')


def arm(**attributes):
    return ARM.format(**{key: attributes.get(key, "") for key in KEYS})


COMPENSATED = {"arm": 'gravcomp="1"', "fore": 'gravcomp="-.3"', "limit": 'actuatorgravcomp="true"'}
MODELS = {
    "gravity compensation": xml(arm(**COMPENSATED), motor=MOTOR),
    "gravity compensation by actuators": xml(
        arm(
            **COMPENSATED | {"limit": 'actuatorgravcomp="true" actuatorfrcrange="-.2 .1"'},
            free='actuatorgravcomp="true"',
        )
    ),
    "no gravity to compensate": xml(
        arm(**COMPENSATED), motor=MOTOR, top=TOP.replace("<option", '<option gravity="0 0 0"')
    ),
}
STATES = """
<intvelocity joint="a" kp="9" kv=".5" actrange="-1 1"/><position joint="b" kp="5" timeconst=".02" gear="2"/>
<general joint="c" dyntype="filter" dynprm=".03" gainprm="2" actearly="true" actlimited="true" actrange="-.3 .4"/>
<general joint="b" dyntype="filterexact" dynprm=".02" gainprm="1" actearly="true" forcerange="-.5 .5"/>
<general joint="c" dyntype="integrator" gaintype="affine" gainprm="1 .5 -1" biastype="affine" biasprm=".1 -2 -1"/>
<general joint="a" dyntype="filter" dynprm=".01" gaintype="affine" gainprm="1 0 -.4" actearly="true"/>
<cylinder tendon="t" timeconst=".05" area="2" bias=".1 -.2 -.3"/><motor joint="a" ctrlrange="-.5 .5"/>"""
MUSCLES = """
<muscle joint="a" lengthrange="-.7 .7" force="20" range=".7 1.2"/><muscle joint="b" lengthrange="-1 1" gear="-1"/>
<muscle tendon="t" lengthrange="-.5 .9" force="8" timeconst=".005 .02" tausmooth=".3" vmax=".4" lmin=".7"/>
<general joint="c" lengthrange="-1 1" gaintype="muscle" gainprm=".75 1.05 9 200 .5 1.6 1.5 1.3 1.2"/>
<general joint="c" lengthrange="-1 1" biastype="muscle" biasprm=".7 1.1 -1 150 .5 1.6 1.5 1.3 1.2"/>"""
TENDON = '<tendon><fixed name="t"><joint joint="c" coef="1"/><joint joint="a" coef="-.5"/></fixed></tendon>'
SENSORS = '<sensor><actuatorfrc actuator="last"/><actuatorvel actuator="last"/><actuatorpos actuator="last"/></sensor>'


def driven(actuators, body=ARM, more=""):
    """The arm with actuators, the last of which has sensors."""
    first, last = actuators.rsplit("/>", 1)
    return xml(arm() if body is ARM else body, TENDON + SENSORS + more, MOTORS.format(f'{first} name="last"/>{last}'))


MODELS |= {"states of actuators": driven(STATES), "muscles": driven(MUSCLES)}
INTEGRATORS = ("Euler", "RK4", "implicitfast")


@pytest.mark.parametrize("integrator", INTEGRATORS)
@pytest.mark.parametrize("name", MODELS)
def test_smooth_features(name, integrator, monkeypatch):
    """In env's steps, and in random states that are compared number by number."""
    text = MODELS[name].replace("<option", f'<option integrator="{integrator}"')
    model = mujoco.MjModel.from_xml_string(text)
    shown = ["qpos", "qvel", "qfrc_actuator", *["act"] * (model.na > 0), *["sensordata"] * (model.nsensor > 0)]

    def make():
        return batchenv.make_mujoco(text, 5, observation=shown, qpos_noise=0.3, num_threads=1)

    with monkeypatch.context() as patch:
        assert_like_mj_step(patch, make, 200)
    for isa in _core.supported_isas():
        monkeypatch.setenv("BATCHENV_ISA", isa)
        differs, compared, _ = compare(model, np.random.default_rng(0), (1, 2, 40, 1, 60))
        assert not differs and compared > 2 * LANES, isa


def changed(monkeypatch, text, **fields):
    """Lanes with models of their own, which stay in groups: fields are multiplied by random numbers."""

    def change(env):
        model, rng = env.get_attr("model")[0], np.random.default_rng(1)
        values = {name: np.asarray(getattr(model, name)) for name in fields}
        values = {name: value * rng.uniform(*fields[name], (8, *[1] * value.ndim)) for name, value in values.items()}
        env.set_params(lanes=[1, 2, 5], **values)
        assert len({told.split(":")[0] for told in how(env)}) == 1, how(env)

    def make():
        return batchenv.make_mujoco(text, 8, observation=["qpos", "qvel"], num_threads=1)

    assert_like_mj_step(monkeypatch, make, 60, change=change)


def test_lanes_with_gravity_compensation_of_their_own(monkeypatch):
    changed(monkeypatch, MODELS["gravity compensation"], body_gravcomp=(0.5, 2), body_mass=(0.5, 2))


def test_a_lane_without_gravity(monkeypatch):
    """MuJoCo then compensates nothing, not even with a zero."""

    def change(env):
        env.set_params(lanes=[2], gravity=np.zeros(3))
        env.set_params(lanes=[3], body_gravcomp=np.zeros_like(env.get_attr("model")[0].body_gravcomp))
        if how(env)[0].startswith("together"):
            assert "gravity or body_gravcomp" in how(env)[2]
            assert "body_gravcomp is 0 or less" in how(env)[3]

    def make():
        return batchenv.make_mujoco(MODELS["gravity compensation"], 6, num_threads=1)

    assert_like_mj_step(monkeypatch, make, 30, change=change)


def test_lanes_with_actuators_of_their_own(monkeypatch):
    fields = {"actuator_dynprm": (0.3, 3), "actuator_gainprm": (0.8, 1.2), "body_mass": (0.5, 2)}
    for text in (MODELS["states of actuators"], MODELS["muscles"]):
        with monkeypatch.context() as patch:
            changed(patch, text, **fields)


def test_snapshots_and_pickles_of_states():
    """States of actuators go on in both."""
    env = begun(batchenv.make_mujoco(MODELS["muscles"], 6, observation=["qpos", "act"], num_threads=1), seed=1)
    env.action_space.seed(1)
    for _ in range(20):
        env.step(env.action_space.sample())
    saved, copied = env.snapshot(), pickle.loads(pickle.dumps(env))
    actions = [env.action_space.sample() for _ in range(20)]
    expected = [env.step(action)[0].copy() for action in actions]
    other = begun(batchenv.make_mujoco(MODELS["muscles"], 6, observation=["qpos", "act"], num_threads=1), seed=2)
    other.restore(saved)
    assert how(other)[0].startswith("together")
    for action, rows in zip(actions, expected, strict=True):
        assert other.step(action)[0].tobytes() == rows.tobytes() == copied.step(action)[0].tobytes()
    assert (expected[-1][:, -4:] != expected[0][:, -4:]).any()
