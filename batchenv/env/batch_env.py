"""BatchEnv: many lanes of one environment as a `gymnasium.vector.VectorEnv`."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium import logger
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode

from batchenv import _core
from batchenv.arguments.numbers import integer
from batchenv.arguments.seeds import Seeds, check_seed, read_seed
from batchenv.arguments.settings import MAX_ENVS, affinity, check_autoreset, check_env_id, check_options
from batchenv.backend.lanes import lane_indices, mask_of, result_of_lanes
from batchenv.backend.origin import Origin
from batchenv.backend.protocol import Actions, Backend, EnvIds, Flags, InfoDict, Lanes, Observations, Options, Out, Step
from batchenv.backend.results import converted
from batchenv.env.access import Access
from batchenv.env.flight import Flights
from batchenv.env.origin import CoreOrigin, origin_of
from batchenv.env.rollout import Rollouts
from batchenv.spaces.pytrees import tell_libraries

if TYPE_CHECKING:
    from batchenv.xla import Functions

_MAX_THREADS = 1024


class _Default:
    def __repr__(self) -> str:
        return "<the id's own>"


_DEFAULT: Any = _Default()


class BatchEnv(Flights, Rollouts, Access):
    """`num_envs` lanes (copies) of one environment, stepped together by C kernels.

    Lane i, reset with seed s, goes through exactly the episodes of `gymnasium.make(id)` reset with seed s + i. Results
    do not depend on the number of threads nor on the CPU's vector width.

    Args:
        env_id: one of `batchenv.list_envs()`.
        num_envs: number of lanes, 1 to 2**31 - 1.
        num_threads: the most threads that a call may use; None: one per CPU that this process may run on (fewer if
            OMP_NUM_THREADS or a container's CPU limit say so). If the system does not allow so many, a RuntimeWarning
            says so, and the attribute `num_threads` says how many are used. How many a call really uses depends on
            measured cost. A child of os.fork() always uses one, unless the environment's steps take microseconds.
        autoreset_mode: `AutoresetMode` or its value: "NextStep" (default), "SameStep", "Disabled".
        seed: the seed of the first reset to which none is passed.
        max_episode_steps: steps after which a lane is truncated; None: never. Default: the id's own.
        render_mode: None, or one of `metadata["render_modes"]`: "rgb_array"; "human" (a window, one lane only); "ansi"
            where Gymnasium has it. See `render`. Needs pygame, except for "ansi": pip install 'batchenv[render]'.
        copy: True: a returned array is never overwritten while anything refers to it. False: the arrays of a step are
            overwritten four steps later, whether or not anything refers to them.
        clip_actions: False: a continuous action outside the action space raises ValueError. True: it is taken as
            Gymnasium's environments take it (the force is clipped; MountainCarContinuous charges for all of it).
        record_episode_statistics: True: a step that ends episodes has `infos["episode"]`, {"r": returns, "l": lengths,
            "t": seconds}, and the mask `infos["_episode"]`, as gymnasium.wrappers.vector.RecordEpisodeStatistics.
            Rewards count before they are scaled and clipped; a repeated action counts as one step.
        reward_scale: rewards are multiplied by this number.
        clip_reward: (low, high): then they are clipped; None in place of a bound: no bound.
        action_repeat: steps taken with each action, their rewards summed; fewer where the episode ends. The time limit
            counts every one of them.
        rescale_observation: (low, high), numbers or arrays: Box observations are mapped onto these bounds, as
            gymnasium.wrappers.RescaleObservation.
        time_aware: True: steps since the reset are appended to the flattened observation, as
            gymnasium.wrappers.TimeAwareObservation.
        observation_dtype: "uint8", "int32", "int64", "float32" or "float64": as gymnasium.wrappers.DtypeObservation.
        frame_stack: k: an observation consists of the last k frames, shape (k, ...), as
            gymnasium.wrappers.FrameStackObservation.
        normalize_observation: True: Box observations are normalized by running moments shared by all lanes, as
            gymnasium.wrappers.vector.NormalizeObservation; see `normalizer`. Snapshots do not hold these moments
            (pickles do).
        clip_observation: (low, high): observations of floats are then clipped; None in place of a bound: no bound.
        normalize_reward: gamma, a discount factor: rewards are divided by the deviation of discounted returns, as
            gymnasium.wrappers.vector.NormalizeReward; see `reward_normalizer`. After `clip_reward`.
        reward_dtype: "float64", or "float32": rewards are rounded to it last.
            These twelve are applied in the order listed, to final observations too.
        batch_size: how many lanes `recv` waits for; see `send` and `recv`. Default: all.
        thread_affinity: a list of CPUs: worker i runs on the i-th; an int k: worker i runs on the k+i-th of the CPUs
            that this process may use; None: the system decides. It concerns the workers of `send` and of environments
            whose steps take microseconds.
        **params: the environment's own, such as `sutton_barto_reward=True` or `gravity=3.7`; see
            `python -m batchenv info ID`. Numbers may be given as an array of shape (num_envs,), one per lane; the
            spaces are then wide enough for every lane.

    Attributes:
        num_envs, batch_size, autoreset_mode, render_mode: as given.
        single_observation_space, single_action_space: of one lane. observation_space, action_space: of all lanes.
            A Dict or Tuple, such as MiniGrid's, has parts and no shape; there, observation="flat" makes one array.
        normalizer: with normalize_observation=True a `batchenv.normalize.Normalizer`, else None. `normalizer.obs_rms`
            has the running `mean`, `var` and `count`, which may be set, for instance to those of another env;
            `normalizer.update_running_mean = False` leaves them as they are, which is right for evaluation.
        reward_normalizer: with normalize_reward a `batchenv.normalize.RewardNormalizer`, else None; `return_rms` and
            `update_running_mean` likewise.

    Raises:
        TypeError, ValueError: an argument has a wrong type or value. The message names the argument, the rule and how
            to fix it.
        gymnasium.error.DependencyNotInstalled: render_mode needs pygame.
    """

    def __init__(
        self,
        env_id: str | Origin,
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
        clip_observation: tuple[float | None, float | None] | None = None,
        normalize_reward: float | None = None,
        reward_dtype: Any = "float64",
        batch_size: int | None = None,
        thread_affinity: Any = None,
        **params: Any,
    ):
        transforms = {
            "record_episode_statistics": record_episode_statistics,
            "reward_scale": reward_scale,
            "clip_reward": clip_reward,
            "action_repeat": action_repeat,
            "rescale_observation": rescale_observation,
            "time_aware": time_aware,
            "observation_dtype": observation_dtype,
            "frame_stack": frame_stack,
            "normalize_observation": normalize_observation,
            "clip_observation": clip_observation,
            "normalize_reward": normalize_reward,
            "reward_dtype": reward_dtype,
        }
        origin = origin_of(env_id) if isinstance(env_id, str) else env_id
        self._library = origin.library
        num_envs = integer("num_envs", num_envs, 1, MAX_ENVS)
        if num_threads is None:
            threads = origin.threads or _core.default_threads()
        else:
            threads = integer("num_threads", num_threads, 1, _MAX_THREADS)
        hint = f" (num_envs={num_envs})"
        rows = num_envs if batch_size is None else integer("batch_size", batch_size, 1, num_envs, hint)
        cpus = affinity(thread_affinity, threads)
        mode = check_autoreset(autoreset_mode)
        if max_episode_steps is _DEFAULT:
            max_episode_steps = origin.max_episode_steps
        limit = 0
        if max_episode_steps is not None:
            hint = "; None means no limit"
            limit = integer("max_episode_steps", max_episode_steps, 1, 2**31 - 2, hint)
        origin.check_mode(render_mode, num_envs)
        seed = None if seed is None else read_seed(seed)
        backend = origin.backend(
            num_envs,
            origin.seeded(params, seed),
            autoreset_mode=mode,
            threads=threads,
            limit=limit,
            batch_size=rows,
            cpus=cpus,
            copy=copy,
            clip_actions=clip_actions,
            transforms=transforms,
            builtin=self._builtin_keywords(),
        )
        arguments = {
            "num_envs": num_envs,
            "num_threads": num_threads,
            "autoreset_mode": mode.value,
            "seed": seed,
            "max_episode_steps": max_episode_steps,
            "copy": copy,
            "clip_actions": clip_actions,
            "batch_size": batch_size,
            "thread_affinity": thread_affinity,
            "render_mode": render_mode,
            **backend.transforms,
        }
        render_mode = origin.render_mode(backend, render_mode)
        seeds = origin.first_seeds(seed, num_envs)
        self._begin(origin.name, backend, mode, rows, seeds, render_mode, origin.metadata(backend), arguments)
        self._again = origin.again
        for attribute, normalizer in backend.normalizers.items():
            # Not by way of __dict__: once it was asked for, Python finds attributes more slowly, _hold_and_step too.
            setattr(self, attribute, normalizer)

    @classmethod
    def over(
        cls,
        backend: Backend,
        *,
        id: str,
        autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
        batch_size: int | None = None,
        seed: int | None = None,
        render_mode: str | None = None,
        metadata: dict[str, Any] | None = None,
    ) -> BatchEnv:
        """A BatchEnv whose lanes are stepped by a backend of your own. It cannot be pickled.

        Args:
            backend: see `batchenv.backend.protocol.Backend`.
            id: what the environment is called.
            autoreset_mode, batch_size: as the backend was made with. seed: as for `BatchEnv`.
            render_mode: None, or one that the backend can draw. metadata: Gymnasium's, without the autoreset mode.
        """
        env = cls.__new__(cls)
        rows = backend.num_envs if batch_size is None else integer("batch_size", batch_size, 1, backend.num_envs)
        seed = None if seed is None else read_seed(seed)
        mode = check_autoreset(autoreset_mode)
        arguments = {
            "num_envs": backend.num_envs,
            "autoreset_mode": mode.value,
            "seed": seed,
            "render_mode": render_mode,
        }
        env._begin(id, backend, mode, rows, seed, render_mode, metadata or {}, arguments)
        env._again = None
        return env

    @classmethod
    def _builtin_keywords(cls) -> list[str]:
        """Names of the keywords that every environment takes."""
        parameters = inspect.signature(cls.__init__).parameters.values()
        return ["num_envs", *(parameter.name for parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY)]

    @staticmethod
    def class_metadata(env_id: str) -> dict[str, Any]:
        """What Gymnasium calls metadata, without the autoreset mode."""
        return CoreOrigin(env_id).metadata()

    @property
    def config(self) -> dict[str, Any]:
        """What this env was made with, {keyword: value}, defaults included; parameters as they are now."""
        backend = self._open()
        with backend.hold(settle=False):
            values = {**self._arguments, "batch_size": self.batch_size, **backend.keywords()}
        return {**values, "reward_threshold": None if self.spec is None else self.spec.reward_threshold}

    # ---- reset and step ---------------------------------------------------------------------------------------------

    def reset(
        self, env_id: EnvIds | None = None, *, seed: Seeds = None, options: Options = None
    ) -> tuple[Observations, InfoDict]:
        """Starts new episodes in all lanes, or in those of `options["reset_mask"]` or `env_id`.

        Args:
            env_id: a list or array of lanes, as EnvPool has it: these are reset, and only their rows are returned, in
                this order, with `infos["env_id"]`. None: all lanes, or those of the mask.
            seed: int s: lane i gets s + i. A list: one int or None per lane. None: streams go on (the first time: from
                the seed given at construction, or from the operating system), or lanes take an entry of the `plan`.
            options: "reset_mask": bool array (num_envs,), at least one True; the other lanes stay as they are, and
                their present observation is returned. Further keys: the environment's, such as "low" and "high"
                (`python -m batchenv info ID` lists them), whose numbers may be an array with one per lane. Others are
                refused, unless the environment is written in Python: then it gets them all. Not modified.

        Returns:
            observations (num_envs, ...) and infos.

        Raises:
            TypeError, ValueError: a wrong seed or mask, a wrong or unknown option.
            gymnasium.error.ResetNeeded: a mask before the first full reset.
            LaneError: some lanes' simulators failed; its `result` is what would have been returned, its `env_id` says
                which lanes.
        """
        self._open()
        if env_id is not None:
            return self._reset_some(env_id, seed, options)
        return self._reset_lanes(seed, *check_options(options, self.num_envs))

    def _reset_lanes(self, seed: Any, mask: Flags | None, values: Options) -> tuple[Observations, InfoDict]:
        """`reset` of the lanes of a mask (None: of all), with these options for the environment. It gets None where
        there are none, as from Gymnasium; a dict of options that has only a "reset_mask" leaves it an empty one."""
        seeds = check_seed(seed, self.num_envs)
        if mask is not None and mask.all():
            mask = None  # a mask of all lanes may come before the first full reset
        backend = self._open()
        with backend.hold(settle=mask is not None):  # a full reset drops the lanes in flight
            result = self._held_reset(backend, seeds, mask, values)
        self._show()
        return result

    def _reset_some(self, env_id: EnvIds, seed: Any, options: Any) -> tuple[Observations, InfoDict]:
        """`reset` of some lanes, whose rows alone are returned, in the order of `env_id`."""
        lanes = check_env_id(env_id, options, self.num_envs)
        _, values = check_options(options, self.num_envs)
        mask = mask_of(lanes, self.num_envs).view(np.bool_)
        return converted(lambda *result: result_of_lanes(result, lanes), self._reset_lanes, seed, mask, values)

    def _held_reset(
        self, backend: Backend, seeds: Seeds, mask: Flags | None, options: Options
    ) -> tuple[Observations, InfoDict]:
        """`reset` with checked arguments, while the batch is held."""
        if mask is not None and self._seeder.known is None:
            raise ResetNeeded("options['reset_mask'] before any full reset: call env.reset() once first")
        given, seeds = seeds, self._seeder.fill(seeds)
        tell_libraries()

        def note(*result: Any) -> Any:
            self._seeder.note(seeds, mask)
            self._step_pending = self._step_pending and mask is not None
            return result

        try:
            with self._unplanned(backend, given, mask):
                return converted(note, backend.reset, seeds, mask, options)
        except TypeError as refusal:
            # The error that Gymnasium's environments raise for an option of a wrong type as well.
            raise ValueError(str(refusal)) from None

    def step(self, actions: Actions, env_id: EnvIds | None = None, *, out: Out = None) -> Step:
        """Takes one action per lane.

        Args:
            env_id: the numbers of the lanes that the rows of actions are for, an int array or list: these lanes alone
                are stepped. None: all lanes. With batch_size < num_envs this is `send` and then `recv`, as EnvPool
                has it, and other lanes may come back than those that were sent.
            actions: shape `action_space.shape`. Discrete: integers (int64 costs nothing extra, int32 next to nothing).
                Box: numbers, rounded to float32.
            out: (observations, rewards, terminations, truncations) to write into, as this method returns them:
                `observation_space`'s dtype, float64 (or `reward_dtype`), bool, bool; C-contiguous. NumPy arrays, or
                what has the buffer protocol or `__dlpack__` in main memory, such as torch tensors: then NumPy arrays
                over the same memory are returned. None in place of an array: a new array. For a Tuple space: one int64
                array (num_envs, parts), whose columns are returned.

        Returns:
            observations (num_envs, ...), rewards (num_envs,) float64, terminations and truncations (num_envs,) bool,
            and infos, as `gymnasium.vector.SyncVectorEnv` in the same autoreset mode. With env_id: row k is lane
            `infos["env_id"][k]`, in the order given.

        Raises:
            ValueError, TypeError: wrong shape or dtype, an action that is NaN or out of range (lane, value and bound
                are named), a wrong `out`. No lane has been stepped.
            gymnasium.error.ResetNeeded: before the first reset, or for a finished lane with autoreset disabled.
            RuntimeError: another thread is using this env.
            LaneError: some lanes' simulators failed; its `result` is what would have been returned, its `env_id` says
                which lanes.

        Ctrl-C is answered within a tenth of a second (or of what one lane takes), by this method as by `reset`,
        `rollout` and `make`. When a call is interrupted, some lanes have moved and others have not. The env then raises
        ResetNeeded until all lanes have been reset or restored. An interrupted `step_wait` or `recv` loses nothing.
        """
        if env_id is not None:
            return self._step_some(actions, env_id, out)
        step = self._hold_and_step  # of the backend: see `Shortcuts`
        return self._held_step(actions, out) if step is None else step(actions, out)

    def _held_step(self, actions: Actions, out: Out) -> Step:
        backend = self._open()
        with backend.hold(settle=False):
            result = backend.step(actions, out)
            self._drawer.watch(actions)
        self._show()
        return result

    def _step_some(self, actions: Actions, env_id: EnvIds, out: Out) -> Step:
        if out is not None and self.is_async:
            raise ValueError("step(actions, env_id) takes no out: results come in arrays of batch_size rows")
        backend = self._open()
        with backend.hold(settle=False):
            if self.is_async:
                self._refuse_starved_step(backend, env_id)
                self._held_send(backend, actions, env_id)
                result = backend.recv(None)
            else:
                result = backend.step_some(actions, env_id, out)
                self._drawer.watch(actions, result[4]["env_id"])
        self._show()
        return result

    def _refuse_starved_step(self, backend: Backend, env_id: EnvIds) -> None:
        """Raises RuntimeError if so few lanes would be in flight with these that no batch would come."""
        try:
            count = np.size(env_id)
        except ValueError:  # ragged: `send` says so
            count = 0
        there = backend.in_flight() + count
        if count and not backend.needs_reset and there < self.batch_size:
            raise _core.batch_starved(there, self.batch_size, "step(actions, env_id)")

    def xla(self) -> Functions:
        """The lanes as functions for programs that `jax.jit` compiles: `handle, recv, send, step = env.xla()`, as
        EnvPool has it. See `batchenv.xla.Functions`.

        Raises:
            ImportError: JAX is missing.
            TypeError: a space has something else than numbers.
        """
        from batchenv.xla import Functions  # when first asked for: JAX takes a second to import

        self._open()
        return Functions(self)

    # ---- pictures ---------------------------------------------------------------------------------------------------

    def render(self, lanes: Lanes | None = None) -> tuple[Any, ...] | None:
        """Pictures of lanes in their present state, pixel for pixel those of `gymnasium.make(id)`. The arrow that shows
        Pendulum's last action is left out where that is not known: after `restore`, and in a copy.

        Gymnasium draws them one by one, at some milliseconds each (MuJoCo's at 0.1 s without a graphics card), and a
        frame of CartPole takes 720 kB: if there are many lanes, choose a few.

        Args:
            lanes: None: all. An int, a list of ints, a slice, or a bool mask (num_envs,): those lanes.

        Returns:
            render_mode "rgb_array": a tuple of uint8 arrays (height, width, 3), one per lane. "ansi": a tuple of str.
            "human": None; the window is drawn anew by every reset, step and `recv`, too. None: None, with a warning.

        Raises:
            TypeError, ValueError: wrong lanes.
            gymnasium.error.ResetNeeded: before the first reset.
        """
        backend = self._open()
        chosen = range(self.num_envs) if lanes is None else lane_indices(lanes, self.num_envs)
        if self.render_mode is None:
            logger.warn(f"{self!r}.render() draws nothing: give make() a render_mode, such as render_mode='rgb_array'")
            return None
        with backend.hold():
            if backend.needs_reset:
                raise ResetNeeded(
                    "render() before the first reset, or after an interrupted call: call env.reset() first"
                )
            return self._drawer.draw(chosen)

    # ---- pickling ---------------------------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        if self._again is None:
            raise TypeError(f"{self!r} cannot be pickled or copied: it was made over a backend, not from an id")
        if self.closed:
            return {"closed": True, "id": self._again, "library": self._origin(), "arguments": self._arguments}
        backend = self._open()
        with backend.hold(settle=False):
            return self._held_state(backend)

    def _held_state(self, backend: Backend) -> dict[str, Any]:
        flying = backend.in_flight()
        if flying:
            raise RuntimeError(f"copying or pickling while {flying} lanes are in flight: recv() them first")
        extra = {k: self.__dict__[k] for k in ("spec", "action_space", "single_action_space") if k in self.__dict__}
        return {
            "closed": False,
            "id": self._again,
            "library": self._origin(),
            "arguments": {**self._arguments, **backend.keywords()},
            "snapshot": None if backend.needs_reset else backend.snapshot(np.arange(self.num_envs)),
            "seeds": self._seeder.known,
            "action_stream": self._actions.position,
            "normalizers": {"normalizer": self.normalizer, "reward_normalizer": self.reward_normalizer},
            "model": backend.changes(),
            "plan": self._plan_state(backend),
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
        if state["model"]:
            self._open().take_changes(state["model"])
        if state["snapshot"] is not None:
            self.restore(state["snapshot"])
        self._take_plan_state(state["plan"])
        for name, normalizer in state["normalizers"].items():
            if normalizer is not None:
                getattr(self, name).__dict__.update(normalizer.__dict__)
        self._seeder.known = state["seeds"]
        self._actions.position = state["action_stream"]
        for name, value in state["extra"].items():
            setattr(self, name, value)
