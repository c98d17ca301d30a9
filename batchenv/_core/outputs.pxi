# The arrays that have been handed out before, and whether they can be used again; and quick functions of such arrays.

cdef enum:
    MAX_POOL = 4  # sets of arrays that are kept to be used again
    MOST_BY_HAND = 128  # numbers; NumPy is quicker with more, and takes longer to begin
    AS_REWARDS = -1  # Layout.when: in all steps and no resets


@cython.final
@cython.no_gc
cdef class Outputs:
    """Outputs that have been handed out before, to be used again when nobody else holds their arrays."""

    cdef Layout layout
    cdef int ring  # copy=False: so many take turns, whoever holds them; 0: none do
    cdef list sets
    cdef int turn  # whose it is, or which is forgotten first

    def __cinit__(self, Layout layout, int ring=0):
        self.layout = layout
        self.ring = ring
        self.sets = []

    cdef Output next(self):
        """One for a step of all lanes. It stays among these."""
        cdef Output output
        cdef Py_ssize_t i, count = len(self.sets)
        if self.ring == 0:
            for i in range(count):
                output = <Output>PyList_GET_ITEM(self.sets, i)
                if output.free():
                    return output
        elif count == self.ring:
            output = <Output>PyList_GET_ITEM(self.sets, self.turn)
            if output.intact():
                self.turn = (self.turn + 1) % self.ring
                return output
        output = _new_output(self.layout, FOR_STEP, self.layout.num_lanes)
        if count < (self.ring if self.ring else MAX_POOL):
            self.sets.append(output)
        else:  # all are held, by a user who stores every step: forget the oldest
            self.sets[self.turn] = output
            self.turn = (self.turn + 1) % count
        return output

    cdef Output take(self, int64_t rows):
        """One for results of lanes in flight. It is no longer among these: see `put`."""
        cdef Py_ssize_t i
        cdef Output output
        for i in range(len(self.sets)):
            output = <Output>self.sets[i]
            if output.free():
                del self.sets[i]
                return output
        output = _new_output(self.layout, FOR_RESULTS, rows)
        if len(self.sets) >= MAX_POOL:
            del self.sets[0]  # the user keeps it
        return output

    cdef int put(self, Output output) except -1:
        """Takes in one that has been handed out."""
        if len(self.sets) <= MAX_POOL:
            self.sets.append(output)
        return 0


cdef inline bint _is_column(cnp.ndarray array, int type_number, int64_t rows) noexcept:
    """Whether it is as np.empty(rows, dtype) makes it."""
    return (cnp.PyArray_TYPE(array) == type_number and cnp.PyArray_ISCARRAY(array) and cnp.PyArray_NDIM(array) == 1
            and cnp.PyArray_DIM(array, 0) == rows)


cdef inline bint _is_a_column(object array, int type_number, int64_t rows):
    """As `_is_column`, of any object."""
    return type(array) is cnp.ndarray and _is_column(<cnp.ndarray>array, type_number, rows)


cdef bint _narrow(object wide, object narrow) except -1:
    """`narrow[...] = wide` of float64 and float32, quicker than in Python. False: it is nothing for this function."""
    cdef const double *source
    cdef float *target
    cdef int64_t i, rows = len(wide)
    if not (_is_a_column(wide, cnp.NPY_FLOAT64, rows) and _is_a_column(narrow, cnp.NPY_FLOAT32, rows)):
        return False
    if rows > MOST_BY_HAND:
        cnp.PyArray_CopyInto(narrow, wide)
        return True
    source = <const double *>cnp.PyArray_DATA(<cnp.ndarray>wide)
    target = <float *>cnp.PyArray_DATA(<cnp.ndarray>narrow)
    for i in range(rows):
        target[i] = <float>source[i]
    return True


cdef cnp.ndarray _list(cnp.ndarray flags):
    """np.flatnonzero of a contiguous bool array, quicker where few are True."""
    cdef const uint8_t *flag = <const uint8_t *>cnp.PyArray_DATA(flags)
    cdef int64_t n = cnp.PyArray_SIZE(flags), i = 0, j, count = 0
    cdef uint64_t word
    cdef cnp.ndarray lanes = np.empty(n, np.int64)
    cdef int64_t *lane = <int64_t *>cnp.PyArray_DATA(lanes)
    with nogil:
        while i < n:
            word = 1
            if i + 8 <= n:
                memcpy(&word, flag + i, 8)
            if word:
                for j in range(i, min(i + 8, n)):
                    lane[count] = j
                    count += flag[j]
            i += 8
    return lanes[:count].copy()


cdef inline bint _any(cnp.ndarray flags) noexcept:
    """Whether one of these bytes is 1."""
    return memchr(cnp.PyArray_DATA(flags), 1, cnp.PyArray_NBYTES(flags)) != NULL


cdef bint _is_zero(cnp.ndarray array) noexcept:
    """All of its bytes are: what `any` would say, without NumPy's microseconds."""
    cdef const char *data = <const char *>cnp.PyArray_DATA(array)
    cdef size_t bytes = cnp.PyArray_NBYTES(array)
    return bytes == 0 or (data[0] == 0 and memcmp(data, data + 1, bytes - 1) == 0)
