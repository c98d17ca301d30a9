# Messages between processes, in memory that they share.

cimport cython
from cpython.buffer cimport PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer

cdef enum:
    LETTER_WORDS = 4
    BELL_BYTES = 64
    WANTED_BYTE = 32  # in these
    SPIN_LEAST = 100_000  # ns
    SPIN_MOST = 1_000_000


ctypedef struct mail_rings:
    int count
    be_ring *down[1024]  # to each worker
    be_ring *up[1024]  # from each worker


cdef int _has_mail(void *mail) noexcept nogil:
    cdef mail_rings *rings = <mail_rings *>mail
    cdef int k
    for k in range(rings.count):
        if not be_ring_empty(rings.up[k]):
            return 1
    return 0


cdef int _has_letter(void *ring) noexcept nogil:
    return not be_ring_empty(<be_ring *>ring)


cdef int _has_all_mail(void *mail) noexcept nogil:
    cdef mail_rings *rings = <mail_rings *>mail
    cdef int k
    for k in range(rings.count):
        if be_ring_empty(rings.up[k]):
            return 0
    return 1


cdef be_ring *_ring(void *place, int64_t capacity, bint create) except NULL:
    cdef be_ring *ring
    if create:
        ring = be_ring_init(place, capacity, LETTER_WORDS * 8, 1)
    else:
        ring = be_ring_attach(place, be_ring_bytes(capacity, LETTER_WORDS * 8), LETTER_WORDS * 8)
    if ring == NULL:
        raise ValueError("there is no ring in this memory")
    return ring


@cython.final
cdef class Mail:
    """Letters between a process and its workers: four int64 each, in rings that lie in shared memory.

    Args:
        memory: a writable buffer that begins on a page.
        workers: how many there are; capacity: how many letters a ring has room for.
        create: whether to make empty rings; else another process has made them.

    Attributes:
        event: an eventfd of a worker's; -1: none.
    """

    cdef Py_buffer view
    cdef bint open
    cdef int64_t capacity
    cdef be_gate *bell  # rings when a worker has written
    cdef int *wanted  # how many letters from workers have to come until one of them writes to `event`
    cdef mail_rings rings
    cdef be_spin spin
    cdef public int event
    cdef int64_t taken  # when the last letter was, in ns
    cdef int64_t[1024] owed  # counted together with the letters, so that no signal comes between the two
    cdef int64_t[1024] since  # when a worker got the oldest letter that it has not answered, in ns

    def __cinit__(self, memory, int workers, int64_t capacity, bint create):
        cdef int k
        cdef char *place
        cdef size_t bytes = be_ring_bytes(capacity, LETTER_WORDS * 8)
        if not 1 <= workers <= 1024:
            raise ValueError(f"{workers} workers must be 1 to 1024")
        self.rings.count, self.capacity = workers, capacity
        PyObject_GetBuffer(memory, &self.view, PyBUF_WRITABLE)
        self.open = True
        if <int64_t>self.view.len < Mail.size(workers, capacity):
            raise ValueError("the memory is too small for the rings")
        place = <char *>self.view.buf
        self.bell, self.wanted, self.event = <be_gate *>place, <int *>(place + WANTED_BYTE), -1
        if create:
            be_gate_init(self.bell, 1)
        place += BELL_BYTES
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
        return BELL_BYTES + 2 * workers * <int64_t>be_ring_bytes(capacity, LETTER_WORDS * 8)

    def empty(self, int worker):
        """Makes the rings of a worker that has died empty ones again."""
        be_ring_init(self.rings.down[worker], self.capacity, LETTER_WORDS * 8, 1)
        be_ring_init(self.rings.up[worker], self.capacity, LETTER_WORDS * 8, 1)
        self.owed[worker] = 0

    def overdue(self, int worker, double timeout):
        """Whether this worker has owed a letter for so many seconds."""
        return self.owed[worker] and <int64_t>be_now_ns() - self.since[worker] > timeout * 1e9

    def nothing_due(self):
        """Whether no worker owes a letter."""
        cdef int k
        for k in range(self.rings.count):
            if self.owed[k]:
                return False
        return True

    def post(self, int worker, int64_t verb, int64_t first=0, int64_t second=0, int64_t answers=1):
        """Writes a letter to a worker, which then owes so many. The ring must have room."""
        self.write(worker, verb, first, second, answers)

    cdef int write(self, int worker, int64_t verb, int64_t first, int64_t second, int64_t answers) except -1:
        cdef int64_t[LETTER_WORDS] letter = [verb, first, second, 0]
        if not self.owed[worker]:
            self.since[worker] = <int64_t>be_now_ns()
        if not be_ring_push(self.rings.down[worker], letter, 0):
            raise RuntimeError("a worker's ring is full")
        self.owed[worker] += answers
        return 0

    cdef int next_letter(self, int worker, double timeout, int64_t *letter) noexcept:
        """Takes a worker's next letter; 0 if none has come after so many seconds."""
        cdef int64_t ns = <int64_t>(timeout * 1e9)
        cdef be_ring *ring = self.rings.down[worker]
        cdef int had
        with nogil:
            # Whoever sends the next one works about as long with what this one brought.
            self.spin.ns = min(max(2 * (<int64_t>be_now_ns() - self.taken), SPIN_LEAST), SPIN_MOST)
            be_gate_wait(be_ring_gate(ring), _has_letter, ring, &self.spin, ns)
            had = be_ring_try_pop(ring, letter)
            self.taken = <int64_t>be_now_ns()
        return had

    def reply(self, int worker, int64_t verb, int64_t first=0, int64_t second=0, int64_t third=0):
        """Writes a letter from a worker."""
        cdef int64_t[LETTER_WORDS] letter = [verb, first, second, third]
        if not be_ring_push(self.rings.up[worker], letter, 0):
            raise RuntimeError("a worker's ring is full")
        be_gate_notify(self.bell, 1)
        if be_counts_down(self.wanted):
            be_write_event(self.event)

    def want(self, int count):
        """Sets how many letters from workers have to come until one of them writes to its `event`. Look at `any`
        next: those that have come before are not among them."""
        be_set_for_all(self.wanted, count)

    def any(self):
        """Whether there are letters from workers."""
        return bool(_has_mail(&self.rings))

    def time_left(self, double timeout):
        """In how many seconds a worker will have owed a letter for so many; None: no worker owes one."""
        cdef int64_t now = <int64_t>be_now_ns(), longest = -1
        cdef int k
        for k in range(self.rings.count):
            if self.owed[k]:
                longest = max(longest, now - self.since[k])
        return None if longest < 0 else timeout - 1e-9 * longest

    def collect(self, letters, double timeout):
        """Appends letters from workers, (worker, verb, first, second, third); waits for the first one for so many
        seconds. No signal can come between, so none is lost."""
        self.wait(_has_mail, timeout)
        self.empty_into(letters)

    cdef void wait(self, int (*ready)(void *) noexcept nogil, double timeout) noexcept:
        """Waits for letters from workers, at most so many seconds."""
        cdef int64_t ns = <int64_t>(timeout * 1e9)
        with nogil:
            be_gate_wait(self.bell, ready, &self.rings, &self.spin, ns)

    cdef bint receive(self, int worker, int64_t *letter) noexcept:
        """Takes a letter from this worker's ring; False if there is none."""
        if not be_ring_try_pop(self.rings.up[worker], letter):
            return False
        self.owed[worker] = max(0, self.owed[worker] - 1)
        self.since[worker] = <int64_t>be_now_ns()
        return True

    cdef int empty_into(self, letters) except -1:
        cdef int64_t[LETTER_WORDS] letter
        cdef int k
        for k in range(self.rings.count):
            while self.receive(k, letter):
                letters.append((k, letter[0], letter[1], letter[2], letter[3]))
        return 0


def append(bytearray target, make, size):
    """Appends what `make(size)` returns, and returns how long it is. No signal handler comes between the two."""
    cdef bytes piece = make(size)
    target += piece
    return len(piece)
