"""The maps of gymnasium-robotics' mazes, and models of a robot in one."""

from __future__ import annotations

import itertools
import os
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, SubElement

import numpy as np
from numpy.typing import NDArray

from batchenv.arguments.numbers import brief
from batchenv.envs.mujoco import dm_models

WALL, FREE, GOAL, START, BOTH = "10grc"
_RULE = (
    "must be rows of equal length, of 1 (wall), 0 (free), 'g' (goals), 'r' (starts) and 'c' (both), such as "
    "[[1, 1, 1, 1], [1, 'r', 'g', 1], [1, 1, 1, 1]], or the name of a map"
)


def _marked(rows: list[str], places: dict[tuple[int, int], str]) -> list[str]:
    """A map with these marks in its cells (row, column)."""
    cells = [list(row) for row in rows]
    for (row, column), mark in places.items():
        cells[row][column] = mark
    return ["".join(row) for row in cells]


_PLAIN = {
    "UMaze": ["11111", "10001", "11101", "10001", "11111"],
    "Open": ["1111111", "1000001", "1000001", "1000001", "1111111"],
    "Medium": ["11111111", "10011001", "10010001", "11000111", "10010001", "10100101", "10001001", "11111111"],
    "Large": [
        *("111111111111", "100001000001", "101101010101", "100000010001", "101111011101", "100101000001"),
        *("110101010111", "100100010001", "111111111111"),
    ],
}
# Cells of goals; episodes start in (1, 1).
_GOALS = {
    "Open": [cell for cell in itertools.product(range(1, 4), range(1, 6)) if cell != (1, 1)],
    "Medium": [(2, 6), (5, 1), (6, 5)],
    "Large": [(1, 6), (3, 5), (3, 10), (5, 2), (7, 4), (7, 6), (7, 9)],
}
# By the part of an id that names the map. In _Diverse_G goals are marked, and in _Diverse_GR episodes start there, too.
MAPS = {
    **_PLAIN,
    **{f"{name}_Diverse_G": _marked(_PLAIN[name], {(1, 1): "r"} | dict.fromkeys(_GOALS[name], "g")) for name in _GOALS},
    **{f"{name}_Diverse_GR": _marked(_PLAIN[name], dict.fromkeys([(1, 1), *_GOALS[name]], "c")) for name in _GOALS},
}


def rows_of(value: Any) -> list[str]:
    """`maze_map=value` as rows of characters.

    Raises:
        TypeError, ValueError: it is no map.
    """
    if isinstance(value, str):
        if value not in MAPS:
            raise ValueError(f"maze_map={value!r} is not the name of a map: {', '.join(MAPS)}")
        return MAPS[value]
    if isinstance(value, bytes) or not isinstance(value, (list, tuple, np.ndarray)):
        raise TypeError(f"maze_map={brief(value)} {_RULE}")
    if not all(isinstance(row, (str, list, tuple, np.ndarray)) and np.ndim(row) < 2 for row in value):
        raise TypeError(f"maze_map={brief(value)} {_RULE}")
    rows = ["".join(_cell(cell, i, j) for j, cell in enumerate(row)) for i, row in enumerate(value)]
    if not rows or not rows[0]:
        raise ValueError(f"maze_map={brief(value)} has no cells: it {_RULE}")
    for i, row in enumerate(rows):
        if len(row) != len(rows[0]):
            raise ValueError(f"maze_map's row {i} has {len(row)} cells and row 0 has {len(rows[0])}: it {_RULE}")
    return rows


def _cell(cell: Any, row: int, column: int) -> str:
    """A cell as a character."""
    number = isinstance(cell, (int, float, np.number, np.bool_))
    mark = str(int(cell)) if number and cell in (0, 1) else cell
    if not isinstance(mark, str) or mark not in (WALL, FREE, GOAL, START, BOTH):
        raise ValueError(f"maze_map's cell {column} of row {row} is {cell!r}: maze_map {_RULE}")
    return str(mark)


def grid_of(rows: list[str]) -> NDArray[np.uint8]:
    """The same as the C types have it."""
    return np.array([list(row.encode()) for row in rows], np.uint8)


def in_lists(rows: list[str]) -> list[list[int | str]]:
    """The same as gymnasium-robotics has it."""
    return [[int(cell) if cell in (WALL, FREE) else cell for cell in row] for row in rows]


def _parsed(robot: str | os.PathLike[str]) -> Element:
    text = robot if isinstance(robot, str) and robot.lstrip().startswith("<") else None
    path = Path(robot if text is None else "").expanduser()
    if text is None and ("\0" in str(path) or not path.is_file()):
        raise FileNotFoundError(f"xml_file: there is no file {str(path)!r}: name the XML file of a model")
    try:
        return dm_models.read(path) if text is None else ElementTree.fromstring(text)
    except (ElementTree.ParseError, ValueError) as error:  # ValueError: characters that UTF-8 does not have
        raise ValueError(f"xml_file is not XML: {error}") from None


def build(robot: str | os.PathLike[str], rows: list[str], cell: int, height: float) -> Any:
    """The model of a robot in a maze.

    Args:
        robot: the path of its XML file, or XML text.
        rows: the map.
        cell: the width of a cell, m.
        height: of walls, in cells.

    Raises:
        ValueError: the XML is not the model of a robot.
    """
    root = _parsed(robot)
    world = root.find(".//worldbody")
    if world is None:
        raise ValueError("xml_file: the XML has no worldbody, so it is no model to which walls could be added")
    middle_x, middle_y, middle_z = len(rows[0]) / 2 * cell, len(rows) / 2 * cell, height / 2 * cell
    for i, j in itertools.product(range(len(rows)), range(len(rows[0]))):
        if rows[i][j] == WALL:
            SubElement(
                world,
                "geom",
                name=f"block_{i}_{j}",
                type="box",
                pos=f"{(j + 0.5) * cell - middle_x} {middle_y - (i + 0.5) * cell} {middle_z}",
                size=f"{0.5 * cell} {0.5 * cell} {middle_z}",
                contype="1",
                conaffinity="1",
                rgba="0.7 0.5 0.3 1.0",
                material="",
            )
    SubElement(world, "site", name="target", pos=f"0 0 {middle_z}", size=f"{0.2 * cell}", rgba="1 0 0 0.7")
    return dm_models.compiled(root)
