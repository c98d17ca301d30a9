# What the arrays of a batch are.

cdef enum:  # places of arrays in an Output; the first four are those of _NAMES, and the others follow these
    OBSERVATION, REWARD, TERMINATED, TRUNCATED
    RETURN, LENGTH, SECONDS  # of episodes, with statistics
    ENTRY  # of a plan, of which an episode was
    RAW, RAW_REWARD  # what the C side writes, where that is treated
    STARTED  # which rows are an episode's first, if some info asks
    LANES  # of rows in the order in which lanes got finished
    FAILED
    FINAL  # observations of lanes that have been reset in the same step; without, the batch has them
    NUM_NAMED
    MOST_ARRAYS = NUM_NAMED + 3 * BE_MAX_PORTS

cdef enum:  # kinds of Outputs
    FOR_STEP = 1  # of all lanes
    FOR_RESULTS = 2  # of some lanes, or of lanes in flight
    FOR_ROLLOUT = 4
    FOR_ALL = FOR_STEP | FOR_RESULTS | FOR_ROLLOUT

cdef struct ArrayForm:
    int kinds  # of the Outputs that have such an array
    bint handed  # to users; the others are 0 at first
    size_t member  # where be_rows has its address; 0: nowhere
    int type, ndim  # the dtype's number; dimensions of a row
    cnp.npy_intp dims[BE_MAX_DIMS + 1]  # frame_stack adds one

cdef be_rows _rows  # to look up where its members are

_NAMES = ("observations", "rewards", "terminations", "truncations")


@cython.final
cdef class Layout:
    """What the arrays of a batch are: their dtypes, and the shape of one lane's."""

    cdef int64_t num_lanes
    cdef object observation_dtype, kernel_dtype  # of what is handed out; of what the C side writes
    cdef object reward_dtype, stage  # a batchenv.normalize.Stage, or None
    cdef bint treats_observations, treats_rewards  # between the C side and the user
    cdef int port  # of the type, through which observations go; of several, the first
    cdef tuple observation_shape  # of one lane
    cdef ArrayForm forms[MOST_ARRAYS]
    cdef int num_forms
    cdef int first_more, first_final_more, first_info, first_final_info, first_mask  # places of several arrays
    cdef bint plain  # an observation is handed out as the one array that it is
    cdef int tuple_size  # parts of a Tuple space, which are columns of one array; 0: another space
    cdef bint whole_numbers  # a Discrete space's observations, which are ints in a lane of its own
    cdef object tree  # of an observation of several parts: see batchenv.spaces.nested; None: it is one array
    cdef list names, more  # the parts' names; all but the first: (port, dtype, shape of one lane)
    cdef int num_more
    cdef list texts  # of each part a TextSource, or None; None: no part has texts
    cdef list codes  # [(part, row of an info)] of those that have
    cdef bint again  # steps write into the same arrays again, whoever holds them
    cdef list infos  # and further rewards: rows of the type's table, with the dtypes and shapes that this batch has
    cdef int when[BE_MAX_PORTS]  # a be_when; of further rewards AS_REWARDS
    cdef bint nested[BE_MAX_PORTS]  # in a dict of infos
    cdef int info_ports[BE_MAX_PORTS]
    cdef int num_infos
    cdef bint says_episode  # some info has that name
    cdef bint partial_infos  # some rows of some info are left out
    cdef bint recording  # episode statistics
    cdef bint tells_entries  # of a plan, of episodes that end
    cdef object labels  # an array with one for each entry, and a last one for none; or None
    cdef bint goes_on  # games that last longer than an episode have theirs at their end
    cdef bint same_step
    cdef bint joined  # of several batches, so that steps, too, need room of their own for what is of episodes' ends

    cdef int start(self, const be_batch *batch, const be_transform *changes, bint same_step) except -1:
        cdef const be_space *space
        cdef int k
        rows = [row for row in _port_table(batch.type, (BE_OBSERVATION,))
                if be_space_row_size(&batch.space[<int>row["index"]]) > 0]
        self.port = rows[0]["index"]
        self.names = [row["name"] for row in rows]
        tree = _tree_of(batch.type, self.names)
        self.tree = None if tree == 0 else tree
        self.more = []
        for row in rows[1:]:
            k = row["index"]
            self.more.append((k, *_form(&batch.space[k])))
        space = &batch.space[self.port]
        shape = [space.shape[i] for i in range(space.ndim)]
        if changes.time_aware:
            shape = [be_frame_size(space, changes)]
        elif space.kind == BE_SPACE_TUPLE:
            self.tuple_size = space.shape[0]
        if changes.frame_stack:
            shape.insert(0, changes.frame_stack)
        self._start_texts(batch, rows)
        self.plain = self.tree is None and not self.tuple_size and self.texts is None
        self.num_lanes = batch.num_lanes
        self.kernel_dtype = _dtypes[<int>be_frame_dtype(space, changes)]
        self.observation_shape = tuple(shape)
        self.num_more = len(self.more)
        self.whole_numbers = space.kind == BE_SPACE_DISCRETE and not shape and not changes.convert
        self.recording = changes.record_statistics
        self._start_infos(batch)
        self.goes_on = batch.type.goes_on != NULL
        self.same_step = same_step
        self.set_stage(None, np.dtype(np.float64))
        return 0

    cdef int _start_texts(self, const be_batch *batch, list rows) except -1:
        cdef int k
        self.codes, sources = [], []
        for row in rows:
            k = row["index"]
            sources.append(_text_source(batch.type, &batch.type.ports[k], &batch.space[k]))
            if sources[-1] is not None:
                *groups, key = f"{row['name'] or 'text'}_code".split("/")
                self.codes.append((len(sources) - 1, {"name": "/".join([*groups, key]), "groups": groups, "key": key,
                                                      "mask": f"_{key}", "dtype": "int64",
                                                      "shape": _form(&batch.space[k])[1]}))
        self.texts = sources if self.codes else None
        return 0

    cdef int _start_infos(self, const be_batch *batch) except -1:
        cdef const be_port *port
        cdef int k
        rows = _port_table(batch.type, _TOLD)
        _check_paths(batch.type.name.decode(), [*rows, *[row for _, row in self.codes]])
        self.infos = []
        for row in rows:
            port = &batch.type.ports[<int>row["index"]]
            row["dtype"], row["shape"] = _form(&batch.space[<int>row["index"]])
            if 0 in row["shape"]:
                continue  # prepare() has left it out
            self.says_episode |= (row["groups"] or [row["key"]])[0] in ("episode", "_episode")
            if self.recording and self.says_episode:
                raise ValueError(f"record_episode_statistics puts the statistics into infos['episode'], and type "
                                 f"{batch.type.name.decode()} has the info {row['name']!r} of its own (row "
                                 f"{row['index']} of .ports): give that another name, or leave "
                                 "record_episode_statistics out")
            k = len(self.infos)
            self.infos.append(row)
            self.info_ports[k] = row["index"]
            self.nested[k] = bool(row["groups"])
            self.when[k] = AS_REWARDS if port.role == BE_REWARD else <int>port.when
            self.partial_infos |= self.when[k] == BE_IN_STEPS or self.when[k] == BE_WHERE_NOT_0
        self.num_infos = len(self.infos)
        return 0

    cdef int set_stage(self, object stage, object reward_dtype) except -1:
        """What observations and rewards go through after the C side, or None. Before any array is made."""
        self.stage = stage
        self.treats_observations = stage is not None and stage.observation_dtype is not None
        self.observation_dtype = stage.observation_dtype if self.treats_observations else self.kernel_dtype
        self.reward_dtype = reward_dtype
        self.treats_rewards = reward_dtype.num != cnp.NPY_FLOAT64 or (stage is not None and stage.rewards is not None)
        self._list_arrays()
        return 0

    cdef int set_plan(self, bint tells_entries, object labels) except -1:
        """Sets what infos say of a plan. Outputs that were made before must not be used any more."""
        self.tells_entries, self.labels = tells_entries, labels
        self._list_arrays()
        return 0

    cdef int _list_arrays(self) except -1:
        """Fills `forms`."""
        cdef void *observed = &_rows.port[self.port]
        cdef int raw = FOR_ALL if self.treats_observations else 0, raw_reward = FOR_ALL if self.treats_rewards else 0
        cdef int recorded = FOR_ALL if self.recording else 0
        cdef int finals = 0
        if self.same_step:
            finals = FOR_ALL if self.joined else FOR_RESULTS | FOR_ROLLOUT
        self._form(OBSERVATION, FOR_ALL, NULL if raw else observed, self.observation_dtype, self.observation_shape)
        self._form(REWARD, FOR_ALL, NULL if raw_reward else <void *>&_rows.reward, self.reward_dtype)
        self._form(TERMINATED, FOR_ALL, &_rows.terminated, "bool")
        self._form(TRUNCATED, FOR_ALL, &_rows.truncated, "bool")
        self._form(RETURN, recorded, &_rows.episode_return, "float64")
        self._form(LENGTH, recorded, &_rows.episode_length, "int64")
        self._form(SECONDS, recorded, &_rows.episode_seconds, "float64")
        self._form(ENTRY, FOR_ALL if self.tells_entries else 0, &_rows.episode_entry, "int64")
        self._form(LANES, FOR_RESULTS, &_rows.lane, "int64")
        self._form(FAILED, FOR_RESULTS, &_rows.failed, "uint8", (), False)
        self._form(STARTED, FOR_RESULTS | (FOR_STEP if self.partial_infos else 0), &_rows.started, "uint8", (), False)
        self._form(RAW, raw, observed, self.kernel_dtype, self.observation_shape, False)
        self._form(RAW_REWARD, raw_reward, &_rows.reward, "float64", (), False)
        self._form(FINAL, finals, &_rows.final[self.port], self.kernel_dtype, self.observation_shape, False)
        self._list_many(finals)
        return 0

    cdef int _list_many(self, int finals) except -1:
        cdef int k, port
        self.first_more = NUM_NAMED
        self.first_final_more = self.first_more + self.num_more
        self.first_info = self.first_final_more + self.num_more
        self.first_final_info = self.first_info + self.num_infos
        self.first_mask = self.first_final_info + self.num_infos
        self.num_forms = self.first_mask + self.num_infos
        for k, (port, dtype, shape) in enumerate(self.more):
            self._form(self.first_more + k, FOR_ALL, &_rows.port[port], dtype, shape)
            self._form(self.first_final_more + k, finals, &_rows.final[port], dtype, shape, False)
        for k, row in enumerate(self.infos):
            port, dtype, shape = self.info_ports[k], row["dtype"], row["shape"]
            self._form(self.first_info + k, FOR_ALL, &_rows.port[port], dtype, shape)
            ends = 0 if self.when[k] == AS_REWARDS else finals  # the step's rewards are the last ones
            self._form(self.first_final_info + k, ends, &_rows.final[port], dtype, shape, False)
            self._form(self.first_mask + k, FOR_STEP | FOR_RESULTS, NULL, "bool")
        return 0

    cdef int _form(self, int place, int kinds, void *member, dtype, tuple shape=(), bint handed=True) except -1:
        """member: of `_rows`; NULL: none."""
        cdef ArrayForm *form = &self.forms[place]
        cdef int k
        form.kinds, form.handed, form.type, form.ndim = kinds, handed, np.dtype(dtype).num, len(shape)
        form.member = 0 if member == NULL else <char *>member - <char *>&_rows
        for k in range(form.ndim):
            form.dims[k] = shape[k]
        return 0

    cdef object present(self, object observation):
        """Observations as the space says. observation: an array, or the list of a Dict's or Tuple's parts; of a Tuple
        that is one array, the columns are the parts. Arrays of codes become texts that hold them."""
        if type(observation) is list:
            if self.texts is not None:
                observation = [part if source is None else Texts(part, source)
                               for part, source in zip(observation, self.texts, strict=True)]
            return nested.build(self.tree, observation)
        if self.texts is not None:
            return Texts(observation, self.texts[0])
        if self.tuple_size:
            return tuple([observation[..., j] for j in range(self.tuple_size)])
        return observation

    cdef object present_row(self, object row):
        """One lane's observation as Gymnasium's single env returns it; `row` as `present` takes arrays."""
        if type(row) is list:
            if self.texts is not None:
                row = [part if source is None else (<TextSource>source).text(part)
                       for part, source in zip(row, self.texts, strict=True)]
            return nested.build(self.tree, [part if type(part) is str or part.ndim else part.item() for part in row])
        if self.texts is not None:
            return (<TextSource>self.texts[0]).text(row)
        if self.tuple_size:
            return self.present(row) if row.ndim > 1 else tuple(row.tolist())
        return int(row) if self.whole_numbers else row

    cdef tuple check_out(self, object out, list read, tuple rows):
        """`out` as a tuple of arrays; TypeError or ValueError unless it has four that can be written into, None in any
        place. read: the arrays that actions are read from. rows: the first axes, (lanes,) or (steps, lanes)."""
        cdef cnp.ndarray array
        cdef int i
        if not isinstance(out, (tuple, list)) or len(out) != 4:
            what = f"a {type(out).__name__} of {len(out)}" if isinstance(out, (tuple, list)) else repr(out)
            raise TypeError(f"out is {what}, but must be a tuple of four arrays, or None for one of them: "
                            "(observations, rewards, terminations, truncations)")
        out = tuple(out)  # a list's class may be the user's, and give others the second time
        wanted = [(_NAMES[0], self.observation_dtype, (*rows, *self.observation_shape))]
        wanted += [(f"{_NAMES[0]}[{name!r}]", own, (*rows, *shape))
                   for name, (_, own, shape) in zip(self.names[1:], self.more, strict=True)]
        for i in range(1, 4):
            wanted.append((_NAMES[i], self.reward_dtype if i == 1 else np.dtype(np.bool_), rows))
        given_parts = [out[0]]
        if self.tree is not None:
            wanted[0] = (f"{_NAMES[0]}[{self.names[0]!r}]", *wanted[0][1:])
            given_parts = [None] * len(self.names)
            if out[0] is not None:
                given_parts = nested.split(self.tree, out[0], "out's observations")
        arrays = []
        for given, (name, own, shape) in zip([*given_parts, *out[1:]], wanted, strict=True):
            if given is None:
                arrays.append(None)
                continue
            array = _array_over(given, name)
            if array is None:
                hint = ""
                if self.tuple_size and name == _NAMES[0]:
                    hint = f": an int64 array (..., {self.tuple_size}) has all parts"
                raise TypeError(f"out's {name} must be a numpy.ndarray, something with the buffer protocol or "
                                f"__dlpack__ in main memory, or None, not {type(given).__name__}{hint}")
            arrays.append(array)
            if array.dtype != own or (<object>array).shape != shape:
                raise ValueError(f"out's {name} must have dtype {own} and shape {shape}, "
                                 f"got {array.dtype} and {(<object>array).shape}")
            if not cnp.PyArray_ISCARRAY(array):
                raise ValueError(f"out's {name} must be C-contiguous, aligned and writeable; "
                                 f"np.empty({shape}, '{own}') is")
        _refuse_overlap(arrays + read)
        parts = arrays[:len(given_parts)]
        return (parts if self.tree is not None else parts[0], *arrays[len(parts):])

    cdef tuple matching(self, list arrays):
        """`out` as `check_out` returns it, of arrays that nobody else has: those of the first four that a step can be
        written to as it is. Their shapes are right, their dtypes may be narrower."""
        cdef cnp.ndarray array
        cdef int k
        cdef list found = [None, None, None, None]
        if not self.plain or len(arrays) < 4:
            return None
        for k in range(4):
            array = <cnp.ndarray>arrays[k]
            if cnp.PyArray_ISCARRAY(array) and cnp.PyArray_TYPE(array) == self.forms[k].type:
                found[k] = array
        return tuple(found)


cdef int _refuse_overlap(list arrays) except -1:
    """Raises ValueError if two contiguous ones of these arrays (None: there is none) have memory in common."""
    cdef cnp.ndarray array
    cdef const char *low[3 + 2 * BE_MAX_PORTS]
    cdef const char *high[3 + 2 * BE_MAX_PORTS]
    cdef int i, count = 0
    for array in arrays:
        if array is None or not cnp.PyArray_ISCONTIGUOUS(array):
            continue
        low[count] = <const char *>cnp.PyArray_DATA(array)
        high[count] = low[count] + cnp.PyArray_NBYTES(array)
        for i in range(count):
            if low[i] < high[count] and low[count] < high[i]:
                raise ValueError("out's arrays must not overlap each other or the actions")
        count += 1
    return 0


cdef cnp.ndarray _array_over(object given, str name):
    """An array over the memory of what a user has given to write into; None: it has none."""
    if type(given) is cnp.ndarray:
        return given
    try:
        return np.asarray(memoryview(given))
    except (TypeError, ValueError, BufferError):  # it has no buffer, or one of a dtype that buffers cannot have
        pass
    if not hasattr(given, "__dlpack__"):
        return None
    try:
        return np.from_dlpack(given)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        raise ValueError(f"out's {name} cannot be written into, {type(given).__name__} says: {error}") from None
