"""The DM Control suite against EnvPool and against dm_control itself.

    python tools/bench/bench_dm_control.py [--lanes 64] [--threads 1 2] [--rounds 5] [--seconds 0.3] [--only walker]
        [--pixels]

Contenders take turns, with the same random actions, episodes that end and begin included; dm_control steps one
environment after the other. Printed are microseconds per step of one lane (medians of the rounds), and how many times
as long the others take. With one thread these are processor times, with more wall times. Who is not installed is left
out: EnvPool has wheels for Python 3.12, and brings a MuJoCo of its own. With --pixels, which needs MUJOCO_GL=egl or
osmesa, pictures of 84 x 84 pixels are observed; OpenGL may use all processors for them, so times are wall times.
"""

import argparse
import statistics
import sys
import time
from pathlib import Path

import numpy as np

import batchenv

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))
from helpers import dm_control

try:
    import envpool
except ImportError:
    envpool = None


def actions_of(env, lanes):
    space, rng = env.single_action_space, np.random.default_rng(0)
    low, high = np.clip([space.low, space.high], -1, 1)  # some have no bounds
    return [rng.uniform(low, high, (lanes, *space.shape)) for _ in range(16)]


def of_envpool(name, lanes, threads, pixels):
    """A function that steps EnvPool's env, or None where it has no such task."""
    parts = name.replace("-", "_").split("_")
    pool_id = "".join(part if part.isupper() else part.title() for part in parts) + "-v1"
    if envpool is None or pool_id not in envpool.list_all_envs():
        return None
    env = envpool.make_gymnasium(pool_id, num_envs=lanes, num_threads=threads, seed=0, from_pixels=pixels)
    env.reset()
    return env.step


def of_dm_control(domain, task, pixels):
    try:
        env = dm_control.load().load(domain, task, task_kwargs={"random": 0})
    except ImportError:
        return None
    env.reset()
    if pixels:
        return lambda actions: (env.step(actions[0]), env.physics.render(84, 84, camera_id=0))
    return lambda actions: env.step(actions[0])


def measure(step, actions, seconds, clock):
    begin, calls, until = clock(), 0, time.perf_counter() + seconds
    while time.perf_counter() < until:
        step(actions[calls % len(actions)])
        calls += 1
    return (clock() - begin) / calls * 1e6


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lanes", type=int, default=64)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.3, help="of a contender's turn")
    parser.add_argument("--only", nargs="+", default=[], help="domains, or domain-task")
    parser.add_argument("--pixels", action="store_true")
    options = parser.parse_args()
    keywords = {"observation": "pixels"} if options.pixels else {}
    print("| task | " + " | ".join(f"{n} threads, us | EnvPool | dm_control" for n in options.threads) + " |")
    print("|---|" + "---:|---:|---:|" * len(options.threads))
    for domain, task in dm_control.names():
        if options.only and not {domain, f"{domain}-{task}"} & set(options.only):
            continue
        cells = []
        for threads in options.threads:
            lanes = options.lanes
            clock = time.perf_counter if options.pixels or threads > 1 else time.process_time
            env = batchenv.make(f"dm_control/{domain}-{task}-v0", lanes, num_threads=threads, **keywords)
            env.reset(seed=0)
            actions = actions_of(env, lanes)
            pool = of_envpool(f"{domain}-{task}", lanes, threads, options.pixels)
            contenders = {"ours": (env.step, lanes), "EnvPool": (pool, lanes)}
            contenders["dm_control"] = (of_dm_control(domain, task, options.pixels), 1)
            contenders = {name: both for name, both in contenders.items() if both[0]}
            costs = {name: [] for name in contenders}
            for repeat in range(options.rounds + 1):  # the first one warms up
                for name, (step, count) in contenders.items():
                    cost = measure(step, actions, options.seconds if repeat else 0.1, clock) / count
                    costs[name] += [cost] * (repeat > 0)
            ours = statistics.median(costs["ours"])
            cells.append(f"{ours:.2f}")
            for other in ("EnvPool", "dm_control"):
                ratios = [theirs / mine for theirs, mine in zip(costs.get(other, ()), costs["ours"], strict=False)]
                cells.append(f"{statistics.median(ratios):.1f}" if ratios else "")
            env.close()
        print(f"| `{domain}-{task}` | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
