"""`out=` takes what has memory to write into: arrays, buffers, and tensors through DLPack."""

import array

import numpy as np
import pytest

import batchenv

LANES = 6


class Tensor:
    """What another library's tensor has, of all that `out=` looks at."""

    def __init__(self, values, device=(1, 0)):
        self.values, self.device = values, device

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, **keywords):
        if self.device != (1, 0):
            raise BufferError("it is on another device")
        return self.values.__dlpack__(**keywords)


def arrays():
    return [np.zeros((LANES, 4), np.float32), np.zeros(LANES), np.zeros(LANES, bool), np.zeros(LANES, bool)]


def pair():
    """Two envs in the same state, and actions for a step."""
    envs = [batchenv.make("CartPole-v1", LANES, max_episode_steps=3) for _ in range(2)]
    for env in envs:
        env.reset(seed=3)
    return *envs, np.arange(LANES) % 2


needs_writeable_dlpack = pytest.mark.skipif(
    np.lib.NumpyVersion(np.__version__) < "2.1.0", reason="NumPy cannot write into what comes through DLPack"
)


@pytest.mark.parametrize("wrap", [memoryview, pytest.param(Tensor, marks=needs_writeable_dlpack)])
def test_results_are_written_into_it(wrap):
    env, plain, actions = pair()
    storage = arrays()
    out = tuple(wrap(values) for values in storage)
    for _ in range(4):
        result, expected = env.step(actions, out=out), plain.step(actions)
        for values, got, wanted in zip(storage, result, expected, strict=False):
            np.testing.assert_array_equal(values, wanted)
            assert np.shares_memory(got, values)
    assert storage[3].any() or storage[2].any() or (storage[1] == 0).any()
    steps = [np.zeros((5, *values.shape), values.dtype) for values in arrays()]
    rows, expected = (
        one.rollout(np.tile(actions, (5, 1)), out=target)
        for one, target in ((env, tuple(wrap(values) for values in steps)), (plain, None))
    )
    for values, got, wanted in zip(steps, rows, expected, strict=False):
        np.testing.assert_array_equal(values, wanted)
        assert np.shares_memory(got, values)


def test_plain_buffers():
    env, plain, actions = pair()
    rewards, flags = array.array("d", [7.0] * LANES), bytearray(LANES)
    env.step(actions, out=(None, rewards, memoryview(flags).cast("?"), None))
    assert rewards.tolist() == plain.step(actions)[1].tolist() == [1.0] * LANES and not any(flags)


def test_torch_tensors():
    torch = pytest.importorskip("torch")
    env, plain, actions = pair()
    out = tuple(torch.from_numpy(values).clone() for values in arrays())
    env.step(torch.from_numpy(actions), out=out)
    for tensor, wanted in zip(out, plain.step(actions), strict=False):
        np.testing.assert_array_equal(tensor.numpy(), wanted)
    with pytest.raises(ValueError, match=r"out's observations cannot be written into, Tensor says"):
        env.step(actions, out=(torch.zeros(LANES, 4, requires_grad=True), None, None, None))


def frozen():
    values = np.zeros(LANES)
    values.flags.writeable = False
    return values


@pytest.mark.parametrize(
    ("place", "given", "error", "words"),
    [
        (1, bytes(8 * LANES), ValueError, "out's rewards must have dtype float64"),
        (1, memoryview(frozen()), ValueError, "out's rewards must be C-contiguous, aligned and writeable"),
        (1, array.array("f", [0.0] * LANES), ValueError, "out's rewards must have dtype float64"),
        (1, Tensor(np.zeros(LANES + 1)), ValueError, "out's rewards must have dtype float64 and shape"),
        (1, Tensor(np.zeros(LANES), device=(2, 0)), ValueError, "out's rewards cannot be written into, Tensor says"),
        (0, [[0.0] * 4] * LANES, TypeError, "out's observations must be a numpy.ndarray, something with the buffer"),
    ],
)
def test_what_cannot_be_written_into_is_refused(place, given, error, words):
    env, _, actions = pair()
    out = [None] * 4
    out[place] = given
    with pytest.raises(error, match=words):
        env.step(actions, out=tuple(out))
    assert (env.state["elapsed_steps"] == 0).all()


def test_overlaps_are_seen_through_wrappers():
    env, _, actions = pair()
    shared = np.zeros(LANES)
    with pytest.raises(ValueError, match="must not overlap"):
        env.step(actions, out=(None, shared, memoryview(shared.view(np.bool_)[:LANES]), None))
    with pytest.raises(ValueError, match="must not overlap"):
        env.step(actions, out=(None, memoryview(actions.view(np.float64)), None, None))
