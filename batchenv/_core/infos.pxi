# What a step says beside its four arrays: where it lies, and how it comes in autoreset mode SameStep.

_LATER = type("Later", (), {"__repr__": lambda self: "<made when asked for>"})()  # until final_obs is made
_FINAL = "final_obs"


cdef int _check_paths(str type_name, list rows) except -1:
    """ValueError where two infos have one name, one is a dict in which another one lies, or the mask of another one."""
    taken, dicts = set(), set()
    for row in rows:
        if row["name"] in taken:
            raise ValueError(f"type {type_name}: two ports are infos of the name {row['name']!r}: give them a name "
                             "each")
        taken.add(row["name"])
        dicts |= {"/".join(row["groups"][:depth + 1]) for depth in range(len(row["groups"]))}
    for row in rows:
        path = [*row["groups"], row["key"]]
        for depth in range(len(path)):
            group, mask = "/".join(path[:depth + 1]), "/".join([*path[:depth], f"_{path[depth]}"])
            if group in taken and group != row["name"]:
                raise ValueError(f"type {type_name}: the info {group!r} is an array, so there can be no "
                                 f"{row['name']!r} in it: give one of them another name")
            if mask in taken or mask in dicts:
                raise ValueError(f"type {type_name}: {mask!r} is the mask of the info {group!r}, which says the lanes "
                                 "that have it, so no other info can have this name: give it another")
    return 0


cdef int _tell(dict info, dict row, object values, object mask) except -1:
    """Puts an info where its name says, with its mask (None: without). A dict on the way there has a mask too, of the
    lanes that have something in it."""
    cdef dict place = info
    for group in row["groups"]:
        if mask is not None:
            place[f"_{group}"] = place[f"_{group}"] | mask if group in place else mask.copy()
        place = place.setdefault(group, {})
    place[row["key"]] = values
    if mask is not None:
        place[row["mask"]] = mask
    return 0


@cython.final
cdef class Infos(dict):
    """The infos of a step in autoreset mode SameStep: a dict whose `final_obs` is made when it is first read.

    Gymnasium's `final_obs` has an object per finished lane. Making them takes longer than stepping thousands of lanes,
    and most learners join them into one array again. `final_rows` has the same rows in one array.

    Attributes:
        final_rows: (lanes, rows). lanes: int64 (n,), n >= 0, the numbers of the rows of this step whose episode ended;
            rows: (n, ...), their final observations.

    Copies and pickles are plain dicts, in which `final_obs` is an array as Gymnasium's.
    """

    cdef Layout layout
    cdef object lanes, rows  # None: no episode has ended
    cdef list more  # the other parts, if observations have several
    cdef int64_t count  # how many rows the step has

    @property
    def final_rows(self):
        if self.lanes is None:
            return np.empty(0, np.int64), _new_output(self.layout, FOR_STEP, 0).observed()
        return self.lanes, self.layout.present(_parts(self.layout, self.rows, self.more))

    cdef int make(self) except -1:
        """Puts `final_obs` in its place, unless it or something else is there."""
        cdef cnp.npy_intp[::1] index
        cdef object[::1] objects
        cdef Py_ssize_t i
        if self.lanes is None or PyDict_GetItem(self, _FINAL) != <PyObject *>_LATER:
            return 0
        final = np.empty(self.count, dtype=object)
        index, objects = self.lanes, final
        for i in range(index.shape[0]):
            objects[index[i]] = self.layout.present_row(
                _parts(self.layout, self.rows[i], [part[i] for part in self.more]))
        PyDict_SetItem(self, _FINAL, final)
        return 0

    def __getitem__(self, key):
        if isinstance(key, str) and key == _FINAL:
            self.make()
        return dict.__getitem__(self, key)

    def __iter__(self):  # with an __iter__ of its own, Python copies the dict by reading each value
        return dict.__iter__(self)

    def get(self, key, default=None):
        self.make()
        return dict.get(self, key, default)

    def setdefault(self, key, default=None):
        self.make()
        return dict.setdefault(self, key, default)

    def pop(self, *arguments):
        self.make()
        return dict.pop(self, *arguments)

    def popitem(self):
        self.make()
        return dict.popitem(self)

    def items(self):
        self.make()
        return dict.items(self)

    def values(self):
        self.make()
        return dict.values(self)

    def copy(self):
        return dict(self)

    def __or__(self, other):
        if not isinstance(self, dict) or not isinstance(other, dict):
            return NotImplemented
        return {**self, **other}

    def __ror__(self, other):
        return {**other, **self} if isinstance(other, dict) else NotImplemented

    def __eq__(self, other):
        return dict(self) == dict(other) if isinstance(other, dict) else NotImplemented

    def __ne__(self, other):
        return dict(self) != dict(other) if isinstance(other, dict) else NotImplemented

    def __repr__(self):
        return repr(dict(self))

    def __reduce__(self):
        return dict, (dict(self),)
