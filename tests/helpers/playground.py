"""What tests of MuJoCo Playground's tasks have in common."""

import importlib.util

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

import batchenv

if importlib.util.find_spec("mujoco_playground") is None:
    pytest.skip("pip install --no-deps playground", allow_module_level=True)


def make_robots(env_id, lanes, **kwargs):
    return batchenv.make(env_id, lanes, **{"autoreset_mode": AutoresetMode.DISABLED, **kwargs})


def random_actions(lanes, steps, joints, seed=0, size=1.0):
    return np.random.default_rng(seed).uniform(-size, size, (steps, lanes, joints)).astype(np.float32)


def uniform(values, low, high):
    """Whether numbers are of the uniform distribution."""
    values = np.sort(np.asarray(values, np.float64).ravel())
    slack = (high - low) * 0.02  # of rounding to steps
    assert low - slack <= values[0] and values[-1] <= high + slack
    assert np.abs((values - low) / (high - low) - np.linspace(0, 1, values.size)).max() < 0.05


def play(env, actions):
    """All that steps return, as bytes."""
    rows = []
    for action in actions:
        observations, rewards, ended, cut, infos = env.step(action)
        parts = observations if isinstance(observations, dict) else {"": observations}
        rows += [*(parts[name].copy() for name in sorted(parts)), rewards.copy(), ended | cut]
        if "reward" in infos:
            rows += [np.asarray(infos["reward"][name]).copy() for name in sorted(infos["reward"])]
    return [row.tobytes() for row in rows]
