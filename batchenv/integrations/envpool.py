"""EnvPool's names for what batchenv has: docs/reference/from-envpool.md lists them, and what is different.

EnvPool's own package is neither needed nor looked at.
"""

from __future__ import annotations

import functools
from collections import namedtuple
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from gymnasium import spaces

from batchenv.catalog import list_envs

NO_GYM = (
    "EnvPool's 'gym' is Gymnasium's API, with five values from step: use make_gymnasium, or env_type='gymnasium'. For "
    "the API of gym before 0.26 (four values): batchenv.make(id, env_type='gym')"
)
_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


def takes_env_type(make: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
    """`make(env_id, num_envs, ...)`, which may also be called as EnvPool's is, with the env_type by position:
    make("Pong-v5", "gymnasium", num_envs=8)."""

    any_make: Callable[..., Any] = make

    @functools.wraps(make)
    def call(*arguments: Any, **keywords: Any) -> Any:
        if len(arguments) == 2 and isinstance(arguments[1], str):
            env_id, env_type = arguments
            if env_type == "gym":
                raise ValueError(NO_GYM)
            if "env_type" in keywords:
                raise TypeError(f"env_type is given twice: {env_type!r} and {keywords['env_type']!r}")
            return any_make(env_id, env_type=env_type, **keywords)
        return any_make(*arguments, **keywords)

    return call


class PoolSpec:
    """What `make_spec` returns: one lane's spaces, and the configuration.

    Attributes:
        observation_space, action_space: of one lane.
        reward_threshold: the id's, or None.
        config: `BatchEnv.config` as a namedtuple.
    """

    def __init__(self, env: Any):
        self.observation_space: spaces.Space = env.single_observation_space
        self.action_space: spaces.Space = env.single_action_space
        config = env.config
        self.config: Any = namedtuple("Config", list(config))(**config)
        self.reward_threshold = config["reward_threshold"]

    def observation_spec(self) -> Any:
        """dm_env's spec of one lane's observation; its field names are those of `DmBatchEnv`."""
        from batchenv.integrations.dm import observation_spec

        return observation_spec(self.observation_space, self.config.num_envs)

    def action_spec(self) -> Any:
        """dm_env's spec of one lane's action."""
        from batchenv.integrations.dm import action_spec

        return action_spec(self.action_space)

    def __repr__(self) -> str:
        return f"PoolSpec({self.observation_space}, {self.action_space}, {self.config})"


def list_all_envs() -> list[str]:
    """EnvPool's name for `batchenv.list_envs`."""
    return list_envs()
