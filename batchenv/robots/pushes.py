"""Pushes that a robot has to withstand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from batchenv.arguments.numbers import Range, check_range
from batchenv.envs.mujoco import library, reads

if TYPE_CHECKING:
    from batchenv.envs.mujoco.vectorized.view import Lanes


class Pushes:
    """Forces on a body, now and then, in random horizontal directions. Each lasts a while, and would change the
    velocity of the body, and of what hangs on it, by a speed that is drawn, if nothing held it and its masses were
    those of the task's model.

    Call `start` in the task's start, and `control` in its control. The force is in `lanes.push_force` (n, 3), N, and in
    `lanes.xfrc_applied`.

    Args:
        model: the task's model.
        body: the body's name.
        speed: the least and the largest change of velocity, m/s.
        seconds: the shortest and the longest time of a push, rounded up to whole steps of the env.
        wait: the shortest and the longest time before the first push and between two.
        name: what its states' names begin with.
    """

    def __init__(
        self,
        model: Any,
        body: str,
        speed: Range = (0.0, 1.0),
        *,
        seconds: Range = (0.1, 0.2),
        wait: Range = (5.0, 10.0),
        name: str = "push",
    ):
        names = reads.names(library.load()[0], model, "body")
        if body not in names:
            raise ValueError(reads.unknown_thing("body", body, names))
        self._body, self._mass = body, float(model.body_subtreemass[names.index(body)])
        self._speed, self._wait = check_range("speed", speed, 0), check_range("wait", wait, 0)
        self._seconds = check_range("seconds", seconds, 0)
        self._name = name
        self.state: dict[str, ArrayLike] = {f"{name}_force": np.zeros(3), f"{name}_seconds": 0.0, f"{name}_on": False}

    def start(self, lanes: Lanes) -> None:
        """Draws when the first push comes."""
        getattr(lanes, f"{self._name}_seconds")[:] = lanes.uniform(*self._wait)

    def control(self, lanes: Lanes) -> None:
        """Lets pushes begin and end, and writes the forces of this step."""
        force, left, on = (getattr(lanes, f"{self._name}_{part}") for part in ("force", "seconds", "on"))
        before, drawn = force.copy(), lanes.uniform(size=4)
        due = left <= 1e-9
        ends, begins = due & on, due & ~on
        left[ends] = (self._wait[0] + (self._wait[1] - self._wait[0]) * drawn[:, 0])[ends]
        force[ends] = 0
        seconds = self._seconds[0] + (self._seconds[1] - self._seconds[0]) * drawn[:, 1]
        seconds = np.maximum(np.ceil(seconds / lanes.dt - 1e-9), 1) * lanes.dt
        speed = self._speed[0] + (self._speed[1] - self._speed[0]) * drawn[:, 2]
        angle = 2 * np.pi * drawn[:, 3]
        size = self._mass * speed / seconds
        pushed = np.stack([size * np.cos(angle), size * np.sin(angle), np.zeros(len(lanes))], axis=1)
        left[begins], force[begins] = seconds[begins], pushed[begins]
        on[due] = begins[due]
        left -= lanes.dt
        applied = np.array(lanes.body(self._body).xfrc_applied)
        applied[:, :3] += force - before  # others may push the same body
        lanes.body(self._body).xfrc_applied = applied
