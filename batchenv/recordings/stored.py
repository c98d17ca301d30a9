"""Gives back the results that a recording holds itself, without an env."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from batchenv.recordings import leaves
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
        observation, action: forms of observations and actions; see `spaces.form_of`.
    """

    def __init__(
        self, contents: Contents, observation: Form, parts: list[leaves.Leaf], action_space: spaces.Space[Any]
    ):
        self.contents, self._form, self.parts, self._space = contents, observation, parts, action_space
        self.count = contents.header["num_envs"]
        self.at = np.zeros(self.count, np.int64)
        self.observations: Any = None
        self.place = 0

    def seek(self, start: int) -> None:
        """Begins where every lane's observation before its step `start` can be known."""
        entries = self.contents.entries
        self.place = 0
        for number in range(len(entries) - 1, -1, -1):
            entry = entries[number]
            whole = entry.kind == STEPS and entry.high <= start
            if entry.kind == EVENT and entry.high <= start:
                meta, _ = self.contents.read(entry)
                whole = meta["kind"] == "reset" and meta["mask"] is None
            if whole:
                self.place = number
                return

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

    def _parts(self, arrays: dict[str, Any]) -> list[Any]:
        found, k = [], 0
        while f"x{k}" in arrays:
            part = arrays[f"x{k}"]
            found.append(leaves.texts_of_bytes(part) if isinstance(part, bytes) else part)
            k += 1
        return found

    def _steps(self, count: int, arrays: dict[str, Any], collector: Collector | None) -> None:
        parts = self._parts(arrays)
        actions = [leaves.unpacked(leaf, arrays[f"a{k}"], (count, self.count)) for k, leaf in enumerate(self.parts)]
        flags = np.zeros((count, self.count), np.uint8)
        ends = Ends.of(arrays)
        flags[ends.steps, ends.lanes] = ends.flags
        result = (
            leaves.nested_as(self._form, parts), arrays["rewards"], flags & 1 != 0, flags & 2 != 0, read_infos(arrays)
        )  # fmt: skip
        if collector is not None:
            if self.observations is not None:
                collector.before(np.arange(self.count), self.at, self.observations)
            collector.steps(self.at, result, leaves.built(self.parts, actions, self._space))
        self.at += count
        self._put(np.arange(self.count), [part[-1] for part in parts])

    def _rows(self, arrays: dict[str, Any], collector: Collector | None) -> None:
        which = arrays["w"].astype(np.int64)
        parts = [part[0] if part.dtype.hasobject else part for part in self._parts(arrays)]
        actions = [leaves.unpacked(leaf, arrays[f"a{k}"], (len(which),)) for k, leaf in enumerate(self.parts)]
        ends = Ends.of(arrays)
        known = dict(zip(zip(ends.lanes.tolist(), ends.steps.tolist(), strict=True), ends.flags.tolist(), strict=True))
        turn = occurrences(which)
        flags = np.array([known.get(key, 0) for key in zip(which.tolist(), turn.tolist(), strict=True)], np.uint8)
        begin = 0
        for call, size in enumerate(arrays["n"].tolist()):
            rows = slice(begin, begin + size)
            begin += size
            infos = {name: value[0] for name, value in read_infos(
                {name.partition("/")[2]: value for name, value in arrays.items() if name.startswith(f"{call}/")}
            ).items() if isinstance(value, np.ndarray)}  # fmt: skip
            lanes = which[rows]
            if collector is not None:
                result = (
                    leaves.nested_as(self._form, [part[rows] for part in parts]), arrays["rewards"][rows],
                    flags[rows] & 1 != 0, flags[rows] & 2 != 0, infos,
                )  # fmt: skip
                nest = leaves.built(self.parts, [part[rows] for part in actions], self._space)
                if self.observations is not None:
                    collector.before(lanes, self.at[lanes], self.observations)
                collector.rows(lanes, self.at[lanes], result, nest)
            self.at[lanes] += 1
            self._put(lanes, [part[rows] for part in parts])

    def _event(self, meta: dict[str, Any], arrays: dict[str, Any], collector: Collector | None) -> None:
        parts = [part[0] if part.dtype.hasobject else part for part in self._parts(arrays)]
        if meta["kind"] == "arrived":
            lanes = np.asarray(meta["lanes"], np.int64)
        else:
            mask = meta.get("mask")
            lanes = np.arange(self.count) if mask is None else np.flatnonzero(mask)
            if "lanes" in meta:
                lanes = np.asarray(meta["lanes"], np.int64)
            parts = [part[lanes] for part in parts]
        self._put(lanes, parts)
        if collector is not None:
            collector.change(lanes, self.at[lanes], self.observations)

    def _put(self, lanes: NDArray[np.int64], parts: list[Any]) -> None:
        if self.observations is None:
            known = [np.full((self.count, *p.shape[1:]), None, object) if p.dtype.hasobject
                     else np.zeros((self.count, *p.shape[1:]), p.dtype) for p in parts]  # fmt: skip
        else:
            known = [np.array(part) for part in leaves.flat(self.observations)]
        for target, part in zip(known, parts, strict=True):
            target[lanes] = part
        self.observations = leaves.nested_as(self._form, known)
