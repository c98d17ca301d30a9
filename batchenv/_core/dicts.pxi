# What Stable-Baselines3 has in place of arrays of flags and infos: one dict per row in a list at every step.

_MAX_LISTS = 4  # that may be held by users at the same time before new ones are made at every step


@cython.final
cdef class OwnDicts:
    """Lists of `count` dicts {key: value}, each of which belongs to whoever takes the list.

    A dict is handed out again only when nobody else refers to it and it is as it was made. So users may change and keep
    what they got, as if dicts were made anew every time, which would take several times as long.

    Args:
        count: dicts in a list.
        key, value: what each dict holds; cannot be changed themselves.
    """

    cdef Py_ssize_t count
    cdef object key, value
    cdef list lists

    def __init__(self, Py_ssize_t count, str key, value):
        self.count, self.key, self.value = count, key, value
        self.lists = []

    def take(self):
        """A list."""
        cdef list dicts
        cdef Py_ssize_t place
        for place in range(len(self.lists)):
            if be_unshared(PyList_GET_ITEM(self.lists, place)):
                dicts = self.lists[place]
                self.renew(dicts)
                return dicts
        dicts = [{self.key: self.value} for _ in range(self.count)]
        if len(self.lists) < _MAX_LISTS:
            self.lists.append(dicts)
        return dicts

    cdef int renew(self, list dicts) except -1:
        """Replaces what is not as it was."""
        cdef Py_ssize_t i
        cdef PyObject *item
        if len(dicts) != self.count:
            dicts[:] = [None] * self.count
        for i in range(self.count):
            item = PyList_GET_ITEM(dicts, i)
            if not (PyDict_CheckExact(<object>item) and self.is_new(item)):
                dicts[i] = {self.key: self.value}
        return 0

    cdef inline bint is_new(self, PyObject *item) noexcept:
        cdef Py_ssize_t place = 0
        cdef PyObject *key
        cdef PyObject *value
        return (be_unshared(item) and len(<dict>item) == 1 and PyDict_Next(<object>item, &place, &key, &value)
                and key == <PyObject *>self.key and value == <PyObject *>self.value)


def dones_and_rewards(object terminated, object truncated, object reward):
    """(`terminated | truncated`, rewards as float32). NumPy would take as long for these as a step of several lanes.

    Args:
        terminated, truncated: bool (n,).
        reward: float64 or float32 (n,); float32 is returned as it is.
    """
    cdef cnp.ndarray dones, rewards
    cdef const uint8_t *first
    cdef const uint8_t *second
    cdef uint8_t *done
    cdef cnp.npy_intp i, n = len(terminated)
    if not (_is_a_column(terminated, cnp.NPY_BOOL, n) and _is_a_column(truncated, cnp.NPY_BOOL, n)):
        return terminated | truncated, reward.astype(np.float32, copy=False)
    rewards = cnp.PyArray_EMPTY(1, &n, cnp.NPY_FLOAT32, 0)
    if not _narrow(reward, rewards):
        rewards = reward.astype(np.float32, copy=False)
    dones = cnp.PyArray_EMPTY(1, &n, cnp.NPY_BOOL, 0)
    first = <const uint8_t *>cnp.PyArray_DATA(<cnp.ndarray>terminated)
    second = <const uint8_t *>cnp.PyArray_DATA(<cnp.ndarray>truncated)
    done = <uint8_t *>cnp.PyArray_DATA(dones)
    for i in range(n):
        done[i] = first[i] | second[i]
    return dones, rewards


def put_ends(list dicts, object lanes, object rows, object terminated, object truncated, dict episodes, double seconds):
    """Puts a dict in the form of Stable-Baselines3 in the place of each lane whose episode has ended, with
    "TimeLimit.truncated", "terminal_observation" and, if the episode is a whole game, "episode". In Python this would
    take longer than to step a thousand lanes.

    Args:
        dicts: one per lane.
        lanes: int64 (n,), of the episodes that have ended.
        rows: (n, ...), or a sequence of n: their last observations.
        terminated, truncated: bool (num_envs,).
        episodes: "r" float64 and "l" int64, (num_envs,): returns and lengths; length 0: the game goes on. None: nothing
            is said of episodes.
        seconds: the "t" of "episode".
    """
    cdef Py_ssize_t k, count = len(lanes), size = len(dicts)
    cdef cnp.ndarray places = _column_of(lanes, cnp.NPY_INT64, count)
    cdef cnp.ndarray terminations = _column_of(terminated, cnp.NPY_BOOL, size)
    cdef cnp.ndarray truncations = _column_of(truncated, cnp.NPY_BOOL, size)
    cdef cnp.ndarray returns = None, lengths = None
    cdef int64_t lane
    cdef double total
    cdef dict end
    if cnp.PyArray_SIZE(terminations) != size or cnp.PyArray_SIZE(truncations) != size or len(rows) != count:
        raise ValueError(f"{size} dicts need {size} flags, and {count} lanes as many rows")
    if episodes is not None:
        returns = _column_of(episodes["r"], cnp.NPY_FLOAT64, size)
        lengths = _column_of(episodes["l"], cnp.NPY_INT64, size)
        if cnp.PyArray_SIZE(returns) != size or cnp.PyArray_SIZE(lengths) != size:
            raise ValueError(f"{size} dicts need {size} returns and lengths")
    since = rint(seconds * 1e6) / 1e6  # to six decimals, without the long way of Python's `round`
    for k in range(count):
        lane = (<const int64_t *>cnp.PyArray_DATA(places))[k]
        if not 0 <= lane < size:
            raise ValueError(f"lane {lane} must be in 0..{size - 1}")
        end = {
            "TimeLimit.truncated": (<const uint8_t *>cnp.PyArray_DATA(truncations))[lane]
            > (<const uint8_t *>cnp.PyArray_DATA(terminations))[lane],
            "terminal_observation": rows[k],
        }
        if lengths is not None and (<const int64_t *>cnp.PyArray_DATA(lengths))[lane]:
            total = (<const double *>cnp.PyArray_DATA(returns))[lane]
            end["episode"] = {
                "r": total if total == floor(total) else round(total, 6),  # rounding takes longer than all the rest
                "l": (<const int64_t *>cnp.PyArray_DATA(lengths))[lane],
                "t": since,
            }
        dicts[lane] = end


cdef cnp.ndarray _column_of(object array, int type_number, int64_t rows):
    """It as it is or, if it is no column, as a contiguous array."""
    if _is_a_column(array, type_number, rows):
        return array
    return np.ascontiguousarray(array, cnp.PyArray_DescrFromType(type_number))
