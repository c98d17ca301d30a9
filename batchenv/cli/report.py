"""A benchmark's results as one HTML page: table, plot, and the machine and versions on which they depend."""

from __future__ import annotations

import html
import importlib.util
import os
import tempfile
from collections.abc import Iterable
from typing import Any

from batchenv.cli import bench

STYLE = """
body { font-family: system-ui, sans-serif; max-width: 70em; margin: 2em auto; padding: 0 1em; color: #222; }
table { border-collapse: collapse; margin: 1em 0; display: block; overflow-x: auto; }
td, th { padding: 0.25em 0.8em; border-bottom: 1px solid #ddd; text-align: right; }
td:first-child, th:first-child { text-align: left; }
svg { max-width: 100%; height: auto; }
.note { color: #555; font-size: 0.9em; }
"""


def write(result: dict[str, Any], path: str) -> None:
    """Writes what `bench.run` returned. Without matplotlib, the page has no plot and says so."""
    rows = bench.cells(result["rows"])
    about = {
        "processor": f"{result['cpu']}, {result['cpu_count']} CPUs",
        "system": result["platform"],
        "load before": "unknown" if result["load"] is None else f"{result['load']:.1f}",
        **{name: version for name, version in result["versions"].items() if version is not None},
        **{f"batchenv: {name}": str(value) for name, value in result["build_info"].items()},
    }
    notes = dict.fromkeys(note for row in result["rows"] for note in row["notes"])
    parts = [
        "<h1>batchenv: steps per second</h1>",
        f"<p>{html.escape(bench.how(result))}</p>",
        _table(rows[0], rows[1:]),
        _plot(result["rows"]),
        *(f'<p class="note">{html.escape(note)}</p>' for note in notes),
        "<h2>Machine and versions</h2>",
        _table(("", ""), about.items()),
    ]
    page = f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>batchenv</title><style>{STYLE}</style>'
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join([f"{page}</head><body>", *parts, "</body></html>\n"]))


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    lines = ["".join(f"<th>{html.escape(text)}</th>" for text in head)]
    lines += ["".join(f"<td>{html.escape(text)}</td>" for text in row) for row in rows]
    return "<table>" + "\n".join(f"<tr>{line}</tr>" for line in lines) + "</table>"


def _plot(rows: list[dict[str, Any]]) -> str:
    """The plot of `bench.plot`, inside the page."""
    if importlib.util.find_spec("matplotlib") is None:
        return f'<p class="note">A plot needs matplotlib: {bench.INSTALL["matplotlib"]}</p>'
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "plot.svg")
        bench.plot(rows, path)
        with open(path, encoding="utf-8") as file:
            return file.read().partition("<!DOCTYPE")[2].partition(">")[2]
