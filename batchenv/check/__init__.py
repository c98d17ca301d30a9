"""A conformance checker for any vector env, batchenv's or another one: `check_vector_env`.

Importing this module is cheap: what runs the checks is imported only when a check runs.
"""

from __future__ import annotations

from typing import Any

from batchenv.check.report import ConformanceError, Report, Result
from batchenv.check.target import resolve
from batchenv.check.trial import Trial

__all__ = ["ConformanceError", "Report", "Result", "check_vector_env"]


def check_vector_env(
    env: Any,
    *,
    num_envs: int = 3,
    isolate: bool = False,
    timeout: float = 60.0,
    max_steps: int = 1500,
    vectorization_mode: str | None = None,
    skip: tuple[str, ...] | list[str] = (),
    env_kwargs: dict[str, Any] | None = None,
) -> Report:
    """Checks a vector env against Gymnasium's contract, and against rules that Gymnasium leaves open but users rely on.

    Args:
        env: what to check, one of
            a vector env (it is not closed; checks that would close it or need a second one are skipped);
            a function or class that makes one; `num_envs` and `autoreset_mode` are passed to it if it takes them;
            an id of batchenv, such as "CartPole-v1";
            any other id for `gymnasium.make_vec`; "gymnasium:CartPole-v1" is Gymnasium's own CartPole-v1;
            "module:function": a function or class to import.
            If an autoreset mode can be passed, all three modes are checked.
        num_envs: how many lanes (copies of the environment) to ask for.
        isolate: True: checks run in processes of their own. If a process hangs or dies, that check has failed, and the
            others go on. Needs a str, or a function that another process can import.
        timeout: seconds after which a check is considered to hang (isolate=True only). At most half of this time is
            spent on waiting for episodes to end.
        max_steps: the most steps to wait for episodes to end; checks that need an end are skipped if none comes.
        vectorization_mode: of `gymnasium.make_vec`: "sync", "async" or "vector_entry_point".
        skip: names of checks to leave out.
        env_kwargs: further keywords for what makes the env; with isolate=True, of values that JSON knows.

    Returns:
        a `Report`: `print(report)`; `report.passed`; `report.failures`; `report.raise_on_failure()`.

    Raises:
        TypeError: `env` is none of these, or an argument has a wrong type; env_kwargs for an env that is made.
        ValueError: nothing has this name, an argument is out of range, or isolate=True was passed with something that
            another process cannot find.
    """
    from batchenv.arguments.numbers import integer
    from batchenv.check.run import run, selected

    num_envs = integer("num_envs", num_envs, 1, 2**31 - 1)
    max_steps = integer("max_steps", max_steps, 1, 2**31 - 1)
    if not isinstance(timeout, (int, float)) or not 0 < timeout <= 86400:
        raise ValueError(f"timeout={timeout!r} must be a number of seconds, above 0 and at most 86400")
    skip = _check_names(skip)
    if isolate:
        from batchenv.check.isolated import run_isolated

        return run_isolated(env, num_envs, float(timeout), max_steps, vectorization_mode, skip, env_kwargs)
    target = resolve(env, num_envs, vectorization_mode, env_kwargs)
    try:
        modes, notes = target.modes()
    except Exception:  # makes_resets_and_steps says what is wrong
        modes, notes = [(None, "NextStep")], []
    report = Report(target.name, num_envs, [mode for _, mode in modes], notes)
    for asked, mode in modes:
        trial = Trial(target, asked, mode, max_steps, timeout / 2)
        checks = [check for check in selected(mode) if check.name not in skip]
        report.results += run(trial, checks)
    if target.instance is not None:
        report.num_envs = getattr(target.instance, "num_envs", num_envs)
    return report


def _check_names(names: Any) -> tuple[str, ...]:
    from batchenv.check.run import CHECKS

    if isinstance(names, str):
        names = (names,)
    known = [check.name for check in CHECKS]
    for name in names:
        if name not in known:
            raise ValueError(f"skip: there is no check {name!r}; the checks are: {', '.join(known)}")
    return tuple(names)
