"""mjlab's velocity tasks: builds their models from the package's XML files, as mjlab does, and translates their
settings for the C core. The task itself is csrc/engines/mujoco/tasks/mjlab_velocity.c."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from batchenv.arguments.numbers import integer, number
from batchenv.envs.mujoco import library, packages, tasks

_INSTALL = "pip install --no-deps mjlab, 1.6 or newer (of what it depends on, only mujoco is needed)"
_FREQUENCY, _DAMPING_RATIO = 10 * 2.0 * 3.1415926535, 2.0  # of the joints' servos, rad/s


@dataclass(frozen=True)
class Motor:
    """What drives the joints with such names. armature: kg m2. effort: the largest torque, N m."""

    joints: str
    armature: float
    effort: float


def _planetary(rotor: float, first: float, second: float, low: float, high: float) -> float:
    """The armature of a motor with two stages of planetary gears: inertias of rotor and stages, and their ratios."""
    return rotor * (low * high) ** 2 + first * high**2 + second


@dataclass(frozen=True)
class Robot:
    """A robot, as mjlab sets it up.

    Attributes:
        place: its folder and XML file in mjlab's `asset_zoo/robots`. base: its body with the free joint.
        height, pose: where episodes begin: of the base, m, and {joints: rad}; other joints are at 0.
        motors: of each joint, the first whose names fit.
        feet: the names of the geoms of feet. touching: what the sensors of feet are of, a kind and its names.
        foot: what mjlab sets of these geoms. geoms: the same of all that collide.
        friction: ranges from which `model_seed` draws friction of feet: sliding, and spinning and rolling if there are
            three. torso: the body whose centre of mass `model_seed` moves.
        options: what mjlab sets of mjModel.opt, in addition to what all robots have.
        tolerances: how far from its pose each joint may be where the robot is to stand, walk or run, {joints: rad}.
    """

    place: tuple[str, str]
    base: str
    height: float
    pose: Mapping[str, float]
    motors: tuple[Motor, ...]
    feet: str
    touching: tuple[str, tuple[str, ...]]
    geoms: Mapping[str, Any]
    foot: Mapping[str, Any]
    friction: tuple[tuple[float, float], ...]
    torso: str
    options: Mapping[str, Any]
    tolerances: Mapping[str, tuple[float, float, float]]


_ROTOR = 0.000111842  # kg m2
_SMALL = _planetary(0.139e-4, 0.017e-4, 0.169e-4, 1 + 46 / 18, 1 + 56 / 16)
_MIDDLE = _planetary(0.489e-4, 0.098e-4, 0.533e-4, 4.5, 1 + 48 / 22)
_LARGE = _planetary(0.489e-4, 0.109e-4, 0.738e-4, 4.5, 5)
_WRIST = _planetary(0.068e-4, 0.0, 0.0, 5, 5)
_BASE_COM = (0.025, 0.025, 0.03)  # m: how far `model_seed` moves the centre of mass

ROBOTS = {
    "go1": Robot(
        place=("unitree_go1", "go1.xml"),
        base="trunk",
        height=0.278,
        pose={".*thigh_joint": 0.9, ".*calf_joint": -1.8, ".*R_hip_joint": 0.1, ".*L_hip_joint": -0.1},
        motors=(
            Motor(".*_(hip|thigh)_joint", _ROTOR * 6**2, 23.7),
            Motor(".*_calf_joint", _ROTOR * (6 * 1.5) ** 2, 35.55),
        ),
        feet="[FR][LR]_foot_collision",
        touching=("GEOM", tuple(f"{leg}_foot_collision" for leg in ("FR", "FL", "RR", "RL"))),
        geoms={"solref": (0.01, 1)},
        foot={"condim": 6, "friction": (1, 5e-3, 5e-4)},
        friction=((0.3, 1.5), (1e-4, 2e-2), (1e-5, 5e-3)),
        torso="trunk",
        options={"cone": 1, "impratio": 10},  # elliptic
        tolerances={".*_(hip|thigh)_joint": (0.05, 0.3, 0.3), ".*_calf_joint": (0.1, 0.6, 0.6)},
    ),
    "g1": Robot(
        place=("unitree_g1", "g1.xml"),
        base="pelvis",
        height=0.76,
        pose={
            ".*_hip_pitch_joint": -0.312,
            ".*_knee_joint": 0.669,
            ".*_ankle_pitch_joint": -0.363,
            ".*_elbow_joint": 0.6,
            ".*_shoulder_pitch_joint": 0.2,
            "left_shoulder_roll_joint": 0.2,
            "right_shoulder_roll_joint": -0.2,
        },
        motors=(
            Motor(".*_(elbow|shoulder_pitch|shoulder_roll|shoulder_yaw|wrist_roll)_joint", _SMALL, 25.0),
            Motor(".*_hip_(pitch|yaw)_joint|waist_yaw_joint", _MIDDLE, 88.0),
            Motor(".*_(hip_roll|knee)_joint", _LARGE, 139.0),
            Motor(".*_wrist_(pitch|yaw)_joint", _WRIST, 5.0),
            Motor("waist_(pitch|roll)_joint|.*_ankle_(pitch|roll)_joint", 2 * _SMALL, 50.0),  # two motors each
        ),
        feet="(left|right)_foot[1-7]_collision",
        touching=("XBODY", ("left_ankle_roll_link", "right_ankle_roll_link")),
        geoms={},
        foot={"condim": 3, "friction": (0.6,)},
        friction=((0.3, 1.2),),
        torso="torso_link",
        options={"cone": 0, "impratio": 1},  # pyramidal
        tolerances={
            ".*hip_pitch.*": (0.05, 0.3, 0.5),
            ".*hip_(roll|yaw).*": (0.05, 0.15, 0.2),
            ".*knee.*": (0.05, 0.35, 0.6),
            ".*ankle_pitch.*": (0.05, 0.25, 0.35),
            ".*ankle_roll.*": (0.05, 0.1, 0.15),
            ".*waist_yaw.*": (0.05, 0.2, 0.3),
            ".*waist_roll.*": (0.05, 0.08, 0.08),
            ".*waist_pitch.*": (0.05, 0.1, 0.2),
            ".*shoulder_pitch.*": (0.05, 0.15, 0.5),
            ".*shoulder_roll.*": (0.05, 0.15, 0.2),
            ".*shoulder_yaw.*": (0.05, 0.1, 0.15),
            ".*elbow.*": (0.05, 0.15, 0.35),
            ".*wrist.*": (0.05, 0.3, 0.3),
        },
    ),
}


def _of(table: Mapping[str, Any], name: str, otherwise: Any = None) -> Any:
    """The value of the pattern that fits a name."""
    return next((value for pattern, value in table.items() if re.fullmatch(pattern, name)), otherwise)


def _collide(robot: Robot, spec: Any) -> None:
    """Says which geoms touch others, and how."""
    mujoco, _ = library.load()
    for geom in spec.geoms:
        geom.contype = geom.conaffinity = int(re.match(r".*_collision\d*", geom.name) is not None)
        if not geom.contype:
            continue
        foot = re.fullmatch(robot.feet, geom.name) is not None
        geom.condim, geom.priority = 1, int(foot)
        for name, value in {**robot.geoms, **(robot.foot if foot else {})}.items():
            if isinstance(value, tuple):
                getattr(geom, name)[: len(value)] = value
            else:
                setattr(geom, name, value)
        if foot and (geom.type not in (mujoco.mjtGeom.mjGEOM_SPHERE, mujoco.mjtGeom.mjGEOM_CAPSULE) or geom.margin):
            raise ValueError(f"the foot {geom.name} must be a sphere or a capsule without a margin")


def _drive(robot: Robot, spec: Any) -> list[float]:
    """Adds the joints' servos, in the order of the joints. Returns the pose in which episodes begin."""
    mujoco, _ = library.load()
    pose = []
    spec.nuser_jnt = 3
    for joint in spec.joints[1:]:
        motor = _of({motor.joints: motor for motor in robot.motors}, joint.name)
        if motor is None:
            raise ValueError(f"{robot.place[1]} has no joint {joint.name!r}, so nothing is known of its motor")
        if joint.ref or np.any(joint.pos):
            raise ValueError(f"the joint {joint.name} must be at its body's place, and its ref must be 0")
        stiffness = motor.armature * _FREQUENCY**2
        servo = spec.add_actuator(name=joint.name, target=joint.name, trntype=mujoco.mjtTrn.mjTRN_JOINT)
        servo.gaintype, servo.biastype = mujoco.mjtGain.mjGAIN_FIXED, mujoco.mjtBias.mjBIAS_AFFINE
        servo.gainprm[0], servo.biasprm[1] = stiffness, -stiffness
        servo.biasprm[2] = -2 * _DAMPING_RATIO * motor.armature * _FREQUENCY
        servo.inheritrange, servo.ctrllimited, servo.forcelimited = 0.0, False, True
        servo.forcerange = (-motor.effort, motor.effort)
        joint.armature = motor.armature
        joint.userdata = _of(robot.tolerances, joint.name)
        pose.append(_of(robot.pose, joint.name, 0.0))
    return pose


def _sense(robot: Robot, spec: Any) -> None:
    """Adds the floor, and sensors of contacts: of each foot with the floor, and of the robot with itself."""
    mujoco, _ = library.load()
    objects, plane = mujoco.mjtObj, mujoco.mjtGeom.mjGEOM_PLANE
    force, first, net = 1 << 1, 0, 3  # what they give, and of which contacts
    spec.worldbody.add_body(name="terrain").add_geom(name="terrain", type=plane, size=(0, 0, 0.01))
    kind, names = robot.touching
    for name in names:
        spec.add_sensor(
            name=f"feet_ground_contact_{name}_force",
            type=mujoco.mjtSensor.mjSENS_CONTACT,
            objtype=getattr(objects, f"mjOBJ_{kind}"),
            objname=name,
            reftype=objects.mjOBJ_BODY,
            refname="terrain",
            intprm=[force, net, 1],
        )
    spec.add_sensor(
        name=f"self_collision_{robot.base}_force",
        type=mujoco.mjtSensor.mjSENS_CONTACT,
        objtype=objects.mjOBJ_XBODY,
        objname=robot.base,
        reftype=objects.mjOBJ_XBODY,
        refname=robot.base,
        intprm=[force, first, 1],
    )


def build(robot: Robot, xml: Any = None) -> Any:
    """The mjModel of a robot on a plane. xml: in place of the package's file, another one, or XML text.

    Raises:
        ValueError: the model has no such joints, feet or bodies as the robot has.
    """
    mujoco, _ = library.load()
    folder, name = robot.place
    path = xml or packages.file_of(
        "mjlab", "asset_zoo", "robots", folder, "xmls", name, package="mjlab", install=_INSTALL
    )
    text = isinstance(path, str) and path.lstrip().startswith("<")
    try:
        spec = mujoco.MjSpec.from_string(path) if text else mujoco.MjSpec.from_file(os.fspath(path))
        _collide(robot, spec)
        packages.drop_meshes(spec)
        pose = _drive(robot, spec)
        _sense(robot, spec)
        spec.add_key(name="init_state", qpos=[0, 0, robot.height, 1, 0, 0, 0, *pose])
        model = spec.compile()
    except (AttributeError, ValueError) as error:  # AttributeError: an old version, without all of MjSpec
        what = "xml_file" if xml else path
        raise ValueError(f"{what} cannot be used with mujoco {mujoco.__version__}: {error}") from None
    settings = {"integrator": mujoco.mjtIntegrator.mjINT_IMPLICITFAST, "solver": mujoco.mjtSolver.mjSOL_NEWTON}
    settings |= {"iterations": 10, "ls_iterations": 20, "ccd_iterations": 50, **robot.options}
    for option, value in settings.items():
        setattr(model.opt, option, value)
    return model


def randomized(robot: Robot, model: Any, seed: int, lanes: int) -> dict[str, NDArray[np.float64]]:
    """Fields of the model for each lane: friction of feet, and the centre of mass of the torso."""
    mujoco, _ = library.load()
    rng = np.random.default_rng(seed)
    friction = np.tile(model.geom_friction, (lanes, 1, 1))
    names = [mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_GEOM, geom) or "" for geom in range(model.ngeom)]
    feet = [geom for geom, name in enumerate(names) if re.fullmatch(robot.feet, name)]
    for axis, (low, high) in enumerate(robot.friction):
        drawn = rng.uniform(low, high, lanes) if axis == 0 else np.exp(rng.uniform(np.log(low), np.log(high), lanes))
        friction[:, feet, axis] = drawn[:, None]
    places = np.tile(model.body_ipos, (lanes, 1, 1))
    places[:, model.body(robot.torso).id] += rng.uniform(-1, 1, (lanes, 3)) * _BASE_COM
    return {"geom_friction": friction, "body_ipos": places}


class MjlabVelocity(tasks.Task):
    """Mjlab-Velocity-Flat-Unitree-Go1-v0 and Mjlab-Velocity-Flat-Unitree-G1-v0."""

    xml_file = None
    xml_meaning = "another model of this robot with the same names: the path of an XML file, or XML text"
    camera = {"distance": 3.0, "elevation": -5.0}
    follows = 1
    ranges = (
        *("command_lin_vel_x", "command_lin_vel_y", "command_ang_vel_z", "command_heading", "command_resampling_time"),
        "push_interval",
    )
    own = (
        ("robot", "go1", f"which robot: {' or '.join(ROBOTS)}"),
        ("sim_dt", 0.005, "s per step of MuJoCo"),
        ("model_seed", None, "draws friction of feet and the torso's centre of mass for each lane; None: all alike"),
    )

    def _robot(self) -> Robot:
        name = self._value("robot")
        if not isinstance(name, str) or name not in ROBOTS:
            raise ValueError(f"robot={name!r} must be one of {', '.join(map(repr, ROBOTS))}")
        return ROBOTS[name]

    def _read(self, xml: Any) -> Any:
        if xml is not None and not isinstance(xml, (str, os.PathLike)):
            raise TypeError(f"xml_file={xml!r} must be the path of an XML file, or XML text, not {type(xml).__name__}")
        timestep = number("sim_dt", self._value("sim_dt"))
        if not 1e-6 <= timestep <= 1:
            raise ValueError(f"sim_dt={timestep} must be from 1e-06 to 1")
        if self._value("model_seed") is not None:
            integer("model_seed", self._value("model_seed"), 0, 2**63 - 1)
        model = build(self._robot(), xml)
        model.opt.timestep = timestep
        return model

    def engine(self, num_envs, threads):
        seed = self._value("model_seed")
        if seed is not None:
            self._at_start = {**randomized(self._robot(), self._model, seed, num_envs), **self._at_start}
        return super().engine(num_envs, threads)
