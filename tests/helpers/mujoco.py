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
