"""Envs that wait: an event loop in a thread of its own, where each env with coroutines has a task. Plain envs have a
thread each."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import queue
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from batchenv.backend.arrivals import Arrivals
from batchenv.workers.asyncio.lane import Lane, Order, Script, has_coroutines
from batchenv.workers.asyncio.precise_loop import new_event_loop

MAX_THREADS = 1024  # for plain envs; if there are more of these, envs share threads
_CLOSING = 5.0  # seconds without any env having closed, after which the others are given up


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
        self.loop.call_soon_threadsafe(self._give, list(self._making), False)

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
            self.loop.call_soon_threadsafe(self._give, waiting, True)

    def _give(self, orders: list[Order], limited: bool) -> None:
        for order in orders:
            if order.lane.thread is None:
                order.lane.give(order)
        if limited and self._timeout is not None:
            self._watch(orders, self._timeout)

    def drop(self, orders: Sequence[Order]) -> None:
        """Cancels orders that nobody waits for any more."""

        def cancel() -> None:
            for order in orders:
                order.lane.forget(order, RuntimeError("the call was interrupted"))

        self.loop.call_soon_threadsafe(cancel)

    # ---- timeouts ------------------------------------------------------------------------------------------------

    def _watch(self, orders: list[Order], timeout: float) -> None:
        first = not self._deadlines
        end = self.loop.time() + timeout
        self._deadlines.extend((end, weakref.ref(order)) for order in orders)
        if first:
            self.loop.call_at(end, self._end_late, timeout)

    def _end_late(self, timeout: float) -> None:
        """Ends what takes too long."""
        late = []
        while self._deadlines and self._deadlines[0][0] <= self.loop.time():
            order = self._deadlines.popleft()[1]()
            if order is None or order.done:
                continue
            why = TimeoutError(f"it took longer than step_timeout={timeout!r} s")
            if order.lane.cancel(order, why):
                late.append(order)  # until it has ended, and for the reset that may follow
            else:
                order.arrivals.add(order, [("", why, None)])
        if self._deadlines:
            self.loop.call_at(self._deadlines[0][0], self._end_late, timeout)
        if late:
            self._watch(late, timeout)

    # ---- threads -------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        try:
            while not self.ended:  # an env may stop the loop, or leave it by sys.exit() in a task of its own
                try:
                    self.loop.run_forever()
                except BaseException as problem:
                    context = {"message": "an env has left the event loop", "exception": problem}
                    self.loop.call_exception_handler(context)
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
