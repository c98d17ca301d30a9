# cython: language_level=3, cdivision=True
# cython: freethreading_compatible=True
"""The door between Python and the C core: one class, Batch, that owns a be_batch and the arrays handed out."""

import atexit
import math
import os
import time
import warnings
import weakref

import numpy as np
from gymnasium import logger
from gymnasium.error import ClosedEnvironmentError, ResetNeeded

from batchenv.values import brief, number

cimport cython
cimport numpy as cnp
from cpython.exc cimport PyErr_CheckSignals
from cpython.mem cimport PyMem_Calloc, PyMem_Free
from cpython.object cimport PyObject
from cython.parallel cimport prange
from libc.string cimport memchr, memcmp, memcpy, memset, strcmp

include "_rng.pxi"

cnp.import_array()

cdef extern from *:
    """
    #ifdef _OPENMP
    #include <omp.h>
    #define BE_OPENMP 1
    #define be_max_threads() omp_get_max_threads()
    #define be_num_places() omp_get_num_places()
    #define be_place_size(place) omp_get_place_num_procs(place)
    #define be_place_cpus(place, cpus) omp_get_place_proc_ids(place, cpus)
    #else
    #define BE_OPENMP 0
    #define be_max_threads() 1
    #define be_num_places() 0
    #define be_place_size(place) 0
    #define be_place_cpus(place, cpus) (void)(cpus)
    #endif
    #ifdef BE_OPENMP_DECLINED
    #define BE_OPENMP_MISSING 0
    #else
    #define BE_OPENMP_MISSING (!BE_OPENMP)
    #endif

    /* Nobody but the container we took it from holds this object. */
    static inline int be_unshared(PyObject *object) {
    #ifdef Py_GIL_DISABLED
    #if PY_VERSION_HEX >= 0x030E0000
        return PyUnstable_Object_IsUniquelyReferenced(object);
    #else
        (void)object;
        return 0;
    #endif
    #else
        return Py_REFCNT(object) == 1;
    #endif
    }
    /* Makes `flag` `to` if it is `from`. */
    static inline int be_swap(int *flag, int from, int to) {
        return __atomic_compare_exchange_n(flag, &from, to, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
    }
    #define be_set(flag, to) __atomic_store_n((flag), (to), __ATOMIC_RELEASE)
    #define be_look(flag) __atomic_load_n((flag), __ATOMIC_RELAXED)
    """
    const bint BE_OPENMP, BE_OPENMP_MISSING
    int be_max_threads() nogil
    int be_num_places() nogil
    int be_place_size(int place) nogil
    void be_place_cpus(int place, int *cpus) nogil
    bint be_unshared(PyObject *object) nogil
    bint be_swap(int *flag, int, int) nogil
    void be_set(int *flag, int) nogil
    int be_look(int *flag) nogil

cdef extern from "Python.h":
    PyObject *PyTuple_GET_ITEM(object, Py_ssize_t)
    PyObject *PyList_GET_ITEM(object, Py_ssize_t)
    unsigned long PyThread_get_thread_ident() nogil
    void PyObject_ClearWeakRefs(object)

cdef extern from "batchenv.h" nogil:
    ctypedef enum be_status:
        BE_OK, BE_ERROR_VALUE, BE_ERROR_MEMORY, BE_ERROR_ENGINE
    ctypedef struct be_error:
        be_status status
        int64_t lane
        char message[512]
    ctypedef enum be_dtype:
        BE_BOOL, BE_U8, BE_I32, BE_I64, BE_F32, BE_F64, BE_I8
    ctypedef enum be_when:
        BE_ALWAYS, BE_IN_STEPS, BE_WHERE_NOT_0
    ctypedef struct be_field:
        const char *name
        be_dtype dtype
        int size
        const char *doc
        be_when when
    ctypedef enum be_param_kind:
        BE_PARAM_FLOAT, BE_PARAM_INT, BE_PARAM_BOOL, BE_PARAM_CHOICE
    ctypedef struct be_param:
        const char *name
        be_param_kind kind
        double value, low, high
        const char **choices
        const char *doc
        int shared
    ctypedef enum be_space_kind:
        BE_SPACE_BOX, BE_SPACE_DISCRETE, BE_SPACE_TUPLE
    ctypedef struct be_space:
        be_space_kind kind
        be_dtype dtype
        int64_t n
        int ndim
        int64_t shape[4]
        double low[32]
        double high[32]
    ctypedef struct be_grid:
        const uint8_t *cells
        int64_t rows, columns
    ctypedef struct be_batch
    ctypedef struct be_setting:
        const char *name
        double value
        const char *text
    ctypedef struct be_id:
        const char *name
        int32_t max_episode_steps
        const double *reward_threshold
        be_setting settings[8]
        int unlisted
    ctypedef struct be_env_type:
        int frames_per_second
        const char *name
        const be_id *ids
        const char *family
        const be_field *state
        const be_field *info
        const be_param *params
        const be_param *options
        const char *grid
        unsigned flags
        int (*goes_on)(be_batch *, int64_t)
    ctypedef struct be_batch:
        const be_env_type *type
        int64_t num_lanes
        void *state[16]
        be_rng *rng
        int32_t *elapsed
        double params[32]
        be_space observation_space, action_space
    int BE_MAX_PARAMS, BE_MAX_SETTINGS
    unsigned BE_LANE_BY_LANE

cdef extern from "core/transform.h" nogil:
    ctypedef struct be_transform:
        int record_statistics, action_repeat, transform_reward
        double reward_scale, reward_low, reward_high
        int transform_observation, rescale
        int time_aware, convert
        be_dtype dtype
        int frame_stack
    int64_t be_frame_size(const be_space *, const be_transform *)
    be_dtype be_frame_dtype(const be_space *, const be_transform *)

cdef extern from "core/moments.h" nogil:
    void be_moments(const void *, be_dtype, int64_t, int64_t, void *, void *)
    void be_standardize(const void *, be_dtype, int64_t, int64_t, const void *, const void *, float *)

cdef extern from "core/numa.h" nogil:
    enum:
        BE_MAX_NODES
    ctypedef struct be_cpus:
        pass
    ctypedef struct be_node:
        int id, num_cpus
    ctypedef struct be_block:
        int64_t end_lane
        int end_worker, node
    ctypedef struct be_placement:
        int num_blocks
        be_block *blocks
    int be_cpus_usable(be_cpus *)
    int be_nodes_read(const char *, const be_cpus *, be_node *)
    be_placement *be_place_here(const char *, int, int64_t, int64_t)

cdef extern from "core/batch.h" nogil:
    ctypedef enum be_autoreset:
        BE_NEXT_STEP, BE_SAME_STEP, BE_DISABLED
    ctypedef struct be_arrays:
        const void *action
        void *observation
        double *reward
        uint8_t *terminated
        uint8_t *truncated
        void *info[16]
        void *final_observation
        void *final_info[16]
        uint8_t *started
        double *episode_return
        double *episode_seconds
        int64_t *episode_length
    ctypedef struct be_random_policy:
        uint64_t key, first_step
    ctypedef struct be_isa:
        const char *name
        int64_t (*step)(be_batch *, int64_t, int64_t, const be_arrays *, be_error *) noexcept nogil
        int (*check_actions)(const be_batch *, const void *, be_dtype, int64_t, int64_t, int, void *,
                             be_error *) noexcept nogil
        void (*probe)(int64_t *) noexcept nogil
    const be_isa *const *be_isa_supported()
    const be_env_type *be_type_at(const be_isa *, int64_t)
    const be_env_type *be_type_named(const be_isa *, const char *)
    ctypedef struct be_batch_options:
        const be_env_type *type
        int64_t num_lanes
        be_autoreset autoreset
        int32_t max_episode_steps
        const be_grid *grid
        const be_transform *transform
        const void *engine
        int (*look)(void *) noexcept nogil
        void *look_context
    be_batch *be_batch_create(const be_batch_options *, be_error *)
    void be_batch_place(be_batch *, be_placement *)
    const be_placement *be_batch_placement(const be_batch *)
    int64_t be_batch_take_failures(be_batch *, int64_t *)
    const be_error *be_batch_failure(const be_batch *, int64_t)
    void be_batch_rescale(be_batch *, const double *, const double *)
    void be_batch_destroy(be_batch *)
    int be_batch_configure(be_batch *, const double *, const double *const *, be_error *)
    int be_batch_check_options(const be_batch *, const double *, be_error *)
    int64_t be_batch_first_pending(const be_batch *, int64_t, int64_t)
    void be_batch_point_final(const be_batch *, be_arrays *)
    int be_batch_observe(be_batch *, int64_t, int64_t, const be_arrays *, be_error *)
    int64_t be_batch_bytes(const be_batch *)
    int64_t be_space_row_size(const be_space *)

cdef extern from "core/snapshot.h" nogil:
    int64_t be_snapshot_bytes(const be_batch *, int64_t)
    void be_snapshot_save(const be_batch *, const int64_t *, int64_t, void *)
    int be_snapshot_check(const be_batch *, const void *, int64_t, be_error *)
    int64_t be_snapshot_count(const void *)
    void be_snapshot_params(const void *, int64_t, double *)
    void be_snapshot_load(be_batch *, const void *, const int64_t *, const int64_t *, int64_t)

cdef extern from "core/async.h" nogil:
    ctypedef enum be_pool_status:
        BE_POOL_OK, BE_POOL_TIMEOUT, BE_POOL_FULL, BE_POOL_STARVED, BE_POOL_BUSY, BE_POOL_INVALID, BE_POOL_FORKED
    ctypedef struct be_pool
    ctypedef struct be_pool_options:
        int num_workers
        const int *cpus
        int num_cpus
        const be_placement *placement
    be_pool *be_pool_create(const be_pool_options *, char *, size_t)
    int be_pool_num_workers(const be_pool *)
    void be_pool_destroy(be_pool *, int)
    ctypedef struct be_async
    ctypedef struct be_results:
        be_arrays rows
        int64_t *lanes
        uint8_t *failed
    int BE_ASYNC_RANGE, BE_ASYNC_IN_FLIGHT, BE_ASYNC_TWICE
    int be_async_num_workers(const be_async *)
    be_async *be_async_create(be_batch *, const be_isa *, int64_t, int, const int *, int, be_error *)
    void be_async_destroy(be_async *)
    int be_async_num_buffers(const be_async *)
    void be_async_set_buffer(be_async *, int, const be_results *)
    int64_t be_async_check(be_async *, const int64_t *, int64_t, int *)
    be_pool_status be_async_submit(be_async *, const int64_t *, int64_t, const void *, const double *)
    be_pool_status be_async_recv(be_async *, int64_t, int *)
    be_pool_status be_async_finish(be_async *, int64_t)
    be_pool_status be_async_clear(be_async *)
    int64_t be_async_in_flight(const be_async *)
    int64_t be_async_list_in_flight(const be_async *, const uint8_t *, int64_t *, int64_t)
    int be_async_eventfd(be_async *)
    double be_async_lane_ns(const be_async *)

cdef extern from "core/plan.h" nogil:
    ctypedef struct be_plan:
        int threads, fixed, parallel
        double fork_ns
        double cost[2]
    double be_now_ns()

cdef extern from "core/loop.h" nogil:
    enum:
        BE_NUM_PLANS
    ctypedef enum be_verb:
        BE_STEP, BE_RESET, BE_RESET_SOME, BE_SEED, BE_ROLLOUT
    ctypedef struct be_call:
        be_verb verb
        const uint8_t *mask
        const double *options
        const uint32_t *words
        size_t num_words
        int64_t steps
        const be_random_policy *policy
        int (*look)(void *) noexcept nogil
        void *look_context
        be_error error
        int stopped
        int64_t finished
    void be_plans_start(be_plan *, int64_t, int, int)
    void be_call_init(be_call *, be_verb, be_batch *, const be_isa *, const be_arrays *)
    bint be_call_alone(be_call *, const be_plan *, int)
    void be_call_begin(be_call *, be_plan *, int, be_pool *)
    int be_call_next(be_call *)
    void be_call_work(be_call *, int)
    int be_call_run(be_call *)

cdef extern from "core/fp.h" nogil:
    ctypedef struct be_fp:
        pass
    be_fp be_fp_enter()
    void be_fp_leave(const be_fp *)

cdef extern from "core/team.h" nogil:
    void be_team_init()
    int be_team_size(int, int)
    int be_workers_available(int)

cdef extern from "core/fork.h" nogil:
    void be_fork_watch()
    bint be_forked()
    int be_fork_count()

cdef extern from "core/numpy_f32.h" nogil:
    void be_set_numpy_f32_fused(int)
    int64_t be_numpy_f32_mismatches(int, const float *, const float *, const float *, int64_t)

cdef extern from "core/libm.h" nogil:
    void be_libm_begin()
    int be_libm_choose(const char *, const double *, const double *, const double *, int64_t, int64_t *)
    void be_libm_choose_sincos(const double *, int64_t)

be_fork_watch()
be_team_init()


class LanePendingError(ResetNeeded, AssertionError):
    """A finished lane was stepped with autoreset disabled. (An AssertionError too, as SyncVectorEnv raises.)"""


class LaneError(RuntimeError):
    """Some lanes' simulators failed in a step or a reset; the other lanes have done it.

    Attributes:
        env_id: int64 array of the lanes that failed. Their observation is zeros; those that failed in a step are
            truncated. The next step resets them (with autoreset disabled: the user).
        result: what the call would have returned.
    """

    def __init__(self, message, env_id=None, result=None):
        super().__init__(message)
        self.env_id = env_id
        self.result = result


# ---- instruction sets and arithmetic -------------------------------------------------------------------------------

cdef const be_isa *_chosen = NULL
cdef bint _math_chosen = False, _numpy_f32_fused = True
_probe_results = {}
_process_mismatches = {}
_linked_mismatches = {}
cdef double _fork_ns = 0.0


def _choose_math():
    """Chooses, before the first env is made, the functions that kernels call, so that they are Python's own (see
    csrc/core/libm.h), and the float32 sin and cos that this NumPy has. Warns of what is wrong with this build."""
    global _math_chosen, _numpy_f32_fused
    cdef int fused
    if _math_chosen:
        return
    be_libm_begin()
    wrong = []
    for name, arguments in _libm_arguments().items():
        if not _choose_function(name, *arguments):
            wrong.append(name)
    _choose_sincos()
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
    """{name of a function in Python's math: its arguments}, 2,048 of each, of all sizes that envs use."""
    rng = np.random.default_rng(20261101)
    angles = rng.uniform(-1, 1, 2048) * np.tile([0.06, 0.84, 2.0, 3.2, 30.0, 1e4, 1e8, 1e300], 256)
    small = rng.uniform(-1, 1, 2048) * np.tile([1e-8, 0.5, 3.0, 50.0], 512)
    return {
        "sin": (angles,), "cos": (angles,), "exp": (-np.abs(small),), "log1p": (-rng.uniform(0, 1, 2048),),
        "pow": (small, np.full(2048, 2.0)), "fmod": (np.abs(angles), np.full(2048, 2 * math.pi)),
        "remainder": (angles, np.full(2048, 2 * math.pi)),
    }


def _choose_function(str name, cnp.ndarray x, cnp.ndarray y=None):
    """Whether kernels now have Python's function of that name, to the last bit."""
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


def _choose_sincos():
    cdef cnp.ndarray x = _libm_arguments()["sin"][0]
    be_libm_choose_sincos(<const double *>cnp.PyArray_DATA(x), x.size)


def _numpy_float32_mismatches(int fused):
    """In how many of 4,096 arguments NumPy's float32 sin or cos differs from ours, if these are fused or not."""
    x = np.random.default_rng(20261101).uniform(-4, 4, 4096).astype(np.float32)
    sine, cosine = np.sin(x), np.cos(x)
    cdef const float[::1] xs = x, ss = sine, cs = cosine
    return be_numpy_f32_mismatches(fused, &xs[0], &ss[0], &cs[0], 4096)


cdef const be_isa *_find_isa(object name) except NULL:
    """The instruction set of that name; None: the best whose arithmetic equals the C library's."""
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


cdef bytes _numa_folder():
    """The folder that describes the NUMA nodes; empty: the system's own. BATCHENV_NUMA names another, for tests."""
    return os.fsencode(os.environ.get("BATCHENV_NUMA") or "")


def numa_nodes():
    """{"node0": how many of its CPUs this process may use}; {} where that is not known."""
    cdef be_cpus usable
    cdef be_node *nodes
    cdef bytes folder = _numa_folder()
    be_cpus_usable(&usable)
    nodes = <be_node *>PyMem_Calloc(BE_MAX_NODES, sizeof(be_node))
    if nodes == NULL:
        raise MemoryError()
    try:
        count = be_nodes_read(<const char *>folder if folder else NULL, &usable, nodes)
        return {f"node{nodes[i].id}": nodes[i].num_cpus for i in range(count)}
    finally:
        PyMem_Free(nodes)


def default_threads():
    """Threads used when num_threads is None: the CPUs this process may run on, or fewer where OMP_NUM_THREADS or a
    container's CPU limit (rounded up) say so; 1 in a forked child."""
    from batchenv import cgroup

    if be_forked():
        return 1
    limit = cgroup.cpu_limit()
    cpus = len(usable_cpus())
    if limit is not None:
        cpus = min(cpus, math.ceil(limit))
    return max(1, min(cpus, be_max_threads()))


def usable_cpus():
    """The CPUs this process may use, ascending. Where OpenMP binds its threads (OMP_PROC_BIND), the first of them,
    which is the program's own, has been bound to some of these before anybody could ask: then they are OpenMP's."""
    cdef int place
    cdef int[::1] ids
    cpus = set()
    for place in range(be_num_places()):
        ids = np.zeros(be_place_size(place) + 1, np.intc)
        be_place_cpus(place, &ids[0])
        cpus.update(ids[:be_place_size(place)])
    if not cpus:
        cpus = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)
    return sorted(cpus)


class _Unbound:
    """While threads are started: they inherit the CPUs of the thread that starts them, which OpenMP may have bound."""

    def __enter__(self):
        self.before = None
        if be_num_places() and hasattr(os, "sched_setaffinity"):
            before = os.sched_getaffinity(0)
            os.sched_setaffinity(0, usable_cpus())
            self.before = before

    def __exit__(self, *_):
        if self.before is not None:
            os.sched_setaffinity(0, self.before)


def _warn_of_threads(int wanted, int had, str what):
    from batchenv.limits import thread_limits

    used = f"{had} are used" if had else "the calling thread does the work"
    logger.warn(f"{wanted} {what} were asked for, but only {had} can be had here, and {used}; what may limit "
                f"them: {thread_limits()}. Raise that limit, or make the env with num_threads={max(1, had)}",
                category=RuntimeWarning, stacklevel=2)


cdef double _measure_fork(int threads):
    """Nanoseconds of an empty parallel region, the least of several."""
    global _fork_ns
    cdef double start = 0.0, least = 1e9, spent = 0.0
    cdef int _, p, total = 0
    if _fork_ns == 0.0:
        with nogil:
            threads = be_team_size(threads, 0)
            for _ in range(20):
                start = be_now_ns()
                for p in prange(threads, num_threads=threads, schedule="static", chunksize=1):
                    total += p
                least = min(least, be_now_ns() - start)
                spent += be_now_ns() - start
                if spent > 2e6:  # a busy machine: no use in waiting
                    break
        _fork_ns = least
    return _fork_ns


# ---- env types -----------------------------------------------------------------------------------------------------

cdef const be_env_type *_find_type(const be_isa *isa, str name) except NULL:
    cdef const be_env_type *env_type = be_type_named(isa, name.encode())
    if env_type == NULL:
        raise ValueError(f"no env type {name!r} in the C core")
    return env_type


def env_types():
    """What the built-in env types say of themselves: a list of dicts with "name", "family", "render_fps", and "ids", a
    list of dicts with "name", "max_episode_steps", "reward_threshold" (None where there is none), "kwargs", "listed".
    """
    cdef const be_env_type *env_type
    cdef int64_t index = 0
    types = []
    while True:
        env_type = be_type_at(be_isa_supported()[0], index)
        if env_type == NULL:
            return types
        index += 1
        types.append({"name": env_type.name.decode(), "render_fps": env_type.frames_per_second,
                      "family": None if env_type.family == NULL else env_type.family.decode(),
                      "ids": _id_table(env_type)})


cdef list _id_table(const be_env_type *env_type):
    cdef const be_id *row = env_type.ids
    rows = []
    while row != NULL and row.name != NULL:
        rows.append({
            "name": row.name.decode(), "max_episode_steps": row.max_episode_steps or None,
            "reward_threshold": None if row.reward_threshold == NULL else row.reward_threshold[0],
            "kwargs": _settings(row, env_type.params), "listed": not row.unlisted,
        })
        row += 1
    return rows


cdef dict _settings(const be_id *row, const be_param *params):
    """The keywords that an id sets: params of the type in their own kind, others as text."""
    cdef const be_setting *setting = &row.settings[0]
    cdef const be_param *param
    values = {}
    while setting < row.settings + BE_MAX_SETTINGS and setting.name != NULL:
        param = params
        while param != NULL and param.name != NULL and strcmp(param.name, setting.name) != 0:
            param += 1
        if setting.text != NULL or param == NULL or param.name == NULL:
            values[setting.name.decode()] = setting.text.decode()
        else:
            values[setting.name.decode()] = _param_value(param, setting.value)
        setting += 1
    return values


cdef list _param_table(const be_param *table):
    kinds = {BE_PARAM_FLOAT: "float", BE_PARAM_INT: "int", BE_PARAM_BOOL: "bool", BE_PARAM_CHOICE: "choice"}
    rows = []
    while table != NULL and table.name != NULL:
        choices = []
        if table.kind == BE_PARAM_CHOICE:
            while table.choices[len(choices)] != NULL:
                choices.append(table.choices[len(choices)].decode())
        rows.append({
            "name": table.name.decode(), "kind": kinds[table.kind],
            "default": _param_value(table, table.value), "low": table.low, "high": table.high,
            "choices": choices, "doc": table.doc.decode(),
            "per_lane": table.kind == BE_PARAM_FLOAT and not table.shared,
        })
        table += 1
    return rows


cdef object _param_value(const be_param *param, double value):
    if param.kind == BE_PARAM_BOOL:
        return value != 0
    if param.kind == BE_PARAM_CHOICE:
        return param.choices[<int>value].decode()
    if param.kind == BE_PARAM_INT:
        return int(value)
    return value


cdef list _field_table(const be_field *field):
    rows = []
    while field != NULL and field.name != NULL:
        name = field.name.decode()
        rows.append({"name": name, "mask": f"_{name}", "dtype": str(_dtypes[<int>field.dtype]), "size": field.size,
                     "doc": field.doc.decode()})
        field += 1
    return rows


def type_info(str name):
    """The tables of an env type: "state", "info", "params", "options" (each a list of dicts), and "grid" (the keyword
    that gives its map, or None)."""
    cdef const be_env_type *env_type = _find_type(_find_isa(None), name)
    return {"state": _field_table(env_type.state), "info": _field_table(env_type.info),
            "params": _param_table(env_type.params), "options": _param_table(env_type.options),
            "grid": None if env_type.grid == NULL else env_type.grid.decode()}


_dtypes = (np.dtype(np.bool_), np.dtype(np.uint8), np.dtype(np.int32), np.dtype(np.int64), np.dtype(np.float32),
           np.dtype(np.float64), np.dtype(np.int8))


cdef bint _is_zero(cnp.ndarray array) noexcept:
    """All of its bytes are: what `any` would say, without NumPy's microseconds."""
    cdef const char *data = <const char *>cnp.PyArray_DATA(array)
    cdef size_t bytes = cnp.PyArray_NBYTES(array)
    return bytes == 0 or (data[0] == 0 and memcmp(data, data + 1, bytes - 1) == 0)


cdef int _fill_transform(be_transform *transform, dict values) except -1:
    """values: of batchenv.transforms.Transforms.core()."""
    memset(transform, 0, sizeof(be_transform))
    transform.record_statistics = values.get("record_episode_statistics", False)
    transform.action_repeat = values.get("action_repeat", 1)
    transform.transform_reward = "reward_scale" in values
    transform.reward_scale = values.get("reward_scale", 1.0)
    transform.reward_low, transform.reward_high = values.get("clip_reward", (-math.inf, math.inf))
    transform.rescale = values.get("rescale", False)
    transform.time_aware = values.get("time_aware", False)
    transform.convert = "dtype" in values
    if transform.convert:
        transform.dtype = <be_dtype><int>_dtypes.index(values["dtype"])
    transform.frame_stack = values.get("frame_stack", 0)
    transform.transform_observation = (transform.rescale or transform.time_aware or transform.convert
                                       or transform.frame_stack > 0)
    return 0


def moments(cnp.ndarray rows):
    """Mean and variance over the first axis of a C-contiguous float array, bit for bit NumPy's, in its dtype."""
    cdef cnp.ndarray mean = np.empty((<object>rows).shape[1:], rows.dtype)
    cdef cnp.ndarray variance = np.empty_like(mean)
    cdef int64_t count = rows.shape[0], size = cnp.PyArray_SIZE(mean)
    cdef be_dtype dtype = BE_F32 if cnp.PyArray_TYPE(rows) == cnp.NPY_FLOAT32 else BE_F64
    with nogil:
        be_moments(cnp.PyArray_DATA(rows), dtype, count, size, cnp.PyArray_DATA(mean), cnp.PyArray_DATA(variance))
    return mean, variance


def scatter(cnp.ndarray rows, done):
    """An object array with row k of `rows` in the place of the k-th True of `done`, None elsewhere."""
    lanes = np.flatnonzero(done)
    cdef cnp.npy_intp[::1] index = lanes
    cdef Py_ssize_t i, count = len(lanes)
    scattered = np.empty(len(done), dtype=object)
    cdef object[::1] objects = scattered
    for i in range(count):
        objects[index[i]] = rows[i]
    return scattered


def standardize(cnp.ndarray rows, cnp.ndarray mean, cnp.ndarray deviation, cnp.ndarray out):
    """out[i] = (rows[i] - mean) / deviation. rows (n, *shape), mean (*shape) and deviation (*shape) have one dtype,
    float32 or float64; out (n, *shape) is float32; all are C-contiguous."""
    cdef int64_t count = rows.shape[0], size = cnp.PyArray_SIZE(mean)
    cdef be_dtype dtype = BE_F32 if cnp.PyArray_TYPE(rows) == cnp.NPY_FLOAT32 else BE_F64
    shape = (<object>rows).shape
    if (<object>mean).shape != shape[1:] or (<object>deviation).shape != shape[1:] or (<object>out).shape != shape:
        raise ValueError(f"rows {shape}, mean {(<object>mean).shape}, deviation {(<object>deviation).shape} and out "
                         f"{(<object>out).shape} do not fit together")
    with nogil:
        be_standardize(cnp.PyArray_DATA(rows), dtype, count, size, cnp.PyArray_DATA(mean),
                       cnp.PyArray_DATA(deviation), <float *>cnp.PyArray_DATA(out))


cdef double _param_number(dict row, object value, str what) except? -1:
    """The double that stands for `value`, or TypeError/ValueError."""
    name = row["name"]
    if row["kind"] == "choice":
        if value not in row["choices"]:
            raise ValueError(f"{what}{name}={value!r} must be one of {row['choices']}")
        return row["choices"].index(value)
    if row["kind"] == "bool":
        if not isinstance(value, (bool, np.bool_)):
            raise TypeError(f"{what}{name}={value!r} must be a bool, not {type(value).__name__}")
        return 1.0 if value else 0.0
    if row["kind"] == "int":
        if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)):
            raise TypeError(f"{what}{name}={value!r} must be an int, not {type(value).__name__}")
        if abs(value) > 2**53:
            raise ValueError(f"{what}{name}={brief(value)} must be between {row['low']:g} and {row['high']:g}")
    return number(f"{what}{name}", value)


cdef object _contiguous(object array, object dtype):
    """`array` as a C-contiguous one of that dtype, rounded to nearest whatever the caller's floating-point mode."""
    cdef be_fp before = be_fp_enter()
    try:
        return np.ascontiguousarray(array, dtype)
    finally:
        be_fp_leave(&before)


cdef bytes _seed_words(object seed):
    """A non-negative int as little-endian 32-bit words."""
    return seed.to_bytes((seed.bit_length() + 31) // 32 * 4, "little")


cdef object _raise(be_error *error):
    message = error.message.decode(errors="replace")
    kind = {BE_ERROR_VALUE: ValueError, BE_ERROR_MEMORY: MemoryError}.get(error.status, RuntimeError)
    raise kind(message)


# ---- the batch -----------------------------------------------------------------------------------------------------

cdef enum:
    MAX_POOL = 4
    SLICE_NS = 50_000_000  # of a wait, after which signals are looked at
    CLOSED = -1  # SyncBatch.busy
    EXITED = -2  # likewise, by _end_all_workers


@cython.final
cdef class Hold:
    """Takes a batch for the length of a `with` block: see SyncBatch.hold."""

    cdef SyncBatch batch
    cdef bint settle, held

    def __cinit__(self, SyncBatch batch, bint settle):
        self.batch = batch
        self.settle = settle

    def __enter__(self):
        if self.settle:
            self.batch._enter()
        else:
            self.batch._enter_only()
        self.held = True

    def __exit__(self, *problem):
        self._leave()

    def __dealloc__(self):
        self._leave()  # where an exception came between __enter__ and the block

    cdef void _leave(self) noexcept:
        if self.held:
            self.held = False
            be_set(&self.batch.busy, 0)


cdef int _look_at_signals(void *batch) noexcept with gil:
    """1 if a signal's handler has raised something: Ctrl-C. It is kept for `_raise_signal`."""
    try:
        PyErr_CheckSignals()
    except BaseException as raised:
        (<SyncBatch>batch).signal = raised
        return 1
    return 0


@cython.no_gc
cdef class SyncBatch:
    """num_lanes lanes of one env type, stepped together. (`Batch` can also step some of them in the background.)

    One call at a time: whoever calls takes the batch first, and a second one (another thread, or a signal handler) gets
    a RuntimeError, having changed nothing. `step_alone`, `send_alone` and `recv_alone` take it themselves. For all
    other methods the caller holds it: `with batch.hold(): ...`, which may stand around several of them.
    """

    cdef be_batch *batch
    cdef const be_isa *isa_table
    cdef be_plan plans[BE_NUM_PLANS]
    cdef object signal  # what a signal's handler has raised during the present call
    cdef int busy  # 0: free; CLOSED; EXITED; else 1 + be_fork_count() of the process that holds it
    cdef unsigned long holder  # the thread
    cdef str torn  # why lanes have to be reset although they once were
    cdef int autoreset, clip, observation_type, action_type, action_ndim, has_reset, ring, next_slot
    cdef int64_t num_lanes, action_size
    cdef size_t observation_row
    cdef void *action_buffer
    cdef list pool
    cdef cnp.ndarray converted
    cdef tuple observation_shape, action_shape
    cdef list param_rows, option_rows, columns, info_rows
    cdef int info_when[16]
    cdef int num_info, num_outputs, tuple_size, recording, convert, lane_by_lane, partial_info
    cdef uint8_t *started
    cdef object owner  # of all that the C side reads and writes through addresses in `engine`
    cdef cnp.ndarray engine
    cdef readonly int num_threads
    cdef readonly str type_name
    cdef object __weakref__
    cdef be_pool *loop
    cdef int loop_process
    cdef be_async *queue  # Batch's
    cdef int64_t batch_rows
    cdef int queue_process  # be_fork_count() when it was made
    cdef object affinity
    cdef int process  # be_fork_count() when it was made

    def __cinit__(self, str type_name, int64_t num_lanes, int autoreset, int32_t max_episode_steps, dict params,
                  int num_threads, int ring, bint clip, isa=None, grid=None, dict transform=None,
                  engine=None):
        cdef be_error error
        cdef be_transform changes
        cdef be_grid map_of
        cdef const be_grid *map_or_null = NULL
        cdef const be_env_type *env_type
        self.isa_table = _find_isa(isa if isa is not None else os.environ.get("BATCHENV_ISA") or None)
        env_type = _find_type(self.isa_table, type_name)
        self.type_name = type_name
        self.lane_by_lane = (env_type.flags & BE_LANE_BY_LANE) != 0
        self.num_lanes = num_lanes
        self.autoreset = autoreset
        self.num_threads = num_threads
        self.ring = ring
        self.clip = clip
        self.pool = []
        self.param_rows = _param_table(env_type.params)
        self.option_rows = _param_table(env_type.options)
        self.columns = [None] * len(self.param_rows)
        self.info_rows = _field_table(env_type.info)
        self.num_info = len(self.info_rows)
        for i in range(self.num_info):
            self.info_when[i] = env_type.info[i].when
            self.partial_info |= self.info_when[i] != BE_ALWAYS
        if self.partial_info:
            self.started = <uint8_t *>PyMem_Calloc(num_lanes, 1)
            if self.started == NULL:
                raise MemoryError()
        _fill_transform(&changes, transform or {})
        self.recording = changes.record_statistics
        self.convert = changes.convert
        self.num_outputs = 4 + 2 * self.num_info + 3 * self.recording
        cdef cnp.ndarray cells
        if grid is not None:
            cells = np.ascontiguousarray(grid, np.uint8)
            map_of.cells = <const uint8_t *>cnp.PyArray_DATA(cells)
            map_of.rows, map_of.columns = grid.shape
            map_or_null = &map_of
        cdef be_batch_options options
        options.type = env_type
        options.num_lanes = num_lanes
        options.autoreset = <be_autoreset>autoreset
        options.max_episode_steps = max_episode_steps
        options.grid = map_or_null
        options.transform = &changes
        if engine is not None:
            # Attributes go after __dealloc__, which ends the workers: so the C side may use these as long as it lives.
            self.owner = engine
            self.engine = np.frombuffer(engine.source, np.uint8)
        options.engine = NULL if engine is None else cnp.PyArray_DATA(self.engine)
        options.look = _look_at_signals
        options.look_context = <void *>self
        with nogil:
            self.batch = be_batch_create(&options, &error)
        self._raise_signal()
        if self.batch == NULL:
            _raise(&error)
        if params:
            self.set_params(params)
        cdef be_space *action = &self.batch.action_space
        self.action_type = cnp.NPY_INT64 if action.kind == BE_SPACE_DISCRETE else cnp.NPY_FLOAT32
        self.action_shape = (num_lanes, *[action.shape[i] for i in range(action.ndim)])
        self.action_ndim = 1 + action.ndim
        self.action_size = num_lanes * be_space_row_size(action)
        cdef be_space *observation = &self.batch.observation_space
        dtype = _dtypes[<int>(be_frame_dtype(observation, &changes))]
        shape = [observation.shape[i] for i in range(observation.ndim)]
        if changes.time_aware:
            shape = [be_frame_size(observation, &changes)]
        elif observation.kind == BE_SPACE_TUPLE:
            self.tuple_size = observation.shape[0]
        if changes.frame_stack:
            shape.insert(0, changes.frame_stack)
        self.observation_type = dtype.num
        self.observation_shape = (num_lanes, *shape)
        self.observation_row = math.prod(shape) * dtype.itemsize
        self._start_plans()
        self.batch_rows = num_lanes
        self.process = be_fork_count()
        _alive[<size_t><void *>self] = weakref.ref(self)

    cdef int _start_plans(self) except -1:
        """Finds out how many threads can be had, and warns if they are fewer than asked for."""
        cdef int had, wanted
        cdef int most = self.num_threads if self.lane_by_lane or (BE_OPENMP and not be_forked()) else 1
        be_plans_start(self.plans, self.num_lanes, most, self.lane_by_lane)
        wanted = self.plans[0].threads
        if wanted > 1:
            with nogil:
                had = be_workers_available(wanted) if self.lane_by_lane else be_team_size(wanted, 1)
            if had < wanted:
                self._use_fewer(had, self.num_threads)
        if self.plans[0].threads > 1 and not self.lane_by_lane:
            self.plans[0].fork_ns = _measure_fork(self.plans[0].threads)
            for plan in range(1, BE_NUM_PLANS):
                self.plans[plan].fork_ns = self.plans[0].fork_ns
        return 0

    cdef int _use_fewer(self, int had, int wanted) except -1:
        self.num_threads = had
        be_plans_start(self.plans, self.num_lanes, had, self.lane_by_lane)
        _warn_of_threads(wanted, had, "threads")
        return 0

    def __dealloc__(self):
        if _alive is not None:
            _alive.pop(<size_t><void *>self, None)
        self._end_workers()
        be_batch_destroy(self.batch)
        PyMem_Free(self.action_buffer)
        PyMem_Free(self.started)

    # -- tables ------------------------------------------------------------------------------------------------------

    @property
    def isa(self):
        return self.isa_table.name.decode()

    @property
    def nbytes(self):
        """Bytes held in C for state, random numbers and bookkeeping (not the arrays handed out)."""
        return be_batch_bytes(self.batch)

    @property
    def parallel(self):
        """Whether the next step would run on several threads, and the measured ns a call: (bool, serial, parallel)."""
        cdef be_plan *plan = &self.plans[<int>BE_STEP]
        return bool(plan.parallel), plan.cost[0] * self.num_lanes, plan.cost[1] * self.num_lanes

    def numa_blocks(self):
        """[(node, end of its lanes, end of its workers)]; [] where all lanes are treated alike."""
        cdef const be_placement *placement = be_batch_placement(self.batch)
        return [] if placement == NULL else [(placement.blocks[i].node, placement.blocks[i].end_lane,
                                              placement.blocks[i].end_worker) for i in range(placement.num_blocks)]

    def force_parallel(self, bint parallel):
        """Fixes the choice that is otherwise measured (for tests and benchmarks); 1 lane stays serial."""
        cdef bint many = self.num_lanes > (1 if self.lane_by_lane else 64)
        cdef int threads = self.num_threads if parallel and many and (BE_OPENMP or self.lane_by_lane) else 1
        be_plans_start(self.plans, max(self.num_lanes, 256), threads, self.lane_by_lane)
        for plan in range(BE_NUM_PLANS):
            self.plans[plan].parallel = self.plans[plan].threads > 1
            self.plans[plan].fixed = 1

    def spaces(self):
        """((kind, dtype, n, shape, low, high) of the observation, the same of the action)."""
        return _space(&self.batch.observation_space), _space(&self.batch.action_space)

    def rescale(self, gradient, intercept):
        """New coefficients for rescaled observations: an array each, with one number per component."""
        cdef double[::1] gradients = np.ascontiguousarray(gradient, np.float64)
        cdef double[::1] intercepts = np.ascontiguousarray(intercept, np.float64)
        cdef int64_t size = be_space_row_size(&self.batch.observation_space)
        if gradients.shape[0] != size or intercepts.shape[0] != size:
            raise ValueError(f"an observation has {size} components, but there are {gradients.shape[0]} gradients and "
                             f"{intercepts.shape[0]} intercepts")
        be_batch_rescale(self.batch, &gradients[0], &intercepts[0])

    def observation_layout(self):
        """Shape and dtype of the observations."""
        return self.observation_shape, _dtypes_by_num[self.observation_type]

    def get_params(self):
        """{name: the value, or a float64 array (num_lanes,) where lanes differ}."""
        params = {}
        for i, row in enumerate(self.param_rows):
            column = self.columns[i]
            params[row["name"]] = (_param_value(&self.batch.type.params[i], self.batch.params[i]) if column is None
                                   else column.copy())
        return params

    def set_params(self, dict values, lanes=None):
        """values: {name: one value, or an array (num_lanes,)}. lanes: a bool mask; None: all lanes."""
        cdef double numbers[32]
        cdef const double *pointers[32]
        cdef be_error error
        cdef cnp.ndarray array
        names = [row["name"] for row in self.param_rows]
        columns = list(self.columns)
        cdef int i
        for i in range(32):
            numbers[i] = self.batch.params[i]
            pointers[i] = NULL
        for name, value in values.items():
            if name not in names:
                raise TypeError(f"{self.type_name} has no parameter {name!r}; it has: {', '.join(names)}")
            i = names.index(name)
            row = self.param_rows[i]
            try:
                many = not isinstance(value, (str, bytes)) and np.ndim(value) > 0
            except ValueError:  # ragged
                many = True
            if many:
                new = self._param_column(row, value)
            else:
                new = _param_number(row, value, "")
            if lanes is not None:
                if not row["per_lane"]:
                    raise ValueError(f"{name} is one value for all lanes: set it without lanes")
                old = numbers[i] if columns[i] is None else columns[i]
                new = np.where(lanes, new, old)
            if isinstance(new, np.ndarray) and (new == new[0]).all():
                new = float(new[0])  # the same in all lanes after all: the faster path
            if isinstance(new, np.ndarray):
                columns[i] = new
                numbers[i] = new[0]
            else:
                columns[i] = None
                numbers[i] = new
        cdef bint any_column = False
        for i in range(len(columns)):
            if columns[i] is not None:
                array = columns[i]
                pointers[i] = <const double *>cnp.PyArray_DATA(array)
                any_column = True
        if be_batch_configure(self.batch, numbers, pointers if any_column else NULL, &error) != BE_OK:
            _raise(&error)
        self.columns = columns

    def _param_column(self, dict row, value):
        """`value` as a float64 array (num_lanes,) of our own."""
        name = row["name"]
        try:
            array = np.array(value)
        except ValueError:
            raise ValueError(f"{name} cannot be read as an array of shape ({self.num_lanes},)") from None
        if not row["per_lane"]:
            raise ValueError(f"{name} is one value for all lanes, got an array of shape {array.shape}")
        if array.shape != (self.num_lanes,):
            raise ValueError(f"{name} has shape {array.shape}, but must be one number, or have one value per "
                             f"lane: shape ({self.num_lanes},)")
        if array.dtype.kind not in "iuf":
            raise TypeError(f"{name} has dtype {array.dtype}, but must hold numbers")
        return array.astype(np.float64)

    def state(self):
        """Copies of the state's columns: {name: array of shape (num_lanes,) or (num_lanes, size)}."""
        columns = {}
        cdef const be_field *field = self.batch.type.state
        cdef int i = 0
        while field[i].name != NULL:
            columns[field[i].name.decode()] = self._column(
                self.batch.state[i], _dtypes[<int>field[i].dtype], field[i].size)
            i += 1
        return columns

    def elapsed(self):
        """Steps since each lane's last reset, int32."""
        return self._column(self.batch.elapsed, np.dtype(np.int32), 1)

    cdef object _column(self, const void *data, object dtype, int size):
        cdef cnp.ndarray column = np.empty([self.num_lanes] + [size] * (size > 1), dtype)
        memcpy(cnp.PyArray_DATA(column), data, cnp.PyArray_NBYTES(column))
        return column

    def rng_state(self, int64_t lane):
        """numpy.random.PCG64().state of a lane's stream."""
        cdef be_rng *rng = &self.batch.rng[lane]
        return {
            "bit_generator": "PCG64",
            "state": {"state": (<object>rng.state_hi << 64) | rng.state_lo,
                      "inc": (<object>rng.inc_hi << 64) | rng.inc_lo},
            "has_uint32": rng.has_buffered,
            "uinteger": rng.buffered,
        }

    # -- one call at a time ------------------------------------------------------------------------------------------

    def hold(self, bint settle=True):
        """A context manager that takes the batch. settle: waits until no lane is being worked on.

        Raises (on entering):
            RuntimeError: somebody else has it.
            gymnasium.error.ClosedEnvironmentError: it is closed.
        """
        return Hold(self, settle)

    @property
    def closed(self):
        return be_look(&self.busy) == CLOSED

    def close(self):
        """Ends the workers; nobody can take the batch any more. May be called again, and at exit."""
        if be_swap(&self.busy, EXITED, CLOSED) or be_look(&self.busy) == CLOSED:
            return
        self._enter_only()
        self._end_workers()
        be_set(&self.busy, CLOSED)

    cdef int _enter(self) except -1:
        """Takes the batch; no lane is being worked on then."""
        self._enter_only()
        if self.queue != NULL:
            try:
                self._settle()
            except BaseException:
                be_set(&self.busy, 0)
                raise
        return 0

    cdef int _settle(self) except -1:
        """Waits until no lane is being worked on."""
        return 0

    cdef int _refuse_in_flight(self, str doing, const uint8_t *mask) except -1:
        """RuntimeError if lanes of the mask (NULL: any) are in flight."""
        return 0

    cdef int _drop_in_flight(self) except -1:
        """Before a full reset: waits for the lanes in flight and forgets their results."""
        return 0

    cdef int _enter_only(self) except -1:
        """Takes the batch."""
        cdef int here = 1 + be_fork_count()
        if not be_swap(&self.busy, 0, here):
            self._enter_elsewhere(here)
        self.holder = PyThread_get_thread_ident()
        return 0

    cdef int _enter_elsewhere(self, int here) except -1:
        """Takes the batch from a thread that a fork has left behind in the parent; else it is taken, or closed."""
        cdef int seen = be_look(&self.busy)
        if seen == CLOSED:
            raise ClosedEnvironmentError(f"this BatchEnv of {self.type_name} is closed: make a new one")
        if seen == EXITED:
            raise RuntimeError("Python is shutting down, and this BatchEnv's workers have ended")
        if seen == 0 and be_swap(&self.busy, 0, here):
            return 0
        if seen != 0 and seen != here and be_swap(&self.busy, seen, here):
            self._tear("this process was forked while another thread was inside a call of this BatchEnv: its lanes may "
                       "be in the middle of it")
            return 0
        if self.holder == PyThread_get_thread_ident():
            raise RuntimeError("this BatchEnv is inside another call, which this one interrupts (a signal handler, "
                               "or code called back): one call at a time; note what is to be done, and do it after "
                               "that call")
        raise RuntimeError("this BatchEnv is being used by another thread: one call at a time; "
                           "use a lock, or an env per thread")

    cdef int _tear(self, str reason) except -1:
        """The lanes are in no state to go on from."""
        self.has_reset = 0
        self.torn = reason
        return 0

    cdef int _require_reset(self, str doing) except -1:
        if self.has_reset:
            return 0
        if self.torn is not None:
            raise ResetNeeded(f"{doing} needs a reset first: {self.torn}; call env.reset()")
        raise ResetNeeded(f"Cannot call {doing} before calling env.reset()")

    @property
    def needs_reset(self):
        """Whether lanes have to be reset before anything else: never were, or are torn."""
        return not self.has_reset

    # -- reset -------------------------------------------------------------------------------------------------------

    def reset(self, seeds, mask, dict options):
        """seeds: an int (lane i gets seed + i), a list of int or None per lane, or None. mask: None or bool array,
        checked by the caller. options: of the table. Returns the observation. Without a mask the results of lanes in
        flight are dropped, once nothing can be refused any more."""
        cdef double numbers[32]
        cdef double *values = NULL
        cdef const uint8_t *mask_data = NULL
        cdef be_call call
        cdef int k
        if options:
            values = numbers
            self._fill_options(options, values)
        cdef cnp.ndarray mask_array
        if mask is not None:
            mask_array = np.ascontiguousarray(mask)
            mask_data = <const uint8_t *>cnp.PyArray_DATA(mask_array)
        cdef tuple held = self._new_output()
        cdef be_arrays arrays
        self._point(held, &arrays)
        if mask is not None:
            for k in range(self.num_info):
                held[4 + 2 * k].fill(0)
            self._require_reset("env.reset(options={'reset_mask': ...})")
            self._refuse_in_flight("reset() of some lanes", mask_data)
        words = self._words_of_seeds(seeds, mask)
        self._start_loop()
        if mask is None:
            self._drop_in_flight()
        self._seed(words)
        be_call_init(&call, BE_RESET if mask is None else BE_RESET_SOME, self.batch, self.isa_table, &arrays)
        call.mask = mask_data
        call.options = values
        self._run(&call)
        self.has_reset = 1
        result = self._present(<object>PyTuple_GET_ITEM(held, 0)), self._reset_info(held, mask)
        if self.lane_by_lane:
            self._raise_failures(result)
        return result

    cdef int _fill_options(self, dict options, double *values) except -1:
        cdef be_error error
        cdef int i
        for i, row in enumerate(self.option_rows):
            values[i] = _param_number(row, options.get(row["name"], row["default"]), "reset option ")
        if be_batch_check_options(self.batch, values, &error) != BE_OK:
            _raise(&error)
        return 0

    cdef object _words_of_seeds(self, seeds, mask):
        """What `_seed` is to be given for `reset`'s seeds: the words of one seed that counts up over all lanes, or a
        list of (lane, the words of its own seed)."""
        if isinstance(seeds, int) and mask is None:
            return _seed_words(seeds)
        if isinstance(seeds, int):
            return [(lane, _seed_words(seeds + lane)) for lane in np.flatnonzero(mask).tolist()]
        if seeds is None:
            return []
        return [(lane, _seed_words(seed)) for lane, seed in enumerate(seeds)
                if seed is not None and (mask is None or mask[lane])]

    cdef int _seed(self, words) except -1:
        """Seeds lanes with `_words_of_seeds`. Allocates nothing: whatever can fail has not failed by now."""
        cdef be_call call
        cdef int64_t lane
        if isinstance(words, bytes):
            be_call_init(&call, BE_SEED, self.batch, self.isa_table, NULL)
            call.words = <const uint32_t *><const char *><bytes>words
            call.num_words = len(<bytes>words) // 4
            self._run(&call)
            return 0
        for lane, own in words:
            be_rng_seed_words(&self.batch.rng[lane], <const uint32_t *><const char *><bytes>own, len(<bytes>own) // 4)
        return 0

    cdef int _run(self, be_call *call) except -1:
        """Does it in all lanes: on this thread, by OpenMP, or with the workers of types that take one lane a call. An
        error, or what a signal's handler has raised, leaves the lanes torn."""
        cdef int threads, part
        cdef int most = self.num_threads
        cdef bint done
        with nogil:
            done = be_call_alone(call, self.plans, most)
        if done:
            return self._raise_failed_call(call)
        if be_forked() and not self.lane_by_lane:
            most = 1
        if self.lane_by_lane and call.verb == BE_SEED:
            most = 1  # of the lanes' own work, next to nothing: no worker is started for it
        else:
            self._start_loop()
        call.look = _look_at_signals
        call.look_context = <void *>self
        with nogil:
            be_call_begin(call, self.plans, most, self.loop)
            if self.lane_by_lane:
                be_call_run(call)
            else:
                threads = be_call_next(call)
                while threads > 0:
                    if threads == 1:
                        be_call_work(call, 0)
                    else:
                        for part in prange(threads, num_threads=threads, schedule="static", chunksize=1):
                            be_call_work(call, part)
                    threads = be_call_next(call)
        if self.signal is not None:
            self._tear("the last call was interrupted, and some lanes have done it, others have not")
            lanes = np.empty(self.num_lanes, np.int64)
            be_batch_take_failures(self.batch, <int64_t *>cnp.PyArray_DATA(<cnp.ndarray>lanes))  # nobody is to get them
            self._raise_signal()
        return self._raise_failed_call(call)

    cdef int _raise_failed_call(self, be_call *call) except -1:
        if call.error.status != BE_OK:
            self._tear("the last call failed, and some lanes have done it, others have not")
            _raise(&call.error)
        return 0

    cdef int _raise_signal(self) except -1:
        """What a signal's handler has raised while we were at work."""
        if self.signal is not None:
            signal, self.signal = self.signal, None
            raise signal
        return 0

    cdef int _start_loop(self) except -1:
        """Workers for `_run` of types that take one lane a call: made when first needed, in a forked child again."""
        cdef be_pool_options options
        cdef char message[256]
        cdef cnp.ndarray cpus
        if not self.lane_by_lane or self.plans[0].threads < 2:
            return 0
        if self.loop != NULL and self.loop_process == be_fork_count():
            return 0
        memset(&options, 0, sizeof(options))
        options.num_workers = min(self.num_threads, self.num_lanes) - 1
        options.placement = be_batch_placement(self.batch)
        if self.affinity is not None:
            cpus = np.array(self.affinity[1:] + self.affinity[:1], np.intc)  # the caller is on its own
            options.cpus = <const int *>cnp.PyArray_DATA(cpus)
            options.num_cpus = len(cpus)
        with _Unbound():
            self.loop = be_pool_create(&options, message, sizeof(message))
        self.loop_process = be_fork_count()
        if self.loop == NULL:
            raise RuntimeError(f"cannot start {options.num_workers} workers: {message.decode(errors='replace')}")
        if be_pool_num_workers(self.loop) < options.num_workers:
            self._use_fewer(be_pool_num_workers(self.loop) + 1, options.num_workers + 1)
        return 0

    cdef void _end_workers(self) noexcept:
        """Waits for the lanes that workers are at; other Python threads go on meanwhile."""
        cdef be_async *queue = self.queue if self.queue_process == be_fork_count() else NULL
        cdef be_pool *loop = self.loop if self.loop_process == be_fork_count() else NULL
        self.queue = NULL
        self.loop = NULL
        with nogil:
            be_async_destroy(queue)
            be_pool_destroy(loop, 0)

    cdef bint _end_at_exit(self) noexcept:
        """Ends the workers, unless a call is running: then False. No call begins afterwards."""
        cdef int present = be_fork_count()
        if self.process != present and self.loop_process != present and self.queue_process != present:
            return True  # of a parent, which also has the threads of calls that seem to be running
        if be_look(&self.busy) == CLOSED:
            return True
        if not be_swap(&self.busy, 0, EXITED):
            return False
        self._end_workers()
        return True

    # -- step --------------------------------------------------------------------------------------------------------

    def step_alone(self, actions, out=None):
        """Takes the batch, and steps it."""
        self._enter_only()
        try:
            return self._step(actions, out)
        finally:
            be_set(&self.busy, 0)

    def step(self, actions, out=None):
        """Advances every lane; returns (observation, reward, terminated, truncated, info)."""
        return self._step(actions, out)

    cdef object _step(self, actions, out):
        cdef be_arrays arrays
        cdef be_call call
        cdef bint finished
        cdef tuple held
        cdef dict info
        cdef int64_t pending
        self._require_reset("env.step()")
        if self.queue != NULL:
            self._refuse_in_flight("step()", NULL)
        arrays.action = self._check_actions(actions)
        if out is None:
            held = self._output()
        else:
            out = self.check_out(out, actions, (), _dtypes_by_num[self.observation_type])
            held = self._put(out, self._output())
        self._point(held, &arrays)
        be_batch_point_final(self.batch, &arrays)
        arrays.started = self.started
        if self.autoreset == BE_DISABLED:
            pending = be_batch_first_pending(self.batch, 0, self.num_lanes)
            if pending >= 0:
                raise LanePendingError(
                    f"lane {pending} has finished its episode and autoreset_mode is DISABLED: reset it with "
                    "env.reset(options={'reset_mask': terminations | truncations}) before stepping; "
                    "no lane has been stepped")
        be_call_init(&call, BE_STEP, self.batch, self.isa_table, &arrays)
        self._run(&call)
        finished = call.finished != 0
        info = self._step_info(held, self.started, self.num_lanes) if self.num_info else {}
        if finished and self.recording:
            self._tell_episodes(info, held, held[2] | held[3])
        if finished and self.autoreset == BE_SAME_STEP:
            self._add_final(info, held)
        if self.lane_by_lane:
            self._raise_failures((self._present(held[0]), held[1], held[2], held[3], info))
        if self.tuple_size:
            return (self._present(held[0]), held[1], held[2], held[3], info)
        return (<object>PyTuple_GET_ITEM(held, 0), <object>PyTuple_GET_ITEM(held, 1),
                <object>PyTuple_GET_ITEM(held, 2), <object>PyTuple_GET_ITEM(held, 3), info)

    cdef int _raise_failures(self, object result) except -1:
        """LaneError where a lane's simulator has failed since the last look."""
        cdef cnp.ndarray lanes = np.empty(self.num_lanes, np.int64)
        cdef int64_t count = be_batch_take_failures(self.batch, <int64_t *>cnp.PyArray_DATA(lanes))
        if not count:
            return 0
        raise self._failed_error(lanes[:count].copy(), result)

    cdef object _failed_error(self, object failed, object result):
        count = len(failed)
        reasons = [be_batch_failure(self.batch, lane).message.decode(errors="replace") for lane in failed[:5]]
        told = "; ".join(f"lane {lane}: {reason}" for lane, reason in zip(failed, reasons, strict=False))
        return LaneError(f"{count} of the lanes failed ({told}{', ...' if count > 5 else ''}); their episodes are "
                         "over, and the next step or reset starts new ones; the other lanes are fine: see this error's "
                         "env_id and result", failed, result)

    cdef void _point(self, tuple held, be_arrays *arrays) noexcept:
        """Points arrays (all but the actions) at the data of `held`."""
        cdef int k
        arrays.observation = cnp.PyArray_DATA(<cnp.ndarray>PyTuple_GET_ITEM(held, 0))
        arrays.reward = <double *>cnp.PyArray_DATA(<cnp.ndarray>PyTuple_GET_ITEM(held, 1))
        arrays.terminated = <uint8_t *>cnp.PyArray_DATA(<cnp.ndarray>PyTuple_GET_ITEM(held, 2))
        arrays.truncated = <uint8_t *>cnp.PyArray_DATA(<cnp.ndarray>PyTuple_GET_ITEM(held, 3))
        for k in range(self.num_info):
            arrays.info[k] = cnp.PyArray_DATA(<cnp.ndarray>PyTuple_GET_ITEM(held, 4 + 2 * k))
        arrays.started = NULL
        arrays.episode_return = arrays.episode_seconds = NULL
        arrays.episode_length = NULL
        if self.recording:
            k = 4 + 2 * self.num_info
            arrays.episode_return = <double *>cnp.PyArray_DATA(<cnp.ndarray>PyTuple_GET_ITEM(held, k))
            arrays.episode_length = <int64_t *>cnp.PyArray_DATA(<cnp.ndarray>PyTuple_GET_ITEM(held, k + 1))
            arrays.episode_seconds = <double *>cnp.PyArray_DATA(<cnp.ndarray>PyTuple_GET_ITEM(held, k + 2))

    cdef int _tell_episodes(self, dict info, tuple held, object done, bint always=False) except -1:
        """Adds the statistics, in the keys of gymnasium.wrappers.vector.RecordEpisodeStatistics. Of `done`, episodes
        whose game goes on have none."""
        episode = dict(zip(("r", "l", "t"), held[4 + 2 * self.num_info:self.num_outputs], strict=True))
        if self.batch.type.goes_on != NULL:
            done = episode["l"] > 0
            if not always and not done.any():
                return 0
        info["episode"] = episode
        info["_episode"] = done
        return 0

    cdef object _present(self, object observation):
        """An observation array as the space says: for tuples, one column each."""
        if self.tuple_size:
            return tuple([observation[..., j] for j in range(self.tuple_size)])
        return observation

    cdef dict _reset_info(self, tuple held, object mask):
        """The info of a reset of the lanes in `mask`, with Gymnasium's masks."""
        info = {}
        cdef int k
        for k in range(self.num_info):
            if self.info_when[k] == BE_ALWAYS:
                row = self.info_rows[k]
                present = held[5 + 2 * k]
                present[...] = True if mask is None else mask
                info[row["name"]] = held[4 + 2 * k]
                info[row["mask"]] = present
        return info

    cdef dict _step_info(self, tuple held, const uint8_t *started, int64_t rows):
        """The info of a step, with Gymnasium's masks; a key that no lane has is left out. started: the rows that are an
        episode's first."""
        info = {}
        cdef int k
        cdef int64_t i
        cdef uint8_t *mask
        cdef bint some_started = self.partial_info and memchr(started, 1, rows) != NULL
        for k in range(self.num_info):
            present = <object>PyTuple_GET_ITEM(held, 5 + 2 * k)
            mask = <uint8_t *>cnp.PyArray_DATA(<cnp.ndarray>present)
            memset(mask, 1, rows)
            if self.info_when[k] == BE_WHERE_NOT_0:
                if _is_zero(<cnp.ndarray>PyTuple_GET_ITEM(held, 4 + 2 * k)) or not held[4 + 2 * k].any():
                    continue
                np.not_equal(held[4 + 2 * k], 0, out=present)
            elif self.info_when[k] == BE_IN_STEPS and some_started:
                for i in range(rows):
                    mask[i] = not started[i]
                if memchr(mask, 1, rows) == NULL:
                    continue
            row = <object>PyList_GET_ITEM(self.info_rows, k)
            info[row["name"]] = <object>PyTuple_GET_ITEM(held, 4 + 2 * k)
            info[row["mask"]] = present
        return info

    cdef const void *_check_actions(self, object actions) except NULL:
        """The checked actions in the space's own dtype; the caller keeps `actions` alive."""
        cdef cnp.ndarray array
        cdef be_error error
        cdef be_dtype dtype
        cdef void *canonical = NULL
        cdef int type_number
        cdef int64_t count = self.action_size
        if type(actions) is cnp.ndarray and self._fits(<cnp.ndarray>actions):
            array = <cnp.ndarray>actions
        else:
            array = self._coerce_actions(actions)
        type_number = cnp.PyArray_TYPE(array)
        if self.action_type == cnp.NPY_INT64:
            dtype = BE_I32 if cnp.PyArray_ITEMSIZE(array) == 4 else BE_I64
        else:
            dtype = BE_F32 if type_number == cnp.NPY_FLOAT32 else BE_F64
        if type_number != self.action_type and not (dtype == BE_I64):
            if self.action_buffer == NULL:
                self.action_buffer = PyMem_Calloc(count, 8 if self.action_type == cnp.NPY_INT64 else 4)
                if self.action_buffer == NULL:
                    raise MemoryError()
            canonical = self.action_buffer
        # What is no array of the caller's lives no longer than this call: keep its values.
        self.converted = None if array is actions else array
        cdef int status
        with nogil:
            status = self.isa_table.check_actions(self.batch, cnp.PyArray_DATA(array), dtype, 0, count, self.clip,
                                                  canonical, &error)
        if status != BE_OK:
            _raise(&error)
        return canonical if canonical != NULL else cnp.PyArray_DATA(array)

    cdef bint _fits(self, cnp.ndarray array):
        """Of the right shape, contiguous and of a dtype that check_actions takes."""
        cdef int type_number = cnp.PyArray_TYPE(array)
        cdef int i
        if not cnp.PyArray_ISCARRAY_RO(array) or cnp.PyArray_NDIM(array) != self.action_ndim:
            return False
        for i in range(self.action_ndim):
            if cnp.PyArray_DIM(array, i) != <int64_t>self.action_shape[i]:
                return False
        if self.action_type == cnp.NPY_INT64:
            return type_number == cnp.NPY_INT64 or type_number == cnp.NPY_INT32
        return type_number == cnp.NPY_FLOAT32 or type_number == cnp.NPY_FLOAT64

    cdef object _read_actions(self, object actions, tuple shape):
        """Anything that means actions as an array of this shape and a fitting kind, or TypeError/ValueError."""
        discrete = self.action_type == cnp.NPY_INT64
        try:
            array = np.asarray(actions)
        except Exception as error:
            raise ValueError(f"actions cannot be read as an array of shape {shape}: {error}") from None
        if array.ndim == 0:
            raise TypeError(f"actions={actions!r} is a single value; pass an array of shape {shape}, one row per lane")
        if array.shape != shape:
            raise ValueError(f"actions have shape {array.shape}, but {shape[0]} lanes need shape {shape}: one row per "
                             "lane; no lane has been stepped")
        if array.dtype.kind not in ("iu" if discrete else "iuf"):
            rule = "integers (int64 costs nothing extra)" if discrete else "numbers (float32 costs nothing extra)"
            raise TypeError(f"actions have dtype {array.dtype}, but the action space needs {rule}; "
                            "no lane has been stepped")
        return array

    cdef cnp.ndarray _coerce_actions(self, object actions):
        discrete = self.action_type == cnp.NPY_INT64
        array = self._read_actions(actions, self.action_shape)
        if discrete:
            if array.dtype.kind == "u" and array.dtype.itemsize == 8 and (array > 2**63 - 1).any():
                lane = int(np.argmax(array))
                raise ValueError(f"action {array[lane]} of lane {lane} is not in "
                                 f"0..{self.batch.action_space.n - 1}; no lane has been stepped")
            return np.ascontiguousarray(array, dtype=np.int64)
        return np.ascontiguousarray(array, dtype=np.float32 if array.dtype == np.float32 else np.float64)

    # -- the arrays handed out ---------------------------------------------------------------------------------------

    cdef tuple _new_output(self):
        return self._new_arrays(self.num_lanes)

    cdef tuple _new_arrays(self, int64_t rows):
        cdef cnp.npy_intp n = rows
        cdef tuple held = (np.empty((rows, *self.observation_shape[1:]), _dtypes_by_num[self.observation_type]),
                           cnp.PyArray_EMPTY(1, &n, cnp.NPY_FLOAT64, 0),
                           cnp.PyArray_EMPTY(1, &n, cnp.NPY_BOOL, 0),
                           cnp.PyArray_EMPTY(1, &n, cnp.NPY_BOOL, 0))
        for row in self.info_rows:
            size = [row["size"]] * (row["size"] > 1)
            held += (np.empty([rows, *size], row["dtype"]), np.empty(rows, np.bool_))
        if self.recording:
            held += (np.empty(rows), np.empty(rows, np.int64), np.empty(rows))
        return held

    cdef tuple _output(self):
        """Arrays that nobody else holds: recycled, or new. With a ring: the next of its sets, whoever holds it."""
        cdef tuple held
        cdef Py_ssize_t i, count = len(self.pool)
        if self.ring:
            if count < self.ring:
                self.pool.append(self._new_output())
            held = <tuple>self.pool[self.next_slot]
            self.next_slot = (self.next_slot + 1) % self.ring
            if not self._intact(held, self.num_lanes):
                held = self._new_output()
                self.pool[self.next_slot - 1 if self.next_slot else self.ring - 1] = held
            return held
        for i in range(count):
            held = <tuple>self.pool[i]
            if self._unshared(held) and self._intact(held, self.num_lanes):
                return held
        held = self._new_output()
        if count < MAX_POOL:
            self.pool.append(held)
        else:
            # All are held: a user who stores every step. Forget the oldest.
            self.pool[self.next_slot] = held
            self.next_slot = (self.next_slot + 1) % MAX_POOL
        return held

    cdef bint _unshared(self, tuple held) noexcept:
        cdef int i
        for i in range(self.num_outputs):
            if not be_unshared(PyTuple_GET_ITEM(held, i)):
                return False
        return True

    cdef bint _intact(self, tuple held, int64_t rows):
        """The user may have changed what can be changed in place: dtype, shape, writability."""
        cdef cnp.ndarray array = <cnp.ndarray>PyTuple_GET_ITEM(held, 0)
        cdef cnp.ndarray flags
        cdef int i
        if (cnp.PyArray_TYPE(array) != self.observation_type or not cnp.PyArray_ISCARRAY(array)
                or cnp.PyArray_NDIM(array) != len(self.observation_shape)
                or <size_t>cnp.PyArray_NBYTES(array) != rows * self.observation_row
                or cnp.PyArray_DIM(array, 0) != rows):
            return False
        for i in range(2, cnp.PyArray_NDIM(array)):
            if cnp.PyArray_DIM(array, i) != <int64_t>self.observation_shape[i]:
                return False
        for i in range(1, 4):
            flags = <cnp.ndarray>PyTuple_GET_ITEM(held, i)
            if (cnp.PyArray_TYPE(flags) != <int>(cnp.NPY_FLOAT64 if i == 1 else cnp.NPY_BOOL)
                    or not cnp.PyArray_ISCARRAY(flags) or cnp.PyArray_NDIM(flags) != 1
                    or cnp.PyArray_DIM(flags, 0) != rows):
                return False
        for i in range(4 + 2 * self.num_info, self.num_outputs):
            flags = <cnp.ndarray>PyTuple_GET_ITEM(held, i)
            if (not cnp.PyArray_ISCARRAY(flags) or cnp.PyArray_NDIM(flags) != 1 or cnp.PyArray_ITEMSIZE(flags) != 8
                    or cnp.PyArray_DIM(flags, 0) != rows):
                return False
        for i in range(4, 4 + 2 * self.num_info):
            flags = <cnp.ndarray>PyTuple_GET_ITEM(held, i)
            size = self.info_rows[(i - 4) // 2]["size"] if i % 2 == 0 else 1
            dtype = self.info_rows[(i - 4) // 2]["dtype"] if i % 2 == 0 else "bool"
            if (not cnp.PyArray_ISCARRAY(flags) or flags.dtype != dtype
                    or (<object>flags).shape != ((rows,) if size == 1 else (rows, size))):
                return False
        return True

    cdef str _tuple_hint(self, int place):
        """How observations of a Tuple space are written into one array."""
        return f": an int64 array (..., {self.tuple_size}) has all parts" if self.tuple_size and place == 0 else ""

    cdef tuple _put(self, tuple out, tuple ours):
        """`ours`, with the arrays of a checked `out` in the first four places where it has one."""
        return tuple([ours[i] if out[i] is None else out[i] for i in range(4)]) + ours[4:]

    def check_out(self, object out, object actions, tuple steps, object dtype):
        """`out` as a tuple; TypeError or ValueError unless it is four arrays that results can be written into, None in
        any place. steps: (T,) where they are those of T steps; dtype: the observations'. Needs no hold."""
        cdef cnp.ndarray array
        cdef const char *low[5]
        cdef const char *high[5]
        cdef int i, j, count = 0
        if not isinstance(out, (tuple, list)) or len(out) != 4:
            raise TypeError(f"out={type(out).__name__} must be a tuple of four arrays, or None for one of them: "
                            "(observations, rewards, terminations, truncations)")
        out = tuple(out)  # a list's class may be the user's, and give others the second time
        for i in range(4):
            given = out[i]
            if given is None:
                continue
            if type(given) is not cnp.ndarray:
                raise TypeError(f"out's {_out_names[i]} must be a numpy.ndarray or None, not {type(given).__name__}"
                                + self._tuple_hint(i))
            array = <cnp.ndarray>given
            wanted = dtype if i == 0 else _out_dtypes[i]
            shape = steps + self.observation_shape if i == 0 else steps + (self.num_lanes,)
            if given.dtype != wanted or given.shape != shape:
                raise ValueError(f"out's {_out_names[i]} must have dtype {wanted} and shape {shape}, "
                                 f"got {given.dtype} and {given.shape}")
            if not cnp.PyArray_ISCARRAY(array):
                raise ValueError(f"out's {_out_names[i]} must be C-contiguous, aligned and writeable; "
                                 f"np.empty({shape}, '{wanted}') is")
            low[count] = <const char *>cnp.PyArray_DATA(array)
            high[count] = low[count] + cnp.PyArray_NBYTES(array)
            count += 1
        # What is read of actions that are no array themselves, such as a tensor, may still be the caller's memory.
        read = actions if type(actions) is cnp.ndarray else self.converted
        if read is not None and cnp.PyArray_ISCONTIGUOUS(<cnp.ndarray>read):
            low[count] = <const char *>cnp.PyArray_DATA(<cnp.ndarray>read)
            high[count] = low[count] + cnp.PyArray_NBYTES(<cnp.ndarray>read)
            count += 1
        for i in range(count):
            for j in range(i):
                if low[i] < high[j] and low[j] < high[i]:
                    raise ValueError("out's arrays must not overlap each other or the actions")
        return out

    cdef int _add_final(self, dict info, tuple held) except -1:
        """SAME_STEP's final_obs and final_info, in the form of SyncVectorEnv."""
        done = np.logical_or(held[2], held[3])
        lanes = np.flatnonzero(done)
        cdef cnp.npy_intp[::1] index = lanes
        cdef Py_ssize_t i, count = len(lanes)
        cdef size_t row = self.observation_row
        rows = np.empty((count, *self.observation_shape[1:]), _dtypes_by_num[self.observation_type])
        cdef unsigned char *target = <unsigned char *>cnp.PyArray_DATA(rows)
        cdef be_arrays arrays
        be_batch_point_final(self.batch, &arrays)
        cdef const unsigned char *source = <const unsigned char *>arrays.final_observation
        final = np.empty(self.num_lanes, dtype=object)
        cdef object[::1] objects = final
        for i in range(count):
            memcpy(target + i * row, source + index[i] * row, row)
            objects[index[i]] = self._present_row(rows[i])
        info["final_obs"] = final
        info["_final_obs"] = done
        info["final_info"] = self._final_info(done)
        info["_final_info"] = done.copy()
        return 0

    cdef object _present_row(self, object row):
        """One lane's observation as Gymnasium's single env returns it."""
        if self.tuple_size:
            return tuple([row[..., j] for j in range(self.tuple_size)]) if row.ndim > 1 else tuple(row.tolist())
        return row if row.ndim or self.convert else int(row)

    cdef dict _final_info(self, object done):
        info = {}
        cdef int k
        cdef cnp.ndarray array
        cdef be_arrays arrays
        be_batch_point_final(self.batch, &arrays)
        for k in range(self.num_info):
            row = self.info_rows[k]
            array = np.empty((self.num_lanes, row["size"]) if row["size"] > 1 else self.num_lanes, row["dtype"])
            memcpy(cnp.PyArray_DATA(array), arrays.final_info[k], cnp.PyArray_NBYTES(array))
            self._put_final_info(info, k, array, done)
        return info

    cdef int _put_final_info(self, dict info, int k, object array, object done) except -1:
        """An info of finished lanes with its mask; `array` is ours to change."""
        row = self.info_rows[k]
        array[~done] = 0
        present = done.copy()
        if self.info_when[k] == BE_WHERE_NOT_0:
            present &= array != 0
            if not present.any():
                return 0
        info[row["name"]] = array
        info[row["mask"]] = present
        return 0

    # -- rollouts ----------------------------------------------------------------------------------------------------

    def rollout(self, actions, int64_t steps, uint64_t key, uint64_t first_step, out=None):
        """`steps` steps of all lanes. actions: (steps, *action_shape), or None: drawn from (key, first_step).

        Returns (observation, reward, terminated, truncated, info, actions), each (steps, num_lanes, ...).
        """
        cdef be_arrays arrays
        cdef be_random_policy policy
        cdef be_call call
        cdef cnp.ndarray array
        cdef int k
        cdef bint same_step = self.autoreset == BE_SAME_STEP
        self._require_reset("env.rollout()")
        be_call_init(&call, BE_ROLLOUT, self.batch, self.isa_table, &arrays)
        call.steps = steps
        self._refuse_in_flight("rollout()", NULL)
        if actions is None:
            actions = np.empty((steps, *self.action_shape), _dtypes_by_num[self.action_type])
            policy.key = key
            policy.first_step = first_step
            call.policy = &policy
        else:
            actions = self._check_rollout_actions(actions, steps)
        array = actions
        arrays.action = cnp.PyArray_DATA(array)
        held = self._rollout_output(steps)
        if out is not None:
            out = self.check_out(out, actions, (steps,), _dtypes_by_num[self.observation_type])
            held = self._put(out, held)
        final = [np.zeros((steps, *held[k].shape[1:]), held[k].dtype) for k in self._final_indices(same_step)]
        self._point(held, &arrays)
        if same_step:
            array = final[0]
            arrays.final_observation = cnp.PyArray_DATA(array)
            for k in range(self.num_info):
                array = final[1 + k]
                arrays.final_info[k] = cnp.PyArray_DATA(array)
        self._run(&call)
        info = {}
        for k in range(self.num_info):
            info[self.info_rows[k]["name"]] = held[4 + 2 * k]
        if self.recording:
            self._tell_episodes(info, held, held[2] | held[3], True)
        if same_step:
            info["final_obs"] = self._present(final[0])
            info["_final_obs"] = held[2] | held[3]
            info["final_info"] = {self.info_rows[k]["name"]: final[1 + k] for k in range(self.num_info)}
        result = self._present(held[0]), held[1], held[2], held[3], info, actions
        if self.lane_by_lane:
            self._raise_failures(result)
        return result

    cdef list _final_indices(self, bint same_step):
        return [0] + [4 + 2 * k for k in range(self.num_info)] if same_step else []

    cdef tuple _rollout_output(self, int64_t steps):
        held = (np.empty((steps, *self.observation_shape), _dtypes_by_num[self.observation_type]),
                np.empty((steps, self.num_lanes)), np.empty((steps, self.num_lanes), np.bool_),
                np.empty((steps, self.num_lanes), np.bool_))
        for row in self.info_rows:
            size = [row["size"]] * (row["size"] > 1)
            held += (np.empty([steps, self.num_lanes, *size], row["dtype"]), None)
        if self.recording:
            shape = (steps, self.num_lanes)
            held += (np.empty(shape), np.empty(shape, np.int64), np.empty(shape))
        return held

    cdef object _check_rollout_actions(self, object actions, int64_t steps):
        cdef cnp.ndarray array
        cdef be_error error
        cdef int64_t t, count = self.action_size
        cdef const char *rows
        cdef be_dtype dtype = BE_I64 if self.action_type == cnp.NPY_INT64 else BE_F32
        shape = (steps, *self.action_shape)
        try:
            array = np.asarray(actions)
        except Exception as error_:
            raise ValueError(f"actions cannot be read as an array of shape {shape}: {error_}") from None
        if (<object>array).shape != shape:
            raise ValueError(f"actions have shape {(<object>array).shape}, but {steps} steps of {self.num_lanes} lanes "
                             f"need shape {shape}; no lane has been stepped")
        if array.dtype.kind not in ("iu" if dtype == BE_I64 else "iuf"):
            raise TypeError(f"actions have dtype {array.dtype}, but the action space needs "
                            f"{'integers' if dtype == BE_I64 else 'numbers'}; no lane has been stepped")
        if array.dtype.kind == "u" and array.dtype.itemsize == 8 and array.size and array.max() > 2**63 - 1:
            raise ValueError(f"action {array.max()} is not in 0..{self.batch.action_space.n - 1}; "
                             "no lane has been stepped")
        array = _contiguous(array, _dtypes_by_num[self.action_type])
        rows = <const char *>cnp.PyArray_DATA(array)
        for t in range(steps):
            if self.isa_table.check_actions(self.batch, rows + t * count * cnp.PyArray_ITEMSIZE(array), dtype, 0, count,
                                            self.clip, NULL, &error) != BE_OK:
                try:
                    _raise(&error)
                except ValueError as problem:
                    raise ValueError(f"{problem} (step {t} of the rollout)") from None
        return array

    # -- snapshots ---------------------------------------------------------------------------------------------------

    def snapshot(self, const int64_t[::1] lanes):
        """The lanes' snapshot as bytes."""
        self._require_reset("env.snapshot()")
        cdef int64_t size = be_snapshot_bytes(self.batch, len(lanes))
        cdef cnp.ndarray target = np.empty((size + 7) // 8, np.int64)
        with nogil:
            be_snapshot_save(self.batch, &lanes[0], lanes.shape[0], cnp.PyArray_DATA(target))
        return target.tobytes()

    def check_snapshot(self, bytes data):
        """How many lanes `data` holds; ValueError unless it is a sound snapshot for this batch."""
        cdef be_error error
        if be_snapshot_check(self.batch, <const char *>data, len(data), &error) != BE_OK:
            _raise(&error)
        return be_snapshot_count(<const char *>data)

    def snapshot_params(self, bytes data, const int64_t[::1] rows):
        """The params of rows of a checked snapshot: {name: float64 array} for those that may differ by lane."""
        cdef double numbers[32]
        cdef Py_ssize_t k
        table = np.empty((len(rows), len(self.param_rows)))
        cdef double[:, ::1] values = table
        for k in range(len(rows)):
            be_snapshot_params(<const char *>data, rows[k], numbers)
            for j in range(values.shape[1]):
                values[k, j] = numbers[j]
        return {row["name"]: table[:, j] for j, row in enumerate(self.param_rows) if row["per_lane"]}

    def load(self, bytes data, const int64_t[::1] rows, const int64_t[::1] lanes):
        """Puts rows of a checked snapshot into lanes, none of them in flight, and returns what `observe` does; all
        lanes have then been started if `lanes` are all."""
        cdef const char *source = data
        cdef tuple held = self._new_output()
        if lanes.shape[0] != self.num_lanes:
            self._require_reset("env.restore() of some lanes")
        with nogil:
            be_snapshot_load(self.batch, source, &rows[0], &lanes[0], lanes.shape[0])
        self.has_reset = 1
        return self._observe(held)

    def observe(self):
        """The observation of every lane's present state."""
        return self._observe(self._new_output())

    cdef object _observe(self, tuple held):
        cdef be_arrays arrays
        cdef be_error error
        cdef int status
        self._point(held, &arrays)
        with nogil:
            status = be_batch_observe(self.batch, 0, self.num_lanes, &arrays, &error)
        if status != BE_OK:
            _raise(&error)
        return self._present(held[0])


# {address: a reference}. Not a WeakSet: its callback is Python code, and a Ctrl-C that comes while an env is let go of
# would be raised, and lost, in there.
_alive = {}


@atexit.register
def _end_all_workers(double patience=10.0):
    """At exit: workers that are still at a lane when libraries take themselves apart would use what is no more.

    patience: seconds to wait for calls that daemon threads are in.
    """
    cdef double end = be_now_ns() + 1e9 * patience
    for batch in [reference() for reference in list(_alive.values())]:
        if batch is None:
            continue
        while not (<SyncBatch>batch)._end_at_exit() and be_now_ns() < end:
            time.sleep(0.001)


_out_names = ("observations", "rewards", "terminations", "truncations")
_out_dtypes = (None, np.dtype(np.float64), np.dtype(np.bool_), np.dtype(np.bool_))
_dtypes_by_num = {dtype.num: dtype for dtype in _dtypes}


cdef object _space(const be_space *space):
    size = be_space_row_size(space)
    shape = tuple(space.shape[i] for i in range(space.ndim))
    kind = {BE_SPACE_BOX: "box", BE_SPACE_DISCRETE: "discrete", BE_SPACE_TUPLE: "tuple"}[space.kind]
    low = [space.low[i if size <= 32 else 0] for i in range(size)]
    high = [space.high[i if size <= 32 else 0] for i in range(size)]
    return kind, _dtypes[<int>space.dtype], space.n, shape, low, high


# ---- lanes in flight -----------------------------------------------------------------------------------------------

include "_async.pxi"
