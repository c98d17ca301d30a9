"""gymnasium-robotics: finds its models, and translates its keywords. The tasks themselves are in
csrc/engines/mujoco/robotics."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from batchenv.arguments.numbers import integer
from batchenv.envs.mujoco import mazes, packages, tasks

_INSTALL = 'pip install "batchenv[robotics]" (of what gymnasium-robotics depends on, only mujoco is needed)'


def asset(*parts: str) -> Path:
    """The path of a file of gymnasium-robotics' models. The package is not imported.

    Raises:
        gymnasium.error.DependencyNotInstalled: the package, or this file of it, is missing.
    """
    return packages.file_of(
        "gymnasium_robotics", "envs", "assets", *parts, package="gymnasium-robotics", install=_INSTALL
    )


class GoalTask(tasks.Task):
    """Tasks whose rewards follow from goals, so that learners may ask for rewards of other goals."""

    names = (*tasks.Task.names, "compute_reward")

    def rewards(self, reward_type: str, distances: NDArray[np.float64]) -> NDArray[np.float64]:
        """The rewards of goals that are so far away."""
        raise NotImplementedError

    def attribute(self, name, batch):
        if name != "compute_reward":
            return super().attribute(name, batch)
        reward_type = batch.get_params()["reward_type"]

        def compute_reward(achieved_goal: Any, desired_goal: Any, info: Any) -> NDArray[np.float64]:
            del info  # goals say everything
            goals = [np.asarray(goal) for goal in (achieved_goal, desired_goal)]
            if any(goal.dtype.kind not in "iuf" for goal in goals) or goals[0].shape != goals[1].shape:
                raise ValueError(
                    f"compute_reward() got goals of shapes {goals[0].shape} and {goals[1].shape}, and of dtypes "
                    f"{goals[0].dtype} and {goals[1].dtype}: they must be numbers, and both have the same shape"
                )
            return self.rewards(reward_type, np.linalg.norm(goals[0] - goals[1], axis=-1))

        return [compute_reward] * len(self.lanes)


class Maze(GoalTask):
    """Robots that are to get to a place in a maze."""

    shown = (("desired_goal", "site_pos", "site", "target", (0, 1)),)
    own = (
        (
            "maze_map",
            "UMaze",
            f"rows of 1 (wall), 0 (free), 'g' (goals), 'r' (starts), 'c'; or {', '.join(mazes.MAPS)}",
        ),
    )
    names = (*GoalTask.names, "maze_map")
    OPTIONS = (
        ("goal_cell", ("goal_cell_row", "goal_cell_column"), "(row, column) of the cell of the goal; None: any"),
        ("reset_cell", ("reset_cell_row", "reset_cell_column"), "(row, column) of the cell of the start; None: any"),
    )
    xml_file = None
    xml_meaning = "another robot: the path of an XML file, or XML text"
    cell, height = 1, 0.5  # the width of a cell, m, and the height of walls, in cells

    def to_core(self, keywords):
        self._rows = mazes.rows_of(keywords.get("maze_map", "UMaze"))
        params, _ = super().to_core(keywords)
        if "maze_map" in self._given:
            self._given["maze_map"] = list(self._rows)  # a copy, which stays as it is
        return params, mazes.grid_of(self._rows)

    def options_to_core(self, options, lanes):
        for name, _, _ in self.OPTIONS:
            numbers = options.get(name)
            if isinstance(numbers, np.ndarray) and numbers.ndim > 1 and numbers.size:
                numbers = [numbers.min() if numbers.dtype.kind in "iu" else numbers.flat[0]]
            if isinstance(numbers, (list, tuple, np.ndarray)):
                for number in numbers:
                    integer(f"reset option {name}", number, 0, None, ", a row or column of maze_map")
        return super().options_to_core(options, lanes)

    def _robot(self) -> Path:
        """The file of the robot."""
        raise NotImplementedError

    def _read(self, xml):
        if xml is None:
            return mazes.build(self._robot(), self._rows, self.cell, self.height)
        if not isinstance(xml, (str, os.PathLike)):
            raise TypeError(f"xml_file={xml!r} must be the path of an XML file, or XML text, not {type(xml).__name__}")
        return mazes.build(xml, self._rows, self.cell, self.height)

    def rewards(self, reward_type, distances):
        return np.exp(-distances) if reward_type == "dense" else (distances <= 0.45).astype(np.float64)

    def attribute(self, name, batch):
        if name == "maze_map":
            return [mazes.in_lists(self._rows) for _ in range(len(self.lanes))]
        return super().attribute(name, batch)


class PointMaze(Maze):
    """PointMaze-v3."""

    height = 0.4

    # It is only read, so that a property may be in place of the base's class variable.
    @property
    def camera(self) -> dict[str, Any]:  # pyright: ignore[reportIncompatibleVariableOverride]
        return {"distance": 12.5 if len(self._rows) > 8 else 8.8}

    def _robot(self):
        return asset("point", "point.xml")


class AntMaze(Maze):
    """AntMaze-v5."""

    cell = 4
    camera = tasks.Ant.camera
    ranges = tasks.Ant.ranges
    own = (*Maze.own, *tasks.Ant.own)

    def _robot(self):
        return tasks.assets() / "ant.xml"


class AntMazeV4(AntMaze):
    """AntMaze-v4."""

    own = (*Maze.own, *tasks.AntV4.own)

    def to_core(self, keywords):
        result = super().to_core(keywords)
        if self._flag("use_contact_forces"):
            self.type_name = "AntMazeV4Contact"  # its infos have another dtype
        return result
