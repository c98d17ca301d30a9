"""gymnasium-robotics: finds its models, and translates its keywords. The tasks themselves are in
csrc/engines/mujoco/robotics."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from batchenv.arguments.numbers import integer
from batchenv.envs.mujoco import library, mazes, packages, reads, rotations, tasks

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

    def rewards(
        self, params: dict[str, Any], achieved: NDArray[Any], desired: NDArray[Any]
    ) -> NDArray[np.floating[Any]]:
        """The rewards of goals, with these parameters of the task."""
        return self.rewards_at(params["reward_type"], np.linalg.norm(achieved - desired, axis=-1))

    def rewards_at(self, reward_type: str, distances: NDArray[np.float64]) -> NDArray[np.floating[Any]]:
        """The rewards of goals that are so far away, where nothing else counts."""
        raise NotImplementedError

    def check_goals(self, achieved: NDArray[Any], desired: NDArray[Any]) -> None:
        """Raises ValueError if they are no goals."""
        goals = achieved, desired
        if any(goal.dtype.kind not in "iuf" for goal in goals) or goals[0].shape != goals[1].shape:
            raise ValueError(
                f"compute_reward() got goals of shapes {goals[0].shape} and {goals[1].shape}, and of dtypes "
                f"{goals[0].dtype} and {goals[1].dtype}: they must be numbers, and both have the same shape"
            )

    def attribute(self, name, batch):
        if name != "compute_reward":
            return super().attribute(name, batch)
        params = batch.get_params()

        def compute_reward(achieved_goal: Any, desired_goal: Any, info: Any) -> NDArray[np.floating[Any]]:
            del info  # goals say everything
            goals = [np.asarray(goal) for goal in (achieved_goal, desired_goal)]
            self.check_goals(*goals)
            return self.rewards(params, *goals)

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

    def rewards_at(self, reward_type, distances):
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


class Hand(GoalTask):
    """The Shadow hand. file: the model's. initial: where joints are when episodes start, {name: angle}."""

    file: str
    initial: dict[str, float] = {}
    xml_file = None
    xml_meaning = "another model with the same names: the path of an XML file, or XML text"
    own = (
        ("initial_qpos", None, "where joints are when episodes start: {name: position}; None: the task's own"),
        ("relative_control", False, "only False: with True, gymnasium-robotics stops at an error"),
    )
    ALIASES = {"n_substeps": "frame_skip"}
    seen_evaluated = True
    camera = {"distance": 0.5, "azimuth": 55.0, "elevation": -25.0, "lookat": np.array([1, 0.96, 0.14])}

    def to_core(self, keywords):
        result = super().to_core(keywords)
        if self._flag("relative_control"):
            raise ValueError(
                "relative_control=True is not there: with it, gymnasium-robotics stops at an error. Actions are where "
                "joints are to be, from -1 to 1 of their range"
            )
        if not isinstance(self._value("initial_qpos"), dict | None):
            raise TypeError(
                f"initial_qpos={self._value('initial_qpos')!r} must be a dict, {{name of a joint: position}}"
            )
        return result

    def _read(self, xml):
        return tasks.read_own(asset("hand", f"{self.file}.xml") if xml is None else xml, "xml_file")

    def _start(self):
        mujoco, _ = library.load()
        data, initial = mujoco.MjData(self._model), self._value("initial_qpos")
        for name, position in (self.initial if initial is None else initial).items():
            try:
                data.joint(name).qpos = position
            except (KeyError, TypeError, ValueError) as problem:
                raise ValueError(f"initial_qpos: {name!r} cannot be at {position!r}: {problem}") from None
        if not np.isfinite(data.qpos).all():
            raise ValueError(f"initial_qpos={initial!r} must be finite")
        mujoco.mj_forward(self._model, data)
        return library.Start(data.qpos.copy(), data.qvel.copy(), data.time, self._numbers(data))

    def _numbers(self, data: Any) -> NDArray[np.float64]:
        """What the task in C is to know of the start."""
        raise NotImplementedError


class HandReach(Hand):
    """HandReach-v3."""

    FINGERS = ("ff", "mf", "rf", "lf", "th")
    file = "reach"
    initial = {
        f"robot0:{finger}J{joint}": angle
        for finger, angles in {
            "WR": (-0.31973286565062153, -0.16514339750464327),
            "FF": (0.6705281001412586, 0.7126053607727917, 0.32028208333591573, 0.14340512546557435),
            "MF": (0.7323156897425923, 0.7659800313729842, 0.3152655251085491, 0.000246444303701037),
            "RF": (0.6699446327514138, 0.7119514095008576, 0.36743546201985233, 0.00038520700007378114),
            "LF": (
                0.704096378652974, 0.7415570009679252, 0.39872030433433003, -0.13615534724474673, 0.0525442258033891
            ),
            "TH": (
                -0.7894883021600622, -0.0015229223564485414, -0.014515151997119306, 0.5506291436028695,
                0.003673823825070126,
            ),
        }.items()
        for joint, angle in enumerate(angles)
    }  # fmt: skip

    def _numbers(self, data):
        try:
            tips = [data.site(f"robot0:S_{finger}tip").xpos for finger in self.FINGERS]
            return np.concatenate([*tips, data.body("robot0:palm").xpos])
        except KeyError as problem:  # a name that the model does not have
            raise ValueError(f"xml_file: {problem}") from None

    def see(self, model, data, state, params):
        goal = state["goal"].reshape(5, 3)
        tips = [data.site(f"robot0:S_{finger}tip").xpos.copy() for finger in self.FINGERS]
        for name, places in (("target", goal), ("finger", tips)):
            for finger, place in enumerate(places):
                site = model.site(f"{name}{finger}")
                site.pos = place - (data.site(site.id).xpos - site.pos)
        super().see(model, data, state, params)

    def rewards(self, params, achieved, desired):
        distances = np.linalg.norm(achieved - desired, axis=-1)
        if params["reward_type"] == "dense":
            return -distances
        return -(distances > params["distance_threshold"]).astype(np.float32)


class HandManipulate(Hand):
    """HandManipulate-v1: an object in the hand."""

    def see(self, model, data, state, params):
        mujoco, target = library.load()[0], data.joint("target:joint")
        target.qpos, target.qvel = state["goal"], 0
        if params["target_position"] == "ignore":
            target.qpos[0] += 0.15  # beside the object, which does not have to be there
        hidden = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_GEOM, "object_hidden")
        if hidden >= 0:
            model.geom_rgba[hidden, 3] = 1
        super().see(model, data, state, params)

    def _numbers(self, data):
        return rotations.parallel().ravel()

    def check_goals(self, achieved, desired):
        super().check_goals(achieved, desired)
        if achieved.shape[-1:] != (7,):
            raise ValueError(f"compute_reward() got goals of shape {achieved.shape}: they must be (..., 7)")

    def rewards(self, params, achieved, desired):
        distances = angles = np.zeros(achieved.shape[:-1])
        if params["target_position"] != "ignore":
            distances = np.linalg.norm(achieved[..., :3] - desired[..., :3], axis=-1)
        if params["target_rotation"] != "ignore":
            quats = achieved[..., 3:], desired[..., 3:]
            if params["ignore_z_target_rotation"]:
                turns, wanted = (rotations.angles_of(quat) for quat in quats)
                turns[..., 2] = wanted[..., 2]
                quats = rotations.quat_of(turns), quats[1]
            angles = rotations.angle_between(*quats)
        if params["reward_type"] == "dense":
            return -(10.0 * distances + angles)
        near = (distances < params["distance_threshold"]) & (angles < params["rotation_threshold"])
        return near.astype(np.float32) - np.float32(1.0)


class HandManipulateBlock(HandManipulate):
    """A block."""

    file = "manipulate_block"


class HandManipulateEgg(HandManipulate):
    """An egg."""

    file = "manipulate_egg"


class HandManipulatePen(HandManipulate):
    """A pen."""

    file = "manipulate_pen"


class HandTouch(HandManipulate):
    """Hands with touch sensors."""

    SEEN = ("on_touch", "always", "off")
    own = (
        *HandManipulate.own,
        (
            "touch_visualisation",
            "on_touch",
            "pictures show touch sensors in red where they feel something ('on_touch'), as the model has them "
            "('always'), or not ('off')",
        ),
    )

    def to_core(self, keywords):
        seen = keywords.get("touch_visualisation", "on_touch")
        if seen not in self.SEEN:
            raise ValueError(f"touch_visualisation={seen!r} must be one of {list(self.SEEN)}")
        return super().to_core(keywords)

    def _read(self, xml):
        model = super()._read(xml)
        if self._value("touch_visualisation") == "off":
            for _, site in self._sensors(model):
                model.site(site).rgba[3] = 0
        return model

    @staticmethod
    def _sensors(model: Any) -> list[tuple[int, str]]:
        """The numbers of touch sensors, and the names of their sites."""
        names = enumerate(reads.names(library.load()[0], model, "sensor"))
        return [(k, name.replace("robot0:TS_", "robot0:T_")) for k, name in names if "robot0:TS_" in name]

    def see(self, model, data, state, params):
        super().see(model, data, state, params)
        if self._value("touch_visualisation") == "on_touch":
            for sensor, site in self._sensors(model):
                model.site(site).rgba = (1, 0, 0, 0.5) if data.sensordata[sensor] != 0 else (0, 0.5, 0, 0.2)


class HandManipulateBlockTouch(HandTouch):
    """A block, and touch sensors."""

    file = "manipulate_block_touch_sensors"


class HandManipulateEggTouch(HandTouch):
    """An egg, and touch sensors."""

    file = "manipulate_egg_touch_sensors"


class HandManipulatePenTouch(HandTouch):
    """A pen, and touch sensors."""

    file = "manipulate_pen_touch_sensors"
