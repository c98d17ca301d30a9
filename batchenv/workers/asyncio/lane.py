"""Envs that wait, and what they are asked for: orders, which are done one after the other."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import queue
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, Protocol

from batchenv import _core
from batchenv.backend.arrivals import Arrivals

Script = Iterable[tuple[Any, tuple[Any, ...], dict[str, Any]]]


class Order:
    """What a lane is asked for.

    Attributes:
        answers: what its env has answered: (name of the method, exception or None, result) for each call.

    Args:
        lane: whose env is called.
        script: yields calls (a method's name or a function, arguments, keywords), and looks at `answers` in between.
        arrivals: where the lane is added when it is done.
    """

    __slots__ = ("__weakref__", "answers", "arrivals", "done", "lane", "overdue", "script")

    def __init__(self, lane: Lane, arrivals: Arrivals, script: Callable[[Order], Script]):
        self.lane, self.arrivals = lane, arrivals
        self.answers: list[tuple[str, BaseException | None, Any]] = []
        self.done = False
        self.overdue: BaseException | None = None  # why the call that runs has been cancelled
        self.script = script(self)

    def answer(self) -> Any:
        """The result of the only call, or its exception."""
        _, problem, result = self.answers[0]
        if problem is not None:
            raise problem
        return result


class Loop(Protocol):
    """What a lane needs of an `EventLoop`."""

    loop: asyncio.AbstractEventLoop
    ended: bool


class Lane:
    """An env and its orders, which are done one after the other."""

    env: Any = None

    def __init__(self, number: int, make: Callable[[], Any], loop: Loop):
        self.number, self.make, self._loop = number, make, loop
        self.orders: deque[Order] = deque()
        self._doing: Order | None = None
        self._wake: asyncio.Future[None] | None = None
        self._task: asyncio.Task[None] | None = None
        self.thread: queue.SimpleQueue[Order | None] | None = None  # of a plain env: what its thread is to do

    @property
    def busy(self) -> bool:
        """Whether a call has not come back."""
        return self._doing is not None

    def give(self, order: Order) -> None:
        """Takes an order; in the loop's thread, unless the env is plain."""
        if self.thread is not None:
            self.thread.put(order)
            return
        self.orders.append(order)
        if self._task is None:
            self._begin()
        elif self._wake is not None and not self._wake.done():
            self._wake.set_result(None)

    def cancel(self, order: Order, why: BaseException) -> bool:
        """Cancels the call that is running for an order, which goes on with `why` as its exception; False if this is
        not possible."""
        if self._doing is not order or self._task is None or self.thread is not None or order.overdue is not None:
            return False
        order.overdue = why
        self._task.cancel()
        return True

    def forget(self, order: Order, why: BaseException) -> None:
        """Cancels an order that nobody waits for any more."""
        if not self.cancel(order, why) and order in self.orders:
            self.orders.remove(order)

    def _begin(self) -> None:
        self._task = self._loop.loop.create_task(self._live(), name=f"batchenv lane {self.number}")
        self._task.add_done_callback(self._left)

    def _left(self, task: asyncio.Task[None]) -> None:
        """Begins again if an env has cancelled the task before it has run at all."""
        if task.cancelled() and not self._loop.ended:
            self._begin()

    async def _live(self) -> None:
        """Does all orders in one task, since much of asyncio has to be left in the task in which it was entered. An env
        may cancel all tasks that it finds, this one too, which then goes on."""
        while not self._loop.ended:
            if not self.orders:
                self._wake = self._loop.loop.create_future()
                with contextlib.suppress(asyncio.CancelledError):
                    await self._wake
                self._uncancel()
                continue
            order = self._doing = self.orders.popleft()
            await self._perform(order)
            await self._end_cancelling()
            self._doing = None
            order.arrivals.add(order, order.answers)
            if self.thread is not None:  # the env has been made, and is a plain one
                return

    async def _end_cancelling(self) -> None:
        """Lets a cancellation that has been asked for come now, and not in the next order."""
        if self._task is not None and self._task.cancelling():
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(0)
            self._uncancel()

    def _uncancel(self) -> None:
        while self._task is not None and self._task.cancelling():
            self._task.uncancel()

    async def _perform(self, order: Order) -> None:
        for name, arguments, keywords in order.script:
            if order.done:  # it was given up
                return
            try:
                result = self._function(name)(*arguments, **keywords)
                if inspect.isawaitable(result):
                    result = await result
                order.answers.append((name, None, _kept(name, result)))
            except asyncio.CancelledError as problem:
                order.answers.append((name, self._why(order, problem), None))
            except BaseException as problem:  # of any kind: it is for the thread that asks
                order.answers.append((name, problem, None))

    def _why(self, order: Order, problem: BaseException) -> BaseException:
        if self._task is not None:
            self._task.uncancel()
        if order.overdue is None:
            order.overdue = RuntimeError("the env's coroutine was cancelled, but not by batchenv")
            order.overdue.__cause__ = problem
        why, order.overdue = order.overdue, None
        return why

    def perform_here(self, order: Order) -> None:
        """Does an order in the thread of a plain env."""
        self._doing = order
        for name, arguments, keywords in order.script:
            if order.done:  # it was given up
                break
            try:
                result = self._function(name)(*arguments, **keywords)
                if inspect.isawaitable(result):  # a wrapper has hidden that it is a coroutine
                    result = asyncio.run_coroutine_threadsafe(_awaited(result), self._loop.loop).result()
                order.answers.append((name, None, _kept(name, result)))
            except BaseException as problem:
                order.answers.append((name, problem, None))
        self._doing = None
        order.arrivals.add(order, order.answers)

    def _function(self, name: Any) -> Callable[..., Any]:
        return getattr(self.env, name) if isinstance(name, str) else name


def _kept(name: Any, result: Any) -> Any:
    """What a call of an env has returned, with an info that later calls do not change."""
    if name in ("step", "reset") and isinstance(result, tuple) and result and isinstance(result[-1], dict):
        return (*result[:-1], _core.own_info(result[-1]))
    return result


async def _awaited(result: Any) -> Any:
    return await result


def has_coroutines(env: Any) -> bool:
    """Whether an env lives in the event loop; a plain one has a thread."""
    functions = [
        getattr(one, name, None) for one in (env, getattr(env, "unwrapped", env)) for name in ("reset", "step")
    ]
    return any(inspect.iscoroutinefunction(function) for function in functions)
