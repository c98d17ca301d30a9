# Lanes that are objects of Python: an env type whose functions call their methods.

cdef extern from "Python.h":
    int Py_EnterRecursiveCall(const char *where) except *
    void Py_LeaveRecursiveCall()


class _Interrupted(Exception):
    """In place of what a lane's env would have done in a call that another lane's KeyboardInterrupt has ended."""


class InfosDiffer(ValueError):
    """What lanes' envs have said cannot be put together. They have done the call, and can go on."""


class NoObservation:
    """In place of the observation of a lane that has none, because its env has failed: an env may return anything, None
    included. It is the class itself, which pickles and copies leave as it is."""


@cython.final
cdef class LanePart:
    """A part of an observation or an action: where it is, and the port that it goes through."""

    cdef readonly tuple path  # keys and places on the way to it; () for the whole; None: nothing goes through it
    cdef readonly tuple shape
    cdef object array_type  # the dtype
    cdef int type_number, port
    cdef size_t bytes
    cdef cnp.ndarray sample  # of no dimensions, says how a scalar is made

    def __init__(self, tuple path, object dtype, tuple shape, int port):
        self.path, self.shape, self.port = path, shape, port
        self.array_type = np.dtype(dtype)
        self.type_number = self.array_type.num
        self.bytes = np.prod(shape, dtype=np.int64) * self.array_type.itemsize
        self.sample = np.zeros((), self.array_type)

    cdef int write(self, void *rows, int64_t row, object value, str what) except -1:
        """Copies a value of this part into its row."""
        cdef char *target = <char *>rows + row * self.bytes
        cdef cnp.ndarray array
        if self.path is None:
            memset(target, 0, self.bytes)
            return 0
        if self.path:
            value = part_of(value, self.path, what)
        if (type(value) is cnp.ndarray and cnp.PyArray_TYPE(<cnp.ndarray>value) == self.type_number
                and cnp.PyArray_ISCARRAY_RO(<cnp.ndarray>value) and (<object>value).shape == self.shape):
            memcpy(target, cnp.PyArray_DATA(<cnp.ndarray>value), self.bytes)
            return 0
        if self.type_number == cnp.NPY_INT64 and type(value) is int and not self.shape:
            (<int64_t *>target)[0] = value
            return 0
        given = np.asarray(value)
        check_array(given, self.shape, self.array_type, what + _place(self.path))
        array = np.empty(self.shape, self.array_type)
        np.copyto(array, given, casting="same_kind")
        memcpy(target, cnp.PyArray_DATA(array), self.bytes)
        return 0

    cdef object read(self, const void *rows, int64_t row):
        """A copy of this part's row."""
        cdef char *source = <char *>rows + row * self.bytes
        cdef cnp.ndarray array
        if not self.shape:
            return cnp.PyArray_ToScalar(source, self.sample)
        array = np.empty(self.shape, self.array_type)
        memcpy(cnp.PyArray_DATA(array), source, self.bytes)
        return array


cpdef object part_of(object value, tuple path, str what):
    """The part of an observation to which a path leads.

    Raises:
        ValueError: there is none.
    """
    for depth, key in enumerate(path):
        try:
            value = value[key]
        except (LookupError, TypeError) as problem:
            raise ValueError(f"{what}{_place(path[:depth])} is of type {type(value).__name__} and has no part {key!r}, "
                             "but the env's space has: correct the env or its space") from problem
    return value


def check_array(given, tuple shape, dtype, str what):
    """Raises ValueError if an array that an env has returned is not what its space says."""
    if given.shape != shape or not np.can_cast(given.dtype, dtype, "same_kind"):
        raise ValueError(f"{what} is of shape {given.shape} and dtype {given.dtype}, but the env's space says {shape} "
                         f"and {dtype}: correct the env or its space")


cdef str _place(tuple path):
    return "".join([f"[{key!r}]" for key in path])


@cython.final
cdef class PythonLanes(MadeType):
    """Environments with Gymnasium's API as the lanes of a batch. Make a Batch of the env type `name` with
    `source` as its engine.

    Args:
        name: ends with a number that no other lanes have. In snapshots it goes without.
        observations, actions: rows (path, port's name, kind, dtype, shape, low, high), where low and high have a number
            per value, or one for all of them.
        num_lanes: how many there are.
        build_action: makes the action of a lane from the list of its parts; None: the only part is the action.
        objects_of: a function (observation, how messages call it) that returns its parts that go through no port, as a
            tuple; None: there are none.

    Attributes:
        envs: a list of one env per lane.
        orders: per lane, (seed, options) for a reset that a user has asked for, or None; it is used once.
        agenda, planned: the Agenda that lanes follow, and (seed, options) for each of its entries; or None.
        renew: a function that makes a lane's env anew, called before the reset that follows its failure; None: that env
            is reset as it is.
        interrupt: a KeyboardInterrupt or the like that an env has raised; until it is None again, lanes do nothing.
        keeps_final: whether to keep last observations of episodes, for `final_of_lane`.
        actions: per lane, the action to take in place of what comes through ports; None: all of it comes that way.
    """

    cdef list observations, taken
    cdef LanePart only_action, only_observation
    cdef object build_action, objects_of
    cdef public list envs, orders, actions, planned
    cdef public Agenda agenda
    cdef public object interrupt, renew
    cdef public bint keeps_final
    cdef list last, final, infos, final_infos, objects, problems
    cdef list stepped  # whether a lane's step came last, not its reset
    cdef set touched  # lanes that have something for `take`
    cdef readonly set broken  # lanes whose env is to be made anew

    def __init__(self, str name, list observations, list actions, int64_t num_lanes, build_action=None,
                 objects_of=None):
        cdef int port = 0, k
        if len(observations) + len(actions) > BE_MAX_PORTS:
            raise ValueError(f"{len(observations) + len(actions)} parts, but an env type has at most {BE_MAX_PORTS}")
        self._begin(name)
        self.observations, self.taken = [], []
        for role, rows, parts in ((BE_OBSERVATION, observations, self.observations), (BE_ACTION, actions, self.taken)):
            for path, text, kind, dtype, shape, low, high in rows:
                self._add_port(port, role, text, kind, np.dtype(dtype), shape, low, high)
                parts.append(LanePart(path, dtype, shape, port))
                port += 1
        self.only_observation = self.observations[0] if observations[0][0] == () else None
        self.only_action = self.taken[0] if build_action is None else None
        self.build_action, self.objects_of = build_action, objects_of
        self.type.frames_per_second = 30
        self.type.prepare, self.type.open = _prepare_python, _open_python
        self.type.reset, self.type.observe, self.type.step = _reset_python, _observe_python, _step_python
        self.envs, self.actions = [], None
        self.last, self.final = [[NoObservation] * num_lanes for _ in range(2)]
        self.infos, self.final_infos, self.objects = [[None] * num_lanes for _ in range(3)]
        self.problems, self.orders, self.stepped = [None] * num_lanes, [None] * num_lanes, [False] * num_lanes
        self.touched, self.broken = set(), set()

    @property
    def source(self):
        """What the batch's open() gets. It keeps these lanes."""
        cdef Engine engine = Engine()
        engine.given = <void *>self
        engine.kept.append(self)
        return engine

    def take(self, lanes):
        """What lanes have said beside numbers since the last call: None, or lists of (row, info) and (row, final info),
        in the order of rows. lanes: of each row; None: row i is lane i."""
        if not self.touched:
            return None
        infos, finals = [], []
        for row, lane in [(lane, lane) for lane in sorted(self.touched)] if lanes is None else enumerate(lanes):
            if lane in self.touched:
                if self.infos[lane]:
                    infos.append((row, self.infos[lane]))
                if self.final_infos[lane]:
                    finals.append((row, self.final_infos[lane]))
                self.infos[lane] = self.final_infos[lane] = None
                self.touched.discard(lane)
        return infos, finals

    def take_problem(self, int64_t lane):
        """The exception that a lane's env has raised."""
        problem, self.problems[lane] = self.problems[lane], None
        return problem

    def held(self, int64_t lane):
        """What a lane has beside its env, for `hold` of this lane or another."""
        return self.last[lane], self.stepped[lane], lane in self.broken

    def hold(self, int64_t lane, object held):
        """Lets a lane have what another env, or another state of its env, has come with."""
        self.last[lane], self.stepped[lane], broken = held
        self.broken.discard(lane)
        if broken and self.renew is not None:
            self.broken.add(lane)
        self.infos[lane] = self.final_infos[lane] = self.orders[lane] = self.objects[lane] = None
        self.final[lane] = NoObservation
        self.touched.discard(lane)
        if self.objects_of is not None and self.last[lane] is not NoObservation:
            self.objects[lane] = self.objects_of(self.last[lane], "a snapshot's observation")

    def objects_of_lane(self, int64_t lane):
        """The parts of a lane's present observation that go through no port; None: its env has failed."""
        return self.objects[lane]

    def final_of_lane(self, int64_t lane):
        """In autoreset mode SameStep, the last observation of the episode that has just ended, as the env gave it;
        `NoObservation`: its env has failed."""
        return self.final[lane]

    cdef int fail(self, int64_t lane, object problem, be_error *error) noexcept:
        cdef bytes told
        self.last[lane], self.objects[lane] = NoObservation, None
        self.problems[lane] = problem
        if self.renew is not None and not isinstance(problem, _Interrupted):
            self.broken.add(lane)
        if not isinstance(problem, Exception):  # Ctrl-C, or the end of the program
            self.interrupt = problem
        try:
            text = f"{type(problem).__name__}: {problem}"
        except Exception:  # the user's class may have a __str__ that fails
            text = type(problem).__name__
        told = text.encode(errors="replace")[:400]
        return be_fail(error, BE_ERROR_ENGINE, lane, b"%s", <const char *>told)

    cdef int show(self, int64_t lane, const be_rows *rows, object observation, str what) except -1:
        """Writes an observation."""
        cdef int64_t row = lane - rows.first
        cdef LanePart part = self.only_observation
        if observation is NoObservation:
            for part in self.observations:
                memset(<char *>rows.port[part.port] + row * part.bytes, 0, part.bytes)
        elif part is not None:
            part.write(rows.port[part.port], row, observation, what)
        else:
            for part in self.observations:
                part.write(rows.port[part.port], row, observation, what)
        return 0

    cdef int note(self, int64_t lane, object observation, object info, str what) except -1:
        """Keeps what does not go through ports."""
        if not isinstance(info, dict):
            raise TypeError(f"{what}'s info is of type {type(info).__name__}, but must be a dict: correct the env")
        self.last[lane] = observation
        self.infos[lane] = own_info(info) if info else info
        if self.objects_of is not None:
            self.objects[lane] = self.objects_of(observation, f"{what}'s observation")
        if info:
            self.touched.add(lane)
        return 0

    def actions_of(self, lanes, list columns):
        """The actions that the envs of these lanes get. columns: for each part, the values of all lanes."""
        cdef be_rows rows
        cdef LanePart part
        rows.first = 0
        for part, column in zip(self.taken, columns, strict=True):
            rows.port[part.port] = cnp.PyArray_DATA(<cnp.ndarray?>column)
        return [self.action(lane, &rows) for lane in lanes]

    cdef object action(self, int64_t lane, const be_rows *rows):
        """What the env of a lane gets."""
        cdef int64_t row = lane - rows.first
        cdef LanePart part = self.only_action
        if self.actions is not None:
            return self.actions[lane]
        if part is not None:
            return part.read(rows.port[part.port], row)
        return self.build_action([(<LanePart>one).read(rows.port[(<LanePart>one).port], row) for one in self.taken])

    cdef int step(self, int64_t lane, const be_rows *rows) except -1:
        cdef int64_t row = lane - rows.first
        self.final[lane] = NoObservation
        observation, reward, terminated, truncated, info = check_result(
            "step()", self.envs[lane].step(self.action(lane, rows)))
        self.show(lane, rows, observation, "step()'s observation")
        rows.reward[row] = reward if type(reward) is float else _reward(reward)
        rows.terminated[row] = terminated if type(terminated) is bool else _flag("terminated", terminated)
        rows.truncated[row] = truncated if type(truncated) is bool else _flag("truncated", truncated)
        self.note(lane, observation, info, "step()")
        self.stepped[lane] = True
        return 0

    cdef int reset(self, int64_t lane, const be_rows *rows) except -1:
        order = self.order(lane, BE_NO_ENTRY if self.agenda is None else self.agenda.c.places[lane].entry)
        self.orders[lane] = None
        if lane in self.broken:
            self.renew(lane)
            self.broken.discard(lane)
        if self.stepped[lane]:  # in autoreset mode SameStep this is the same call
            self.final_infos[lane] = self.infos[lane]
            if self.keeps_final:
                self.final[lane] = copy.deepcopy(self.last[lane])
            self.stepped[lane] = False
        returned = self.envs[lane].reset() if order is None else self.envs[lane].reset(seed=order[0], options=order[1])
        observation, info = check_result("reset()", returned)
        self.show(lane, rows, observation, "reset()'s observation")
        self.note(lane, observation, info, "reset()")
        return 0

    cpdef object order(self, int64_t lane, int64_t entry):
        """(seed, options) for the next reset of a lane, or None; entry: of the agenda, for its episode."""
        order = self.orders[lane]
        if entry < 0 or self.planned is None:
            return order
        seed, options = self.planned[entry]
        if order is not None:  # what a call says comes first, but for seeds that nobody has asked for
            seed = order[0] if seed is None else seed
            options = order[1] or options
        return seed, (None if options is None else copy.deepcopy(options))  # envs may change theirs


cpdef object own_info(object info):
    """A copy of what an env has said, which may be the same dict, or have the same arrays, in its next call, or in a
    call of another env that shares them. Objects of other kinds than these, lists, tuples and sets are not copied."""
    return _own(info, False) if isinstance(info, dict) else info


def own_value(object value):
    """A copy of a part of an observation or an action. What cannot be copied stays as it is."""
    return _own(value, True)


cdef object _own(object value, bint all_kinds):
    """A copy. all_kinds: of objects of any kind, else only of arrays, dicts, lists, tuples and sets."""
    cdef dict copied
    kind = type(value)
    if value is None or kind is str or kind is float or kind is int or kind is bool or isinstance(value, np.generic):
        return value
    if isinstance(value, cnp.ndarray) and not (all_kinds and value.dtype.hasobject):
        return value.copy()
    if kind is set:
        return value.copy()
    if kind is list or isinstance(value, tuple) or kind is dict or (isinstance(value, dict) and not all_kinds):
        Py_EnterRecursiveCall(b" while copying what an env has said")
        try:
            if kind is list:
                return [_own(one, all_kinds) for one in value]
            if isinstance(value, dict):
                copied = (<dict>value).copy()
                for key, one in (<dict>value).items():
                    copied[key] = _own(one, all_kinds)
                return copied
            if kind is tuple:
                return tuple([_own(one, all_kinds) for one in value])
            if hasattr(value, "_fields"):  # a named tuple, such as that of a Graph
                return kind(*[_own(one, all_kinds) for one in value])
        finally:
            Py_LeaveRecursiveCall()
    if all_kinds:
        try:
            return copy.deepcopy(value)
        except Exception:  # there may be anything in a space of the user's own
            pass
    return value


cdef double _reward(object given) except? -1:
    """A reward that is no float."""
    try:
        return given
    except (TypeError, ValueError) as problem:
        raise TypeError(f"step()'s reward is {_brief(given)}, but must be a number: correct the env") from problem


cdef bint _flag(str name, object given) except -1:
    """One of the two that say that an episode has ended, which is no bool."""
    try:
        return bool(given)
    except (TypeError, ValueError) as problem:
        raise TypeError(f"step()'s {name} is {_brief(given)}, but must be True or False: correct the env") from problem


cdef str _brief(object given):
    """What messages say of a wrong value."""
    if isinstance(given, cnp.ndarray):
        return f"an array of shape {given.shape} and dtype {given.dtype}"
    return f"{reprlib.repr(given)}, of type {type(given).__name__}"


@cython.final
cdef class Answers:
    """Stands for an env whose methods have been called elsewhere, in PythonLanes: says what they have returned. No
    Python code runs for it, so no signal handler can come between.

    Args:
        ask: a function (name of a method, arguments, keywords) for what has not been called.

    Attributes:
        known: [(name, exception or None, result)] of calls, in their order; an exception without a name is for any.
    """

    cdef public list known
    cdef object ask

    def __init__(self, ask):
        self.known, self.ask = [], ask

    def step(self, action):
        return self.take("step", (action,), {})

    def reset(self, **keywords):
        return self.take("reset", (), keywords)

    cdef object take(self, str name, tuple arguments, dict keywords):
        if not self.known or self.known[0][0] not in (name, ""):
            return self.ask(name, arguments, keywords)
        _, problem, result = self.known.pop(0)
        if problem is not None:
            raise problem
        return result


cdef dict _FORMS = {"reset()": (2, "(observation, info)"),
                    "step()": (5, "(observation, reward, terminated, truncated, info)")}


cpdef tuple check_result(str call, object returned):
    """What an env's "step()" or "reset()" has returned.

    Raises:
        TypeError: it has another form.
    """
    count, form = _FORMS[call]
    if isinstance(returned, tuple) and len(<tuple>returned) == count:
        return returned
    what = f"an object of type {type(returned).__name__}"
    if isinstance(returned, tuple):
        what = f"a tuple of {len(returned)}"
    if hasattr(returned, "__await__"):
        if hasattr(returned, "close"):
            returned.close()  # else Python would warn that it was never awaited
        raise TypeError(f"{call} returned {what}, which nobody awaits here: take workers='asyncio'")
    raise TypeError(f"{call} returned {what}, but must return {form}: correct the env")


cdef int _open_python(be_batch *batch, const void *engine, be_error *error) noexcept nogil:
    batch.engine = <void *>engine
    return BE_OK


cdef int _prepare_python(be_setup *setup, be_error *error) noexcept with gil:
    (<PythonLanes>setup.engine).bound(setup)
    return BE_OK


cdef int _reset_python(be_batch *batch, const int64_t *numbers, int64_t count, const be_rows *rows,
                       be_error *error) noexcept with gil:
    cdef PythonLanes lanes = <PythonLanes>batch.engine
    cdef int64_t k
    for k in range(count):
        try:
            if lanes.interrupt is not None:
                raise _Interrupted()
            lanes.reset(numbers[k], rows)
        except BaseException as problem:
            return lanes.fail(numbers[k], problem, error)
    return BE_OK


cdef int _observe_python(be_batch *batch, const int64_t *numbers, int64_t count, const be_rows *rows,
                         be_error *error) noexcept with gil:
    cdef PythonLanes lanes = <PythonLanes>batch.engine
    cdef int64_t k
    for k in range(count):
        try:
            lanes.show(numbers[k], rows, lanes.last[numbers[k]], "an observation")
        except BaseException as problem:
            return lanes.fail(numbers[k], problem, error)
    return BE_OK


cdef int _step_python(be_batch *batch, int64_t lane, int64_t end, const be_rows *rows,
                      be_error *error) noexcept with gil:
    cdef PythonLanes lanes = <PythonLanes>batch.engine
    try:
        if lanes.interrupt is not None:
            raise _Interrupted()
        lanes.step(lane, rows)
    except BaseException as problem:
        return lanes.fail(lane, problem, error)
    return BE_OK
