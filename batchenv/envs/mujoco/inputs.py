"""What users may set of lanes at any time besides their actions: forces, and where mocap bodies are.

These are parts of MuJoCo's integration state, so snapshots hold them, and a reset puts them back.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

NAMES = ("qfrc_applied", "xfrc_applied", "mocap_pos", "mocap_quat")  # which of these parts `env.set_state` sets
_LEAST_LENGTH = 1e-14  # about that of quaternions that MuJoCo does not replace
_ALL = ("qfrc_applied", "xfrc_applied", "eq_active", "mocap_pos", "mocap_quat")  # lie together


def places(mujoco: Any, model: Any, names: Any) -> dict[str, tuple[int, int]]:
    """{name: (begin, end)} of parts of MuJoCo's integration states. They are in the order of their bits."""
    states = mujoco.mjtState
    bits = {name: int(getattr(states, f"mjSTATE_{name.upper()}")) for name in names}

    def size(signature: int) -> int:
        known = signature & int(states.mjSTATE_INTEGRATION)
        return int(mujoco.mj_stateSize(model, known)) if known else 0

    return {name: (size(bit - 1), size(2 * bit - 1)) for name, bit in bits.items()}


def span(mujoco: Any, model: Any, names: Any = _ALL) -> tuple[int, int]:
    """(begin, end) of parts that lie together, by default of all that a user may set."""
    ends = places(mujoco, model, names).values()
    return min(begin for begin, _ in ends), max(end for _, end in ends)


def views(mujoco: Any, model: Any, records: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
    """The lanes' inputs, {name: array (lanes, *shape in mjData)}; those of which the model has none are left out.

    records: rows that begin with a lane's integration state. The arrays are views of them.
    """
    data, at = mujoco.MjData(model), places(mujoco, model, NAMES)
    shapes = {name: getattr(data, name).shape for name in NAMES if getattr(data, name).size}
    return {name: records[:, slice(*at[name])].reshape(len(records), *shape) for name, shape in shapes.items()}


def check(name: str, rows: NDArray[np.float64], lanes: NDArray[np.int64]) -> None:
    """Raises ValueError if a lane cannot have this input. rows: one per lane."""
    for lane, row in zip(lanes.tolist(), rows, strict=True):
        if not np.isfinite(row).all():
            raise ValueError(f"{name} of lane {lane} must be finite numbers, got {row[~np.isfinite(row)][0]}")
        if name == "mocap_quat" and (np.abs(row).max(-1) < _LEAST_LENGTH).any():
            raise ValueError(f"mocap_quat of lane {lane} must be quaternions, not all 0")
