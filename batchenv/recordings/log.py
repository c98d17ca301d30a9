"""Writes what goes into lanes, and checksums of what comes out, as blocks of a file."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from batchenv.backend.protocol import Backend
from batchenv.env.batch_env import BatchEnv
from batchenv.recordings import leaves, sums
from batchenv.recordings.ends import Returns
from batchenv.recordings.file import Block, Writer
from batchenv.recordings.infos import InfoForms
from batchenv.recordings.moments import moments_of
from batchenv.recordings.rows import Rows
from batchenv.recordings.steps import Steps
from batchenv.recordings.values import pack

HEADER, STEPS, ROWS, EVENT, KEY = b"HEAD", b"STEP", b"ROWS", b"EVNT", b"KEYF"
EVERY = 16  # observations of each such step of a block are in the checksums
_SOFT, _MOST, _LEAST = 262_144, 1024, 16  # lane steps of a block; most and fewest steps
_STORED = 16 * 2**20  # bytes of observations in a block
KEY_LEAST, KEY_MOST = 512, 8192  # steps between key frames
_KEY_SHARE = 3  # how many times as large as a key frame is what lies between two


# How small arrays must become for the time that compression takes: checksums are random, and ends of episodes and
# snapshots of the fastest envs nearly so.
_RATIOS = {"r": 0.0, "o": 0.0, "s": 0.7, "er": 0.6, "es": 0.6}


def needs_whole(kind: str, meta: dict[str, Any]) -> bool:
    """Whether an event concerns lanes in a way that only a replay of all lanes repeats."""
    return kind in ("params", "state", "moments") or bool(meta.get("options"))


class Log:
    """The blocks of one recording.

    Args:
        writer: of the file.
        env, backend: what is recorded; the backend is the env's own.
        header: what is written first.
        stores: whether results are kept.
        key_steps: steps between key frames, about; None: by their size.
        has_snapshots: whether key frames are possible.
        flush_seconds: after so many seconds a block is written, full or not.

    Attributes:
        done: int64 (lanes,): recorded steps of each lane.
        episodes: how many have ended.
        torn: whether something is being written; after Ctrl-C, whether that was cut in two.
        index: (kind, offset, length, fewest steps of a lane before the block, most steps after it) of each block.
    """

    def __init__(
        self, writer: Writer, env: BatchEnv, backend: Backend, header: dict[str, Any], *, stores: bool,
        key_steps: int | None, has_snapshots: bool, flush_seconds: float,
    ):  # fmt: skip
        count = backend.num_envs
        self._writer, self._env, self._backend, self._seconds = writer, env, backend, flush_seconds
        self.done, self.episodes, self.index = np.zeros(count, np.int64), 0, list[tuple[str, int, int, int, int]]()
        self.parts = leaves.leaves_of(env.single_action_space)
        most = max(_LEAST, min(_MOST, _SOFT // count, key_steps or _MOST))
        if stores:
            each = sum(leaf.nbytes for leaf in leaves.flat(env.observation_space.sample()) if hasattr(leaf, "nbytes"))
            most = max(1, min(most, _STORED // max(1, each)))
        elif most > EVERY:
            most -= most % EVERY
        infos = InfoForms(backend.info_forms())
        self._steps = Steps(self.parts, count, most, EVERY, infos, stores)
        self._rows = Rows(self.parts, count, most, EVERY, infos, stores)
        self._returns = Returns(count)
        self._stores, self._key_steps, self._has_snapshots = stores, key_steps, has_snapshots and not stores
        self._keyed = np.full(count, -1, np.int64)  # steps of each lane at its last key frame
        self.torn = False
        self._plans = False  # whether lanes have followed any
        self._whole = False  # whether some lanes cannot be replayed without the others
        self._key_bytes, self._key_size, self._deadline = 0, 0, math.inf
        self._write(HEADER, header, {})

    def _write(self, kind: bytes, meta: dict[str, Any], arrays: dict[str, Any], low: int = 0, high: int = 0) -> Block:
        block = self._writer.append(kind, pack(meta, arrays, _RATIOS))
        self.index.append((kind.decode(), block.offset, block.length, low, high))
        return block

    @property
    def pending(self) -> int:
        """Steps of lanes that are not in the file."""
        return self._steps.count * len(self.done) + self._rows.count

    @property
    def path(self) -> Any:
        """Of the file."""
        return self._writer.path

    @property
    def stores(self) -> bool:
        """Whether results are kept."""
        return self._stores

    @property
    def reads_infos(self) -> bool:
        """Whether the infos of the next step of all lanes are looked at."""
        if not self._steps.count:
            self._steps.begin(self.done)
        return self._stores or self._steps.looks_at_next

    def _position(self) -> Any:
        first = int(self.done[0])
        return first if (self.done == first).all() else self.done.copy()

    # ---- steps ---------------------------------------------------------------------------------------------------

    def step(self, actions: Any, result: Sequence[Any], keys: bool = True) -> None:
        """Takes one step of all lanes, as `Backend.step` takes and returns it. keys: whether lanes are where this step
        has led, so that there may be a key frame."""
        if self._rows.count:
            self.cut()
        steps = self._steps
        if not steps.count:
            steps.begin(self.done)
        steps.add(actions, result)
        if steps.count == 1:
            self._deadline = time.monotonic() + self._seconds
        if steps.full or time.monotonic() > self._deadline:
            self.cut()
            if keys:
                self.key_frame_if_due()

    def some(self, lanes: NDArray[np.int64], actions: Sequence[NDArray[Any]], result: Sequence[Any]) -> None:
        """Takes a step of different lanes; see `Rows.add`."""
        if self._steps.count:
            self.cut()
        if not self._rows.count:
            self._deadline = time.monotonic() + self._seconds
        self.torn = True
        self._rows.add(lanes, actions, result, self._returns, self.done)
        self.torn = False
        if self._rows.full or time.monotonic() > self._deadline:
            self.cut()

    def cut(self) -> None:
        """Writes the steps that are not in the file."""
        steps, rows = self._steps, self._rows
        if not steps.count and not rows.count:
            return
        self.torn = True
        if steps.count:
            before = self._position()
            taken: Any = steps.count
            meta, arrays, ends = steps.payload(self._returns)
            kind = STEPS
        else:
            before = self._position()
            taken = rows.taken.copy()
            meta, arrays, ends = rows.payload()
            kind = ROWS
        meta["p"] = before
        self._deadline = math.inf
        after = self.done + taken
        block = self._write(kind, meta, arrays, int(self.done.min()), int(after.max()))
        self.done[:] = after
        self.episodes += len(ends.lanes)
        self._key_bytes += block.length
        self.torn = False

    # ---- events and key frames -----------------------------------------------------------------------------------

    def event(
        self, kind: str, meta: dict[str, Any], arrays: dict[str, Any] | None = None, *,
        begun: Any = None, observations: Any = None,
    ) -> None:  # fmt: skip
        """Writes what came from outside: of one of the kinds that `events` replays.

        Args:
            meta, arrays: what the event needs to happen again.
            begun: the lanes (mask or numbers) whose episodes begin; None: none.
            observations: what the call has returned, which a replay compares.
        """
        self.cut()
        more: dict[str, Any] = dict(arrays or {})
        if begun is not None:
            more["sf"] = self._returns.so_far[begun].copy()
            self._returns.so_far[begun] = 0
        self._whole = self._whole or needs_whole(kind, meta)
        self._plans = self._plans or kind == "plan"
        if observations is not None:
            parts = leaves.flat(observations)
            if self._stores:
                for k, part in enumerate(parts):
                    plain = isinstance(part, np.ndarray) and not part.dtype.hasobject
                    more[f"x{k}"] = part if plain else leaves.texts_to_bytes([list(part)])
            else:
                more["o"] = sums.halves(sums.of_parts(parts))
        low, high = int(self.done.min()), int(self.done.max())
        self.torn = True
        self._write(EVENT, {"kind": kind, "p": self._position(), **meta}, more, low, high)
        self.torn = False
        self._key_bytes += len(more) * 64

    def due(self, first: bool = True) -> NDArray[np.bool_]:
        """Which lanes need a key frame. first: those that never had one do."""
        if not self._has_snapshots:
            return np.zeros(len(self.done), np.bool_)
        past = np.where(self._keyed < 0, KEY_MOST if first else self.done, self.done - self._keyed)
        if self._key_steps is not None:
            return past >= self._key_steps
        enough = self._key_bytes >= _KEY_SHARE * self._key_size
        return past >= (KEY_LEAST if enough else KEY_MOST)

    def key_frame_if_due(self, first: bool = True) -> None:
        """Writes a key frame of the lanes that need one. None is in flight."""
        due = self.due(first)
        if due.any():
            self.key_frame(np.flatnonzero(due))

    def key_frame(self, lanes: NDArray[np.int64]) -> None:
        """Writes a key frame of these lanes, which are not in flight. Steps have been written."""
        self.cut()
        whole = len(lanes) == len(self.done)
        meta = {"p": self._position(), "lanes": None if whole else lanes, "moments": moments_of(self._env)}
        arrays: dict[str, Any] = {"s": bytes(self._backend.snapshot(lanes))}
        if self._env.present_plan is not None:
            arrays["places"] = self._backend.places()[lanes]
        low, high = int(self.done[lanes].min()), int(self.done[lanes].max())
        self._keyed[lanes] = self.done[lanes]
        self.torn = True
        self._key_size = self._write(KEY, meta, arrays, low, high).length
        self._key_bytes, self.torn = 0, False

    def finish(self) -> None:
        """Writes what is left, and the index."""
        self.cut()
        kinds, offsets, lengths, lows, highs = zip(*self.index, strict=True)
        arrays = {
            "offsets": np.array(offsets, np.int64),
            "lengths": np.array(lengths, np.int64),
            "lows": np.array(lows, np.int64),
            "highs": np.array(highs, np.int64),
        }
        arrays |= {"so_far": self._returns.so_far, "done": self.done}
        meta = {"kinds": "".join(kinds), "episodes": self.episodes, "whole": self._whole, "plans": self._plans}
        self._writer.finish(pack(meta, arrays))

    def flush(self) -> None:
        """Writes the steps that are not in the file, and waits until the disk has them."""
        self.cut()
        self._writer.sync()
