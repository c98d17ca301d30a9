"""EnvPool's names for what batchenv has: docs/from-envpool.md lists them, and what is different.

EnvPool's own package is neither needed nor looked at.
"""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from batchenv._core import LaneError
from batchenv.registry import list_envs
from batchenv.transforms import flag
from batchenv.values import brief, integer

# Keywords that can have one value here: that value, and what there is instead of the others.
_COMMON = {
    "max_num_players": (1, "players=2 makes a game for two, where the game has one (docs/atari.md)"),
    "gym_reset_return_info": (True, "env_type='gym' is the API whose reset() returns observations alone"),
}
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
    """The keywords of `make` with EnvPool's put into batchenv's terms, for an environment of this extra.

    Raises:
        TypeError: a wrong type, or a thing said twice.
        ValueError: a value that cannot be had here; the message says what there is instead.
    """
    result = dict(given)
    for name, (only, instead) in {**_COMMON, **(_ATARI if extra == "atari" else {})}.items():
        if name not in result:
            continue
        value = result.pop(name)
        value = flag(name, value) if isinstance(only, bool) else integer(name, value, 1, None)
        if value != only:
            raise ValueError(f"{name}={value!r} cannot be had, only {only!r}: {instead}")
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


class PoolNames:
    """EnvPool's attributes of an env that can be said in a line."""

    num_envs: int

    def __len__(self) -> int:
        return self.num_envs

    @property
    def all_env_ids(self) -> NDArray[np.int64]:
        """0, 1, ..., num_envs - 1: every lane's number."""
        return np.arange(self.num_envs)


class Pool(PoolNames):
    """The part of BatchEnv that has EnvPool's names."""

    _arguments: dict[str, Any]
    _keywords: dict[str, Any]

    @property
    def config(self) -> dict[str, Any]:
        """What this env was made with, {keyword: value}, defaults included; parameters as they are now."""
        values = {**self._arguments, "batch_size": self.batch_size, **self._keywords, **self.get_params()}
        return {**values, "reward_threshold": None if self.spec is None else self.spec.reward_threshold}

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
        except LaneError as error:
            error.result = _of_lanes(error.result, lanes)
            raise
        return _of_lanes(result, lanes)


def _of_lanes(result: tuple[Any, dict[str, Any]], lanes: NDArray[Any]) -> tuple[Any, dict[str, Any]]:
    """The rows of these lanes in what `reset` returns."""
    observations, infos = result
    return _rows(observations, lanes), {**_rows(infos, lanes), "env_id": lanes.astype(np.int64)}


def _rows(value: Any, lanes: NDArray[Any]) -> Any:
    """The rows of these lanes, of arrays in tuples and dicts too."""
    if isinstance(value, dict):
        return {key: _rows(part, lanes) for key, part in value.items()}
    if isinstance(value, tuple):
        return tuple(_rows(part, lanes) for part in value)
    return value[lanes]


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
        from batchenv.faces.dm import observation_spec

        return observation_spec(self.observation_space, self.config.num_envs)

    def action_spec(self) -> Any:
        """dm_env's spec of one lane's action."""
        from batchenv.faces.dm import action_spec

        return action_spec(self.action_space)

    def __repr__(self) -> str:
        return f"PoolSpec({self.observation_space}, {self.action_space}, {self.config})"


def list_all_envs() -> list[str]:
    """EnvPool's name for `batchenv.list_envs`."""
    return list_envs()
