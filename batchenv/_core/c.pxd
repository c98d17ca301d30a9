"""Everything that batchenv._core takes from C: csrc/, OpenMP, CPython."""

from cpython.object cimport PyObject
from libc.stdint cimport int32_t, int64_t, intptr_t, uint8_t, uint32_t, uint64_t

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

    /* Whether only the container from which we took this object refers to it. */
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
    /* How many references there are to an object; 0: that cannot be said. */
    static inline Py_ssize_t be_references(PyObject *object) {
    #ifdef Py_GIL_DISABLED
        (void)object;
        return 0;
    #else
        return Py_REFCNT(object);
    #endif
    }
    #include <errno.h>
    #include <unistd.h>
    /* Sets `flag` to `to` if it is `from`; returns whether it was. */
    static inline int be_swap(int *flag, int from, int to) {
        return __atomic_compare_exchange_n(flag, &from, to, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
    }
    #define be_count_at(place) __atomic_load_n((const uint32_t *)(place), __ATOMIC_ACQUIRE)
    #define be_set(flag, to) __atomic_store_n((flag), (to), __ATOMIC_RELEASE)
    #define be_look(flag) __atomic_load_n((flag), __ATOMIC_RELAXED)
    #define be_set_for_all(flag, to) __atomic_store_n((flag), (to), __ATOMIC_SEQ_CST)
    /* Takes 1 from a count above 0; returns whether that was the last. */
    static inline int be_counts_down(int *count) {
        return __atomic_load_n(count, __ATOMIC_SEQ_CST) > 0 && __atomic_fetch_sub(count, 1, __ATOMIC_SEQ_CST) == 1;
    }
    static inline void be_write_event(int event) {
        uint64_t one = 1;
        while (write(event, &one, sizeof one) < 0 && errno == EINTR) {
        }
    }
    """
    const bint BE_OPENMP, BE_OPENMP_MISSING
    int be_max_threads() nogil
    int be_num_places() nogil
    int be_place_size(int place) nogil
    void be_place_cpus(int place, int *cpus) nogil
    bint be_unshared(PyObject *object) nogil
    Py_ssize_t be_references(PyObject *object) nogil
    bint be_swap(int *flag, int, int) nogil
    uint32_t be_count_at(const void *place) nogil
    void be_set(int *flag, int) nogil
    int be_look(int *flag) nogil
    void be_set_for_all(int *flag, int) nogil
    bint be_counts_down(int *count) nogil
    void be_write_event(int event) nogil

cdef extern from "Python.h":
    PyObject *PyTuple_GET_ITEM(object, Py_ssize_t)
    PyObject *PyList_GET_ITEM(object, Py_ssize_t)
    unsigned long PyThread_get_thread_ident() nogil
    void PyObject_ClearWeakRefs(object)

cdef extern from "rng.h" nogil:
    ctypedef struct be_rng:
        uint64_t state_lo, state_hi, inc_lo, inc_hi
        uint32_t buffered, has_buffered
    double be_rng_double(be_rng *rng)
    void be_rng_seed_words(be_rng *rng, const uint32_t *words, size_t n)
    double be_rng_standard_normal(be_rng *rng)
    uint64_t be_rng_bounded(be_rng *rng, uint64_t last)

cdef extern from "random_state.h" nogil:
    ctypedef struct be_random_state:
        uint32_t key[624]
        uint32_t used, has_gauss
        double gauss

cdef extern from "batchenv.h" nogil:
    enum:
        BE_MAX_FIELDS, BE_MAX_PORTS, BE_MAX_PARAMS, BE_MAX_BOUNDS, BE_MAX_DIMS, BE_MAX_SETTINGS, BE_MAX_TEXT
        BE_MAX_CONSTANTS
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
        int64_t low, high
    ctypedef enum be_param_kind:
        BE_PARAM_FLOAT, BE_PARAM_INT, BE_PARAM_BOOL, BE_PARAM_CHOICE, BE_PARAM_TEXT
    ctypedef struct be_param:
        const char *name
        be_param_kind kind
        double value, low, high
        const char **choices
        const char *doc
        int shared, per_lane
        const char *text
    int be_may_differ(const be_param *)
    ctypedef enum be_space_kind:
        BE_SPACE_BOX, BE_SPACE_DISCRETE, BE_SPACE_MULTI_DISCRETE, BE_SPACE_MULTI_BINARY, BE_SPACE_TUPLE, BE_SPACE_TEXT
    ctypedef struct be_space:
        be_space_kind kind
        be_dtype dtype
        int ndim
        int64_t shape[BE_MAX_DIMS]
        double low[BE_MAX_BOUNDS]
        double high[BE_MAX_BOUNDS]
    ctypedef enum be_role:
        BE_ACTION, BE_OBSERVATION, BE_INFO, BE_REWARD
    ctypedef int be_write_text(const be_env_type *type, const int64_t *code, char *text, int size)
    ctypedef struct be_port:
        const char *name
        be_role role
        be_space_kind kind
        be_dtype dtype
        int64_t shape[BE_MAX_DIMS]
        double low
        double high
        be_when when
        const char *doc
        const char **texts
        be_write_text *write_text
    ctypedef struct be_rows:
        int64_t first
        double *reward
        uint8_t *terminated
        uint8_t *truncated
        uint8_t *started
        uint8_t *failed
        double *episode_return
        double *episode_seconds
        int64_t *episode_length
        int64_t *episode_entry
        int64_t *lane
        void *port[BE_MAX_PORTS]
        void *final[BE_MAX_PORTS]
    ctypedef struct be_grid:
        const uint8_t *cells
        int64_t rows, columns
    ctypedef struct be_batch
    ctypedef struct be_setup:
        void *engine
        be_space *space
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
    ctypedef struct be_read:
        const char *array
        const char *object
        const char *name
    ctypedef enum be_change:
        pass
    ctypedef enum be_distribution:
        pass
    ctypedef struct be_drawn:
        const char *field
        const char *name
        be_change change
        double low, high
        be_distribution distribution
        unsigned columns
        int together, with_inertia
    ctypedef struct be_env_type:
        uint32_t abi
        int frames_per_second
        const char *name
        const be_id *ids
        const char *family
        const be_field *state
        const be_port *ports
        const be_param *params
        const be_param *options
        const char *grid
        const be_read *reads
        const be_drawn *drawn
        int model_pool
        unsigned flags
        int (*prepare)(be_setup *, be_error *) noexcept nogil
        int (*reset)(be_batch *, const int64_t *, int64_t, const be_rows *, be_error *) noexcept nogil
        int (*observe)(be_batch *, const int64_t *, int64_t, const be_rows *, be_error *) noexcept nogil
        int (*step)(be_batch *, int64_t, int64_t, const be_rows *, be_error *) noexcept nogil
        int (*check_state)(const be_batch *, const void *const *, int64_t, be_error *) noexcept nogil
        int (*open)(be_batch *, const void *, be_error *) noexcept nogil
        void (*close)(be_batch *) noexcept nogil
        size_t (*saved_bytes)(const be_batch *) noexcept nogil
        void (*save)(const be_batch *, int64_t, void *) noexcept nogil
        void (*load)(be_batch *, int64_t, const void *) noexcept nogil
        int (*goes_on)(be_batch *, int64_t)
        void (*picture)(const be_batch *, int64_t, int *, int *, uint8_t *) noexcept nogil
    ctypedef struct be_batch:
        const be_env_type *type
        int64_t num_lanes
        void *state[BE_MAX_FIELDS]
        int field_size[BE_MAX_FIELDS]
        be_rng *rng
        int32_t *elapsed
        void *engine
        double params[BE_MAX_PARAMS]
        double constants[BE_MAX_CONSTANTS]
        const be_space *space
    unsigned BE_ABI
    int be_fail(be_error *, be_status, int64_t, const char *, ...)
    unsigned BE_LANE_BY_LANE

cdef extern from "core/load/library.h" nogil:
    ctypedef struct be_library:
        const be_env_type *const *begin
        const be_env_type *const *end
    ctypedef struct be_part:
        const char *isa
        const be_library *types
    ctypedef struct be_loaded:
        be_part parts[4]
        int num_parts
    int be_library_load(const char *, be_loaded *, be_error *)
    const be_env_type *be_loaded_type(const be_loaded *, const char *, const char *)

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
    void be_batch_rescale(be_batch *, const double *, const double *)

cdef extern from "core/math/moments.h" nogil:
    void be_moments(const void *, be_dtype, int64_t, int64_t, void *, void *)
    void be_standardize(const void *, be_dtype, int64_t, int64_t, const void *, const void *, float *)

cdef extern from "core/system/memory.h" nogil:
    void *be_aligned_new(size_t alignment, size_t bytes)
    void be_aligned_free(void *memory)

cdef extern from "core/system/numa.h" nogil:
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

cdef extern from "core/space.h" nogil:
    int64_t be_space_row_size(const be_space *)
    int64_t be_bound_of(const be_space *, int64_t)

cdef extern from "core/load/types.h" nogil:
    ctypedef struct be_random_policy:
        uint64_t key, first_step
    ctypedef struct be_isa:
        const char *name
        int64_t (*step)(be_batch *, int64_t, int64_t, const be_rows *, be_error *) noexcept nogil
        int (*check_actions)(const be_batch *, int, const void *, be_dtype, int64_t, int64_t, int, void *,
                             be_error *) noexcept nogil
        void (*probe)(int64_t *) noexcept nogil
    const be_isa *const *be_isa_supported()
    const be_env_type *be_type_at(const be_isa *, int64_t)
    const be_env_type *be_type_named(const be_isa *, const char *)

cdef extern from "batchenv.h" nogil:
    double be_param_of(const be_batch *, int, int64_t)

cdef extern from "core/params.h" nogil:
    enum:
        BE_MAX_OPTIONS
    int be_batch_configure(be_batch *, const double *, const double *const *, be_error *)
    int be_batch_check_options(const be_batch *, const double *, be_error *)

cdef extern from "core/agenda.h" nogil:
    ctypedef enum be_agenda_order:
        BE_IN_ORDER, BE_SHUFFLED, BE_SAMPLED
    enum:
        BE_NO_ENTRY, BE_UNDECIDED, BE_BEGUN
    ctypedef struct be_agenda_place:
        int64_t stream, taken, entry, next
    ctypedef struct be_agenda:
        be_agenda_order order
        int repeat
        uint64_t key
        int64_t streams, count, sum_rows
        const double *sums
        const int64_t *guides
        const int64_t *starts
        const int64_t *members
        const uint8_t *seeded
        const be_rng *rng
        const uint32_t *words
        const int64_t *word_starts
        const double *options
        const uint8_t *has_options
        const int *params
        const double *values
        const void **snapshots
        const int64_t *snapshot_rows
        int num_options, num_params
        int (*prepare)(void *, int64_t, int64_t, be_error *) noexcept nogil
        void *context
        be_agenda_place *places
    void be_agenda_guide(const double *, int64_t, int64_t *)
    int64_t be_agenda_item(const be_agenda *, int64_t, int64_t)
    int64_t be_agenda_decide(be_agenda *, int64_t)
    int be_agenda_begin(be_batch *, const int64_t *, int64_t, const be_rows *, be_error *)
    void be_batch_set_agenda(be_batch *, be_agenda *, int)

cdef extern from "core/episode.h" nogil:
    ctypedef enum be_autoreset:
        BE_NEXT_STEP, BE_SAME_STEP, BE_DISABLED
    be_random_state *be_batch_random_states(const be_batch *)
    void be_batch_seed_lane(be_batch *, int64_t, const uint32_t *, size_t, uint64_t)
    int be_batch_observe(be_batch *, int64_t, int64_t, const be_rows *, be_error *)
    int be_batch_observe_first(be_batch *, const int64_t *, int64_t, const be_rows *, be_error *)
    int64_t be_batch_first_pending(const be_batch *, int64_t, int64_t)
    uint8_t *be_batch_pending(const be_batch *)
    int be_lanes_may_fail(const be_env_type *)
    void be_batch_forget_failures(be_batch *)
    int64_t be_batch_take_failures(be_batch *, int64_t *)
    int be_batch_take_failure(be_batch *, int64_t)
    const be_error *be_batch_failure(const be_batch *, int64_t)

cdef extern from "core/rows.h" nogil:
    ctypedef struct be_table
    void be_rows_slice(const be_table *, be_rows *, const be_rows *, int64_t)

cdef extern from "core/batch.h" nogil:
    enum:
        BE_MAX_LANE_COLUMNS
    ctypedef struct be_batch_options:
        const be_env_type *type
        int64_t num_lanes
        be_autoreset autoreset
        int32_t max_episode_steps
        const be_grid *grid
        const be_transform *transform
        const double *params
        const double *const *columns
        const char *const *texts
        const void *engine
        int (*look)(void *) noexcept nogil
        void *look_context
    be_batch *be_batch_create(const be_batch_options *, be_error *)
    void be_batch_place(be_batch *, be_placement *)
    const be_placement *be_batch_placement(const be_batch *)
    void be_batch_destroy(be_batch *)
    void be_batch_point_final(const be_batch *, be_rows *)
    const be_table *be_batch_table(const be_batch *)
    int64_t be_batch_bytes(const be_batch *)

cdef extern from "core/snapshot.h" nogil:
    int64_t be_snapshot_bytes(const be_batch *, int64_t)
    void be_snapshot_save(const be_batch *, const int64_t *, int64_t, void *)
    int be_snapshot_check(const be_batch *, const void *, int64_t, be_error *)
    int be_snapshot_waits(const be_batch *, const void *, int64_t)
    int64_t be_snapshot_count(const void *)
    void be_snapshot_params(const void *, int64_t, double *)
    void be_snapshot_load(be_batch *, const void *, const int64_t *, const int64_t *, int64_t)
    int be_state_set(be_batch *, const void *const *, const int32_t *, const int64_t *, int64_t, be_error *)
    int be_columns_sizes(const be_batch *, size_t *)
    void be_columns_save(const be_batch *, unsigned char *const *)
    int be_columns_load(be_batch *, const unsigned char *const *, be_error *)

cdef extern from "core/run/scattered.h" nogil:
    enum:
        BE_LANE_RANGE, BE_LANE_TAKEN, BE_LANE_TWICE
    ctypedef struct be_scattered
    be_scattered *be_scattered_create(const be_batch *, int, be_error *)
    void be_scattered_destroy(be_scattered *)
    int be_scattered_num_parts(const be_scattered *)
    int64_t be_lanes_check(const int64_t *, int64_t, int64_t, const uint8_t *, uint8_t *, int *)

cdef extern from "core/run/async.h" nogil:
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
    int be_async_num_workers(const be_async *)
    be_async *be_async_create(be_batch *, const be_isa *, int64_t, int, const int *, int, be_error *)
    void be_async_destroy(be_async *)
    int be_async_num_buffers(const be_async *)
    void be_async_set_buffer(be_async *, int, const be_rows *)
    int64_t be_async_check(be_async *, const int64_t *, int64_t, int *)
    be_pool_status be_async_submit(be_async *, const int64_t *, int64_t, const be_rows *, const double *)
    be_pool_status be_async_recv(be_async *, int64_t, int *)
    be_pool_status be_async_finish(be_async *, int64_t)
    be_pool_status be_async_clear(be_async *)
    int64_t be_async_in_flight(const be_async *)
    int64_t be_async_list_in_flight(const be_async *, const uint8_t *, int64_t *, int64_t)
    int be_async_eventfd(be_async *)

cdef extern from "core/run/plan.h" nogil:
    ctypedef struct be_plan:
        int threads, fixed, parallel, few
        double fork_ns
        double cost[2]
    double be_now_ns()

cdef extern from "core/run/loop.h" nogil:
    enum:
        BE_NUM_PLANS
    ctypedef enum be_verb:
        BE_STEP, BE_STEP_LISTED, BE_RESET, BE_RESET_SOME, BE_SEED, BE_ROLLOUT
    ctypedef struct be_member:
        be_batch *batch
        int64_t first
        const double *options
        int64_t options_stride
        be_scattered *scattered
    ctypedef struct be_call:
        be_verb verb
        const be_member *parts
        int num_parts
        const int32_t *part_of
        const int64_t *lanes
        int64_t num_listed
        be_scattered *scattered
        const uint8_t *resets
        const uint8_t *mask
        const double *options
        int64_t options_stride
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
    void be_call_init(be_call *, be_verb, be_batch *, const be_isa *, const be_rows *)
    bint be_call_inline(be_call *, be_plan *, int)
    void be_call_begin(be_call *, be_plan *, int, be_pool *)
    int be_call_next(be_call *)
    void be_call_work(be_call *, int)
    int be_call_run(be_call *)

cdef extern from "core/math/fp.h" nogil:
    ctypedef struct be_fp:
        pass
    be_fp be_fp_enter()
    void be_fp_leave(const be_fp *)

cdef extern from "core/run/team.h" nogil:
    void be_team_init()
    int be_team_size(int, int)
    int be_workers_available(int)

cdef extern from "core/system/fork.h" nogil:
    void be_fork_watch()
    bint be_forked()
    int be_fork_count()

cdef extern from "numpy_f32.h" nogil:
    void be_set_numpy_f32_fused(int)
    int64_t be_numpy_f32_mismatches(int, const float *, const float *, const float *, int64_t)

cdef extern from "numpy_loops.h" nogil:
    enum:
        BE_NUMPY_FUNCTIONS
    ctypedef enum be_numpy_function:
        pass
    ctypedef void be_numpy_loop(char **, const intptr_t *, const intptr_t *, void *)
    const char *const be_numpy_names[BE_NUMPY_FUNCTIONS]
    void be_numpy_set(be_numpy_function, be_numpy_loop *, void *)
    double be_numpy_call(be_numpy_function, double, double)

cdef extern from "numpy_dot.h" nogil:
    void be_numpy_set_matmul(be_numpy_loop *, void *)
    double be_numpy_dot_of(const double *, const double *, int64_t)

cdef extern from "numpy/ufuncobject.h":
    ctypedef struct PyUFuncObject:
        int nargs, ntypes
        be_numpy_loop **functions
        void **data
        const char *types

cdef extern from "libm.h" nogil:
    void be_libm_begin()
    int be_libm_choose(const char *, const double *, const double *, const double *, int64_t, int64_t *)
    void be_libm_choose_sincos(const double *, int64_t)

cdef extern from "core/queue/ring.h" nogil:
    ctypedef struct be_gate
    ctypedef struct be_spin:
        int64_t ns
        int yields
    ctypedef struct be_ring
    void be_gate_init(be_gate *, int)
    void be_gate_notify(be_gate *, int)
    int be_gate_wait(be_gate *, int (*)(void *) noexcept nogil, void *, be_spin *, int64_t)
    size_t be_ring_bytes(size_t, size_t)
    be_ring *be_ring_init(void *, size_t, size_t, int)
    be_ring *be_ring_attach(void *, size_t, size_t)
    int be_ring_push(be_ring *, const void *, int64_t)
    int be_ring_try_pop(be_ring *, void *)
    int be_ring_empty(be_ring *)
    be_gate *be_ring_gate(be_ring *)
