"""Resets of some lanes: `options["reset_mask"]`."""

from __future__ import annotations

import copy
from functools import partial
from typing import Any

import numpy as np

from batchenv.check.rules import NotApplicable, Theme, Violation, brief, must_raise, require, said
from batchenv.check.trial import SHORT, Step, Trial, difference, leaves, require_same, row, same

THEME = Theme("masked reset")


def _mask(trial: Trial) -> np.ndarray:
    mask = np.zeros(trial.num_envs, np.bool_)
    mask[0] = True
    return mask


def _shown(trial: Trial, step: Step, lane: int) -> dict[str, Any]:
    return {"observations": row(trial.obs_space, step.obs, lane), "rewards": step.rewards[lane]}


def _problem(trial: Trial) -> str:
    """What is wrong with masked resets; "" if nothing is."""
    moved = kept = 0
    for seed in (1, 2, 3):
        env, first = trial.start(seed)
        steps = trial.roll(env, trial.actions(2 + seed))
        obs = steps[-1].obs
        try:
            new, _ = env.reset(options={"reset_mask": _mask(trial)})
        except Exception as error:
            return f"reset(options={{'reset_mask': mask}}) raised {said(error)}"
        rows = {len(part) for part in leaves(new)}
        if rows != {trial.num_envs}:
            return f"observations have {brief(sorted(rows))} rows for {trial.num_envs} lanes, of which the mask has 1"
        for lane in range(1, trial.num_envs):
            before, after = (row(trial.obs_space, x, lane) for x in (obs, new))
            if not same(before, after):
                return difference(before, after, f"lane {lane}, not in the mask, went from {{}} to {{}}")
        if not same(row(trial.obs_space, first, 0), row(trial.obs_space, obs, 0)):
            moved += 1
            kept += same(row(trial.obs_space, obs, 0), row(trial.obs_space, new, 0))
    if kept and kept == moved:
        return f"lane 0, in the mask, kept its observation in {kept} of {kept} cases: it was not reset"
    return ""


def need_masks(trial: Trial) -> None:
    if trial.mask_problem is None:
        trial.mask_problem = _problem(trial)
    if trial.mask_problem:
        raise NotApplicable("masked resets do not work, see masked_reset_is_for_the_masked")


@THEME.practice(
    rule="reset(options={'reset_mask': mask}) resets the lanes in the mask. It returns the observations of all lanes, "
    "and those of lanes outside the mask do not change.",
    why="SyncVectorEnv and AsyncVectorEnv take a mask in every mode, and in Disabled nothing else starts a lane's next "
    "episode. An env that ignores the mask throws away running episodes.",
)
def masked_reset_is_for_the_masked(trial: Trial) -> None:
    trial.need_lanes()
    problem = _problem(trial)
    require(not problem, problem)


@THEME.practice(
    rule="Lanes outside the mask go on as if nothing had happened.",
    why="Otherwise resetting one lane changes the episodes of others, and results depend on which lane ended when.",
)
def masked_reset_spares_the_others(trial: Trial) -> None:
    trial.need_lanes()
    trial.need_repeatable()
    need_masks(trial)
    actions = trial.actions(2 * SHORT)
    runs = []
    for masked in (False, True):
        env, _ = trial.start(2)
        if any(step.ended.any() for step in trial.roll(env, actions[:2])):
            raise NotApplicable("an episode ended within 2 steps")
        if masked:
            env.reset(options={"reset_mask": _mask(trial)})
        runs.append(trial.roll(env, actions[2:]))
    for plain, other in zip(*runs, strict=False):
        for lane in range(1, trial.num_envs):
            one, two = (_shown(trial, step, lane) for step in (plain, other))
            require_same(one, two, f"lane {lane}: {{}} without, {{}} after a reset of lane 0")
        if plain.ended.any() or other.ended.any():
            break


@THEME.practice(
    rule="A mask that is not a bool array of shape (num_envs,), or has no True in it, raises.",
    why="A list, an int array or an empty mask is a mistake. If it is accepted, the wrong lanes are reset, or none.",
)
def bad_masks_raise(trial: Trial) -> None:
    need_masks(trial)
    n = trial.num_envs
    for text, mask in (
        ("[True] * num_envs", [True] * n),
        ("np.ones(num_envs + 1, bool)", np.ones(n + 1, np.bool_)),
        ("np.ones(num_envs, int)", np.ones(n, np.int64)),
        ("np.zeros(num_envs, bool)", np.zeros(n, np.bool_)),
    ):
        env, _ = trial.start()
        must_raise(partial(env.reset, options={"reset_mask": mask}), f"the mask {text} was accepted")


@THEME.practice(
    rule="reset leaves the caller's `options` as they were.",
    why="If an env removes reset_mask, it resets all lanes when the same dict is passed again, and wrappers that read "
    "the mask later do not find it: RecordEpisodeStatistics then forgets every lane's return.",
)
def reset_leaves_options_alone(trial: Trial) -> None:
    env, _ = trial.start()
    mask = _mask(trial)
    options = {"reset_mask": mask}
    before = copy.deepcopy(options)
    try:
        env.reset(options=options)
    except Exception as error:
        raise NotApplicable(f"reset(options={{'reset_mask': mask}}) raised {said(error)}") from None
    require_same(before, options, "options {} became {}")


@THEME.practice(
    rule="A lane whose episode ended, and which was reset by a mask, takes its next action.",
    why="Otherwise the lane is reset twice, and the first action of the episode is lost.",
    modes=("NextStep", "Disabled"),
)
def masked_reset_forgets_the_end(trial: Trial) -> None:
    need_masks(trial)
    trial.need_reseeds()
    trial.ends()
    env, fresh = trial.start(4)
    action = trial.actions(1, seed=9)[0]
    wanted = trial.step(env, action)
    env.reset(seed=1)
    ended = None
    for other in trial.actions(trial.max_steps):
        ended = trial.step(env, other).ended
        if ended.any():
            break
    if ended is None or not ended.any():
        raise NotApplicable("no episode ended")
    try:
        obs, _ = env.reset(seed=4, options={"reset_mask": ended.copy()})
    except Exception as error:
        raise Violation(f"reset(seed=4, options={{'reset_mask': mask}}) raised {said(error)}") from None
    obs = copy.deepcopy(obs)
    got = trial.step(env, action)
    compared = False
    for lane in np.flatnonzero(ended).tolist():
        if same(row(trial.obs_space, fresh, lane), row(trial.obs_space, obs, lane)):
            compared = True
            one, two = (_shown(trial, step, lane) for step in (wanted, got))
            require_same(one, two, f"lane {lane}: {{}} in a new env, {{}} after the mask")
    if not compared:
        raise NotApplicable("a masked reset with seed s does not start lane i as reset(seed=s) does")
