"""MuJoCo: steps per second against a bare C loop, mujoco.rollout, mjBatch, EnvPool and Gymnasium's vector environments.

    python tools/bench/bench_mujoco.py [--tasks Ant Humanoid] [--lanes 16 64] [--threads 1 2] [--rounds 9] [--plot FILE]
    python tools/bench/bench_mujoco.py --parts async neighbour
    python tools/bench/bench_mujoco.py --gait
    python tools/bench/bench_mujoco.py --tasks go1.xml spot.xml --warm 60 --cpu --only bare mjbatch

Contenders take turns, a slice of a second each, so that a busy machine slows all of them (and those of one thread on
each CPU in turn); what is printed are medians over the rounds of the ratio "theirs / ours" of seconds a step within a
round, and our own steps per second.

`bare`, `rollout` and `mjbatch` step the same physics as our lanes do at that moment: ours run without termination there
(the pendulums as a model of one's own), and all start from one state and take the same actions. The bare loop runs
without the clock that MuJoCo's Python bindings set, as a C program would. `rollout` and `mjbatch` are called once a
step, and compute no contact forces. The others (`envpool`, `sync`, `async`) run the tasks as they are, with their
resets, against ours as they are.

A task may also be a model's file: lanes begin where the model does, and controls are those of its first keyframe, if it
has one, and up to 0.15 more or less; each step is five of mj_step.

With --gait joints swing, so that bodies walk, stumble and lie; otherwise actions are random. With --warm 100 the former
begin a hundred steps after a reset, when bodies have fallen.

The part `async` is recv and send of a quarter of Humanoid's lanes against our own step of all; `neighbour` is how much
of HalfCheetah's quiet throughput is left while another process burns one core.
"""

import argparse
import ctypes
import functools
import importlib.util
import itertools
import multiprocessing
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

import batchenv
from batchenv.envs.mujoco import library, tasks
from helpers.mujoco import swing
from internals import force_parallel, translator

TASKS = [
    *("Ant", "HalfCheetah", "Hopper", "Humanoid", "HumanoidStandup", "InvertedDoublePendulum", "InvertedPendulum"),
    *("Pusher", "Reacher", "Swimmer", "Walker2d"),
]
POST = ("Ant", "Humanoid", "HumanoidStandup")  # whose rewards need contact forces
ENDLESS = ("Ant", "Hopper", "Humanoid", "Walker2d")  # that take terminate_when_unhealthy
PENDULUMS = ("InvertedDoublePendulum", "InvertedPendulum")  # that always end
PEERS = ("bare", "rollout", "mjbatch", "envpool", "sync", "async")
CYCLE = 32
CPUS = sorted(os.sched_getaffinity(0))
SETTLE = 0.03  # s; OpenMP's threads go on spinning for up to 20 ms after a loop, in the next contender's time


def is_file(task):
    return task.endswith((".xml", ".mjb"))


@functools.cache
def bare_library():
    folder = Path(tempfile.mkdtemp())
    source = Path(__file__).with_name("bare_mujoco.c")
    subprocess.run(["gcc", "-O3", "-shared", "-fPIC", "-fopenmp", source, "-o", folder / "bare.so"], check=True)
    return ctypes.CDLL(str(folder / "bare.so"))


def around_keyframe(env, lanes):
    """Controls for a robot that stands."""
    model, space, rng = translator(env)._model, env.action_space, np.random.default_rng(1)
    home = model.key_ctrl[0] if model.nkey else np.zeros(model.nu)
    drawn = (home + rng.uniform(-0.15, 0.15, (lanes, model.nu)) for _ in range(CYCLE))
    return [np.clip(controls, space.low, space.high).astype(np.float32) for controls in drawn]


def actions_of(env, lanes, dtype=np.float32):
    rng, space = np.random.default_rng(1), env.action_space
    low, high = space.low.reshape(-1)[-space.shape[-1] :], space.high.reshape(-1)[-space.shape[-1] :]
    if actions_of.gait:
        return [swing(low, high, lanes, step).astype(dtype) for step in range(CYCLE)]
    return [rng.uniform(low, high, (lanes, space.shape[-1])).astype(dtype) for _ in range(CYCLE)]


class Ours:
    def __init__(self, task, lanes, threads, endless=False, **kwargs):
        if is_file(task):
            self.env = batchenv.make_mujoco(task, lanes, frame_skip=5, qpos_noise=0.01, num_threads=threads)
        elif endless and task in PENDULUMS:
            model, kwargs = getattr(tasks, task), {"frame_skip": 5 if "Double" in task else 2, "qpos_noise": 0.01}
            kwargs["observation"] = ["qpos", "qvel", *model.reads]
            self.env = batchenv.make_mujoco(tasks.assets() / model.xml_file, lanes, num_threads=threads, **kwargs)
        else:
            limit = {"max_episode_steps": None} if endless else {}
            if endless and task in ENDLESS:
                limit["terminate_when_unhealthy"] = False
            self.env = batchenv.make(f"{task}-v5", lanes, num_threads=threads, **kwargs, **limit)
        self.env.reset(seed=0)
        if threads > 1:
            force_parallel(self.env)
        self.actions = around_keyframe(self.env, lanes) if is_file(task) else actions_of(self.env, lanes)

    def run(self, steps):
        for t in range(steps):
            self.env.step(self.actions[t % CYCLE])


class OursAsync:
    """recv and send of `batch` lanes; run(n) does as many steps as n of all lanes, with the actions that `Ours` takes,
    and leaves none under way: they would go on in another contender's time."""

    apart = True

    def __init__(self, task, lanes, threads, batch):
        self.env = batchenv.make(f"{task}-v5", lanes, num_threads=threads, batch_size=batch)
        self.env.reset(seed=0)
        self.turns = lanes // batch
        self.actions = np.concatenate(actions_of(self.env, lanes))
        self.first = np.arange(lanes)  # of each lane: where in actions its next one is
        self.next = np.roll(np.arange(len(self.actions)), -lanes)
        self.place = self.first.copy()

    def _send(self, lanes):
        place = self.place[lanes]
        self.env.send(self.actions.take(place, 0), lanes)
        self.place[lanes] = self.next[place]

    def run(self, steps):
        self.place[:] = self.first  # as `Ours` begins again
        self._send(self.first)
        for _ in range((steps - 1) * self.turns):
            self._send(self.env.recv()[4]["env_id"])
        for _ in range(self.turns):
            self.env.recv()


class Bare:
    """The same lanes' physics in a C loop; starts where `ours` is."""

    def __init__(self, task, ours, threads):
        _, functions = library.load()
        model = translator(ours.env)._model
        self.data = ours.env.get_attr("data")
        rows = [[model._address, d._address, d.ctrl.ctypes.data] for d in self.data]
        self.table = np.array(rows, np.int64)
        self.library, self.threads = bare_library(), threads
        self.actions = ours.actions
        self.sizes = len(rows), model.nu, ours.env.get_params()["frame_skip"]
        self.step = functions["mj_step"]
        self.post = functions["mj_rnePostConstraint"] if task in POST else 0
        self.clock = ctypes.c_void_p.from_address(functions["mjcb_time"])

    def run(self, steps):
        lanes, controls, skip = self.sizes
        clock, self.clock.value = self.clock.value, None
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
        self.clock.value = clock


class Rollout:
    """mujoco.rollout, a call per step."""

    def __init__(self, ours, threads):
        from mujoco import rollout

        mujoco, _ = library.load()
        model, skip = translator(ours.env)._model, ours.env.get_params()["frame_skip"]
        signature = mujoco.mjtState.mjSTATE_FULLPHYSICS
        self.state = np.zeros((ours.env.num_envs, mujoco.mj_stateSize(model, signature)))
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


def batches():
    """The module of MuJoCo 4's batch or, before, the package that it comes from; None if there is neither."""
    name = "mujoco.batch" if int(library.load()[0].__version__.split(".")[0]) >= 4 else "mjbatch"
    return importlib.import_module(name) if importlib.util.find_spec(name) else None


class MjBatch:
    """MuJoCo 4's batch, or mjbatch: states in rows, as ours; it copies out what the task reads."""

    def __init__(self, ours, threads):
        lib, _ = library.load()
        adapter = translator(ours.env)
        self.batch = batches().Batch(adapter._model, ours.env.num_envs, threads)
        states = self.batch.state if hasattr(self.batch, "state") else self.batch.bind("state")
        for row, data in zip(states, ours.env.get_attr("data"), strict=True):
            lib.mj_getState(adapter._model, data, row, int(lib.mjtState.mjSTATE_INTEGRATION))
        self.outputs = [self.batch.bind(name) for name in adapter._observed or adapter.reads]
        self.control, self.actions = self.batch.bind("ctrl"), ours.actions
        self.skip = ours.env.get_params()["frame_skip"]

    def run(self, steps):
        for t in range(steps):
            self.control[:] = self.actions[t % CYCLE]
            self.batch.step(nstep=self.skip)


class EnvPool:
    apart = True  # even one thread is another than the caller's

    def __init__(self, task, lanes, threads):
        import envpool

        self.env = envpool.make_gymnasium(f"{task}-v5", num_envs=lanes, num_threads=threads)
        self.env.reset()
        self.actions = actions_of(self.env, lanes, self.env.action_space.dtype)

    def run(self, steps):
        for t in range(steps):
            self.env.step(self.actions[t % CYCLE])


class Gymnasium:
    def __init__(self, task, lanes, mode):
        import gymnasium

        self.env = gymnasium.make_vec(f"{task}-v5", lanes, vectorization_mode=mode)
        self.apart = mode == "async"
        self.env.reset(seed=0)
        self.actions = actions_of(self.env, lanes)

    def run(self, steps):
        for t in range(steps):
            self.env.step(self.actions[t % CYCLE])


def put_on(cpus, contender=None):
    """Keeps the threads that work to these CPUs: of a virtual machine's, one may be slower than the other for long, and
    whoever of one thread the system put there would lose."""
    for thread in map(int, os.listdir("/proc/self/task")):
        waits = thread == os.getpid() and getattr(contender, "apart", False)
        os.sched_setaffinity(thread, CPUS if waits else cpus)


def timed(contender, steps, clock):
    time.sleep(SETTLE)
    start = clock()
    contender.run(steps)
    return (clock() - start) / steps


def ratios(contenders, steps, rounds, clock, threads):
    """{name: median over rounds of theirs / ours} and our median seconds per step."""
    costs = {name: [] for name in contenders}
    names = list(contenders)
    for r in range(rounds):
        for name in names[r % len(names) :] + names[: r % len(names)]:  # whoever is first changes
            if threads == 1:
                put_on([CPUS[r // 2 % len(CPUS)]], contenders[name])
            costs[name].append(timed(contenders[name], steps[name], clock))
    put_on(CPUS)
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
    ours = Ours(task, lanes, threads, endless=True)
    ours.run(options.warm)
    contenders = {"ours": ours}
    if "bare" in options.only:
        contenders["bare"] = Bare(task, ours, threads)
    if "rollout" in options.only:
        contenders["rollout"] = Rollout(ours, threads)
    if "mjbatch" in options.only and batches():
        contenders["mjbatch"] = MjBatch(ours, threads)
    if len(contenders) == 1:
        return {}, 0.0
    steps = min(slices(contenders, options.seconds).values())
    return ratios(contenders, dict.fromkeys(contenders, steps), options.rounds, clock, threads)


def same_tasks(task, lanes, threads, options, clock):
    """Ratios to contenders that run the task as it is."""
    if is_file(task):
        return {}, 0.0
    contenders = {"ours": Ours(task, lanes, threads)}
    if "envpool" in options.only:
        contenders["envpool"] = EnvPool(task, lanes, threads)
    if "sync" in options.only:
        contenders["sync"] = Gymnasium(task, lanes, "sync")
    if "async" in options.only and lanes <= options.processes and not options.cpu:
        contenders["async"] = Gymnasium(task, lanes, "async")
    if len(contenders) == 1:
        return {}, 0.0
    result = ratios(contenders, slices(contenders, options.seconds), options.rounds, clock, threads)
    for contender in contenders.values():
        contender.env.close()
    return result


def table(options):
    clock = time.process_time if options.cpu else time.perf_counter
    print("| task | lanes | threads | ours, steps/s | " + " | ".join(options.only) + " |")
    print("|" + "---|" * (4 + len(options.only)))
    rows = {}
    for task, lanes, threads in itertools.product(options.tasks, options.lanes, options.threads):
        found, cost = {}, 0.0
        for compare in (same_physics, same_tasks):
            ratio, seconds = compare(task, lanes, threads, options, clock)
            found.update(ratio)
            cost = seconds or cost
        rows[task, lanes, threads] = found
        cells = [f"{found[name]:.2f}" if name in found else "-" for name in options.only]
        print(
            f"| {Path(task).name} | {lanes} | {threads} | {lanes / cost:,.0f} | " + " | ".join(cells) + " |", flush=True
        )
    if options.plot:
        plot(rows, options)


def plot(rows, options):
    """Bars of the ratios of each task, of 64 lanes (or the first number of lanes there is) on the most threads."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    lanes, threads = 64 if 64 in options.lanes else options.lanes[0], max(options.threads)
    figure, axes = pyplot.subplots(figsize=(11, 4), layout="constrained")
    places, width = np.arange(len(options.tasks)), 0.8 / len(options.only)
    for k, name in enumerate(options.only):
        heights = [rows[task, lanes, threads].get(name, np.nan) for task in options.tasks]
        axes.bar(places + (k - (len(options.only) - 1) / 2) * width, heights, width, label=name)
    axes.axhline(1, color="black", linewidth=0.8)
    if axes.get_ylim()[1] > 4:
        axes.set_yscale("log", base=2)
        axes.yaxis.set_major_formatter("{x:g}")
    axes.set_xticks(places, options.tasks, rotation=20, ha="right")
    axes.set_ylabel("times as fast as")
    axes.set_title(f"batchenv, {lanes} lanes, {threads} thread{'s' * (threads > 1)}")
    axes.legend(ncols=len(options.only), fontsize="small")
    figure.savefig(options.plot, dpi=110)


def quarters(options):
    """recv and send of lanes / 4 against step."""
    print("| Humanoid, lanes | threads | step, steps/s | recv and send of a quarter: times as fast as step |")
    print("|---|---|---|---|")
    for lanes, threads in itertools.product(options.lanes, options.threads):
        waiting = OursAsync("Humanoid", lanes, threads, lanes // 4)
        contenders = {"ours": waiting, "step": Ours("Humanoid", lanes, threads)}
        steps = min(slices(contenders, 2 * options.seconds).values())
        ratio, cost = ratios(contenders, dict.fromkeys(contenders, steps), options.rounds, time.perf_counter, threads)
        print(f"| {lanes} | {threads} | {lanes / cost / ratio['step']:,.0f} | {ratio['step']:.2f} |", flush=True)
        for contender in contenders.values():
            contender.env.close()


def burn():
    while True:
        pass


def neighbour(options):
    """What is left of the quiet throughput while another process burns one core."""
    task, threads = "HalfCheetah", max(options.threads)
    print(f"| {task}, {threads} threads, lanes | contender | quiet, steps/s | beside a busy process | kept |")
    print("|---|---|---|---|---|")
    for lanes in options.lanes:
        contenders = {"ours": Ours(task, lanes, threads, endless=True)}
        contenders["rollout"] = Rollout(contenders["ours"], threads)
        if batches():
            contenders["mjbatch"] = MjBatch(contenders["ours"], threads)
        contenders["envpool"] = EnvPool(task, lanes, threads)
        steps = slices(contenders, 2 * options.seconds)
        costs = {(name, burning): [] for name in contenders for burning in (False, True)}
        for _ in range(options.rounds):
            for burning in (False, True):
                if burning:
                    other = multiprocessing.get_context("spawn").Process(target=burn, daemon=True)
                    other.start()
                    time.sleep(1.0)  # it imports first
                for name, contender in contenders.items():
                    costs[name, burning].append(timed(contender, steps[name], time.perf_counter))
                if burning:
                    other.terminate()
                    other.join()
        for name in contenders:
            quiet, busy = (lanes / statistics.median(costs[name, burning]) for burning in (False, True))
            print(f"| {lanes} | {name} | {quiet:,.0f} | {busy:,.0f} | {busy / quiet:.0%} |", flush=True)


PARTS = {"table": table, "async": quarters, "neighbour": neighbour}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--parts", nargs="*", choices=PARTS, default=["table"])
    parser.add_argument("--tasks", nargs="*", default=TASKS)
    parser.add_argument("--lanes", nargs="*", type=int, default=[16, 64, 256])
    parser.add_argument("--threads", nargs="*", type=int, default=[1, 2])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=0.15, help="of a slice")
    parser.add_argument("--only", nargs="*", choices=PEERS, default=PEERS)
    parser.add_argument("--processes", type=int, default=64, help="most lanes for async, which takes a process a lane")
    parser.add_argument("--cpu", action="store_true", help="processor time instead of wall time (one thread only)")
    parser.add_argument("--plot", help="a file for a picture of the table's ratios")
    parser.add_argument("--warm", type=int, default=0, help="steps before contenders of the same physics begin")
    parser.add_argument("--gait", action="store_true", help="actions that swing")
    options = parser.parse_args()
    actions_of.gait = options.gait
    warnings.simplefilter("ignore")
    print(f"mujoco {library.load()[0].__version__}; ours / theirs")
    for name in options.parts:
        print()
        PARTS[name](options)


if __name__ == "__main__":
    main()
