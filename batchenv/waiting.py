"""Waiting for lanes in an event loop."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from typing import Any


class Waiter:
    """Keeps track of the only task that may wait for an env's lanes."""

    def __init__(self) -> None:
        self._wake: Callable[[], Any] | None = None

    def check_free(self) -> None:
        """Raises RuntimeError if another task is waiting."""
        if self._wake is not None:
            raise RuntimeError("another task is waiting for this env: let one task receive, and share what it gets")

    async def wait(self, descriptor: int, recv: Callable[[float], Any]) -> Any:
        """Waits until `recv(0)` raises no TimeoutError, and returns its result. `descriptor` is readable when that may
        be so."""
        import asyncio  # only here: it takes a tenth of the time of `import batchenv`, and most programs never wait so

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
        """Lets the task look again, because the env was closed."""
        if self._wake is not None:
            with contextlib.suppress(RuntimeError):  # its event loop is closed, too
                self._wake()
