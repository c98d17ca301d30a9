# Models of MuJoCo that differ from episode to episode: see be_mujoco_source.change_model.

MUJOCO_NOT_DRAWN, MUJOCO_DRAWN_FAILED = <int>MJ_NOT_DRAWN, <int>MJ_DRAWN_FAILED
MUJOCO_DRAWN_CHANGED = <int>MJ_DRAWN_CHANGED


cdef int _change_model(void *owner, int64_t lane, int raw) noexcept with gil:
    cdef MujocoSource source = <MujocoSource>owner
    cdef MujocoDraws draws = <MujocoDraws>source.draws
    try:
        draws.change(lane, draws.rows[lane], bool(raw))
    except BaseException as problem:
        source.raised[lane] = problem
        return 1
    return 0


@cython.final
cdef class MujocoDraws:
    """What is drawn of the models of a source's lanes, and the pool of models, if there is one.

    Args:
        change: change(lane, row, raw) gives a lane the model that its row says; see be_mujoco_source.drawn.
        normal: bool, of each number drawn: whether it is of a normal distribution.
        numbers: float64 (models of the pool, numbers drawn).
    """

    cdef be_mujoco_lane *pool
    cdef double **arrays
    cdef be_mujoco_source *source  # of the object that has this one
    cdef object change
    cdef readonly list owns  # the pool's models that have been made; None for the others
    cdef readonly cnp.ndarray rows

    def __cinit__(self, MujocoSource source, change, normal, cnp.ndarray numbers):
        cdef be_mujoco_source *filled = &source.source
        cdef int64_t lanes = filled.num_lanes, count = numbers.shape[0], k
        cdef int64_t num_arrays = len(source.model_fields)
        self.source, self.change, self.owns = filled, change, [None] * count
        self.rows = np.zeros((lanes, 1 + numbers.shape[1]))
        self.pool = <be_mujoco_lane *>calloc(count + 1, sizeof(be_mujoco_lane))
        self.arrays = <double **>calloc(count * num_arrays + 1, sizeof(double *))
        if self.pool == NULL or self.arrays == NULL:
            raise MemoryError(f"cannot allocate the table of {count} models")
        for k in range(count):
            self.pool[k].arrays = self.arrays + k * num_arrays
        filled.drawn, filled.num_drawn, filled.num_pool = <double *>source.keep(self.rows), numbers.shape[1], count
        filled.drawn_normal = <uint8_t *>source.keep(np.ascontiguousarray(normal, np.uint8))
        filled.pool_numbers, filled.pool = <double *>source.keep(np.ascontiguousarray(numbers, np.float64)), self.pool
        filled.change_model = _change_model
        source.draws = self

    def __dealloc__(self):
        free(self.pool)
        free(self.arrays)

    def of(self, Py_ssize_t lane):
        """The pool's model that a lane has, or None."""
        cdef int64_t pooled = self.source.lanes[lane].pooled
        return self.owns[pooled - 1] if pooled else None

    def put(self, MujocoSource source, Py_ssize_t index, Py_ssize_t lane, own):
        """Gives a lane a model of the pool. If that has not been made yet, it is the lane's.

        own: what `of` returns, with an attribute `model`.
        """
        if self.owns[index] is None:
            source.kept.extend([source.models[lane], source.stills[lane], source.floats[lane]])
            self.owns[index] = own
            be_mujoco_share_model(self.source, lane, index)
        else:
            be_mujoco_take_shared(self.source, lane, index)
