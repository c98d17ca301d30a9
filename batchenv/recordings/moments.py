"""Running moments by which an env normalizes, which are in no snapshot."""

from __future__ import annotations

from typing import Any

import numpy as np

from batchenv.env.batch_env import BatchEnv

_OF = {"normalizer": "obs_rms", "reward_normalizer": "return_rms"}
_MORE = ("accumulated_reward", "_idle")


def moments_of(env: BatchEnv) -> dict[str, Any]:
    """Copies of them; {} where nothing is normalized."""
    found: dict[str, Any] = {}
    for name, inner in _OF.items():
        normalizer = getattr(env, name)
        if normalizer is None:
            continue
        rms = getattr(normalizer, inner)
        # The type of the count decides how NumPy rounds the moments: a float of Python's, or one of NumPy's.
        values = {"mean": np.array(rms.mean), "var": np.array(rms.var), "count": rms.count}
        values["update_running_mean"] = bool(normalizer.update_running_mean)
        values |= {key: np.array(getattr(normalizer, key)) for key in _MORE if hasattr(normalizer, key)}
        found[name] = values
    return found


def put_moments(env: BatchEnv, moments: dict[str, Any]) -> None:
    """Sets those that `moments_of` returned."""
    for name, values in moments.items():
        normalizer = getattr(env, name)
        rms = getattr(normalizer, _OF[name])
        for key in ("mean", "var"):
            setattr(rms, key, np.array(values[key]) if np.ndim(values[key]) else values[key][()])
        rms.count = values["count"]
        normalizer.update_running_mean = values["update_running_mean"]
        for key in _MORE:
            if key in values:
                setattr(normalizer, key, np.array(values[key]))


def same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether moments are the same, bit for bit."""
    return _bits(one) == _bits(other)


def _bits(moments: dict[str, Any]) -> list[Any]:
    return [
        value.tobytes() if isinstance(value, np.ndarray) else value
        for values in moments.values()
        for value in values.values()
    ]
