"""Backends whose lanes follow plans by the C core's agenda."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from batchenv import _core
from batchenv.arguments.messages import unknown_keyword
from batchenv.backend.course import Course, Entries
from batchenv.backend.protocol import Backend, Options
from batchenv.backend.translator import Translator


class _Followed(NamedTuple):
    """The arguments of `_core.Batch.set_agenda`."""

    agenda: _core.Agenda | None = None
    tells_entries: bool = False
    labels: NDArray[Any] | None = None
    params: NDArray[np.intc] | None = None


class PlannedBackend(Backend):
    """What `CoreBackend` has for plans.

    Attributes:
        core, translator: as of `CoreBackend`.
    """

    core: _core.Batch
    translator: Translator
    _id: str
    _course: Course | None = None
    _followed = _Followed()

    def core_options(self, options: Options) -> Options:
        raise NotImplementedError

    def _look_at_spaces(self) -> None:
        raise NotImplementedError

    def set_plan(
        self, course: Course | None, places: NDArray[np.int64] | None = None, rows: NDArray[np.int64] | None = None
    ) -> None:
        """See `Backend.set_plan`. rows: see `_core.Agenda`."""
        before, new = self._followed, _Followed()
        if course is not None:
            order = _core.AGENDA_ORDERS[course.order]
            agenda = _core.Agenda(self.num_envs, course.streams, order, course.key, course.repeat, rows)
            params = self._fill(agenda, course)
            new = _Followed(agenda, course.tells, course.entries.labels_and_none(), params)
            if places is not None:
                check_places(places, course.streams, course.entries.size)
                agenda.places[:] = places
        self.core.set_agenda(*new)
        try:
            self._look_at_spaces()
        except BaseException:  # a transform cannot handle the new spaces
            self.core.set_agenda(*before)
            self._look_at_spaces()
            raise
        self._followed, self._course = new, course

    def set_weights(self, course: Course) -> None:
        self._present().weigh(course.sums())
        self._course = course

    def skip_entries(self, lanes: NDArray[np.int64] | None) -> None:
        self.core.skips = lanes

    def places(self) -> NDArray[np.int64]:
        return self._present().places.copy()

    def put_places(self, places: NDArray[np.int64], lanes: NDArray[np.int64]) -> None:
        agenda = self._present()
        check_places(places, agenda.streams, agenda.count)
        agenda.places[lanes] = places

    def _present(self) -> Any:
        agenda = self.core.agenda
        assert agenda is not None, "BatchEnv asks only when there is a plan"
        return agenda

    # ---- what entries say, for the C core ----------------------------------------------------------------------------

    def _fill(self, agenda: Any, course: Course) -> NDArray[np.intc] | None:
        """Fills an agenda; returns the numbers of the params that its entries set, or None."""
        entries = course.entries
        table = _core.type_info(self.translator.type_name)["params"]
        numbers, values, fields = [], [], {}
        for name, given in (entries.params or {}).items():
            name = self.translator.ALIASES.get(name, name)
            if name in self.translator.fields:
                fields[name] = given
                continue
            number = next((k for k, row in enumerate(table) if row["name"] == name), None)
            if number is None:
                known = [row["name"] for row in table if row["per_lane"]]
                raise TypeError(unknown_keyword(self._id, name, known, fields=self.translator.fields))
            numbers.append(number)
            values.append(_numbers(table[number], given))
        if fields:
            self.translator.check_entries(fields, entries.size)
            agenda.prepare = self.translator.preparer(fields)
        params = np.array(numbers, np.intc) if numbers else None
        agenda.fill(
            entries.size,
            course.sums(),
            course.lists(),
            entries.seeds,
            self.core.draws_old,
            self._options_of(entries),
            None if params is None else (params, np.stack(values, axis=1)),
            self._snapshots_of(entries),
        )
        return params

    def _options_of(self, entries: Entries) -> Any:
        if entries.options is None:
            return None
        values = []
        for k, options in enumerate(entries.options):
            try:
                values.append(self.core.option_values(self.core_options(options) or {}))
            except (TypeError, ValueError) as problem:
                raise type(problem)(f"options[{k}]: {problem}") from None
        return np.array([options is not None for options in entries.options]), np.stack(values)

    def _snapshots_of(self, entries: Entries) -> Any:
        if entries.snapshots is None:
            return None
        rows: list[tuple[bytes | None, int]] = []
        known: dict[int, tuple[bytes, int]] = {}  # snapshots that have been checked
        params = {name: np.broadcast_to(value, self.num_envs) for name, value in self.get_params().items()}
        for k, one in enumerate(entries.snapshots):
            if one is None:
                rows.append((None, 0))
                continue
            snapshot, row = one
            data, count = known.get(id(snapshot), (b"", 0))
            if not count:
                data = bytes(snapshot)
                count = self.core.check_snapshot(data)
                known[id(snapshot)] = data, count
            if self.core.snapshot_waits(data, row):
                raise ValueError(
                    f"snapshots[{k}] is of a lane that has finished its episode and waits for its reset: an episode "
                    "cannot start there"
                )
            for name, value in self.core.snapshot_params(data, np.array([row])).items():
                if name not in (entries.params or {}) and not (params[name] == value[0]).all():
                    raise ValueError(
                        f"snapshots[{k}] is of a lane with {name}={value[0]}, and the lanes of this env have "
                        f"{params[name][0]}: give the plan params={{{name!r}: ...}}, or set_params() first"
                    )
            rows.append((data, row))
        return rows


def check_places(places: NDArray[np.int64], streams: int, count: int) -> None:
    """Raises ValueError unless these may be the places of lanes in a plan of so many streams and entries."""
    stream, taken, entry, following = places.T
    sound = (stream >= 0) & (stream < streams) & (taken >= 0) & (entry >= -1) & (following >= _core.UNDECIDED)
    if not (sound & (entry < count) & (following < count)).all():
        raise ValueError("these places in a plan name entries or lanes that the plan does not have")


def _numbers(row: dict[str, Any], values: NDArray[Any]) -> NDArray[np.float64]:
    """The values of a param, one per entry, as the C core has them."""
    name, kind = row["name"], row["kind"]
    if not row["per_lane"]:
        raise ValueError(f"{name} is one value for all lanes, so entries of a plan cannot set it: give it to make()")
    if values.ndim != 1:
        raise ValueError(f"params[{name!r}] has shape {values.shape}, but must have one value per entry")
    if kind == "choice":
        for k, value in enumerate(values.tolist()):
            if value not in row["choices"]:
                raise ValueError(
                    f"params[{name!r}][{k}]={value!r} must be one of {', '.join(map(repr, row['choices']))}"
                )
        return np.array([row["choices"].index(value) for value in values.tolist()], np.float64)
    kinds, what = {"float": ("iuf", "numbers"), "bool": ("b", "bools")}.get(kind, ("iu", "whole numbers (ints)"))
    if values.dtype.kind not in kinds:
        raise TypeError(f"params[{name!r}] has dtype {values.dtype}, but must hold {what}")
    return values.astype(np.float64)
