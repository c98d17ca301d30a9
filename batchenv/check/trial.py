"""What the checks work with: envs in a known state, valid actions, and records of what envs returned."""

from __future__ import annotations

import contextlib
import copy
import itertools
import time
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.vector.utils import batch_space, concatenate, create_empty_array

from batchenv.check.rules import NotApplicable, Violation, brief, said
from batchenv.check.target import Target

SHORT = 8  # steps that show what a lane does
WINDOWS = 12  # ends of episodes to look at
SEEDS = (1, 1001, 2002, 3003, 4004, 5005, 6006, 7007, 8008, 9009)
_SHOWN = 80  # characters of a value in a message
CHANCE = 1e-4  # the probability that is accepted of blaming an env for a coincidence


@dataclass
class Step:
    """A step's action and copies of what it returned."""

    action: Any
    obs: Any
    rewards: Any
    terminations: Any
    truncations: Any
    infos: dict[str, Any]
    restart: Any = None  # in mode Disabled: the observations of the masked reset that followed

    @property
    def ended(self) -> np.ndarray:
        return np.logical_or(self.terminations, self.truncations)


@dataclass
class End:
    """A step in which episodes ended, and the step after it."""

    at: Step
    after: Step


def row(space: spaces.Space, batch: Any, lane: int) -> Any:
    """One lane of a batch of `space`'s elements."""
    if isinstance(space, spaces.Dict):
        return {key: row(part, batch[key], lane) for key, part in space.spaces.items()}
    if isinstance(space, spaces.Tuple):
        return tuple(row(part, batch[place], lane) for place, part in enumerate(space.spaces))
    return batch[lane]


def same(a: Any, b: Any) -> bool:
    """Equal in structure, shapes and values; NaN equals NaN."""
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, (tuple, list)) and isinstance(b, (tuple, list)):
        return len(a) == len(b) and all(map(same, a, b))
    a, b = np.asarray(a), np.asarray(b)
    if a.shape != b.shape:
        return False
    if a.dtype == object or b.dtype == object:
        if a.ndim == 0:  # None, or a dict where the other one is none
            return bool(a.item() == b.item())
        return all(x is y or same(x, y) for x, y in zip(a.ravel(), b.ravel(), strict=True))
    return np.array_equal(a, b, equal_nan=a.dtype.kind in "fc" and b.dtype.kind in "fc")


def essence(value: Any) -> Any:
    """Something hashable that is equal for results that are `same`, and hardly ever for others."""
    if isinstance(value, dict):
        return frozenset((key, essence(part)) for key, part in value.items())
    if isinstance(value, (tuple, list)):
        return tuple(map(essence, value))
    array = np.asarray(value)
    if array.dtype.kind not in "biuf":
        return array.shape
    numbers = array.astype(np.float64) + 0.0  # without -0.0
    return array.shape, np.where(np.isnan(numbers), np.nan, numbers).tobytes()


def difference(one: Any, two: Any, form: str, path: str = "") -> str:
    """What differs between two results that are not `same`: `form` with the values of the first part that does, and the
    part's path ("players/env_id", "image[3, 0]") unless the results have but one part."""
    if isinstance(one, dict) and isinstance(two, dict):
        for key in one:
            if key in two and not same(one[key], two[key]):
                return difference(one[key], two[key], form, f"{path}/{key}" if path else f"{key}")
        one, two, form = sorted(map(str, one)), sorted(map(str, two)), f"{form} (keys)"
    elif isinstance(one, (tuple, list)) and isinstance(two, (tuple, list)) and len(one) == len(two):
        for place, (a, b) in enumerate(zip(one, two, strict=True)):
            if not same(a, b):
                return difference(a, b, form, f"{path}/{place}" if path else f"{place}")
    elif (place := _first_place(one, two)) is not None:
        where = ", ".join(map(str, place))
        return difference(
            np.asarray(one)[place], np.asarray(two)[place], form, f"{path}[{where}]" if path else f"[{where}]"
        )
    text = form.format(brief(one, _SHOWN), brief(two, _SHOWN))
    return f"{text}, in {path}" if path else text


def require_same(one: Any, two: Any, form: str) -> None:
    """Raises Violation, with what differs, unless two results are the `same`. form: as in `difference`."""
    if not same(one, two):
        raise Violation(difference(one, two, form))


def _first_place(one: Any, two: Any) -> tuple[int, ...] | None:
    """Where two arrays that are too long to be shown first differ. None: they are short, or have different shapes."""
    a, b = np.asarray(one), np.asarray(two)
    if a.ndim == 0 or a.shape != b.shape or max(len(repr(a)), len(repr(b))) <= _SHOWN:
        return None
    return next((place for place in np.ndindex(a.shape) if not same(a[place], b[place])), None)


def leaves(value: Any) -> list[Any]:
    """The arrays in nested dicts and tuples, and the tuples of lanes' texts."""
    if isinstance(value, dict):
        return [leaf for part in value.values() for leaf in leaves(part)]
    if isinstance(value, (tuple, list)) and not (value and isinstance(value[0], str)):
        return [leaf for part in value for leaf in leaves(part)]
    return [value]


def alike(one: list[list[Any]], two: list[list[Any]]) -> bool:
    """Whether two lanes' outcomes are equal, up to the end of the shorter one."""
    return all(same(a, b) for part in zip(one, two, strict=True) for a, b in zip(*part, strict=False))


class Trial:
    """One target in one autoreset mode.

    Args:
        target: what makes the envs.
        asked: the mode to pass to its factory, or None.
        mode: the mode that the envs should have.
        max_steps: the most steps to wait for episodes to end.
        seconds: the most time to wait for them.
    """

    def __init__(self, target: Target, asked: str | None, mode: str, max_steps: int, seconds: float):
        self.target, self.asked, self.mode = target, asked, mode
        self.max_steps, self.seconds = max_steps, seconds
        self.lost: set[str] = set()  # names of checks at which a process hung or died
        self.mask_problem: str | None = None  # what is wrong with masked resets; None: they were not tried yet
        self._open: list[Any] = []

    # ---- envs ----------------------------------------------------------------------------------------------------

    def make(self) -> Any:
        """A new env; or the env itself, if one was passed to be checked."""
        if self.target.instance is not None:
            return self.target.instance
        env = self.target.make(self.asked)
        self._open.append(env)
        return env

    def start(self, seed: int = 1) -> tuple[Any, Any]:
        """A new env that has been reset, and a copy of its observations."""
        env = self.make()
        obs, _ = env.reset(seed=seed)
        return env, copy.deepcopy(obs)

    def close_all(self) -> None:
        """Closes the envs made since the last call."""
        while self._open:
            with contextlib.suppress(Exception):  # closing has checks of its own
                self._open.pop().close()

    @cached_property
    def _sample(self) -> tuple[int, spaces.Space, spaces.Space]:
        env = self.make()
        return int(env.num_envs), env.single_observation_space, env.single_action_space

    @property
    def num_envs(self) -> int:
        return self._sample[0]

    @property
    def obs_space(self) -> spaces.Space:
        """A single lane's."""
        return self._sample[1]

    @property
    def action_space(self) -> spaces.Space:
        """A single lane's."""
        return self._sample[2]

    @cached_property
    def batched_obs_space(self) -> spaces.Space:
        return batch_space(self.obs_space, self.num_envs)

    # ---- actions -------------------------------------------------------------------------------------------------

    def actions(self, count: int = SHORT, seed: int = 0) -> list[Any]:
        """`count` batches of random valid actions."""
        space = batch_space(copy.deepcopy(self.action_space), self.num_envs)
        space.seed(seed)
        return [space.sample() for _ in range(count)]

    def equal_actions(self, count: int = SHORT) -> list[Any]:
        """`count` batches of random valid actions, in each of which all lanes have the same action."""
        space = copy.deepcopy(self.action_space)
        space.seed(0)
        return [self.batch([space.sample()] * self.num_envs) for _ in range(count)]

    def batch(self, actions: list[Any]) -> Any:
        return concatenate(self.action_space, actions, create_empty_array(self.action_space, len(actions)))

    # ---- steps ---------------------------------------------------------------------------------------------------

    def step(self, env: Any, action: Any) -> Step:
        """Takes one step with a copy of the action, and copies what it returns."""
        return Step(action, *copy.deepcopy(tuple(env.step(copy.deepcopy(action)))))

    def roll(self, env: Any, actions: list[Any]) -> list[Step]:
        """Steps until the actions are used up or, in mode Disabled, until an episode ends."""
        steps = []
        for action in actions:
            steps.append(self.step(env, action))
            if self.mode == "Disabled" and steps[-1].ended.any():
                break
        return steps

    def roll_on(self, env: Any, action: Any) -> Step:
        """Takes one step; in mode Disabled, the lanes whose episodes ended are then reset with a mask."""
        step = self.step(env, action)
        if self.mode == "Disabled" and step.ended.any():
            step.restart = copy.deepcopy(env.reset(options={"reset_mask": step.ended.copy()})[0])
        return step

    def outcome(self, env: Any, seed: int | list[int] | None) -> list[list[Any]]:
        """For each lane, everything that a reset with this seed and a few equal actions show."""
        obs = copy.deepcopy(env.reset(seed=seed)[0])
        steps = self.roll(env, self.equal_actions())
        shown = [obs, *(step.obs for step in steps)]
        return [
            [[row(self.obs_space, obs, lane) for obs in shown], [step.rewards[lane] for step in steps]]
            for lane in range(self.num_envs)
        ]

    # ---- facts that other checks depend on -------------------------------------------------------------------------

    @cached_property
    def reseeds(self) -> bool:
        """Whether one env, reset twice with a seed, does the same twice."""
        env = self.make()
        return same(self.outcome(env, 3), self.outcome(env, 3))

    @cached_property
    def repeatable(self) -> bool:
        """Whether two runs of `start` with the same seed and the same actions have the same results."""
        runs = []
        for _ in range(2):
            env, obs = self.start()
            runs.append([obs, [(step.obs, step.rewards) for step in self.roll(env, self.actions())]])
        return same(*runs)

    @cached_property
    def samples(self) -> list[list[Any]]:
        """What lane 0 of one env does after resets with SEEDS."""
        env = self.make()
        return [self.outcome(env, seed)[0] for seed in SEEDS]

    def need_variety(self, draws: int, start_only: bool = False) -> None:
        """Goes on only if independent episodes would hardly be alike `draws` times in a row by chance.

        Some envs have only a few different starts; the chance is estimated from `samples`.
        """
        samples = [[sample[0][:1], []] for sample in self.samples] if start_only else self.samples
        pairs = list(itertools.combinations(samples, 2))
        share = sum(alike(*pair) for pair in pairs) / len(pairs)
        if share**draws > CHANCE:
            raise NotApplicable(f"{share:.0%} of episodes start alike whatever the seed is, too many to judge")

    def need_reseeds(self) -> None:
        if not self.reseeds:
            raise NotApplicable("the same seed does not give the same episodes, see reseeding_replays")

    def need_repeatable(self) -> None:
        if not self.repeatable:
            raise NotApplicable("two runs with the same seed and actions differ, so nothing can be compared")

    def need_lanes(self) -> None:
        if self.num_envs < 2:
            raise NotApplicable("needs 2 lanes")

    # ---- the long run ----------------------------------------------------------------------------------------------

    @cached_property
    def record(self) -> Record:
        """A run long enough to see episodes end."""
        return Record(self)

    def ends(self) -> list[End]:
        """Ends of episodes, with the step after each.

        Raises:
            NotApplicable: no episode ended within the limits.
        """
        if not self.record.ends:
            raise NotApplicable(self.record.problem or f"no episode ended within {self.record.count} steps")
        return self.record.ends


class Record:
    """The first steps of a long run of random actions, and those around the ends of episodes.

    Attributes:
        start, start_infos: what the reset returned.
        first: the first 20 steps.
        ends: up to WINDOWS ends of episodes.
        count: steps taken.
        problem: what stopped the run early, or "".
    """

    def __init__(self, trial: Trial):
        env = trial.make()
        obs, infos = env.reset(seed=1)
        self.start, self.start_infos = copy.deepcopy(obs), copy.deepcopy(infos)
        self.first: list[Step] = []
        self.ends: list[End] = []
        self.count, self.problem = 0, ""
        space = batch_space(copy.deepcopy(trial.action_space), trial.num_envs)
        space.seed(0)
        deadline = time.monotonic() + trial.seconds
        last = None
        while self.count < trial.max_steps and time.monotonic() < deadline and len(self.ends) < WINDOWS:
            try:
                step = trial.roll_on(env, space.sample())
            except Exception as error:
                self.problem = f"after {self.count} steps: {said(error)}"
                break
            self.count += 1
            if len(self.first) < 20:
                self.first.append(step)
            if last is not None and last.ended.any():
                self.ends.append(End(last, step))
            last = step
