# What lanes are at present, as copies that users may keep.

import numpy as np

cimport numpy as cnp
from libc.string cimport memcpy


cdef object _column(const void *data, object dtype, int64_t num_lanes, int size):
    cdef cnp.ndarray column = np.empty([num_lanes] + [size] * (size > 1), dtype)
    memcpy(cnp.PyArray_DATA(column), data, cnp.PyArray_NBYTES(column))
    return column


cdef dict _state(be_batch *batch):
    cdef const be_field *field = batch.type.state
    cdef dict columns = {}
    cdef int i = 0
    while field[i].name != NULL:
        columns[field[i].name.decode()] = _column(
            batch.state[i], _dtypes[<int>field[i].dtype], batch.num_lanes, batch.field_size[i])
        i += 1
    return columns


cdef dict _rng_state(const be_rng *rng):
    return {
        "bit_generator": "PCG64",
        "state": {"state": (<object>rng.state_hi << 64) | rng.state_lo,
                  "inc": (<object>rng.inc_hi << 64) | rng.inc_lo},
        "has_uint32": rng.has_buffered,
        "uinteger": rng.buffered,
    }
