"""BatchEnv: many lanes of one environment as a `gymnasium.vector.VectorEnv`."""

from __future__ import annotations

import operator
from typing import Any, NamedTuple

import numpy as np
from gymnasium import spaces
from gymnasium.error import ClosedEnvironmentError
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from batchenv import _core
from batchenv.registry import lookup
from batchenv.snapshot import Snapshot

_DEFAULT: Any = type("Default", (), {"__repr__": lambda self: "<the id's own>"})()
_MODES = {AutoresetMode.NEXT_STEP: 0, AutoresetMode.SAME_STEP: 1, AutoresetMode.DISABLED: 2}
_MAX_ENVS = 2**31 - 1
_MAX_THREADS = 1024
_RING = 4


def _integer(name: str, value: Any, low: int, high: int | None, hint: str = "") -> int:
    """`value` as an int in low..high, or TypeError/ValueError."""
    if isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name}={value!r} must be an int, not a bool{hint}")
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name}={value!r} must be an int, not {type(value).__name__}{hint}") from None
    if number < low or (high is not None and number > high):
        rule = f"at least {low}" if high is None or number < low else f"at most {high}"
        raise ValueError(f"{name}={number} must be {rule}{hint}")
    return number


def _flag(name: str, value: Any) -> bool:
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name}={value!r} must be True or False, not {type(value).__name__}")
    return bool(value)


def _mode(value: Any) -> AutoresetMode:
    try:
        return AutoresetMode(value)
    except ValueError:
        names = ", ".join(repr(mode.value) for mode in AutoresetMode)
        raise ValueError(
            f"autoreset_mode={value!r} must be a gymnasium.vector.AutoresetMode or one of {names}"
        ) from None


def _space(description: tuple) -> spaces.Space:
    kind, dtype, n, shape, low, high = description
    if kind == "discrete":
        return spaces.Discrete(n)
    if kind == "tuple":
        return spaces.Tuple([spaces.Discrete(int(last) + 1) for last in high])
    return spaces.Box(np.array(low, dtype).reshape(shape), np.array(high, dtype).reshape(shape), shape, dtype)


class Rollout(NamedTuple):
    """What `BatchEnv.rollout` returns: T steps of all lanes. All arrays start with (T, num_envs)."""

    observations: Any
    rewards: NDArray[np.float64]
    terminations: NDArray[np.bool_]
    truncations: NDArray[np.bool_]
    infos: dict[str, Any]
    actions: NDArray[Any]


class BatchEnv(VectorEnv[NDArray[Any], NDArray[Any], NDArray[Any]]):
    """`num_envs` lanes of one environment, stepped together by C kernels.

    Lane i, reset with seed s, goes through exactly the episodes of `gymnasium.make(id)` reset with seed s + i. Results
    do not depend on the number of threads nor on the CPU's vector width.

    Args:
        env_id: an id of `batchenv.list_envs()`.
        num_envs: number of lanes, 1 to 2**31 - 1.
        num_threads: most threads a call may use; None: the CPUs this process may run on (OMP_NUM_THREADS if that is
            less). How many it does use is decided by measured cost. A child of os.fork() always uses one.
        autoreset_mode: `AutoresetMode` or its value: "NextStep" (default), "SameStep", "Disabled".
        seed: for the first reset that is given none.
        max_episode_steps: steps after which a lane is truncated; None: never. Default: the id's own.
        render_mode: None only, for now.
        copy: True: an array once returned is never written again while anything references it. False: the arrays of a
            step are overwritten four steps later (a ring of four sets; no reference is looked at).
        clip_actions: False: a continuous action outside the action space raises ValueError. True: it is taken as
            Gymnasium's environments take it (the force is clipped; MountainCarContinuous charges for all of it).
        **params: the environment's own, such as `sutton_barto_reward=True` or `gravity=3.7`; see
            `python -m batchenv info ID`. Numbers may be given as an array of shape (num_envs,), one a lane; the spaces
            are then wide enough for every lane.

    Raises:
        TypeError, ValueError: an argument has a wrong type or value; the message names it, the rule and the fix.
    """

    def __init__(
        self,
        env_id: str,
        num_envs: int = 1,
        *,
        num_threads: int | None = None,
        autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
        seed: int | None = None,
        max_episode_steps: int | None = _DEFAULT,
        render_mode: str | None = None,
        copy: bool = True,
        clip_actions: bool = False,
        **params: Any,
    ):
        self._id, entry = lookup(env_id)
        self.num_envs = _integer("num_envs", num_envs, 1, _MAX_ENVS)
        threads = (
            _core.default_threads() if num_threads is None else _integer("num_threads", num_threads, 1, _MAX_THREADS)
        )
        self.autoreset_mode = _mode(autoreset_mode)
        if max_episode_steps is _DEFAULT:
            max_episode_steps = entry.max_episode_steps
        limit = 0
        if max_episode_steps is not None:
            hint = "; None means no limit"
            limit = _integer("max_episode_steps", max_episode_steps, 1, 2**31 - 2, hint)
        if render_mode is not None:
            raise ValueError(f"render_mode={render_mode!r} must be None: batchenv does not draw yet")
        self.render_mode = None
        self._first_seed = None if seed is None else _integer("seed", seed, 0, None)
        self._batch = _core.Batch(
            entry.type_name,
            self.num_envs,
            _MODES[self.autoreset_mode],
            limit,
            params,
            threads,
            0 if _flag("copy", copy) else _RING,
            _flag("clip_actions", clip_actions),
        )
        self._arguments = {
            "num_envs": self.num_envs,
            "num_threads": num_threads,
            "autoreset_mode": self.autoreset_mode.value,
            "seed": seed,
            "max_episode_steps": max_episode_steps,
            "copy": copy,
            "clip_actions": clip_actions,
        }
        self._action_stream = (0, 0)  # key and step of rollout()'s own random actions; key 0: not started
        self._core_step = self._batch.step
        self.metadata = {**self.class_metadata(self._id), "autoreset_mode": self.autoreset_mode}
        self._seeds: Any = None
        self._set_spaces()

    @staticmethod
    def class_metadata(env_id: str) -> dict[str, Any]:
        """What Gymnasium calls metadata, without the autoreset mode."""
        return {"render_modes": [], "render_fps": lookup(env_id)[1].render_fps}

    def _set_spaces(self) -> None:
        observation, action = self._batch.spaces()
        self.single_observation_space = _space(observation)
        self.single_action_space = _space(action)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)

    def step(self, actions: Any, *, out: tuple[NDArray[Any], ...] | None = None):
        """Takes one action per lane.

        Args:
            actions: shape `action_space.shape`. Discrete: integers (int64 costs nothing extra, int32 next to nothing).
                Box: numbers, rounded to float32.
            out: (observations, rewards, terminations, truncations) to write into, as this method returns them:
                `observation_space`'s dtype, float64, bool, bool; C-contiguous. None in a place: an array of ours.

        Returns:
            observations (num_envs, ...), rewards (num_envs,) float64, terminations and truncations (num_envs,) bool,
            and infos, as `gymnasium.vector.SyncVectorEnv` in the same autoreset mode.

        Raises:
            ValueError, TypeError: wrong shape or dtype, an action that is NaN or out of range (lane, value and bound
                are named), a wrong `out`. No lane has been stepped.
            gymnasium.error.ResetNeeded: before the first reset, or for a finished lane with autoreset disabled.
            RuntimeError: another thread is using this env.
        """
        return self._core_step(actions, out)

    def reset(self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None):
        """Starts new episodes in all lanes, or in those of `options["reset_mask"]`.

        Args:
            seed: int s: lane i gets s + i. A list: one int or None per lane. None: streams go on (the first time: from
                the seed given at construction, or from the operating system).
            options: "reset_mask": bool array (num_envs,), at least one True; the other lanes stay as they are, and
                their present observation is returned. Further keys: the environment's, such as "low" and "high";
                unknown ones are ignored, as Gymnasium does. Not modified.

        Returns:
            observations (num_envs, ...) and infos.

        Raises:
            TypeError, ValueError: a wrong seed, mask or option.
            gymnasium.error.ResetNeeded: a mask before the first full reset.
        """
        self._check_open()
        seeds = self._check_seed(seed)
        mask, values = self._check_options(options)
        if mask is not None and mask.all():
            mask = None  # all lanes: may be the first reset
        if mask is not None and self._seeds is None:
            raise _core.ResetNeeded("options['reset_mask'] before any full reset: call env.reset() once first")
        if seeds is None and self._seeds is None:
            seeds = self._first_seed if self._first_seed is not None else self._entropy()
        elif isinstance(seeds, list) and self._seeds is None and None in seeds:
            entropy = self._entropy()
            seeds = [entropy + i if s is None else s for i, s in enumerate(seeds)]
        try:
            observations, infos = self._batch.reset(seeds, mask, values)
        except TypeError as refusal:
            # The error that Gymnasium's environments raise for an option of a wrong type as well.
            raise ValueError(str(refusal)) from None
        if seeds is not None:
            self._note_seeds(seeds, mask)
        return observations, infos

    @staticmethod
    def _entropy() -> int:
        return int(np.random.SeedSequence().entropy)

    def _check_seed(self, seed: Any) -> Any:
        if seed is None:
            return None
        if isinstance(seed, (list, tuple, np.ndarray)):
            if len(seed) != self.num_envs:
                raise ValueError(
                    "If seeds are passed as a list the length must match "
                    f"num_envs={self.num_envs} but got length={len(seed)}."
                )
            return [None if s is None else _integer(f"seed[{i}]", s, 0, None) for i, s in enumerate(seed)]
        return _integer("seed", seed, 0, None)

    def _check_options(self, options: Any) -> tuple[NDArray[np.bool_] | None, dict[str, Any]]:
        if options is None:
            return None, {}
        if not isinstance(options, dict):
            raise TypeError(f"options={options!r} must be a dict or None, not {type(options).__name__}")
        values = {key: value for key, value in options.items() if key != "reset_mask"}
        if "reset_mask" not in options:
            return None, values
        mask = options["reset_mask"]
        if not isinstance(mask, np.ndarray):
            raise TypeError(f"`options['reset_mask']` must be a numpy array, got {type(mask)}")
        if mask.shape != (self.num_envs,):
            raise ValueError(f"`options['reset_mask']` must have shape `({self.num_envs},)`, got {mask.shape}")
        if mask.dtype != np.bool_:
            raise TypeError(f"`options['reset_mask']` must have `dtype=np.bool_`, got {mask.dtype}")
        if not mask.any():
            raise ValueError(
                "`options['reset_mask']` must contain a boolean array with at least one True value, "
                f"got reset_mask={mask}"
            )
        return mask, values

    def _note_seeds(self, seeds: Any, mask: NDArray[np.bool_] | None) -> None:
        if isinstance(seeds, int) and mask is None:
            self._seeds = seeds
            return
        known = list(self.np_random_seed) if self._seeds is not None else [None] * self.num_envs
        chosen = range(self.num_envs) if mask is None else np.flatnonzero(mask).tolist()
        for i in chosen:
            new = seeds + i if isinstance(seeds, int) else seeds[i]
            known[i] = known[i] if new is None else new
        self._seeds = known

    @property
    def np_random_seed(self) -> tuple[int, ...]:
        """Each lane's seed, as of its last seeded reset."""
        if self._seeds is None:
            self.reset()
        if isinstance(self._seeds, int):
            return tuple(range(self._seeds, self._seeds + self.num_envs))
        return tuple(self._seeds)

    @property
    def np_random(self) -> tuple[np.random.Generator, ...]:
        """A NumPy generator per lane, in the present state of the lane's stream.

        A copy: drawing from it does not advance the lane.
        """
        self._check_open()
        if self._seeds is None:
            self.reset()
        generators = []
        for lane in range(self.num_envs):
            bits = np.random.PCG64(0)
            bits.state = self._batch.rng_state(lane)
            generators.append(np.random.Generator(bits))
        return tuple(generators)

    def get_attr(self, name: str) -> tuple[Any, ...]:
        """An attribute of each lane: a parameter, a state variable, or one of the environment's own such as `spec`.

        Raises:
            AttributeError: lanes have no such attribute; the message lists those they have.
        """
        return self.call(name)

    def call(self, name: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """As `get_attr`; what is callable is called with the arguments, once per lane."""
        self._check_open()
        params = self._batch.get_params()
        per_batch = {
            "observation_space": self.single_observation_space,
            "action_space": self.single_action_space,
            "render_mode": self.render_mode,
            "metadata": self.metadata,
            "spec": self.spec,
            **params,
        }
        if name in per_batch:
            value = per_batch[name]
            values: tuple[Any, ...] = tuple(
                value.tolist() if name in params and np.ndim(value) else [value] * self.num_envs
            )
        elif name in ("np_random", "np_random_seed"):
            values = getattr(self, name)
        else:
            state = {**self._batch.state(), "elapsed_steps": self._batch.elapsed()}
            if name == "state":
                columns = [column for key, column in state.items() if key != "elapsed_steps"]
                values = tuple(np.stack(columns, axis=1))
            elif name in state:
                values = tuple(state[name].tolist())
            else:
                names = ", ".join(sorted([*per_batch, *state, "state", "np_random", "np_random_seed"]))
                raise AttributeError(f"lanes of {self._id} have no attribute {name!r}; they have: {names}")
        return tuple(value(*args, **kwargs) if callable(value) else value for value in values)

    def set_attr(self, name: str, values: Any) -> None:
        """Sets a parameter; `values` is one value for all lanes, or a list with one a lane.

        Raises:
            AttributeError: no such parameter.
            ValueError: the list's length is not num_envs, a value is out of range, or values differ for a parameter that
                is one for all lanes.
        """
        self._check_open()
        if not isinstance(values, (list, tuple)):
            values = [values]
        elif len(values) != self.num_envs:
            raise ValueError(
                "Values must be a list or tuple with length equal to the number of environments. "
                f"Got `{len(values)}` values for {self.num_envs} environments."
            )
        if name not in self._batch.get_params():
            names = ", ".join(self._batch.get_params())
            raise AttributeError(f"lanes of {self._id} have no parameter {name!r}; they have: {names}")
        differ = any(value != values[0] for value in values)
        self.set_params(**{name: list(values) if differ else values[0]})

    # ---- parameters and state ----------------------------------------------------------------------------------

    def get_params(self) -> dict[str, Any]:
        """All parameters: {name: one value, or a float64 array (num_envs,) where lanes differ}. Copies."""
        self._check_open()
        return self._batch.get_params()

    def set_params(self, *, lanes: Any = None, **params: Any) -> None:
        """Changes parameters at once, in the middle of episodes too.

        Args:
            lanes: which lanes: bool mask (num_envs,), index, list of indices or slice; None: all.
            **params: name=value for all these lanes, or name=array of shape (num_envs,), of which the chosen lanes'
                values are taken. What is not a number (choices, flags) is one for all lanes.

        Raises:
            TypeError, ValueError: an unknown parameter, a wrong shape, a value out of range (the lane is named).
                Nothing has changed.
        """
        self._check_open()
        mask = None
        if lanes is not None:
            mask = np.zeros(self.num_envs, np.bool_)
            mask[self._lane_indices(lanes)] = True
        self._batch.set_params(params, mask)
        self._set_spaces()

    @property
    def state(self) -> dict[str, NDArray[Any]]:
        """Each lane's state: {field: read-only array (num_envs,) or (num_envs, size)}, and "elapsed_steps" (int32:
        steps since the lane's last reset). Copies, taken now; `restore` puts lanes into a state."""
        self._check_open()
        columns = {**self._batch.state(), "elapsed_steps": self._batch.elapsed()}
        for column in columns.values():
            column.flags.writeable = False
        return columns

    def _lane_indices(self, lanes: Any, name: str = "lanes", count: int | None = None) -> NDArray[np.int64]:
        """What means lanes, as their indices."""
        count = self.num_envs if count is None else count
        if lanes is None:
            return np.arange(count)
        if isinstance(lanes, slice):
            return np.arange(count)[lanes]
        try:
            array = np.asarray(lanes)
        except ValueError:
            array = np.empty(0, object)
        if array.ndim == 0:
            array = array[np.newaxis]
        if array.dtype == np.bool_:
            if array.shape != (count,):
                raise ValueError(f"{name} as a mask must have shape ({count},), got {array.shape}")
            return np.flatnonzero(array)
        if array.size == 0 and array.dtype.kind == "f":
            array = array.astype(np.int64)
        if array.ndim != 1 or array.dtype.kind not in "iu":
            raise TypeError(f"{name}={lanes!r} must be a bool mask, an index, a list of indices or a slice")
        wrong = (array < -count) | (array >= count)
        if wrong.any():
            raise ValueError(f"{name} has {array[wrong][0]}, which is not in {-count}..{count - 1}")
        array = array.astype(np.int64)
        return np.where(array < 0, array + count, array)

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
        indices = self._lane_indices(lanes)
        if not len(indices):
            raise ValueError(f"lanes={lanes!r} chooses no lane: a snapshot holds at least one")
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
            gymnasium.error.ResetNeeded: some lanes before the first reset.
        """
        self._check_open()
        if isinstance(snapshot, (bytes, bytearray, memoryview)):
            snapshot = Snapshot(snapshot)
        if not isinstance(snapshot, Snapshot):
            raise TypeError(f"snapshot must be a batchenv.Snapshot or bytes, not {type(snapshot).__name__}")
        data = bytes(snapshot)
        count = self._batch.check_snapshot(data)
        targets = self._lane_indices(lanes)
        sources = self._lane_indices(rows, "rows", count)
        if len(np.unique(targets)) != len(targets):
            raise ValueError(f"lanes={lanes!r} names a lane twice")
        if len(sources) == 1:
            sources = np.repeat(sources, len(targets))
        if len(sources) != len(targets) or not len(targets):
            raise ValueError(
                f"{len(sources)} lanes of the snapshot cannot go into {len(targets)} lanes: "
                "choose as many, or one for all"
            )
        if self._seeds is None and len(targets) != self.num_envs:
            raise _core.ResetNeeded("restoring some lanes before any reset: call env.reset() once first")
        self._take_params(data, sources, targets)
        self._batch.load(data, np.ascontiguousarray(sources), np.ascontiguousarray(targets))
        if self._seeds is None:
            self._seeds = self._entropy()
        return self._batch.observe()

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
            self._batch.set_params(changed)
            self._set_spaces()

    # ---- rollouts ----------------------------------------------------------------------------------------------

    def rollout(
        self,
        actions: Any,
        *,
        policy: str | None = None,
        seed: int | None = None,
        out: tuple[NDArray[Any], ...] | None = None,
    ) -> Rollout:
        """T steps of all lanes in one call, exactly as T calls of `step` would take them.

        Args:
            actions: shape (T, *action_space.shape); or T itself, with policy="random".
            policy: "random": actions are drawn in C, uniformly from the action space, from a stream of their own that
                goes on from call to call. It depends neither on the lanes' streams nor on the number of threads.
            seed: restarts that stream; None: it goes on (the first time: from the operating system's entropy).
            out: (observations, rewards, terminations, truncations) to write into; None in a place: a new array.

        Returns:
            Rollout: observations (T, num_envs, ...), rewards, terminations, truncations (T, num_envs), infos, actions
            (T, *action_space.shape). infos has the environment's own keys, (T, num_envs, ...), and with SameStep
            "final_obs" (T, num_envs, ...), "_final_obs" (its mask) and "final_info" as plain arrays.

        Raises:
            TypeError, ValueError: wrong actions (step, lane and bound are named), policy or `out`; autoreset Disabled.
                No lane has been stepped.
            gymnasium.error.ResetNeeded: before the first reset.
        """
        self._check_open()
        if self.autoreset_mode is AutoresetMode.DISABLED:
            raise ValueError("rollout() needs autoreset: make the env with autoreset_mode='NextStep' or 'SameStep'")
        if policy is None:
            if seed is not None:
                raise ValueError(f"seed={seed!r} is for policy='random'")
            steps = np.shape(actions)[0] if np.ndim(actions) else None
            if steps is None:
                raise TypeError(
                    f"actions={actions!r} must be an array of shape (T, {self.action_space.shape}); "
                    "for T random steps pass policy='random'"
                )
            return Rollout(*self._batch.rollout(actions, steps, 0, 0, out))
        if policy != "random":
            raise ValueError(f"policy={policy!r} must be 'random', or None with an array of actions")
        steps = _integer("actions", actions, 0, 2**31 - 1, " (the number of steps, with policy='random')")
        key, first = self._action_stream
        if seed is not None or key == 0:
            entropy = self._entropy() if seed is None else _integer("seed", seed, 0, None)
            key, first = int(np.random.SeedSequence(entropy).generate_state(1, np.uint64)[0]) or 1, 0
        result = Rollout(*self._batch.rollout(None, steps, key, first, out))
        self._action_stream = (key, first + steps)
        return result

    # ---- pickling ----------------------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        if self.closed:
            return {"closed": True, "id": self._id, "arguments": self._arguments}
        extra = {k: self.__dict__[k] for k in ("spec", "action_space", "single_action_space") if k in self.__dict__}
        return {
            "closed": False,
            "id": self._id,
            "arguments": {**self._arguments, **self._batch.get_params()},
            "snapshot": None if self._seeds is None else self.snapshot(),
            "seeds": self._seeds,
            "action_stream": self._action_stream,
            "extra": extra,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["id"], **state["arguments"])
        if state["closed"]:
            self.close()
            return
        if state["snapshot"] is not None:
            self.restore(state["snapshot"])
        self._seeds = state["seeds"]
        self._action_stream = state["action_stream"]
        self.__dict__.update(state["extra"])

    def render(self):
        """Draws nothing: render_mode is None."""
        return None

    def _check_open(self) -> None:
        if self.closed:
            raise ClosedEnvironmentError(f"{self!r} is closed: make a new one")

    def _closed_step(self, actions: Any, out: Any = None):
        self._check_open()

    def close_extras(self, **kwargs: Any) -> None:
        """Releases the lanes; arrays handed out stay valid."""
        self._core_step = self._closed_step
        self._batch = None
