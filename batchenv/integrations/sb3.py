"""Stable-Baselines3's API: a `VecEnv` whose results are those of `make_vec_env`."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from batchenv._core import Infos, LaneError, OwnDicts, dones_and_rewards, put_ends, type_info
from batchenv.arguments.seeds import read_seed
from batchenv.backend.env_calls import call_env, get_attribute, has_attribute, is_wrapped, set_attribute
from batchenv.backend.lanes import lane_indices, rows_of
from batchenv.backend.protocol import ResetNeeded
from batchenv.backend.results import Notes, parted, tell_infos, tell_notes
from batchenv.env.batch_env import BatchEnv
from batchenv.integrations.wrapper import check_env

try:
    from stable_baselines3.common.monitor import Monitor
    from stable_baselines3.common.vec_env import VecEnv
except ImportError as error:
    raise ImportError("env_type='sb3' needs the package stable_baselines3: pip install 'batchenv[sb3]'") from error

ENV_TYPES = {"sb3": "BatchVecEnv"}
_TRUNCATED, _MASK, _MASKS = "TimeLimit.truncated", "action_mask", "action_masks"


class BatchVecEnv(VecEnv):
    """A BatchEnv as Stable-Baselines3 expects it; `.env` is the BatchEnv.

    Observations, rewards, dones and infos are those of `make_vec_env(id, n_envs)`, which is a DummyVecEnv of
    environments with a Monitor each. The default of autoreset_mode is "SameStep", the only one that
    Stable-Baselines3 knows; of clip_actions and record_episode_statistics it is True. The latter are what a Monitor
    writes into infos, so that Stable-Baselines3 takes the environments for monitored ones.

    A dict of the infos belongs to whoever gets it, as do all arrays.

    Raises:
        TypeError: env is no BatchEnv.
        ValueError: it has another autoreset mode, a batch_size, or `copy=False`.
    """

    DEFAULTS = {
        "autoreset_mode": AutoresetMode.SAME_STEP,
        "clip_actions": True,
        "record_episode_statistics": True,
    }
    KEYWORDS: tuple[str, ...] = ()

    def __init__(self, env: BatchEnv):
        if not isinstance(env, BatchEnv):
            raise TypeError(f"env must be a BatchEnv, not {type(env).__name__}: make one with batchenv.make(id, n)")
        check_env(
            env,
            same_step="with Stable-Baselines3, whose environments start their next episode in the step that ends one: "
            "make the env with autoreset_mode='SameStep', or env_type='sb3'",
            together="with Stable-Baselines3, which steps all lanes together",
            copy="with Stable-Baselines3, which keeps what steps return",
        )
        self.env = env
        self._statistics = bool(env.config.get("record_episode_statistics"))
        self._start = time.time()
        self._ours = {_TRUNCATED, "terminal_observation", "final_obs", "final_info"}
        if self._statistics:
            self._ours.add("episode")
        self._says_masks = any(info["name"] == _MASK for info in _infos_of(env))
        self._action_masks: NDArray[Any] | None = None
        self._make_dicts()
        env._open().tell_apart()
        super().__init__(env.num_envs, env.single_observation_space, env.single_action_space)
        self.metadata = {name: value for name, value in env.metadata.items() if name != "autoreset_mode"}
        if env.config["seed"] is not None:
            self.action_space.seed(env.config["seed"])

    def _make_dicts(self) -> None:
        self._dicts = OwnDicts(self.env.num_envs, _TRUNCATED, False)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.env!r})"

    def __len__(self) -> int:
        return self.num_envs

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_dicts"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._make_dicts()

    @property
    def spec(self) -> Any:
        """Gymnasium's `EnvSpec` of the environment, or None."""
        return self.env.spec

    def close(self) -> None:
        """Releases the lanes and the window."""
        self.env.close()

    # ---- reset and step ---------------------------------------------------------------------------------------------

    def seed(self, seed: int | None = None) -> Sequence[int | None]:
        """Seeds the next reset: lane i gets seed + i. None: a seed by chance, as Stable-Baselines3 has it.

        Returns:
            each lane's seed.

        Raises:
            TypeError, ValueError: a wrong seed.
        """
        return super().seed(None if seed is None else read_seed(seed))

    def reset(self) -> Any:
        """Starts new episodes in all lanes, with the seeds and options that `seed` and `set_options` have been told
        since the last reset.

        Returns:
            observations (num_envs, ...). The attribute `reset_infos` has a dict per lane.
        """
        check_options(self._options, self.num_envs)
        seeds = self._seeds if any(seed is not None for seed in self._seeds) else None
        observations = reset_by_options(self.env, self.env._reset_lanes, seeds, self._options, self._note_reset)
        self._reset_seeds()
        self._reset_options()
        return observations

    def _note_reset(self, infos: dict[str, Any], lanes: Iterable[int]) -> None:
        """Keeps infos of a reset of these lanes."""
        dicts: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        infos, told, _ = parted(infos)
        tell_infos(dicts, infos)
        tell_notes(dicts, told)
        for lane in lanes:
            self.reset_infos[lane] = dicts[lane]
        self._note_masks(infos)

    def _note_masks(self, infos: dict[str, Any]) -> None:
        if _MASK in infos:
            masks, present = infos[_MASK], infos[f"_{_MASK}"]
            if self._action_masks is not None and not present.all():
                masks = np.where(present[:, None], masks, self._action_masks)
            self._action_masks = masks

    def step_async(self, actions: Any) -> None:
        """Takes one action per lane, for `step_wait`."""
        self._actions = actions

    def step_wait(self) -> tuple[Any, NDArray[np.float32], NDArray[np.bool_], list[dict[str, Any]]]:
        """Steps all lanes.

        Returns:
            observations (num_envs, ...), rewards (num_envs,) float32, dones (num_envs,) bool, and a dict per lane with
            the environment's infos, and "TimeLimit.truncated": whether the episode was ended by the time limit alone.
            Where an episode has ended, the observation is the next one's first, and the dict has
            "terminal_observation", and "episode" with the return "r", the length "l" and the seconds "t" since this env
            was made. `reset_infos` has what the environment says at the beginning of the new one.

        Raises:
            As `BatchEnv.step`.
        """
        try:
            result = self.env.step(self._actions)
        except LaneError as error:
            error.result = self._told(*error.result)
            raise
        return self._told(*result)

    def _told(self, *result: Any) -> tuple[Any, NDArray[np.float32], NDArray[np.bool_], list[dict[str, Any]]]:
        """The results of `BatchEnv.step` as Stable-Baselines3 has them."""
        observations, rewards, terminations, truncations, infos = result
        dones, rewards = dones_and_rewards(terminations, truncations, rewards)
        infos, told, finals = parted(infos)
        if not (infos or told):
            return observations, rewards, dones, self._dicts.take()
        episodes = infos["episode"] if self._statistics and "episode" in infos else None
        known = 0 if episodes is None else 2
        final_info = None
        if "final_info" in infos:
            known, final_info = known + 4, infos["final_info"]
        own = len(infos) > known or bool(final_info or told or finals)
        dicts = [{_TRUNCATED: False} for _ in range(self.num_envs)] if own else self._dicts.take()
        ended: list[int] = []
        if final_info is not None:
            lanes, rows = _final_rows(infos)
            put_ends(dicts, lanes, rows, terminations, truncations, episodes, time.time() - self._start)
            ended = lanes.tolist()
            for lane in ended:
                self.reset_infos[lane] = {}
        if own:
            self._tell_own(dicts, infos, ended, told, finals)
        return observations, rewards, dones, dicts

    def _tell_own(
        self, dicts: list[dict[str, Any]], infos: dict[str, Any], ended: list[int], told: Notes, finals: Notes
    ) -> None:
        """What environments say. Where an episode has ended, the infos are those of the next one's beginning."""
        now = dicts.copy()
        for lane in ended:
            now[lane] = self.reset_infos[lane]
        tell_infos(now, infos, self._ours)
        tell_notes(now, told)
        if ended:
            tell_infos(dicts, infos["final_info"], self._ours)
            tell_notes(dicts, finals)
        self._note_masks(infos)

    # ---- single environments ----------------------------------------------------------------------------------------

    def _ask(self, function: Any, *arguments: Any, indices: Any) -> list[Any]:
        """`function(env, *arguments)` of these environments, which are written in Python."""
        with self.env._hold():
            return self.env._apply(function, *arguments, lanes=self._lanes(indices))

    def _lanes(self, indices: Any) -> list[int]:
        return lane_indices(
            indices if indices is None or isinstance(indices, int) else list(indices), self.num_envs
        ).tolist()

    def _of_lanes(self, values: Sequence[Any], indices: Any) -> list[Any]:
        return [values[lane] for lane in self._lanes(indices)]

    @property
    def _has_envs(self) -> bool:
        return self.env._open().has_envs

    def has_attr(self, attr_name: str) -> bool:
        """Whether `get_attr` finds it in every environment."""
        if self._has_envs:
            return all(self._ask(has_attribute, attr_name, indices=None))
        return super().has_attr(attr_name)

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """An attribute of these environments (None: of all). Those in C have parameters, state variables, and what
        `BatchEnv.get_attr` finds.

        Raises:
            AttributeError: they have no such attribute.
        """
        if self._has_envs:
            return self._ask(get_attribute, attr_name, indices=indices)
        if attr_name == _MASKS and self._says_masks:
            return self._of_lanes([partial(self._action_mask, lane) for lane in range(self.num_envs)], indices)
        return self._of_lanes(self.env.get_attr(attr_name), indices)

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Sets an attribute of these environments (None: of all) to one value; of those in C, a parameter.

        Raises:
            AttributeError: there is no such parameter.
            ValueError: a wrong value.
        """
        if self._has_envs:
            self._ask(set_attribute, attr_name, value, indices=indices)
            return
        values = [value] * self.num_envs
        if indices is not None:
            values = list(self.env.get_attr(attr_name))
            for lane in self._lanes(indices):
                values[lane] = value
        self.env.set_attr(attr_name, values)

    def env_method(self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any) -> list[Any]:
        """Calls a method of these environments (None: of all). Those in C have `render` and, if their infos have an
        "action_mask", `action_masks`, which sb3-contrib's MaskablePPO asks for.

        Raises:
            AttributeError: they have no such method.
        """
        if self._has_envs:
            return self._ask(call_env, method_name, method_args, method_kwargs, indices=indices)
        if method_name == _MASKS and self._says_masks:
            return [self._action_mask(lane) for lane in self._lanes(indices)]
        if method_name == "render":
            lanes = self._lanes(indices)
            return list(self.env.render(lanes) or [None] * len(lanes))
        return self._of_lanes(self.env.call(method_name, *method_args, **method_kwargs), indices)

    def _action_mask(self, lane: int) -> NDArray[np.bool_]:
        if self._action_masks is None:
            raise ResetNeeded("action_masks() before the first reset: call env.reset() first")
        return self._action_masks[lane].astype(np.bool_)

    def env_is_wrapped(self, wrapper_class: type, indices: Any = None) -> list[bool]:
        """Whether these environments (None: all) have such a wrapper. With record_episode_statistics they count as
        wrapped in a Monitor."""
        if self._statistics and issubclass(Monitor, wrapper_class):
            return [True] * len(self._lanes(indices))
        if self._has_envs:
            return self._ask(is_wrapped, f"{wrapper_class.__module__}.{wrapper_class.__qualname__}", indices=indices)
        return [False] * len(self._lanes(indices))

    def get_images(self) -> Sequence[NDArray[np.uint8] | None]:
        """A picture of each environment; None without render_mode="rgb_array"."""
        if self.render_mode != "rgb_array":
            warnings.warn(f"render_mode={self.render_mode!r} must be 'rgb_array' for get_images()", stacklevel=2)
            return [None] * self.num_envs
        return list(self.env.render() or ())


def check_options(options: Sequence[dict[str, Any]], rows: int) -> None:
    """Raises ValueError unless `set_options` has been given a dict for each of these rows."""
    if len(options) != rows:
        raise ValueError(f"set_options() got {len(options)} dicts, but must get one for all, or one for each of {rows}")


def reset_by_options(
    env: BatchEnv,
    reset: Callable[..., Any],
    seeds: Any,
    options: Sequence[dict[str, Any]],
    note: Callable[[dict[str, Any], Iterable[int]], None],
) -> Any:
    """Resets all lanes, each with its own options; returns observations.

    Args:
        env: theirs.
        reset: a function of seeds, a mask of lanes (None: all) and their options (None: there are none).
        seeds: of all lanes, as `BatchEnv.reset` takes them.
        options: of each lane; {}: none.
        note: called with infos, and the lanes that they are of.
    """
    groups: dict[int, tuple[dict[str, Any], list[int]]] = {}
    for lane, own in enumerate(options):
        groups.setdefault(id(own) if own else 0, (own, []))[1].append(lane)
    if len(groups) == 1:
        observations, infos = reset(seeds, None, options[0] or None)
        note(infos, range(env.num_envs))
        return observations
    if env._open().needs_reset:  # only then lanes can be reset by themselves
        reset(seeds, None, None)
        seeds = list(env.np_random_seed)  # each begins once more with what it has begun with
    for own, lanes in groups.values():
        mask = np.zeros(env.num_envs, np.bool_)
        mask[lanes] = True
        observations, infos = reset(seeds, mask, own or None)
        note(infos, lanes)
    return observations


def _infos_of(env: BatchEnv) -> list[dict[str, Any]]:
    """What the C core knows of an env's infos."""
    core = getattr(env._open(), "core", None)
    return [] if core is None else type_info(core.type_name)["info"]


def _final_rows(infos: dict[str, Any]) -> tuple[NDArray[np.int64], Sequence[Any]]:
    """The lanes whose episodes have ended in a step, and the last observation of each."""
    if not isinstance(infos, Infos):  # they come from several processes
        lanes = np.flatnonzero(infos["_final_obs"])
        return lanes, infos["final_obs"][lanes]
    lanes, rows = infos.final_rows
    return lanes, rows if isinstance(rows, np.ndarray) else [rows_of(rows, k) for k in range(len(lanes))]
