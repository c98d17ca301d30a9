# The arrays of a call, by name.

import numpy as np

from batchenv import nested

cimport cython
cimport numpy as cnp
from libc.string cimport memchr, memcmp, memcpy, memset

_NAMES = ("observations", "rewards", "terminations", "truncations")

cdef enum:
    MAX_POOL = 4  # sets of arrays that are kept to be used again
    AS_REWARDS = -1  # Layout.when: in all steps and no resets


@cython.final
cdef class Layout:
    """What the arrays of a batch are: their dtypes, and the shape of one lane's."""

    cdef int64_t num_lanes
    cdef object observation_dtype, kernel_dtype  # of what is handed out; of what the C side writes
    cdef int observation_type  # the former's number
    cdef object reward_dtype
    cdef int reward_type
    cdef object stage  # a batchenv.normalize.Stage, or None
    cdef bint treats_observations, treats_rewards  # between the C side and the user
    cdef int port  # of the type, through which observations go; of several, the first
    cdef tuple observation_shape  # of one lane
    cdef int observation_ndim
    cdef int64_t observation_dims[BE_MAX_DIMS + 1]  # the same, quicker to read; frame_stack adds one
    cdef bint plain  # an observation is handed out as the one array that it is
    cdef int tuple_size  # parts of a Tuple space, which are columns of one array; 0: another space
    cdef bint whole_numbers  # a Discrete space's observations, which are ints in a lane of its own
    cdef object tree  # of an observation of several parts: see batchenv.nested; None: it is one array
    cdef list names, more  # the parts' names; all but the first: (port, dtype, shape of one lane)
    cdef int num_more
    cdef list infos  # and further rewards: rows of the type's table, with the dtypes and shapes that this batch has
    cdef int when[BE_MAX_PORTS]  # a be_when; of further rewards AS_REWARDS
    cdef bint nested[BE_MAX_PORTS]  # in a dict of infos
    cdef int info_ports[BE_MAX_PORTS]
    cdef int num_infos
    cdef bint partial_infos  # some rows of some info are left out
    cdef bint recording  # episode statistics
    cdef bint goes_on  # games that last longer than an episode have theirs at their end
    cdef bint same_step

    cdef int start(self, const be_batch *batch, const be_transform *changes, bint same_step) except -1:
        cdef const be_space *space
        cdef int k
        rows = _port_table(batch.type, (BE_OBSERVATION,))
        self.port = rows[0]["index"]
        self.names = [row["name"] for row in rows]
        tree = nested.tree_of(self.names)
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
        self.plain = self.tree is None and not self.tuple_size
        self.num_lanes = batch.num_lanes
        self.kernel_dtype = _dtypes[<int>be_frame_dtype(space, changes)]
        self.set_stage(None, np.dtype(np.float64))
        self.observation_shape = tuple(shape)
        self.observation_ndim = len(shape)
        for k in range(self.observation_ndim):
            self.observation_dims[k] = shape[k]
        self.num_more = len(self.more)
        self.whole_numbers = not shape and not changes.convert
        self._start_infos(batch)
        self.recording = changes.record_statistics
        self.goes_on = batch.type.goes_on != NULL
        self.same_step = same_step
        return 0

    cdef int _start_infos(self, const be_batch *batch) except -1:
        cdef const be_port *port
        cdef int k
        rows = _port_table(batch.type, _TOLD)
        _check_paths(rows)
        self.infos = []
        for row in rows:
            port = &batch.type.ports[<int>row["index"]]
            row["dtype"], row["shape"] = _form(&batch.space[<int>row["index"]])
            if 0 in row["shape"]:
                continue  # prepare() has left it out
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
        self.observation_type = self.observation_dtype.num
        self.reward_dtype = reward_dtype
        self.reward_type = reward_dtype.num
        self.treats_rewards = self.reward_type != cnp.NPY_FLOAT64 or (stage is not None and stage.rewards is not None)
        return 0

    cdef object present(self, object observation):
        """Observations as the space says. observation: an array, or the list of a Dict's or Tuple's parts; of a Tuple
        that is one array, the columns are the parts."""
        if type(observation) is list:
            return nested.build(self.tree, observation)
        if self.tuple_size:
            return tuple([observation[..., j] for j in range(self.tuple_size)])
        return observation

    cdef object present_row(self, object row):
        """One lane's observation as Gymnasium's single env returns it; `row` as `present` takes arrays."""
        if type(row) is list:
            return nested.build(self.tree, [part if part.ndim else part.item() for part in row])
        if self.tuple_size:
            return self.present(row) if row.ndim > 1 else tuple(row.tolist())
        return int(row) if self.whole_numbers else row

    cdef tuple check_out(self, object out, list read, tuple rows):
        """`out` as a tuple of arrays; TypeError or ValueError unless it has four that can be written into, None in any
        place. read: the arrays that actions are read from. rows: the first axes, (lanes,) or (steps, lanes)."""
        cdef cnp.ndarray array
        cdef const char *low[3 + 2 * BE_MAX_PORTS]
        cdef const char *high[3 + 2 * BE_MAX_PORTS]
        cdef int i, j, count = 0
        if not isinstance(out, (tuple, list)) or len(out) != 4:
            raise TypeError(f"out={type(out).__name__} must be a tuple of four arrays, or None for one of them: "
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
            low[count] = <const char *>cnp.PyArray_DATA(array)
            high[count] = low[count] + cnp.PyArray_NBYTES(array)
            count += 1
        for array in read:
            if array is not None and cnp.PyArray_ISCONTIGUOUS(array):
                low[count] = <const char *>cnp.PyArray_DATA(array)
                high[count] = low[count] + cnp.PyArray_NBYTES(array)
                count += 1
        for i in range(count):
            for j in range(i):
                if low[i] < high[j] and low[j] < high[i]:
                    raise ValueError("out's arrays must not overlap each other or the actions")
        parts = arrays[:len(given_parts)]
        return (parts if self.tree is not None else parts[0], *arrays[len(parts):])


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


@cython.final
@cython.no_gc  # the collector would take arrays away that workers are writing; nothing held here leads back to this
cdef class Output:
    """The arrays of one call: what is handed out, and what the C side says beside it."""

    cdef Layout layout
    cdef int64_t rows
    cdef cnp.ndarray observation, reward, terminated, truncated
    cdef cnp.ndarray kernel_observation, kernel_reward  # what the C side writes, where that is treated; else None
    cdef bint counted  # in the stage's moments
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
        for k in range(self.layout.num_infos):
            if not (be_unshared(PyList_GET_ITEM(self.infos, k)) and be_unshared(PyList_GET_ITEM(self.masks, k))):
                return False
        if self.episode_return is not None and not (
                be_unshared(<PyObject *>self.episode_return) and be_unshared(<PyObject *>self.episode_length)
                and be_unshared(<PyObject *>self.episode_seconds)):
            return False
        if self.lanes is not None and not be_unshared(<PyObject *>self.lanes):
            return False
        return self.intact()

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
        return self.layout.present(_parts(self.layout, self.observation, self.more))

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
                    np.not_equal(values, 0, out=present)
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
        info["_final_info"] = done.copy()
        return 0

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
                present &= (<object>array) != 0
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


@cython.final
@cython.no_gc
cdef class Outputs:
    """Outputs that have been handed out before, to be used again when nobody else holds their arrays."""

    cdef Layout layout
    cdef int ring  # copy=False: so many take turns, whoever holds them; 0: none do
    cdef list sets
    cdef int turn  # whose it is, or which is forgotten first

    def __cinit__(self, Layout layout, int ring=0):
        self.layout = layout
        self.ring = ring
        self.sets = []

    cdef Output next(self):
        """One for a step of all lanes. It stays among these."""
        cdef Output output
        cdef Py_ssize_t i, count = len(self.sets)
        if self.ring == 0:
            for i in range(count):
                output = <Output>PyList_GET_ITEM(self.sets, i)
                if output.free():
                    return output
        elif count == self.ring:
            output = <Output>PyList_GET_ITEM(self.sets, self.turn)
            if output.intact():
                self.turn = (self.turn + 1) % self.ring
                return output
        output = _new_output(self.layout, self.layout.num_lanes)
        if count < (self.ring if self.ring else MAX_POOL):
            self.sets.append(output)
        else:  # all are held, by a user who stores every step: forget the oldest
            self.sets[self.turn] = output
            self.turn = (self.turn + 1) % count
        return output

    cdef Output take(self, int64_t rows):
        """One for results of lanes in flight. It is no longer among these: see `put`."""
        cdef Py_ssize_t i
        cdef Output output
        for i in range(len(self.sets)):
            output = <Output>self.sets[i]
            if output.free():
                del self.sets[i]
                return output
        output = _new_results(self.layout, rows)
        if len(self.sets) >= MAX_POOL:
            del self.sets[0]  # the user keeps it
        return output

    cdef int put(self, Output output) except -1:
        """Takes in one that has been handed out."""
        if len(self.sets) <= MAX_POOL:
            self.sets.append(output)
        return 0


cdef inline bint _is_column(cnp.ndarray array, int type_number, int64_t rows) noexcept:
    """Whether it is as np.empty(rows, dtype) makes it."""
    return (cnp.PyArray_TYPE(array) == type_number and cnp.PyArray_ISCARRAY(array) and cnp.PyArray_NDIM(array) == 1
            and cnp.PyArray_DIM(array, 0) == rows)


cdef cnp.ndarray _list(cnp.ndarray flags):
    """np.flatnonzero of a contiguous bool array, quicker where few are True."""
    cdef const uint8_t *flag = <const uint8_t *>cnp.PyArray_DATA(flags)
    cdef int64_t n = cnp.PyArray_SIZE(flags), i = 0, j, count = 0
    cdef uint64_t word
    cdef cnp.ndarray lanes = np.empty(n, np.int64)
    cdef int64_t *lane = <int64_t *>cnp.PyArray_DATA(lanes)
    with nogil:
        while i < n:
            word = 1
            if i + 8 <= n:
                memcpy(&word, flag + i, 8)
            if word:
                for j in range(i, min(i + 8, n)):
                    lane[count] = j
                    count += flag[j]
            i += 8
    return lanes[:count].copy()


cdef inline bint _any(cnp.ndarray flags) noexcept:
    """Whether one of these bytes is 1."""
    return memchr(cnp.PyArray_DATA(flags), 1, cnp.PyArray_NBYTES(flags)) != NULL


cdef bint _is_zero(cnp.ndarray array) noexcept:
    """All of its bytes are: what `any` would say, without NumPy's microseconds."""
    cdef const char *data = <const char *>cnp.PyArray_DATA(array)
    cdef size_t bytes = cnp.PyArray_NBYTES(array)
    return bytes == 0 or (data[0] == 0 and memcmp(data, data + 1, bytes - 1) == 0)
