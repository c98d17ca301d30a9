"""Converts what a call returns or, if lanes fail, what its LaneError carries; and infos into a dict per lane."""

from __future__ import annotations

from collections.abc import Callable
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


def info_dicts(infos: dict[str, Any], count: int) -> list[dict[str, Any]]:
    """Infos in Gymnasium's form, arrays with a mask each, as one dict per row: what the row's environment has told."""
    dicts: list[dict[str, Any]] = [{} for _ in range(count)]
    for name, values in infos.items():
        if isinstance(name, str) and name[:1] == "_" and name[1:] in infos:
            continue
        # A step of some lanes adds "env_id" without a mask, and so are the parts of "episode".
        rows = np.flatnonzero(infos.get(f"_{name}", np.ones(count, np.bool_))).tolist()
        parts = info_dicts(values, count) if isinstance(values, dict) else values
        for row in rows:
            dicts[row][name] = parts[row]
    return dicts
