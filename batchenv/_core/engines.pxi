# What the types over foreign simulators are given to open(): structs of C, filled by name.

from libc.stdlib cimport calloc, free


cdef class Engine:
    """What a type's open() is given, and all that it points to: the batch keeps it until its workers have ended."""

    cdef const void *given
    cdef list kept  # objects whose memory the C side reads and writes

    def __cinit__(self):
        self.kept = []

    cdef void *keep(self, object array) except NULL:
        """The memory of a C-contiguous numpy array, which is kept."""
        if not cnp.PyArray_IS_C_CONTIGUOUS(<cnp.ndarray?>array):
            raise ValueError("an array that the C side reads must be C-contiguous")
        self.kept.append(array)
        return cnp.PyArray_DATA(<cnp.ndarray>array)
