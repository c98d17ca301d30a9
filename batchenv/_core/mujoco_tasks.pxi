# Tasks over MuJoCo that are written in NumPy: their types, and the stage from which the C core takes what they compute.

cdef extern from "engines/mujoco/mujoco.h" nogil:
    int be_mujoco_staged_open(be_batch *batch, const void *engine, be_error *error)
    int be_mujoco_staged_reset(be_batch *batch, const int64_t *lanes, int64_t count, const be_rows *rows,
                               be_error *error)
    int be_mujoco_staged_observe(be_batch *batch, const int64_t *lanes, int64_t count, const be_rows *rows,
                                 be_error *error)
    int be_mujoco_staged_step(be_batch *batch, int64_t lane, int64_t end, const be_rows *rows, be_error *error)
    size_t be_mujoco_staged_saved_bytes(const be_batch *batch)
    void be_mujoco_staged_save(const be_batch *batch, int64_t lane, void *bytes)
    void be_mujoco_staged_load(be_batch *batch, int64_t lane, const void *bytes)

MUJOCO_PHYSICS = "MuJoCoPhysics"  # the type that steps the lanes of all such tasks
MUJOCO_UNSTABLE_INFO = "unstable"  # its info, which tasks hand on


@cython.final
cdef class TaskType(MadeType):
    """The type of one task in NumPy, which begins with the params and the state that all tasks over MuJoCo have.

    Args:
        name: as MadeType.name.
        action: (dtype, shape, low, high), bounds as lists with a number per value, or one for all.
        observations: [(name of the port, dtype, shape, low, high)]. infos: [(name, dtype, shape)].
        fields: [(name, dtype, values per lane)]. params: [(name, default)], of float, int and bool.
        frame_skip: the default of this param.

    Attributes:
        observations, infos: {name: the number of its port}.
    """

    cdef readonly dict observations, infos

    def __init__(self, str name, tuple action, list observations, list infos, list fields, list params,
                 int64_t frame_skip):
        cdef const be_env_type *physics = _find_type(_find_isa(None), MUJOCO_PHYSICS)
        cdef int port = 1
        for what, rows, most in (("observations and infos", [*observations, *infos], BE_MAX_PORTS - 2),
                                 ("fields of state", fields, BE_MAX_FIELDS - 1), ("params", params, BE_MAX_PARAMS - 2)):
            if len(rows) > most:
                raise ValueError(f"the task has {len(rows)} {what}, but {most} are possible at most")
        self._begin(name)
        self.type.flags = physics.flags
        self.type.frames_per_second = 50
        dtype, shape, low, high = action
        self._add_port(0, BE_ACTION, "", "box", np.dtype(dtype), shape, low, high)
        self.observations, self.infos = {}, {}
        for text, dtype, shape, low, high in observations:
            self._add_port(port, BE_OBSERVATION, text, "box", np.dtype(dtype), shape, low, high)
            self.observations[text] = port
            port += 1
        for text, dtype, shape in infos:
            self._add_port(port, BE_INFO, text, "box", np.dtype(dtype), shape, [0], [0])
            self.ports[port].when = BE_WHERE_NOT_0 if text == MUJOCO_UNSTABLE_INFO else BE_IN_STEPS
            self.infos[text] = port
            port += 1
        self.fields[0] = physics.state[0]
        for index, (text, dtype, size) in enumerate(fields):
            self._add_field(1 + index, text, dtype, size)
        self.params[0], self.params[1] = physics.params[0], physics.params[1]
        self.params[0].value = frame_skip
        for index, (text, default) in enumerate(params):
            self._add_param(2 + index, text, default)
        self.type.params = self.params
        self.type.prepare, self.type.open, self.type.close = _prepare_task, be_mujoco_staged_open, physics.close
        self.type.reset, self.type.observe = be_mujoco_staged_reset, be_mujoco_staged_observe
        self.type.step, self.type.check_state = be_mujoco_staged_step, physics.check_state
        self.type.saved_bytes = be_mujoco_staged_saved_bytes
        self.type.save, self.type.load = be_mujoco_staged_save, be_mujoco_staged_load

    cdef int _add_field(self, int index, str name, object dtype, int size) except -1:
        cdef be_field *field = &self.fields[index]
        field.name, field.doc, field.size = self._text(name), self._text("of the task"), size
        field.dtype = <be_dtype><int>_dtypes.index(np.dtype(dtype))
        return 0

    cdef int _add_param(self, int index, str name, object default) except -1:
        cdef be_param *param = &self.params[index]
        param.name, param.doc, param.value = self._text(name), self._text("of the task"), float(default)
        param.per_lane = 1
        param.kind = BE_PARAM_FLOAT
        param.low, param.high = -np.finfo(np.float64).max, np.finfo(np.float64).max
        if isinstance(default, (bool, np.bool_)):
            param.kind = BE_PARAM_BOOL
        elif isinstance(default, (int, np.integer)):
            param.kind = BE_PARAM_INT
            param.low, param.high = -2.0**53, 2.0**53
        return 0


cdef int _prepare_task(be_setup *setup, be_error *error) noexcept with gil:
    (<TaskType>(<MujocoSource>(<be_mujoco_source *>setup.engine).owner).task).bound(setup)
    return BE_OK


@cython.final
cdef class MujocoStage:
    """What a task in NumPy has computed, for the C core to take.

    Args:
        source: the lanes.
        ports, starts: {number of a port: C-contiguous array (lanes, ...) of its dtype}: of observations and infos as
            they are after a step, and of the observations of episodes that are about to start.
        reward, terminated, truncated: float64 and bool (lanes,).
    """

    cdef be_mujoco_stage stage
    cdef const char **failures
    cdef const char **start_failures
    cdef list texts  # of lanes: why each fails, in its step and in its reset

    def __cinit__(self, MujocoSource source, dict ports, dict starts, reward, terminated, truncated):
        cdef int64_t lanes = source.source.num_lanes
        self.texts = [None] * (2 * lanes)
        self.failures = <const char **>calloc(lanes, sizeof(char *))
        self.start_failures = <const char **>calloc(lanes, sizeof(char *))
        if self.failures == NULL or self.start_failures == NULL:
            raise MemoryError(f"cannot allocate the stage of {lanes} lanes")
        for port, array in ports.items():
            self.stage.port[<int>port] = <unsigned char *>source.keep(array)
        for port, array in starts.items():
            self.stage.start[<int>port] = <unsigned char *>source.keep(array)
        self.stage.reward = <double *>source.keep(reward)
        self.stage.terminated = <uint8_t *>source.keep(terminated)
        self.stage.truncated = <uint8_t *>source.keep(truncated)
        self.stage.failure, self.stage.start_failure = self.failures, self.start_failures
        source.source.stage = &self.stage
        source.kept.append(self)

    def __dealloc__(self):
        free(self.failures)
        free(self.start_failures)

    def clear(self, const int64_t[::1] lanes):
        """Forgets failures of these lanes."""
        cdef int64_t k
        for k in range(lanes.shape[0]):
            self.failures[lanes[k]] = self.start_failures[lanes[k]] = NULL

    def fail(self, const int64_t[::1] lanes, str text, bint starting):
        """Notes that these lanes fail in this call: in their step or, if `starting`, in the reset that is due."""
        cdef int64_t k
        cdef bytes told = text.encode(errors="replace")
        for k in range(lanes.shape[0]):
            self.texts[2 * lanes[k] + starting] = told
            if starting:
                self.start_failures[lanes[k]] = told
            else:
                self.failures[lanes[k]] = told
