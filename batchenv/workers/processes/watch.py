"""A descriptor for event loops that wait for workers."""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import time
import weakref
from typing import Any

_libc = ctypes.CDLL(None, use_errno=True)
_SOONEST, _LATEST = 1e-6, 1e9  # seconds: a clock that is set to 0 never rings


class Watch:
    """Is readable when a worker has done what is waited for, has died, or is late, while `open`. An eventfd says the
    first, to which workers write; the end of a worker closes the other end of its channel; a clock says the last.

    Args:
        event: the eventfd.
    """

    def __init__(self, event: int):
        self._event, self._open = event, False
        self._shown, self._all = select.epoll(), select.epoll()
        self._clock = _clock()
        weakref.finalize(self, os.close, self._clock)
        self._all.register(event, select.EPOLLIN)
        self._all.register(self._clock, select.EPOLLIN)
        self._shown.register(self._all, 0)

    def fileno(self) -> int:
        """The descriptor."""
        return self._shown.fileno()

    def add(self, end: Any) -> None:
        """Looks at the end of a worker's channel from now on."""
        self._all.register(end, 0)  # this says when the other end is closed, and not when there is something to read

    def remove(self, end: Any) -> None:
        """Does so no more; to be called before the end is closed, since a fork may keep it open."""
        with contextlib.suppress(OSError, ValueError):  # this is closed
            self._all.unregister(end)

    def empty(self) -> None:
        """Forgets what workers have written."""
        with contextlib.suppress(BlockingIOError):
            os.read(self._event, 8)

    def show(self) -> None:
        """Makes the descriptor readable."""
        os.write(self._event, (1).to_bytes(8, "little"))

    def open(self, waits: bool, seconds: float | None) -> None:
        """Sets whether somebody waits, and in how many seconds a worker is late (None: never)."""
        if waits is not self._open:
            self._shown.modify(self._all, select.EPOLLIN if waits else 0)
            self._open = waits
        whole, part = divmod(0.0 if seconds is None else min(max(seconds, _SOONEST), _LATEST), 1.0)
        times = (ctypes.c_long * 4)(0, 0, int(whole), int(part * 1e9))
        if _libc.timerfd_settime(self._clock, 0, times, None):
            raise OSError(ctypes.get_errno(), "the clock of a BatchEnv cannot be set")

    def close(self) -> None:
        """May be called again."""
        self._shown.close()
        self._all.close()


def _clock() -> int:
    descriptor = _libc.timerfd_create(time.CLOCK_MONOTONIC, os.O_NONBLOCK | os.O_CLOEXEC)
    if descriptor < 0:
        problem = ctypes.get_errno()
        raise OSError(problem, os.strerror(problem))
    return descriptor
