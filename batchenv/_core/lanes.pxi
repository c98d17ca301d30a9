# The lanes of one env: what they are and have, and what every call into them begins and ends with.

@cython.no_gc  # the collector would clear arrays that workers write; nothing held here refers back to this object
cdef class Lanes:
    """`num_lanes` lanes of one env type, and what all calls of a `Batch` have in common."""

    cdef be_batch *batch
    cdef const be_isa *isa_table
    cdef readonly str type_name
    cdef int64_t num_lanes
    cdef int autoreset
    cdef bint lane_by_lane, may_fail
    cdef Calls calls
    cdef Layout layout
    cdef Params params
    cdef Actions actions
    cdef Outputs outputs
    cdef Runner runner
    cdef Queue queue
    cdef be_scattered *scattered  # for steps of some lanes of a kernel; NULL until it is needed
    cdef public object failed  # the numbers of the lanes that failed in the last call; None: no lane failed
    cdef Engine engine  # None: the type has no simulator
    cdef int process  # be_fork_count() when the batch was made
    cdef object __weakref__

    def __cinit__(self, str type_name, int64_t num_lanes, int autoreset, int32_t max_episode_steps, dict params,
                  int num_threads, int ring, bint clip, isa=None, grid=None, dict transform=None,
                  engine=None):
        cdef be_transform changes
        cdef be_batch_options options
        cdef const be_env_type *env_type
        self.runner, self.queue, self.calls, self.params = Runner(), Queue(), Calls(type_name), Params()
        self.actions, self.layout = Actions(), Layout()
        self.isa_table = _find_isa(isa if isa is not None else os.environ.get("BATCHENV_ISA") or None)
        env_type = _find_type(self.isa_table, type_name)
        self.type_name = type_name
        self.lane_by_lane = (env_type.flags & BE_LANE_BY_LANE) != 0
        self.may_fail = be_lanes_may_fail(env_type)
        self.num_lanes = num_lanes
        self.autoreset = autoreset
        _fill_transform(&changes, transform or {})
        options.type = env_type
        options.num_lanes = num_lanes
        options.autoreset = <be_autoreset>autoreset
        options.max_episode_steps = max_episode_steps
        options.transform = &changes
        self._create(&options, params, grid, engine)
        self.actions.start(self.batch, self.isa_table, clip)
        self.layout.start(self.batch, &changes, autoreset == BE_SAME_STEP)
        self.outputs = Outputs(self.layout, ring)
        self.layout.again = ring > 0
        self.queue.layout = self.layout
        self.queue.rows = num_lanes
        self.runner.start(num_lanes, self.lane_by_lane, num_threads)
        self.process = be_fork_count()
        _alive[<size_t><void *>self] = weakref.ref(self)

    cdef int _create(self, be_batch_options *options, dict params, grid, engine) except -1:
        """Makes the C side's batch, of these options and what they still lack."""
        cdef be_error error
        cdef be_grid map_of
        cdef cnp.ndarray cells
        options.grid, options.engine = NULL, NULL
        if grid is not None:
            cells = np.ascontiguousarray(grid, np.uint8)
            map_of.cells = <const uint8_t *>cnp.PyArray_DATA(cells)
            map_of.rows, map_of.columns = grid.shape
            options.grid = &map_of
        if engine is not None:
            # Attributes are released after __dealloc__, which ends the workers, so the C side can use them until then.
            self.engine = engine.source
            options.engine = self.engine.given
        options.look, options.look_context = _look_at_signals, <void *>self.runner
        self.params.start(options.type, self.num_lanes, params)
        options.params, options.columns = self.params.numbers, self.params.pointers
        options.texts = self.params.text_pointers
        with nogil:
            self.batch = be_batch_create(options, &error)
        self.runner.raise_signal()
        if self.batch == NULL:
            _raise(&error)
        self.params.batch = self.batch
        return 0

    def __dealloc__(self):
        PyObject_ClearWeakRefs(self)  # otherwise another thread could revive this object while the workers end
        if _alive is not None:
            _alive.pop(<size_t><void *>self, None)
        self._end_workers()  # before the arrays that they write are released
        be_scattered_destroy(self.scattered)
        be_batch_destroy(self.batch)

    cdef void _end_workers(self) noexcept:
        if self.queue is not None:
            self.queue.end_workers()
        if self.runner is not None:
            self.runner.end_workers()

    cdef bint _end_at_exit(self) noexcept:
        """Ends the workers and returns True, or False if a call is running. No call can begin afterwards."""
        cdef int present = be_fork_count()
        if self.process != present and self.runner.process != present and self.queue.process != present:
            return True  # the parent's batch: calls that seem to be running are in its threads
        if self.calls.closed():
            return True
        if not self.calls.exit():
            return False
        self._end_workers()
        return True

    @property
    def isa(self):
        return self.isa_table.name.decode()

    @property
    def nbytes(self):
        """Bytes held in C for state, random streams and bookkeeping, without the arrays handed out to users."""
        return be_batch_bytes(self.batch)

    @property
    def parallel(self):
        """(Whether the next step would run on several threads, measured ns per call on one thread, and on several.)"""
        cdef be_plan *plan = &self.runner.plans[<int>BE_STEP]
        return bool(plan.parallel), plan.cost[0] * self.num_lanes, plan.cost[1] * self.num_lanes

    @property
    def num_threads(self):
        """The most threads that a call uses."""
        return self.runner.num_threads

    def numa_blocks(self):
        """[(node, end of its lanes, end of its workers)], in ascending order; [] if there is no NUMA placement."""
        cdef const be_placement *placement = be_batch_placement(self.batch)
        return [] if placement == NULL else [(placement.blocks[i].node, placement.blocks[i].end_lane,
                                              placement.blocks[i].end_worker) for i in range(placement.num_blocks)]

    def force_parallel(self, bint parallel):
        """Fixes the choice between one thread and several, which is otherwise made by measurement. For tests and
        benchmarks. A single lane always uses one thread."""
        self.runner.force(parallel)

    def set_stage(self, stage, reward_dtype):
        """Sets what happens last to results. To be called before any other call. stage: a batchenv.normalize.Stage for
        observations and rewards, or None. reward_dtype: float64 or float32."""
        self.layout.set_stage(stage, reward_dtype)

    cdef int _check_stage(self) except -1:
        """Checks the moments before a call that uses them, since users can set them to anything."""
        if self.layout.stage is not None:
            self.layout.stage.check()
        return 0

    def spaces(self):
        """Spaces of the observation and of the action: {name of a port: (kind, dtype, shape, low, high)} for each."""
        return _spaces(self.batch, BE_OBSERVATION), _spaces(self.batch, BE_ACTION)

    def infos(self):
        """What a step can say beside its four arrays: [(path in the dict of infos, dtype, shape of one lane)]."""
        rows = [*self.layout.infos, *[row for _, row in self.layout.codes]]
        return [((*row["groups"], row["key"]), row["dtype"], row["shape"]) for row in rows]

    def rescale(self, gradient, intercept):
        """Sets new coefficients for rescaled observations: two arrays, with one number per component."""
        cdef double[::1] gradients = np.ascontiguousarray(gradient, np.float64)
        cdef double[::1] intercepts = np.ascontiguousarray(intercept, np.float64)
        cdef int64_t size = be_space_row_size(&self.batch.space[self.layout.port])
        if gradients.shape[0] != size or intercepts.shape[0] != size:
            raise ValueError(f"an observation has {size} components, but there are {gradients.shape[0]} gradients and "
                             f"{intercepts.shape[0]} intercepts")
        be_batch_rescale(self.batch, &gradients[0], &intercepts[0])

    def get_params(self):
        """{name: the value, or an array (num_lanes,) where lanes differ, of float64, int64, bool or texts}."""
        return self.params.get()

    def set_params(self, dict values, lanes=None):
        """values: {name: one value, or an array (num_lanes,)}. lanes: a bool mask; None: all lanes."""
        self.params.set(values, lanes)

    def constants(self):
        """What the type's prepare() has derived from the params, float64; where lanes differ, those of some lane."""
        return np.array([self.batch.constants[k] for k in range(BE_MAX_CONSTANTS)])

    def texts(self, str name, codes):
        """The texts of the type's port of this name, for codes as its rows have them, (n,) or (n, size): a tuple."""
        cdef const be_port *port = self.batch.type.ports
        cdef TextSource source = TextSource()
        while port.name.decode() != name or (port.texts == NULL and port.write_text == NULL):
            port += 1
            if port.name == NULL:
                raise ValueError(f"{self.type_name} has no texts named {name!r}")
        if port.shape[0] > 0:
            codes = codes.reshape(len(codes), -1)
        source.start(self.batch.type, port, codes.ndim - 1)
        return source.texts(codes)

    def picture(self, int64_t lane):
        """The picture of a lane that the C type draws: uint8 (rows, columns, 3)."""
        if self.batch.type.picture == NULL:
            raise NotImplementedError(f"{self.type_name} has no pictures of its own")
        if not 0 <= lane < self.num_lanes:
            raise IndexError(f"lane {lane} is not in 0..{self.num_lanes - 1}")
        return _picture(self.batch, lane)

    def waiting(self):
        """Whether each lane has finished and waits for its reset: bool."""
        cdef cnp.ndarray waiting = np.empty(self.num_lanes, np.bool_)
        memcpy(cnp.PyArray_DATA(waiting), be_batch_pending(self.batch), self.num_lanes)
        return waiting

    def hold(self, bint settle=True):
        """A context manager that holds the batch. settle: first wait until no lane is being worked on.

        Raises (on entering):
            RuntimeError: another call holds it.
            gymnasium.error.ClosedEnvironmentError: it is closed.
        """
        return Hold(self, self.calls, self.queue if settle else None)

    @property
    def closed(self):
        return self.calls.closed()

    def close(self):
        """Ends the workers; the batch cannot be held afterwards. May be called again, and at exit."""
        if self.calls.begin_last():
            self._end_workers()
            self.calls.close()

    @property
    def needs_reset(self):
        """Whether lanes must be reset before anything else, because they never were or because a call was cut short."""
        return not self.calls.has_reset

    def tear(self, str reason):
        """Notes why all lanes must be reset before they can go on."""
        self.calls.tear(reason)

    def require_reset(self, str doing):
        """Raises ResetNeeded before the first reset, and after a call that was interrupted."""
        self.calls.require_reset(doing)

    cdef int _run(self, be_call *call) except -1:
        """Runs the call. If it fails, or if a signal handler raises, the lanes must be reset before they can go on."""
        self.runner.run(call)
        if self.runner.signal is not None or call.error.status != BE_OK:
            _take_failures(self.batch)  # nobody is told about them
        if self.runner.signal is not None:
            self.calls.tear(INTERRUPTED)
            self.runner.raise_signal()
        if call.error.status != BE_OK:
            self.calls.tear("the last call failed, and some lanes have done it, others have not")
            _raise(&call.error)
        return 0

    cdef void _point(self, Output output, be_rows *arrays) noexcept:
        """Tells the C side where to write. Final rows go to the output if it has room for them, otherwise to the
        batch."""
        output.point(arrays)
        if self.layout.same_step and output.at(FINAL) is None:
            be_batch_point_final(self.batch, arrays)

    cdef int _refuse_pending(self, const int64_t *lanes, int64_t count, str doing, str ending) except -1:
        """Raises LanePendingError if one of these lanes (NULL: all) has finished and waits for a reset by the user."""
        cdef int64_t k, pending = -1
        if lanes == NULL:
            pending = be_batch_first_pending(self.batch, 0, count)
        else:
            for k in range(count):
                pending = be_batch_first_pending(self.batch, lanes[k], lanes[k] + 1)
                if pending >= 0:
                    break
        if pending >= 0:
            raise lane_pending(pending, doing, ending)
        return 0

    cdef int _note_failures(self) except -1:
        """Sets `failed` to the lanes whose simulators have failed in this call."""
        self.failed = None
        if self.may_fail:
            lanes = _take_failures(self.batch)
            if len(lanes):
                self.failed = lanes
        return 0

    def deliver(self, result):
        """Returns `result` of the last call or, if lanes have failed, raises a LaneError that holds it."""
        self.queue.delivered()
        failed, self.failed = self.failed, None
        if failed is None:
            return result
        error = _lane_error(self.batch, failed, result)
        error.causes = {} if self.engine is None else self.engine.take_causes(failed)
        for cause in error.causes.values():
            if not isinstance(cause, Exception):  # Ctrl-C
                raise cause from error
        raise error from next(iter(error.causes.values()), None)
