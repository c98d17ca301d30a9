"""Velocities that a robot is asked to have."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from batchenv.arguments.numbers import Range, check_range, number
from batchenv.robots.formulas import wrap, yaw_of
from batchenv.robots.parts import check_share

if TYPE_CHECKING:
    from batchenv.envs.mujoco.vectorized.view import Lanes

_LARGEST_SCALE = 1e6


class Commands:
    """Velocities forwards (m/s), to the left (m/s) and around the vertical (rad/s), drawn from uniform distributions
    when an episode starts and again each time when they are over.

    Call `start` in the task's start, and `update` in its update: then `lanes.command` (n, 3) are the commands.

    Args:
        forwards, left, turn: the least and the largest velocity.
        seconds: the shortest and the longest time that a command is kept.
        standing: the share of commands that ask to stand: all 0.
        heading: the least and the largest direction (rad, in the world). If it is given, turning rates are such that
            the robot, whose model begins with a free joint, comes to head there: within `turn`, and as large as
            `heading_gain` (1/s) says. `heading_share`: the share of commands that have such a direction.
        name: what lanes.NAME is called. Its other states begin with that.
    """

    def __init__(
        self,
        forwards: Range = (-1.0, 1.0),
        left: Range = (-1.0, 1.0),
        turn: Range = (-1.0, 1.0),
        *,
        seconds: Range = (5.0, 10.0),
        standing: float = 0.0,
        heading: Range | None = None,
        heading_gain: float = 0.5,
        heading_share: float = 1.0,
        name: str = "command",
    ):
        ranges = check_range("forwards", forwards), check_range("left", left), check_range("turn", turn)
        self._low, self._high = np.array(ranges).T
        self._seconds = check_range("seconds", seconds, 0)
        self._standing, self._share = check_share("standing", standing), check_share("heading_share", heading_share)
        self._heading = None if heading is None else check_range("heading", heading)
        self._gain = number("heading_gain", heading_gain)
        self._name = name
        self.state: dict[str, ArrayLike] = {name: np.zeros(3), f"{name}_seconds": 0.0}
        if heading is not None:
            self.state |= {f"{name}_heading": 0.0, f"{name}_heads": False}

    def start(self, lanes: Lanes, scale: ArrayLike = 1.0) -> None:
        """Draws the first commands. scale: what the velocities are multiplied by, (n,) or for all lanes the same."""
        self._draw(lanes, np.ones(len(lanes), bool), scale)
        self._head(lanes, scale)

    def update(self, lanes: Lanes, scale: ArrayLike = 1.0) -> None:
        """Draws the commands anew whose time is over."""
        left = getattr(lanes, f"{self._name}_seconds")
        left -= lanes.dt
        self._draw(lanes, left <= 1e-9, scale)
        self._head(lanes, scale)

    def _draw(self, lanes: Lanes, due: NDArray[np.bool_], scale: ArrayLike) -> None:
        # All lanes draw, so that a lane's random numbers do not depend on how the others are.
        scale = np.broadcast_to(np.asarray(scale, np.float64), len(lanes))
        if not (np.abs(scale) <= _LARGEST_SCALE).all():
            raise ValueError(f"scale={scale[~(np.abs(scale) <= _LARGEST_SCALE)][0]} must be a finite number")
        drawn = lanes.uniform(size=5 if self._heading is None else 7)
        command = (self._low + (self._high - self._low) * drawn[:, :3]) * scale[:, None]
        command[drawn[:, 3] < self._standing] = 0
        seconds = self._seconds[0] + (self._seconds[1] - self._seconds[0]) * drawn[:, 4]
        values = {self._name: command, f"{self._name}_seconds": seconds}
        if self._heading is not None:
            low, high = self._heading
            heads = (drawn[:, 5] < self._share) & (drawn[:, 3] >= self._standing)
            values |= {f"{self._name}_heading": low + (high - low) * drawn[:, 6], f"{self._name}_heads": heads}
        for name, value in values.items():
            getattr(lanes, name)[due] = value[due]

    def _head(self, lanes: Lanes, scale: ArrayLike) -> None:
        if self._heading is None:
            return
        wanted, heads = (getattr(lanes, f"{self._name}_{part}") for part in ("heading", "heads"))
        rate = self._gain * wrap(wanted - yaw_of(lanes.qpos[:, 3:7]))
        ends = np.multiply(self._low[2], scale), np.multiply(self._high[2], scale)
        rate = np.clip(rate, np.minimum(*ends), np.maximum(*ends))
        command = getattr(lanes, self._name)
        command[heads, 2] = rate[heads]
