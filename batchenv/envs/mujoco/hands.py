"""gymnasium-robotics' Shadow hand: finds its models, and translates its keywords. The tasks themselves are in
csrc/engines/mujoco/robotics."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from batchenv.envs.mujoco import library, reads, rotations, tasks
from batchenv.envs.mujoco.goals import GoalTask, asset


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

    def check_goals(self, name, achieved, desired):
        super().check_goals(name, achieved, desired)
        if achieved.shape[-1:] != (7,):
            raise ValueError(f"{name}() got goals of shape {achieved.shape}: they must be (..., 7)")

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
