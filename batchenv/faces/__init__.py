"""Other APIs over a BatchEnv: the old gym's and dm_env's."""

from __future__ import annotations

from typing import Any

ENV_TYPES = ("gymnasium", "gym", "dm")


def face(env_type: Any) -> Any:
    """The class that `make(env_type=...)` puts around a BatchEnv; None for "gymnasium", which needs none.

    Raises:
        ValueError: there is no such env_type.
        ImportError: "dm" without the package dm_env.
    """
    if not isinstance(env_type, str) or env_type not in ENV_TYPES:
        raise ValueError(f"env_type={env_type!r} must be 'gymnasium', 'gym' or 'dm'")
    if env_type == "gym":
        from batchenv.faces.gym import GymBatchEnv

        return GymBatchEnv
    if env_type == "dm":
        from batchenv.faces.dm import DmBatchEnv

        return DmBatchEnv
    return None
