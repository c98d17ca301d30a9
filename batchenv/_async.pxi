# Lanes stepped in the background: csrc/core/async.h.

@cython.final
@cython.no_gc  # the collector would take arrays away that workers are writing; nothing held here leads back to this
cdef class Batch(SyncBatch):
    """Lanes that are stepped together, or sent off some at a time and received as they get finished."""

    cdef list buffers  # of the queue: where results are being written
    cdef list spare  # sets of arrays handed out before, to be used again when nobody else holds them
    cdef tuple upcoming  # a set that takes the place of the next batch's, found before that batch is taken
    cdef tuple undelivered  # a batch that was taken, and that the caller does not have yet
    cdef cnp.ndarray last_ids

    def __dealloc__(self):
        PyObject_ClearWeakRefs(self)  # or another thread could bring this back to life while workers end
        self._end_workers()  # before `buffers` goes, which the base's __dealloc__ would be too late for

    def set_queue(self, int64_t batch_rows, affinity):
        """How many rows a batch has; the CPUs of the workers, or None. Before anything is sent."""
        if (self.num_lanes + batch_rows - 1) // batch_rows >= 1 << 20:
            raise ValueError(f"batch_size={batch_rows} makes more than a million batches of {self.num_lanes} lanes: "
                             f"it must be at least {self.num_lanes // ((1 << 20) - 2) + 1}")
        self.batch_rows = batch_rows
        self.affinity = affinity
        cdef bytes folder = _numa_folder()
        if affinity is None and folder != b"0":
            with _Unbound():
                be_batch_place(self.batch, be_place_here(<const char *>folder if folder else NULL,
                                                         min(self.num_threads, self.num_lanes), self.num_lanes,
                                                         1 if self.lane_by_lane else 64))

    cdef int _start_queue(self) except -1:
        cdef be_error error
        cdef cnp.ndarray cpus
        cdef const int *cpu_data = NULL
        cdef int num_cpus = 0
        cdef int i
        if self.queue != NULL:
            self._leave_to_parent()
            if self.queue != NULL:
                return 0
        if self.affinity is not None:
            cpus = np.array(self.affinity, np.intc)
            cpu_data = <const int *>cnp.PyArray_DATA(cpus)
            num_cpus = len(cpus)
        workers = min(self.num_threads, self.num_lanes)
        with _Unbound():
            self.queue = be_async_create(self.batch, self.isa_table, self.batch_rows, workers, cpu_data, num_cpus,
                                         &error)
        if self.queue == NULL:
            _raise(&error)
        self.queue_process = be_fork_count()
        self.spare = []
        self.upcoming = None
        self.buffers = []
        try:
            for i in range(be_async_num_buffers(self.queue)):
                held = self._new_results()
                self.buffers.append(held)
                self._set_buffer(i, held)
        except BaseException:  # no memory
            self._end_workers()
            raise
        if be_async_num_workers(self.queue) < workers:
            _warn_of_threads(workers, be_async_num_workers(self.queue), "workers")
        return 0

    cdef int _leave_to_parent(self) except -1:
        """In a child of fork() the queue has no workers: one without lanes in flight is replaced."""
        if self.queue_process == be_fork_count():
            return 0
        if be_async_list_in_flight(self.queue, NULL, NULL, 0):
            raise RuntimeError("lanes were in flight when this process was forked, and their workers are the parent's: "
                               "call env.reset() in this process first")
        self.queue = NULL  # the workers' memory stays: they are another process's
        return 0

    cdef int _settle(self) except -1:
        """Waits until no lane is being worked on."""
        cdef be_pool_status status
        if self.queue_process != be_fork_count():
            return self._leave_to_parent()
        while True:
            with nogil:
                status = be_async_finish(self.queue, SLICE_NS)
            if status != BE_POOL_TIMEOUT:
                return 0
            PyErr_CheckSignals()

    cdef int _refuse_in_flight(self, str doing, const uint8_t *mask) except -1:
        """RuntimeError if lanes of the mask (NULL: any) are in flight."""
        cdef int64_t lanes[5]
        self._refuse_undelivered(doing)
        cdef int64_t count = be_async_list_in_flight(self.queue, mask, lanes, 5) if self.queue != NULL else 0
        if count:
            named = ", ".join([str(lanes[i]) for i in range(min(count, 5))]) + (", ..." if count > 5 else "")
            raise RuntimeError(f"{doing} while {count} lanes are in flight (env_id {named}): recv() their results "
                               "first, or reset() everything")
        return 0

    cdef int _refuse_undelivered(self, str doing) except -1:
        if self.undelivered is not None:
            raise RuntimeError(f"{doing} after a recv() that failed: call recv() again for its results first, or "
                               "reset() everything")
        return 0

    cdef int _drop_in_flight(self) except -1:
        if self.queue != NULL and self.queue_process != be_fork_count():
            self.queue = NULL
        elif self.queue != NULL:
            self._settle()
            be_async_clear(self.queue)
        self.undelivered = None
        return 0

    def refuse_in_flight(self, str doing, const uint8_t[::1] mask):
        """RuntimeError if lanes of the mask are in flight; ResetNeeded if they are not all, and others need one."""
        self._refuse_in_flight(doing, &mask[0])
        if memchr(&mask[0], 0, mask.shape[0]) != NULL:
            self._require_reset(f"{doing} of some lanes")

    def in_flight(self):
        """How many lanes have been sent and not received. Needs no hold."""
        kept = self.batch_rows if self.undelivered is not None else 0
        if self.queue == NULL or self.queue_process != be_fork_count():
            return kept
        return kept + be_async_in_flight(self.queue)

    def lane_ns(self):
        """The measured cost of a lane's step in the background; 0.0: not known yet. Needs no hold."""
        return 0.0 if self.queue == NULL else be_async_lane_ns(self.queue)

    def queue_reset(self, seeds, dict options):
        """Sends every lane off to be reset. seeds as `reset` takes them. Results of lanes in flight are dropped, once
        nothing can be refused any more."""
        cdef double numbers[32]
        cdef double *values = NULL
        if options:
            values = numbers
            self._fill_options(options, values)
        words = self._words_of_seeds(seeds, None)
        lanes = np.arange(self.num_lanes)
        if self.queue == NULL or self.queue_process != be_fork_count():
            self._drop_in_flight()
            self._start_queue()
        else:
            self._drop_in_flight()
        self._seed(words)
        self._submit(lanes, NULL, values)
        self.has_reset = 1

    def send_alone(self, actions, env_id):
        """Takes the batch, and sends."""
        self._enter_only()
        try:
            return self._send(actions, env_id)
        finally:
            be_set(&self.busy, 0)

    def send(self, actions, env_id):
        """Sends lanes off to be stepped. env_id: their numbers, one for each row of actions; None: as last received.
        Returns the numbers."""
        return self._send(actions, env_id)

    cdef object _send(self, actions, env_id):
        cdef cnp.ndarray ids, array
        cdef be_error error
        cdef const void *rows
        cdef int what = 0
        cdef int64_t bad, lane
        if not self.has_reset and self.torn is None:
            raise ResetNeeded("send() before the first reset: call env.async_reset() or env.reset() once first")
        self._require_reset("send()")
        self._refuse_undelivered("send()")
        if self.queue == NULL or self.queue_process != be_fork_count():
            self._start_queue()
        if type(env_id) is cnp.ndarray and cnp.PyArray_TYPE(<cnp.ndarray>env_id) == cnp.NPY_INT64 and (
                cnp.PyArray_ISCARRAY_RO(<cnp.ndarray>env_id) and cnp.PyArray_NDIM(<cnp.ndarray>env_id) == 1):
            ids = <cnp.ndarray>env_id
        else:
            ids = self._coerce_ids(env_id)
        ids = cnp.PyArray_NewCopy(ids, cnp.NPY_CORDER)  # reading the actions may run code that changes the caller's
        if cnp.PyArray_DIM(ids, 0) == 0:
            raise ValueError("env_id is empty: send at least one lane")
        bad = be_async_check(self.queue, <const int64_t *>cnp.PyArray_DATA(ids), cnp.PyArray_DIM(ids, 0), &what)
        if bad >= 0:
            self._raise_bad_id(ids[bad], bad, what)
        if self.autoreset == BE_DISABLED:
            for lane in ids:
                if be_batch_first_pending(self.batch, lane, lane + 1) >= 0:
                    raise LanePendingError(
                        f"lane {lane} has finished its episode and autoreset_mode is DISABLED: reset it with "
                        "env.reset(options={'reset_mask': mask}) before sending it; nothing was sent")
        rows = self._check_sent(actions, ids)
        self._submit(ids, rows, NULL)
        return ids

    cdef int _submit(self, cnp.ndarray ids, const void *rows, const double *options) except -1:
        cdef be_pool_status status
        cdef const int64_t *lanes = <const int64_t *>cnp.PyArray_DATA(ids)
        cdef int64_t count = cnp.PyArray_DIM(ids, 0)
        status = be_async_submit(self.queue, lanes, count, rows, options)
        if status != BE_POOL_OK:
            raise RuntimeError(f"the workers do not take {count} lanes (status {<int>status})")
        return 0

    cdef cnp.ndarray _coerce_ids(self, object env_id):
        if env_id is None:
            if self.last_ids is None:
                raise ValueError("env_id=None means the lanes last received, and none have been: say which lanes")
            return self.last_ids
        try:
            ids = np.atleast_1d(np.asarray(env_id))
        except ValueError:  # ragged
            ids = np.empty((), object)
        if ids.size == 0:
            return np.empty(0, np.int64)
        if ids.dtype.kind not in "iu" or ids.ndim != 1:
            raise TypeError(f"env_id={env_id!r} must be a one-dimensional array or list of ints")
        if ids.dtype.kind == "u" and ids.max() >= self.num_lanes:  # may not fit into int64
            self._raise_bad_id(ids.max(), int(ids.argmax()), BE_ASYNC_RANGE)
        return np.ascontiguousarray(ids, np.int64)

    cdef object _raise_bad_id(self, lane, int64_t row, int what):
        if what == BE_ASYNC_RANGE:
            raise ValueError(f"env_id[{row}]={lane} is not in 0..{self.num_lanes - 1}; nothing was sent")
        if what == BE_ASYNC_TWICE:
            raise ValueError(f"env_id[{row}]={lane} occurs twice: a lane takes one action at a time; nothing was sent")
        raise RuntimeError(f"env_id[{row}]={lane} is in flight: recv() its result before sending it again; nothing was "
                           "sent")

    cdef const void *_check_sent(self, object actions, cnp.ndarray ids) except NULL:
        """The checked actions in the space's own dtype."""
        cdef cnp.ndarray array
        cdef be_error error
        cdef be_dtype dtype
        cdef int64_t count = cnp.PyArray_DIM(ids, 0)
        cdef int64_t size = self.action_size // self.num_lanes
        cdef const char *rows
        cdef int status, item, i
        discrete = self.action_type == cnp.NPY_INT64
        if type(actions) is not cnp.ndarray or not cnp.PyArray_ISCARRAY_RO(<cnp.ndarray>actions) or (
                cnp.PyArray_TYPE(<cnp.ndarray>actions) != self.action_type):
            array = self._read_actions(actions, (count, *self.action_shape[1:]))
            if array.dtype.kind == "u" and array.size and array.max() > 2**63 - 1:
                raise ValueError(f"action {array.max()} of lane {ids[array.argmax()]} is not in "
                                 f"0..{self.batch.action_space.n - 1}; nothing was sent")
            array = _contiguous(array, np.int64 if discrete else np.float32)
        else:
            array = actions
        if cnp.PyArray_NDIM(array) != self.action_ndim or cnp.PyArray_DIM(array, 0) != count or (
                cnp.PyArray_SIZE(array) != count * size or (<object>array).shape[1:] != self.action_shape[1:]):
            raise ValueError(f"actions have shape {(<object>array).shape}, but {count} lanes are sent: shape "
                             f"{(count, *self.action_shape[1:])} is needed; nothing was sent")
        dtype = BE_I64 if discrete else BE_F32
        rows = <const char *>cnp.PyArray_DATA(array)
        with nogil:
            status = self.isa_table.check_actions(self.batch, rows, dtype, 0, count * size, self.clip, NULL, &error)
        if status != BE_OK:
            i = error.lane  # a row: once more, for the message to name the lane
            item = cnp.PyArray_ITEMSIZE(array)
            self.isa_table.check_actions(self.batch, rows + i * size * item, dtype, ids[i], size, self.clip, NULL,
                                         &error)
            _raise(&error)
        self.converted = array
        return rows

    def recv_alone(self, timeout):
        """Takes the batch, and receives."""
        self._enter_only()
        try:
            self._take_results(timeout)
            result = self._result(self.undelivered)
            self._delivered()
            return result
        finally:
            be_set(&self.busy, 0)

    def recv(self, timeout):
        """Waits for a batch of results. timeout: seconds; None: for ever. They are given again, until `delivered` is
        called: whatever fails on their way to the user loses nothing."""
        self._take_results(timeout)
        return self._result(self.undelivered)

    def delivered(self):
        """The user has what `recv` returned."""
        self._delivered()

    cdef int _delivered(self) except -1:
        held = self.undelivered
        self.undelivered = None
        if held is not None and len(self.spare) <= MAX_POOL:
            self.spare.append(held)
        return 0

    cdef int _take_results(self, timeout) except -1:
        """Puts the next batch of results into `undelivered`, unless one is there."""
        cdef be_pool_status status
        cdef int buffer = 0
        cdef int64_t slice_ns = SLICE_NS
        cdef double end = 0.0
        cdef bint limited = timeout is not None
        if self.undelivered is not None:
            return 0
        if self.queue == NULL:
            raise RuntimeError("recv() with nothing in flight: async_reset() or send() first")
        if self.queue_process != be_fork_count():
            self._leave_to_parent()
            raise RuntimeError("recv() with nothing in flight in this forked process: async_reset() or send() "
                               "first")
        if self.upcoming is None:
            self.upcoming = self._free_results()  # before a batch is taken, which would be lost if there is no memory
        if limited:
            end = be_now_ns() + 1e9 * timeout
        while True:
            if limited:
                slice_ns = <int64_t>max(0.0, min(<double>SLICE_NS, end - be_now_ns()))
            with nogil:
                status = be_async_recv(self.queue, slice_ns, &buffer)
            if status == BE_POOL_OK:
                break
            if status == BE_POOL_STARVED:
                count = be_async_in_flight(self.queue)
                raise RuntimeError(f"recv() with {count or 'nothing'} in flight: a batch has {self.batch_rows} "
                                   "rows and would never come; async_reset() or send() first")
            if status != BE_POOL_TIMEOUT:
                raise RuntimeError(f"recv() failed (status {<int>status})")
            PyErr_CheckSignals()
            if limited and be_now_ns() >= end:
                raise TimeoutError(f"no batch of {self.batch_rows} lanes within {timeout} s; nothing is lost: call "
                                   "recv() again")
        self.undelivered = <tuple>self.buffers[buffer]
        self._set_buffer(buffer, self.upcoming)
        self.upcoming = None
        PyErr_CheckSignals()  # what a handler raises must not come when the batch has been given away
        return 0

    cdef object _result(self, tuple held):
        cdef int k
        cdef int ids = self.num_outputs
        cdef dict info
        cdef cnp.ndarray failed = <cnp.ndarray>held[ids + 1]
        cdef const uint8_t *flags = <const uint8_t *>cnp.PyArray_DATA(failed)
        info = self._step_info(held, <const uint8_t *>cnp.PyArray_DATA(<cnp.ndarray>held[ids + 2]),
                               self.batch_rows) if self.num_info else {}
        self.last_ids = held[ids]
        info["env_id"] = held[ids]
        if self.recording or self.autoreset == BE_SAME_STEP:
            done = held[2] | held[3]
            if done.any():
                if self.recording:
                    self._tell_episodes(info, held, done)
                if self.autoreset == BE_SAME_STEP:
                    info.update(self._final(held, done))
        result = (self._present(held[0]), held[1], held[2], held[3], info)
        for k in range(self.batch_rows):
            if flags[k]:
                error = self._failed_error(held[ids][failed.view(np.bool_)], result)
                self._delivered()  # with the error
                raise error
        return result

    cdef dict _final(self, tuple held, object done):
        """final_obs and final_info of a batch, as `_add_final`."""
        final = held[self.num_outputs + 3:]
        observations = np.empty(len(done), dtype=object)
        for i in np.flatnonzero(done):
            observations[i] = self._present_row(final[0][i].copy())
        infos = {}
        for k in range(self.num_info):
            self._put_final_info(infos, k, final[1 + k].copy(), done)
        return {"final_obs": observations, "_final_obs": done, "final_info": infos, "_final_info": done.copy()}

    cdef tuple _new_results(self):
        """Arrays for a batch: as `_new_output`, then lane numbers, failures, which rows start episodes,
        and the rows that end them."""
        cdef tuple held = self._new_arrays(self.batch_rows)
        held += (np.empty(self.batch_rows, np.int64), np.empty(self.batch_rows, np.uint8),
                 np.empty(self.batch_rows, np.uint8))
        if self.autoreset == BE_SAME_STEP:
            held += (np.empty_like(held[0]),)
            for k in range(self.num_info):
                held += (np.empty_like(held[4 + 2 * k]),)
        return held

    cdef tuple _free_results(self):
        """A set of arrays for results that nobody else holds: one handed out before, or a new one."""
        cdef int i
        for i in range(<int>len(self.spare)):
            candidate = <tuple>self.spare[i]
            if self._reusable(candidate):
                del self.spare[i]
                return candidate
        held = self._new_results()
        if len(self.spare) >= MAX_POOL:
            del self.spare[0]  # the user keeps it
        return held

    cdef int _set_buffer(self, int buffer, tuple held) except -1:
        """Gives the queue these arrays for results that are to come. Allocates nothing."""
        cdef be_results results
        cdef int k, used
        used = self.num_outputs
        self._point(held, &results.rows)
        results.rows.action = NULL
        results.lanes = <int64_t *>cnp.PyArray_DATA(<cnp.ndarray>held[used])
        results.failed = <uint8_t *>cnp.PyArray_DATA(<cnp.ndarray>held[used + 1])
        results.rows.started = <uint8_t *>cnp.PyArray_DATA(<cnp.ndarray>held[used + 2])
        if self.autoreset == BE_SAME_STEP:
            results.rows.final_observation = cnp.PyArray_DATA(<cnp.ndarray>held[used + 3])
            for k in range(self.num_info):
                results.rows.final_info[k] = cnp.PyArray_DATA(<cnp.ndarray>held[used + 4 + k])
        be_async_set_buffer(self.queue, buffer, &results)
        self.buffers[buffer] = held
        return 0

    cdef bint _reusable(self, tuple held):
        """Nobody else holds them, and they are as they were."""
        cdef cnp.ndarray ids
        if not self._unshared(held) or not be_unshared(PyTuple_GET_ITEM(held, self.num_outputs)):
            return False
        ids = <cnp.ndarray>PyTuple_GET_ITEM(held, self.num_outputs)
        return (self._intact(held, self.batch_rows) and cnp.PyArray_TYPE(ids) == cnp.NPY_INT64
                and cnp.PyArray_ISCARRAY(ids) and cnp.PyArray_NDIM(ids) == 1
                and cnp.PyArray_DIM(ids, 0) == self.batch_rows)

    def fileno(self):
        """A file descriptor that is readable when a batch is ready."""
        cdef int fd
        self._start_queue()
        fd = be_async_eventfd(self.queue)
        if fd < 0:
            raise OSError("this system gives no file descriptor to wait on")
        return fd
