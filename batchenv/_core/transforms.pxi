# Built-in transforms of observations and rewards.

cdef int _fill_transform(be_transform *transform, dict values) except -1:
    """Fills `transform`. values: batchenv.backend.transforms.Transforms.core."""
    memset(transform, 0, sizeof(be_transform))
    transform.record_statistics = values.get("record_episode_statistics", False)
    transform.action_repeat = values.get("action_repeat", 1)
    transform.transform_reward = "reward_scale" in values
    transform.reward_scale = values.get("reward_scale", 1.0)
    transform.reward_low, transform.reward_high = values.get("clip_reward", (-math.inf, math.inf))
    transform.rescale = values.get("rescale", False)
    transform.time_aware = values.get("time_aware", False)
    transform.convert = "dtype" in values
    if transform.convert:
        transform.dtype = <be_dtype><int>_dtypes.index(values["dtype"])
    transform.frame_stack = values.get("frame_stack", 0)
    transform.transform_observation = (transform.rescale or transform.time_aware or transform.convert
                                       or transform.frame_stack > 0)
    return 0


def moments(cnp.ndarray rows):
    """Mean and variance over the first axis of a C-contiguous float array, bit for bit NumPy's, in its dtype."""
    cdef cnp.ndarray mean = np.empty((<object>rows).shape[1:], rows.dtype)
    cdef cnp.ndarray variance = np.empty_like(mean)
    cdef int64_t count = rows.shape[0], size = cnp.PyArray_SIZE(mean)
    cdef be_dtype dtype = BE_F32 if cnp.PyArray_TYPE(rows) == cnp.NPY_FLOAT32 else BE_F64
    with nogil:
        be_moments(cnp.PyArray_DATA(rows), dtype, count, size, cnp.PyArray_DATA(mean), cnp.PyArray_DATA(variance))
    return mean, variance


def standardize(cnp.ndarray rows, cnp.ndarray mean, cnp.ndarray deviation, cnp.ndarray out):
    """out[i] = (rows[i] - mean) / deviation. rows (n, *shape), mean (*shape) and deviation (*shape) have one dtype,
    float32 or float64; out (n, *shape) is float32; all are C-contiguous."""
    cdef int64_t count = rows.shape[0], size = cnp.PyArray_SIZE(mean)
    cdef be_dtype dtype = BE_F32 if cnp.PyArray_TYPE(rows) == cnp.NPY_FLOAT32 else BE_F64
    shape = (<object>rows).shape
    if (<object>mean).shape != shape[1:] or (<object>deviation).shape != shape[1:] or (<object>out).shape != shape:
        raise ValueError(f"rows {shape}, mean {(<object>mean).shape}, deviation {(<object>deviation).shape} and out "
                         f"{(<object>out).shape} do not fit together")
    with nogil:
        be_standardize(cnp.PyArray_DATA(rows), dtype, count, size, cnp.PyArray_DATA(mean),
                       cnp.PyArray_DATA(deviation), <float *>cnp.PyArray_DATA(out))
