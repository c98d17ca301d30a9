# The lanes.

import atexit
import math
import os
import time
import weakref

import numpy as np
from gymnasium.error import ClosedEnvironmentError, ResetNeeded

cimport cython
cimport numpy as cnp
from cpython.exc cimport PyErr_CheckSignals
from cpython.mem cimport PyMem_Calloc, PyMem_Free
from cython.parallel cimport prange
from libc.string cimport memchr, memcpy, memset


cdef enum:
    MAX_POOL = 4
    SLICE_NS = 50_000_000  # of a wait, after which signals are looked at
    CLOSED = -1  # Batch.busy
    EXITED = -2  # likewise, by _end_all_workers


@cython.final
cdef class Hold:
    """Takes a batch for the length of a `with` block: see Batch.hold."""

    cdef Batch batch
    cdef bint settle, held

    def __cinit__(self, Batch batch, bint settle):
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


cdef bytes _seed_words(object seed):
    """A non-negative int as little-endian 32-bit words."""
    return seed.to_bytes((seed.bit_length() + 31) // 32 * 4, "little")


cdef int _look_at_signals(void *batch) noexcept with gil:
    """1 if a signal's handler has raised something: Ctrl-C. It is kept for `_raise_signal`."""
    try:
        PyErr_CheckSignals()
    except BaseException as raised:
        (<Batch>batch).signal = raised
        return 1
    return 0


@cython.final
@cython.no_gc  # the collector would take arrays away that workers are writing; nothing held here leads back to this
cdef class Batch:
    """num_lanes lanes of one env type, stepped together, or sent off some at a time and received as they get finished.

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
    cdef be_async *queue
    cdef list buffers  # of the queue: where results are being written
    cdef list spare  # sets of arrays handed out before, to be used again when nobody else holds them
    cdef tuple upcoming  # a set that takes the place of the next batch's, found before that batch is taken
    cdef tuple undelivered  # a batch that was taken, and that the caller does not have yet
    cdef cnp.ndarray last_ids
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
        PyObject_ClearWeakRefs(self)  # or another thread could bring this back to life while workers end
        if _alive is not None:
            _alive.pop(<size_t><void *>self, None)
        self._end_workers()  # before the arrays go that they write
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

    # -- lanes in flight ---------------------------------------------------------------------------------------------

    def set_queue(self, int64_t batch_rows, affinity):
        """How many rows a batch has; the CPUs of the workers, or None. Before anything is sent."""
        if (self.num_lanes + batch_rows - 1) // batch_rows >= 1 << 20:
            raise ValueError(f"batch_size={batch_rows} makes more than a million batches of {self.num_lanes} lanes: "
                             f"it must be at least {self.num_lanes // ((1 << 20) - 2) + 1}")
        self.batch_rows = batch_rows
        self.affinity = affinity
        cdef bytes folder = _numa_folder()
        if affinity is None and folder != b"0":
            with _Unbound():
                be_batch_place(self.batch, be_place_here(<const char *>folder if folder else NULL,
                                                         min(self.num_threads, self.num_lanes), self.num_lanes,
                                                         1 if self.lane_by_lane else 64))

    cdef int _start_queue(self) except -1:
        cdef be_error error
        cdef cnp.ndarray cpus
        cdef const int *cpu_data = NULL
        cdef int num_cpus = 0
        cdef int i
        if self.queue != NULL:
            self._leave_to_parent()
            if self.queue != NULL:
                return 0
        if self.affinity is not None:
            cpus = np.array(self.affinity, np.intc)
            cpu_data = <const int *>cnp.PyArray_DATA(cpus)
            num_cpus = len(cpus)
        workers = min(self.num_threads, self.num_lanes)
        with _Unbound():
            self.queue = be_async_create(self.batch, self.isa_table, self.batch_rows, workers, cpu_data, num_cpus,
                                         &error)
        if self.queue == NULL:
            _raise(&error)
        self.queue_process = be_fork_count()
        self.spare = []
        self.upcoming = None
        self.buffers = []
        try:
            for i in range(be_async_num_buffers(self.queue)):
                held = self._new_results()
                self.buffers.append(held)
                self._set_buffer(i, held)
        except BaseException:  # no memory
            self._end_workers()
            raise
        if be_async_num_workers(self.queue) < workers:
            _warn_of_threads(workers, be_async_num_workers(self.queue), "workers")
        return 0

    cdef int _leave_to_parent(self) except -1:
        """In a child of fork() the queue has no workers: one without lanes in flight is replaced."""
        if self.queue_process == be_fork_count():
            return 0
        if be_async_list_in_flight(self.queue, NULL, NULL, 0):
            raise RuntimeError("lanes were in flight when this process was forked, and their workers are the parent's: "
                               "call env.reset() in this process first")
        self.queue = NULL  # the workers' memory stays: they are another process's
        return 0

    cdef int _settle(self) except -1:
        """Waits until no lane is being worked on."""
        cdef be_pool_status status
        if self.queue_process != be_fork_count():
            return self._leave_to_parent()
        while True:
            with nogil:
                status = be_async_finish(self.queue, SLICE_NS)
            if status != BE_POOL_TIMEOUT:
                return 0
            PyErr_CheckSignals()

    cdef int _refuse_in_flight(self, str doing, const uint8_t *mask) except -1:
        """RuntimeError if lanes of the mask (NULL: any) are in flight."""
        cdef int64_t lanes[5]
        self._refuse_undelivered(doing)
        cdef int64_t count = be_async_list_in_flight(self.queue, mask, lanes, 5) if self.queue != NULL else 0
        if count:
            named = ", ".join([str(lanes[i]) for i in range(min(count, 5))]) + (", ..." if count > 5 else "")
            raise RuntimeError(f"{doing} while {count} lanes are in flight (env_id {named}): recv() their results "
                               "first, or reset() everything")
        return 0

    cdef int _refuse_undelivered(self, str doing) except -1:
        if self.undelivered is not None:
            raise RuntimeError(f"{doing} after a recv() that failed: call recv() again for its results first, or "
                               "reset() everything")
        return 0

    cdef int _drop_in_flight(self) except -1:
        if self.queue != NULL and self.queue_process != be_fork_count():
            self.queue = NULL
        elif self.queue != NULL:
            self._settle()
            be_async_clear(self.queue)
        self.undelivered = None
        return 0

    def refuse_in_flight(self, str doing, const uint8_t[::1] mask):
        """RuntimeError if lanes of the mask are in flight; ResetNeeded if they are not all, and others need one."""
        self._refuse_in_flight(doing, &mask[0])
        if memchr(&mask[0], 0, mask.shape[0]) != NULL:
            self._require_reset(f"{doing} of some lanes")

    def in_flight(self):
        """How many lanes have been sent and not received. Needs no hold."""
        kept = self.batch_rows if self.undelivered is not None else 0
        if self.queue == NULL or self.queue_process != be_fork_count():
            return kept
        return kept + be_async_in_flight(self.queue)

    def lane_ns(self):
        """The measured cost of a lane's step in the background; 0.0: not known yet. Needs no hold."""
        return 0.0 if self.queue == NULL else be_async_lane_ns(self.queue)

    def queue_reset(self, seeds, dict options):
        """Sends every lane off to be reset. seeds as `reset` takes them. Results of lanes in flight are dropped, once
        nothing can be refused any more."""
        cdef double numbers[32]
        cdef double *values = NULL
        if options:
            values = numbers
            self._fill_options(options, values)
        words = self._words_of_seeds(seeds, None)
        lanes = np.arange(self.num_lanes)
        if self.queue == NULL or self.queue_process != be_fork_count():
            self._drop_in_flight()
            self._start_queue()
        else:
            self._drop_in_flight()
        self._seed(words)
        self._submit(lanes, NULL, values)
        self.has_reset = 1

    def send_alone(self, actions, env_id):
        """Takes the batch, and sends."""
        self._enter_only()
        try:
            return self._send(actions, env_id)
        finally:
            be_set(&self.busy, 0)

    def send(self, actions, env_id):
        """Sends lanes off to be stepped. env_id: their numbers, one for each row of actions; None: as last received.
        Returns the numbers."""
        return self._send(actions, env_id)

    cdef object _send(self, actions, env_id):
        cdef cnp.ndarray ids, array
        cdef be_error error
        cdef const void *rows
        cdef int what = 0
        cdef int64_t bad, lane
        if not self.has_reset and self.torn is None:
            raise ResetNeeded("send() before the first reset: call env.async_reset() or env.reset() once first")
        self._require_reset("send()")
        self._refuse_undelivered("send()")
        if self.queue == NULL or self.queue_process != be_fork_count():
            self._start_queue()
        if type(env_id) is cnp.ndarray and cnp.PyArray_TYPE(<cnp.ndarray>env_id) == cnp.NPY_INT64 and (
                cnp.PyArray_ISCARRAY_RO(<cnp.ndarray>env_id) and cnp.PyArray_NDIM(<cnp.ndarray>env_id) == 1):
            ids = <cnp.ndarray>env_id
        else:
            ids = self._coerce_ids(env_id)
        ids = cnp.PyArray_NewCopy(ids, cnp.NPY_CORDER)  # reading the actions may run code that changes the caller's
        if cnp.PyArray_DIM(ids, 0) == 0:
            raise ValueError("env_id is empty: send at least one lane")
        bad = be_async_check(self.queue, <const int64_t *>cnp.PyArray_DATA(ids), cnp.PyArray_DIM(ids, 0), &what)
        if bad >= 0:
            self._raise_bad_id(ids[bad], bad, what)
        if self.autoreset == BE_DISABLED:
            for lane in ids:
                if be_batch_first_pending(self.batch, lane, lane + 1) >= 0:
                    raise LanePendingError(
                        f"lane {lane} has finished its episode and autoreset_mode is DISABLED: reset it with "
                        "env.reset(options={'reset_mask': mask}) before sending it; nothing was sent")
        rows = self._check_sent(actions, ids)
        self._submit(ids, rows, NULL)
        return ids

    cdef int _submit(self, cnp.ndarray ids, const void *rows, const double *options) except -1:
        cdef be_pool_status status
        cdef const int64_t *lanes = <const int64_t *>cnp.PyArray_DATA(ids)
        cdef int64_t count = cnp.PyArray_DIM(ids, 0)
        status = be_async_submit(self.queue, lanes, count, rows, options)
        if status != BE_POOL_OK:
            raise RuntimeError(f"the workers do not take {count} lanes (status {<int>status})")
        return 0

    cdef cnp.ndarray _coerce_ids(self, object env_id):
        if env_id is None:
            if self.last_ids is None:
                raise ValueError("env_id=None means the lanes last received, and none have been: say which lanes")
            return self.last_ids
        try:
            ids = np.atleast_1d(np.asarray(env_id))
        except ValueError:  # ragged
            ids = np.empty((), object)
        if ids.size == 0:
            return np.empty(0, np.int64)
        if ids.dtype.kind not in "iu" or ids.ndim != 1:
            raise TypeError(f"env_id={env_id!r} must be a one-dimensional array or list of ints")
        if ids.dtype.kind == "u" and ids.max() >= self.num_lanes:  # may not fit into int64
            self._raise_bad_id(ids.max(), int(ids.argmax()), BE_ASYNC_RANGE)
        return np.ascontiguousarray(ids, np.int64)

    cdef object _raise_bad_id(self, lane, int64_t row, int what):
        if what == BE_ASYNC_RANGE:
            raise ValueError(f"env_id[{row}]={lane} is not in 0..{self.num_lanes - 1}; nothing was sent")
        if what == BE_ASYNC_TWICE:
            raise ValueError(f"env_id[{row}]={lane} occurs twice: a lane takes one action at a time; nothing was sent")
        raise RuntimeError(f"env_id[{row}]={lane} is in flight: recv() its result before sending it again; nothing was "
                           "sent")

    cdef const void *_check_sent(self, object actions, cnp.ndarray ids) except NULL:
        """The checked actions in the space's own dtype."""
        cdef cnp.ndarray array
        cdef be_error error
        cdef be_dtype dtype
        cdef int64_t count = cnp.PyArray_DIM(ids, 0)
        cdef int64_t size = self.action_size // self.num_lanes
        cdef const char *rows
        cdef int status, item, i
        discrete = self.action_type == cnp.NPY_INT64
        if type(actions) is not cnp.ndarray or not cnp.PyArray_ISCARRAY_RO(<cnp.ndarray>actions) or (
                cnp.PyArray_TYPE(<cnp.ndarray>actions) != self.action_type):
            array = self._read_actions(actions, (count, *self.action_shape[1:]))
            if array.dtype.kind == "u" and array.size and array.max() > 2**63 - 1:
                raise ValueError(f"action {array.max()} of lane {ids[array.argmax()]} is not in "
                                 f"0..{self.batch.action_space.n - 1}; nothing was sent")
            array = _contiguous(array, np.int64 if discrete else np.float32)
        else:
            array = actions
        if cnp.PyArray_NDIM(array) != self.action_ndim or cnp.PyArray_DIM(array, 0) != count or (
                cnp.PyArray_SIZE(array) != count * size or (<object>array).shape[1:] != self.action_shape[1:]):
            raise ValueError(f"actions have shape {(<object>array).shape}, but {count} lanes are sent: shape "
                             f"{(count, *self.action_shape[1:])} is needed; nothing was sent")
        dtype = BE_I64 if discrete else BE_F32
        rows = <const char *>cnp.PyArray_DATA(array)
        with nogil:
            status = self.isa_table.check_actions(self.batch, rows, dtype, 0, count * size, self.clip, NULL, &error)
        if status != BE_OK:
            i = error.lane  # a row: once more, for the message to name the lane
            item = cnp.PyArray_ITEMSIZE(array)
            self.isa_table.check_actions(self.batch, rows + i * size * item, dtype, ids[i], size, self.clip, NULL,
                                         &error)
            _raise(&error)
        self.converted = array
        return rows

    def recv_alone(self, timeout):
        """Takes the batch, and receives."""
        self._enter_only()
        try:
            self._take_results(timeout)
            result = self._result(self.undelivered)
            self._delivered()
            return result
        finally:
            be_set(&self.busy, 0)

    def recv(self, timeout):
        """Waits for a batch of results. timeout: seconds; None: for ever. They are given again, until `delivered` is
        called: whatever fails on their way to the user loses nothing."""
        self._take_results(timeout)
        return self._result(self.undelivered)

    def delivered(self):
        """The user has what `recv` returned."""
        self._delivered()

    cdef int _delivered(self) except -1:
        held = self.undelivered
        self.undelivered = None
        if held is not None and len(self.spare) <= MAX_POOL:
            self.spare.append(held)
        return 0

    cdef int _take_results(self, timeout) except -1:
        """Puts the next batch of results into `undelivered`, unless one is there."""
        cdef be_pool_status status
        cdef int buffer = 0
        cdef int64_t slice_ns = SLICE_NS
        cdef double end = 0.0
        cdef bint limited = timeout is not None
        if self.undelivered is not None:
            return 0
        if self.queue == NULL:
            raise RuntimeError("recv() with nothing in flight: async_reset() or send() first")
        if self.queue_process != be_fork_count():
            self._leave_to_parent()
            raise RuntimeError("recv() with nothing in flight in this forked process: async_reset() or send() "
                               "first")
        if self.upcoming is None:
            self.upcoming = self._free_results()  # before a batch is taken, which would be lost if there is no memory
        if limited:
            end = be_now_ns() + 1e9 * timeout
        while True:
            if limited:
                slice_ns = <int64_t>max(0.0, min(<double>SLICE_NS, end - be_now_ns()))
            with nogil:
                status = be_async_recv(self.queue, slice_ns, &buffer)
            if status == BE_POOL_OK:
                break
            if status == BE_POOL_STARVED:
                count = be_async_in_flight(self.queue)
                raise RuntimeError(f"recv() with {count or 'nothing'} in flight: a batch has {self.batch_rows} "
                                   "rows and would never come; async_reset() or send() first")
            if status != BE_POOL_TIMEOUT:
                raise RuntimeError(f"recv() failed (status {<int>status})")
            PyErr_CheckSignals()
            if limited and be_now_ns() >= end:
                raise TimeoutError(f"no batch of {self.batch_rows} lanes within {timeout} s; nothing is lost: call "
                                   "recv() again")
        self.undelivered = <tuple>self.buffers[buffer]
        self._set_buffer(buffer, self.upcoming)
        self.upcoming = None
        PyErr_CheckSignals()  # what a handler raises must not come when the batch has been given away
        return 0

    cdef object _result(self, tuple held):
        cdef int k
        cdef int ids = self.num_outputs
        cdef dict info
        cdef cnp.ndarray failed = <cnp.ndarray>held[ids + 1]
        cdef const uint8_t *flags = <const uint8_t *>cnp.PyArray_DATA(failed)
        info = self._step_info(held, <const uint8_t *>cnp.PyArray_DATA(<cnp.ndarray>held[ids + 2]),
                               self.batch_rows) if self.num_info else {}
        self.last_ids = held[ids]
        info["env_id"] = held[ids]
        if self.recording or self.autoreset == BE_SAME_STEP:
            done = held[2] | held[3]
            if done.any():
                if self.recording:
                    self._tell_episodes(info, held, done)
                if self.autoreset == BE_SAME_STEP:
                    info.update(self._final(held, done))
        result = (self._present(held[0]), held[1], held[2], held[3], info)
        for k in range(self.batch_rows):
            if flags[k]:
                error = self._failed_error(held[ids][failed.view(np.bool_)], result)
                self._delivered()  # with the error
                raise error
        return result

    cdef dict _final(self, tuple held, object done):
        """final_obs and final_info of a batch, as `_add_final`."""
        final = held[self.num_outputs + 3:]
        observations = np.empty(len(done), dtype=object)
        for i in np.flatnonzero(done):
            observations[i] = self._present_row(final[0][i].copy())
        infos = {}
        for k in range(self.num_info):
            self._put_final_info(infos, k, final[1 + k].copy(), done)
        return {"final_obs": observations, "_final_obs": done, "final_info": infos, "_final_info": done.copy()}

    cdef tuple _new_results(self):
        """Arrays for a batch: as `_new_output`, then lane numbers, failures, which rows start episodes,
        and the rows that end them."""
        cdef tuple held = self._new_arrays(self.batch_rows)
        held += (np.empty(self.batch_rows, np.int64), np.empty(self.batch_rows, np.uint8),
                 np.empty(self.batch_rows, np.uint8))
        if self.autoreset == BE_SAME_STEP:
            held += (np.empty_like(held[0]),)
            for k in range(self.num_info):
                held += (np.empty_like(held[4 + 2 * k]),)
        return held

    cdef tuple _free_results(self):
        """A set of arrays for results that nobody else holds: one handed out before, or a new one."""
        cdef int i
        for i in range(<int>len(self.spare)):
            candidate = <tuple>self.spare[i]
            if self._reusable(candidate):
                del self.spare[i]
                return candidate
        held = self._new_results()
        if len(self.spare) >= MAX_POOL:
            del self.spare[0]  # the user keeps it
        return held

    cdef int _set_buffer(self, int buffer, tuple held) except -1:
        """Gives the queue these arrays for results that are to come. Allocates nothing."""
        cdef be_results results
        cdef int k, used
        used = self.num_outputs
        self._point(held, &results.rows)
        results.rows.action = NULL
        results.lanes = <int64_t *>cnp.PyArray_DATA(<cnp.ndarray>held[used])
        results.failed = <uint8_t *>cnp.PyArray_DATA(<cnp.ndarray>held[used + 1])
        results.rows.started = <uint8_t *>cnp.PyArray_DATA(<cnp.ndarray>held[used + 2])
        if self.autoreset == BE_SAME_STEP:
            results.rows.final_observation = cnp.PyArray_DATA(<cnp.ndarray>held[used + 3])
            for k in range(self.num_info):
                results.rows.final_info[k] = cnp.PyArray_DATA(<cnp.ndarray>held[used + 4 + k])
        be_async_set_buffer(self.queue, buffer, &results)
        self.buffers[buffer] = held
        return 0

    cdef bint _reusable(self, tuple held):
        """Nobody else holds them, and they are as they were."""
        cdef cnp.ndarray ids
        if not self._unshared(held) or not be_unshared(PyTuple_GET_ITEM(held, self.num_outputs)):
            return False
        ids = <cnp.ndarray>PyTuple_GET_ITEM(held, self.num_outputs)
        return (self._intact(held, self.batch_rows) and cnp.PyArray_TYPE(ids) == cnp.NPY_INT64
                and cnp.PyArray_ISCARRAY(ids) and cnp.PyArray_NDIM(ids) == 1
                and cnp.PyArray_DIM(ids, 0) == self.batch_rows)

    def fileno(self):
        """A file descriptor that is readable when a batch is ready."""
        cdef int fd
        self._start_queue()
        fd = be_async_eventfd(self.queue)
        if fd < 0:
            raise OSError("this system gives no file descriptor to wait on")
        return fd


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
        while not (<Batch>batch)._end_at_exit() and be_now_ns() < end:
            time.sleep(0.001)
