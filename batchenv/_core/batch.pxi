# The lanes of one env, and the calls that step them.

import os
import weakref

import numpy as np
from gymnasium.error import ResetNeeded

cimport cython
cimport numpy as cnp
from libc.string cimport memchr, memset


@cython.final
@cython.no_gc  # the collector would clear arrays that workers write; nothing held here refers back to this object
cdef class Batch:
    """`num_lanes` lanes of one env type. They are stepped together, or some are sent and received when they are
    finished.

    Only one call runs at a time. A caller holds the batch first; a second one (in another thread, or in a signal
    handler) gets a RuntimeError and changes nothing. `step_alone`, `send_alone` and `recv_alone` hold the batch
    themselves. All other methods must be called inside `with batch.hold(): ...`, which may contain several calls.
    """

    cdef be_batch *batch
    cdef const be_isa *isa_table
    cdef readonly str type_name
    cdef int64_t num_lanes
    cdef int autoreset
    cdef bint lane_by_lane, may_fail
    cdef Calls calls
    cdef Layout layout
    cdef Params params
    cdef Actions actions
    cdef Outputs outputs
    cdef Runner runner
    cdef Queue queue
    cdef be_scattered *scattered  # for steps of some lanes of a kernel; NULL until it is needed
    cdef public object failed  # the numbers of the lanes that failed in the last call; None: no lane failed
    cdef Engine engine  # None: the type has no simulator
    cdef int process  # be_fork_count() when the batch was made
    cdef object __weakref__

    def __cinit__(self, str type_name, int64_t num_lanes, int autoreset, int32_t max_episode_steps, dict params,
                  int num_threads, int ring, bint clip, isa=None, grid=None, dict transform=None,
                  engine=None):
        cdef be_error error
        cdef be_transform changes
        cdef be_grid map_of
        cdef const be_env_type *env_type
        cdef be_batch_options options
        cdef cnp.ndarray cells
        self.runner = Runner()
        self.queue = Queue()
        self.calls = Calls(type_name)
        self.isa_table = _find_isa(isa if isa is not None else os.environ.get("BATCHENV_ISA") or None)
        env_type = _find_type(self.isa_table, type_name)
        self.type_name = type_name
        self.lane_by_lane = (env_type.flags & BE_LANE_BY_LANE) != 0
        self.may_fail = be_lanes_may_fail(env_type)
        self.num_lanes = num_lanes
        self.autoreset = autoreset
        _fill_transform(&changes, transform or {})
        options.type = env_type
        options.num_lanes = num_lanes
        options.autoreset = <be_autoreset>autoreset
        options.max_episode_steps = max_episode_steps
        options.grid = NULL
        if grid is not None:
            cells = np.ascontiguousarray(grid, np.uint8)
            map_of.cells = <const uint8_t *>cnp.PyArray_DATA(cells)
            map_of.rows, map_of.columns = grid.shape
            options.grid = &map_of
        options.transform = &changes
        options.engine = NULL
        if engine is not None:
            # Attributes are released after __dealloc__, which ends the workers, so the C side can use them until then.
            self.engine = engine.source
            options.engine = self.engine.given
        options.look = _look_at_signals
        options.look_context = <void *>self.runner
        self.params = Params()
        self.params.start(env_type, num_lanes, params)
        options.params, options.columns = self.params.numbers, self.params.pointers
        options.texts = self.params.text_pointers
        with nogil:
            self.batch = be_batch_create(&options, &error)
        self.runner.raise_signal()
        if self.batch == NULL:
            _raise(&error)
        self.params.batch = self.batch
        self.actions = Actions()
        self.actions.start(self.batch, self.isa_table, clip)
        self.layout = Layout()
        self.layout.start(self.batch, &changes, autoreset == BE_SAME_STEP)
        self.outputs = Outputs(self.layout, ring)
        self.layout.again = ring > 0
        self.queue.layout = self.layout
        self.queue.rows = num_lanes
        self.runner.start(num_lanes, self.lane_by_lane, num_threads)
        self.process = be_fork_count()
        _alive[<size_t><void *>self] = weakref.ref(self)

    def __dealloc__(self):
        PyObject_ClearWeakRefs(self)  # otherwise another thread could revive this object while the workers end
        if _alive is not None:
            _alive.pop(<size_t><void *>self, None)
        self._end_workers()  # before the arrays that they write are released
        be_scattered_destroy(self.scattered)
        be_batch_destroy(self.batch)

    # -- tables ------------------------------------------------------------------------------------------------------

    @property
    def isa(self):
        return self.isa_table.name.decode()

    @property
    def nbytes(self):
        """Bytes held in C for state, random streams and bookkeeping, without the arrays handed out to users."""
        return be_batch_bytes(self.batch)

    @property
    def parallel(self):
        """(Whether the next step would run on several threads, measured ns per call on one thread, and on several.)"""
        cdef be_plan *plan = &self.runner.plans[<int>BE_STEP]
        return bool(plan.parallel), plan.cost[0] * self.num_lanes, plan.cost[1] * self.num_lanes

    @property
    def num_threads(self):
        """The most threads that a call uses."""
        return self.runner.num_threads

    def numa_blocks(self):
        """[(node, end of its lanes, end of its workers)], in ascending order; [] if there is no NUMA placement."""
        cdef const be_placement *placement = be_batch_placement(self.batch)
        return [] if placement == NULL else [(placement.blocks[i].node, placement.blocks[i].end_lane,
                                              placement.blocks[i].end_worker) for i in range(placement.num_blocks)]

    def force_parallel(self, bint parallel):
        """Fixes the choice between one thread and several, which is otherwise made by measurement. For tests and
        benchmarks. A single lane always uses one thread."""
        self.runner.force(parallel)

    def set_stage(self, stage, reward_dtype):
        """Sets what happens last to results. To be called before any other call. stage: a batchenv.normalize.Stage for
        observations and rewards, or None. reward_dtype: float64 or float32."""
        self.layout.set_stage(stage, reward_dtype)

    cdef int _check_stage(self) except -1:
        """Checks the moments before a call that uses them, since users can set them to anything."""
        if self.layout.stage is not None:
            self.layout.stage.check()
        return 0

    def spaces(self):
        """Spaces of the observation and of the action: {name of a port: (kind, dtype, shape, low, high)} for each."""
        return _spaces(self.batch, BE_OBSERVATION), _spaces(self.batch, BE_ACTION)

    def infos(self):
        """What a step can say beside its four arrays: [(path in the dict of infos, dtype, shape of one lane)]."""
        rows = [*self.layout.infos, *[row for _, row in self.layout.codes]]
        return [((*row["groups"], row["key"]), row["dtype"], row["shape"]) for row in rows]

    def rescale(self, gradient, intercept):
        """Sets new coefficients for rescaled observations: two arrays, with one number per component."""
        cdef double[::1] gradients = np.ascontiguousarray(gradient, np.float64)
        cdef double[::1] intercepts = np.ascontiguousarray(intercept, np.float64)
        cdef int64_t size = be_space_row_size(&self.batch.space[self.layout.port])
        if gradients.shape[0] != size or intercepts.shape[0] != size:
            raise ValueError(f"an observation has {size} components, but there are {gradients.shape[0]} gradients and "
                             f"{intercepts.shape[0]} intercepts")
        be_batch_rescale(self.batch, &gradients[0], &intercepts[0])

    def get_params(self):
        """{name: the value, or an array (num_lanes,) where lanes differ, of float64, int64, bool or texts}."""
        return self.params.get()

    def set_params(self, dict values, lanes=None):
        """values: {name: one value, or an array (num_lanes,)}. lanes: a bool mask; None: all lanes."""
        self.params.set(values, lanes)

    def state(self):
        """Copies of the state's columns: {name: array of shape (num_lanes,) or (num_lanes, size)}."""
        return _state(self.batch)

    def constants(self):
        """What the type's prepare() has derived from the params, float64; where lanes differ, those of some lane."""
        return np.array([self.batch.constants[k] for k in range(BE_MAX_CONSTANTS)])

    def texts(self, str name, codes):
        """The texts of the type's port of this name, for codes as its rows have them, (n,) or (n, size): a tuple."""
        cdef const be_port *port = self.batch.type.ports
        cdef TextSource source = TextSource()
        while port.name.decode() != name or (port.texts == NULL and port.write_text == NULL):
            port += 1
            if port.name == NULL:
                raise ValueError(f"{self.type_name} has no texts named {name!r}")
        if port.shape[0] > 0:
            codes = codes.reshape(len(codes), -1)
        source.start(self.batch.type, port, codes.ndim - 1)
        return source.texts(codes)

    def elapsed(self):
        """Steps since each lane's last reset, int32."""
        return _column(self.batch.elapsed, np.dtype(np.int32), self.num_lanes, 1)

    def waiting(self):
        """Whether each lane has finished and waits for its reset: bool."""
        cdef int64_t k
        return np.array([be_batch_first_pending(self.batch, k, k + 1) >= 0 for k in range(self.num_lanes)])

    def picture(self, int64_t lane):
        """The picture of a lane that the C type draws: uint8 (rows, columns, 3)."""
        if self.batch.type.picture == NULL:
            raise NotImplementedError(f"{self.type_name} has no pictures of its own")
        if not 0 <= lane < self.num_lanes:
            raise IndexError(f"lane {lane} is not in 0..{self.num_lanes - 1}")
        return _picture(self.batch, lane)

    def rng_state(self, int64_t lane):
        """The state of a lane's random stream, in the form of numpy.random.PCG64().state."""
        return _rng_state(&self.batch.rng[lane])

    # -- one call at a time ------------------------------------------------------------------------------------------

    def hold(self, bint settle=True):
        """A context manager that holds the batch. settle: first wait until no lane is being worked on.

        Raises (on entering):
            RuntimeError: another call holds it.
            gymnasium.error.ClosedEnvironmentError: it is closed.
        """
        return Hold(self, settle)

    @property
    def closed(self):
        return self.calls.closed()

    def close(self):
        """Ends the workers; the batch cannot be held afterwards. May be called again, and at exit."""
        if self.calls.begin_last():
            self._end_workers()
            self.calls.close()

    @property
    def needs_reset(self):
        """Whether lanes must be reset before anything else, because they never were or because a call was cut short."""
        return not self.calls.has_reset

    def tear(self, str reason):
        """Notes why all lanes must be reset before they can go on."""
        self.calls.tear(reason)

    # -- reset -------------------------------------------------------------------------------------------------------

    def reset(self, seeds, mask, dict options):
        """Resets lanes and returns the observations. seeds: an int (lane i gets seed + i), a list with an int or None
        per lane, or None. mask: None or a bool array, checked by the caller. options: those of the type's table.
        Without a mask, the results of lanes in flight are dropped as soon as the arguments are known to be right."""
        cdef double numbers[BE_MAX_PARAMS]
        cdef be_rows arrays
        cdef be_call call
        cdef cnp.ndarray mask_array
        cdef Output output = _new_output(self.layout, FOR_STEP, self.num_lanes)
        self._check_stage()
        output.point(&arrays)
        arrays.terminated = arrays.truncated = NULL
        arrays.reward = NULL  # a reset returns observations and infos only
        be_call_init(&call, BE_RESET if mask is None else BE_RESET_SOME, self.batch, self.isa_table, &arrays)
        if options:
            self.params.fill_options(options, numbers)
            call.options = numbers
        if mask is not None:
            mask_array = np.ascontiguousarray(mask)
            call.mask = <const uint8_t *>cnp.PyArray_DATA(mask_array)
            for info in output.arrays[self.layout.first_info:self.layout.first_final_info]:
                info.fill(0)
            self.calls.require_reset("env.reset(options={'reset_mask': ...})")
            self.queue.refuse_in_flight("reset() of some lanes", call.mask)
        words = _words_of_seeds(seeds, mask)
        self.runner.start_workers()
        if mask is None:
            self.queue.drop()
        self._seed(words)
        self._run(&call)
        self.calls.has_reset = True
        output.treat_reset(mask)
        self._note_failures()
        return output.observed(), output.reset_infos(mask)

    cdef int _seed(self, words) except -1:
        """Seeds lanes with what `_words_of_seeds` returned. It allocates nothing, so it cannot fail."""
        cdef be_call call
        cdef int64_t lane
        if isinstance(words, bytes):
            be_call_init(&call, BE_SEED, self.batch, self.isa_table, NULL)
            call.words = <const uint32_t *><const char *><bytes>words
            call.num_words = len(<bytes>words) // 4
            self._run(&call)
            return 0
        for lane, own in words:
            be_rng_seed_words(&self.batch.rng[lane], <const uint32_t *><const char *><bytes>own, len(<bytes>own) // 4)
        return 0

    cdef int _run(self, be_call *call) except -1:
        """Runs the call. If it fails, or if a signal handler raises, the lanes must be reset before they can go on."""
        self.runner.run(call)
        if self.runner.signal is not None:
            self.calls.tear(INTERRUPTED)
            _take_failures(self.batch)  # nobody is told about them
            self.runner.raise_signal()
        if call.error.status != BE_OK:
            self.calls.tear("the last call failed, and some lanes have done it, others have not")
            _raise(&call.error)
        return 0

    cdef void _end_workers(self) noexcept:
        if self.queue is not None:
            self.queue.end_workers()
        if self.runner is not None:
            self.runner.end_workers()

    cdef bint _end_at_exit(self) noexcept:
        """Ends the workers and returns True, or False if a call is running. No call can begin afterwards."""
        cdef int present = be_fork_count()
        if self.process != present and self.runner.process != present and self.queue.process != present:
            return True  # the parent's batch: calls that seem to be running are in its threads
        if self.calls.closed():
            return True
        if not self.calls.exit():
            return False
        self._end_workers()
        return True

    # -- step --------------------------------------------------------------------------------------------------------

    def step_alone(self, actions, out=None):
        """Holds the batch and steps it."""
        self.calls.begin()
        try:
            result = self._step(actions, out)
            return result if self.failed is None else self.deliver(result)
        finally:
            self.calls.end()

    def step(self, actions, out=None):
        """Advances every lane; returns (observation, reward, terminated, truncated, info)."""
        return self._step(actions, out)

    cdef object _step(self, actions, out, bint checked=False):
        """checked: `out` is as `Layout.check_out` returns it."""
        cdef be_rows arrays
        cdef Output output
        self._begin_step(actions, &arrays)
        output = self.outputs.next()
        if out is not None:
            if not checked:
                out = self.layout.check_out(out, self.actions.sources(actions), (self.num_lanes,))
            output = output.into(out)
        info = self._finish_step(output, &arrays)
        return output.observed(), output.at(REWARD), output.at(TERMINATED), output.at(TRUNCATED), info

    cdef int _begin_step(self, object actions, be_rows *arrays) except -1:
        """Reads the actions of a step, and raises what keeps the lanes from being stepped."""
        self.calls.require_reset("env.step()")
        self.queue.refuse_in_flight("step()", NULL)
        self._check_stage()
        self.actions.read(actions, self.num_lanes, NULL, arrays)
        return 0

    cdef dict _finish_step(self, Output output, be_rows *arrays):
        """Steps the lanes into `output`, and returns infos."""
        cdef be_call call
        self._point(output, arrays)
        if self.autoreset == BE_DISABLED:
            self._refuse_pending(NULL, self.num_lanes, "stepping", "no lane has been stepped")
        be_call_init(&call, BE_STEP, self.batch, self.isa_table, arrays)
        self._run(&call)
        if self.layout.stage is not None or self.layout.treats_rewards:
            output.counted = False
            output.treat_step(None)
        self._note_failures()
        return output.step_infos(arrays, call.finished != 0)

    def step_some(self, actions, env_id, out=None, const uint8_t[::1] resets=None):
        """Like `step`, but only for the lanes listed in `env_id`: returns a row for each of them, in that order, and
        info["env_id"]. resets: for types whose lanes are stepped one by one, marks rows whose lanes are reset
        instead; or None."""
        cdef be_rows arrays
        cdef be_call call
        cdef Output output
        cdef cnp.ndarray lanes
        cdef const int64_t *numbers
        cdef int64_t count, k
        self.calls.require_reset("env.step()")
        self.queue.refuse_in_flight("step()", NULL)
        self._check_stage()
        lanes = self.queue.read_lanes(env_id, self.num_lanes, "no lane has been stepped")
        numbers = <const int64_t *>cnp.PyArray_DATA(lanes)
        count = cnp.PyArray_DIM(lanes, 0)
        if self.autoreset == BE_DISABLED:
            for k in range(count):
                if resets is None or not resets[k]:
                    self._refuse_pending(&numbers[k], 1, "stepping", "no lane has been stepped")
        self.actions.read(actions, count, numbers, &arrays)
        output = _new_output(self.layout, FOR_RESULTS, count)
        if out is not None:
            output = output.into(self.layout.check_out(out, self.actions.sources(actions), (count,)))
        output.arrays[LANES] = lanes
        output.point(&arrays)
        be_call_init(&call, BE_STEP_LISTED, self.batch, self.isa_table, &arrays)
        call.lanes = numbers
        call.num_listed = count
        call.scattered = self._room_for_scattered()
        if resets is not None:
            call.resets = &resets[0]
        self._run(&call)
        for k in range(count):
            arrays.failed[k] = self.may_fail and be_batch_take_failure(self.batch, numbers[k])
        output.counted = False
        return self._told(output, &arrays)

    # For lanes that are stepped elsewhere: what `step_some` would refuse is refused before anything is done.

    def expect_resets(self):
        """Notes that all lanes are about to be reset, by `step_some`. Streams that nobody has seeded are, since
        snapshots need sound ones."""
        if not self.calls.has_reset:
            self._seed(seed_words(0))
        self.calls.has_reset = True
        if self.layout.stage is not None:
            self.layout.stage.start(None, sent=True)

    def refuse_unready(self, lanes, str doing, str what, str ending):
        """Raises ResetNeeded before the first reset, and if one of these lanes (int64; None: all) has finished and
        waits for a reset by the user. doing, what: the call, and what it does, for messages; ending: the last words.
        """
        cdef const int64_t[::1] listed
        self.calls.require_reset(doing)
        if self.autoreset == BE_DISABLED and lanes is None:
            self._refuse_pending(NULL, self.num_lanes, what, ending)
        elif self.autoreset == BE_DISABLED:
            listed = lanes
            self._refuse_pending(&listed[0], listed.shape[0], what, ending)

    def require_reset(self, str doing):
        """Raises ResetNeeded before the first reset, and after a call that was interrupted."""
        self.calls.require_reset(doing)

    def pending(self, const int64_t[::1] lanes):
        """Of these lanes, whether their next step starts an episode."""
        return [be_batch_first_pending(self.batch, lane, lane + 1) >= 0 for lane in lanes]

    cdef be_scattered *_room_for_scattered(self) except? NULL:
        """The memory for steps of scattered lanes, or NULL for types whose lanes are stepped one by one."""
        cdef be_error error
        cdef int threads = self.runner.plans[<int>BE_STEP_LISTED].threads
        if self.lane_by_lane or (self.scattered != NULL and be_scattered_num_parts(self.scattered) >= threads):
            return self.scattered
        be_scattered_destroy(self.scattered)
        self.scattered = be_scattered_create(self.batch, threads, &error)
        if self.scattered == NULL:
            _raise(&error)
        return self.scattered

    cdef object _told(self, Output output, be_rows *arrays):
        """What a step of some lanes returns."""
        cdef cnp.ndarray lanes = output.at(LANES), failed = output.at(FAILED)
        cdef dict info
        if self.layout.stage is not None or self.layout.treats_rewards:
            output.treat_step(lanes)
        info = output.step_infos(arrays, _any(output.at(TERMINATED)) or _any(output.at(TRUNCATED)))
        info["env_id"] = lanes
        self.failed = lanes[failed.view(np.bool_)] if _any(failed) else None
        return output.observed(), output.at(REWARD), output.at(TERMINATED), output.at(TRUNCATED), info

    cdef void _point(self, Output output, be_rows *arrays) noexcept:
        """Tells the C side where to write. Final rows go to the output if it has room for them, otherwise to the
        batch."""
        output.point(arrays)
        if self.layout.same_step and output.at(FINAL) is None:
            be_batch_point_final(self.batch, arrays)

    cdef int _refuse_pending(self, const int64_t *lanes, int64_t count, str doing, str ending) except -1:
        """Raises LanePendingError if one of these lanes (NULL: all) has finished and waits for a reset by the user."""
        cdef int64_t k, pending = -1
        if lanes == NULL:
            pending = be_batch_first_pending(self.batch, 0, count)
        else:
            for k in range(count):
                pending = be_batch_first_pending(self.batch, lanes[k], lanes[k] + 1)
                if pending >= 0:
                    break
        if pending >= 0:
            raise lane_pending(pending, doing, ending)
        return 0

    cdef int _note_failures(self) except -1:
        """Sets `failed` to the lanes whose simulators have failed in this call."""
        self.failed = None
        if self.may_fail:
            lanes = _take_failures(self.batch)
            if len(lanes):
                self.failed = lanes
        return 0

    def deliver(self, result):
        """Returns `result` of the last call or, if lanes have failed, raises a LaneError that holds it."""
        self.queue.delivered()
        failed, self.failed = self.failed, None
        if failed is None:
            return result
        error = _lane_error(self.batch, failed, result)
        error.causes = {} if self.engine is None else self.engine.take_causes(failed)
        for cause in error.causes.values():
            if not isinstance(cause, Exception):  # Ctrl-C
                raise cause from error
        raise error from next(iter(error.causes.values()), None)

    # -- rollouts ----------------------------------------------------------------------------------------------------

    def rollout(self, actions, int64_t steps, uint64_t key, uint64_t first_step, out=None):
        """`steps` steps of all lanes. actions: (steps, *action_shape), or None: drawn from (key, first_step).

        Returns (observation, reward, terminated, truncated, info, actions), each (steps, num_lanes, ...).
        """
        cdef be_rows arrays
        cdef be_random_policy policy
        cdef be_call call
        cdef object taken
        cdef Output output
        cdef dict info
        cdef tuple shape = (steps, self.num_lanes)
        self.calls.require_reset("env.rollout()")
        self._check_stage()
        be_call_init(&call, BE_ROLLOUT, self.batch, self.isa_table, &arrays)
        call.steps = steps
        self.queue.refuse_in_flight("rollout()", NULL)
        if actions is None:
            taken = self.actions.room(steps, &arrays)
            policy.key = key
            policy.first_step = first_step
            call.policy = &policy
        else:
            taken = self.actions.read_steps(actions, steps, &arrays)
        output = _new_output(self.layout, FOR_ROLLOUT, steps, self.num_lanes)
        if out is not None:
            output = output.into(self.layout.check_out(out, self.actions.sources(taken, True), shape))
        self._point(output, &arrays)
        self._run(&call)
        if self.layout.stage is not None or self.layout.treats_rewards:
            output.treat_steps()
        self._note_failures()
        info = output.rollout_infos()
        if self.layout.recording:
            output.tell_episodes(info, output.at(TERMINATED) | output.at(TRUNCATED), True)
        if self.layout.same_step:
            info["final_obs"] = self.layout.present(output.finals())
            info["_final_obs"] = output.at(TERMINATED) | output.at(TRUNCATED)
            info["final_info"] = output.rollout_finals(info["_final_obs"])
        return output.observed(), output.at(REWARD), output.at(TERMINATED), output.at(TRUNCATED), info, taken

    # -- snapshots ---------------------------------------------------------------------------------------------------

    def snapshot(self, const int64_t[::1] lanes):
        """The lanes' snapshot as bytes."""
        self.calls.require_reset("env.snapshot()")
        return _save(self.batch, lanes)

    def check_snapshot(self, bytes data):
        """How many lanes `data` holds; ValueError unless it is a sound snapshot for this batch."""
        return _check_saved(self.batch, data)

    def snapshot_params(self, bytes data, const int64_t[::1] rows):
        """The params of rows of a checked snapshot: {name: array (rows,)} for those that may differ from lane
        to lane."""
        return _saved_params(self.batch.type.params, self.params.rows, data, rows)

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
        if self.layout.stage is not None:
            self.layout.stage.start(np.asarray(lanes))
        return self._observe(output)

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
            if status != BE_OK:
                _raise(&error)
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
        if status != BE_OK:
            _raise(&error)
        return 0

    def column_sizes(self):
        """Bytes of a lane in each column of what `save_columns` writes."""
        return _column_sizes(self.batch)

    def save_columns(self, list arrays):
        """Writes the state of all lanes: uint8 (num_lanes, bytes of a lane) for each column."""
        cdef unsigned char *places[BE_MAX_LANE_COLUMNS + 1]
        self.calls.require_reset("saving the state")
        _point_columns(self.batch, arrays, places)
        with nogil:
            be_columns_save(self.batch, places)

    def load_columns(self, list arrays):
        """Puts all lanes into a state that `save_columns` has written; ValueError if it cannot be one. No lane may be
        in flight."""
        cdef unsigned char *places[BE_MAX_LANE_COLUMNS + 1]
        _point_columns(self.batch, arrays, places)
        self._load_columns(places)

    cdef int _load_columns(self, unsigned char **places) except -1:
        cdef be_error error
        cdef int status
        self.queue.refuse_in_flight("loading a state", NULL)
        with nogil:
            status = be_columns_load(self.batch, <const unsigned char *const *>places, &error)
        if status != BE_OK:
            _raise(&error)
        self.calls.has_reset = True
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
        if status != BE_OK:
            _raise(&error)
        output.treat_observations()
        return output.observed()

    # -- lanes in flight ---------------------------------------------------------------------------------------------

    def set_queue(self, int64_t batch_rows, affinity):
        """Sets how many rows a batch of results has, and the CPUs of the workers (or None). To be called before
        anything is sent."""
        if (self.num_lanes + batch_rows - 1) // batch_rows >= 1 << 20:
            raise ValueError(f"batch_size={batch_rows} makes more than a million batches of {self.num_lanes} lanes: "
                             f"it must be at least {self.num_lanes // ((1 << 20) - 2) + 1}")
        self.queue.rows = batch_rows
        self.queue.affinity = self.runner.affinity = affinity
        cdef bytes folder = _numa_folder()
        if affinity is None and folder != b"0":
            with _Unbound():
                be_batch_place(self.batch, be_place_here(<const char *>folder if folder else NULL,
                                                         min(self.runner.num_threads, self.num_lanes), self.num_lanes,
                                                         1 if self.lane_by_lane else 64))
            self.runner.placement = be_batch_placement(self.batch)

    cdef int _start_queue(self) except -1:
        return self.queue.start(self.batch, self.isa_table, min(self.runner.num_threads, self.num_lanes))

    def refuse_in_flight(self, str doing, const uint8_t[::1] mask):
        """Raises RuntimeError if lanes of the mask are in flight, and ResetNeeded if the mask is not all lanes and no
        full reset has been done."""
        self.queue.refuse_in_flight(doing, &mask[0])
        if memchr(&mask[0], 0, mask.shape[0]) != NULL:
            self.calls.require_reset(f"{doing} of some lanes")

    def lanes_of(self, env_id, str ending):
        """A checked copy of `env_id` (None: the lanes last received), of which none is in flight: int64. ending: the
        last words of the error message if they are refused."""
        return self.queue.read_lanes(env_id, self.num_lanes, ending)

    def drop(self):
        """Waits for the lanes in flight, and drops their results."""
        self.queue.drop()

    def in_flight(self):
        """How many lanes have been sent and not received. The batch need not be held."""
        return self.queue.in_flight()

    def queue_reset(self, seeds, dict options):
        """Sends all lanes to be reset. seeds: as in `reset`. The results of lanes in flight are dropped as soon as the
        arguments are known to be right."""
        cdef double numbers[BE_MAX_PARAMS]
        cdef double *values = NULL
        if options:
            values = numbers
            self.params.fill_options(options, values)
        words = _words_of_seeds(seeds, None)
        lanes = np.arange(self.num_lanes)
        self.queue.drop()
        self._start_queue()
        self._seed(words)
        self.queue.submit(lanes, NULL, values)
        self.calls.has_reset = True
        if self.layout.stage is not None:
            self.layout.stage.start(None, sent=True)

    def send_alone(self, actions, env_id):
        """Holds the batch and sends."""
        self.calls.begin()
        try:
            return self._send(actions, env_id)
        finally:
            self.calls.end()

    def send(self, actions, env_id):
        """Sends lanes to be stepped, and returns their numbers. env_id: the numbers, one for each row of actions; None:
        those last received."""
        return self._send(actions, env_id)

    cdef object _send(self, actions, env_id):
        cdef cnp.ndarray lanes
        cdef const int64_t *numbers
        cdef be_rows rows
        if not self.calls.has_reset and self.calls.torn is None:
            raise ResetNeeded("send() before the first reset: call env.async_reset() or env.reset() once first")
        self.calls.require_reset("send()")
        self.queue.refuse_undelivered("send()")
        if not self.queue.ready():
            self._start_queue()
        lanes = self.queue.read_lanes(env_id, self.num_lanes, "nothing was sent")
        numbers = <const int64_t *>cnp.PyArray_DATA(lanes)
        if self.autoreset == BE_DISABLED:
            self._refuse_pending(numbers, cnp.PyArray_DIM(lanes, 0), "sending", "nothing was sent")
        self.actions.read(actions, cnp.PyArray_DIM(lanes, 0), numbers, &rows)
        self.queue.submit(lanes, &rows, NULL)
        return lanes

    def recv_alone(self, timeout):
        """Holds the batch and receives."""
        self.calls.begin()
        try:
            return self.deliver(self._recv(timeout))
        finally:
            self.calls.end()

    def recv(self, timeout):
        """Waits for a batch of results. timeout: seconds; None: wait forever. Until `deliver` is called, the same
        results are returned again, so nothing is lost if something fails on their way to the user."""
        return self._recv(timeout)

    cdef object _recv(self, timeout):
        cdef Output output
        cdef be_rows arrays
        self._check_stage()
        output = self.queue.receive(timeout)
        output.point(&arrays)
        self.queue.last_lanes = output.at(LANES).copy()  # the user gets the other one
        return self._told(output, &arrays)

    def fileno(self):
        """A file descriptor that is readable when a batch is ready."""
        cdef int fd
        self._start_queue()
        fd = be_async_eventfd(self.queue.handle)
        if fd < 0:
            raise OSError("this system gives no file descriptor to wait on")
        return fd
