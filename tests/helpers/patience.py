"""Ends what goes on for ever."""

import contextlib
import signal


class OutOfTime(Exception):
    """It has taken too long."""


@contextlib.contextmanager
def at_most(seconds):
    """OutOfTime after so many seconds of processor time, in the main thread."""

    def give_up(*_):
        raise OutOfTime(f"more than {seconds} s of processor time")

    before = signal.signal(signal.SIGVTALRM, give_up)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
