"""The API of gym before 0.26: `reset` returns observations only, `step` returns four values."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from batchenv.env import BatchEnv
from batchenv.integrations.wrapper import Wrapper
from batchenv.results import converted
from batchenv.seeds import check_seed, entropy


class GymBatchEnv(Wrapper):
    """A BatchEnv as old gym code expects it; `.env` is the BatchEnv, and attributes not found here are looked up there.

    Spaces are Gymnasium's, and batched: `single_observation_space` and `single_action_space` are a lane's.

    Autoreset is "SameStep" unless said otherwise, as gym's vector environments always had it: where `dones` is True the
    observation already is the next episode's first, and the last one of the old episode is in the info. "NextStep" is
    EnvPool's timing, and faster: the step after `dones` ignores its action and returns the first observation, with
    reward 0.
    "Disabled": finished lanes are for the caller to reset. (EnvPool's own "gym" has become another name for
    "gymnasium"; this one is the API that gym had.)
    """

    DEFAULTS = {"autoreset_mode": AutoresetMode.SAME_STEP}

    def __init__(self, env: BatchEnv):
        super().__init__(env)
        self._next_seed: Any = None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "env":
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self.env, name)

    def seed(self, seed: int | list[int | None] | None = None) -> None:
        """Seeds the next `reset`, as its argument would; None: from the operating system.

        Raises:
            TypeError, ValueError: a wrong seed.
        """
        self._next_seed = entropy() if seed is None else check_seed(seed, self.env.num_envs)

    def reset(
        self,
        env_id: Any = None,
        *,
        seed: int | list[int | None] | None = None,
        return_info: bool = False,
        options: dict[str, Any] | None = None,
    ) -> Any:
        """Starts new episodes.

        Args:
            env_id, seed, options: as `BatchEnv.reset` takes them. `seed` None: that of a call of `seed()` since the
                last reset.
            return_info: True: return (observations, infos), as gym 0.22 to 0.25 did.

        Returns:
            observations (num_envs, ...); with env_id, the rows of these lanes.
        """
        seed = self._next_seed if seed is None else seed
        observations, infos = self.env.reset(env_id, seed=seed, options=options)
        self._next_seed = None
        return (observations, infos) if return_info else observations

    def step(
        self, actions: Any, env_id: Any = None
    ) -> tuple[NDArray[Any], NDArray[np.float64], NDArray[np.bool_], dict[str, Any]]:
        """Takes one action per lane.

        Args:
            actions, env_id: as `BatchEnv.step` takes them.

        Returns:
            observations (num_envs, ...), rewards (num_envs,) float64, dones (num_envs,) bool: terminated or truncated,
            and the info, a dict of arrays (num_envs,) bool: "terminated", and "TimeLimit.truncated": ended by the time
            limit alone. With autoreset "SameStep", steps that end an episode add "final_obs" and "final_info" as
            Gymnasium has them, and "final_observation", gym's name for the former.

        Raises:
            As `BatchEnv.step`.
        """
        return self._old(self.env.step, actions, env_id)

    def recv(self, timeout: float | None = None):
        """The lanes that are finished first, after `send` or `async_reset`; `infos["env_id"]` says which.

        Returns:
            as `step`, with batch_size rows.

        Raises:
            As `BatchEnv.recv`.
        """
        return self._old(self.env.recv, timeout)

    def _old(self, call: Any, *arguments: Any):
        """What `call` returns, as four things."""
        return converted(self._four, call, *arguments)

    @staticmethod
    def _four(observations: Any, rewards: Any, terminations: Any, truncations: Any, infos: dict[str, Any]):
        infos["terminated"] = terminations
        infos["TimeLimit.truncated"] = truncations > terminations
        if "final_obs" in infos:
            infos["final_observation"], infos["_final_observation"] = infos["final_obs"], infos["_final_obs"]
        return observations, rewards, terminations | truncations, infos

    def __enter__(self) -> GymBatchEnv:
        return self

    def __exit__(self, *args: object) -> None:
        self.close()
