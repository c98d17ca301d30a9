"""Puts infos of some lanes together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


def merged(parts: Sequence[tuple[int, dict[str, Any]]], rows: int) -> dict[str, Any]:
    """Infos of so many rows. parts: (first row, infos of the rows from there on), each in Gymnasium's form. Rows that
    no part covers, or whose part lacks an info, have 0 or None there, and a mask of False."""
    together: dict[str, Any] = {}
    inner: dict[str, list[tuple[int, dict[str, Any]]]] = {}
    for first, infos in parts:
        for name, value in infos.items():
            if isinstance(value, dict):
                inner.setdefault(name, []).append((first, value))
                continue
            array = together.get(name)
            if array is None:
                nothing = None if value.dtype == object else 0
                array = together[name] = np.full((rows, *value.shape[1:]), nothing, value.dtype)
            array[first : first + len(value)] = value
    for name, values in inner.items():
        together[name] = merged(values, rows)
    return together
