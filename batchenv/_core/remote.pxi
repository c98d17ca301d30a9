# Steps in worker processes, as long as nothing is out of the ordinary: what parent and worker do then needs no Python
# code, which would take longer than many envs' steps.

cimport cython
cimport numpy as cnp
from cpython.exc cimport PyErr_CheckSignals

from gymnasium.vector import AutoresetMode

cdef enum:  # letters that ask for, or report, a step of all lanes of a worker, or of one lane
    STEP_LETTER = 1
    LANE_LETTER = 2

STEP_VERB, LANE_VERB = STEP_LETTER, LANE_LETTER

cdef double _LONGEST = 1e-9 * SLICE_NS  # seconds between looks for signals, and for workers that have died


@cython.final
cdef class Remote:
    """Calls of a batch whose lanes are stepped in other processes. Whatever is not plain is left to `owner`.

    Args:
        owner: a weak reference to a `ProcessBackend`.
        worker_of: the worker of each lane.
        columns, targets: as `adopt` and `take_orders` take them.
        numbers: those of infos.
        said: what the owner has been told beside arrays, and has not handed out.
        letters: those that it has not read.

    Attributes:
        calm: whether all lanes have been reset, and none has failed, or lost its process, since they were last told.
        watched: whether the owner has to be told what to `expect`.
        apart: see `Backend.tell_apart`.
    """

    cdef Batch batch
    cdef Mail mail
    cdef Flight flight
    cdef Numbers numbers
    cdef list columns, targets
    cdef list worker_of
    cdef object owner, letters
    cdef dict said
    cdef int process
    cdef int64_t looked  # when the owner looked after workers, in ns
    cdef public bint calm, watched, apart

    def __cinit__(self, owner, Batch batch, Mail mail, Flight flight, Numbers numbers, list worker_of, list columns,
                  list targets, dict said, letters):
        self.owner, self.batch, self.mail, self.flight, self.numbers = owner, batch, mail, flight, numbers
        self.worker_of, self.columns, self.targets = worker_of, columns, targets
        self.said, self.letters, self.process = said, letters, be_fork_count()

    cdef bint plain(self):
        return self.calm and not self.said and not self.letters and self.process == be_fork_count()

    def step(self, actions, out=None):
        """See `Backend.step`; holds the batch."""
        self.batch.calls.begin()
        try:
            if not self.plain() or self.flight.count or not self.mail.nothing_due():
                return self.owner().step(actions, out)
            out = take_orders(self.batch, actions, None, self.targets, out)
            try:
                if self.step_all():
                    PyErr_CheckSignals()  # a handler must not raise after the results have been handed over
                    infos = self.infos(None)
                    if infos is not None:
                        return (*adopt(self.batch, self.columns, None, out), infos)
                return self.owner().finish_step(out)
            except (LaneError, InfosDiffer):
                raise
            except BaseException:
                self.owner().tear()
                raise
        finally:
            self.batch.calls.end()

    cdef bint step_all(self) except -1:
        """Asks all workers for a step, and waits for them. Returns True if all have done it and have nothing to say;
        else there are letters for the owner, or some will come."""
        cdef int64_t[LETTER_WORDS] letter
        cdef int k
        cdef bint plain = True
        for k in range(self.mail.rings.count):
            self.mail.write(k, STEP_LETTER, 0, 0, 1)
        self.mail.wait(_has_all_mail, _LONGEST)
        for k in range(self.mail.rings.count):
            if not self.mail.receive(k, letter):
                plain = False
            elif not letter[2]:
                if letter[3]:
                    self.numbers.mark(k, -1, letter[3])
            else:
                self.letters.append((k, letter[0], letter[1], letter[2], letter[3]))
                plain = False
        return plain

    cdef object infos(self, cnp.ndarray lanes):
        """The infos of lanes (None: of all) that have said numbers alone; None: see `Numbers.take`."""
        if self.apart:
            return self.owner().gathered({}, (self.numbers.notes(lanes), []), lanes)
        infos = self.numbers.take(lanes)
        if infos is not None and lanes is not None:
            infos["env_id"] = lanes
        return infos

    def send(self, actions, env_id):
        """See `Backend.send`; holds the batch."""
        cdef cnp.ndarray lanes
        cdef const int64_t *numbers
        cdef int64_t k
        self.batch.calls.begin()
        try:
            if not self.plain():
                return self.owner().send(actions, env_id)
            lanes = self.flight.lanes(env_id, "nothing was sent")
            take_orders(self.batch, actions, lanes, self.targets, None)
            numbers = <const int64_t *>cnp.PyArray_DATA(lanes)
            self.flight.depart(lanes)
            for k in range(cnp.PyArray_DIM(lanes, 0)):
                self.mail.write(self.worker_of[numbers[k]], LANE_LETTER, numbers[k], 0, 1)
            if self.watched:
                self.owner().expect()
            return lanes
        finally:
            self.batch.calls.end()

    def recv(self, timeout):
        """See `Backend.recv`; holds the batch."""
        cdef cnp.ndarray lanes
        cdef double end = 0.0 if timeout is None else 1e-9 * be_now_ns() + timeout
        self.batch.calls.begin()
        try:
            if not self.plain() or not self.hear(timeout is not None, end):
                return self.owner().recv(timeout, None if timeout is None else end - 1e-9 * be_now_ns())
            PyErr_CheckSignals()  # a handler must not raise after the batch has been handed over
            try:
                lanes = self.flight.upcoming()
                infos = self.infos(lanes)
                if infos is not None:
                    result = (*adopt(self.batch, self.columns, lanes, None), infos)
                    self.flight.receive(lanes)
                    if self.watched:
                        self.owner().expect()
                    return result
            except BaseException:
                self.owner().tear()
                raise
            return self.owner().recv(timeout, None if timeout is None else end - 1e-9 * be_now_ns())
        finally:
            self.batch.calls.end()

    cdef bint hear(self, bint limited, double end) except -1:
        """Waits until as many lanes have been reported as are received at a time. False if something has come, or will
        not come, of which the owner has to know."""
        cdef int64_t[LETTER_WORDS] letter
        cdef double longest
        cdef bint heard
        cdef int k
        if <int64_t>be_now_ns() - self.looked > SLICE_NS:
            self.looked = <int64_t>be_now_ns()
            return False  # the owner looks after workers, which may have died while others keep sending letters
        while not self.flight.complete:
            if self.flight.count < self.flight.rows:
                return False
            longest = max(0.0, min(_LONGEST, end - 1e-9 * be_now_ns())) if limited else _LONGEST
            self.mail.wait(_has_mail, longest)
            PyErr_CheckSignals()
            heard = False
            for k in range(self.mail.rings.count):
                while self.mail.receive(k, letter):
                    heard = True
                    # The owner reads a letter before those that came after it, which may be about what it announces.
                    if not self.letters and letter[0] == LANE_LETTER and not letter[2] and self.flight.owes(letter[1]):
                        self.flight.land(letter[1])
                        if letter[3]:
                            self.numbers.mark(k, letter[1], letter[3])
                    else:
                        self.letters.append((k, letter[0], letter[1], letter[2], letter[3]))
            if not heard or self.letters:
                return False
        return True


def serve(Mail mail, int worker, Batch batch, PythonLanes lanes, NumberWriter numbers, tuple whole, list each,
          int64_t first, bint plain, double seconds):
    """What a worker does: takes letters, and does steps whose envs have nothing to say beside numbers.

    Args:
        whole: (actions, out) of a step of all its lanes; each: (actions, lanes, out) of a step of each lane.
        first: the number of its first lane.
        plain: whether numbers can be all that there is to say.
        seconds: how long it waits for a letter.

    Returns:
        None: no letter has come. Else its (verb, lane, more), and None, or what the step that it asks for has returned
        or raised, for others to report. A failure of a lane's env, or one of our own, is raised nowhere else.
    """
    cdef int64_t[LETTER_WORDS] letter
    cdef int64_t used, row
    cdef bint all_lanes
    while True:
        if not mail.next_letter(worker, seconds, letter):
            return None
        if not plain or letter[2] or not (letter[0] == STEP_LETTER or letter[0] == LANE_LETTER):
            return (letter[0], letter[1], letter[2]), None
        all_lanes = letter[0] == STEP_LETTER or batch.num_lanes == 1
        row, used = 0 if all_lanes else letter[1] - first, 0
        try:
            result = batch.step(*whole) if all_lanes else batch.step_some(*each[row])
            if batch.failed is not None:
                result = batch.deliver(result)
            # Beside numbers, the infos of a plain step have "env_id" alone.
            if lanes.interrupt is not None or len(<dict>result[4]) > (0 if all_lanes else 1):
                return (letter[0], letter[1], letter[2]), result
            if lanes.touched:
                used = numbers.take(lanes, row, batch.num_lanes if all_lanes else 1)
                if used == NOT_PLAIN:
                    return (letter[0], letter[1], letter[2]), result
        except Exception as problem:
            return (letter[0], letter[1], letter[2]), problem
        mail.reply(worker, letter[0], letter[1] if letter[0] == LANE_LETTER else first, 0, used)
