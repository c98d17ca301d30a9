"""csrc/include/random_state.h against numpy.random.RandomState(seed): every value and the state afterwards, exactly."""

import numpy as np
import pytest

import batchenv
from helpers.streams import RandomState

SEEDS = [0, 1, 42, 2**31, 2**32 - 1]
LONG_SEEDS = [2**32, 2**32 + 1, 2**64 - 1, 2**64, 2**200 + 12345, 10**300]
WEIGHTS = [[1.0], [0.1, 0.1, 1 - 0.1 - 0.1], [0.0, 0.25, 0.0, 0.75, 0.0], [0.1] * 10, [0.3, 0.3, 0.3, 0.1 - 1e-9]]
RANGES = [(0, 1), (0, 2), (0, 7), (-3, 10), (0, 2**31), (0, 2**32 - 1), (0, 2**32), (0, 2**32 + 1), (-(2**62), 2**62)]


def words_of(seed):
    return [seed >> shift & 0xFFFFFFFF for shift in range(0, seed.bit_length(), 32)]


def assert_same_state(ours, theirs):
    name, key, position, has_gauss, gauss = theirs.get_state()
    mine = ours.state
    assert (mine[0], *mine[2:]) == (name, position, has_gauss, gauss)
    assert np.array_equal(mine[1], key)


def draw_all(ours, theirs):
    assert np.array_equal(ours.random_sample(200_000), theirs.random_sample(200_000))
    assert np.array_equal(ours.standard_normal(200_001), theirs.standard_normal(200_001))
    assert np.array_equal(ours.uniform(-0.3, 7, 1001), theirs.uniform(-0.3, 7, 1001))
    assert np.array_equal(ours.standard_normal(2), theirs.randn(2))  # the first of them was kept
    for low, high in RANGES:
        assert np.array_equal(ours.randint(low, high, 2001), theirs.randint(low, high, 2001)), (low, high)
    for weights in WEIGHTS:
        assert np.array_equal(ours.choice_p(weights, 2001), theirs.choice(len(weights), 2001, p=weights)), weights
    for size in (0, 1, 2, 17, 1000):
        assert np.array_equal(ours.permutation(size), theirs.permutation(size))
    assert_same_state(ours, theirs)


@pytest.mark.parametrize("seed", SEEDS)
def test_each_seed(seed):
    draw_all(RandomState(seed), np.random.RandomState(seed))


@pytest.mark.parametrize("seed", LONG_SEEDS, ids=str)
def test_seeds_that_are_words(seed):
    draw_all(RandomState(seed), np.random.RandomState(words_of(seed)))


def test_consecutive_seeds():
    for base in (0, 2**32 - 50, 2**64 - 50):
        for add in range(100):
            seed = base + add
            theirs = np.random.RandomState(seed if seed < 2**32 else words_of(seed))
            assert_same_state(RandomState(base, add), theirs)


def test_more_words_than_the_key_has():
    seed = int.from_bytes(np.random.default_rng(0).bytes(4 * 700), "little")
    assert_same_state(RandomState(seed), np.random.RandomState(words_of(seed)))


def test_millions_of_draws():
    ours, theirs = RandomState(5), np.random.RandomState(5)
    assert np.array_equal(ours.random_sample(3_000_000), theirs.random_sample(3_000_000))
    assert np.array_equal(ours.standard_normal(3_000_000), theirs.standard_normal(3_000_000))


# ---- NumPy's functions


@pytest.mark.parametrize("name", ["exp", "log", "log1p", "cosh", "tanh", "sin", "cos", "arccos", "arctan2"])
def test_numpy_functions(name):
    """One number at a time, as kernels call them, gives what NumPy gives for arrays and for scalars."""
    from batchenv import _core

    function, rng = getattr(np, name), np.random.default_rng(1)
    x = np.abs(rng.standard_normal(4000)) * np.tile([1e-8, 0.1, 3.0, 40.0], 1000)
    x = np.sin(x) if name == "arccos" else x
    arguments = (x, rng.standard_normal(4000)) if function.nin == 2 else (x,)
    ours = np.array([_core.numpy_function(name, *values) for values in zip(*arguments, strict=True)])
    assert ours.tobytes() == function(*arguments).tobytes()
    assert ours.tobytes() == np.array([function(*values) for values in zip(*arguments, strict=True)]).tobytes()


# ---- lanes whose streams are such


@pytest.fixture
def env():
    pytest.importorskip("dm_control", reason="dm_control has the models of types with such streams")
    made = batchenv.make("dm_control/pendulum-swingup-v0", 3)
    yield made
    made.close()


def test_np_random_is_a_random_state(env):
    env.reset(seed=7)
    for lane, stream in enumerate(env.np_random):
        expected = np.random.RandomState(7 + lane)
        expected.uniform()  # where the episode starts
        assert isinstance(stream, np.random.RandomState)
        assert np.array_equal(stream.get_state()[1], expected.get_state()[1])
        assert np.array_equal(stream.uniform(size=9), expected.uniform(size=9))


def test_seeds_of_lanes(env):
    seeds = [3, 2**32 + 9, 2**70]
    observation, _ = env.reset(seed=seeds)
    for lane, seed in enumerate(seeds):
        angle = np.random.RandomState(seed if seed < 2**32 else words_of(seed)).uniform(-np.pi, np.pi)
        assert observation["orientation"][lane] == pytest.approx([np.cos(angle), np.sin(angle)])


def test_snapshots_hold_the_stream(env):
    env.reset(seed=1)
    saved = env.snapshot()
    first, _ = env.reset()
    env.reset(seed=9)
    env.restore(saved)
    again, _ = env.reset()
    assert all(np.array_equal(first[key], again[key]) for key in first)
