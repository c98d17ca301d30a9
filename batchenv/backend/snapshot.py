"""Snapshots of lanes: what `BatchEnv.snapshot` returns and `BatchEnv.restore` takes."""

from __future__ import annotations

import struct
from typing import Any

_HEADER = struct.Struct("<8sIIQq")  # the part that is read here; csrc/core/snapshot.h has the whole layout


class Snapshot:
    """Everything that decides what some lanes do next: state, parameters, random stream, elapsed steps, pending reset,
    statistics, frame history. Immutable, comparable, hashable; pickle it or keep its bytes.

    `len(snapshot)` is the number of lanes. `bytes(snapshot)` and `Snapshot(data)` convert; bytes are checked when
    they are restored, not before.

    Snapshots of environments written in Python are pickles, which may run any code when they are restored: restore only
    what you trust. With snapshots="deepcopy" they hold `copies`, and have no bytes.

    Attributes:
        copies: a copy of each lane's environment, or None.
    """

    __slots__ = ("_data", "copies")

    def __init__(self, data: bytes | bytearray | memoryview, copies: tuple[Any, ...] | None = None):
        if not isinstance(data, (bytes, bytearray, memoryview)):
            raise TypeError(f"data must be bytes, not {type(data).__name__}")
        self._data = bytes(data)
        self.copies = copies

    @property
    def data(self) -> bytes:
        """The bytes, without the copies."""
        return self._data

    def __bytes__(self) -> bytes:
        if self.copies is not None:
            raise TypeError("this snapshot holds copies of environments, which are no bytes: take snapshots='pickle'")
        return self._data

    def __len__(self) -> int:
        if len(self._data) < _HEADER.size:
            return 0
        return max(0, _HEADER.unpack_from(self._data)[4])

    @property
    def nbytes(self) -> int:
        """Size in bytes."""
        return len(self._data)

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, Snapshot) and (self._data, self.copies) == (other._data, other.copies)

    def __hash__(self) -> int:
        return hash(self._data)

    def __reduce__(self):
        return Snapshot, (self._data, self.copies)

    def __repr__(self) -> str:
        return f"Snapshot({len(self)} lanes, {self.nbytes} bytes)"
