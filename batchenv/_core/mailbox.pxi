# Messages between processes, in memory that they share.

cdef enum:
    MESSAGE_WORDS = 4
    SIGNAL_BYTES = 64
    WANTED_BYTE = 32  # in these
    SPIN_LEAST = 100_000  # ns
    SPIN_MOST = 1_000_000


ctypedef struct mailbox_rings:
    int count
    be_ring *down[1024]  # to each worker
    be_ring *up[1024]  # from each worker
    int64_t owed[1024]  # messages from each; counted together with them, so that no signal comes between the two


cdef int _has_some(void *given) noexcept nogil:
    cdef mailbox_rings *rings = <mailbox_rings *>given
    cdef int k
    for k in range(rings.count):
        if not be_ring_empty(rings.up[k]):
            return 1
    return 0


cdef int _has_message(void *ring) noexcept nogil:
    return not be_ring_empty(<be_ring *>ring)


cdef int _has_all_due(void *given) noexcept nogil:
    cdef mailbox_rings *rings = <mailbox_rings *>given
    cdef int k
    for k in range(rings.count):
        if rings.owed[k] and be_ring_empty(rings.up[k]):
            return 0
    return 1


cdef be_ring *_ring(void *place, int64_t capacity, bint create) except NULL:
    cdef be_ring *ring
    if create:
        ring = be_ring_init(place, capacity, MESSAGE_WORDS * 8, 1)
    else:
        ring = be_ring_attach(place, be_ring_bytes(capacity, MESSAGE_WORDS * 8), MESSAGE_WORDS * 8)
    if ring == NULL:
        raise ValueError("there is no ring in this memory")
    return ring


@cython.final
cdef class Mailbox:
    """Messages between a process and its workers: four int64 each, in rings that lie in shared memory.

    Args:
        memory: a writable buffer that begins on a page.
        workers: how many there are; capacity: how many messages a ring has room for.
        create: whether to make empty rings; else another process has made them.

    Attributes:
        event: an eventfd of a worker's; -1: none.
    """

    cdef Py_buffer view
    cdef bint open
    cdef int64_t capacity
    cdef be_gate *signal  # rings when a worker has written
    cdef int *wanted  # how many messages from workers have to come until one of them writes to `event`
    cdef mailbox_rings rings
    cdef be_spin spin
    cdef public int event
    cdef int64_t taken  # when the last message was, in ns
    cdef int64_t[1024] since  # when a worker got the oldest message that it has not answered, in ns

    def __cinit__(self, memory, int workers, int64_t capacity, bint create):
        cdef int k
        cdef char *place
        cdef size_t bytes = be_ring_bytes(capacity, MESSAGE_WORDS * 8)
        if not 1 <= workers <= 1024:
            raise ValueError(f"{workers} workers must be 1 to 1024")
        self.rings.count, self.capacity = workers, capacity
        PyObject_GetBuffer(memory, &self.view, PyBUF_WRITABLE)
        self.open = True
        if <int64_t>self.view.len < Mailbox.size(workers, capacity):
            raise ValueError("the memory is too small for the rings")
        place = <char *>self.view.buf
        self.signal, self.wanted, self.event = <be_gate *>place, <int *>(place + WANTED_BYTE), -1
        if create:
            be_gate_init(self.signal, 1)
        place += SIGNAL_BYTES
        for k in range(workers):
            self.rings.down[k] = _ring(place, capacity, create)
            self.rings.up[k] = _ring(place + bytes, capacity, create)
            place += 2 * bytes
        self.spin.ns, self.spin.yields = SPIN_MOST, 1

    def __dealloc__(self):
        if self.open:
            PyBuffer_Release(&self.view)

    @staticmethod
    def size(int workers, int64_t capacity):
        """How many bytes of memory the rings take."""
        return SIGNAL_BYTES + 2 * workers * <int64_t>be_ring_bytes(capacity, MESSAGE_WORDS * 8)

    def empty(self, int worker):
        """Makes the rings of a worker that has died empty ones again."""
        be_ring_init(self.rings.down[worker], self.capacity, MESSAGE_WORDS * 8, 1)
        be_ring_init(self.rings.up[worker], self.capacity, MESSAGE_WORDS * 8, 1)
        self.rings.owed[worker] = 0

    def overdue(self, int worker, double timeout):
        """Whether this worker has owed a message for so many seconds."""
        return self.rings.owed[worker] and <int64_t>be_now_ns() - self.since[worker] > timeout * 1e9

    cpdef bint nothing_due(self):
        """Whether no worker owes a message."""
        cdef int k
        for k in range(self.rings.count):
            if self.rings.owed[k]:
                return False
        return True

    cpdef int post(self, int worker, int64_t verb, int64_t first=0, int64_t second=0, int64_t answers=1) except -1:
        """Writes a message to a worker, which then owes so many. The ring must have room."""
        cdef int64_t[MESSAGE_WORDS] message = [verb, first, second, 0]
        if not self.rings.owed[worker]:
            self.since[worker] = <int64_t>be_now_ns()
        if not be_ring_push(self.rings.down[worker], message, 0):
            raise RuntimeError("a worker's ring is full")
        self.rings.owed[worker] += answers
        return 0

    cdef int next_message(self, int worker, double timeout, int64_t *message) noexcept:
        """Takes a worker's next message; 0 if none has come after so many seconds."""
        cdef int64_t ns = <int64_t>(timeout * 1e9)
        cdef be_ring *ring = self.rings.down[worker]
        cdef int had
        with nogil:
            # Whoever sends the next one works about as long with what this one brought.
            self.spin.ns = min(max(2 * (<int64_t>be_now_ns() - self.taken), SPIN_LEAST), SPIN_MOST)
            be_gate_wait(be_ring_gate(ring), _has_message, ring, &self.spin, ns)
            had = be_ring_try_pop(ring, message)
            self.taken = <int64_t>be_now_ns()
        return had

    def reply(self, int worker, int64_t verb, int64_t first=0, int64_t second=0, int64_t third=0):
        """Writes a message from a worker."""
        cdef int64_t[MESSAGE_WORDS] message = [verb, first, second, third]
        if not be_ring_push(self.rings.up[worker], message, 0):
            raise RuntimeError("a worker's ring is full")
        be_gate_notify(self.signal, 1)
        if be_counts_down(self.wanted):
            be_write_event(self.event)

    def want(self, int count):
        """Sets how many messages from workers have to come until one of them writes to its `event`. Look at `any`
        next: those that have come before are not among them."""
        be_set_for_all(self.wanted, count)

    def any(self):
        """Whether there are messages from workers."""
        return bool(_has_some(&self.rings))

    def time_left(self, double timeout):
        """In how many seconds a worker will have owed a message for so many; None: no worker owes one."""
        cdef int64_t now = <int64_t>be_now_ns(), longest = -1
        cdef int k
        for k in range(self.rings.count):
            if self.rings.owed[k]:
                longest = max(longest, now - self.since[k])
        return None if longest < 0 else timeout - 1e-9 * longest

    cdef void wait(self, int (*ready)(void *) noexcept nogil, double timeout) noexcept:
        """Waits for messages from workers, at most so many seconds."""
        cdef int64_t ns = <int64_t>(timeout * 1e9)
        with nogil:
            be_gate_wait(self.signal, ready, &self.rings, &self.spin, ns)

    cdef bint receive(self, int worker, int64_t *message) noexcept:
        """Takes a message from this worker's ring; False if there is none."""
        if not be_ring_try_pop(self.rings.up[worker], message):
            return False
        self.rings.owed[worker] = max(0, self.rings.owed[worker] - 1)
        self.since[worker] = <int64_t>be_now_ns()
        return True


def append(bytearray target, make, size):
    """Appends what `make(size)` returns, and returns how long it is. No signal handler comes between the two."""
    cdef bytes piece = make(size)
    target += piece
    return len(piece)
