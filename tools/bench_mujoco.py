"""MuJoCo: steps per second against a bare C loop, mujoco.rollout, EnvPool, and Gymnasium's vector environments.

    python tools/bench_mujoco.py [--tasks Ant Humanoid] [--lanes 16 64 256] [--threads 1 2] [--rounds 9]

Contenders take turns, a slice of a second each, so that a busy machine slows all of them; what is printed are medians
over the rounds of the ratio "ours / theirs" within a round, and our own steps per second.

`bare` and `rollout` step the same physics as our lanes do at that moment: ours run without termination there, and all
start from one state and take the same actions. The others (`envpool`, `sync`, `async`) run the tasks as they are, with
their resets, against ours as they are.
"""

import argparse
import ctypes
import functools
import itertools
import statistics
import subprocess
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

import batchenv
from batchenv.engines import mujoco_library

TASKS = [
    *("Ant", "HalfCheetah", "Hopper", "Humanoid", "HumanoidStandup", "InvertedDoublePendulum", "InvertedPendulum"),
    *("Pusher", "Reacher", "Swimmer", "Walker2d"),
]
POST = ("Ant", "Humanoid", "HumanoidStandup")  # whose rewards need contact forces
ENDLESS = ("Ant", "Hopper", "Humanoid", "Walker2d")  # that take terminate_when_unhealthy
BALANCED = ("InvertedDoublePendulum", "InvertedPendulum")  # that go on for ever only where nothing moves
CYCLE = 32


@functools.cache
def bare_library():
    folder = Path(tempfile.mkdtemp())
    source = Path(__file__).with_name("bare_mujoco.c")
    subprocess.run(["gcc", "-O3", "-shared", "-fPIC", "-fopenmp", source, "-o", folder / "bare.so"], check=True)
    return ctypes.CDLL(str(folder / "bare.so"))


class Ours:
    def __init__(self, task, lanes, threads, endless=False, still=False, **kwargs):
        limit = {"max_episode_steps": None} if endless else {}
        self.env = batchenv.make(f"{task}-v5", lanes, num_threads=threads, **kwargs, **limit)
        self.env.reset(seed=0)
        if threads > 1:
            self.env._batch.force_parallel(True)
        rng = np.random.default_rng(1)
        low, high = self.env.action_space.low, self.env.action_space.high
        self.actions = [rng.uniform(low, high).astype(np.float32) * (not still) for _ in range(CYCLE)]

    def run(self, steps):
        for t in range(steps):
            self.env.step(self.actions[t % CYCLE])


class Bare:
    """The same lanes' physics in a C loop; starts where `ours` is."""

    def __init__(self, task, ours, threads):
        _, functions = mujoco_library.load()
        lanes = ours.env._adapter.lanes
        self.data = ours.env.get_attr("data")
        rows = [[lanes.model._address, d._address, d.ctrl.ctypes.data] for d in self.data]
        self.table = np.array(rows, np.int64)
        self.library, self.threads = bare_library(), threads
        self.actions = ours.actions
        self.sizes = len(rows), lanes.model.nu, ours.env.get_params()["frame_skip"]
        self.step = functions["mj_step"]
        self.post = functions["mj_rnePostConstraint"] if task in POST else 0

    def run(self, steps):
        lanes, controls, skip = self.sizes
        for t in range(steps):
            self.library.bare_step(
                ctypes.c_void_p(self.table.ctypes.data),
                ctypes.c_int64(lanes),
                ctypes.c_void_p(self.actions[t % CYCLE].ctypes.data),
                ctypes.c_int64(controls),
                ctypes.c_int64(skip),
                ctypes.c_void_p(self.step),
                ctypes.c_void_p(self.post),
                self.threads,
            )


class Rollout:
    """mujoco.rollout, a call per step."""

    def __init__(self, ours, threads):
        from mujoco import rollout

        mujoco, _ = mujoco_library.load()
        lanes = ours.env._adapter.lanes
        model, skip = lanes.model, ours.env.get_params()["frame_skip"]
        signature = mujoco.mjtState.mjSTATE_FULLPHYSICS
        self.state = np.zeros((len(lanes), mujoco.mj_stateSize(model, signature)))
        for row, data in zip(self.state, ours.env.get_attr("data"), strict=True):
            mujoco.mj_getState(model, data, row, signature)
        self.data = [mujoco.MjData(model) for _ in range(threads)]
        self.controls = [np.repeat(a[:, None].astype(np.float64), skip, axis=1) for a in ours.actions]
        self.model, self.skip = model, skip
        self.pool = rollout.Rollout(nthread=threads if threads > 1 else 0)

    def run(self, steps):
        for t in range(steps):
            control = self.controls[t % CYCLE]
            states, _ = self.pool.rollout(self.model, self.data, self.state, control, nstep=self.skip)
            self.state = np.ascontiguousarray(states[:, -1])


class EnvPool:
    def __init__(self, task, lanes, threads):
        import envpool

        self.env = envpool.make_gymnasium(f"{task}-v5", num_envs=lanes, num_threads=threads)
        self.env.reset()
        rng = np.random.default_rng(1)
        space = self.env.action_space
        self.actions = [rng.uniform(space.low, space.high, (lanes, *space.shape)) for _ in range(CYCLE)]

    def run(self, steps):
        for t in range(steps):
            self.env.step(self.actions[t % CYCLE])


class Gymnasium:
    def __init__(self, task, lanes, mode):
        import gymnasium

        self.env = gymnasium.make_vec(f"{task}-v5", lanes, vectorization_mode=mode)
        self.env.reset(seed=0)
        rng = np.random.default_rng(1)
        low, high = self.env.action_space.low, self.env.action_space.high
        self.actions = [rng.uniform(low, high).astype(np.float32) for _ in range(CYCLE)]

    def run(self, steps):
        for t in range(steps):
            self.env.step(self.actions[t % CYCLE])


def timed(contender, steps, clock):
    start = clock()
    contender.run(steps)
    return (clock() - start) / steps


def ratios(contenders, steps, rounds, clock):
    """{name: median over rounds of theirs / ours} and our median seconds a step."""
    costs = {name: [] for name in contenders}
    names = list(contenders)
    for r in range(rounds):
        for name in names[r % len(names) :] + names[: r % len(names)]:  # whoever is first changes
            costs[name].append(timed(contenders[name], steps[name], clock))
    return (
        {n: statistics.median(c / o for c, o in zip(costs[n], costs["ours"], strict=True)) for n in names[1:]},
        statistics.median(costs["ours"]),
    )


def slices(contenders, seconds):
    """Steps that take each about so long."""
    result = {}
    for name, contender in contenders.items():
        contender.run(2)
        cost = timed(contender, 2, time.perf_counter)
        result[name] = max(2, round(seconds / cost))
    return result


def same_physics(task, lanes, threads, options, clock):
    """Ratios to contenders that step the same states: no resets, and the same number of steps for all."""
    names = [name for name in ("bare", "rollout") if name in options.only]
    if not names:
        return {}, 0.0
    kwargs = {"terminate_when_unhealthy": False} if task in ENDLESS else {}
    balanced = task in BALANCED
    if balanced:
        kwargs["reset_noise_scale"] = 0.0
    ours = Ours(task, lanes, threads, endless=True, still=balanced, **kwargs)
    contenders = {"ours": ours}
    if "bare" in names:
        contenders["bare"] = Bare(task, ours, threads)
    if "rollout" in names:
        contenders["rollout"] = Rollout(ours, threads)
    steps = min(slices(contenders, options.seconds).values())
    return ratios(contenders, dict.fromkeys(contenders, steps), options.rounds, clock)


def same_tasks(task, lanes, threads, options, clock):
    """Ratios to contenders that run the task as it is."""
    contenders = {"ours": Ours(task, lanes, threads)}
    if "envpool" in options.only:
        contenders["envpool"] = EnvPool(task, lanes, threads)
    if "sync" in options.only:
        contenders["sync"] = Gymnasium(task, lanes, "sync")
    if "async" in options.only and lanes <= 64:  # a process a lane
        contenders["async"] = Gymnasium(task, lanes, "async")
    if len(contenders) == 1:
        return {}, 0.0
    result = ratios(contenders, slices(contenders, options.seconds), options.rounds, clock)
    for contender in contenders.values():
        contender.env.close()
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tasks", nargs="*", default=TASKS)
    parser.add_argument("--lanes", nargs="*", type=int, default=[16, 64, 256])
    parser.add_argument("--threads", nargs="*", type=int, default=[1, 2])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=0.15, help="of a slice")
    parser.add_argument("--only", nargs="*", default=["bare", "rollout", "envpool", "sync", "async"])
    parser.add_argument("--cpu", action="store_true", help="processor time instead of wall time (one thread only)")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    clock = time.process_time if options.cpu else time.perf_counter
    print(f"mujoco {mujoco_library.load()[0].__version__}; ours / theirs\n")
    print("| task | lanes | threads | ours, steps/s | " + " | ".join(options.only) + " |")
    print("|" + "---|" * (4 + len(options.only)))
    for task, lanes, threads in itertools.product(options.tasks, options.lanes, options.threads):
        found, cost = {}, 0.0
        for compare in (same_physics, same_tasks):
            ratio, seconds = compare(task, lanes, threads, options, clock)
            found.update(ratio)
            cost = seconds or cost
        cells = [f"{found[name]:.2f}" if name in found else "-" for name in options.only]
        print(f"| {task} | {lanes} | {threads} | {lanes / cost:,.0f} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
