"""What lanes of several C types have: parameters, states, snapshots, plans, each kept by the backend of their type."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from gymnasium.error import ResetNeeded
from numpy.typing import NDArray

from batchenv import _core
from batchenv.arguments.messages import unknown_keyword
from batchenv.backend.core import CoreBackend
from batchenv.backend.course import Course
from batchenv.backend.joined_snapshots import Pieces, pack, unpack
from batchenv.backend.lanes import mask_of, spread, state_columns
from batchenv.backend.planned import check_places
from batchenv.backend.protocol import Backend
from batchenv.backend.snapshot import Snapshot


class JoinedStates(Backend):
    """What `JoinedBackend` has for all that is not a step.

    Attributes:
        joined, parts: as of `JoinedBackend`.
    """

    joined: _core.Joined
    parts: list[tuple[int, CoreBackend]]
    _id: str
    _names: list[str]  # of the parts
    _keywords: dict[str, Any]
    _fixed: Sequence[str]
    _course: Course | None = None
    _places: NDArray[np.int64] | None = None

    def _look_at_spaces(self) -> None:
        raise NotImplementedError

    def _split(self, lanes: NDArray[np.int64]) -> list[tuple[int, NDArray[np.int64]]]:
        """(number of a part, places in `lanes` of its lanes), of the parts that have some of these lanes."""
        owners = self._owners(lanes)
        return [(int(number), np.flatnonzero(owners == number)) for number in np.unique(owners)]

    def _owners(self, lanes: NDArray[np.int64]) -> NDArray[np.int64]:
        """The numbers of the parts that have these lanes."""
        return np.searchsorted([first for first, _ in self.parts], lanes, "right") - 1

    def _of_each(self, get: Callable[[CoreBackend], Sequence[Any] | NDArray[Any]]) -> list[Any]:
        """What `get` returns for the lanes of each part, as one list."""
        return [value for _, part in self.parts for value in get(part)]

    def _own(self, value: Any, first: int, part: CoreBackend, ndim: int = 0) -> Any:
        """What a value for all lanes, or an array with one of so many axes per lane, is for the lanes of a part."""
        if (
            not isinstance(value, (np.ndarray, list, tuple))
            or np.ndim(value) != ndim + 1
            or len(value) != self.num_envs
        ):
            return value
        rows = np.asarray(value)[first : first + part.num_envs]
        return rows[0].item() if ndim == 0 and all(row == rows[0] for row in rows) else rows

    # ---- parameters and attributes ---------------------------------------------------------------------------------

    def get_params(self) -> dict[str, Any]:
        """Those that all parts have."""
        each = [part.get_params() for _, part in self.parts]
        params = {}
        for name in each[0]:
            if not all(name in one for one in each):
                continue
            rows = [np.broadcast_to(one[name], part.num_envs) for one, (_, part) in zip(each, self.parts, strict=True)]
            column = np.concatenate(rows)
            params[name] = each[0][name] if all(value == column[0] for value in column) else column
            if np.ndim(params[name]) and all(value == column[0] for value in column):
                params[name] = column[0].item()
        return params

    def set_params(self, params: dict[str, Any], lanes: NDArray[np.int64] | None) -> None:
        for name in params:
            known = [self._takes(part, name) for _, part in self.parts]
            if not all(known):
                fields = [field for field in self.parts[0][1].translator.fields if self._is_everywhere(field)]
                raise TypeError(unknown_keyword(self._id, name, self.get_params(), fields=fields))
        chosen = np.arange(self.num_envs) if lanes is None else lanes
        changed: list[tuple[CoreBackend, dict[str, Any]]] = []
        try:
            for number, places in self._split(chosen):
                first, part = self.parts[number]
                own = {}
                for name, value in params.items():
                    shape = part.translator.field_shape(name) if name in part.translator.fields else ()
                    if lanes is not None:
                        value = spread(name, value, shape, lanes, self.num_envs)
                    own[name] = self._own(value, first, part, len(shape))
                before = part.get_params()
                part.set_params(own, None if lanes is None else chosen[places] - first)
                changed.append((part, before))
            self._look_at_spaces()
        except BaseException:
            for part, before in changed:
                part.set_params(before, None)
            raise

    def _takes(self, part: CoreBackend, name: str) -> bool:
        return name in part.get_params() or name in part.translator.fields

    def _is_everywhere(self, name: str) -> bool:
        return all(self._takes(part, name) for _, part in self.parts)

    def attributes(self) -> Sequence[str]:
        """Those that all parts have."""
        each = [part.attributes() for _, part in self.parts]
        return [name for name in each[0] if all(name in one for one in each)]

    def attribute(self, name: str) -> Sequence[Any] | NDArray[Any]:
        return self._of_each(lambda part: part.attribute(name))

    def generators(self) -> tuple[np.random.Generator | np.random.RandomState, ...]:
        return tuple(self._of_each(lambda part: part.generators()))

    def keywords(self) -> dict[str, Any]:
        params = {name: value for name, value in self.get_params().items() if name not in self._fixed}
        return {**self._keywords, **params}

    def changes(self) -> Any:
        each = [part.changes() for _, part in self.parts]
        return each if any(each) else None

    def take_changes(self, changes: Any) -> None:
        for (_, part), own in zip(self.parts, changes, strict=True):
            if own:
                part.take_changes(own)

    # ---- states ----------------------------------------------------------------------------------------------------

    def state(self) -> dict[str, NDArray[Any]]:
        """The fields that all parts have in the same form."""
        each = [part.state() for _, part in self.parts]
        columns = {}
        for name, first in each[0].items():
            forms = {(one[name].dtype, one[name].shape[1:]) for one in each if name in one}
            if forms == {(first.dtype, first.shape[1:])} and all(name in one for one in each):
                columns[name] = np.concatenate([one[name] for one in each])
        return columns

    def set_state(self, values: dict[str, Any], lanes: NDArray[np.int64]) -> Any:
        chosen = np.unique(lanes)
        self.joined.refuse_in_flight("set_state()", mask_of(chosen, self.num_envs))
        if self.needs_reset:
            raise ResetNeeded("env.set_state() before any reset: call env.reset() once first")
        fields = _core.type_info(self.parts[0][1].translator.type_name)["state"]
        columns = state_columns(self._id, values, self.state(), fields, lanes)
        waiting = np.intersect1d(np.flatnonzero(self.waiting()), chosen)
        if len(waiting):
            raise ValueError(
                f"lane {waiting[0]} has finished its episode and waits for its reset, so it cannot be put into a "
                "state: reset it first, with reset(options={'reset_mask': ...}), or choose other lanes"
            )
        done: list[tuple[CoreBackend, Snapshot, NDArray[np.int64]]] = []
        try:
            for number, places in self._split(chosen):
                first, part = self.parts[number]
                own = chosen[places] - first
                done.append((part, part.snapshot(own), own))
                part.set_state({name: column[places] for name, column in columns.items()}, own)
            return self.joined.observe()
        except BaseException:
            for part, before, own in done:
                part.restore(before, np.arange(len(own)), own)
            raise

    def waiting(self) -> NDArray[np.bool_]:
        return np.array(self._of_each(lambda part: part.waiting()))

    # ---- snapshots -------------------------------------------------------------------------------------------------

    def snapshot(self, lanes: NDArray[np.int64]) -> Snapshot:
        rows, pieces = np.empty((len(lanes), 2), np.int64), []
        for number, places in self._split(lanes):
            first, part = self.parts[number]
            rows[places, 0], rows[places, 1] = len(pieces), np.arange(len(places))
            pieces.append(part.snapshot(lanes[places] - first))
        return pack(Pieces(pieces, rows))

    def check_snapshot(self, snapshot: Snapshot) -> int:
        pieces = unpack(snapshot)
        for piece in pieces.snapshots:
            problems = [self._problem(part, piece) for _, part in self.parts]
            if all(problems):
                raise problems[0] or ValueError("no lane can have this snapshot")
        return len(pieces.rows)

    @staticmethod
    def _problem(part: CoreBackend, piece: Snapshot) -> ValueError | None:
        """Why lanes of a part cannot have a snapshot; None: they can."""
        try:
            part.check_snapshot(piece)
        except ValueError as problem:
            return problem
        return None

    def restore(self, snapshot: Snapshot, rows: NDArray[np.int64], lanes: NDArray[np.int64]) -> Any:
        pieces = unpack(snapshot)
        self.joined.refuse_in_flight("restore()", mask_of(lanes, self.num_envs))
        steps = []
        for number, places in self._split(lanes):
            first, part = self.parts[number]
            held = pieces.rows[rows[places]]
            for k in np.unique(held[:, 0]).tolist():
                problem = self._problem(part, pieces.snapshots[k])
                own = places[held[:, 0] == k]
                if problem is not None:
                    raise ValueError(
                        f"row {rows[own[0]]} of the snapshot cannot go into lane {lanes[own[0]]}, which is one of "
                        f"{self._names[number]}: {problem}; lanes and rows say which row goes where"
                    ) from problem
                steps.append((part, pieces.snapshots[k], held[held[:, 0] == k, 1], lanes[own] - first))
        self.joined.note_reset()
        try:
            for part, piece, held, own in steps:
                part.restore(piece, held, own)
            self._look_at_spaces()
            return self.joined.observe()
        except BaseException:
            self.joined.tear("restore() was cut short, and some lanes are restored, others are not")
            raise

    # ---- plans -----------------------------------------------------------------------------------------------------

    def set_plan(self, course: Course | None, places: NDArray[np.int64] | None = None) -> None:
        self.joined.refuse_in_flight("a plan", None)
        before, rows = (self._course, self._places), None
        if course is not None:
            if course.entries.snapshots is not None:
                raise NotImplementedError(
                    f"{self._id}: entries of a plan cannot be snapshots where lanes have several tasks: restore() them"
                )
            rows = _core.first_places(self.num_envs)
            if places is not None:
                check_places(places, course.streams, course.entries.size)
                rows[:] = places
        try:
            self._give_plan(course, rows)
            self._look_at_spaces()
        except BaseException:
            self._give_plan(*before)
            self._look_at_spaces()
            raise
        labels = None if course is None else course.entries.labels_and_none()
        self.joined.set_plan(course is not None and course.tells, labels)

    def _give_plan(self, course: Course | None, rows: NDArray[np.int64] | None) -> None:
        for first, part in self.parts:
            part.set_plan(course, None, None if rows is None else rows[first : first + part.num_envs])
        self._course, self._places = course, rows

    def set_weights(self, course: Course) -> None:
        for _, part in self.parts:
            part.set_weights(course)
        self._course = course

    def skip_entries(self, lanes: NDArray[np.int64] | None) -> None:
        for first, part in self.parts:
            own = None if lanes is None else lanes[(lanes >= first) & (lanes < first + part.num_envs)] - first
            part.skip_entries(own)

    def places(self) -> NDArray[np.int64]:
        assert self._places is not None, "BatchEnv asks only when there is a plan"
        return self._places.copy()

    def put_places(self, places: NDArray[np.int64], lanes: NDArray[np.int64]) -> None:
        assert self._places is not None, "BatchEnv asks only when there is a plan"
        assert self._course is not None, "BatchEnv asks only when there is a plan"
        check_places(places, self._course.streams, self._course.entries.size)
        self._places[lanes] = places
