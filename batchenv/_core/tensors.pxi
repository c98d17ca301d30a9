# Tensors of other libraries, looked at without Python in between.

from cpython.pycapsule cimport PyCapsule_GetPointer, PyCapsule_IsValid
from libc.stdint cimport uint16_t

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

cdef struct DlExchange:
    uint32_t major, minor
    void *previous
    void *allocate
    void *give
    void *take
    int (*look)(void *tensor, DlTensor *seen) except -1  # what is seen is the tensor's own
    void *stream

cdef enum:
    DL_CPU = 1
    DL_PINNED = 3  # memory of the CPU that a GPU can reach, too
    DL_INT = 0


cdef const DlExchange *_exchange_of(type kind) except? NULL:
    """The interface of tensors of exactly this type, or NULL. It stays where it is."""
    cdef const DlExchange *exchange
    capsule = kind.__dict__.get("__dlpack_c_exchange_api__")
    if capsule is None or not PyCapsule_IsValid(capsule, "dlpack_exchange_api"):
        return NULL
    exchange = <const DlExchange *>PyCapsule_GetPointer(capsule, "dlpack_exchange_api")
    return exchange if exchange.major == 1 else NULL


cdef const void *_look_at_integers(const DlExchange *exchange, object tensor, int64_t rows, tuple shape, int *bytes):
    """The memory of a tensor of int32 or int64, shape (rows, *shape), that is contiguous and in the CPU's memory; or
    NULL. bytes: those of an element. Integers have no gradients, so nobody has to be told that these are lost."""
    cdef DlTensor seen
    cdef int64_t stride = 1
    cdef int i, ndim = 1 + len(shape)
    try:
        exchange.look(<void *>tensor, &seen)
    except Exception:  # of a tensor that has no memory
        return NULL
    if seen.device_type != DL_CPU and seen.device_type != DL_PINNED:
        return NULL
    if seen.code != DL_INT or seen.vector_lanes != 1 or (seen.bits != 32 and seen.bits != 64) or seen.ndim != ndim:
        return NULL
    for i in range(ndim - 1, -1, -1):
        if seen.shape[i] != (rows if i == 0 else <int64_t>shape[i - 1]):
            return NULL
        if seen.shape[i] > 1 and seen.strides != NULL and seen.strides[i] != stride:
            return NULL
        stride *= seen.shape[i]
    bytes[0] = seen.bits // 8
    if seen.data == NULL or (<size_t>seen.data + seen.byte_offset) % <size_t>bytes[0]:
        return NULL
    return <const char *>seen.data + seen.byte_offset
