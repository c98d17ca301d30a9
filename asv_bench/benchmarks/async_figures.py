"""The async layer's figures: against EnvPool, against the work itself, against the sync step, beside other programs.

Each measures what it compares in turns in one run; `tools/bench/bench_async.py` prints them.
"""

import importlib.util
import multiprocessing
import statistics
import threading
import time

import numpy as np

import batchenv

ROUNDS = 5
SLOW = {"num_threads": 2, "cost_us": 100.0, "end_probability": 0.0}
# 100 us on average, one step in 16 takes ten times longer
UNEVEN = {"cost_us": 100.0 / (15 / 16 + 10 / 16), "tail_probability": 1 / 16, "end_probability": 0.0}


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


def cartpole(lanes, batch, rounds=ROUNDS):
    """Seconds a batch: ours, EnvPool's."""
    import envpool

    ours = batchenv.make("CartPole-v1", lanes, batch_size=batch, num_threads=2)
    theirs = envpool.make_gymnasium("CartPole-v1", num_envs=lanes, batch_size=batch, num_threads=2)
    for env in (ours, theirs):
        env.async_reset()
    calls = {"ours": recv_send(ours, batch), "theirs": recv_send(theirs, batch)}
    calls["theirs"].settle = int
    t = in_turns(calls, rounds)
    ours.close()
    return t["ours"], t["theirs"]


def turnaround(rounds=ROUNDS):
    """Seconds of a recv and a send of one lane."""
    env = batchenv.make("CartPole-v1", 64, batch_size=1, num_threads=2)
    env.reset(seed=0)
    env.send(np.zeros(1, int), [0])
    return in_turns({"one": recv_send(env, 1)}, rounds)["one"]


def single_items(cost_us, batch, rounds=ROUNDS, lanes=1024):
    """Seconds of two workers a lane, sent one by one: of send and recv, and where each of two threads steps half."""
    options = {"cost_us": cost_us, "end_probability": 0.0}
    alone = [batchenv.make("Synthetic-v0", lanes // 2, num_threads=1, **options) for _ in range(2)]
    env = batchenv.make("Synthetic-v0", lanes, batch_size=batch, num_threads=2, **options)
    env.async_reset(seed=0)
    t = in_turns({"work": both_cores(alone), "async": recv_send(env, batch)}, rounds)
    env.close()
    return 2 * t["async"] / batch, 2 * t["work"] / lanes


def uneven(batch, rounds=ROUNDS, lanes=64):
    """Seconds a batch: send and recv of `batch` of the lanes, step() of as many, and of the work alone on two cores."""
    env = batchenv.make("Synthetic-v0", lanes, batch_size=batch, num_threads=2, **UNEVEN)
    env.async_reset()
    sync = batchenv.make("Synthetic-v0", batch, num_threads=2, **UNEVEN)
    sync.reset()
    alone = [batchenv.make("Synthetic-v0", 256, num_threads=1, **UNEVEN) for _ in range(2)]
    actions = np.zeros(batch, int)
    calls = {"async": recv_send(env, batch), "sync": lambda: sync.step(actions), "work": both_cores(alone)}
    t = in_turns(calls, rounds)
    env.close()
    return t["async"], t["sync"], t["work"] / 512 * batch


def burn():
    while True:
        pass


NEIGHBOURED = {
    "step, 64 lanes of 100 us": ("Synthetic-v0", 64, None, SLOW),
    "send/recv, 32 of 64 lanes of 100 us": ("Synthetic-v0", 64, 32, SLOW),
    "step, CartPole, 4096 lanes": ("CartPole-v1", 4096, None, {"num_threads": 2}),
}


def neighbour(name, rounds=ROUNDS):
    """The share of its quiet throughput that is left while another process takes one core."""
    env_id, lanes, batch, options = NEIGHBOURED[name]
    env = batchenv.make(env_id, lanes, batch_size=batch, **options)
    actions = np.zeros(lanes, int)
    if env.is_async:
        env.async_reset()
        call = recv_send(env, batch)
    else:
        env.reset()
        call = lambda: env.step(actions)  # noqa: E731
    times = {False: [], True: []}
    for _ in range(rounds):
        times[False].append(timed(call, 0.5))
        other = multiprocessing.get_context("spawn").Process(target=burn, daemon=True)
        other.start()
        time.sleep(0.5)
        times[True].append(timed(call, 0.5))
        other.terminate()
        other.join()
    env.close()
    return statistics.median(times[False]) / statistics.median(times[True])


def beside_torch(rounds=ROUNDS):
    """Seconds of a step of 4096 CartPole lanes and a small MLP on two threads: in turns, and of each alone."""
    import torch

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
    return t["both"], t["step"], t["learn"]


# ---- what asv tracks -----------------------------------------------------------------------------------------------


def needs(module):
    """asv's way to skip where a module is not installed."""

    def setup(*_):
        if importlib.util.find_spec(module) is None:
            raise NotImplementedError(f"{module} is not installed")

    return setup


def track_cartpole_against_envpool(lanes):
    ours, theirs = cartpole(lanes, lanes // 2)
    return theirs / ours


track_cartpole_against_envpool.setup = needs("envpool")
track_cartpole_against_envpool.params = [64, 4096]
track_cartpole_against_envpool.param_names = ("lanes",)
track_cartpole_against_envpool.unit = "ratio"


def track_turnaround():
    return 1e6 * turnaround()


track_turnaround.unit = "us"


def track_single_items(batch):
    taken, work = single_items(20.0, batch)
    return 1e9 * (taken - work)


track_single_items.params = [1024, 256]
track_single_items.param_names = ("batch",)
track_single_items.unit = "ns"


def track_busy_workers(batch):
    taken, _, work = uneven(batch)
    return work / taken


track_busy_workers.params = [2, 4, 16]
track_busy_workers.param_names = ("batch",)
track_busy_workers.unit = "share"


def track_uneven_against_step(batch):
    taken, sync, _ = uneven(batch)
    return sync / taken


track_uneven_against_step.params = [2, 4, 16]
track_uneven_against_step.param_names = ("batch",)
track_uneven_against_step.unit = "ratio"


def track_neighbour(what):
    return neighbour(what)


track_neighbour.params = list(NEIGHBOURED)
track_neighbour.param_names = ("what",)
track_neighbour.unit = "share"


def track_beside_torch():
    both, step, learn = beside_torch()
    return both / (step + learn)


track_beside_torch.setup = needs("torch")
track_beside_torch.unit = "ratio"
