"""Fragments: some steps of all lanes of a BatchEnv, taken with a policy, as arrays that can be sent to a learner."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import concatenate, create_empty_array
from numpy.typing import NDArray

from batchenv.backend.lanes import rows_of
from batchenv.backend.results import final_rows, parted
from batchenv.backend.snapshot import Snapshot
from batchenv.env import wrapping


class Fragment(NamedTuple):
    """`steps` steps (T) of all lanes (N) of one actor. Arrays are read-only: they lie in Ray's object store.

    Attributes:
        observations: (T + 1, N, ...). Row t is what the policy saw before step t; row T comes after the last step, and
            is row 0 of the actor's next fragment.
        actions: (T, N, ...).
        rewards, terminations, truncations: (T, N).
        final_rows: with autoreset "SameStep" a tuple (steps, lanes, rows): the last observations of the episodes that
            ended here, row i of which belongs to lane `lanes[i]` in step `steps[i]`; else None.
        extras: what else the policy returned, by name, (T, N, ...).
        actor, number: which actor this is from, and which of its fragments it is, both from 0 on.
        version: of the weights that the policy had: how many times `push` had been called.
        staleness: how many times `push` was called after that, until the fragment was taken.
        tries: 1, or more if actors died over this fragment.
    """

    observations: Any
    actions: NDArray[Any]
    rewards: NDArray[np.float64]
    terminations: NDArray[np.bool_]
    truncations: NDArray[np.bool_]
    final_rows: tuple[NDArray[np.int64], NDArray[np.int64], Any] | None
    extras: dict[str, NDArray[Any]]
    actor: int
    number: int
    version: int
    staleness: int = 0
    tries: int = 1


def put(tree: Any, index: Any, values: Any) -> None:
    """`tree[index] = values` of each array of an observation."""
    if isinstance(tree, dict):
        for name, part in tree.items():
            put(part, index, values[name])
    elif isinstance(tree, tuple):
        for part, value in zip(tree, values, strict=True):
            put(part, index, value)
    else:
        tree[index] = values


class FragmentMaker:
    """Lanes, a policy, and arrays that each fragment is written into.

    The arrays are written again by the next fragment, so whoever wants to keep one copies it first: memory that is
    already mapped is quicker to write than new memory.

    Args:
        make_env: makes the BatchEnv.
        policy: as `RaySampler` describes it; None: random actions.
        steps: per fragment.
        seed, actor: the same for all actors, and which of them this is.
        saved: lanes to go on from.
    """

    def __init__(
        self,
        make_env: Callable[[], Any],
        policy: Callable[..., Any] | None,
        steps: int,
        seed: int,
        actor: int,
        saved: Snapshot | None = None,
    ):
        self.make_env, self.policy = make_env, policy
        self.steps, self.seed, self.actor, self.saved = steps, seed, actor, saved
        self.env: Any = None

    def start(self, number: int) -> None:
        """Makes the env, and puts its first observations where those after a fragment are."""
        env = self.make_env()
        if env.autoreset_mode is AutoresetMode.DISABLED:
            raise ValueError("fragments need autoreset: pass autoreset_mode='NextStep' or 'SameStep'")
        wrapping.keep_infos_apart(env)  # fragments have no infos of single environments, which need not fit together
        self.same_step = env.autoreset_mode is AutoresetMode.SAME_STEP
        self.nested = isinstance(env.single_observation_space, (spaces.Dict, spaces.Tuple))
        self.observations: Any = create_empty_array(env.observation_space, self.steps + 1)
        self.flags = np.empty((2, self.steps, env.num_envs), np.bool_)
        self.rewards: Any = None  # these three are made when dtypes and shapes are known
        self.actions: Any = None
        self.extras: dict[str, Any] = {}
        if self.saved is not None:
            first = env.restore(self.saved)
            self.saved = None
        elif number == 0:
            # The seeds of all actors' lanes are those that the lanes of one env would have.
            first = env.reset(seed=self.seed + self.actor * env.num_envs)[0]
        else:  # without snapshots, in place of an actor that died: not the same episodes once more
            first = env.reset(seed=int(self.key(number).generate_state(1)[0]))[0]
        put(self.observations, self.steps, first)
        self.env = env

    def key(self, number: int) -> np.random.SeedSequence:
        """What random actions come from: the fragment's number alone, so that another actor can make it again."""
        return np.random.SeedSequence([self.seed, self.actor, number])

    def fragment(self, number: int, version: int, weights: Any) -> Fragment:
        """The next fragment, with this number, by a policy with these weights."""
        if self.env is None:
            self.start(number)
        put(self.observations, 0, rows_of(self.observations, self.steps))
        key = self.key(number)
        ends = (
            self.rollout(key) if self.policy is None else self.follow(self.policy, np.random.default_rng(key), weights)
        )
        seen = self.observations, self.actions, self.rewards, *self.flags, ends, self.extras
        return Fragment(*seen, self.actor, number, version)

    def rollout(self, key: np.random.SeedSequence) -> Any:
        """All steps with random actions."""
        after = slice(1, None)
        out = (None if self.nested else self.observations[after], self.rewards, *self.flags)
        seed = int(key.generate_state(1, np.uint64)[0])
        done = self.env.rollout(self.steps, policy="random", seed=seed, out=out)
        if self.nested:
            put(self.observations, after, done.observations)
        self.rewards, self.actions = done.rewards, done.actions
        if not self.same_step:
            return None
        infos = parted(done.infos)[0]
        ends = np.nonzero(infos["_final_obs"]) if "_final_obs" in infos else (np.zeros(0, np.int64),) * 2
        rows = rows_of(infos.get("final_obs", self.observations), ends)
        if isinstance(rows, np.ndarray) and rows.dtype == object:  # of lanes in Python: an observation each
            space = self.env.single_observation_space
            rows = concatenate(space, list(rows), create_empty_array(space, len(rows)))
        return (*ends, rows)

    def follow(self, policy: Callable[..., Any], rng: np.random.Generator, weights: Any) -> Any:
        """All steps with the policy's actions."""
        found = []
        for t in range(self.steps):
            chosen = policy(weights, rows_of(self.observations, t), rng)
            actions, extras = chosen if isinstance(chosen, tuple) else (chosen, {})
            self.keep(t, actions, extras)
            rewards = None if self.rewards is None else self.rewards[t]
            out = (None if self.nested else self.observations[t + 1], rewards, *self.flags[:, t])
            observations, rewards, _, _, infos = self.env.step(actions, out=out)
            if self.nested:
                put(self.observations, t + 1, observations)
            if self.rewards is None:
                self.rewards = np.empty((self.steps, *rewards.shape), rewards.dtype)
                self.rewards[0] = rewards
            ends = final_rows(self.env.single_observation_space, infos) if self.same_step else None
            if ends is not None:
                found.append((t, *ends))
        if not self.same_step:
            return None
        if not found:
            none = np.zeros(0, np.int64)
            return none, none, rows_of(self.observations, (none, none))
        steps = np.repeat([t for t, _, _ in found], [len(lanes) for _, lanes, _ in found])
        lanes = np.concatenate([lanes for _, lanes, _ in found])
        rows = create_empty_array(self.env.single_observation_space, len(lanes))
        places = np.split(np.arange(len(lanes)), np.cumsum([len(lanes) for _, lanes, _ in found])[:-1])
        for place, (_, _, part) in zip(places, found, strict=True):
            put(rows, place, part)
        return steps, lanes, rows

    def keep(self, t: int, actions: Any, extras: dict[str, Any]) -> None:
        """Writes down what the policy returned in step t."""
        if self.actions is None:
            actions = np.asarray(actions)
            self.actions = np.empty((self.steps, *actions.shape), actions.dtype)
            self.extras = {
                name: np.empty((self.steps, *np.shape(value)), np.asarray(value).dtype)
                for name, value in extras.items()
            }
        if extras.keys() != self.extras.keys():
            raise ValueError(f"the policy returned the extras {[*extras]}, and before that {[*self.extras]}")
        self.actions[t] = actions
        for name, value in extras.items():
            self.extras[name][t] = value
