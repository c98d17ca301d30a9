"""Injects faults into environments that are stepped in processes or in an event loop: no call may hang, no step may be
lost or come twice, and no process, descriptor or shared memory may be left.

python tools/verify/soak_processes.py [--faults 1000] [--seed 1]

Every lane counts its own steps and shows lane, episode and step in its observation. It needs Linux. Exit status 1: a
rule is broken.
"""

import argparse
import asyncio
import collections
import contextlib
import faulthandler
import gc
import os
import signal
import sys
import threading
import time
from pathlib import Path

import gymnasium
import numpy as np
from gymnasium import spaces

import batchenv
from batchenv.workers.processes.process import WorkerDied

TIMEOUT = 1.0  # seconds that a step may take
WAIT = 120  # seconds after which a turn counts as hanging
# What an action makes an env do.
HERE = ("raise", "hang", "shape", "type", "bad reset", "other spaces", "large")
PROCESS = ("exit", "kill", "speechless")
LOOP = ("cancel", "stop the loop")
DEEDS = (*HERE, *PROCESS, *LOOP)
HARMLESS = ("large", "cancel", "stop the loop")  # of these, a lane need not fail
FAULTS = {
    "processes": (*HERE, *PROCESS, "kill -9", "stop", "ctrl-c", "kill the server"),
    "asyncio": (*HERE, *LOOP),
}


class Walk(gymnasium.Env):
    """Counts its steps. An episode has a number of its own. Action k + 1 does DEEDS[k]."""

    observation_space = spaces.Box(-np.inf, np.inf, (3,), np.float64)
    action_space = spaces.Discrete(len(DEEDS) + 1)

    def __init__(self, lane):
        self.lane, self.fails = lane, False

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.__dict__.pop("observation_space", None)
        if self.fails:
            self.fails = False
            raise ValueError("no reset, on purpose")
        self.episode, self.count = float(int.from_bytes(os.urandom(6), "big")), 0
        return self._seen(), {}

    def _seen(self):
        return np.array([self.lane, self.episode, self.count])

    def step(self, action):
        self.count += 1
        deed = DEEDS[action - 1] if action else ""
        infos = {"count": self.count}
        if deed == "raise":
            raise ValueError("on purpose")
        if deed == "exit":
            os._exit(7)
        if deed == "hang":
            time.sleep(3600)
        if deed == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if deed == "shape":
            return np.zeros(4), 1.0, False, False, {}
        if deed == "type":
            return self._seen(), "a lot", False, False, {}
        if deed == "other spaces":
            self.observation_space = spaces.Box(-1, 1, (4,), np.float64)
            return np.zeros(4), 1.0, False, False, {}
        if deed == "bad reset":
            self.fails = True
            return self._seen(), float(self.count), True, False, infos
        if deed == "speechless":  # cannot be pickled
            infos["lock"] = threading.Lock()
        if deed == "large":
            infos["large"] = bytes(3_000_000)
        return self._seen(), float(self.count), bool(np.random.random() < 0.02), False, infos

    def pid(self):
        return os.getpid()


class WaitingWalk(Walk):
    """The same, with coroutines."""

    async def reset(self, *, seed=None, options=None):
        await asyncio.sleep(0)
        return super().reset(seed=seed, options=options)

    async def step(self, action):
        deed = DEEDS[action - 1] if action else ""
        await asyncio.sleep(self.lane % 3 * 1e-4)
        if deed == "hang":
            await asyncio.sleep(3600)
        if deed == "cancel":
            for task in asyncio.all_tasks() - {asyncio.current_task()}:
                task.cancel()
        if deed == "stop the loop":
            asyncio.get_running_loop().stop()
        return super().step(action)


class Broken(Exception):
    """A rule is broken."""


class Walkers:
    """An env, and what is known of its lanes."""

    def __init__(self, rng, lanes, workers, batch_size=None, **options):
        self.rng, self.lanes = rng, lanes
        how = {"workers": "processes", "num_workers": workers} if workers else {"workers": "asyncio"}
        makers = [lambda lane=lane: (Walk if workers else WaitingWalk)(lane) for lane in range(lanes)]
        self.env = batchenv.make_python(makers, step_timeout=TIMEOUT, batch_size=batch_size, **how, **options)
        self.batch_size, self.faults = batch_size, FAULTS[how["workers"]]
        self.mode = self.env.autoreset_mode.value
        self.steps = self.failures = self.interrupts = 0
        self.reset()

    def reset(self):
        """Starts anew."""
        failed = np.zeros(self.lanes, bool)
        try:
            observations, _ = self.env.reset(seed=int(self.rng.integers(2**31)))
        except batchenv.LaneError as error:
            if not all(self.excused(cause) for cause in error.causes.values()):
                raise
            observations = error.result[0]  # of a process that was killed before, and has ended only now
            failed[error.env_id] = True
        self.seen = set()
        self.at = [None] * self.lanes  # episode and step; None: the next result begins an episode
        self.flying = np.zeros(self.lanes, bool)
        for lane, row in enumerate(observations.tolist()):
            self.begin(lane, row, failed[lane])

    @staticmethod
    def excused(cause):
        """Whether a reset may fail so."""
        return isinstance(cause, WorkerDied) or "on purpose" in str(cause)

    def begin(self, lane, row, failed):
        """Checks the first observation of an episode, or notes that there is none."""
        its, episode, step = row
        if failed and not any(row):
            self.failures += 1
            self.at[lane] = None
            return
        if its != lane or step or episode in self.seen:
            raise Broken(f"lane {lane} shows {row} instead of the beginning of a new episode")
        self.seen.add(episode)
        self.failures += bool(failed)
        self.at[lane] = episode, step
        self.steps += 1

    def follow(self, lane, row):
        """Checks the observation that follows the last one."""
        its, episode, step = row
        if its != lane or (episode, step) != (self.at[lane][0], self.at[lane][1] + 1):
            raise Broken(f"lane {lane} was at {self.at[lane]}, and comes to {row}")
        self.at[lane] = episode, step
        self.steps += 1

    def take(self, lanes, result, failed):
        """Checks results: each is the one that follows."""
        observations, _, terminations, truncations, infos = result
        for k, (lane, row, ends) in enumerate(
            zip(lanes, observations.tolist(), (terminations | truncations).tolist(), strict=True)
        ):
            if lane in failed and not ends and self.at[lane] is not None:
                raise Broken(f"lane {lane} has failed, but its episode goes on")
            if lane in failed or self.at[lane] is None:
                self.begin(lane, row, lane in failed)
            elif ends and self.mode == "SameStep":
                self.follow(lane, infos["final_obs"][k].tolist())
                self.begin(lane, row, False)
            else:
                self.follow(lane, row)
                self.at[lane] = None if ends else self.at[lane]

    def restart(self):
        """Resets the lanes that wait for it, in autoreset mode Disabled; all others stay where they are."""
        for _ in range(100):
            waiting = np.array([one is None for one in self.at])
            if not waiting.any():
                return
            failed = ()
            try:
                observations, _ = self.env.reset(options={"reset_mask": waiting})
            except batchenv.LaneError as error:
                if not all(self.excused(cause) for cause in error.causes.values()):
                    raise
                observations, failed = error.result[0], error.env_id.tolist()
            for lane, row in enumerate(observations.tolist()):
                if waiting[lane] or lane in failed:
                    self.begin(lane, row, lane in failed)
                elif row != [lane, *self.at[lane]]:
                    raise Broken(f"lane {lane} was at {self.at[lane]}, and a reset of others shows {row}")
        raise Broken("no reset of these lanes succeeds")

    def act(self, actions):
        """One step of all lanes, or one batch of those that are finished first."""
        if self.mode == "Disabled":
            self.restart()
        try:
            if self.batch_size is None:
                result = self.env.step(actions)
            else:
                free = np.flatnonzero(~self.flying)
                if len(free):
                    self.rng.shuffle(free)
                    self.env.send(actions[free], free)
                    self.flying[free] = True
                result = self.env.recv(WAIT)
            failed = ()
        except batchenv.LaneError as error:
            result, failed = error.result, error.env_id.tolist()
        lanes = range(self.lanes) if self.batch_size is None else result[4]["env_id"].tolist()
        self.flying[list(lanes)] = False
        self.take(lanes, result, failed)

    def walk(self, steps):
        for _ in range(steps):
            self.act(np.zeros(self.lanes, int))

    def drain(self):
        while self.flying.any():
            before = self.flying.sum()
            if before < self.batch_size:
                missing = np.flatnonzero(~self.flying)[: self.batch_size - before]
                self.env.send(np.zeros(len(missing), int), missing)
                self.flying[missing] = True
            try:
                result, failed = self.env.recv(WAIT), ()
            except batchenv.LaneError as error:
                result, failed = error.result, error.env_id.tolist()
            lanes = result[4]["env_id"].tolist()
            self.flying[lanes] = False
            self.take(lanes, result, failed)

    def inject(self, fault):
        """Does one thing that goes wrong, and goes on."""
        before = self.failures
        if fault in DEEDS:
            self.walk(int(self.rng.integers(3)))
            if self.batch_size is not None:
                self.drain()
            while not (able := [lane for lane in range(self.lanes) if self.at[lane] is not None]):
                self.walk(1)  # which resets lanes whose episode has ended
                if self.batch_size is not None:
                    self.drain()
            actions = np.zeros(self.lanes, int)
            actions[self.rng.choice(able)] = 1 + DEEDS.index(fault)
            self.act(actions)
            if self.batch_size is not None:
                self.drain()
            if fault == "bad reset":
                self.walk(4)
                if self.batch_size is not None:
                    self.drain()
            if self.failures == before and fault not in HARMLESS:
                raise Broken(f"{fault}: no lane has failed")
        elif fault == "ctrl-c":
            self.interrupt()
        else:
            self.strike(fault)
        self.walk(int(self.rng.integers(1, 6)))

    def strike(self, fault):
        """Hits a process from outside at a random moment of some steps."""
        if fault == "kill the server":
            pid = next((worker for worker, name in below().items() if name == "batchenv server"), None)
        else:
            pool = self.env._backend._pool
            pid = pool._workers[self.rng.integers(len(pool))].process.pid
        how = signal.SIGSTOP if fault == "stop" else signal.SIGKILL

        def hit():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, how)

        if pid is None:
            return
        timer = threading.Timer(self.rng.uniform(0, 0.01), hit)
        timer.start()
        while timer.is_alive():
            self.walk(1)
        self.walk(3)

    def interrupt(self):
        """Ctrl-C at a random moment of some steps."""
        armed = True

        def raised(*_):
            if armed:
                raise KeyboardInterrupt

        before = signal.signal(signal.SIGINT, raised)
        timer = threading.Timer(self.rng.uniform(0, 0.01), os.kill, (os.getpid(), signal.SIGINT))
        try:
            timer.start()
            while True:
                self.walk(1)
        except KeyboardInterrupt:
            self.interrupts += 1
        finally:
            armed = False  # also where a step was found broken before the timer's end
            timer.join()
            signal.signal(signal.SIGINT, before)
        self.reset()


def below():
    """{pid: name} of the processes below this one."""
    rows = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, rest = path.read_text().split("(", 1)[1].rsplit(")", 1)
        except OSError:
            continue
        rows[int(path.parent.name)] = (name, int(rest.split()[1]))
    found = {}
    for pid, (name, _) in rows.items():
        above = pid
        while above in rows and above != os.getpid():
            above = rows[above][1]
        if above == os.getpid() != pid:
            found[pid] = name
    return found


def resources():
    """Open files, processes, and pieces of shared memory."""
    gc.collect()
    shared = Path("/proc/self/maps").read_text().count("/memfd:batchenv")
    return len(os.listdir("/proc/self/fd")), len(below()), shared


def soak(faults, seed, say):
    """Injects so many faults into several envs in turn."""
    rng = np.random.default_rng(seed)
    kinds = [
        {"lanes": 6, "workers": 3},
        {"lanes": 4, "workers": 4, "batch_size": 2, "on_failure": "restart"},
        {"lanes": 8, "workers": 2, "batch_size": 3},
        {"lanes": 3, "workers": 3, "start_method": "spawn"},
        {"lanes": 4, "workers": 2, "start_method": "fork", "on_failure": "restart"},
        {"lanes": 6, "workers": 2, "autoreset_mode": "SameStep"},
        {"lanes": 6, "workers": 2, "autoreset_mode": "Disabled"},
        {"lanes": 5, "workers": None, "on_failure": "restart"},
        {"lanes": 6, "workers": None, "batch_size": 2},
        {"lanes": 5, "workers": None, "autoreset_mode": "SameStep"},
        {"lanes": 5, "workers": None, "autoreset_mode": "Disabled", "on_failure": "restart"},
    ]
    all_walkers = [Walkers(rng, **kind) for kind in kinds]
    counts = collections.Counter()
    start = last = time.monotonic()
    for number in range(faults):
        walkers = all_walkers[number % len(all_walkers)]
        fault = walkers.faults[rng.integers(len(walkers.faults))]
        faulthandler.dump_traceback_later(WAIT, exit=True)
        try:
            walkers.inject(fault)
        except Exception:
            print(f"fault {number} ({fault}) in {kinds[number % len(kinds)]}", file=sys.stderr)
            raise
        counts[fault] += 1
        if time.monotonic() > last + 20:
            last = time.monotonic()
            say(f"{last - start:5.0f} s {number + 1:6,} faults, {sum(w.steps for w in all_walkers):,} steps")
    faulthandler.cancel_dump_traceback_later()
    for walkers in all_walkers:
        walkers.env.close()
    say(", ".join(f"{count} {fault}" for fault, count in sorted(counts.items())))
    say(
        f"{time.monotonic() - start:.0f} s, {sum(w.steps for w in all_walkers):,} results that followed one another, "
        f"{sum(w.failures for w in all_walkers):,} of failed lanes"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--faults", type=int, default=1000, help="default %(default)s")
    parser.add_argument("--seed", type=int, default=1, help="default %(default)s")
    options = parser.parse_args()
    batchenv.make_python([lambda: Walk(0)]).close()  # what is made once and stays
    before = resources()
    try:
        soak(options.faults, options.seed, lambda text: print(text, flush=True))
    except Broken as problem:
        print(f"BROKEN {problem}")
        return 1
    after = resources()
    print(f"{'ok    ' if after == before else 'BROKEN'} files, processes, shared memory: {before}, then {after}")
    return int(after != before)


if __name__ == "__main__":
    sys.exit(main())
