"""Steps of some lanes, in the order in which their results came, until they are written as one block."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from batchenv import _core
from batchenv.recordings import leaves, sums
from batchenv.recordings.ends import Ends, Returns, flags_of
from batchenv.recordings.infos import InfoForms, written_infos
from batchenv.recordings.steps import _copy, stacked


class Rows:
    """See `Steps`, whose arguments these are."""

    def __init__(self, parts: Sequence[leaves.Leaf], lanes: int, most: int, every: int, infos: InfoForms, stores: bool):
        self._parts, self._lanes, self._every, self._infos, self._stores = parts, lanes, every, infos, stores
        self._most = most * lanes
        self._clear()

    def _clear(self) -> None:
        self.count = 0
        self.taken = np.zeros(self._lanes, np.int64)
        self._which: list[NDArray[np.int64]] = []
        self._actions: list[list[NDArray[Any]]] = [[] for _ in self._parts]
        self._ends: list[Ends] = []
        self._rewards = np.zeros(self._lanes, np.uint64)
        self._seen = np.zeros(self._lanes, np.uint64)
        self._kept: list[tuple[list[Any], Any, dict[str, Any], Any]] = []

    @property
    def full(self) -> bool:
        """Whether the block has to be written."""
        return self.count >= self._most

    def add(
        self, lanes: NDArray[np.int64], actions: Sequence[NDArray[Any]], result: Sequence[Any], returns: Returns,
        done: NDArray[np.int64],
    ) -> None:  # fmt: skip
        """Takes a step of different lanes. actions: the parts, as they are kept; result: as of `Backend.step_some`,
        of these rows; done: how many steps each lane has made before the block."""
        steps = self.taken[lanes]
        flags = flags_of(np.asarray(result[2]), np.asarray(result[3]))
        self._which.append(lanes)
        for mine, part in zip(self._actions, actions, strict=True):
            mine.append(part)
        self._ends.append(returns.of_rows(lanes, steps, result[1], flags))
        self.count += len(lanes)
        self.taken[lanes] += 1
        observations = leaves.flat(result[0])
        if self._stores:
            self._kept.append(
                ([_copy(leaf) for leaf in observations], np.array(result[1]), _core.own_info(dict(result[4])), flags)
            )
            return
        self._rewards[lanes] = sums.added(self._rewards[lanes], sums.words_of(result[1]).astype(np.uint64))
        seen = np.flatnonzero((done[lanes] + self.taken[lanes]) % self._every == 0)
        if len(seen):
            parts = sums.of_parts([*observations, *self._infos.of(result[4], len(lanes))])
            chosen = lanes[seen]
            self._seen[chosen] = sums.added(self._seen[chosen], parts[seen])

    def payload(self) -> tuple[dict[str, Any], dict[str, Any], Ends]:
        """As `Steps.payload`. "n" has how many lanes each call stepped."""
        which = np.concatenate(self._which)
        arrays: dict[str, Any] = {
            "w": which.astype(np.uint32),
            "n": np.array([len(one) for one in self._which], np.uint32),
        }
        for k, (leaf, parts) in enumerate(zip(self._parts, self._actions, strict=True)):
            arrays[f"a{k}"] = leaves.packed(leaf, np.concatenate(parts))
        joined = [np.concatenate(column) for column in zip(*self._ends, strict=True)]
        order = np.lexsort((joined[1], joined[0]))
        ends = Ends(*(column[order] for column in joined))
        if self._stores:
            arrays["rewards"] = np.concatenate([kept[1] for kept in self._kept])
            for k, column in enumerate(zip(*(kept[0] for kept in self._kept), strict=True)):
                plain = isinstance(column[0], np.ndarray) and not column[0].dtype.hasobject
                arrays[f"x{k}"] = (
                    np.concatenate(column) if plain else stacked([[text for part in column for text in part]])
                )
            for k, kept in enumerate(self._kept):
                arrays |= {f"{k}/{name}": value for name, value in written_infos([kept[2]]).items()}
        else:
            arrays["r"], arrays["o"] = sums.halves(self._rewards), sums.halves(self._seen)
        meta = {"t": int(self.taken.max())}
        self._clear()
        return meta, {**arrays, **ends.arrays(self._lanes)}, ends
