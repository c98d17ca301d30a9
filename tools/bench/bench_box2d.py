"""Box2D environments: microseconds a step of a lane, against EnvPool's and Gymnasium's SyncVectorEnv.

    python tools/bench/bench_box2d.py [--cases landings] [--lanes 64 1024] [--threads 1 2] [--rounds 7] [--only sync]

Contenders take turns, a slice of `--seconds` each. What is printed are medians over the rounds, and in brackets
medians of the ratio "theirs / ours" within a round. With one thread it is processor time, since EnvPool's one thread is
another than the caller's; with several it is wall time. What policies compute is not counted.

The policies are random actions and, for "landings", a lander's way to the ground in the manner of Gymnasium's
heuristic. EnvPool is left out where it is not installed, and SyncVectorEnv where Box2D is not. SyncVectorEnv has 64
lanes at most and knows no threads.
"""

import argparse
import importlib.util
import itertools
import statistics
import sys
import time
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

import gymnasium
import numpy as np

import batchenv
from helpers.landing import land

SETTLE = 0.03  # s; OpenMP's threads go on spinning for up to 20 ms after a loop, in the next contender's time
SYNC_LANES = 64
OTHERS = ("envpool", "sync")


class Random:
    """Actions that were drawn beforehand."""

    def __init__(self, env, lanes):
        rng, space = np.random.default_rng(1), getattr(env, "single_action_space", env.action_space)
        if isinstance(space, gymnasium.spaces.Discrete):
            drawn = [rng.integers(space.n, size=lanes) for _ in range(32)]
        else:
            size = space.shape[-1]
            drawn = [rng.uniform(-1, 1, (lanes, size)).astype(np.float32) for _ in range(32)]
        self.actions = itertools.cycle(drawn)

    def __call__(self, observation):
        return next(self.actions)


CASES = {  # the id, and whether it lands
    "LunarLander": ("LunarLander-v3", False),
    "landings": ("LunarLander-v3", True),
    "BipedalWalker": ("BipedalWalker-v3", False),
    "BipedalWalkerHardcore": ("BipedalWalkerHardcore-v3", False),
}


def ours(env_id, lanes, threads):
    return batchenv.make(env_id, lanes, num_threads=threads)


def envpool(env_id, lanes, threads):
    import envpool

    return envpool.make_gymnasium(env_id, num_envs=lanes, num_threads=threads)


def sync(env_id, lanes, threads):
    return gymnasium.make_vec(env_id, lanes, vectorization_mode="sync")


class Contender:
    """An env that goes on from slice to slice."""

    def __init__(self, make, env_id, lands, lanes, threads):
        self.env, self.lanes = make(env_id, lanes, threads), lanes
        self.policy = land if lands else Random(self.env, lanes)
        self.clock = time.process_time if threads == 1 else time.perf_counter
        self.observation, _ = self.env.reset()

    def run(self, seconds):
        """Returns microseconds a step of a lane."""
        time.sleep(SETTLE)
        spent, steps, end = 0.0, 0, time.perf_counter() + seconds
        while time.perf_counter() < end or steps == 0:
            actions = self.policy(self.observation)
            start = self.clock()
            self.observation = self.env.step(actions)[0]
            spent += self.clock() - start
            steps += 1
        return 1e6 * spent / steps / self.lanes


def print_row(*cells):
    print("|", " | ".join(map(str, cells)), "|", flush=True)


def compare(makers, name_of_case, case, lanes, threads, options, columns=OTHERS):
    """Prints a row of the medians of `makers`, {contender: a function that makes its env}. case: as in CASES.
    columns: those that may stand beside "ours"."""
    contenders = {
        name: Contender(make, *case, lanes, threads)
        for name, make in makers.items()
        if name != "sync" or (lanes <= SYNC_LANES and threads == 1)
    }
    for contender in contenders.values():
        contender.run(options.warm)
    names, costs = list(contenders), {name: [] for name in contenders}
    for r in range(options.rounds):
        for k in range(len(names)):  # whoever is first changes
            name = names[(r + k) % len(names)]
            costs[name].append(contenders[name].run(options.seconds))
    for contender in contenders.values():
        contender.env.close()
    found = {
        name: (statistics.median(own), statistics.median(c / o for c, o in zip(own, costs["ours"], strict=True)))
        for name, own in costs.items()
    }
    others = [f"{found[n][0]:.3g} ({found[n][1]:.1f}x)" if n in found else "-" for n in columns]
    clock = "processor" if threads == 1 else "wall"
    print_row(name_of_case, lanes, threads, clock, f"{found['ours'][0]:.3g}", *others)


def make_parser(description, cases, lanes, others=OTHERS):
    """The options that `compare` reads, for a script with these cases, whose contenders are "ours" and `others`."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--cases", nargs="*", choices=cases, default=list(cases))
    parser.add_argument("--lanes", nargs="*", type=int, default=lanes)
    parser.add_argument("--threads", nargs="*", type=int, default=[1, 2])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.25, help="of a slice")
    parser.add_argument("--warm", type=float, default=0.5, help="seconds before the first round")
    parser.add_argument("--only", nargs="*", choices=others, default=others)
    return parser


def main():
    parser = make_parser(__doc__.splitlines()[0], CASES, [64, 1024])
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    makers = {"ours": ours}
    if "envpool" in options.only and importlib.util.find_spec("envpool"):
        makers["envpool"] = envpool
    if "sync" in options.only and importlib.util.find_spec("Box2D"):
        makers["sync"] = sync
    print_row("case", "lanes", "threads", "clock", "ours, us", "EnvPool, us", "SyncVectorEnv, us")
    print("|---|---:|---:|---|---:|---:|---:|")
    for case, lanes, threads in itertools.product(options.cases, options.lanes, options.threads):
        compare(makers, case, CASES[case], lanes, threads, options)


if __name__ == "__main__":
    main()
