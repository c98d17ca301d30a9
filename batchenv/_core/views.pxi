# Live views of a batch's columns, and draws from its lanes' random streams, for code that computes with all lanes.

cdef object _view(Batch batch, void *data, object dtype, tuple shape):
    """An array over memory of the batch, which it keeps."""
    cdef cnp.npy_intp sizes[2]
    cdef Py_ssize_t k
    for k in range(len(shape)):
        sizes[k] = shape[k]
    array = cnp.PyArray_SimpleNewFromData(len(shape), sizes, np.dtype(dtype).num, data)
    cnp.set_array_base(array, batch)
    return array


def views_of(Batch batch):
    """{name: array (num_lanes,) or (num_lanes, size)}: the fields of the state, and "elapsed_steps" (int32), which must
    only be read. They show what the lanes have at any time."""
    cdef const be_field *field = batch.batch.type.state
    cdef int k = 0
    views = {"elapsed_steps": _view(batch, batch.batch.elapsed, np.int32, (batch.num_lanes,))}
    while field[k].name != NULL:
        size = batch.batch.field_size[k]
        shape = tuple([batch.num_lanes] + [size] * (size > 1))
        views[field[k].name.decode()] = _view(batch, batch.batch.state[k], _dtypes[<int>field[k].dtype], shape)
        k += 1
    return views


def pending_of(Batch batch):
    """A view, uint8 (num_lanes,): 1 where a lane has finished and waits for its reset."""
    return _view(batch, be_batch_pending(batch.batch), np.uint8, (batch.num_lanes,))


def streams_of(Batch batch):
    """A view of the lanes' random streams as bytes: uint8 (num_lanes, bytes of a stream)."""
    return _view(batch, batch.batch.rng, np.uint8, (batch.num_lanes, sizeof(be_rng)))


def draw(Batch batch, lanes, cnp.ndarray out, last=None):
    """Fills the rows of `out`, (lanes, size) and C-contiguous, each from the stream of one of `lanes` (int64; None: all
    lanes), value by value as numpy.random.Generator would draw them.

    Args:
        out: int64: integers from 0 to `last`. float64: standard_normal() if `last` is None, else random().
    """
    cdef const int64_t[::1] numbers
    cdef int64_t k, j, lane, count = cnp.PyArray_DIM(out, 0), size = cnp.PyArray_DIM(out, 1)
    cdef double *reals = <double *>cnp.PyArray_DATA(out)
    cdef int64_t *wholes = <int64_t *>cnp.PyArray_DATA(out)
    cdef bint whole = cnp.PyArray_TYPE(out) == cnp.NPY_INT64, normal = last is None
    cdef uint64_t most = 0 if last is None else last
    cdef be_rng *rng
    if lanes is not None:
        numbers = lanes
    for k in range(count):
        lane = k if lanes is None else numbers[k]
        rng = &batch.batch.rng[lane]
        for j in range(size):
            if whole:
                wholes[k * size + j] = <int64_t>be_rng_bounded(rng, most)
            elif normal:
                reals[k * size + j] = be_rng_standard_normal(rng)
            else:
                reals[k * size + j] = be_rng_double(rng)


def failure_of(Batch batch, int64_t lane):
    """Why this lane has failed in the last call."""
    return be_batch_failure(batch.batch, lane).message.decode(errors="replace")
