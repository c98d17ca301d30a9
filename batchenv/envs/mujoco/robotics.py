"""gymnasium-robotics: finds its models, and translates its keywords. The tasks themselves are in
csrc/engines/mujoco/robotics. (Those of hands are in hands.py.)"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from batchenv.arguments.numbers import integer
from batchenv.envs.mujoco import library, mazes, tasks
from batchenv.envs.mujoco.goals import GoalTask, asset
from batchenv.envs.mujoco.hands import (
    HandManipulateBlock,
    HandManipulateBlockTouch,
    HandManipulateEgg,
    HandManipulateEggTouch,
    HandManipulatePen,
    HandManipulatePenTouch,
    HandReach,
)

__all__ = [
    "HandManipulateBlock", "HandManipulateBlockTouch", "HandManipulateEgg", "HandManipulateEggTouch",
    "HandManipulatePen", "HandManipulatePenTouch", "HandReach",
]  # fmt: skip

_AT_GOAL = 0.45  # m, by how much a robot in a maze may be away from its goal


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

    def rewards_at(self, reward_type, distances):
        return np.exp(-distances) if reward_type == "dense" else (distances <= _AT_GOAL).astype(np.float64)

    def ends_at(self, params, distances, lane):
        going_on = np.broadcast_to(params["continuing_task"], len(self.lanes))[lane]
        return (distances <= _AT_GOAL) & (not going_on)

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


class Fetch(GoalTask):
    """Fetch-v4: arms whose hand is welded to a mocap body.

    file: the model's. height: by how much the gripper is above the table when the arm is in position, as there. base:
    where the arm stands, along x. object: where one is before that, and how it is turned.
    """

    file: str
    height: float
    base = 0.405
    object: tuple[float, ...] | None = (1.25, 0.53, 0.4, 1.0, 0.0, 0.0, 0.0)
    xml_file = None
    xml_meaning = "another model with the same names: the path of an XML file, or XML text"
    shown = (("goal", "site_pos", "site", "target0", (0, 1, 2)),)
    seen_evaluated = True
    camera = {"distance": 2.5, "azimuth": 132.0, "elevation": -14.0, "lookat": np.array([1.3, 0.75, 0.55])}

    def to_core(self, keywords):
        params, grid = super().to_core(keywords)
        self._frame_skip = params.get("frame_skip", 20)
        return params, grid

    def _read(self, xml):
        model = tasks.read_own(asset("fetch", f"{self.file}.xml") if xml is None else xml, "xml_file")
        welds = model.eq_type == int(library.load()[0].mjtEq.mjEQ_WELD)
        model.eq_data[welds, :7] = 0, 0, 0, 0, 0, 0, 1  # the hand is to be where the mocap body is
        return model

    def _start(self):
        steps = integer("frame_skip", self._frame_skip, 1, None)
        try:
            return self._in_position(10 * steps)
        except (KeyError, IndexError) as problem:  # a name that the model does not have, or no mocap body
            raise ValueError(f"xml_file: the arm cannot be brought into position: {problem}") from None

    def _in_position(self, steps: int) -> library.Start:
        """Where the mocap body has brought the arm after so many of MuJoCo's steps."""
        mujoco, _ = library.load()
        data = mujoco.MjData(self._model)
        data.joint("robot0:slide0").qpos, data.joint("robot0:slide1").qpos = self.base, 0.48
        data.joint("robot0:slide2").qpos = 0
        if self.object is not None:
            data.joint("object0:joint").qpos = self.object
        for _ in range(2):
            mujoco.mj_forward(self._model, data)
        data.mocap_pos[0] = np.array([-0.498, 0.005, -0.431 + self.height]) + data.site("robot0:grip").xpos
        data.mocap_quat[0] = 1, 0, 1, 0
        mujoco.mj_step(self._model, data, nstep=steps)
        numbers = [*data.site("robot0:grip").xpos, 0.0 if self.object is None else data.site("object0").xpos[2]]
        return library.Start(data.qpos.copy(), data.qvel.copy(), data.time, np.array(numbers))

    def rewards_at(self, reward_type, distances):
        return -distances if reward_type == "dense" else -(distances > 0.05).astype(np.float32)


class FetchReach(Fetch):
    """FetchReach-v4."""

    file, height, base, object = "reach", 0.2, 0.4049, None


class FetchPush(Fetch):
    """FetchPush-v4."""

    file, height = "push", 0.0


class FetchSlide(Fetch):
    """FetchSlide-v4."""

    file, height, base, object = "slide", -0.02, 0.05, (1.7, 1.1, 0.41, 1.0, 0.0, 0.0, 0.0)


class FetchPickAndPlace(Fetch):
    """FetchPickAndPlace-v4."""

    file, height = "pick_and_place", 0.2
