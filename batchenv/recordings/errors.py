"""What can be wrong with a recording."""

from __future__ import annotations


class RecordingError(RuntimeError):
    """A recording cannot be written, read or replayed; the message says why."""


class DamagedRecording(RecordingError):
    """Bytes of the file are not those that were written.

    Attributes:
        offset: where in the file the first damaged block begins.
    """

    def __init__(self, message: str, offset: int):
        super().__init__(message)
        self.offset = offset


class ReplayMismatch(RecordingError):
    """A replay has given something else than the recorded env.

    Attributes:
        lane: the first lane that differs.
        start, stop: the steps of this lane among which the difference is.
        what: "rewards", "observations or infos", "ends of episodes" or "observations after ...".
    """

    def __init__(self, message: str, lane: int, start: int, stop: int, what: str):
        super().__init__(message)
        self.lane, self.start, self.stop, self.what = lane, start, stop, what
