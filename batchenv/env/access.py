"""The methods of BatchEnv that read, change, save and restore single lanes."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium.envs.registration import EnvSpec
from numpy.typing import NDArray

from batchenv.arguments.messages import unknown_keyword
from batchenv.arguments.seeds import entropy
from batchenv.backend.env_calls import call_env, set_attribute
from batchenv.backend.lanes import lane_indices, pairs
from batchenv.backend.protocol import GOAL_FUNCTIONS, Backend, Lanes, Observations, ResetNeeded
from batchenv.backend.snapshot import Snapshot, with_places, without_places
from batchenv.env.planning import Plans


class Access(Plans):
    """`BatchEnv.get_params`, `state`, `snapshot`, `get_attr` and their sisters.

    Attributes:
        compute_reward, compute_terminated, compute_truncated: of environments with goals only: functions of achieved
            goals, desired goals and infos, which return the rewards of these goals, and whether they end lane 0's
            episode (`call` asks for those of other lanes).
    """

    compute_reward: Callable[[Any, Any, Any], NDArray[np.float64]]
    compute_terminated: Callable[[Any, Any, Any], NDArray[np.bool_]]
    compute_truncated: Callable[[Any, Any, Any], NDArray[np.bool_]]

    def get_params(self) -> dict[str, Any]:
        """All parameters: {name: one value, or an array (num_envs,) where lanes differ, of float64, int64, bool or
        texts}. Copies."""
        backend = self._open()
        with backend.hold(settle=False):
            return backend.get_params()

    def set_params(self, *, lanes: Lanes | None = None, **params: Any) -> None:
        """Changes parameters at once, in the middle of episodes too.

        Args:
            lanes: which lanes to change: a bool mask (num_envs,), an index, a list of indices or a slice; None: all.
            **params: name=value for all these lanes, or an array with one value per lane. Such an array has one value
                per chosen lane, in the order of `lanes`, or shape (num_envs,): then lane i takes value i, if it is
                chosen. If `lanes` names all lanes in another order than 0, 1, 2, ..., the two meanings would differ,
                and an array is refused. Most fractional numbers may differ from lane to lane; whole numbers, flags and
                choices may only where the environment's C file says so (`per_lane` in batchenv.h).

        MuJoCo's lanes also take fields of mjModel (gravity, geom_friction, body_mass and so on), either of the model's
        shape, or with one row per lane, as above; see docs/envs/mujoco.md. The lanes get models of their own, which
        snapshots do not hold.

        Raises:
            TypeError, ValueError: an unknown parameter, a wrong shape, a value out of range (the lane is named).
                Nothing has changed.
        """
        backend = self._open()
        chosen = None if lanes is None else lane_indices(lanes, self.num_envs)
        with backend.hold():
            before = backend.get_params()
            backend.set_params(params, chosen)
            try:
                self._set_spaces(backend)
            except BaseException:  # no memory for the bounds of all lanes
                backend.set_params(before, None)
                raise

    @property
    def state(self) -> dict[str, NDArray[Any]]:
        """Each lane's state: {field: read-only array (num_envs,) or (num_envs, size)}, and "elapsed_steps" (int32:
        steps since the lane's last reset). Copies, taken now; `set_state` changes single fields, and `restore` puts
        lanes into the whole state of a snapshot."""
        backend = self._open()
        with backend.hold():
            columns = backend.state()
        for column in columns.values():
            column.flags.writeable = False
        return columns

    def set_state(self, values: Mapping[str, Any], lanes: Lanes | None = None) -> Observations:
        """Sets fields of the state of lanes, in the middle of their episodes. The lanes go on from there; fields that
        are not named stay as they are, and so do elapsed steps (unless given), random streams and statistics.

            env.set_state({"x": 0.5, "theta": [0.1, -0.1]}, lanes=[3, 7])

        MuJoCo's lanes take forces (`qfrc_applied`, `xfrc_applied`) and poses of mocap bodies (`mocap_pos`,
        `mocap_quat`), which stay until they are set again or the lane is reset: see docs/envs/mujoco.md.

        Args:
            values: {name of a field of `state`, or "elapsed_steps": a value}. A value is a lane's, for all these lanes,
                or an array with one per chosen lane, in the order of `lanes`, or with shape (num_envs, ...): then lane
                i takes value i, if it is chosen.
            lanes: a bool mask (num_envs,), an index, a list of indices or a slice; None: all.

        Returns:
            observations (num_envs, ...) of all lanes. With frame_stack, all frames of the lanes are those of the new
                state, unless only such forces and poses are set.

        Raises:
            TypeError, ValueError: an unknown field, a wrong shape or dtype, a value out of range, a state that
                `restore` would refuse, wrong lanes, or a lane that has finished its episode and waits for its reset.
                Nothing has changed.
            RuntimeError: one of these lanes is in flight. Nothing has changed.
            gymnasium.error.ResetNeeded: before the first reset.
            NotImplementedError: the environment is written in Python; `set_attr` changes its attributes.
        """
        backend = self._open()
        if not isinstance(values, Mapping):
            raise TypeError(f"values must be a dict of fields of the state, not {type(values).__name__}")
        indices = lane_indices(lanes, self.num_envs)
        if not len(indices):
            raise ValueError(f"lanes={lanes!r} chooses no lane")
        with backend.hold():
            observations = backend.set_state(dict(values), indices)
            self._drawer.forget(np.unique(indices))
            return observations

    def snapshot(self, lanes: Lanes | None = None) -> Snapshot:
        """Everything that decides what some lanes do next, to `restore` later, in the same lanes or in others.

        Args:
            lanes: a bool mask (num_envs,), an index, a list of indices or a slice; None: all.

        Raises:
            TypeError, ValueError: `lanes` is wrong, or names no lane.
            gymnasium.error.ResetNeeded: before the first reset.
        """
        backend = self._open()
        indices = lane_indices(lanes, self.num_envs)
        if not len(indices):
            raise ValueError(f"lanes={lanes!r} chooses no lane: a snapshot holds at least one")
        with backend.hold():
            snapshot = backend.snapshot(indices)
            return snapshot if self.present_plan is None else with_places(snapshot, backend.places()[indices])

    def restore(
        self,
        snapshot: Snapshot | bytes | bytearray | memoryview,
        lanes: Lanes | None = None,
        *,
        rows: Lanes | None = None,
    ) -> Observations:
        """Puts lanes of a snapshot into lanes of this env, which then go on bit for bit as the original lanes would.

        The lanes may be other ones than those of the snapshot, and it may come from another BatchEnv of the same
        environment with the same built-in options; num_envs, threads and time limit may differ, and so may the
        autoreset mode, unless a lane of the snapshot has ended its episode and waits for its reset. One lane may be put
        into many (branching, as in a tree search). Parameters are restored as well, so lanes may differ in them
        afterwards.

        Args:
            snapshot: what `BatchEnv.snapshot` returned, or its bytes.
            lanes: where to put them: a bool mask (num_envs,), an index, a list of indices or a slice; None: all lanes.
            rows: which of the snapshot's lanes to take, in the same forms; None: all. There must be as many as `lanes`,
                or one.

        Returns:
            observations (num_envs, ...) of all lanes.

        Raises:
            TypeError: not a snapshot.
            ValueError: a damaged or foreign snapshot, numbers of lanes that do not fit, a lane twice. Nothing has
                changed.
            RuntimeError: one of these lanes is in flight. Nothing has changed.
            gymnasium.error.ResetNeeded: only some lanes are restored, before the first reset.
        """
        backend = self._open()
        if isinstance(snapshot, (bytes, bytearray, memoryview)):
            snapshot = Snapshot(snapshot)
        if not isinstance(snapshot, Snapshot):
            raise TypeError(f"snapshot must be a batchenv.Snapshot or bytes, not {type(snapshot).__name__}")
        snapshot, places = without_places(snapshot)
        with backend.hold():
            sources, targets = pairs(rows, lanes, backend.check_snapshot(snapshot), self.num_envs)
            if places is not None and len(places) != len(snapshot):
                raise ValueError("the snapshot is damaged: it has places in a plan for other lanes than its own")
            if self._seeder.known is None and len(targets) != self.num_envs:
                raise ResetNeeded("restoring some lanes before any reset: call env.reset() once first")
            observations = backend.restore(snapshot, sources, targets)
            if self.present_plan is not None:
                self._put_places(backend, None if places is None else places[sources], targets)
            self._drawer.forget(targets)
            self._set_spaces(backend)
            if self._seeder.known is None:
                self._seeder.note(entropy(), None)
            return observations

    def get_attr(self, name: str) -> tuple[Any, ...]:
        """The value of an attribute in each lane: a parameter, a state variable, or an attribute of the environment
        such as `spec`.

        Raises:
            AttributeError: lanes have no such attribute; the message lists those they have.
        """
        return self.call(name)

    def call(self, name: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """As `get_attr`; if the attribute can be called, it is called with the arguments, once per lane."""
        return self._call(name, range(self.num_envs), args, kwargs)

    def _call(self, name: str, lanes: Sequence[int], args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """`call` of these lanes."""
        backend = self._open()
        if name == "render":
            pictures = self.render(*args, **kwargs) or (None,) * self.num_envs
            return tuple(pictures[lane] for lane in lanes)
        if name in ("np_random", "np_random_seed"):
            values = getattr(self, name)
        else:
            with backend.hold():
                if backend.has_envs:
                    return tuple(self._apply(call_env, name, args, kwargs, lanes=lanes))
                values = self._lane_values(backend, name)
        chosen = [values[lane] for lane in lanes]
        return tuple(value(*args, **kwargs) if callable(value) else value for value in chosen)

    if not TYPE_CHECKING:  # to a type checker, every name would be an attribute

        def __getattr__(self, name: str) -> Any:
            backend = vars(self).get("_backend") if name in GOAL_FUNCTIONS else None
            if backend is not None:
                with backend.hold():
                    if name in backend.attributes():
                        return backend.attribute(name)[0]
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _apply(self, function: Callable[..., Any], *arguments: Any, lanes: Sequence[int] | None = None) -> list[Any]:
        """`function(env, *arguments)` of the env of each of these lanes (None: of all), while the batch is held."""
        chosen = range(self.num_envs) if lanes is None else lanes
        return list(self._open().apply(function, [arguments] * len(chosen), chosen))

    def _lane_values(self, backend: Backend, name: str) -> tuple[Any, ...]:
        """An attribute of each lane, while the batch is held."""
        params = backend.get_params()
        per_batch = {
            "observation_space": self.single_observation_space,
            "action_space": self.single_action_space,
            "render_mode": self.render_mode,
            "metadata": self.metadata,
            "spec": self._lane_spec(),
            **params,
        }
        known = backend.attributes()
        if name in per_batch and name not in known:  # what a lane has made of a parameter says more, such as max_steps
            value = per_batch[name]
            return tuple(value.tolist() if name in params and np.ndim(value) else [value] * self.num_envs)
        if name in known:
            return tuple(backend.attribute(name))
        names = ", ".join(sorted({*per_batch, *known, "np_random", "np_random_seed", "render"}))
        raise AttributeError(f"lanes of {self._id} have no attribute {name!r}; they have: {names}")

    def _lane_spec(self) -> EnvSpec | None:
        """The spec of a lane, with the time limit that the lanes have: that of the whole env has the id's own."""
        if self.spec is None or "max_episode_steps" not in self._arguments:
            return self.spec
        own = copy.copy(self.spec)
        own.max_episode_steps = self._arguments["max_episode_steps"]
        return own

    def set_attr(self, name: str, values: Any) -> None:
        """Sets a parameter; `values` is one value for all lanes, or a list with one per lane.

        Raises:
            AttributeError: no such parameter.
            ValueError: the list's length is not num_envs, a value is out of range, or values differ where one is for
                all lanes.
        """
        backend = self._open()
        listed = isinstance(values, (list, tuple))
        if not listed:
            values = [values]
        elif len(values) != self.num_envs:
            raise ValueError(
                "Values must be a list or tuple with length equal to the number of environments. "
                f"Got `{len(values)}` values for {self.num_envs} environments."
            )
        with backend.hold(settle=backend.has_envs):  # no env is changed in the middle of a step
            known = backend.get_params()
            if backend.has_envs:
                each = values if len(values) > 1 else list(values) * self.num_envs
                backend.apply(set_attribute, [(name, value) for value in each], range(self.num_envs))
                return
        if name not in known:
            hint = "; set_state() changes fields of the state" if backend.kind == "C" else ""
            raise AttributeError(f"{unknown_keyword(self._id, name, known)}{hint}")
        if listed:
            for lane, value in enumerate(values):
                if np.ndim(value):
                    raise ValueError(f"values[{lane}]={value!r} must be one number, the {name} of lane {lane}")
        differ = any(value is not values[0] and value != values[0] for value in values)
        self.set_params(**{name: list(values) if differ else values[0]})
