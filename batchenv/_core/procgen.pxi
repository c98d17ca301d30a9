# The library of Procgen: csrc/engines/procgen/procgen.h.

cdef extern from "engines/procgen/procgen.h" nogil:
    ctypedef struct be_procgen_setup:
        const char *library
        const char *assets
        int32_t fast

    void be_procgen_watch_forks()


cdef class ProcgenSetup(Engine):
    """`be_procgen_setup`. library: the path of libenv.so. assets: that of the folder with its images, and a /.
    fast: see there."""

    cdef be_procgen_setup setup

    def __cinit__(self, bytes library, bytes assets, *, bint fast):
        be_procgen_watch_forks()
        self.given = &self.setup
        self.kept += [library, assets]
        self.setup.library, self.setup.assets, self.setup.fast = library, assets, fast
