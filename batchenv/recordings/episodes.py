"""The table of the episodes of a recording."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from batchenv.arguments.seeds import lane_seeds
from batchenv.recordings.contents import Contents, positions
from batchenv.recordings.ends import Ends
from batchenv.recordings.log import EVENT, ROWS, STEPS


class Episodes(NamedTuple):
    """The episodes of a recording, in the order of their first steps, and of lanes: arrays with a row per episode.

    lanes, starts, lengths: int64: the lane, the number of its first step, how many steps it has.
    returns: float64: sums of rewards, as the env has returned them; NaN where it is not known.
    terminated, truncated: bool; both are False where the episode was cut: by a reset, or by the end of the recording.
    complete: bool: recorded from its beginning to its end.
    seeds: int64: of the reset that began it; -1 where it goes on with the lane's random stream, or is of a plan.
    """

    lanes: NDArray[np.int64]
    starts: NDArray[np.int64]
    lengths: NDArray[np.int64]
    returns: NDArray[np.float64]
    terminated: NDArray[np.bool_]
    truncated: NDArray[np.bool_]
    complete: NDArray[np.bool_]
    seeds: NDArray[np.int64]


class _Table:
    def __init__(self, contents: Contents):
        count = contents.header["num_envs"]
        self._gap = {AutoresetMode.NEXT_STEP: 2, AutoresetMode.SAME_STEP: 1, AutoresetMode.DISABLED: None}[
            AutoresetMode(contents.header["autoreset_mode"])
        ]
        self._parts: list[tuple[NDArray[Any], ...]] = []
        fresh = contents.header["fresh"]
        self._begin = np.full(count, -1 if fresh else 0, np.int64)  # of the present episode; -1: there is none
        self._begin[contents.header["waiting"]] = -1 if self._gap is None else self._gap - 1
        self._whole = np.zeros(count, np.bool_)  # whether it was recorded from its beginning
        self._seeds = np.full(count, -1, np.int64)

    def ends(self, first: NDArray[np.int64], ends: Ends) -> None:
        """Takes the ends of a block, sorted by lane and step."""
        lanes = ends.lanes
        if not len(lanes):
            return
        at = first[lanes] + ends.steps
        again = np.append(False, lanes[1:] == lanes[:-1])  # not the first one of its lane
        begin = self._begin[lanes]
        whole, seeds = self._whole[lanes], self._seeds[lanes]
        if self._gap is not None:
            begin[again] = at[np.flatnonzero(again) - 1] + self._gap
            whole[again], seeds[again] = True, -1
        self._parts.append((lanes, begin, at - begin + 1, ends.returns, ends.flags, whole, seeds))
        last = np.append(lanes[1:] != lanes[:-1], True)
        self._begin[lanes[last]] = -1 if self._gap is None else at[last] + self._gap
        self._whole[lanes[last]], self._seeds[lanes[last]] = True, -1

    def cut(self, lanes: NDArray[np.int64], at: NDArray[np.int64], returns: NDArray[Any]) -> None:
        """Notes that the episodes of these lanes end before step `at`, if they have begun."""
        going = (self._begin[lanes] >= 0) & (self._begin[lanes] < at)
        some = lanes[going]
        if len(some):
            begin = self._begin[some]
            flags = np.zeros(len(some), np.uint8)
            row = (some, begin, at[going] - begin, returns[going], flags, self._whole[some], self._seeds[some])
            self._parts.append(row)

    def begin(self, lanes: NDArray[np.int64], at: NDArray[np.int64], whole: bool, seeds: NDArray[np.int64]) -> None:
        self._begin[lanes], self._whole[lanes], self._seeds[lanes] = at, whole, seeds

    def wait(self, lanes: NDArray[np.int64], first: NDArray[np.int64]) -> None:
        """Notes that lanes wait for their reset, which is their next step, if that resets."""
        self._begin[lanes] = -1 if self._gap is None else first[lanes] + self._gap - 1
        self._whole[lanes] = self._gap is not None

    def episodes(self) -> Episodes:
        kinds = (np.int64, np.int64, np.int64, np.float64, np.uint8, np.bool_, np.int64)
        columns = [np.concatenate(part) for part in zip(*self._parts, strict=True)] or [np.empty(0, k) for k in kinds]
        order = np.lexsort((columns[0], columns[1]))
        lanes, starts, lengths, returns, flags, whole, seeds = (column[order] for column in columns)
        over = flags != 0
        return Episodes(lanes, starts, lengths, returns, flags & 1 != 0, flags & 2 != 0, whole & over, seeds)


def episodes_of(contents: Contents) -> Episodes:
    """The table, from all blocks."""
    count = contents.header["num_envs"]
    table = _Table(contents)
    for entry in contents.entries:
        if entry.kind not in (STEPS, ROWS, EVENT):
            continue
        meta, arrays = contents.read(entry)
        first = positions(meta, count)
        if entry.kind != EVENT:
            table.ends(first, Ends.of(arrays))
        elif meta["kind"] in ("reset", "restore"):
            _begun(table, meta, arrays, first)
    done = contents.done
    so_far = np.full(count, np.nan) if contents.so_far is None else contents.so_far
    table.cut(np.arange(count), done, so_far)
    return table.episodes()


def _begun(table: _Table, meta: dict[str, Any], arrays: dict[str, Any], first: NDArray[np.int64]) -> None:
    if meta.get("goes_on"):
        return
    count = len(first)
    seeds = np.full(count, -1, np.int64)
    if meta["kind"] == "restore":
        lanes = np.asarray(meta["lanes"])
    else:
        lanes = np.arange(count) if meta["mask"] is None else np.flatnonzero(meta["mask"])
        for lane, seed in enumerate(lane_seeds(meta["seeds"], count)):
            if seed is not None and seed < 2**63:
                seeds[lane] = seed
    table.cut(lanes, first[lanes], arrays["sf"])
    table.begin(lanes, first[lanes], meta["kind"] == "reset", seeds[lanes])
    table.wait(np.asarray(meta.get("waiting", ()), np.int64), first)
