"""The ids that tests over all environments run for: those with kernels of our own and, where it is cheap enough, one of
MuJoCo's. tests/engines goes through all ids of the simulators."""

import importlib.util

import gymnasium
import pytest

import batchenv

# Grid worlds have a hundred and more, whose observations have several parts: tests/envs/test_minigrid.py has them.
_GRIDS = ("MiniGrid", "BabyAI")
OWN = [env_id for env_id in batchenv.list_envs(None) if batchenv.registry.TABLE[env_id].family not in _GRIDS]
NO_MUJOCO = pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("mujoco", "imageio")),
    reason="mujoco is not installed: pip install 'batchenv[mujoco]'",
)
SAMPLE = [pytest.param(env_id, marks=NO_MUJOCO) for env_id in ("Hopper-v5",)]
ALL = [*OWN, *SAMPLE]
_BOX2D = [env_id for env_id in OWN if batchenv.registry.TABLE[env_id].family == "Box2D"]
IN_GYMNASIUM = [
    env_id
    for env_id in OWN
    if env_id in gymnasium.registry and (env_id not in _BOX2D or importlib.util.find_spec("Box2D"))
]
DRAWN_ALIKE = [env_id for env_id in IN_GYMNASIUM if env_id not in _BOX2D]  # tests/envs/test_box2d.py has the others


def is_slow(env_id):
    """Whether a step of a lane takes microseconds, so that tests of thousands of lanes make fewer steps."""
    return env_id in _BOX2D
