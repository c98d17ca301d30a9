"""What all APIs around a BatchEnv share."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from batchenv.env.batch_env import BatchEnv


def check_env(env: BatchEnv, *, same_step: str, together: str | None = None, copy: str | None = None) -> None:
    """Refuses an env that was made in a way that an API cannot use.

    Args:
        env: the BatchEnv.
        same_step: why its autoreset mode must be "SameStep", as the end of a sentence.
        together: why it must have no batch_size; None: it may have one.
        copy: why it must not be made with `copy=False`; None: it may be.

    Raises:
        ValueError: it is otherwise.
    """
    if env.autoreset_mode is not AutoresetMode.SAME_STEP:
        raise ValueError(f"autoreset_mode={env.autoreset_mode.value!r} must be 'SameStep' {same_step}")
    if together is not None and env.is_async:
        raise ValueError(f"batch_size={env.batch_size} must be num_envs={env.num_envs} {together}")
    if copy is not None and not env.config.get("copy", True):
        raise ValueError(f"copy=False cannot be used {copy}")


class Wrapper:
    """Another API around a BatchEnv, which is its `.env`.

    DEFAULTS: keywords of the BatchEnv that have other defaults with this API than with `make`.
    KEYWORDS: names of keywords of `make` that this class takes, and not the BatchEnv.

    Attributes:
        env: the BatchEnv.
        num_envs: number of lanes.
    """

    DEFAULTS: dict[str, Any] = {}
    KEYWORDS: tuple[str, ...] = ()

    def __init__(self, env: BatchEnv):
        self.env = env
        self.num_envs = env.num_envs

    def __len__(self) -> int:
        return self.num_envs

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.env!r})"

    @property
    def all_env_ids(self) -> NDArray[np.int64]:
        """As `BatchEnv.all_env_ids`."""
        return self.env.all_env_ids

    @property
    def config(self) -> dict[str, Any]:
        """As `BatchEnv.config`."""
        return self.env.config

    def close(self) -> None:
        """Releases the lanes and the window."""
        self.env.close()


class Forwarding(Wrapper):
    """A wrapper that has the attributes of its BatchEnv, too, and may be the context manager of a `with` block."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "env":
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self.env, name)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *args: object) -> None:
        self.close()
