"""Which sensors groups of lanes compute: see csrc/engines/physics/stages/sensors.c."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from batchenv import _core
from batchenv._core import PhysicsSenses
from batchenv.envs.mujoco import tendons
from batchenv.envs.mujoco.features import disabled

_FRAMES = tuple(name for name in _core.PHYSICS_SENSORS if name.startswith("FRAME"))
_STAGES = ("Pos", "Vel", "Acc")
_SUBTREES = ("SUBTREELINVEL", "SUBTREEANGMOM")
_LAST_FIELD = 6  # of sensors of contacts, that groups know: the tangent
_FORCES = ("FORCE", "TORQUE")
# Not E_KINETIC: mj_energyVel leaves a flag in the mjData that makes the next mj_step show an old energy.
_LEFT = ("RANGEFINDER", "GEOMDIST", "GEOMNORMAL", "GEOMFROMTO", "INSIDESITE", "CAMPROJECTION", "E_POTENTIAL")
_ACCELERATIONS = ("ACCELEROMETER", "FRAMELINACC", "FRAMEANGACC")


def _names(mujoco: Any, model: Any) -> list[str]:
    """The kind of each sensor, as "GYRO"; none if sensors are disabled."""
    if disabled(mujoco, model, "SENSOR"):
        return []
    return [str(mujoco.mjtSensor(int(kind)).name).removeprefix("mjSENS_") for kind in model.sensor_type]


def _of_camera(mujoco: Any, model: Any, k: int) -> bool:
    camera = int(mujoco.mjtObj.mjOBJ_CAMERA)
    return bool(model.sensor_objtype[k] == camera or (model.sensor_refid[k] >= 0 and model.sensor_reftype[k] == camera))


def _left(mujoco: Any, model: Any) -> list[int]:
    """The sensors that MuJoCo computes lane by lane, from positions and velocities."""
    cameras = set(_FRAMES) - set(_ACCELERATIONS)
    names = enumerate(_names(mujoco, model))
    return [k for k, name in names if name in _LEFT or (name in cameras and _of_camera(mujoco, model, k))]


def _unknown(mujoco: Any, model: Any) -> dict[int, str]:
    """The sensors that only mj_step computes: what they are, by their numbers."""
    found, left, foreign = {}, _left(mujoco, model), tendons.foreign(mujoco, model)
    for k, name in enumerate(_names(mujoco, model)):
        if k in left:
            continue
        if name not in _core.PHYSICS_SENSORS:
            found[k] = f"a {name.lower()} sensor"
        elif name == "CONTACT" and model.sensor_intprm[k, 0] >> _LAST_FIELD + 1:
            found[k] = "a contact sensor that shows velocities"
        elif name in _FORCES and foreign:
            found[k] = f"a {name.lower()} sensor, and spatial tendons"
        elif name in _FRAMES and _of_camera(mujoco, model, k):
            found[k] = f"a {name.lower()} sensor of a camera"
    return found


def unknown(mujoco: Any, model: Any) -> list[str]:
    """What the sensors are that only mj_step computes, as "a jointlimitfrc sensor"."""
    return sorted(set(_unknown(mujoco, model).values()))


def numbers(mujoco: Any, model: Any, pairs: NDArray[np.int32]) -> dict[str, Any]:
    """What csrc/engines/physics/physics.h says of a model's sensors. pairs: of geoms that may touch."""
    names, missing, left = _names(mujoco, model), _unknown(mujoco, model), _left(mujoco, model)
    places = {name: place for place, name in enumerate(_core.PHYSICS_SENSORS)}
    kinds: NDArray[np.int32] = np.array(
        [-1 if k in missing else -2 if k in left else places[name] for k, name in enumerate(names)], np.int32
    )
    of_velocity = model.sensor_needstage == int(mujoco.mjtStage.mjSTAGE_VEL)
    senses = PhysicsSenses.OTHERS if left else PhysicsSenses(0)
    touch, contact = (np.flatnonzero(kinds == places[name]) for name in ("TOUCH", "CONTACT"))
    if len(touch) or len(contact):
        senses |= PhysicsSenses.CONTACTS
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
    """MuJoCo's functions for sensors, without those that compute some of contacts, of touch, or of `_left`."""
    names, left = _names(mujoco, model), _left(mujoco, model)
    asked = [k for k, name in enumerate(names) if name in ("TOUCH", "CONTACT") or k in left]
    stages = {int(model.sensor_needstage[k]) for k in asked}
    busy = {
        **{
            f"mj_sensor{stage}": int(getattr(mujoco.mjtStage, f"mjSTAGE_{stage.upper()}")) in stages
            for stage in _STAGES
        },
        "mj_camlight": any(_of_camera(mujoco, model, k) for k in left),
        "mj_energyPos": "E_POTENTIAL" in names,
    }
    return [name for name, needed in busy.items() if not needed]


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
