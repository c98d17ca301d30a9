"""Which arrays of mjData a lane keeps from step to step in addition to MuJoCo's integration state."""

from __future__ import annotations

from typing import Any

from batchenv import _core


def enabled(mujoco: Any, model: Any, name: str) -> bool:
    """Whether a flag, as "ENERGY", is enabled. Older versions of MuJoCo do not have all of them."""
    flag = getattr(mujoco.mjtEnableBit, f"mjENBL_{name}", None)
    return flag is not None and bool(model.opt.enableflags & int(flag))


def sleeps(mujoco: Any, model: Any) -> bool:
    """Whether bodies may sleep: then steps leave what belongs to sleeping bodies as it is."""
    return enabled(mujoco, model, "SLEEP")


def lags(mujoco: Any, model: Any) -> bool:
    """Whether a sensor of kinetic energy shows that of the step before: sensors of its stage are computed before it."""
    kinetic = int(mujoco.mjtSensor.mjSENS_E_KINETIC)
    return enabled(mujoco, model, "ENERGY") and bool((model.sensor_type == kinetic).any())


_WHEN = {
    "energy": lags,
    # Computed only in steps in which there are constraints.
    "qfrc_inverse": lambda mujoco, model: enabled(mujoco, model, "FWDINV"),
    # The contacts of flexes start from those of the step before.
    "flexvert_lambda": lambda mujoco, model: enabled(mujoco, model, "IPC"),
    "flexvert_conage": lambda mujoco, model: enabled(mujoco, model, "IPC"),
}


def sizes(mujoco: Any, model: Any, data: Any) -> list[int]:
    """How many bytes of each of `_core.MUJOCO_KEPT` a lane of this model keeps; `data` is an mjData of it."""
    return [
        getattr(data, name).nbytes if hasattr(data, name) and _WHEN.get(name, sleeps)(mujoco, model) else 0
        for name in _core.MUJOCO_KEPT
    ]
