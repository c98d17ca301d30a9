"""Compares our environments with Gymnasium's, for every family. A Case says which ones; `follow` steps both with the
same actions; `assert_same` requires results of the same form and type, equal in every bit."""

import copy
from dataclasses import dataclass, field
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import batchenv
from batchenv._core import Infos

MODES = list(AutoresetMode)


@dataclass(frozen=True)
class Case:
    """One comparison with Gymnasium's env of the same id.

    Args:
        env_id: the id of both.
        both: keywords for both.
        ours, theirs: keywords for one of the two.
        physics: keywords for ours; for Gymnasium's envs, attributes that are set.
        attributes: further ones.
        beyond: how far continuous actions go beyond their bounds.
        starts: options of a second reset, in which every other lane is reset.
        rewards: rewards that must occur, so that not only idle steps are compared.
        ends: whether an episode must have ended.
    """

    env_id: str
    both: dict[str, Any] = field(default_factory=dict)
    ours: dict[str, Any] = field(default_factory=dict)
    theirs: dict[str, Any] = field(default_factory=dict)
    physics: dict[str, Any] = field(default_factory=dict)
    attributes: dict[str, Any] = field(default_factory=dict)
    beyond: float = 1.0
    starts: dict[str, Any] | None = None
    rewards: set = field(default_factory=set)
    ends: bool = True

    def make(self, lanes: int, mode: AutoresetMode = AutoresetMode.NEXT_STEP):
        """Ours."""
        return batchenv.make(self.env_id, lanes, autoreset_mode=mode, **self.both, **self.ours, **self.physics)

    def reference(self, lanes: int, mode: AutoresetMode = AutoresetMode.NEXT_STEP):
        """Gymnasium's environments in a SyncVectorEnv."""

        def make_one():
            env = make_gymnasium(self.env_id, **self.both, **self.theirs)
            for name, value in (self.physics | self.attributes).items():
                setattr(env.unwrapped, name, value)
            return env

        return SyncVectorEnv([make_one] * lanes, autoreset_mode=mode)

    def pair(self, lanes: int, mode: AutoresetMode = AutoresetMode.NEXT_STEP):
        """Ours and Gymnasium's."""
        return self.make(lanes, mode), self.reference(lanes, mode)


def make_gymnasium(env_id: str, **kwargs):
    """Gymnasium's env, without what would keep it from being compared."""
    if env_id == "Pusher-v4":  # refused with MuJoCo 3, with which its physics is another than with MuJoCo 2
        import mujoco

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(mujoco, "__version__", "2.3.7")
            return gymnasium.make(env_id, disable_env_checker=True, **kwargs)
    env = gymnasium.make(env_id, disable_env_checker=True, **kwargs)
    return FloatProb(env) if env_id.startswith(("FrozenLake", "CliffWalking")) else env


class FloatProb(gymnasium.Wrapper):
    """`prob` as a float always. FrozenLake's and CliffWalking's reset says int 1, from which SyncVectorEnv may take the
    dtype of the whole array, cutting off the other lanes' fractions."""

    def reset(self, **kwargs):
        observation, info = self.env.reset(**kwargs)
        return observation, self.changed(info)

    def step(self, action):
        *result, info = self.env.step(action)
        return *result, self.changed(info)

    def changed(self, info):
        return {key: float(value) if key == "prob" else value for key, value in info.items()}


def assert_same(ours, theirs, where):
    """Equal in form, type and every bit."""
    if type(ours) is Infos:
        ours = dict(ours)
    assert type(ours) is type(theirs), where
    if isinstance(theirs, dict):
        assert ours.keys() == theirs.keys(), where
        for key in theirs:
            assert_same(ours[key], theirs[key], f"{where}, {key}")
    elif isinstance(theirs, tuple):
        assert len(ours) == len(theirs), where
        for i, (a, b) in enumerate(zip(ours, theirs, strict=True)):
            assert_same(a, b, f"{where}, {i}")
    elif isinstance(theirs, np.ndarray):
        assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape), where
        if theirs.dtype == object:
            for i, (a, b) in enumerate(zip(ours, theirs, strict=True)):
                assert_same(a, b, f"{where}, lane {i}")
        elif ours.tobytes() != theirs.tobytes():
            # By bytes: -0.0 == 0.0, and in a flag every byte but 0 equals True.
            lanes = [lane for lane in range(len(theirs)) if ours[lane].tobytes() != theirs[lane].tobytes()]
            raise AssertionError(f"{where}, lanes {lanes}: {ours[lanes[:1]]} is not {theirs[lanes[:1]]}")
    else:
        assert ours == theirs, where


def choose(env, rng, step=0, observation=None, info=None, beyond=1.0):
    """Random actions; if these lead nowhere, then half of the time or more actions that get somewhere."""
    name, lanes, space = env.spec.name, env.num_envs, env.single_action_space
    if name == "Taxi":
        weights = info["action_mask"] * np.array([1, 1, 1, 1, 8, 4]) + 0.05
        return (weights.cumsum(axis=1) > rng.random((lanes, 1)) * weights.sum(axis=1, keepdims=True)).argmax(axis=1)
    if name.startswith("CliffWalking"):
        along = np.where(observation == 36, 0, np.where(observation % 12 == 11, 2, 1))
        return np.where(rng.random(lanes) < 0.8, along, rng.integers(4, size=lanes))
    if name == "Blackjack":
        return (rng.random(lanes) < 0.4).astype(int)
    if isinstance(space, gymnasium.spaces.Discrete):
        actions = rng.integers(space.n, size=lanes)
        return np.where(rng.random(lanes) < 0.5, 0, 2) if step % 3 == 0 and space.n == 3 else actions
    actions = rng.uniform(env.action_space.low * beyond, env.action_space.high * beyond).astype(np.float32)
    for share, value in ((0.03, env.action_space.high), (0.02, env.action_space.low), (0.01, 0.0)):
        actions = np.where(rng.random(actions.shape) < share, value, actions)
    return actions.astype(np.float32)


def follow(ours, theirs, steps, seed=11, beyond=1.0, starts=None, drop=()):
    """Resets and steps Gymnasium's env and ours, or each of a list of ours, with the same actions, and compares what
    they return, without the parts of infos["episode"] that are to be dropped. With autoreset disabled, finished lanes
    are reset by masks. Returns how many episodes ended, and which rewards occurred."""
    ours = ours if isinstance(ours, list) else [ours]

    def compare(call, where):
        expected = call(theirs)
        for env in ours:
            result = call(env)
            for name in drop:
                result[-1].get("episode", {}).pop(name, None), expected[-1].get("episode", {}).pop(name, None)
            assert_same(result, expected, f"{where}, {env.spec.id}")
        return expected

    def reset(where, **options):
        return compare(lambda env: env.reset(options=copy.deepcopy(options)), where)

    for env in ours:
        for space in ("single_observation_space", "observation_space", "single_action_space", "action_space"):
            assert getattr(env, space) == getattr(theirs, space), space
    observation, info = compare(lambda env: env.reset(seed=seed), "reset")
    if starts:
        observation, info = reset("second reset", reset_mask=np.arange(theirs.num_envs) % 2 == 0, **starts)
    rng = np.random.default_rng(5)
    finished, rewards = 0, set()
    for step in range(steps):
        actions = choose(ours[0], rng, step, observation, info, beyond)
        result = compare(lambda env: env.step(actions), f"step {step}")  # noqa: B023
        observation, reward, terminated, truncated, info = result
        done = terminated | truncated
        finished += int(done.sum())
        rewards.update(reward.tolist())
        if theirs.metadata["autoreset_mode"] is AutoresetMode.DISABLED and done.any():
            observation, fresh = reset(f"reset after step {step}", reset_mask=done)
            info = fresh or info
    return finished, rewards


def assert_streams_same(ours, theirs):
    """Requires all random streams to be in the same state as Gymnasium's."""
    for lane, (mine, generator) in enumerate(zip(ours.np_random, theirs.np_random, strict=True)):
        assert mine.bit_generator.state == generator.bit_generator.state, f"lane {lane}"
