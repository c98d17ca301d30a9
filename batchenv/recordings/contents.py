"""The blocks of a recording that is read: which there are, and what is in them."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from batchenv.recordings.errors import RecordingError
from batchenv.recordings.file import Block, Reader
from batchenv.recordings.log import EVENT, HEADER, KEY, ROWS, STEPS, needs_whole
from batchenv.recordings.nonsense import refused
from batchenv.recordings.values import unpack


class Entry(NamedTuple):
    """A block. low: the fewest steps that a lane has made before it; high: the most that one has made after it."""

    kind: bytes
    block: Block
    low: int
    high: int


class Contents:
    """What a file holds.

    Attributes:
        header: see `header.describe`.
        entries: of all blocks behind the header.
        done: int64 (lanes,): recorded steps of each lane.
        so_far: float64 (lanes,): the rewards of each lane's last episode, as far as it was recorded; None: unknown.
        plans: whether lanes have followed any.
        whole: whether only a replay of all lanes repeats everything.
    """

    def __init__(self, path: Path, until_damage: bool):
        self._reader = Reader(path, until_damage)
        try:
            self.complete, self.left_out = self._reader.complete, self._reader.left_out
            self._open = True
            with refused(path):
                if self._reader.index is not None:
                    self._take_index(self._reader.index)
                else:
                    self._take_blocks(self._reader.blocks)
                self._check()
        except BaseException:
            self._reader.close()
            raise

    def _take_index(self, payload: bytes) -> None:
        meta, arrays = unpack(payload)
        text = meta["kinds"].encode()
        kinds = [text[k : k + 4] for k in range(0, len(text), 4)]
        columns = [arrays[name].tolist() for name in ("offsets", "lengths", "lows", "highs")]
        rows = [
            Entry(kind, Block(kind, offset, length), low, high)
            for kind, offset, length, low, high in zip(kinds, *columns, strict=True)
        ]
        for entry in rows:
            if entry.block.offset < 0 or entry.block.length < 0 or entry.block.end > self._reader.size:
                raise ValueError(f"the index names {entry.block}, which is not in the file")
        self.header, _ = self.read(rows[0])
        self.entries, self.whole, self.plans = rows[1:], meta["whole"], meta["plans"]
        self.done, self.so_far = arrays["done"], arrays["so_far"]

    def _take_blocks(self, blocks: list[Block]) -> None:
        """The same from the blocks themselves, as the index was never written."""
        if not blocks or blocks[0].kind != HEADER:
            raise RecordingError(f"{self._reader.path} ends before its header: nothing was recorded")
        self.header, _ = unpack(self._reader.read(blocks[0]))
        self.done, self.so_far = np.zeros(self.header["num_envs"], np.int64), None
        self.entries, self.whole, self.plans = [], False, False
        for block in blocks[1:]:
            meta, arrays = unpack(self._reader.read(block))
            low = high = 0
            if block.kind in (STEPS, ROWS):
                low = int(self.done.min())
                self.done += taken(block.kind, meta, arrays, len(self.done))
                high = int(self.done.max())
            elif block.kind == KEY:
                low = int(
                    np.broadcast_to(meta["p"], self.done.shape)[... if meta["lanes"] is None else meta["lanes"]].min()
                )
                high = int(self.done.max())
            elif block.kind == EVENT:
                low, high = int(self.done.min()), int(self.done.max())
                self.whole = self.whole or needs_whole(meta["kind"], meta)
                self.plans = self.plans or meta["kind"] == "plan"
            self.entries.append(Entry(block.kind, block, low, high))

    def _check(self) -> None:
        """Raises ValueError where the header and the numbers of steps cannot be right."""
        count, done = self.header["num_envs"], np.asarray(self.done)
        if type(count) is not int or count < 1:
            raise ValueError(f"num_envs is {count!r}")
        if done.shape != (count,) or done.dtype.kind not in "iu" or (done < 0).any():
            raise ValueError(f"the numbers of steps of {count} lanes are {done!r}")
        if self.so_far is not None and np.shape(self.so_far) != (count,):
            raise ValueError(f"the returns so far of {count} lanes are {self.so_far!r}")
        for name in ("versions", "make"):
            if not isinstance(self.header[name], dict):
                raise TypeError(f"{name} is {self.header[name]!r}")
        self.done = done.astype(np.int64)

    def read(self, entry: Entry) -> tuple[dict[str, Any], dict[str, Any]]:
        """(meta, arrays) of a block.

        Raises:
            DamagedRecording: it is damaged.
            RecordingError: it holds something else than a block does; the recording is closed.
        """
        self.check_open()
        with refused(self._reader.path, f" at byte {entry.block.offset}"):
            return unpack(self._reader.read(entry.block))

    def check_open(self) -> None:
        """Raises RecordingError after `close`."""
        if not self._open:
            raise RecordingError(
                f"the recording {self._reader.path} is closed: open it again with batchenv.replay(path)"
            )

    @property
    def nbytes(self) -> int:
        """The size of the file."""
        return self._reader.size

    def close(self) -> None:
        """Closes the file. May be called again."""
        self._open = False
        self._reader.close()


def taken(kind: bytes, meta: dict[str, Any], arrays: dict[str, Any], lanes: int) -> Any:
    """How many steps each lane makes in a block of steps."""
    if kind == STEPS:
        return meta["t"]
    return np.bincount(arrays["w"], minlength=lanes).astype(np.int64)


def positions(meta: dict[str, Any], lanes: int) -> NDArray[np.int64]:
    """How many steps each lane has made before a block."""
    return np.broadcast_to(np.asarray(meta["p"], np.int64), (lanes,))


def occurrences(which: NDArray[Any]) -> NDArray[np.int64]:
    """For each row, how many rows before it are of the same lane."""
    order = np.argsort(which, kind="stable")
    ranked = which[order]
    first = np.flatnonzero(np.append(True, ranked[1:] != ranked[:-1])) if len(which) else np.empty(0, np.int64)
    counts = np.diff(np.append(first, len(which)))
    found = np.empty(len(which), np.int64)
    found[order] = np.arange(len(which)) - np.repeat(first, counts)
    return found
