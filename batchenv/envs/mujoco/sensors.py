"""Which sensors groups of lanes compute: see csrc/engines/physics/stages/sensors.c."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from batchenv import _core
from batchenv._core import PhysicsSenses
from batchenv.envs.mujoco.features import disabled

_PLACED = ("BODY", "XBODY", "GEOM", "SITE")  # objects whose places groups know
_FRAMES = tuple(name for name in _core.PHYSICS_SENSORS if name.startswith("FRAME"))
_SUBTREES = ("SUBTREELINVEL", "SUBTREEANGMOM")
_FORCES = ("ACCELEROMETER", "FORCE", "TORQUE", "FRAMELINACC", "FRAMEANGACC")


def _names(mujoco: Any, model: Any) -> list[str]:
    """The kind of each sensor, as "GYRO"; none if sensors are disabled."""
    if disabled(mujoco, model, "SENSOR"):
        return []
    return [str(mujoco.mjtSensor(int(kind)).name).removeprefix("mjSENS_") for kind in model.sensor_type]


def _unknown(mujoco: Any, model: Any) -> dict[int, str]:
    """The sensors that groups do not compute: what they are, by their numbers."""
    known = [int(getattr(mujoco.mjtObj, f"mjOBJ_{name}")) for name in _PLACED]
    found = {}
    for k, name in enumerate(_names(mujoco, model)):
        of_frame = name in _FRAMES
        if name not in _core.PHYSICS_SENSORS:
            found[k] = f"a {name.lower()} sensor"
        elif of_frame and model.sensor_objtype[k] not in known:
            found[k] = f"a {name.lower()} sensor of a camera"
        elif of_frame and model.sensor_refid[k] >= 0 and model.sensor_reftype[k] not in known:
            found[k] = f"a {name.lower()} sensor that a camera sees"
    return found


def unknown(mujoco: Any, model: Any) -> list[str]:
    """What the sensors are that groups do not compute, as "a rangefinder sensor"."""
    return sorted(set(_unknown(mujoco, model).values()))


def numbers(mujoco: Any, model: Any) -> dict[str, Any]:
    """What csrc/engines/physics/physics.h says of a model's sensors."""
    names, missing = _names(mujoco, model), _unknown(mujoco, model)
    places = {name: place for place, name in enumerate(_core.PHYSICS_SENSORS)}
    kinds: NDArray[np.int32] = np.array(
        [-1 if k in missing else places[name] for k, name in enumerate(names)], np.int32
    )
    of_velocity = model.sensor_needstage == int(mujoco.mjtStage.mjSTAGE_VEL)
    senses = PhysicsSenses(0)
    if any(name in _SUBTREES or (name == "USER" and of_velocity[k]) for k, name in enumerate(names)):
        senses |= PhysicsSenses.SUBTREES
    if any(name in _FORCES for name in names):
        senses |= PhysicsSenses.FORCES
    return {"nsensor": len(names), "sensor_kind": kinds, "senses": int(senses)}
