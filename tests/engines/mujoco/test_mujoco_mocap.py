"""Mocap bodies that users move with `set_state`: the same bits as by mj_step, in groups."""

import pickle

import numpy as np
import pytest

import batchenv
from helpers.mujoco import mujoco
from helpers.together import BODY, TOP, always_alone, assert_like_mj_step, how, xml

LANES = 8  # fill groups, with one thread
MOVED = [0, 3, 4, 6]
HAND = (
    '<body name="hand" mocap="true" pos=".2 .1 .6" quat="1 .3 .2 -.1"><geom {} size=".05 .04 .1"/>'
    '<site name="s"/></body>'
    '<body name="held" pos=".3 0 .5"><freejoint/><geom size=".05"/><site name="t" pos=".02 0 0"/></body>'
)
MORE = {
    "contacts": "",
    "weld": '<equality><weld body1="hand" body2="held"/></equality>',
    "connect": '<equality><connect body1="held" body2="hand" anchor="0 0 .1"/></equality>',
    "sites": '<equality><connect site1="s" site2="t"/></equality>',
}
SENSORS = (
    '<sensor><framepos objtype="xbody" objname="held" reftype="xbody" refname="hand"/>'
    '<framequat objtype="site" objname="s"/><framelinacc objtype="body" objname="held"/></sensor>'
)
OBSERVED = ["qpos", "qvel", "xpos", "xquat", "geom_xmat", "site_xpos", "sensordata", "mocap_pos", "mocap_quat"]


def made(kind, shape, **options):
    options = {"observation": OBSERVED, "qpos_noise": 0.05, "num_threads": 1} | options
    return batchenv.make_mujoco(xml(BODY + HAND.format(shape), MORE[kind] + SENSORS), LANES, **options)


def drag(env):
    rng = np.random.default_rng(3)
    places = np.array([0.3, 0, 0.5]) + rng.uniform(-0.1, 0.1, (len(MOVED), 1, 3))
    env.set_state({"mocap_pos": places, "mocap_quat": rng.standard_normal((len(MOVED), 1, 4))}, lanes=MOVED)


@pytest.mark.skipif(always_alone(), reason="this MuJoCo or CPU always takes mj_step")
@pytest.mark.parametrize("shape", ['type="sphere"', 'type="box"'])
@pytest.mark.parametrize("kind", MORE)
def test_moved_bodies(kind, shape, monkeypatch):
    envs = []

    def make():
        envs.append(made(kind, shape))
        return envs[-1]

    assert_like_mj_step(monkeypatch, make, 200, change=drag)
    assert all(text.startswith("together with others") and "mj_step" not in text for text in how(envs[0]))


def test_like_mujoco_itself():
    """With poses that change in each step, as those of a hand do that is tracked; their quaternions have any length."""
    env = made("weld", 'type="box"', observation=["qpos", "qvel"])
    env.reset(seed=1)
    env.step(np.zeros((LANES, 1), np.float32))
    model, data = env.get_attr("model")[0], env.get_attr("data")
    rng = np.random.default_rng(2)
    places, turns = env.state["mocap_pos"].copy(), env.state["mocap_quat"].copy()
    for _ in range(100):
        places += rng.uniform(-0.01, 0.01, places.shape)
        turns += rng.uniform(-0.1, 0.1, turns.shape)
        env.set_state({"mocap_pos": places, "mocap_quat": turns})
        observations = env.step(np.ones((LANES, 1), np.float32))[0]
        for lane in range(LANES):
            data[lane].ctrl[:] = 1
            data[lane].mocap_pos[:], data[lane].mocap_quat[:] = places[lane], turns[lane]
            mujoco.mj_step(model, data[lane])
            np.testing.assert_array_equal(observations[lane], np.append(data[lane].qpos, data[lane].qvel))


def test_poses_stay_until_a_reset_and_are_in_snapshots_and_pickles():
    env = made("weld", 'type="box"')
    env.reset(seed=1)
    start = env.state
    drag(env)
    action = np.full((LANES, 1), 0.3, np.float32)
    for _ in range(9):
        env.step(action)
    there = env.state
    assert (there["mocap_pos"] != start["mocap_pos"]).any((1, 2)).tolist() == [k in MOVED for k in range(LANES)]
    snapshot, copy = env.snapshot(), pickle.loads(pickle.dumps(env))
    expected = [env.step(action)[0] for _ in range(20)]
    env.reset(options={"reset_mask": np.arange(LANES) == 3})
    for name in ("mocap_pos", "mocap_quat"):
        np.testing.assert_array_equal(env.state[name][3], start[name][3])
        np.testing.assert_array_equal(env.state[name][4], there[name][4])
    env.restore(snapshot)
    for again in (env, copy):
        np.testing.assert_array_equal(again.state["mocap_quat"], there["mocap_quat"])
        for row in expected:
            np.testing.assert_array_equal(again.step(action)[0], row)


def test_wrong_poses():
    env = made("contacts", 'type="box"')
    env.reset(seed=1)
    before = env.state
    with pytest.raises(ValueError, match=r"mocap_quat of lane 2 must be quaternions, not all 0"):
        env.set_state({"mocap_pos": [[1, 1, 1]], "mocap_quat": np.zeros((1, 4))}, lanes=[2])
    with pytest.raises(ValueError, match=r"mocap_pos of lane 0 must be finite numbers, got inf"):
        env.set_state({"mocap_pos": [[0, np.inf, 0]]})
    with pytest.raises(ValueError, match=r"mocap_pos has shape \(3,\)"):
        env.set_state({"mocap_pos": [0, 0, 0]})
    for name in ("mocap_pos", "mocap_quat"):
        np.testing.assert_array_equal(env.state[name], before[name])
    plain = batchenv.make_mujoco(xml(BODY, top=TOP), 2)
    plain.reset(seed=1)
    with pytest.raises(ValueError, match="have no state field 'mocap_pos'"):
        plain.set_state({"mocap_pos": [[0, 0, 0]]})
