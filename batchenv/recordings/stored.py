"""Gives back the results that a recording holds itself, without an env."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from batchenv.recordings import leaves
from batchenv.recordings.beginnings import event_lanes
from batchenv.recordings.contents import Contents, occurrences, positions
from batchenv.recordings.ends import Ends
from batchenv.recordings.infos import read_infos
from batchenv.recordings.log import EVENT, ROWS, STEPS
from batchenv.recordings.spaces import Form
from batchenv.recordings.window import Collector


class StoredPlayer:
    """Has the interface of `Player`.

    Args:
        contents: of the recording.
        observation: form of observations; see `spaces.form_of`.
        parts, action_space: of actions.

    Attributes:
        at: int64: how many steps each lane has made.
        observations: the present ones; None: no lane has been given one.
        known: bool: which lanes have.
        place: the number of the next entry.
    """

    def __init__(
        self, contents: Contents, observation: Form, parts: list[leaves.Leaf], action_space: spaces.Space[Any]
    ):
        self.contents, self._form, self.parts, self._space = contents, observation, parts, action_space
        self.count = contents.header["num_envs"]
        self.at = np.zeros(self.count, np.int64)
        self.observations: Any = None
        self.known = np.zeros(self.count, np.bool_)
        self.place = self._start = 0
        self._chosen = np.ones(self.count, np.bool_)

    def seek(self, start: int, chosen: NDArray[np.int64] | None = None) -> None:
        """Begins where the observation of each chosen lane before its step `start` can be known, or at the beginning.
        What is played then is of these lanes, and from that step on. chosen: lanes; None: all."""
        entries = self.contents.entries
        need = np.zeros(self.count, np.bool_)
        need[... if chosen is None else chosen] = True
        self._chosen, self._start = need.copy(), start
        self.place, self.known[:], self.observations = 0, False, None
        for number in range(len(entries) - 1, -1, -1):
            entry = entries[number]
            if entry.low > start or (entry.low == start and entry.kind != EVENT):
                continue
            if entry.kind in (STEPS, ROWS, EVENT):
                need &= ~self._told(number, start)
            if not need.any():
                self.place = number
                return

    def _told(self, number: int, start: int) -> NDArray[np.bool_]:
        """Which lanes an entry gives an observation that they have after at most `start` steps."""
        entry = self.contents.entries[number]
        if entry.kind == STEPS and entry.high <= start:
            return np.ones(self.count, np.bool_)
        meta, arrays = self.contents.read(entry)
        at = positions(meta, self.count)
        if entry.kind == STEPS:
            return at < start
        told = np.zeros(self.count, np.bool_)
        if entry.kind == ROWS:
            told[arrays["w"]] = True
            return told & (at < start)
        if "x0" in arrays:
            told[event_lanes(meta, self.count)] = True
        return told & (at <= start)

    def play(self, collector: Collector | None = None) -> bool:
        """Takes the next entry; False: there is none."""
        if self.place >= len(self.contents.entries):
            return False
        entry = self.contents.entries[self.place]
        self.place += 1
        meta, arrays = self.contents.read(entry)
        if "p" not in meta:
            return True
        self.at = positions(meta, self.count).copy()
        if entry.kind == STEPS:
            self._steps(meta["t"], arrays, collector)
        elif entry.kind == ROWS:
            self._rows(arrays, collector)
        elif "x0" in arrays:
            self._event(meta, arrays, collector)
        return True

    def before(self, collector: Any, lanes: NDArray[np.int64]) -> None:
        """Tells a collector the present observations of those of these lanes that have been given one."""
        lanes = lanes[self.known[lanes]]
        if len(lanes):
            collector.before(lanes, self.at[lanes], self.observations)

    def _parts(self, arrays: dict[str, Any]) -> list[Any]:
        found, k = [], 0
        while f"x{k}" in arrays:
            part = arrays[f"x{k}"]
            found.append(leaves.texts_of_bytes(part) if isinstance(part, bytes) else part)
            k += 1
        return found

    def _steps(self, count: int, arrays: dict[str, Any], collector: Collector | None) -> None:
        parts = self._parts(arrays)
        if any(len(part) != count for part in (*parts, arrays["rewards"])):
            raise ValueError(f"a block of {count} steps has results of other numbers of steps")
        actions = [leaves.unpacked(leaf, arrays[f"a{k}"], (count, self.count)) for k, leaf in enumerate(self.parts)]
        flags = np.zeros((count, self.count), np.uint8)
        ends = Ends.of(arrays)
        flags[ends.steps, ends.lanes] = ends.flags
        result = (
            leaves.nested_as(self._form, parts), arrays["rewards"], flags & 1 != 0, flags & 2 != 0, read_infos(arrays)
        )  # fmt: skip
        if collector is not None:
            self.before(collector, np.arange(self.count))
            collector.steps(self.at, result, leaves.built(self.parts, actions, self._space))
        self.at += count
        self._put(np.arange(self.count), [part[-1] for part in parts])

    def _rows(self, arrays: dict[str, Any], collector: Collector | None) -> None:
        which, first = arrays["w"].astype(np.int64), self.at.copy()
        parts = [part[0] if part.dtype.hasobject else part for part in self._parts(arrays)]
        actions = [leaves.unpacked(leaf, arrays[f"a{k}"], (len(which),)) for k, leaf in enumerate(self.parts)]
        ends = Ends.of(arrays)
        known = dict(zip(zip(ends.lanes.tolist(), ends.steps.tolist(), strict=True), ends.flags.tolist(), strict=True))
        turn = occurrences(which)
        flags = np.array([known.get(key, 0) for key in zip(which.tolist(), turn.tolist(), strict=True)], np.uint8)
        infos: list[dict[str, Any]] = [{} for _ in arrays["n"]]  # of each call
        for name, value in arrays.items():
            call, slash, own = name.partition("/")
            if slash:
                infos[int(call)][own] = value
        sizes = arrays["n"].astype(np.int64)
        if sizes.sum() != len(which):
            raise ValueError(f"a block of {len(which)} rows says that its calls have {sizes.sum()}")
        before = self.at[which] + turn
        wanted = self._chosen[which] & (before >= self._start - 1)
        low = sizes.cumsum() - sizes
        for call in np.unique(np.repeat(np.arange(len(sizes)), sizes)[wanted]).tolist():
            rows = slice(low[call], low[call] + sizes[call])
            lanes = which[rows]
            self.at[lanes] = before[rows]
            if collector is not None:
                result = (
                    leaves.nested_as(self._form, [part[rows] for part in parts]), arrays["rewards"][rows],
                    flags[rows] & 1 != 0, flags[rows] & 2 != 0, _of_step(read_infos(infos[call])),
                )  # fmt: skip
                nest = leaves.built(self.parts, [part[rows] for part in actions], self._space)
                self.before(collector, lanes)
                collector.rows(lanes, before[rows], result, nest)
            self._put(lanes, [part[rows] for part in parts])
        self.at = first + np.bincount(which, minlength=self.count)

    def _event(self, meta: dict[str, Any], arrays: dict[str, Any], collector: Collector | None) -> None:
        parts = [part[0] if part.dtype.hasobject else part for part in self._parts(arrays)]
        lanes = event_lanes(meta, self.count)
        if meta["kind"] != "arrived":  # which has those of these lanes alone
            parts = [part[lanes] for part in parts]
        self._put(lanes, parts)
        if collector is not None:
            collector.change(lanes, self.at[lanes], self.observations)

    def _put(self, lanes: NDArray[np.int64], parts: list[Any]) -> None:
        if self.observations is None:
            rows = [np.full((self.count, *p.shape[1:]), None, object) if p.dtype.hasobject
                    else np.zeros((self.count, *p.shape[1:]), p.dtype) for p in parts]  # fmt: skip
            self.observations = leaves.nested_as(self._form, rows)
        for target, part in zip(leaves.flat(self.observations), parts, strict=True):
            target[lanes] = part
        self.known[lanes] = True


def _of_step(infos: dict[str, Any]) -> dict[str, Any]:
    """Infos of the only step of a stack of one; what is no array is left out."""
    found = {name: _of_step(value) if isinstance(value, dict) else value for name, value in infos.items()}
    return {name: value[0] if isinstance(value, np.ndarray) else value for name, value in found.items()
            if isinstance(value, (dict, np.ndarray))}  # fmt: skip
