# The arrays of one call, by name.

@cython.final
@cython.no_gc  # the collector would take arrays away that workers are writing; nothing held here leads back to this
cdef class Output:
    """The arrays of one call: what is handed out, and what the C side says beside it."""

    cdef Layout layout
    cdef int64_t rows
    cdef list arrays  # by their places in Layout.forms; None: it has no such array
    cdef int used  # places up to the last array that it has
    cdef bint counted  # in the stage's moments
    cdef bint lent  # some arrays are the user's

    cdef inline cnp.ndarray at(self, int place):
        return <cnp.ndarray>PyList_GET_ITEM(self.arrays, place)

    cdef inline list more(self):
        """All but the first part of the observation."""
        return self.arrays[self.layout.first_more:self.layout.first_more + self.layout.num_more]

    cdef inline object finals(self):
        """The last observations of episodes, as `Layout.present` takes them."""
        return _parts(self.layout, self.at(FINAL), self.arrays[self.layout.first_final_more:self.layout.first_info])

    cdef Output into(self, tuple out):
        """Another one of the same arrays, but with those of a checked `out` where it has one."""
        cdef Output other = Output.__new__(Output)
        cdef list first = out[0] if type(out[0]) is list else [out[0]]
        other.layout, other.rows, other.used, other.arrays = self.layout, self.rows, self.used, self.arrays[:]
        other.lent = True
        for place, given in [(OBSERVATION, first[0]), *enumerate(out[1:], REWARD),
                             *enumerate(first[1:], self.layout.first_more)]:
            if given is not None:
                other.arrays[place] = given
        return other

    cdef void point(self, be_rows *arrays) noexcept:
        """Tells the C side where to write: everything but the actions."""
        cdef const ArrayForm *form
        cdef PyObject *array
        cdef int place
        arrays.first = 0
        arrays.started = NULL
        arrays.episode_return = arrays.episode_seconds = NULL
        arrays.episode_length = arrays.episode_entry = NULL
        for place in range(self.used):
            form, array = &self.layout.forms[place], PyList_GET_ITEM(self.arrays, place)
            if form.member and array != <PyObject *>None:
                (<void **>(<char *>arrays + form.member))[0] = cnp.PyArray_DATA(<cnp.ndarray>array)

    # -- whether it can be used again --------------------------------------------------------------------------------

    cdef bint free(self) noexcept:
        """Nobody else holds any of its arrays, and they are as they were made."""
        return self.unshared(0) and self.intact()

    cdef bint unshared(self, int first) noexcept:
        """Nobody else holds the arrays that users get, from this place on."""
        cdef PyObject *array
        cdef int place
        for place in range(first, self.used):
            array = PyList_GET_ITEM(self.arrays, place)
            if self.layout.forms[place].handed and array != <PyObject *>None and not be_unshared(array):
                return False
        return True

    cdef bint intact(self) noexcept:
        """Users may have changed what can be changed in place: dtype, shape, writability."""
        cdef const ArrayForm *form
        cdef cnp.ndarray array
        cdef int place, i
        for place in range(self.used):
            form = &self.layout.forms[place]
            if not form.handed or PyList_GET_ITEM(self.arrays, place) == <PyObject *>None:
                continue
            array = self.at(place)
            if (cnp.PyArray_TYPE(array) != form.type or not cnp.PyArray_ISCARRAY(array)
                    or cnp.PyArray_NDIM(array) != 1 + form.ndim or cnp.PyArray_DIM(array, 0) != self.rows):
                return False
            for i in range(form.ndim):
                if cnp.PyArray_DIM(array, 1 + i) != form.dims[i]:
                    return False
        return True

    # -- from the C side's arrays to those that are handed out -------------------------------------------------------

    cdef int treat_step(self, object lanes) except -1:
        """After a step. lanes: of the rows; None: all."""
        if self.layout.stage is not None and not self.counted:
            self.layout.stage.count_step(self.raw(), self.raw_reward(), self.at(TERMINATED), self.at(TRUNCATED), lanes)
            self.counted = True  # what is given again is not counted again
        self._treat(self.raw(), self.at(OBSERVATION), self.raw_reward(), self.at(REWARD))
        return 0

    cdef int treat_steps(self) except -1:
        """After a rollout."""
        cdef int64_t t
        raw, raw_reward = self.raw(), self.raw_reward()
        terminated, truncated, final = self.at(TERMINATED), self.at(TRUNCATED), self.at(FINAL)
        if final is not None and self.layout.treats_observations:
            self.arrays[FINAL] = np.zeros((<object>final).shape, self.layout.observation_dtype)
        for t in range(self.rows):
            if self.layout.stage is not None:
                self.layout.stage.count_step(raw[t], raw_reward[t], terminated[t], truncated[t], None)
            self._treat(raw[t], self.at(OBSERVATION)[t], raw_reward[t], self.at(REWARD)[t])
            if final is not self.at(FINAL):
                done = np.logical_or(terminated[t], truncated[t])
                self.at(FINAL)[t][done] = self._observed(final[t][done])
        return 0

    cdef int treat_reset(self, object mask) except -1:
        """After a reset of the lanes in `mask` (None: all). Counts their observations."""
        if self.layout.stage is not None:
            raw = self.raw()
            self.layout.stage.start(mask)
            self.layout.stage.count_observations(raw if mask is None else raw[mask])
            self.treat_observations()
        return 0

    cdef int treat_observations(self) except -1:
        """Without counting anything."""
        if self.layout.treats_observations:
            self.layout.stage.observe(self.raw(), self.at(OBSERVATION))
        return 0

    cdef object raw(self):
        """Observations as the C side writes them."""
        return self.at(RAW if self.layout.treats_observations else OBSERVATION)

    cdef object raw_reward(self):
        return self.at(RAW_REWARD if self.layout.treats_rewards else REWARD)

    cdef int _treat(self, object raw, object observation, object raw_reward, object reward) except -1:
        cdef be_fp before
        if self.layout.treats_observations:
            self.layout.stage.observe(raw, observation)
        if self.layout.treats_rewards:
            if self.layout.stage is not None:
                raw_reward = self.layout.stage.reward(raw_reward)
            before = be_fp_enter()  # float64 becomes float32, rounded to nearest
            try:
                if not _narrow(raw_reward, reward):
                    reward[...] = raw_reward
            finally:
                be_fp_leave(&before)
        return 0

    cdef cnp.ndarray _observed(self, cnp.ndarray raw):
        """Rows of the C side's observations as they go out."""
        cdef cnp.ndarray rows = raw
        if self.layout.treats_observations:
            rows = np.empty((<object>raw).shape, self.layout.observation_dtype)
            self.layout.stage.observe(raw, rows)
        return rows

    # -- what is handed out ------------------------------------------------------------------------------------------

    cdef tuple results(self, object infos):
        """What a step returns."""
        return self.observed(), self.at(REWARD), self.at(TERMINATED), self.at(TRUNCATED), infos

    cdef object done(self):
        """Whether an episode has ended in each row."""
        return np.logical_or(self.at(TERMINATED), self.at(TRUNCATED))

    cdef object observed(self):
        """The observations as the space says."""
        if self.layout.plain:
            return self.at(OBSERVATION)
        parts = _parts(self.layout, self.at(OBSERVATION), self.more())
        if self.layout.texts is not None and (self.lent or self.layout.again):
            parts = self._own_codes(parts)  # a tuple does not change when a later step writes into its array
        return self.layout.present(parts)

    cdef object _own_codes(self, object parts):
        """`parts`, with copies of the codes of texts."""
        if type(parts) is not list:
            return parts.copy()
        return [part if source is None else part.copy() for part, source in zip(parts, self.layout.texts, strict=True)]

    cdef int tell_codes(self, dict info, object mask) except -1:
        """Adds the codes of texts. mask: of all rows, or None, as `_tell` takes it."""
        for k, row in self.layout.codes:
            values = self.at(OBSERVATION if k == 0 else self.layout.first_more + k - 1)
            _tell(info, row, values, None if mask is None else mask.copy())
        return 0

    cdef dict step_infos(self, const be_rows *arrays, bint finished):
        """The infos of a step, with Gymnasium's masks; a key that no row has is left out. arrays: as the C side was
        given them; finished: whether a lane's episode may have ended."""
        cdef dict info
        cdef Infos infos
        cdef int k
        cdef int64_t i, rows = self.rows
        cdef uint8_t *mask
        cdef cnp.ndarray values, present
        cdef bint some_started
        if self.layout.same_step:
            infos = Infos.__new__(Infos)
            infos.layout = self.layout
            info = infos
        else:
            info = {}
        if self.layout.num_infos:
            some_started = self.layout.partial_infos and memchr(arrays.started, 1, rows) != NULL
            for k in range(self.layout.num_infos):
                values, present = self.at(self.layout.first_info + k), self.at(self.layout.first_mask + k)
                mask = <uint8_t *>cnp.PyArray_DATA(present)
                memset(mask, 1, rows)
                if self.layout.when[k] == BE_WHERE_NOT_0:
                    if _is_zero(values) or not values.any():
                        continue
                    _not_0(values, present)
                elif self.layout.when[k] == BE_IN_STEPS and some_started:
                    for i in range(rows):
                        mask[i] = not arrays.started[i]
                    if memchr(mask, 1, rows) == NULL:
                        continue
                row = <object>PyList_GET_ITEM(self.layout.infos, k)
                if self.layout.nested[k]:
                    _tell(info, row, values, present)
                else:
                    info[row["key"]] = values
                    info[row["mask"]] = present
        if self.layout.texts is not None:
            self.tell_codes(info, np.ones(rows, np.bool_))
        if finished and (self.layout.recording or self.layout.same_step or self.layout.tells_entries):
            done = self.done()
            if self.layout.recording or self.layout.tells_entries:
                self.tell_episodes(info, done, False)
            if self.layout.same_step:
                self._tell_finals(infos, arrays, done)
        return info

    cdef dict reset_infos(self, object mask):
        """The infos of a reset of the lanes in `mask` (None: all), with Gymnasium's masks."""
        cdef dict info = {}
        cdef int k
        for k in range(self.layout.num_infos):
            if self.layout.when[k] == BE_ALWAYS:
                present = self.at(self.layout.first_mask + k)
                present[...] = True if mask is None else mask
                _tell(info, self.layout.infos[k], self.at(self.layout.first_info + k), present)
        if self.layout.texts is not None:
            self.tell_codes(info, np.ones(self.rows, np.bool_) if mask is None else np.array(mask))
        return info

    cdef int tell_episodes(self, dict info, object done, bint always) except -1:
        """Adds the statistics, in the keys of gymnasium.wrappers.vector.RecordEpisodeStatistics, and what the plan says
        of the episodes that have ended. Of `done`, episodes whose game goes on have none."""
        cdef dict told = {}
        if self.layout.recording:
            if self.layout.goes_on:
                done = <object>self.at(LENGTH) > 0
                if not always and not done.any():
                    return 0
            told = {"r": self.at(RETURN), "l": self.at(LENGTH), "t": self.at(SECONDS)}
        if self.layout.tells_entries:
            if self.layout.goes_on:
                going = <object>self.at(ENTRY) == BE_UNDECIDED
                done = done & ~going
                self.at(ENTRY)[going] = BE_NO_ENTRY
                if not always and not done.any():
                    return 0
            told["entry"] = self.at(ENTRY)
            if self.layout.labels is not None:
                told["label"] = self._labels(told["entry"], done)
        info["episode"] = told
        info["_episode"] = done
        return 0

    cdef cnp.ndarray _labels(self, cnp.ndarray entries, cnp.ndarray done):
        """The labels of entries where episodes have ended, which are `done`, and that of no entry elsewhere."""
        cdef cnp.ndarray known = self.layout.labels, told, ended
        if known.dtype == object or cnp.PyArray_NDIM(entries) > 1:
            return known[entries]  # the last one is for -1
        told, ended = np.zeros(self.rows, known.dtype), _list(done)  # for no entry that is what zeros are
        told[ended] = known[entries[ended]]
        return told

    cdef int _tell_finals(self, Infos info, const be_rows *arrays, cnp.ndarray done) except -1:
        """SAME_STEP's final_obs and final_info, in the form of SyncVectorEnv."""
        cdef cnp.ndarray lanes = _list(done), rows
        cdef Py_ssize_t count = cnp.PyArray_SIZE(lanes)
        cdef int k
        if count == 0:
            return 0
        rows = np.empty((count, *self.layout.observation_shape), self.layout.kernel_dtype)
        _copy_rows(rows, arrays.final[self.layout.port], lanes)
        info.more = [np.empty((count, *shape), dtype) for _, dtype, shape in self.layout.more]
        for k in range(self.layout.num_more):
            _copy_rows(info.more[k], arrays.final[<int>self.layout.more[k][0]], lanes)
        info.lanes = lanes
        info.rows = self._observed(rows)
        info.count = self.rows
        info[_FINAL] = _LATER
        info["_final_obs"] = done
        info["final_info"] = self._final_infos(arrays, done)
        for k, row in self.layout.codes:
            _tell(info["final_info"], row, self._spread(info.rows if k == 0 else info.more[k - 1], lanes), done.copy())
        info["_final_info"] = done.copy()
        return 0

    cdef object _spread(self, object rows, object lanes):
        """An array with a row for each of this output, of which these are in `rows` and the others are 0."""
        spread = np.zeros((self.rows, *rows.shape[1:]), rows.dtype)
        spread[lanes] = rows
        return spread

    cdef dict _final_infos(self, const be_rows *arrays, object done):
        cdef dict info = {}
        cdef int k
        cdef cnp.ndarray array
        for k in range(self.layout.num_infos):
            row = self.layout.infos[k]
            if self.layout.when[k] == AS_REWARDS:
                array = self.at(self.layout.first_info + k).copy()
            else:
                array = np.empty((self.rows, *row["shape"]), row["dtype"])
                memcpy(cnp.PyArray_DATA(array), arrays.final[self.layout.info_ports[k]], cnp.PyArray_NBYTES(array))
            array[~done] = 0
            present = done.copy()
            if self.layout.when[k] == BE_WHERE_NOT_0:
                mask = np.empty(self.rows, np.bool_)
                _not_0(array, mask)
                present &= mask
                if not present.any():
                    continue
            _tell(info, row, array, present)
        return info

    cdef dict rollout_infos(self):
        """The infos of a rollout: arrays without masks."""
        cdef dict info = {}
        cdef int k
        for k in range(self.layout.num_infos):
            _tell(info, self.layout.infos[k], self.at(self.layout.first_info + k), None)
        self.tell_codes(info, None)
        if self.layout.recording or self.layout.tells_entries:
            self.tell_episodes(info, self.done(), True)
        if self.layout.same_step:
            info["final_obs"], info["_final_obs"] = self.layout.present(self.finals()), self.done()
            info["final_info"] = self.rollout_finals(info["_final_obs"])
        return info

    cdef dict rollout_finals(self, object done):
        """Likewise those of the lanes that end an episode, which are `done`; 0 in the others."""
        cdef dict info = {}
        cdef int k
        for k in range(self.layout.num_infos):
            array = self.at(self.layout.first_final_info + k)
            if self.layout.when[k] == AS_REWARDS:
                array = self.at(self.layout.first_info + k).copy()
                array[~done] = 0
            _tell(info, self.layout.infos[k], array, None)
        for k, row in self.layout.codes:
            _tell(info, row, self.at(FINAL if k == 0 else self.layout.first_final_more + k - 1), None)
        return info


cdef tuple _form(const be_space *space):
    """The dtype of a port's array, and the shape of one lane's."""
    return _dtypes[<int>space.dtype], tuple([space.shape[i] for i in range(space.ndim)])


cdef object _parts(Layout layout, object observation, list more):
    """What `Layout.present` takes."""
    return observation if layout.tree is None else [observation, *more]


cdef int _copy_rows(cnp.ndarray rows, const void *all_rows, cnp.ndarray lanes) except -1:
    """Row i of `rows` becomes row lanes[i] of all."""
    cdef Py_ssize_t i, count = cnp.PyArray_SIZE(lanes)
    cdef size_t bytes = cnp.PyArray_NBYTES(rows) // count
    cdef char *target = <char *>cnp.PyArray_DATA(rows)
    cdef const int64_t *index = <const int64_t *>cnp.PyArray_DATA(lanes)
    with nogil:
        for i in range(count):
            memcpy(target + i * bytes, <const char *>all_rows + index[i] * bytes, bytes)
    return 0


cdef int _not_0(cnp.ndarray values, cnp.ndarray present) except -1:
    """Sets `present` where a row has a value that is not 0."""
    if cnp.PyArray_NDIM(values) == 1:
        np.not_equal(values, 0, out=present)
    else:
        np.any(values, axis=tuple(range(1, cnp.PyArray_NDIM(values))), out=present)
    return 0


cdef Output _new_output(Layout layout, int kind, int64_t rows, int64_t lanes=0):
    """Arrays for an output of this kind. lanes: of a rollout, whose rows are steps."""
    cdef Output output = Output.__new__(Output)
    cdef const ArrayForm *form
    cdef list lead = [rows, lanes] if kind == FOR_ROLLOUT else [rows]
    cdef int place, i
    output.layout, output.rows, output.arrays = layout, rows, []
    for place in range(layout.num_forms):
        form, array = &layout.forms[place], None
        if form.kinds & kind:
            shape = lead + [form.dims[i] for i in range(form.ndim)]
            make = np.empty if form.handed else np.zeros
            array = make(shape, cnp.PyArray_DescrFromType(form.type))
            output.used = place + 1
        output.arrays.append(array)
    return output
