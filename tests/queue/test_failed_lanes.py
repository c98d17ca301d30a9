"""A lane whose step or reset fails is reported alone, beside the results of the others, and tries again."""

import copy
import os
import time

import numpy as np
import pytest

import batchenv
from helpers.hostile import forked


def test_a_failing_lane_is_reported_with_the_others_results():
    env = batchenv.make("Synthetic-v0", 6, batch_size=3, num_threads=2, cost_us=1.0, fail_step=2, fail_lane=4)
    clean = batchenv.make("Synthetic-v0", 6, cost_us=0.0)
    env.reset(seed=3), clean.reset(seed=3)
    for t in range(6):
        actions = np.full(6, t % 4)
        expected = clean.step(actions)
        env.send(actions, np.arange(6))
        ids, errors = [], 0
        for _ in range(2):
            try:
                result = env.recv()
            except batchenv.LaneError as error:
                np.testing.assert_array_equal(error.env_id, [4])
                assert "lane 4: fail_step=2" in str(error)
                result = error.result
                errors += 1
            lanes = result[4]["env_id"]
            ids.extend(lanes)
            others = lanes != 4
            for a, b in zip(result[:4], expected[:4], strict=True):
                np.testing.assert_array_equal(a[others], b[lanes[others]])
        assert sorted(ids) == list(range(6)) and errors == (t in (1, 4))


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("normalize", [False, True])
def test_resets_that_fail(threads, normalize):
    """The lane alone fails, and its next step tries again; all others are as ever."""
    options = {"cost_us": 0.0, "normalize_observation": normalize}
    env = batchenv.make("Synthetic-v0", 5, num_threads=threads, fail_reset=2, **options)
    clean = batchenv.make("Synthetic-v0", 5, **options)
    others = np.arange(5) != 2
    expected = clean.reset(seed=1)[0]
    with pytest.raises(batchenv.LaneError, match="lane 2: fail_reset=2") as caught:
        env.reset(seed=1)
    np.testing.assert_array_equal(caught.value.env_id, [2])
    assert env.np_random_seed == tuple(range(1, 6))
    if not normalize:
        assert not caught.value.result[0][2].any()
        np.testing.assert_array_equal(caught.value.result[0][others], expected[others])
    with pytest.raises(batchenv.LaneError):
        env.step(np.zeros(5, int))
    env.set_params(fail_reset=-1)
    result = env.step(np.zeros(5, int))
    assert result[0].shape == (5, 3) and not result[3][2]
    env.set_params(fail_reset=3)
    env.async_reset(seed=1)
    with pytest.raises(batchenv.LaneError) as caught:
        env.recv(10)
    np.testing.assert_array_equal(caught.value.env_id, [3])
    if not normalize:
        np.testing.assert_array_equal(caught.value.result[0][:3], expected[:3])


@pytest.mark.parametrize("in_flight", [False, True])
def test_restarts_that_fail(in_flight):
    """SameStep: what an episode ended with is kept although the next one cannot start yet."""
    options = {"autoreset_mode": "SameStep", "max_episode_steps": 3, "cost_us": 0.0, "end_probability": 0.0}
    env = batchenv.make("Synthetic-v0", 4, num_threads=2, record_episode_statistics=True, **options)
    clean = batchenv.make("Synthetic-v0", 4, **options)
    env.reset(seed=1), clean.reset(seed=1)
    env.set_params(fail_reset=1)

    def step():
        if not in_flight:
            return env.step(np.zeros(4, int))
        env.send(np.zeros(4, int), np.arange(4))
        return env.recv(10)

    for _ in range(2):
        step()
        clean.step(np.zeros(4, int))
    expected = clean.step(np.zeros(4, int))
    with pytest.raises(batchenv.LaneError) as caught:
        step()
    result = caught.value.result
    for k in (1, 2, 3):
        np.testing.assert_array_equal(result[k], expected[k])
    np.testing.assert_array_equal(np.stack(result[4]["final_obs"]), np.stack(expected[4]["final_obs"]))
    assert not result[0][1].any() and result[4]["episode"]["l"].tolist() == [3] * 4
    with pytest.raises(batchenv.LaneError) as caught:
        step()
    assert caught.value.result[3].tolist() == [False, True, False, False]
    env.set_params(fail_reset=-1)
    result = step()
    assert not result[3].any() and result[1][1] == 0 and result[0][1][0] == 0


@pytest.mark.parametrize("normalize", [False, True])
def test_rollouts_of_slow_lanes(normalize):
    options = {"cost_us": 0.0, "num_threads": 3, "max_episode_steps": 7, "normalize_observation": normalize}
    ours, stepped = (batchenv.make("Synthetic-v0", 70, fail_step=5, fail_lane=6, **options) for _ in range(2))
    ours.reset(seed=1), stepped.reset(seed=1)
    with pytest.raises(batchenv.LaneError) as caught:
        ours.rollout(12, policy="random", seed=4)
    np.testing.assert_array_equal(caught.value.env_id, [6])
    rollout = caught.value.result
    for t in range(12):
        try:
            result = stepped.step(rollout.actions[t])
        except batchenv.LaneError as error:
            result = error.result
        for k in range(4):
            np.testing.assert_array_equal(rollout[k][t], result[k])
    with pytest.raises(batchenv.LaneError) as again:
        ours.rollout(12, policy="random")
    assert (again.value.result.actions != rollout.actions).any()


def test_snapshots_of_restarts_that_failed():
    options = {"autoreset_mode": "SameStep", "max_episode_steps": 2, "cost_us": 0.0}
    env = batchenv.make("Synthetic-v0", 3, **options)
    env.reset(seed=1)
    env.step(np.zeros(3, int))
    env.set_params(fail_reset=1)
    with pytest.raises(batchenv.LaneError):
        env.step(np.zeros(3, int))
    env.set_params(fail_reset=-1)
    twin = copy.deepcopy(env)
    for a, b in zip(env.step(np.zeros(3, int))[:4], twin.step(np.zeros(3, int))[:4], strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("call", ["reset", "async_reset"])
def test_a_forked_child_forgets_what_failed_in_flight(call):
    """Lanes whose steps the child drops begin anew in it: what failed in those steps is nobody's business any more."""
    # So many quick lanes that a worker takes several at a time; the slow one keeps it while the process is forked.
    costs = np.full(256, 0.2)
    costs[255] = 300_000.0
    env = batchenv.make(
        "Synthetic-v0",
        256,
        num_threads=1,
        batch_size=1,
        cost_us=costs,
        fail_step=40,
        fail_lane=254,
        end_probability=0.0,
    )
    env.reset(seed=1)
    quick = np.arange(255)
    for _ in range(39):
        env.send(np.zeros(255, int), quick)
        for _ in quick:
            env.recv(10)
    env.send(np.zeros(256, int), np.arange(256))
    time.sleep(0.1)

    def child():
        getattr(env, call)(seed=2)
        for _ in range(256 if call == "async_reset" else 0):
            env.recv(10)

    forked(child)
    failed = 0
    for _ in range(256):
        try:
            env.recv(10)
        except batchenv.LaneError as error:
            failed += error.env_id.tolist() == [254]
    assert failed == 1
    env.close()
