"""BatchEnv: many lanes of one environment as a `gymnasium.vector.VectorEnv`."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
from gymnasium import logger, spaces
from gymnasium.error import ClosedEnvironmentError
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from batchenv import _core
from batchenv.asynchronous import Asynchronous, affinity
from batchenv.hints import unknown_keyword
from batchenv.lanes import Lanes, lane_indices, result_of_lanes
from batchenv.normalize import NormalizedBatch, Normalizer
from batchenv.registry import Entry, lookup
from batchenv.render import Renderer, check_mode, render_modes
from batchenv.rollout import Rollouts
from batchenv.seeds import Seeder, check_seed
from batchenv.transforms import DEFAULTS, Transforms, flag
from batchenv.values import brief, integer

_DEFAULT: Any = type("Default", (), {"__repr__": lambda self: "<the id's own>"})()
_MODES = {AutoresetMode.NEXT_STEP: 0, AutoresetMode.SAME_STEP: 1, AutoresetMode.DISABLED: 2}
_MAX_ENVS = 2**31 - 1
_MAX_THREADS = 1024
_RING = 4


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
    if kind == "multi_discrete":
        return spaces.MultiDiscrete([n] * shape[0])
    if kind == "tuple":
        return spaces.Tuple([spaces.Discrete(int(last) + 1) for last in high])
    return spaces.Box(np.array(low, dtype).reshape(shape), np.array(high, dtype).reshape(shape), shape, dtype)


def _metadata(name: str, entry: Entry) -> dict[str, Any]:
    modes = render_modes(name, entry.type_name) if entry.modes is None else list(entry.modes)
    return {"render_modes": modes, "render_fps": entry.render_fps}


class BatchEnv(Asynchronous, Lanes, Rollouts, VectorEnv[NDArray[Any], NDArray[Any], NDArray[Any]]):
    """`num_envs` lanes (copies) of one environment, stepped together by C kernels.

    Lane i, reset with seed s, goes through exactly the episodes of `gymnasium.make(id)` reset with seed s + i. Results
    do not depend on the number of threads nor on the CPU's vector width.

    Args:
        env_id: an id of `batchenv.list_envs()`.
        num_envs: number of lanes, 1 to 2**31 - 1.
        num_threads: most threads a call may use; None: the CPUs this process may run on (fewer if OMP_NUM_THREADS
            or a container's CPU limit say so). Where so many cannot be started, a RuntimeWarning says so and the
            attribute `num_threads` how many are used. How many a call does use is decided by measured cost. A child of
            os.fork() always uses one, unless the environment's steps take microseconds.
        autoreset_mode: `AutoresetMode` or its value: "NextStep" (default), "SameStep", "Disabled".
        seed: for the first reset that is given none.
        max_episode_steps: steps after which a lane is truncated; None: never. Default: the id's own.
        render_mode: None, or one of `metadata["render_modes"]`: "rgb_array"; "human" (a window, one lane only); "ansi"
            where Gymnasium has it. See `render`. Needs pygame, except for "ansi": pip install 'batchenv[render]'.
        copy: True: an array once returned is never written again while anything references it. False: the arrays of a
            step are overwritten four steps later (a ring of four sets; no reference is looked at).
        clip_actions: False: a continuous action outside the action space raises ValueError. True: it is taken as
            Gymnasium's environments take it (the force is clipped; MountainCarContinuous charges for all of it).
        record_episode_statistics: True: a step that ends episodes has `infos["episode"]`, {"r": returns, "l": lengths,
            "t": seconds}, and the mask `infos["_episode"]`, as gymnasium.wrappers.vector.RecordEpisodeStatistics.
            Rewards count before they are scaled and clipped; a repeated action counts as one step.
        reward_scale: rewards are multiplied by this number.
        clip_reward: (low, high): then clipped; None in a place: no bound.
        action_repeat: steps taken with each action, their rewards summed; fewer where the episode ends. The time limit
            counts every one of them.
        rescale_observation: (low, high), numbers or arrays: Box observations are mapped onto these bounds, as
            gymnasium.wrappers.RescaleObservation.
        time_aware: True: steps since the reset are appended to the flattened observation, as
            gymnasium.wrappers.TimeAwareObservation.
        observation_dtype: "uint8", "int32", "int64", "float32" or "float64": as gymnasium.wrappers.DtypeObservation.
        frame_stack: k: an observation is the last k, shape (k, ...), as gymnasium.wrappers.FrameStackObservation.
        normalize_observation: True: Box observations are normalized by running moments shared by all lanes, as
            gymnasium.wrappers.vector.NormalizeObservation; see `normalizer`. Snapshots do not hold these moments
            (pickles do).
            These nine are applied in the order listed, to final observations too.
        batch_size: how many lanes `recv` waits for; see `send` and `recv`. Default: all.
        thread_affinity: a list of CPUs, worker i runs on the i-th; an int k: on the k+i-th of those this process may
            use; None: the system decides. For the workers of `send` and of environments whose steps take microseconds.
        **params: the environment's own, such as `sutton_barto_reward=True` or `gravity=3.7`; see
            `python -m batchenv info ID`. Numbers may be given as an array of shape (num_envs,), one per lane; the
            spaces are then wide enough for every lane.

    Attributes:
        num_envs, batch_size, autoreset_mode, render_mode: as given.
        single_observation_space, single_action_space: of one lane. observation_space, action_space: of all lanes.
        normalizer: with normalize_observation=True a `batchenv.normalize.Normalizer`, else None. `normalizer.obs_rms`
            has the running `mean`, `var` and `count`, which may be set, for instance to those of another env;
            `normalizer.update_running_mean = False` leaves them as they are, as evaluation wants it.

    Raises:
        TypeError, ValueError: an argument has a wrong type or value. The message names the argument, the rule and how
            to fix it.
        gymnasium.error.DependencyNotInstalled: render_mode needs pygame.
    """

    _core: Any = None  # there is nothing to close before it is made

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
        record_episode_statistics: bool = False,
        reward_scale: float | None = None,
        clip_reward: tuple[float | None, float | None] | None = None,
        action_repeat: int = 1,
        rescale_observation: tuple[Any, Any] | None = None,
        time_aware: bool = False,
        observation_dtype: Any = None,
        frame_stack: int | None = None,
        normalize_observation: bool = False,
        batch_size: int | None = None,
        thread_affinity: Any = None,
        **params: Any,
    ):
        transforms = {name: value for name, value in locals().items() if name in DEFAULTS}
        self._id, entry = lookup(env_id)
        self._library = entry.library
        self.num_envs = integer("num_envs", num_envs, 1, _MAX_ENVS)
        threads = (
            _core.default_threads() if num_threads is None else integer("num_threads", num_threads, 1, _MAX_THREADS)
        )
        hint = f" (num_envs={self.num_envs})"
        self.batch_size = (
            self.num_envs if batch_size is None else integer("batch_size", batch_size, 1, self.num_envs, hint)
        )
        cpus = affinity(thread_affinity, threads)
        self.autoreset_mode = _mode(autoreset_mode)
        if max_episode_steps is _DEFAULT:
            max_episode_steps = entry.max_episode_steps
        limit = 0
        if max_episode_steps is not None:
            hint = "; None means no limit"
            limit = integer("max_episode_steps", max_episode_steps, 1, 2**31 - 2, hint)
        self.metadata = {**_metadata(self._id, entry), "autoreset_mode": self.autoreset_mode}
        if render_mode is not None:
            check_mode(self._id, render_mode, self.metadata["render_modes"], self.num_envs, entry.modes is None)
        self.render_mode = render_mode
        self._seeder = Seeder(self.num_envs, None if seed is None else integer("seed", seed, 0, None))
        params = {**entry.kwargs, **params}
        self._adapter, grid = entry.make_adapter(), None
        self._keywords: dict[str, Any] = {}
        names = [row["name"] for row in _core.type_info(entry.type_name)["params"]]
        fields = getattr(self._adapter, "model_fields", ())
        if self._adapter is not None:
            names = [*(keyword[0] for keyword in self._adapter.KEYWORDS), *names]
            params = {self._adapter.ALIASES.get(name, name): value for name, value in params.items()}
        for name in params:
            if name not in names and name not in fields:
                raise TypeError(unknown_keyword(self._id, name, names, self._builtin_keywords(), fields))
        if self._adapter is not None:
            params, grid = self._adapter.to_core(params)
            self._keywords = self._adapter.keywords()
            for name, value in self._adapter.transforms.items():
                if transforms[name] == DEFAULTS[name]:
                    transforms[name] = value
        self._transforms = Transforms(max_episode_steps, **transforms)
        # Of those over foreign engines: their type may depend on keywords, and they have handles to pass on.
        type_name = entry.type_name if self._adapter is None else self._adapter.type_name or entry.type_name
        self._core: Any = _core.Batch(
            type_name,
            self.num_envs,
            _MODES[self.autoreset_mode],
            limit,
            params,
            threads,
            0 if flag("copy", copy) else _RING,
            flag("clip_actions", clip_actions),
            transform=self._transforms.core,
            grid=grid,
            # One thread more than workers: the caller lends a hand.
            engine=None if self._adapter is None else self._adapter.engine(self.num_envs, threads + 1),
        )
        # What the lanes are spoken to through: the core itself, or what stands before it.
        self._batch: Any = self._core
        if self._adapter is not None:
            self._batch = self._adapter.wrap(self._batch, self._transforms.core)
        self._batch.set_queue(self.batch_size, cpus)
        self._step_pending = False
        self._arguments = {
            "num_envs": self.num_envs,
            "num_threads": num_threads,
            "autoreset_mode": self.autoreset_mode.value,
            "seed": seed,
            "max_episode_steps": max_episode_steps,
            "copy": copy,
            "clip_actions": clip_actions,
            "batch_size": batch_size,
            "thread_affinity": thread_affinity,
            "render_mode": render_mode,
            **self._transforms.keywords,
        }
        self._action_stream = (0, 0)  # key and step of rollout()'s own random actions; key 0: not started
        self._set_spaces()
        self.normalizer: Normalizer | None = None
        if normalize_observation:
            self.normalizer = Normalizer(self.single_observation_space.shape)
            self._batch = NormalizedBatch(self._batch, self.normalizer)
        self._renderer = None
        if render_mode is not None:
            self._renderer = self._make_renderer(entry.type_name)
        # Straight into C; None where Python has something to do before the next call may come.
        plain = self._batch is self._core and self._renderer is None
        self._core_step = self._core.step_alone if plain else None
        self._core_send = self._core.send_alone if plain else None
        self._core_recv = self._core.recv_alone if plain else None

    @classmethod
    def _builtin_keywords(cls) -> list[str]:
        """Names of the keywords that every environment takes."""
        parameters = inspect.signature(cls.__init__).parameters.values()
        return ["num_envs", *(parameter.name for parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY)]

    def _make_renderer(self, type_name: str) -> Any:
        if hasattr(self._adapter, "renderer"):
            return self._adapter.renderer(self.render_mode)
        return Renderer(self._id, type_name, self.render_mode, self.action_space.shape, self._keywords)

    @staticmethod
    def class_metadata(env_id: str) -> dict[str, Any]:
        """What Gymnasium calls metadata, without the autoreset mode."""
        return _metadata(*lookup(env_id))

    def _set_spaces(self) -> None:
        observation, action = self._batch.spaces()
        raw = _space(observation)
        self.single_observation_space = self._transforms.space(raw)
        coefficients = self._transforms.coefficients(raw)
        if coefficients is not None:
            self._batch.rescale(*coefficients)
        self.single_action_space = _space(action)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        if isinstance(self.single_action_space, spaces.Discrete):
            self.action_space.n = self.single_action_space.n  # where EnvPool's loops look for it

    def step(self, actions: Any, env_id: Any = None, *, out: tuple[NDArray[Any], ...] | None = None):
        """Takes one action per lane.

        Args:
            env_id: with batch_size < num_envs, the lanes that the rows of actions are for: this is then `send` and
                `recv`. None: a step of all lanes.
            actions: shape `action_space.shape`. Discrete: integers (int64 costs nothing extra, int32 next to nothing).
                Box: numbers, rounded to float32.
            out: (observations, rewards, terminations, truncations) to write into, as this method returns them:
                `observation_space`'s dtype, float64, bool, bool; C-contiguous. None in a place: an array of ours. For
                a Tuple space: one int64 array (num_envs, parts), whose columns are returned.

        Returns:
            observations (num_envs, ...), rewards (num_envs,) float64, terminations and truncations (num_envs,) bool,
            and infos, as `gymnasium.vector.SyncVectorEnv` in the same autoreset mode.

        Raises:
            ValueError, TypeError: wrong shape or dtype, an action that is NaN or out of range (lane, value and bound
                are named), a wrong `out`. No lane has been stepped.
            gymnasium.error.ResetNeeded: before the first reset, or for a finished lane with autoreset disabled.
            RuntimeError: another thread is using this env.
            LaneError: some lanes' simulators failed; its `result` is what would have been returned, its `env_id` says
                which lanes.

        Ctrl-C is answered within a tenth of a second (or of what one lane takes), by this method as by `reset`,
        `rollout` and `make`. A call that is interrupted has moved some lanes and not others, so after it the env wants
        a reset of all lanes, or a snapshot of all of them back; `step_wait` and `recv` lose nothing.
        """
        if env_id is not None:
            return self._step_some(actions, env_id, out)
        step = self._core_step
        return self._held_step(actions, out) if step is None else step(actions, out)

    def _step_some(self, actions: Any, env_id: Any, out: Any):
        if not self.is_async:
            raise ValueError(
                "step(actions, env_id) needs an env made with batch_size < num_envs: here a step is of all lanes"
            )
        if out is not None:
            raise ValueError("step(actions, env_id) takes no out: results come in arrays of batch_size rows")
        with self._hold(settle=False):
            self._send_held(actions, env_id)
            result = self._recv_held(None)
        if self.render_mode == "human":
            self.render()
        return result

    def reset(
        self,
        env_id: Any = None,
        *,
        seed: int | list[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ):
        """Starts new episodes in all lanes, or in those of `options["reset_mask"]` or `env_id`.

        Args:
            env_id: a list or array of lanes, as EnvPool has it: these are reset, and only their rows are returned, in
                this order, with `infos["env_id"]`. None: all lanes, or those of the mask.
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
            LaneError: some lanes' simulators failed; its `result` is what would have been returned, its `env_id` says
                which lanes.
        """
        self._check_open()
        if env_id is not None:
            return self._reset_lanes(env_id, seed, options)
        seeds = check_seed(seed, self.num_envs)
        mask, values = self._check_options(options)
        if mask is not None and mask.all():
            mask = None  # all lanes: may be the first reset
        with self._hold(settle=mask is not None):  # a full reset drops the lanes in flight
            observations, infos = self._reset(seeds, mask, values)
        if self.render_mode == "human":
            self.render()
        return observations, infos

    def _reset_lanes(self, env_id: Any, seed: Any, options: Any):
        """`reset` of some lanes, whose rows alone are returned, in the order of `env_id`."""
        if not isinstance(env_id, (list, tuple, np.ndarray)):
            raise TypeError(
                f"env_id={env_id!r} must be a list or array of lanes; a seed is given by its name, reset(seed=...)"
            )
        if isinstance(options, dict) and "reset_mask" in options:
            raise TypeError("env_id says what options['reset_mask'] says: give one of them")
        lanes = np.asarray(env_id)
        wrong = lanes.ndim != 1 or lanes.dtype.kind not in "iu" or not len(lanes)
        if wrong or ((lanes < 0) | (lanes >= self.num_envs)).any() or len(np.unique(lanes)) != len(lanes):
            raise ValueError(
                f"env_id={brief(env_id)} must be some of the lanes 0..{self.num_envs - 1}, as integers, each once"
            )
        mask = np.zeros(self.num_envs, np.bool_)
        mask[lanes] = True
        try:
            result = self.reset(seed=seed, options={**(options or {}), "reset_mask": mask})
        except _core.LaneError as error:
            error.result = result_of_lanes(error.result, lanes)
            raise
        return result_of_lanes(result, lanes)

    def _reset(self, seeds: Any, mask: NDArray[np.bool_] | None, options: dict[str, Any]):
        """`reset` with checked arguments, while the batch is held."""
        if mask is not None and self._seeder.known is None:
            raise _core.ResetNeeded("options['reset_mask'] before any full reset: call env.reset() once first")
        seeds = self._seeder.fill(seeds)
        failure = None
        try:
            result = self._batch.reset(seeds, mask, options)
        except TypeError as refusal:
            # The error that Gymnasium's environments raise for an option of a wrong type as well.
            raise ValueError(str(refusal)) from None
        except _core.LaneError as error:  # the other lanes have been reset
            failure = error
        self._seeder.note(seeds, mask)
        self._step_pending = self._step_pending and mask is not None
        if failure is not None:
            raise failure
        return result

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

    def __len__(self) -> int:
        return self.num_envs

    @property
    def all_env_ids(self) -> NDArray[np.int64]:
        """0, 1, ..., num_envs - 1: every lane's number."""
        return np.arange(self.num_envs)

    @property
    def id(self) -> str:
        """The environment's id, without a namespace: "CartPole-v1"."""
        return self._id

    @property
    def config(self) -> dict[str, Any]:
        """What this env was made with, {keyword: value}, defaults included; parameters as they are now."""
        values = {**self._arguments, "batch_size": self.batch_size, **self._keywords, **self.get_params()}
        return {**values, "reward_threshold": None if self.spec is None else self.spec.reward_threshold}

    @property
    def np_random_seed(self) -> tuple[int, ...]:
        """Each lane's seed, as of its last seeded reset."""
        self._check_open()
        if self._seeder.known is None:
            self.reset()
        with self._hold(settle=False):
            return self._seeder.of_lanes()

    @property
    def np_random(self) -> tuple[np.random.Generator, ...]:
        """A NumPy generator per lane, in the present state of the lane's stream.

        A copy: drawing from it does not advance the lane.
        """
        self._check_open()
        if self._seeder.known is None:
            self.reset()
        with self._hold():
            return self._lane_generators()

    def _lane_generators(self) -> tuple[np.random.Generator, ...]:
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
        if name == "render":
            return self.render(*args, **kwargs) or (None,) * self.num_envs
        if name in ("np_random", "np_random_seed"):
            values = getattr(self, name)
        else:
            with self._hold():
                values = self._lane_values(name)
        return tuple(value(*args, **kwargs) if callable(value) else value for value in values)

    def _lane_values(self, name: str) -> tuple[Any, ...]:
        """An attribute of each lane, while the batch is held."""
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
            return tuple(value.tolist() if name in params and np.ndim(value) else [value] * self.num_envs)
        if self._adapter is not None and name in self._adapter.names:
            return tuple(self._adapter.attribute(name, self._batch))
        state = {**self._batch.state(), "elapsed_steps": self._batch.elapsed()}
        if name == "state":
            columns = [np.atleast_2d(column.T) for key, column in state.items() if key != "elapsed_steps"]
            return tuple(np.concatenate(columns).T)
        if name in state:
            return tuple(state[name].tolist())
        more = () if self._adapter is None else self._adapter.names
        names = ", ".join(sorted({*per_batch, *state, *more, "state", "np_random", "np_random_seed", "render"}))
        raise AttributeError(f"lanes of {self._id} have no attribute {name!r}; they have: {names}")

    def set_attr(self, name: str, values: Any) -> None:
        """Sets a parameter; `values` is one value for all lanes, or a list with one per lane.

        Raises:
            AttributeError: no such parameter.
            ValueError: the list's length is not num_envs, a value is out of range, or values differ where one is for
                all lanes.
        """
        self._check_open()
        if not isinstance(values, (list, tuple)):
            values = [values]
        elif len(values) != self.num_envs:
            raise ValueError(
                "Values must be a list or tuple with length equal to the number of environments. "
                f"Got `{len(values)}` values for {self.num_envs} environments."
            )
        with self._hold(settle=False):
            known = self._batch.get_params()
        if name not in known:
            raise AttributeError(f"lanes of {self._id} have no parameter {name!r}; they have: {', '.join(known)}")
        differ = any(value is not values[0] and value != values[0] for value in values)
        self.set_params(**{name: list(values) if differ else values[0]})

    # ---- pickling ----------------------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        if self.closed:
            return {"closed": True, "id": self._id, "library": self._origin(), "arguments": self._arguments}
        with self._hold(settle=False):
            return self._held_state()

    def _held_state(self) -> dict[str, Any]:
        if self._batch.in_flight():
            raise RuntimeError(
                f"copying or pickling while {self._batch.in_flight()} lanes are in flight: recv() them first"
            )
        extra = {k: self.__dict__[k] for k in ("spec", "action_space", "single_action_space") if k in self.__dict__}
        return {
            "closed": False,
            "id": self._id,
            "library": self._origin(),
            "arguments": {**self._arguments, **self._keywords, **self._batch.get_params()},
            "snapshot": None if self._core.needs_reset else self._snapshot(np.arange(self.num_envs)),
            "seeds": self._seeder.known,
            "action_stream": self._action_stream,
            "normalizer": self.normalizer,
            "model": self._adapter.changes() if hasattr(self._adapter, "changes") else None,
            "extra": extra,
        }

    def _origin(self) -> dict[str, Any] | None:
        """Where another process finds an env that is not built in."""
        return None if self._library is None else self._library.reference

    def __setstate__(self, state: dict[str, Any]) -> None:
        env_id = state["id"]
        if state.get("library") is not None:
            from batchenv.compiler.libraries import again

            env_id = again(state["library"], env_id)
        self.__init__(env_id, **state["arguments"])
        if state["closed"]:
            self.close()
            return
        if state["normalizer"] is not None:
            self.normalizer.__dict__.update(state["normalizer"].__dict__)
        if state["model"]:
            self._adapter.take_changes(state["model"])
        if state["snapshot"] is not None:
            self.restore(state["snapshot"])
        self._seeder.known = state["seeds"]
        self._action_stream = state["action_stream"]
        self.__dict__.update(state["extra"])

    def render(self, lanes: int | list[int] | slice | NDArray[np.bool_] | None = None) -> tuple[Any, ...] | None:
        """Pictures of lanes in their present state, pixel for pixel those of `gymnasium.make(id)`.

        Gymnasium draws them one by one, at some milliseconds each (MuJoCo's at 0.1 s without a graphics card), and a
        frame of CartPole takes 720 kB: of many lanes, choose a few.

        Args:
            lanes: None: all. An int, a list of ints, a slice, or a bool mask (num_envs,): those lanes.

        Returns:
            render_mode "rgb_array": a tuple of uint8 arrays (height, width, 3), one per lane. "ansi": a tuple of str.
            "human": None; the window is drawn anew by every reset, step and `recv`, too. None: None, with a warning.

        Raises:
            TypeError, ValueError: wrong lanes.
            gymnasium.error.ResetNeeded: before the first reset.
        """
        self._check_open()
        chosen = lane_indices(lanes, self.num_envs)
        if self.render_mode is None:
            logger.warn(f"{self!r}.render() draws nothing: give make() a render_mode, such as render_mode='rgb_array'")
            return None
        with self._hold():
            if self._core.needs_reset:
                raise _core.ResetNeeded(
                    "render() before the first reset, or after an interrupted call: call env.reset() first"
                )
            return self._renderer.draw(self._batch, chosen)

    # ---- one call at a time --------------------------------------------------------------------------------------

    def _hold(self, *, settle: bool = True) -> Any:
        """A context manager that keeps other calls out; see `SyncBatch.hold`. Everything public looks and acts inside
        of one, so that a call that is refused or fails has changed nothing."""
        core = self._core
        if core is None:
            raise ClosedEnvironmentError(f"{self!r} is closed: make a new one")
        return core.hold(settle)

    def _held_step(self, actions: Any, out: Any):
        with self._hold(settle=False):
            result = self._batch.step(actions, out)
            if self._renderer is not None:
                self._renderer.watch(actions)
        if self.render_mode == "human":
            self.render()
        return result

    def _send_held(self, actions: Any, env_id: Any) -> None:
        lanes = self._batch.send(actions, env_id)
        if self._renderer is not None:
            self._renderer.watch(actions, lanes)

    def _recv_held(self, timeout: float | None):
        try:
            result = self._batch.recv(timeout)
        except _core.LaneError:
            self._core.delivered()
            raise
        self._batch.delivered()
        return result

    @property
    def num_threads(self) -> int:
        """Most threads that a call may use."""
        core = self._core
        if core is None:
            raise ClosedEnvironmentError(f"{self!r} is closed: make a new one")
        return core.num_threads

    def _check_open(self) -> None:
        if self.closed:
            raise ClosedEnvironmentError(f"{self!r} is closed: make a new one")

    @property
    def closed(self) -> bool:
        """Whether `close` has ended the env."""
        core = self._core
        return core is None or core.closed

    @closed.setter
    def closed(self, value: bool) -> None:
        if value and not self.closed:  # Gymnasium's wrappers set it
            self.close()

    def close(self, **kwargs: Any) -> None:
        """Releases the lanes and the window; arrays handed out stay valid. May be called again.

        Raises:
            RuntimeError: another call is running; nothing has been closed.
        """
        self.close_extras(**kwargs)

    def close_extras(self, **kwargs: Any) -> None:
        """Releases the lanes and the window; arrays handed out stay valid."""
        # Each line may be the last for now: a handler may interrupt here, or close again. Whoever closes next goes on.
        core = self._core
        if core is not None:
            core.close()
        self._core_step = self._core_send = self._core_recv = None
        self._core = self._batch = None
        self._wake_task()
        renderer, self._renderer = self._renderer, None
        if renderer is not None:
            renderer.close()
        if hasattr(self._adapter, "release"):
            self._adapter.release()
