"""Environment steps per second of batchenv and of its peers, measured side by side.

All contestants of a row take turns in every round, so that whatever else the machine does affects all of them. Rates
are medians over rounds; ratios are medians of the rounds' own ratios.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import math
import os
import platform
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import cycle, islice
from typing import Any

import gymnasium
import numpy as np

import batchenv
from batchenv.registry import TABLE

ROUNDS = 7
BATCHES = 8  # action batches, drawn beforehand and cycled through
WARM_UP = 64  # calls: lanes start together, so at first no episode ends
SYNC_MAX_LANES = 4096
OURS = "batchenv"
ENVPOOL_IDS = {"Taxi-v4": "Taxi-v3"}  # where EnvPool has an older version only
PACKAGES = (
    *("numpy", "gymnasium", "mujoco", "ale-py", "multi-agent-ale-py", "dm-env", "pygame", "pygame-ce", "torch"),
    "envpool",
)
INSTALL = {"EnvPool": "pip install envpool", "matplotlib": "pip install matplotlib"}


class Contestant:
    """A vector env and its actions: `run(calls)` steps it and returns the seconds taken."""

    def __init__(self, env: Any, actions: list[np.ndarray], seed: int | None = 0):
        self.env, self.calls, self._actions = env, 1, cycle(actions)
        # A lane may fail, such as in a level that cannot be generated; the others are reset, and are stepped below.
        with suppress(batchenv.LaneError):
            env.reset(seed=seed)

    def run(self, calls: int) -> float:
        step, actions = self.env.step, islice(self._actions, calls)
        result = None
        start = time.perf_counter()
        for action in actions:
            try:
                result = step(action)  # held until the next step returns, as a training loop holds it
            except batchenv.LaneError as error:
                result = error.result
        elapsed = time.perf_counter() - start
        del result
        return elapsed

    def calibrate(self, seconds: float) -> None:
        """Sets how many calls fill a time slice, once episodes end at their usual rate and threads are chosen."""
        self.run(WARM_UP)
        calls = 1
        while (taken := self.run(calls)) < seconds / 2:
            calls *= 2
        self.calls = max(1, round(calls * seconds / taken))


def measure(
    contestants: dict[str, Contestant], lanes: int, seconds: float, rounds: int = ROUNDS
) -> dict[str, list[float]]:
    """Steps per second of each contestant in each round; `seconds` is each one's time over all rounds."""
    for contestant in contestants.values():
        contestant.calibrate(seconds / rounds)
    rates: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(rounds):
        for name, contestant in contestants.items():
            time.sleep(0.002)  # until the threads of the previous contestant stop spinning
            contestant.run(contestant.calls // 20 + 1)
            rates[name].append(lanes * contestant.calls / contestant.run(contestant.calls))
    return rates


def ratio(ours: list[float], theirs: list[float]) -> float:
    """How many times faster `ours` is: the median of the rounds' ratios."""
    return statistics.median(a / b for a, b in zip(ours, theirs, strict=True))


def draw_actions(env: Any, dtype: Any = None) -> list[np.ndarray]:
    """Random action batches of a vector env."""
    env.action_space.seed(0)
    return [np.ascontiguousarray(env.action_space.sample(), dtype) for _ in range(BATCHES)]


def contestants_for(
    env_id: str, lanes: int, threads: int | None = None, peers: Iterable[str] = (), **keywords: Any
) -> tuple[dict[str, Contestant], list[str]]:
    """batchenv and those of `peers` that run this environment here, and notes on those that do not. All are made with
    these keywords."""
    env = batchenv.make(env_id, lanes, num_threads=threads, **keywords)
    actions = draw_actions(env)
    made, notes = {OURS: Contestant(env, actions)}, []
    if peers and TABLE[env_id].library is not None:
        return made, [f"{env_id} is of a file of your own, which no other program runs: nothing is compared"]
    for peer in peers:
        try:
            if peer == "EnvPool":
                made.update(_envpool(env_id, lanes, actions, **keywords))
            elif peer == "SyncVectorEnv" and lanes > SYNC_MAX_LANES:
                notes.append(f"SyncVectorEnv is skipped above {SYNC_MAX_LANES} lanes: a row would take minutes")
            elif peer == "SyncVectorEnv" and env_id not in gymnasium.registry:
                notes.append(f"Gymnasium has no {env_id}")
            elif peer == "SyncVectorEnv":
                sync = gymnasium.make_vec(env_id, num_envs=lanes, vectorization_mode="sync", **keywords)
                made[peer] = Contestant(sync, actions)
            elif peer == "AtariVectorEnv":
                if env_id.startswith("ALE/"):
                    vector = gymnasium.make_vec(
                        env_id, num_envs=lanes, vectorization_mode="vector_entry_point", **keywords
                    )
                    made[peer] = Contestant(vector, actions)
            elif env_id.startswith("CartPole"):
                vector = gymnasium.make_vec(env_id, num_envs=lanes, vectorization_mode="vector_entry_point", **keywords)
                made["CartPoleVectorEnv"] = Contestant(vector, actions)
        except ImportError:
            notes.append(f"{peer} is not installed: {INSTALL[peer]}")
        except Exception as error:  # a peer that cannot run an env must not end the run
            notes.append(f"{peer} does not run {env_id} with {lanes} lanes: {error}")
    return made, notes


def _envpool(env_id: str, lanes: int, actions: list[np.ndarray], **keywords: Any) -> Iterator[tuple[str, Contestant]]:
    import envpool

    if actions[0].dtype.kind == "i":
        actions = [action.astype(np.int32) for action in actions]
    for count in sorted({1, min(2, lanes, os.cpu_count() or 1)}):
        env = envpool.make_gymnasium(ENVPOOL_IDS.get(env_id, env_id), num_envs=lanes, num_threads=count, **keywords)
        yield f"EnvPool {count}t", Contestant(env, actions)


PEERS = ("EnvPool", "AtariVectorEnv", "SyncVectorEnv", "CartPoleVectorEnv")


def row(
    env_id: str, lanes: int, threads: int | None, seconds: float, compare: bool, keywords: dict[str, Any]
) -> dict[str, Any]:
    """One line of the table."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about the peers' own spaces
        contestants, notes = contestants_for(env_id, lanes, threads, PEERS if compare else (), **keywords)
    rates = measure(contestants, lanes, seconds)
    for contestant in contestants.values():
        contestant.env.close()
    pools = [name for name in rates if name.startswith("EnvPool")]
    if pools:
        best = max(pools, key=lambda name: statistics.median(rates[name]))
        notes.append(f"EnvPool's best is {best.split()[-1]} for {env_id} with {lanes} lanes")
        rates = {**{name: rates[name] for name in rates if name not in pools}, "EnvPool": rates[best]}
    return {
        "id": env_id,
        "lanes": lanes,
        "steps_per_second": {name: statistics.median(values) for name, values in rates.items()},
        "us_per_call": {name: 1e6 * lanes / statistics.median(values) for name, values in rates.items()},
        "ratio": {name: ratio(rates[OURS], values) for name, values in rates.items() if name != OURS},
        "rounds": rates,
        "notes": notes,
    }


def environment() -> dict[str, Any]:
    """The software and the machine on which the figures depend."""
    versions: dict[str, str | None] = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            versions[package] = None
    return {
        "build_info": batchenv.build_info(),
        "versions": versions,
        "cpu": cpu_name(),
        "cpu_count": os.cpu_count(),
        "machine": platform.machine(),
        "platform": platform.platform(),
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
    }


def cpu_name() -> str:
    """The processor's name, as far as the system tells."""
    with suppress(OSError), open("/proc/cpuinfo", encoding="utf-8") as file:
        for line in file:
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


@contextmanager
def progress(total: int) -> Iterator[Callable[[str], None]]:
    """A function to call before each row: moves a bar on stderr, or writes a line without rich."""
    if importlib.util.find_spec("rich") is None:
        yield lambda label: print(label, file=sys.stderr, flush=True)
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=total)
        started = False

        def advance(label: str) -> None:
            nonlocal started
            bar.update(task, description=label, advance=int(started))
            started = True

        yield advance


def run(
    plan: list[tuple[str, int]], threads: int | None, seconds: float, compare: bool, keywords: dict[str, Any]
) -> dict[str, Any]:
    """All rows of `plan`, a list of (id, lanes) that are made with these keywords, and what they depend on."""
    rows, about = [], environment()  # now, so that the load is the one before measuring
    with progress(len(plan)) as advance:
        for env_id, lanes in plan:
            advance(f"{env_id}, {lanes} lanes")
            rows.append(row(env_id, lanes, threads, seconds, compare, keywords))
    return {**about, "threads": threads, "seconds": seconds, "keywords": keywords, "rows": rows}


def how(result: dict[str, Any]) -> str:
    """How the figures of `run` were made, in a sentence or two."""
    build, versions, load = result["build_info"], result["versions"], result["load"]
    threads = result["threads"] or build["max_threads"]
    turns = ", all in turns" if any(r["ratio"] for r in result["rows"]) else ""
    text = (
        f"Medians of {ROUNDS} rounds{turns}, {result['seconds']:g} s for each program and row; random actions drawn "
        f"beforehand; batchenv {build['version']} on up to {threads} thread{'s' * (threads > 1)} ({build['isa']}), "
        f"{result['cpu_count']} CPUs; Python {versions['python']}, NumPy {versions['numpy']}, "
        f"Gymnasium {versions['gymnasium']}."
    )
    keywords = result.get("keywords", {})  # results that were kept by older versions have none
    if keywords:
        text += f" Made with {', '.join(f'{name}={value!r}' for name, value in keywords.items())}."
    if load is not None and result["cpu_count"] and load > result["cpu_count"] / 2:
        text += f" The machine was busy (load {load:.1f}): a quiet one gives higher rates."
    return text


def significant(value: float) -> str:
    """Three significant digits, without an exponent: 0.0457, 4.57, 2,690."""
    if not value or not math.isfinite(value):
        return str(value)
    digits = 2 - math.floor(math.log10(abs(value)))
    return f"{round(value, digits):,.{max(digits, 0)}f}"


def cells(rows: list[dict[str, Any]]) -> list[list[str]]:
    """The table's head and rows: millions of steps per second of each, and batchenv's divided by each peer's."""
    peers = list(dict.fromkeys(name for r in rows for name in PEERS if name in r["ratio"]))
    lines = [["id", "lanes", "M steps/s", "us per call", *(text for peer in peers for text in (peer, "ratio"))]]
    for r in rows:
        ours = [significant(r["steps_per_second"][OURS] / 1e6), significant(r["us_per_call"][OURS])]
        others = [
            text
            for peer in peers
            for text in (
                (significant(r["steps_per_second"][peer] / 1e6), f"{significant(r['ratio'][peer])}x")
                if peer in r["ratio"]
                else ("-", "-")
            )
        ]
        lines.append([r["id"], str(r["lanes"]), *ours, *others])
    return lines


def table(rows: list[dict[str, Any]]) -> str:
    """The rows as aligned text."""
    lines = cells(rows)
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(
            text.rjust(width) if i else text.ljust(width)
            for i, (text, width) in enumerate(zip(line, widths, strict=True))
        )
        for line in lines
    )


def plot_problem(path: str) -> str | None:
    """Why `plot` cannot write there, or None."""
    if importlib.util.find_spec("matplotlib") is None:
        return f"--plot needs matplotlib: {INSTALL['matplotlib']}"
    from matplotlib.figure import Figure

    kinds = Figure().canvas.get_supported_filetypes()
    suffix = os.path.splitext(path)[1][1:].lower()
    return None if suffix in kinds else f"--plot {path}: the name must end in one of .{', .'.join(sorted(kinds))}"


def plot(rows: list[dict[str, Any]], path: str) -> None:
    """Steps per second: by number of lanes where an environment has several rows, else by environment."""
    from matplotlib.figure import Figure

    ids = list(dict.fromkeys(r["id"] for r in rows))
    names = [OURS, *(name for name in PEERS if any(name in r["ratio"] for r in rows))]
    if len(ids) == len(rows):
        figure = Figure(figsize=(8, 1.2 + 0.28 * len(ids)), layout="constrained")
        axes = figure.subplots()
        for name in names:  # points, since a bar's length says nothing on a logarithmic axis, which such factors need
            axes.plot([r["steps_per_second"].get(name, np.nan) for r in rows], range(len(ids)), "o", label=name)
        lanes = {r["lanes"] for r in rows}
        labels = [f"{r['id']}, {r['lanes']:,} lanes" for r in rows] if len(lanes) > 1 else ids
        axes.set_yticks(range(len(ids)), labels)
        axes.set(xscale="log", xlabel="steps/s", ylim=(len(ids) - 0.5, -0.5))
        if len(lanes) == 1:
            axes.set_title(f"{rows[0]['lanes']:,} lanes")
        axes.grid(True, alpha=0.3)
        if len(names) > 1:
            axes.legend()
    else:
        figure = Figure(figsize=(5 * len(ids), 4.5), layout="constrained")
        for axes, env_id in zip(figure.subplots(1, len(ids), squeeze=False)[0], ids, strict=True):
            for name in names:
                points = sorted(
                    (r["lanes"], r["steps_per_second"][name])
                    for r in rows
                    if r["id"] == env_id and name in r["steps_per_second"]
                )
                if points:
                    axes.plot(*zip(*points, strict=True), marker="o", label=name)
            axes.set(xscale="log", yscale="log", xlabel="lanes", ylabel="steps/s", title=env_id)
            axes.grid(True, alpha=0.3)
            axes.legend()
    figure.savefig(path)
