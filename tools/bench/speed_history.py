"""Measures past commits with asv, a few benchmarks each, so that the graphs over time show something.

python tools/bench/speed_history.py --count 24           # so many commits, spread over the history up to HEAD
python tools/bench/speed_history.py a2821ca 6c458d9      # these
python tools/bench/speed_history.py --count 24 --again   # once more, to keep the lower figures

Each commit is checked out in build/history, built there, and measured with this checkout's benchmarks. What has been
measured is left as it is, so that another run goes on; with --again it is measured once more, and the lower of both
figures is kept, because other programs on a machine only add to a time. Commits that do not build are named and left
out.
"""

import argparse
import json
import os
import platform
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

from asv.machine import Machine, MachineCollection

ROOT = Path(__file__).parents[2]
TREE, ASV = ROOT / "build" / "history", ROOT / "asv_bench"
# What a user asks for first. asv's patterns search in a benchmark's name with its parameters.
BENCHMARKS = (
    r"step\.Step\.time_step\('(CartPole|Pendulum|FrozenLake|LunarLander|MiniGrid)[^,]*, 4096\)",
    r"step\.Step\.time_step\('(CartPole|Pendulum)[^,]*, 64\)",
    r"step\.Call\.time_1000_calls\('(CartPole|FrozenLake)",
    r"step\.Autoreset\.time_step\('SameStep', None\)",
    r"mujoco\.Step\.time_step\('(HalfCheetah|Humanoid)-v5', 64, 1\)",
    r"asynchronous\.Turn\.time_100_turns",
    r"lanes\.Rollout\.time_128_steps\('CartPole-v1', 'rollout'\)",
    r"lanes\.Snapshot\..*\('CartPole-v1', 4096\)",
    r"construct\.",
)
ATTRIBUTES = ("rounds=1", "repeat=25", "sample_time=0.03", "warmup_time=0.1")


def git(*words: str, where: Path = ROOT) -> str:
    return subprocess.run(["git", *words], cwd=where, check=True, capture_output=True, text=True).stdout.strip()


def spread(count: int) -> list[str]:
    """`count` commits of the main line, as far apart as can be, the newest among them."""
    commits = git("rev-list", "--first-parent", "HEAD").split()
    last = len(commits) - 1
    return [commits[round(i * last / max(count - 1, 1))] for i in range(min(count, len(commits)))]


def build(commit: str) -> bool:
    """Builds a commit in TREE, where the objects of other commits lie already. Returns whether it can be imported."""
    if not TREE.exists():
        git("clone", "--quiet", "--shared", str(ROOT), str(TREE))
    git("checkout", "--quiet", "--force", "--detach", commit, where=TREE)
    for library in (TREE / "batchenv").rglob("*.so"):
        library.unlink()
    made = subprocess.run(
        [sys.executable, "setup.py", "-q", "build_ext", "--inplace"], cwd=TREE, capture_output=True, text=True
    )
    tried = subprocess.run(
        [sys.executable, "-c", "import batchenv; batchenv.make('CartPole-v1', 1)"],
        env={**os.environ, "PYTHONPATH": str(TREE)},
        capture_output=True,
        text=True,
    )
    if tried.returncode:
        print(f"{commit[:8]} does not build:\n{(made.stderr + tried.stderr)[-600:]}", flush=True)
    return tried.returncode == 0


def measure(commit: str, machine: str, prefix: list[str]) -> None:
    command = ["asv", "run", "-E", f"existing:{sys.executable}", "--set-commit-hash", commit, "--machine", machine]
    command += [word for pattern in BENCHMARKS for word in ("--bench", pattern)]
    command += [word for attribute in ATTRIBUTES for word in ("--attribute", attribute)]
    subprocess.run([*prefix, *command], cwd=ASV, env={**os.environ, "ASV_PYTHONPATH": str(TREE)}, check=False)


def tidy(results: Path) -> None:
    """Gives what asv has named after the path of this Python the name of its version, and drops other paths."""
    name = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for path in results.glob("*-existing-*.json"):
        found = json.loads(path.read_text(encoding="utf-8"))
        found.update(env_name=name, python=name.removeprefix("python"))
        found["params"]["python"] = name.removeprefix("python")
        target = path.with_name(f"{path.name.split('-')[0]}-{name}.json")
        if target.exists():  # an earlier run
            earlier = json.loads(target.read_text(encoding="utf-8"))["results"]
            for benchmark, row in found["results"].items():
                keep_lower(row, earlier.get(benchmark, [None]))
            found["results"] = {**earlier, **found["results"]}
        target.write_text(json.dumps(found, indent=None, separators=(",", ":")) + "\n", encoding="utf-8")
        path.unlink()


def keep_lower(row: list[Any], earlier: list[Any]) -> None:
    """Puts what `earlier` has of a benchmark into `row`, for those parameters for which its figure is lower."""
    if not earlier[0] or row[1:3] != earlier[1:3]:  # nothing, or another version of the benchmark
        return
    values = row[0] or [None] * len(earlier[0])
    better = [i for i, (old, new) in enumerate(zip(earlier[0], values, strict=True)) if not_above(old, new)]
    for column, old in enumerate(earlier):
        if column == 1 or not isinstance(old, list):  # the parameters; when and how long
            continue
        row += [None] * (column + 1 - len(row))
        row[column] = row[column] or [None] * len(old)
        for i in better:
            row[column][i] = old[i]


def not_above(old: float | None, new: float | None) -> bool:
    """Whether `old` is a figure (neither None, a failure, nor NaN, left out) that is not above the new one, if any."""
    return old is not None and old == old and (new is None or not new < old)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("commits", nargs="*", help="commits to measure")
    parser.add_argument("--count", type=int, default=0, help="so many more, spread over the history")
    parser.add_argument("--again", action="store_true", help="measure once more, and keep the lower figures")
    parser.add_argument("--machine", default="two-cores", help="the machine's name in the graphs; default: %(default)s")
    parser.add_argument("--prefix", default="", help="what asv is run under, such as 'taskset -c 1'")
    args = parser.parse_args()

    results = ASV / json.loads(without_comments(ASV / "asv.conf.json"))["results_dir"] / args.machine
    chosen = [git("rev-parse", commit) for commit in args.commits] + (spread(args.count) if args.count else [])
    # Without the kernel's release: asv would begin another line in its graphs with each of these.
    described = {**Machine.get_defaults(), "machine": args.machine, "os": platform.system()}
    MachineCollection.save(args.machine, described)
    listed = results.parent / "benchmarks.json"
    for commit in reversed(dict.fromkeys(chosen)):  # the newest last: asv keeps the last one's list of benchmarks
        known = listed.read_bytes() if listed.exists() and commit != git("rev-parse", "HEAD") else None
        if not args.again and list(results.glob(f"{commit[:8]}-*.json")):
            continue
        print(f"{commit[:8]} {git('log', '-1', '--format=%cs %s', commit)}", flush=True)
        if build(commit):
            measure(commit, args.machine, shlex.split(args.prefix))
            tidy(results)
        if known is not None:
            listed.write_bytes(known)
    return 0


def without_comments(path: Path) -> str:
    return "".join(line for line in path.open(encoding="utf-8") if not line.startswith("//"))


if __name__ == "__main__":
    raise SystemExit(main())
