"""Snapshots of lanes: what `BatchEnv.snapshot` returns and `BatchEnv.restore` takes."""

from __future__ import annotations

import struct
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

_HEADER = struct.Struct("<8sIIQq")  # the part that is read here; csrc/core/snapshot.h has the whole layout
_TRAILER = struct.Struct("<8sQI")  # follows places in a plan, which follow the rest: their bytes, and a checksum
_PLACES = b"BEPLACES"


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


def with_places(snapshot: Snapshot, places: NDArray[np.int64]) -> Snapshot:
    """A snapshot with places of its lanes in a plan, see `Backend.places`."""
    rows = np.ascontiguousarray(places, "<i8").tobytes()
    return Snapshot(snapshot.data + rows + _TRAILER.pack(_PLACES, len(rows), zlib.crc32(rows)), snapshot.copies)


def without_places(snapshot: Snapshot) -> tuple[Snapshot, NDArray[np.int64] | None]:
    """The same snapshot without them, and the places, or None.

    Raises:
        ValueError: they are damaged.
    """
    data = snapshot.data
    if len(data) < _HEADER.size + _TRAILER.size or data[-_TRAILER.size :][: len(_PLACES)] != _PLACES:
        return snapshot, None
    _, size, checksum = _TRAILER.unpack(data[-_TRAILER.size :])
    end = len(data) - _TRAILER.size
    rows = data[max(0, end - size) : end]
    if len(rows) != size or size % 32 or zlib.crc32(rows) != checksum:
        raise ValueError("the snapshot is damaged: its places in a plan have a wrong length or checksum")
    places = np.frombuffer(rows, "<i8").astype(np.int64).reshape(-1, 4)
    return Snapshot(data[: end - size], snapshot.copies), places
