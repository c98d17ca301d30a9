"""Fields of mjModel that may differ from lane to lane, and fields of mjData that can be observed."""

from __future__ import annotations

import copy
import difflib
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from batchenv.envs.mujoco import library
from batchenv.envs.mujoco.reads import is_array

# Names of mjModel's fields, or of its options', that MuJoCo reads afresh in every step.
OPTIONS = ("gravity", "wind", "magnetic", "density", "viscosity", "impratio")
# Fields from which MuJoCo computes other fields of the model: mj_setConst is called when one of these changes.
CONSTANTS = (
    "body_mass", "body_inertia", "body_ipos", "body_iquat", "body_pos", "body_quat", "dof_armature", "qpos_spring",
    "jnt_pos", "jnt_axis",
)  # fmt: skip
PLAIN = (
    "dof_damping", "dof_frictionloss", "jnt_stiffness", "jnt_range", "jnt_margin", "geom_friction", "geom_solref",
    "geom_solimp", "geom_margin", "geom_gap", "geom_size", "tendon_stiffness", "tendon_damping", "actuator_gainprm",
    "actuator_biasprm", "actuator_dynprm", "actuator_gear", "actuator_forcerange", "body_gravcomp",
)  # fmt: skip
# What numbers of these fields must be, unless those of the model itself are not: MuJoCo's compiler would refuse others,
# or they mean nothing. Where mj_step has a rule for odd numbers (it clips solimp, for example), there is none here.
_NOT_NEGATIVE = ("dof_armature", "density", "viscosity", "dof_frictionloss", "geom_friction")
_NEEDED = ("body_mass", "body_inertia", "geom_size", "impratio")  # 0 only where the model has 0
_NOT_ZERO = ("body_quat", "body_iquat", "jnt_axis")  # as rows
_RANGES = ("jnt_range", "actuator_forcerange")
_LEAST_LENGTH = 1e-14  # about that of quaternions and axes that MuJoCo's compiler takes
_OF_SIMPLE_BODIES = (
    ". A body whose body_simple in the model is not 0 was compiled with its centre of mass and its axes of inertia in "
    "its own frame, and MuJoCo leaves out what other places would need: keep the body_ipos and body_iquat of such "
    'bodies, or give the <body> simple="false" in a model of your own'
)
MODEL_FIELDS = (*OPTIONS, *CONSTANTS, *PLAIN)


def read(model: Any, name: str) -> NDArray[np.float64]:
    """A copy of a field of MODEL_FIELDS, in the field's shape."""
    return np.array(getattr(model.opt if name in OPTIONS else model, name), np.float64)


def _write(model: Any, name: str, value: NDArray[np.float64]) -> None:
    owner = model.opt if name in OPTIONS else model
    if value.ndim:
        getattr(owner, name)[...] = value
    else:
        setattr(owner, name, float(value))


def check(lanes: library.Lanes, chosen: NDArray[np.int64], name: str, value: Any) -> NDArray[np.float64]:
    """`value` as a float64 array of shape (chosen lanes, *shape of the field).

    Raises:
        TypeError, ValueError: it is not numbers of the field's shape, or of that with a lane axis before it.
    """
    shape, count = read(lanes.model, name).shape, len(lanes)
    try:
        array = np.asarray(value)
    except ValueError:  # ragged
        array = np.empty((), object)
    if array.dtype.kind not in "iuf":
        raise TypeError(
            f"{name} must be real numbers of shape {shape}, or have one row per lane: {(count, *shape)}; "
            f"got {type(value).__name__} of dtype {array.dtype}"
        )
    array = array.astype(np.float64)
    if array.shape == shape:
        array = np.broadcast_to(array, (count, *shape))
    if array.shape != (count, *shape):
        raise ValueError(
            f"{name} has shape {array.shape}, but must have the model's shape {shape}, or one row per "
            f"lane: {(count, *shape)}"
        )
    for lane in chosen.tolist():
        if not np.isfinite(array[lane]).all():
            raise ValueError(f"{name} of lane {lane} must be finite numbers, got {array[lane]}")
        _check_values(lanes.model, name, lane, array[lane])
    return array


def _check_values(model: Any, name: str, lane: int, array: NDArray[np.float64]) -> None:
    """Raises ValueError if numbers of a field are impossible."""
    present = read(model, name)
    for rule, breaks in _rules(model, name):
        wrong = np.argwhere(breaks(array) & ~breaks(present))
        if len(wrong):
            place = tuple(wrong[0].tolist())
            index = list(place) or ""
            raise ValueError(f"{name}{index} of lane {lane} must be {rule}, got {array[place]}")


def _rules(model: Any, name: str) -> list[tuple[str, Callable[[NDArray[np.float64]], NDArray[np.bool_] | np.bool_]]]:
    """What a field's numbers must be, and for which numbers, or rows of numbers, this is wrong."""
    if name in _NOT_NEGATIVE:
        return [("0 or more", lambda values: values < 0)]
    if name in _NEEDED:
        needed = read(model, name) > 0
        if name == "geom_size":
            needed[model.geom_type == 0] = False  # planes have no end where it is 0
        return [
            ("0 or more", lambda values: (values < 0) & ~needed),
            ("more than 0, as in the model", lambda values: (values <= 0) & needed),
        ]
    if name in _NOT_ZERO:
        rule = "a quaternion" if name.endswith("quat") else "a direction"
        return [(f"{rule}, not all 0", lambda rows: (np.abs(rows) < _LEAST_LENGTH).all(-1))]
    if name in _RANGES:
        return [("in increasing order", lambda rows: rows[..., 0] > rows[..., 1])]
    return []


_KEPT, _KEPT_BYTES = 1024, 2**28  # most models, and most of their bytes, for lanes that get them again


def set_fields(lanes: library.Lanes, chosen: NDArray[np.int64], values: dict[str, Any], keep: bool = True) -> None:
    """Gives the chosen lanes models of their own with these fields. If it raises, nothing has changed.

    keep: models are kept for a while, since lanes may get them again.

    Raises:
        TypeError, ValueError: see `check`; or MuJoCo refuses such a model: see `_set_constants`.
    """
    mujoco, _ = library.load()
    arrays = {name: check(lanes, chosen, name, value) for name, value in values.items()}
    constants = [name for name in arrays if name in CONSTANTS]
    scratch = mujoco.MjData(lanes.model) if constants else None
    models: dict[int, library.Own] = {}
    made: dict[Any, library.Own] = {}  # lanes that had the same model, and get the same values, share one again
    again: dict[Any, library.Own] = {}  # those that may come again
    names = set(arrays)
    for lane in chosen.tolist():
        # Where all that has been changed is set now, the result is that of the compiler's model.
        afresh = lanes.changed_in(lane) <= names
        before = lanes.model if afresh else lanes.source.model(lane)
        key = (id(before), *((name, array[lane].tobytes()) for name, array in sorted(arrays.items())))
        own = made.get(key) or (lanes.kept.get(key) if afresh else None)
        if own is None:
            own = library.Own(_copied(before))
            for name, array in arrays.items():
                _write(own.model, name, array[lane])
            why = _set_constants(mujoco, own.model, scratch) if constants else ""
            if why:
                refused = f"MuJoCo refuses these {', '.join(constants)} of lane {lane}: {why}"
                raise ValueError(f"{refused}; no lane has changed")
        made[key] = models[lane] = own
        if afresh and keep:
            again[key] = own
    changed = {lane: lanes.changed_in(lane) | names for lane in models}
    lanes.put_models(models)
    lanes.changed.update(changed)
    for key, own in again.items():
        lanes.kept[key] = own
        lanes.kept.move_to_end(key)
    while len(lanes.kept) > min(_KEPT, _KEPT_BYTES // mujoco.mj_sizeModel(lanes.model)):
        lanes.kept.popitem(last=False)


def _copied(model: Any) -> Any:
    """A copy of a model. Without memory for it, MuJoCo's bindings raise RuntimeErrors that do not say so."""
    try:
        return copy.copy(model)
    except RuntimeError as error:
        raise MemoryError(f"there is no memory for a copy of the model: {error}") from error


def _set_constants(mujoco: Any, model: Any, scratch: Any) -> str:
    """Calls mj_setConst without printing anything. Returns why MuJoCo refuses the model, or ""."""
    scratch.warning.number[:] = 1  # MuJoCo prints and logs only the first warning of each kind: this keeps it quiet
    try:
        mujoco.mj_setConst(model, scratch)
    except mujoco.FatalError as error:
        return f"{error}{_OF_SIMPLE_BODIES if 'simple' in str(error) else ''}"
    # Not all versions of MuJoCo warn here.
    sound = np.isfinite(model.dof_invweight0) & (model.dof_invweight0 > 0)
    if (scratch.warning.number == 1).all() and sound.all():
        return ""
    return "there is a joint along or about which nothing has mass or inertia"


def observable(model: Any, names: Any) -> list[str]:
    """`names` of fields of mjData, checked.

    Raises:
        TypeError, ValueError: not a list of names of float arrays whose size stays the same.
    """
    mujoco, _ = library.load()
    data = mujoco.MjData(model)

    if isinstance(names, str) or not isinstance(names, (list, tuple)) or not names:
        raise TypeError(f"observation={names!r} must be a list of fields of mjData, such as ['qpos', 'qvel']")
    known = [name for name in dir(data) if is_array(data, name)]
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(str(name), known, n=3)
            hint = f"did you mean {' or '.join(near)}?" if near else f"there are: {', '.join(known)}"
            raise ValueError(f"observation: mjData has no array of floats {name!r} whose size stays the same; {hint}")
        if getattr(data, name).size == 0:
            raise ValueError(f"observation: {name!r} is empty in this model")
    return list(names)
