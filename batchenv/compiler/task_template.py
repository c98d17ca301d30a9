"""The C file that `python -m batchenv new NAME --mujoco ROBOT.xml` writes: a task with this model's names in it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from string import Template
from typing import Any, NamedTuple

import numpy as np

from batchenv.envs.mujoco import library, reads

_TEMPLATE = Path(__file__).resolve().parent / "task_template.c.in"
_STEP = 0.02  # s: about how long a step of the env is
_KEYFRAMES = ("home", "stand", "default")  # names of those in which episodes may start
_IMU = ("GYRO", "ACCELEROMETER", "VELOCIMETER")  # types of sensors
_MOST = 8  # feet, and sensors of a type, that are named
_LYING = 0.05  # m: robots that start lower are not said to fall
_FREE, _SLIDE = 0, 2  # mjtJoint
_HINGE_REACH, _SLIDE_REACH = 0.25, 0.05  # of position servos: rad, m


class _Read(NamedTuple):
    """A row of the table of reads; if it is observed, how many numbers, and how they are written."""

    row: str
    array: str
    kind: str
    name: str
    size: str = ""
    observed: str = ""

    def __str__(self) -> str:
        return f"[{self.row}] = {{{c_text(self.array)}, {c_text(self.kind)}, {c_text(self.name)}}},"


class _Root(NamedTuple):
    """What moves a whole robot along the ground.

    positions, velocities: how many numbers of qpos and qvel there must be. speed: which of qvel is the speed along x.
    hidden: how many numbers at the beginning of qpos say where the robot is, which is not observed.
    height: of the robot, in C; "0" if nothing says it.
    """

    body: int
    positions: int
    velocities: int
    speed: int
    hidden: int
    height: str


def text(xml: str | os.PathLike[str], setting: str, file: str, camel: str) -> str:
    """The C file `file` of a task over the model of an XML file. camel: the name of its type. setting: the path of the
    XML file for the type's id.

    Raises:
        OSError: there is no such XML file.
        ValueError: it is not a model, or the model has no actuators.
        gymnasium.error.DependencyNotInstalled: mujoco is not installed.
    """
    model = library.read_model(Path(xml).expanduser(), "--mujoco")
    if model.nu == 0:
        raise ValueError(
            f"--mujoco={os.fspath(xml)!r}: the model has no actuators, whose controls are a task's action: add some, "
            'as in <actuator><motor joint="knee" ctrlrange="-1 1"/></actuator>'
        )
    robot = _Robot(model)
    rows = {**robot.tables(), **robot.spaces(), **robot.goal()}
    words = {"file": file, "camel": camel, "xml_name": c_text(os.path.basename(xml)), "xml_text": c_text(setting)}
    return Template(_TEMPLATE.read_text(encoding="utf-8")).substitute(rows, **words)


def c_text(value: str) -> str:
    """A string literal of C, which may also stand in a comment."""
    parts = []
    for before, char in zip(f" {value}", value, strict=False):
        if char in '"\\?':  # two ? may begin a trigraph
            parts.append(f"\\{char}")
        elif char.isprintable() and before + char not in ("*/", "/*"):
            parts.append(char)
        else:
            parts += [f"\\{byte:03o}" for byte in char.encode("utf-8", "surrogateescape")]
    return f'"{"".join(parts)}"'


class _Robot:
    """A model, and what of it goes into the template."""

    def __init__(self, model: Any):
        self._mujoco, self._model = library.load()[0], model
        self._data = self._mujoco.MjData(model)
        names = self._names("key")
        self._key = next((names.index(name) for name in _KEYFRAMES if name in names), None)
        if self._key is not None:
            self._mujoco.mj_resetDataKeyframe(model, self._data, self._key)
        self._mujoco.mj_forward(model, self._data)
        self._root = self._find_root()
        self._reads = [*self._poses(), *self._feet(), *self._sensors()]

    def _names(self, kind: str) -> list[str]:
        return reads.names(self._mujoco, self._model, kind)

    def _driven(self) -> set[int]:
        """The numbers of the trees of bodies in which actuators are; not of those at tendons."""
        model, kinds = self._model, self._mujoco.mjtTrn
        bodies = {
            int(kinds.mjTRN_JOINT): model.jnt_bodyid,
            int(kinds.mjTRN_JOINTINPARENT): model.jnt_bodyid,
            int(kinds.mjTRN_SITE): model.site_bodyid,
            int(kinds.mjTRN_BODY): np.arange(model.nbody),
        }
        pairs = zip(model.actuator_trntype.tolist(), model.actuator_trnid[:, 0].tolist(), strict=True)
        return {int(model.body_rootid[bodies[kind][thing]]) for kind, thing in pairs if kind in bodies}

    def _find_root(self) -> _Root | None:
        """The free joint of a robot with actuators, or a slide along x, without one, of a planar robot."""
        model, driven = self._model, self._driven()
        of_joints = model.actuator_trntype == int(self._mujoco.mjtTrn.mjTRN_JOINT)
        for joint in range(model.njnt):
            body, free = int(model.jnt_bodyid[joint]), model.jnt_type[joint] == _FREE
            slides = model.jnt_type[joint] == _SLIDE and model.jnt_axis[joint, 0] > 0.99
            pushed = joint in model.actuator_trnid[of_joints, 0]
            if not (free or (slides and not pushed)) or (driven and int(model.body_rootid[body]) not in driven):
                continue
            position, velocity = int(model.jnt_qposadr[joint]), int(model.jnt_dofadr[joint])
            least = (position + 7, velocity + 6) if free else (position + 1, velocity + 1)
            height = f"be_mujoco_arrays(b, lane)[MJ_QPOS][{position + 2}]" if free else "0"
            if self._names("body")[body]:
                height = "be_mujoco_read_of(b, lane, TRUNK)[2]"
            return _Root(body, *least, velocity, 0 if position else 1 + int(free), height)
        return None

    def _poses(self) -> Iterator[_Read]:
        if self._key is not None:
            yield _Read("HOME", "model.key_qpos", "key", self._names("key")[self._key])
        if self._root is not None and self._names("body")[self._root.body]:
            yield _Read("TRUNK", "xpos", "body", self._names("body")[self._root.body])

    def _feet(self) -> Iterator[_Read]:
        for kind, array in (("site", "site_xpos"), ("geom", "geom_xpos"), ("body", "xpos")):
            feet = [name for name in self._names(kind) if re.search("foot|feet|toe", name, re.IGNORECASE)]
            if self._root is not None and 0 < len(feet) <= _MOST:
                loop = "for (int64_t k = 0; k < be_mujoco_count_of(b, FEET); k++)"
                heights = f"{loop} *row++ = be_mujoco_read_at(b, lane, FEET, k)[2];"
                yield _Read("FEET", array, kind, _pattern(feet), "model->reads[FEET].count", heights)
                return

    def _sensors(self) -> Iterator[_Read]:
        for imu in _IMU:
            kinds = self._model.sensor_type == int(getattr(self._mujoco.mjtSensor, f"mjSENS_{imu}"))
            found = [name for name, right in zip(self._names("sensor"), kinds, strict=True) if name and right]
            for k, name in enumerate(found[:_MOST]):
                row = f"{imu}{k + 1 if k else ''}"
                copy = f"row = be_append(row, be_mujoco_read_of(b, lane, {row}), 3);"
                yield _Read(row, "sensordata", "sensor", name, "3", copy)

    def _examples(self) -> Iterator[_Read]:
        """Rows that show how more is read."""
        sensor = next((name for name in self._names("sensor") if name), "gyro")
        if not any(read.kind == "sensor" for read in self._reads):
            yield _Read("SENSOR", "sensordata", "sensor", sensor)
        body = next((name for name in self._names("body")[1:] if name), "trunk")
        if not any(read.kind == "body" for read in self._reads):
            yield _Read("BODY", "xpos", "body", body)

    # ---- actuators -----------------------------------------------------------------------------------------------

    def _actuator(self, k: int) -> tuple[float, float]:
        """The control for an action of 0, and how far an action of 1 moves it."""
        model = self._model
        low, high = model.actuator_ctrlrange[k].tolist() if model.actuator_ctrllimited[k] else (-np.inf, np.inf)
        middle, reach = ((low + high) / 2, (high - low) / 2) if np.isfinite(high - low) else (0.0, 1.0)
        held = self._held(k)
        if held is not None:
            middle, reach = min(max(held[0], low), high), min(held[1], (high - low) / 2)
        elif self._key is not None and low < model.key_ctrl[self._key, k] < high:
            middle = float(model.key_ctrl[self._key, k])  # such as the thrust of a quadrotor that hovers
            reach = min(reach, middle - low, high - middle)
        return middle, reach

    def _held(self, k: int) -> tuple[float, float] | None:
        """Of a position servo: the control that holds the pose in which episodes start, and how far an action may move
        it. None: the actuator is another one."""
        model, mujoco = self._model, self._mujoco
        gain, bias = float(model.actuator_gainprm[k, 0]), float(model.actuator_biasprm[k, 1])
        affine = model.actuator_biastype[k] == int(mujoco.mjtBias.mjBIAS_AFFINE)
        if not affine or gain * bias >= 0 or model.actuator_dyntype[k] == int(mujoco.mjtDyn.mjDYN_INTEGRATOR):
            return None
        reach = 1.0
        if model.actuator_trntype[k] == int(mujoco.mjtTrn.mjTRN_JOINT):
            slides = model.jnt_type[model.actuator_trnid[k, 0]] == _SLIDE
            reach = abs(float(model.actuator_gear[k, 0])) * (_SLIDE_REACH if slides else _HINGE_REACH)
        return float(self._data.actuator_length[k]) * -bias / gain, reach * -bias / gain

    # ---- what is written -----------------------------------------------------------------------------------------

    def tables(self) -> dict[str, Any]:
        """What is read, and what actions do."""
        indices = ", ".join(read.row for read in self._reads)
        actuators = []
        for k, name in enumerate(self._names("actuator")):
            middle, reach = (repr(value + 0.0) for value in self._actuator(k))  # no -0.0
            actuators.append(f"    {{{middle}, {reach}}}, /* {c_text(name) if name else f'actuator {k}'} */")
        timestep = float(self._model.opt.timestep)
        return {
            "frame_skip": max(1, round(_STEP / timestep)),
            "timestep": f"{timestep:g}",
            "read_names": f"enum {{ {indices} }};" if indices else "/* enum { BODY }; would name the rows. */",
            "read_rows": "\n".join([f"    {r}" for r in self._reads] + [f"    /* {r} */" for r in self._examples()]),
            "actuator_rows": "\n".join(actuators),
        }

    def spaces(self) -> dict[str, Any]:
        """What is observed, and how an episode starts."""
        root = self._root or _Root(0, 0, 0, 0, 0, "0")
        observed = [read for read in self._reads if read.observed]
        rows = [f"row = be_mujoco_append_state(b, lane, {root.hidden}, row);", *(read.observed for read in observed)]
        positions = f"positions (without the first {root.hidden}, along the ground)" if root.hidden else "positions"
        home = "" if self._key is None else c_text(self._names("key")[self._key])
        return {
            "observed": f"{positions} and velocities" + (", and what is read" if observed else ""),
            "size": " + ".join([f"be_mujoco_state_size(model, {root.hidden})", *(read.size for read in observed)]),
            "observation_rows": "\n".join(f"    {row}" for row in rows),
            "positions": root.positions,
            "velocities": root.velocities,
            "pose": "be_mujoco_read_of(b, lane, HOME)" if home else "be_mujoco_of(b)->init_qpos",
            "start": f"in the keyframe {home}" if home else "where the model's joints are in its XML (qpos0)",
        }

    def goal(self) -> dict[str, str]:
        """What is rewarded, and when an episode ends."""
        return _keep_pose() if self._root is None else self._go_forward(self._root)

    def _go_forward(self, root: _Root) -> dict[str, str]:
        height = float(self._data.xpos[root.body, 2])
        falls = root.height != "0" and height > _LYING
        rows = ['[FORWARD] = MJ_WEIGHT("forward_weight", 1, "reward for speed along x, per m/s"),']
        outcome = [f"const double speed = be_mujoco_arrays(b, lane)[MJ_QVEL][{root.speed}];"]
        reward = "be_param_of(b, FORWARD, lane) * speed - be_param_of(b, EFFORT, lane) * effort;"
        if falls:
            rows.append('[ALIVE] = MJ_WEIGHT("alive_reward", 1, "reward of every step"),')
            rows.append(
                f'[LEAST] = MJ_BOUND("least_height", {0.6 * height:.3g}, "episodes end where the robot is lower, m"),'
            )
            outcome.append("const double alive = be_param_of(b, ALIVE, lane);")
        outcome.append(f"rows->reward[lane - rows->first] =\n        {'alive + ' if falls else ''}{reward}")
        return {
            "aim": "to go forward, along x" + (", and not to fall" if falls else ""),
            "param_names": "FORWARD = MJ_PARAMS, " + ("ALIVE, LEAST, " if falls else ""),
            "param_rows": "\n".join(f"    {row}" for row in rows),
            "outcome": "\n".join(f"    {row}" for row in outcome),
            "ends": f"{root.height} < be_param_of(b, LEAST, lane)" if falls else "0",
            "info": "speed",
            "info_doc": "along x, m/s",
        }


def _keep_pose() -> dict[str, str]:
    return {
        "aim": "to keep the pose in which episodes start",
        "param_names": "POSE = MJ_PARAMS, ",
        "param_rows": '    [POSE] = MJ_WEIGHT("pose_weight", 1, "cost of other positions, per squared difference"),',
        "outcome": """    const double *pose = start_pose(b, lane), *qpos = be_mujoco_arrays(b, lane)[MJ_QPOS];
    double error2 = 0;
    for (int64_t j = 0; j < be_mujoco_of(b)->num_qpos; j++) error2 += (qpos[j] - pose[j]) * (qpos[j] - pose[j]);
    rows->reward[lane - rows->first] =
        -be_param_of(b, POSE, lane) * error2 - be_param_of(b, EFFORT, lane) * effort;""",
        "ends": "0",
        "info": "error2",
        "info_doc": "squared difference of the positions from those at the start",
    }


def _pattern(names: Sequence[str]) -> str:
    """What names these things in a row of the table of reads: one name, or a regular expression."""
    if len(names) == 1 and not names[0].startswith("@"):  # which would name a keyword
        return names[0]
    words = "|".join(map(re.escape, names))
    return f"(?:{words})" if words.startswith("@") else words
