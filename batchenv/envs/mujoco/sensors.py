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
_LAST_FIELD = 6  # of sensors of contacts, that groups know: the tangent
_FORCES = ("FORCE", "TORQUE")
_ACCELERATIONS = ("ACCELEROMETER", "FRAMELINACC", "FRAMEANGACC")


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
        elif name == "CONTACT" and model.sensor_intprm[k, 0] >> _LAST_FIELD + 1:
            found[k] = "a contact sensor that shows velocities"
        elif of_frame and model.sensor_objtype[k] not in known:
            found[k] = f"a {name.lower()} sensor of a camera"
        elif of_frame and model.sensor_refid[k] >= 0 and model.sensor_reftype[k] not in known:
            found[k] = f"a {name.lower()} sensor that a camera sees"
    return found


def unknown(mujoco: Any, model: Any) -> list[str]:
    """What the sensors are that groups do not compute, as "a rangefinder sensor"."""
    return sorted(set(_unknown(mujoco, model).values()))


def numbers(mujoco: Any, model: Any, pairs: NDArray[np.int32]) -> dict[str, Any]:
    """What csrc/engines/physics/physics.h says of a model's sensors. pairs: of geoms that may touch."""
    names, missing = _names(mujoco, model), _unknown(mujoco, model)
    places = {name: place for place, name in enumerate(_core.PHYSICS_SENSORS)}
    kinds: NDArray[np.int32] = np.array(
        [-1 if k in missing else places[name] for k, name in enumerate(names)], np.int32
    )
    of_velocity = model.sensor_needstage == int(mujoco.mjtStage.mjSTAGE_VEL)
    senses = PhysicsSenses(0)
    touch, contact = (np.flatnonzero(kinds == places[name]) for name in ("TOUCH", "CONTACT"))
    if len(touch) or len(contact):
        senses |= PhysicsSenses.CONTACTS
    if len(contact):
        senses |= PhysicsSenses.PAIRS
    if (model.sensor_objtype[contact] == int(mujoco.mjtObj.mjOBJ_SITE)).any():
        senses |= PhysicsSenses.CALLER
    shown = [_shown(mujoco, model, k, pairs) for k in contact]
    if any(name in _SUBTREES or (name == "USER" and of_velocity[k]) for k, name in enumerate(names)):
        senses |= PhysicsSenses.SUBTREES
    if any(name in _FORCES for name in names):
        senses |= PhysicsSenses.FORCES
    if any(name in _ACCELERATIONS for name in names):
        senses |= PhysicsSenses.ACCELERATIONS
    return {
        **{"nsensor": len(names), "sensor_kind": kinds, "senses": int(senses)},
        **{"contact_shown": shown, "sensor_spec": model.sensor_intprm[:, 0]},
        "sensor_reduce": model.sensor_intprm[:, 1],
    }


def idle(mujoco: Any, model: Any) -> list[str]:
    """MuJoCo's functions for sensors that compute none of contacts, or of touch."""
    stages = mujoco.mjtStage
    functions = {"mj_sensorPos": int(stages.mjSTAGE_POS), "mj_sensorAcc": int(stages.mjSTAGE_ACC)}
    names = _names(mujoco, model)
    needed = {int(model.sensor_needstage[k]) for k, name in enumerate(names) if name in ("TOUCH", "CONTACT")}
    return [name for name, stage in functions.items() if stage not in needed]


def _shown(mujoco: Any, model: Any, k: np.integer[Any], pairs: NDArray[np.int32]) -> NDArray[np.int32]:
    """For each pair of geoms, whether sensor k shows their contacts: 1; -1: with the normal turned around; or 0."""
    first, second = pairs.T

    def is_object(geoms: NDArray[np.int32], kind: int, number: int) -> NDArray[np.bool_]:
        bodies = model.geom_bodyid[geoms]
        objects = mujoco.mjtObj
        if kind == int(objects.mjOBJ_GEOM):
            return np.asarray(geoms == number)
        if kind == int(objects.mjOBJ_BODY):
            return np.asarray(bodies == number)
        if kind == int(objects.mjOBJ_XBODY):  # a subtree
            while (bodies > number).any():
                bodies = np.where(bodies > number, model.body_parentid[bodies], bodies)
            return np.asarray(bodies == number)
        return np.ones(len(geoms), bool)  # the sensor has no such object

    object_one = (model.sensor_objtype[k], model.sensor_objid[k])
    object_two = (model.sensor_reftype[k], model.sensor_refid[k])
    regular = is_object(first, *object_one) & is_object(second, *object_two)
    turned = is_object(second, *object_one) & is_object(first, *object_two)
    return np.select([regular, turned], [1, -1], 0)
