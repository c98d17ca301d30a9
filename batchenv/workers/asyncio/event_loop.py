"""Envs that wait: an event loop in a thread of its own, where each env with coroutines has a task. Plain envs have a
thread each."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import itertools
import math
import os
import queue
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from batchenv import _core
from batchenv.workers.asyncio.precise_loop import new_event_loop

MAX_THREADS = 1024  # for plain envs; if there are more of these, envs share threads
_CLOSING = 5.0  # seconds without any env having closed, after which the others are given up
_LOOK = 0.05  # seconds between looks at signals, which may have come to another thread

Script = Iterable[tuple[Any, tuple[Any, ...], dict[str, Any]]]


class Arrivals:
    """Lanes that have done what they were asked for, in the order in which they have. Others add; one thread waits and
    takes.

    Args:
        batch: with this many lanes or more, `fileno` is readable.
    """

    def __init__(self, batch: int = 1):
        self.lanes: list[int] = []
        self._batch, self._wanted = batch, 0
        self._enough, self._lock = threading.Event(), threading.Lock()
        self._pipe: tuple[int, int] | None = None
        self._readable = False

    def add(self, order: Order, answers: list[Any]) -> None:
        """Adds the lane of an order that has been done, or given up. Only the first report counts."""
        with self._lock:
            if order.done:
                return
            order.done, order.answers = True, answers
            self.lanes.append(order.lane.number)
            if len(self.lanes) >= self._wanted:
                self._enough.set()
            if self._pipe is not None:
                self._show()

    def wait(self, count: int, timeout: float | None = None) -> bool:
        """Waits until there are so many lanes, or for so many seconds; returns whether there are. Ctrl-C is answered
        at once."""
        with self._lock:
            if len(self.lanes) >= count:
                return True
            self._wanted = count
            self._enough.clear()
        end = math.inf if timeout is None else time.monotonic() + timeout
        while not self._enough.wait(min(_LOOK, max(0.0, end - time.monotonic()))):
            if time.monotonic() >= end:
                return False
        return True

    def take(self, count: int) -> None:
        """Removes the first lanes."""
        with self._lock:
            del self.lanes[:count]
            if self._pipe is not None:
                self._show()

    def replaced(self) -> Arrivals:
        """New arrivals with the descriptor of these. What is added here from now on is not seen there."""
        others = Arrivals(self._batch)
        with self._lock:
            others._pipe, self._pipe = self._pipe, None
            others._readable = self._readable
        if others._pipe is not None:
            with others._lock:
                others._show()
        return others

    def fileno(self) -> int:
        """A descriptor that is readable as long as there are at least `batch` lanes."""
        with self._lock:
            if self._pipe is None:
                self._pipe = os.pipe()
                self._show()
            return self._pipe[0]

    def _show(self) -> None:
        """Makes the descriptor readable, or not."""
        ready = len(self.lanes) >= self._batch
        if ready and not self._readable:
            os.write(self._pipe[1], b"1")
        elif self._readable and not ready:
            os.read(self._pipe[0], 1)
        self._readable = ready

    def close(self) -> None:
        """Closes the descriptor."""
        with self._lock:
            pipe, self._pipe = self._pipe, None
        for descriptor in pipe or ():
            os.close(descriptor)


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


class Lane:
    """An env and its orders, which are done one after the other."""

    env: Any = None

    def __init__(self, number: int, make: Callable[[], Any], loop: EventLoop):
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


class EventLoop:
    """Lanes and the threads in which they live. It ends with `end`, or when Python does.

    Args:
        makers: a function per lane that makes its env; it may be a coroutine. Envs are made in the loop's thread.
        timeout: seconds that a call may take; None: as long as it takes.

    Attributes:
        loop: asyncio's.
        lanes: per env.
        ended: whether `end` has been called.
    """

    def __init__(self, makers: Sequence[Callable[[], Any]], timeout: float | None):
        self.loop, self.ended = new_event_loop(), False
        self.lanes = [Lane(number, make, self) for number, make in enumerate(makers)]
        self._process, self._timeout = os.getpid(), timeout
        self._deadlines: deque[tuple[float, weakref.ref[Order]]] = deque()  # of what is done, nothing is kept
        self._threads: list[queue.SimpleQueue[Order | None]] = []
        self._next = itertools.count()
        self._thread = threading.Thread(target=self._run, name="batchenv asyncio", daemon=True)
        self._thread.start()
        self._made = Arrivals()
        self._making: list[Any] = [Order(lane, self._made, self._make) for lane in self.lanes]
        self.loop.call_soon_threadsafe(self._give, list(self._making), None)

    @property
    def foreign(self) -> bool:
        """Whether this process is a fork of the one that the threads are in."""
        return os.getpid() != self._process

    def env(self, lane: int) -> Any:
        """The env of a lane, as soon as all have been made. To be called once.

        Raises:
            Exception: what has come in its making.
        """
        self._made.wait(len(self.lanes))
        order, self._making[lane] = self._making[lane], None
        return order.answer()

    def _make(self, order: Order) -> Script:
        yield order.lane.make, (), {}
        _, problem, env = order.answers[0]
        if problem is None:
            order.lane.env = env
            if not has_coroutines(env):
                order.lane.thread = self._thread_for_one()

    # ---- orders --------------------------------------------------------------------------------------------------

    def start(self, orders: Iterable[Order]) -> None:
        """Gives orders to their lanes. May be called in any thread."""
        waiting = []
        for order in orders:
            if order.lane.thread is not None:
                order.lane.thread.put(order)
                if self._timeout is None:
                    continue
            waiting.append(order)
        if waiting:
            self.loop.call_soon_threadsafe(self._give, waiting, self._timeout)

    def _give(self, orders: list[Order], timeout: float | None) -> None:
        for order in orders:
            if order.lane.thread is None:
                order.lane.give(order)
        if timeout is not None:
            self._watch(orders)

    def drop(self, orders: Sequence[Order]) -> None:
        """Cancels orders that nobody waits for any more."""

        def cancel() -> None:
            for order in orders:
                order.lane.forget(order, RuntimeError("the call was interrupted"))

        self.loop.call_soon_threadsafe(cancel)

    # ---- timeouts ------------------------------------------------------------------------------------------------

    def _watch(self, orders: list[Order]) -> None:
        first = not self._deadlines
        end = self.loop.time() + self._timeout
        self._deadlines.extend((end, weakref.ref(order)) for order in orders)
        if first:
            self.loop.call_at(end, self._look)

    def _look(self) -> None:
        """Ends what takes too long."""
        late = []
        while self._deadlines and self._deadlines[0][0] <= self.loop.time():
            order = self._deadlines.popleft()[1]()
            if order is None or order.done:
                continue
            why = TimeoutError(f"it took longer than step_timeout={self._timeout!r} s")
            if order.lane.cancel(order, why):
                late.append(order)  # until it has ended, and for the reset that may follow
            else:
                order.arrivals.add(order, [("", why, None)])
        if self._deadlines:
            self.loop.call_at(self._deadlines[0][0], self._look)
        if late:
            self._watch(late)

    # ---- threads -------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        try:
            while not self.ended:  # an env may stop the loop, or leave it by sys.exit() in a task of its own
                try:
                    self.loop.run_forever()
                except BaseException as problem:
                    told = {"message": "an env has left the event loop", "exception": problem}
                    self.loop.call_exception_handler(told)
        finally:
            left = asyncio.all_tasks(self.loop)
            for task in left:
                task.cancel()
            with contextlib.suppress(Exception):
                if left:
                    self.loop.run_until_complete(asyncio.wait(left, timeout=1.0))
                self.loop.run_until_complete(self.loop.shutdown_asyncgens())
            self.loop.close()

    def _thread_for_one(self) -> queue.SimpleQueue[Order | None]:
        """The queue of a thread for a plain env: a new one, or one that others have, too."""
        if len(self._threads) < MAX_THREADS:
            orders: queue.SimpleQueue[Order | None] = queue.SimpleQueue()
            name = f"batchenv lane thread {len(self._threads)}"
            thread = threading.Thread(target=_serve, args=(orders,), name=name, daemon=True)
            try:
                thread.start()
            except RuntimeError:  # the system allows no more of them
                if not self._threads:
                    raise
            else:
                self._threads.append(orders)
                return orders
        return self._threads[next(self._next) % len(self._threads)]

    # ---- the end -------------------------------------------------------------------------------------------------

    def end(self) -> None:
        """Cancels what runs, closes the envs and ends the threads. May be called again, also after an interruption.

        Raises:
            Exception: that of the first env whose close() has failed; the others are closed nevertheless.
        """
        if self.ended or self.foreign:
            return
        if self.loop.is_running() and threading.current_thread() is not self._thread:
            arrivals = Arrivals()
            orders = [Order(lane, arrivals, _closing) for lane in self.lanes if lane.env is not None]
            self.loop.call_soon_threadsafe(self._close, orders)
            seen = -1
            while len(arrivals.lanes) > seen and len(arrivals.lanes) < len(orders):
                seen = len(arrivals.lanes)
                arrivals.wait(len(orders), _CLOSING)
            problems = [order.answers[0][1] for order in orders if order.done and order.answers[0][1] is not None]
        else:
            problems = []
        self.ended = True
        for thread in self._threads:
            thread.put(None)
        with contextlib.suppress(RuntimeError):  # it is closed
            self.loop.call_soon_threadsafe(self.loop.stop)
        if threading.current_thread() is not self._thread:
            self._thread.join(2.0)
        if problems:
            raise problems[0]

    def _close(self, orders: list[Order]) -> None:
        for order in orders:
            lane = order.lane
            lane.orders.clear()
            if lane.busy and lane._doing is not None:
                lane.cancel(lane._doing, RuntimeError("the env was closed"))
            lane.give(order)


def renewing(order: Order) -> Script:
    """Closes an env that has failed, and makes a new one. The answer is called "renew"."""
    yield "close", (), {}
    order.answers.pop()  # the env has failed already, and that is reported
    yield order.lane.make, (), {}
    _, problem, env = order.answers.pop()
    if problem is None:
        order.lane.env = env
    order.answers.append(("renew", problem, env))


def _closing(order: Order) -> Script:
    yield "close", (), {}


def _serve(orders: queue.SimpleQueue[Order | None]) -> None:
    """The thread of plain envs."""
    while True:
        order = orders.get()
        if order is None:
            return
        order.lane.perform_here(order)
        del order
