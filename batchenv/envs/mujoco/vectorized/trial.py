"""Runs a task in NumPy once, with two lanes in MuJoCo's own bindings: finds out what it reads, and what it gives."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from batchenv import _core
from batchenv.arguments.messages import unknown_key
from batchenv.arguments.numbers import brief
from batchenv.envs.mujoco import fields as model_fields
from batchenv.envs.mujoco import library, reads
from batchenv.envs.mujoco.vectorized.task import MuJoCoTask
from batchenv.envs.mujoco.vectorized.view import CONTROLLING, STARTING, Lanes

_LANES = 2
DTYPES = tuple(np.dtype(kind) for kind in ("f8", "f4", "i8", "i4", "u1", "i1", "?"))  # of ports and fields
REWARDS, SUMS = "reward", "reward_sums"  # infos: the terms of the reward, and their sums in the episode so far
_OTHER_INFOS = (REWARDS, SUMS, _core.MUJOCO_UNSTABLE_INFO, "env_id", "episode", "final_obs", "final_info")


_INSTEAD = {  # what people look for in `lanes`, and where it is
    "model": "the task has self.model, and lanes.set_model() gives lanes others",
    "data": "mjData's arrays are lanes.qpos, lanes.xpos and so on",
    "time": "lanes.elapsed_steps * lanes.dt is the episode's time before this step, in seconds",
    "np_random": "lanes.uniform(), lanes.normal() and lanes.integers() draw from each lane's stream",
    "done": "terminated() says so, and limits of time are the env's",
    **dict.fromkeys(model_fields.MODEL_FIELDS, "fields of mjModel are in self.model"),
}


class Part(NamedTuple):
    """One array of an observation, an info or an action."""

    name: str  # of its port
    dtype: np.dtype[Any]
    shape: tuple[int, ...]  # of one lane
    low: list[float]
    high: list[float]


class Found(NamedTuple):
    """What a task is like."""

    reads: list[str]  # arrays of mjData besides qpos, qvel and ctrl
    state: dict[str, NDArray[Any]]  # {name: what a lane starts with}
    keeps: list[str]  # names of state that outlasts episodes
    params: dict[str, float]
    action: Part
    observations: list[Part]
    infos: list[Part]
    terms: list[str]  # of the reward; []: it is one number


def leaves(value: Any, name: str = "") -> Iterator[tuple[str, NDArray[Any]]]:
    """(name of a port, array) of an observation, an array or a dict of them."""
    if isinstance(value, Mapping):
        for key, part in value.items():
            if not isinstance(key, str) or "/" in key:
                raise ValueError(f"the key {key!r} of a dict of arrays must be a string without a /")
            yield from leaves(part, f"{name}/{key}" if name else key)
    else:
        yield name, np.asarray(value)


def check_rows(what: str, array: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """`array`, if it has numbers and this shape. Raises TypeError or ValueError if not."""
    if array.dtype.kind not in "fiub":
        kind = type(array.item()).__name__ if array.shape == () else f"of dtype {array.dtype}"
        found = (
            "nothing: does the function lack a `return`?"
            if kind == "NoneType"
            else f"{kind}, but must be numbers or bools"
        )
        raise TypeError(f"{what} is {found}")
    if array.shape != shape:
        raise ValueError(f"{what} is of shape {array.shape}, but must be of shape {shape}: the first axis is the lanes")
    return array


class _Arrays:
    """See `view.Source`."""

    count = _LANES

    def __init__(self, task: MuJoCoTask, found: dict[str, NDArray[Any]], params: dict[str, float]):
        self.mujoco, self.model = library.load()[0], task.model
        self.frame_skip = task.frame_skip
        self.dt = self.model.opt.timestep * self.frame_skip
        self.state = {name: np.stack([value] * _LANES) for name, value in found.items()}
        self.places: dict[Any, Any] = {}
        self.data = [self.mujoco.MjData(self.model) for _ in range(_LANES)]
        for data in self.data:
            data.warning.number[:] = 1  # MuJoCo prints and logs only the first warning of each kind
        self.taken: dict[str, NDArray[Any]] = {}
        self.params = {name: np.full(_LANES, value) for name, value in params.items()}
        self._rngs = [np.random.default_rng(k) for k in range(_LANES)]

    def array(self, name: str) -> NDArray[Any]:
        for known in (self.state, self.params, self.taken):
            if name in known:
                return known[name]
        if name == "elapsed_steps":
            return np.zeros(_LANES, np.int32)
        if not reads.is_array(self.data[0], name):
            raise AttributeError(self._unknown(name))
        self.taken[name] = np.stack([getattr(data, name) for data in self.data])
        return self.taken[name]

    def _unknown(self, name: str) -> str:
        head = f"lanes have no array {name!r}"
        if name in _INSTEAD:
            return f"{head}: {_INSTEAD[name]}"
        own = [*self.state, *self.params, "elapsed_steps"]
        known = [*own, *(one for one in dir(self.data[0]) if reads.is_array(self.data[0], one))]
        near = difflib.get_close_matches(name, known, n=3, cutoff=0.7)
        if near:
            return f"{head}: did you mean {' or '.join(map(repr, near))}?"
        return f"{head}: there are mjData's arrays, and of the task's state and params {', '.join(own)}"

    def draw(self, numbers: Any, out: NDArray[Any], last: int | None) -> None:
        for row, rng in zip(out, self._rngs, strict=True):
            row[:] = (
                rng.random(row.size) if out.dtype == np.float64 else rng.integers(0, last or 0, row.size, endpoint=True)
            )

    def put(self, names: tuple[str, ...]) -> None:
        """Puts what was written into the mjData."""
        for name in names:
            for data, row in zip(self.data, self.taken.get(name, ()), strict=False):
                getattr(data, name)[...] = row

    def look(self) -> None:
        """Lets arrays show what the mjData have."""
        for name, array in self.taken.items():
            array[...] = [getattr(data, name) for data in self.data]


_READ_ONLY = (
    ". The function may write the task's state, and what its documentation says, by `lanes.NAME = ...`; copy other "
    "arrays before you change them"
)


def call(task: MuJoCoTask, name: str, *arguments: Any) -> Any:
    """What one of the task's functions returns.

    Raises:
        TaskFailed: it raises.
    """
    try:
        return getattr(task, name)(*arguments)
    except Exception as problem:
        hint = "" if "read-only" not in str(problem) else _READ_ONLY
        what = f"{type(task).__name__}.{name}() has raised {type(problem).__name__}: {problem}"
        raise TaskFailed(f"{what}{hint}") from problem


class TaskFailed(RuntimeError):
    """A task's function has raised an exception, which is the cause of this one."""


def try_task(task: MuJoCoTask) -> Found:
    """What the task is like. Its functions are called as in a reset and a step of the env.

    Raises:
        TaskFailed: one of them raises. TypeError, ValueError: it has attributes, or returns values, of a wrong kind.
    """
    call(task, "prepare")
    state, params = _checked_state(task), _checked_params(task)
    keeps = _checked_keeps(task, state)
    arrays = _Arrays(task, state, params)
    lanes = Lanes(arrays)
    for name in (*state, *params):
        if not isinstance(name, str) or not name.isidentifier() or name.startswith("_"):
            raise ValueError(
                f"{type(task).__name__} names a param or a part of its state {name!r}, which is no "
                "name that an attribute of lanes can have"
            )
        taken = hasattr(Lanes, name) or reads.is_array(arrays.data[0], name) or name in state.keys() & params
        taken = taken or name in _INSTEAD or name == "physics"
        if taken or name in (SUMS, "elapsed_steps", "model_fingerprint"):
            raise ValueError(
                f"{type(task).__name__} names a param or a part of its state {name!r}, but lanes.{name} is something "
                "else: take another name"
            )
    lanes._begin(STARTING)
    call(task, "start", lanes)
    arrays.put(STARTING)
    for data in arrays.data:
        arrays.mujoco.mj_forward(arrays.model, data)
    arrays.look()
    lanes._begin()
    first = dict(leaves(call(task, "observe", lanes)))
    action = action_part(task)
    actions = np.zeros((_LANES, *action.shape), action.dtype)
    actions.flags.writeable = False
    _step(task, arrays, lanes, actions)
    lanes._begin()
    reward = call(task, "reward", lanes, actions)
    terms = list(reward) if isinstance(reward, Mapping) else []
    check_rows("what terminated() returns", np.asarray(call(task, "terminated", lanes)), (_LANES,))
    call(task, "update", lanes, actions)
    observed = dict(leaves(call(task, "observe", lanes)))
    infos = _infos_of(call(task, "info", lanes), {*params, *state})
    if isinstance(reward, Mapping) and not reward:
        raise ValueError("reward() returns a dict without terms")
    for name, term in reward.items() if terms else [("", reward)]:
        check_rows(f"the term {name!r} of reward()" if terms else "what reward() returns", np.asarray(term), (_LANES,))
    if not observed:
        raise ValueError("observe() returns a dict without observations")
    parts = dict(_parts_of(task.observation_space))
    for name in parts.keys() - observed.keys():
        raise ValueError(f"observe() returns no {name!r}, which is in observation_space={task.observation_space}")
    observations = [_observed(parts, name, array, first) for name, array in observed.items()]
    if terms:
        zeros = np.zeros((_LANES, len(terms)))
        infos = {REWARDS: zeros, SUMS: zeros, **infos}
        state = {**state, SUMS: zeros[0]}
    infos = {_core.MUJOCO_UNSTABLE_INFO: np.zeros(_LANES, np.bool_), **infos}
    return Found(
        reads=_reads_of(task, arrays),
        state=state,
        keeps=keeps,
        params=params,
        action=action,
        observations=observations,
        infos=[_part("info()", name, array, [0.0], [0.0]) for name, array in infos.items()],
        terms=terms,
    )


def _infos_of(given: Any, known: set[str]) -> dict[str, NDArray[Any]]:
    """Infos by the names of their ports. known: names of the task's params and state."""
    if not isinstance(given, Mapping):
        raise TypeError(f"info() returns a {type(given).__name__}, but must return a dict: {{name: numbers (n, ...)}}")
    for name in (*known, *_OTHER_INFOS):
        if name in given:
            raise ValueError(f"info() gives {name!r}, which is the name of something else: take another one")
    return dict(leaves(given))


def _step(task: MuJoCoTask, arrays: _Arrays, lanes: Lanes, actions: NDArray[Any]) -> None:
    """Takes MuJoCo's steps, with the task's controls."""
    again = recontrols(task)
    for step in range(task.frame_skip):
        if step == 0 or again:
            lanes._begin(CONTROLLING[1:] if step else CONTROLLING)
            name, more = ("recontrol", (step,)) if step else ("control", ())
            given = np.asarray(call(task, name, lanes, actions, *more))
            controls = check_rows(f"what {name}() returns", given, (_LANES, task.model.nu))
            arrays.put(CONTROLLING)
            for data, control in zip(arrays.data, controls, strict=True):
                data.ctrl[:] = control
        for data in arrays.data:
            arrays.mujoco.mj_step(arrays.model, data)
            arrays.mujoco.mj_rnePostConstraint(arrays.model, data)
        arrays.look()


def recontrols(task: MuJoCoTask) -> bool:
    """Whether the task writes controls between MuJoCo's steps."""
    return type(task).recontrol is not MuJoCoTask.recontrol


def _reads_of(task: MuJoCoTask, arrays: _Arrays) -> list[str]:
    for name in task.reads:
        arrays.array(name)
    shared = (*_core.MUJOCO_FIELDS, *CONTROLLING)  # what all lanes have anyway
    return [name for name in arrays.taken if name not in shared]


def _checked_state(task: MuJoCoTask) -> dict[str, NDArray[Any]]:
    given = getattr(task, "state", {})
    if not isinstance(given, Mapping):
        raise TypeError(f"state={brief(given)} must be a dict: {{name: what a lane's episode starts with}}")
    state = {}
    for name, value in given.items():
        array = np.array(value)
        if array.dtype not in DTYPES or array.ndim > 1 or not array.size:
            raise ValueError(
                f"state[{name!r}] is of dtype {array.dtype} and shape {array.shape}, but must be one number or a row "
                f"of numbers, of one of the dtypes {', '.join(map(str, DTYPES))}"
            )
        state[name] = array
    return state


def _checked_keeps(task: MuJoCoTask, state: Mapping[str, Any]) -> list[str]:
    keeps = [task.keeps] if isinstance(task.keeps, str) else list(task.keeps)
    keeps += getattr(getattr(task, "state", {}), "kept", ())  # of robots.states()
    for name in keeps:
        if name not in state:
            raise ValueError(unknown_key(f"keeps: {name!r} is no part of the task's state", str(name), list(state)))
    return keeps


def _checked_params(task: MuJoCoTask) -> dict[str, float]:
    for name, value in task.params.items():
        if not isinstance(value, (bool, int, float, np.bool_, np.integer, np.floating)) or not np.isfinite(value):
            raise TypeError(f"params[{name!r}]={brief(value)} must be a finite number or a bool")
    return dict(task.params)


def action_part(task: MuJoCoTask) -> Part:
    """What an action is."""
    space, model = task.action_space, task.model
    if space is None and type(task).control is not MuJoCoTask.control:
        return Part("", np.dtype(np.float32), (model.nu,), [-1.0], [1.0])
    if space is None:
        low, high = model.actuator_ctrlrange.astype(np.float32).T
        free = ~np.asarray(model.actuator_ctrllimited, np.bool_)
        return _box("action_space", "", np.where(free, -np.inf, low), np.where(free, np.inf, high), np.float32)
    if not isinstance(space, spaces.Box):
        raise TypeError(f"action_space={space} must be a Box: tasks over MuJoCo take arrays of numbers")
    return _box("action_space", "", space.low, space.high, space.dtype)


def _box(what: str, name: str, low: Any, high: Any, dtype: Any) -> Part:
    lows, highs = np.ravel(low).astype(float).tolist(), np.ravel(high).astype(float).tolist()
    if len(lows) > _core.MAX_BOUNDS:
        if len(set(lows)) > 1 or len(set(highs)) > 1:
            raise ValueError(
                f"{what} has {len(lows)} numbers with different bounds; of more than {_core.MAX_BOUNDS}, all need the "
                "same bounds"
            )
        lows, highs = lows[:1], highs[:1]
    return _part(what, name, np.zeros((1, *np.shape(low)), dtype), lows, highs)


def _part(what: str, name: str, array: NDArray[Any], low: list[float], high: list[float]) -> Part:
    if array.dtype not in DTYPES or array.ndim > _core.MAX_DIMS or not array.size or not array.ndim:
        raise ValueError(
            f"{what}{f'[{name!r}]' if name else ''} is of dtype {array.dtype} and shape {array.shape}, but must be "
            f"numbers of one of the dtypes {', '.join(map(str, DTYPES))}, of shape (lanes, ...)"
        )
    return Part(name, array.dtype, array.shape[1:], low, high)


def _parts_of(space: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """(name of a port, space) of a space, as `leaves`."""
    if isinstance(space, spaces.Dict):
        for key, part in space.spaces.items():
            yield from _parts_of(part, f"{name}/{key}" if name else str(key))
    elif space is not None:
        yield name, space


def _observed(parts: dict[str, Any], name: str, array: NDArray[Any], first: dict[str, NDArray[Any]]) -> Part:
    """A part of the observation. parts: {name: its space}; {}: all are without bounds."""
    what = f"observe(){f'[{name!r}]' if name else ''}"
    check_rows(what, array, (_LANES, *array.shape[1:]))
    if name not in first or first[name].shape != array.shape or first[name].dtype != array.dtype:
        raise ValueError(f"{what} has another form after a step than at an episode's start: let it return the same")
    space = parts.get(name)
    if space is None and parts:
        raise ValueError(f"{what} has no part in observation_space, which has {sorted(parts)}")
    part = _part(what, name, array, [0.0], [0.0])
    if space is None:
        low, high = _bounds(array.dtype)
        return part._replace(low=low, high=high)
    if not isinstance(space, spaces.Box) or space.shape != array.shape[1:] or space.dtype != array.dtype:
        raise ValueError(f"{what} is of shape {array.shape[1:]} and {array.dtype} per lane, but its space is {space}")
    return _box("observation_space", name, space.low, space.high, space.dtype)


def _bounds(dtype: np.dtype[Any]) -> tuple[list[float], list[float]]:
    if dtype.kind == "f":
        return [-np.inf], [np.inf]
    if dtype.kind == "b":
        return [0.0], [1.0]
    limits = np.iinfo(dtype)
    return [float(limits.min)], [float(limits.max)]
