# Lanes that are stepped elsewhere, by other processes or in an event loop: which of them are away, what becomes of
# their actions, and how their results are handed out.

cdef enum:
    AWAY = 1  # Flight.state: sent, and not received
    LANDED = 2  # and reported


@cython.final
cdef class Flight:
    """Which lanes of a batch are in flight: sent, and not received. Those that have been reported are kept in the
    order in which they were.

    Args:
        rows: how many lanes are received at a time.

    Attributes:
        rows: as the argument.
        count: how many lanes are in flight.
        landed: how many have been reported.
        last: the lanes that were received last (int64), or None.
    """

    cdef Batch batch
    cdef cnp.ndarray state, order  # uint8 per lane; a ring of lanes, from `first`
    cdef uint8_t *states
    cdef int64_t *ring
    cdef readonly int64_t rows
    cdef int64_t first
    cdef readonly int64_t count, landed
    cdef readonly object last

    def __cinit__(self, Batch batch, int64_t rows):
        self.batch, self.rows = batch, rows
        self.state, self.order = np.zeros(batch.num_lanes, np.uint8), np.zeros(batch.num_lanes, np.int64)
        self.states = <uint8_t *>cnp.PyArray_DATA(self.state)
        self.ring = <int64_t *>cnp.PyArray_DATA(self.order)

    def lanes(self, env_id, str ending):
        """A checked copy of `env_id` (None: the lanes last received), of which no lane is in flight: int64.

        Raises:
            TypeError, ValueError, RuntimeError: what is wrong with it. ending: what the message ends with.
        """
        cdef cnp.ndarray lanes
        cdef const int64_t *numbers
        cdef int64_t k
        if env_id is None:
            if self.last is None:
                raise ValueError("env_id=None means the lanes last received, and none have been: say which lanes")
            env_id = self.last
        lanes = self.batch.queue.read_lanes(env_id, self.batch.num_lanes, ending)
        numbers = <const int64_t *>cnp.PyArray_DATA(lanes)
        for k in range(cnp.PyArray_DIM(lanes, 0)):
            if self.states[numbers[k]] & AWAY:
                self.batch.queue._raise_bad_lane(numbers[k], k, BE_LANE_TAKEN, self.batch.num_lanes, ending)
        return lanes

    def refuse(self, str doing, lanes=None):
        """Raises RuntimeError if one of these lanes (None: any lane) is in flight."""
        if self.count and (lanes is None or (self.state[lanes] & AWAY).any()):
            raise lanes_in_flight(doing, self.count, np.flatnonzero(self.state & AWAY)[:5].tolist())

    def depart(self, cnp.ndarray lanes):
        """Notes that these lanes (int64; from `lanes`) have been sent."""
        cdef const int64_t *numbers = <const int64_t *>cnp.PyArray_DATA(lanes)
        cdef int64_t k
        for k in range(cnp.PyArray_DIM(lanes, 0)):
            self.states[numbers[k]] |= AWAY
        self.count += cnp.PyArray_DIM(lanes, 0)

    def owes(self, int64_t lane):
        """Whether this lane is in flight, and has not been reported."""
        return 0 <= lane < self.batch.num_lanes and self.states[lane] == AWAY

    def has_landed(self, int64_t lane):
        """Whether this lane has been reported."""
        return self.states[lane] & LANDED != 0

    def land(self, int64_t lane, messages=None):
        """Notes that this lane has been reported, by the first of these messages (a deque), which is removed. No signal
        handler comes between the two.

        Raises:
            ValueError: there is no such lane: what writes beside its own memory may have written into messages.
        """
        if not 0 <= lane < self.batch.num_lanes:
            raise ValueError(f"a worker has reported lane {lane}, but there are lanes 0..{self.batch.num_lanes - 1}: "
                             "look for an env whose native code writes beside its own memory")
        if not self.states[lane] & LANDED:
            self.states[lane] |= LANDED
            self.ring[(self.first + self.landed) % self.batch.num_lanes] = lane
            self.landed += 1
        if messages is not None:
            messages.popleft()

    @property
    def complete(self):
        """Whether as many lanes have been reported as are received at a time."""
        return self.landed >= self.rows

    def refuse_starved(self):
        """Raises RuntimeError if so few lanes are in flight that this will never be so."""
        if self.count < self.rows:
            raise batch_starved(self.count, self.rows)

    def upcoming(self):
        """The lanes that are received next (int64), when they are complete: in the order of their numbers if these are
        all of them, else in that in which they have landed."""
        cdef cnp.ndarray lanes = np.empty(self.rows, np.int64)
        cdef int64_t *numbers = <int64_t *>cnp.PyArray_DATA(lanes)
        cdef int64_t k
        for k in range(self.rows):
            numbers[k] = self.ring[(self.first + k) % self.batch.num_lanes]
        if self.rows == self.batch.num_lanes:
            lanes.sort()
        return lanes

    def receive(self, cnp.ndarray lanes):
        """Notes that `upcoming` has been received."""
        cdef const int64_t *numbers = <const int64_t *>cnp.PyArray_DATA(lanes)
        cdef int64_t k
        for k in range(self.rows):
            self.states[numbers[k]] = 0
        self.first = (self.first + self.rows) % self.batch.num_lanes
        self.landed -= self.rows
        self.count -= self.rows
        self.last = lanes.copy()  # the user gets this one

    def clear(self, landed_only=False):
        """Forgets what is in flight, or only what has been reported."""
        cdef int64_t k
        for k in range(self.batch.num_lanes):
            self.states[k] &= AWAY if landed_only else 0
        self.first = self.landed = 0
        if not landed_only:
            self.count = 0


@cython.final
cdef class Whole:
    """A `with` block that steps lanes. An exception there, such as that of Ctrl-C, leaves lanes that have done it and
    others that have not, so that all have to be reset; a LaneError and InfosDiffer come when all have done it."""

    cdef Batch batch

    def __init__(self, Batch batch):
        self.batch = batch

    def __enter__(self):
        pass

    def __exit__(self, kind, problem, trace):
        if kind is not None and not issubclass(kind, (LaneError, InfosDiffer)):
            self.batch.calls.tear(INTERRUPTED)


def take_actions(Batch batch, actions, lanes, list targets, out):
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


def adopt(Batch batch, list columns, lanes, out, resets=None, restored=None):
    """What a step returns, without infos, of lanes that were stepped elsewhere. columns: all lanes' parts of the
    observation, rewards (float64), terminations and truncations (bool); lanes: of each row (int64); None: all. out:
    from `take_actions`. resets: a mask of lanes that have been reset, not stepped; True: all. restored: lanes that have
    been restored (int64): then no lane has been stepped, and moments stay as they are."""
    cdef Output output = batch.outputs.next() if lanes is None else _new_output(batch.layout, FOR_RESULTS, len(lanes))
    cdef be_rows rows
    cdef size_t k
    cdef list targets
    if out is not None:
        output = output.into(out)
    output.point(&rows)
    targets = [output.raw(), *output.more(), output.raw_reward(), output.at(TERMINATED), output.at(TRUNCATED)]
    for source, target in zip(columns, targets, strict=True):
        if lanes is None:
            memcpy(cnp.PyArray_DATA(<cnp.ndarray>target), cnp.PyArray_DATA(<cnp.ndarray>source),
                   cnp.PyArray_NBYTES(<cnp.ndarray>target))
        else:
            _copy_rows(target, cnp.PyArray_DATA(<cnp.ndarray>source), lanes)
    if restored is not None:
        if batch.layout.stage is not None:
            batch.layout.stage.start(restored)
        output.treat_observations()
    elif resets is not None:
        output.treat_reset(None if resets is True else resets)
    elif batch.layout.stage is not None or batch.layout.treats_rewards:
        output.counted = False
        output.treat_step(lanes)
    return output.results(None)[:4]


def columns_of(Batch batch):
    """[(dtype, shape of one lane)] of the columns that `adopt` takes, and of the targets of `take_actions`."""
    cdef ActionPart part
    layout = batch.layout
    observations = [(layout.kernel_dtype, layout.observation_shape)]
    observations += [(dtype, shape) for _, dtype, shape in layout.more]
    actions = [(part.dtype, part.shape) for part in batch.actions.parts]
    return [*observations, (np.dtype(np.float64), ()), (np.dtype(np.bool_), ()), (np.dtype(np.bool_), ())], actions
