"""The ways to start worker processes. Each has a method `start(number, channel, memory, event)`, which gets a worker's
number and three descriptors and returns the process, and a method `end()`, for when all of its workers have ended."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import gc
import itertools
import os
import pickle
import resource
import select
import signal
import socket
import subprocess
import sys
import traceback
import warnings
import weakref
from collections.abc import Callable
from typing import Any, Protocol

from batchenv.workers.processes import entry
from batchenv.workers.processes.channel import HELD

METHODS = ("forkserver", "spawn", "fork")
_PATIENCE, _LONG = 5.0, 60.0  # seconds that a fork server gets to end by itself, and to answer


class Process(Protocol):
    """A worker process."""

    pid: int

    def alive(self) -> bool:
        """Whether it runs."""
        ...

    def status(self) -> int | None:
        """How it has ended: its status, or minus the number of a signal; None: nobody knows."""

    def kill(self) -> None:
        """Ends it at once. May be called again."""

    def close(self) -> None:
        """Waits for its end. May be called again."""


def default_method() -> str:
    """The fastest method that is safe whatever threads this process has."""
    return "forkserver" if hasattr(os, "pidfd_open") and _has_pidfd() else "spawn"


def _has_pidfd() -> bool:
    try:
        os.close(os.pidfd_open(os.getpid()))
    except OSError:  # an old kernel, or a filter of system calls
        return False
    return True


def end_group(leader: int) -> None:
    """Ends what a worker and its envs have started. The worker may have ended, but nobody may have asked how: as long
    as it is a zombie, no other process has its number."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, signal.SIGKILL)


def starter(method: str) -> Any:
    """What starts workers by this method."""
    return {"forkserver": ForkServer, "spawn": Spawner, "fork": Forker}[method]()


def high(descriptor: int) -> int:
    """The descriptor, or a copy in its place above those of stdin, stdout and stderr, which this process may have
    closed."""
    if descriptor > 2:
        return descriptor
    copy = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 3)
    os.close(descriptor)
    return copy


def socket_pair(kind: int = socket.SOCK_STREAM) -> tuple[socket.socket, socket.socket]:
    """As `socket.socketpair`, with descriptors from 3 on."""
    one, other = socket.socketpair(socket.AF_UNIX, kind)
    return socket.socket(fileno=high(one.detach())), socket.socket(fileno=high(other.detach()))


def received(end: socket.socket, count: int) -> tuple[bytes, list[int]]:
    """The next message, and up to `count` descriptors that come with it."""
    message, descriptors, _, _ = socket.recv_fds(end, 4096, count)
    descriptors = list(map(high, descriptors))
    for descriptor in descriptors:
        os.set_inheritable(descriptor, False)
    return message, descriptors


def refusal(problem: OSError, number: int, count: int) -> OSError:
    """Says which limit of the system does not let a worker start."""
    open_files, processes = (resource.getrlimit(which)[0] for which in (resource.RLIMIT_NOFILE, resource.RLIMIT_NPROC))
    limits = {
        errno.EMFILE: f"{count} workers need {2 * count} descriptors besides others, but RLIMIT_NOFILE is "
        f"{open_files}: raise it (ulimit -n, or resource.setrlimit), or take a smaller num_workers",
        errno.EAGAIN: f"the system allows no more processes (RLIMIT_NPROC is {processes}; containers have a limit of "
        "their own): take a smaller num_workers",
        errno.ENOMEM: "there is no memory for more processes: take a smaller num_workers",
    }
    text = limits.get(problem.errno or 0, problem.strerror)
    return OSError(problem.errno, f"worker {number} of {count} cannot be started: {text}")


# ---- new interpreters --------------------------------------------------------------------------------------------


def interpreter(call: str, descriptors: tuple[int, ...]) -> subprocess.Popen:
    """A new interpreter that runs `call`. It has this one's search path, and these descriptors; Ctrl-C is blocked there
    until it has said what it does about it."""
    paths = os.pathsep.join(path for path in sys.path if path)
    environment = {**os.environ, **({"PYTHONPATH": paths} if paths else {})}
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        return subprocess.Popen(
            [sys.executable, "-c", call], pass_fds=descriptors, stdin=subprocess.DEVNULL, env=environment
        )
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)


class Spawned:
    """A worker in a new interpreter. See `Process`."""

    def __init__(self, process: subprocess.Popen):
        self.pid, self._process = process.pid, process

    def alive(self) -> bool:
        return self._process.returncode is None and not self._has_ended(os.WNOHANG)

    def _has_ended(self, options: int) -> bool:
        with contextlib.suppress(ChildProcessError):  # somebody else has asked
            return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT | options) is not None
        return True

    def status(self) -> int | None:
        if self._process.returncode is None and self._has_ended(0):
            end_group(self.pid)
        return self._process.wait()

    def kill(self) -> None:
        if self.alive():
            os.kill(self.pid, signal.SIGKILL)  # Popen's own would first ask how it has ended

    def close(self) -> None:
        self.status()


class Spawner:
    """Each worker is a new interpreter, which imports everything anew."""

    def start(self, number: int, channel: int, memory: int, event: int) -> Process:
        given = (number, channel, memory, event, os.getpid())
        call = f"from batchenv.workers.processes.entry import spawned; spawned{given}"
        return Spawned(interpreter(call, (channel, memory, event)))

    def end(self) -> None:
        """See this module."""


# ---- forks -------------------------------------------------------------------------------------------------------


class Forked:
    """A worker that is known by a pidfd. reap: asks for the status of `os.waitpid` after its end. See `Process`."""

    def __init__(self, pid: int, pidfd: int, reap: Callable[[int], int | None] | None):
        self.pid, self._reap = pid, reap
        self._pidfd = open(pidfd, "rb", buffering=0)  # noqa: SIM115
        HELD.add(self._pidfd)
        self._status: int | None = None
        self._poll = select.poll()
        self._poll.register(pidfd, select.POLLIN)

    def alive(self) -> bool:
        return not self._pidfd.closed and not self._poll.poll(0)

    def status(self) -> int | None:
        if self._reap is not None:
            end_group(self.pid)
            status, self._reap = self._reap(self.pid), None
            self._status = None if status is None else os.waitstatus_to_exitcode(status)
        return self._status

    def kill(self) -> None:
        if not self._pidfd.closed:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._pidfd.fileno(), signal.SIGKILL)

    def close(self) -> None:
        if not self._pidfd.closed:
            self._poll.poll()
            self._pidfd.close()
            self.status()  # else it would stay a zombie


class Forker:
    """Workers are forks of this process, whatever its threads are doing."""

    def start(self, number: int, channel: int, memory: int, event: int) -> Process:
        parent = high(os.pidfd_open(os.getpid()))
        try:
            pid = fork(lambda: self._run(number, channel, memory, event, parent))
            return Forked(pid, high(os.pidfd_open(pid)), reaped)
        finally:
            os.close(parent)

    @staticmethod
    def _run(*arguments: int) -> None:
        for file in list(HELD):
            file.close()
        entry.forked(*arguments)

    def end(self) -> None:
        """See this module."""


def fork(run: Callable[[], Any]) -> int:
    """Forks this process; the child runs `run` and ends. Returns its pid."""
    entry.flush()  # else the child would write the same once more
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # that there are threads
        pid = os.fork()
    if pid:
        return pid
    try:
        signal.set_wakeup_fd(-1)  # which may be the parent's event loop's
        gc.freeze()  # what is the parent's garbage is not the child's to collect
        run()
    except SystemExit:  # a worker that cannot start has told its parent why
        pass
    except BaseException:
        traceback.print_exc()
    finally:
        entry.flush()
        os._exit(1)


def reaped(pid: int) -> int | None:
    """The status of a child that has ended; None if it is nobody's child any more."""
    try:
        return os.waitpid(pid, 0)[1]
    except ChildProcessError:
        return None


class ForkServer:
    """A new interpreter that has imported all that workers need, and forks one whenever it is asked. It has no threads,
    and nothing of the program that asks. If it has been killed, another one is started when one is next needed."""

    def __init__(self) -> None:
        self._tickets = itertools.count()
        self._process: subprocess.Popen | None = None
        self._end: Any = lambda: None

    def start(self, number: int, channel: int, memory: int, event: int) -> Process:
        answer, descriptors = self._ask(("start", number), (channel, memory, event))
        if isinstance(answer, OSError):
            raise answer
        if not descriptors:  # the limit does not let the system give it to us; without us, the worker ends
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        return Forked(answer, descriptors[0], self._reaped)

    def _reaped(self, pid: int) -> int | None:
        if self._process is None or self._process.poll() is not None:
            return None  # the server that has forked it has gone
        return self._ask(("reap", pid), ())[0]

    def end(self) -> None:
        """Ends the server; its workers have to be ended before. May be called again."""
        self._end()

    def _ask(self, question: tuple[str, int], descriptors: tuple[int, ...]) -> tuple[Any, list[int]]:
        for last in (False, True):
            if self._process is None or self._process.poll() is not None:
                self._begin()
            with contextlib.suppress(BrokenPipeError, ConnectionResetError, TimeoutError):
                return self._hear(*question, descriptors)
            self.end()
            if last:
                status = None if self._process is None else self._process.returncode
                raise RuntimeError(
                    f"the process that starts workers has ended twice at once (status {status}): see "
                    "what it has written to stderr, or take start_method='spawn'"
                )
        raise AssertionError

    def _begin(self) -> None:
        self.end()
        ours, theirs = socket_pair(socket.SOCK_SEQPACKET)
        try:
            call = f"from batchenv.workers.processes.fork_server import main; main({theirs.fileno()}, {os.getpid()})"
            self._process = interpreter(call, (theirs.fileno(),))
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        ours.settimeout(_LONG)
        self._control = ours
        HELD.add(ours)
        self._end = weakref.finalize(self, _end_server, self._process, ours, os.getpid())

    def _hear(self, verb: str, number: int, descriptors: tuple[int, ...]) -> tuple[Any, list[int]]:
        ticket = next(self._tickets)
        socket.send_fds(self._control, [pickle.dumps((ticket, verb, number))], descriptors)
        while True:
            message, come = received(self._control, 1)
            if not message:
                raise BrokenPipeError
            its_ticket, answer = pickle.loads(message)
            if its_ticket == ticket:
                return answer, come
            for descriptor in come:  # of a question that Ctrl-C has cut short
                os.close(descriptor)


def _end_server(process: subprocess.Popen, control: socket.socket, owner: int) -> None:
    control.close()
    if os.getpid() != owner:  # a fork
        return
    try:
        process.wait(_PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
