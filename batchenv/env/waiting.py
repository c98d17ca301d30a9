"""Waiting for lanes in an event loop."""

from __future__ import annotations

import contextlib
import functools
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

_LONGEST = 1e-3  # seconds during which results that have come are taken without a turn for other tasks


_Result = TypeVar("_Result")


class Waiter:
    """Keeps track of the only task that may wait for an env's lanes."""

    def __init__(self) -> None:
        self._wake: Callable[[], Any] | None = None
        self._turned = 0.0  # when other tasks could run last

    def check_free(self) -> None:
        """Raises RuntimeError if another task is waiting."""
        if self._wake is not None:
            raise RuntimeError("another task is waiting for this env: let one task receive, and share what it gets")

    async def wait(self, descriptor: int, recv: Callable[[float], _Result]) -> _Result:
        """Waits until `recv(0)` raises no TimeoutError, and returns its result. `descriptor` is readable when that may
        be so. Other tasks get a turn every millisecond at least, also where results are always there at once."""
        import asyncio  # only here: it takes a tenth of the time of `import batchenv`, and most programs never wait so

        loop = asyncio.get_running_loop()
        ready = asyncio.Event()
        if time.monotonic() - self._turned > _LONGEST:
            await self._suspended(loop, ready, asyncio.sleep(0))  # not with results, which a cancellation would lose
        while True:
            try:
                return recv(0)
            except TimeoutError:
                ready.clear()
            loop.add_reader(descriptor, ready.set)
            try:
                await self._suspended(loop, ready, ready.wait())
            finally:
                loop.remove_reader(descriptor)

    async def _suspended(self, loop: Any, ready: Any, pause: Awaitable[Any]) -> None:
        """Lets other tasks run until `pause` ends. None of them may wait for the same env."""
        self._wake = functools.partial(loop.call_soon_threadsafe, ready.set)
        try:
            await pause
        finally:
            self._wake = None
            self._turned = time.monotonic()

    def wake(self) -> None:
        """Lets the task look again, because the env was closed."""
        if self._wake is not None:
            with contextlib.suppress(RuntimeError):  # its event loop is closed, too
                self._wake()
