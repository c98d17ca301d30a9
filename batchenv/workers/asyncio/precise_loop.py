"""An event loop whose timers are not rounded up to whole milliseconds."""

from __future__ import annotations

import asyncio
import select
import selectors
from typing import Any

_MOST_FILES = 1024  # descriptors that `select` can wait for are below this number


def new_event_loop() -> asyncio.AbstractEventLoop:
    """An event loop of the program's own kind. If this is asyncio's plain one over epoll, sleeps in it end at most some
    50 us late; by itself it rounds them up to whole milliseconds."""
    loop = asyncio.new_event_loop()
    epoll = getattr(selectors, "EpollSelector", None)
    if type(loop) is asyncio.SelectorEventLoop and epoll is selectors.DefaultSelector:
        loop.close()
        loop = asyncio.SelectorEventLoop(_PreciseSelector())
    return loop


class _PreciseSelector(selectors.DefaultSelector):
    """epoll takes its timeout in milliseconds. So `select`, which takes it in microseconds, waits until the descriptor
    of epoll itself shows that something has come."""

    def select(self, timeout: float | None = None) -> list[Any]:
        if timeout is not None and timeout > 0 and self.fileno() < _MOST_FILES:
            select.select((self.fileno(),), (), (), timeout)
            timeout = 0
        return super().select(timeout)
