"""Actions and observations as flat lists of arrays, and actions in as few bits as their space needs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from batchenv.spaces import nested
from batchenv.text import Texts


class Leaf(NamedTuple):
    """A part of an action. dtype: as it is kept. bits: of each number, where they are packed, or 0; low: what is
    subtracted before. path: the keys that lead to it."""

    path: tuple[Any, ...]
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    bits: int
    low: int
    given: np.dtype[Any]


def leaves_of(space: spaces.Space[Any], path: tuple[Any, ...] = ()) -> list[Leaf]:
    """The parts of actions of this space.

    Raises:
        TypeError: one of them is not an array.
    """
    if isinstance(space, spaces.Dict):
        return [leaf for key in sorted(space.spaces) for leaf in leaves_of(space.spaces[key], (*path, key))]
    if isinstance(space, spaces.Tuple):
        return [leaf for key, part in enumerate(space.spaces) for leaf in leaves_of(part, (*path, key))]
    if isinstance(space, spaces.Discrete):
        return [_integers(path, (), int(space.start), int(space.start + space.n) - 1, space.dtype)]
    if isinstance(space, spaces.MultiDiscrete):
        low, high = int(space.start.min()), int((space.start + space.nvec).max()) - 1
        return [_integers(path, space.shape, low, high, space.dtype)]
    if isinstance(space, spaces.MultiBinary):
        return [_integers(path, space.shape, 0, 1, space.dtype)]
    if isinstance(space, spaces.Box):
        return [Leaf(path, space.shape, space.dtype, 0, 0, space.dtype)]
    raise TypeError(f"actions of {space} cannot be recorded: only arrays, and dicts and tuples of arrays, can")


def _integers(path: tuple[Any, ...], shape: tuple[int, ...], low: int, high: int, given: Any) -> Leaf:
    most = high - low
    bits = next((bits for bits in (1, 2, 4) if most < 2**bits), 0)
    dtype = next((dtype for dtype in (np.uint8, np.uint16, np.uint32) if most <= np.iinfo(dtype).max), np.int64)
    return Leaf(path, shape, np.dtype(dtype), bits, 0 if dtype is np.int64 else low, np.dtype(given))


def part_of(actions: Any, path: tuple[Any, ...]) -> Any:
    """The part of actions at this path. Those of a Tuple may be one array, whose columns are its parts."""
    for key in path:
        columns = isinstance(actions, np.ndarray) and isinstance(key, int)
        actions = actions[..., key] if columns else actions[key]
    return actions


def kept(leaf: Leaf, values: Any, rows: tuple[int, ...]) -> NDArray[Any]:
    """Values (*rows, *shape) as they are kept."""
    array = np.asarray(values)
    if leaf.low:
        array = array - leaf.low
    return array.astype(leaf.dtype, copy=False).reshape(*rows, *leaf.shape)


def packed(leaf: Leaf, array: NDArray[Any]) -> NDArray[Any]:
    """What is written of kept values."""
    if not leaf.bits:
        return array
    flat = array.ravel()
    if leaf.bits == 1:
        return np.packbits(flat)
    per_byte = 8 // leaf.bits
    flat = flat & (2**leaf.bits - 1)
    if len(flat) % per_byte:
        flat = np.concatenate([flat, np.zeros(-len(flat) % per_byte, np.uint8)])
    total = flat[::per_byte].copy()
    for k in range(1, per_byte):
        total |= flat[k::per_byte] << np.uint8(k * leaf.bits)
    return total


def unpacked(leaf: Leaf, data: NDArray[Any], rows: tuple[int, ...]) -> NDArray[Any]:
    """Values (*rows, *shape) as the env was given them."""
    shape = (*rows, *leaf.shape)
    if leaf.bits:
        size = int(np.prod(shape))
        if leaf.bits == 1:
            data = np.unpackbits(data, count=size)
        else:
            columns = [data >> np.uint8(shift) for shift in range(0, 8, leaf.bits)]
            data = (np.stack(columns, axis=-1).ravel() & np.uint8(2**leaf.bits - 1))[:size]
    values = data.reshape(shape).astype(leaf.given)
    return values + leaf.given.type(leaf.low) if leaf.low else values


def built(leaves: Sequence[Leaf], arrays: Sequence[NDArray[Any]], space: spaces.Space[Any]) -> Any:
    """Actions, nested as the space says."""
    found = {leaf.path: array for leaf, array in zip(leaves, arrays, strict=True)}

    def nest(part: spaces.Space[Any], path: tuple[Any, ...]) -> Any:
        if isinstance(part, spaces.Dict):
            return {key: nest(inner, (*path, key)) for key, inner in part.spaces.items()}
        if isinstance(part, spaces.Tuple):
            return tuple(nest(inner, (*path, key)) for key, inner in enumerate(part.spaces))
        return found[path]

    return nest(space, ())


def flat(value: Any) -> list[Any]:
    """The arrays and texts of nested observations, in the order of their keys."""
    if isinstance(value, (np.ndarray, Texts)):
        return [value]
    if isinstance(value, dict):
        return [leaf for key in sorted(value) for leaf in flat(value[key])]
    if isinstance(value, tuple) and not (value and isinstance(value[0], str)):
        return [leaf for part in value for leaf in flat(part)]
    return [value]


def nested_as(value: Any, leaves: Sequence[Any]) -> Any:
    """Leaves that `flat` has found, or others in their places, nested as `value`."""
    rest = iter(leaves)

    def nest(part: Any) -> Any:
        if isinstance(part, dict):
            made = {key: nest(part[key]) for key in sorted(part)}
            return {key: made[key] for key in part}
        if isinstance(part, tuple) and not isinstance(part, Texts) and not (part and isinstance(part[0], str)):
            return tuple(nest(inner) for inner in part)
        return next(rest)

    return nest(value)


def as_array(leaf: Any) -> NDArray[Any]:
    """An array of numbers or, of texts, of objects."""
    if isinstance(leaf, np.ndarray):
        return leaf
    if isinstance(leaf, Texts) and len(leaf) and isinstance(leaf[0], tuple):
        array = np.empty((len(leaf), len(leaf[0])), object)
        for step, texts in enumerate(leaf):
            array[step] = list(texts)
        return array
    array = np.empty(len(leaf), object)
    array[:] = list(leaf)
    return array


def info_at(infos: dict[str, Any], path: tuple[str, ...]) -> tuple[Any, Any]:
    """(values, mask) of an info; None where there are none."""
    group: Any = infos
    mask = None
    for key in path[:-1]:
        if not isinstance(group, dict):
            return None, None
        group = group.get(key)
    if not isinstance(group, dict):
        return None, None
    mask = group.get(f"_{path[-1]}")
    return group.get(path[-1]), mask


def texts_to_bytes(rows: Any) -> bytes:
    """Nested lists of texts."""
    return json.dumps(rows).encode()


def texts_of_bytes(data: bytes) -> Any:
    """What `texts_to_bytes` was given, as an array of objects (steps, lanes)."""
    rows = json.loads(data)
    array = np.empty((len(rows), len(rows[0]) if rows else 0), object)
    for k, row in enumerate(rows):
        array[k] = row
    return array


def rows_of(leaf: Any, rows: Any) -> Any:
    """Some rows of an array, or of texts."""
    return tuple(leaf[row] for row in rows.tolist()) if type(leaf) is tuple else leaf[rows]


def row_of(infos: dict[str, Any], at: Any) -> dict[str, Any]:
    """Infos of one step of a rollout, or of some rows of a step."""
    return nested.each(lambda value: value[at], infos)
