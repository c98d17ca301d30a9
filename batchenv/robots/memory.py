"""What was some steps ago."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from batchenv.arguments.numbers import integer

if TYPE_CHECKING:
    from batchenv.envs.mujoco.vectorized.view import Lanes


class History:
    """The last values of something, for observations.

    Call `add` in the task's update, and `rows` in its observe, both with the present values (n, size). When an episode
    starts, its first values stand for those before.

    Args:
        name: lanes.NAME_history is where they are.
        steps: how many.
        size: how many numbers each value has.
    """

    def __init__(self, name: str, steps: int, size: int):
        self._name, self._size = name, integer("size", size, 1, None)
        self._steps = integer("steps", steps, 1, None)
        self.state: dict[str, ArrayLike] = {f"{name}_history": np.zeros(steps * size), f"{name}_known": False}

    def add(self, lanes: Lanes, values: ArrayLike) -> None:
        """Takes the values of this step, and forgets the oldest."""
        history = getattr(lanes, f"{self._name}_history")
        history[:, : -self._size] = history[:, self._size :].copy()
        history[:, -self._size :] = self._checked(lanes, values)

    def rows(self, lanes: Lanes, values: ArrayLike) -> NDArray[np.float64]:
        """The last values, the oldest first: (n, steps * size)."""
        history, known = (getattr(lanes, f"{self._name}_{part}") for part in ("history", "known"))
        if not known.all():
            history[~known] = np.tile(self._checked(lanes, values), self._steps)[~known]
            known[:] = True
        return history.copy()

    def _checked(self, lanes: Lanes, values: ArrayLike) -> NDArray[np.float64]:
        values = np.asarray(values, np.float64)
        if values.shape != (len(lanes), self._size):
            raise ValueError(
                f"values of {self._name} are of shape {values.shape}, but must be of shape {(len(lanes), self._size)}"
            )
        return values


class Delay:
    """Actions that reach the robot late: each lane's by a number of MuJoCo's steps that is drawn for each episode.

    Call `start` in the task's start, `control` in its control, and `recontrol` in its recontrol: the latter two return
    the actions that are there by then, (n, size). Before the first action arrives, they are 0.

    Args:
        size: how many numbers an action has.
        most: the largest number of MuJoCo's steps.
        least: the smallest.
        name: what its states' names begin with.
    """

    def __init__(self, size: int, most: int, *, least: int = 0, name: str = "delay"):
        self._size, self._most = integer("size", size, 1, None), integer("most", most, 0, None)
        self._least, self._name = integer("least", least, 0, most), name
        self.state: dict[str, ArrayLike] = {
            f"{name}_actions": np.zeros((most + 1) * size),  # the latest first: as many as a frame_skip of 1 needs
            f"{name}_steps": 0,
        }

    def start(self, lanes: Lanes) -> None:
        """Draws by how many steps actions come late in this episode."""
        getattr(lanes, f"{self._name}_steps")[:] = lanes.integers(self._least, self._most + 1)

    def control(self, lanes: Lanes, actions: ArrayLike) -> NDArray[np.float64]:
        """The actions for the first of MuJoCo's steps."""
        kept = getattr(lanes, f"{self._name}_actions")
        needed = (-(-self._most // lanes.frame_skip) + 1) * self._size
        kept[:, self._size : needed] = kept[:, : needed - self._size].copy()
        kept[:, : self._size] = actions
        return self._at(lanes, 0)

    def recontrol(self, lanes: Lanes, step: int) -> NDArray[np.float64]:
        """The actions for MuJoCo's step number `step`, as the task's recontrol has it."""
        return self._at(lanes, step)

    def _at(self, lanes: Lanes, step: int) -> NDArray[np.float64]:
        kept, late = (getattr(lanes, f"{self._name}_{part}") for part in ("actions", "steps"))
        ago = np.maximum(-(-(late - step) // lanes.frame_skip), 0)  # how many actions ago, rounded up
        return kept.reshape(len(lanes), -1, self._size)[np.arange(len(lanes)), ago]
