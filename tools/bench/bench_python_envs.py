"""What workers for environments written in Python cost and gain, in turns in one run; medians.

python tools/bench/bench_python_envs.py [--rounds 9] [--only cartpole infos busy uneven pictures trip waiting learner]
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "asv_bench"))

from benchmarks import python_figures as figures


def cartpole(rounds):
    """Gymnasium's CartPole class."""
    for lanes in (1, 8, 64, 256):
        _print_rates(f"CartPole's class, {lanes} lanes", lanes, figures.cartpole(lanes, rounds))


def infos(rounds):
    """The same with three numbers in its infos."""
    for lanes in (8, 64, 256):
        _print_rates(f"with infos, {lanes} lanes", lanes, figures.cartpole(lanes, rounds, make=figures.Telling))


def _print_rates(what, lanes, took):
    rates = ", ".join(f"{name} {lanes / seconds:,.0f}" for name, seconds in took.items())
    ratios = ", ".join(
        f"{kind} {took[peer] / took[kind]:.2f} of {peer}"
        for kind in ("serial", "processes")
        for peer in ("Sync", "Async")
    )
    print(f"{what}, steps/s: {rates}; {ratios}", flush=True)


def busy(rounds):
    """Steps of a millisecond."""
    for waits in (True, False):
        share = figures.busy(1e-3, waits, rounds)
        print(f"steps of 1 ms that {'wait' if waits else 'compute'}: {share:.3f} of the ideal", flush=True)


def uneven(rounds):
    """One step in ten takes ten times as long."""
    print(f"uneven steps, batches of a quarter: {figures.uneven(rounds):.2f} times step()", flush=True)


def pictures(rounds):
    """84 x 84 x 4 bytes per lane."""
    took = figures.pictures(rounds)
    for name in ("processes", "stacked"):
        print(f"84 x 84 x 4, 64 lanes, {name}: {took['Async'] / took[name]:.2f} times AsyncVectorEnv", flush=True)


def trip(rounds):
    """A lane there and back."""
    taken, work = figures.round_trip(rounds)
    print(f"send and recv of one lane: {1e6 * (taken - work):.1f} us beyond its step", flush=True)


def waiting(rounds):
    """256 lanes in an event loop."""
    took = figures.waiting(0.05, rounds)
    shares = ", ".join(f"{name} {0.05 / seconds:.3f}" for name, seconds in took.items())
    print(f"256 envs that wait for 50 ms, share of the limit: {shares}", flush=True)
    took = figures.waiting(0.0, rounds)
    costs = ", ".join(f"{name} {1e6 * seconds / 256:.1f}" for name, seconds in took.items())
    print(f"256 envs that do not wait, us per lane: {costs}", flush=True)


def learner(rounds):
    """Beside a busy program."""
    print(f"beside a program that is busy half of the time: {figures.beside_a_learner(rounds):.2f} times as long")


def main():
    parts = {part.__name__: part for part in (cartpole, infos, busy, uneven, pictures, trip, waiting, learner)}
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--only", nargs="+", choices=parts, default=list(parts))
    arguments = parser.parse_args()
    for name in arguments.only:
        parts[name](arguments.rounds)


if __name__ == "__main__":
    main()
