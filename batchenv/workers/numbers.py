"""Numbers that envs say in their infos, which cross from workers by column: in memory that is shared, not by pickle.

A column has room for a number of eight bytes per lane, and a mask. Each worker gives its columns to the keys that its
envs say, in the order in which they come, and tells the parent once: `Writer.write` returns what is new. A set of
columns is a number, of which the lowest bit stands for column 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

COLUMNS = 48  # of each worker; what is left of a word of a letter when one bit has another meaning


class Column(NamedTuple):
    """A key, and the type of its numbers: int, float, bool, or one of NumPy's."""

    key: str
    type: type


def _fits(key: Any, value: Any) -> bool:
    """Whether Gymnasium makes an array of numbers for this value, and a column has room for it."""
    kind = type(value)
    if type(key) is not str or key == "final_obs":
        return False
    if kind is int:
        return -(2**63) <= value < 2**63
    return kind is float or kind is bool or (isinstance(value, np.number) and value.itemsize <= 8)


def _views(values: NDArray[np.int64], column: int, kind: type) -> NDArray[Any]:
    """A column as an array of a type."""
    dtype = np.dtype(kind)
    return values[column].view(dtype)[:: 8 // dtype.itemsize]


class Writer:
    """A worker's columns. values (COLUMNS, lanes) and masks (COLUMNS, lanes): of its lanes."""

    def __init__(self, values: NDArray[np.int64], masks: NDArray[np.bool_]):
        self._values, self._masks = values, masks
        self._columns: dict[tuple[Any, type], tuple[int, NDArray[Any], NDArray[np.bool_]]] = {}

    def __len__(self) -> int:
        return len(self._columns)

    def write(
        self, rows: slice, notes: Iterable[tuple[int, dict[str, Any]]]
    ) -> tuple[int, list[Column], list[tuple[int, dict[str, Any]]]]:
        """Writes the numbers among what the envs of some rows have said. Rows of notes count from the first of these.

        Returns:
            the columns that have numbers of these rows, the columns that are new, and the notes without these numbers.
        """
        used, new, rest = 0, [], []
        for row, info in notes:
            left = {}
            for key, value in info.items():
                column = self._columns.get((key, type(value)))
                if column is None:
                    if not _fits(key, value) or len(self._columns) == COLUMNS:
                        left[key] = value
                        continue
                    new.append(Column(key, type(value)))
                    column = self._add(new[-1])
                elif type(value) is int and not _fits(key, value):
                    left[key] = value
                    continue
                index, values, mask = column
                if not used >> index & 1:
                    used |= 1 << index
                    mask[rows] = False
                values[rows.start + row], mask[rows.start + row] = value, True
            if left:
                rest.append((row, left))
        return used, new, rest

    def _add(self, column: Column) -> tuple[int, NDArray[Any], NDArray[np.bool_]]:
        index = len(self._columns)
        entry = index, _views(self._values, index, column.type), self._masks[index]
        self._columns[column] = entry
        return entry


class Reader:
    """A worker's columns, as the parent reads them. values, masks: as for `Writer`."""

    def __init__(self, values: NDArray[np.int64], masks: NDArray[np.bool_]):
        self._values, self._masks = values, masks
        self._columns: list[tuple[Column, NDArray[Any], NDArray[np.bool_]]] = []

    def learn(self, first: int, new: Sequence[Column]) -> None:
        """Is told of further columns, of which this is the number of the first. May be told twice."""
        self._columns[first:] = [
            (column, _views(self._values, index, column.type), self._masks[index])
            for index, column in enumerate(new, first)
        ]

    def read(self, used: int, rows: slice) -> list[tuple[Column, NDArray[Any], NDArray[np.bool_]]]:
        """The columns of a set, their numbers and masks in these rows. They are not copied."""
        return [
            (column, values[rows], mask[rows])
            for index, (column, values, mask) in enumerate(self._columns)
            if used >> index & 1
        ]


def together(
    parts: Sequence[tuple[int, Sequence[tuple[Column, NDArray[Any], NDArray[np.bool_]]]]],
    rows: int,
    notes: list[tuple[int, dict[str, Any]]],
) -> dict[str, Any]:
    """Infos of so many rows, in Gymnasium's form. parts: (first row, columns of the rows from there on).

    Numbers of a key that has others, too (of another type, or in `notes`), are put into `notes` instead, for Gymnasium
    to decide in the order of lanes.
    """
    types: dict[str, type | None] = {key: None for _, info in notes for key in info}
    for _, columns in parts:
        for column, _, _ in columns:
            types[column.key] = column.type if types.get(column.key, column.type) is column.type else None
    infos: dict[str, Any] = {}
    for first, columns in parts:
        for (key, kind), values, mask in columns:
            if types[key] is None:
                notes += [(first + row, {key: kind(values[row])}) for row in np.flatnonzero(mask).tolist()]
                continue
            if key not in infos:
                infos[key], infos[f"_{key}"] = np.zeros(rows, kind), np.zeros(rows, np.bool_)
            np.copyto(infos[key][first : first + len(values)], values, where=mask)
            infos[f"_{key}"][first : first + len(values)] = mask
    notes.sort(key=lambda note: note[0])
    return infos
