# Batches of several env types whose lanes are stepped together.

@cython.final
@cython.no_gc  # the collector would clear arrays that workers write; nothing held here refers back to this object
cdef class Joined:
    """Several batches whose lanes are reset and stepped in one call, as if they were one batch's: lane i of batch k has
    the number i plus those of all lanes of the batches before. Each batch writes into its rows of shared arrays. What
    is not of a call of all lanes is up to the batches, while this object is held; nobody else may use them.

    Args:
        batches: with the same ports, the same action space, and the same autoreset mode.
        num_threads, ring, clip, transform: as of `Batch`; the last as all batches have them.
    """

    cdef readonly list batches
    cdef int64_t num_lanes
    cdef const be_isa *isa
    cdef be_member *parts
    cdef int num_parts, autoreset
    cdef bint lane_by_lane, may_fail
    cdef Calls calls
    cdef Layout layout
    cdef Actions actions
    cdef Outputs outputs
    cdef Runner runner
    cdef Queue queue  # to read numbers of lanes; nothing is sent
    cdef int ring
    cdef public object away  # the numbers of lanes whose results have not been handed out, a list; steps are refused
    cdef public object failed  # the numbers of the lanes that failed in the last call; None: no lane failed
    cdef int process  # be_fork_count() when it was made
    cdef object __weakref__

    def __cinit__(self, list batches, str name, int num_threads, int ring, bint clip, dict transform=None):
        cdef be_transform changes
        cdef Batch first = batches[0], batch
        cdef ActionPart part
        cdef int k
        self.runner, self.queue, self.calls = Runner(), Queue(), Calls(name)
        self.actions, self.layout = Actions(), Layout()
        self.batches, self.num_parts = batches, len(batches)
        self.parts = <be_member *>PyMem_Calloc(self.num_parts, sizeof(be_member))
        if self.parts == NULL:
            raise MemoryError()
        for k, batch in enumerate(batches):
            self.parts[k].batch = batch.batch
            self.parts[k].first = self.num_lanes
            self.num_lanes += batch.num_lanes
            self.lane_by_lane |= batch.lane_by_lane
            self.may_fail |= batch.may_fail
        self.isa, self.autoreset, self.ring = first.isa_table, first.autoreset, ring
        _fill_transform(&changes, transform or {})
        self.actions.start(first.batch, first.isa_table, clip)
        for part in self.actions.parts:
            part.num_lanes = self.num_lanes
        self.layout.joined = True
        self.layout.start(first.batch, &changes, first.autoreset == BE_SAME_STEP)
        self.layout.num_lanes = self.num_lanes
        self.layout.again = ring > 0
        self.outputs = Outputs(self.layout, ring)
        self.runner.start(self.num_lanes, self.lane_by_lane, num_threads)
        self.away = []
        self.process = be_fork_count()
        _alive[<size_t><void *>self] = weakref.ref(self)

    def __dealloc__(self):
        PyObject_ClearWeakRefs(self)
        if _alive is not None:
            _alive.pop(<size_t><void *>self, None)
        self._end_workers()
        PyMem_Free(self.parts)

    cdef void _end_workers(self) noexcept:
        if self.runner is not None:
            self.runner.end_workers()

    cdef bint _end_at_exit(self) noexcept:
        """As `Lanes._end_at_exit`."""
        cdef int present = be_fork_count()
        if self.process != present and self.runner.process != present:
            return True
        if self.calls.closed():
            return True
        if not self.calls.exit():
            return False
        self._end_workers()
        return True

    def set_affinity(self, affinity):
        """Sets the CPUs of the workers (None: the system decides). To be called before any other call."""
        self.runner.affinity = affinity

    def set_stage(self, stage, reward_dtype):
        """As `Lanes.set_stage`."""
        self.layout.set_stage(stage, reward_dtype)

    def set_plan(self, bint tells_entries, labels):
        """Sets what infos say of the plan that the batches follow; see `PlannedLanes.set_agenda`."""
        self.layout.set_plan(tells_entries, labels)
        self.outputs = Outputs(self.layout, self.ring)

    # ---- one call at a time --------------------------------------------------------------------------------------

    @property
    def num_threads(self):
        return self.runner.num_threads

    @property
    def parallel(self):
        """As `Lanes.parallel`."""
        cdef be_plan *plan = &self.runner.plans[<int>BE_STEP]
        return bool(plan.parallel), plan.cost[0] * self.num_lanes, plan.cost[1] * self.num_lanes

    def force_parallel(self, bint parallel):
        """As `Lanes.force_parallel`."""
        self.runner.force(parallel)

    @property
    def closed(self):
        return self.calls.closed()

    @property
    def needs_reset(self):
        return not self.calls.has_reset

    def hold(self):
        """As `Lanes.hold`. What is sent is stepped at once, so there is nothing to settle."""
        return Hold(self, self.calls)

    def close(self):
        """As `Lanes.close`, of the batches, too."""
        if self.calls.begin_last():
            self._end_workers()
            for batch in self.batches:
                batch.close()
            self.calls.close()

    def tear(self, str reason):
        """As `Lanes.tear`."""
        self.calls.tear(reason)
        for batch in self.batches:
            batch.tear(reason)

    def require_reset(self, str doing):
        """As `Lanes.require_reset`."""
        self.calls.require_reset(doing)

    def note_reset(self):
        """Notes that all lanes have begun: by a reset, or in the states of snapshots."""
        cdef Batch batch
        self.calls.has_reset = True
        for batch in self.batches:
            batch.calls.has_reset = True

    def read_lanes(self, env_id, str ending):
        """As `Queue.read_lanes`."""
        return self.queue.read_lanes(env_id, self.num_lanes, ending)

    def refuse_in_flight(self, str doing, mask):
        """Raises RuntimeError if lanes of the mask (None: all) are in flight."""
        lanes = sorted(self.away if mask is None else [lane for lane in self.away if mask[lane]])
        if lanes:
            raise lanes_in_flight(doing, len(lanes), lanes[:5])

    def note_received(self, lanes):
        """Notes which lanes a caller means who names none."""
        self.queue.last_lanes = lanes.copy()

    # ---- calls of all lanes --------------------------------------------------------------------------------------

    cdef int _run(self, be_call *call) except -1:
        """As `Lanes._run`."""
        cdef int k
        call.parts, call.num_parts = self.parts, self.num_parts
        self.runner.run(call)
        if self.runner.signal is not None or call.error.status != BE_OK:
            for k in range(self.num_parts):
                _take_failures(self.parts[k].batch)
        if self.runner.signal is not None:
            self.tear(INTERRUPTED)
            self.runner.raise_signal()
        if call.error.status != BE_OK:
            self.tear("the last call failed, and some lanes have done it, others have not")
            _raise(&call.error)
        return 0

    cdef int _check_signals(self) except -1:
        """Raises what a signal handler raises (Ctrl-C)."""
        try:
            PyErr_CheckSignals()
        except BaseException:
            self.tear(INTERRUPTED)
            raise
        return 0

    cdef int _check_stage(self) except -1:
        if self.layout.stage is not None:
            self.layout.stage.check()
        return 0

    cdef int _note_failures(self) except -1:
        """As `Lanes._note_failures`."""
        cdef int k
        self.failed = None
        if self.may_fail:
            found = [_take_failures(self.parts[k].batch) + self.parts[k].first for k in range(self.num_parts)]
            lanes = np.concatenate(found)
            if len(lanes):
                self.failed = lanes
        return 0

    def causes(self, failed):
        """Why these lanes have failed: texts, of the first TOLD_FAILURES of them; and {lane: the exception}, for those
        that have one."""
        cdef Batch batch
        cdef int k
        cdef int64_t lane
        texts, raised = [], {}
        for k, batch in enumerate(self.batches):
            mine = failed[(failed >= self.parts[k].first) & (failed < self.parts[k].first + batch.num_lanes)]
            if batch.engine is not None and len(mine):
                taken = batch.engine.take_causes(mine - self.parts[k].first)
                raised.update({lane + self.parts[k].first: problem for lane, problem in taken.items()})
        for lane in failed[:TOLD_FAILURES]:
            k = self._part_of(lane)
            texts.append(be_batch_failure(self.parts[k].batch, lane - self.parts[k].first).message.decode(
                errors="replace"))
        return texts, raised

    cdef int _part_of(self, int64_t lane) noexcept:
        cdef int k = self.num_parts - 1
        while self.parts[k].first > lane:
            k -= 1
        return k

    def deliver(self, result):
        """As `PlannedLanes.deliver`."""
        cdef Batch batch
        failed, self.failed = self.failed, None
        for batch in self.batches:
            if batch.agenda is not None and batch.agenda.interrupt is not None:
                interrupt, batch.agenda.interrupt = batch.agenda.interrupt, None
                raise interrupt
        if failed is None:
            return result
        texts, raised = self.causes(failed)
        raise caused(lanes_failed(failed, texts, result), raised)

    def reset(self, list seeds, mask, list options):
        """As `SteppedLanes.reset`. seeds, options: for each batch, as that takes them."""
        cdef be_rows arrays
        cdef be_call call
        cdef be_member *part
        cdef Batch batch
        cdef cnp.ndarray mask_array, numbers
        cdef Output output = _new_output(self.layout, FOR_STEP, self.num_lanes)
        cdef list kept = [], words = []
        cdef int k
        self._check_stage()
        output.point(&arrays)
        arrays.terminated = arrays.truncated = NULL
        arrays.reward = NULL
        be_call_init(&call, BE_RESET if mask is None else BE_RESET_SOME, self.parts[0].batch, self.isa, &arrays)
        if mask is not None:
            mask_array = np.ascontiguousarray(mask)
            call.mask = <const uint8_t *>cnp.PyArray_DATA(mask_array)
            for info in output.arrays[self.layout.first_info:self.layout.first_final_info]:
                info.fill(0)
            self.calls.require_reset("env.reset(options={'reset_mask': ...})")
            self.refuse_in_flight("reset() of some lanes", mask)
        for k, batch in enumerate(self.batches):
            part = &self.parts[k]
            own = None if mask is None else mask_array[part.first:part.first + batch.num_lanes]
            words.append(_words_of_seeds(seeds[k], own))
            part.options, part.options_stride = NULL, 0
            if options[k]:
                of_lanes = batch.params.options_of_lanes(options[k], own)
                if of_lanes is None:
                    numbers = np.zeros(BE_MAX_PARAMS)
                    batch.params.fill_options(options[k], <double *>cnp.PyArray_DATA(numbers))
                else:
                    numbers, part.options_stride = of_lanes, of_lanes.shape[1]
                part.options = <const double *>cnp.PyArray_DATA(numbers)
                kept.append(numbers)
        self.runner.start_workers()
        for batch, own in zip(self.batches, words, strict=True):
            if mask is None:
                be_batch_forget_failures(batch.batch)
            batch.apply_skips()
            batch._seed(own)
        self._run(&call)
        self.note_reset()
        output.treat_reset(mask)
        self._note_failures()
        return output.observed(), output.reset_infos(mask)

    def hold_and_step(self, actions, out=None):
        self.calls.begin()
        try:
            result = self._step(actions, out)
            return result if self.failed is None else self.deliver(result)
        finally:
            self.calls.end()

    def step(self, actions, out=None):
        """As `SteppedLanes.step`."""
        return self._step(actions, out)

    cdef object _step(self, actions, out):
        cdef be_rows arrays
        cdef be_call call
        cdef Output output
        self.calls.require_reset("env.step()")
        if self.away:
            self.refuse_in_flight("step()", None)
        self._check_stage()
        self.actions.read(actions, self.num_lanes, NULL, &arrays)
        output = self.outputs.next()
        if out is not None:
            output = output.into(self.layout.check_out(out, self.actions.sources(actions), (self.num_lanes,)))
        if self.autoreset == BE_DISABLED:
            self._refuse_pending(None, "stepping", "no lane has been stepped")
        output.point(&arrays)
        be_call_init(&call, BE_STEP, self.parts[0].batch, self.isa, &arrays)
        self._run(&call)
        if self.layout.stage is not None or self.layout.treats_rewards:
            output.counted = False
            output.treat_step(None)
        self._note_failures()
        return output.results(output.step_infos(&arrays, call.finished != 0))

    def rollout(self, actions, int64_t steps, out=None):
        """As `SteppedLanes.rollout` with actions."""
        cdef be_rows arrays, rows
        cdef be_call call
        cdef Output output
        cdef const be_table *table = be_batch_table(self.parts[0].batch)
        cdef int64_t t
        self.calls.require_reset("env.rollout()")
        self.refuse_in_flight("rollout()", None)
        self._check_stage()
        taken = self.actions.read_steps(actions, steps, &arrays)
        output = _new_output(self.layout, FOR_ROLLOUT, steps, self.num_lanes)
        if out is not None:
            sources = self.actions.sources(taken, True)
            output = output.into(self.layout.check_out(out, sources, (steps, self.num_lanes)))
        output.point(&arrays)
        for t in range(steps):
            be_rows_slice(table, &rows, &arrays, t * self.num_lanes)
            rows.first = 0
            be_call_init(&call, BE_STEP, self.parts[0].batch, self.isa, &rows)
            self._run(&call)
            self._check_signals()  # a step alone may be too short for the loop to look at them
        if self.layout.stage is not None or self.layout.treats_rewards:
            output.treat_steps()
        self._note_failures()
        return (*output.results(output.rollout_infos()), taken)

    def observe(self):
        """As `SavedLanes.observe`."""
        cdef Output output = _new_output(self.layout, FOR_STEP, self.num_lanes)
        cdef be_rows arrays, rows
        cdef be_error error
        cdef be_member *part
        cdef int k, status
        output.point(&arrays)
        for k in range(self.num_parts):
            part = &self.parts[k]
            be_rows_slice(be_batch_table(part.batch), &rows, &arrays, part.first)
            rows.first = 0
            with nogil:
                status = be_batch_observe(part.batch, 0, part.batch.num_lanes, &rows, &error)
            _check(status, &error)
        output.treat_observations()
        return output.observed()

    cdef int _refuse_pending(self, lanes, str doing, str ending) except -1:
        """As `Lanes._refuse_pending`. lanes: an array, or None."""
        cdef int64_t lane, pending, first
        cdef int k
        if lanes is None:
            for k in range(self.num_parts):
                pending = be_batch_first_pending(self.parts[k].batch, 0, self.parts[k].batch.num_lanes)
                if pending >= 0:
                    raise lane_pending(pending + self.parts[k].first, doing, ending)
            return 0
        for lane in lanes:
            k = self._part_of(lane)
            first = self.parts[k].first
            if be_batch_first_pending(self.parts[k].batch, lane - first, lane - first + 1) >= 0:
                raise lane_pending(lane, doing, ending)
        return 0

    def step_some(self, actions, env_id, out=None, str doing="stepping", str ending="no lane has been stepped"):
        """As `SteppedLanes.step_some`. doing, ending: for messages, what is done, and the last words."""
        cdef be_rows arrays
        cdef be_call call
        cdef Output output
        cdef cnp.ndarray lanes, places, owners
        cdef int32_t[::1] owner
        cdef int64_t[::1] place
        cdef int64_t count, k
        cdef Batch batch
        cdef int part
        self.calls.require_reset("env.step()")
        self._check_stage()
        lanes = self.read_lanes(env_id, ending)
        for k, lane in enumerate(lanes.tolist() if self.away else ()):
            if lane in self.away:
                self.queue._raise_bad_lane(lane, k, BE_LANE_TAKEN, self.num_lanes, ending)
        count = cnp.PyArray_DIM(lanes, 0)
        if self.autoreset == BE_DISABLED:
            self._refuse_pending(lanes, doing, ending)
        self.actions.read(actions, count, <const int64_t *>cnp.PyArray_DATA(lanes), &arrays)
        output = _new_output(self.layout, FOR_RESULTS, count)
        if out is not None:
            output = output.into(self.layout.check_out(out, self.actions.sources(actions), (count,)))
        output.arrays[LANES] = lanes
        output.point(&arrays)
        places, owners = lanes.copy(), np.empty(count, np.int32)
        place, owner = places, owners
        for k in range(count):
            owner[k] = self._part_of(place[k])
            place[k] -= self.parts[owner[k]].first
        for part, batch in enumerate(self.batches):
            self.parts[part].scattered = batch._room_for_scattered(self.runner.plans[<int>BE_STEP_LISTED].threads)
        be_call_init(&call, BE_STEP_LISTED, self.parts[0].batch, self.isa, &arrays)
        call.lanes = &place[0]
        call.part_of = <const int32_t *>&owner[0]
        call.num_listed = count
        self._run(&call)
        for k in range(count):
            arrays.failed[k] = self.may_fail and be_batch_take_failure(self.parts[owner[k]].batch, place[k])
        output.counted = False
        try:
            return self._told(output, &arrays)
        except MemoryError:
            if doing == "sending":  # to send once more would be another step
                self.tear("there was no memory for the results of what was sent")
            raise

    cdef object _told(self, Output output, be_rows *arrays):
        """As `SteppedLanes._told`."""
        cdef cnp.ndarray lanes = output.at(LANES), failed = output.at(FAILED)
        cdef dict info
        if self.layout.stage is not None or self.layout.treats_rewards:
            output.treat_step(lanes)
        info = output.step_infos(arrays, _any(output.at(TERMINATED)) or _any(output.at(TRUNCATED)))
        info["env_id"] = lanes
        self.failed = lanes[failed.view(np.bool_)] if _any(failed) else None
        return output.results(info)


def caused(error, causes):
    """A LaneError, with the exceptions because of which lanes have failed, {lane: exception}, for which one of them is
    raised if it is no Exception."""
    error.causes = causes
    for cause in causes.values():
        if not isinstance(cause, Exception):  # Ctrl-C
            raise cause from error
    error.__cause__ = next(iter(causes.values()), None)
    return error


def differing_ports(Batch one, Batch other):
    """The name of the first array that goes into lanes of one batch, or comes out of them, and is not of the same form
    in the other; None if there is no such array."""
    cdef Batch batch
    rows = []
    for batch in (one, other):
        roles = (BE_ACTION, BE_OBSERVATION, BE_INFO, BE_REWARD)
        rows.append([(row["index"], role, row["name"], batch.batch.type.ports[<int>row["index"]].when,
                      *_form(&batch.batch.space[<int>row["index"]]))
                     for role in roles for row in _port_table(batch.batch.type, (role,))])
    for mine, theirs in itertools.zip_longest(*rows):
        if mine != theirs:
            return (mine or theirs)[2] or "observation"
    return None
