"""Converts what a call returns or, if lanes fail, what its LaneError carries; and infos into a dict per lane."""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection
from typing import Any

import numpy as np

from batchenv._core import LaneError


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
