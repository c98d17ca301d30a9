"""Environments whose steps cost time and can fail: what Synthetic-v0 stands in for."""

import time

import numpy as np
import pytest

import batchenv
from helpers.begun import begun


def actions_at(t, lanes):
    return (np.arange(lanes) * 7 + t) % 4


def run(lanes, steps, keep_errors=False, **options):
    """The results of some steps, failed ones included."""
    env = begun(batchenv.make("Synthetic-v0", lanes, cost_us=0.0, **options), seed=5)
    results = []
    for t in range(steps):
        try:
            results.append((env.step(actions_at(t, lanes)), None))
        except batchenv.LaneError as error:
            results.append((error.result, error))
    return results if keep_errors else [result for result, _ in results]


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_a_failing_lane_is_named_and_leaves_the_others_alone(mode):
    steps, lanes = 40, 9
    clean = run(lanes, steps, autoreset_mode=mode)
    failing = run(lanes, steps, keep_errors=True, autoreset_mode=mode, fail_step=6, fail_lane=4)
    others = np.arange(lanes) != 4
    failures = 0
    for (result, error), expected in zip(failing, clean, strict=True):
        for a, b in zip(result[:4], expected[:4], strict=True):
            np.testing.assert_array_equal(a[others], b[others])
        if error is None:
            continue
        failures += 1
        np.testing.assert_array_equal(error.env_id, [4])
        assert "lane 4: fail_step=6" in str(error)
        assert result[3][4] and not result[2][4] and result[1][4] == 0
        last = result[0][4] if mode == "NextStep" else result[4]["final_obs"][4]
        np.testing.assert_array_equal(last, 0)
    assert failures >= 3  # it starts again, and fails again


def test_lane_0_fails_alone():
    *_, (_, error) = run(9, 3, keep_errors=True, fail_step=3, fail_lane=0, end_probability=0.0)
    np.testing.assert_array_equal(error.env_id, [0])


def test_every_lane_fails():
    (_, error), *_ = run(300, 1, keep_errors=True, fail_step=1)
    assert len(error.env_id) == 300 and "300 of the lanes" in str(error)


def test_a_rollout_that_fails():
    env = begun(batchenv.make("Synthetic-v0", 5, cost_us=0.0, end_probability=0.0, fail_step=3, fail_lane=1), seed=1)
    with pytest.raises(batchenv.LaneError, match="lane 1") as raised:
        env.rollout(np.zeros((8, 5), np.int64))
    truncations = raised.value.result[3]
    np.testing.assert_array_equal(np.argwhere(truncations), [[2, 1], [6, 1]])


def test_a_failed_step_of_a_repeated_action_ends_it():
    env = batchenv.make("Synthetic-v0", 3, cost_us=0.0, end_probability=0.0, fail_step=3, fail_lane=1, action_repeat=5)
    env.reset(seed=1)
    with pytest.raises(batchenv.LaneError) as raised:
        env.step(np.zeros(3, np.int64))
    np.testing.assert_array_equal(raised.value.result[3], [False, True, False])


def test_threads_give_the_same():
    one, two = (run(130, 30, num_threads=threads) for threads in (1, 2))
    for a, b in zip(one, two, strict=True):
        for x, y in zip(a[:4], b[:4], strict=True):
            np.testing.assert_array_equal(x, y)


def test_a_step_costs_what_was_asked_for():
    env = begun(batchenv.make("Synthetic-v0", 3, cost_us=2000.0, end_probability=0.0, num_threads=1), seed=1)
    before = time.process_time()
    env.step(actions_at(0, 3))
    assert time.process_time() - before >= 3 * 0.002
