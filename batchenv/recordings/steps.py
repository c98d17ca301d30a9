"""Steps of all lanes together, until they are written as one block."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from batchenv import _core
from batchenv.recordings import leaves, sums
from batchenv.recordings.ends import Ends, Returns
from batchenv.recordings.infos import InfoForms, written_infos
from batchenv.spaces import nested


class Results:
    """Observations, rewards, flags and infos of steps that are kept, because the env cannot give them again."""

    def __init__(self) -> None:
        self._kept: list[tuple[list[Any], Any, dict[str, Any]]] = []

    def add(self, step: int, result: Sequence[Any]) -> None:
        """Takes the results of a step of the block. If that is interrupted, it may be taken again."""
        observations = [_copy(leaf) for leaf in leaves.flat(result[0])]
        infos = _core.own_info(with_objects(result[4]))  # the env or the user may write into theirs
        self._kept[step:] = [(observations, np.array(result[1]), infos)]

    def arrays(self, count: int) -> dict[str, Any]:
        """All of it, with a first axis of steps, where every step has as many rows."""
        observations, rewards, infos = zip(*self._kept[:count], strict=True)
        found: dict[str, Any] = {"rewards": np.stack(rewards)}
        for k, column in enumerate(zip(*observations, strict=True)):
            found[f"x{k}"] = stacked(column)
        return found | written_infos(infos)


def with_objects(infos: dict[str, Any]) -> dict[str, Any]:
    """Infos in which last observations are objects, as steps have them, also if they come from a rollout."""
    found, mask = dict(infos), infos.get("_final_obs")
    final = found.get("final_obs")
    if final is None or mask is None or (isinstance(final, np.ndarray) and final.dtype.hasobject):
        return found
    rows = np.empty(len(mask), object)
    for lane in np.flatnonzero(mask).tolist():
        rows[lane] = nested.each(lambda part, lane=lane: np.copy(part[lane]), final)
    return {**found, "final_obs": rows}


def _copy(leaf: Any) -> Any:
    return np.array(leaf) if isinstance(leaf, np.ndarray) else tuple(leaf)


def stacked(column: Sequence[Any]) -> Any:
    """Leaves of several steps as one array; texts as JSON, in bytes."""
    if isinstance(column[0], np.ndarray) and not column[0].dtype.hasobject:
        return np.stack(column)
    return leaves.texts_to_bytes([list(part) for part in column])


class Steps:
    """Steps of all lanes.

    Args:
        parts: of actions.
        lanes: how many.
        most: steps of a block.
        every: observations and infos of each such step of a lane are in the checksums.
        infos: those that are known before.
        stores: whether results are kept as well.
    """

    def __init__(self, parts: Sequence[leaves.Leaf], lanes: int, most: int, every: int, infos: InfoForms, stores: bool):
        self.count, self._most, self._every, self._lanes = 0, most, every, lanes
        self._parts, self._infos, self._stores = parts, infos, stores
        self._actions = [np.empty((most, lanes, *leaf.shape), leaf.dtype) for leaf in parts]
        self._rewards: NDArray[Any] | None = None
        self._flags = np.empty((2, most, lanes), np.bool_)
        self._done: Any = 0
        self._simple = len(parts) == 1 and not parts[0].path and not parts[0].low
        self._clear()

    def _clear(self) -> None:
        self.count = 0
        self._seen = np.zeros(self._lanes, np.uint64)
        self._results = Results() if self._stores else None

    @property
    def full(self) -> bool:
        """Whether the block has to be written."""
        return self.count == self._most

    def begin(self, done: NDArray[np.int64]) -> None:
        """Notes how many steps each lane has made before the block."""
        same = len(done) == 0 or (done == done[0]).all()
        self._done = int(done[0]) if same and len(done) else done.copy()

    @property
    def looks_at_next(self) -> bool:
        """Whether observations and infos of the next step are in the checksums, of some lane."""
        if type(self._done) is int:
            return (self._done + self.count + 1) % self._every == 0
        return bool(((self._done + self.count + 1) % self._every == 0).any())

    def add(self, actions: Any, result: Sequence[Any]) -> None:
        """Takes one step, as `Backend.step` takes and returns it."""
        t = self.count
        if self._simple:
            row = self._actions[0][t]
            row[...] = (
                actions
                if type(actions) is np.ndarray and actions.shape == row.shape
                else np.asarray(actions).reshape(row.shape)
            )
        else:
            for leaf, array in zip(self._parts, self._actions, strict=True):
                array[t] = leaves.kept(leaf, leaves.part_of(actions, leaf.path), (self._lanes,))
        rewards = result[1]
        if self._rewards is None:
            self._rewards = np.empty((self._most, self._lanes), rewards.dtype)
        self._rewards[t] = rewards
        self._flags[0, t] = result[2]
        self._flags[1, t] = result[3]
        seen = self._seen
        if self._results is not None:
            self._results.add(t, result)
        elif self.looks_at_next:
            parts = [*leaves.flat(result[0]), *self._infos.of(result[4], self._lanes)]
            due = (self._done + t + 1) % self._every == 0
            seen = np.where(due, sums.added(seen, sums.of_parts(parts)), seen)
        self._seen, self.count = seen, t + 1  # last, as Ctrl-C may come at any time

    def payload(self, returns: Returns) -> tuple[dict[str, Any], dict[str, Any], Ends]:
        """(meta, arrays, ends) of the block; then it is empty again."""
        t = self.count
        assert self._rewards is not None
        arrays: dict[str, Any] = {
            f"a{k}": leaves.packed(leaf, array[:t])
            for k, (leaf, array) in enumerate(zip(self._parts, self._actions, strict=True))
        }
        rewards = self._rewards[:t]
        if self._results is None:
            before = np.zeros(self._lanes, np.uint64)
            arrays["r"] = sums.halves(sums.over_steps(before, sums.words_of(rewards)))
            arrays["o"] = sums.halves(self._seen)
        else:
            arrays |= self._results.arrays(t)
        ends = returns.of_steps(rewards, *self._flags[:, :t])
        self._clear()
        return {"t": t}, {**arrays, **ends.arrays(self._lanes)}, ends
