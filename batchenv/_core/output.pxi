# The arrays that a call hands out.

import numpy as np

cimport numpy as cnp
from libc.string cimport memcmp

_out_names = ("observations", "rewards", "terminations", "truncations")
_out_dtypes = (None, np.dtype(np.float64), np.dtype(np.bool_), np.dtype(np.bool_))


cdef bint _is_zero(cnp.ndarray array) noexcept:
    """All of its bytes are: what `any` would say, without NumPy's microseconds."""
    cdef const char *data = <const char *>cnp.PyArray_DATA(array)
    cdef size_t bytes = cnp.PyArray_NBYTES(array)
    return bytes == 0 or (data[0] == 0 and memcmp(data, data + 1, bytes - 1) == 0)
