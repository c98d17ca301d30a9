"""Seeds: what repeats, what differs."""

from __future__ import annotations

import copy
import itertools
from typing import Any

import numpy as np

from batchenv.check.rules import NotApplicable, Theme, Violation, brief, must_raise, require, said
from batchenv.check.trial import SEEDS, Trial, alike, essence, require_same, row, same

THEME = Theme("reset and seeding")


@THEME.contract(
    rule="Two calls of reset(seed=s) on one env, each followed by the same actions, lead to the same results.",
    why="If the seed is ignored, an experiment cannot be repeated, nor a policy be evaluated on fixed episodes.",
)
def reseeding_replays(trial: Trial) -> None:
    env = trial.make()
    first, again = trial.outcome(env, 3), trial.outcome(env, 3)
    for lane in range(trial.num_envs):
        require_same(first[lane][0][0], again[lane][0][0], f"reset(seed=3) gave lane {lane} {{}}, then {{}}")
        require(
            same(first[lane], again[lane]),
            f"lane {lane} started in the same way after reset(seed=3), but the same actions gave other results",
        )


@THEME.contract(
    rule="Two envs with the same seed and actions agree in everything, through the ends of episodes.",
    why="Otherwise runs are not reproducible. Typical causes are the clock, shared state, a random stream that is not "
    "seeded, and the order of threads.",
    needs_factory=True,
)
def two_envs_agree(trial: Trial) -> None:
    envs = [trial.start(7) for _ in range(2)]
    require_same(envs[0][1], envs[1][1], "observations of reset(seed=7) differ: {} and {}")
    ends = 0
    for count, action in enumerate(trial.actions(min(300, trial.max_steps), seed=5)):
        one, two = (trial.roll_on(env, action) for env, _ in envs)
        for what in ("obs", "rewards", "terminations", "truncations", "restart"):
            require_same(getattr(one, what), getattr(two, what), f"{what} of step {count} differ: {{}} and {{}}")
        ends += one.ended.any()
        if ends >= 5:
            break


@THEME.contract(
    rule="New envs that are reset without a seed differ.",
    why="Gymnasium documents that without a seed the system's entropy is used. If all workers play the same episodes, "
    "a learner gets less data than it counts.",
    needs_factory=True,
)
def unseeded_envs_differ(trial: Trial) -> None:
    trial.need_variety(3 * trial.num_envs)
    outcomes = [trial.outcome(trial.make(), None) for _ in range(4)]
    require(
        not all(all(map(alike, outcomes[0], other)) for other in outcomes[1:]),
        f"in four new envs, reset without a seed, lane 0 always began with {brief(outcomes[0][0][0][0], 80)}",
    )


@THEME.contract(
    rule="reset() without a seed goes on with the random stream instead of starting it again.",
    why="Otherwise every unseeded reset after a seeded one plays the same episode.",
)
def reset_without_a_seed_goes_on(trial: Trial) -> None:
    trial.need_variety(3 * trial.num_envs)
    env = trial.make()
    seeded = trial.outcome(env, 3)
    later = [trial.outcome(env, None) for _ in range(3)]
    require(
        not all(all(map(alike, seeded, other)) for other in later),
        "each of three resets without a seed repeated the episodes of the seeded reset before",
    )


@THEME.contract(
    rule="The lanes of one reset(seed=s) differ from one another.",
    why="Lanes that play the same episode cost as much as different ones, but give less data.",
)
def lanes_differ(trial: Trial) -> None:
    trial.need_lanes()
    trial.need_variety(len(SEEDS))
    env = trial.make()
    outcomes = [trial.outcome(env, seed) for seed in SEEDS]
    groups = [list(range(trial.num_envs))]  # of lanes that may be the same; comparing all pairs takes minutes
    for outcome in outcomes:
        groups = [part for group in groups for part in _grouped(group, outcome)]
    for a, b in sorted((a, b) for group in groups for b, a in itertools.combinations(group, 2)):
        require(
            not all(same(outcome[a], outcome[b]) for outcome in outcomes),
            f"lanes {b} and {a} did the same for {len(SEEDS)} seeds and the same actions",
        )


def _grouped(lanes: list[int], outcome: list[Any]) -> list[list[int]]:
    """The lanes whose outcomes may be the same, together; without those that are alone."""
    groups: dict[Any, list[int]] = {}
    for lane in lanes:
        groups.setdefault(essence(outcome[lane]), []).append(lane)
    return [group for group in groups.values() if len(group) > 1]


@THEME.practice(
    rule="Lane i of reset(seed=s) is lane 0 of reset(seed=s + i).",
    why="Then an episode can be repeated with another number of lanes, or in a single env. SyncVectorEnv does this; "
    "VectorEnv's documentation does not promise it.",
)
def lane_i_has_seed_plus_i(trial: Trial) -> None:
    trial.need_lanes()
    trial.need_reseeds()
    env = trial.make()
    require(
        alike(trial.outcome(env, 10)[1], trial.outcome(env, 11)[0]),
        "lane 1 of reset(seed=10) is not lane 0 of reset(seed=11)",
    )


@THEME.practice(
    rule="reset takes a list of one seed per lane, and raises for a list of another length.",
    why="SyncVectorEnv and AsyncVectorEnv take a list, so evaluation code passes one. VectorEnv documents only an int.",
)
def seeds_may_be_a_list(trial: Trial) -> None:
    env = trial.make()
    seeds = [20 + i for i in range(trial.num_envs)]
    try:
        listed = trial.outcome(env, copy.copy(seeds))
    except Exception as error:
        raise Violation(f"reset(seed={seeds}) raised {said(error)}") from None
    if trial.reseeds and alike(trial.outcome(env, 10)[-1], trial.outcome(env, 10 + trial.num_envs - 1)[0]):
        require(same(listed, trial.outcome(env, 20)), f"reset(seed={seeds}) is not reset(seed=20)")
    longer = [*seeds, 5]
    must_raise(lambda: env.reset(seed=longer), f"with {trial.num_envs} lanes, reset(seed={longer}) was accepted")


@THEME.contract(
    rule="After an episode has ended, reset(seed=s) and a step return what they return in a new env.",
    why="If the env still remembers that a lane has to be reset, the first action of the new episode is lost.",
)
def reset_forgets_the_end(trial: Trial) -> None:
    trial.need_reseeds()
    trial.ends()
    env = trial.make()
    env.reset(seed=4)
    action = trial.actions(1, seed=9)[0]
    wanted = trial.step(env, action)
    env.reset(seed=1)
    for other in trial.actions(trial.max_steps):
        if trial.step(env, other).ended.any():
            break
    else:
        raise NotApplicable("no episode ended")
    env.reset(seed=4)
    got = trial.step(env, action)
    for what in ("obs", "rewards", "terminations", "truncations"):
        form = f"{what} of the first step: {{}} in a new env, {{}} after an end"
        require_same(getattr(wanted, what), getattr(got, what), form)


@THEME.contract(
    rule="The episodes of a lane start differently, if resets with different seeds do.",
    why="A lane that seeds itself again at every reset plays the same episode forever.",
)
def episodes_start_anew(trial: Trial) -> None:
    ends = trial.ends()
    starts = {lane: [row(trial.obs_space, trial.record.start, lane)] for lane in range(trial.num_envs)}
    for end in ends:
        for lane in np.flatnonzero(end.at.ended).tolist():
            source = {"NextStep": end.after.obs, "SameStep": end.at.obs, "Disabled": end.at.restart}[trial.mode]
            starts[lane].append(row(trial.obs_space, source, lane))
    known = [group for group in starts.values() if len(group) > 2]
    if not known:
        raise NotApplicable(f"no lane ended twice within {trial.record.count} steps")
    trial.need_variety(sum(len(group) - 1 for group in known), start_only=True)
    require(
        any(not same(group[0], other) for group in known for other in group[1:]),
        f"all {sum(map(len, known))} episodes began like the first one of their lane",
    )
