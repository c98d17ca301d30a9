"""Checksums: what is different has another one."""

import numpy as np
import pytest

from batchenv.recordings import sums
from batchenv.recordings.values import compressed, from_json, lost_in, pack, to_json, unpack
from batchenv.text import Texts


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rewards(dtype):
    rng = np.random.default_rng(0)
    rewards = rng.normal(size=(33, 7)).astype(dtype)

    def total(values, cut=33):
        first = sums.over_steps(np.zeros(7, np.uint64), sums.words_of(values[:cut]))
        return sums.halves(sums.over_steps(first, sums.words_of(values[cut:])) if cut < 33 else first)

    known = total(rewards)
    assert np.array_equal(total(rewards, 12), known)
    for step in range(33):
        for bit in range(0, 8 * rewards.itemsize, 5):
            other = rewards.copy()
            other.view(np.uint64 if dtype is np.float64 else np.uint32)[step, 3] ^= 1 << bit
            assert (total(other) != known).tolist() == [lane == 3 for lane in range(7)]
    swapped = rewards.copy()
    swapped[[4, 5]] = swapped[[5, 4]]
    assert (total(swapped) != known).all()


@pytest.mark.parametrize("shape", [(), (1,), (3,), (4,), (17,), (5, 7, 3), (84, 84)])
@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.int64, np.bool_])
def test_observations(shape, dtype):
    rng = np.random.default_rng(1)
    values = rng.integers(0, 2, (6, *shape)).astype(dtype)
    known = sums.halves(sums.of_rows(values))
    flat = values.reshape(6, -1)
    for place in {0, flat.shape[1] // 2, flat.shape[1] - 1}:
        other = flat.copy()
        other[2, place] = 1 - other[2, place] if dtype is not np.bool_ else not other[2, place]
        found = sums.halves(sums.of_rows(other.reshape(values.shape)))
        assert (found != known).tolist() == [row == 2 for row in range(6)]
    first = np.zeros(6, np.uint64)
    one, two = sums.of_rows(values), sums.of_rows(np.roll(values, 1, axis=0))
    if (one != two).any():
        assert (sums.added(sums.added(first, one), two) != sums.added(sums.added(first, two), one))[one != two].all()
    assert (sums.of_parts([values, values * 0]) != sums.of_parts([values * 0, values]))[
        one != sums.of_rows(values * 0)
    ].all()


def test_texts():
    known = sums.of_rows(("go left", "go right"))
    assert (known != sums.of_rows(("go right", "go left"))).all()
    assert len(sums.of_rows(Texts(np.arange(3), None))) == 3


def test_values_are_given_back():
    value = {
        "a": [1, 2.5, None, True, "x"], 3: (np.float32(1.5), np.arange(6).reshape(2, 3)), "big": 2**200,
        "odd": [float("inf"), float("-inf")], "bytes": b"\0\1", "": {}, "text": np.array(["one", "three"]),
    }  # fmt: skip
    found = from_json(to_json(value))
    assert repr(found) == repr(value)
    assert isinstance(found[3][0], np.float32) and found[3][1].dtype == np.int64
    with pytest.raises(TypeError, match="cannot be written into a recording"):
        to_json({"f": print})
    assert lost_in(from_json(to_json({"f": [print]}, strict=False))) == [repr(print)]


def test_arrays_are_given_back():
    rng = np.random.default_rng(0)
    arrays = {
        "random": rng.integers(0, 255, 30000).astype(np.uint8), "zeros": np.zeros((100, 100)), "none": np.empty((0, 3)),
        "scalar": np.array(3.5), "bytes": b"something" * 100, "small": np.arange(3),
    }  # fmt: skip
    payload = pack({"name": (1, 2)}, arrays)
    meta, found = unpack(payload)
    assert meta == {"name": (1, 2)}
    for name, array in arrays.items():
        assert found[name] == array if isinstance(array, bytes) else np.array_equal(found[name], array), name
    assert len(payload) < 32000
    assert compressed(arrays["random"].tobytes())[0] == ""
