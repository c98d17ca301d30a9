# Messages between processes, in memory that they share, and batches whose lanes are stepped elsewhere.

import numpy as np

cimport cython
cimport numpy as cnp
from cpython.buffer cimport PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer
from libc.string cimport memcpy

cdef enum:
    LETTER_WORDS = 4
    BELL_BYTES = 64
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
    """

    cdef Py_buffer view
    cdef bint open
    cdef int64_t capacity
    cdef be_gate *bell  # rings when a worker has written
    cdef mail_rings rings
    cdef be_spin spin
    cdef int64_t taken  # when the last letter was, in ns
    cdef int64_t[1024] owed  # counted together with the letters, so that no signal comes between the two

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
        self.bell = <be_gate *>place
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

    def due(self, int worker):
        """How many letters this worker owes."""
        return self.owed[worker]

    def nothing_due(self):
        """Whether no worker owes a letter."""
        cdef int k
        for k in range(self.rings.count):
            if self.owed[k]:
                return False
        return True

    def post(self, int worker, int64_t verb, int64_t first=0, int64_t second=0, int64_t answers=1):
        """Writes a letter to a worker, which then owes so many. The ring must have room."""
        cdef int64_t[LETTER_WORDS] letter = [verb, first, second, 0]
        if not be_ring_push(self.rings.down[worker], letter, 0):
            raise RuntimeError("a worker's ring is full")
        self.owed[worker] += answers

    def post_to_all(self, int64_t verb, letters, double timeout):
        """Writes the same letter to all workers, which owe nothing, and waits for an answer of each. Returns True if
        the second and third numbers of all are 0. Else, or if not all answers have come in so many seconds, appends
        those that have to `letters`, as `collect` does, and returns False."""
        cdef int k
        cdef bint plain = True
        for k in range(self.rings.count):
            self.post(k, verb)
        with nogil:
            plain = be_gate_wait(self.bell, _has_all_mail, &self.rings, &self.spin, <int64_t>(timeout * 1e9))
        found = []
        self._empty_into(found)
        for _, _, _, more, said in found:
            plain = plain and not more and not said
        if not plain:
            letters.extend(found)
        return plain

    def take(self, int worker, double timeout):
        """A worker's next letter, (verb, first, second), or None after so many seconds."""
        cdef int64_t[LETTER_WORDS] letter
        cdef int64_t ns = <int64_t>(timeout * 1e9)
        cdef be_ring *ring = self.rings.down[worker]
        cdef int had
        with nogil:
            # Whoever sends the next one works about as long with what this one brought.
            self.spin.ns = min(max(2 * (<int64_t>be_now_ns() - self.taken), SPIN_LEAST), SPIN_MOST)
            be_gate_wait(be_ring_gate(ring), _has_letter, ring, &self.spin, ns)
            had = be_ring_try_pop(ring, letter)
            self.taken = <int64_t>be_now_ns()
        return (letter[0], letter[1], letter[2]) if had else None

    def reply(self, int worker, int64_t verb, int64_t first=0, int64_t second=0, int64_t third=0):
        """Writes a letter from a worker."""
        cdef int64_t[LETTER_WORDS] letter = [verb, first, second, third]
        if not be_ring_push(self.rings.up[worker], letter, 0):
            raise RuntimeError("a worker's ring is full")
        be_gate_notify(self.bell, 1)

    def collect(self, letters, double timeout):
        """Appends letters from workers, (worker, verb, first, second, third); waits for the first one for so many
        seconds. No signal can come between, so none is lost."""
        cdef int64_t ns = <int64_t>(timeout * 1e9)
        with nogil:
            be_gate_wait(self.bell, _has_mail, &self.rings, &self.spin, ns)
        self._empty_into(letters)

    cdef int _empty_into(self, letters) except -1:
        cdef int64_t[LETTER_WORDS] letter
        cdef int k
        for k in range(self.rings.count):
            while be_ring_try_pop(self.rings.up[k], letter):
                letters.append((k, letter[0], letter[1], letter[2], letter[3]))
                self.owed[k] -= 1
        return 0


def take_orders(Batch batch, actions, lanes, list targets, out):
    """Checks actions, a row each for `lanes` (int64; None: all lanes), and copies them into the lanes' rows of
    `targets`, an array per part. Returns `out`, checked. Nothing has been copied if one of the two is wrong."""
    cdef be_rows rows
    cdef ActionPart part
    cdef cnp.ndarray target, numbers
    cdef const int64_t *index = NULL
    cdef int64_t count = batch.num_lanes, k
    cdef size_t bytes
    if lanes is not None:
        numbers = lanes
        index = <const int64_t *>cnp.PyArray_DATA(numbers)
        count = cnp.PyArray_DIM(numbers, 0)
    batch.actions.read(actions, count, index, &rows)
    if out is not None:
        out = batch.layout.check_out(out, batch.actions.sources(actions), (count,))
    for part, target in zip(batch.actions.parts, targets, strict=True):
        bytes = cnp.PyArray_NBYTES(target) // batch.num_lanes
        if index == NULL:
            memcpy(cnp.PyArray_DATA(target), rows.port[part.port], bytes * count)
        for k in range(count if index != NULL else 0):
            memcpy(<char *>cnp.PyArray_DATA(target) + index[k] * bytes,
                   <const char *>rows.port[part.port] + k * bytes, bytes)
    return out


def adopt(Batch batch, list columns, lanes, out, resets=None):
    """What a step returns, without infos, of lanes that were stepped elsewhere. columns: all lanes' parts of the
    observation, rewards (float64), terminations and truncations (bool); lanes: of each row (int64); None: all. out:
    from `take_orders`. resets: a mask of lanes that have been reset, not stepped; True: all."""
    cdef Output output = batch.outputs.next() if lanes is None else _new_results(batch.layout, len(lanes))
    cdef be_rows rows
    cdef size_t k
    cdef list targets
    if out is not None:
        output = output.into(out)
    output.point(&rows)
    targets = [output.observation if output.kernel_observation is None else output.kernel_observation, *output.more,
               output.reward if output.kernel_reward is None else output.kernel_reward, output.terminated,
               output.truncated]
    for source, target in zip(columns, targets, strict=True):
        if lanes is None:
            memcpy(cnp.PyArray_DATA(<cnp.ndarray>target), cnp.PyArray_DATA(<cnp.ndarray>source),
                   cnp.PyArray_NBYTES(<cnp.ndarray>target))
        else:
            _copy_rows(target, cnp.PyArray_DATA(<cnp.ndarray>source), lanes)
    if resets is not None:
        output.treat_reset(None if resets is True else resets)
    elif batch.layout.stage is not None or batch.layout.treats_rewards:
        output.counted = False
        output.treat_step(lanes)
    return output.observed(), output.reward, output.terminated, output.truncated


def columns_of(Batch batch):
    """[(dtype, shape of one lane)] of the columns that `adopt` takes, and of the targets of `take_orders`."""
    cdef ActionPart part
    layout = batch.layout
    observations = [(layout.kernel_dtype, layout.observation_shape)]
    observations += [(dtype, shape) for _, dtype, shape in layout.more]
    actions = [(part.dtype, part.shape) for part in batch.actions.parts]
    return [*observations, (np.dtype(np.float64), ()), (np.dtype(np.bool_), ()), (np.dtype(np.bool_), ())], actions


def lanes_given(Batch batch, env_id, const uint8_t[::1] flying, str ending):
    """A checked copy of `env_id`, of which no lane is marked as in flight: int64."""
    cdef cnp.ndarray lanes = batch.queue.read_lanes(env_id, batch.num_lanes, ending)
    cdef const int64_t *numbers = <const int64_t *>cnp.PyArray_DATA(lanes)
    cdef int64_t k
    for k in range(cnp.PyArray_DIM(lanes, 0)):
        if flying[numbers[k]]:
            batch.queue._raise_bad_lane(numbers[k], k, BE_LANE_TAKEN, batch.num_lanes, ending)
    return lanes
