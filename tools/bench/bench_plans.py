"""What a plan of episodes costs: a step of many lanes with it, as a ratio to a step without.

python tools/bench/bench_plans.py [--id ID] [--lanes N] [--threads N] [--rounds N]

Envs take turns, and each ratio is the median over rounds. Episodes of CartPole under random actions end every 22 steps.
"""

import argparse
import statistics
import time

import numpy as np

import batchenv

ENTRIES = 100_000
PLANS = {
    "seeds in order": {"seeds": range(ENTRIES)},
    "200 seeds in order": {"seeds": range(200)},
    "seeds shuffled": {"seeds": range(ENTRIES), "order": "shuffled"},
    "seeds by weights": {"seeds": range(ENTRIES), "order": "sampled"},
    "seeds and labels": {"seeds": range(ENTRIES), "labels": range(ENTRIES)},
    "one parameter": {"params": {"gravity": np.linspace(5, 15, ENTRIES)}},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--id", default="CartPole-v1")
    parser.add_argument("--lanes", type=int, default=4096)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=41)
    args = parser.parse_args()
    envs = {}
    for name, plan in {"no plan": None, **PLANS}.items():
        if plan and "params" in plan and args.id != "CartPole-v1":
            continue
        envs[name] = batchenv.make(args.id, args.lanes, num_threads=args.threads)
        if plan:
            envs[name].plan(**plan)
        envs[name].reset(seed=0)
    env = envs["no plan"]
    env.action_space.seed(0)
    actions = [env.action_space.sample() for _ in range(64)]
    times = {name: [] for name in envs}
    for _ in range(args.rounds + 3):  # the first rounds warm up
        for name, env in envs.items():
            start = time.perf_counter()
            for k in range(200):
                env.step(actions[k % 64])
            times[name].append((time.perf_counter() - start) / 200)
    times = {name: values[3:] for name, values in times.items()}
    print(f"{args.id}, {args.lanes} lanes, {args.threads} threads; medians of {args.rounds} rounds")
    for name, values in times.items():
        ratio = statistics.median(a / b for a, b in zip(values, times["no plan"], strict=True))
        print(f"{name:<20} {statistics.median(values) * 1e6:>8.1f} us a step {ratio:>6.2f}")


if __name__ == "__main__":
    main()
