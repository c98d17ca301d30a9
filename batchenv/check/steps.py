"""What reset and step return, and what step takes."""

from __future__ import annotations

import contextlib
import copy
from typing import Any

import numpy as np
from gymnasium import spaces

from batchenv.check.rules import NotApplicable, Theme, Violation, brief, must_raise, require, said
from batchenv.check.trial import Trial, leaves, require_same, row

RETURNED = Theme("what step and reset return")
ACTIONS = Theme("actions")


def _misfit(space: spaces.Space, obs: object) -> str:
    """What is wrong with the structure, shape or dtype of `obs` for a batched space; "" if nothing is."""
    if isinstance(space, spaces.Dict):
        if not isinstance(obs, dict) or set(obs) != set(space.spaces):
            return f"{brief(obs)} for keys {list(space.spaces)}"
        return next((f"{key!r}: {text}" for key in obs if (text := _misfit(space[key], obs[key]))), "")
    if isinstance(space, spaces.Tuple):
        if not isinstance(obs, tuple) or len(obs) != len(space.spaces):
            return f"{brief(obs)} for {brief(space)}"
        parts = enumerate(zip(space.spaces, obs, strict=True))
        return next((f"part {place}: {text}" for place, (part, one) in parts if (text := _misfit(part, one))), "")
    if isinstance(space, (spaces.Box, spaces.MultiDiscrete, spaces.MultiBinary, spaces.Discrete)):
        if not isinstance(obs, np.ndarray):
            return f"a {type(obs).__name__}, {brief(obs, 80)}"
        if obs.shape != space.shape or not np.can_cast(obs.dtype, space.dtype):
            return f"{obs.dtype} of shape {obs.shape} where the space is {space.dtype} of shape {space.shape}"
        return ""
    return "" if space.contains(obs) else f"{brief(obs)} is not in {brief(space)}"


def _outside(space: spaces.Space, obs: Any, path: str = "") -> str:
    """Which part of one lane's observation is outside its space; "" if none."""
    if isinstance(space, (spaces.Dict, spaces.Tuple)):
        parts = space.spaces.items() if isinstance(space, spaces.Dict) else enumerate(space.spaces)
        return next((text for key, one in parts if (text := _outside(one, obs[key], f"{path}/{key}"))), "")
    if space.contains(obs):
        return ""
    shown = f"{brief(obs)}, outside {brief(space)}"
    if isinstance(space, spaces.Box) and obs.size > 1:  # the space may be right with all but one of many values
        place = next((i for i in np.ndindex(obs.shape) if not space.low[i] <= obs[i] <= space.high[i]), None)
        if place is not None:
            shown += (
                f": value {', '.join(map(str, place))} is {obs[place]}, not in {space.low[place]}..{space.high[place]}"
            )
    return f"{shown}, in {path[1:]}" if path else shown


def _seen(trial: Trial) -> list[tuple[str, object]]:
    """Observations of the long run, each with a text that says where it comes from."""
    record = trial.record
    seen = [("reset", record.start)]
    seen += [(f"step {count}", step.obs) for count, step in enumerate(record.first)]
    for end in record.ends:
        seen += [("an end's step", end.at.obs), ("the step after an end", end.after.obs)]
        if end.at.restart is not None:
            seen.append(("a masked reset", end.at.restart))
    return seen


@RETURNED.contract(
    rule="Observations have the structure, shape and dtype of observation_space (that of num_envs single spaces).",
    why="Rollout buffers are allocated from the space; writing rows of another shape raises, or broadcasts silently.",
)
def observations_fit_the_space(trial: Trial) -> None:
    for what, obs in _seen(trial):
        text = _misfit(trial.batched_obs_space, obs)
        require(not text, f"{what}: {text}")


@RETURNED.contract(
    rule="Observations lie within the bounds of the space.",
    why="Learners scale observations by the bounds; NaN and values out of bounds end up in the network.",
)
def observations_are_in_bounds(trial: Trial) -> None:
    for what, obs in _seen(trial):
        if _misfit(trial.batched_obs_space, obs):
            raise NotApplicable("see observations_fit_the_space")
        if trial.batched_obs_space.contains(obs):
            continue
        for lane in range(trial.num_envs):
            text = _outside(trial.obs_space, row(trial.obs_space, obs, lane))
            require(not text, f"{what}: lane {lane} is {text}")
        require(False, f"{what}: {brief(obs)} is not in {brief(trial.batched_obs_space)}")


@RETURNED.contract(
    rule="Rewards are a numeric array, terminations and truncations bool arrays, each of shape (num_envs,).",
    why="Flags of another dtype break indexing (with ints, a[flags] picks rows 0 and 1) and the operator `~`.",
)
def rewards_and_flags_are_arrays(trial: Trial) -> None:
    record = trial.record
    for step in [*record.first, *(end.at for end in record.ends), *(end.after for end in record.ends)]:
        for what, kinds in (("rewards", "fiu"), ("terminations", "b"), ("truncations", "b")):
            value = getattr(step, what)
            shown = f"{value.dtype} {value.shape}" if isinstance(value, np.ndarray) else brief(value)
            require(
                isinstance(value, np.ndarray) and value.shape == (trial.num_envs,) and value.dtype.kind in kinds,
                f"{what} are {shown}",
            )


@ACTIONS.contract(
    rule="step accepts env.action_space.sample().",
    why="This is the first thing that users write, and what benchmarks and Gymnasium's tests do.",
)
def samples_are_taken(trial: Trial) -> None:
    env, _ = trial.start()
    wanted = trial.actions(1)[0]
    sample = env.action_space.sample()
    if [np.shape(part) for part in leaves(sample)] != [np.shape(part) for part in leaves(wanted)]:
        raise NotApplicable("the sample is not a batch of actions, see action_space_is_batched")
    try:
        env.step(sample)
    except Exception as error:
        raise Violation(f"step({brief(sample, 60)}) raised {said(error)}") from None


@ACTIONS.practice(
    rule="step does not write into the actions.", why="Learners store the same array in their rollout buffer."
)
def actions_are_left_alone(trial: Trial) -> None:
    env, _ = trial.start()
    for action in trial.actions():
        before = copy.deepcopy(action)
        ended = np.logical_or(*env.step(action)[2:4])
        require_same(before, action, "{} became {}")
        if trial.mode == "Disabled" and ended.any():
            break


@ACTIONS.practice(
    rule="step before the first reset raises.",
    why="Otherwise it returns results of an episode that nobody has started.",
    needs_factory=True,
)
def step_before_reset_raises(trial: Trial) -> None:
    env = trial.make()
    _must_raise(env, trial.actions(1)[0], "step(actions) before reset")


def _must_raise(env: Any, action: Any, what: str) -> None:
    seen = f"{what} was accepted; it returned the rewards "
    must_raise(lambda: env.step(action), seen, lambda got: brief(got[1], 60))


def _some(trial: Trial, count: int) -> object:
    """A batch of `count` valid actions."""
    single = copy.deepcopy(trial.action_space)
    single.seed(0)
    return trial.batch([single.sample() for _ in range(count)])


@ACTIONS.practice(
    rule="A batch with one action too few raises.",
    why="If it is accepted, some lane reads memory that is not an action, or the process dies.",
)
def too_few_actions_raise(trial: Trial) -> None:
    trial.need_lanes()
    env, _ = trial.start()
    _must_raise(env, _some(trial, trial.num_envs - 1), f"{trial.num_envs - 1} actions for {trial.num_envs} lanes")


@ACTIONS.practice(
    rule="A batch with one action too many raises.",
    why="A batch of another size is always a mistake, and ignoring the additional action hides it.",
)
def too_many_actions_raise(trial: Trial) -> None:
    env, _ = trial.start()
    _must_raise(env, _some(trial, trial.num_envs + 1), f"{trial.num_envs + 1} actions for {trial.num_envs} lanes")


def _out_of_range(trial: Trial) -> object:
    """Actions that are valid except for the last lane's, which is one above the largest."""
    if not isinstance(trial.action_space, spaces.Discrete):
        raise NotApplicable("the action space is not Discrete")
    action = np.array(trial.actions(1)[0])
    action[-1] = trial.action_space.start + trial.action_space.n
    return action


def _nan(trial: Trial) -> object:
    """Actions that are valid except for the last lane's, which is NaN."""
    if not isinstance(trial.action_space, spaces.Box) or trial.action_space.dtype.kind != "f":
        raise NotApplicable("the action space is not a Box of floats")
    action = np.array(trial.actions(1)[0])
    action[-1] = np.nan
    return action


@ACTIONS.practice(
    rule="A discrete action outside the space raises.",
    why="It is a bug of the caller. If it is accepted, the result is undefined, and memory may be read out of bounds.",
)
def actions_out_of_range_raise(trial: Trial) -> None:
    action = _out_of_range(trial)
    env, _ = trial.start()
    _must_raise(env, action, f"actions {brief(action)} for {trial.action_space}")


@ACTIONS.practice(
    rule="An action that is NaN raises, or at least leaves no NaN in the lane's observations.",
    why="A policy that has diverged returns NaN, and a lane whose state becomes NaN silently spoils all later batches.",
)
def nan_actions_raise(trial: Trial) -> None:
    action = _nan(trial)
    env, _ = trial.start()
    try:
        obs, rewards, *_ = env.step(action)
    except Exception:
        return
    lost = any(np.isnan(part).any() for part in leaves(obs) if np.asarray(part).dtype.kind == "f")
    require(
        not lost and not np.isnan(rewards).any(),
        f"NaN was accepted: rewards {brief(rewards, 60)}, observation {brief(row(trial.obs_space, obs, -1), 80)}",
    )


@ACTIONS.practice(
    rule="A step that is refused changes nothing: the next valid step returns what it would have returned without it.",
    why="When the caller has caught the error, lanes that have moved are one step ahead of what the caller knows.",
)
def refused_actions_change_nothing(trial: Trial) -> None:
    trial.need_repeatable()
    lost = trial.lost & {"too_few_actions_raise", "actions_out_of_range_raise", "nan_actions_raise"}
    if lost:
        raise NotApplicable(f"invalid actions are not refused, see {', '.join(sorted(lost))}")
    bad = [("one action too few", _some(trial, trial.num_envs - 1))] if trial.num_envs > 1 else []
    for text, make in (("an action out of range in the last lane", _out_of_range), ("NaN in the last lane", _nan)):
        with contextlib.suppress(NotApplicable):
            bad.append((text, make(trial)))
    actions = trial.actions()
    wanted = trial.roll(trial.start(2)[0], actions)
    refused = 0
    for text, action in bad:
        env, _ = trial.start(2)
        try:
            env.step(action)
        except Exception:
            refused += 1
        else:
            continue
        try:
            got = trial.roll(env, actions)
        except Exception as error:
            raise Violation(f"after {text} was refused, a valid step raised {said(error)}") from None
        for count, (one, two) in enumerate(zip(wanted, got, strict=False)):
            for what in ("obs", "rewards"):
                form = f"after {text} was refused, step {count} gave as {what} {{}} instead of {{}}"
                require_same(getattr(two, what), getattr(one, what), form)
    if not refused:
        raise NotApplicable("no invalid action was refused")
