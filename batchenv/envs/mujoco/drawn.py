"""Fields of mjModel whose numbers are drawn: what is drawn, and models with it.

Tasks in NumPy use `Changes` by way of batchenv.robots.Randomization; tasks in C have a table (be_drawn in
csrc/include/batchenv.h), and `DrawnModels` makes what it says.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from batchenv import _core
from batchenv.arguments.messages import unknown_key
from batchenv.arguments.numbers import Range, brief, check_range, integer
from batchenv.envs.mujoco import fields, library, reads
from batchenv.system import memory

Distribution = Literal["uniform", "log_uniform", "normal"]
How = Literal["scale", "add", "set"]
_DISTRIBUTIONS = ("uniform", "log_uniform", "normal")
_KINDS = {"body": "body", "geom": "geom", "jnt": "joint", "dof": "joint", "tendon": "tendon", "actuator": "actuator"}


class Stream(Protocol):
    """What draws numbers: lanes, or models of a pool. `len()` says how many rows."""

    def __len__(self) -> int: ...

    def uniform(self, low: ArrayLike, high: ArrayLike, size: int) -> NDArray[np.float64]: ...

    def normal(self, loc: ArrayLike, scale: ArrayLike, size: int) -> NDArray[np.float64]: ...


class Pool:
    """A stream of numbers for `count` models, from a seed of its own."""

    def __init__(self, count: int, seed: int):
        self._count, self._rng = count, np.random.default_rng(seed)

    def __len__(self) -> int:
        return self._count

    def uniform(self, low: ArrayLike, high: ArrayLike, size: int) -> NDArray[np.float64]:
        return self._rng.uniform(np.asarray(low, float), np.asarray(high, float), (self._count, size))

    def normal(self, loc: ArrayLike, scale: ArrayLike, size: int) -> NDArray[np.float64]:
        return self._rng.normal(np.asarray(loc, float), np.asarray(scale, float), (self._count, size))


class _Raw:
    """Numbers of one lane that have been drawn already: from 0 to 1, or of the standard normal distribution."""

    def __init__(self, numbers: NDArray[np.float64]):
        self._numbers, self._next = numbers, 0

    def __len__(self) -> int:
        return 1

    def _take(self, size: int) -> NDArray[np.float64]:
        self._next += size
        return self._numbers[None, self._next - size : self._next]

    def uniform(self, low: ArrayLike, high: ArrayLike, size: int) -> NDArray[np.float64]:  # as Lanes.uniform does
        low = np.asarray(low, np.float64)
        return low + (np.asarray(high, np.float64) - low) * self._take(size)

    def normal(self, loc: ArrayLike, scale: ArrayLike, size: int) -> NDArray[np.float64]:
        return np.asarray(loc, np.float64) + np.asarray(scale, np.float64) * self._take(size)


class Change(NamedTuple):
    """How one field's numbers become others."""

    field: str
    places: NDArray[np.int64]  # in the flat field: (things, columns)
    how: How
    range: Range
    distribution: Distribution
    together: bool
    with_inertia: bool

    @property
    def shape(self) -> tuple[int, int]:
        """How many numbers are drawn: of things, and of columns."""
        return (1 if self.together else len(self.places), self.places.shape[1])

    @property
    def size(self) -> int:
        return int(np.prod(self.shape))

    def draw(self, stream: Stream) -> NDArray[np.float64]:
        """Numbers (n, size)."""
        if self.distribution == "normal":
            return stream.normal(*self.range, size=self.size)
        if self.distribution == "log_uniform":
            return np.exp(stream.uniform(*np.log(self.range), size=self.size))
        return stream.uniform(*self.range, size=self.size)


class Changes:
    """Those of one model, in the order in which they are made. model: its fields are what numbers are drawn around."""

    def __init__(self, model: Any):
        self.model = model
        self.rows: list[Change] = []

    def add(
        self, field: str, how: How, values: Range, *, names: str | None = None,
        columns: int | Sequence[int] | None = None, distribution: Distribution = "uniform", together: bool = False,
        with_inertia: bool = False,
    ) -> None:  # fmt: skip
        """See batchenv.robots.Randomization.scale."""
        if field not in fields.MODEL_FIELDS:
            raise ValueError(unknown_key(f"no field {field!r} of mjModel can be drawn", field, fields.MODEL_FIELDS))
        if distribution not in _DISTRIBUTIONS:
            raise ValueError(f"distribution={distribution!r} must be one of {', '.join(map(repr, _DISTRIBUTIONS))}")
        if with_inertia and field != "body_mass":
            raise ValueError(f"with_inertia=True is for body_mass, not for {field}")
        checked = _checked(values, distribution)
        places = self._places(field, names, columns)
        self.rows.append(Change(field, places, how, checked, distribution, together, with_inertia))

    @property
    def size(self) -> int:
        """How many numbers are drawn for each model."""
        return sum(row.size for row in self.rows)

    @property
    def names(self) -> set[str]:
        """The fields that differ from the model's."""
        return {row.field for row in self.rows} | {"body_inertia" for row in self.rows if row.with_inertia}

    def _places(self, field: str, names: str | None, columns: int | Sequence[int] | None) -> NDArray[np.int64]:
        values, kind = fields.read(self.model, field), _KINDS.get(field.split("_")[0])
        if not values.size:
            raise ValueError(f"the model has no numbers of {field}: leave it out")
        if field == "qpos_spring":
            kind = "joint"
        if kind is None or field in fields.OPTIONS:
            if names is not None:
                raise ValueError(f"{field} belongs to the whole model: leave out names={names!r}")
            places = np.arange(values.size)[None, :]
        elif names is None:
            places = np.arange(values.size).reshape(len(values), -1)
        else:
            mujoco, _ = library.load()
            ((_, size, first),) = reads.resolve(mujoco, self.model, [(f"model.{field}", kind, names)])
            places = first[:, None] + np.arange(size)
        if columns is not None:
            chosen = np.atleast_1d(columns)
            for column in chosen.tolist():
                integer("columns", column, 0, places.shape[1] - 1, f": {field} has {places.shape[1]} of each")
            places = places[:, chosen]
        return places

    def draw(self, stream: Stream) -> NDArray[np.float64]:
        """All numbers of all rows: (n, size)."""
        return np.concatenate([np.zeros((len(stream), 0)), *(row.draw(stream) for row in self.rows)], axis=1)

    def fields_of(self, numbers: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
        """What these numbers make of the model: fields with a row per row of `numbers`."""
        changed: dict[str, NDArray[np.float64]] = {}

        def rows_of(name: str) -> NDArray[np.float64]:
            if name not in changed:
                changed[name] = np.repeat(fields.read(self.model, name).reshape(1, -1), len(numbers), axis=0)
            return changed[name]

        end = 0
        for row in self.rows:
            begin, end = end, end + row.size
            drawn = numbers[:, begin:end].reshape(len(numbers), *row.shape)
            field = rows_of(row.field)
            before = field[:, row.places]
            if row.how == "set":
                after = np.broadcast_to(drawn, before.shape)
            else:
                after = before * drawn if row.how == "scale" else before + drawn
            field[:, row.places] = after
            if row.with_inertia:
                bodies = row.places[:, 0]
                ratio = np.divide(after, before, out=np.ones_like(before), where=before != 0)
                rows_of("body_inertia").reshape(len(numbers), -1, 3)[:, bodies] *= ratio
        return {name: row.reshape(len(numbers), *fields.read(self.model, name).shape) for name, row in changed.items()}


def _checked(values: Range, distribution: Distribution) -> Range:
    """The numbers of a distribution, if it can have them."""
    if distribution == "normal":
        if np.shape(values) != (2,) or not np.isfinite(values).all() or values[1] < 0:
            raise ValueError(f"values={brief(values)} must be a mean and a deviation, which is not negative")
        return float(values[0]), float(values[1])
    checked = check_range("values", values)
    if distribution == "log_uniform" and not checked[0] > 0:
        raise ValueError(f"values={brief(values)} must be larger than 0 for distribution='log_uniform'")
    return checked


class DrawnModels:
    """The models of lanes whose task is in C and has a table of what is drawn.

    Args:
        lanes: whose models they are.
        table: as `_core.type_info` has it.
        pool: how many models are drawn at first, from `seed`, of which each episode has one; 0: each has its own.

    Raises:
        ValueError: a row of the table means nothing with this model.
    """

    def __init__(self, lanes: library.Lanes, table: Sequence[dict[str, Any]], pool: int, seed: int):
        self._lanes, self._changes = weakref.ref(lanes), Changes(lanes.model)  # the lanes' source has this object
        for index, row in enumerate(table):
            try:
                self._changes.add(**row)
            except (TypeError, ValueError) as problem:
                raise type(problem)(f"row {index} of the task's table `drawn`: {problem}") from None
        mujoco, _ = library.load()
        memory.check(f"{pool} models", pool * mujoco.mj_sizeModel(lanes.model), 0)
        self._numbers = self._changes.draw(Pool(pool, seed))
        normal = [np.full(row.size, row.distribution == "normal") for row in self._changes.rows]
        self._forks = _forks.count
        self._source = _core.MujocoDraws(lanes.source, self._change, np.concatenate([*normal]), self._numbers)
        lanes.drawn, lanes.drawn_names = self._source, self._changes.names

    def _change(self, lane: int, row: NDArray[np.float64], raw: bool) -> None:
        """Gives a lane the model that its row says: see be_mujoco_source.drawn. The C core calls it in any thread.

        raw: its numbers are as the random stream gave them, or there are none yet.
        """
        with _forks.lock:
            lanes, names, index = self._lanes(), self._changes.names, int(row[0]) - 1
            if lanes is None:
                raise RuntimeError("the env has been closed")
            if self._forks != _forks.count:  # a thread of the parent's may have had the lock of its random numbers
                self._forks, lanes.trial = _forks.count, None
            if raw:
                row[1:] = self._changes.draw(_Raw(row[1:]))[0] if index < 0 else self._numbers[index]
            theirs = lanes.changed.get(lane, set()) - names  # what the user has changed
            pooled = index >= 0 and not theirs
            if not pooled or self._source.owns[index] is None:
                if row[0] in (_core.MUJOCO_NOT_DRAWN, _core.MUJOCO_DRAWN_FAILED):
                    values = {name: fields.read(lanes.model, name) for name in names}
                else:
                    values = {name: rows[0] for name, rows in self._changes.fields_of(row[None, 1:]).items()}
                fields.set_fields(lanes, np.array([lane]), values, keep=index >= 0)
            if pooled:
                own = lanes.own.pop(lane, None)
                lanes.changed.pop(lane, None)
                self._source.put(lanes.source, index, lane, own)


class _Forks:
    """One lock for all: models are made one at a time. A child of fork() has a new one, since a thread that it does not
    have may hold the old one."""

    def __init__(self) -> None:
        self.count, self.lock = 0, threading.Lock()

    def renew(self) -> None:
        self.count, self.lock = self.count + 1, threading.Lock()


_forks = _Forks()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forks.renew)


def one_at_a_time() -> threading.Lock:
    """The lock that threads hold while they make models."""
    return _forks.lock
