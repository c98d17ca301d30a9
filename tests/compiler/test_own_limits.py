"""Types whose prepare() chooses the size of their state, which truncate episodes themselves, and whose lanes fail one
by one (BE_OWN_LIMITS)."""

import numpy as np
import pytest

import batchenv
from batchenv import LaneError
from helpers.begun import begun

# A lane counts its steps in the last value of its state, ends after `limit` of them, and fails in step `fails`.
COUNTER = """
#include "batchenv.h"
enum { ACTION, OBSERVATION };
static const be_port ports[] = {{"", BE_ACTION, BE_DISCRETE(2)}, {"", BE_OBSERVATION, BE_DISCRETE(1000)}, {0}};
static const be_field state[] = {{"tape", BE_I64, 1, "the last value counts", 0, 999}, {0}};
enum { SIZE, LIMIT, FAILS };
static const be_param params[] = {
    [SIZE] = {"size", BE_PARAM_INT, 3, 0, 100, NULL, "values"},
    [LIMIT] = {"limit", BE_PARAM_INT, 5, 1, 999, NULL, "steps"},
    [FAILS] = {"fails", BE_PARAM_FLOAT, 0, 0, 999, NULL, "the step that fails; 0: none"},
    {0},
};
static int prepare(be_setup *setup, be_error *error) {
    (void)error;
    setup->field_size[0] = (int)setup->params[SIZE];
    return BE_OK;
}
static int64_t *count_of(const be_batch *b, int64_t i) {
    return (int64_t *)b->state[0] + (i + 1) * b->field_size[0] - 1;
}
static int observe(be_batch *b, const int64_t *lanes, int64_t count, const be_rows *rows, be_error *error) {
    (void)error;
    for (int64_t k = 0; k < count; k++) {
        *BE_ROW(int64_t, rows->port[OBSERVATION], rows, lanes[k], 1) = *count_of(b, lanes[k]);
    }
    return BE_OK;
}
static int reset(be_batch *b, const int64_t *lanes, int64_t count, const be_rows *rows, be_error *error) {
    for (int64_t k = 0; k < count; k++) *count_of(b, lanes[k]) = 0;
    return observe(b, lanes, count, rows, error);
}
static int step(be_batch *b, int64_t begin, int64_t end, const be_rows *rows, be_error *error) {
    for (int64_t i = begin, k = 0; i < end; i++, k++) {
        if (rows->skip[k]) continue;
        const int64_t steps = ++*count_of(b, i);
        rows->reward[k] = 1;
        rows->terminated[k] = steps == 3 && ((const int64_t *)rows->port[ACTION])[k];
        rows->truncated[k] = steps >= be_param_of(b, LIMIT, i);
        observe(b, &i, 1, rows, error);
        if (steps == be_param_of(b, FAILS, i)) be_fail_lane(b, i, rows, "step %d fails", (int)steps);
    }
    return BE_OK;
}
static const be_id ids[] = {{"Counter-v0", 50}, {0}};
BE_ENV(counter) = {.abi = BE_ABI, .name = "Counter", .ids = ids, .ports = ports, .state = state, .params = params,
                   .flags = BE_OWN_LIMITS, .prepare = prepare, .reset = reset, .observe = observe, .step = step};
"""


@pytest.fixture(scope="module")
def counter(cache):
    (cache / "counter.c").write_text(COUNTER)
    return batchenv.compile(cache / "counter.c").ids[0]


@pytest.mark.parametrize("lanes", [1, 9, 70])
def test_the_state_has_the_size_that_prepare_gives(counter, lanes):
    env = begun(batchenv.make(counter, lanes, size=7, limit=20))
    for _ in range(4):
        env.step(np.zeros(lanes, int))
    assert np.array(env.get_attr("tape")).shape == (lanes, 7)
    snapshot = env.snapshot()
    assert env.step(np.zeros(lanes, int))[0].tolist() == [5] * lanes
    env.restore(snapshot)
    assert env.step(np.zeros(lanes, int))[0].tolist() == [5] * lanes
    with pytest.raises(ValueError, match="another env type, or other built-in options"):
        batchenv.make(counter, lanes, size=8).restore(snapshot)
    with pytest.raises(ValueError, match="change the size of a lane's state: make a new env"):
        env.set_params(size=8)
    with pytest.raises(ValueError, match="the field tape 0 values per lane, which must be from 1 to 16777216"):
        batchenv.make(counter, lanes, size=0)


def test_the_state_is_set_from_python(counter):
    env = begun(batchenv.make(counter, 5, size=3, limit=20))
    assert env.set_state({"tape": [7, 8, 9]}, [1]).tolist() == [0, 9, 0, 0, 0]
    assert env.set_state({"tape": [[1, 2, 3], [4, 5, 6]]}, [4, 2]).tolist() == [0, 9, 6, 0, 3]
    assert env.step(np.zeros(5, int))[0].tolist() == [1, 10, 7, 1, 4]
    for values, text in [
        ([7, 8, 1000], r"tape=1000 of lane 1 must be in 0\.\.999"),
        ([[7, 8, -1]], r"tape=-1 of lane 1 must be in 0\.\.999"),
        ([7, 8], r"tape has shape \(2,\), but must be one value of \(3,\)"),
    ]:
        with pytest.raises(ValueError, match=text):
            env.set_state({"tape": values}, [1])
    assert env.state["tape"].tolist()[1] == [7, 8, 10]


@pytest.mark.parametrize("keywords", [{}, {"action_repeat": 2}, {"max_episode_steps": 4}])
@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_the_type_truncates(counter, mode, keywords):
    env = begun(batchenv.make(counter, 9, autoreset_mode=mode, **keywords))
    flags = [tuple(x[0] for x in env.step(np.arange(9) % 2)[2:4]) for _ in range(5)]
    cut = {"action_repeat": 3, "max_episode_steps": 4}.get(next(iter(keywords), ""), 5)
    assert [f.tolist() for _, f in flags[: cut - 1]] == [False] * (cut - 1) and flags[cut - 1][1]
    env.reset(seed=0)
    for _ in range(3 if not keywords.get("action_repeat") else 2):
        terminated = env.step(np.arange(9) % 2)[2]
    assert terminated.tolist() == [lane % 2 == 1 for lane in range(9)]


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
@pytest.mark.parametrize("lanes", [2, 70])
def test_a_lane_fails_alone(counter, lanes, mode):
    fails = np.zeros(lanes)
    fails[1] = 2
    env = begun(batchenv.make(counter, lanes, fails=fails, limit=9, autoreset_mode=mode))
    env.step(np.zeros(lanes, int))
    with pytest.raises(LaneError, match="step 2 fails") as error:
        env.step(np.zeros(lanes, int))
    assert error.value.env_id.tolist() == [1]
    observation, reward, terminated, truncated, _ = error.value.result
    others = np.arange(lanes) != 1
    assert (reward == others).all() and not terminated.any() and (truncated == ~others).all()
    assert (observation[others] == 2).all()
    observation = env.step(np.zeros(lanes, int))[0]
    assert (observation[others] == 3).all()


def test_a_lane_that_is_stepped_with_few_others_fails_alone(counter):
    env = begun(batchenv.make(counter, 70, fails=np.where(np.arange(70) == 33, 1.0, 0.0)))
    with pytest.raises(LaneError, match="step 1 fails") as error:
        env.step([0, 0, 0], env_id=[5, 33, 60])
    assert error.value.env_id.tolist() == [33]
