# Resets, steps and rollouts of lanes.

@cython.no_gc  # the collector would clear arrays that workers write; nothing held here refers back to this object
cdef class SteppedLanes(Lanes):
    """Lanes that are reset and stepped together. Others may step them instead (`expect_resets`): then what `step_some`
    would refuse is refused before anything is done."""

    def reset(self, seeds, mask, dict options):
        """Resets lanes and returns the observations. seeds: an int (lane i gets seed + i), a list with an int or None
        per lane, or None. mask: None or a bool array, checked by the caller. options: those of the type's table.
        Without a mask, the results of lanes in flight are dropped as soon as the arguments are known to be right."""
        cdef double numbers[BE_MAX_OPTIONS]
        cdef be_rows arrays
        cdef be_call call
        cdef cnp.ndarray mask_array
        cdef Output output = _new_output(self.layout, FOR_STEP, self.num_lanes)
        self._check_stage()
        output.point(&arrays)
        arrays.terminated = arrays.truncated = NULL
        arrays.reward = NULL  # a reset returns observations and infos only
        be_call_init(&call, BE_RESET if mask is None else BE_RESET_SOME, self.batch, self.isa_table, &arrays)
        of_lanes = self.params.options_of_lanes(options, mask) if options else None
        if of_lanes is not None:
            call.options, call.options_stride = <const double *>cnp.PyArray_DATA(of_lanes), of_lanes.shape[1]
        elif options:
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
            self.drop()
        self.apply_skips()
        self._seed(words)
        self._run(&call)
        self.calls.has_reset = True
        output.treat_reset(mask)
        self._note_failures()
        return output.observed(), output.reset_infos(mask)

    cpdef apply_skips(self):
        """See `PlannedLanes`."""

    cpdef drop(self):
        """Waits for the lanes in flight, and drops their results. All lanes are to be reset."""
        self.queue.drop()
        be_batch_forget_failures(self.batch)  # of lanes that were being stepped when this process was forked

    def seed(self, seeds, mask):
        """Seeds lanes as `reset` with these arguments does before it resets them."""
        self._seed(_words_of_seeds(seeds, mask))

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
            be_batch_seed_lane(self.batch, lane, <const uint32_t *><const char *><bytes>own, len(<bytes>own) // 4, 0)
        return 0

    def hold_and_step(self, actions, out=None):
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
        return output.results(self._finish_step(output, &arrays))

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
        call.scattered = self._room_for_scattered(self.runner.plans[<int>BE_STEP_LISTED].threads)
        if resets is not None:
            call.resets = &resets[0]
        self._run(&call)
        for k in range(count):
            arrays.failed[k] = self.may_fail and be_batch_take_failure(self.batch, numbers[k])
        output.counted = False
        return self._told(output, &arrays)

    cdef object _told(self, Output output, be_rows *arrays):
        """What a step of some lanes returns."""
        cdef cnp.ndarray lanes = output.at(LANES), failed = output.at(FAILED)
        cdef dict info
        if self.layout.stage is not None or self.layout.treats_rewards:
            output.treat_step(lanes)
        info = output.step_infos(arrays, _any(output.at(TERMINATED)) or _any(output.at(TRUNCATED)))
        info["env_id"] = lanes
        self.failed = lanes[failed.view(np.bool_)] if _any(failed) else None
        return output.results(info)

    cdef be_scattered *_room_for_scattered(self, int threads) except? NULL:
        """The memory for steps of scattered lanes on so many threads, or NULL for types whose lanes are stepped one by
        one."""
        cdef be_error error
        if self.lane_by_lane or (self.scattered != NULL and be_scattered_num_parts(self.scattered) >= threads):
            return self.scattered
        be_scattered_destroy(self.scattered)
        self.scattered = be_scattered_create(self.batch, threads, &error)
        if self.scattered == NULL:
            _raise(&error)
        return self.scattered

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

    def pending(self, const int64_t[::1] lanes):
        """Of these lanes, whether their next step starts an episode."""
        return [be_batch_first_pending(self.batch, lane, lane + 1) >= 0 for lane in lanes]

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
        return (*output.results(output.rollout_infos()), taken)
