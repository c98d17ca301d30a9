# Actions, as callers give them.

@cython.final
cdef class ActionPart:
    """Reads what a caller means by one part of the actions (that of a port) as checked values of its space's dtype."""

    cdef const be_batch *batch
    cdef const be_isa *isa
    cdef int port  # of the type, through which they go
    cdef bint clip
    cdef str cheapest  # of the dtypes that are taken
    cdef str name  # how messages call it: "actions", or with the part's name
    cdef object dtype  # the space's own
    cdef tuple shape  # of a row
    cdef int type, ndim  # the dtype's number; dimensions of the shape
    cdef bint floats
    cdef be_dtype own
    cdef int64_t num_lanes, row_size
    cdef void *buffer  # room for num_lanes rows, once values of another dtype have come
    cdef cnp.ndarray array  # what was read last, where that is no array of the caller's
    cdef type tensors  # what was looked at last, and is no array
    cdef const DlExchange *exchange  # its interface; NULL: it has none

    cdef int start(self, const be_batch *batch, const be_isa *isa, bint clip, dict row) except -1:
        cdef const be_space *space
        self.port = row["index"]
        self.name = f"actions[{row['name']!r}]" if row["name"] else "actions"
        space = &batch.space[self.port]
        self.batch = batch
        self.isa = isa
        self.clip = clip
        self.dtype = _dtypes[<int>space.dtype]
        self.floats = self.dtype.kind == "f"
        self.own = space.dtype
        self.cheapest = self.dtype.name if self.floats else "int64"
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
        cdef int status, bytes
        cdef int64_t row
        cdef const char *data = NULL
        if not self.floats and type(actions) is not cnp.ndarray:
            data = <const char *>self._look(actions, rows, &bytes)
        if data != NULL:
            dtype = BE_I32 if bytes == 4 else BE_I64
            self.array = None
        else:
            if type(actions) is cnp.ndarray and self._fits(<cnp.ndarray>actions, rows):
                array = <cnp.ndarray>actions
                self.array = None
            else:
                array = self._readable(actions, (rows, *self.shape), lanes)
                self.array = array  # it lives no longer than this call otherwise
            dtype = self._dtype_of(array)
            data = <const char *>cnp.PyArray_DATA(array)
            bytes = cnp.PyArray_ITEMSIZE(array)
        if dtype != self.own:
            if self.buffer == NULL:
                self.buffer = PyMem_Calloc(self.num_lanes * self.row_size, self.dtype.itemsize)
                if self.buffer == NULL:
                    raise MemoryError()
            canonical = self.buffer
        with nogil:
            status = self._check(data, dtype, 0, rows, canonical, &error)
        if status != BE_OK:
            if lanes != NULL and error.lane >= 0:  # a row: once more, for the message to name its lane
                row = error.lane
                self._check(data + row * self.row_size * bytes, dtype, lanes[row], 1, NULL, &error)
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
            if self._check(data + t * count * cnp.PyArray_ITEMSIZE(array), dtype, 0, self.num_lanes,
                           NULL if target == NULL else target + t * count * cnp.PyArray_ITEMSIZE(result),
                           &error) != BE_OK:
                try:
                    _raise(&error)
                except ValueError as problem:
                    raise ValueError(f"{problem} (step {t} of the rollout)") from None
        return result

    cdef int _check(self, const char *data, be_dtype dtype, int64_t lane, int64_t rows, void *target,
                    be_error *error) noexcept nogil:
        """Checks the rows from lane `lane` on; unless `target` is NULL, writes them there in the space's dtype."""
        return self.isa.check_actions(self.batch, self.port, data, dtype, lane, rows * self.row_size, self.clip, target,
                                      error)

    cdef be_dtype _dtype_of(self, cnp.ndarray array) noexcept:
        if not self.floats:  # NumPy has several types of 64 bits
            return BE_I32 if cnp.PyArray_ITEMSIZE(array) == 4 else BE_I64
        return BE_F32 if cnp.PyArray_TYPE(array) == cnp.NPY_FLOAT32 else BE_F64

    cdef const void *_look(self, object actions, int64_t rows, int *bytes):
        """The memory of a tensor that can be used as it is; NULL: it has to be read as an array."""
        if type(actions) is not self.tensors:
            self.tensors = type(actions)
            self.exchange = _exchange_of(self.tensors)
        if self.exchange == NULL:
            return NULL
        return _look_at_integers(self.exchange, actions, rows, self.shape, bytes)

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
        if not self.floats:
            return type_number == cnp.NPY_INT64 or type_number == cnp.NPY_INT32
        return type_number == cnp.NPY_FLOAT32 or type_number == cnp.NPY_FLOAT64

    cdef cnp.ndarray _readable(self, object actions, tuple shape, const int64_t *lanes):
        """Anything that means actions as an array of this shape that check_actions takes, or TypeError, ValueError."""
        discrete = not self.floats
        try:
            array = np.asarray(actions)
        except Exception as error:
            raise ValueError(f"{self.name} cannot be read as an array of shape {shape}: {error}") from None
        if isinstance(actions, dict):
            pool = "; EnvPool's {'action': a, 'env_id': ids} is send(a, ids) or step(a, ids)" * ("action" in actions)
            raise TypeError(f"{self.name} are a dict with {', '.join(map(repr, actions))}; pass an array of shape "
                            f"{shape}, one row per lane{pool}")
        if array.ndim == 0:
            raise TypeError(f"{self.name}={actions!r} is a single value; pass an array of shape {shape}, one row per "
                            "lane")
        if array.shape != shape:
            lead = shape[:len(shape) - self.ndim]
            whose = f"{lead[0]} lanes" if len(lead) == 1 else f"{lead[0]} steps of {lead[1]} lanes"
            raise ValueError(f"{self.name} have shape {array.shape}, but {whose} need shape {shape}: one row per "
                             "lane; no lane has been stepped")
        bools = self.type in (cnp.NPY_INT8, cnp.NPY_BOOL)
        if array.dtype.kind not in ("iub" if bools else "iu" if discrete else "iuf"):
            rule = f"{'integers' if discrete else 'numbers'} ({self.cheapest} costs nothing extra)"
            raise TypeError(f"{self.name} have dtype {array.dtype}, but the action space needs {rule}; "
                            "no lane has been stepped")
        if not discrete:
            return np.ascontiguousarray(array, np.float32 if array.dtype == np.float32 else np.float64)
        if array.dtype.kind == "u" and array.dtype.itemsize == 8 and array.size and array.max() > 2**63 - 1:
            row, component = divmod(int(np.argmax(array)), self.row_size)
            row %= shape[len(shape) - self.ndim - 1]
            bound = be_bound_of(&self.batch.space[self.port], component)
            whose = f" (component {component})" if self.ndim else ""
            raise ValueError(f"action {array.max()} of lane {row if lanes == NULL else lanes[row]}{whose} is not in "
                             f"{<int64_t>self.batch.space[self.port].low[bound]}.."
                             f"{<int64_t>self.batch.space[self.port].high[bound]}; no lane has been stepped")
        return np.ascontiguousarray(array, np.int64)


@cython.final
cdef class Actions:
    """Reads what a caller means by actions: an array, or where the action space has several parts, a Dict or Tuple."""

    cdef list parts
    cdef ActionPart only  # None: there are several
    cdef object tree  # see batchenv.spaces.nested
    cdef list values  # what the parts were read from last

    cdef int start(self, const be_batch *batch, const be_isa *isa, bint clip) except -1:
        cdef ActionPart part
        rows = _port_table(batch.type, (BE_ACTION,))
        self.tree = _tree_of(batch.type, [row["name"] for row in rows])
        self.parts = []
        for row in rows:
            part = ActionPart()
            part.start(batch, isa, clip, row)
            self.parts.append(part)
        self.only = <ActionPart>self.parts[0] if self.tree == 0 else None
        return 0

    cdef int read(self, object actions, int64_t count, const int64_t *lanes, be_rows *rows) except -1:
        """Checks actions, a row each for `lanes` (NULL: for all lanes), and points `rows` at them, until the next call.
        The caller keeps `actions` alive."""
        cdef ActionPart part
        if self.only is not None:
            rows.port[self.only.port] = <void *>self.only.read(actions, count, lanes)
            return 0
        self.values = nested.split(self.tree, actions, "actions")  # a Mapping may make them when it is asked
        for part, values in zip(self.parts, self.values, strict=True):
            rows.port[part.port] = <void *>part.read(values, count, lanes)
        return 0

    cdef object read_steps(self, object actions, int64_t steps, be_rows *rows):
        """The same for actions (steps, num_lanes, ...). Returns what the caller keeps alive."""
        cdef ActionPart part
        taken = [part.read_steps(values, steps)
                 for part, values in zip(self.parts, nested.split(self.tree, actions, "actions"), strict=True)]
        return self._use(taken, rows)

    cdef object room(self, int64_t steps, be_rows *rows):
        """Arrays for the actions of so many steps, to be drawn: as `read_steps`."""
        cdef ActionPart part
        return self._use([np.empty((steps, part.num_lanes, *part.shape), part.dtype) for part in self.parts], rows)

    cdef object _use(self, list arrays, be_rows *rows):
        cdef ActionPart part
        for part, array in zip(self.parts, arrays, strict=True):
            rows.port[part.port] = cnp.PyArray_DATA(<cnp.ndarray>array)
        return nested.build(self.tree, arrays)

    cdef list sources(self, object actions, bint steps=False):
        """The arrays whose memory actions have been read from: by `read` or, with `steps`, by `read_steps`, which has
        returned `actions`. That of what is no array itself, such as a tensor, may still be the caller's."""
        cdef ActionPart part
        cdef list given = self.values
        if steps or self.only is not None:
            given = nested.split(self.tree, actions, "actions")
        return [values if type(values) is cnp.ndarray else np.asarray(values) if part.array is None else part.array
                for part, values in zip(self.parts, given, strict=True)]
