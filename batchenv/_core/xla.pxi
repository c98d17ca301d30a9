# Calls from programs that XLA has compiled, which is what JAX runs. XLA has a C interface for such calls (its "FFI").
# The structs below are those of its version 0 as far as they are used: new fields come at the end of them.

cdef extern from *:
    """
    /* Lets Python know this thread for as long as it lives. Otherwise Python would make and destroy a state for the
     * thread in each call, which takes longer than small steps do. */
    static inline void be_meet_python(void) {
        static _Thread_local int met;
        if (!met) {
            met = 1;
            (void)PyGILState_Ensure();
            (void)PyEval_SaveThread();
        }
    }
    """
    void be_meet_python() nogil

cdef struct XlaExtension:
    size_t size
    int type
    XlaExtension *next

cdef struct XlaVersion:
    size_t size
    XlaExtension *extensions
    int major, minor

cdef struct XlaMetadata:
    size_t size
    XlaVersion version
    uint32_t traits

cdef struct XlaMetadataExtension:
    XlaExtension base
    XlaMetadata *metadata

cdef struct XlaErrorForm:
    size_t size
    XlaExtension *extensions
    const char *message
    int code

cdef struct XlaApi:
    size_t size
    XlaExtension *extensions
    XlaVersion version
    const void *internal
    void *(*create_error)(XlaErrorForm *form) noexcept nogil

cdef struct XlaBuffer:
    size_t size
    XlaExtension *extensions
    int dtype
    void *data
    int64_t rank
    int64_t *dims

cdef struct XlaBuffers:
    size_t size
    XlaExtension *extensions
    int64_t count
    int *types
    XlaBuffer **buffers

cdef struct XlaScalar:
    int dtype
    void *value

cdef struct XlaAttributes:
    size_t size
    XlaExtension *extensions
    int64_t count
    int *types
    void *names
    XlaScalar **values

cdef struct XlaFrame:
    size_t size
    XlaExtension *extensions
    const XlaApi *api
    void *context
    int stage
    XlaBuffers arguments, results
    XlaAttributes attributes

cdef enum:
    XLA_METADATA = 1  # an extension
    XLA_EXECUTE = 3  # a stage
    XLA_SCALAR = 3  # a type of an attribute
    XLA_S64 = 5
    XLA_U8 = 6
    XLA_U32 = 8
    XLA_INVALID_ARGUMENT = 3  # codes of errors
    XLA_FAILED_PRECONDITION = 9
    XLA_INTERNAL = 13
    MANY_LANES = 512  # of fewer ones, results are copied sooner than it is said where to write them

# NumPy's types by XLA's numbers.
cdef int[13] _XLA_TYPES = [-1, cnp.NPY_BOOL, cnp.NPY_INT8, cnp.NPY_INT16, cnp.NPY_INT32, cnp.NPY_INT64, cnp.NPY_UINT8,
                           cnp.NPY_UINT16, cnp.NPY_UINT32, cnp.NPY_UINT64, cnp.NPY_FLOAT16, cnp.NPY_FLOAT32,
                           cnp.NPY_FLOAT64]

_numbers = itertools.count(1)
cdef dict _called_by_xla = {}  # by the number that a program has as its only attribute


cdef void *_answer_xla(XlaFrame *frame) noexcept nogil:
    """What XLA calls. Returns an error of XLA's, or NULL."""
    cdef XlaMetadata *metadata
    cdef XlaErrorForm form
    if frame.extensions != NULL and frame.extensions.type == XLA_METADATA:
        metadata = (<XlaMetadataExtension *>frame.extensions).metadata
        metadata.version.major, metadata.version.minor = 0, frame.api.version.minor
        metadata.traits = 0
        return NULL
    if frame.stage != XLA_EXECUTE:
        return NULL
    be_meet_python()
    with gil:
        try:
            _serve_xla(frame)
            return NULL
        except BaseException as problem:
            form.size, form.extensions, form.code = sizeof(XlaErrorForm), NULL, _xla_code(problem)
            message = f"{type(problem).__name__}: {problem}".encode(errors="replace")
            form.message = message
            return frame.api.create_error(&form)


cdef int _xla_code(problem):
    if isinstance(problem, (ValueError, TypeError)):
        return XLA_INVALID_ARGUMENT
    return XLA_FAILED_PRECONDITION if isinstance(problem, ResetNeeded) else XLA_INTERNAL


cdef int _serve_xla(XlaFrame *frame) except -1:
    cdef XlaCall called
    if (frame.attributes.count != 1 or frame.attributes.types[0] != XLA_SCALAR
            or frame.attributes.values[0].dtype != XLA_S64):
        raise RuntimeError("a call without the number of what is called")
    called = _called_by_xla.get((<int64_t *>frame.attributes.values[0].value)[0])
    if called is None:
        raise ClosedEnvironmentError("the environment that this program steps has been closed")
    return called.serve(frame)


def xla_capsule():
    """What `jax.ffi.register_ffi_target` takes."""
    return PyCapsule_New(<void *>_answer_xla, NULL, NULL)


@cython.final
cdef class XlaOrder:
    """In which order calls come: each has in its handle, uint32 (2,), a number of its own and how many have been.

    Attributes:
        handle: the next call's.
    """

    cdef uint32_t number, count

    def __init__(self):
        self.number = <uint32_t>next(_numbers)

    @property
    def handle(self):
        return np.array([self.number, self.count], np.uint32)

    cdef int check(self, const XlaFrame *frame, bint anew) except -1:
        """Raises TypeError if the first argument and the first result are no handles, and ValueError if the argument is
        not that of the last call or, with `anew`, of any call."""
        cdef const uint32_t *words
        if not (frame.arguments.count > 0 and _is_handle(frame.arguments.buffers[0])
                and frame.results.count > 0 and _is_handle(frame.results.buffers[0])):
            raise TypeError("the first argument and the first result of a call must be handles, uint32 (2,): pass the "
                            "one that the last call has returned")
        words = <const uint32_t *>frame.arguments.buffers[0].data
        if words[0] != self.number:
            raise ValueError("this handle is another environment's")
        if not anew and words[1] != self.count:
            raise ValueError(f"this handle is from before the last call: it counts {words[1]} calls, and there have "
                             f"been {self.count}. Give each call the handle that the last one has returned")
        return 0

    cdef void advance(self, const XlaBuffer *handle) noexcept:
        """Writes the next handle."""
        self.count += 1
        (<uint32_t *>handle.data)[0], (<uint32_t *>handle.data)[1] = self.number, self.count


cdef bint _is_handle(const XlaBuffer *buffer) noexcept:
    return buffer.dtype == XLA_U32 and buffer.rank == 1 and buffer.dims[0] == 2


@cython.final
cdef class XlaCall:
    """A function that XLA's programs call. It is kept until its env is closed, since nobody says when the last program
    that may call it has ended.

    Args:
        env: whose function it is.
        order: of its calls, whose handle is the first argument and the first result. None: calls have no handles, and
            the function is called with lists of arguments and of results, into which it writes.
        function: called with the other arguments: arrays that may be used as long as it runs.
        leaves: makes a list of arrays (or numbers, for all of an array) of what the function returns. None: the first
            ones of what it returns are arrays. Without results, nothing is taken.
        anew: whether calls may have any handle of the env's, since they begin anew.
        steps: does the same for calls that it knows how to serve, or None.

    Attributes:
        number: a program's attribute "number".
    """

    cdef readonly int64_t number
    cdef XlaOrder order
    cdef XlaSteps steps
    cdef bint anew
    cdef object env, function, leaves

    def __init__(self, env, XlaOrder order, function, leaves=None, bint anew=False, XlaSteps steps=None):
        cdef XlaCall other
        for number, other in list(_called_by_xla.items()):
            if other.env.closed:
                del _called_by_xla[number]
        self.env, self.order, self.function, self.leaves, self.steps = env, order, function, leaves, steps
        self.anew, self.number = anew, next(_numbers)
        _called_by_xla[self.number] = self

    cdef int serve(self, XlaFrame *frame) except -1:
        cdef int64_t k, count = frame.results.count - 1
        if self.order is None:
            if self.steps is not None and self.steps.serve(frame, 0):
                return 0
            self.function([_xla_view(frame.arguments.buffers[k], False) for k in range(frame.arguments.count)],
                          [_xla_view(frame.results.buffers[k], True) for k in range(frame.results.count)])
            return 0
        self.order.check(frame, self.anew)
        if self.steps is not None and self.steps.serve(frame, 1):
            self.order.advance(frame.results.buffers[0])
            return 0
        if frame.arguments.count == 2:
            found = self.function(_xla_view(frame.arguments.buffers[1], False))
        else:
            found = self.function(*[_xla_view(frame.arguments.buffers[k], False)
                                    for k in range(1, frame.arguments.count)])
        if count:
            found = found if self.leaves is None else self.leaves(found)
            for k in range(count):
                put_for_xla(_xla_view(frame.results.buffers[k + 1], True), found[k])
        self.order.advance(frame.results.buffers[0])
        return 0


@cython.final
cdef class XlaSteps:
    """Steps of all lanes of a batch, done without Python's functions. A batch of many lanes writes its results into
    XLA's arrays where these have its dtypes. With states that are values, the state is loaded into the batch before,
    and saved afterwards.

    Args:
        batch: whose action is one array.
        leaves: as of XlaCall.
        lock: held meanwhile, with states; None: there are none.
    """

    cdef Batch batch
    cdef object leaves, lock
    cdef int count  # of the state's columns
    cdef int64_t[BE_MAX_LANE_COLUMNS + 1] sizes  # bytes of a lane in each

    def __init__(self, Batch batch, leaves, lock=None):
        self.batch, self.leaves, self.lock = batch, leaves, lock
        sizes = batch.column_sizes() if lock is not None else []
        self.count = len(sizes)
        for k, size in enumerate(sizes):
            self.sizes[k] = size

    cdef bint serve(self, XlaFrame *frame, int first) except -1:
        """first: how many handles come before everything else. False: this is no such call."""
        cdef int k
        if frame.arguments.count != first + self.count + 1:
            return False
        if self.lock is None:
            self._serve(frame, first)
            return True
        if frame.results.count < self.count:
            return False
        for k in range(self.count):
            if not (self._is_column(frame.arguments.buffers[k], k) and self._is_column(frame.results.buffers[k], k)):
                return False  # mapped over several states
        with self.lock:
            self._serve(frame, first)
        return True

    cdef bint _is_column(self, const XlaBuffer *buffer, int k) noexcept:
        """Whether this has the form of column k of a state of all lanes."""
        return (buffer.dtype == XLA_U8 and buffer.rank == 2 and buffer.dims[0] == self.batch.num_lanes
                and buffer.dims[1] == self.sizes[k])

    cdef int _serve(self, XlaFrame *frame, int first) except -1:
        cdef unsigned char *places[BE_MAX_LANE_COLUMNS + 1]
        cdef list targets = []
        cdef tuple into = None
        cdef int64_t k
        action = _xla_view(frame.arguments.buffers[first + self.count], False)
        for k in range(first + self.count, frame.results.count):
            targets.append(_xla_view(frame.results.buffers[k], True))
        if self.lock is None and self.batch.num_lanes >= MANY_LANES:
            into = self.batch.layout.matching(targets)
        self.batch.calls.begin()
        try:
            if self.count:
                for k in range(self.count):
                    places[k] = <unsigned char *>frame.arguments.buffers[k].data
                self.batch._load_columns(places)
            found = self.batch._step(action, into, True)
            if self.batch.failed is not None:
                self.batch.deliver(found)
            if self.count:
                for k in range(self.count):
                    places[k] = <unsigned char *>frame.results.buffers[k].data
                with nogil:
                    be_columns_save(self.batch.batch, places)
        finally:
            self.batch.calls.end()
        found = found if self.leaves is None else self.leaves(found)
        for k in range(len(targets)):
            put_for_xla(targets[k], found[k])
        return 0


cpdef int put_for_xla(cnp.ndarray target, object value) except -1:
    """Writes an array, or a number, to one of XLA's arrays. ValueError: an integer does not fit into its dtype."""
    cdef cnp.ndarray array
    cdef be_fp before
    if type(value) is cnp.ndarray:
        array = value
        if cnp.PyArray_DATA(array) == cnp.PyArray_DATA(target):
            return 0  # it was written there
        if (cnp.PyArray_TYPE(array) == cnp.PyArray_TYPE(target) and cnp.PyArray_ISCARRAY_RO(array)
                and cnp.PyArray_NBYTES(array) == cnp.PyArray_NBYTES(target)):
            memcpy(cnp.PyArray_DATA(target), cnp.PyArray_DATA(array), cnp.PyArray_NBYTES(array))
            return 0
    before = be_fp_enter()  # XLA's threads may flush numbers that are nearly 0
    try:
        if cnp.PyArray_NDIM(target) != 1 or type(value) is not cnp.ndarray or not _narrow(value, target):
            target[...] = value
            if (type(value) is cnp.ndarray and cnp.PyArray_ISINTEGER(target)
                    and cnp.PyArray_ITEMSIZE(<cnp.ndarray>value) > cnp.PyArray_ITEMSIZE(target)):
                _refuse_cut(target, value)
    finally:
        be_fp_leave(&before)
    return 0


cdef int _refuse_cut(cnp.ndarray target, cnp.ndarray value) except -1:
    wrong = value[np.not_equal(target, value)]
    if wrong.size:
        raise ValueError(f"the step has returned {wrong.flat[0]}, which does not fit into JAX's {target.dtype}: "
                         "set jax_enable_x64")
    return 0


cdef cnp.ndarray _xla_view(const XlaBuffer *buffer, bint writeable):
    """An array over XLA's memory, which is there as long as the call lasts."""
    cdef cnp.npy_intp[16] shape
    cdef int64_t k
    if buffer.rank > 16 or not 0 <= buffer.dtype < 13 or _XLA_TYPES[buffer.dtype] < 0:
        raise TypeError(f"XLA's dtype {buffer.dtype}, or {buffer.rank} axes, are nothing for an environment")
    for k in range(buffer.rank):
        shape[k] = buffer.dims[k]
    array = cnp.PyArray_SimpleNewFromData(<int>buffer.rank, shape, _XLA_TYPES[buffer.dtype], buffer.data)
    if not writeable:
        cnp.PyArray_CLEARFLAGS(array, cnp.NPY_ARRAY_WRITEABLE)
    return array
