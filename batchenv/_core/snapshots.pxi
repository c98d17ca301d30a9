# Lanes as bytes: csrc/core/snapshot.h.

import numpy as np

cimport numpy as cnp


cdef bytes _save(be_batch *batch, const int64_t[::1] lanes):
    cdef int64_t size = be_snapshot_bytes(batch, len(lanes))
    cdef cnp.ndarray target = np.empty((size + 7) // 8, np.int64)
    with nogil:
        be_snapshot_save(batch, &lanes[0], lanes.shape[0], cnp.PyArray_DATA(target))
    return target.tobytes()


cdef list _column_sizes(const be_batch *batch):
    """Bytes of a lane in each column of the state."""
    cdef size_t[BE_MAX_LANE_COLUMNS + 1] sizes
    cdef int k, count = be_columns_sizes(batch, sizes)
    return [sizes[k] for k in range(count)]


cdef int _point_columns(const be_batch *batch, list arrays, unsigned char **places) except -1:
    """Where the columns are. arrays: uint8 (lanes, bytes of a lane), contiguous."""
    cdef cnp.ndarray array
    cdef int k = 0
    for array, size in zip(arrays, _column_sizes(batch), strict=True):
        if (cnp.PyArray_TYPE(array) != cnp.NPY_UINT8 or not cnp.PyArray_ISCARRAY_RO(array)
                or cnp.PyArray_NBYTES(array) != batch.num_lanes * size):
            raise ValueError(f"a column must be uint8 ({batch.num_lanes}, {size}), contiguous")
        places[k] = <unsigned char *>cnp.PyArray_DATA(array)
        k += 1
    return 0


cdef object _check_saved(be_batch *batch, bytes data):
    cdef be_error error
    if be_snapshot_check(batch, <const char *>data, len(data), &error) != BE_OK:
        _raise(&error)
    return be_snapshot_count(<const char *>data)


cdef dict _saved_params(const be_param *params, list table, bytes data, const int64_t[::1] rows):
    """The params that may differ from lane to lane, as `_param_values` shows them. table: the rows of `params`."""
    cdef double numbers[BE_MAX_PARAMS]
    cdef Py_ssize_t k
    columns = np.empty((len(rows), len(table)))
    cdef double[:, ::1] values = columns
    for k in range(len(rows)):
        be_snapshot_params(<const char *>data, rows[k], numbers)
        for j in range(values.shape[1]):
            values[k, j] = numbers[j]
    return {row["name"]: _param_values(&params[<int>j], columns[:, j]) for j, row in enumerate(table)
            if row["per_lane"]}
