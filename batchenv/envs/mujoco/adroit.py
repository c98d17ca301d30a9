"""gymnasium-robotics' Adroit tasks: finds their models, and translates their keywords and options. The tasks themselves
are in csrc/engines/mujoco/robotics."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from batchenv.arguments.numbers import brief
from batchenv.envs.mujoco import library, tasks
from batchenv.envs.mujoco.robotics import asset

_MOST = 36  # positions that the options of a reset have room for


class Adroit(tasks.Task):
    """AdroitHand...-v1: a hand on an arm.

    file: the model's. size: how many positions it has. places: what initial_state_dict says of the model beside
    positions and velocities, and how many numbers of each.
    """

    file: str
    size: int
    places: ClassVar[dict[str, int]]
    xml_file = None
    xml_meaning = "another model with the same names: the path of an XML file, or XML text"
    fields = ()  # slots have the models that lanes are stepped with
    camera = {"distance": 1.5, "azimuth": 90.0}

    # They are only read, and of a translator, so that a property may be in place of the base's class variable.
    @property
    def OPTIONS(self):  # pyright: ignore[reportIncompatibleVariableOverride]
        digits = [f"{tens}{ones}" for tens in range(6) for ones in range(6)]
        parts = [f"{name}{digit}" for name in ("qpos", "qvel") for digit in digits]
        meaning = f"where the episode starts: a dict with {', '.join(self._sizes())}"
        return (("initial_state_dict", ("given", *parts, *(f"place{k}" for k in range(6))), meaning),)

    def _sizes(self) -> dict[str, int]:
        return {"qpos": self.size, "qvel": self.size, **self.places}

    def to_core(self, keywords):
        if isinstance(keywords.get("reward_type"), str):
            keywords = {**keywords, "reward_type": keywords["reward_type"].lower()}
        return super().to_core(keywords)

    def options_to_core(self, options, lanes):
        given = options.get("initial_state_dict")
        others = {name: value for name, value in options.items() if name != "initial_state_dict"}
        if given is None:
            return others
        names = self.OPTIONS[0][1]
        values = dict.fromkeys(names[1:], 0.0) | others | {"given": True}
        if not isinstance(given, dict) or given.keys() != self._sizes().keys():
            found = sorted(map(str, given)) if isinstance(given, dict) else brief(given)
            raise ValueError(f"reset option initial_state_dict must be a dict with {list(self._sizes())}, not {found}")
        at = {"qpos": 1, "qvel": 1 + _MOST}
        begin = 1 + 2 * _MOST
        for name, size in self.places.items():
            at[name], begin = begin, begin + size
        for name, size in self._sizes().items():
            row = _numbers(f"initial_state_dict[{name!r}]", given[name], size, lanes)
            values.update({names[at[name] + k]: row[..., k] if row.ndim > 1 else float(row[k]) for k in range(size)})
        return values

    def _read(self, xml):
        model = tasks.read_own(asset("adroit_hand", f"adroit_{self.file}.xml") if xml is None else xml, "xml_file")
        mujoco, _ = library.load()

        def between(first: str, last: str) -> slice:
            found = [mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_ACTUATOR, name) for name in (first, last)]
            if min(found) < 0:
                raise ValueError(f"xml_file: the model must have the actuators {first} and {last}")
            return slice(found[0], found[1] + 1)

        for actuators, gain in ((between("A_WRJ1", "A_WRJ0"), 10), (between("A_FFJ3", "A_THJ0"), 1)):
            model.actuator_gainprm[actuators, :3] = gain, 0, 0
            model.actuator_biasprm[actuators, :3] = 0, -gain, 0
        return model


def _numbers(name: str, value: Any, size: int, lanes: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """So many finite numbers, or rows of them, one per lane."""
    row = np.asarray(value)
    if row.shape not in ((size,), (lanes, size)) or row.dtype.kind not in "iuf":
        raise ValueError(
            f"reset option {name} has shape {row.shape} and dtype {row.dtype}, but must be {size} numbers, or an array "
            f"of shape ({lanes}, {size}) with those of each lane"
        )
    if not np.isfinite(row).all():
        raise ValueError(f"reset option {name} must be finite")
    return row.astype(np.float64)


class AdroitHandDoor(Adroit):
    """AdroitHandDoor-v1."""

    file, size = "door", 30
    places = {"door_body_pos": 3}
    shown = (("door_body_pos", "body_pos", "body", "frame", (0, 1, 2)),)
    acting = ("door_body_pos",)


class AdroitHandHammer(Adroit):
    """AdroitHandHammer-v1."""

    file, size = "hammer", 33
    camera = {"distance": 2.0, "azimuth": 45.0}
    places = {"board_pos": 3}
    shown = (("board_pos", "body_pos", "body", "nail_board", (0, 1, 2)),)
    acting = ("board_pos",)


class AdroitHandPen(Adroit):
    """AdroitHandPen-v1."""

    file, size = "pen", 30
    places = {"desired_orien": 4}
    shown = (("desired_orien", "body_quat", "body", "target", (0, 1, 2, 3)),)
    acting = ("desired_orien",)
    camera = {"distance": 1.0, "azimuth": -45.0}


class AdroitHandRelocate(Adroit):
    """AdroitHandRelocate-v1."""

    file, size = "relocate", 36
    places = {"obj_pos": 3, "target_pos": 3}
    shown = (
        ("obj_pos", "body_pos", "body", "Object", (0, 1, 2)),
        ("target_pos", "site_pos", "site", "target", (0, 1, 2)),
    )
    acting = ("obj_pos",)
