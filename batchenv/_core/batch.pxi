# Batch, the class that Python uses: what it has beyond the classes it is based on, which is lanes in flight.

@cython.final
@cython.no_gc  # the collector would clear arrays that workers write; nothing held here refers back to this object
cdef class Batch(PlannedLanes):
    """`num_lanes` lanes of one env type. They are stepped together, or some are sent and received when they are
    finished.

    Only one call runs at a time. A caller holds the batch first; a second one (in another thread, or in a signal
    handler) gets a RuntimeError and changes nothing. `hold_and_step`, `hold_and_send` and `hold_and_recv` hold the
    batch themselves. All other methods must be called inside `with batch.hold(): ...`, which may contain several calls.
    """

    def set_queue(self, int64_t batch_rows, affinity):
        """Sets how many rows a batch of results has, and the CPUs of the workers (or None). To be called before
        anything is sent."""
        if (self.num_lanes + batch_rows - 1) // batch_rows >= 1 << 20:
            raise ValueError(f"batch_size={batch_rows} makes more than a million batches of {self.num_lanes} lanes: "
                             f"it must be at least {self.num_lanes // ((1 << 20) - 2) + 1}")
        self.queue.rows = batch_rows
        self.queue.affinity = self.runner.affinity = affinity
        cdef bytes folder = _numa_folder()
        if affinity is None and folder != b"0":
            with _Unbound():
                be_batch_place(self.batch, be_place_here(<const char *>folder if folder else NULL,
                                                         min(self.runner.num_threads, self.num_lanes), self.num_lanes,
                                                         1 if self.lane_by_lane else 64))
            self.runner.placement = be_batch_placement(self.batch)

    cdef int _start_queue(self) except -1:
        return self.queue.start(self.batch, self.isa_table, min(self.runner.num_threads, self.num_lanes))

    def refuse_in_flight(self, str doing, const uint8_t[::1] mask):
        """Raises RuntimeError if lanes of the mask are in flight, and ResetNeeded if the mask is not all lanes and no
        full reset has been done."""
        self.queue.refuse_in_flight(doing, &mask[0])
        if memchr(&mask[0], 0, mask.shape[0]) != NULL:
            self.calls.require_reset(f"{doing} of some lanes")

    def lanes_of(self, env_id, str ending):
        """A checked copy of `env_id` (None: the lanes last received), of which none is in flight: int64. ending: the
        last words of the error message if they are refused."""
        return self.queue.read_lanes(env_id, self.num_lanes, ending)

    def in_flight(self):
        """How many lanes have been sent and not received. The batch need not be held."""
        return self.queue.in_flight()

    def queue_reset(self, seeds, dict options):
        """Sends all lanes to be reset. seeds: as in `reset`. The results of lanes in flight are dropped as soon as the
        arguments are known to be right."""
        cdef double numbers[BE_MAX_OPTIONS]
        cdef double *values = NULL
        if options:
            values = numbers
            self.params.fill_options(options, values)
        words = _words_of_seeds(seeds, None)
        lanes = np.arange(self.num_lanes)
        self.drop()
        self._start_queue()
        self.apply_skips()
        self._seed(words)
        self.queue.submit(lanes, NULL, values)
        self.calls.has_reset = True
        if self.layout.stage is not None:
            self.layout.stage.start(None, sent=True)

    def hold_and_send(self, actions, env_id):
        self.calls.begin()
        try:
            return self.send(actions, env_id)
        finally:
            self.calls.end()

    cpdef send(self, actions, env_id):
        """Sends lanes to be stepped, and returns their numbers. env_id: the numbers, one for each row of actions; None:
        those last received."""
        cdef cnp.ndarray lanes
        cdef const int64_t *numbers
        cdef be_rows rows
        if not self.calls.has_reset and self.calls.needs_reset_because is None:
            raise ResetNeeded("send() before the first reset: call env.async_reset() or env.reset() once first")
        self.calls.require_reset("send()")
        self.queue.refuse_undelivered("send()")
        if not self.queue.ready():
            self._start_queue()
        lanes = self.queue.read_lanes(env_id, self.num_lanes, "nothing was sent")
        numbers = <const int64_t *>cnp.PyArray_DATA(lanes)
        if self.autoreset == BE_DISABLED:
            self._refuse_pending(numbers, cnp.PyArray_DIM(lanes, 0), "sending", "nothing was sent")
        self.actions.read(actions, cnp.PyArray_DIM(lanes, 0), numbers, &rows)
        self.queue.submit(lanes, &rows, NULL)
        return lanes

    def hold_and_recv(self, timeout):
        self.calls.begin()
        try:
            return self.deliver(self.recv(timeout))
        finally:
            self.calls.end()

    cpdef recv(self, timeout):
        """Waits for a batch of results. timeout: seconds; None: wait forever. Until `deliver` is called, the same
        results are returned again, so nothing is lost if something fails on their way to the user."""
        cdef Output output
        cdef be_rows arrays
        self._check_stage()
        output = self.queue.receive(timeout)
        output.point(&arrays)
        self.queue.last_lanes = output.at(LANES).copy()  # the user gets the other one
        return self._told(output, &arrays)

    def fileno(self):
        """A file descriptor that is readable when a batch is ready."""
        cdef int fd
        self._start_queue()
        fd = be_async_eventfd(self.queue.handle)
        if fd < 0:
            raise OSError("this system gives no file descriptor to wait on")
        return fd
