"""MinAtar: microseconds a step of a lane, resets included, against the package minatar in SyncVectorEnv.

    python tools/bench/bench_minatar.py [--cases Breakout] [--lanes 64 1024] [--threads 1] [--rounds 7]
    python tools/bench/bench_minatar.py --kernels

Contenders take turns with random actions of the -v1 ids, as in bench_box2d.py, which says what is printed.
SyncVectorEnv is left out where minatar is not installed. --kernels prints instead the nanoseconds of processor time
that a step of a lane takes by itself, which are those of 1,024 lanes on one thread, where the call costs little.
"""

import importlib.util
import itertools
import logging
import statistics
import time
import warnings

import numpy as np
from bench_box2d import compare, make_parser, ours, print_row, sync

import batchenv
from helpers.minatar import GAMES

CASES = {game: f"MinAtar/{game}-v1" for game in GAMES}


def nanoseconds(env_id, lanes=1024, rounds=15, calls=100):
    """The median over rounds."""
    env = batchenv.make(env_id, lanes, num_threads=1)
    env.reset(seed=0)
    actions = list(np.random.default_rng(0).integers(env.single_action_space.n, size=(calls, lanes)))
    found = []
    for _ in range(rounds):
        start = time.process_time()
        for chosen in actions:
            env.step(chosen)
        found.append(1e9 * (time.process_time() - start) / calls / lanes)
    return statistics.median(found[1:])


def main():
    """Measures what the command line asks for."""
    parser = make_parser(__doc__.splitlines()[0], CASES, [64])
    parser.add_argument("--kernels", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)  # minatar's, about packages that draw its pictures
    if options.kernels:
        print(f"instruction set: {batchenv.build_info()['isa']}")
        for case in options.cases:
            print(f"{case}: {nanoseconds(CASES[case]):.0f} ns", flush=True)
        return
    makers = {"ours": ours}
    if "sync" in options.only and importlib.util.find_spec("minatar"):
        import minatar.gym

        minatar.gym.register_envs()
        makers["sync"] = sync
    print_row("case", "lanes", "threads", "clock", "ours, us", "EnvPool, us", "SyncVectorEnv, us")
    print("|---|---:|---:|---|---:|---:|---:|")
    for case, lanes, threads in itertools.product(options.cases, options.lanes, options.threads):
        compare(makers, case, (CASES[case], False), lanes, threads, options)


if __name__ == "__main__":
    main()
