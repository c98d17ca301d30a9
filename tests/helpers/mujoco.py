"""MuJoCo's tasks, and a small model. Skips a test module that uses them where MuJoCo is not installed."""

import numpy as np
import pytest

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
