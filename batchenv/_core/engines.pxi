# What open() gets for types with foreign simulators: C structs, which are filled by name.

cdef class Engine:
    """What a type's open() gets, with all memory that it points to. The batch keeps this object until its workers have
    ended."""

    cdef const void *given
    cdef list kept  # objects whose memory the C side reads and writes

    def __cinit__(self):
        self.kept = []

    cdef void *keep(self, object array) except NULL:
        """The address of a C-contiguous numpy array, which is kept alive."""
        if not cnp.PyArray_IS_C_CONTIGUOUS(<cnp.ndarray?>array):
            raise ValueError("an array that the C side reads must be C-contiguous")
        self.kept.append(array)
        return cnp.PyArray_DATA(<cnp.ndarray>array)

    def take_causes(self, failed):
        """{lane: the exception because of which it has failed}, for those of the lanes `failed` (an array) that have
        one."""
        return {}
