"""Messages over a socket to a process that may hang, or die, at any moment."""

from __future__ import annotations

import select
import socket
import struct
import weakref
from collections.abc import Callable
from typing import Any

from batchenv import _core
from batchenv.workers.processes.watch import Watch

_PIECE = 1 << 18
_SLICE = 50  # milliseconds between checks whether it is worth while to wait on
_SHORT, _LONG = struct.Struct("!i"), struct.Struct("!iQ")  # as multiprocessing.connection.Connection has them
_LONGEST = 0x7FFFFFFF
_MUCH = 1 << 20  # bytes that have been returned, after which they are let go

HELD: weakref.WeakSet[Any] = weakref.WeakSet()  # open files of this process that no fork of it may hold


class Channel:
    """This process's end of a socket; a `multiprocessing.connection.Connection` is at the other end. Messages that come
    are numbered from 1 on.

    Whoever waits to send takes what comes meanwhile. So two processes that both have much to say do not wait for each
    other for ever. A signal handler may raise at any moment of `recv`, and nothing is lost: call it again.
    """

    def __init__(self, end: socket.socket):
        end.setblocking(False)
        self._socket = end
        HELD.add(end)
        # Set only as a whole: what has come, where in it the next message begins, and that message's number.
        self._come: tuple[bytearray, int, int] = (bytearray(), 0, 1)
        self._poll = select.poll()
        self._poll.register(end)
        self._watch: Watch | None = None

    def close(self) -> None:
        """May be called again."""
        if self._watch is not None:
            self._watch.remove(self._socket)
            self._watch = None
        self._socket.close()

    def show(self, watch: Watch) -> None:
        """Lets a watch see when the other end is closed."""
        watch.add(self._socket)
        self._watch = watch

    def send(self, message: bytes, check: Callable[[], None]) -> None:
        """Sends a message. `check` is called every now and then, and may raise to end it: then nothing else can be
        sent.

        Raises:
            OSError: the other end is closed.
        """
        count = len(message)
        header = _SHORT.pack(count) if count <= _LONGEST else _LONG.pack(-1, count)
        for part in (header, message) if count > _PIECE else (header + message,):
            rest = memoryview(part)
            while rest:
                try:
                    rest = rest[self._socket.send(rest) :]
                except BlockingIOError:
                    self._wait(select.POLLIN | select.POLLOUT, check)

    def recv(self, number: int, check: Callable[[], None]) -> bytes:
        """The message with this number. It stays here until one with a higher number is asked for, and those with lower
        numbers are dropped. `check`: as in `send`.

        Raises:
            EOFError, OSError: the other end is closed.
        """
        while True:
            begin, end = self._next(check)
            come, _, count = self._come
            if count >= number:
                return bytes(memoryview(come)[begin:end])
            if end == len(come) or end > _MUCH:
                self._come = come[end:], 0, count + 1
            else:
                self._come = come, end, count + 1

    def _next(self, check: Callable[[], None]) -> tuple[int, int]:
        """Where the next message is, as soon as it has come."""
        come, begin, _ = self._come
        self._await(begin + _SHORT.size, check)
        (count,) = _SHORT.unpack_from(come, begin)
        header = _SHORT.size
        if count < 0:
            header = _LONG.size
            self._await(begin + header, check)
            _, count = _LONG.unpack_from(come, begin)
        self._await(begin + header + count, check)
        return begin + header, begin + header + count

    def _await(self, count: int, check: Callable[[], None]) -> None:
        while len(self._come[0]) < count:
            if not self._read():
                self._wait(select.POLLIN, check)

    def _read(self) -> bool:
        """Takes what has come; False if nothing has."""
        try:
            count = _core.append(self._come[0], self._socket.recv, _PIECE)
        except BlockingIOError:
            return False
        if not count:
            raise EOFError
        return True

    def _wait(self, events: int, check: Callable[[], None]) -> None:
        self._poll.modify(self._socket, events)
        if not self._poll.poll(_SLICE):
            check()
        elif events & select.POLLOUT:
            self._read()
