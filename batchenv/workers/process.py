"""Starts and ends the processes of workers."""

from __future__ import annotations

import contextlib
import os
import pickle
import socket
import subprocess
import sys
import weakref
from multiprocessing.connection import Connection
from typing import Any

import cloudpickle

from batchenv.workers.worker import Failure, Job


class WorkerDied(RuntimeError):
    """The process of a lane's env has ended, or was ended because a step took too long."""


class WorkerProcess:
    """The process of one worker, as its parent sees it.

    Envs are made in a new interpreter, not in a fork of this one: threads and libraries of this process do not hang
    there. What makes them goes there by cloudpickle, so the program's main module is not imported again.

    Args:
        number: of the worker; memory_fd: of the memory that is shared.
        job: pickled, see `pack`.
    """

    def __init__(self, number: int, memory_fd: int, job: bytes):
        ours, theirs = socket.socketpair()
        life_theirs, self._life = os.pipe()  # closed when this process ends, however it does
        descriptors = f"{theirs.fileno()}, {memory_fd}, {life_theirs}"
        call = f"from batchenv.workers.worker import main; main({number}, {descriptors})"
        paths = os.pathsep.join(path for path in sys.path if path) or None
        environment = {**os.environ, **({"PYTHONPATH": paths} if paths else {})}
        try:
            self.process = subprocess.Popen(
                [sys.executable, "-c", call],
                pass_fds=(theirs.fileno(), memory_fd, life_theirs),
                stdin=subprocess.DEVNULL,
                env=environment,
            )
        except BaseException:
            ours.close()
            os.close(self._life)
            raise
        finally:
            theirs.close()
            os.close(life_theirs)
        self.channel = Connection(ours.detach())
        self._end = weakref.finalize(self, _end, self.process, self.channel, self._life)
        self._end.atexit = True
        with contextlib.suppress(OSError):  # it has ended already, and `hear` says so
            self.channel.send_bytes(job)

    def hear(self) -> Any:
        """The next message.

        Raises:
            WorkerDied: the process has ended.
        """
        try:
            return pickle.loads(self.channel.recv_bytes())
        except (EOFError, OSError):
            self.process.wait()
            raise WorkerDied(self.obituary()) from None

    def alive(self) -> bool:
        """Whether the process runs."""
        return self.process.poll() is None

    def obituary(self) -> str:
        """How the process has ended."""
        status = self.process.poll()
        if status is None:
            return "its process is not to be reached"
        if status < 0:
            return f"its process (pid {self.process.pid}) was ended by signal {-status}"
        return f"its process (pid {self.process.pid}) has ended with status {status}"

    def kill(self) -> None:
        """Ends the process at once. May be called again."""
        self._end()


def _end(process: subprocess.Popen, channel: Connection, life: int) -> None:
    channel.close()
    os.close(life)
    process.kill()
    process.wait()


def pack(job: Job) -> bytes:
    """A job as bytes: functions and classes of the main module by value.

    Raises:
        TypeError: it cannot be pickled.
    """
    try:
        return cloudpickle.dumps(job)
    except Exception as problem:
        raise TypeError(
            f"make_env cannot be sent to another process ({problem}): let it make the env there, from values that can "
            "be pickled, or take workers='serial'"
        ) from problem


def revived(told: Failure) -> BaseException:
    """The exception of another process, with the traceback there as a note."""
    problem: BaseException | None = None
    if told.pickled is not None:
        try:
            problem = pickle.loads(told.pickled)
        except Exception:  # a class that this process does not know
            problem = None
    if not isinstance(problem, BaseException):
        problem = RuntimeError(f"{told.kind}: {told.text}")
    problem.add_note(f"In the worker:\n{told.trace}")
    return problem
