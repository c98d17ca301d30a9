# One call at a time into a batch.

cdef enum:
    CLOSED = -1  # Calls.busy


@cython.final
cdef class Calls:
    """Who is inside a call of a batch, and whether its lanes can go on after what has happened in calls."""

    cdef str type_name
    cdef int busy  # 0: nobody; CLOSED; else 1 + be_fork_count() of the process that has begun a call
    cdef unsigned long holder  # its thread
    cdef bint exiting  # Python is shutting down: no call may begin any more
    cdef bint has_reset
    cdef str needs_reset_because  # why lanes must be reset again although they were reset before

    def __cinit__(self, str type_name):
        self.type_name = type_name

    cdef int begin(self) except -1:
        """Begins a call, or raises."""
        cdef int here = 1 + be_fork_count()
        if self.exiting or not be_swap(&self.busy, 0, here):
            self.begin_elsewhere(here)
        self.holder = PyThread_get_thread_ident()
        return 0

    cdef int begin_elsewhere(self, int here) except -1:
        """Begins a call after all if a fork has left the one that runs behind in the parent process. Raises if another
        call runs, or if the batch is closed."""
        cdef int seen = be_look(&self.busy)
        if seen == CLOSED:
            raise ClosedEnvironmentError(f"this BatchEnv of {self.type_name} is closed: make a new one")
        if self.exiting:
            raise RuntimeError("Python is shutting down, and this BatchEnv's workers have ended")
        if seen == 0 and be_swap(&self.busy, 0, here):
            return 0
        if seen != 0 and seen != here and be_swap(&self.busy, seen, here):
            self.tear("this process was forked while another thread was inside a call of this BatchEnv: its lanes may "
                      "be in the middle of it")
            return 0
        if self.holder == PyThread_get_thread_ident():
            raise RuntimeError("this BatchEnv is inside another call, which this one interrupts (a signal handler, "
                               "or code called back): one call at a time; note what is to be done, and do it after "
                               "that call")
        raise RuntimeError("this BatchEnv is being used by another thread: one call at a time; "
                           "use a lock, or an env per thread")

    cdef void end(self) noexcept:
        be_set(&self.busy, 0)

    cdef bint closed(self) noexcept:
        return be_look(&self.busy) == CLOSED

    cdef bint begin_last(self) except -1:
        """Begins the call that closes the batch; False if the batch is closed, or has ended its work at exit."""
        if self.closed() or self.exiting and be_swap(&self.busy, 0, CLOSED):
            return False
        self.begin()
        return True

    cdef void close(self) noexcept:
        """Ends the call that `begin_last` has begun. No call can begin afterwards."""
        be_set(&self.busy, CLOSED)

    cdef bint exit(self) noexcept:
        """Lets no call begin any more, because Python is shutting down; False if a call still runs."""
        self.exiting = True
        return be_look(&self.busy) == 0

    cdef int tear(self, str reason) except -1:
        """Notes why the lanes cannot go on from their present state."""
        self.has_reset = 0
        self.needs_reset_because = reason
        return 0

    cdef int require_reset(self, str doing) except -1:
        if self.has_reset:
            return 0
        if self.needs_reset_because is not None:
            raise ResetNeeded(f"{doing} needs a reset first: {self.needs_reset_because}; call env.reset()")
        raise ResetNeeded(f"Cannot call {doing} before calling env.reset()")


@cython.final
cdef class Hold:
    """A call that lasts as long as a `with` block: see Lanes.hold."""

    cdef object owner  # whose calls these are, which so lives as long
    cdef Calls calls
    cdef Queue queue  # to be settled; or None
    cdef bint held

    def __cinit__(self, owner, Calls calls, Queue queue=None):
        self.owner, self.calls, self.queue = owner, calls, queue

    def __enter__(self):
        self.calls.begin()
        if self.queue is not None and self.queue.handle != NULL:
            try:
                self.queue.settle()
            except BaseException:
                self.calls.end()
                raise
        self.held = True

    def __exit__(self, *problem):
        self._leave()

    def __dealloc__(self):
        self._leave()  # if an exception came between __enter__ and the block

    cdef void _leave(self) noexcept:
        if self.held:
            self.held = False
            self.calls.end()
