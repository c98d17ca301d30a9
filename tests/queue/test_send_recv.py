"""`send`, `recv`, `step_async` and `step_wait`: what they take, what they return, and how long they wait."""

import re

import numpy as np
import pytest
from gymnasium.error import AlreadyPendingCallError, NoAsyncCallError, ResetNeeded

import batchenv
from helpers.begun import begun
from helpers.queue import ready


def test_envpools_loop_runs_unchanged():
    num_envs, batch_size = 64, 16
    env = batchenv.make("CartPole-v1", env_type="gymnasium", num_envs=num_envs, batch_size=batch_size, num_threads=2)
    action_num = env.action_space.n
    env.async_reset()
    steps = np.zeros(num_envs, int)
    for _ in range(100):
        obs, _rew, _term, _trunc, info = env.recv()
        env_id = info["env_id"]
        assert obs.shape == (batch_size, 4)
        steps[env_id] += 1
        action = np.random.randint(action_num, size=batch_size)
        env.send(action, env_id)
    assert steps.sum() == 1600 and env.is_async
    env_id = env.recv()[4]["env_id"]
    assert len(env.step(np.zeros(16, int), env_id)[4]["env_id"]) == batch_size


def test_a_slow_lane_delays_nobody():
    slow = np.full(8, 100.0)
    slow[3] = 3e6
    env = batchenv.make("Synthetic-v0", 8, batch_size=1, num_threads=2, cost_us=slow, wait=True, end_probability=0.0)
    env.reset(seed=0)
    env.send(np.zeros(8, int), np.arange(8))
    first = [int(env.recv()[4]["env_id"][0]) for _ in range(7)]
    assert sorted(first) == [0, 1, 2, 4, 5, 6, 7]
    with pytest.raises(TimeoutError):  # they came before the slow lane
        env.recv(0)
    assert env.recv()[4]["env_id"][0] == 3


def test_lanes_that_become_slow_go_one_by_one():
    """Cheap lanes are worked off several at a time: those of now costlier params not, or others would wait for one."""
    env = batchenv.make("Synthetic-v0", 32, batch_size=1, num_threads=2, cost_us=0.0, end_probability=0.0, wait=True)
    env.async_reset(seed=0)
    for _ in range(400):
        env.send([0], env.recv(10)[4]["env_id"])
    while env._backend.core.in_flight():
        env.recv(10)
    env.set_params(cost_us=np.where(np.arange(32) == 1, 3e6, 100.0))
    env.send(np.zeros(32, int), np.arange(32))
    assert 1 not in [int(env.recv()[4]["env_id"][0]) for _ in range(31)]


def test_step_async_is_step():
    ours, sync = (begun(batchenv.make("CartPole-v1", 50, autoreset_mode="SameStep"), seed=1) for _ in range(2))
    rng = np.random.default_rng(0)
    for _ in range(60):
        actions = rng.integers(2, size=50)
        ours.step_async(actions)
        result, expected = ours.step_wait(), sync.step(actions)
        for a, b in zip(result[:4], expected[:4], strict=True):
            np.testing.assert_array_equal(a, b)
        assert result[4].keys() == expected[4].keys()
    with pytest.raises(NoAsyncCallError, match="step_async"):
        ours.step_wait()
    ours.step_async(actions)
    with pytest.raises(AlreadyPendingCallError, match="step_wait"):
        ours.step_async(actions)
    with pytest.raises(RuntimeError, match="in flight"):
        ours.step(actions)
    ours.step_wait()
    ours.step(actions)
    ours.step_async(actions)
    ours.recv()  # takes what step_wait would
    ours.send([0], [7])
    with pytest.raises(NoAsyncCallError, match="step_async"):
        ours.step_wait()
    ours.reset(seed=1)
    ours.step_async(actions)
    ours.step_wait()
    with pytest.raises(RuntimeError, match="batch_size=2"):
        batchenv.make("CartPole-v1", 4, batch_size=2).step_async(actions)


def test_recv_instead_of_step_wait():
    env = begun(batchenv.make("CartPole-v1", 4))
    env.step_async(np.zeros(4, int))
    env.recv()
    with pytest.raises(NoAsyncCallError):
        env.step_wait()
    env.step_async(np.zeros(4, int))


@pytest.mark.parametrize(
    "actions, env_id, error, words",
    [
        ([0, 1], [0, 9], ValueError, r"env_id\[1\]=9 is not in 0..5"),
        ([0, 1], [-1, 0], ValueError, r"env_id\[0\]=-1"),
        ([0, 1], [4, 4], ValueError, "occurs twice"),
        ([0, 1], [0, 5], RuntimeError, r"env_id\[1\]=5 is in flight"),
        ([0, 1, 1], [0, 1], ValueError, "shape"),
        ([0], [0, 1], ValueError, "shape"),
        (1, [0], TypeError, "single value"),
        ([0, 2], [0, 4], ValueError, "action 2 of lane 4"),
        ([0.0, 1.0], [0, 1], TypeError, "integers"),
        ([[0], [1]], [0, 1], ValueError, "shape"),
        (np.empty(0, int), [], ValueError, "env_id is empty"),
        ([0, 1], [0.0, 1.0], TypeError, "env_id"),
        ([0, 1], [[0], [1, 2]], TypeError, "env_id"),
        ([0, 1], np.array([0, 2**64 - 1], np.uint64), ValueError, r"env_id\[1\]=18446744073709551615 is not in 0..5"),
        (np.array([0, 2**64 - 1], np.uint64), [0, 4], ValueError, "action 18446744073709551615 of lane 4"),
        ([0, 1], None, ValueError, "none have been"),
    ],
)
def test_nothing_wrong_is_sent(actions, env_id, error, words):
    env = ready()
    env.send([1], [5])
    with pytest.raises(error, match=words):
        env.send(actions, env_id)
    assert env._backend.core.in_flight() == 1
    env.send([1], [2])
    assert sorted(env.recv()[4]["env_id"]) == [2, 5]


def test_nothing_is_waited_for_that_never_comes():
    env = ready()
    with pytest.raises(RuntimeError, match="nothing in flight"):
        env.recv()
    env.send([1], [5])
    with pytest.raises(RuntimeError, match=r"1 in flight.*2 rows"):
        env.recv(timeout=5)
    env = ready()
    with pytest.raises(RuntimeError, match=r"step\(actions, env_id\) with 1 in flight.*2 rows"):
        env.step([1], [5])
    assert (env.state["elapsed_steps"] == 0).all()  # nothing was sent
    assert env.step([1, 1], [5, 2])[4]["env_id"].tolist() in ([5, 2], [2, 5])
    for call in ("send", "step"):
        with pytest.raises(ResetNeeded):
            getattr(batchenv.make("CartPole-v1", 6, batch_size=2), call)([0], [1])
    with pytest.raises(ValueError, match="timeout=-1"):
        env.recv(timeout=-1)
    for size in (0, 7):
        with pytest.raises(ValueError, match=f"batch_size={size}"):
            batchenv.make("CartPole-v1", 6, batch_size=size)


@pytest.mark.parametrize("timeout", ["x", [1], float("nan"), -0.5])
def test_what_is_no_timeout(timeout):
    env = ready()
    env.send([1, 1], [0, 1])
    with pytest.raises((TypeError, ValueError), match=f"timeout={re.escape(repr(timeout))}"):
        env.recv(timeout)
    env.recv(float("inf"))


def test_a_timeout_loses_nothing():
    env = begun(batchenv.make("Synthetic-v0", 2, num_threads=2, batch_size=2, cost_us=200_000.0, wait=True))
    env.send([1, 2], [0, 1])
    with pytest.raises(TimeoutError, match="nothing is lost"):
        env.recv(timeout=0.01)
    with pytest.raises(TimeoutError):
        env.recv(timeout=0)
    seen = env.recv(timeout=10)[0]
    sync = begun(batchenv.make("Synthetic-v0", 2, cost_us=0.0))
    np.testing.assert_array_equal(seen, sync.step([1, 2])[0])


def test_disabled_autoreset():
    env = begun(batchenv.make("CartPole-v1", 4, batch_size=4, autoreset_mode="Disabled", max_episode_steps=1))
    env.send([0, 0, 0, 0], [0, 1, 2, 3])
    assert env.recv()[3].all()
    with pytest.raises(ResetNeeded, match="lane 2"):
        env.send([0], [2])
    env.reset(options={"reset_mask": np.arange(4) == 2})
    env.send([0], [2])


def test_normalized_rows():
    env = ready(lanes=6, batch_size=2, normalize_observation=True)
    env.async_reset(seed=1)
    rows, *_ = env.recv()
    assert rows.dtype == np.float32 and env.normalizer.obs_rms.count > 2


def test_results_are_the_users():
    env = ready(lanes=40, batch_size=10)
    env.async_reset(seed=1)
    held = []
    for _ in range(60):
        result = env.recv()
        arrays = [*result[:4], result[4]["env_id"]]
        held.append((arrays, [array.copy() for array in arrays]))
        env.send(np.zeros(10, int), result[4]["env_id"])
    for arrays, copies in held:
        for a, b in zip(arrays, copies, strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("kind", ["C", "threads"])
def test_the_users_env_id_may_be_written_into(kind):
    if kind == "C":
        env = batchenv.make("CartPole-v1", 4, batch_size=2)
    else:
        env = batchenv.make_python("CartPole-v1", 4, batch_size=2, workers=kind)
    env.async_reset(seed=0)
    env.recv(), env.recv()
    env.send([0, 0], [3, 1])
    received = env.recv()[4]["env_id"]
    expected = received.copy()
    received[:] = 0
    env.send([1, 0])  # to the lanes last received
    assert sorted(env.recv()[4]["env_id"]) == sorted(expected)


def test_arrays_that_were_changed_are_not_used_again():
    env = batchenv.make("CartPole-v1", 4, batch_size=2, frame_stack=2)
    env.async_reset(seed=0)
    for _ in range(12):
        observations, *_, info = env.recv(5)
        assert observations.shape == (2, 2, 4) and info["env_id"].shape == (2,)
        ids = info["env_id"].copy()
        observations.shape = (2, 4, 2)
        info["env_id"].shape = (2, 1)
        del observations, _, info
        env.send([0, 0], ids)
