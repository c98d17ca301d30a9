"""Who owns the arrays that are returned: they must not change later, and the user may write into them."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from batchenv.check.rules import Theme
from batchenv.check.trial import Trial, leaves, require_same

THEME = Theme("buffers")
HELD = 24  # the results of so many steps are kept, which is more than the buffers that any env uses in turn


def _hold(trial: Trial, pick: Any) -> None:
    """Keeps what `pick` takes out of each result, and requires that it does not change."""
    env = trial.make()
    obs, infos = env.reset(seed=1)
    kept = [("reset", pick((obs, None, None, None, infos)))]
    before = [copy.deepcopy(kept[0][1])]
    for count, action in enumerate(trial.actions(HELD)):
        result = env.step(action)
        kept.append((f"step {count}", pick(result)))
        before.append(copy.deepcopy(kept[-1][1]))
        ended = np.logical_or(result[2], result[3])
        if trial.mode == "Disabled" and ended.any():
            break
    env.reset(seed=2)
    for (what, now), then in zip(kept, before, strict=True):
        require_same(then, now, f"what {what} returned was {{}}, later {{}}")


@THEME.practice(
    rule="Observations that were returned do not change later.",
    why="Otherwise a list of them has the same step many times in the end, and nothing says so.",
)
def observations_do_not_change_later(trial: Trial) -> None:
    _hold(trial, lambda result: result[0])


@THEME.practice(
    rule="Rewards and flags that were returned do not change later.",
    why="The reason is that of observations; and loops read the flags of one step after the next one.",
)
def rewards_and_flags_do_not_change_later(trial: Trial) -> None:
    _hold(trial, lambda result: result[1:4])


@THEME.practice(
    rule="Infos that were returned do not change later.",
    why="final_obs and statistics are often read only when a rollout is complete.",
)
def infos_do_not_change_later(trial: Trial) -> None:
    _hold(trial, lambda result: result[4])


@THEME.practice(
    rule="Writing into what was returned does not change what the env does.",
    why="Learners scale observations and mask rewards in place, which must not change the env's own state.",
)
def results_may_be_written_into(trial: Trial) -> None:
    trial.need_repeatable()
    actions = trial.actions(HELD)
    wanted = trial.roll(trial.start(6)[0], actions)
    env = trial.make()
    _scribble(env.reset(seed=6)[0])
    for count, (action, step) in enumerate(zip(actions, wanted, strict=False)):
        result = env.step(action)
        for place, what in enumerate(("obs", "rewards", "terminations", "truncations")):
            form = f"after writing into the results, {what} of step {count} are {{}}, not {{}}"
            require_same(result[place], getattr(step, what), form)
        _scribble(result[:4])


def _scribble(results: Any) -> None:
    for array in leaves(results):
        if isinstance(array, np.ndarray) and array.flags.writeable and array.dtype != object:
            array[...] = ~array if array.dtype == np.bool_ else 1
