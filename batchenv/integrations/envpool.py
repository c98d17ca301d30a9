"""EnvPool's names for what batchenv has: docs/from-envpool.md lists them, and what is different.

EnvPool's own package is neither needed nor looked at.
"""

from __future__ import annotations

import functools
from collections import namedtuple
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from gymnasium import spaces

from batchenv.registry import list_envs
from batchenv.transforms import flag
from batchenv.values import integer

# Keywords that can have only one value here: that value, and what to use instead of the others.
_COMMON = {
    "max_num_players": (1, "players=2 makes a game for two, where the game has one (docs/atari.md)"),
    "gym_reset_return_info": (True, "env_type='gym' is the API whose reset() returns observations alone"),
}
COMMON = (*_COMMON, "thread_affinity_offset")  # the keywords that `keywords` translates for every environment
_ATARI = {
    "gray_scale": (
        True,
        "obs_type='rgb' gives colours, of shape (stack_num, height, width, 3), not (3 * stack_num, height, width)",
    ),
    "use_inter_area_resize": (True, "frames are always resized by area"),
    "zero_discount_on_life_loss": (
        False,
        "infos['life_lost'] says where a life was lost, and episodic_life=True ends episodes there",
    ),
}


def keywords(extra: str | None, given: dict[str, Any]) -> dict[str, Any]:
    """The keywords of `make`, with EnvPool's translated into batchenv's, for an environment of this extra.

    Raises:
        TypeError: a wrong type, or two keywords for the same thing.
        ValueError: a value that batchenv does not support; the message says what to use instead.
    """
    result = dict(given)
    for name, (only, instead) in {**_COMMON, **(_ATARI if extra == "atari" else {})}.items():
        if name not in result:
            continue
        value = result.pop(name)
        value = flag(name, value) if isinstance(only, bool) else integer(name, value, 1, None)
        if value != only:
            raise ValueError(f"{name}={value!r} is not supported, only {only!r} is: {instead}")
        if name == "gray_scale" and result.setdefault("obs_type", "grayscale") != "grayscale":
            raise TypeError(
                f"gray_scale=True and obs_type={result['obs_type']!r} contradict each other: give one of them"
            )
    if "thread_affinity_offset" in result:
        offset = integer("thread_affinity_offset", result.pop("thread_affinity_offset"), -1, None, "; -1: no pinning")
        if "thread_affinity" in result:
            raise TypeError("thread_affinity_offset says what thread_affinity says: give one of them")
        if offset >= 0:
            result["thread_affinity"] = offset
    for name in ("mode", "difficulty") if extra == "atari" else ():
        if type(result.get(name)) is int and result[name] == -1:
            result[name] = None  # the game's own
    return result


NO_GYM = (
    "EnvPool's 'gym' is Gymnasium's API, with five values from step: use make_gymnasium, or env_type='gymnasium'. For "
    "the API of gym before 0.26 (four values): batchenv.make(id, env_type='gym')"
)
_Arguments, _Result = ParamSpec("_Arguments"), TypeVar("_Result")


def takes_env_type(make: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
    """`make(env_id, num_envs, ...)`, which may also be called as EnvPool's is, with the env_type by position:
    make("Pong-v5", "gymnasium", num_envs=8)."""

    @functools.wraps(make)
    def call(*arguments: Any, **keywords: Any) -> Any:
        if len(arguments) == 2 and isinstance(arguments[1], str):
            env_id, env_type = arguments
            if env_type == "gym":
                raise ValueError(NO_GYM)
            if "env_type" in keywords:
                raise TypeError(f"env_type is given twice: {env_type!r} and {keywords['env_type']!r}")
            return make(env_id, env_type=env_type, **keywords)
        return make(*arguments, **keywords)

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
        self.config = namedtuple("Config", config)(**config)
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
