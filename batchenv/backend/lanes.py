"""Which lanes a user means (numbers, slices, masks), and the rows of these lanes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from batchenv.backend.results import Apart
from batchenv.spaces import nested


def lane_indices(lanes: Any, count: int, name: str = "lanes") -> NDArray[np.int64]:
    """The indices meant by `lanes`: None (all), an int, a list of ints, a slice or a bool mask (count,).

    Raises:
        TypeError: it is none of these.
        ValueError: an index is not in -count..count-1, or the mask's shape is wrong.
    """
    if lanes is None:
        return np.arange(count)
    if isinstance(lanes, slice):
        return np.arange(count)[lanes]
    try:
        array = np.asarray(lanes)
    except ValueError:  # ragged
        array = np.empty((), object)
    if array.dtype == np.bool_:
        if array.shape != (count,):
            raise ValueError(f"{name}={lanes!r} must, as a bool mask, have shape ({count},), not {array.shape}")
        return np.flatnonzero(array)
    mixed = isinstance(lanes, (list, tuple)) and any(isinstance(lane, (bool, np.bool_)) for lane in lanes)
    if array.shape == (0,):
        return np.empty(0, np.int64)
    if array.ndim > 1 or array.dtype.kind not in "iu" or mixed:
        raise TypeError(f"{name}={lanes!r} must be None, an int, a list of ints, a slice or a bool mask ({count},)")
    chosen = np.atleast_1d(array)
    wrong = (chosen < -count) | (chosen >= count)
    if wrong.any():
        raise ValueError(f"lane {chosen[wrong][0]} of {name}={lanes!r} must be in 0..{count - 1}")
    chosen = chosen.astype(np.int64)
    return np.where(chosen < 0, chosen + count, chosen)


def mask_of(lanes: Any, count: int) -> NDArray[np.uint8]:
    """Which of `count` lanes these are: 1, and 0 for the others."""
    mask = np.zeros(count, np.uint8)
    mask[lanes] = 1
    return mask


def spread(name: str, values: Any, shape: tuple[int, ...], chosen: NDArray[np.int64], count: int) -> Any:
    """Spreads values of a parameter of this shape over all lanes. If there is one value per chosen lane, returns an
    array (count, *shape). If there is one value for all chosen lanes, or already one per lane, returns `values`.

    Raises:
        ValueError: the array has another length, or it is not clear which lane each value is for.
    """
    try:
        array = np.asarray(values)
    except ValueError:  # ragged: the core says so
        return values
    if array.ndim != len(shape) + 1 or array.shape[1:] != shape:
        return values
    if len(chosen) == count and not np.array_equal(chosen, np.arange(count)):
        raise ValueError(
            f"{name}: with lanes={chosen.tolist()} it is not clear which lane a value is for: leave lanes out and give "
            "value i for lane i"
        )
    if len(array) == count:
        return values
    if len(array) != len(chosen):
        raise ValueError(
            f"{name} has {len(array)} values, but must have one for all chosen lanes, one per chosen lane "
            f"({len(chosen)}), or one per lane ({count})"
        )
    if len(np.unique(chosen)) != len(chosen):
        raise ValueError(f"{name} has a value per chosen lane, but lanes={chosen.tolist()} names a lane twice")
    everywhere = np.zeros((count, *shape), array.dtype)
    everywhere[chosen] = array
    return everywhere


def state_columns(
    env_id: str,
    values: dict[str, Any],
    present: dict[str, NDArray[Any]],
    fields: list[dict[str, Any]],
    chosen: NDArray[np.int64],
) -> dict[str, NDArray[Any]]:
    """What a user gives for fields of the state, as {name: array (chosen lanes in ascending order, ...)} of the fields'
    dtypes. present: the state, {name: array (num_envs, ...)}. fields: the table of the type's fields.

    Raises:
        TypeError, ValueError: an unknown field, a wrong dtype or shape, an integer outside of its range.
    """
    ranges = dict.fromkeys(present, (0, 0)) | {row["name"]: (row["low"], row["high"]) for row in fields}
    ranges["elapsed_steps"] = (0, np.iinfo(np.int32).max)
    columns = {}
    for name, value in values.items():
        if name not in present:
            raise ValueError(f"lanes of {env_id} have no state field {name!r}; they have: {', '.join(present)}")
        columns[name] = _state_column(name, value, present[name], ranges[name], chosen)
    return columns


_MEANT = {"b": ("b", "bools"), "i": ("iu", "whole numbers (ints)"), "u": ("iu", "whole numbers (ints)")}


def _state_column(
    name: str, value: Any, present: NDArray[Any], limits: tuple[int, int], chosen: NDArray[np.int64]
) -> NDArray[Any]:
    shape, dtype, count = present.shape[1:], present.dtype, len(present)
    spread_values = spread(name, value, shape, chosen, count)
    try:
        array = np.asarray(spread_values)
    except ValueError:  # ragged
        array = np.empty(0, object)
    if array.shape not in (shape, present.shape):
        each = " of " + str(shape) if shape else ""
        raise ValueError(
            f"{name} has shape {array.shape}, but must be one value{each} for all chosen lanes, or have one per chosen "
            f"lane ({len(chosen)}) or per lane ({count})"
        )
    kinds, what = _MEANT.get(dtype.kind, ("iuf", "numbers"))
    if array.dtype.kind not in kinds:
        raise TypeError(f"{name} has dtype {array.dtype}, but must hold {what}")
    lanes = np.unique(chosen)
    rows = np.broadcast_to(array, present.shape)[lanes]
    if dtype.kind in "iu":
        low, high = limits if any(limits) else (np.iinfo(dtype).min, np.iinfo(dtype).max)
        wrong = np.argwhere((rows < low) | (rows > high))
        if len(wrong):
            raise ValueError(f"{name}={rows[tuple(wrong[0])]} of lane {lanes[wrong[0][0]]} must be in {low}..{high}")
    with np.errstate(over="ignore"):  # float32 holds infinity then
        return np.ascontiguousarray(rows, dtype)


def result_of_lanes(result: tuple[Any, dict[str, Any]], lanes: NDArray[Any]) -> tuple[Any, dict[str, Any]]:
    """The rows of these lanes in what `reset` returns."""
    observations, infos = result

    def of_lanes(infos: dict[str, Any]) -> dict[str, Any]:
        return {**rows_of(infos, lanes), "env_id": lanes.astype(np.int64)}

    if isinstance(infos, Apart):
        rows = {lane: row for row, lane in enumerate(lanes.tolist())}
        told = [(rows[lane], info) for lane, info in infos.told if lane in rows]
        whole, infos = infos, Apart(of_lanes(infos.known), told, [], lambda: of_lanes(dict(whole)))
    else:
        infos = of_lanes(infos)
    return rows_of(observations, lanes), infos


def rows_of(value: Any, lanes: Any) -> Any:
    """The rows of these lanes (any index of an array), also for arrays in tuples and dicts."""
    return nested.each(lambda part: part[lanes], value)


def pairs(rows: Any, lanes: Any, held: int, count: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Which of a snapshot's `held` lanes goes into which of `count` lanes: two arrays of one length.

    Raises:
        TypeError, ValueError: wrong lanes, a lane twice, numbers of lanes that do not fit.
    """
    targets = lane_indices(lanes, count)
    sources = lane_indices(rows, held, "rows")
    if len(np.unique(targets)) != len(targets):
        raise ValueError(f"lanes={lanes!r} names a lane twice")
    if len(sources) == 1:
        sources = np.repeat(sources, len(targets))
    if len(sources) != len(targets) or not len(targets):
        raise ValueError(
            f"{len(sources)} lanes of the snapshot cannot go into {len(targets)} lanes: choose as many, or one for all"
        )
    return np.ascontiguousarray(sources), np.ascontiguousarray(targets)
