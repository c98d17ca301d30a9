"""Models that differ from episode to episode."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from batchenv.arguments.messages import unknown_key
from batchenv.arguments.numbers import brief, integer
from batchenv.envs.mujoco import fields, library, reads
from batchenv.robots.parts import Range, check_range

if TYPE_CHECKING:
    from batchenv.envs.mujoco.vectorized.view import Lanes

Distribution = Literal["uniform", "log_uniform", "normal"]
_DISTRIBUTIONS = ("uniform", "log_uniform", "normal")
_KINDS = {"body": "body", "geom": "geom", "jnt": "joint", "dof": "joint", "tendon": "tendon", "actuator": "actuator"}


class _Change(NamedTuple):
    field: str
    places: NDArray[np.int64]  # in the flat field: (things, columns)
    how: Literal["scale", "add", "set"]
    range: Range
    distribution: Distribution
    together: bool
    with_inertia: bool


class _Pool:
    """Draws for `count` models what `Lanes` draws for lanes."""

    def __init__(self, count: int, seed: int):
        self._count, self._rng = count, np.random.default_rng(seed)

    def __len__(self) -> int:
        return self._count

    def uniform(self, low: Any, high: Any, size: int) -> NDArray[np.float64]:
        return self._rng.uniform(low, high, (self._count, size))

    def normal(self, loc: Any, scale: Any, size: int) -> NDArray[np.float64]:
        return self._rng.normal(loc, scale, (self._count, size))


class Randomization:
    """Draws fields of mjModel when episodes start: `scale`, `add` and `set` say which, in the task's prepare; call
    `start` in its start. What MuJoCo computes from a field is computed anew, which takes some milliseconds for
    each lane that starts; with a `pool`, it is done once for each of the pool's models.

    Args:
        model: the task's model. Numbers are drawn around its fields.
        pool: 0: each episode has numbers of its own. n: n models are drawn at first, from `seed`, and each episode has
            one of them. 1,024 models, or 256 MiB of them if that is less, are kept. Where other fields have been set by
            keywords or `env.set_params`, models are made anew each time.
        seed: of the pool.
        name: lanes.NAME has the factors, summands and values drawn for each lane's episode, in the order of the calls,
            if `state` is put into the task's: for critics, which may see them. Snapshots hold them, but not the models.
    """

    def __init__(self, model: Any, *, pool: int = 0, seed: int = 0, name: str = "drawn"):
        self._model = model
        self._pool, self._seed = integer("pool", pool, 0, None), seed
        self._name, self._shown = name, False
        self._made: tuple[dict[str, NDArray[np.float64]], NDArray[np.float64]] | None = None  # the pool
        self._changes: list[_Change] = []

    @property
    def state(self) -> dict[str, ArrayLike]:
        """What remembers the numbers drawn. Ask for it when all calls of `scale`, `add` and `set` have been made."""
        self._shown = True
        return {self._name: np.zeros(sum(np.prod(_shape(change)) for change in self._changes))}

    def scale(self, field: str, values: Range, **more: Any) -> None:
        """Multiplies what the model has.

        Args:
            field: a field that `env.set_params` takes, such as body_mass, geom_friction, dof_armature or
                actuator_gainprm.
            values: two numbers, between which factors are drawn from the uniform distribution.
            more: `distribution="log_uniform"`: logarithms of factors are drawn so; "normal": the values are a mean and
                a deviation. `names`: a name or a regular expression: whose numbers; for degrees of freedom, the joints'
                names; without it, those of all. `columns`: which of each thing's numbers, such as 0, the sliding
                friction of geom_friction; without it, all. `together=True`: all things get the same numbers, instead of
                each its own. `with_inertia=True`, of body_mass: body_inertia is scaled as the mass, as that of a body
                of another density.
        """
        self._add(field, "scale", values, **more)

    def add(self, field: str, values: Range, **more: Any) -> None:
        """Adds to what the model has: as `scale`, but with summands."""
        self._add(field, "add", values, **more)

    def set(self, field: str, values: Range, **more: Any) -> None:
        """Replaces what the model has: as `scale`, but with the values themselves."""
        self._add(field, "set", values, **more)

    def _add(
        self, field: str, how: Literal["scale", "add", "set"], values: Range, *, names: str | None = None,
        columns: int | Sequence[int] | None = None, distribution: Distribution = "uniform", together: bool = False,
        with_inertia: bool = False,
    ) -> None:  # fmt: skip
        if field not in fields.MODEL_FIELDS:
            raise ValueError(unknown_key(f"no field {field!r} of mjModel can be drawn", field, fields.MODEL_FIELDS))
        if distribution not in _DISTRIBUTIONS:
            raise ValueError(f"distribution={distribution!r} must be one of {', '.join(map(repr, _DISTRIBUTIONS))}")
        if with_inertia and field != "body_mass":
            raise ValueError(f"with_inertia=True is for body_mass, not for {field}")
        checked = values if distribution == "normal" else check_range("values", values)
        if distribution == "normal" and (np.shape(values) != (2,) or not np.isfinite(values).all() or values[1] < 0):
            raise ValueError(f"values={brief(values)} must be a mean and a deviation, which is not negative")
        if distribution == "log_uniform" and not checked[0] > 0:
            raise ValueError(f"values={brief(values)} must be larger than 0 for distribution='log_uniform'")
        places = self._places(field, names, columns)
        self._changes.append(_Change(field, places, how, checked, distribution, together, with_inertia))

    def _places(self, field: str, names: str | None, columns: int | Sequence[int] | None) -> NDArray[np.int64]:
        values, kind = fields.read(self._model, field), _KINDS.get(field.split("_")[0])
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
            ((_, size, first),) = reads.resolve(mujoco, self._model, [(f"model.{field}", kind, names)])
            places = first[:, None] + np.arange(size)
        if columns is not None:
            chosen = np.atleast_1d(columns)
            for column in chosen.tolist():
                integer("columns", column, 0, places.shape[1] - 1, f": {field} has {places.shape[1]} of each")
            places = places[:, chosen]
        return places

    def start(self, lanes: Lanes) -> None:
        """Gives the lanes whose episodes start models of their own."""
        if self._pool:
            if self._made is None:
                self._made = self._rows(_Pool(self._pool, self._seed))
            chosen = lanes.integers(0, self._pool)
            rows, drawn = {name: row[chosen] for name, row in self._made[0].items()}, self._made[1][chosen]
        else:
            rows, drawn = self._rows(lanes)
        lanes.set_model(**rows)
        if self._shown:
            getattr(lanes, self._name)[:] = drawn

    def _rows(self, lanes: Lanes | _Pool) -> tuple[dict[str, NDArray[np.float64]], NDArray[np.float64]]:
        """Fields with a row per lane, and all numbers drawn: (n, numbers)."""
        rows: dict[str, NDArray[np.float64]] = {}
        all_drawn = [np.zeros((len(lanes), 0))]

        def rows_of(name: str) -> NDArray[np.float64]:
            if name not in rows:
                rows[name] = np.repeat(fields.read(self._model, name).reshape(1, -1), len(lanes), axis=0)
            return rows[name]

        for change in self._changes:
            drawn = _draw(lanes, change)
            all_drawn.append(drawn.reshape(len(lanes), -1))
            field = rows_of(change.field)
            before = field[:, change.places]
            if change.how == "set":
                after = np.broadcast_to(drawn, before.shape)
            else:
                after = before * drawn if change.how == "scale" else before + drawn
            field[:, change.places] = after
            if change.with_inertia:
                bodies = change.places[:, 0]
                ratio = np.divide(after, before, out=np.ones_like(before), where=before != 0)
                rows_of("body_inertia").reshape(len(lanes), -1, 3)[:, bodies] *= ratio
        shaped = {name: row.reshape(len(lanes), *fields.read(self._model, name).shape) for name, row in rows.items()}
        return shaped, np.concatenate(all_drawn, axis=1)


def _shape(change: _Change) -> tuple[int, int]:
    """How many numbers are drawn: of things, and of columns."""
    return (1 if change.together else len(change.places), change.places.shape[1])


def _draw(lanes: Lanes | _Pool, change: _Change) -> NDArray[np.float64]:
    """Numbers (n, things, columns), or (n, 1, columns) if all things get the same."""
    size = int(np.prod(_shape(change)))
    if change.distribution == "normal":
        drawn = lanes.normal(*change.range, size=size)
    elif change.distribution == "log_uniform":
        drawn = np.exp(lanes.uniform(*np.log(change.range), size=size))
    else:
        drawn = lanes.uniform(*change.range, size=size)
    return drawn.reshape(len(lanes), *_shape(change))
