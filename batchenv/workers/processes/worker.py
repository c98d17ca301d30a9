"""A worker: a process that steps some of the lanes of a BatchEnv. It is told what to do by messages in shared memory
(`_core.Mailbox`); what does not fit into a message or an array, its payload, goes over a socket.

Everything that is done to a lane (autoreset, limits, transforms, statistics) is done here, by `PythonBackend`, and its
results are written where the parent reads them.
"""

from __future__ import annotations

import ctypes
import os
import pickle
import sys
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode

from batchenv import _core
from batchenv.backend.course import Course
from batchenv.backend.protocol import LaneError
from batchenv.spaces import nested
from batchenv.workers.backend import NOTES, PythonBackend
from batchenv.workers.parts import nothing
from batchenv.workers.pickles import loaded, pickled, sendable
from batchenv.workers.processes.memory import Memory
from batchenv.workers.processes.protocol import BROKEN, FAILED, KEYS, OBJECTS, Job, Like, Verb, failure
from batchenv.workers.processes.trial import Cost, StepTrial
from batchenv.workers.saved import Saved

_PR_SET_NAME = 15


class Worker:
    """See above.

    Attributes:
        due: (verb, lane) of the messages with which the request that is being done is to be answered.
    """

    def __init__(self, number: int, channel: Connection, memory_fd: int, event_fd: int):
        self.number, self.channel = number, channel
        self.trial: StepTrial | None = None
        self.due: list[tuple[int, int]] = []
        packed = channel.recv_bytes()
        try:
            job = unpacked(packed)
            self.backend = made(job)
            like = pickled_like(self.backend)
        except BaseException as problem:
            channel.send(failure(problem))
            sys.exit(1)
        self.sent = 1  # payloads
        channel.send_bytes(like)
        self.memory = Memory(memory_fd, loaded(channel.recv_bytes()), create=False)
        os.close(memory_fd)
        self.memory.mailbox.event = event_fd
        self.same_step = job.options["autoreset_mode"] is AutoresetMode.SAME_STEP
        self.first, self.count = job.first, len(job.makers)
        end = self.first + self.count
        self.columns = [column[self.first : end] for column in self.memory.columns]
        self.actions = [column[self.first : end] for column in self.memory.actions]
        values, masks = self.memory.numbers
        self.numbers = _core.NumberWriter(values, masks, self.first, end)
        self.tree = nested.tree_of([port.name for port in self.backend.observations.ports])
        self.action_tree = nested.tree_of([port.name for port in self.backend.actions.ports])
        self.all = slice(0, self.count)

    def run(self) -> None:
        """Does what messages ask for, until the end."""
        each = [self.one_lane(slice(row, row + 1)) for row in range(self.count)]
        whole = (self.taken(self.all), self.out(self.all))
        plain = not self.backend.observations.objects
        core, lanes = self.backend.core, self.backend.lanes
        while True:
            asked = _core.serve(
                self.memory.mailbox, self.number, core, lanes, self.numbers, whole, each, self.first, plain, 60.0
            )
            if asked is None:
                continue
            (verb, lane, more), done = asked
            payload = self.channel.recv_bytes() if more else None
            if verb == Verb.END:
                self.backend.close()
                return
            self.due = [(verb, lane)]
            try:
                self.answer(verb, lane, None if payload is None else loaded(payload), done, whole, each)
            except Exception as problem:  # none of these may end the other lanes' episodes
                self.refuse(problem)

    def answer(
        self, verb: int, lane: int, payload: Any, done: Any, whole: tuple[Any, ...], each: list[tuple[Any, ...]]
    ) -> None:
        """Does what a message asks for. payload: what came with it over the socket. done: what the step that it asks
        for has returned or raised, if it has been done; None: it has not. whole, each: the arguments of steps."""
        if verb == Verb.CALL:
            self.call(*payload)
        elif verb == Verb.RESET:
            self.reset(*payload)
        elif verb == Verb.NOTHING:
            self.send(verb, self.first, b"")
        else:
            rows = self.all if verb == Verb.STEP else slice(lane - self.first, lane - self.first + 1)
            if done is not None:
                self.finish(verb, rows, lambda: given(done))
            else:
                self.step(verb, rows, payload, *(whole if verb == Verb.STEP else each[rows.start]))

    def refuse(self, problem: Exception) -> None:
        """Answers what has not been answered of a request that has raised this. It may have been done in part."""
        for verb, lane in list(self.due):
            if verb == Verb.CALL:
                self.send(verb, lane, pickled(("failed", failure(problem))))
            else:
                self.tell(verb, lane, {BROKEN: failure(problem), KEYS: (0, self.numbers.known())})

    def one_lane(self, rows: slice) -> tuple[Any, ...]:
        """The arguments of a step of one lane: (actions, lanes, out)."""
        return self.taken(rows), np.arange(rows.start, rows.stop), self.out(rows)

    def tell(self, verb: int, lane: int, infos: dict[str, Any], numbers: int = 0) -> None:
        """Reports; infos go over the socket, if there are any. numbers: the columns that `_core.NumberWriter` has
        written."""
        payload = b""
        if infos:
            try:
                payload = pickled(infos)
            except Exception as problem:
                payload = pickle.dumps(failure(problem))
        self.send(verb, lane, payload, numbers)

    def send(self, verb: int, lane: int, payload: bytes, numbers: int = 0) -> None:
        """Reports, with a pickled payload, whose number the message says; empty: there is none."""
        self.sent += bool(payload)
        self.memory.mailbox.reply(self.number, verb, lane, self.sent if payload else 0, numbers)
        del self.due[:1]
        if payload:
            self.channel.send_bytes(payload)

    def attempt(self, rows: slice, call: Callable[[], Any]) -> tuple[Any, dict[str, Any]]:
        """What a call returns: its first array, and its infos. In these, FAILED has the failures of lanes, and OBJECTS
        what goes through no array."""
        try:
            observations, *_, infos = call()
            infos = dict(infos)
        except LaneError as error:
            observations, *_, infos = error.result
            infos = dict(infos)
            infos[FAILED] = {self.first + lane: failure(problem) for lane, problem in error.causes.items()}
        infos.pop("env_id", None)
        if self.backend.observations.objects:
            infos[OBJECTS] = [self.backend.lanes.objects_of_lane(lane) for lane in range(rows.start, rows.stop)]
        return observations, infos

    def taken(self, rows: slice) -> Any:
        """The actions of these lanes."""
        return nested.build(self.action_tree, [column[rows] for column in self.actions])

    def out(self, rows: slice) -> tuple[Any, ...]:
        """Where results of these lanes go."""
        *observation, rewards, terminations, truncations = [column[rows] for column in self.columns]
        return (nested.build(self.tree, observation), rewards, terminations, truncations)

    def step(self, verb: int, rows: slice, taken: list[Any] | None, actions: Any, *arguments: Any) -> None:
        """Steps lanes, which is all of them or one. taken: their actions, where these are no arrays."""
        if taken is not None:
            actions = self.backend.hand_over(taken, range(rows.start, rows.stop))
        call = self.backend.core.step if verb == Verb.STEP else self.backend.core.step_some
        self.finish(verb, rows, lambda: self.backend.core.deliver(call(actions, *arguments)))

    def finish(self, verb: int, rows: slice, step: Callable[[], Any]) -> None:
        """Reports what the C core's step of these lanes returns or raises."""
        _, infos = self.attempt(rows, lambda: self.backend.complete(step))
        self.tell(verb, self.first + rows.start, infos, self.write_numbers(rows, infos))

    def write_numbers(self, rows: slice, infos: dict[str, Any]) -> int:
        """Takes the numbers out of what envs have said, for these rows. In infos, KEYS has the number of the
        first column that is new, and the new ones."""
        if NOTES not in infos:
            return 0
        notes, finals = infos.pop(NOTES)
        used, new, notes = self.numbers.write(rows.start, rows.stop - rows.start, notes)
        if new:
            infos[KEYS] = len(self.numbers) - len(new), new
        if notes or finals:
            infos[NOTES] = notes, finals
        return used

    def set_plan(self, course: Course | None) -> None:
        """Lets lanes follow a plan from the places that the memory has."""
        self.backend.set_plan(course, rows=self.memory.places[self.first : self.first + self.count])

    def reset(
        self, seeds: Any, mask: Any, options: bytes | None, lanes: list[int] | None, news: tuple[Any] | None
    ) -> None:
        """Resets the lanes of `mask`, or all. options: pickled. lanes: report each of these by itself; None: report
        once, as a step. news: the plan (or None), if this worker does not know it."""
        if news is not None:
            self.set_plan(*news)
        self.due = [(Verb.STEP, self.first)] if lanes is None else [(Verb.LANE, lane) for lane in lanes]
        meant = None if options is None else loaded(options)
        chosen = np.ones(self.count, np.bool_) if mask is None else mask
        if self.backend.needs_reset:  # in the place of a worker that has died; other lanes will be asked for, too
            mask = None
        rows = slice(0, self.count)
        observations, infos = self.attempt(rows, lambda: self.backend.reset(seeds, mask, meant))
        self.show(observations, chosen)
        failed = {lane: why for lane, why in infos.pop(FAILED, {}).items() if chosen[lane - self.first]}
        if failed:
            infos[FAILED] = failed
        if lanes is None:
            self.tell(Verb.STEP, self.first, infos)
            return
        if failed and self.same_step:
            infos.update(self.finals_of_failed([lane - self.first for lane in failed]))
        for lane in lanes:
            self.tell(Verb.LANE, lane, row_of(infos, lane - self.first, lane))

    def finals_of_failed(self, rows: list[int]) -> dict[str, Any]:
        """What a step says in autoreset mode SameStep of episodes that have ended because the reset has failed."""
        ended, final = np.zeros(self.count, np.bool_), np.empty(self.count, object)
        ended[rows] = True
        for row in rows:
            final[row] = nothing(self.backend.layout().observation_space)
        return {"final_obs": final, "_final_obs": ended, "final_info": {}, "_final_info": ended}

    def show(self, observations: Any, chosen: Any) -> None:
        """Writes observations of chosen lanes, of which no step has come yet. A lane whose reset has failed, or that
        was restored to the end of an episode, is shown as one that has been truncated: it waits for its reset."""
        if self.backend.observations.objects:
            observations = self.backend.arrays_of(observations)
        for column, array in zip(self.columns, nested.split(self.tree, observations, "observations"), strict=False):
            column[chosen] = array[chosen]
        for column in self.columns[-3:-1]:
            column[chosen] = 0
        self.columns[-1][chosen] = self.backend.core.waiting()[chosen]

    def load(self, parts: Saved, lanes: Any) -> list[Any]:
        """Puts a snapshot into lanes; returns what of their observations goes through no array."""
        self.show(self.backend.load(parts, lanes), lanes)
        return [self.backend.lanes.objects_of_lane(lane) for lane in lanes]

    def try_env(self) -> Cost | None:
        """See `StepTrial.go_on`, of the first env."""
        if self.trial is None:
            self.trial = StepTrial(self.backend.envs[0])
        return self.trial.go_on()

    def call(self, name: str, arguments: tuple[Any, ...]) -> None:
        """Answers a question, by a method of the backend's or one of ours."""
        answer = getattr(self if name in ("load", "try_env", "set_plan") else self.backend, name)(*arguments)
        self.send(Verb.CALL, 0, pickled(("answer", answer)))


def made(job: Job) -> PythonBackend:
    """Makes the envs."""
    if job.cpu is not None:
        os.sched_setaffinity(0, {job.cpu})
    name_process(f"batchenv {job.first}-{job.first + len(job.makers) - 1}")
    return PythonBackend(job.env_id, job.makers, "serial", gathers=False, **job.options)


def name_process(name: str) -> None:
    """What `ps` shows of this process."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_NAME, name.encode()[:15])


def unpacked(job: bytes) -> Job:
    """What a worker is made for.

    Raises:
        ImportError: something of it is in a module that cannot be imported here. Exception: of any other kind.
    """
    try:
        return loaded(job)
    except ImportError as problem:
        raise ImportError(
            f"a worker cannot import what make_env needs ({problem}): let its module be in a folder of sys.path or of "
            "PYTHONPATH, define it in the script itself, or take workers='threads' or 'serial'"
        ) from problem


def pickled_like(backend: PythonBackend) -> bytes:
    """What the envs are like, as bytes.

    Raises:
        TypeError: they have something that cannot be pickled.
    """
    env = backend.envs[0]
    like = Like(env.observation_space, env.action_space, backend.metadata, backend.render_mode)
    return sendable(like, f"the spaces and metadata of {type(env).__name__}")


def given(done: Any) -> Any:
    """Returns or raises what a step has returned or raised."""
    if isinstance(done, BaseException):
        raise done
    return done


def row_of(infos: dict[str, Any], row: int, lane: int) -> dict[str, Any]:
    """The infos of one row, without those that this row has not."""
    chosen: dict[str, Any] = {}
    for name, value in infos.items():
        if name == FAILED:
            if lane in value:
                chosen[name] = {lane: value[lane]}
        elif name == OBJECTS:
            chosen[name] = [value[row]]
        elif name == NOTES:
            chosen[name] = [[(0, info) for own, info in notes if own == row] for notes in value]
        elif not name.startswith("_") and (f"_{name}" not in infos or infos[f"_{name}"][row]):
            chosen[name] = row_of(value, row, lane) if isinstance(value, dict) else value[row : row + 1]
            if f"_{name}" in infos:
                chosen[f"_{name}"] = infos[f"_{name}"][row : row + 1]
    return chosen
