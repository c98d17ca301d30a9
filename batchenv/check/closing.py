"""close(), and what happens after it."""

from __future__ import annotations

from batchenv.check.rules import Theme, Violation, brief, must_raise, require, said
from batchenv.check.trial import Trial

THEME = Theme("closing")


@THEME.contract(
    rule="close() may be called twice, and before any reset.",
    why="`finally:` blocks, wrappers and context managers may all call it.",
    needs_factory=True,
)
def close_may_be_called_twice(trial: Trial) -> None:
    trial.make().close()
    env, _ = trial.start()
    env.close()
    try:
        env.close()
    except Exception as error:
        raise Violation(f"the second close() raised {said(error)}") from None


@THEME.contract(
    rule="env.closed is True after close().",
    why="VectorEnv.close documents it; wrappers and learners read it before they use the env again.",
    needs_factory=True,
)
def close_sets_closed(trial: Trial) -> None:
    env, _ = trial.start()
    before = getattr(env, "closed", None)
    env.close()
    after = getattr(env, "closed", None)
    require((before, after) == (False, True), f"env.closed was {brief(before)}, and is {brief(after)} after close()")


@THEME.practice(
    rule="step after close() raises.",
    why="Using a closed env is a mistake, and a crash if its memory has been freed.",
    needs_factory=True,
)
def step_after_close_raises(trial: Trial) -> None:
    action = trial.actions(1)[0]
    env, _ = trial.start()
    env.close()
    must_raise(lambda: env.step(action), "step after close() returned the rewards ", lambda got: brief(got[1], 60))


@THEME.practice(
    rule="reset after close() raises.",
    why="Otherwise a mistake stays hidden, or the env can be used only in part.",
    needs_factory=True,
)
def reset_after_close_raises(trial: Trial) -> None:
    env, _ = trial.start()
    env.close()
    must_raise(lambda: env.reset(seed=0), "reset after close() returned ", lambda got: brief(got[0], 80))
