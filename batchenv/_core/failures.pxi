# Lanes whose simulators have failed.

cdef enum:
    TOLD_FAILURES = 5  # how many lanes' reasons a message has

INTERRUPTED = "the last call was interrupted, and some lanes have done it, others have not"


cdef cnp.ndarray _take_failures(be_batch *batch):
    """The lanes whose simulators have failed since the last call of this function."""
    cdef cnp.ndarray lanes = np.empty(batch.num_lanes, np.int64)
    cdef int64_t count = be_batch_take_failures(batch, <int64_t *>cnp.PyArray_DATA(lanes))
    return lanes[:count].copy()


cdef object _lane_error(be_batch *batch, failed, result):
    """What is raised if these lanes have failed in a call that returns `result`."""
    reasons = [be_batch_failure(batch, lane).message.decode(errors="replace") for lane in failed[:TOLD_FAILURES]]
    return lanes_failed(failed, reasons, result)


def lanes_failed(failed, reasons, result):
    """What is raised if these lanes have failed in a call that returns `result`. reasons: why, at least of the first
    TOLD_FAILURES."""
    count = len(failed)
    told = "; ".join(f"lane {lane}: {reason}" for lane, reason in zip(failed[:TOLD_FAILURES], reasons, strict=False))
    return LaneError(f"{count} of the lanes failed ({told}{', ...' if count > TOLD_FAILURES else ''}); their episodes "
                     "are over, and the next step or reset starts new ones; the other lanes are fine: see this error's "
                     "env_id and result", failed, result)


def lane_pending(lane, str doing, str ending):
    """What is raised if a lane that waits for a reset by the user is to do something else. ending: the last words."""
    return LanePendingError(
        f"lane {lane} has finished its episode and autoreset_mode is DISABLED: reset it with "
        f"env.reset(options={{'reset_mask': terminations | truncations}}) before {doing} it; {ending}")


def lanes_in_flight(str doing, count, first):
    """What is raised if something cannot be done while so many lanes are in flight, of which these are the first."""
    named = ", ".join([str(lane) for lane in first]) + (", ..." if count > len(first) else "")
    return RuntimeError(f"{doing} while {count} lanes are in flight (env_id {named}): recv() their results first, or "
                        "reset() everything")


def batch_starved(count, rows, doing="recv()"):
    """What is raised if so few lanes are (or would be) in flight that a batch of `rows` would never come."""
    return RuntimeError(f"{doing} with {count or 'nothing'} in flight: a batch has {rows} rows and would never come; "
                        "async_reset() or send() first")


def batch_late(rows, timeout):
    """What is raised by recv() if a batch is not complete in time."""
    return TimeoutError(f"no batch of {rows} lanes within {timeout} s; nothing is lost: call recv() again")
