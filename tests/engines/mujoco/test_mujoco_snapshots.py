"""What a lane of MuJoCo's does next does not depend on threads, and goes on bit for bit from a snapshot or a pickle."""

import pickle

import numpy as np
import pytest

import batchenv
from batchenv.envs.mujoco.tasks import assets
from helpers.begun import begun
from helpers.mujoco import TASKS, mujoco
from helpers.parity import assert_same, choose


def test_threads_give_the_same():
    results = []
    for threads in (1, 2):
        env = batchenv.make("Hopper-v5", 130, num_threads=threads)
        env._backend.core.force_parallel(threads == 2)
        env.reset(seed=3)
        rng = np.random.default_rng(3)
        results.append([env.step(choose(env, rng)) for _ in range(30)])
    for a, b in zip(*results, strict=True):
        assert_same(a, b, "")


@pytest.mark.parametrize("env_id", [f"{task}-v5" for task in TASKS])
def test_a_restored_run_goes_on_bit_for_bit(env_id):
    env = begun(batchenv.make(env_id, 2), seed=9)
    rng = np.random.default_rng(2)
    for _ in range(12):
        seen = env.step(choose(env, rng))[0]
    snapshot = env.snapshot()
    actions = [choose(env, rng) for _ in range(15)]
    expected = [env.step(action) for action in actions]
    other = batchenv.make(env_id, 2)
    for target in (env, other):
        np.testing.assert_array_equal(target.restore(snapshot), seen)
        for action, result in zip(actions, expected, strict=True):
            assert_same(target.step(action), result, "")
    env.restore(snapshot, lanes=1, rows=0)
    env.restore(snapshot, lanes=0, rows=0)
    both = env.step(np.repeat(actions[0][:1], 2, axis=0))[0]
    np.testing.assert_array_equal(both[0], both[1])


def test_pickle():
    env = batchenv.make("Ant-v5", 2, healthy_z_range=(0.3, np.inf), include_cfrc_ext_in_observation=False, frame_skip=2)
    env.reset(seed=1)
    action = np.full(env.action_space.shape, 0.3, np.float32)
    for _ in range(5):
        env.step(action)
    copy = pickle.loads(pickle.dumps(env))
    assert copy.get_params() == env.get_params()
    for _ in range(5):
        assert_same(copy.step(action), env.step(action), "")


def test_a_snapshot_of_another_model_is_refused(tmp_path):
    text = (assets() / "hopper.xml").read_text()
    path = tmp_path / "hopper.xml"
    path.write_text(text.replace('damping="1"', 'damping="1.5"'))
    env, other = batchenv.make("Hopper-v5", 1), batchenv.make("Hopper-v5", 1, xml_file=str(path))
    env.reset(seed=1), other.reset(seed=1)
    with pytest.raises(ValueError, match="not of this model"):
        other.restore(env.snapshot())


SLEEPY = """<mujoco><option timestep="0.005"><flag sleep="enable"/></option><worldbody><geom type="plane" size="9 9 1"/>
<body pos="0 0 .11"><freejoint/><geom size=".1 .1 .1" type="box"/></body>
<body pos="0 0 .35"><freejoint/><geom size=".1 .08 .1" type="box"/></body>
<body pos=".8 0 .5"><freejoint/><geom size=".1 .1 .1" type="box"/></body>
<body name="b" pos="2 0 .1"><freejoint/><geom size=".1"/><site name="s"/></body>
<body pos="3 0 1"><joint name="a" axis="0 1 0"/><geom type="capsule" size=".05 .3"/></body></worldbody>
<sensor><accelerometer site="s"/><touch site="s"/><framelinacc objtype="body" objname="b"/><subtreelinvel body="b"/>
</sensor><actuator><motor joint="a" ctrlrange="-1 1" gear="9"/></actuator></mujoco>"""
OF_SLEEPERS = [
    *("qpos", "qvel", "qacc", "xpos", "cvel", "cacc", "cfrc_int", "cfrc_ext", "qfrc_constraint", "sensordata"),
    *("subtree_linvel", "subtree_angmom", "actuator_force", "xfrc_applied", "qacc_warmstart"),
]
can_sleep = pytest.mark.skipif(not hasattr(mujoco.mjtEnableBit, "mjENBL_SLEEP"), reason="bodies sleep since mujoco 3.4")


def sleeping(env, lane):
    return env._backend.translator.lanes.slots[lane].tree_asleep.copy()


@can_sleep
def test_lanes_that_sleep_are_restored_bit_for_bit():
    env, other = (batchenv.make_mujoco(SLEEPY, 3, observation=OF_SLEEPERS, qpos_noise=0.01) for _ in range(2))
    env.reset(seed=5), other.reset(seed=6)
    actions = [np.full((3, 1), np.sin(t), np.float32) for t in range(500)]
    for start in range(0, 500, 50):
        copies, before = [env.snapshot(), pickle.loads(pickle.dumps(env))], env.get_attr("data")
        expected = [env.step(action)[0] for action in actions[start : start + 50]]
        asleep = [sleeping(env, lane) for lane in range(3)]
        other.restore(copies[0])
        for restored in (other, copies[1]):
            for ours, theirs in zip(restored.get_attr("data"), before, strict=True):
                for name in OF_SLEEPERS:
                    np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name), err_msg=name)
            for action, row in zip(actions[start : start + 50], expected, strict=True):
                np.testing.assert_array_equal(restored.step(action)[0], row)
            np.testing.assert_array_equal([sleeping(restored, lane) for lane in range(3)], asleep)
    assert any((numbers >= 0).any() for numbers in asleep)
    env.restore(env.snapshot(lanes=0), lanes=[1, 2])
    rows = env.step(actions[0])[0]
    np.testing.assert_array_equal(rows[1:], rows[:1].repeat(2, axis=0))


@can_sleep
def test_data_of_lanes_that_sleep_are_their_own():
    env = begun(batchenv.make_mujoco(SLEEPY, 2, observation=OF_SLEEPERS), seed=5)
    for t in range(200):
        row = env.step(np.full((2, 1), np.sin(t), np.float32))[0][1]
    data = env.get_attr("data")[1]
    np.testing.assert_array_equal(np.concatenate([getattr(data, name).ravel() for name in OF_SLEEPERS]), row)


@can_sleep
@pytest.mark.parametrize(
    "forged", [[7, 0, 0, 0, 0], [5, 0, 0, 0, 0], [1, 1, -1, -1, -1], [1, -1, -1, -1, -1], [2**31 - 1] * 5]
)
def test_forged_sleep(forged):
    """MuJoCo would follow such numbers out of its arrays, or for ever."""
    env = begun(batchenv.make_mujoco(SLEEPY, 1), seed=5)
    for _ in range(150):
        env.step(np.zeros((1, 1), np.float32))
    lanes = env._backend.translator.lanes
    assert (sleeping(env, 0) >= 0).any()
    words = lanes.records[0].view(np.int32)
    for end in (lanes._row_size, 2 * lanes._row_size):
        words[2 * (end - 3) :][:5] = forged
    env.restore(env.snapshot())
    env.step(np.zeros((1, 1), np.float32))
    assert set(sleeping(env, 0)) <= set(range(-11, 5))


PID = """<mujoco><extension><plugin plugin="mujoco.pid"><instance name="pid"><config key="kp" value="40"/>
<config key="ki" value="40"/><config key="kd" value="4"/></instance></plugin></extension><worldbody>
<body><joint name="a" type="slide" axis="1 0 0"/><geom size=".1" mass="1"/></body></worldbody>
<actuator><plugin joint="a" plugin="mujoco.pid" instance="pid" actdim="1" ctrlrange="-1 1"/></actuator></mujoco>"""


def test_lanes_with_a_plugin_are_restored_bit_for_bit():
    """A controller that remembers: what it adds up is in the integration state."""
    try:
        env, other = (batchenv.make_mujoco(PID, 3, observation=["qpos", "qvel", "act"], qpos_noise=0.1) for _ in "12")
    except ValueError as error:
        pytest.skip(f"this mujoco has no such plugin: {error}")
    env.reset(seed=5), other.reset(seed=6)
    actions = [np.full((3, 1), np.sin(t), np.float32) for t in range(60)]
    for action in actions[:30]:
        env.step(action)
    other.step(-actions[0])
    other.restore(env.snapshot())
    for action in actions[30:]:
        (observations, *_), (others, *_) = env.step(action), other.step(action)
        assert observations.tobytes() == others.tobytes()
        assert abs(observations[:, 2]).min() > 0
    assert env.snapshot() == other.snapshot()
