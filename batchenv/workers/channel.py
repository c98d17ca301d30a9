"""Messages over a socket to a process that may hang, or die, at any moment."""

from __future__ import annotations

import select
import socket
import struct
import weakref
from collections.abc import Callable
from typing import Any

_PIECE = 1 << 18
_LOOK = 50  # milliseconds between looks whether it is worth while to wait on
_SHORT, _LONG = struct.Struct("!i"), struct.Struct("!iQ")  # as multiprocessing.connection.Connection has them
_LONGEST = 0x7FFFFFFF

HELD: weakref.WeakSet[Any] = weakref.WeakSet()  # open files of this process that no fork of it may hold


class Channel:
    """This process's end of a socket; a `multiprocessing.connection.Connection` is at the other end.

    Whoever waits to send takes what comes meanwhile. So two processes that both have much to say do not wait for each
    other for ever.
    """

    def __init__(self, end: socket.socket):
        end.setblocking(False)
        self._socket = end
        HELD.add(end)
        self._come = bytearray()  # and not yet returned by `recv`
        self._poll = select.poll()
        self._poll.register(end)

    def close(self) -> None:
        """May be called again."""
        self._socket.close()

    def send(self, message: bytes, look: Callable[[], None]) -> None:
        """Sends a message. `look` is called every now and then, and may raise to end it: then nothing else can be
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
                    self._wait(select.POLLIN | select.POLLOUT, look)

    def recv(self, look: Callable[[], None]) -> bytes:
        """The next message. `look`: as in `send`.

        Raises:
            EOFError, OSError: the other end is closed.
        """
        (count,) = _SHORT.unpack(self._take(_SHORT.size, look))
        if count < 0:
            (count,) = struct.unpack("!Q", self._take(8, look))
        return self._take(count, look)

    def _take(self, count: int, look: Callable[[], None]) -> bytes:
        while len(self._come) < count:
            if not self._read():
                self._wait(select.POLLIN, look)
        taken = bytes(memoryview(self._come)[:count])
        del self._come[:count]
        return taken

    def _read(self) -> bool:
        """Takes what has come; False if nothing has."""
        try:
            piece = self._socket.recv(_PIECE)
        except BlockingIOError:
            return False
        if not piece:
            raise EOFError
        self._come += piece
        return True

    def _wait(self, events: int, look: Callable[[], None]) -> None:
        self._poll.modify(self._socket, events)
        if not self._poll.poll(_LOOK):
            look()
        elif events & select.POLLOUT:
            self._read()
