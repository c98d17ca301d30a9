"""What has become of lanes whose envs may fail, and whose processes may die: a state per lane, and one table of what
changes it."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray


class LaneState(IntEnum):
    """Of a lane, between two of its results."""

    RUNNING = 0  # nothing is wrong
    FAILED = 1  # its env has raised an exception, which comes with its next result
    LOST = 2  # its process has died, which comes with its next result; a new process is there
    LOST_LATER = 3  # likewise, but there is a result from before the process died, and that comes first
    RESTARTED = 4  # it is in a new process, and has not been reset there: its next step does that


class Event(IntEnum):
    """What happens to a lane."""

    FAILURE = 0  # its env has raised an exception
    DEATH = 1  # its process has died
    LATE_DEATH = 2  # so it has, after the lane's result had come
    RESULT = 3  # the user gets its result, with its failure
    DROP = 4  # what has been reported is dropped, since all lanes are about to be reset
    RESET = 5  # its process is asked to reset it, or to put it into another state


_RUNNING, _FAILED, _LOST, _LATER, _RESTARTED = LaneState
_NEXT = np.array(  # [event, state before]
    [
        # RUNNING, FAILED, LOST, LOST_LATER, RESTARTED
        (_FAILED, _FAILED, _LOST, _LATER, _LOST),  # FAILURE
        (_LOST, _LOST, _LOST, _LOST, _LOST),  # DEATH
        (_LATER, _LOST, _LOST, _LATER, _LATER),  # LATE_DEATH
        (_RUNNING, _RUNNING, _RESTARTED, _LOST, _RESTARTED),  # RESULT
        (_RUNNING, _RUNNING, _RESTARTED, _RESTARTED, _RESTARTED),  # DROP
        (_RUNNING, _RUNNING, _RUNNING, _RUNNING, _RUNNING),  # RESET
    ],
    np.uint8,
)


class LaneStates:
    """The states of all lanes, and the exceptions that are to be raised with their results.

    Attributes:
        all_running: whether nothing is wrong with any lane. May be set to False until the next note, or `check`.
    """

    def __init__(self, count: int):
        self.all_running = True
        self._states = np.zeros(count, np.uint8)
        self._causes: dict[int, BaseException] = {}

    def are_running(self, lanes: range) -> bool:
        """Whether nothing is wrong with these lanes."""
        return not self._states[lanes.start : lanes.stop].any()

    def is_lost(self, lane: int) -> bool:
        """Whether a lane's process has died since its last result."""
        return self._states[lane] == LaneState.LOST

    def not_reset(self, lanes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Those of these lanes that have not been reset in their present processes."""
        return lanes[self._states[lanes] >= LaneState.LOST]

    def cause(self, lane: int) -> BaseException:
        """What is to be raised with a lane's next result, or the one after that."""
        return self._causes[lane]

    def fail(self, event: Event, lane: int, cause: BaseException) -> None:
        """Notes a FAILURE, a DEATH or a LATE_DEATH."""
        if event is not Event.LATE_DEATH or lane not in self._causes:  # else its result brings a failure already
            self._causes[lane] = cause
        self._states[lane] = _NEXT[event, self._states[lane]]
        self.all_running = False

    def forgive(self, event: Event, lanes: Sequence[int]) -> None:
        """Notes a DROP or a RESET of these lanes: nothing is raised of them."""
        self._move(event, lanes)
        for lane in lanes if self._causes else ():
            self._causes.pop(lane, None)

    def hand_over(self, lanes: Sequence[int]) -> dict[int, BaseException]:
        """Notes a RESULT of these lanes. Returns what is to be raised with it, by lane."""
        before = self._move(Event.RESULT, lanes)
        failed = np.asarray(lanes)[(before == LaneState.FAILED) | (before == LaneState.LOST)]
        return {lane: self._causes.pop(lane) for lane in failed.tolist()}

    def _move(self, event: Event, lanes: Sequence[int]) -> NDArray[np.uint8]:
        """Changes the states of lanes, and returns those that they had."""
        before = self._states[lanes]
        self._states[lanes] = _NEXT[event, before]
        self.check()
        return before

    def check(self) -> None:
        """Notes whether all are running."""
        self.all_running = not self._states.any()
