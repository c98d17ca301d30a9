"""close, and after it."""

from __future__ import annotations

from batchenv.check.rules import PRACTICE, Violation, brief, check, require, said
from batchenv.check.trial import Trial

THEME = "closing"


@check(
    THEME,
    rule="close() may be called twice, and before any reset.",
    why="`finally:` blocks, wrappers and context managers all call it.",
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


@check(
    THEME,
    rule="env.closed is True after close().",
    why="VectorEnv.close documents it; wrappers and learners ask it before they touch the env again.",
    needs_factory=True,
)
def close_sets_closed(trial: Trial) -> None:
    env, _ = trial.start()
    before = getattr(env, "closed", None)
    env.close()
    after = getattr(env, "closed", None)
    require((before, after) == (False, True), f"env.closed was {brief(before)}, and is {brief(after)} after close()")


@check(
    THEME,
    rule="step after close() raises.",
    why="Using an env that was closed is a mistake; where memory has been freed it is a crash.",
    basis=PRACTICE,
    needs_factory=True,
)
def step_after_close_raises(trial: Trial) -> None:
    action = trial.actions(1)[0]
    env, _ = trial.start()
    env.close()
    try:
        result = env.step(action)
    except Exception:
        return
    require(False, f"step after close() gave rewards {brief(result[1], 60)}")


@check(
    THEME,
    rule="reset after close() raises.",
    why="As for step: it hides that the env was closed, or makes it usable by half.",
    basis=PRACTICE,
    needs_factory=True,
)
def reset_after_close_raises(trial: Trial) -> None:
    env, _ = trial.start()
    env.close()
    try:
        result = env.reset(seed=0)
    except Exception:
        return
    require(False, f"reset after close() gave {brief(result[0], 80)}")
