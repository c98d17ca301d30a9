"""Access to individual lanes: their parameters, state and snapshots."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from batchenv import _core
from batchenv.hints import unknown_keyword
from batchenv.seeds import Seeder, entropy
from batchenv.snapshot import Snapshot
from batchenv.translator import Translator


def lane_indices(lanes: Any, count: int, name: str = "lanes") -> NDArray[np.int64]:
    """The indices meant by `lanes`: None (all), an int, a list of ints, a slice or a bool mask (count,).

    Raises:
        TypeError: it is none of these.
        ValueError: an index is not in -count..count-1, or the mask's shape is wrong.
    """
    if lanes is None:
        return np.arange(count)
    if isinstance(lanes, slice):
        return np.arange(count)[lanes]
    try:
        array = np.asarray(lanes)
    except ValueError:  # ragged
        array = np.empty((), object)
    if array.dtype == np.bool_:
        if array.shape != (count,):
            raise ValueError(f"{name}={lanes!r} must, as a bool mask, have shape ({count},), not {array.shape}")
        return np.flatnonzero(array)
    mixed = isinstance(lanes, (list, tuple)) and any(isinstance(lane, (bool, np.bool_)) for lane in lanes)
    if array.shape == (0,):
        return np.empty(0, np.int64)
    if array.ndim > 1 or array.dtype.kind not in "iu" or mixed:
        raise TypeError(f"{name}={lanes!r} must be None, an int, a list of ints, a slice or a bool mask ({count},)")
    chosen = np.atleast_1d(array)
    wrong = (chosen < -count) | (chosen >= count)
    if wrong.any():
        raise ValueError(f"lane {chosen[wrong][0]} of {name}={lanes!r} must be in 0..{count - 1}")
    chosen = chosen.astype(np.int64)
    return np.where(chosen < 0, chosen + count, chosen)


def spread(name: str, values: Any, shape: tuple[int, ...], chosen: NDArray[np.int64], count: int) -> Any:
    """`values` of a parameter of this shape, with one per chosen lane, as an array (count, *shape); what is one for all
    chosen lanes, or has one per lane already, as it is.

    Raises:
        ValueError: an array of another length, or one of which it is not clear which lane a value is for.
    """
    try:
        array = np.asarray(values)
    except ValueError:  # ragged: the core says so
        return values
    if array.ndim != len(shape) + 1 or array.shape[1:] != shape:
        return values
    if len(chosen) == count and not np.array_equal(chosen, np.arange(count)):
        raise ValueError(
            f"{name}: with lanes={chosen.tolist()} it is not clear which lane a value is for: leave lanes out and give "
            "value i for lane i"
        )
    if len(array) == count:
        return values
    if len(array) != len(chosen):
        raise ValueError(
            f"{name} has {len(array)} values, but must have one for all chosen lanes, one per chosen lane "
            f"({len(chosen)}), or one per lane ({count})"
        )
    if len(np.unique(chosen)) != len(chosen):
        raise ValueError(f"{name} has a value per chosen lane, but lanes={chosen.tolist()} names a lane twice")
    everywhere = np.zeros((count, *shape), array.dtype)
    everywhere[chosen] = array
    return everywhere


def result_of_lanes(result: tuple[Any, dict[str, Any]], lanes: NDArray[Any]) -> tuple[Any, dict[str, Any]]:
    """The rows of these lanes in what `reset` returns."""
    observations, infos = result
    return rows_of(observations, lanes), {**rows_of(infos, lanes), "env_id": lanes.astype(np.int64)}


def rows_of(value: Any, lanes: NDArray[Any]) -> Any:
    """The rows of these lanes, of arrays in tuples and dicts too."""
    if isinstance(value, dict):
        return {key: rows_of(part, lanes) for key, part in value.items()}
    if isinstance(value, tuple):
        return tuple(rows_of(part, lanes) for part in value)
    return value[lanes]


class Lanes:
    """The part of BatchEnv that reads, changes, saves and restores lanes."""

    num_envs: int
    _id: str
    _batch: Any
    _translator: Translator
    _seeder: Seeder

    def get_params(self) -> dict[str, Any]:
        """All parameters: {name: one value, or a float64 array (num_envs,) where lanes differ}. Copies."""
        with self._hold(settle=False):
            return self._batch.get_params()

    def set_params(self, *, lanes: Any = None, **params: Any) -> None:
        """Changes parameters at once, in the middle of episodes too.

        Args:
            lanes: which lanes: bool mask (num_envs,), index, list of indices or slice; None: all.
            **params: name=value for all these lanes, or an array with one value per lane. Such an array has one value
                per chosen lane, in the order of `lanes`, or shape (num_envs,): then lane i takes value i, if it is
                chosen. Where `lanes` are as many as all lanes but are not 0, 1, 2, ... in this order, these two would
                differ, and an array is refused. What is not a number (choices, flags) is one for all lanes.

        MuJoCo's lanes also take fields of mjModel, of the model's shape, or with an axis of lanes before it, as above:
        gravity, geom_friction, body_mass and so on; see docs/mujoco.md. The lanes get models of their own. Snapshots do
        not hold these.

        Raises:
            TypeError, ValueError: an unknown parameter, a wrong shape, a value out of range (the lane is named).
                Nothing has changed.
        """
        self._check_open()
        chosen = None if lanes is None else lane_indices(lanes, self.num_envs)
        with self._hold():
            self._change_params(params, chosen)

    def _change_params(self, params: dict[str, Any], chosen: NDArray[np.int64] | None) -> None:
        """`set_params`, while the batch is held: all of it, or nothing. chosen: the lanes; None: all."""
        before = self._batch.get_params()
        own = self._translator.fields
        for name in params:
            if name not in before and name not in own:
                raise TypeError(unknown_keyword(self._id, name, before, fields=own))
        mask = None
        if chosen is not None:
            mask = np.zeros(self.num_envs, np.bool_)
            mask[chosen] = True
            shapes = {name: self._translator.field_shape(name) for name in params if name in own}
            params = {
                name: spread(name, value, shapes.get(name, ()), chosen, self.num_envs) for name, value in params.items()
            }
        model = {name: params.pop(name) for name in own if name in params}
        self._batch.set_params(params, mask)
        try:
            self._set_spaces()
            if model:
                self._translator.set_fields(np.arange(self.num_envs) if chosen is None else chosen, model)
        except BaseException:  # a transform cannot follow, or a model is refused
            self._batch.set_params(before)
            self._set_spaces()
            raise

    @property
    def state(self) -> dict[str, NDArray[Any]]:
        """Each lane's state: {field: read-only array (num_envs,) or (num_envs, size)}, and "elapsed_steps" (int32:
        steps since the lane's last reset). Copies, taken now; `restore` puts lanes into a state."""
        with self._hold():
            columns = {**self._batch.state(), "elapsed_steps": self._batch.elapsed()}
        for column in columns.values():
            column.flags.writeable = False
        return columns

    # ---- snapshots ---------------------------------------------------------------------------------------------

    def snapshot(self, lanes: Any = None) -> Snapshot:
        """Everything that decides the future of some lanes, to `restore` later, there or elsewhere.

        Args:
            lanes: bool mask (num_envs,), index, list of indices or slice; None: all.

        Raises:
            TypeError, ValueError: wrong or no lanes.
            gymnasium.error.ResetNeeded: before the first reset.
        """
        self._check_open()
        indices = lane_indices(lanes, self.num_envs)
        if not len(indices):
            raise ValueError(f"lanes={lanes!r} chooses no lane: a snapshot holds at least one")
        with self._hold():
            return self._snapshot(indices)

    def _snapshot(self, indices: NDArray[np.int64]) -> Snapshot:
        return Snapshot(self._batch.snapshot(indices))

    def restore(self, snapshot: Snapshot | bytes, lanes: Any = None, *, rows: Any = None):
        """Puts lanes of a snapshot into lanes of this env; they go on bit for bit as the ones it was taken from would.

        Also between lanes, and from another BatchEnv of the same environment with the same built-in options (whatever
        its num_envs, threads, time limit or autoreset mode). One lane may be put into many (branching, as in a tree
        search). Parameters come along: lanes may differ in them afterwards.

        Args:
            snapshot: of `BatchEnv.snapshot`, or its bytes.
            lanes: where to put them: bool mask (num_envs,), index, list of indices or slice; None: all lanes.
            rows: which of the snapshot's lanes to take, likewise; None: all of them. As many as `lanes`, or one.

        Returns:
            observations (num_envs, ...) of all lanes.

        Raises:
            TypeError: not a snapshot.
            ValueError: a damaged or foreign snapshot, numbers of lanes that do not fit, a lane twice. Nothing has
                changed.
            RuntimeError: one of these lanes is in flight. Nothing has changed.
            gymnasium.error.ResetNeeded: some lanes before the first reset.
        """
        self._check_open()
        if isinstance(snapshot, (bytes, bytearray, memoryview)):
            snapshot = Snapshot(snapshot)
        if not isinstance(snapshot, Snapshot):
            raise TypeError(f"snapshot must be a batchenv.Snapshot or bytes, not {type(snapshot).__name__}")
        with self._hold():
            return self._restore(bytes(snapshot), lanes, rows)

    def _restore(self, data: bytes, lanes: Any, rows: Any):
        """`restore`, while the batch is held."""
        count = self._batch.check_snapshot(data)
        targets = lane_indices(lanes, self.num_envs)
        sources = lane_indices(rows, count, "rows")
        if len(np.unique(targets)) != len(targets):
            raise ValueError(f"lanes={lanes!r} names a lane twice")
        if len(sources) == 1:
            sources = np.repeat(sources, len(targets))
        if len(sources) != len(targets) or not len(targets):
            raise ValueError(
                f"{len(sources)} lanes of the snapshot cannot go into {len(targets)} lanes: "
                "choose as many, or one for all"
            )
        if self._seeder.known is None and len(targets) != self.num_envs:
            raise _core.ResetNeeded("restoring some lanes before any reset: call env.reset() once first")
        sources, targets = np.ascontiguousarray(sources), np.ascontiguousarray(targets)
        chosen = np.zeros(self.num_envs, np.uint8)
        chosen[targets] = 1
        self._batch.refuse_in_flight("restore()", chosen)
        self._take_params(data, sources, targets)
        observations = self._batch.load(data, sources, targets)
        if self._seeder.known is None:
            self._seeder.note(entropy(), None)
        return observations

    def _take_params(self, data: bytes, rows: NDArray[np.int64], lanes: NDArray[np.int64]) -> None:
        """Gives lanes the parameters that a checked snapshot has for them, if they differ."""
        params = self._batch.get_params()
        changed = {}
        for name, values in self._batch.snapshot_params(data, rows).items():
            present = np.broadcast_to(params[name], (self.num_envs,))
            if not np.array_equal(present[lanes], values):
                changed[name] = present.astype(np.float64)
                changed[name][lanes] = values
        if changed:
            self._change_params(changed, None)
