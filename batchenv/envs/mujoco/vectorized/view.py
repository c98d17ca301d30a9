"""What the functions of a task in NumPy get: the arrays of lanes, by MuJoCo's names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from batchenv.arguments.messages import unknown_key
from batchenv.arguments.numbers import integer
from batchenv.envs.mujoco import fields as model_fields
from batchenv.envs.mujoco import inputs, library, reads

STARTING = ("qpos", "qvel", "ctrl")  # what `start` may write
CONTROLLING = ("qvel", *inputs.NAMES)  # what `control` may write
_PREFIXES = {"tendon": "ten", "camera": "cam"}  # of names of mjData's arrays, where they are not the kind's name


class Source(Protocol):
    """Where the arrays of all lanes are.

    Attributes:
        model: the mjModel. count: how many lanes there are.
        dt: seconds per step of the env. frame_skip: MuJoCo's steps per step of the env.
        state: names of the task's state.
        places: where `Lanes` keeps what it has found of things' places.
    """

    model: Any
    count: int
    dt: float
    frame_skip: int
    places: dict[Any, Any]

    @property
    def state(self) -> Mapping[str, Any]: ...

    def array(self, name: str) -> NDArray[Any]:
        """The array (lanes, ...) of this name: mjData's, the task's state, a param, or "elapsed_steps".

        Raises:
            AttributeError: there is none.
        """
        ...

    def draw(self, numbers: NDArray[np.int64] | None, out: NDArray[Any], last: int | None) -> None:
        """As `_core.draw`."""
        ...


class Lanes:
    """Some lanes, of which a function of a task computes something.

    `lanes.NAME` is an array with a first axis of these lanes: an array of mjData (`lanes.qpos`, `lanes.xpos`,
    `lanes.sensordata`, ...), of the task's state, one of its params, or `lanes.elapsed_steps`, the steps of the episode
    before this one. `lanes.sensor("gyro")` has the numbers of one sensor. `lanes.body("trunk").xpos` are those of one
    body: likewise `joint`, `geom`, `site`, `tendon`, `actuator` and `camera`, whose attributes are called as those of
    mjData's objects of these names. With a regular expression, `lanes.geoms(".*_foot").xpos` are those of several:
    (n, things, size).

    What belongs to the function may be written, by `lanes.NAME[...] = ...` or `lanes.NAME = ...`, and so may that of
    one thing; that of several things by `lanes.bodies(...).NAME = ...` alone. All else is read-only.

    Attributes:
        numbers: the numbers of these lanes: int64 (n,).
        dt: seconds per step of the env.
        frame_skip: MuJoCo's steps per step of the env, as the user of the env has said.
    """

    __slots__ = ("_active", "_fields", "_source", "_taken", "_writable", "numbers")

    def __init__(self, source: Source, numbers: NDArray[np.int64] | None = None):
        """numbers: which lanes; None: all."""
        put = object.__setattr__
        put(self, "_source", source)
        put(self, "_active", None)
        put(self, "_taken", {})
        put(self, "_fields", {})
        put(self, "_writable", frozenset())
        put(self, "numbers", np.arange(source.count) if numbers is None else numbers.copy())
        self.numbers.flags.writeable = False

    def _begin(self, writable: tuple[str, ...] = (), active: NDArray[np.int64] | None = None) -> None:
        """Notes what may be written besides the state, and which lanes draw random numbers (None: all)."""
        object.__setattr__(self, "_writable", frozenset((*writable, *self._source.state)))
        object.__setattr__(self, "_active", active)

    def _end(self) -> None:
        """Puts back what was written."""

    def __len__(self) -> int:
        return len(self.numbers)

    @property
    def dt(self) -> float:
        return self._source.dt

    @property
    def frame_skip(self) -> int:
        return self._source.frame_skip

    def __getattr__(self, name: str) -> NDArray[Any]:
        if name.startswith("_"):
            raise AttributeError(name)
        array = self._source.array(name)
        if name in self._writable:
            return array
        known = self._taken.get(name)
        if known is None:
            known = self._taken[name] = array.view()
            known.flags.writeable = False
        return known

    def __setattr__(self, name: str, value: Any) -> None:
        array, kind = self._to_write(name), np.asarray(value).dtype.kind
        if (kind in "fc" and array.dtype.kind in "iub") or (kind in "iu" and array.dtype == bool):
            raise TypeError(
                f"lanes.{name} is of dtype {array.dtype}, which cannot hold {np.asarray(value).dtype}: let the state "
                f"begin with {'0.0' if kind in 'fc' else '0'}, or convert the values"
            )
        array[...] = value

    def _to_write(self, name: str) -> NDArray[Any]:
        """The array of this name. Raises AttributeError if it is not to be written."""
        array = getattr(self, name)
        if not isinstance(array, np.ndarray) or not array.flags.writeable:
            owned = ", ".join(sorted(self._writable)) or "nothing"
            raise AttributeError(f"lanes.{name} cannot be written here; what can is: {owned}")
        return array

    # ---- things of the model, by name --------------------------------------------------------------------------------

    def sensor(self, name: str) -> NDArray[Any]:
        """The numbers of one sensor: (n, size)."""
        return _Thing(self, "sensor", name, single=True).sensordata

    def body(self, name: str) -> Any:
        return _Thing(self, "body", name, single=True)

    def joint(self, name: str) -> Any:
        return _Thing(self, "joint", name, single=True)

    def geom(self, name: str) -> Any:
        return _Thing(self, "geom", name, single=True)

    def site(self, name: str) -> Any:
        return _Thing(self, "site", name, single=True)

    def tendon(self, name: str) -> Any:
        return _Thing(self, "tendon", name, single=True)

    def actuator(self, name: str) -> Any:
        return _Thing(self, "actuator", name, single=True)

    def camera(self, name: str) -> Any:
        return _Thing(self, "camera", name, single=True)

    def sensors(self, pattern: str) -> NDArray[Any]:
        """The numbers of sensors whose names match a regular expression: (n, sensors, size)."""
        return _Thing(self, "sensor", pattern, single=False).sensordata

    def bodies(self, pattern: str) -> Any:
        return _Thing(self, "body", pattern, single=False)

    def joints(self, pattern: str) -> Any:
        return _Thing(self, "joint", pattern, single=False)

    def geoms(self, pattern: str) -> Any:
        return _Thing(self, "geom", pattern, single=False)

    def sites(self, pattern: str) -> Any:
        return _Thing(self, "site", pattern, single=False)

    def tendons(self, pattern: str) -> Any:
        return _Thing(self, "tendon", pattern, single=False)

    def actuators(self, pattern: str) -> Any:
        return _Thing(self, "actuator", pattern, single=False)

    def set_model(self, **fields: ArrayLike) -> None:
        """Gives lanes whose episodes start fields of mjModel of their own, from this episode on: {name: one value, or
        (n, ...), a row per lane}. `env.set_params` takes the same names, such as body_mass and geom_friction. What
        MuJoCo computes from a field is computed anew. Only `start` may call it."""
        if "qpos" not in self._writable:
            raise AttributeError("lanes.set_model() is for start(): elsewhere, env.set_params() changes models")
        for name, value in fields.items():
            if name not in model_fields.MODEL_FIELDS:
                raise ValueError(
                    unknown_key(f"no field {name!r} of mjModel can be set", name, model_fields.MODEL_FIELDS)
                )
            shape = (len(self), *model_fields.read(self._source.model, name).shape)
            if np.shape(value) not in (shape, shape[1:]):
                raise ValueError(f"{name} is of shape {np.shape(value)}, but must be of shape {shape[1:]} or {shape}")
            self._fields[name] = np.array(np.broadcast_to(value, shape))  # the task may write its array again

    # ---- random numbers ----------------------------------------------------------------------------------------------

    def uniform(self, low: ArrayLike = 0.0, high: ArrayLike = 1.0, size: int | None = None) -> NDArray[np.float64]:
        """Random numbers, each lane's from its own stream, as its `np_random.uniform` would draw them: (n,), or (n,
        size)."""
        low = np.asarray(low, np.float64)
        return low + (np.asarray(high, np.float64) - low) * self._draw(np.float64, size, 0)

    def normal(self, loc: ArrayLike = 0.0, scale: ArrayLike = 1.0, size: int | None = None) -> NDArray[np.float64]:
        """As `uniform`, but with a normal distribution."""
        return np.asarray(loc, np.float64) + np.asarray(scale, np.float64) * self._draw(np.float64, size, None)

    def integers(self, low: int, high: int, size: int | None = None) -> NDArray[np.int64]:
        """As `uniform`, but integers from low to high - 1."""
        if not low < high:
            raise ValueError(f"lanes.integers({low}, {high}): the second must be larger than the first")
        return low + self._draw(np.int64, size, high - low - 1)

    def _draw(self, dtype: Any, size: int | None, last: int | None) -> NDArray[Any]:
        if size is not None:
            integer("size", size, 0, None, ": how many numbers each lane gets, so it does not count the lanes")
        shape = (len(self), 1 if size is None else size)
        if self._active is None:
            drawn = np.empty(shape, dtype)
            self._source.draw(self._numbers_drawn(), drawn, last)
        else:
            drawn, some = np.zeros(shape, dtype), np.empty((len(self._active), shape[1]), dtype)
            self._source.draw(self._active, some, last)
            drawn[self._active] = some
        return drawn[:, 0] if size is None else drawn

    def _numbers_drawn(self) -> NDArray[np.int64] | None:
        return None


class SomeLanes(Lanes):
    """Lanes that are only some of all: their arrays are copies, which are put back when the function has ended.

    Args:
        elapsed: int32 (n,): their elapsed_steps; None: as the source says.
    """

    __slots__ = ("_elapsed",)

    def __init__(self, source: Source, numbers: NDArray[np.int64], elapsed: NDArray[np.int32] | None = None):
        super().__init__(source, numbers)
        object.__setattr__(self, "_elapsed", elapsed)

    def _begin(self, writable: tuple[str, ...] = (), active: NDArray[np.int64] | None = None) -> None:
        super()._begin(writable, active)
        self._taken.clear()

    def _end(self) -> None:
        for name, array in self._taken.items():
            if name in self._writable:
                self._source.array(name)[self.numbers] = array

    def __getattr__(self, name: str) -> NDArray[Any]:
        if name.startswith("_"):
            raise AttributeError(name)
        array = self._taken.get(name)
        if array is None:
            given = self._elapsed if name == "elapsed_steps" else None
            array = self._taken[name] = self._source.array(name)[self.numbers] if given is None else given.copy()
            array.flags.writeable = name in self._writable
        return array

    def _numbers_drawn(self) -> NDArray[np.int64]:
        return self.numbers


class _Place(NamedTuple):
    """Where numbers of things are in a row of an array."""

    array: str
    index: Any  # a slice, or int64 (things, size)


class _Thing:
    """One thing of the model, or several whose names match. What belongs to several are copies, so that these are
    written by `things.NAME = ...` alone."""

    __slots__ = ("_kind", "_lanes", "_name", "_single")

    def __init__(self, lanes: Lanes, kind: str, name: str, *, single: bool):
        for slot, value in zip(_Thing.__slots__, (kind, lanes, name, single), strict=True):
            object.__setattr__(self, slot, value)

    def __getattr__(self, attribute: str) -> NDArray[Any]:
        if attribute.startswith("_"):
            raise AttributeError(attribute)
        array, index = self._place(attribute)
        rows = getattr(self._lanes, array).reshape(len(self._lanes), -1)[:, index]
        if not self._single and array in self._lanes._writable:
            rows.flags.writeable = False
        return rows

    def __setattr__(self, attribute: str, value: Any) -> None:
        array, index = self._place(attribute)
        self._lanes._to_write(array).reshape(len(self._lanes), -1)[:, index] = value

    def _place(self, attribute: str) -> _Place:
        places, key = self._lanes._source.places, (self._kind, self._name, attribute, self._single)
        if key not in places:
            places[key] = self._find(attribute)
        return places[key]

    def _find(self, attribute: str) -> _Place:
        mujoco, model = library.load()[0], self._lanes._source.model
        data = mujoco.MjData(model)
        prefixed = f"{_PREFIXES.get(self._kind, self._kind)}_{attribute}"
        array = prefixed if reads.is_array(data, prefixed) else attribute
        if not reads.is_array(data, array):
            known = [name for name in dir(data) if reads.is_array(data, name)]
            raise AttributeError(unknown_key(f"a {self._kind} has no array {attribute!r}", array, known))
        if self._single:
            names = reads.names(mujoco, model, self._kind)
            if self._name not in names:
                raise ValueError(reads.unknown_thing(self._kind, self._name, names))
        ((_, size, first),) = reads.resolve(mujoco, model, [(array, self._kind, self._name)])
        if self._single:
            return _Place(array, slice(int(first[0]), int(first[0]) + size))
        return _Place(array, first[:, None] + np.arange(size))
