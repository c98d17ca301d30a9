"""What users give for a plan, checked as far as this can be done without knowing the environment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from batchenv.arguments.numbers import brief
from batchenv.arguments.seeds import read_seed
from batchenv.backend.course import Entries
from batchenv.backend.snapshot import Snapshot, without_places

ORDERS = ("in_order", "shuffled", "sampled")


def read_entries(seeds: Any, options: Any, params: Any, snapshots: Any, labels: Any) -> Entries:
    """What a user gives, checked as far as this can be done without an env.

    Raises:
        TypeError, ValueError: something is wrong; arguments have different lengths.
    """
    read = {
        "seeds": None if seeds is None else _seeds(seeds),
        "options": None if options is None else _options(options),
        "snapshots": None if snapshots is None else _snapshots(snapshots),
        "labels": None if labels is None else _labels(labels),
    }
    lengths = {name: len(value) for name, value in read.items() if value is not None}
    if params is not None:
        if not isinstance(params, Mapping) or not params:
            raise TypeError(f"params={brief(params)} must be a dict with a name and values for each parameter")
        for name in params:
            if not isinstance(name, str):
                raise TypeError(f"params: the name {brief(name)} must be a str, not {type(name).__name__}")
        read["params"] = {name: _rows(f"params[{name!r}]", values) for name, values in params.items()}
        lengths |= {f"params[{name!r}]": len(values) for name, values in read["params"].items()}
    if not lengths:
        raise ValueError("a plan needs entries: give seeds, options, params, snapshots or labels, with one per entry")
    count = next(iter(lengths.values()))
    if len(set(lengths.values())) > 1:
        raise ValueError(f"all arguments need one value per entry, but their lengths are {lengths}")
    if count == 0:
        raise ValueError(f"{next(iter(lengths))} is empty: a plan has at least one entry")
    return Entries(count, **read)


def _listed(name: str, values: Any) -> list[Any]:
    if isinstance(values, np.ndarray) and values.ndim == 1:
        return values.tolist()
    if isinstance(values, (Sequence, range)) and not isinstance(values, (str, bytes)):
        return list(values)
    raise TypeError(f"{name}={brief(values)} must be a list with one value per entry of the plan")


def _seeds(seeds: Any) -> list[int | None]:
    return [None if seed is None else read_seed(seed, f"seeds[{k}]") for k, seed in enumerate(_listed("seeds", seeds))]


def _options(options: Any) -> list[dict[str, Any] | None]:
    if isinstance(options, Mapping):
        raise TypeError("options must be a list with a dict (or None) per entry of the plan, not one dict")
    given = _listed("options", options)
    for k, one in enumerate(given):
        if one is not None and not isinstance(one, dict):
            raise TypeError(f"options[{k}]={brief(one)} must be a dict, or None")
        if one is not None and "reset_mask" in one:
            raise ValueError(
                f"options[{k}]: a reset_mask says which lanes are reset, which a plan does not: leave it out"
            )
    return [dict(one) if one else None for one in given]


def _snapshots(snapshots: Any) -> list[tuple[Snapshot, int] | None]:
    if isinstance(snapshots, Snapshot):
        snapshots, _ = without_places(snapshots)  # entries start where they are taken, whatever they were of
        return [(snapshots, row) for row in range(len(snapshots))]
    rows: list[tuple[Snapshot, int] | None] = []
    for k, one in enumerate(_listed("snapshots", snapshots)):
        one = Snapshot(one) if isinstance(one, (bytes, bytearray, memoryview)) else one
        if one is not None and not isinstance(one, Snapshot):
            raise TypeError(f"snapshots[{k}]={brief(one)} must be a batchenv.Snapshot of one lane, or None")
        if one is not None and len(one) != 1:
            raise ValueError(f"snapshots[{k}] holds {len(one)} lanes, but each of a list must hold one")
        rows.append(None if one is None else (without_places(one)[0], 0))
    return rows


def _labels(labels: Any) -> NDArray[Any]:
    if isinstance(labels, np.ndarray) and labels.ndim == 1:
        return labels.copy()
    given = _listed("labels", labels)
    kinds = {type(label) for label in given}
    if len(kinds) == 1 and kinds <= {int, float, str, bool}:
        array = np.array(given)
        # Large ints and texts that end with a NUL would become others.
        if array.tolist() == given and (kinds != {int} or array.dtype.kind == "i"):
            return array
    objects = np.empty(len(given), object)
    objects[:] = given
    return objects


def _rows(name: str, values: Any) -> NDArray[Any]:
    try:
        array = np.array(values)
    except ValueError:  # ragged
        raise ValueError(f"{name} cannot be read as an array with one row per entry of the plan") from None
    if array.ndim == 0 or array.dtype == object:
        raise TypeError(f"{name}={brief(values)} must be an array with one value per entry of the plan")
    return array


def read_order(order: Any, weights: Any, repeat: Any) -> str:
    """The order that a user means."""
    if order is None:
        return "in_order" if weights is None else "sampled"
    if not isinstance(order, str) or order not in ORDERS:
        raise ValueError(f"order={brief(order)} must be one of {', '.join(map(repr, ORDERS))}, or None")
    if weights is not None and order != "sampled":
        raise ValueError(f"weights are for order='sampled', not for order={order!r}: leave one of them out")
    if order == "sampled" and not repeat:
        raise ValueError("order='sampled' draws entries for ever: leave repeat=False out, or take order='shuffled'")
    return order


def read_weights(weights: Any, count: int, lanes: int) -> NDArray[np.float64]:
    """`weights` of `count` entries, for all of so many lanes or for each; None: all are 1.

    Raises:
        TypeError, ValueError: a wrong shape or value.
    """
    if weights is None:
        return np.ones(count)
    try:
        array = np.array(weights, np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"weights={brief(weights)} must be numbers, one per entry of the plan") from None
    if array.shape not in ((count,), (lanes, count)):
        raise ValueError(
            f"weights has shape {array.shape}, but must have one number per entry, shape ({count},), or one per lane "
            f"and entry, shape ({lanes}, {count})"
        )
    wrong = np.argwhere(~(np.isfinite(array) & (array >= 0)))
    if len(wrong):
        place = ", ".join(map(str, wrong[0].tolist()))
        raise ValueError(f"weights[{place}]={array[tuple(wrong[0])]} must be a finite number from 0 on")
    with np.errstate(over="ignore"):
        totals = np.atleast_1d(array.sum(axis=-1))
    if not (np.isfinite(totals) & (totals > 0)).all():
        lane = int(np.argmin(np.isfinite(totals) & (totals > 0)))
        whose = f" of lane {lane}" if array.ndim == 2 else ""
        raise ValueError(f"the weights{whose} sum to {totals[lane]}, but need a finite sum above 0")
    return array


def read_lanes(lanes: Any, count: int, num_envs: int, order: str) -> NDArray[np.int64] | None:
    """The lane of each entry, or None."""
    if lanes is None:
        return None
    if order == "sampled":
        raise ValueError(
            "lanes are for order='in_order' and 'shuffled': weights of shape (num_envs, entries) say which lane draws "
            "which entries"
        )
    array = np.asarray(lanes)
    if array.shape != (count,) or array.dtype.kind not in "iu":
        raise ValueError(
            f"lanes={brief(lanes)} must be ints, the lane of each of the {count} entries; got shape {array.shape} and "
            f"dtype {array.dtype}"
        )
    wrong = np.flatnonzero((array < 0) | (array >= num_envs))
    if len(wrong):
        raise ValueError(f"lanes[{wrong[0]}]={array[wrong[0]]} must be in 0..{num_envs - 1}")
    return array.astype(np.int64)
