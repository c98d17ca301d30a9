"""What the async layer costs and gains, against EnvPool and against the sync step, in turns in one run; medians.

python tools/bench/bench_async.py [--rounds 7] [--only cartpole turnaround uneven neighbour torch]
"""

import argparse
import importlib.util
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "asv_bench"))

from benchmarks import async_figures as figures


def missing(module):
    """Says so where a module is not installed."""
    if importlib.util.find_spec(module):
        return False
    print(f"skipped: {module} is not installed")
    return True


def cartpole(rounds):
    """CartPole against EnvPool's async."""
    if missing("envpool"):
        return
    for lanes, batch in ((64, 32), (4096, 2048)):
        ours, theirs = figures.cartpole(lanes, batch, rounds)
        print(
            f"CartPole async, {lanes} lanes in batches of {batch}: {1e6 * ours:.1f} us per batch, EnvPool "
            f"{1e6 * theirs:.0f} us: {theirs / ours:.1f}x"
        )


def turnaround(rounds):
    """One lane there and back, and what an item costs beyond its work."""
    print(f"recv and send of a batch of 1: {1e6 * figures.turnaround(rounds):.2f} us")
    free, _ = figures.single_items(0.0, 1024, rounds)
    print(f"lanes that cost nothing, 1024 of 1024: {1e9 * free / 2:.0f} ns per lane")
    for batch in (1024, 256):
        taken, work = figures.single_items(20.0, batch, rounds)
        print(
            f"lanes of 20 us, single items, 2 workers, {batch} of 1024: {1e9 * (taken - work):.0f} ns per lane beyond "
            "two threads that step half of the lanes each"
        )


def uneven(rounds):
    """100 us on average, one step in 16 takes ten times longer: busy workers, and the sync step."""
    for batch in (2, 4, 16):
        taken, sync, work = figures.uneven(batch, rounds)
        print(
            f"uneven steps of {2e6 * work / batch:.1f} us, batches of {batch} of 64 lanes on 2 workers: "
            f"{1e-3 * batch / taken:.1f} k steps/s, workers busy {100 * work / taken:.0f}%; step() of {batch} lanes "
            f"{1e-3 * batch / sync:.1f} k: {sync / taken:.2f}x"
        )


def neighbour(rounds):
    """Throughput while another process takes one core, against quiet."""
    for name in figures.NEIGHBOURED:
        print(f"with a core taken, {name}: {100 * figures.neighbour(name, rounds):.0f}% of the quiet throughput")


def torch(rounds):
    """CartPole and a small MLP in turns, against the sum of both alone."""
    if missing("torch"):
        return
    both, step, learn = figures.beside_torch(rounds)
    print(
        f"beside torch: {1e6 * both:.0f} us for both, {1e6 * (step + learn):.0f} us alone: "
        f"{100 * (both / (step + learn) - 1):+.0f}%"
    )


PARTS = {part.__name__: part for part in (cartpole, turnaround, uneven, neighbour, torch)}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    arguments = parser.parse_args()
    for name in arguments.only:
        PARTS[name](arguments.rounds)
