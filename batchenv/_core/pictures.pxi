# Pictures that C types draw, and the memory that they are drawn into.

cdef enum:
    MOST_PIXELS = 1 << 14  # on a side
    MOST_SPARES = 1024
    MOST_SPARE_BYTES = 1 << 25

# Memory of pictures that nobody holds any more, all of one size. Where many lanes are drawn at a time, the C library
# gives such memory back to the operating system and takes it again, which costs ten times the drawing.
cdef void *_spares[MOST_SPARES]
cdef int _num_spares = 0
cdef size_t _spare_size = 0


cdef class _PictureMemory:
    """What a picture is drawn into; the array holds it."""
    cdef void *data
    cdef size_t size

    def __cinit__(self, size_t size):
        global _num_spares, _spare_size
        if size != _spare_size:
            while _num_spares:
                _num_spares -= 1
                be_aligned_free(_spares[_num_spares])
            _spare_size = size
        self.size = size
        if _num_spares:
            _num_spares -= 1
            self.data = _spares[_num_spares]
        else:
            # Lines of the cache, of which aligned_alloc wants whole ones: a picture is a fifth slower across them.
            self.data = be_aligned_new(64, (size + 63) // 64 * 64)
        if self.data == NULL:
            raise MemoryError(f"out of memory for a picture of {size} bytes")

    def __dealloc__(self):
        global _num_spares
        if self.data != NULL and self.size == _spare_size and _num_spares < MOST_SPARES and (
                (_num_spares + 1) * self.size <= MOST_SPARE_BYTES):
            _spares[_num_spares] = self.data
            _num_spares += 1
        else:
            be_aligned_free(self.data)


cdef object _picture(be_batch *batch, int64_t lane):
    cdef int rows = 0, columns = 0
    batch.type.picture(batch, lane, &rows, &columns, NULL)
    if not (1 <= rows <= MOST_PIXELS and 1 <= columns <= MOST_PIXELS):
        raise ValueError(f"type {batch.type.name.decode()}: picture() says that lane {lane} has {rows} rows and "
                         f"{columns} columns of pixels, but each must be from 1 to {MOST_PIXELS}: set *rows and "
                         "*columns, also where rgb is NULL")
    cdef cnp.npy_intp[3] shape = [rows, columns, 3]
    cdef _PictureMemory memory = _PictureMemory(<size_t>3 * rows * columns)
    batch.type.picture(batch, lane, &rows, &columns, <uint8_t *>memory.data)
    if rows != shape[0] or columns != shape[1]:
        raise ValueError(f"type {batch.type.name.decode()}: picture() says that lane {lane} has {shape[0]} x "
                         f"{shape[1]} pixels where rgb is NULL, and {rows} x {columns} where it draws them: the size "
                         "must be the same")
    rgb = cnp.PyArray_SimpleNewFromData(3, shape, cnp.NPY_UINT8, memory.data)
    cnp.set_array_base(rgb, memory)
    return rgb
