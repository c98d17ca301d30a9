"""Checks settings of pictures, with which MuJoCo would otherwise end the process, or draw something else."""

from __future__ import annotations

from typing import Any

import numpy as np

from batchenv.arguments.messages import unknown_key
from batchenv.arguments.numbers import integer
from batchenv.envs.mujoco import library


def check_camera(config: dict[str, Any], model: Any) -> None:
    """Raises TypeError or ValueError for settings of a camera that this model cannot have."""
    mujoco, _ = library.load()
    known = [name for name in dir(mujoco.MjvCamera) if not name.startswith("_")]
    for name in config:
        if name not in known:
            raise ValueError(unknown_key(f"default_camera_config: no setting {name!r}", name, known))
    kinds = mujoco.mjtCamera
    kind = config.get("type", kinds.mjCAMERA_FREE)
    if kind not in (kinds.mjCAMERA_FREE, kinds.mjCAMERA_TRACKING, kinds.mjCAMERA_FIXED):
        raise ValueError(
            f"default_camera_config: type={kind!r} must be 0 (free), 1 (follows the body trackbodyid) or 2 (the camera "
            "fixedcamid of the model)"
        )
    for name, count, owner in (
        ("trackbodyid", model.nbody, kinds.mjCAMERA_TRACKING),
        ("fixedcamid", model.ncam, kinds.mjCAMERA_FIXED),
    ):
        if name in config or kind == owner:
            integer(f"default_camera_config: {name}", config.get(name, -1), 0 if kind == owner else -1, count - 1)
    for name in ("lookat", "distance", "azimuth", "elevation"):
        size = 3 if name == "lookat" else 1
        try:
            values = np.asarray(config.get(name, np.zeros(size)), np.float64)
        except (TypeError, ValueError):
            values = np.full(0, np.nan)
        if values.size != size or not np.isfinite(values).all():
            wanted = "three finite numbers" if size == 3 else "a finite number"
            raise ValueError(f"default_camera_config: {name}={config[name]!r} must be {wanted}")


def check_flags(flags: dict[Any, Any]) -> None:
    """Raises TypeError or ValueError for what is no table of MuJoCo's flags."""
    mujoco, _ = library.load()
    for flag, value in flags.items():
        number = isinstance(flag, (int, np.integer, mujoco.mjtVisFlag)) and not isinstance(flag, bool)
        if not number or int(flag) not in range(int(mujoco.mjtVisFlag.mjNVISFLAG)):
            raise ValueError(f"visual_options: {flag!r} must be a flag, such as mujoco.mjtVisFlag.mjVIS_JOINT")
        if not isinstance(value, (bool, np.bool_, int)) or value not in (0, 1):
            raise TypeError(f"visual_options: the value {value!r} of flag {flag!r} must be a bool")
