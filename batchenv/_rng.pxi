# The streams of csrc/include/rng.h for tests and debugging: numpy.random.Generator(PCG64(SeedSequence(seed))), bit for
# bit. Included by _core.pyx, after `import numpy as np` and `cimport numpy as cnp`.

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t


cdef extern from "rng.h" nogil:
    ctypedef struct be_rng:
        uint64_t state_lo, state_hi, inc_lo, inc_hi
        uint32_t buffered, has_buffered

    void be_rng_seed_u64(be_rng *rng, uint64_t seed)
    void be_rng_seed_words(be_rng *rng, const uint32_t *words, size_t n)
    int be_rng_seed_words_plus(be_rng *rng, const uint32_t *words, size_t n, uint64_t add)
    double be_rng_double(be_rng *rng)
    float be_rng_float(be_rng *rng)
    double be_rng_uniform(be_rng *rng, double low, double high)
    double be_rng_standard_normal(be_rng *rng)
    double be_rng_normal(be_rng *rng, double loc, double scale)
    int64_t be_rng_integers_inclusive(be_rng *rng, int64_t low, int64_t last)
    int32_t be_rng_integers32(be_rng *rng, int64_t low, int64_t high)
    int64_t be_rng_choice(be_rng *rng, int64_t n)
    int64_t be_rng_choice_p(be_rng *rng, const double *p, int64_t n)
    void be_rng_shuffle(be_rng *rng, int64_t *values, int64_t n)
    void be_rng_permutation(be_rng *rng, int64_t *out, int64_t n)


def _rng_int(name, value, low, high):
    """`value` as an int in low..high (inclusive; None: no upper bound), or TypeError, ValueError."""
    try:
        number = value.__index__()
    except AttributeError:
        raise TypeError(f"{name}={value!r} is a {type(value).__name__}; pass an int") from None
    if number < low or (high is not None and number > high):
        rule = f"at least {low}" if high is None else f"in {low}..{high}"
        raise ValueError(f"{name} must be {rule}, got {number}; pass such an int")
    return number


def _rng_float(name, value):
    """`value` as a finite float, or TypeError, ValueError."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{name}={value!r} is a {type(value).__name__}; pass a float") from None
    if not np.isfinite(number):
        raise ValueError(f"{name} must be finite, got {number}; pass a finite float")
    return number


def _rng_range(low, high, smallest, largest):
    """low and high of integers() as ints in smallest..largest, high exclusive."""
    low = _rng_int("low", low, smallest, largest)
    high = _rng_int("high", high, smallest, largest + 1)
    if low >= high:
        raise ValueError(f"low must be less than high (which is exclusive), got low={low} and high={high}; "
                         "raise high or lower low")
    return low, high


cdef class Rng:
    """One lane's random number generator, as Generator(PCG64(SeedSequence(seed))). Every method takes a count and
    returns an array. Not to be used from two threads at once."""

    cdef be_rng rng

    def __init__(self, seed):
        _choose_math()
        seed = _rng_int("seed", seed, 0, None)
        if seed < 1 << 64:
            be_rng_seed_u64(&self.rng, <uint64_t>seed)
        else:
            self.seed_words(np.frombuffer(seed.to_bytes((seed.bit_length() + 31) // 32 * 4, "little"), dtype="<u4"))

    @staticmethod
    def from_words(words, add=None):
        """Seeded with the integer whose 32-bit words these are, lowest first, plus `add` (below 2**64)."""
        values = [_rng_int(f"words[{i}]", word, 0, 0xFFFFFFFF) for i, word in enumerate(words)]
        cdef Rng self = Rng(0)
        self.seed_words(np.array(values, dtype=np.uint32), add)
        return self

    cdef seed_words(self, words, add=None):
        cdef cnp.ndarray array = np.ascontiguousarray(words, dtype=np.uint32)
        cdef const uint32_t *data = <const uint32_t *>cnp.PyArray_DATA(array)
        if add is None:
            be_rng_seed_words(&self.rng, data, <size_t>array.size)
        elif be_rng_seed_words_plus(&self.rng, data, <size_t>array.size,
                                    <uint64_t>_rng_int("add", add, 0, (1 << 64) - 1)) != 0:
            raise MemoryError("cannot seed: out of memory")

    @property
    def state(self):
        """What np.random.PCG64(...).state is, and can be set to."""
        return {
            "bit_generator": "PCG64",
            "state": {
                "state": int(self.rng.state_hi) << 64 | int(self.rng.state_lo),
                "inc": int(self.rng.inc_hi) << 64 | int(self.rng.inc_lo),
            },
            "has_uint32": int(self.rng.has_buffered),
            "uinteger": int(self.rng.buffered),
        }

    def random(self, n):
        """Generator.random(n)."""
        cdef int64_t i, count = _rng_int("n", n, 0, (1 << 63) - 1)
        cdef cnp.ndarray array = np.empty(count, dtype=np.float64)
        cdef double *out = <double *>cnp.PyArray_DATA(array)
        with nogil:
            for i in range(count):
                out[i] = be_rng_double(&self.rng)
        return array

    def random32(self, n):
        """Generator.random(n, dtype=np.float32)."""
        cdef int64_t i, count = _rng_int("n", n, 0, (1 << 63) - 1)
        cdef cnp.ndarray array = np.empty(count, dtype=np.float32)
        cdef float *out = <float *>cnp.PyArray_DATA(array)
        with nogil:
            for i in range(count):
                out[i] = be_rng_float(&self.rng)
        return array

    def uniform(self, low, high, n):
        """Generator.uniform(low, high, n)."""
        cdef int64_t i, count = _rng_int("n", n, 0, (1 << 63) - 1)
        cdef double a = _rng_float("low", low), b = _rng_float("high", high)
        if a > b:
            raise ValueError(f"low must be at most high, got low={a} and high={b}; swap them")
        if not np.isfinite(b - a):
            raise ValueError(f"high - low must be finite, got low={a} and high={b}; bring them closer together")
        cdef cnp.ndarray array = np.empty(count, dtype=np.float64)
        cdef double *out = <double *>cnp.PyArray_DATA(array)
        with nogil:
            for i in range(count):
                out[i] = be_rng_uniform(&self.rng, a, b)
        return array

    def integers(self, low, high, n):
        """Generator.integers(low, high, n)."""
        cdef int64_t i, count = _rng_int("n", n, 0, (1 << 63) - 1)
        low, high = _rng_range(low, high, -(1 << 63), (1 << 63) - 1)
        cdef int64_t a = low, last = high - 1
        cdef cnp.ndarray array = np.empty(count, dtype=np.int64)
        cdef int64_t *out = <int64_t *>cnp.PyArray_DATA(array)
        with nogil:
            for i in range(count):
                out[i] = be_rng_integers_inclusive(&self.rng, a, last)
        return array

    def integers32(self, low, high, n):
        """Generator.integers(low, high, n, dtype=np.int32)."""
        cdef int64_t i, count = _rng_int("n", n, 0, (1 << 63) - 1)
        low, high = _rng_range(low, high, -(1 << 31), (1 << 31) - 1)
        cdef int64_t a = low, b = high
        cdef cnp.ndarray array = np.empty(count, dtype=np.int32)
        cdef int32_t *out = <int32_t *>cnp.PyArray_DATA(array)
        with nogil:
            for i in range(count):
                out[i] = be_rng_integers32(&self.rng, a, b)
        return array

    def standard_normal(self, n):
        """Generator.standard_normal(n)."""
        cdef int64_t i, count = _rng_int("n", n, 0, (1 << 63) - 1)
        cdef cnp.ndarray array = np.empty(count, dtype=np.float64)
        cdef double *out = <double *>cnp.PyArray_DATA(array)
        with nogil:
            for i in range(count):
                out[i] = be_rng_standard_normal(&self.rng)
        return array

    def normal(self, loc, scale, n):
        """Generator.normal(loc, scale, n)."""
        cdef int64_t i, count = _rng_int("n", n, 0, (1 << 63) - 1)
        cdef double a = _rng_float("loc", loc), b = _rng_float("scale", scale)
        if b < 0:
            raise ValueError(f"scale must be at least 0, got {b}; pass the standard deviation")
        cdef cnp.ndarray array = np.empty(count, dtype=np.float64)
        cdef double *out = <double *>cnp.PyArray_DATA(array)
        with nogil:
            for i in range(count):
                out[i] = be_rng_normal(&self.rng, a, b)
        return array

    def choice(self, k, n):
        """Generator.choice(k, n)."""
        cdef int64_t i, count = _rng_int("n", n, 0, (1 << 63) - 1)
        cdef int64_t size = _rng_int("k", k, 1, (1 << 63) - 1)
        cdef cnp.ndarray array = np.empty(count, dtype=np.int64)
        cdef int64_t *out = <int64_t *>cnp.PyArray_DATA(array)
        with nogil:
            for i in range(count):
                out[i] = be_rng_choice(&self.rng, size)
        return array

    def choice_p(self, p, n):
        """Generator.choice(len(p), n, p=p)."""
        cdef int64_t i, count = _rng_int("n", n, 0, (1 << 63) - 1)
        cdef cnp.ndarray weights = np.array(p, dtype=np.float64, order="C")
        cdef int64_t size = weights.size
        if weights.ndim != 1 or size == 0:
            raise ValueError(f"p must be one-dimensional and not empty, got shape {np.shape(p)}; pass a probability "
                             "per value")
        if not (np.isfinite(weights).all() and (weights >= 0).all()):
            raise ValueError(f"p must be finite and not negative, got {weights!r}; pass probabilities")
        if abs(weights.sum() - 1) > 1.5e-8:
            raise ValueError(f"p must sum to 1, got a sum of {weights.sum()!r}; divide p by its sum")
        cdef const double *data = <const double *>cnp.PyArray_DATA(weights)
        cdef cnp.ndarray array = np.empty(count, dtype=np.int64)
        cdef int64_t *out = <int64_t *>cnp.PyArray_DATA(array)
        with nogil:
            for i in range(count):
                out[i] = be_rng_choice_p(&self.rng, data, size)
        return array

    def shuffle(self, values):
        """Generator.shuffle(values), but of a copy, which is returned."""
        cdef cnp.ndarray array = np.array(values, dtype=np.int64, order="C")
        if array.ndim != 1:
            raise ValueError(f"values must be one-dimensional, got shape {np.shape(values)}; flatten them")
        cdef int64_t size = array.size
        cdef int64_t *data = <int64_t *>cnp.PyArray_DATA(array)
        with nogil:
            be_rng_shuffle(&self.rng, data, size)
        return array

    def permutation(self, k):
        """Generator.permutation(k)."""
        cdef int64_t size = _rng_int("k", k, 0, (1 << 63) - 1)
        cdef cnp.ndarray array = np.empty(size, dtype=np.int64)
        cdef int64_t *out = <int64_t *>cnp.PyArray_DATA(array)
        with nogil:
            be_rng_permutation(&self.rng, out, size)
        return array
