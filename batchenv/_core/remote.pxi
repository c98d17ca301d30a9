# Steps in worker processes. What parent and worker do in the usual case needs no Python code, which would take longer
# than many envs' steps.

cdef enum:  # messages that ask for, or report, a step of all lanes of a worker, or of one lane
    STEP_MESSAGE = 1
    LANE_MESSAGE = 2

STEP_VERB, LANE_VERB = STEP_MESSAGE, LANE_MESSAGE

cdef double _LONGEST = 1e-9 * SLICE_NS  # seconds between checks for signals, and for workers that have died


@cython.final
cdef class HoldAndCall:
    """A function that holds a batch while it runs another one."""

    cdef Batch batch
    cdef object run

    def __init__(self, Batch batch, run):
        self.batch, self.run = batch, run

    def __call__(self, *arguments):
        self.batch.calls.begin()
        try:
            return self.run(*arguments)
        finally:
            self.batch.calls.end()


@cython.final
cdef class RemoteLanes:
    """Steps the lanes of a batch in other processes, whose plain reports need no Python code.

    Args:
        owner: a weak reference to a `ProcessBackend`, which asks for steps that are out of the ordinary.
        reports: a `Reports`, which takes what is not plain: messages that have a payload, lanes that have failed,
            processes that have died, and values that are no arrays.
        pool: a `WorkerPool`, whose memory has been made.
        worker_of: the worker of each lane.
        objects: whether observations, and whether actions have parts that are no arrays.

    Attributes:
        watched: whether somebody watches the pool's descriptor.
    """

    cdef Batch batch
    cdef Mailbox mailbox
    cdef Flight flight
    cdef Numbers numbers
    cdef list columns, targets, worker_of
    cdef object owner, reports, pool, states, messages
    cdef dict infos
    cdef int process
    cdef bint object_observations, object_actions
    cdef int64_t retry_at  # when workers are looked after next though messages come, in ns
    cdef public bint watched

    def __cinit__(self, owner, reports, pool, Batch batch, Flight flight, list worker_of, tuple objects):
        self.owner, self.reports, self.pool, self.batch, self.flight = owner, reports, pool, batch, flight
        self.states, self.infos, self.numbers = reports.states, reports.infos, reports.numbers
        self.mailbox, self.messages = pool.memory.mailbox, pool.messages
        self.columns, self.targets = pool.memory.columns, pool.memory.actions
        self.worker_of, self.process = worker_of, be_fork_count()
        self.object_observations, self.object_actions = objects

    def started(self):
        """All lanes have been asked for a reset, or have been restored, so that they may be stepped."""
        self.batch.calls.has_reset = True

    # ---- steps

    def step(self, actions, out):
        """See `Backend.step`."""
        self.check("env.step()")
        self.flight.refuse("step()")
        return self.step_lanes(actions, None, out)

    def step_some(self, actions, env_id, out):
        """See `Backend.step_some`."""
        self.check("env.step()")
        self.flight.refuse("step()")
        return self.step_lanes(actions, self.flight.lanes(env_id, "no lane has been stepped"), out)

    cdef object step_lanes(self, actions, lanes, out):
        out, objects = self.take(actions, lanes, out, "stepping", "no lane has been stepped")
        with Whole(self.batch):
            self.ask(lanes, objects)
            self.hear_all()
            PyErr_CheckSignals()  # a handler must not raise after the results have been handed over
            return self.results(lanes, out)

    def send(self, actions, env_id):
        """See `Backend.send`."""
        self.check("send()")
        lanes = self.flight.lanes(env_id, "nothing was sent")
        _, objects = self.take(actions, lanes, None, "sending", "nothing was sent")
        with Whole(self.batch):
            self.ask(lanes, objects)
            self.expect()
        return lanes

    def recv(self, timeout):
        """See `Backend.recv`."""
        if self.batch.calls.has_reset or self.batch.calls.needs_reset_because is not None:
            self.check("recv()")
        self.flight.refuse_starved()
        if not self.hear_batch(timeout is not None, 0.0 if timeout is None else 1e-9 * be_now_ns() + timeout):
            self.expect()
            raise batch_late(self.flight.rows, timeout)
        PyErr_CheckSignals()  # a handler must not raise after the batch has been taken
        with Whole(self.batch):
            lanes = self.flight.upcoming()
            self.flight.receive(lanes)
            self.expect()
            return self.results(lanes, None)

    def expect(self):
        """Lets the pool's descriptor show when the next batch has come, if somebody watches it."""
        if self.watched:
            missing = max(0, self.flight.rows - self.flight.landed)
            self.pool.expect(None if self.flight.count < self.flight.rows else missing)

    cdef bint is_plain(self):
        """Whether nothing is out of the ordinary."""
        return (self.states.all_running and self.batch.calls.has_reset and not self.infos and not self.messages
                and self.process == be_fork_count())

    cdef int check(self, str doing) except -1:
        """Refuses what needs lanes that have been reset."""
        if not self.is_plain():
            self.owner().check(doing)
        return 0

    cdef tuple take(self, actions, lanes, out, str doing, str ending):
        """Takes actions of lanes (int64; None: of all): they are written where workers read them, or returned with
        `out` if they are no arrays. doing, ending: see `lane_pending`."""
        if self.batch.autoreset == BE_DISABLED:
            self.owner().refuse_pending(lanes, doing, ending)
        if self.object_actions:
            return self.owner().take(actions, lanes, out)
        return take_actions(self.batch, actions, lanes, self.targets, out), None

    cdef int ask(self, lanes, list objects) except -1:
        """Asks for a step of lanes (int64; None: of all). objects: their actions, if these are no arrays."""
        cdef const int64_t *numbers
        cdef int64_t k
        if lanes is not None:
            self.flight.depart(lanes)
        if objects is not None or not self.states.all_running:
            self.owner().ask(lanes, objects)
        elif lanes is None:
            for k in range(self.mailbox.rings.count):
                self.mailbox.post(<int>k, STEP_MESSAGE)
        else:
            numbers = <const int64_t *>cnp.PyArray_DATA(<cnp.ndarray>lanes)
            for k in range(cnp.PyArray_DIM(<cnp.ndarray>lanes, 0)):
                self.mailbox.post(self.worker_of[numbers[k]], LANE_MESSAGE, numbers[k])
        return 0

    # ---- what workers report

    def hear_all(self):
        """Waits until workers have reported all that they owe. Nothing is in flight then."""
        while self.messages or not self.mailbox.nothing_due():
            self.hear(_has_all_due, _LONGEST)
        if self.flight.count or self.flight.landed:
            self.flight.clear()

    cdef bint hear_batch(self, bint limited, double end) except -1:
        """Waits until as many lanes have been reported as are received at a time. False: it is not so in time."""
        cdef double longest = _LONGEST
        if <int64_t>be_now_ns() > self.retry_at:  # workers may have died while others keep sending messages
            self.retry_at = <int64_t>be_now_ns() + SLICE_NS
            self.collect()
            self.pool.look_after()
        while not self.flight.complete:
            if limited:
                longest = max(0.0, min(_LONGEST, end - 1e-9 * be_now_ns()))
            if not self.hear(_has_some, longest) and limited and 1e-9 * be_now_ns() >= end:
                return self.flight.complete
        return True

    cdef bint hear(self, int (*ready)(void *) noexcept nogil, double seconds) except -1:
        """Reads what workers have reported, for which it waits, at most for so many seconds. False: nothing has come,
        and workers have been looked after."""
        if self.messages:
            self.pool.read(self.reports.note)
            return True
        self.mailbox.wait(ready, seconds)
        PyErr_CheckSignals()
        if self.collect():
            return True
        self.pool.look_after()
        return False

    cdef bint collect(self) except -1:
        """Takes messages; False: there are none. Those that are not plain wait to be read, and so do those that came
        after them, which may be about what they announce."""
        cdef int64_t[MESSAGE_WORDS] message
        cdef bint some = False
        cdef int k
        for k in range(self.mailbox.rings.count):
            while self.mailbox.receive(k, message):
                some = True
                if self.messages or message[2] or not self.note(k, message[0], message[1], message[3]):
                    self.messages.append((k, message[0], message[1], message[2], message[3]))
        return some

    cdef bint note(self, int worker, int64_t verb, int64_t lane, int64_t used) except -1:
        """Notes what a worker has reported, beside arrays only numbers in these columns. False: it is not plain."""
        if verb == LANE_MESSAGE and self.flight.owes(lane):
            self.flight.land(lane)
        elif verb == STEP_MESSAGE:
            lane = -1
        else:
            return False
        if used:
            self.numbers.mark(worker, lane, used)
        return True

    cdef object results(self, lanes, out):
        """What a step of lanes (int64; None: of all) returns that has been reported."""
        if self.is_plain() and not self.object_observations:
            infos = self.number_infos(lanes)
            if infos is not None:
                return (*adopt(self.batch, self.columns, lanes, out), infos)
        return self.reports.results(lanes, out)

    cdef object number_infos(self, cnp.ndarray lanes):
        """The infos of lanes (None: of all) that have said numbers alone; None: see `Numbers.take`."""
        if self.reports.apart:
            return self.reports.gathered({}, (self.numbers.notes(lanes), []), lanes)
        infos = self.numbers.take(lanes)
        if infos is not None and lanes is not None:
            infos["env_id"] = lanes
            infos.pop("_env_id", None)  # an env's own
        return infos


def serve(Mailbox mailbox, int worker, Batch batch, PythonLanes lanes, NumberWriter numbers, tuple whole, list each,
          int64_t first, bint plain, double seconds):
    """What a worker does: takes messages, and does steps whose envs have nothing to say beside numbers.

    Args:
        whole: (actions, out) of a step of all its lanes; each: (actions, lanes, out) of a step of each lane.
        first: the number of its first lane.
        plain: whether numbers can be all that there is to say.
        seconds: how long it waits for a message.

    Returns:
        None: no message has come. Else its (verb, lane, more), and None, or what the step that it asks for has returned
        or raised, for others to report. A failure of a lane's env, or one of our own, is raised nowhere else.
    """
    cdef int64_t[MESSAGE_WORDS] message
    cdef int64_t used, row
    cdef bint all_lanes
    while True:
        if not mailbox.next_message(worker, seconds, message):
            return None
        if not plain or message[2] or not (message[0] == STEP_MESSAGE or message[0] == LANE_MESSAGE):
            return (message[0], message[1], message[2]), None
        all_lanes = message[0] == STEP_MESSAGE or batch.num_lanes == 1
        row, used = 0 if all_lanes else message[1] - first, 0
        try:
            result = batch.step(*whole) if all_lanes else batch.step_some(*each[row])
            if batch.failed is not None:
                result = batch.deliver(result)
            # Beside numbers, the infos of a plain step have "env_id" alone.
            if lanes.interrupt is not None or len(<dict>result[4]) > (0 if all_lanes else 1):
                return (message[0], message[1], message[2]), result
            if lanes.touched:
                used = numbers.take(lanes, row, batch.num_lanes if all_lanes else 1)
                if used == NOT_PLAIN:
                    return (message[0], message[1], message[2]), result
        except Exception as problem:
            return (message[0], message[1], message[2]), problem
        mailbox.reply(worker, message[0], message[1] if message[0] == LANE_MESSAGE else first, 0, used)
