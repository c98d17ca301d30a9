"""Other APIs around a BatchEnv."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

# What `make(env_type=...)` wraps around a BatchEnv: a module of this package, and a class in it, which is called with
# the BatchEnv. Its DEFAULTS are keywords of the BatchEnv that have other defaults with this API; its KEYWORDS are names
# of keywords that it takes itself.
_WRAPPERS = {
    "gym": ("gym", "GymBatchEnv"),
    "envpool_gym": ("gym", "PoolBatchEnv"),
    "dm": ("dm", "DmBatchEnv"),
    "sb3": ("sb3", "BatchVecEnv"),
    "torch": ("torch", "TorchBatchEnv"),
    "torchrl": ("torchrl", "TorchRLBatchEnv"),
    "rl_games": ("rl_games", "RlGamesBatchEnv"),
    "tianshou": ("tianshou", "TianshouBatchEnv"),
}
ENV_TYPES = ("gymnasium", *_WRAPPERS)
# Likewise what `make_parallel(env_type=...)` wraps around a ParallelBatchEnv.
_PLAYER_WRAPPERS = {
    "gymnasium": ("player_rows", "PlayerVectorEnv"),
    "sb3": ("sb3_players", "PlayerVecEnv"),
}


def find_wrapper(env_type: Any) -> Any:
    """The class that `make(env_type=...)` wraps around a BatchEnv, or None for "gymnasium".

    Raises:
        ValueError: there is no such env_type.
        ImportError: the package of that API is missing; the message says how to install it.
    """
    return _find(env_type, "gymnasium", _WRAPPERS)


def find_player_wrapper(env_type: Any) -> Any:
    """The class that `make_parallel(env_type=...)` wraps around a ParallelBatchEnv, or None for "pettingzoo".

    Raises:
        As `find_wrapper`.
    """
    return _find(env_type, "pettingzoo", _PLAYER_WRAPPERS)


def _find(env_type: Any, plain: str, wrappers: dict[str, tuple[str, str]]) -> Any:
    if isinstance(env_type, str) and env_type == plain:
        return None
    if not isinstance(env_type, str) or env_type not in wrappers:
        *names, last = map(repr, (plain, *wrappers))
        raise ValueError(f"env_type={env_type!r} must be {', '.join(names)} or {last}")
    module, name = wrappers[env_type]
    return getattr(importlib.import_module(f"{__name__}.{module}"), name)


def wrapped(wrap: Any, kwargs: dict[str, Any], make_env: Callable[..., Any]) -> Any:
    """What `make_env` makes of those of `kwargs` that are not the wrapper's own, in this wrapper (None: in none)."""
    if wrap is None:
        return make_env(**kwargs)
    own = {name: value for name, value in kwargs.items() if name in wrap.KEYWORDS}
    env = make_env(**{**wrap.DEFAULTS, **{name: value for name, value in kwargs.items() if name not in own}})
    try:
        return wrap(env, **own)
    except BaseException:
        env.close()
        raise
