# One dict per row, for APIs that hand out a list of them at every step.

import numpy as np

cimport cython
cimport numpy as cnp
from cpython.dict cimport PyDict_CheckExact, PyDict_Next
from libc.math cimport floor

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
    cdef cnp.ndarray places = np.ascontiguousarray(lanes, np.int64)
    cdef cnp.ndarray terminations = np.ascontiguousarray(terminated, np.bool_)
    cdef cnp.ndarray truncations = np.ascontiguousarray(truncated, np.bool_)
    cdef cnp.ndarray returns = None, lengths = None
    cdef Py_ssize_t k, count = cnp.PyArray_SIZE(places), size = len(dicts)
    cdef int64_t lane
    cdef double total
    cdef dict end
    if cnp.PyArray_SIZE(terminations) != size or cnp.PyArray_SIZE(truncations) != size or len(rows) != count:
        raise ValueError(f"{size} dicts need {size} flags, and {count} lanes as many rows")
    if episodes is not None:
        returns = np.ascontiguousarray(episodes["r"], np.float64)
        lengths = np.ascontiguousarray(episodes["l"], np.int64)
        if cnp.PyArray_SIZE(returns) != size or cnp.PyArray_SIZE(lengths) != size:
            raise ValueError(f"{size} dicts need {size} returns and lengths")
    since = round(seconds, 6)
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
