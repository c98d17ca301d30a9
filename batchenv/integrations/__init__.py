"""Other APIs around a BatchEnv."""

from __future__ import annotations

import importlib
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


def find_wrapper(env_type: Any) -> Any:
    """The class that `make(env_type=...)` wraps around a BatchEnv, or None for "gymnasium".

    Raises:
        ValueError: there is no such env_type.
        ImportError: the package of that API is missing; the message says how to install it.
    """
    if not isinstance(env_type, str) or env_type not in ENV_TYPES:
        *names, last = map(repr, ENV_TYPES)
        raise ValueError(f"env_type={env_type!r} must be {', '.join(names)} or {last}")
    if env_type not in _WRAPPERS:
        return None
    module, name = _WRAPPERS[env_type]
    return getattr(importlib.import_module(f"{__name__}.{module}"), name)
