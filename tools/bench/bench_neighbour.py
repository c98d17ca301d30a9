"""How steps, resets, seeding and rollouts fare beside neighbours that keep cores busy.

    python tools/bench/bench_neighbour.py [--neighbours 1] [--lanes 4096 65536] [--rounds 9]

Prints how many times as fast as with num_threads=1 the default number of threads is. The two take turns, a burst of
calls each; the ratio is that of all the time they took, so what a single call waits for a core counts. It should never
be below 0.9, whatever the neighbours do, and be above 1 where cores are free.
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


def burst(call, least):
    """(calls, their seconds) of at least `least` seconds."""
    start = time.perf_counter()
    count = spent = 0
    while spent < least:
        call()
        count += 1
        spent = time.perf_counter() - start
    return np.array((count, spent))


def compare(env_id, lanes, rounds, least):
    """{what: (how many times as fast as with one thread, median of the rounds')}."""
    steps = max(1, 2**18 // lanes)
    both = []
    for threads in (None, 1):
        env = batchenv.make(env_id, lanes, num_threads=threads)
        env.reset(seed=0)
        both.append(verbs(env, steps))
    ratios = {}
    for what in both[0]:
        taken = np.array([[burst(calls[what], least) for calls in both] for _ in range(rounds)])
        rates = taken[..., 0] / taken[..., 1]
        count, spent = taken.sum(0).T
        ratios[what] = (
            (count / spent)[0] / (count / spent)[1],
            statistics.median(rates[:, 0] / rates[:, 1]),
            rates[:, 1],
        )
    return ratios


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--neighbours", type=int, default=1, help="processes that keep a core busy each")
    parser.add_argument("--lanes", type=int, nargs="+", default=[4096, 65536])
    parser.add_argument("--ids", nargs="+", default=["CartPole-v1", "Pendulum-v1"])
    parser.add_argument("--rounds", type=int, default=60, help="bursts of each")
    parser.add_argument("--seconds", type=float, default=0.02, help="of a burst, at least")
    arguments = parser.parse_args()
    print(f"default threads: {batchenv.build_info()['max_threads']}")
    for neighbours in (0, arguments.neighbours):
        processes = [multiprocessing.Process(target=spin, daemon=True) for _ in range(neighbours)]
        for process in processes:
            process.start()
        try:
            for env_id in arguments.ids:
                for lanes in arguments.lanes:
                    for what, (total, middle, _) in compare(env_id, lanes, arguments.rounds, arguments.seconds).items():
                        print(
                            f"{neighbours} neighbours  {env_id:12} {lanes:6} lanes  {what:15} "
                            f"{total:5.2f}  (median of bursts {middle:.2f})",
                            flush=True,
                        )
        finally:
            for process in processes:
                process.terminate()


if __name__ == "__main__":
    main()
