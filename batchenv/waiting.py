"""Waiting for lanes in an event loop."""

from __future__ import annotations

import asyncio
import contextlib
import functools
from collections.abc import Callable
from typing import Any


class Waiter:
    """The one task that may wait for an env's lanes."""

    def __init__(self) -> None:
        self._wake: Callable[[], Any] | None = None

    def check_free(self) -> None:
        """RuntimeError where another task is waiting."""
        if self._wake is not None:
            raise RuntimeError("another task is waiting for this env: let one task receive, and share what it gets")

    async def wait(self, descriptor: int, recv: Callable[[float], Any]) -> Any:
        """What `recv(0)` gives as soon as it raises no TimeoutError; `descriptor` is readable when it may not."""
        loop = asyncio.get_running_loop()
        ready = asyncio.Event()
        while True:
            try:
                return recv(0)
            except TimeoutError:
                ready.clear()
            loop.add_reader(descriptor, ready.set)
            self._wake = functools.partial(loop.call_soon_threadsafe, ready.set)
            try:
                await ready.wait()
            finally:
                self._wake = None
                loop.remove_reader(descriptor)

    def wake(self) -> None:
        """Lets the task look again: the env is closed."""
        if self._wake is not None:
            with contextlib.suppress(RuntimeError):  # its loop is closed, too
                self._wake()
