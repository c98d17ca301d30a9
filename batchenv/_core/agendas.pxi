# Plans of episodes, as the C core knows them: csrc/core/agenda.h.

AGENDA_ORDERS = {"in_order": <int>BE_IN_ORDER, "shuffled": <int>BE_SHUFFLED, "sampled": <int>BE_SAMPLED}
NO_ENTRY, UNDECIDED = <int>BE_NO_ENTRY, <int>BE_UNDECIDED


cdef int _prepare_entry(void *context, int64_t lane, int64_t entry, be_error *error) noexcept with gil:
    cdef Agenda agenda = <Agenda>context
    cdef bytes told
    try:
        agenda.prepare(lane, entry)
    except BaseException as problem:
        if not isinstance(problem, Exception):  # Ctrl-C
            agenda.interrupt = problem
        told = f"{type(problem).__name__}: {problem}".encode(errors="replace")[:400]
        return be_fail(error, BE_ERROR_ENGINE, lane, b"entry %lld of the plan: %s", entry, <const char *>told)
    return BE_OK


def first_places(int64_t lanes):
    """See Agenda: the places of so many lanes at the beginning."""
    places = np.empty((lanes, 4), np.int64)
    places[:, 0] = np.arange(lanes)
    places[:, 1:] = 0, BE_NO_ENTRY, BE_UNDECIDED
    return places


def skip_entries(places, lanes):
    """See Agenda.skip."""
    places[lanes, 1] -= places[lanes, 3] >= 0
    places[lanes, 3] = BE_NO_ENTRY


@cython.final
cdef class Agenda:
    """Which entry of a plan each lane takes next, and what entries say.

    Args:
        lanes: how many there are.
        streams: how many streams the sequence of entries is dealt to.
        order: one of AGENDA_ORDERS. key: 64 random bits, for all but the first of them.
        repeat: whether entries come again when all have come.
        rows: what `places` is to be, as it is; None: new ones, at the beginning.

    Attributes:
        places: int64 (lanes, 4), contiguous, which may be written while no lane is stepped: the lane's stream, how many
            entries that has given, the entry of the present episode (or NO_ENTRY), and that of the next one (or
            UNDECIDED).
        prepare: a function (lane, entry) that does what else an entry asks for, or None; any thread may call it.
        count: how many entries there are.
    """

    cdef be_agenda c
    cdef list kept, sums  # what the C side points to
    cdef readonly cnp.ndarray places
    cdef public object prepare
    cdef object interrupt  # what is to be raised instead of a LaneError

    def __init__(self, int64_t lanes, int64_t streams, int order, uint64_t key, bint repeat, cnp.ndarray rows=None):
        self.places = first_places(lanes) if rows is None else rows
        self.c.places = <be_agenda_place *>cnp.PyArray_DATA(self.places)
        self.c.order, self.c.key, self.c.repeat, self.c.streams = <be_agenda_order>order, key, repeat, streams

    @property
    def streams(self):
        return self.c.streams

    @property
    def count(self):
        return self.c.count

    def fill(self, int64_t count, cnp.ndarray sums=None, lists=None, seeds=None, bint old_streams=False, options=None,
             params=None, snapshots=None):
        """Sets what entries there are, and what they say.

        Args:
            sums: float64 (count,) or (streams, count), running sums of weights; for "sampled".
            lists: (starts (streams + 1,), members), int64, or None.
            seeds: an int or None per entry, or None. old_streams: lanes draw from streams of NumPy's older kind, too.
            options: (which entries have any, bool (count,); values, float64 (count, options)), or None.
            params: (numbers of params, intc; values, float64 (count, params)), or None.
            snapshots: (bytes or None, row) per entry, or None.
        """
        cdef be_agenda c = self.c
        cdef list kept = []
        c.count = count
        c.sums, c.starts, c.members, c.seeded, c.rng, c.words, c.word_starts = NULL, NULL, NULL, NULL, NULL, NULL, NULL
        c.options, c.has_options, c.params, c.values, c.snapshots, c.snapshot_rows = NULL, NULL, NULL, NULL, NULL, NULL
        c.num_options = c.num_params = 0
        if sums is not None:
            self.weigh(sums)
            c.sums, c.guides, c.sum_rows = self.c.sums, self.c.guides, self.c.sum_rows
        if lists is not None:
            c.starts = <const int64_t *>_kept(kept, lists[0], np.int64)
            c.members = <const int64_t *>_kept(kept, lists[1], np.int64)
        if seeds is not None:
            self._seed(&c, kept, seeds, old_streams)
        if options is not None:
            c.has_options = <const uint8_t *>_kept(kept, options[0], np.uint8)
            c.options, c.num_options = <const double *>_kept(kept, options[1], np.float64), options[1].shape[1]
        if params is not None:
            c.params, c.num_params = <const int *>_kept(kept, params[0], np.intc), len(params[0])
            c.values = <const double *>_kept(kept, params[1], np.float64)
        if snapshots is not None:
            self._point(&c, kept, snapshots)
        c.prepare, c.context = NULL, <void *>self
        if self.prepare is not None:
            c.prepare = _prepare_entry
        self.c, self.kept = c, kept

    def weigh(self, cnp.ndarray sums):
        """Sets other running sums of weights, of the same entries, while no lane is stepped."""
        cdef list kept = []
        cdef const double *values = <const double *>_kept(kept, sums, np.float64)
        cdef int64_t k, rows = 1 if sums.ndim == 1 else len(sums), count = (<object>sums).shape[-1]
        cdef int64_t *guides = <int64_t *>_kept(kept, np.empty((rows, count), np.int64), np.int64)
        with nogil:
            for k in range(rows):
                be_agenda_guide(values + k * count, count, guides + k * count)
        self.c.sums, self.c.guides, self.c.sum_rows, self.sums = values, guides, rows, kept

    cdef int _seed(self, be_agenda *c, list kept, seeds, bint old_streams) except -1:
        cdef const uint32_t *words
        cdef const int64_t *starts
        cdef be_rng *rng
        cdef int64_t k, count = c.count
        each = [b"" if seed is None else seed_words(seed) for seed in seeds]
        lengths = np.zeros(count + 1, np.int64)
        np.cumsum([len(own) // 4 for own in each], out=lengths[1:])
        starts = c.word_starts = <const int64_t *>_kept(kept, lengths, np.int64)
        words = <const uint32_t *>_kept(kept, np.frombuffer(b"".join(each) or bytes(4), np.uint32), np.uint32)
        rng = <be_rng *>_kept(kept, np.zeros((count, sizeof(be_rng)), np.uint8), np.uint8)
        with nogil:
            for k in range(count):
                be_rng_seed_words(&rng[k], words + starts[k], starts[k + 1] - starts[k])
        c.rng, c.words = rng, words if old_streams else NULL
        if None in seeds:
            c.seeded = <const uint8_t *>_kept(kept, np.array([seed is not None for seed in seeds], np.uint8), np.uint8)
        return 0

    cdef int _point(self, be_agenda *c, list kept, snapshots) except -1:
        cdef const void **pointers
        cdef bytes data
        pointers = <const void **>_kept(kept, np.zeros(c.count, np.uintp), np.uintp)
        for k, (given, _) in enumerate(snapshots):
            if given is not None:
                data = given
                kept.append(data)
                pointers[k] = <const char *>data
        c.snapshots = pointers
        c.snapshot_rows = <const int64_t *>_kept(kept, np.array([row for _, row in snapshots], np.int64), np.int64)
        return 0

    def decide(self, int64_t lane, bint again=False):
        """The entry that a lane takes next, or NO_ENTRY; it stays so. again: if it was decided, decide anew."""
        if again and self.c.places[lane].next >= 0:
            self.c.places[lane].taken -= 1
            self.c.places[lane].next = BE_UNDECIDED
        return be_agenda_decide(&self.c, lane)

    def skip(self, lanes):
        """Lets the next episodes of these lanes be none of the plan. An entry that was decided comes later."""
        skip_entries(self.places, lanes)


cdef void *_kept(list kept, array, dtype) except? NULL:
    """The address of an array's data, which stays where it is as long as `kept` does."""
    cdef cnp.ndarray own = np.ascontiguousarray(array, dtype)
    if cnp.PyArray_SIZE(own) == 0:  # so that it has an address
        own = np.zeros(1, dtype)
    kept.append(own)
    return cnp.PyArray_DATA(own)


@cython.no_gc  # the collector would clear arrays that workers write; nothing held here refers back to this object
cdef class PlannedLanes(SavedLanes):
    """Lanes whose next episodes may be planned."""

    cdef readonly Agenda agenda  # None: there is no plan
    cdef public object skips  # lanes whose next reset takes no entry; None: there are none

    def set_agenda(self, Agenda agenda, bint tells_entries, labels, params):
        """Gives the lanes an agenda (None: none), or has them take note that theirs has been filled anew. No lane may
        be in flight. If it raises, nothing has changed.

        Args:
            tells_entries: whether steps say of which entries the episodes were that end. labels: see Layout.
            params: numbers of the params that entries set, intc; None: none.
        """
        cdef be_agenda *before = NULL if self.agenda is None else &self.agenda.c
        cdef bint told = self.layout.tells_entries
        self.queue.refuse_in_flight("a plan", NULL)
        if tells_entries and self.layout.says_episode:
            raise ValueError(f"a plan puts entries into infos['episode'], and {self.type_name} has an info of that "
                             "name of its own: give that another name")
        self.queue.end_workers()  # they know how many arrays a result has
        be_batch_set_agenda(self.batch, NULL if agenda is None else &agenda.c, tells_entries)
        try:
            if params is not None or self.params.planned is not None:
                self.params.plan(params)
        except BaseException:
            be_batch_set_agenda(self.batch, before, told)
            raise
        self.agenda = agenda
        self.layout.set_plan(tells_entries, labels)
        self.outputs = Outputs(self.layout, self.outputs.ring)

    cpdef apply_skips(self):
        """Lets the next episodes of the lanes in `skips` be none of the plan. Nothing is in flight."""
        lanes, self.skips = self.skips, None
        if lanes is not None and self.agenda is not None:
            self.agenda.skip(lanes)

    def deliver(self, result):
        """See `Lanes.deliver`."""
        if self.agenda is not None and self.agenda.interrupt is not None:
            self.queue.delivered()
            self.failed = None
            interrupt, self.agenda.interrupt = self.agenda.interrupt, None
            raise interrupt
        return SavedLanes.deliver(self, result)

    @property
    def draws_old(self):
        """Whether lanes draw from streams of NumPy's older kind."""
        return be_batch_random_states(self.batch) != NULL

    def option_values(self, dict options):
        """Options of a reset, checked, as float64 numbers in the order of the type's table."""
        cdef double numbers[BE_MAX_OPTIONS]
        self.params.fill_options(options, numbers)
        return np.array([numbers[k] for k in range(len(self.params.option_rows))])

    def snapshot_waits(self, bytes data, int64_t row):
        """Whether a lane of a checked snapshot has finished its episode, and waits for its reset."""
        if not 0 <= row < be_snapshot_count(<const char *>data):
            raise IndexError(f"the snapshot has no lane {row}")
        return be_snapshot_waits(self.batch, <const char *>data, row) != 0

    def begin_entries(self, const int64_t[::1] lanes):
        """Has these lanes take their next entries, before whoever starts their episodes lets the C core reset them.
        Returns (lane, why) of those that cannot."""
        cdef be_error error
        cdef int status
        cdef int64_t k
        if self.agenda is None or lanes.shape[0] == 0:
            return []
        for k in range(lanes.shape[0]):  # a start that was dropped, or cut short
            if self.agenda.c.places[lanes[k]].next == BE_BEGUN:
                self.agenda.c.places[lanes[k]].next = BE_UNDECIDED
        with nogil:
            status = be_agenda_begin(self.batch, &lanes[0], lanes.shape[0], NULL, &error)
        _check(status, &error)
        for k in range(lanes.shape[0]):
            self.agenda.c.places[lanes[k]].next = BE_BEGUN
        return [(lane, be_batch_failure(self.batch, lane).message.decode(errors="replace"))
                for lane in np.asarray(lanes).tolist() if be_batch_take_failure(self.batch, lane)]
