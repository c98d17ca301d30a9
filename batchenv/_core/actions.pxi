# Actions, as callers give them.

import numpy as np

cimport cython
cimport numpy as cnp
from cpython.mem cimport PyMem_Calloc, PyMem_Free


@cython.final
cdef class Actions:
    """Reads what a caller means by actions as checked values of the action space's own dtype."""

    cdef const be_batch *batch
    cdef const be_isa *isa
    cdef bint clip
    cdef readonly object dtype  # the action space's own
    cdef readonly tuple shape  # of a row
    cdef int type, ndim  # the dtype's number; dimensions of the shape
    cdef int64_t num_lanes, row_size
    cdef void *buffer  # room for num_lanes rows, once values of another dtype have come
    cdef cnp.ndarray array  # what was read last, where that is no array of the caller's

    cdef int start(self, const be_batch *batch, const be_isa *isa, bint clip) except -1:
        cdef const be_space *space = &batch.action_space
        self.batch = batch
        self.isa = isa
        self.clip = clip
        self.dtype = np.dtype(np.int64 if space.kind == BE_SPACE_DISCRETE else np.float32)
        self.type = self.dtype.num
        self.ndim = space.ndim
        self.shape = tuple([space.shape[i] for i in range(space.ndim)])
        self.num_lanes = batch.num_lanes
        self.row_size = be_space_row_size(space)
        return 0

    def __dealloc__(self):
        PyMem_Free(self.buffer)

    cdef const void *read(self, object actions, int64_t rows, const int64_t *lanes) except NULL:
        """Checked actions, a row each for `lanes` (NULL: for all lanes). The caller keeps `actions` alive."""
        cdef cnp.ndarray array
        cdef be_error error
        cdef be_dtype dtype
        cdef void *canonical = NULL
        cdef int status
        cdef int64_t row
        cdef const char *data
        if type(actions) is cnp.ndarray and self._fits(<cnp.ndarray>actions, rows):
            array = <cnp.ndarray>actions
            self.array = None
        else:
            array = self._readable(actions, (rows, *self.shape), lanes)
            self.array = array  # it lives no longer than this call otherwise
        dtype = self._dtype_of(array)
        if cnp.PyArray_TYPE(array) != self.type and dtype != BE_I64:  # NumPy has several types of 64 bits
            if self.buffer == NULL:
                self.buffer = PyMem_Calloc(self.num_lanes * self.row_size, self.dtype.itemsize)
                if self.buffer == NULL:
                    raise MemoryError()
            canonical = self.buffer
        data = <const char *>cnp.PyArray_DATA(array)
        with nogil:
            status = self.isa.check_actions(self.batch, data, dtype, 0, rows * self.row_size, self.clip, canonical,
                                            &error)
        if status != BE_OK:
            if lanes != NULL and error.lane >= 0:  # a row: once more, for the message to name its lane
                row = error.lane
                self.isa.check_actions(self.batch, data + row * self.row_size * cnp.PyArray_ITEMSIZE(array), dtype,
                                       lanes[row], self.row_size, self.clip, NULL, &error)
            _raise(&error)
        if canonical != NULL:
            return canonical
        return data

    cdef cnp.ndarray read_steps(self, object actions, int64_t steps):
        """Checked actions (steps, num_lanes, ...): the caller's own array if it can be used as it is."""
        cdef cnp.ndarray array = self._readable(actions, (steps, self.num_lanes, *self.shape), NULL)
        cdef cnp.ndarray result = array
        cdef be_error error
        cdef be_dtype dtype = self._dtype_of(array)
        cdef int64_t t, count = self.num_lanes * self.row_size
        cdef char *target = NULL
        cdef const char *data = <const char *>cnp.PyArray_DATA(array)
        if array.dtype != self.dtype:
            result = np.empty((<object>array).shape, self.dtype)
            target = <char *>cnp.PyArray_DATA(result)
        for t in range(steps):
            if self.isa.check_actions(self.batch, data + t * count * cnp.PyArray_ITEMSIZE(array), dtype, 0, count,
                                      self.clip,
                                      NULL if target == NULL else target + t * count * cnp.PyArray_ITEMSIZE(result),
                                      &error) != BE_OK:
                try:
                    _raise(&error)
                except ValueError as problem:
                    raise ValueError(f"{problem} (step {t} of the rollout)") from None
        return result

    cdef be_dtype _dtype_of(self, cnp.ndarray array) noexcept:
        if self.type == cnp.NPY_INT64:
            return BE_I32 if cnp.PyArray_ITEMSIZE(array) == 4 else BE_I64
        return BE_F32 if cnp.PyArray_TYPE(array) == cnp.NPY_FLOAT32 else BE_F64

    cdef bint _fits(self, cnp.ndarray array, int64_t rows):
        """Of the right shape, contiguous and of a dtype that check_actions takes."""
        cdef int type_number = cnp.PyArray_TYPE(array)
        cdef int i
        if not cnp.PyArray_ISCARRAY_RO(array) or cnp.PyArray_NDIM(array) != 1 + self.ndim:
            return False
        if cnp.PyArray_DIM(array, 0) != rows:
            return False
        for i in range(self.ndim):
            if cnp.PyArray_DIM(array, 1 + i) != <int64_t>self.shape[i]:
                return False
        if self.type == cnp.NPY_INT64:
            return type_number == cnp.NPY_INT64 or type_number == cnp.NPY_INT32
        return type_number == cnp.NPY_FLOAT32 or type_number == cnp.NPY_FLOAT64

    cdef cnp.ndarray _readable(self, object actions, tuple shape, const int64_t *lanes):
        """Anything that means actions as an array of this shape that check_actions takes, or TypeError, ValueError."""
        discrete = self.type == cnp.NPY_INT64
        try:
            array = np.asarray(actions)
        except Exception as error:
            raise ValueError(f"actions cannot be read as an array of shape {shape}: {error}") from None
        if array.ndim == 0:
            raise TypeError(f"actions={actions!r} is a single value; pass an array of shape {shape}, one row per lane")
        if array.shape != shape:
            lead = shape[:len(shape) - self.ndim]
            whose = f"{lead[0]} lanes" if len(lead) == 1 else f"{lead[0]} steps of {lead[1]} lanes"
            raise ValueError(f"actions have shape {array.shape}, but {whose} need shape {shape}: one row per "
                             "lane; no lane has been stepped")
        if array.dtype.kind not in ("iu" if discrete else "iuf"):
            rule = "integers (int64 costs nothing extra)" if discrete else "numbers (float32 costs nothing extra)"
            raise TypeError(f"actions have dtype {array.dtype}, but the action space needs {rule}; "
                            "no lane has been stepped")
        if not discrete:
            return np.ascontiguousarray(array, np.float32 if array.dtype == np.float32 else np.float64)
        if array.dtype.kind == "u" and array.dtype.itemsize == 8 and array.size and array.max() > 2**63 - 1:
            row = int(np.argmax(array)) % shape[len(shape) - 1]
            raise ValueError(f"action {array.max()} of lane {row if lanes == NULL else lanes[row]} is not in "
                             f"0..{self.batch.action_space.n - 1}; no lane has been stepped")
        return np.ascontiguousarray(array, np.int64)
