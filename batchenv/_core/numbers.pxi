# Numbers that envs say in their infos. They are put together by column, without Python code per lane; from processes
# they come in memory that is shared, not by pickle.

cdef extern from "Python.h":
    long long PyLong_AsLongLongAndOverflow(object number, int *overflow) except? -1

_NUMBER = np.number

cdef enum:
    MAX_COLUMNS = 48  # of each worker: bits of a word of a message
    NOT_PLAIN = -2  # of what envs have said, there is more than numbers that have columns

COLUMNS = MAX_COLUMNS


cdef int64_t _int64(object number, bint *fits) except? -1:
    cdef int overflow = 0
    cdef int64_t value = PyLong_AsLongLongAndOverflow(number, &overflow)
    fits[0] = not overflow
    return value


cdef bint _is_number(object key, object value) except -1:
    """Whether Gymnasium makes an array of numbers for this value, and a column can have it."""
    cdef bint fits = False
    kind = type(value)
    # "_key" is the mask of "key"; those of final observations and infos say more of the step itself.
    if type(key) is not str or key == _FINAL or key == "final_info" or (<str>key).startswith("_"):
        return False
    if kind is int:
        _int64(value, &fits)
        return fits
    return kind is float or kind is bool or (isinstance(value, _NUMBER) and value.itemsize <= 8)


@cython.final
cdef class NumberColumn:
    """The numbers of a key, of one type, and which rows have one.

    Args:
        numbers: an array (rows,) of any stride; its elements are of `kind`.
        mask: bool (rows,), contiguous.
    """

    cdef str key, mask_key
    cdef object kind
    cdef cnp.ndarray numbers, mask
    cdef char *first
    cdef uint8_t *has
    cdef Py_ssize_t stride
    cdef size_t bytes

    def __cinit__(self, str key, kind, cnp.ndarray numbers, cnp.ndarray mask):
        self.key, self.mask_key, self.kind = key, f"_{key}", kind
        self.numbers, self.mask = numbers, mask
        self.first, self.has = <char *>cnp.PyArray_DATA(numbers), <uint8_t *>cnp.PyArray_DATA(mask)
        self.stride, self.bytes = cnp.PyArray_STRIDE(numbers, 0), cnp.PyArray_ITEMSIZE(numbers)

    cdef bint write(self, int64_t row, object value) except -1:
        """Writes a number of the right type; False: it is an int that has no room."""
        cdef char *place = self.first + row * self.stride
        cdef bint fits = True
        if self.kind is float:
            (<double *>place)[0] = <double>value
        elif self.kind is int:
            number = _int64(value, &fits)
            if not fits:
                return False
            (<int64_t *>place)[0] = number
        elif self.kind is bool:
            (<uint8_t *>place)[0] = value is True
        else:
            cnp.PyArray_ScalarAsCtype(value, place)
        self.has[row] = True
        return True


cdef NumberColumn _own_column(str key, object kind, int64_t rows):
    return NumberColumn(key, kind, np.zeros(rows, kind), np.zeros(rows, np.bool_))


cdef NumberColumn _shared_column(str key, object kind, int index, cnp.ndarray values, cnp.ndarray masks, int64_t start,
                                 int64_t stop):
    """Column `index` of a worker that has the lanes from `start` up to `stop`, in the memory of all."""
    dtype = np.dtype(kind)
    numbers = values[index, start:stop].view(dtype)[::8 // dtype.itemsize]
    return NumberColumn(key, kind, numbers, masks[index, start:stop])


def gather_numbers(list notes, int64_t rows):
    """Puts what envs have said into infos of so many rows, in Gymnasium's form.

    Args:
        notes: [(row, info)].

    Returns:
        infos, and the notes that are left: of keys that have anything but numbers, all of one type, or for whose mask
        an env has said something itself, since Gymnasium writes that into the mask in the order of an env's keys.
    """
    cdef dict columns = {}, infos = {}
    cdef NumberColumn column
    cdef PyObject *found
    cdef list rest = []
    cdef set others = set()
    cdef int64_t row
    for row, info in notes:
        for key, value in info.items():
            found = PyDict_GetItem(columns, key)
            if found != NULL:
                column = <NumberColumn>found
            elif _is_number(key, value):
                column = columns[key] = _own_column(key, type(value), rows)
            else:
                others.add(key)
                continue
            if column.kind is not type(value) or not column.write(row, value):
                others.add(key)
    for key, column in columns.items():
        if column.mask_key in others:
            others.add(key)
        if key not in others:
            infos[key], infos[column.mask_key] = column.numbers, column.mask
    if others:
        for row, info in notes:
            left = {key: value for key, value in info.items() if key in others}
            if left:
                rest.append((row, left))
    return infos, rest


@cython.final
cdef class NumberWriter:
    """A worker's columns. It gives them to the keys that its envs say, in the order in which these come, and its parent
    is told once. A set of columns is a number, of which the lowest bit stands for column 0.

    Args:
        values, masks: memory that is shared: int64 and bool (COLUMNS, lanes of all workers).
        start, stop: its lanes.
    """

    cdef cnp.ndarray values, masks
    cdef int64_t start, stop
    cdef dict columns  # {(key, type): (index, NumberColumn)}
    cdef dict latest  # {key: (index, NumberColumn)}, of the type that came last

    def __init__(self, cnp.ndarray values, cnp.ndarray masks, int64_t start, int64_t stop):
        self.values, self.masks, self.start, self.stop = values, masks, start, stop
        self.columns, self.latest = {}, {}

    def __len__(self):
        return len(self.columns)

    def known(self):
        """[(key, type)] of its columns."""
        return list(self.columns)

    def write(self, int64_t first, int64_t count, notes):
        """Writes the numbers among what the envs of some rows have said.

        Args:
            first, count: these rows, counted from the worker's first lane.
            notes: [(row, info)]; rows count from `first`.

        Returns:
            the columns that have numbers of these rows, [(key, type)] of columns that are new, and the notes without
            these numbers. A number stays in a note that has something of the name of its mask, too; see
            `gather_numbers`.
        """
        cdef int64_t used = 0, row
        cdef list new = [], rest = []
        cdef NumberColumn column
        cdef int index
        for row, info in notes:
            left = {}
            for key, value in info.items():
                entry = self.columns.get((key, type(value)))
                if entry is None:
                    if len(self.columns) == MAX_COLUMNS or not _is_number(key, value):
                        left[key] = value
                        continue
                    new.append((key, type(value)))
                    entry = self.add(key, type(value))
                self.latest[key] = entry
                index, column = entry
                if column.mask_key in info:
                    left[key] = value
                    continue
                used = _use(used, index, column, first, count)
                if not column.write(first + row, value):
                    left[key] = value
            if left:
                rest.append((row, left))
        return used, new, rest

    cdef tuple add(self, str key, kind):
        cdef int index = len(self.columns)
        entry = index, _shared_column(key, kind, index, self.values, self.masks, self.start, self.stop)
        self.columns[key, kind] = entry
        return entry

    cdef int64_t take(self, PythonLanes lanes, int64_t first, int64_t count) except -1:
        """`write` of all that these rows have to say, which is taken from them, if all of it are numbers that have
        columns: these columns. Else NOT_PLAIN."""
        cdef int64_t used = 0, row
        cdef PyObject *key
        cdef PyObject *value
        cdef PyObject *found
        cdef Py_ssize_t place
        cdef NumberColumn column
        for row in range(first, first + count):
            if lanes.final_infos[row]:
                return NOT_PLAIN
            info = lanes.infos[row]
            if not info:
                continue
            if type(info) is not dict:
                return NOT_PLAIN
            place = 0
            while PyDict_Next(info, &place, &key, &value):
                found = PyDict_GetItem(self.latest, <object>key)
                if found == NULL:
                    return NOT_PLAIN
                column = (<tuple>found)[1]
                if column.kind is not type(<object>value):
                    return NOT_PLAIN
                used = _use(used, (<tuple>found)[0], column, first, count)
                if not column.write(row, <object>value):
                    return NOT_PLAIN
        for row in range(first, first + count):
            if lanes.infos[row]:
                lanes.infos[row] = None
                lanes.touched.discard(row)
        return used


cdef int64_t _use(int64_t used, int index, NumberColumn column, int64_t first, int64_t count) except -1:
    """Adds a column to a set. If it is new there, no row has a number yet."""
    if not used >> index & 1:
        used |= <int64_t>1 << index
        memset(column.has + first, 0, count)
    return used


@cython.final
cdef class Numbers:
    """The numbers that workers have said of lanes, as their parent reads them.

    Args:
        values, masks: as for `NumberWriter`.
        bounds: the first lane of each worker, and at the end, how many lanes there are.
    """

    cdef cnp.ndarray values, masks, used
    cdef int64_t *sets  # per lane, its columns that have a number to be taken
    cdef list bounds, worker_of
    cdef list columns  # per worker, of NumberColumn
    cdef bint any

    def __init__(self, cnp.ndarray values, cnp.ndarray masks, list bounds):
        cdef int k
        self.values, self.masks, self.bounds = values, masks, bounds
        self.used = np.zeros(bounds[-1], np.int64)
        self.sets = <int64_t *>cnp.PyArray_DATA(self.used)
        self.columns = [[] for _ in bounds[1:]]
        self.worker_of = [k for k in range(len(bounds) - 1) for _ in range(bounds[k], bounds[k + 1])]

    def learn(self, int worker, Py_ssize_t first, new):
        """Is told of further columns of a worker, of which this is the number of the first. May be told twice."""
        cdef int64_t start = self.bounds[worker], stop = self.bounds[worker + 1]
        cdef list columns = self.columns[worker]
        del columns[first:]
        for key, kind in new:
            columns.append(_shared_column(key, kind, len(columns), self.values, self.masks, start, stop))

    def forget(self, int worker):
        """A new process is in the place of a worker: it has no columns."""
        self.columns[worker] = []
        self.used[self.bounds[worker]:self.bounds[worker + 1]] = 0

    def known(self, int worker):
        """[(key, type)] of a worker's columns."""
        cdef NumberColumn column
        return [(column.key, column.kind) for column in self.columns[worker]]

    cpdef int mark(self, int worker, int64_t lane, int64_t used) except -1:
        """A worker has reported these columns, for one lane; lane -1: for all of its lanes."""
        cdef int64_t start = self.bounds[worker] if lane < 0 else lane
        cdef int64_t stop = self.bounds[worker + 1] if lane < 0 else lane + 1
        self.any = self.any or used != 0
        for lane in range(start, stop):
            self.sets[lane] = used
        return 0

    def drop(self):
        """Forgets what has not been taken."""
        self.used[:] = 0
        self.any = False

    cpdef dict take(self, cnp.ndarray lanes):
        """Infos of lanes (int64; None: of all), in Gymnasium's form. None: a key has numbers of several types, so that
        nothing has been taken; see `notes`."""
        cdef dict infos = {}, together = {}
        cdef NumberColumn column, target
        cdef PyObject *found
        cdef const int64_t *numbers = NULL
        cdef int64_t count = cnp.PyArray_DIM(self.used, 0) if lanes is None else cnp.PyArray_DIM(lanes, 0)
        cdef int64_t row, lane, used, start
        cdef int worker, index
        if not self.any:
            return infos
        if lanes is not None:
            numbers = <const int64_t *>cnp.PyArray_DATA(lanes)
        for row in range(count):
            lane = row if lanes is None else numbers[row]
            used = self.sets[lane]
            if not used:
                continue
            worker = self.worker_of[lane]
            start, index = self.bounds[worker], 0
            while used:
                if used & 1:
                    column = (<list>self.columns[worker])[index]
                    if column.has[lane - start]:
                        found = PyDict_GetItem(together, column.key)
                        target = <NumberColumn>found if found != NULL else None
                        if target is None:
                            target = together[column.key] = _own_column(column.key, column.kind, count)
                        elif target.kind is not column.kind:
                            return None
                        memcpy(target.first + row * target.bytes, column.first + (lane - start) * column.stride,
                               column.bytes)
                        target.has[row] = True
                used >>= 1
                index += 1
        for row in range(count):
            self.sets[row if lanes is None else numbers[row]] = 0
        self.any = lanes is not None
        for target in together.values():
            infos[target.key], infos[target.mask_key] = target.numbers, target.mask
        return infos

    def notes(self, lanes):
        """[(row, info)] of what lanes (int64; None: all) have said; it is taken."""
        cdef list notes = []
        cdef NumberColumn column
        cdef int64_t start, row
        cdef dict info
        if not self.any:
            return notes
        for row, lane in enumerate(range(len(self.used)) if lanes is None else lanes.tolist()):
            if not self.sets[lane]:
                continue
            start = self.bounds[self.worker_of[lane]]
            info = {}
            for index, column in enumerate(self.columns[self.worker_of[lane]]):
                if self.sets[lane] >> index & 1 and column.has[lane - start]:
                    number = column.numbers[lane - start]
                    info[column.key] = number if type(number) is column.kind else column.kind(number)
            self.sets[lane] = 0
            if info:
                notes.append((row, info))
        self.any = lanes is not None
        return notes
