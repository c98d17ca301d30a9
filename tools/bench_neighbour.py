"""How steps, resets, seeding and rollouts fare beside neighbours that keep cores busy.

    python tools/bench_neighbour.py [--neighbours 1] [--lanes 4096 65536] [--rounds 9]

Prints how many times as fast as with num_threads=1 the default number of threads is: the median of so many rounds in
which the two take turns. It should never be below 0.9, whatever the neighbours do, and above 1 where cores are free.
"""

import argparse
import multiprocessing
import statistics
import time

import numpy as np

import batchenv


def spin():
    while True:
        pass


def verbs(env, steps):
    """{what: a function that does it once}."""
    actions = np.zeros(env.action_space.shape, env.action_space.dtype)
    mask = np.zeros(env.num_envs, bool)
    mask[::7] = True
    return {
        "step": lambda: env.step(actions),
        "reset": lambda: env.reset(),
        "reset, seeded": lambda: env.reset(seed=1),
        "reset of some": lambda: env.reset(options={"reset_mask": mask}),
        f"rollout of {steps}": lambda: env.rollout(steps, policy="random", seed=1),
        f"rollout of {8 * steps}": lambda: env.rollout(8 * steps, policy="random", seed=1),
    }


def seconds(call, least):
    """Seconds a call, over at least `least` seconds of calls."""
    start = time.perf_counter()
    for count in range(1, 1_000_000):
        call()
        spent = time.perf_counter() - start
        if spent > least:
            return spent / count
    return spent / count


def compare(env_id, lanes, rounds, least):
    """{what: ratios, one a round}."""
    steps = max(1, 2**18 // lanes)
    envs = [batchenv.make(env_id, lanes, num_threads=threads) for threads in (None, 1)]
    both = []
    for env in envs:
        env.reset(seed=0)
        both.append(verbs(env, steps))
    ratios = {what: [] for what in both[0]}
    for _ in range(rounds):
        for what in ratios:
            many, one = (seconds(calls[what], least) for calls in both)
            ratios[what].append(one / many)
    return ratios


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--neighbours", type=int, default=1, help="processes that keep a core busy each")
    parser.add_argument("--lanes", type=int, nargs="+", default=[4096, 65536])
    parser.add_argument("--ids", nargs="+", default=["CartPole-v1", "Pendulum-v1"])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=0.1, help="of calls at least, before it is the other's turn")
    arguments = parser.parse_args()
    print(f"{len(batchenv._core.usable_cpus())} CPUs; default threads: {batchenv.build_info()['max_threads']}")
    for neighbours in (0, arguments.neighbours):
        processes = [multiprocessing.Process(target=spin, daemon=True) for _ in range(neighbours)]
        for process in processes:
            process.start()
        try:
            for env_id in arguments.ids:
                for lanes in arguments.lanes:
                    for what, ratios in compare(env_id, lanes, arguments.rounds, arguments.seconds).items():
                        print(
                            f"{neighbours} neighbours  {env_id:12} {lanes:6} lanes  {what:15} "
                            f"{statistics.median(ratios):5.2f}  (least {min(ratios):.2f})",
                            flush=True,
                        )
        finally:
            for process in processes:
                process.terminate()


if __name__ == "__main__":
    main()
