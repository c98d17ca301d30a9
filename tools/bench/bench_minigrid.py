"""MiniGrid and BabyAI: microseconds a step of a lane, resets included, against EnvPool and SyncVectorEnv.

    python tools/bench/bench_minigrid.py [--cases Empty DoorKey] [--lanes 64 4096] [--threads 1 2] [--only sync]
    python tools/bench/bench_minigrid.py --stages
    python tools/bench/bench_minigrid.py --pictures [--cases DoorKey BossLevel] [--rounds 15]

Contenders take turns with random actions, as in bench_box2d.py, which says what is printed. EnvPool is left out where
it is not installed, and SyncVectorEnv where minigrid is not. --stages prints instead what parts of a step take, from
the differences between levels and views, on one thread, in nanoseconds of processor time. --pictures prints what
`env.render()` takes for a lane, of one and of eight lanes, whose pictures are not kept, and what minigrid's takes.
"""

import importlib.util
import itertools
import statistics
import time
import warnings

import numpy as np
from bench_box2d import compare, envpool, make_parser, ours, print_row, sync

import batchenv

CASES = {
    "Empty": "MiniGrid-Empty-8x8-v0",
    "DoorKey": "MiniGrid-DoorKey-8x8-v0",
    "FourRooms": "MiniGrid-FourRooms-v0",
    "MultiRoom": "MiniGrid-MultiRoom-N6-v0",
    "KeyCorridor": "MiniGrid-KeyCorridorS6R3-v0",
    "LavaCrossing": "MiniGrid-LavaCrossingS9N1-v0",
    "GoToLocal": "BabyAI-GoToLocal-v0",
    "BossLevel": "BabyAI-BossLevel-v0",
}


def nanoseconds(run, count, seconds=0.4, rounds=5):
    """The median over rounds of what `run` takes of processor time, divided by `count`."""
    found = []
    for _ in range(rounds):
        start, end, calls = time.process_time(), time.perf_counter() + seconds, 0
        while time.perf_counter() < end:
            run()
            calls += 1
        found.append(1e9 * (time.process_time() - start) / calls / count)
    return statistics.median(found)


def print_stages(lanes=4096):
    """What a step takes without light, the light, a step's whole, and a reset."""
    print("| case | step | without light | view of 3 | reset |\n|---|---:|---:|---:|---:|")
    for case, env_id in CASES.items():
        costs = []
        for keywords in ({}, {"see_through_walls": True}, {"agent_view_size": 3}):
            try:
                env = batchenv.make(env_id, lanes, num_threads=1, **keywords)
            except TypeError:  # levels where it is not the user's
                costs.append("-")
                continue
            env.reset(seed=0)
            drawn = itertools.cycle(np.random.default_rng(0).integers(7, size=(32, lanes)))
            costs.append(f"{nanoseconds(lambda env=env, drawn=drawn: env.step(next(drawn)), lanes):.0f}")
        env = batchenv.make(env_id, lanes, num_threads=1)
        costs.append(f"{nanoseconds(env.reset, lanes):.0f}")
        print(f"| {case} | {' | '.join(costs)} |", flush=True)


def microseconds(run, seconds=0.02):
    """What a call of `run` takes, by the clock."""
    start, calls = time.perf_counter(), 0
    while time.perf_counter() < start + seconds:
        run()
        calls += 1
    return 1e6 * (time.perf_counter() - start) / calls


def print_pictures(cases, rounds):
    """Medians of pictures in turns, and of the ratio of each turn."""
    import gymnasium
    import minigrid  # noqa: F401  (registers the ids)

    print("| case | lanes | env.render(), us a lane | minigrid, us | ratio |\n|---|---:|---:|---:|---:|")
    for case, lanes in itertools.product(cases, (1, 8)):
        env = batchenv.make(CASES[case], lanes, render_mode="rgb_array")
        env.reset(seed=0)
        singles = [gymnasium.make(CASES[case], render_mode="rgb_array", disable_env_checker=True) for _ in range(lanes)]
        for lane, single in enumerate(singles):
            single.reset(seed=lane)
        if not all(np.array_equal(*pair) for pair in zip(env.render(), [one.render() for one in singles], strict=True)):
            raise SystemExit(f"{case}: pictures differ")
        took = [(microseconds(env.render) / lanes, microseconds(singles[0].render)) for _ in range(rounds)]
        mine, theirs = map(statistics.median, zip(*took, strict=True))
        ratio = statistics.median(b / a for a, b in took)
        print(f"| {case} | {lanes} | {mine:.1f} | {theirs:.0f} | {ratio:.0f} |", flush=True)


def main():
    """Measures what the command line asks for."""
    parser = make_parser(__doc__.splitlines()[0], CASES, [64, 4096])
    parser.add_argument("--stages", action="store_true")
    parser.add_argument("--pictures", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.pictures:
        print_pictures(options.cases, options.rounds)
        return
    if options.stages:
        print_stages()
        return
    makers = {"ours": ours}
    if "envpool" in options.only and importlib.util.find_spec("envpool"):
        makers["envpool"] = envpool
    if "sync" in options.only and importlib.util.find_spec("minigrid"):
        import minigrid  # noqa: F401  (registers the ids)

        makers["sync"] = sync
    print_row("case", "lanes", "threads", "clock", "ours, us", "EnvPool, us", "SyncVectorEnv, us")
    print("|---|---:|---:|---|---:|---:|---:|")
    for case, lanes, threads in itertools.product(options.cases, options.lanes, options.threads):
        compare(makers, case, (CASES[case], False), lanes, threads, options)


if __name__ == "__main__":
    main()
