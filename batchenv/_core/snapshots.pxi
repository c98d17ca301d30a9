# States of lanes: read, saved as snapshots (csrc/core/snapshot.h), loaded and set.

cdef object _column(const void *data, object dtype, int64_t num_lanes, int size):
    """A copy, which users may keep."""
    cdef cnp.ndarray column = np.empty([num_lanes] + [size] * (size > 1), dtype)
    memcpy(cnp.PyArray_DATA(column), data, cnp.PyArray_NBYTES(column))
    return column


@cython.no_gc  # the collector would clear arrays that workers write; nothing held here refers back to this object
cdef class SavedLanes(SteppedLanes):
    """Lanes whose states are read, saved, loaded and set."""

    def snapshot(self, const int64_t[::1] lanes):
        """The lanes' snapshot as bytes."""
        self.calls.require_reset("env.snapshot()")
        cdef cnp.ndarray target = np.empty((be_snapshot_bytes(self.batch, len(lanes)) + 7) // 8, np.int64)
        with nogil:
            be_snapshot_save(self.batch, &lanes[0], lanes.shape[0], cnp.PyArray_DATA(target))
        return target.tobytes()

    def check_snapshot(self, bytes data):
        """How many lanes `data` holds; ValueError unless it is a sound snapshot for this batch."""
        cdef be_error error
        _check(be_snapshot_check(self.batch, <const char *>data, len(data), &error), &error)
        return be_snapshot_count(<const char *>data)

    def snapshot_params(self, bytes data, const int64_t[::1] rows):
        """The params of rows of a checked snapshot: {name: array (rows,)} for those that may differ from lane
        to lane."""
        cdef double numbers[BE_MAX_PARAMS]
        cdef double[:, ::1] values = np.empty((len(rows), len(self.params.rows)))
        cdef Py_ssize_t k, j
        for k in range(len(rows)):
            be_snapshot_params(<const char *>data, rows[k], numbers)
            for j in range(values.shape[1]):
                values[k, j] = numbers[j]
        columns = np.asarray(values)
        return {row["name"]: _param_values(&self.params.type.params[<int>j], columns[:, j])
                for j, row in enumerate(self.params.rows) if row["per_lane"]}

    def load(self, bytes data, const int64_t[::1] rows, const int64_t[::1] lanes):
        """Puts rows of a checked snapshot into lanes, none of which may be in flight, and returns the same as
        `observe`. If `lanes` are all lanes, no reset is needed any more."""
        cdef const char *source = data
        cdef Output output = _new_output(self.layout, FOR_STEP, self.num_lanes)
        if lanes.shape[0] != self.num_lanes:
            self.calls.require_reset("env.restore() of some lanes")
        self._check_stage()
        with nogil:
            be_snapshot_load(self.batch, source, &rows[0], &lanes[0], lanes.shape[0])
        self.calls.has_reset = True
        self._refuse_unloaded(np.asarray(lanes))
        if self.layout.stage is not None:
            self.layout.stage.start(np.asarray(lanes))
        return self._observe(output)

    def state(self):
        """Copies of the state's columns: {name: array of shape (num_lanes,) or (num_lanes, size)}."""
        cdef const be_field *field = self.batch.type.state
        cdef int i = 0
        columns = {}
        while field[i].name != NULL:
            columns[field[i].name.decode()] = _column(
                self.batch.state[i], _dtypes[<int>field[i].dtype], self.num_lanes, self.batch.field_size[i])
            i += 1
        return columns

    def elapsed(self):
        """Steps since each lane's last reset, int32."""
        return _column(self.batch.elapsed, np.dtype(np.int32), self.num_lanes, 1)

    def rng_state(self, int64_t lane):
        """The state of a lane's random stream, in the form of numpy.random.PCG64().state or, where the type's streams
        are of NumPy's older kind, of numpy.random.MT19937().state with what RandomState has in addition."""
        cdef be_random_state *old = be_batch_random_states(self.batch)
        if old != NULL:
            old += lane
            key = np.array(<uint32_t[:624]>old.key)
            return {"bit_generator": "MT19937", "state": {"key": key, "pos": min(old.used, 624)},
                    "has_gauss": int(old.has_gauss != 0), "gauss": old.gauss}
        cdef const be_rng *rng = &self.batch.rng[lane]
        return {"bit_generator": "PCG64",
                "state": {"state": (<object>rng.state_hi << 64) | rng.state_lo,
                          "inc": (<object>rng.inc_hi << 64) | rng.inc_lo},
                "has_uint32": rng.has_buffered, "uinteger": rng.buffered}

    def set_state(self, dict columns, const int64_t[::1] lanes):
        """Sets fields of the state of lanes, which are ascending, and returns the same as `observe`. columns: {name:
        array (lanes, ...) of the field's dtype, contiguous}, also of "elapsed_steps"."""
        cdef Output output = _new_output(self.layout, FOR_STEP, self.num_lanes)
        cdef be_rows arrays
        cdef be_error error
        cdef int status = BE_OK
        cdef dict before = {**self.state(), "elapsed_steps": self.elapsed()}
        self._put_columns(columns, lanes)
        output.point(&arrays)
        try:
            with nogil:
                status = be_batch_observe_first(self.batch, &lanes[0], lanes.shape[0], &arrays, &error)
            _check(status, &error)
            return self._observe(output)
        except BaseException:
            self._put_columns({name: before[name][np.asarray(lanes)] for name in columns}, lanes)
            raise

    cdef int _put_columns(self, dict columns, const int64_t[::1] lanes) except -1:
        cdef const void *fields[BE_MAX_FIELDS]
        cdef const int32_t *elapsed = NULL
        cdef be_error error
        cdef int status, i = 0
        while self.batch.type.state[i].name != NULL:
            column = columns.get(self.batch.type.state[i].name.decode())
            fields[i] = NULL if column is None else cnp.PyArray_DATA(<cnp.ndarray>column)
            i += 1
        if "elapsed_steps" in columns:
            elapsed = <const int32_t *>cnp.PyArray_DATA(<cnp.ndarray>columns["elapsed_steps"])
        with nogil:
            status = be_state_set(self.batch, fields, elapsed, &lanes[0], lanes.shape[0], &error)
        _check(status, &error)
        return 0

    def column_sizes(self):
        """Bytes of a lane in each column of what `save_columns` writes."""
        cdef size_t[BE_MAX_LANE_COLUMNS + 1] sizes
        cdef int k, count = be_columns_sizes(self.batch, sizes)
        return [sizes[k] for k in range(count)]

    cdef int _point_columns(self, list arrays, unsigned char **places) except -1:
        """Where the columns are. arrays: uint8 (lanes, bytes of a lane), contiguous."""
        cdef cnp.ndarray array
        cdef int k
        for k, (array, size) in enumerate(zip(arrays, self.column_sizes(), strict=True)):
            if (cnp.PyArray_TYPE(array) != cnp.NPY_UINT8 or not cnp.PyArray_ISCARRAY_RO(array)
                    or cnp.PyArray_NBYTES(array) != self.num_lanes * size):
                raise ValueError(f"a column must be uint8 ({self.num_lanes}, {size}), contiguous")
            places[k] = <unsigned char *>cnp.PyArray_DATA(array)
        return 0

    def save_columns(self, list arrays):
        """Writes the state of all lanes: uint8 (num_lanes, bytes of a lane) for each column."""
        cdef unsigned char *places[BE_MAX_LANE_COLUMNS + 1]
        self.calls.require_reset("saving the state")
        self._point_columns(arrays, places)
        with nogil:
            be_columns_save(self.batch, places)

    def load_columns(self, list arrays):
        """Puts all lanes into a state that `save_columns` has written; ValueError if it cannot be one. No lane may be
        in flight."""
        cdef unsigned char *places[BE_MAX_LANE_COLUMNS + 1]
        self._point_columns(arrays, places)
        self._load_columns(places)

    cdef int _load_columns(self, unsigned char **places) except -1:
        cdef be_error error
        cdef int status
        self.queue.refuse_in_flight("loading a state", NULL)
        with nogil:
            status = be_columns_load(self.batch, <const unsigned char *const *>places, &error)
        _check(status, &error)
        self.calls.has_reset = True
        self._refuse_unloaded(np.arange(self.num_lanes))
        return 0

    cdef int _refuse_unloaded(self, cnp.ndarray lanes) except -1:
        """Raises RuntimeError if the simulators of some of these lanes could not be brought into their saved states."""
        if not self.may_fail:
            return 0
        failed = np.array([lane for lane in lanes.tolist() if be_batch_take_failure(self.batch, lane)], np.int64)
        if len(failed):
            causes = {} if self.engine is None else self.engine.take_causes(failed)
            why = be_batch_failure(self.batch, failed[0]).message.decode(errors="replace")
            raise RuntimeError(f"lane {failed[0]} cannot be restored: {why}; reset it before it is stepped") from next(
                iter(causes.values()), None)
        return 0

    def observe(self):
        """The observation of every lane's present state."""
        return self._observe(_new_output(self.layout, FOR_STEP, self.num_lanes))

    cdef object _observe(self, Output output):
        cdef be_rows arrays
        cdef be_error error
        cdef int status
        output.point(&arrays)
        with nogil:
            status = be_batch_observe(self.batch, 0, self.num_lanes, &arrays, &error)
        _check(status, &error)
        output.treat_observations()
        return output.observed()
