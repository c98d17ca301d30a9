"""Converts what a call returns or, if lanes fail, what its LaneError carries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from batchenv._core import LaneError


def converted(convert: Callable[..., Any], call: Callable[..., Any], *arguments: Any, **keywords: Any) -> Any:
    """`convert(*result)` of what a call returns. If lanes fail, the LaneError's `result` is converted likewise."""
    try:
        result = call(*arguments, **keywords)
    except LaneError as error:
        error.result = convert(*error.result)
        raise
    return convert(*result)
