"""The site's graphs of speed over time, from what asv has measured, and asv's own pages."""

from __future__ import annotations

import datetime
import importlib.util
import itertools
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

# {what a user asks: benchmarks and parameters, as asv names them}
QUESTIONS = {
    "How long do eight steps of 4,096 lanes take?": r"step\.Step\.time_step\(.*, 4096\)",
    "How long do eight steps of 64 lanes take?": r"step\.Step\.time_step\(.*, 64\)",
    "How long do a thousand calls of one lane take?": r"step\.Call\.time_1000_calls\('(CartPole|FrozenLake)-",
    "How long do eight steps of 64 MuJoCo lanes take?": r"mujoco\.Step\.time_step",
    "How long do a hundred turns of recv and send take?": r"asynchronous\.Turn\.time_100_turns",
    "How long does a rollout of 128 steps take?": r"lanes\.Rollout",
    "How long do saving and restoring 4,096 lanes take?": r"lanes\.Snapshot\.time_",
    "How long does it take until a million lanes have their first observations?": r"construct\.time_",
    "How much memory do a million lanes take?": r"construct\.peakmem_",
}


def write(source: Path, results: Path) -> None:
    """Appends a graph per question to internals/over-time.md in `source`, and the link to asv's pages if asv is
    installed."""
    points = list(read(results))
    lines = [f"The graphs show {len({date for date, *_ in points})} commits, each at the time at which it was made."]
    if can_publish():
        lines += [
            "",
            '<a href="../asv/index.html">asv\'s own pages</a> have every figure, and the commit of each point.',
        ]
    if importlib.util.find_spec("matplotlib") is not None:
        for number, (question, pattern) in enumerate(QUESTIONS.items()):
            chosen = [point for point in points if re.match(pattern, point[1])]
            if chosen:
                plot(chosen, [min(points)[0], max(points)[0]], source / "internals" / f"over-time-{number}.svg")
                lines += ["", f"## {question}", "", f"![One line per environment](over-time-{number}.svg)"]
    with open(source / "internals" / "over-time.md", "a", encoding="utf-8") as file:
        file.write("\n".join(["", *lines, ""]))


def read(results: Path) -> Iterator[tuple[datetime.datetime, str, float]]:
    """(a commit's time, benchmark with its parameters, value) of every measurement."""
    for path in sorted(results.glob("*/*-*.json")):
        found = json.loads(path.read_text(encoding="utf-8"))
        date = datetime.datetime.fromtimestamp(found["date"] / 1000, datetime.UTC)
        for name, row in found["results"].items():
            values, params = row[0], row[1]
            for value, chosen in zip(values or (), itertools.product(*params), strict=False):
                if value is not None and value == value:  # asv's NaN: not measured
                    yield date, f"{name}({', '.join(chosen)})" if chosen else name, value


def plot(points: list[tuple[datetime.datetime, str, float]], span: list[datetime.datetime], path: Path) -> None:
    """Draws a line per environment from the first to the last time of `span`, which all graphs have in common."""
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 3), layout="constrained")
    axes = figure.subplots()
    lines: dict[str, list[Any]] = {}
    for date, name, value in sorted(points):
        lines.setdefault(name, []).append((date, value))
    for name, line in lines.items():
        axes.plot(*zip(*line, strict=True), "o-", markersize=4, label=label(name))
    memory = "mem_" in points[0][1]
    axes.set(ylabel="bytes" if memory else "seconds", yscale="linear" if memory else "log")
    if memory:
        axes.set_ylim(0, 1.1 * max(value for *_, value in points))
    margin = (span[1] - span[0]) / 40 + datetime.timedelta(minutes=1)
    axes.set_xlim(span[0] - margin, span[1] + margin)
    axes.xaxis.set_major_locator(locator := AutoDateLocator())
    axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))
    axes.grid(True, alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    if len(lines) > 1:
        figure.legend(loc="outside right upper", frameon=False, fontsize="small")
    figure.savefig(path)


def label(name: str) -> str:
    """The first parameter, which is the environment or the sizes; without parameters, what is done."""
    function, _, params = name.partition("(")
    verb = function.rpartition("_")[2]
    return verb if function.endswith(("snapshot", "restore")) else params.partition(",")[0].strip("')") or verb


def can_publish() -> bool:
    """Whether asv can write its own pages: it reads the commits, which a source distribution does not have."""
    return importlib.util.find_spec("asv") is not None and (Path(__file__).parents[2] / ".git").exists()


def publish(folder: Path, asv: Path) -> None:
    """Writes asv's own pages into `folder`, where it can."""
    if can_publish():
        command = [sys.executable, "-m", "asv", "publish", "--no-pull", "--html-dir", str(folder.resolve())]
        subprocess.run(command, cwd=asv, check=True, stdout=subprocess.DEVNULL)
