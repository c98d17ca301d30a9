"""csrc/include/rng.h against numpy.random.Generator(PCG64(SeedSequence(seed))): every value and the state afterwards,
exactly."""

import random

import numpy as np
import pytest

from helpers.streams import Rng

SEEDS = [0, 1, 2**32 - 1, 2**32, 2**64 - 1, 2**64, 2**128 - 1, 2**128, 2**200 + 12345, 10**300]
SEED_IDS = ["0", "1", "2^32-1", "2^32", "2^64-1", "2^64", "2^128-1", "2^128", "2^200+12345", "10^300"]

# Ranges with few and many rejected draws, on both sides of where NumPy changes its method.
RANGES = [
    *((0, width) for width in (1, 2, 3, 7, 2**8, 1000, 2**16 + 1)),
    *((0, width) for width in (2**31 - 1, 2**31, 2**31 + 1, 2**32 - 1, 2**32, 2**32 + 1)),
    *((0, width) for width in (2**40, 3 * 2**61, 2**62 + 1, 2**63 - 1, 2**63)),
    (-1, 1),
    (-5, -4),
    (-1000, 17),
    (-(2**31), 2**31),
    (-(2**31) - 1, 2**31),
    (-(2**62) - 1, 2**62 + 1),
    (-(2**63), 0),
    (-(2**63), -(2**63) + 1),
    (-(2**63), 2**63 - 1),
    (-(2**63), 2**63),
    (2**63 - 1, 2**63),
]
RANGES_32 = [bounds for bounds in RANGES if bounds[0] >= -(2**31) and bounds[1] <= 2**31]


def numpy_generator(seed):
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed)))


def pair(seed):
    return Rng(seed), numpy_generator(seed)


def check(rng, generator, ours, theirs):
    assert ours.dtype == theirs.dtype
    assert np.array_equal(ours, theirs)
    assert rng.state == generator.bit_generator.state


def words_of(seed):
    return [seed >> shift & 0xFFFFFFFF for shift in range(0, seed.bit_length(), 32)]


def random_seeds(count):
    source = random.Random(20240501)
    return [source.getrandbits(source.choice([8, 31, 32, 33, 64, 65, 96, 128, 129, 200, 500])) for _ in range(count)]


@pytest.mark.parametrize("seed", SEEDS, ids=SEED_IDS)
def test_each_seed(seed):
    rng, generator = pair(seed)
    assert rng.state == generator.bit_generator.state
    check(rng, generator, rng.random(20_000), generator.random(20_000))
    check(rng, generator, rng.integers(-3, 10, 20_001), generator.integers(-3, 10, 20_001))
    check(rng, generator, rng.standard_normal(20_000), generator.standard_normal(20_000))


def test_random_seeds():
    for seed in random_seeds(2000):
        rng, generator = pair(seed)
        assert rng.state == generator.bit_generator.state, seed
        assert np.array_equal(rng.random(4), generator.random(4)), seed


def test_consecutive_seeds():
    for base in (0, 2**32 - 500, 2**64 - 500):
        for seed in range(base, base + 1000):
            assert Rng(seed).state == np.random.PCG64(seed).state, seed


def test_seed_words():
    for seed in SEEDS + random_seeds(200):
        expected = numpy_generator(seed).bit_generator.state
        for zeros in (0, 1, 2, 5):
            assert Rng.from_words(words_of(seed) + [0] * zeros).state == expected, (seed, zeros)
            assert Rng.from_words(words_of(seed) + [0] * zeros, add=0).state == expected, (seed, zeros)


def test_seed_words_plus():
    all_ones = [2**bits - 1 for bits in (32, 64, 96, 128, 160, 192, 2048, 2080, 5000)]
    for seed in SEEDS + all_ones + random_seeds(200):
        for add in (0, 1, 2, 1_000_000, 2**32 - 1, 2**32, 2**63 + 5, 2**64 - 1):
            expected = numpy_generator(seed + add).bit_generator.state
            assert Rng.from_words(words_of(seed), add).state == expected, (seed, add)


def test_random():
    rng, generator = pair(101)
    check(rng, generator, rng.random(2_000_000), generator.random(2_000_000))
    assert np.array_equal(rng.random(3), [generator.random() for _ in range(3)])


def test_random_float32():
    rng, generator = pair(102)
    check(rng, generator, rng.random32(500_001), generator.random(500_001, dtype=np.float32))


@pytest.mark.parametrize(
    ("low", "high"), [(-0.05, 0.05), (-0.6, -0.4), (-np.pi, np.pi), (0.0, 1.0), (2.0, 2.0), (-1e307, 1e308)]
)
def test_uniform(low, high):
    rng, generator = pair(103)
    check(rng, generator, rng.uniform(low, high, 200_000), generator.uniform(low, high, 200_000))
    assert np.array_equal(rng.uniform(low, high, 100), [generator.uniform(low, high) for _ in range(100)])
    assert rng.state == generator.bit_generator.state


@pytest.mark.parametrize(("low", "high"), RANGES)
def test_integers(low, high):
    rng, generator = pair(104)
    check(rng, generator, rng.integers(low, high, 100_001), generator.integers(low, high, 100_001))
    for _ in range(101):
        assert rng.integers(low, high, 1)[0] == generator.integers(low, high)
    assert rng.state == generator.bit_generator.state


@pytest.mark.parametrize(("low", "high"), RANGES_32)
def test_integers32(low, high):
    rng, generator = pair(105)
    ours = rng.integers32(low, high, 50_001)
    check(rng, generator, ours, generator.integers(low, high, 50_001, dtype=np.int32))
    other = Rng(105)
    assert np.array_equal(ours, other.integers(low, high, 50_001))
    assert other.state == rng.state


def test_integers_random_ranges():
    rng, generator = pair(106)
    source = random.Random(106)
    for _ in range(3000):
        bits = source.randint(1, 63)
        low = -source.getrandbits(bits)
        high = low + 1 + source.getrandbits(bits)
        assert np.array_equal(rng.integers(low, high, 5), generator.integers(low, high, 5)), (low, high)
    assert rng.state == generator.bit_generator.state


def test_standard_normal():
    rng, generator = pair(107)
    ours = rng.standard_normal(5_000_000)
    check(rng, generator, ours, generator.standard_normal(5_000_000))
    assert np.sum(np.abs(ours) > 3.6541528853610088) > 1000  # the tail was drawn from
    for _ in range(1000):
        assert rng.standard_normal(1)[0] == generator.standard_normal()


@pytest.mark.parametrize(("loc", "scale"), [(0.0, 1.0), (0.0, 0.1), (-3.7, 12.3), (5.0, 0.0)])
def test_normal(loc, scale):
    rng, generator = pair(108)
    check(rng, generator, rng.normal(loc, scale, 200_000), generator.normal(loc, scale, 200_000))


@pytest.mark.parametrize("k", [1, 2, 4, 6, 500, 2**33])
def test_choice(k):
    rng, generator = pair(109)
    check(rng, generator, rng.choice(k, 20_000), generator.choice(k, 20_000))
    for _ in range(200):
        assert rng.choice(k, 1)[0] == generator.choice(k)
    assert rng.state == generator.bit_generator.state


@pytest.mark.parametrize(
    "p",
    [
        [1.0],
        [0.25] * 4,
        [1 / 3] * 3,
        [0.1] * 10,
        [0.0, 1.0],
        [1.0, 0.0],
        [0.0, 0.5, 0.0, 0.5, 0.0],
        [0.3, 0.7 + 1e-9],
        [0.3, 0.7 - 1e-9],
        [2.0**-k for k in range(1, 60)] + [2.0**-59],
    ],
)
def test_choice_p(p):
    rng, generator = pair(110)
    check(rng, generator, rng.choice_p(p, 100_000), generator.choice(len(p), 100_000, p=p))
    for _ in range(50):
        assert rng.choice_p(p, 1)[0] == generator.choice(len(p), p=p)


def test_choice_p_random():
    source = np.random.default_rng(111)
    for seed in range(300):
        p = source.dirichlet(np.full(source.integers(1, 300), 0.5))
        rng, generator = pair(seed)
        check(rng, generator, rng.choice_p(p, 1000), generator.choice(len(p), 1000, p=p))


def test_permutation():
    rng, generator = pair(112)
    for k in [*range(70), 255, 256, 257, 1000, 65537, 200_000]:
        check(rng, generator, rng.permutation(k), generator.permutation(k))


def test_shuffle():
    rng, generator = pair(113)
    for k in (0, 1, 2, 5, 64, 1001):
        values = np.arange(k, dtype=np.int64) ** 2 - 7
        ours = rng.shuffle(values)
        generator.shuffle(values)
        check(rng, generator, ours, values)


def test_interleaved():
    # A 32-bit draw keeps the other half of a 64-bit one for the next 32-bit draw, whatever 64-bit draws come between.
    calls = [
        ("random", lambda r: r.random(1)),
        ("random32", lambda r: r.random32(1) if isinstance(r, Rng) else r.random(1, dtype=np.float32)),
        ("uniform", lambda r: r.uniform(-1.0, 2.0, 3)),
        ("integers 7", lambda r: r.integers(0, 7, 1)),
        ("integers 2**31+1", lambda r: r.integers(0, 2**31 + 1, 3)),
        ("integers 1", lambda r: r.integers(4, 5, 2)),
        ("integers 2**32", lambda r: r.integers(0, 2**32, 1)),
        ("integers 2**40", lambda r: r.integers(-(2**39), 2**39, 1)),
        ("standard_normal", lambda r: r.standard_normal(1)),
        ("choice", lambda r: r.choice(6, 1)),
        ("permutation", lambda r: r.permutation(4)),
    ]
    source = random.Random(114)
    rng, generator = pair(114)
    for _ in range(20_000):
        name, call = source.choice(calls)
        assert np.array_equal(call(rng), call(generator)), name
        assert rng.state["has_uint32"] == generator.bit_generator.state["has_uint32"], name
    assert rng.state == generator.bit_generator.state


def test_state_continues_in_numpy():
    rng = Rng(2**70 + 3)
    rng.integers(0, 10, 7)
    bit_generator = np.random.PCG64()
    bit_generator.state = rng.state
    generator = np.random.Generator(bit_generator)
    check(rng, generator, rng.integers(0, 10, 100), generator.integers(0, 10, 100))
    check(rng, generator, rng.random(100), generator.random(100))
