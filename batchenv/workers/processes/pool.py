"""The processes of a BatchEnv as its parent sees them: what they are asked, what they report, and who takes the place
of one that has died."""

from __future__ import annotations

import contextlib
import os
import time
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

from batchenv.workers.backend import check_spaces
from batchenv.workers.pickles import pickled
from batchenv.workers.processes.memory import Memory, MemoryPlan
from batchenv.workers.processes.process import WorkerDied, WorkerProcess, late, revived
from batchenv.workers.processes.protocol import Failure, Like, Verb
from batchenv.workers.processes.starter import default_method, high, refusal, starter
from batchenv.workers.processes.watch import Watch


class WorkerReport(NamedTuple):
    """What a worker has to say of all its lanes, or of one. payload: what came over the socket, or None. numbers: see
    `_core.NumberWriter.write`."""

    worker: int
    verb: int
    lane: int
    payload: Any
    numbers: int


class Owner(Protocol):
    """Whoever has the lanes that a pool steps."""

    def lose(self, worker: int, why: WorkerDied) -> None:
        """Is told that a worker has died, before there is another one. What it owed will not be reported."""


class WorkerPool:
    """See above.

    Args:
        jobs: per worker, a pickled `worker.Job`.
        bounds: worker k has lanes bounds[k] to bounds[k + 1] - 1.
        timeout: seconds that a worker may take for one request before it is ended; None: for ever.
        method: how workers are started, one of `starter.METHODS`; None: by the default one.

    Attributes:
        like: what the first worker says of its envs.
        memory: what all processes share; from `share`.
        owner: is told of losses; to be set when there is memory.
        timeout: as the argument.
        messages: those that have come, and have not been read: (worker, verb, lane, number of the payload, numbers).
    """

    owner: Owner

    def __init__(self, jobs: Sequence[bytes], bounds: list[int], timeout: float | None, method: str | None):
        if not hasattr(os, "memfd_create"):
            raise NotImplementedError("workers='processes' needs Linux: take workers='threads' or 'serial'")
        self._jobs, self._bounds, self.timeout = jobs, bounds, timeout
        self._memory_fd = high(os.memfd_create("batchenv"))
        self._close_memory = weakref.finalize(self, os.close, self._memory_fd)
        self._event = high(os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC))
        self._close_event = weakref.finalize(self, os.close, self._event)
        self._watch: Watch | None = None
        self._pid = os.getpid()
        self.messages: deque[tuple[int, int, int, int, int]] = deque()
        self._under_way: int | None = None  # the worker to which a payload is being sent
        self._starter = starter(method or default_method())
        self._workers: list[WorkerProcess] = []
        start = time.monotonic()
        try:
            for number in range(len(jobs)):
                self._workers.append(self._start(number))
            likes = [_like(worker.hear()) for worker in self._workers]
            self.like = likes[0]
            for number, like in enumerate(likes):
                check_spaces(like, self.like, bounds[number])
        except BaseException:
            self.end()
            raise
        took = time.monotonic() - start
        self._patience = None if timeout is None else timeout + 2 * took  # with the envs of a new worker

    def __len__(self) -> int:
        return len(self._workers)

    def lanes_of(self, number: int) -> range:
        """The lanes of a worker."""
        return range(self._bounds[number], self._bounds[number + 1])

    @property
    def foreign(self) -> bool:
        """Whether this is a forked process, which has no workers."""
        return os.getpid() != self._pid

    # ---- their lives ---------------------------------------------------------------------------------------------

    def _start(self, number: int) -> WorkerProcess:
        try:
            descriptors = self._memory_fd, self._event
            return WorkerProcess(number, descriptors, self._jobs[number], self._starter)
        except OSError as problem:
            raise refusal(problem, number, len(self._jobs)) from problem

    def share(self, plan: MemoryPlan) -> None:
        """Makes the memory that all use."""
        self._plan = plan
        self.memory = Memory(self._memory_fd, plan, create=True)
        for worker in self._workers:
            worker.send(pickled(plan))

    def _replace(self, number: int, why: str) -> None:
        """Puts a new worker in the place of one that has died. It has as long as all needed at first, twice, and
        `timeout`."""
        self._workers[number].kill()
        self.memory.mailbox.empty(number)
        for message in [message for message in self.messages if message[0] == number]:
            self.messages.remove(message)  # one by one: Ctrl-C must not take those of others
        self.owner.lose(number, WorkerDied(why))
        worker = self._workers[number] = self._start(number)
        if self._watch is not None:
            worker.show(self._watch)
        late = f"it took longer than {self._patience:.1f} s" if self._patience is not None else ""
        try:
            check_spaces(_like(worker.hear(limit=self._patience, why=late)), self.like, self._bounds[number])
            worker.send(pickled(self._plan))
        except Exception as problem:  # this one is as good as dead: whoever asks it for something gets the next
            worker.why = f"its envs could not be made again ({type(problem).__name__}: {problem})"
            worker.kill()
        except BaseException:
            worker.kill()
            raise

    def look_after(self) -> None:
        """Replaces workers that have died, are late, or have half a message. Those of which a report waits to be read
        come later."""
        self.mend()
        spared = {message[0] for message in self.messages}
        for number, worker in enumerate(self._workers):
            if number in spared:
                continue
            if not worker.alive():
                self._replace(number, worker.exit_reason())
            elif self.timeout is not None and self.memory.mailbox.overdue(number, self.timeout):
                self._replace(number, late(self.timeout))

    def worker(self, number: int) -> Any:
        """An object that is another one when another process has taken a worker's place."""
        return self._workers[number]

    def end(self) -> None:
        """Ends all at once. May be called again."""
        if self.foreign:
            return
        for worker in self._workers:
            worker.process.kill()  # all at the same time
        for worker in self._workers:
            worker.kill()
        self._starter.end()
        if self._watch is not None:
            self._watch.close()
        self._close_memory()
        self._close_event()

    def close(self) -> None:
        """Lets envs close for a second, and then ends all that are left."""
        if self.foreign:
            return
        for number in range(len(self)):
            with contextlib.suppress(RuntimeError):
                self.memory.mailbox.post(number, Verb.END)
        end = time.monotonic() + 1.0
        while any(worker.alive() for worker in self._workers) and time.monotonic() < end:
            time.sleep(0.002)
        self.end()

    # ---- event loops ---------------------------------------------------------------------------------------------

    def fileno(self) -> int:
        """See `Watch`. Call `expect` next."""
        if self._watch is None:
            self._watch = Watch(self._event)
            for worker in self._workers:
                if worker.alive():
                    worker.show(self._watch)
        return self._watch.fileno()

    def expect(self, count: int | None) -> None:
        """Says how many messages are waited for, so that the descriptor becomes readable with them: 0, they have come;
        None, nobody waits."""
        watch = self._watch
        if watch is None:
            return
        watch.empty()
        self.memory.mailbox.want(count or 0)
        if count is not None and (count == 0 or self.messages or self.memory.mailbox.any()):
            watch.show()
        late = self.timeout if self.timeout is None else self.memory.mailbox.time_left(self.timeout)
        watch.open(count is not None, late)

    # ---- messages ------------------------------------------------------------------------------------------------

    def post(self, number: int, verb: Verb, lane: int = 0, payload: Any = None, reports: int = 1) -> None:
        """Asks a worker for something, which it answers with so many reports."""
        if payload is None:
            self.memory.mailbox.post(number, verb, lane, 0, reports)
            return
        data = pickled(payload)
        self.mend()
        self._under_way = number
        self.memory.mailbox.post(number, verb, lane, 1, reports)
        self._workers[number].send(data, self.timeout)  # if it dies or hangs, that is noticed later
        self._under_way = None

    def mend(self) -> None:
        """Replaces a worker if Ctrl-C has come while it was being sent a payload: this may be cut in two, and its rest
        cannot be told from the next. It waits for this rest, and so it reports nothing by which it would be noticed."""
        if self._under_way is not None:
            number = self._under_way
            self._replace(number, "its process was ended, because Ctrl-C came between it and this process")
            self._under_way = None

    def read(self, note: Callable[[WorkerReport], None]) -> None:
        """Reads the first of `messages`, and calls `note` with what a worker reports there.

        The message is dropped when `note` has returned. If Ctrl-C interrupts that, the same report comes again, so it
        has to be something that may be done twice. Whoever cannot do it twice removes the message by itself, in the
        same instant: see `Flight.land`.
        """
        message = self.messages[0]
        number, verb, lane, place, numbers = message
        payload = None
        if place:
            try:
                payload = self._workers[number].hear(place, self.timeout)
            except WorkerDied as death:  # in the midst of its report
                self._replace(number, str(death))
                return
            if isinstance(payload, Failure):
                why = f"what its envs have said cannot be pickled ({payload.kind}: {payload.text}), and its process "
                self._replace(number, why + "was ended: leave it out, or take workers='threads' or 'serial'")
                return
        note(WorkerReport(number, verb, lane, payload, numbers))
        if self.messages and self.messages[0] is message:
            self.messages.popleft()


def _like(answer: Any) -> Like:
    """What a new worker says of its envs, unless it has failed to make them."""
    if isinstance(answer, Like):
        return answer
    raise revived(answer)
