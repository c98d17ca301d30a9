"""How a robot uses its feet."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from batchenv.arguments.numbers import integer

if TYPE_CHECKING:
    from batchenv.envs.mujoco.vectorized.view import Lanes


class Steps(NamedTuple):
    """What feet have done in a step of the env: arrays (n, feet)."""

    contact: NDArray[np.bool_]  # it is on the floor
    landed: NDArray[np.bool_]  # and was not so at the end of the step before
    lifted: NDArray[np.bool_]  # it was on the floor, and is not any more
    air_time: NDArray[np.float64]  # s for which one that has landed was in the air; 0 for others
    peak: NDArray[np.float64]  # how high one that has landed had been, m; 0 for others


class Feet:
    """Remembers for how long each foot has been in the air (`lanes.feet_air_time`) or on the floor
    (`lanes.feet_contact_time`), in seconds, and how high it has been since it left the floor (`lanes.feet_peak`).

    Call `step` once a step, in the task's reward. In the first step of an episode nothing has landed or been lifted.

    Args:
        count: how many feet there are.
        name: what its states' names begin with.
    """

    def __init__(self, count: int, name: str = "feet"):
        integer("count", count, 1, None)
        self._name, zeros = name, np.zeros(count)
        self.state: dict[str, ArrayLike] = {
            f"{name}_air_time": zeros,
            f"{name}_contact_time": zeros,
            f"{name}_peak": zeros,
            f"{name}_seen": False,
        }

    def step(self, lanes: Lanes, contact: ArrayLike, height: ArrayLike = 0.0) -> Steps:
        """contact: whether each foot is on the floor, (n, feet); numbers other than 0 mean yes. height: where each foot
        is, m, (n, feet)."""
        air, ground, peak = (getattr(lanes, f"{self._name}_{part}") for part in ("air_time", "contact_time", "peak"))
        seen = getattr(lanes, f"{self._name}_seen")
        down = np.not_equal(contact, 0)
        if down.shape != air.shape:
            raise ValueError(
                f"contact is of shape {down.shape}, but must be of shape {air.shape}: a column for each foot"
            )
        before = seen[:, None]
        landed, lifted = before & down & (ground == 0), before & ~down & (ground > 0)
        height = np.broadcast_to(np.asarray(height, np.float64), air.shape)
        peak[:] = np.where(before, np.maximum(peak, height), height)
        air += lanes.dt
        result = Steps(down, landed, lifted, np.where(landed, air, 0.0), np.where(landed, peak, 0.0))
        ground[:] = np.where(down, ground + lanes.dt, 0)
        air[down] = 0
        peak[down] = height[down]
        seen[:] = True
        return result
