"""Turns what the parsing of nonsense raises into errors that say so: a file may have right checksums and be made up."""

from __future__ import annotations

import contextlib
import struct
import zlib
from collections.abc import Iterator
from typing import Any

from batchenv.recordings.errors import RecordingError

PROBLEMS = (
    ArithmeticError, AssertionError, AttributeError, LookupError, MemoryError, NotImplementedError, RecursionError,
    StopIteration, TypeError, ValueError, struct.error, zlib.error,
)  # fmt: skip


_END, _MARK = object(), "_batchenv_of_the_caller"


@contextlib.contextmanager
def refused(path: Any, where: str = "") -> Iterator[None]:
    """What parsing raises becomes a RecordingError. where: such as " at byte 12"."""
    try:
        yield
    except PROBLEMS as problem:
        if getattr(problem, _MARK, False):
            raise
        raise RecordingError(
            f"{path} holds something else than a recording does{where}, or its env refuses what it holds: {problem!r}"
        ) from problem


@contextlib.contextmanager
def of_the_caller() -> Iterator[None]:
    """What a function that a user gave raises stays what it is, also within `refused`."""
    try:
        yield
    except Exception as problem:
        setattr(problem, _MARK, True)
        raise


def each(path: Any, items: Iterator[Any]) -> Iterator[Any]:
    """The items; what making them raises becomes a RecordingError."""
    while True:
        with refused(path):
            item = next(items, _END)
        if item is _END:
            return
        yield item
