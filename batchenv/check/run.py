"""Runs the checks of one autoreset mode."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterable
from typing import Any

# The order of these imports is the order of the checks.
from batchenv.check import spaces, seeding, masks, steps, autoreset, infos, plans, buffers, closing  # isort: skip # noqa: F401
from batchenv.check.report import FAIL, PASS, SKIP, Result
from batchenv.check.rules import CHECKS, Check, NotApplicable, Violation, said
from batchenv.check.trial import Trial

FIRST = "makes_resets_and_steps"
UNUSABLE = f"{FIRST} failed"


def selected(mode: str) -> list[Check]:
    """The checks of a mode, in order."""
    return [check for check in CHECKS if mode in check.modes]


def part_of(asked: str | None, mode: str, skip: Collection[str]) -> dict[str, Any]:
    """The checks of a mode that are not skipped, for a worker: those left, and those at which a process was lost."""
    names = [check.name for check in selected(mode) if check.name not in skip]
    return {"asked": asked, "mode": mode, "checks": names, "lost": []}


def run(trial: Trial, checks: Iterable[Check]) -> Iterable[Result]:
    """Runs checks and yields their results. If the first fails, the others are skipped."""
    unusable = False
    for check in checks:
        status, detail = (SKIP, UNUSABLE) if unusable else _run_one(check, trial)
        unusable = unusable or (check.name == FIRST and status == FAIL)
        yield Result(check, trial.mode, status, detail)


def _run_one(check: Check, trial: Trial) -> tuple[str, str]:
    if check.needs_factory and trial.target.instance is not None:
        return SKIP, "needs a function that makes envs, but an env was passed"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            check.function(trial)
        except NotApplicable as reason:
            return SKIP, str(reason)
        except Violation as violation:
            return FAIL, str(violation)
        except Exception as error:
            return FAIL, f"raised {said(error)}"
        finally:
            trial.close_all()
    return PASS, ""
