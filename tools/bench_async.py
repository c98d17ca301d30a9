"""What the async layer costs and gains, against EnvPool and against the sync step, in turns in one run; medians.

python tools/bench_async.py [--rounds 7] [--only cartpole turnaround uneven neighbour torch]
"""

import argparse
import multiprocessing
import statistics
import threading
import time

import numpy as np

import batchenv


def timed(call, seconds=0.25):
    """Seconds a call, over about so many seconds, once the queue is as it is in the long run."""
    warm = time.perf_counter() + seconds / 5
    while time.perf_counter() < warm:
        call()
    count, start = 0, time.perf_counter()
    while time.perf_counter() - start < seconds:
        call()
        count += 1
    return (time.perf_counter() - start) / count


def in_turns(calls, rounds, seconds=0.25):
    """{name: median seconds a call} of calls made in turns."""
    times = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            times[name].append(timed(call, seconds))
            getattr(call, "settle", int)()
    return {name: statistics.median(values) for name, values in times.items()}


def recv_send(env, batch_size):
    """recv and send of one batch, with actions made beforehand."""
    actions = np.random.default_rng(0).integers(2, size=batch_size)

    def call():
        env.send(actions, env.recv()[4]["env_id"])

    call.settle = lambda: env.state  # waits for the lanes in flight, which would take the next ones' time
    return call


def both_cores(envs):
    """A step of each env, in a thread each."""
    barrier = threading.Barrier(len(envs) + 1)

    def run(env):
        actions = np.zeros(env.num_envs, int)
        while True:
            barrier.wait()
            env.step(actions)
            barrier.wait()

    for env in envs:
        env.reset(seed=0)
        threading.Thread(target=run, args=(env,), daemon=True).start()

    def call():
        barrier.wait()
        barrier.wait()

    return call


def cartpole(rounds):
    """CartPole against EnvPool's async."""
    try:
        import envpool
    except ImportError:
        print("CartPole against EnvPool: skipped, envpool is not installed")
        return
    for lanes, batch in ((64, 32), (4096, 2048)):
        calls = {}
        ours = batchenv.make("CartPole-v1", lanes, batch_size=batch, num_threads=2)
        theirs = envpool.make_gymnasium("CartPole-v1", num_envs=lanes, batch_size=batch, num_threads=2)
        for name, env in (("batchenv", ours), ("EnvPool", theirs)):
            env.async_reset()
            calls[name] = recv_send(env, batch)
        t = in_turns(calls, rounds)
        print(
            f"CartPole async, {lanes} lanes in batches of {batch}: {1e6 * t['batchenv']:.1f} us a batch, EnvPool "
            f"{1e6 * t['EnvPool']:.0f} us: {t['EnvPool'] / t['batchenv']:.1f}x"
        )
        ours.close()


def turnaround(rounds):
    """One lane there and back, and what an item costs beyond its work."""
    env = batchenv.make("CartPole-v1", 64, batch_size=1, num_threads=2)
    env.reset(seed=0)
    env.send(np.zeros(1, int), [0])
    t = in_turns({"one": recv_send(env, 1)}, rounds)["one"]
    print(f"recv and send of a batch of 1: {1e6 * t:.2f} us")
    lanes, cost = 1024, 20.0
    calls = {}
    for us in (0.0, cost):
        options = {"cost_us": us, "end_probability": 0.0}
        alone = [batchenv.make("Synthetic-v0", lanes // 2, num_threads=1, **options) for _ in range(2)]
        calls["work", us] = both_cores(alone)
        for batch in (lanes, lanes // 4):
            env = batchenv.make("Synthetic-v0", lanes, batch_size=batch, num_threads=2, **options)
            env.async_reset(seed=0)
            calls[batch, us] = recv_send(env, batch)
    t = in_turns(calls, rounds)
    print(f"lanes that cost nothing: {1e9 * t[lanes, 0.0] / lanes:.0f} ns a lane")
    for batch in (lanes, lanes // 4):
        beyond = 2 * (t[batch, cost] / batch - t["work", cost] / lanes)
        print(
            f"lanes of {cost:.0f} us, single items, 2 workers, {batch} of {lanes}: {1e9 * beyond:.0f} ns a lane beyond "
            "two threads that step half of the lanes each"
        )


def uneven(rounds):
    """100 us on average, one step in 16 takes ten times longer: busy workers, and the sync step."""
    for batch in (2, 4, 16):
        uneven_batches(rounds, 64, batch)


def uneven_batches(rounds, lanes, batch):
    cost = 100.0 / (15 / 16 + 10 / 16)
    options = {"cost_us": cost, "tail_probability": 1 / 16, "end_probability": 0.0}
    workers = batchenv.make("Synthetic-v0", lanes, batch_size=batch, num_threads=2, **options)
    workers.async_reset()
    sync = batchenv.make("Synthetic-v0", batch, num_threads=2, **options)
    sync.reset()
    alone = [batchenv.make("Synthetic-v0", 256, num_threads=1, **options) for _ in range(2)]
    actions = np.zeros(batch, int)
    t = in_turns(
        {"async": recv_send(workers, batch), "sync": lambda: sync.step(actions), "work": both_cores(alone)}, rounds
    )
    work = t["work"] / 256
    print(
        f"uneven steps of {1e6 * work:.1f} us, batches of {batch} of {lanes} lanes on 2 workers: "
        f"{1e-3 * batch / t['async']:.1f} k steps/s, workers busy {100 * batch * work / 2 / t['async']:.0f}%; step() "
        f"of {batch} lanes {1e-3 * batch / t['sync']:.1f} k: {t['sync'] / t['async']:.2f}x"
    )


def burn():
    while True:
        pass


def neighbour(rounds):
    """Throughput while another process takes one core, against quiet."""
    slow = {"num_threads": 2, "cost_us": 100.0, "end_probability": 0.0}
    envs = {
        "step, 64 lanes of 100 us": batchenv.make("Synthetic-v0", 64, **slow),
        "send/recv, 32 of 64 lanes of 100 us": batchenv.make("Synthetic-v0", 64, batch_size=32, **slow),
        "step, CartPole, 4096 lanes": batchenv.make("CartPole-v1", 4096, num_threads=2),
    }
    calls = {}
    for name, env in envs.items():
        if env.is_async:
            env.async_reset()
            calls[name] = recv_send(env, env.batch_size)
        else:
            env.reset()
            actions = np.zeros(env.num_envs, int)
            calls[name] = lambda env=env, actions=actions: env.step(actions)
    quiet, noisy = {name: [] for name in calls}, {name: [] for name in calls}
    for _ in range(rounds):
        for times, burning in ((quiet, False), (noisy, True)):
            if burning:
                other = multiprocessing.get_context("spawn").Process(target=burn, daemon=True)
                other.start()
                time.sleep(0.5)
            for name, call in calls.items():
                times[name].append(timed(call, 0.5))
            if burning:
                other.terminate()
                other.join()
    for name in calls:
        kept = statistics.median(quiet[name]) / statistics.median(noisy[name])
        print(f"with a core taken, {name}: {100 * kept:.0f}% of the quiet throughput")


def torch(rounds):
    """CartPole and a small MLP in turns, against the sum of both alone."""
    try:
        import torch
    except ImportError:
        print("beside torch: skipped, torch is not installed")
        return
    torch.set_num_threads(2)
    env = batchenv.make("CartPole-v1", 4096, num_threads=2)
    env.reset()
    actions = np.zeros(4096, int)
    model = torch.nn.Sequential(torch.nn.Linear(4, 64), torch.nn.Tanh(), torch.nn.Linear(64, 2))
    rows = torch.zeros(4096, 4)

    def learn():
        with torch.no_grad():
            model(rows)

    def both():
        env.step(actions)
        learn()

    t = in_turns({"step": lambda: env.step(actions), "learn": learn, "both": both}, rounds)
    print(
        f"beside torch: {1e6 * t['both']:.0f} us for both, {1e6 * (t['step'] + t['learn']):.0f} us alone: "
        f"{100 * (t['both'] / (t['step'] + t['learn']) - 1):+.0f}%"
    )


PARTS = {part.__name__: part for part in (cartpole, turnaround, uneven, neighbour, torch)}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    arguments = parser.parse_args()
    for name in arguments.only:
        PARTS[name](arguments.rounds)
