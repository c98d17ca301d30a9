"""Whether this checkout is slower than another one: both in one run, in turns.

    python tools/bench/bench_against.py ../other-checkout [--rounds 15] [--threads 1] [--only step send]
    python tools/bench/bench_against.py ../other-checkout --ids ALE/Pong-v5 Ant-v5 --lanes 8 64

Both checkouts are built in place (`python setup.py build_ext --inplace`) for the Python that runs this. Each case runs
in a process of its own per checkout, and the two take turns, a burst of calls each. With one thread, what counts is
processor time, so that neighbours disturb less; with more of them it is wall time, which is what threads are for. The
ratio is that of the other checkout's time to this one's, the median of the rounds' own: below 1, this checkout is
slower. Import and construction start a process per round.
"""

import argparse
import atexit
import functools
import os
import statistics
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

HERE = Path(__file__).resolve().parents[2]

# A burst is `repeats` calls; the process prints the nanoseconds of one for each line that it reads.
WORKER = """
import sys, time
import numpy as np
import batchenv

clock = time.{clock}
{setup}
repeats = 1
while True:
    start = clock()
    for _ in range(repeats):
        {call}
    spent = clock() - start
    if spent >= {least}e6:
        break
    repeats *= 2
print("ready", flush=True)
for _ in sys.stdin:
    start = clock()
    for _ in range(repeats):
        {call}
    print((clock() - start) / repeats, flush=True)
"""

MAKE = """
env = batchenv.make({env_id!r}, {lanes}, num_threads={threads}{more})
env.reset(seed=0)
rng = np.random.default_rng(0)
space = env.single_action_space
"""
DRAW = """
def draw():
    if hasattr(space, "n"):
        return rng.integers(space.n, size=env.action_space.shape)
    return rng.uniform(space.low, space.high, size=env.action_space.shape).astype(space.dtype)
batches = [draw() for _ in range(8)]
turn = 0
def step():
    global turn
    turn = (turn + 1) % 8
    return env.step(batches[turn])
step()
"""
SEND = """
env.send(env.action_space.sample(), np.arange(env.num_envs))
actions = np.zeros(({batch}, *env.action_space.shape[1:]), env.action_space.dtype)
def step():
    env.send(actions, env.recv()[4]["env_id"])
"""


def cases(threads):
    """{name: (lines before, the line that is timed)}."""
    make_with = functools.partial(MAKE.format, threads=threads)
    found = {}
    for env_id in ("CartPole-v1", "Pendulum-v1", "FrozenLake-v1"):
        for lanes in (1, 64, 4096, 65536):
            make = make_with(env_id=env_id, lanes=lanes, more="")
            found[f"step {env_id} {lanes}"] = (make + DRAW, "result = step()")
    same = make_with(env_id="CartPole-v1", lanes=4096, more=", autoreset_mode='SameStep'")
    found["step CartPole-v1 4096 SameStep"] = (same + DRAW, "result = step()")
    for lanes, batch in ((64, 32), (4096, 2048)):
        make = make_with(env_id="CartPole-v1", lanes=lanes, more=f", batch_size={batch}")
        found[f"send and recv CartPole-v1 {lanes}/{batch}"] = (make + SEND.format(batch=batch), "step()")
    for lanes, steps in ((4096, 128), (256, 1024)):
        make = make_with(env_id="CartPole-v1", lanes=lanes, more="")
        found[f"rollout CartPole-v1 {lanes} x {steps}"] = (make, f"env.rollout({steps}, policy='random', seed=1)")
    found.update(steps_of(("Hopper-v5", "HalfCheetah-v5", "Ant-v5", "ALE/Pong-v5", "ALE/Breakout-v5"), (64,), threads))
    return found


def steps_of(env_ids, numbers_of_lanes, threads):
    """The cases of steps of these environments, as `cases` has them."""
    return {
        f"step {env_id} {lanes}": (
            MAKE.format(env_id=env_id, lanes=lanes, threads=threads, more="") + DRAW,
            "result = step()",
        )
        for env_id in env_ids
        for lanes in numbers_of_lanes
    }


class Contender:
    """A process that runs one case over one checkout."""

    def __init__(self, checkout, setup, call, least, threads):
        clock = "process_time_ns" if threads == 1 else "perf_counter_ns"
        code = WORKER.format(setup=textwrap.dedent(setup), call=call, least=least, clock=clock)
        self.process = subprocess.Popen(
            [sys.executable, "-c", code],
            cwd=checkout,  # its batchenv comes first
            env={**_environment(checkout), "OMP_NUM_THREADS": str(threads)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        if self.process.stdout.readline() != "ready\n":
            raise RuntimeError(f"{checkout} cannot run this case")

    def burst(self):
        self.process.stdin.write("go\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())

    def end(self):
        self.process.stdin.close()
        self.process.wait()


@functools.cache
def _environment(checkout):
    """With compiled modules kept, as an installed package has them."""
    kept = tempfile.TemporaryDirectory()
    atexit.register(kept.cleanup)
    own = {"PYTHONPATH": str(checkout), "OMP_NUM_THREADS": "1", "PYTHONPYCACHEPREFIX": kept.name}
    return {**{name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}, **own}


def once(checkout, code):
    """Processor seconds that the last line of `code` says."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=checkout,
        env=_environment(checkout),
        capture_output=True,
        text=True,
        check=True,
    )
    return float(done.stdout.split()[-1])


ONCE = {
    "import": "import time; start = time.process_time(); import batchenv; print(time.process_time() - start)",
    "make 1,000,000 lanes": (
        "import time, batchenv; batchenv.make('CartPole-v1', 1); start = time.process_time(); "
        "env = batchenv.make('CartPole-v1', 1_000_000, num_threads=1); print(time.process_time() - start)"
    ),
}


def tell(name, ours, theirs):
    ratio = statistics.median(b / a for a, b in zip(ours, theirs, strict=True))
    print(
        f"{name:40s} {statistics.median(ours) / 1e3:12,.2f} {statistics.median(theirs) / 1e3:12,.2f} {ratio:7.3f}",
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("other", type=Path)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--least", type=float, default=50, help="milliseconds of a burst, at least")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--only", nargs="+", default=[""], help="cases whose name has one of these in it")
    parser.add_argument("--ids", nargs="+", help="instead: steps of these environments")
    parser.add_argument("--lanes", nargs="+", type=int, default=[64], help="with --ids (%(default)s)")
    arguments = parser.parse_args()
    both = (HERE, arguments.other.resolve())
    print(f"{'microseconds per call':40s} {'this':>12s} {'the other':>12s}   ratio")
    wanted = cases(arguments.threads)
    if arguments.ids:
        wanted = steps_of(arguments.ids, arguments.lanes, arguments.threads)
    for name, (setup, call) in wanted.items():
        if not any(part in name for part in arguments.only):
            continue
        contenders = [Contender(checkout, setup, call, arguments.least, arguments.threads) for checkout in both]
        taken = [[contender.burst() for contender in contenders] for _ in range(arguments.rounds)]
        for contender in contenders:
            contender.end()
        tell(name, *zip(*taken, strict=True))
    for name, code in ({} if arguments.ids else ONCE).items():
        if any(part in name for part in arguments.only):
            taken = [[1e9 * once(checkout, code) for checkout in both] for _ in range(arguments.rounds)]
            tell(name, *zip(*taken, strict=True))


if __name__ == "__main__":
    main()
