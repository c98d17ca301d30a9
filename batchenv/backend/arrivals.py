"""Lanes that have done what they were asked for, until somebody takes them."""

from __future__ import annotations

import contextlib
import math
import os
import threading
import time
from collections.abc import Iterable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from batchenv import _core

_SLICE = 0.05  # seconds between checks for signals, which may have come to another thread


class Order(Protocol):
    """What a lane was asked for: see `asyncio.lane.Order`."""

    done: bool
    answers: list[Any]
    lane: Any


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
        self._pipes: list[tuple[int, int]] = []  # one, or none
        self._readable = False

    def add(self, order: Order, answers: list[Any]) -> None:
        """Adds the lane of an order that has been done, or given up. Only the first report counts."""
        with self._lock:
            if order.done:
                return
            order.done, order.answers = True, answers
            self._extend([order.lane.number])

    def extend(self, lanes: Iterable[int]) -> None:
        """Adds lanes for which there are no orders."""
        with self._lock:
            self._extend(lanes)

    def _extend(self, lanes: Iterable[int]) -> None:
        self.lanes.extend(lanes)
        if len(self.lanes) >= self._wanted:
            self._enough.set()
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
        while not self._enough.wait(min(_SLICE, max(0.0, end - time.monotonic()))):
            if time.monotonic() >= end:
                return False
        return True

    def take(self, count: int) -> None:
        """Removes the first lanes."""
        with self._lock:
            del self.lanes[:count]
            self._show()

    def receive(self, flight: _core.Flight) -> NDArray[np.int64]:
        """Takes the lanes of a batch, for which `wait` has waited, and notes in `flight` that they are received."""
        for lane in self.lanes[: flight.rows]:
            flight.land(lane)
        lanes = flight.upcoming()
        self.take(flight.rows)
        flight.receive(lanes)
        return lanes

    def replaced(self) -> Arrivals:
        """New arrivals with the descriptor of these. What is added here from now on is not seen there."""
        others = Arrivals(self._batch)
        with self._lock:
            others._pipes, self._pipes = self._pipes, []
            others._readable = self._readable
        with others._lock:
            others._show()
        return others

    def fileno(self) -> int:
        """A descriptor that is readable as long as there are at least `batch` lanes."""
        with self._lock:
            if not self._pipes:
                self._pipes.append(os.pipe())
                self._show()
            return self._pipes[0][0]

    def _show(self) -> None:
        """Makes the descriptor readable, or not."""
        if not self._pipes:
            return
        reader, writer = self._pipes[0]
        ready = len(self.lanes) >= self._batch
        if ready and not self._readable:
            os.write(writer, b"1")
        elif self._readable and not ready:
            os.read(reader, 1)
        self._readable = ready

    def close(self) -> None:
        """Closes the descriptor. Takes no lock: a signal handler may close while this thread has it."""
        with contextlib.suppress(IndexError):
            for descriptor in self._pipes.pop():
                os.close(descriptor)
