# The arrays of one call, by name.

import numpy as np

cimport cython
cimport numpy as cnp
from libc.string cimport memchr, memcpy, memset


@cython.final
@cython.no_gc  # the collector would take arrays away that workers are writing; nothing held here leads back to this
cdef class Output:
    """The arrays of one call: what is handed out, and what the C side says beside it."""

    cdef Layout layout
    cdef int64_t rows
    cdef cnp.ndarray observation, reward, terminated, truncated
    cdef cnp.ndarray kernel_observation, kernel_reward  # what the C side writes, where that is treated; else None
    cdef bint counted  # in the stage's moments
    cdef bint lent  # some arrays are the user's
    cdef list more  # the other parts of an observation of several
    cdef list infos, masks  # in the order of the type's table
    cdef cnp.ndarray episode_return, episode_length, episode_seconds  # None without statistics
    cdef cnp.ndarray started  # which rows are an episode's first; None where no info asks
    cdef cnp.ndarray lanes, failed  # of rows in the order in which lanes got finished
    cdef cnp.ndarray final_observation  # of lanes that have been reset in the same step; None: the batch has them
    cdef list final_more, final_infos

    cdef Output copy(self):
        """Another one of the same arrays."""
        cdef Output other = Output.__new__(Output)
        other.layout, other.rows = self.layout, self.rows
        other.observation, other.reward = self.observation, self.reward
        other.terminated, other.truncated = self.terminated, self.truncated
        other.kernel_observation, other.kernel_reward = self.kernel_observation, self.kernel_reward
        other.more, other.final_more = self.more, self.final_more
        other.infos, other.masks = self.infos, self.masks
        other.episode_return, other.episode_length = self.episode_return, self.episode_length
        other.episode_seconds, other.started = self.episode_seconds, self.started
        other.lanes, other.failed = self.lanes, self.failed
        other.final_observation, other.final_infos = self.final_observation, self.final_infos
        return other

    cdef Output into(self, tuple out):
        """This, but with the arrays of a checked `out` where it has one."""
        cdef Output other = self.copy()
        other.lent = True
        if type(out[0]) is list:
            parts = [mine if given is None else given
                     for given, mine in zip(out[0], [self.observation, *self.more], strict=True)]
            other.observation, other.more = parts[0], parts[1:]
        elif out[0] is not None:
            other.observation = out[0]
        if out[1] is not None:
            other.reward = out[1]
        if out[2] is not None:
            other.terminated = out[2]
        if out[3] is not None:
            other.truncated = out[3]
        return other

    cdef void point(self, be_rows *arrays) noexcept:
        """Tells the C side where to write: everything but the actions."""
        cdef int k, port
        arrays.first = 0
        arrays.port[self.layout.port] = cnp.PyArray_DATA(
            self.observation if self.kernel_observation is None else self.kernel_observation)
        if self.layout.tree is not None:
            _point_parts(self.layout, self.more, arrays.port)
        arrays.reward = <double *>cnp.PyArray_DATA(self.reward if self.kernel_reward is None else self.kernel_reward)
        arrays.terminated = <uint8_t *>cnp.PyArray_DATA(self.terminated)
        arrays.truncated = <uint8_t *>cnp.PyArray_DATA(self.truncated)
        for k in range(self.layout.num_infos):
            arrays.port[self.layout.info_ports[k]] = cnp.PyArray_DATA(<cnp.ndarray>PyList_GET_ITEM(self.infos, k))
        arrays.started = NULL
        if self.started is not None:
            arrays.started = <uint8_t *>cnp.PyArray_DATA(self.started)
        arrays.episode_return = arrays.episode_seconds = NULL
        arrays.episode_length = NULL
        if self.episode_return is not None:
            arrays.episode_return = <double *>cnp.PyArray_DATA(self.episode_return)
            arrays.episode_length = <int64_t *>cnp.PyArray_DATA(self.episode_length)
            arrays.episode_seconds = <double *>cnp.PyArray_DATA(self.episode_seconds)
        if self.final_observation is not None:
            arrays.final[self.layout.port] = cnp.PyArray_DATA(self.final_observation)
            if self.layout.tree is not None:
                _point_parts(self.layout, self.final_more, arrays.final)
            for k in range(self.layout.num_infos):
                if self.layout.when[k] == AS_REWARDS:
                    continue
                port = self.layout.info_ports[k]
                arrays.final[port] = cnp.PyArray_DATA(<cnp.ndarray>PyList_GET_ITEM(self.final_infos, k))

    # -- whether it can be used again --------------------------------------------------------------------------------

    cdef bint free(self):
        """Nobody else holds any of its arrays, and they are as they were made."""
        cdef int k
        if not (be_unshared(<PyObject *>self.observation) and be_unshared(<PyObject *>self.reward)
                and be_unshared(<PyObject *>self.terminated) and be_unshared(<PyObject *>self.truncated)):
            return False
        for k in range(self.layout.num_more):
            if not be_unshared(PyList_GET_ITEM(self.more, k)):
                return False
        if self.lanes is not None and not be_unshared(<PyObject *>self.lanes):
            return False
        return self.free_infos() and self.intact()

    cdef bint free_infos(self) noexcept:
        """Nobody else holds the arrays that go into infos."""
        cdef int k
        for k in range(self.layout.num_infos):
            if not (be_unshared(PyList_GET_ITEM(self.infos, k)) and be_unshared(PyList_GET_ITEM(self.masks, k))):
                return False
        return self.episode_return is None or (
            be_unshared(<PyObject *>self.episode_return) and be_unshared(<PyObject *>self.episode_length)
            and be_unshared(<PyObject *>self.episode_seconds))

    cdef bint intact(self):
        """Users may have changed what can be changed in place: dtype, shape, writability."""
        cdef cnp.ndarray array = self.observation
        cdef int i, ndim = self.layout.observation_ndim
        if (cnp.PyArray_TYPE(array) != self.layout.observation_type or not cnp.PyArray_ISCARRAY(array)
                or cnp.PyArray_NDIM(array) != 1 + ndim or cnp.PyArray_DIM(array, 0) != self.rows):
            return False
        for i in range(ndim):
            if cnp.PyArray_DIM(array, 1 + i) != self.layout.observation_dims[i]:
                return False
        for i in range(self.layout.num_more):
            array = <cnp.ndarray>PyList_GET_ITEM(self.more, i)
            _, dtype, shape = self.layout.more[i]
            if not cnp.PyArray_ISCARRAY(array) or array.dtype != dtype or (<object>array).shape != (self.rows, *shape):
                return False
        if not (_is_column(self.reward, self.layout.reward_type, self.rows)
                and _is_column(self.terminated, cnp.NPY_BOOL, self.rows)
                and _is_column(self.truncated, cnp.NPY_BOOL, self.rows)):
            return False
        if self.lanes is not None and not _is_column(self.lanes, cnp.NPY_INT64, self.rows):
            return False
        if self.episode_return is not None and not (
                _is_column(self.episode_return, cnp.NPY_FLOAT64, self.rows)
                and _is_column(self.episode_length, cnp.NPY_INT64, self.rows)
                and _is_column(self.episode_seconds, cnp.NPY_FLOAT64, self.rows)):
            return False
        for i in range(self.layout.num_infos):
            array = <cnp.ndarray>PyList_GET_ITEM(self.infos, i)
            row = <object>PyList_GET_ITEM(self.layout.infos, i)
            if (not cnp.PyArray_ISCARRAY(array) or array.dtype != row["dtype"]
                    or (<object>array).shape != (self.rows, *row["shape"])
                    or not _is_column(<cnp.ndarray>PyList_GET_ITEM(self.masks, i), cnp.NPY_BOOL, self.rows)):
                return False
        return True

    # -- from the C side's arrays to those that are handed out -------------------------------------------------------

    cdef int treat_step(self, object lanes) except -1:
        """After a step. lanes: of the rows; None: all."""
        if self.layout.stage is not None and not self.counted:
            self.layout.stage.count_step(self._raw(), self._raw_reward(), self.terminated, self.truncated, lanes)
            self.counted = True  # what is given again is not counted again
        self._treat(self._raw(), self.observation, self._raw_reward(), self.reward)
        return 0

    cdef int treat_steps(self) except -1:
        """After a rollout."""
        cdef int64_t t
        raw, raw_reward = self._raw(), self._raw_reward()
        final, done = self.final_observation, None
        if final is not None and self.layout.treats_observations:
            self.final_observation = np.zeros((<object>final).shape, self.layout.observation_dtype)
        for t in range(self.rows):
            if self.layout.stage is not None:
                self.layout.stage.count_step(raw[t], raw_reward[t], self.terminated[t], self.truncated[t], None)
            self._treat(raw[t], self.observation[t], raw_reward[t], self.reward[t])
            if final is not self.final_observation:
                done = np.logical_or(self.terminated[t], self.truncated[t])
                self.final_observation[t][done] = self._observed(final[t][done])
        return 0

    cdef int treat_reset(self, object mask) except -1:
        """After a reset of the lanes in `mask` (None: all). Counts their observations."""
        if self.layout.stage is not None:
            raw = self._raw()
            self.layout.stage.start(mask)
            self.layout.stage.count_observations(raw if mask is None else raw[mask])
            self.treat_observations()
        return 0

    cdef int treat_observations(self) except -1:
        """Without counting anything."""
        if self.layout.treats_observations:
            self.layout.stage.observe(self._raw(), self.observation)
        return 0

    cdef object _raw(self):
        return self.observation if self.kernel_observation is None else self.kernel_observation

    cdef object _raw_reward(self):
        return self.reward if self.kernel_reward is None else self.kernel_reward

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

    cdef object observed(self):
        """The observations as the space says."""
        if self.layout.plain:
            return self.observation
        parts = _parts(self.layout, self.observation, self.more)
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
            _tell(info, row, self.observation if k == 0 else self.more[k - 1], None if mask is None else mask.copy())
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
                values = <cnp.ndarray>PyList_GET_ITEM(self.infos, k)
                present = <cnp.ndarray>PyList_GET_ITEM(self.masks, k)
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
        if finished and (self.layout.recording or self.layout.same_step):
            done = np.logical_or(self.terminated, self.truncated)
            if self.layout.recording:
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
                row = self.layout.infos[k]
                self.masks[k][...] = True if mask is None else mask
                _tell(info, row, self.infos[k], self.masks[k])
        if self.layout.texts is not None:
            self.tell_codes(info, np.ones(self.rows, np.bool_) if mask is None else np.array(mask))
        return info

    cdef int tell_episodes(self, dict info, object done, bint always) except -1:
        """Adds the statistics, in the keys of gymnasium.wrappers.vector.RecordEpisodeStatistics. Of `done`, episodes
        whose game goes on have none."""
        if self.layout.goes_on:
            done = self.episode_length > 0
            if not always and not done.any():
                return 0
        info["episode"] = {"r": self.episode_return, "l": self.episode_length, "t": self.episode_seconds}
        info["_episode"] = done
        return 0

    cdef int _tell_finals(self, Infos info, const be_rows *arrays, cnp.ndarray done) except -1:
        """SAME_STEP's final_obs and final_info, in the form of SyncVectorEnv."""
        cdef cnp.ndarray lanes = _list(done), rows
        cdef Py_ssize_t count = cnp.PyArray_SIZE(lanes)
        cdef int k
        if count == 0:
            return 0
        rows = np.empty((count, *self.layout.observation_shape), self.layout.kernel_dtype)
        _copy_rows(rows, arrays.final[self.layout.port], lanes)
        info.more = _new_parts(self.layout, (count,))
        for k in range(len(info.more)):
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
                array = self.infos[k].copy()
            else:
                array = _new_column(row, (self.rows,))
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
            _tell(info, self.layout.infos[k], self.infos[k], None)
        self.tell_codes(info, None)
        return info

    cdef dict rollout_finals(self, object done):
        """Likewise those of the lanes that end an episode, which are `done`; 0 in the others."""
        cdef dict info = {}
        cdef int k
        for k in range(self.layout.num_infos):
            array = self.final_infos[k]
            if self.layout.when[k] == AS_REWARDS:
                array = self.infos[k].copy()
                array[~done] = 0
            _tell(info, self.layout.infos[k], array, None)
        for k, row in self.layout.codes:
            _tell(info, row, self.final_observation if k == 0 else self.final_more[k - 1], None)
        return info


cdef tuple _form(const be_space *space):
    """The dtype of a port's array, and the shape of one lane's."""
    return _dtypes[<int>space.dtype], tuple([space.shape[i] for i in range(space.ndim)])


cdef object _parts(Layout layout, object observation, list more):
    """What `Layout.present` takes."""
    return observation if layout.tree is None else [observation, *more]


cdef list _new_parts(Layout layout, tuple shape):
    """Arrays for all but the first part of observations; shape: of the rows."""
    return [np.empty(shape + own, dtype) for _, dtype, own in layout.more]


cdef void _point_parts(Layout layout, list parts, void **places) noexcept:
    cdef int k, port
    for k in range(len(parts)):
        port = layout.more[k][0]
        places[port] = cnp.PyArray_DATA(<cnp.ndarray>PyList_GET_ITEM(parts, k))


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


cdef object _new_column(dict row, tuple shape):
    """An array for an info; shape: of the rows."""
    return np.empty((*shape, *row["shape"]), row["dtype"])


cdef Output _new_output(Layout layout, int64_t rows):
    """Arrays for a step of `rows` lanes."""
    cdef Output output = _new_steps(layout, (rows,))
    output.masks = [np.empty(rows, np.bool_) for _ in layout.infos]
    if layout.partial_infos:
        output.started = np.zeros(rows, np.uint8)
    return output


cdef Output _new_steps(Layout layout, tuple shape):
    """Arrays for the steps of a rollout: (steps, lanes)."""
    cdef Output output = Output.__new__(Output)
    output.layout = layout
    output.rows = shape[0]
    output.observation = np.empty((*shape, *layout.observation_shape), layout.observation_dtype)
    output.more = _new_parts(layout, shape)
    if layout.treats_observations:
        output.kernel_observation = np.empty((*shape, *layout.observation_shape), layout.kernel_dtype)
    output.reward = np.empty(shape, layout.reward_dtype)
    if layout.treats_rewards:
        output.kernel_reward = np.empty(shape)
    output.terminated = np.empty(shape, np.bool_)
    output.truncated = np.empty(shape, np.bool_)
    output.infos = [_new_column(row, shape) for row in layout.infos]
    if layout.recording:
        output.episode_return = np.empty(shape)
        output.episode_length = np.empty(shape, np.int64)
        output.episode_seconds = np.empty(shape)
    return output


cdef Output _new_results(Layout layout, int64_t rows):
    """Arrays for a batch of results of lanes in flight."""
    cdef Output output = _new_output(layout, rows)
    output.started = np.empty(rows, np.uint8)
    output.lanes = np.empty(rows, np.int64)
    output.failed = np.empty(rows, np.uint8)
    if layout.same_step:
        output.final_observation = np.empty((rows, *layout.observation_shape), layout.kernel_dtype)
        output.final_more = _new_parts(layout, (rows,))
        output.final_infos = _new_finals(output, np.empty_like)
    return output


cdef list _new_finals(Output output, object make_like):
    """Arrays for the final infos of a step. Of further rewards there are none: those of the step are the last ones."""
    return [None if output.layout.when[k] == AS_REWARDS else make_like(output.infos[k])
            for k in range(output.layout.num_infos)]
