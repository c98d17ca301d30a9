"""MuJoCo's tasks, and a small model. Skips a test module that uses them where MuJoCo is not installed."""

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
