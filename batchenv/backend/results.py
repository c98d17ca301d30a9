"""Converts what a call returns or, if lanes fail, what its LaneError carries; and infos into other forms."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Collection
from typing import Any, ParamSpec, TypeVar

import numpy as np
from gymnasium import spaces
from gymnasium.vector.utils import concatenate, create_empty_array
from numpy.typing import NDArray

from batchenv._core import Infos, LaneError

_Form = TypeVar("_Form")
_Arguments = ParamSpec("_Arguments")
RowInfos = list[tuple[int, dict[str, Any]]]  # rows, and what their envs have said
_PLAIN = {int, float, bool, str, type(None), np.ndarray}  # of which no copies are needed, or have been made


def converted(
    convert: Callable[..., _Form],
    call: Callable[_Arguments, tuple[Any, ...]],
    *arguments: _Arguments.args,
    **keywords: _Arguments.kwargs,
) -> _Form:
    """`convert(*result)` of what a call returns. If lanes fail, the LaneError's `result` is converted likewise."""
    try:
        result = call(*arguments, **keywords)
    except LaneError as error:
        error.result = convert(*error.result)
        raise
    return convert(*result)


class Apart(dict):
    """Infos into which what envs have said is put when somebody first reads them. Whoever wants a dict per lane takes
    it from here as each env has said it: arrays of all lanes have one type and shape for a key.

    Args:
        known: the infos without it, in Gymnasium's form.
        told: what envs have said: [(row, info)].
        finals: what they have said of episodes that ended in this step, where `told` is of the next ones' beginning.
        join: a function that returns all of it in Gymnasium's form.
    """

    __slots__ = ("_join", "finals", "known", "told")

    def __init__(self, known: dict[str, Any], told: RowInfos, finals: RowInfos, join: Callable[[], dict[str, Any]]):
        self.known, self.told, self.finals, self._join = known, told, finals, join

    def _joined(self) -> None:
        if self._join is not None:
            dict.update(self, self._join())
            self._join = None

    def __bool__(self) -> bool:  # without putting anything together
        return bool(self.known or self.told or self.finals)

    def __getitem__(self, key: Any) -> Any:
        if key == "env_id" and key in self.known:  # which no env can change
            return self.known[key]
        self._joined()
        return dict.__getitem__(self, key)

    def __reduce__(self) -> Any:
        return dict, (dict(self),)


def _reading(name: str) -> Callable[..., Any]:
    method = getattr(dict, name)

    def read(self: Apart, *arguments: Any, **keywords: Any) -> Any:
        self._joined()
        return method(self, *arguments, **keywords)

    return functools.wraps(method)(read)


_OPERATORS = "contains delitem eq ior iter len ne or repr reversed ror setitem"
_METHODS = "clear copy get items keys pop popitem setdefault update values"
for _name in [f"__{name}__" for name in _OPERATORS.split()] + _METHODS.split():
    setattr(Apart, _name, _reading(_name))


def parted(infos: dict[str, Any]) -> tuple[dict[str, Any], RowInfos, RowInfos]:
    """The `known`, `told` and `finals` of infos that are `Apart`; of others, all is known."""
    return (infos.known, infos.told, infos.finals) if isinstance(infos, Apart) else (infos, [], [])


def infos_into_dicts(infos: dict[str, Any], dicts: list[dict[str, Any]], but: Collection[str] = ()) -> None:
    """Puts infos into a dict per row, except those of the names `but`. What envs have said stays as each has said it.

    With autoreset "SameStep", infos of rows whose episodes have ended are those of the next episode's beginning; those
    of the ended one are in "final_info", which `final_infos_into_dicts` takes.
    """
    known, said, _ = parted(infos)
    _known_into_dicts(known, dicts, but)
    _said_into_dicts(said, dicts)


def final_infos_into_dicts(infos: dict[str, Any], dicts: list[dict[str, Any]], but: Collection[str] = ()) -> None:
    """Puts infos of the episodes that have ended in a step into the dicts of their rows; see `infos_into_dicts`."""
    known, _, finals = parted(infos)
    if "final_info" in known:
        _known_into_dicts(known["final_info"], dicts, but)
        _said_into_dicts(finals, dicts)


def _known_into_dicts(infos: dict[str, Any], dicts: list[dict[str, Any]], but: Collection[str] = ()) -> None:
    """`infos_into_dicts` of infos in Gymnasium's form."""
    for name in infos:
        if name in but or (isinstance(name, str) and name[:1] == "_" and name[1:] in infos):
            continue
        values, mask = infos[name], infos.get(f"_{name}")  # the parts of "episode" have none
        if isinstance(values, dict):
            inner: list[dict[str, Any]] = [{} for _ in dicts]
            _known_into_dicts(values, inner)
            values = inner
        elif values.dtype == object:
            values = copy.deepcopy(values)  # the environment may have kept what it has said
        if mask is None or mask.all():
            for one, value in zip(dicts, values, strict=True):
                one[name] = value
        else:
            for row in np.flatnonzero(mask).tolist():
                dicts[row][name] = values[row]


def _said_into_dicts(said: RowInfos, dicts: list[dict[str, Any]]) -> None:
    """Puts what envs have said into the dicts of their rows, unless the key is there already."""
    for row, info in said:
        mine = dicts[row]
        for key, value in info.items():
            if key not in mine:
                mine[key] = value if type(value) in _PLAIN else _own(value)


def _own(value: Any) -> Any:
    """A copy of an object that an env may have kept, if it can be copied."""
    try:
        return copy.deepcopy(value)
    except Exception:
        return value


def objects(values: Collection[Any]) -> NDArray[Any]:
    """An array of objects (n,), whatever these are."""
    array = np.empty(len(values), object)
    array[:] = list(values)
    return array


def final_rows(space: spaces.Space[Any], infos: dict[str, Any]) -> Any:
    """The last observations in infos, as `batchenv.Infos.final_rows`: (lanes, rows). None: there are none, or
    "final_obs" is something else. space: of one lane's."""
    infos = parted(infos)[0]
    if "_final_obs" not in infos:
        return None
    if not isinstance(infos, Infos):
        final = infos["final_obs"]
        if final.dtype != object:
            return None
        lanes = np.flatnonzero(infos["_final_obs"])
        return lanes, concatenate(space, list(final[lanes]), create_empty_array(space, len(lanes)))
    return infos.final_rows
