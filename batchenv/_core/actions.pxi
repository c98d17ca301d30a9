# Actions, as the caller gives them.

import numpy as np


cdef object _contiguous(object array, object dtype):
    """`array` as a C-contiguous one of that dtype, rounded to nearest whatever the caller's floating-point mode."""
    cdef be_fp before = be_fp_enter()
    try:
        return np.ascontiguousarray(array, dtype)
    finally:
        be_fp_leave(&before)
