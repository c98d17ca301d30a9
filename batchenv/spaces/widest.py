"""The space that holds what lanes of several environments observe."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium import spaces


def widest(several: Sequence[spaces.Space[Any]]) -> spaces.Space[Any] | None:
    """The smallest space that has all values of these, which differ in the bounds of Boxes at most. None: there is no
    such space."""
    first = several[0]
    if all(space == first for space in several[1:]):
        return first
    if any(type(space) is not type(first) for space in several):
        return None
    if isinstance(first, spaces.Box):
        if any((space.shape, space.dtype) != (first.shape, first.dtype) for space in several):
            return None
        boxes: Any = several
        low, high = np.min([box.low for box in boxes], axis=0), np.max([box.high for box in boxes], axis=0)
        return spaces.Box(low, high, first.shape, first.dtype.type)
    if isinstance(first, (spaces.Dict, spaces.Tuple)):
        return _widest_parts(several)
    return None


def _widest_parts(several: Sequence[Any]) -> spaces.Space[Any] | None:
    """`widest` of Dicts or of Tuples."""
    parts: list[dict[Any, spaces.Space[Any]]]
    parts = [dict(one.spaces) if isinstance(one, spaces.Dict) else dict(enumerate(one.spaces)) for one in several]
    if any(list(one) != list(parts[0]) for one in parts):
        return None
    found: dict[Any, Any] = {key: widest([one[key] for one in parts]) for key in parts[0]}
    if None in found.values():
        return None
    return spaces.Dict(found) if isinstance(several[0], spaces.Dict) else spaces.Tuple(list(found.values()))
