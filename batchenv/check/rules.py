"""A check is a function that tests one rule; with it come the rule and the reason why it matters, as text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

ALL_MODES = ("NextStep", "SameStep", "Disabled")


class Violation(Exception):
    """Raised by a check if the rule does not hold; the message says what was seen."""


class NotApplicable(Exception):
    """Raised by a check that cannot be done with this env; the message says why."""


@dataclass(frozen=True)
class Check:
    """One rule.

    `basis` is "contract" if Gymnasium documents the rule, or its own `make_vec` or wrappers rely on it. It is
    "practice" if Gymnasium does not document it (and some of its own envs differ), but breaking it causes bugs for
    users.
    """

    name: str
    theme: str
    rule: str
    why: str
    basis: str
    modes: tuple[str, ...]
    needs_factory: bool
    function: Callable[[Any], None]


CHECKS: list[Check] = []


class Theme:
    """What some rules are about. `contract` and `practice` add the decorated function, which takes a `Trial`, to the
    checks of such rules, see `Check.basis`; its name is the check's."""

    def __init__(self, name: str):
        self.contract, self.practice = partial(self._add, name, "contract"), partial(self._add, name, "practice")

    @staticmethod
    def _add(
        theme: str, basis: str, *, rule: str, why: str, modes: tuple[str, ...] = ALL_MODES, needs_factory: bool = False
    ) -> Callable[[Callable[[Any], None]], Callable[[Any], None]]:
        def add(function: Callable[[Any], None]) -> Callable[[Any], None]:
            CHECKS.append(Check(function.__name__, theme, rule, why, basis, modes, needs_factory, function))
            return function

        return add


def require(condition: Any, seen: str) -> None:
    """Raises Violation(seen) unless `condition` is true."""
    if not condition:
        raise Violation(seen)


def must_raise(
    call: Callable[[], Any], seen: str, shown: Callable[[Any], str] | None = None, kind: type[Exception] = Exception
) -> None:
    """Raises Violation if the call returns something instead of raising an exception of this kind. The message is
    `seen`, and then what `shown` makes of what has been returned."""
    try:
        result = call()
    except kind:
        return
    raise Violation(seen if shown is None else seen + shown(result))


def brief(value: Any, most: int = 160) -> str:
    """`repr(value)` on one line, shortened."""
    text = " ".join(repr(value).split())
    return text if len(text) <= most else text[: most - 3] + "..."


def said(error: BaseException) -> str:
    """An exception as "Type: first words"."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:200]}" if text else type(error).__name__
