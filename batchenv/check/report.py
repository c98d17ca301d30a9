"""The outcome of `check_vector_env`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from batchenv.check.rules import CHECKS, Check

PASS, FAIL, SKIP = "pass", "fail", "skip"
_MARKS = {PASS: "ok  ", FAIL: "FAIL", SKIP: "skip"}


class ConformanceError(AssertionError):
    """Raised by `Report.raise_on_failure`; its text is the report of the failed checks."""


@dataclass(frozen=True)
class Result:
    """The outcome of one check in one autoreset mode: `status` is "pass", "fail" or "skip"; `detail` says what was
    seen."""

    check: Check
    mode: str
    status: str
    detail: str = ""

    @property
    def name(self) -> str:
        return self.check.name


@dataclass
class Report:
    """The results of all checks, in their order; `print(report)` shows them."""

    target: str
    num_envs: int
    modes: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    results: list[Result] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        """True: no check failed, and at least one passed."""
        return not self.failures and any(result.status == PASS for result in self.results)

    @property
    def failures(self) -> list[Result]:
        """The results with status "fail"."""
        return [result for result in self.results if result.status == FAIL]

    @property
    def skipped(self) -> list[Result]:
        """The results with status "skip"."""
        return [result for result in self.results if result.status == SKIP]

    def raise_on_failure(self) -> None:
        """Raises ConformanceError, whose text describes the failures, unless `passed`."""
        if not self.passed:
            raise ConformanceError(self.failures_only())

    def failures_only(self) -> str:
        """The title, what failed, and the counts."""
        return "\n".join([self._title(), *self._lines([FAIL]), self.summary()])

    def summary(self) -> str:
        """One line of counts."""
        failures = self.failures
        text = f"{len(self.results) - len(failures) - len(self.skipped)} hold, {len(failures)} fail"
        if failures:
            contract = sum(result.check.basis == "contract" for result in failures)
            text += f" ({contract} contract, {len(failures) - contract} practice)"
        return f"{text}, {len(self.skipped)} skipped"

    def __str__(self) -> str:
        return "\n".join([self._title(), *self.notes, *self._lines([PASS, FAIL, SKIP]), "", self.summary()])

    def _title(self) -> str:
        return f"{self.target}: {self.num_envs} lanes, autoreset {', '.join(self.modes)}"

    def _lines(self, statuses: Iterable[str]) -> list[str]:
        """A line for each check and outcome; modes with the same outcome share a line."""
        groups: dict[tuple[Check, str, str], list[str]] = {}
        for result in self.results:
            if result.status in statuses:
                groups.setdefault((result.check, result.status, result.detail), []).append(result.mode)
        order = {check: place for place, check in enumerate(CHECKS)}
        lines, theme = [], None
        for (check, status, detail), modes in sorted(groups.items(), key=lambda item: order[item[0][0]]):
            if check.theme != theme:
                theme = check.theme
                lines += ["", theme]
            where = f" [{', '.join(modes)}]" if set(modes) != set(self.modes) & set(check.modes) else ""
            if status == FAIL:
                lines += [
                    f"  FAIL  {check.name}{where} ({check.basis})",
                    f"          seen: {detail}",
                    f"          rule: {check.rule}",
                    f"          why:  {check.why}",
                ]
            else:
                lines.append(f"  {_MARKS[status]}  {check.name}{where}: {detail if status == SKIP else check.rule}")
        return lines
