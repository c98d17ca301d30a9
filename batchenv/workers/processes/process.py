"""Starts and ends the processes of workers."""

from __future__ import annotations

import contextlib
import math
import os
import time
import weakref
from collections.abc import Callable
from typing import Any

import cloudpickle

from batchenv.workers.pickles import loaded, sendable
from batchenv.workers.processes.channel import Channel
from batchenv.workers.processes.protocol import Failure, Job
from batchenv.workers.processes.starter import Process, socket_pair
from batchenv.workers.processes.watch import Watch


class WorkerDied(RuntimeError):
    """The process of a lane's env has ended, or was ended because a step took too long."""


class WorkerProcess:
    """The process of one worker, as its parent sees it. What makes its envs goes there by cloudpickle, so the program's
    main module is not imported again.

    Args:
        number: of the worker; descriptors: of the memory that is shared, and of an eventfd: see `watch`.
        job: pickled, see `pack`.
        starter: see `starter`.

    Attributes:
        why: what there is to say of its end; empty: what the system says of it.
    """

    def __init__(self, number: int, descriptors: tuple[int, int], job: bytes, starter: Any):
        self.why = ""
        ours, theirs = socket_pair()
        self._channel = Channel(ours)
        try:
            self.process = starter.start(number, theirs.fileno(), *descriptors)
        except BaseException:
            self._channel.close()
            raise
        finally:
            theirs.close()
        self._end = weakref.finalize(self, _end, self.process, self._channel, os.getpid())
        self.send(job)

    def send(self, message: bytes, limit: float | None = None) -> None:
        """Sends a message, for which the process has so many seconds (None: as long as it lives). If it has not taken
        it then, or has ended, it is ended: see `alive`."""
        with contextlib.suppress(OSError, WorkerDied):
            self._channel.send(message, self._checker(limit))

    def hear(self, number: int = 1, limit: float | None = None, why: str = "") -> Any:
        """The message with this number: see `Channel.recv`. limit: as in `send`. why: to be said of a process that has
        not sent it then.

        Raises:
            WorkerDied: the process has ended, or was ended.
        """
        try:
            message = self._channel.recv(number, self._checker(limit, why))
        except (EOFError, OSError, WorkerDied):
            self.kill()
            raise WorkerDied(self.exit_reason()) from None
        try:
            return loaded(message)
        except Exception as problem:
            what = f"{type(problem).__name__}: {problem}"
            self.kill(f"what its envs have said cannot be unpickled here ({what}), and its process was ended")
            raise WorkerDied(self.exit_reason()) from problem

    def _checker(self, limit: float | None, why: str = "") -> Callable[[], None]:
        """What checks, during a long wait, whether the process still runs and is in time."""
        end = math.inf if limit is None else time.monotonic() + limit

        def check() -> None:
            if time.monotonic() > end:
                self.kill(why or late(limit))
            if not self.alive():
                raise WorkerDied

        return check

    def show(self, watch: Watch) -> None:
        """Lets a watch see its end."""
        self._channel.show(watch)

    def alive(self) -> bool:
        """Whether the process runs."""
        return self._end.alive and self.process.alive()

    def exit_reason(self) -> str:
        """How the process has ended, or why it was ended."""
        if self.why:
            return self.why
        status = self.process.status()
        if status is None:
            return f"its process (pid {self.process.pid}) has ended, and so has what started it: nobody knows how"
        if status < 0:
            return f"its process (pid {self.process.pid}) was ended by signal {-status}"
        return f"its process (pid {self.process.pid}) has ended with status {status}"

    def kill(self, why: str = "") -> None:
        """Ends the process at once. May be called again. why: to be said of it, if it still ran."""
        if self.alive() and not self.why:
            self.why = why
        self._end()


def late(limit: float | None) -> str:
    """What is said of a worker that has not answered in time."""
    return f"it took longer than step_timeout={limit} s, and its process was ended"


def _end(process: Process, channel: Channel, owner: int) -> None:
    if os.getpid() != owner:  # a fork of the process that has this worker
        return
    process.kill()
    channel.close()
    process.close()


def pack(job: Job) -> bytes:
    """A job as bytes: functions and classes of the main module by value.

    Raises:
        TypeError: it cannot be pickled.
    """
    instead = "let it make the env there, from values that can be pickled, or take workers='serial'"
    return sendable(job, "make_env", instead, dump=cloudpickle.dumps)


def pack_options(options: Any) -> bytes | None:
    """The options of a reset as bytes; None where there are none.

    Raises:
        TypeError: they cannot be sent to another process.
    """
    return None if options is None else sendable(options, "the options of a reset")


def revived(failure: Failure) -> BaseException:
    """The exception of another process, with the traceback there as a note."""
    problem: BaseException | None = None
    if failure.pickled is not None:
        try:
            problem = loaded(failure.pickled)
        except Exception:  # a class that this process does not know
            problem = None
    if not isinstance(problem, BaseException):
        problem = RuntimeError(f"{failure.kind}: {failure.text}")
    problem.add_note(f"In the worker:\n{failure.trace}")
    return problem
