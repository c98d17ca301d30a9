"""MuJoCo Playground's locomotion tasks: finds and prepares their models, and translates their settings for the C core.
The tasks themselves are in csrc/engines/mujoco/tasks."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium.error import DependencyNotInstalled

from batchenv.arguments.numbers import number
from batchenv.envs.mujoco import library, packages, tasks

_INSTALL = "pip install --no-deps playground, 0.2 or newer (of what it depends on, only mujoco is needed)"
_COMMANDS = ("command_lin_vel_x", "command_lin_vel_y", "command_ang_vel_yaw")


def locomotion(robot: str, scene: str) -> Path:
    """The XML file of a scene in the installed package, which is not imported: that would import JAX.

    Raises:
        gymnasium.error.DependencyNotInstalled: the package, or this file of it, is missing.
    """
    parts = "_src", "locomotion", robot, "xmls", scene
    return packages.file_of("mujoco_playground", *parts, package="playground", install=_INSTALL)


def _constant(robot: str, file: str, name: str) -> Any:
    """What a file of the package, which is not imported, assigns to a name.

    Raises:
        gymnasium.error.DependencyNotInstalled: the package is missing, or has no such file or name.
    """
    path = locomotion(robot, f"../{file}")
    nodes = [node for node in ast.parse(path.read_text()).body if isinstance(node, ast.Assign)]
    values = [ast.literal_eval(node.value) for node in nodes if ast.unparse(node.targets[0]) == name]
    if not values:
        raise DependencyNotInstalled(f"{path} of the installed package playground has no {name}: {_INSTALL}")
    return values[0]


def read_without_meshes(path: Path) -> Any:
    """The mjModel of an XML file without the meshes that are only seen: the package's models take them from another
    package, which it downloads when it is imported. Nothing that moves depends on them.

    Raises:
        ValueError: a mesh touches other geoms, or has the mass of a body; or the file is not a model.
    """
    mujoco, _ = library.load()
    try:
        spec = mujoco.MjSpec.from_file(str(path))
        packages.drop_meshes(spec)
        for asset in [*spec.hfields, *spec.textures]:  # they are not where the XML's folder of meshes is
            asset.file = str(path.parent / asset.file) if asset.file else ""
        return spec.compile()
    except (AttributeError, ValueError) as error:  # AttributeError: an old version, without all of MjSpec
        raise ValueError(f"{path} cannot be used with mujoco {mujoco.__version__}: {error}") from None


class Locomotion(tasks.Task):
    """What the tasks have in common.

    robot: the name of its folder. SCENES: {name of the task: file}; the first is the default.
    gains: defaults of Kp and Kd; None: the model's own, without such keywords. ccd_iterations: of the model; None: as
    it is.
    """

    robot: str
    SCENES: dict[str, str]
    sim_dt = 0.004
    gains: tuple[float, float] | None = None
    ccd_iterations: int | None = None
    xml_file = None
    xml_meaning = "another model with the same names: the path of an XML file, or XML text"
    camera = {"distance": 2.0, "elevation": -20.0}
    follows = 1
    ranges = ("pert_velocity_kick", "pert_kick_durations", "pert_kick_wait_times")

    @property
    def own(self) -> tuple[tuple[str, Any, str], ...]:  # pyright: ignore[reportIncompatibleVariableOverride]
        names = list(self.SCENES)
        shared = (
            ("task", names[0], f"which of the package's scenes: {' or '.join(names)}"),
            ("ctrl_dt", 0.02, "s per step of the env: says frame_skip"),
            ("sim_dt", self.sim_dt, "s per step of MuJoCo"),
        )
        if self.gains is None:
            return shared
        return (
            *shared,
            ("Kp", self.gains[0], "gain of the joints' position servos, N m/rad"),
            ("Kd", self.gains[1], "damping of the joints, N m s/rad"),
        )

    def to_core(self, keywords):
        params, grid = super().to_core(keywords)
        if "frame_skip" not in params:
            params["frame_skip"] = self._frame_skip()
        elif "ctrl_dt" in self._given:
            raise TypeError("ctrl_dt says what frame_skip says: give one of them")
        self._given.pop("ctrl_dt", None)
        return params, grid

    def _frame_skip(self) -> int:
        ctrl_dt, sim_dt = self._within("ctrl_dt", 1e-6, 1), self._within("sim_dt", 1e-6, 1)
        steps = round(ctrl_dt / sim_dt)
        if steps < 1 or not np.isclose(steps * sim_dt, ctrl_dt, rtol=1e-6):
            raise ValueError(f"ctrl_dt={ctrl_dt} must be a multiple of sim_dt={sim_dt}")
        return steps

    def _within(self, name: str, low: float, high: float) -> float:
        value = number(name, self._value(name))
        if not low <= value <= high:
            raise ValueError(f"{name}={value} must be from {low:g} to {high:g}")
        return value

    def _read(self, xml: Any) -> Any:
        task = self._value("task")
        if not isinstance(task, str) or task not in self.SCENES:
            raise ValueError(f"task={task!r} must be one of {', '.join(map(repr, self.SCENES))}")
        if xml is None:
            model = read_without_meshes(locomotion(self.robot, self.SCENES[task]))
        else:
            model = tasks.read_own(xml, "xml_file")
        model.opt.timestep = self._within("sim_dt", 1e-6, 1)
        if self.ccd_iterations is not None:
            model.opt.ccd_iterations = self.ccd_iterations
        if self.gains is None:
            return model
        gain = self._within("Kp", 0, 1e6)
        model.actuator_gainprm[:, 0], model.actuator_biasprm[:, 1] = gain, -gain
        model.dof_damping[6:] = self._within("Kd", 0, 1e6)
        return model


TERRAINS = {
    "flat_terrain": "scene_mjx_feetonly_flat_terrain.xml",
    "rough_terrain": "scene_mjx_feetonly_rough_terrain.xml",
}
_COMMANDS = "command_lin_vel_x", "command_lin_vel_y", "command_ang_vel_yaw"


class Go1Joystick(Locomotion):
    """Go1JoystickFlatTerrain-v0 and Go1JoystickRoughTerrain-v0."""

    robot = "go1"
    SCENES = TERRAINS
    gains = 35.0, 0.5
    ccd_iterations = 20


class Go1Getup(Locomotion):
    """Go1Getup-v0."""

    robot = "go1"
    SCENES = {"flat_terrain": "scene_mjx_fullcollisions_flat_terrain.xml"}
    gains = 35.0, 0.5
    ccd_iterations = 20
    ranges = ()


class Go1Handstand(Locomotion):
    """Go1Handstand-v0."""

    robot = "go1"
    SCENES = {"flat_terrain": "scene_mjx_flat_terrain.xml"}
    gains = 35.0, 0.5
    ccd_iterations = 20
    ranges = ()


class Go1Footstand(Go1Handstand):
    """Go1Footstand-v0."""


class SpotJoystick(Locomotion):
    """SpotFlatTerrainJoystick-v0."""

    robot = "spot"
    SCENES = {"flat_terrain": "scene_mjx_feetonly_flat_terrain.xml"}
    gains = 300.0, 1.0
    ranges = (*Locomotion.ranges, *_COMMANDS)


class SpotGetup(Locomotion):
    """SpotGetup-v0."""

    robot = "spot"
    SCENES = {"flat_terrain": "scene_mjx_flat_terrain.xml"}
    gains = 400.0, 20.0
    ranges = ()


class SpotJoystickGaitTracking(Locomotion):
    """SpotJoystickGaitTracking-v0."""

    robot = "spot"
    SCENES = {"flat_terrain": "scene_mjx_feetonly_flat_terrain.xml"}
    gains = 400.0, 10.0
    ranges = ("gait_frequency", "foot_height", *_COMMANDS)


class Op3Joystick(Locomotion):
    """Op3Joystick-v0."""

    robot = "op3"
    SCENES = {"flat_terrain": "scene_mjx_feetonly.xml"}
    gains = 21.1, 1.084
    ccd_iterations = 10
    ranges = _COMMANDS


class Humanoid(Locomotion):
    """What robots with two legs have in common."""

    SCENES = TERRAINS
    sim_dt = 0.002
    ranges = ("push_interval", "push_magnitude", *_COMMANDS)


class G1Joystick(Humanoid):
    """G1JoystickFlatTerrain-v0 and G1JoystickRoughTerrain-v0."""

    robot = "g1"

    @property
    def own(self):  # pyright: ignore[reportIncompatibleVariableOverride]
        return (*super().own, ("restricted_joint_range", False, "joints and their targets have narrower ranges"))

    def _read(self, xml):
        model = super()._read(xml)
        if self._flag("restricted_joint_range"):
            ranges = _constant("g1", "g1_constants.py", "RESTRICTED_JOINT_RANGE")
            if model.nu != len(ranges) or model.njnt != 1 + len(ranges):
                raise ValueError(
                    f"restricted_joint_range: the model must have {len(ranges)} joints with an actuator each"
                )
            model.jnt_range[1:] = model.actuator_ctrlrange[:] = ranges
        return model


class T1Joystick(Humanoid):
    """T1JoystickFlatTerrain-v0 and T1JoystickRoughTerrain-v0."""

    robot = "t1"
    ccd_iterations = 10


class ApolloJoystick(Humanoid):
    """ApolloJoystickFlatTerrain-v0."""

    robot = "apollo"
    SCENES = {"flat_terrain": TERRAINS["flat_terrain"]}
    sim_dt = 0.005


class BerkeleyHumanoidJoystick(Humanoid):
    """BerkeleyHumanoidJoystickFlatTerrain-v0 and BerkeleyHumanoidJoystickRoughTerrain-v0."""

    robot = "berkeley_humanoid"


class H1InplaceGaitTracking(Locomotion):
    """H1InplaceGaitTracking-v0."""

    robot = "h1"
    SCENES = {"flat_terrain": "scene_mjx_feetonly.xml"}
    ranges: tuple[str, ...] = ("gait_frequency", "foot_height")


class H1JoystickGaitTracking(H1InplaceGaitTracking):
    """H1JoystickGaitTracking-v0."""

    ranges = (*H1InplaceGaitTracking.ranges, *_COMMANDS)
