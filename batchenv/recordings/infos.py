"""Infos in recordings: those that checksums cover, and all of them where results are stored."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from batchenv.backend.stepwise import stacked_infos
from batchenv.recordings.leaves import as_array, flat, info_at, nested_as
from batchenv.recordings.values import from_json, to_json

_CLOCK = ("episode", "t")  # seconds, which no two runs have in common


class InfoForms:
    """The numeric infos that an env's type names before it is stepped.

    Args:
        forms: as `Backend.info_forms` returns them.
    """

    def __init__(self, forms: Sequence[tuple[tuple[str, ...], Any, tuple[int, ...]]]):
        self._forms = [form for form in forms if np.dtype(form[1]).kind in "biuf" and tuple(form[0]) != _CLOCK]

    def of(self, infos: dict[str, Any], rows: int, step: int | None = None) -> list[NDArray[Any]]:
        """Their values in rows of a step, or in one step of a rollout; 0 where a row has none."""
        found = []
        for path, dtype, shape in self._forms:
            values, mask = info_at(infos, path)
            if step is not None and values is not None:
                values, mask = values[step], None if mask is None else mask[step]
            if values is None:
                values = np.zeros((rows, *shape), dtype)
            elif mask is not None and not mask.all():
                values = np.where(mask.reshape(-1, *[1] * (values.ndim - 1)), values, np.zeros((), values.dtype))
            found.append(values)
        return found


_KEPT_MASKS = ("_episode", "_final_obs")


def as_rollout(infos: dict[str, Any], rows: int) -> dict[str, Any]:
    """Infos of a step of C lanes in the form that rollouts give them: numbers without masks, 0 where a row has none,
    and last observations as arrays."""
    found = _without_masks(infos)
    which, finals = getattr(infos, "final_rows", ((), None))
    if len(which):

        def spread(part: Any) -> NDArray[Any]:
            part = as_array(part)
            whole = np.full((rows, *part.shape[1:]), None if part.dtype.hasobject else 0, part.dtype)
            whole[which] = part
            return whole

        found["final_obs"] = nested_as(finals, [spread(part) for part in flat(finals)])
    return found


def _without_masks(infos: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in infos.items():
        if isinstance(value, dict):
            found[name] = _without_masks(value)
            continue
        if name.startswith("_") and name[1:] in infos and name not in _KEPT_MASKS:
            continue
        mask = infos.get(f"_{name}")
        if isinstance(mask, np.ndarray) and isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
            value = np.where(mask.reshape(-1, *[1] * (value.ndim - 1)), value, np.zeros((), value.dtype))
        found[name] = value
    return found


def written_infos(infos: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Infos of several steps as arrays of a block: numbers as they are, and everything else as JSON."""
    if not any(infos):
        return {}
    arrays: dict[str, NDArray[Any]] = {}

    def taken(value: Any) -> list[Any]:
        """("d", a dict), ("a", the name of an array), ("o", nested lists of objects) or ("v", another value)."""
        if isinstance(value, dict):
            return ["d", {name: taken(part) for name, part in value.items()}]
        if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
            name = f"i{len(arrays)}"
            arrays[name] = value
            return ["a", name]
        if isinstance(value, np.ndarray) and value.dtype.hasobject:
            return ["o", [taken(part) for part in value]]
        return ["v", to_json(value, strict=False)]

    tree = taken(stacked_infos(list(infos)))
    return {**arrays, "infos": json.dumps(tree).encode()}


def read_infos(arrays: dict[str, Any]) -> dict[str, Any]:
    """What `written_infos` has written; of what JSON could not hold, a `values.Lost`."""

    def made(tree: list[Any]) -> Any:
        kind, of = tree
        if kind == "d":
            return {name: made(part) for name, part in of.items()}
        if kind == "a":
            return arrays[of]
        if kind == "o":
            return _objects([made(part) for part in of])
        return from_json(of)

    return made(json.loads(arrays["infos"])) if "infos" in arrays else {}


def _objects(parts: list[Any]) -> NDArray[Any]:
    nested = bool(parts) and all(isinstance(part, np.ndarray) and part.dtype.hasobject for part in parts)
    array = np.empty((len(parts), *(parts[0].shape if nested else ())), object)
    for k, part in enumerate(parts):
        array[k] = part
    return array
