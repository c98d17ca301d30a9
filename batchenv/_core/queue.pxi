# Lanes in flight: csrc/core/run/async.h.

cdef enum:
    SLICE_NS = 50_000_000  # how long a wait lasts before signals are looked at


@cython.final
@cython.no_gc  # the collector would clear arrays that workers write; nothing held here refers back to this object
cdef class Queue:
    """The lanes of a batch that are in flight, their workers, and the arrays into which results are written."""

    cdef be_async *handle  # NULL: not started
    cdef int process  # be_fork_count() when it was started
    cdef int64_t rows  # in a batch of results
    cdef object affinity  # CPUs of the workers, or None
    cdef Layout layout
    cdef list buffers  # the Outputs into which results are being written
    cdef Outputs spare
    cdef Output upcoming  # replaces the buffer of the next batch; made before that batch is taken
    cdef Output undelivered  # a batch that was taken and not yet handed to the caller
    cdef cnp.ndarray last_lanes  # the lanes of the batch that was last received
    cdef cnp.ndarray seen  # see be_lanes_check; None until it is needed

    cdef bint ready(self) noexcept:
        """Whether the queue was started in this process."""
        return self.handle != NULL and self.process == be_fork_count()

    cdef int start(self, be_batch *batch, const be_isa *isa, int num_workers) except -1:
        cdef be_error error
        cdef cnp.ndarray cpus
        cdef const int *cpu_data = NULL
        cdef int num_cpus = 0
        cdef int i
        if self.handle != NULL:
            self.leave_to_parent()
            if self.handle != NULL:
                return 0
        if self.affinity is not None:
            cpus = np.array(self.affinity, np.intc)
            cpu_data = <const int *>cnp.PyArray_DATA(cpus)
            num_cpus = len(cpus)
        with _Unbound():
            self.handle = be_async_create(batch, isa, self.rows, num_workers, cpu_data, num_cpus, &error)
        if self.handle == NULL:
            _raise(&error)
        self.process = be_fork_count()
        self.spare = Outputs(self.layout)
        self.upcoming = None
        self.buffers = []
        try:
            for i in range(be_async_num_buffers(self.handle)):
                self.buffers.append(None)
                self._set_buffer(i, _new_output(self.layout, FOR_RESULTS, self.rows))
        except BaseException:  # no memory
            self.end_workers()
            raise
        if be_async_num_workers(self.handle) < num_workers:
            _warn_of_threads(num_workers, be_async_num_workers(self.handle), "workers")
        return 0

    cdef int leave_to_parent(self) except -1:
        """In a child of fork() the queue has no workers. If no lane was in flight, the child will start a new one;
        otherwise raises."""
        if self.process == be_fork_count():
            return 0
        if be_async_list_in_flight(self.handle, NULL, NULL, 0):
            raise RuntimeError("lanes were in flight when this process was forked, and their workers are the parent's: "
                               "call env.reset() in this process first")
        self.handle = NULL  # not freed, because it belongs to workers of the parent
        return 0

    cdef void end_workers(self) noexcept:
        """Waits for the lanes that the workers are stepping. Other Python threads run meanwhile."""
        cdef be_async *handle = self.handle if self.process == be_fork_count() else NULL
        self.handle = NULL
        with nogil:
            be_async_destroy(handle)

    cdef int settle(self) except -1:
        """Waits until no lane is being worked on."""
        cdef be_pool_status status
        if self.handle == NULL:
            return 0
        if self.process != be_fork_count():
            return self.leave_to_parent()
        while True:
            with nogil:
                status = be_async_finish(self.handle, SLICE_NS)
            if status != BE_POOL_TIMEOUT:
                return 0
            PyErr_CheckSignals()

    cdef int drop(self) except -1:
        """Waits for the lanes in flight and forgets their results."""
        if self.handle != NULL and self.process != be_fork_count():
            self.handle = NULL
        elif self.handle != NULL:
            self.settle()
            be_async_clear(self.handle)
        self.undelivered = None
        return 0

    cdef int64_t in_flight(self) noexcept:
        """How many lanes have been sent and not delivered."""
        cdef int64_t kept = self.rows if self.undelivered is not None else 0
        return kept + be_async_in_flight(self.handle) if self.ready() else kept

    cdef int refuse_in_flight(self, str doing, const uint8_t *mask) except -1:
        """Raises RuntimeError if lanes of the mask (NULL: all lanes) are in flight."""
        cdef int64_t lanes[5]
        cdef int64_t count
        if self.handle == NULL and self.undelivered is None:
            return 0
        self.refuse_undelivered(doing)
        count = be_async_list_in_flight(self.handle, mask, lanes, 5) if self.handle != NULL else 0
        if count:
            raise lanes_in_flight(doing, count, [lanes[i] for i in range(min(count, 5))])
        return 0

    cdef int refuse_undelivered(self, str doing) except -1:
        if self.undelivered is not None:
            raise RuntimeError(f"{doing} after a recv() that failed: call recv() again for its results first, or "
                               "reset() everything")
        return 0

    # -- sending -----------------------------------------------------------------------------------------------------

    cdef cnp.ndarray read_lanes(self, object env_id, int64_t num_lanes, str ending):
        """A checked copy of `env_id` (None: the lanes last received), of which none is in flight. ending: the last
        words of the error message if they are refused."""
        cdef cnp.ndarray lanes
        cdef int64_t bad, count
        cdef int what = 0
        cdef const int64_t *numbers
        if type(env_id) is cnp.ndarray and cnp.PyArray_TYPE(<cnp.ndarray>env_id) == cnp.NPY_INT64 and (
                cnp.PyArray_ISCARRAY_RO(<cnp.ndarray>env_id) and cnp.PyArray_NDIM(<cnp.ndarray>env_id) == 1):
            lanes = <cnp.ndarray>env_id
        else:
            lanes = self._coerce_lanes(env_id, num_lanes, ending)
        lanes = cnp.PyArray_NewCopy(lanes, cnp.NPY_CORDER)  # reading actions may run code that changes env_id
        numbers = <const int64_t *>cnp.PyArray_DATA(lanes)
        count = cnp.PyArray_DIM(lanes, 0)
        if count == 0:
            raise ValueError(f"env_id is empty: name at least one lane; {ending}")
        if self.ready():
            bad = be_async_check(self.handle, numbers, count, &what)
        else:
            if self.seen is None:
                self.seen = np.zeros(num_lanes, np.uint8)
            bad = be_lanes_check(numbers, count, num_lanes, NULL, <uint8_t *>cnp.PyArray_DATA(self.seen), &what)
        if bad >= 0:
            self._raise_bad_lane(lanes[bad], bad, what, num_lanes, ending)
        return lanes

    cdef cnp.ndarray _coerce_lanes(self, object env_id, int64_t num_lanes, str ending):
        if env_id is None:
            if self.last_lanes is None:
                raise ValueError("env_id=None means the lanes last received, and none have been: say which lanes")
            return self.last_lanes
        try:
            lanes = np.atleast_1d(np.asarray(env_id))
        except ValueError:  # ragged
            lanes = np.empty((), object)
        if lanes.size == 0:
            return np.empty(0, np.int64)
        if lanes.dtype.kind not in "iu" or lanes.ndim != 1:
            raise TypeError(f"env_id={env_id!r} must be a one-dimensional array or list of ints")
        if lanes.dtype.kind == "u" and lanes.max() >= num_lanes:  # such numbers may not fit into int64
            self._raise_bad_lane(lanes.max(), int(lanes.argmax()), BE_LANE_RANGE, num_lanes, ending)
        return np.ascontiguousarray(lanes, np.int64)

    cdef int _raise_bad_lane(self, lane, int64_t row, int what, int64_t num_lanes, str ending) except -1:
        if what == BE_LANE_RANGE:
            raise ValueError(f"env_id[{row}]={lane} is not in 0..{num_lanes - 1}; {ending}")
        if what == BE_LANE_TWICE:
            raise ValueError(f"env_id[{row}]={lane} occurs twice: a lane takes one action at a time; {ending}")
        raise RuntimeError(f"env_id[{row}]={lane} is in flight: recv() its result before sending it again; {ending}")

    cdef int submit(self, cnp.ndarray lanes, const be_rows *actions, const double *options) except -1:
        """Sends checked lanes to be stepped with checked actions or, if actions is NULL, to be reset with options."""
        cdef int64_t count = cnp.PyArray_DIM(lanes, 0)
        cdef be_pool_status status = be_async_submit(self.handle, <const int64_t *>cnp.PyArray_DATA(lanes), count,
                                                     actions, options)
        if status != BE_POOL_OK:
            raise RuntimeError(f"the workers do not take {count} lanes (status {<int>status})")
        return 0

    # -- receiving ---------------------------------------------------------------------------------------------------

    cdef Output receive(self, timeout):
        """Waits for the next batch of results and returns it. Until `delivered` is called, the same batch is returned
        again."""
        cdef be_pool_status status
        cdef int buffer = 0
        cdef int64_t slice_ns = SLICE_NS
        cdef double end = 0.0
        cdef bint limited = timeout is not None
        if self.undelivered is not None:
            return self.undelivered
        if self.handle == NULL:
            raise RuntimeError("recv() with nothing in flight: async_reset() or send() first")
        if self.process != be_fork_count():
            self.leave_to_parent()
            raise RuntimeError("recv() with nothing in flight in this forked process: async_reset() or send() "
                               "first")
        if self.upcoming is None:  # before a batch is taken: without memory it would be lost
            self.upcoming = self.spare.take(self.rows)
        if limited:
            end = be_now_ns() + 1e9 * timeout
        while True:
            if limited:
                slice_ns = <int64_t>max(0.0, min(<double>SLICE_NS, end - be_now_ns()))
            with nogil:
                status = be_async_recv(self.handle, slice_ns, &buffer)
            if status == BE_POOL_OK:
                break
            if status == BE_POOL_STARVED:
                raise batch_starved(be_async_in_flight(self.handle), self.rows)
            if status != BE_POOL_TIMEOUT:
                raise RuntimeError(f"recv() failed (status {<int>status})")
            PyErr_CheckSignals()
            if limited and be_now_ns() >= end:
                raise batch_late(self.rows, timeout)
        self.undelivered = <Output>self.buffers[buffer]
        self._set_buffer(buffer, self.upcoming)
        self.upcoming = None
        PyErr_CheckSignals()  # a handler must not raise after the batch has been handed over
        return self.undelivered

    cdef int delivered(self) except -1:
        """Notes that the user has what `receive` returned."""
        cdef Output output = self.undelivered
        self.undelivered = None
        if output is not None:
            self.spare.put(output)
        return 0

    cdef int _set_buffer(self, int buffer, Output output) except -1:
        """Gives the workers these arrays for future results. Allocates nothing."""
        cdef be_rows rows
        output.point(&rows)
        output.counted = False
        be_async_set_buffer(self.handle, buffer, &rows)
        self.buffers[buffer] = output
        return 0
