"""Stable-Baselines3's API: a `VecEnv` whose results are those of `make_vec_env`."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np
from gymnasium.utils.env_checker import data_equivalence
from gymnasium.vector import AutoresetMode, VectorEnv
from numpy.typing import NDArray

from batchenv._core import Infos, OwnDicts, dones_and_rewards, put_ends, type_info
from batchenv.arguments.seeds import read_seed
from batchenv.backend.env_calls import has_attribute, is_wrapped
from batchenv.backend.lanes import lane_indices, mask_of, rows_of
from batchenv.backend.protocol import ResetNeeded
from batchenv.backend.results import converted, final_infos_into_dicts, infos_into_dicts, parted
from batchenv.env import wrapping
from batchenv.env.batch_env import BatchEnv
from batchenv.integrations.wrapper import Wrapper, check_env

try:
    from stable_baselines3.common.monitor import Monitor
    from stable_baselines3.common.vec_env import VecEnv
except ImportError as error:
    raise ImportError("env_type='sb3' needs the package stable_baselines3: pip install 'batchenv[sb3]'") from error

ENV_TYPES = {"sb3": "BatchVecEnv"}
TRUNCATED, LAST = "TimeLimit.truncated", "terminal_observation"  # what Stable-Baselines3 reads in infos
_MASK, _MASKS = "action_mask", "action_masks"
# Infos of a step that it reads otherwise; "episode" only if the BatchEnv counts.
_READ = {TRUNCATED, LAST, "final_obs", "_final_obs", "final_info", "_final_info"}


class LanesVecEnv(Wrapper, VecEnv):
    """A `VecEnv` over the lanes of a BatchEnv. A lane has one row of observations, or one for each of its players.

    Args:
        env: the BatchEnv.
        rows: what has the rows: the BatchEnv itself, or a vector env around it that has a row for each player.
    """

    def __init__(self, env: BatchEnv, rows: VectorEnv):
        Wrapper.__init__(self, env)
        self._rows_per_lane = rows.num_envs // env.num_envs
        wrapping.keep_infos_apart(env)
        VecEnv.__init__(self, rows.num_envs, rows.single_observation_space, rows.single_action_space)
        self.metadata = {name: value for name, value in rows.metadata.items() if name != "autoreset_mode"}

    def reset(self) -> Any:
        """Starts new episodes in all lanes, with the seeds and options that `seed` and `set_options` have been told
        since the last reset.

        Returns:
            observations (num_envs, ...). The attribute `reset_infos` has a dict per row.

        Raises:
            ValueError: rows of one lane have different options.
        """
        seeds, options = self._seeds[:: self._rows_per_lane], self._lane_options()
        given = seeds if any(seed is not None for seed in seeds) else None
        observations = _reset_by_options(self.env, self._reset_lanes, given, options, self._note_reset)
        self._reset_seeds()
        self._reset_options()
        return observations

    def _reset_lanes(self, seeds: Any, mask: NDArray[np.bool_] | None, options: dict[str, Any] | None) -> Any:
        """`wrapping.reset_lanes`, whose results have a row for each row of this env."""
        return wrapping.reset_lanes(self.env, seeds, mask, options)

    def _note_reset(self, infos: dict[str, Any], lanes: Iterable[int]) -> None:
        """Keeps infos of a reset of these lanes."""
        dicts: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        infos_into_dicts(infos, dicts)
        for lane in lanes:
            rows = slice(lane * self._rows_per_lane, (lane + 1) * self._rows_per_lane)
            self.reset_infos[rows] = dicts[rows]

    def _lane_options(self) -> list[dict[str, Any]]:
        """The options of each lane, which are those of its rows."""
        if len(self._options) != self.num_envs:
            raise ValueError(
                f"set_options() got {len(self._options)} dicts, but must get one for all, or one for each of "
                f"{self.num_envs}"
            )
        count = self._rows_per_lane
        for row, options in enumerate(self._options):
            first = row - row % count
            if row != first and not data_equivalence(options, self._options[first]):
                raise ValueError(
                    f"set_options() got {options!r} for row {row} and {self._options[first]!r} for row {first}, which "
                    f"are agents of one environment: give rows {first}..{first + count - 1} the same options"
                )
        return self._options[::count]

    def step_async(self, actions: Any) -> None:
        """Takes one action per row, for `step_wait`."""
        self._actions = actions

    # ---- single environments ----------------------------------------------------------------------------------------

    def _lanes(self, indices: Any) -> list[int]:
        """The lane of each of these rows (None: of all)."""
        rows = lane_indices(indices if indices is None or isinstance(indices, int) else list(indices), self.num_envs)
        return (rows // self._rows_per_lane).tolist()

    def _of_rows(self, ask: Callable[[list[int]], list[Any]], indices: Any) -> list[Any]:
        """What `ask` returns of the lanes of these rows, for each row. Lanes that rows share are asked once."""
        lanes = self._lanes(indices)
        if self._rows_per_lane == 1:
            return ask(lanes)
        once = sorted(set(lanes))
        answers = dict(zip(once, ask(once), strict=True))
        return [answers[lane] for lane in lanes]

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """An attribute of the environments of these rows (None: of all). Those in C have parameters, state variables,
        and what `BatchEnv.get_attr` finds.

        Raises:
            AttributeError: they have no such attribute.
        """
        return self._of_rows(partial(wrapping.attributes_of, self.env, attr_name), indices)

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Sets an attribute of the environments of these rows (None: of all) to one value; of those in C, a parameter.
        Rows of one lane share it.

        Raises:
            AttributeError: there is no such parameter.
            ValueError: a wrong value.
        """
        wrapping.set_attribute_of(self.env, attr_name, value, list(dict.fromkeys(self._lanes(indices))))

    def env_method(self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any) -> list[Any]:
        """Calls a method once in the environment of each of these rows (None: of all); rows of one lane have the same
        result.

        Raises:
            AttributeError: they have no such method.
        """
        return self._of_rows(partial(wrapping.call_of, self.env, method_name, method_args, method_kwargs), indices)


class BatchVecEnv(LanesVecEnv):
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

    DEFAULTS = {"autoreset_mode": AutoresetMode.SAME_STEP, "clip_actions": True, "record_episode_statistics": True}

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
        self._statistics = bool(env.config.get("record_episode_statistics"))
        self._start = time.time()
        self._read = _READ | {"episode", "_episode"} if self._statistics else _READ
        core = wrapping.core_of(env)
        self._says_masks = core is not None and any(info["name"] == _MASK for info in type_info(core.type_name)["info"])
        self._action_masks: NDArray[Any] | None = None
        super().__init__(env, env)
        self._make_dicts()
        if env.config["seed"] is not None:
            self.action_space.seed(env.config["seed"])

    def _make_dicts(self) -> None:
        self._dicts = OwnDicts(self.num_envs, TRUNCATED, False)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_dicts"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._make_dicts()

    @property
    def spec(self) -> Any:
        """Gymnasium's `EnvSpec` of the environment, or None."""
        return self.env.spec

    # ---- reset and step ---------------------------------------------------------------------------------------------

    def seed(self, seed: int | None = None) -> Sequence[int | None]:
        """Seeds the next reset: lane i gets seed + i. None: a seed by chance, as Stable-Baselines3 has it.

        Returns:
            each lane's seed.

        Raises:
            TypeError, ValueError: a wrong seed.
        """
        return super().seed(None if seed is None else read_seed(seed))

    def _note_reset(self, infos: dict[str, Any], lanes: Iterable[int]) -> None:
        super()._note_reset(infos, lanes)
        self._note_masks(parted(infos)[0])

    def _note_masks(self, infos: dict[str, Any]) -> None:
        if _MASK in infos:
            masks, present = infos[_MASK], infos[f"_{_MASK}"]
            if self._action_masks is not None and not present.all():
                masks = np.where(present[:, None], masks, self._action_masks)
            self._action_masks = masks

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
        return converted(self._step_result, self.env.step, self._actions)

    def _step_result(
        self, observations: Any, rewards: Any, terminations: Any, truncations: Any, infos: dict[str, Any]
    ) -> tuple[Any, NDArray[np.float32], NDArray[np.bool_], list[dict[str, Any]]]:
        """What `BatchEnv.step` has returned, as Stable-Baselines3 has it."""
        dones, rewards = dones_and_rewards(terminations, truncations, rewards)
        dicts = self._step_dicts(terminations, truncations, infos) if infos else self._dicts.take()
        return observations, rewards, dones, dicts

    def _step_dicts(self, terminations: Any, truncations: Any, infos: dict[str, Any]) -> list[dict[str, Any]]:
        """The infos of a step as a dict per lane."""
        known, said, finals = parted(infos)
        ends = "final_info" in known
        own = bool(said or finals or (ends and known["final_info"])) or not self._read.issuperset(known)
        dicts = [{TRUNCATED: False} for _ in range(self.num_envs)] if own else self._dicts.take()
        ended: list[int] = []
        if ends:
            lanes, rows = _final_rows(known)
            episodes = known["episode"] if self._statistics and "episode" in known else None
            put_ends(dicts, lanes, rows, terminations, truncations, episodes, time.time() - self._start)
            ended = lanes.tolist()
            for lane in ended:
                self.reset_infos[lane] = {}
        if own:
            now = dicts.copy()
            for lane in ended:  # where an episode has ended, infos are those of the next one's beginning
                now[lane] = self.reset_infos[lane]
            infos_into_dicts(infos, now, self._read)
            final_infos_into_dicts(infos, dicts, self._read)
            self._note_masks(known)
        return dicts

    # ---- single environments ----------------------------------------------------------------------------------------

    @property
    def _has_envs(self) -> bool:
        return wrapping.backend_of(self.env).has_envs

    def has_attr(self, attr_name: str) -> bool:
        """Whether `get_attr` finds it in every environment."""
        if self._has_envs:
            return all(wrapping.ask_envs(self.env, has_attribute, attr_name, lanes=range(self.num_envs)))
        return super().has_attr(attr_name)

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """As `LanesVecEnv.get_attr`; environments in C whose infos have an "action_mask" have `action_masks`."""
        if attr_name == _MASKS and self._says_masks:
            return [partial(self._action_mask, lane) for lane in self._lanes(indices)]
        return super().get_attr(attr_name, indices)

    def env_method(self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any) -> list[Any]:
        """Calls a method of these environments (None: of all). Those in C have `render` and, if their infos have an
        "action_mask", `action_masks`, which sb3-contrib's MaskablePPO asks for.

        Raises:
            AttributeError: they have no such method.
        """
        if method_name == _MASKS and self._says_masks:
            return [self._action_mask(lane) for lane in self._lanes(indices)]
        if method_name == "render" and not self._has_envs:
            lanes = self._lanes(indices)
            return list(self.env.render(lanes) or [None] * len(lanes))
        return super().env_method(method_name, *method_args, indices=indices, **method_kwargs)

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
            name = f"{wrapper_class.__module__}.{wrapper_class.__qualname__}"
            return wrapping.ask_envs(self.env, is_wrapped, name, lanes=self._lanes(indices))
        return [False] * len(self._lanes(indices))

    def get_images(self) -> Sequence[NDArray[np.uint8] | None]:
        """A picture of each environment; None without render_mode="rgb_array"."""
        if self.render_mode != "rgb_array":
            warnings.warn(f"render_mode={self.render_mode!r} must be 'rgb_array' for get_images()", stacklevel=2)
            return [None] * self.num_envs
        return list(self.env.render() or ())


def _reset_by_options(
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
    if wrapping.backend_of(env).needs_reset:  # only then lanes can be reset by themselves
        reset(seeds, None, None)
        present: Any = env.np_random_seed
        seeds = list(present)  # each begins once more with what it has begun with
    observations: Any = None
    for own, lanes in groups.values():
        observations, infos = reset(seeds, mask_of(lanes, env.num_envs).view(np.bool_), own or None)
        note(infos, lanes)
    return observations


def _final_rows(infos: dict[str, Any]) -> tuple[NDArray[np.int64], Any]:
    """The lanes whose episodes have ended in a step, and the last observation of each."""
    if not isinstance(infos, Infos):  # they come from several processes
        lanes = np.flatnonzero(infos["_final_obs"])
        return lanes, infos["final_obs"][lanes]
    lanes, rows = infos.final_rows
    return lanes, rows if isinstance(rows, np.ndarray) else [rows_of(rows, k) for k in range(len(lanes))]
