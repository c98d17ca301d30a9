# Tensors of other libraries, looked at and made without Python in between.

# The structs of DLPack's C exchange interface, version 1, as far as they are used.

cdef struct DlTensor:
    void *data
    int32_t device_type, device_id
    int32_t ndim
    uint8_t code, bits
    uint16_t vector_lanes
    int64_t *shape
    int64_t *strides  # in elements
    uint64_t byte_offset

cdef struct DlManaged:
    uint32_t major, minor
    void *context
    void (*delete)(DlManaged *managed) noexcept nogil
    uint64_t flags
    DlTensor tensor

cdef struct DlExchange:
    uint32_t major, minor
    void *previous
    void *allocate
    void *give
    int (*take)(DlManaged *managed, void **tensor) except -1  # makes a tensor; `managed` is its own from then on
    int (*look)(void *tensor, DlTensor *seen) except -1  # what is seen is the tensor's own
    void *stream

cdef enum:
    DL_CPU = 1
    DL_PINNED = 3  # memory of the CPU that a GPU can reach, too
    DL_INT = 0
    DL_UINT = 1
    DL_FLOAT = 2
    DL_BOOL = 6
    MOST_AXES = 8  # of an array over which a tensor is made here
    MOST_SETS = 8  # of arrays that come again with copy=False: there are four


cdef const DlExchange *_exchange_of(type kind) except? NULL:
    """The interface of tensors of exactly this type, or NULL. It stays where it is."""
    cdef const DlExchange *exchange
    capsule = kind.__dict__.get("__dlpack_c_exchange_api__")
    if capsule is None or not PyCapsule_IsValid(capsule, "dlpack_exchange_api"):
        return NULL
    exchange = <const DlExchange *>PyCapsule_GetPointer(capsule, "dlpack_exchange_api")
    return exchange if exchange.major == 1 else NULL


cdef inline bint _contiguous(const DlTensor *seen) noexcept:
    """Row by row, without gaps."""
    cdef int64_t stride = 1
    cdef int i
    for i in range(seen.ndim - 1, -1, -1):
        if seen.shape[i] > 1 and seen.strides != NULL and seen.strides[i] != stride:
            return False
        stride *= seen.shape[i]
    return True


cdef const void *_look_at_integers(const DlExchange *exchange, object tensor, int64_t rows, tuple shape, int *bytes):
    """The memory of a tensor of int32 or int64, shape (rows, *shape), that is contiguous and in the CPU's memory; or
    NULL. bytes: those of an element. Integers have no gradients, so nobody has to be told that these are lost."""
    cdef DlTensor seen
    cdef int i, ndim = 1 + len(shape)
    try:
        exchange.look(<void *>tensor, &seen)
    except Exception:  # of a tensor that has no memory
        return NULL
    if seen.device_type != DL_CPU and seen.device_type != DL_PINNED:
        return NULL
    if seen.code != DL_INT or seen.vector_lanes != 1 or (seen.bits != 32 and seen.bits != 64) or seen.ndim != ndim:
        return NULL
    for i in range(ndim):
        if seen.shape[i] != (rows if i == 0 else <int64_t>shape[i - 1]):
            return NULL
    if not _contiguous(&seen):
        return NULL
    bytes[0] = seen.bits // 8
    if seen.data == NULL or (<size_t>seen.data + seen.byte_offset) % <size_t>bytes[0]:
        return NULL
    return <const char *>seen.data + seen.byte_offset


cdef struct Lent:  # an array's memory, while a tensor has it
    DlManaged managed
    int64_t shape[MOST_AXES]
    int64_t strides[MOST_AXES]


cdef void _take_back(DlManaged *managed) noexcept nogil:
    """Called by the last tensor over an array's memory, in any thread."""
    with gil:
        Py_DECREF(<object>managed.context)
    PyMem_RawFree(managed)


cdef int _code_of(int type_number) noexcept:
    """DLPack's code of one of NumPy's dtypes; -1: it has none here."""
    if type_number == cnp.NPY_FLOAT32 or type_number == cnp.NPY_FLOAT64:
        return DL_FLOAT
    if type_number == cnp.NPY_BOOL:
        return DL_BOOL
    if type_number == cnp.NPY_INT64 or type_number == cnp.NPY_INT32:
        return DL_INT
    return DL_UINT if type_number == cnp.NPY_UINT8 else -1


cdef object _lend(const DlExchange *exchange, cnp.ndarray array, int code):
    """A tensor over the memory of a contiguous array of at most MOST_AXES axes, which lives as long as that is used."""
    cdef Lent *lent = <Lent *>PyMem_RawMalloc(sizeof(Lent))
    cdef DlTensor *seen
    cdef void *tensor = NULL
    cdef int64_t stride = 1
    cdef int i
    if lent == NULL:
        raise MemoryError
    lent.managed.major, lent.managed.minor, lent.managed.flags = 1, 0, 0
    lent.managed.context, lent.managed.delete = <void *>array, _take_back
    seen = &lent.managed.tensor
    seen.data, seen.byte_offset = cnp.PyArray_DATA(array), 0
    seen.device_type, seen.device_id = DL_CPU, 0
    seen.code, seen.bits, seen.vector_lanes = code, 8 * cnp.PyArray_ITEMSIZE(array), 1
    seen.ndim, seen.shape, seen.strides = cnp.PyArray_NDIM(array), lent.shape, lent.strides
    for i in range(seen.ndim - 1, -1, -1):
        lent.shape[i], lent.strides[i] = cnp.PyArray_DIM(array, i), stride
        stride *= lent.shape[i]
    Py_INCREF(array)
    exchange.take(&lent.managed, &tensor)  # if it raises, nobody says whether `lent` is its own: rather lose that
    made = <object>tensor
    Py_DECREF(made)  # what `take` gave was a reference of ours
    return made


def held_memory(storage):
    """Whether more than one tensor, or somebody beside the caller's one reference to this storage, holds its memory. It
    is read where PyTorch counts that, which has to be tried beforehand: asking PyTorch takes longer than a step of few
    lanes."""
    return _held(<PyObject *>storage, storage._cdata, 1)


cdef inline bint _held(PyObject *storage, size_t address, int more) noexcept:
    """more: references to the object that are only borrowed here."""
    # Two use the memory: a tensor, and the object, which the memory keeps as long as the tensor is there.
    return be_references(storage) != 2 + more or be_count_at(<const void *>(address + sizeof(void *))) != 2


@cython.final
cdef class Spare:
    """The arrays of a step and tensors over them, to be used again when nobody else holds their memory."""

    cdef Output output  # these arrays; nobody is handed any of them
    cdef tuple tensors  # over its observations, rewards, terminations and truncations
    cdef tuple attributes  # what users have set on each of the tensors; None: `Tensors.renew` has not seen them
    cdef tuple storages  # of each tensor
    cdef size_t[4] addresses  # of these

    cdef tuple arrays(self):
        """Those under the tensors."""
        return tuple(self.output.arrays[:4])

    cdef bint unshared(self) noexcept:
        """Nobody else holds the tensors, be it as a part of a graph of autograd, or infos. Their memory may be held."""
        cdef int k
        for k in range(4):
            if not be_unshared(PyTuple_GET_ITEM(self.tensors, k)):
                return False
        return self.output.unshared(4)

    cdef bint intact(self, const DlExchange *exchange) except -1:
        """Nobody else holds their memory, and they are as they were made."""
        cdef int k
        for k in range(4):
            if (_held(PyTuple_GET_ITEM(self.storages, k), self.addresses[k], 0)
                    or len(<dict>PyTuple_GET_ITEM(self.attributes, k))
                    or not _as_made(exchange, PyTuple_GET_ITEM(self.tensors, k), self.output.at(k))):
                return False
        return True


cdef bint _as_made(const DlExchange *exchange, PyObject *tensor, cnp.ndarray array) except -1:
    """Whether a tensor shows all of a contiguous array, and wants no gradients."""
    cdef DlTensor seen
    cdef int i
    exchange.look(tensor, &seen)
    if (<char *>seen.data + seen.byte_offset != cnp.PyArray_DATA(array) or seen.ndim != cnp.PyArray_NDIM(array)
            or seen.bits != 8 * cnp.PyArray_ITEMSIZE(array) or seen.code != _code_of(cnp.PyArray_TYPE(array))):
        return False
    for i in range(seen.ndim):
        if seen.shape[i] != cnp.PyArray_DIM(array, i):
            return False
    return _contiguous(&seen) and (seen.code != DL_FLOAT or not (<object>tensor).requires_grad)


@cython.final
cdef class Tensors:
    """Makes tensors over the memory of NumPy's arrays, which is held as long as a tensor uses it.

    Args:
        kind: the class of tensors.
        make: makes a tensor of an array where that is not done here: of any dtype and layout, or for a class without
            DLPack's C interface. It may return the array itself.
        rows_of: gives the "final_rows" of infos that have only Gymnasium's "final_obs"; None: these infos stay without.
        again: whether arrays of steps come again, as with copy=False. The same tensors are then handed out again.
        call: what `step` calls; None: there is no `step`.
        batch: what `step` steps in place of `call`, into tensors that nobody else holds any more; None: there is none.
        renew: called with tensors and the arrays under them; returns others over the same arrays, or None, if somebody
            uses the memory of the first ones.

    Attributes:
        finals_only: whether infos are left out, but for "final_rows".
    """

    cdef const DlExchange *exchange
    cdef object make, rows_of, call, renew
    cdef Batch batch
    cdef list sets  # (four arrays, the tensors over them) with `again`, Spare with `batch`; else None
    cdef int turn  # the set that was used last
    cdef public bint finals_only

    def __init__(self, kind, make, rows_of=None, bint again=False, call=None, Batch batch=None, renew=None):
        self.exchange = _exchange_of(<type>kind)  # of a metaclass of its own
        self.make, self.rows_of, self.call, self.renew = make, rows_of, call, renew
        if batch is not None and self.exchange != NULL and batch.layout.plain:
            self.batch = batch
        self.sets = [] if again or self.batch is not None else None

    def of(self, value):
        """`value`, with a tensor in place of each array, in dicts and tuples, too. Texts stay as they are."""
        cdef cnp.ndarray array
        cdef int code
        if type(value) is cnp.ndarray:
            array = value
            code = _code_of(cnp.PyArray_TYPE(array))
            if (self.exchange == NULL or code < 0 or not cnp.PyArray_ISCARRAY(array)
                    or cnp.PyArray_NDIM(array) > MOST_AXES):
                return self.make(array)
            return _lend(self.exchange, array, code)
        if isinstance(value, dict):
            return {name: self.of(part) for name, part in value.items()}
        if isinstance(value, tuple) and type(value) is not Texts:
            return tuple([self.of(part) for part in value])
        return value

    cpdef step(self, actions):
        """What `call` returns, as tensors. It is here because Python's calls and attributes would take longer."""
        if self.batch is not None:
            self.batch.calls.begin()
            try:
                return self.step_batch(actions)
            finally:
                self.batch.calls.end()
        try:
            result = self.call(actions)
        except LaneError as error:
            error.result = self.of_step(error.result)
            raise
        return self.of_step(result)

    cdef tuple step_batch(self, actions):
        """`step` of the batch, which is held."""
        cdef be_rows arrays
        cdef Spare spare
        cdef dict infos
        cdef tuple result
        self.batch._begin_step(actions, &arrays)
        spare = self.find()
        infos = self.batch._finish_step(spare.output, &arrays)
        if infos:
            infos = self.of_infos(infos)
        result = spare.tensors[0], spare.tensors[1], spare.tensors[2], spare.tensors[3], infos
        if self.batch.failed is not None:
            self.batch.deliver(result)
        return result

    cdef Spare find(self):
        """One that can be used again, or a new one. It stays among these."""
        cdef Spare spare
        cdef int i
        for i in range(len(self.sets)):
            spare = <Spare>PyList_GET_ITEM(self.sets, i)
            if not spare.unshared():
                continue
            if spare.attributes is None and not self.renewed(spare) or not spare.intact(self.exchange):
                del self.sets[i]
                break
            return spare
        spare = Spare.__new__(Spare)
        spare.output = _new_output(self.batch.layout, FOR_STEP, self.batch.num_lanes)
        spare.tensors = self.of(spare.arrays())
        if len(self.sets) < MAX_POOL:
            self.sets.append(spare)
        else:  # all are held, by a user who stores every step: forget the oldest
            self.turn = (self.turn + 1) % MAX_POOL
            self.sets[self.turn] = spare
        return spare

    cdef bint renewed(self, Spare spare) except -1:
        """Gives other tensors to one whose tensors nobody else holds; False if somebody uses their memory.

        A user who keeps all tensors never gets here. Those that were made in inference mode are not for everything, so
        that others take their place.
        """
        cdef int k
        found = self.renew(spare.tensors, spare.arrays())
        if found is None:
            return False
        spare.tensors = found
        spare.storages = tuple([tensor.untyped_storage() for tensor in spare.tensors])
        for k in range(4):
            spare.addresses[k] = spare.storages[k]._cdata
        spare.attributes = tuple([tensor.__dict__ for tensor in spare.tensors])
        return True

    cdef tuple of_step(self, tuple result):
        """The four results of a step and its infos."""
        cdef tuple known
        cdef int i, count
        infos = result[len(result) - 1]
        if infos:
            infos = self.of_infos(infos)
        if self.sets is None:
            return self.of(result[0]), self.of(result[1]), self.of(result[2]), self.of(result[3]), infos
        count = len(self.sets)
        for i in range(1, count + 1):
            known = <tuple>self.sets[(self.turn + i) % count]
            if known[0] is result[0] and known[1] is result[1] and known[2] is result[2] and known[3] is result[3]:
                self.turn = (self.turn + i) % count
                return known[4], known[5], known[6], known[7], infos
        if count == MOST_SETS:
            self.sets = []
        known = (*result[:4], *self.of(result[:4]))
        self.sets.append(known)
        return (*known[4:], infos)

    def of_infos(self, infos):
        """Infos, with "final_rows" in place of the array of objects "final_obs"."""
        cdef Py_ssize_t place = 0
        cdef PyObject *key
        cdef PyObject *value
        cdef dict told = {}
        cdef bint ends
        if self.finals_only:
            rows = self.rows_of(infos)
            return {} if rows is None else {"final_rows": self.of(rows)}
        ends = "_final_obs" in infos
        while PyDict_Next(infos, &place, &key, &value):
            if not ends or <object>key != _FINAL:
                told[<object>key] = self.of(<object>value)
        if ends:
            rows = (<Infos>infos).final_rows if type(infos) is Infos else self.rows_of and self.rows_of(infos)
            if rows is not None:
                told["final_rows"] = self.of(rows)
        return told


cdef class TensorSteps:
    """A base class of an env whose `step` needs no code in Python for a plain step of all lanes."""

    cdef Tensors plain  # what makes such a step; None: `_step` makes all of them

    def _step_by(self, Tensors plain):
        self.plain = plain

    def step(self, actions, env_id=None, *, out=None):
        """Takes one action per lane.

        Args:
            actions, env_id: as `BatchEnv.step` takes them; tensors, on the env's device or on the CPU.
            out: four tensors of the env's device to write into, any of which may be None, as `BatchEnv.step` takes
                arrays. They are returned.

        Returns:
            as `BatchEnv.step`; infos are tensors, too.

        Raises:
            As `BatchEnv.step`.
        """
        if env_id is None and out is None and self.plain is not None:
            return self.plain.step(actions)
        return self._step(actions, env_id, out)
