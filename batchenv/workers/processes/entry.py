"""How the process of a worker begins and ends."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from batchenv import _core
from batchenv.workers.processes.worker import Worker


def keep_stdio_open() -> None:
    """Opens what is closed of stdin, stdout and stderr, so that no other descriptor gets their numbers."""
    descriptor = os.open(os.devnull, os.O_RDWR)
    while descriptor <= 2:
        descriptor = os.open(os.devnull, os.O_RDWR)
    os.close(descriptor)


def ignore_ctrl_c() -> None:
    """Ctrl-C goes to all processes of a terminal, and is the parent's."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


def watched(parent: int) -> int:
    """A pidfd of the parent of this process, by which its end can be noticed; -1 where the system has none."""
    try:
        pidfd = os.pidfd_open(parent)
    except ProcessLookupError:
        os._exit(1)
    except (AttributeError, OSError):
        return -1
    if os.getppid() != parent:  # it has ended, and its number may be somebody else's
        os._exit(1)
    return pidfd


def spawned(number: int, channel: int, memory: int, event: int, parent: int) -> None:
    """Runs in a new interpreter; descriptors are inherited. parent: its pid."""
    keep_stdio_open()
    for descriptor in (channel, memory, event):
        os.set_inheritable(descriptor, False)
    main(number, channel, memory, event, watched(parent))


def forked(number: int, channel: int, memory: int, event: int, parent: int) -> None:
    """Runs in a fork. parent: a pidfd."""
    keep_stdio_open()
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    sys.stdin = open(0)  # noqa: SIM115
    np.random.seed()  # else all workers would draw the same numbers
    main(number, channel, memory, event, parent)


def flush() -> None:
    """Writes what has been printed."""
    streams: set[Any] = {sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__}  # an env may have put in others
    for stream in streams:
        with contextlib.suppress(Exception):  # None, or closed
            stream.flush()


def main(number: int, channel: int, memory: int, event: int, parent: int) -> None:
    """Runs a worker, and ends its process. It leads a group, so that what envs start can be ended together with it."""
    with contextlib.suppress(PermissionError):  # it leads a session
        os.setpgid(0, 0)
    _core.end_with(channel, parent)
    ignore_ctrl_c()
    with contextlib.suppress(EOFError, BrokenPipeError, ConnectionResetError):  # the parent has ended
        Worker(number, Connection(channel), memory, event).run()
    flush()
    os._exit(0)  # what is left of the envs must not keep this process
