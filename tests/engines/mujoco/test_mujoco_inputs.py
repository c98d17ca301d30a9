"""What users set of lanes besides actions, with `set_state`: forces, and where mocap bodies are. The same bits as by
mj_step, in groups."""

import pickle

import numpy as np
import pytest

import batchenv
from helpers.mujoco import mujoco
from helpers.together import BODY, LEG, MOTOR, TOP, always_alone, assert_like_mj_step, how, xml

in_groups = pytest.mark.skipif(always_alone(), reason="this MuJoCo or CPU always takes mj_step")

LANES = 8  # fill groups, with one thread
PUSHED = [1, 2, 5]
ROBOT = (
    '<body pos="0 0 .4"><freejoint/><geom type="capsule" size=".05 .2"/><site name="s" pos=".1 0 0"/>'
    '<body pos=".2 0 0"><joint type="ball" damping=".2"/><geom size=".06" pos=".1 0 0"/>'
    '<body pos=".2 0 0"><joint name="b" axis="0 1 0" limited="true" range="-20 20"/><geom size=".1 .05 .03" {}/>'
    "<body><geom size='.02' pos='.1 0 0'/></body></body></body></body>"
)
SENSORS = '<sensor><force site="s"/><accelerometer site="s"/></sensor>'
OBSERVED = ["qpos", "qvel", "qacc", "cfrc_ext", "cfrc_int", "cacc", "qfrc_smooth", "sensordata", "xfrc_applied"]


def forces(env, rng, names=("qfrc_applied", "xfrc_applied")):
    """Some for every lane of PUSHED."""
    return {name: rng.standard_normal((len(PUSHED), *env.state[name].shape[1:])) * 5 for name in names}


def push(env):
    given = forces(env, np.random.default_rng(3))
    given["xfrc_applied"][:, ::2] = 0
    env.set_state(given, lanes=PUSHED)


@in_groups
@pytest.mark.parametrize("kind", ["sphere", "box"])  # the latter's contacts with the ball are MuJoCo's
@pytest.mark.parametrize(
    "option", ['cone="elliptic"', 'solver="PGS"', 'integrator="RK4"', 'jacobian="sparse"', 'integrator="implicitfast"']
)
def test_pushed_lanes(option, kind, monkeypatch):
    top = TOP.replace("<option", f"<option {option}")
    text = xml(BODY.replace('"b"', '"c"') + ROBOT.format(f'type="{kind}"'), SENSORS, top=top)
    made = []

    def make():
        more = {"qpos_noise": 0.2, "qvel_noise": 0.3, "num_threads": 1}
        made.append(batchenv.make_mujoco(text, LANES, observation=OBSERVED, **more))
        return made[-1]

    assert_like_mj_step(monkeypatch, make, 200, change=push)
    assert all(text.startswith("together with others") and "mj_step" not in text for text in how(made[0]))


def test_like_mujoco_itself():
    """Each lane goes where MuJoCo goes with the same forces, with which `data` begins, too."""
    env = batchenv.make_mujoco(xml(BODY), 4, qpos_noise=0.1)
    env.reset(seed=1)
    env.step(np.zeros((4, 1), np.float32))
    rng = np.random.default_rng(2)
    env.set_state({"qfrc_applied": rng.standard_normal((4, 2)), "xfrc_applied": rng.standard_normal((4, 2, 6))})
    model, data = env.get_attr("model")[0], env.get_attr("data")
    for lane in range(4):
        np.testing.assert_array_equal(data[lane].xfrc_applied, env.state["xfrc_applied"][lane])
        np.testing.assert_array_equal(data[lane].qfrc_applied, env.get_attr("qfrc_applied")[lane])
    actions = rng.uniform(-1, 1, (200, 4, 1)).astype(np.float32)
    for action in actions:
        observations = env.step(action)[0]
        for lane in range(4):
            data[lane].ctrl[:] = action[lane]
            mujoco.mj_step(model, data[lane])
            np.testing.assert_array_equal(observations[lane], np.append(data[lane].qpos, data[lane].qvel))
    last = env.get_attr("data")
    for lane in range(4):
        np.testing.assert_array_equal(last[lane].qfrc_smooth, data[lane].qfrc_smooth)


def test_data_keeps_the_results_of_a_step_when_forces_are_set():
    env = batchenv.make_mujoco(xml(BODY), 2, qpos_noise=0.1)
    env.reset(seed=1)
    env.step(np.ones((2, 1), np.float32))
    before = env.get_attr("data")[0]
    env.set_state({"xfrc_applied": np.ones((2, 6))})
    after = env.get_attr("data")[0]
    np.testing.assert_array_equal(after.qfrc_smooth, before.qfrc_smooth)
    assert (after.xfrc_applied == 1).all() and not before.xfrc_applied.any()


def test_forces_stay_until_a_reset_and_are_in_snapshots_and_pickles():
    env = batchenv.make_mujoco(xml(BODY), 4, qpos_noise=0.1, max_episode_steps=30, autoreset_mode="SameStep")
    env.reset(seed=1)
    push = np.arange(48.0).reshape(4, 2, 6)
    env.set_state({"xfrc_applied": push})
    env.set_state({"qfrc_applied": [0.5, -1]}, lanes=[2])
    action = np.full((4, 1), 0.3, np.float32)
    for _ in range(9):
        env.step(action)
    np.testing.assert_array_equal(env.state["xfrc_applied"], push)
    np.testing.assert_array_equal(env.state["qfrc_applied"], [[0, 0], [0, 0], [0.5, -1], [0, 0]])
    snapshot, copy = env.snapshot(), pickle.loads(pickle.dumps(env))
    expected = [env.step(action)[0] for _ in range(20)]
    env.reset(options={"reset_mask": np.array([True, False, False, False])})
    assert not env.state["xfrc_applied"][0].any()
    np.testing.assert_array_equal(env.state["xfrc_applied"][1:], push[1:])
    env.step(action)  # the others' episodes end
    assert not env.state["xfrc_applied"].any() and not env.state["qfrc_applied"].any()
    env.restore(snapshot)
    for again in (env, copy):
        np.testing.assert_array_equal(again.state["xfrc_applied"], push)
        for row in expected:
            np.testing.assert_array_equal(again.step(action)[0], row)


def test_set_state_of_forces_changes_nothing_else():
    env = batchenv.make_mujoco(xml(BODY), 3, frame_stack=3, qvel_noise=1.0)
    env.reset(seed=1)
    for _ in range(3):
        before = env.step(np.zeros((3, 1), np.float32))[0]
    rng, elapsed = env.np_random[1].random(), env.state["elapsed_steps"]
    after = env.set_state({"xfrc_applied": np.ones((2, 6))}, lanes=1)
    np.testing.assert_array_equal(after, before)  # earlier frames, too
    np.testing.assert_array_equal(env.state["elapsed_steps"], elapsed)
    assert env.np_random[1].random() == rng
    env.set_state({"xfrc_applied": np.zeros((2, 6)), "elapsed_steps": 7}, lanes=1)
    assert env.state["elapsed_steps"].tolist() == [3, 7, 3] and not env.state["xfrc_applied"].any()


def test_forces_that_are_observed():
    env = batchenv.make_mujoco(xml(BODY), 3, observation=["qpos", "xfrc_applied"])
    env.reset(seed=1)
    shown = env.set_state({"xfrc_applied": np.ones((2, 6))}, lanes=1)[:, 2:]
    np.testing.assert_array_equal(shown, [[0.0] * 12, [1.0] * 12, [0.0] * 12])
    np.testing.assert_array_equal(env.step(np.zeros((3, 1), np.float32))[0][:, 2:], shown)
    assert not env.reset(options={"reset_mask": np.array([False, True, False])})[0][:, 2:].any()


@pytest.mark.parametrize(
    ("values", "error", "match"),
    [
        ({"xfrc_applied": np.zeros((3, 6))}, ValueError, r"xfrc_applied has shape \(3, 6\), but must be one value of"),
        ({"xfrc_applied": 1.0}, ValueError, r"xfrc_applied has shape \(\)"),
        ({"qfrc_applied": np.zeros((2, 2))}, ValueError, r"qfrc_applied has 2 values"),
        ({"qfrc_applied": [np.nan, 0]}, ValueError, "qfrc_applied of lane 0 must be finite numbers, got nan"),
        ({"qfrc_applied": [[0, 0], [0, 0], [0, np.inf]]}, ValueError, "of lane 2 must be finite numbers, got inf"),
        ({"xfrc_applied": np.full((2, 6), "up")}, TypeError, "xfrc_applied has dtype"),
        ({"qfrc_applied": [1, 1], "xfrc_applied": np.full((2, 6), np.nan)}, ValueError, "xfrc_applied of lane 0"),
        ({"qfrc_applied": [1, 1], "model_fingerprint": 3}, ValueError, "not of this model"),
        ({"xfrc": np.zeros((2, 6))}, ValueError, "no state field 'xfrc'; they have: .*qfrc_applied, xfrc_applied"),
    ],
)
def test_wrong_forces(values, error, match):
    env = batchenv.make_mujoco(xml(BODY), 3)
    env.reset(seed=1)
    with pytest.raises(error, match=match):
        env.set_state(values)
    assert not env.state["xfrc_applied"].any() and not env.state["qfrc_applied"].any()
    with pytest.raises(AttributeError, match=r"set_state\(\) changes fields of the state"):
        env.set_attr("xfrc_applied", np.zeros((3, 2, 6)))


@pytest.mark.skipif(not hasattr(mujoco.mjtEnableBit, "mjENBL_SLEEP"), reason="bodies sleep since mujoco 3.4")
def test_a_push_wakes_what_sleeps():
    top = '<mujoco><option timestep="0.005"><flag sleep="enable"/></option><worldbody><geom type="plane" size="9 9 1"/>'
    body = '<body pos="1 0 .1"><freejoint/><geom type="box" size=".1 .1 .1"/></body>'
    env = batchenv.make_mujoco(xml(LEG.format('<geom size=".1"/>') + body, motor=MOTOR, top=top), 2)
    env.reset(seed=1)
    action = np.zeros((2, 1), np.float32)
    for _ in range(600):
        rest = env.step(action)[0]
    pushes = np.zeros((2, *env.state["xfrc_applied"].shape[1:]))
    pushes[1, -1, 0] = 100
    env.set_state({"xfrc_applied": pushes})
    assert env.get_attr("data")[1].xfrc_applied[-1, 0] == 100
    for _ in range(20):
        moved = env.step(action)[0]
    assert abs(moved[1, 2] - rest[1, 2]) > 0.01 and abs(moved[0, 2] - rest[0, 2]) < 1e-6


@pytest.mark.parametrize("env_id", ["Ant-v5", "Humanoid-v5", "Hopper-v4"])
def test_gymnasiums_tasks(env_id, monkeypatch):
    def make():
        return batchenv.make(env_id, LANES, autoreset_mode="SameStep")

    def push_all(env):
        env.set_state(forces(env, np.random.default_rng(1), ["xfrc_applied"]), lanes=PUSHED)

    assert_like_mj_step(monkeypatch, make, 40, change=push_all, together=not always_alone())
