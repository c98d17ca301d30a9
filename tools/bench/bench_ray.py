"""Steps per second of batchenv.integrations.ray on a cluster of several nodes on this machine, against one process.

Each node has one CPU and one actor with one thread. "one process" steps as many lanes by itself, with one thread, and
keeps its fragments in its own memory; "processes" are as many such processes as there are nodes, without Ray.

python tools/bench/bench_ray.py --nodes 2 --rounds 5
"""

import argparse
import contextlib
import multiprocessing
import os
import statistics
import time

os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

import batchenv

CASES = {  # id: lanes per actor, steps per fragment
    "CartPole-v1": (1024, 512),
    "HalfCheetah-v5": (32, 640),
}


def alone(env_id, lanes, steps, seconds):
    """Steps per second of one process."""
    env = batchenv.make(env_id, lanes, num_threads=1)
    first = env.reset(seed=0)[0]
    observations = np.empty((steps + 1, *first.shape), first.dtype)
    out = (observations[1:], None, None, None)
    env.rollout(steps, policy="random", out=out)
    start, count = time.perf_counter(), 0
    while time.perf_counter() - start < seconds:
        env.rollout(steps, policy="random", out=out)
        count += 1
    return count * lanes * steps / (time.perf_counter() - start)


def child(pipe, *args):
    with contextlib.suppress(EOFError):  # at the end
        while pipe.recv():
            pipe.send(alone(*args))


def start_processes(count, *args):
    """A function that returns the sum of the rates of `count` processes at the same time, as `measure` returns it."""
    context = multiprocessing.get_context("spawn")
    pipes = []
    for _ in range(count):
        ours, theirs = context.Pipe()
        context.Process(target=child, args=(theirs, *args), daemon=True).start()
        pipes.append(ours)

    def measure_processes():
        for pipe in pipes:
            pipe.send(True)
        return sum(pipe.recv() for pipe in pipes), 0, 0

    return measure_processes


def measure(sampler, seconds):
    """Steps per second, bytes per step, and the learner's own processor time per fragment in seconds."""
    for _ in range(4 * len(sampler._places)):
        sampler.take(60)
    start, busy, steps, size, count = time.perf_counter(), time.process_time(), 0, 0, 0
    while time.perf_counter() - start < seconds:
        fragment = sampler.take(60)
        steps += fragment.rewards.size
        size += sum(part.nbytes for part in fragment[:5])
        count += 1
    wall = time.perf_counter() - start
    return steps / wall, size / steps, (time.process_time() - busy) / count


def compare(env_id, steps, nodes, rounds, seconds):
    """All ways in turns, after a round that warms up; each second round goes backwards. Prints medians."""
    from batchenv.integrations.ray import RaySampler

    lanes, usual = CASES[env_id]
    steps = steps or usual
    options = dict(seed=0, num_cpus=0.5)  # both samplers are there; the one that is not measured waits
    with (
        RaySampler(env_id, lanes, nodes, steps, **options) as with_snapshots,
        RaySampler(env_id, lanes, nodes, steps, snapshots=False, **options) as without,
    ):
        ways = {
            "Ray, with snapshots": lambda: measure(with_snapshots, seconds),
            "Ray, without": lambda: measure(without, seconds),
            "one process": lambda: (alone(env_id, lanes, steps, seconds), 0, 0),
            "processes": start_processes(nodes, env_id, lanes, steps, seconds),
        }
        found = {name: [] for name in ways}
        for turn in range(rounds + 1):
            for name in list(ways)[:: -1 if turn % 2 else 1]:
                result = ways[name]()
                if turn:
                    found[name].append(result)
    bare = [rate for rate, _, _ in found["processes"]]
    print(f"{env_id}: {nodes} nodes of 1 CPU, {lanes} lanes each, {steps} steps per fragment", flush=True)
    for name, runs in found.items():
        rate, size, busy = (statistics.median(values) for values in zip(*runs, strict=True))
        share = statistics.median(run[0] / base for run, base in zip(runs, bare, strict=True))
        told = f"  {name}: {rate:,.0f} steps/s, {share:.2f} of {nodes} processes"
        if size:
            told += f", {size:.1f} bytes per step, {size * lanes * steps / 1e6:.2f} MB and {busy * 1e6:,.0f} us of the "
            told += "learner's process per fragment"
        print(told, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--nodes", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--steps", type=int, help="per fragment")
    parser.add_argument("--env", choices=CASES, action="append")
    args = parser.parse_args()
    import ray
    from ray.cluster_utils import Cluster

    memory = 200 * 2**20
    head = {"num_cpus": 0, "object_store_memory": memory, "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    try:
        for _ in range(args.nodes):
            cluster.add_node(num_cpus=1, object_store_memory=memory)
        ray.init(address=cluster.address, log_to_driver=False, logging_level="ERROR")
        for env_id in args.env or CASES:
            compare(env_id, args.steps, args.nodes, args.rounds, args.seconds)
    finally:
        ray.shutdown()
        cluster.shutdown()


if __name__ == "__main__":
    main()
