"""How observations and actions of any space are cut into parts: arrays of a fixed shape, which go through ports of the
C core, and objects, which do not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from gymnasium import spaces
from gymnasium.vector.utils import batch_space, concatenate, create_empty_array

from batchenv import _core

MAX_PORTS = 15  # of an observation or an action
ARRAYS = (spaces.Box, spaces.Discrete, spaces.MultiDiscrete, spaces.MultiBinary)  # several of these make an array
_EXACT = 2.0**53  # up to here doubles have all integers
_DTYPES = {np.dtype(name) for name in ("bool", "uint8", "int32", "int64", "float32", "float64", "int8")}


class Port(NamedTuple):
    """A port as `_core.PythonLanes` takes it: `low` and `high` have a number per value, or one for all of them."""

    path: tuple[Any, ...] | None  # None: nothing goes through it
    name: str
    kind: str
    dtype: np.dtype
    shape: tuple[int, ...]
    low: list[float]
    high: list[float]


class SpaceParts:
    """The parts of a space's values.

    Attributes:
        ports: of the arrays among them. If there is none, it has one port, which nothing goes through.
        objects: (path, space) of all other parts, such as texts.

    Args:
        either: True: if not all of the parts are arrays, the whole is an object.
    """

    def __init__(self, space: spaces.Space, either: bool = False):
        self.space = space
        found = [(path, leaf, _port(path, leaf)) for path, leaf in _leaves(space, ()) or [((), space)]]
        ports = [port for _, _, port in found if port is not None]
        if len(ports) > MAX_PORTS or (either and len(ports) < len(found)):
            found, ports = [((), space, None)], []
        self.objects = [(path, leaf) for path, leaf, port in found if port is None]
        if self.objects:  # a Tuple without some of its parts is none: the arrays make a flat Dict of their own
            ports = ports or [Port(None, "", "box", np.dtype(np.uint8), (), [0], [255])]
            ports = [port._replace(name=f"part {k}") for k, port in enumerate(ports)]
        self.ports = ports

    @property
    def whole(self) -> bool:
        """Whether the only part is an array, the value itself."""
        return not self.objects and not self.ports[0].path

    def builder(self) -> Callable[[list[Any]], Any]:
        """A function that makes a value from its arrays, in the order of the ports. There must be no objects."""
        places = {port.path: index for index, port in enumerate(self.ports)}
        order = batch_space(self.space, 1)  # of the keys: Gymnasium's vectors of envs take actions apart by this space
        return lambda arrays: self._built(order, (), {path: arrays[index] for path, index in places.items()})

    def take_objects(self, value: Any, what: str) -> tuple[Any, ...]:
        """The objects in a value. what: how messages call it.

        Raises:
            ValueError: one of them is missing, or an array that is not what its space says.
        """
        objects = tuple([_core.part_of(value, path, what) for path, _ in self.objects])
        for (_, space), one in zip(self.objects, objects, strict=True):
            _check(space, one, what)
        return objects

    def join(self, arrays: dict[str, Any], rows: Sequence[tuple[Any, ...] | None]) -> Any:
        """Values of several lanes in the form of `batch_space`, of which nothing is written again: an env may go on
        with its own objects. arrays: what came through the ports, by their names. rows: the objects of each lane; None
        where a lane has no value, because its env has failed."""
        parts = {port.path: arrays[port.name] for port in self.ports}
        for k, (path, space) in enumerate(self.objects):
            items = [nothing(space) if row is None else _core.own_value(row[k]) for row in rows]
            parts[path] = concatenate(space, items, create_empty_array(space, len(items)))
        return self._built(self.space, (), parts)

    def missing(self) -> Any:
        """What stands for the value of a lane that has none, because its env has failed."""
        parts: dict[Any, Any] = {path: nothing(space) for path, space in self.objects}
        parts.update((port.path, np.zeros(port.shape, port.dtype)[()]) for port in self.ports)
        return self._built(self.space, (), parts)

    def arrays(self, values: Any, rows: int) -> dict[str, Any]:
        """What goes through the ports, by their names, of values of so many lanes that have been joined."""
        return {
            port.name: np.zeros(rows, np.uint8) if port.path is None else _at(values, port.path) for port in self.ports
        }

    def _built(self, space: spaces.Space, path: tuple[Any, ...], parts: dict[Any, Any]) -> Any:
        if path in parts:
            return parts[path]
        if isinstance(space, spaces.Tuple):
            return tuple([self._built(part, (*path, i), parts) for i, part in enumerate(space.spaces)])
        assert isinstance(space, spaces.Dict)
        return {name: self._built(part, (*path, name), parts) for name, part in space.spaces.items()}


def _at(value: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        value = value[key]
    return value


def _check(space: spaces.Space, value: Any, what: str) -> None:
    """Raises ValueError if a value cannot be put together with those of other lanes, in which it would fail for all."""
    if isinstance(space, (spaces.Dict, spaces.Tuple)):
        for key, part in items(space):
            _check(part, _core.part_of(value, (key,), what), f"{what}[{key!r}]")
    elif isinstance(space, ARRAYS):
        _core.check_array(np.asarray(value), space.shape, space.dtype, what)


def items(space: spaces.Dict | spaces.Tuple) -> list[tuple[Any, spaces.Space]]:
    """(key or place, space) of its parts."""
    return list(space.spaces.items() if isinstance(space, spaces.Dict) else enumerate(space.spaces))


def nothing(space: spaces.Space) -> Any:
    """What stands for an observation that there is not, since the lane's env has failed."""
    if isinstance(space, spaces.Text):
        return ""
    if isinstance(space, spaces.Dict):
        return {name: nothing(part) for name, part in space.spaces.items()}
    if isinstance(space, spaces.Tuple):
        return tuple([nothing(part) for part in space.spaces])
    if isinstance(space, ARRAYS):
        return np.zeros(space.shape or (), space.dtype)[()]
    try:
        return create_empty_array(space, None)
    except Exception:  # a space that is the user's own
        return None


def _leaves(space: spaces.Space, path: tuple[Any, ...]) -> list[tuple[tuple[Any, ...], spaces.Space]] | None:
    """(path, space) of the parts that are neither Dict nor Tuple; None if a port cannot be named by its path."""
    if not isinstance(space, (spaces.Dict, spaces.Tuple)):
        return [(path, space)]
    parts = items(space)
    if not parts:
        return None
    if isinstance(space, spaces.Dict) and any(
        not isinstance(name, str) or name.isdecimal() or "/" in name or not name for name, _ in parts
    ):
        return None
    leaves = []
    for key, part in parts:
        found = _leaves(part, (*path, key))
        if found is None:
            return None
        leaves += found
    return leaves


def _port(path: tuple[Any, ...], space: spaces.Space) -> Port | None:
    """The port for a space's values; None if they cannot go through one."""
    name = "/".join(map(str, path))
    if space.dtype not in _DTYPES or space.shape is None or len(space.shape) > _core.MAX_DIMS or 0 in space.shape:
        return None
    shape = tuple(int(size) for size in space.shape)
    if type(space) is spaces.Box:
        kind, low, high = "box", space.low, space.high
    elif space.dtype == np.int64 and type(space) is spaces.Discrete and _is_exact(space.start, space.n):
        kind, low, high = "discrete", np.array(space.start), np.array(space.start + space.n - 1)
    elif space.dtype == np.int64 and type(space) is spaces.MultiDiscrete and _is_exact(space.start, space.nvec):
        kind, low, high = "multi_discrete", space.start, space.start + space.nvec - 1
    elif space.dtype == np.int8 and type(space) is spaces.MultiBinary:
        kind, low, high = "multi_binary", np.zeros(shape), np.ones(shape)
    else:
        return None
    lows, highs = low.ravel().astype(np.float64).tolist(), high.ravel().astype(np.float64).tolist()
    if len(lows) > _core.MAX_BOUNDS:
        if kind == "multi_discrete" and (len(set(lows)) > 1 or len(set(highs)) > 1):
            return None
        lows, highs = [min(lows)], [max(highs)]  # the widest: the env itself knows better
    return Port(path, name, kind, space.dtype, shape, lows, highs)


def _is_exact(start: Any, count: Any) -> bool:
    """Whether the C core, whose bounds are doubles, can tell these integers from one another."""
    return bool(np.all(np.abs(np.asarray(start, np.float64)) + np.asarray(count, np.float64) <= _EXACT))
