"""The random streams of csrc/include/rng.h, with the methods of numpy.random.Generator(PCG64(SeedSequence(seed))), and
those of csrc/include/random_state.h, with the methods of numpy.random.RandomState(seed).

batchenv draws only inside its kernels, so a library that tests can call is built here, with the same flags.
"""

import ctypes

import numpy as np

from helpers import compiled


def library():
    return compiled.library("streams.c", "rng.c", "random_state.c", "libm.c", "shared.c")


class Stream(ctypes.Structure):
    """be_rng."""

    _fields_ = [(name, ctypes.c_uint64) for name in ("state_lo", "state_hi", "inc_lo", "inc_hi")] + [
        (name, ctypes.c_uint32) for name in ("buffered", "has_buffered")
    ]


def _words(number):
    """A non-negative int as 32-bit words, lowest first."""
    return [number >> shift & 0xFFFFFFFF for shift in range(0, number.bit_length(), 32)]


class Rng:
    """One stream. Methods take a count and return an array; arguments are not checked."""

    def __init__(self, seed):
        self._stream = Stream()
        seed = int(seed)
        if seed < 1 << 64:
            library().be_rng_seed_u64(ctypes.byref(self._stream), ctypes.c_uint64(seed))
        else:
            self._seed(_words(seed))

    @staticmethod
    def from_words(words, add=None):
        """Seeded with the integer whose 32-bit words these are, lowest first, plus `add` (below 2**64)."""
        rng = Rng(0)
        rng._seed(words, add)
        return rng

    def _seed(self, words, add=None):
        array = np.array(words, np.uint32)
        arguments = [ctypes.byref(self._stream), ctypes.c_void_p(array.ctypes.data), ctypes.c_size_t(array.size)]
        if add is None:
            library().be_rng_seed_words(*arguments)
        else:
            assert library().be_rng_seed_words_plus(*arguments, ctypes.c_uint64(add)) == 0

    @property
    def state(self):
        """The state in the form of np.random.PCG64(...).state."""
        stream = self._stream
        return {
            "bit_generator": "PCG64",
            "state": {"state": stream.state_hi << 64 | stream.state_lo, "inc": stream.inc_hi << 64 | stream.inc_lo},
            "has_uint32": stream.has_buffered,
            "uinteger": stream.buffered,
        }

    def _fill(self, name, dtype, n, *arguments):
        out = np.empty(n, dtype)
        call = getattr(library(), f"stream_{name}")
        call(ctypes.byref(self._stream), ctypes.c_void_p(out.ctypes.data), ctypes.c_int64(n), *arguments)
        return out

    def random(self, n):
        return self._fill("random", np.float64, n)

    def random32(self, n):
        return self._fill("random32", np.float32, n)

    def standard_normal(self, n):
        return self._fill("standard_normal", np.float64, n)

    def uniform(self, low, high, n):
        return self._fill("uniform", np.float64, n, ctypes.c_double(low), ctypes.c_double(high))

    def normal(self, loc, scale, n):
        return self._fill("normal", np.float64, n, ctypes.c_double(loc), ctypes.c_double(scale))

    def integers(self, low, high, n):
        return self._fill("integers", np.int64, n, ctypes.c_int64(low), ctypes.c_int64(high - 1))

    def integers32(self, low, high, n):
        return self._fill("integers32", np.int32, n, ctypes.c_int64(low), ctypes.c_int64(high))

    def choice(self, k, n):
        return self._fill("choice", np.int64, n, ctypes.c_int64(k))

    def choice_p(self, p, n):
        weights = np.array(p, np.float64)
        data = ctypes.c_void_p(weights.ctypes.data)
        return self._fill("choice_p", np.int64, n, data, ctypes.c_int64(len(weights)))

    def shuffle(self, values):
        """A shuffled copy."""
        array = np.array(values, np.int64)
        data = ctypes.c_void_p(array.ctypes.data)
        library().be_rng_shuffle(ctypes.byref(self._stream), data, ctypes.c_int64(len(array)))
        return array

    def permutation(self, k):
        array = np.empty(k, np.int64)
        data = ctypes.c_void_p(array.ctypes.data)
        library().be_rng_permutation(ctypes.byref(self._stream), data, ctypes.c_int64(k))
        return array


class OldStream(ctypes.Structure):
    """be_random_state."""

    _fields_ = [
        ("key", ctypes.c_uint32 * 624),
        ("used", ctypes.c_uint32),
        ("has_gauss", ctypes.c_uint32),
        ("gauss", ctypes.c_double),
    ]


class RandomState:
    """One stream of NumPy's older kind. Methods take a count and return an array; arguments are not checked."""

    def __init__(self, seed, add=0):
        self._stream = OldStream()
        words = np.array(_words(seed), np.uint32)
        data, size = ctypes.c_void_p(words.ctypes.data), ctypes.c_size_t(words.size)
        library().be_random_state_seed(ctypes.byref(self._stream), data, size, ctypes.c_uint64(add))

    @property
    def state(self):
        """The state in the form of np.random.RandomState().get_state()."""
        stream = self._stream
        return ("MT19937", np.array(stream.key), min(stream.used, 624), stream.has_gauss, stream.gauss)

    def _fill(self, name, dtype, n, *arguments):
        out = np.empty(n, dtype)
        call = getattr(library(), f"random_state_{name}")
        call(ctypes.byref(self._stream), ctypes.c_void_p(out.ctypes.data), ctypes.c_int64(n), *arguments)
        return out

    def random_sample(self, n):
        return self._fill("double", np.float64, n)

    def standard_normal(self, n):
        return self._fill("normal", np.float64, n)

    def uniform(self, low, high, n):
        return self._fill("uniform", np.float64, n, ctypes.c_double(low), ctypes.c_double(high))

    def randint(self, low, high, n):
        return self._fill("integers", np.int64, n, ctypes.c_int64(low), ctypes.c_int64(high))

    def choice_p(self, p, n):
        weights = np.array(p, np.float64)
        data = ctypes.c_void_p(weights.ctypes.data)
        return self._fill("choice_p", np.int64, n, data, ctypes.c_int64(len(weights)))

    def permutation(self, k):
        array = np.empty(k, np.int64)
        data = ctypes.c_void_p(array.ctypes.data)
        library().be_random_state_permutation(ctypes.byref(self._stream), data, ctypes.c_int64(k))
        return array
