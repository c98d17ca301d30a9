# Gives the C side addresses of MuJoCo's structs and functions; csrc/engines/mujoco/mujoco.h says what each is for.

cdef extern from "engines/physics/physics.h" nogil:
    enum:
        BE_PHYSICS_NUM_SIZES, BE_PHYSICS_NUM_INTS, BE_PHYSICS_NUM_FLOATS, BE_PHYSICS_NUM_ARRAYS
        BE_PHYSICS_NUM_SENSORS, BE_SENSES_SUBTREES, BE_SENSES_FORCES, BE_SENSES_CONTACTS, BE_SENSES_CALLER
        BE_SENSES_ACCELERATIONS, BE_SENSES_OTHERS
        BE_OWN_NOT, BE_OWN_LOOKED, BE_OWN_CALLED, BE_MOST_CONTACTS
        BE_LEFT_CAUSES, BE_LEFT_PAIRS, BE_MAX_SWEEPS, BE_PGS_ROWS
        BE_FLAT, BE_LINEAR, BE_QUADRATIC
        BE_EQUALITY_DATA
        BE_LIMIT_NONE, BE_LIMIT_OWN, BE_LIMIT_FOREIGN
        BE_SOLVES_NOTHING, BE_SOLVES_NEWTON, BE_SOLVES_PGS
        BE_PAIR_PLANE_BALL, BE_PAIR_PLANE_CAPSULE, BE_PAIR_BALLS, BE_PAIR_CAPSULES, BE_PAIR_PLANE_CYLINDER
        BE_PAIR_PLANE_BOX, BE_PAIR_SPHERE_BOX, BE_PAIR_CAPSULE_BOX, BE_PAIR_PLANE_ELLIPSOID
    int be_physics_candidates(int kind)
    const char *const *be_physics_left_texts
    const char *const *be_physics_size_names
    const char *const *be_physics_int_names
    const char *const *be_physics_float_names
    const char *const *be_physics_array_names
    const char *const *be_physics_sensor_names
    ctypedef struct be_physics_model:
        int64_t *sizes
        const int32_t **ints
        int64_t *starts
        int64_t num_floats
    ctypedef struct be_physics_group
    ctypedef struct be_physics_isa:
        const char *name
        int lanes
        size_t (*bytes)(const be_physics_model *model)
        be_physics_group *(*make)(const be_physics_model *model, void *memory)
    const be_physics_isa *be_physics_named(const char *name)
    int64_t be_physics_array_size(const be_physics_model *m, int array)

cdef extern from "engines/mujoco/mujoco.h" nogil:
    enum:
        MJ_STATES, MJ_STAGES, MJ_CALLBACKS, MJ_ARRAYS, MJ_KEPT, MJ_UNSTABLE, MJ_ALONE_CAUSES
        MJ_ACTING, MJ_KINDS, MJ_NOT_DRAWN, MJ_DRAWN_FAILED, MJ_DRAWN_CHANGED
    const char *const *be_mujoco_alone_texts
    const char *const *be_mujoco_array_names
    const char *const *be_mujoco_kept_names
    const char *const *be_mujoco_unstable_names
    const char *const *be_mujoco_state_names
    const char *const *be_mujoco_stage_names
    const char *const *be_mujoco_callback_names
    ctypedef struct be_mujoco_lane:
        void *model
        void *still
        double *state
        double *before
        double **arrays
        const double *floats
        double *ahead
        int ready
        int64_t together
        int64_t *alone
        int64_t called
        int64_t *left
        int own
        int64_t pooled
    ctypedef struct be_mujoco_slot:
        void *data
        int32_t *warnings
        int64_t busy
        int32_t *tree_asleep
        void **kept
        double **arrays
        void *model[MJ_KINDS]
        char *acting[MJ_KINDS][MJ_ACTING]
        double *floats
        be_physics_group *group
        double **mirror
    ctypedef struct be_mujoco_acting:
        int field, bytes
        int64_t count, first, step, num_floats
        char *compiled
        const int64_t *floats
    ctypedef struct be_mujoco_read:
        int64_t array, count, size
        const int64_t *first
    ctypedef struct be_physics_functions:
        void *mju_rayGeom
        void *mju_wrap
    ctypedef struct be_mujoco_together:
        const be_physics_isa *isa
        be_physics_model model
        const void *without_contacts
        void **stage
        be_physics_functions functions
        void *collisions
        int64_t num_geom_types
        int64_t *state_at
        int64_t fixed_at, num_fixed
        const double *fixed
        const int64_t *array_of
    ctypedef struct be_mujoco_stage:
        unsigned char **port
        const unsigned char **start
        const double *reward
        const uint8_t *terminated
        const uint8_t *truncated
        const char **failure
        const char **start_failure
    ctypedef struct be_mujoco_source:
        int64_t num_lanes
        void *mj_step
        void *mj_step1
        void *mj_step2
        void *mj_forward
        void *mj_reset_data
        void *mj_rne_post_constraint
        void *mj_contact_force
        void *mj_get_state
        void *mj_set_state
        void *mju_error
        void *mj_update_sleep
        void *set_error
        void *set_warning
        void *set_log
        void *time
        void **callback
        int (*hold_python)() noexcept nogil
        int (*let_python_go)(void *owner, int held, int64_t lane) noexcept nogil
        void *owner
        int (*draw)(void *owner, const be_batch *batch, int64_t lane, unsigned char *picture)
        int64_t picture_height, picture_width
        int64_t fingerprint, num_qpos, num_qvel, num_ctrl, num_body
        double timestep
        const double *init_qpos
        const double *init_qvel
        const double *control_low
        const double *control_high
        unsigned state_signature
        int64_t warning_stride
        int64_t *unstable
        const be_mujoco_read *reads
        double **arrays
        int64_t arrays_per_lane
        int64_t num_joints, num_mocap, fused_matvec, fused_vecmat
        double init_time
        const double *init_numbers
        const int32_t *joint_type
        const int32_t *joint_limited
        const int32_t *joint_qpos
        int forces, fresh, fused_dot, fused_einsum, fused_matmul
        int64_t contacts_at, contact_at, contact_bytes, contact_geoms
        int forward_warms
        int64_t state_size, input_at, num_input, num_trees
        int64_t *kept_bytes
        int64_t row_size, num_arrays
        const int64_t *sizes
        be_mujoco_lane *lanes
        int64_t record_size
        int64_t num_slots, num_acting
        be_mujoco_acting acting[MJ_ACTING]
        int moves_still
        be_mujoco_slot *slots
        be_mujoco_together together
        const be_mujoco_stage *stage
        int64_t num_drawn, num_pool
        const uint8_t *drawn_normal
        double *drawn
        const double *pool_numbers
        be_mujoco_lane *pool
        int (*change_model)(void *owner, int64_t lane, int raw) noexcept nogil
    void be_mujoco_compare(const be_mujoco_source *source, const float *actions, int64_t steps, int64_t *differs,
                           uint8_t *unstable)
    void be_mujoco_share_model(be_mujoco_source *source, int64_t lane, int64_t index)
    void be_mujoco_take_shared(be_mujoco_source *source, int64_t lane, int64_t index)
    int be_mujoco_remake(const be_mujoco_source *source, int64_t lane, const void *model, int stepped,
                         be_mujoco_slot *slot, double *scratch, be_error *error)

cdef tuple _names(const char *const *names, int count):
    return tuple([names[i].decode() for i in range(count)])


MUJOCO_FIELDS = _names(be_mujoco_array_names, MJ_ARRAYS)
MUJOCO_KEPT = _names(be_mujoco_kept_names, MJ_KEPT)
MUJOCO_STATES = _names(be_mujoco_state_names, MJ_STATES)
MUJOCO_STAGES = _names(be_mujoco_stage_names, MJ_STAGES)
MUJOCO_CALLBACKS = _names(be_mujoco_callback_names, MJ_CALLBACKS)
MUJOCO_ALONE = _names(be_mujoco_alone_texts, MJ_ALONE_CAUSES)
MUJOCO_UNSTABLE = _names(be_mujoco_unstable_names, MJ_UNSTABLE)
PHYSICS_SIZES = _names(be_physics_size_names, BE_PHYSICS_NUM_SIZES)
PHYSICS_INTS = _names(be_physics_int_names, BE_PHYSICS_NUM_INTS)
PHYSICS_FLOATS = _names(be_physics_float_names, BE_PHYSICS_NUM_FLOATS)
PHYSICS_ARRAYS = _names(be_physics_array_names, BE_PHYSICS_NUM_ARRAYS)
PHYSICS_SENSORS = _names(be_physics_sensor_names, BE_PHYSICS_NUM_SENSORS)
PHYSICS_LEFT = _names(be_physics_left_texts, BE_LEFT_CAUSES)
PHYSICS_FUNCTIONS = ("mju_rayGeom", "mju_wrap", "mjCOLLISIONFUNC")
PHYSICS_EQUALITY_DATA = <int>BE_EQUALITY_DATA
PHYSICS_MOST_CONTACTS = <int>BE_MOST_CONTACTS
PHYSICS_LEFT_PAIRS = <int>BE_LEFT_PAIRS
PHYSICS_MOST_SWEEPS, PHYSICS_PGS_ROWS = <int>BE_MAX_SWEEPS, <int>BE_PGS_ROWS


class PhysicsSenses(enum.IntFlag):
    """What sensors need besides the results of a step."""

    SUBTREES, FORCES, CONTACTS, CALLER = BE_SENSES_SUBTREES, BE_SENSES_FORCES, BE_SENSES_CONTACTS, BE_SENSES_CALLER
    ACCELERATIONS, OTHERS = BE_SENSES_ACCELERATIONS, BE_SENSES_OTHERS


class PhysicsShape(enum.IntEnum):
    """be_physics_shape: how the impedance of a constraint depends on its position."""

    FLAT, LINEAR, QUADRATIC = BE_FLAT, BE_LINEAR, BE_QUADRATIC


class PhysicsLimit(enum.IntEnum):
    """Whether a tendon has limits, and who makes their rows."""

    NONE, OWN, FOREIGN = BE_LIMIT_NONE, BE_LIMIT_OWN, BE_LIMIT_FOREIGN


class PhysicsSolver(enum.IntEnum):
    """be_physics_solves."""

    NOTHING, NEWTON, PGS = BE_SOLVES_NOTHING, BE_SOLVES_NEWTON, BE_SOLVES_PGS


class PhysicsOwn(enum.IntEnum):
    """Who finds contacts of a pair of geoms: see be_physics_model.pair_own."""

    NOT, LOOKED, CALLED = BE_OWN_NOT, BE_OWN_LOOKED, BE_OWN_CALLED


class PhysicsPair(enum.IntEnum):
    """be_physics_pair_kind: of two geoms."""

    PLANE_BALL, PLANE_CAPSULE, PLANE_CYLINDER = BE_PAIR_PLANE_BALL, BE_PAIR_PLANE_CAPSULE, BE_PAIR_PLANE_CYLINDER
    PLANE_ELLIPSOID = BE_PAIR_PLANE_ELLIPSOID
    PLANE_BOX, SPHERE_BOX, CAPSULE_BOX = BE_PAIR_PLANE_BOX, BE_PAIR_SPHERE_BOX, BE_PAIR_CAPSULE_BOX
    BALLS, CAPSULES = BE_PAIR_BALLS, BE_PAIR_CAPSULES


PHYSICS_CANDIDATES = {kind: be_physics_candidates(kind) for kind in PhysicsPair}


cdef void *_address(object number) except? NULL:
    """The pointer that `number` stands for: an address as an int, or a struct of MuJoCo's bindings."""
    return <void *><size_t>getattr(number, "_address", number)


# ---- exceptions of the user's callbacks

cdef extern from "Python.h" nogil:
    ctypedef enum PyGILState_STATE:
        pass
    PyGILState_STATE PyGILState_Ensure()
    void PyGILState_Release(PyGILState_STATE)

cdef extern from *:
    """
    static int be_python_has_raised(void) { return PyErr_Occurred() ? -1 : 0; }
    """
    int be_python_has_raised() except -1


cdef int _hold_python() noexcept nogil:
    """Holds Python's lock in this thread, whose exceptions then outlive a callback: see be_mujoco_source."""
    return <int>PyGILState_Ensure()


cdef int _let_python_go(void *owner, int held, int64_t lane) noexcept nogil:
    cdef int raised = _keep_exception(owner, lane)
    PyGILState_Release(<PyGILState_STATE>held)
    return raised


cdef int _keep_exception(void *owner, int64_t lane) noexcept with gil:
    """Takes what a callback has raised. Callbacks that are called after it raise a SystemError because of it."""
    try:
        be_python_has_raised()
    except BaseException as problem:
        raised = problem
        while isinstance(raised, SystemError) and raised.__cause__ is not None:
            raised = raised.__cause__
        (<MujocoSource>owner).raised[lane] = raised
        return 1
    return 0


cdef int _draw(void *owner, const be_batch *batch, int64_t lane, unsigned char *picture) noexcept with gil:
    """Has a lane drawn: see be_mujoco_source."""
    cdef MujocoSource source = <MujocoSource>owner
    cdef cnp.npy_intp shape[3]
    cdef cnp.npy_intp count
    shape[0], shape[1], shape[2] = source.source.picture_height, source.source.picture_width, 3
    try:
        values = []
        for field, kind in source.painted:
            count = batch.field_size[<int>field]
            values.append(cnp.PyArray_SimpleNewFromData(1, &count, kind, <char *>batch.state[<int>field]
                                                        + lane * count * (4 if kind == cnp.NPY_FLOAT32 else 8)))
        source.painter(lane, values, cnp.PyArray_SimpleNewFromData(3, shape, cnp.NPY_UINT8, picture))
    except BaseException as problem:
        source.raised[lane] = problem
        return 1
    return 0


cdef class MujocoSource(Engine):
    """Fills a `be_mujoco_source`: lanes of a model, which are rows of `records`, and the mjData that are lent to them.

    Args:
        records: float64 (lanes, size): a row per lane of its state now, its state before, each `row_size` long, and the
            arrays that the task reads.
        model: the mjModel of all lanes. slots: the mjData.
        fields: names of mjData's arrays: MUJOCO_FIELDS, what else is read, and what is observed. starts, sizes: int64,
            the index in a row of `records` at which each begins, and its length.
        model_fields: names of mjModel's arrays that are read.
        reads: for each row of be_env_type.reads: the index of its array in `fields` and `model_fields` together, how
            many numbers each thing has, and where the numbers of each begin, int64.
        functions: {name: address}, as `mujoco.library.load` has them.
        numbers: {name: value}, of the members of `be_mujoco_source` that are numbers.
        starting: init_qpos, init_qvel. bounds: the lowest and the highest controls. All are float64.
        kept_bytes: how long each of MUJOCO_KEPT is; 0: the model does not have it.
        unstable: the numbers of MUJOCO_UNSTABLE.
        still: the model with its actuators disabled, if the task is `fresh`.
    """

    cdef be_mujoco_source source
    cdef list models  # the lanes'
    cdef list stills  # the same with their actuators disabled, or None
    cdef list floats  # the lanes' numbers for steps together, or None
    cdef double **arrays  # those of the lanes, then those of the slots
    cdef char *groups  # memory of the slots' groups
    cdef list model_fields
    cdef be_mujoco_read *reads
    cdef object draws  # the MujocoDraws, or None
    cdef public object task  # the TaskType of lanes whose task is in NumPy, or None
    cdef object painter
    cdef list painted
    cdef public dict raised  # {lane: what a callback of the user's has raised in its last call}

    def __cinit__(self, cnp.ndarray records, model, list slots, list fields, starts, sizes, list model_fields,
                  list reads, dict functions, dict numbers, starting, bounds, kept_bytes, unstable, still=None):
        cdef be_mujoco_source *source = &self.source
        cdef Py_ssize_t lanes = records.shape[0], i, j, of_data
        cdef be_mujoco_slot *slot
        self.given = source
        self.raised = {}
        self.models, self.stills, self.floats = [model] * lanes, [still] * lanes, [None] * lanes
        source.num_lanes = lanes
        self._set_functions(functions)
        self._set_numbers(model, numbers)
        init_qpos, init_qvel, source.init_time, init_numbers = starting
        source.init_qpos, source.init_qvel = <double *>self.keep(init_qpos), <double *>self.keep(init_qvel)
        source.init_numbers = <double *>self.keep(init_numbers)
        source.control_low, source.control_high = <double *>self.keep(bounds[0]), <double *>self.keep(bounds[1])
        for i in range(MJ_UNSTABLE):
            source.unstable[i] = unstable[i]
        for i in range(MJ_KEPT):
            source.kept_bytes[i] = kept_bytes[i]
        self.model_fields = model_fields
        source.num_arrays = len(fields)
        cdef Py_ssize_t arrays = len(fields) + len(model_fields)
        source.sizes = <int64_t *>self.keep(np.array(sizes, np.int64))
        self.reads = <be_mujoco_read *>calloc(len(reads) + 1, sizeof(be_mujoco_read))
        source.num_slots, source.record_size = len(slots), records.shape[1]
        source.lanes = <be_mujoco_lane *>calloc(lanes, sizeof(be_mujoco_lane))
        source.slots = <be_mujoco_slot *>be_aligned_new(64, source.num_slots * sizeof(be_mujoco_slot))
        self.arrays = <double **>calloc((lanes + source.num_slots) * arrays, sizeof(double *))
        if not (source.lanes and source.slots and self.arrays and self.reads):
            raise MemoryError(f"cannot allocate the tables of {lanes} lanes")
        for i, (array, width, firsts) in enumerate(reads):
            self.reads[i].array, self.reads[i].count, self.reads[i].size = array, len(firsts), width
            self.reads[i].first = <int64_t *>self.keep(firsts)
        source.reads = self.reads
        source.arrays, source.arrays_per_lane = self.arrays, arrays
        memset(source.slots, 0, source.num_slots * sizeof(be_mujoco_slot))
        cdef double *row = <double *>self.keep(records)
        for i in range(lanes):
            source.lanes[i].state, source.lanes[i].before = row, row + source.row_size
            source.lanes[i].arrays = self.arrays + i * arrays
            for j, start in enumerate(starts):
                source.lanes[i].arrays[j] = row + <int64_t>start
            self._put(i, model, None, still)
            row += records.shape[1]
        for i in range(source.num_slots):
            data, slot = slots[i], &source.slots[i]
            slot.data, slot.warnings = _address(data), <int32_t *>cnp.PyArray_DATA(data.warning.number)
            slot.arrays = self.arrays + (lanes + i) * arrays
            for j, name in enumerate(fields):
                slot.arrays[j] = <double *>self.keep(getattr(data, name))
            if source.num_trees:
                slot.tree_asleep = <int32_t *>self.keep(data.tree_asleep)
            for j in range(MJ_KEPT):
                if source.kept_bytes[j]:
                    slot.kept[j] = self.keep(getattr(data, MUJOCO_KEPT[j]))
        source.warning_stride = slots[0].warning.number.strides[0]
        self.kept.extend(slots)

    def __dealloc__(self):
        be_aligned_free(self.groups)
        free(self.source.lanes)
        be_aligned_free(self.source.slots)
        free(self.arrays)
        free(self.reads)

    cdef int _set_functions(self, dict functions) except -1:
        cdef be_mujoco_source *source = &self.source
        source.mj_step = _address(functions["mj_step"])
        source.mj_step1, source.mj_step2 = _address(functions["mj_step1"]), _address(functions["mj_step2"])
        source.mj_forward = _address(functions["mj_forward"])
        source.mj_reset_data = _address(functions["mj_resetData"])
        source.mj_rne_post_constraint = _address(functions["mj_rnePostConstraint"])
        source.mj_contact_force = _address(functions["mj_contactForce"])
        source.mj_get_state = _address(functions["mj_getState"])
        source.mj_set_state = _address(functions["mj_setState"])
        source.mju_error = _address(functions["mju_error"])
        source.mj_update_sleep = _address(functions["mj_updateSleep"])
        source.set_error = _address(functions["_mjPRIVATE__set_tls_error_fn"])
        source.set_warning = _address(functions["_mjPRIVATE__set_tls_warning_fn"])
        source.set_log = _address(functions["_mjPRIVATE_setTlsLogHandler"])
        source.time = _address(functions["mjcb_time"])
        cdef Py_ssize_t i
        for i in range(MJ_CALLBACKS):
            source.callback[i] = _address(functions[MUJOCO_CALLBACKS[i]])
        source.hold_python, source.let_python_go, source.owner = _hold_python, _let_python_go, <void *>self
        return 0

    cdef int _set_numbers(self, model, dict numbers) except -1:
        cdef be_mujoco_source *source = &self.source
        source.num_qpos, source.num_qvel = model.nq, model.nv
        source.num_ctrl, source.num_body = model.nu, model.nbody
        source.timestep = model.opt.timestep
        source.num_joints, source.num_mocap = model.njnt, model.nmocap
        source.joint_type = <const int32_t *>self.keep(np.array(model.jnt_type, np.int32))
        source.joint_limited = <const int32_t *>self.keep(np.array(model.jnt_limited, np.int32))
        source.joint_qpos = <const int32_t *>self.keep(np.array(model.jnt_qposadr, np.int32))
        source.fingerprint = numbers["fingerprint"]
        source.state_signature = numbers["state_signature"]
        source.state_size = numbers["state_size"]
        source.input_at, source.num_input = numbers["input_at"], numbers["num_input"]
        source.row_size = numbers["row_size"]
        source.num_trees = numbers["num_trees"]
        source.forces, source.fresh = numbers["forces"], numbers["fresh"]
        source.contacts_at = numbers["contacts_at"]
        source.contact_at, source.contact_bytes = numbers["contact_at"], numbers["contact_bytes"]
        source.contact_geoms = numbers["contact_geoms"]
        source.forward_warms = numbers["forward_warms"]
        source.fused_matmul, source.fused_matvec = numbers["fused_matmul"], numbers["fused_matvec"]
        source.fused_vecmat = numbers["fused_vecmat"]
        source.fused_dot, source.fused_einsum = numbers["fused_dot"], numbers["fused_einsum"]
        return 0

    cdef int _put(self, Py_ssize_t lane, model, floats, still) except -1:
        cdef cnp.ndarray numbers = floats, array
        cdef Py_ssize_t k
        self.source.lanes[lane].model = _address(model)
        self.source.lanes[lane].still = NULL if still is None else _address(still)
        for k in range(len(self.model_fields)):
            array = operator.attrgetter(self.model_fields[k])(model)  # a view of the model's own memory
            self.source.lanes[lane].arrays[self.source.num_arrays + k] = <double *>cnp.PyArray_DATA(array)
        self.source.lanes[lane].floats = NULL if floats is None else <double *>cnp.PyArray_DATA(numbers)
        self.models[lane], self.stills[lane], self.floats[lane] = model, still, floats
        return 0

    def put_model(self, Py_ssize_t lane, model, floats=None, still=None):
        """Gives a lane a model of its own. No worker may be stepping the lane.

        floats: the model's numbers, for steps of several lanes at once: see `step_together`. None: the lane is stepped
            by mj_step.
        still: the same model with its actuators disabled, where the lane's task is `fresh`.
        """
        if not 0 <= lane < self.source.num_lanes:
            raise IndexError(lane)
        if floats is not None:
            floats = self._checked_floats(floats)
        self._put(lane, model, floats, still)
        self.source.lanes[lane].own, self.source.lanes[lane].pooled = 1, 0

    def put_painter(self, painter, list fields, int64_t height, int64_t width):
        """Has pictures of lanes drawn by painter(lane, fields, picture), which may be called from several threads.

        fields: the number of each of the batch's fields that the painter is given, float32 or float64, and its type as
            a character: "f" or "d". The arrays, and `picture`, uint8 (height, width, 3), are the lane's own memory.
        """
        self.painter = painter
        self.painted = [(field, cnp.NPY_FLOAT32 if kind == "f" else cnp.NPY_FLOAT64) for field, kind in fields]
        self.source.draw = _draw
        self.source.picture_height, self.source.picture_width = height, width

    def put_acting(self, list rows, list models):
        """Has fields of the lanes' state act on their models. To be called before lanes are stepped, and before
        `step_together`.

        rows: for each, the number of the batch's field, the name of the array of mjModel, how many numbers the field
            has, where they begin in the array, and how far each is from the next one.
        models: for each slot, copies of the model: as it is, with its actuators disabled or None, and with its sensors
            disabled or None.
        """
        cdef be_mujoco_acting *acting
        cdef Py_ssize_t i, k
        if len(rows) > MJ_ACTING:
            raise ValueError(f"{len(rows)} rows act on a model: {MJ_ACTING} at most")
        for k, (field, name, count, first, step) in enumerate(rows):
            acting = &self.source.acting[k]
            acting.field, acting.bytes = field, getattr(models[0][0], name).itemsize
            acting.count, acting.first, acting.step = count, first, step
            acting.compiled = <char *>self.keep(getattr(self.models[0], name))
        self.kept.append(models)
        for i, kinds in enumerate(models):
            for kind, model in enumerate(kinds):
                if model is None:
                    continue
                self.source.slots[i].model[<int>kind] = _address(model)
                for k, row in enumerate(rows):
                    self.source.slots[i].acting[<int>kind][k] = <char *>self.keep(getattr(model, row[1]))
        self.source.num_acting = len(rows)

    def act_in_groups(self, list floats, bint moves_still):
        """What `put_acting` means for the lanes' numbers in groups. To be called after `step_together`.

        floats: for each row, pairs of an index in the field and one in the floats of `step_together`: int64 (n, 2).
        moves_still: whether they place what never moves.
        """
        cdef int64_t size = self.source.together.model.num_floats
        cdef Py_ssize_t i, k
        cdef cnp.ndarray own = np.empty((self.source.num_slots, self.source.together.isa.lanes, size))
        own[:] = self.floats[0]
        for k, pairs in enumerate(floats):
            self.source.acting[k].num_floats = len(pairs)
            self.source.acting[k].floats = <const int64_t *>self.keep(np.ascontiguousarray(pairs, np.int64))
        for i in range(self.source.num_slots):
            self.source.slots[i].floats = <double *>self.keep(own[i])
        self.source.moves_still = moves_still

    cdef _checked_floats(self, floats):
        floats = np.ascontiguousarray(floats, np.float64)
        if floats.shape != (self.source.together.model.num_floats,):
            raise ValueError(f"floats: {floats.shape}, but {self.source.together.model.num_floats} are needed")
        return floats

    def step_together(self, str isa, sizes, list ints, starts, floats, cnp.ndarray ahead, dict functions, state_at,
                      fixed_at, fixed, geom_types, array_of, without_contacts, list slots):
        """From now on lanes are stepped together where possible. To be called at most once, before any lane is stepped.

        Args:
            isa: the instruction set. sizes, ints: the model's, in the order of PHYSICS_SIZES and PHYSICS_INTS; ints are
                int32 arrays. floats: all numbers of PHYSICS_FLOATS in a row; starts: where each begins.
            ahead: zeros of the shape of `records`.
            functions: {name: address} of MUJOCO_STAGES and PHYSICS_FUNCTIONS.
            state_at: where MUJOCO_STATES begin in a state; fixed_at: where that begins which users may change, but not
                in groups; fixed: what it must be, float64.
            geom_types: how many types of geoms MuJoCo knows.
            array_of: for each of `fields`, its index in PHYSICS_ARRAYS, or -1.
            without_contacts: an mjModel. slots: as before.
        """
        cdef be_mujoco_together *together = &self.source.together
        cdef const be_physics_isa *chosen = be_physics_named(isa.encode())
        cdef Py_ssize_t i, k
        cdef size_t size
        if chosen == NULL:
            raise ValueError(isa)
        for i in range(BE_PHYSICS_NUM_SIZES):
            together.model.sizes[i] = sizes[i]
        for i in range(BE_PHYSICS_NUM_INTS):
            together.model.ints[i] = <const int32_t *>self.keep(ints[i])
        for i in range(BE_PHYSICS_NUM_FLOATS):
            together.model.starts[i] = starts[i]
        together.model.num_floats = len(floats)
        for i in range(MJ_STAGES):
            together.stage[i] = _address(functions[MUJOCO_STAGES[i]])
        together.functions.mju_rayGeom = _address(functions["mju_rayGeom"])
        together.functions.mju_wrap = _address(functions["mju_wrap"])
        for i in range(MJ_STATES):
            together.state_at[i] = state_at[i]
        together.collisions = _address(functions["mjCOLLISIONFUNC"])
        together.num_geom_types = geom_types
        together.fixed_at, together.num_fixed = fixed_at, len(fixed)
        together.fixed = <const double *>self.keep(fixed)
        together.array_of = <const int64_t *>self.keep(np.asarray(array_of, np.int64))
        together.without_contacts = _address(without_contacts)
        self.kept.append(without_contacts)
        for i in range(self.source.num_lanes):
            self.source.lanes[i].ahead = <double *>self.keep(ahead) + i * self.source.record_size
        size = chosen.bytes(&together.model)
        self.groups = <char *>be_aligned_new(64, self.source.num_slots * size)
        if self.groups == NULL:
            raise MemoryError(f"cannot allocate {self.source.num_slots * size} bytes for MuJoCo's lanes")
        for i in range(self.source.num_slots):
            self.source.slots[i].group = chosen.make(&together.model, self.groups + i * size)
            for k in range(BE_PHYSICS_NUM_ARRAYS):
                array = getattr(slots[i], PHYSICS_ARRAYS[k], None)
                if array is not None and array.size == be_physics_array_size(&together.model, <int>k):
                    self.source.slots[i].mirror[k] = <double *>self.keep(array)
        together.isa = chosen
        floats = self._checked_floats(floats)
        for i in range(self.source.num_lanes):
            self._put(i, self.models[i], floats, self.stills[i])

    def compare(self, cnp.ndarray actions, int64_t steps):
        """The self-check of `step_together`: see be_mujoco_compare.

        Args:
            actions: float32 (lanes, controls).

        Returns:
            int64 (lanes,): the index in the lane's record of the first number that differs; -1: none; -2: the lane was
                left to mj_step.
            bool (lanes,): whether the simulation is unstable.
        """
        cdef int64_t lanes = self.source.num_lanes
        actions = np.ascontiguousarray(actions, np.float32)
        if self.source.together.isa == NULL or actions.size != lanes * self.source.num_ctrl:
            raise ValueError("compare needs step_together, and an action per lane")
        cdef cnp.ndarray differs = np.empty(lanes, np.int64), unstable = np.zeros(lanes, np.uint8)
        cdef const float *taken = <const float *>cnp.PyArray_DATA(actions)
        cdef int64_t *first = <int64_t *>cnp.PyArray_DATA(differs)
        cdef uint8_t *bad = <uint8_t *>cnp.PyArray_DATA(unstable)
        with nogil:
            be_mujoco_compare(&self.source, taken, steps, first, bad)
        return differs, unstable.astype(bool)

    def remake(self, Py_ssize_t lane, data, bint stepped, model=None):
        """Gives an mjData the results of the lane's last step or reset, with the lane's model or this one: see
        be_mujoco_remake."""
        cdef be_mujoco_slot slot
        cdef be_error error
        cdef cnp.ndarray array, scratch = np.empty(self.source.state_size)
        cdef double *numbers = <double *>cnp.PyArray_DATA(scratch)
        cdef Py_ssize_t j
        cdef int status
        cdef const void *shown = NULL if model is None else _address(model)
        memset(&slot, 0, sizeof(slot))
        slot.data = _address(data)
        for j in range(MJ_KEPT):
            if self.source.kept_bytes[j]:
                array = getattr(data, MUJOCO_KEPT[j])
                slot.kept[j] = cnp.PyArray_DATA(array)
        with nogil:
            status = be_mujoco_remake(&self.source, lane, shown, stepped, &slot, numbers, &error)
        be_python_has_raised()  # a callback of the user's
        _check(status, &error)

    def counts(self, Py_ssize_t lane):
        """What was done for a lane so far: steps in groups; steps by mj_step, by the causes of MUJOCO_ALONE; and
        evaluations in groups in which MuJoCo solved its constraints, by the causes of PHYSICS_LEFT, and in which
        MuJoCo's functions looked for its contacts."""
        cdef be_mujoco_lane *chosen = &self.source.lanes[lane]
        return (chosen.together, [chosen.alone[i] for i in range(MJ_ALONE_CAUSES)],
                [chosen.left[i] for i in range(BE_LEFT_CAUSES)], chosen.called)

    def take_causes(self, failed):
        return {int(lane): self.raised.pop(lane) for lane in failed.tolist() if lane in self.raised}

    def model(self, Py_ssize_t lane):
        own = None if self.draws is None else self.draws.of(lane)
        return self.models[lane] if own is None else own.model
