"""Snapshots of lanes of several tasks: for each task a snapshot of its own, in one Snapshot's bytes."""

from __future__ import annotations

import struct
import zlib
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from batchenv.backend.snapshot import Snapshot

# Magic, version, how many snapshots there are, the checksum of what follows, how many lanes; as `Snapshot` reads it.
_HEADER = struct.Struct("<8sIIQq")
_SIZE = struct.Struct("<Q")  # before each of the snapshots
_MAGIC, _VERSION = b"BEJOINED", 1
_DAMAGED = "the snapshot is damaged"


class Pieces(NamedTuple):
    """snapshots: one per task. rows: int64 (lanes, 2): of each lane, which of them it is in, and in which row."""

    snapshots: list[Snapshot]
    rows: NDArray[np.int64]


def pack(pieces: Pieces) -> Snapshot:
    """The snapshot of these pieces."""
    parts = [pieces.rows.astype("<i8").tobytes()]
    for snapshot in pieces.snapshots:
        parts += [_SIZE.pack(snapshot.nbytes), bytes(snapshot)]
    body = b"".join(parts)
    head = _HEADER.pack(_MAGIC, _VERSION, len(pieces.snapshots), zlib.crc32(body), len(pieces.rows))
    return Snapshot(head + body)


def unpack(snapshot: Snapshot) -> Pieces:
    """The pieces of a snapshot; of one of lanes of a single task, that is the only piece.

    Raises:
        ValueError: it is damaged, or of another version.
    """
    data = bytes(snapshot)
    if data[: len(_MAGIC)] != _MAGIC:
        rows = np.stack([np.zeros(len(snapshot), np.int64), np.arange(len(snapshot))], axis=1)
        return Pieces([snapshot], rows)
    if len(data) < _HEADER.size:
        raise ValueError(_DAMAGED)
    _, version, count, checksum, lanes = _HEADER.unpack_from(data)
    if version != _VERSION:
        raise ValueError(f"the snapshot has version {version} of its form, and this batchenv reads {_VERSION}")
    if zlib.crc32(data[_HEADER.size :]) != checksum or lanes < 1:
        raise ValueError(_DAMAGED)
    end = _HEADER.size + 16 * lanes
    rows = np.frombuffer(data[_HEADER.size : end], "<i8").astype(np.int64).reshape(-1, 2)
    snapshots = []
    while len(snapshots) < count and end + _SIZE.size <= len(data):
        start = end + _SIZE.size
        end = start + _SIZE.unpack_from(data, end)[0]
        snapshots.append(Snapshot(data[start:end]))
    if len(snapshots) != count or end != len(data) or len(rows) != lanes:
        raise ValueError(_DAMAGED)
    sizes = np.array([len(one) for one in snapshots])
    piece, row = rows.T
    if not ((piece >= 0) & (piece < count)).all() or not ((row >= 0) & (row < sizes[piece])).all():
        raise ValueError(_DAMAGED)
    return Pieces(snapshots, rows)
