"""rl_games: a BatchEnv as its `IVecEnv`, which `register` makes known to it."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from batchenv._core import dones_and_rewards
from batchenv.arguments.seeds import Seeds, check_seed
from batchenv.backend.protocol import InfoDict
from batchenv.backend.results import converted, parted
from batchenv.env import factory, wrapping
from batchenv.env.batch_env import BatchEnv
from batchenv.integrations import wrapped
from batchenv.integrations.wrapper import Wrapper, check_env
from batchenv.spaces import nested

try:
    from rl_games.common import env_configurations, vecenv
    from rl_games.common.ivecenv import IVecEnv
except ImportError as error:
    raise ImportError("env_type='rl_games' needs the package rl_games: pip install 'batchenv[rl-games]'") from error

ENV_TYPES = {"rl_games": "RlGamesBatchEnv"}


class RlGamesBatchEnv(Wrapper, IVecEnv):
    """A BatchEnv as rl_games expects it; `.env` is the BatchEnv.

    Autoreset is "SameStep", and has to be; the defaults of clip_actions and record_episode_statistics are True, and
    that of reward_dtype is "float32".

    Raises:
        ValueError: another autoreset mode, or a batch_size.
    """

    DEFAULTS = {
        "autoreset_mode": AutoresetMode.SAME_STEP,
        "clip_actions": True,
        "record_episode_statistics": True,
        "reward_dtype": "float32",
    }

    def __init__(self, env: BatchEnv):
        check_env(
            env,
            same_step="with rl_games, which trains on every row",
            together="with rl_games, which steps all lanes together",
        )
        super().__init__(env)
        wrapping.keep_infos_apart(env)  # nobody reads those of single environments
        self._next_seed: Any = None

    def seed(self, seed: Seeds) -> None:
        """Seeds the next `reset`, as its argument would in `BatchEnv.reset`.

        Raises:
            TypeError, ValueError: a wrong seed.
        """
        self._next_seed = check_seed(seed, self.num_envs)

    def reset(self) -> Any:
        """Starts new episodes in all lanes.

        Returns:
            observations (num_envs, ...), float32 in place of float64.
        """
        observations, _ = self.env.reset(seed=self._next_seed)
        self._next_seed = None
        return _narrow(observations)

    def step(self, actions: Any) -> tuple[Any, NDArray[np.float32], NDArray[np.bool_], dict[str, Any]]:
        """Takes one action per lane.

        Returns:
            observations (num_envs, ...), float32 in place of float64; rewards float32 (num_envs,); dones bool
            (num_envs,); and a dict. Its "time_outs" (num_envs,) bool says which episodes have been ended by the time
            limit alone; with `value_bootstrap: True` in its configuration rl_games adds a value there. A step that ends
            episodes adds "scores" (num_envs,), their returns.

        Raises:
            As `BatchEnv.step`.
        """
        return converted(self._step_result, self.env.step, np.asarray(actions))

    @staticmethod
    def _step_result(observations: Any, rewards: Any, terminations: Any, truncations: Any, infos: InfoDict) -> Any:
        dones, rewards = dones_and_rewards(terminations, truncations, rewards)
        info = {"time_outs": truncations > terminations}
        infos, _, _ = parted(infos)
        if "episode" in infos:
            info["scores"] = infos["episode"]["r"]
        return _narrow(observations), rewards, dones, info

    def render(self, mode: str = "human", lanes: Any = None) -> tuple[Any, ...] | None:
        """As `BatchEnv.render`. What is drawn was chosen by render_mode, and not by this mode, which players pass."""
        return self.env.render(lanes)

    # That of rl_games has no annotation, so that pyright takes it to return None.
    def get_env_info(self) -> dict[str, Any]:  # pyright: ignore[reportIncompatibleMethodOverride]
        """The spaces of one lane, and the autoreset mode."""
        return {
            "action_space": self.env.single_action_space,
            "observation_space": self.env.single_observation_space,
            "autoreset_mode": "same_step",
        }


def register(name: str = "batchenv") -> None:
    """Makes rl_games know batchenv: a configuration with `env_name: batchenv` and `env_config: {env_name: Ant-v5}` then
    trains on `num_actors` lanes. Other entries of env_config are keywords of `batchenv.make`.

    Args:
        name: the env_name in configurations.
    """

    def make_env(config_name: str, num_actors: int, *, env_name: str, **kwargs: Any) -> RlGamesBatchEnv:
        return wrapped(RlGamesBatchEnv, kwargs, partial(factory.make_env, env_name, num_actors))

    def make_one(*, env_name: str, **kwargs: Any) -> RlGamesBatchEnv:
        return wrapped(RlGamesBatchEnv, kwargs, partial(factory.make_env, env_name))

    vecenv.register("BATCHENV", make_env)
    env_configurations.register(name, {"env_creator": make_one, "vecenv_type": "BATCHENV"})


def _narrow(observations: Any) -> Any:
    """Texts, which have no dtype, stay as they are."""
    return nested.each(
        lambda part: part.astype(np.float32, copy=False) if getattr(part, "dtype", None) == np.float64 else part,
        observations,
    )
