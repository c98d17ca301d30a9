"""Compares our environments with Gymnasium's, for every family. A Case says which ones, and how; `follow` steps both
with the same actions; `assert_same` requires results of the same form and type, equal in every bit."""

import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import batchenv
from batchenv._core import Infos
from batchenv.text import Texts

MODES = list(AutoresetMode)
OLD = tuple(map(int, gymnasium.__version__.split(".")[:2])) < (1, 4)  # lacks ids and keywords, and asserts


def make_gymnasium(env_id: str, **kwargs):
    """Gymnasium's env, without what would keep it from being compared."""
    if env_id == "Pusher-v4":  # refused with MuJoCo 3, with which its physics is another than with MuJoCo 2
        import mujoco

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(mujoco, "__version__", "2.3.7")
            return gymnasium.make(env_id, disable_env_checker=True, **kwargs)
    try:
        env = gymnasium.make(env_id, disable_env_checker=True, **kwargs)
    except (TypeError, gymnasium.error.UnregisteredEnv) as problem:
        if not OLD:
            raise
        pytest.skip(f"Gymnasium {gymnasium.__version__} cannot be compared with: {problem}")
    if OLD and env_id.startswith("FrozenLake"):  # it has 1/3 to both sides, too, which differs in the last bit
        for ways in (ways for actions in env.unwrapped.P.values() for ways in actions.values() if len(ways) == 3):
            ways[::2] = [((1 - 1 / 3) / 2, *way[1:]) for way in ways[::2]]
    return FloatProb(env) if env_id.startswith(("FrozenLake", "CliffWalking")) else env


@dataclass(frozen=True)
class Case:
    """One comparison with Gymnasium's env of the same id, or with another reference in Gymnasium's form.

    Args:
        env_id: the id of both.
        both: keywords for both.
        ours, theirs: keywords for one of the two.
        physics: keywords for ours; for Gymnasium's envs, attributes that are set.
        attributes: further ones.
        creator: makes one of the reference's envs from the id and its keywords.
        beyond: how far continuous actions go beyond their bounds.
        hold: for how many steps each action is held.
        policy: called with ours and the number of the step, returns the actions; None: random ones.
        starts: options of a second reset, in which every other lane is reset.
        align: for a reference whose episodes start elsewhere: called after each reset with ours, the reference and our
            observations, it brings the reference's new episodes to the state of ours. What the reset itself returned is
            not compared.
        drop: names of infos that are not compared, at any depth.
        excuse: called with what a step of ours and of the reference returned, two lists, and a mask of the lanes whose
            episodes it began: it checks what may differ, and replaces that in ours.
        look: called with ours and the reference after each step, returns what more of the two must be the same.
        rewards: rewards that must occur, so that not only idle steps are compared.
        ends: whether an episode must have ended.
    """

    env_id: str
    both: dict[str, Any] = field(default_factory=dict)
    ours: dict[str, Any] = field(default_factory=dict)
    theirs: dict[str, Any] = field(default_factory=dict)
    physics: dict[str, Any] = field(default_factory=dict)
    attributes: dict[str, Any] = field(default_factory=dict)
    creator: Callable[..., gymnasium.Env] = make_gymnasium
    beyond: float = 1.0
    hold: int = 1
    policy: Callable[..., np.ndarray] | None = None
    starts: dict[str, Any] | None = None
    align: Callable[..., None] | None = None
    drop: tuple[str, ...] = ()
    excuse: Callable[..., None] | None = None
    look: Callable[..., tuple[Any, Any]] | None = None
    rewards: set = field(default_factory=set)
    ends: bool = True

    def make(self, lanes: int, mode: AutoresetMode = AutoresetMode.NEXT_STEP):
        """Ours."""
        return batchenv.make(self.env_id, lanes, autoreset_mode=mode, **self.both, **self.ours, **self.physics)

    def reference(self, lanes: int, mode: AutoresetMode = AutoresetMode.NEXT_STEP):
        """The reference's environments in a SyncVectorEnv."""

        first = []

        def make_one():
            if first:
                return _twin(first[0])
            env = self.creator(self.env_id, **self.both, **self.theirs)
            for name, value in (self.physics | self.attributes).items():
                setattr(env.unwrapped, name, value)
            if hasattr(env.unwrapped, "P"):
                first.append(env)
            return env

        return SyncVectorEnv([make_one] * lanes, autoreset_mode=mode)

    def pair(self, lanes: int, mode: AutoresetMode = AutoresetMode.NEXT_STEP):
        """Ours and the reference's."""
        return self.make(lanes, mode), self.reference(lanes, mode)


def _twin(env: gymnasium.Env) -> gymnasium.Env:
    """Another env like one that has not been reset. They share the table of transitions, which nobody changes, and
    which takes longer to make than a thousand steps."""
    twin = copy.copy(env)
    if env is not env.unwrapped:
        twin.env = _twin(env.env)
    return twin


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


def assert_same(ours, theirs, where="results"):
    """Equal in form, type and every bit."""
    if type(ours) is Infos:
        ours = dict(ours)
    if type(ours) is Texts:
        ours = tuple(ours)
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
    if env.spec.id == "Blackjack-v1":  # Atari has a Blackjack, too
        return (rng.random(lanes) < 0.4).astype(int)
    if name.startswith(("MiniGrid-", "BabyAI-")):
        weights = np.array([2, 2, 6, 2, 1, 2, 0.5])[: space.n]
        return rng.choice(space.n, size=lanes, p=weights / weights.sum())
    if isinstance(space, gymnasium.spaces.Discrete):
        actions = rng.integers(space.n, size=lanes)
        return np.where(rng.random(lanes) < 0.5, 0, 2) if step % 3 == 0 and space.n == 3 else actions
    if isinstance(space, gymnasium.spaces.MultiDiscrete):
        return rng.integers(space.nvec, size=(lanes, len(space.nvec)))
    actions = rng.uniform(env.action_space.low * beyond, env.action_space.high * beyond).astype(np.float32)
    for share, value in ((0.03, env.action_space.high), (0.02, env.action_space.low), (0.01, 0.0)):
        actions = np.where(rng.random(actions.shape) < share, value, actions)
    return actions.astype(np.float32)


def without(infos, names):
    """The infos and the masks of them that have other names than these."""
    kept = {key: value for key, value in infos.items() if key.removeprefix("_") not in names}
    return {key: without(value, names) if isinstance(value, dict) else value for key, value in kept.items()}


def follow(case, ours, theirs, steps, seed=11):
    """Resets and steps the case's reference and ours, or each of a list of ours, with the same actions, and compares
    what they return. With autoreset disabled, finished lanes are reset by masks. Returns how many episodes ended, and
    which rewards occurred."""
    ours = ours if isinstance(ours, list) else [ours]

    def dropped(result):
        return (*result[:-1], without(result[-1], case.drop)) if case.drop else result

    def reset(where, **options):
        expected = theirs.reset(**copy.deepcopy(options))
        for env in ours:
            result = env.reset(**copy.deepcopy(options))
            if case.align:
                case.align(env, theirs, result[0])
            else:
                assert_same(dropped(result), dropped(expected), f"{where}, {env.spec.id}")
        return expected

    for env in ours:
        for space in ("single_observation_space", "observation_space", "single_action_space", "action_space"):
            assert getattr(env, space) == getattr(theirs, space), space
    observation, info = reset("reset", seed=seed)
    if case.starts:
        mask = np.arange(theirs.num_envs) % 2 == 0
        observation, info = reset("second reset", options={"reset_mask": mask, **case.starts})
    rng = np.random.default_rng(5)
    finished, rewards, begun = 0, set(), np.ones(theirs.num_envs, bool)
    for step in range(steps):
        if case.policy:
            actions = case.policy(ours[0], step)
        elif step % case.hold == 0:
            actions = choose(ours[0], rng, step, observation, info, case.beyond)
        expected = theirs.step(actions)
        for env in ours:
            result, where = env.step(actions), f"step {step}, {env.spec.id}"
            if case.excuse:
                result = list(result)
                case.excuse(result, list(expected), begun)
            assert_same(tuple(dropped(result)), dropped(expected), where)
            if case.look:
                assert_same(*case.look(env, theirs), f"{where}, state")
        observation, reward, terminated, truncated, info = expected
        done = terminated | truncated
        finished += int(done.sum())
        rewards.update(reward.tolist())
        begun = np.zeros(theirs.num_envs, bool)
        if theirs.metadata["autoreset_mode"] is AutoresetMode.DISABLED and done.any():
            observation, fresh = reset(f"reset after step {step}", options={"reset_mask": done})
            info, begun = fresh or info, done
    return finished, rewards


def excuse_ints(result, expected, begun):
    """A case's `excuse` for MiniGrid and BabyAI: the reference's directions are np.int64 or int, as the last action has
    left them, and final_obs shows it."""
    pairs = zip(result[4].get("final_obs", ()), expected[4].get("final_obs", ()), strict=True)
    for lane, (ours, theirs) in enumerate(pairs):
        if theirs is not None:
            assert ours["direction"] == theirs["direction"]
            result[4]["final_obs"][lane] = {**ours, "direction": theirs["direction"]}


def play(case, steps, mode=MODES[0], lanes=2):
    """As `follow`; also requires that the random streams end in the same state."""
    ours, theirs = case.pair(lanes, mode)
    found = follow(case, ours, theirs, steps)
    assert_streams_same(ours, theirs)
    return found


def assert_streams_same(ours, theirs):
    """Requires all random streams to be in the same state as Gymnasium's."""
    for lane, (mine, generator) in enumerate(zip(ours.np_random, theirs.np_random, strict=True)):
        assert mine.bit_generator.state == generator.bit_generator.state, f"lane {lane}"
