"""Procgen's own environments, which batchenv's are compared with: gym3's ProcgenGym3Env of the package procgen2."""

import ctypes
import importlib.util
import sys
import types
from unittest.mock import patch

import numpy as np

GAMES = (
    *("bigfish", "bossfight", "caveflyer", "chaser", "climber", "coinrun", "dodgeball", "fruitbot", "heist", "jumper"),
    *("leaper", "maze", "miner", "ninja", "plunder", "starpilot"),
)
# What procgen2 and gym3 import and their envs do not use.
_ABSENT = ("gym", "gym.envs", "gym.envs.registration", "gym.spaces", "moderngl", "glfw", "imageio", "imageio_ffmpeg")


def _need(module, what):
    if importlib.util.find_spec(module) is None:
        import pytest

        pytest.skip(f"needs {what}")


def need_library():
    """Skips the test where the library, or what it wants of the system, is not installed."""
    _need("procgen", "Procgen's library: pip install --no-deps procgen2==0.10.7")
    for name in ("libGL.so.1", "libgthread-2.0.so.0"):
        try:
            ctypes.CDLL(name)
        except OSError:
            import pytest

            pytest.skip(f"Procgen's library needs {name}: apt-get install libgl1 libglib2.0-0")


def gym3_env():
    """ProcgenGym3Env, imported with modules in place of those that need an old NumPy."""
    need_library()
    _need("gym3", "the reference's interface: pip install --no-deps gym3, and cffi")
    absent = {name: types.ModuleType(name) for name in _ABSENT}
    absent["gym"].Env = object
    absent["gym.envs.registration"].register = lambda *args, **keywords: None
    for name in _ABSENT:
        parent, _, child = name.rpartition(".")
        if parent:
            setattr(absent[parent], child, absent[name])
    with patch.dict(sys.modules, absent):
        from procgen.env import ProcgenGym3Env
    return ProcgenGym3Env


class Reference:
    """One game of ProcgenGym3Env for each seed, stepped one after the other."""

    def __init__(self, game, seeds, **options):
        make = gym3_env()
        options = {"num_threads": 0, **options}
        self.envs = [make(num=1, env_name=game, rand_seed=seed, **options) for seed in seeds]

    def observe(self):
        """(frames, rewards, firsts, infos)."""
        seen = [env.observe() for env in self.envs]
        infos = [env.get_info()[0] for env in self.envs]
        return (
            np.concatenate([observation["rgb"] for _, observation, _ in seen]),
            np.concatenate([reward for reward, _, _ in seen]),
            np.concatenate([first for _, _, first in seen]),
            {name: np.array([info[name] for info in infos]) for name in infos[0] if name != "rgb"},
        )

    def act(self, actions):
        for env, action in zip(self.envs, actions, strict=True):
            env.act(np.array([action], np.int32))

    def close(self):
        for env in self.envs:
            env.close()
