# About this build: instruction sets, and which mathematical functions the kernels call.

cdef const be_isa *_chosen = NULL
cdef bint _math_chosen = False, _numpy_f32_fused = True
_probe_results = {}
_process_mismatches = {}
_linked_mismatches = {}


def _choose_math():
    """Before the first env is made, chooses the functions that kernels call, so that they are Python's own (see
    csrc/include/libm.h), and the variant of float32 sin and cos that this NumPy uses. Warns about what is wrong with
    this build."""
    global _math_chosen, _numpy_f32_fused
    cdef int fused
    cdef cnp.ndarray angles
    if _math_chosen:
        return
    be_libm_begin()
    functions = _libm_arguments()
    wrong = [name for name, arguments in functions.items() if not _choose_function(name, *arguments)]
    angles = functions["sin"][0]
    be_libm_choose_sincos(<const double *>cnp.PyArray_DATA(angles), angles.size)
    _take_numpy_loops()
    for fused in (1, 0):
        if _numpy_float32_mismatches(fused) == 0:
            _numpy_f32_fused = fused
            break
    be_set_numpy_f32_fused(_numpy_f32_fused)
    _math_chosen = True
    if wrong:
        warnings.warn(
            f"batchenv's {', '.join(wrong)} differ from Python's, so results may differ from Gymnasium's in the last "
            "bit: this build has linked another C library than the one that Python uses, and that one was not found "
            "in this process. Build batchenv with the compiler and C library that Python was built with, for example "
            "CC=gcc pip install --force-reinstall .; batchenv.build_info()['python_mismatches'] counts the differences",
            RuntimeWarning, stacklevel=2)
    if BE_OPENMP_MISSING:
        warnings.warn(
            "this batchenv was built without OpenMP, so most environments are stepped by one thread: when it was "
            "built, the compiler could not compile, link and run a program with -fopenmp. Build it again with "
            "BATCHENV_REQUIRE_OPENMP=1 pip install --force-reinstall ., which stops with the compiler's message "
            "(gcc brings OpenMP along; Debian's clang needs libomp-dev); or with BATCHENV_NO_OPENMP=1, if one thread "
            "is what you want: then this warning does not come", UserWarning, stacklevel=2)


def _libm_arguments():
    """{name of a function in Python's math: its arguments}: arrays of 2,048 numbers in the ranges that envs use."""
    rng = np.random.default_rng(20261101)
    angles = rng.uniform(-1, 1, 2048) * np.tile([0.06, 0.84, 2.0, 3.2, 30.0, 1e4, 1e8, 1e300], 256)
    small = rng.uniform(-1, 1, 2048) * np.tile([1e-8, 0.5, 3.0, 50.0], 512)
    return {
        "sin": (angles,), "cos": (angles,), "exp": (-np.abs(small),), "log1p": (-rng.uniform(0, 1, 2048),),
        "tanh": (small,), "pow": (small, np.full(2048, 2.0)), "fmod": (np.abs(angles), np.full(2048, 2 * math.pi)),
        "remainder": (angles, np.full(2048, 2 * math.pi)), "atan2": (np.abs(small), angles),
        "log": (np.abs(small),),
    }


cdef int _take_numpy_loops() except -1:
    """Gives kernels the loops of NumPy's functions for float64."""
    cdef PyUFuncObject *ufunc
    cdef int function, k
    for function in range(BE_NUMPY_FUNCTIONS):
        found = getattr(np, be_numpy_names[function].decode())
        ufunc, k = <PyUFuncObject *><PyObject *>found, _float64_loop(found)
        be_numpy_set(<be_numpy_function>function, ufunc.functions[k], ufunc.data[k])
    ufunc, k = <PyUFuncObject *><PyObject *>np.matmul, _float64_loop(np.matmul)
    be_numpy_set_matmul(ufunc.functions[k], ufunc.data[k])
    return 0


cdef int _float64_loop(found) except -1:
    """Which of a ufunc's loops is that for float64."""
    cdef PyUFuncObject *ufunc = <PyUFuncObject *><PyObject *>found
    cdef int k
    for k in range(ufunc.ntypes):
        if all(ufunc.types[k * ufunc.nargs + i] == cnp.NPY_DOUBLE for i in range(ufunc.nargs)):
            return k
    raise ImportError(f"NumPy {np.__version__} has no {found.__name__} of float64 that batchenv can call")


def numpy_function(str name, double x, double y=0):
    """What kernels get from NumPy's function of that name, of one number or of two."""
    _choose_math()
    cdef int function = [known.decode() for known in be_numpy_names].index(name)
    return be_numpy_call(<be_numpy_function>function, x, y)


def numpy_dot(const double[::1] x, const double[::1] y):
    """What kernels get from NumPy as the dot of as many numbers, one or more."""
    _choose_math()
    return be_numpy_dot_of(&x[0], &y[0], min(len(x), len(y)))


def _choose_function(str name, cnp.ndarray x, cnp.ndarray y=None):
    """Chooses the function of that name for kernels. Returns whether its results equal Python's to the last bit."""
    cdef int64_t[2] mismatches
    columns = [x.tolist()] if y is None else [x.tolist(), y.tolist()]
    cdef cnp.ndarray expected = np.array(list(map(getattr(math, name), *columns)))
    cdef bytes c_name = name.encode()
    cdef const double *ys = NULL
    if y is not None:
        ys = <const double *>cnp.PyArray_DATA(y)
    cdef bint right = be_libm_choose(c_name, <const double *>cnp.PyArray_DATA(x), ys,
                                     <const double *>cnp.PyArray_DATA(expected), x.size, mismatches)
    _process_mismatches[name] = mismatches[0]
    _linked_mismatches[name] = mismatches[1]
    return right


def _numpy_float32_mismatches(int fused):
    """For how many of 4,096 arguments NumPy's float32 sin or cos differs from ours with this setting of `fused`."""
    x = np.random.default_rng(20261101).uniform(-4, 4, 4096).astype(np.float32)
    sine, cosine = np.sin(x), np.cos(x)
    cdef const float[::1] xs = x, ss = sine, cs = cosine
    return be_numpy_f32_mismatches(fused, &xs[0], &ss[0], &cs[0], 4096)


cdef const be_isa *_find_isa(object name) except NULL:
    """The instruction set of that name; for None, the best one whose results equal the C library's."""
    global _chosen
    cdef const be_isa *const *isa = be_isa_supported()
    cdef int64_t mismatches[5]
    if name is None and _chosen != NULL:
        return _chosen
    _choose_math()
    names = []
    while isa[0] != NULL:
        names.append(isa[0].name.decode())
        if name is None or name == names[-1]:
            if names[-1] not in _probe_results:
                with nogil:
                    isa[0].probe(mismatches)
                functions = ("sin", "cos", "square", "square_float32", "remainder")
                _probe_results[names[-1]] = dict(zip(functions, [m for m in mismatches[:5]], strict=True))
            if name is not None:
                return isa[0]
            if not any(_probe_results[names[-1]].values()):
                _chosen = isa[0]
                return _chosen
        isa += 1
    raise ValueError(f"instruction set {name!r} is not one of this CPU's and this build's: {', '.join(names)}; "
                     "unset BATCHENV_ISA to let batchenv choose")


def supported_isas():
    """Names of the instruction sets compiled in and supported by this CPU, best first."""
    names = []
    cdef const be_isa *const *isa = be_isa_supported()
    while isa[0] != NULL:
        names.append(isa[0].name.decode())
        isa += 1
    return names


def chosen_isa():
    """The name of the instruction set that lanes made now use."""
    return _find_isa(os.environ.get("BATCHENV_ISA") or None).name.decode()


def build_info():
    """What this build is and what it chose here: see batchenv.build_info."""
    cdef const be_isa *isa = _find_isa(os.environ.get("BATCHENV_ISA") or None)
    x = np.random.default_rng(7).uniform(-30, 30, 4096)
    return {
        "openmp": bool(BE_OPENMP),
        "max_threads": default_threads(),
        "numa_nodes": numa_nodes(),
        "isa": isa.name.decode(),
        "isas": supported_isas(),
        "libm_mismatches": dict(_probe_results[isa.name.decode()]),
        "linked_mismatches": dict(_linked_mismatches),
        "python_mismatches": {
            name: linked if process < 0 else min(linked, process)
            for (name, linked), process in zip(_linked_mismatches.items(), _process_mismatches.values(), strict=True)
        },
        "numpy_mismatches": {
            "sin": int(sum(np.sin(v) != math.sin(v) for v in x)),
            "cos": int(sum(np.cos(v) != math.cos(v) for v in x)),
            "square": int(sum(v**2 != math.pow(v, 2) for v in x)),
            "sin_cos_float32": _numpy_float32_mismatches(_numpy_f32_fused),
        },
    }
