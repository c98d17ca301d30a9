"""Windows: the steps of a recording between two, as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from batchenv.recordings import leaves
from batchenv.recordings.leaves import as_array
from batchenv.spaces import nested
from batchenv.text import Texts


class Window(NamedTuple):
    """Steps of lanes, as the env has returned them. All arrays but `before` start with (steps, lanes); those of
    `Recording.episode` with (steps,).

    Attributes:
        observations, rewards, terminations, truncations, infos, actions: as of `batchenv.Rollout`; texts are arrays of
            str.
        before: observations (lanes, ...) before the first step.
        changes: [(step, lanes, observations)]: where something else than a step gave lanes a new observation before
            this step, as a reset does.
    """

    observations: Any
    rewards: NDArray[Any]
    terminations: NDArray[np.bool_]
    truncations: NDArray[np.bool_]
    infos: dict[str, Any]
    actions: Any
    before: Any
    changes: list[tuple[int, NDArray[np.int64], Any]]

    def previous(self) -> Any:
        """The observations on which the actions were taken, in the form of `observations`."""
        before, after = leaves.flat(self.before), leaves.flat(self.observations)
        shifted = [np.concatenate([first[np.newaxis], rest[:-1]]) for first, rest in zip(before, after, strict=True)]
        for step, lanes, observations in self.changes:
            for leaf, part in zip(shifted, leaves.flat(observations), strict=True):
                if len(leaf):
                    leaf[step, lanes] = part
        return leaves.nested_as(self.observations, shifted)


class Collector:
    """Puts steps of lanes into the arrays of a window.

    Args:
        start, stop: which steps of each lane.
        chosen: the lanes, as a player numbers them.
        count: how many lanes the player has.
    """

    def __init__(self, start: int, stop: int, chosen: NDArray[np.int64], count: int):
        self._start, self._stop, self._chosen = start, stop, chosen
        self._column = np.full(count, -1, np.int64)
        self._column[chosen] = np.arange(len(chosen))
        self._arrays: dict[Any, NDArray[Any]] = {}
        self._forms: dict[str, Any] = {}
        self._before: list[Any] | None = None
        self._changes: list[tuple[int, NDArray[np.int64], list[Any]]] = []

    def steps(self, first: NDArray[np.int64], result: Sequence[Any], actions: Any) -> None:
        """Takes steps of all lanes. first: the number of the first one, of each lane; result: as of `Backend.rollout`
        without the actions."""
        count = len(result[1])
        mine = first[self._chosen]
        for offset in np.unique(self._start - 1 - mine).tolist():
            if 0 <= offset < count - 1:  # the window begins among these steps
                row = leaves.nested_as(result[0], [as_array(leaf[offset]) for leaf in leaves.flat(result[0])])
                self.before(np.arange(len(first)), first + offset + 1, row)
        if len(mine) and (mine == mine[0]).all():
            low = max(int(mine[0]), self._start)
            high = min(int(mine[0]) + count, self._stop)
            if low < high:
                source = slice(low - int(mine[0]), high - int(mine[0]))
                target = slice(low - self._start, high - self._start)
                self._put(result, actions, lambda part: as_array(part[source])[:, self._chosen], (target,))
            return
        for column, lane in enumerate(self._chosen.tolist()):
            low, high = max(int(first[lane]), self._start), min(int(first[lane]) + count, self._stop)
            if low < high:
                source = slice(low - int(first[lane]), high - int(first[lane]))
                target = slice(low - self._start, high - self._start)
                self._put(
                    result, actions, lambda part, source=source, lane=lane: as_array(part[source])[:, lane],
                    (target, column),
                )  # fmt: skip

    def rows(self, lanes: NDArray[np.int64], steps: NDArray[np.int64], result: Sequence[Any], actions: Any) -> None:
        """Takes a step of different lanes. steps: its number, of each lane."""
        wanted = np.flatnonzero((self._column[lanes] >= 0) & (steps >= self._start) & (steps < self._stop))
        if len(wanted):
            place = (steps[wanted] - self._start, self._column[lanes[wanted]])
            self._put(result, actions, lambda part: as_array(part)[wanted], place)

    def _put(self, result: Sequence[Any], actions: Any, taken: Any, place: tuple[Any, ...]) -> None:
        values = dict(zip(("observations", "rewards", "terminations", "truncations"), result[:4], strict=True))
        for name, value in {**values, "actions": actions, "infos": dict(result[4])}.items():
            if name in self._forms and name == "infos":
                self._forms[name] = _merged(self._forms[name], value)
            else:
                self._forms.setdefault(name, value)
            self._leaf((name,), value, taken, place)

    def _leaf(self, path: tuple[Any, ...], value: Any, taken: Any, place: tuple[Any, ...]) -> None:
        if isinstance(value, dict):
            for key, part in value.items():
                self._leaf((*path, key), part, taken, place)
            return
        texts = isinstance(value, Texts) or (isinstance(value, tuple) and value and isinstance(value[0], str))
        if isinstance(value, tuple) and not texts:
            for key, part in enumerate(value):
                self._leaf((*path, key), part, taken, place)
            return
        rows = taken(value)
        target = self._arrays.get(path)
        if target is None:
            inner = rows.shape[2:] if len(place) == 1 else rows.shape[1:]
            shape = (self._stop - self._start, len(self._chosen), *inner)
            target = np.full(shape, None, object) if rows.dtype.hasobject else np.zeros(shape, rows.dtype)
            self._arrays[path] = target
        target[place] = rows

    def before(self, lanes: NDArray[np.int64], steps: NDArray[np.int64], observations: Any) -> None:
        """Is told the present observations of lanes, after so many steps of each. Within the window this is a change.
        observations: of all lanes."""
        columns = self._column[lanes]
        at_start = lanes[(columns >= 0) & (steps == self._start)]
        parts = [as_array(part) for part in leaves.flat(observations)]
        if len(at_start):
            if self._before is None:
                self._before = [np.empty((len(self._chosen), *part.shape[1:]), part.dtype) for part in parts]
                self._form = observations
            for target, part in zip(self._before, parts, strict=True):
                target[self._column[at_start]] = part[at_start]

    def change(self, lanes: NDArray[np.int64], steps: NDArray[np.int64], observations: Any) -> None:
        """Is told that lanes have these observations (of all lanes) now, although they have made no step."""
        self.before(lanes, steps, observations)
        inside = (self._column[lanes] >= 0) & (steps > self._start) & (steps < self._stop)
        for step in np.unique(steps[inside]).tolist():
            some = lanes[inside & (steps == step)]
            parts = [np.array(as_array(part)[some]) for part in leaves.flat(observations)]
            self._changes.append((step - self._start, self._column[some], parts))

    def window(self) -> Window:
        """What was collected."""

        def made(path: tuple[Any, ...], form: Any) -> Any:
            if path in self._arrays:
                return self._arrays[path]
            if isinstance(form, dict):
                return {key: made((*path, key), part) for key, part in form.items()}
            return tuple(made((*path, key), part) for key, part in enumerate(form))

        found = {name: made((name,), form) for name, form in self._forms.items()}
        before = None if self._before is None else leaves.nested_as(self._form, self._before)
        changes = [(step, lanes, leaves.nested_as(self._form, parts)) for step, lanes, parts in self._changes]
        return Window(**found, before=before, changes=changes)


def _merged(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """The keys of both."""
    both = dict(one)
    for key, value in other.items():
        known = both.get(key)
        both[key] = (
            _merged(known, value) if isinstance(value, dict) and isinstance(known, dict) else both.get(key, value)
        )
    return both


def of_one(window: Window) -> Window:
    """A window of one lane, without the axis of lanes."""
    parts = [nested.each(lambda part: part[:, 0], value) for value in window[:6]]
    before = nested.each(lambda part: part[0], window.before)
    changes = [(step, lanes, nested.each(lambda part: part[0], obs)) for step, lanes, obs in window.changes]
    return Window(*parts, before=before, changes=changes)
