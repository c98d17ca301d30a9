"""Arguments of BatchEnv that are neither numbers nor seeds, checked."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from batchenv import _core
from batchenv.arguments.numbers import brief, integer

MAX_ENVS = 2**31 - 1


def check_autoreset(value: Any) -> AutoresetMode:
    """The autoreset mode that `value` is or names. Raises ValueError if there is no such mode."""
    try:
        return AutoresetMode(value)
    except ValueError:
        names = ", ".join(repr(mode.value) for mode in AutoresetMode)
        raise ValueError(
            f"autoreset_mode={value!r} must be a gymnasium.vector.AutoresetMode or one of {names}"
        ) from None


def affinity(value: Any, workers: int) -> list[int] | None:
    """The CPU for each worker that thread_affinity=value asks for; None: no worker is bound.

    Raises:
        TypeError, ValueError: it is neither None, an int (an offset into the CPUs this process may use) nor a list of
            such CPUs.
    """
    if value is None:
        return None
    allowed = _core.usable_cpus()
    if not isinstance(value, (list, tuple, range)) and np.ndim(value) == 0:
        offset = integer("thread_affinity", value, 0, None, "; or a list of CPUs")
        return [allowed[(offset + i) % len(allowed)] for i in range(workers)]
    cpus = [integer(f"thread_affinity[{i}]", cpu, 0, None) for i, cpu in enumerate(value)]
    for cpu in cpus:
        if cpu not in allowed:
            raise ValueError(f"thread_affinity={value!r} names CPU {cpu}, but this process may use {allowed}")
    if not cpus:
        raise ValueError("thread_affinity=[] names no CPU; None leaves the choice to the system")
    return [cpus[i % len(cpus)] for i in range(workers)]


def check_options(options: Any, count: int) -> tuple[NDArray[np.bool_] | None, dict[str, Any] | None]:
    """Divides a reset's options: returns their "reset_mask" (or None) and a dict of the others (None: no options).

    Raises:
        TypeError, ValueError: a wrong mask, or no dict.
    """
    if options is None:
        return None, None
    if not isinstance(options, dict):
        raise TypeError(f"options={options!r} must be a dict or None, not {type(options).__name__}")
    values = {key: value for key, value in options.items() if key != "reset_mask"}
    if "reset_mask" not in options:
        return None, values
    mask = options["reset_mask"]
    if not isinstance(mask, np.ndarray):
        raise TypeError(f"`options['reset_mask']` must be a numpy array, got {type(mask)}")
    if mask.shape != (count,):
        raise ValueError(f"`options['reset_mask']` must have shape `({count},)`, got {mask.shape}")
    if mask.dtype != np.bool_:
        raise TypeError(f"`options['reset_mask']` must have `dtype=np.bool_`, got {mask.dtype}")
    if not mask.any():
        raise ValueError(
            f"`options['reset_mask']` must contain a boolean array with at least one True value, got reset_mask={mask}"
        )
    return mask, values


def check_env_id(env_id: Any, options: Any, count: int) -> NDArray[Any]:
    """The lanes of `reset(env_id, options=options)`, each once, in their order.

    Raises:
        TypeError, ValueError: they are no lanes, or are named by a mask as well.
    """
    if not isinstance(env_id, (list, tuple, np.ndarray)):
        raise TypeError(
            f"env_id={env_id!r} must be a list or array of lanes; a seed is given by its name, reset(seed=...)"
        )
    if isinstance(options, dict) and "reset_mask" in options:
        raise TypeError("env_id says what options['reset_mask'] says: give one of them")
    lanes = np.asarray(env_id)
    wrong = lanes.ndim != 1 or lanes.dtype.kind not in "iu" or not len(lanes)
    if wrong or ((lanes < 0) | (lanes >= count)).any() or len(np.unique(lanes)) != len(lanes):
        raise ValueError(f"env_id={brief(env_id)} must be some of the lanes 0..{count - 1}, as integers, each once")
    return lanes
