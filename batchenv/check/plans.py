"""Plans of episodes, as batchenv's envs have them; other vector envs have none, and these checks are skipped."""

from __future__ import annotations

import copy
import time
from typing import Any

import numpy as np

from batchenv.check.rules import NotApplicable, Theme, require
from batchenv.check.trial import SHORT, Trial, require_same, row

THEME = Theme("plans of episodes")


def _make(trial: Trial) -> Any:
    env = trial.make()
    if not callable(getattr(env, "plan", None)):
        raise NotApplicable("it has no method plan()")
    return env


@THEME.practice(
    rule="With plan(seeds=...) each lane's next episodes, those of autoreset too, start as reset(seed=...) of the "
    "plan's seeds, and infos['episode'] says of which entry an episode was that ends.",
    why="Levels that one chooses are the ones that are played, whatever a lane has played before. Typical causes are "
    "state that outlasts episodes, and numbers that are drawn from another stream than the lane's.",
)
def plans_of_seeds(trial: Trial) -> None:
    env, count = _make(trial), trial.num_envs
    trial.need_reseeds()
    trial.ends()
    seeds = [40 + k for k in range(2 * count + 1)]
    starts: list[Any] = []
    for k in range(0, len(seeds), count):
        listed = (seeds[k:] + seeds)[:count]
        observations = copy.deepcopy(env.reset(seed=listed)[0])
        starts += [row(trial.obs_space, observations, lane) for lane in range(count)]
    try:
        env.plan(seeds=seeds, labels=seeds)
    except NotImplementedError as reason:
        raise NotApplicable(str(reason)) from None
    try:
        _follow(trial, env, seeds, starts)
    finally:
        env.end_plan()


def _follow(trial: Trial, env: Any, seeds: list[int], starts: list[Any]) -> None:
    count, ends = trial.num_envs, 0
    taken = np.zeros(count, np.int64)  # episodes of each lane

    def begin(observations: Any, lane: int) -> None:
        entry = (lane + taken[lane] * count) % len(seeds)
        form = f"episode {taken[lane]} of lane {lane} is of seed {seeds[entry]} and should start with {{}}, not {{}}"
        require_same(starts[entry], row(trial.obs_space, observations, lane), form)
        taken[lane] += 1

    observations = env.reset()[0]
    for lane in range(count):
        begin(observations, lane)
    waits = np.zeros(count, np.bool_)
    deadline = time.monotonic() + trial.seconds
    for action in trial.actions(trial.max_steps):
        step = trial.roll_on(env, action)
        for lane in np.flatnonzero(waits).tolist():
            begin(step.obs, lane)
        for lane in np.flatnonzero(step.ended).tolist():
            entry = (lane + (taken[lane] - 1) * count) % len(seeds)
            told = step.infos.get("episode", {})
            require(
                "entry" in told and (told["entry"][lane], told["label"][lane]) == (entry, seeds[entry]),
                f"an episode of entry {entry} has ended in lane {lane}, and infos['episode'] is {told}",
            )
            if trial.mode != "NextStep":
                begin(step.obs if trial.mode == "SameStep" else step.restart, lane)
            ends += 1
        waits = step.ended if trial.mode == "NextStep" else waits
        if ends >= 4 * count or time.monotonic() > deadline:
            break


@THEME.practice(
    rule="With plan(snapshots=...) episodes go on from there as the lane of the snapshot does, in any lane.",
    why="Otherwise a snapshot lacks something that decides what comes next, such as a stream or a counter.",
)
def plans_of_snapshots(trial: Trial) -> None:
    env = _make(trial)
    trial.need_reseeds()
    env.reset(seed=6)
    steps = trial.roll(env, trial.equal_actions(3))
    if any(step.ended.any() for step in steps):
        raise NotApplicable("episodes end within 3 steps")
    try:
        snapshot = env.snapshot(lanes=[0])
        plan = env.plan(snapshots=snapshot)
    except (NotImplementedError, TypeError) as reason:
        raise NotApplicable(str(reason)) from None
    later = trial.roll(env, trial.equal_actions(SHORT))
    observations = copy.deepcopy(env.reset()[0])
    plan.end()
    again = trial.roll(env, trial.equal_actions(SHORT))
    for lane in range(trial.num_envs):
        seen = [row(trial.obs_space, obs, lane) for obs in (observations, *(step.obs for step in again))]
        wanted = [row(trial.obs_space, obs, 0) for obs in (steps[-1].obs, *(step.obs for step in later))]
        for number, (one, other) in enumerate(zip(wanted, seen, strict=False)):
            over = number > 0 and bool(later[number - 1].ended[0])
            if over and trial.mode == "SameStep":
                break  # it is the next episode that is seen
            form = f"{number} steps after the snapshot of lane 0, lane {lane} should observe {{}}, not {{}}"
            require_same(one, other, form)
            if over:
                break
