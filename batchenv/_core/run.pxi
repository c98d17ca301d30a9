# Runs a call for all lanes: on this thread, on OpenMP's threads, or on workers of our own.

cdef int _look_at_signals(void *runner) noexcept with gil:
    """1 if a signal handler has raised an exception (Ctrl-C), which is kept for `raise_signal`."""
    try:
        PyErr_CheckSignals()
    except BaseException as raised:
        (<Runner>runner).signal = raised
        return 1
    return 0


@cython.final
@cython.no_gc
cdef class Runner:
    """Runs be_calls as csrc/core/run/loop.h describes, and owns the workers for BE_LANE_BY_LANE types."""

    cdef be_plan plans[BE_NUM_PLANS]
    cdef int64_t num_lanes
    cdef bint lane_by_lane
    cdef int num_threads
    cdef const be_placement *placement
    cdef object affinity  # CPUs of the workers, or None
    cdef object signal  # the exception that a signal handler has raised during this call
    cdef be_pool *workers
    cdef int process  # be_fork_count() when the workers were made

    cdef int start(self, int64_t num_lanes, bint lane_by_lane, int num_threads) except -1:
        """Finds out how many threads can be started, and warns if there are fewer than asked for."""
        cdef int had, wanted, plan
        cdef int most = num_threads if lane_by_lane or (BE_OPENMP and not be_forked()) else 1
        self.num_lanes = num_lanes
        self.lane_by_lane = lane_by_lane
        self.num_threads = num_threads
        be_plans_start(self.plans, num_lanes, most, lane_by_lane)
        wanted = self.plans[0].threads
        if self.plans[0].few:
            return 0  # most envs of few lanes never use a second thread, so none is started to find out
        if wanted > 1:
            with nogil:
                had = be_workers_available(wanted) if lane_by_lane else be_team_size(wanted, 1)
            if had < wanted:
                self._use_fewer(had, num_threads)
        if self.plans[0].threads > 1 and not lane_by_lane:
            self.plans[0].fork_ns = _measure_fork(self.plans[0].threads)
            for plan in range(1, BE_NUM_PLANS):
                self.plans[plan].fork_ns = self.plans[0].fork_ns
        return 0

    cdef int _use_fewer(self, int had, int wanted) except -1:
        self.num_threads = had
        be_plans_start(self.plans, self.num_lanes, had, self.lane_by_lane)
        _warn_of_threads(wanted, had, "threads")
        return 0

    cdef int force(self, bint parallel) except -1:
        """Fixes the choice between one thread and several, which is otherwise made by measurement."""
        cdef int threads = self.num_threads if parallel and (BE_OPENMP or self.lane_by_lane) else 1
        cdef int plan
        be_plans_start(self.plans, self.num_lanes, threads, self.lane_by_lane)
        for plan in range(BE_NUM_PLANS):
            self.plans[plan].parallel = self.plans[plan].threads > 1
            self.plans[plan].fixed = 1
        return 0

    cdef int run(self, be_call *call) except -1:
        """Runs the call for all its lanes. Afterwards, `signal` and the call's error say whether it was completed."""
        cdef int threads, part
        cdef int most = self.num_threads
        cdef bint done
        with nogil:
            done = be_call_inline(call, self.plans, most)
        if done:
            return 0
        if be_forked() and not self.lane_by_lane:
            most = 1
        if self.lane_by_lane and call.verb == BE_SEED:
            most = 1  # next to no work of the lanes' own: no worker is started for it
        else:
            self.start_workers()
        call.look = _look_at_signals
        call.look_context = <void *>self
        with nogil:
            be_call_begin(call, self.plans, most, self.workers)
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
        return 0

    cdef int raise_signal(self) except -1:
        """Raises the exception that a signal handler has raised during the call."""
        if self.signal is not None:
            signal, self.signal = self.signal, None
            raise signal
        return 0

    cdef int start_workers(self) except -1:
        """Starts the workers for BE_LANE_BY_LANE types when they are first needed, and anew in a forked child."""
        cdef be_pool_options options
        cdef char message[256]
        cdef cnp.ndarray cpus
        if not self.lane_by_lane or self.plans[0].threads < 2:
            return 0
        if self.workers != NULL and self.process == be_fork_count():
            return 0
        memset(&options, 0, sizeof(options))
        options.num_workers = min(self.num_threads, self.num_lanes) - 1
        options.placement = self.placement
        if self.affinity is not None:
            cpus = np.array(self.affinity[1:] + self.affinity[:1], np.intc)  # the CPU of the caller comes last
            options.cpus = <const int *>cnp.PyArray_DATA(cpus)
            options.num_cpus = len(cpus)
        with _Unbound():
            self.workers = be_pool_create(&options, message, sizeof(message))
        self.process = be_fork_count()
        if self.workers == NULL:
            raise RuntimeError(f"cannot start {options.num_workers} workers: {message.decode(errors='replace')}")
        if be_pool_num_workers(self.workers) < options.num_workers:
            self._use_fewer(be_pool_num_workers(self.workers) + 1, options.num_workers + 1)
        return 0

    cdef void end_workers(self) noexcept:
        """Waits for the lanes that the workers are stepping. Other Python threads run meanwhile."""
        cdef be_pool *workers = self.workers if self.process == be_fork_count() else NULL
        self.workers = NULL
        with nogil:
            be_pool_destroy(workers, 0)
