"""Converts what a call returns or, if lanes fail, what its LaneError carries; and infos into other forms."""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.vector.utils import concatenate, create_empty_array

from batchenv._core import Infos, LaneError


def converted(convert: Callable[..., Any], call: Callable[..., Any], *arguments: Any, **keywords: Any) -> Any:
    """`convert(*result)` of what a call returns. If lanes fail, the LaneError's `result` is converted likewise."""
    try:
        result = call(*arguments, **keywords)
    except LaneError as error:
        error.result = convert(*error.result)
        raise
    return convert(*result)


def tell_infos(dicts: list[dict[str, Any]], infos: dict[str, Any], but: Collection[str] = ()) -> None:
    """Puts infos in Gymnasium's form, except those of the names `but`, into a dict per row."""
    for name in infos:
        if name in but or (isinstance(name, str) and name[:1] == "_" and name[1:] in infos):
            continue
        values, mask = infos[name], infos.get(f"_{name}")  # the parts of "episode" have none
        if isinstance(values, dict):
            inner: list[dict[str, Any]] = [{} for _ in dicts]
            tell_infos(inner, values)
            values = inner
        elif values.dtype == object:
            values = copy.deepcopy(values)  # the environment may have kept what it has told
        if mask is None or mask.all():
            for one, value in zip(dicts, values, strict=True):
                one[name] = value
        else:
            for row in np.flatnonzero(mask).tolist():
                dicts[row][name] = values[row]


def final_rows(space: spaces.Space, infos: dict[str, Any]) -> Any:
    """The last observations in infos that have "final_obs", as `batchenv.Infos.final_rows`: (lanes, rows). None: that
    is something else than last observations. space: of one lane's."""
    if not isinstance(infos, Infos):
        final = infos["final_obs"]
        if final.dtype != object:
            return None
        lanes = np.flatnonzero(infos["_final_obs"])
        return lanes, concatenate(space, list(final[lanes]), create_empty_array(space, len(lanes)))
    return infos.final_rows
