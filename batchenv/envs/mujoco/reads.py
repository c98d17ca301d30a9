"""Which numbers of a model a task reads, by names: rows of be_env_type.reads in csrc/include/batchenv.h."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from batchenv.arguments.messages import unknown_key
from batchenv.arguments.numbers import integer

Row = tuple[str, str | None, str | None]  # array, object, name

OF_MODEL = "model."  # what names of mjModel's arrays begin with; those of its options with model.opt.
_OBJECTS = {  # mjModel's numbers of each kind
    "body": "nbody", "joint": "njnt", "geom": "ngeom", "site": "nsite", "camera": "ncam", "tendon": "ntendon",
    "actuator": "nu", "sensor": "nsensor", "key": "nkey",
}  # fmt: skip
_POSITIONS, _SPEEDS = (7, 4, 1, 1), (6, 3, 1, 1)  # numbers of a joint, by its type


# Beginnings of names of mjData's arrays that lie elsewhere, and may be longer or shorter, after each step.
_MOVING = ("contact", "efc_", "efm_", "iacc", "iefc_", "ifrc_")


def is_array(data: Any, name: str) -> bool:
    """Whether mjData has an array of floats of this name whose size stays the same."""
    value = None if name.startswith(("_", *_MOVING)) else getattr(data, name, None)
    return isinstance(value, np.ndarray) and value.dtype == np.float64


class Read(NamedTuple):
    """One row: size numbers at each place of `first` (int64) in an array, of mjModel's if its name begins so."""

    array: str
    size: int
    first: NDArray[np.int64]


def resolve(mujoco: Any, model: Any, rows: Sequence[Row], keywords: Mapping[str, Any] | None = None) -> list[Read]:
    """What the rows are in this model. keywords: of a task in C, whose model is that of the keyword xml_file: values of
    those that rows name with @. None: of a task in NumPy.

    Raises:
        ValueError: there is no such array, thing or keyword; the thing has no row in this array; or its name is no
            regular expression.
        TypeError: a keyword names neither by a name nor by a number.
    """
    data = mujoco.MjData(model)
    return [_read(mujoco, model, data, row, keywords) for row in rows]


def _read(mujoco: Any, model: Any, data: Any, row: Row, keywords: Mapping[str, Any] | None) -> Read:
    array, kind, name = row
    values = _values(model, data, array)
    if kind is None or name is None:
        return Read(array, values.size, np.zeros(1, np.int64))
    if kind not in _OBJECTS:
        raise ValueError(unknown_key(f"the task reads {array} of a {kind!r}", kind, list(_OBJECTS)))
    numbers = _numbers(mujoco, model, kind, name, keywords)
    first, sizes = _places(model, array.removeprefix(OF_MODEL), values, kind)
    if keywords is None and len({int(sizes[i]) for i in numbers}) > 1:
        known = names(mujoco, model, kind)
        found = ", ".join(f"{known[i]} has {sizes[i]}" for i in numbers[:8])
        raise ValueError(
            f"what matches {name!r} differs in size, so it is no array: of {array}, {found}. Name those of one size"
        )
    return Read(array, int(sizes[numbers[0]]), np.array(first[numbers], np.int64))


def _values(model: Any, data: Any, array: str) -> NDArray[Any]:
    owner, name = (model if array.startswith(OF_MODEL) else data), array.removeprefix(OF_MODEL)
    if owner is model and name.startswith("opt."):
        owner, name = model.opt, name.removeprefix("opt.")
    if not is_array(owner, name):
        known = [known for known in dir(owner) if is_array(owner, known)]
        what = f"the task reads {array!r}, which is no array of floats whose size stays the same"
        raise ValueError(unknown_key(what, name, known))
    return getattr(owner, name)


def names(mujoco: Any, model: Any, kind: str) -> list[str]:
    """The names of all things of a kind, in the model's order; "" for those without one."""
    number = int(getattr(mujoco.mjtObj, f"mjOBJ_{kind.upper()}"))
    return [mujoco.mj_id2name(model, number, i) or "" for i in range(getattr(model, _OBJECTS[kind]))]


def unknown_thing(kind: str, name: str, known: Sequence[str]) -> str:
    """The message for a name, or an expression, that none of the model's things of this kind has. known: the names of
    all, "" for those without one."""
    head, named = f"the model has no {kind} {name!r}", [one for one in known if one]
    if known and not named:
        return f"{head}: its {len(known)} have no names, which name=... in the XML gives them"
    with contextlib.suppress(re.error):
        if any(re.fullmatch(name, one) for one in named):
            plural = "bodies" if kind == "body" else f"{kind}s"
            return f"{head}; lanes.{plural}({name!r}) are those whose names match"
    return unknown_key(head, name, named)


def _numbers(mujoco: Any, model: Any, kind: str, name: str, keywords: Mapping[str, Any] | None) -> list[int]:
    wanted, where = name, "" if keywords is None else "xml_file: "
    if keywords is not None and name.startswith("@"):
        keyword = name.removeprefix("@")
        if keyword not in keywords:
            raise ValueError(unknown_key(f"the task reads what a keyword {keyword!r} names", keyword, list(keywords)))
        wanted, where = keywords[keyword], f"{keyword}: "
        if not isinstance(wanted, str):
            return [integer(keyword, wanted, 0, getattr(model, _OBJECTS[kind]) - 1)]
    known = names(mujoco, model, kind)
    if wanted in known:
        return [known.index(wanted)]
    try:
        pattern = re.compile(wanted)
    except re.error as problem:
        raise ValueError(
            f"{where}{wanted!r} is neither a {kind} of the model nor a regular expression: {problem}"
        ) from None
    found = [i for i, one in enumerate(known) if one and pattern.fullmatch(one)]
    if not found:
        raise ValueError(f"{where}{unknown_thing(kind, wanted, known)}")
    return found


def _places(model: Any, array: str, values: NDArray[Any], kind: str) -> tuple[NDArray[Any], NDArray[Any]]:
    """Where the numbers of each thing of this kind begin in the array, and how many they are."""
    count = getattr(model, _OBJECTS[kind])
    if kind == "sensor" and array == "sensordata":
        return model.sensor_adr, model.sensor_dim
    if kind == "joint" and len(values) == model.nq and array.startswith("qpos"):
        return model.jnt_qposadr, np.array(_POSITIONS)[model.jnt_type]
    if kind == "joint" and len(values) == model.nv and array.startswith(("q", "dof_")):
        return model.jnt_dofadr, np.array(_SPEEDS)[model.jnt_type]
    if len(values) != count:
        raise ValueError(f"the task reads {array} of a {kind}, but {array} has {len(values)} rows for {count} of these")
    width = values.size // max(count, 1)
    return np.arange(count) * width, np.full(count, width)
