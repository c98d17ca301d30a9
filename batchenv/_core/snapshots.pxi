# Lanes as bytes: csrc/core/snapshot.h.

import numpy as np

cimport numpy as cnp


cdef bytes _save(be_batch *batch, const int64_t[::1] lanes):
    cdef int64_t size = be_snapshot_bytes(batch, len(lanes))
    cdef cnp.ndarray target = np.empty((size + 7) // 8, np.int64)
    with nogil:
        be_snapshot_save(batch, &lanes[0], lanes.shape[0], cnp.PyArray_DATA(target))
    return target.tobytes()


cdef object _check_saved(be_batch *batch, bytes data):
    cdef be_error error
    if be_snapshot_check(batch, <const char *>data, len(data), &error) != BE_OK:
        _raise(&error)
    return be_snapshot_count(<const char *>data)


cdef dict _saved_params(list table, bytes data, const int64_t[::1] rows):
    """table: the rows of the type's params."""
    cdef double numbers[BE_MAX_PARAMS]
    cdef Py_ssize_t k
    columns = np.empty((len(rows), len(table)))
    cdef double[:, ::1] values = columns
    for k in range(len(rows)):
        be_snapshot_params(<const char *>data, rows[k], numbers)
        for j in range(values.shape[1]):
            values[k, j] = numbers[j]
    return {row["name"]: columns[:, j] for j, row in enumerate(table) if row["per_lane"]}
