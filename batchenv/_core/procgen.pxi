# The library of Procgen: csrc/engines/procgen/procgen.h.

cdef extern from "engines/procgen/procgen.h" nogil:
    ctypedef struct be_procgen_setup:
        const char *library
        const char *assets


cdef class ProcgenSetup(Engine):
    """`be_procgen_setup`. library: the path of libenv.so. assets: that of the folder with its images, and a /."""

    cdef be_procgen_setup setup

    def __cinit__(self, bytes library, bytes assets):
        self.given = &self.setup
        self.kept += [library, assets]
        self.setup.library, self.setup.assets = library, assets
