"""The three autoreset modes: what the step that ends an episode returns, and the step after it."""

from __future__ import annotations

import copy

import numpy as np

from batchenv.check.rules import NotApplicable, Theme, Violation, brief, must_raise, require
from batchenv.check.trial import Step, Trial, require_same, row, same

THEME = Theme("autoreset")
NEXT, SAME, DISABLED = ("NextStep",), ("SameStep",), ("Disabled",)


def _to_the_end(trial: Trial, env: object) -> tuple[list[object], Step]:
    """Steps until an episode ends in some lane. Returns the actions and the last step."""
    taken = []
    for action in trial.actions(trial.record.count + 1):
        taken.append(action)
        step = trial.step(env, action)
        if step.ended.any():
            return taken, step
    raise NotApplicable("no episode ended")


@THEME.contract(
    rule="NextStep: in the step after an episode's end, the lane's reward is 0 and both flags are False.",
    why="That step is a reset, not a transition. Wrappers do not count it, so a reward in it is lost, and a flag in it "
    "ends an episode without steps.",
    modes=NEXT,
)
def next_step_is_the_reset(trial: Trial) -> None:
    for end in trial.ends():
        for lane in np.flatnonzero(end.at.ended).tolist():
            got = (
                float(end.after.rewards[lane]),
                *(bool(f[lane]) for f in (end.after.terminations, end.after.truncations)),
            )
            require(
                got == (0.0, False, False),
                f"lane {lane} ended; its next step returned reward {got[0]}, terminated {got[1]}, truncated {got[2]}",
            )


@THEME.contract(
    rule="NextStep: the action of the step after an episode's end does not matter.",
    why="It was chosen for the last observation of an episode that is over.",
    modes=NEXT,
)
def next_step_ignores_the_action(trial: Trial) -> None:
    trial.ends()
    trial.need_repeatable()
    env, _ = trial.start()
    taken, last = _to_the_end(trial, env)
    results = []
    for action in trial.actions(4, seed=77):
        env, _ = trial.start()
        for earlier in taken:
            last = trial.step(env, earlier)
        results.append(trial.step(env, action))
    for lane in np.flatnonzero(last.ended).tolist():
        rows = [row(trial.obs_space, step.obs, lane) for step in results]
        for other in rows[1:]:
            require_same(rows[0], other, f"lane {lane}, after its end: {{}} with one action, {{}} with another")


@THEME.contract(
    rule='SameStep: infos["final_obs"][i] is the last observation of the episode that ended in lane i.',
    why="The observation that step returns belongs to the next episode already, so a learner that bootstraps at a "
    "truncation has only this one.",
    modes=SAME,
)
def same_step_gives_final_obs(trial: Trial) -> None:
    for end in trial.ends():
        final = end.at.infos.get("final_obs")
        if final is None:
            raise Violation(f"at an episode's end infos have only {sorted(end.at.infos)}")
        require(len(final) == trial.num_envs, f"final_obs is {brief(final)}")
        for lane in np.flatnonzero(end.at.ended).tolist():
            one = row(trial.obs_space, final, lane) if isinstance(final, dict) else final[lane]
            require(
                one is not None and same(np.shape(one), np.shape(row(trial.obs_space, end.at.obs, lane))),
                f"final_obs of lane {lane}, which ended, is {brief(one)}",
            )


@THEME.contract(
    rule='SameStep: infos["_final_obs"] is a bool array, True for exactly the lanes that ended.',
    why="It says which entries of final_obs are valid; Gymnasium's VectorizeTransformObservation reads it.",
    modes=SAME,
)
def same_step_masks_final_obs(trial: Trial) -> None:
    for end in trial.ends():
        mask = end.at.infos.get("_final_obs")
        require(
            isinstance(mask, np.ndarray) and mask.dtype == np.bool_ and same(mask, end.at.ended),
            f"lanes that ended: {brief(end.at.ended)}; infos['_final_obs'] is {brief(mask)}",
        )


@THEME.practice(
    rule='SameStep: infos["final_info"] is a dict with the last infos of the episodes that ended; "_final_info" '
    "is its mask.",
    why="All other infos belong to the new episode, so success flags and statistics of the old one are only there. "
    "SyncVectorEnv has it; none of Gymnasium's wrappers reads it.",
    modes=SAME,
)
def same_step_gives_final_info(trial: Trial) -> None:
    for end in trial.ends():
        info, mask = end.at.infos.get("final_info"), end.at.infos.get("_final_info")
        require(
            isinstance(info, dict),
            f"at an episode's end infos have only {sorted(end.at.infos)}; final_info is {brief(info)}",
        )
        require(
            isinstance(mask, np.ndarray) and same(mask, end.at.ended),
            f"lanes that ended: {brief(end.at.ended)}; infos['_final_info'] is {brief(mask)}",
        )


@THEME.contract(
    rule="SameStep: at an episode's end, step returns the new episode's first observation, not the old one's last.",
    why="The next action is chosen for it. A lane that is not reset at this point goes on with one that is over.",
    modes=SAME,
)
def same_step_returns_the_new_episode(trial: Trial) -> None:
    pairs = []
    for end in trial.ends():
        final = end.at.infos.get("final_obs")
        for lane in np.flatnonzero(end.at.ended).tolist():
            if final is not None and not isinstance(final, dict) and final[lane] is not None:
                pairs.append((final[lane], row(trial.obs_space, end.at.obs, lane)))
    if not pairs:
        raise NotApplicable("see same_step_gives_final_obs")
    require(
        not all(same(last, first) for last, first in pairs),
        f"at all {len(pairs)} ends of episodes step returned final_obs, such as {brief(pairs[0][0], 80)}",
    )


@THEME.contract(
    rule="Disabled: lanes whose episodes ended go on after reset(options={'reset_mask': ended}).",
    why="Nothing else resets these lanes.",
    modes=DISABLED,
)
def disabled_goes_on_after_a_masked_reset(trial: Trial) -> None:
    ends = trial.ends()
    require(not trial.record.problem, trial.record.problem)
    over = [
        all(end.after.ended[lane] for end in ends if end.at.ended[lane])
        for lane in range(trial.num_envs)
        if sum(end.at.ended[lane] for end in ends) > 1
    ]
    require(
        not any(over), "a lane whose episode ended, and which was then reset, ended again at the next step, every time"
    )


@THEME.practice(
    rule="Disabled: step raises while a lane's episode is over.",
    why="Otherwise, if a reset is forgotten, an episode that has ended goes on, or the lane is reset unnoticed. "
    "SyncVectorEnv raises.",
    modes=DISABLED,
)
def disabled_refuses_lanes_that_are_over(trial: Trial) -> None:
    if not trial.record.ends and not trial.record.problem:
        trial.ends()
    env, _ = trial.start()
    taken, last = _to_the_end(trial, env)
    lane = int(np.flatnonzero(last.ended)[0])
    seen = f"the episode of lane {lane} had ended; one more step returned the reward "
    must_raise(lambda: env.step(copy.deepcopy(taken[-1])), seen, lambda got: brief(got[1][lane]))
