# Lanes whose simulators have failed.

import numpy as np

cimport numpy as cnp


cdef cnp.ndarray _take_failures(be_batch *batch):
    """The lanes whose simulators have failed since the last call of this function."""
    cdef cnp.ndarray lanes = np.empty(batch.num_lanes, np.int64)
    cdef int64_t count = be_batch_take_failures(batch, <int64_t *>cnp.PyArray_DATA(lanes))
    return lanes[:count].copy()


cdef object _lane_error(be_batch *batch, failed, result):
    """What is raised if these lanes have failed in a call that returns `result`."""
    count = len(failed)
    reasons = [be_batch_failure(batch, lane).message.decode(errors="replace") for lane in failed[:5]]
    told = "; ".join(f"lane {lane}: {reason}" for lane, reason in zip(failed, reasons, strict=False))
    return LaneError(f"{count} of the lanes failed ({told}{', ...' if count > 5 else ''}); their episodes are "
                     "over, and the next step or reset starts new ones; the other lanes are fine: see this error's "
                     "env_id and result", failed, result)
