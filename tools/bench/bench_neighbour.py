"""How steps, resets, seeding and rollouts fare beside neighbours that keep cores busy.

    python tools/bench/bench_neighbour.py [--neighbours 1] [--ids CartPole-v1] [--lanes 4096 65536] [--rounds 9]
        [--verbs step] [--learner]

Prints how many times as fast as with num_threads=1 the default number of threads is. The two take turns, a burst of
calls each; the ratio is that of all the time they took, so what a single call waits for a core counts. It should never
be below 0.9, whatever the neighbours do, and be above 1 where cores are free. With --learner the last neighbour is a
thread of the same process that multiplies matrices (set OPENBLAS_NUM_THREADS=1, or it keeps all cores busy).
"""

import argparse
import multiprocessing
import statistics
import threading
import time

import numpy as np

import batchenv


def spin():
    while True:
        pass


def learn():
    """Multiplies matrices for ever."""
    weights = np.random.default_rng(0).normal(0, 0.03, (1000, 1000))
    values = weights
    while True:
        values = np.tanh(values @ weights)


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


def compare(env_id, lanes, rounds, least, chosen):
    """{what of `chosen`, or of all: (how many times as fast as with one thread, median of the rounds')}."""
    steps = max(1, 2**18 // lanes)
    both = []
    for threads in (None, 1):
        env = batchenv.make(env_id, lanes, num_threads=threads)
        env.reset(seed=0)
        both.append(verbs(env, steps))
    ratios = {}
    for what in chosen or both[0]:
        taken = np.array([[burst(calls[what], least) for calls in both] for _ in range(rounds)])
        rates = taken[..., 0] / taken[..., 1]
        count, spent = taken.sum(0).T
        ratios[what] = (
            (count / spent)[0] / (count / spent)[1],
            statistics.median(rates[:, 0] / rates[:, 1]),
            rates[:, 1],
        )
    return ratios


def measure(beside, arguments):
    """Prints the ratios of all ids."""
    for env_id in arguments.ids:
        for lanes in arguments.lanes:
            found = compare(env_id, lanes, arguments.rounds, arguments.seconds, arguments.verbs)
            for what, (total, middle, _) in found.items():
                figures = f"{total:5.2f}  (median of bursts {middle:.2f})"
                print(f"{beside:12}  {env_id:12} {lanes:6} lanes  {what:15} {figures}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--neighbours", type=int, default=1, help="processes that keep a core busy each")
    parser.add_argument("--lanes", type=int, nargs="+", default=[4096, 65536])
    parser.add_argument("--ids", nargs="+", default=["CartPole-v1", "Pendulum-v1"])
    parser.add_argument("--verbs", nargs="+", choices=("step", "reset", "reset, seeded", "reset of some"))
    parser.add_argument("--rounds", type=int, default=60, help="bursts of each")
    parser.add_argument("--seconds", type=float, default=0.02, help="of a burst, at least")
    parser.add_argument("--learner", action="store_true", help="measure beside a thread as well")
    arguments = parser.parse_args()
    print(f"default threads: {batchenv.build_info()['max_threads']}")
    for neighbours in (0, arguments.neighbours):
        processes = [multiprocessing.Process(target=spin, daemon=True) for _ in range(neighbours)]
        for process in processes:
            process.start()
        try:
            measure(f"{neighbours} neighbours", arguments)
        finally:
            for process in processes:
                process.terminate()
    if arguments.learner:
        threading.Thread(target=learn, daemon=True).start()
        measure("a learner", arguments)


if __name__ == "__main__":
    main()
