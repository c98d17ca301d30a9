"""Stable-Baselines3's API for several players in each lane: a `VecEnv` with a row for each of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from gymnasium.utils.env_checker import data_equivalence
from numpy.typing import NDArray

from batchenv._core import dones_and_rewards
from batchenv.arguments.seeds import lane_seeds, read_seed
from batchenv.backend.env_calls import call_env, get_attribute, set_attribute
from batchenv.backend.lanes import lane_indices
from batchenv.backend.results import converted, parted, tell_infos, tell_notes
from batchenv.integrations.pettingzoo import ParallelBatchEnv
from batchenv.integrations.player_rows import PlayerVectorEnv
from batchenv.integrations.sb3 import check_options, reset_by_options

try:
    from stable_baselines3.common.vec_env import VecEnv
except ImportError as error:
    raise ImportError("env_type='sb3' needs the package stable_baselines3: pip install 'batchenv[sb3]'") from error

PARALLEL_ENV_TYPES = {"sb3": "PlayerVecEnv"}
_NOT_NOW = ("active", "final_obs", "final_info")  # of the step that ended an episode, not of what has begun then


class PlayerVecEnv(VecEnv):
    """A ParallelBatchEnv as Stable-Baselines3 expects it: one policy plays all agents. Rows are those of a
    PlayerVectorEnv, which is `.rows`. The default of clip_actions is True.

    For returns of episodes, wrap it in Stable-Baselines3's VecMonitor: it counts those of each agent.

    Raises:
        ValueError: as PlayerVectorEnv.
    """

    DEFAULTS = {**PlayerVectorEnv.DEFAULTS, "clip_actions": True}
    KEYWORDS: tuple[str, ...] = ()

    def __init__(self, parallel: ParallelBatchEnv):
        self.rows = PlayerVectorEnv(parallel)
        self._lane_seed: int | None = None
        parallel.env._open().tell_apart()
        super().__init__(self.rows.num_envs, self.rows.single_observation_space, self.rows.single_action_space)
        self.metadata = {name: value for name, value in self.rows.metadata.items() if name != "autoreset_mode"}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.rows.parallel!r})"

    def __len__(self) -> int:
        return self.num_envs

    def seed(self, seed: int | None = None) -> list[int | None]:
        """Seeds the next reset: lane i gets seed + i.

        Returns:
            of each row, its lane's seed.

        Raises:
            TypeError, ValueError: a wrong seed.
        """
        self._lane_seed = None if seed is None else read_seed(seed)
        players = len(self.rows.agents)
        return [own for own in lane_seeds(self._lane_seed, self.rows.lanes) for _ in range(players)]

    def reset(self) -> Any:
        """Starts new episodes in all lanes, with what `seed` and `set_options` have been told since the last reset.

        Returns:
            observations (num_envs, ...). The attribute `reset_infos` has a dict per row.

        Raises:
            ValueError: rows of one lane have different options.
        """
        options, rows = self._lane_options(), self.rows
        observations = reset_by_options(rows.parallel.env, rows.reset_lanes, self._lane_seed, options, self._note_reset)
        self._lane_seed = None
        self._reset_options()
        return observations

    def _note_reset(self, infos: dict[str, Any], lanes: Iterable[int]) -> None:
        """Keeps infos of a reset of these lanes."""
        dicts: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        known, told, _ = parted(infos)
        tell_infos(dicts, known)
        tell_notes(dicts, told)
        players = len(self.rows.agents)
        for lane in lanes:
            for row in range(lane * players, (lane + 1) * players):
                self.reset_infos[row] = dicts[row]

    def _lane_options(self) -> list[dict[str, Any]]:
        """The options of each lane, which are those of its rows."""
        check_options(self._options, self.num_envs)
        players = len(self.rows.agents)
        for row, options in enumerate(self._options):
            first = row - row % players
            if not data_equivalence(options, self._options[first]):
                raise ValueError(
                    f"set_options() got {options!r} for row {row} and {self._options[first]!r} for row {first}, which "
                    f"are agents of one environment: give rows {first}..{first + players - 1} the same options"
                )
        return self._options[::players]

    def step_async(self, actions: Any) -> None:
        """Takes one action per row, for `step_wait`."""
        self._actions = actions

    def step_wait(self) -> tuple[Any, NDArray[np.float32], NDArray[np.bool_], list[dict[str, Any]]]:
        """Steps all lanes.

        Returns:
            observations (num_envs, ...), rewards (num_envs,) float32, dones (num_envs,) bool, and a dict per row with
            the agent's infos, "active" and "TimeLimit.truncated". Where an episode has ended, the observation is the
            next one's first, the dict has "terminal_observation", and `reset_infos` what the new episode began with.

        Raises:
            As `PlayerVectorEnv.step`.
        """
        return converted(self._told, self.rows.step, self._actions)

    def _told(self, *result: Any) -> tuple[Any, NDArray[np.float32], NDArray[np.bool_], list[dict[str, Any]]]:
        """The results of `PlayerVectorEnv.step` as Stable-Baselines3 has them."""
        observations, rewards, terminations, truncations, infos = result
        infos, told, finals = parted(infos)
        dones, rewards = dones_and_rewards(terminations, truncations, rewards)
        dicts: list[dict[str, Any]] = [
            {"TimeLimit.truncated": truncated, "active": active}
            for truncated, active in zip(truncations.tolist(), infos["active"].tolist(), strict=True)
        ]
        now = dicts.copy()
        for row in np.flatnonzero(dones).tolist():
            dicts[row]["terminal_observation"] = infos["final_obs"][row]
            now[row] = self.reset_infos[row] = {}
        tell_infos(now, infos, _NOT_NOW)
        tell_notes(now, told)
        if "final_info" in infos:
            tell_infos(dicts, infos["final_info"])
            tell_notes(dicts, finals)
        return observations, rewards, dones, dicts

    # ---- lanes ------------------------------------------------------------------------------------------------------

    def _lanes(self, indices: Any) -> list[int]:
        """The lane of each of these rows."""
        rows = lane_indices(indices if indices is None or isinstance(indices, int) else list(indices), self.num_envs)
        return (rows // len(self.rows.agents)).tolist()

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """An attribute of the environments of these rows (None: of all).

        Raises:
            AttributeError: they have no such attribute.
        """
        lanes, env = self._lanes(indices), self.rows.parallel.env
        if env._open().has_envs:
            return self._ask(get_attribute, attr_name, lanes=lanes)
        values = env.get_attr(attr_name)
        return [values[lane] for lane in lanes]

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Sets an attribute of the environments of these rows (None: of all) to one value. Rows of one lane share it.

        Raises:
            AttributeError: there is no such attribute.
        """
        lanes, env = self._lanes(indices), self.rows.parallel.env
        if env._open().has_envs:
            self._ask(set_attribute, attr_name, value, lanes=lanes)
            return
        values = list(env.get_attr(attr_name))
        for lane in lanes:
            values[lane] = value
        env.set_attr(attr_name, values)

    def env_method(self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any) -> list[Any]:
        """Calls a method once in each of the lanes of these rows (None: of all).

        Returns:
            a result per row; rows of one lane have the same.

        Raises:
            AttributeError: the environments have no such method.
        """
        lanes, env = self._lanes(indices), self.rows.parallel.env
        if env._open().has_envs:
            return self._ask(call_env, method_name, method_args, method_kwargs, lanes=lanes)
        results = env.call(method_name, *method_args, **method_kwargs)
        return [results[lane] for lane in lanes]

    def _ask(self, function: Any, *arguments: Any, lanes: list[int]) -> list[Any]:
        """`function(env, *arguments)` of the environments of these lanes, once of each."""
        env = self.rows.parallel.env
        once = sorted(set(lanes))
        with env._hold():
            results = dict(zip(once, env._apply(function, *arguments, lanes=once), strict=True))
        return [results[lane] for lane in lanes]

    def env_is_wrapped(self, wrapper_class: type, indices: Any = None) -> list[bool]:
        """False of each row: environments with PettingZoo's API have no wrappers of Gymnasium's."""
        return [False] * len(self._lanes(indices))

    def get_images(self) -> Sequence[NDArray[np.uint8] | None]:
        """A picture of each lane; None without render_mode="rgb_array"."""
        return list(self.rows.render() or [None] * self.rows.lanes)

    def close(self) -> None:
        """Releases the lanes and the window."""
        self.rows.close()
