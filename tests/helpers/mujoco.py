"""MuJoCo's tasks, and a small model. Skips a test module that uses them where MuJoCo is not installed."""

import numpy as np
import pytest

from helpers.parity import assert_same

mujoco = pytest.importorskip("mujoco", reason="pip install 'batchenv[mujoco]'")
pytest.importorskip("imageio", reason="Gymnasium's MuJoCo environments import imageio")

TASKS = [
    "Ant", "HalfCheetah", "Hopper", "Humanoid", "HumanoidStandup", "InvertedDoublePendulum", "InvertedPendulum",
    "Pusher", "Reacher", "Swimmer", "Walker2d",
]  # fmt: skip
PENDULUM = """<mujoco><option timestep="0.02"/><worldbody><body>{joints}<geom size=".1" mass="1"/></body></worldbody>
<actuator><motor joint="a" ctrlrange="-1 1" gear="{gear}"/></actuator></mujoco>"""
JOINTS = '<joint name="a" type="slide" axis="1 0 0"/><joint name="b" axis="0 1 0"/>'


def swing(low, high, lanes, step):
    """Actions with which legged bodies walk, hop, stumble and lie, float32 (lanes, joints): each joint swings a little
    later than the one before it, and each lane in a rhythm and with a strength of its own."""
    lane = np.linspace(0, 1, lanes)[:, None]
    swung = np.sin(2 * np.pi * step / (12 + 36 * lane) + 0.9 * np.arange(low.size))
    return ((low + high) / 2 + (high - low) / 2 * (0.4 + 0.6 * lane) * swung).astype(np.float32)


def same_as_single_lanes(env, lanes, info, told):
    """An env gives what lanes in Python give, whose seeds count up from 3, until an episode ends: every number is the
    same. info: the name of an info, which is told(data) of a lane's mjData."""
    observations, _ = env.reset(seed=3)
    assert observations.tobytes() == np.stack([lane.observe() for lane in lanes]).tobytes()
    rng = np.random.default_rng(0)
    for _ in range(60):
        actions = rng.uniform(-1, 1, env.action_space.shape).astype(np.float32)
        observations, rewards, terminations, _, infos = env.step(actions)
        expected = [lane.step(action) for lane, action in zip(lanes, actions, strict=True)]
        assert observations.tobytes() == np.stack([row[0] for row in expected]).tobytes()
        assert rewards.tolist() == [row[1] for row in expected]
        assert terminations.tolist() == [row[2] for row in expected]
        assert infos[info].tolist() == [told(lane.data) for lane in lanes]
        if terminations.any():
            break


def assert_models_same(ours, theirs):
    """Two models have the same bytes, but for stages that batchenv leaves out where they have nothing to do."""
    ours.opt.disableflags = theirs.opt.disableflags
    saved = [np.zeros(mujoco.mj_sizeModel(model), np.uint8) for model in (ours, theirs)]
    for model, buffer in zip((ours, theirs), saved, strict=True):
        mujoco.mj_saveModel(model, None, buffer)
    np.testing.assert_array_equal(*saved)


def last_rows(observations):
    """Those of the last lane."""
    if isinstance(observations, dict):
        return {key: last_rows(value) for key, value in observations.items()}
    return observations[-1:]


def assert_alone_as_among_others(one, many, policy, steps, names=()):
    """A lane alone does what the last of many does, which has the same seed. policy: gives actions, from the env of
    many lanes and the number of a step. names: of arrays of mjData that are the same in the end, as they are shown."""
    (first, _), (all_of_them, _) = one.reset(seed=many.num_envs - 1), many.reset(seed=0)
    assert_same(first, last_rows(all_of_them))
    for step in range(steps):
        actions = policy(many, step)
        mine, theirs = one.step(actions[-1:]), many.step(actions)
        assert_same(mine[0], last_rows(theirs[0]), step)
        assert mine[1].tobytes() == theirs[1][-1:].tobytes(), step
    for name in names:
        ours, theirs = (env.get_attr("data")[-1] for env in (one, many))
        assert str(getattr(ours, name)) == str(getattr(theirs, name)), name


def assert_pictures_same(ours, theirs):
    """All lanes are drawn as in the reference."""
    for mine, other in zip(ours.render(), theirs.render(), strict=True):
        np.testing.assert_array_equal(mine, other)
