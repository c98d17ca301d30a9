"""Stable-Baselines3's API for several players in each lane: a `VecEnv` with a row for each of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from batchenv._core import dones_and_rewards
from batchenv.arguments.seeds import lane_seeds, read_seed
from batchenv.backend.results import converted, final_infos_into_dicts, infos_into_dicts, parted
from batchenv.integrations.pettingzoo import ParallelBatchEnv
from batchenv.integrations.player_rows import PlayerVectorEnv
from batchenv.integrations.sb3 import LAST, TRUNCATED, LanesVecEnv

PARALLEL_ENV_TYPES = {"sb3": "PlayerVecEnv"}
_NOT_NOW = ("active", "final_obs", "final_info")  # of the step that ended an episode, not of what has begun then


class PlayerVecEnv(LanesVecEnv):
    """A ParallelBatchEnv as Stable-Baselines3 expects it: one policy plays all agents. Rows are those of a
    PlayerVectorEnv, which is `.rows`. The default of clip_actions is True.

    For returns of episodes, wrap it in Stable-Baselines3's VecMonitor: it counts those of each agent.

    Raises:
        ValueError: as PlayerVectorEnv.
    """

    DEFAULTS = {**PlayerVectorEnv.DEFAULTS, "clip_actions": True}

    def __init__(self, parallel: ParallelBatchEnv):
        self.rows = PlayerVectorEnv(parallel)
        super().__init__(parallel.env, self.rows)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.rows.parallel!r})"

    def seed(self, seed: int | None = None) -> list[int | None]:
        """Seeds the next reset: lane i gets seed + i.

        Returns:
            of each row, its lane's seed.

        Raises:
            TypeError, ValueError: a wrong seed.
        """
        seeds = lane_seeds(None if seed is None else read_seed(seed), self.env.num_envs)
        self._seeds = [own for own in seeds for _ in self.rows.agents]
        return self._seeds

    def _reset_lanes(self, seeds: Any, mask: NDArray[np.bool_] | None, options: dict[str, Any] | None) -> Any:
        return self.rows.reset_lanes(seeds, mask, options)

    def step_wait(self) -> tuple[Any, NDArray[np.float32], NDArray[np.bool_], list[dict[str, Any]]]:
        """Steps all lanes.

        Returns:
            observations (num_envs, ...), rewards (num_envs,) float32, dones (num_envs,) bool, and a dict per row with
            the agent's infos, "active" and "TimeLimit.truncated". Where an episode has ended, the observation is the
            next one's first, the dict has "terminal_observation", and `reset_infos` what the new episode began with.

        Raises:
            As `PlayerVectorEnv.step`.
        """
        return converted(self._step_result, self.rows.step, self._actions)

    def _step_result(
        self, observations: Any, rewards: Any, terminations: Any, truncations: Any, infos: dict[str, Any]
    ) -> tuple[Any, NDArray[np.float32], NDArray[np.bool_], list[dict[str, Any]]]:
        """What `PlayerVectorEnv.step` has returned, as Stable-Baselines3 has it."""
        dones, rewards = dones_and_rewards(terminations, truncations, rewards)
        known = parted(infos)[0]
        dicts: list[dict[str, Any]] = [
            {TRUNCATED: truncated, "active": active}
            for truncated, active in zip(truncations.tolist(), known["active"].tolist(), strict=True)
        ]
        now = dicts.copy()
        for row in np.flatnonzero(dones).tolist():
            dicts[row][LAST] = known["final_obs"][row]
            now[row] = self.reset_infos[row] = {}
        infos_into_dicts(infos, now, _NOT_NOW)
        final_infos_into_dicts(infos, dicts)
        return observations, rewards, dones, dicts

    # ---- single environments ----------------------------------------------------------------------------------------

    def env_is_wrapped(self, wrapper_class: type, indices: Any = None) -> list[bool]:
        """False of each row: environments with PettingZoo's API have no wrappers of Gymnasium's."""
        return [False] * len(self._lanes(indices))

    def get_images(self) -> Sequence[NDArray[np.uint8] | None]:
        """A picture of each lane; None without render_mode="rgb_array"."""
        return list(self.rows.render() or [None] * self.env.num_envs)
