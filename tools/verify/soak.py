"""Runs send and recv for a long time, and makes and closes many envs: nothing may leak and no step may get lost.

python tools/verify/soak.py [--minutes 5] [--constructions 10000]

Memory, threads and open files are those of this process, so it needs Linux's /proc. Exit status 1: a rule is broken.
"""

import argparse
import contextlib
import copy
import gc
import os
import sys
import time
from typing import NamedTuple

import numpy as np

import batchenv

PAGE = os.sysconf("SC_PAGE_SIZE")
REPORT_S = 20.0
EXITING = 4  # the system's PF_EXITING
ROUNDS = 20  # of traffic, at least
TEAM = 3  # the most threads that a batch has here
WAIT = 60  # seconds after which a batch that does not come is an error


class Resources(NamedTuple):
    memory: int  # resident bytes
    workers: int  # threads of batchenv's pools
    others: int  # threads that are not: OpenMP begins them with its first parallel loop, and ends them as it likes
    files: int


def resources():
    gc.collect()
    with open("/proc/self/statm") as file:
        resident = int(file.read().split()[1]) * PAGE
    names = []
    for thread in os.listdir("/proc/self/task"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError), open(f"/proc/self/task/{thread}/stat") as file:
            name, numbers = file.read().split("(", 1)[1].rsplit(")", 1)
            if not int(numbers.split()[6]) & EXITING:  # one that was joined may still be seen for a moment
                names.append(name)
    workers = sum(name.startswith("batchenv-") for name in names)
    files = len(os.listdir("/proc/self/fd")) - 1  # the listing's own
    return Resources(resident, workers, len(names) - workers, files)


class Traffic:
    """An env whose lanes are sent and received in any order, among everything else that may be done with it."""

    def __init__(self, rng, env_id, lanes, watched=True, **options):
        self.rng = rng
        self.env = batchenv.make(env_id, lanes, **options)
        self.mode = self.env.metadata["autoreset_mode"].value
        self.counted = env_id == "Synthetic-v0"  # its first number counts an episode's steps
        self.elapsed = np.zeros(lanes, int)
        self.done = np.zeros(lanes, bool)
        self.sent = np.zeros(lanes, bool)
        self.steps = self.failures = 0
        self.saved = None
        if watched:
            self.env.fileno()
        self.reset()

    def reset(self):
        self.env.async_reset(seed=int(self.rng.integers(2**31)))
        self.elapsed[:] = -1  # the next result will be the first observation
        self.done[:] = False
        self.sent[:] = True

    def receive(self):
        try:
            observations, _, terminations, truncations, infos = self.env.recv(WAIT)
        except batchenv.LaneError as error:
            observations, _, terminations, truncations, infos = error.result
            self.failures += len(error.env_id)
        ids = infos["env_id"]
        done = terminations | truncations
        if self.counted:
            self.check(ids, observations[:, 0], done)
        self.done[ids] = done
        self.sent[ids] = False
        self.steps += len(ids)
        return ids

    def check(self, ids, numbers, done):
        """Checks that every step moves its lane on by one, and that nothing else does."""
        expected = np.where(self.done[ids], 0, self.elapsed[ids] + 1)
        if self.mode == "SameStep":
            expected = np.where(done, 0, self.elapsed[ids] + 1)
        unsure = done & (numbers == 0)  # a failed lane has no observation
        wrong = (numbers != expected) & ~unsure
        if wrong.any():
            k = int(np.flatnonzero(wrong)[0])
            raise AssertionError(f"lane {ids[k]} is at step {numbers[k]} of its episode instead of {expected[k]}")
        self.elapsed[ids] = expected

    def turn(self):
        """Receives some batches, and then does something else."""
        for _ in range(50):
            if self.sent.sum() >= self.env.batch_size:
                self.receive()
            free = np.flatnonzero(~self.sent)
            if len(free):
                self.rng.shuffle(free)
                chosen = free[: self.rng.integers(1, len(free) + 1)]
                self.env.send(self.rng.integers(self.env.single_action_space.n, size=len(chosen)), chosen)
                self.sent[chosen] = True
        getattr(self, ("reset", "pause", "look", "clone", "fork_off")[self.rng.integers(5)])()

    def pause(self):
        """Receives all that can be received; then resets some lanes, takes a snapshot and returns to it."""
        while self.sent.sum() >= self.env.batch_size:
            self.receive()
        free = ~self.sent
        if self.saved and free.any():
            self.env.restore(self.saved, free, rows=self.rng.integers(len(self.saved), size=free.sum()))
            self.done[free] = False
        mask = free & (self.rng.random(len(free)) < 0.3)
        if mask.any():
            self.env.reset(options={"reset_mask": mask})
        # The present step of each lane. Lanes that their next step will reset are in the state in which they ended.
        at = self.env.state["elapsed_steps"]
        self.elapsed[free] = at[free]
        self.done[mask] = False
        self.saved = None
        calm = free & ~self.done
        if calm.any():
            self.saved = self.env.snapshot(calm)

    def look(self):
        """State, random streams, params."""
        self.env.state, self.env.np_random[0]
        self.env.set_params(**self.env.get_params())

    def clone(self):
        """A copy where that is allowed."""
        with contextlib.suppress(RuntimeError):
            copy.deepcopy(self.env).close()

    def fork_off(self):
        """A child that uses its copy of the env, and is gone."""
        sys.stdout.flush()
        pid = os.fork()
        if pid == 0:
            status = 1
            with contextlib.suppress(BaseException):
                self.env.async_reset(seed=1)
                self.env.recv(WAIT)
                status = 0
            os._exit(status)
        if os.waitpid(pid, 0)[1]:
            raise AssertionError("the env did not work in a forked child")


def run_traffic(seconds, report):
    """Steps several envs in turn. Returns (steps, failures, resources after warm-up, at the end, after closing, and how
    many workers there may be)."""
    rng = np.random.default_rng(0)
    uneven = {"cost_us": 5.0, "tail_probability": 1 / 16, "tail_factor": 20.0}
    envs = [
        Traffic(rng, "CartPole-v1", 256, watched=False, batch_size=64, num_threads=2),
        Traffic(rng, "CartPole-v1", 1000, batch_size=1000, num_threads=2, record_episode_statistics=True),
        Traffic(rng, "Synthetic-v0", 64, batch_size=16, num_threads=TEAM, **uneven),
        Traffic(rng, "Synthetic-v0", 9, batch_size=1, num_threads=2, autoreset_mode="SameStep", **uneven),
        Traffic(rng, "Synthetic-v0", 16, batch_size=5, num_threads=2, fail_step=30, fail_lane=3, **uneven),
    ]
    start = last = time.perf_counter()
    warm, rounds = None, 0
    # By rounds, too: on a busy machine it takes longer until all has been done once, and a lane has failed.
    while (
        (now := time.perf_counter()) < start + seconds
        or rounds < ROUNDS
        or not (rounds > 50 * ROUNDS or any(t.failures for t in envs))
    ):
        for traffic in envs:
            traffic.turn()
        rounds += 1
        if warm is None and now > start + seconds / 5 and rounds >= ROUNDS / 2:
            warm = resources()
        if now > last + REPORT_S:
            last = now
            report(now - start, sum(t.steps for t in envs), resources())
    end = resources()
    # Each env has workers for its queue. If its lanes are stepped one by one, it has more of them for loops, which
    # start when measured cost says that they pay: on a busy machine this may be at any time.
    most = sum(t.env.num_threads + (t.env.num_threads - 1 if t.counted else 0) for t in envs)
    for traffic in envs:
        traffic.env.close()
    return sum(t.steps for t in envs), sum(t.failures for t in envs), warm or end, end, resources(), most


def construct(i):
    """Makes an env, uses it in one of several ways, and lets go of it in one of several."""
    options = {"batch_size": 2, "num_threads": 1 + i % TEAM}
    env = batchenv.make(("CartPole-v1", "Synthetic-v0")[i % 2], 6, **options, **({"cost_us": 1.0} if i % 2 else {}))
    if i % 5 == 1:
        env.reset(seed=i)
        env.step(np.zeros(6, int))
    elif i % 5:
        env.async_reset(seed=i)
        if i % 5 == 2:
            env.fileno()
        if i % 5 != 3:  # else: closed with everything in flight
            env.send(np.zeros(2, int), env.recv(WAIT)[4]["env_id"])
    if i % 7:
        env.close()


def run_constructions(count, report):
    """Makes and closes `count` envs. Returns the least resources of the first half, after a warm-up, and of the second.

    The least of many samples is taken: memory that the allocator keeps for later varies by a megabyte or two, but a
        leak stays.
    """
    start = last = time.perf_counter()
    samples = []
    for i in range(count):
        if i % (count // 40 or 1) == 0:
            samples.append(resources())
        construct(i)
        if (now := time.perf_counter()) > last + REPORT_S:
            last = now
            report(now - start, i, resources())
    samples = [*samples[len(samples) // 10 :], resources()]
    half = len(samples) // 2
    return [Resources(*map(min, zip(*part, strict=True))) for part in (samples[:half], samples[half:])]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=5.0, help="of traffic; default %(default)s")
    parser.add_argument("--constructions", type=int, default=10_000, help="default %(default)s")
    parser.add_argument("--growth-kb", type=float, default=1024, help="allowed growth of memory; default %(default)s")
    options = parser.parse_args()
    if not os.path.isdir("/proc/self/task"):
        parser.error("needs /proc, which this system does not have")
    broken = []

    def rule(name, holds, text):
        print(f"{'ok    ' if holds else 'BROKEN'} {name}: {text}")
        if not holds:
            broken.append(name)

    def report(seconds, count, now):
        print(
            f"{seconds:6.0f} s {count:14,} {now.memory / 1e6:8.1f} MB {now.workers:3} workers {now.files:3} files",
            flush=True,
        )

    def compare(name, warm, end):
        growth = (end.memory - warm.memory) / 1024
        memory = f"{warm.memory / 1e6:.2f} MB, then {end.memory / 1e6:.2f} MB"
        rule(f"{name}: memory", growth <= options.growth_kb, memory)

    def same(name, before, after, most=None):
        """most: how many workers there may be; None: as many as before."""
        fits = after.workers == before.workers if most is None else before.workers <= after.workers <= most
        rule(f"{name}: workers", fits, f"{before.workers}, then {after.workers}" + (f" of {most}" if most else ""))
        rule(f"{name}: other threads", after.others < first.others + TEAM, f"{first.others} at first, {after.others}")
        rule(f"{name}: files", after.files == before.files, f"{before.files}, then {after.files}")

    first = resources()
    print(f"constructions: {options.constructions:,}")
    warm, end = run_constructions(options.constructions, report)
    compare("constructions", warm, end)
    same("constructions", first, end)

    print(f"traffic: {options.minutes:g} minutes")
    before = resources()
    steps, failures, warm, end, after, most = run_traffic(60 * options.minutes, report)
    print(f"{steps:,} steps, {failures:,} of them failed on purpose")
    rule("traffic: steps", steps > 0 and failures > 0, "each moved its lane on by one")
    compare("traffic", warm, end)
    same("traffic while running", warm, end, most)
    same("traffic after closing", before, after)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
