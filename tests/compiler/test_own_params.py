"""Whole numbers, flags and choices that differ from lane to lane, in a type that marks them `per_lane`."""

import pickle

import numpy as np
import pytest

import batchenv
from helpers.begun import begun
from helpers.forged import forge
from helpers.own_env import ONE_NUMBER

# A lane counts in strides of `n`, up or down, and ends after `limit` steps; `size` is one value for all lanes.
STRIDES = (
    ONE_NUMBER
    + r"""
enum { N, DOWN, PACE, LIMIT };
static const char *const paces[] = {"walk", "gallop", NULL};
static const be_param params[] = {
    [N] = {"n", BE_PARAM_INT, 3, 1, 100, NULL, "stride", .per_lane = 1},
    [DOWN] = {"down", BE_PARAM_BOOL, 0, .doc = "count down", .per_lane = 1},
    [PACE] = {"pace", BE_PARAM_CHOICE, 0, .choices = paces, .doc = "galloping doubles a stride", .per_lane = 1},
    [LIMIT] = {"limit", BE_PARAM_INT, 5, 1, 999, NULL, "steps"},
    {0},
};
static int prepare(be_setup *setup, be_error *error) {
    if (setup->params[N] == 13) return be_fail(error, BE_ERROR_VALUE, -1, "n=13 brings bad luck");
    be_space_discrete(&setup->space[OBSERVATION], 1000);
    setup->space[OBSERVATION].low[0] = -1000;
    return BE_OK;
}
static int step(be_batch *b, int64_t begin, int64_t end, const be_rows *rows, be_error *error) {
    for (int64_t i = begin, k = 0; i < end; i++, k++) {
        if (rows->skip[k]) continue;
        const int64_t stride = (int64_t)be_param_of(b, N, i) * (be_param_of(b, PACE, i) == 1 ? 2 : 1);
        ((int64_t *)b->state[0])[i] += be_param_of(b, DOWN, i) != 0 ? -stride : stride;
        rows->reward[k] = (double)stride;
        rows->terminated[k] = b->elapsed[i] + 1 >= b->params[LIMIT];
        observe(b, &i, 1, rows, error);
    }
    return BE_OK;
}
static const be_id ids[] = {{"Strides-v0", 50}, {"StridesLong-v0", 50, .settings = {{"n", 7}}}, {0}};
BE_ENV(strides) = {.abi = BE_ABI, .name = "Strides", .ids = ids, .ports = ports, .state = state, .params = params,
                   .prepare = prepare, .reset = reset, .observe = observe, .step = step};
"""
)
MIXED = {"n": np.arange(1, 71), "down": np.arange(70) % 3 == 0, "pace": np.array(["walk", "gallop"])[np.arange(70) % 2]}


@pytest.fixture(scope="module")
def strides(cache):
    (cache / "strides.c").write_text(STRIDES)
    return batchenv.compile(cache / "strides.c").ids[0]


def mixed():
    n = np.delete(MIXED["n"], 12)  # without 13
    return {**{name: values[:69] for name, values in MIXED.items()}, "n": n}


def positions(env, steps=3):
    for _ in range(steps):
        observations = env.step(np.zeros(env.num_envs, np.int64))[0]
    return observations


def test_each_lane_has_its_own_values(strides):
    values = mixed()
    env = begun(batchenv.make(strides, 69, **values))
    signs, factors = np.where(values["down"], -1, 1), np.where(values["pace"] == "gallop", 2, 1)
    np.testing.assert_array_equal(positions(env), 3 * values["n"] * signs * factors)
    params = env.get_params()
    for name, wanted in values.items():
        np.testing.assert_array_equal(params[name], wanted)
        assert params[name].dtype.kind == np.asarray(wanted).dtype.kind and env.get_attr(name) == tuple(wanted.tolist())
    assert [type(env.get_attr(name)[0]) for name in values] == [int, bool, str] and params["limit"] == 5


def test_changes_of_single_lanes(strides):
    env = begun(batchenv.make(strides, 4))
    env.set_params(n=[10, 20], lanes=[3, 1])
    env.set_params(down=True, pace="gallop", lanes=[1])
    assert positions(env, 1).tolist() == [3, -40, 3, 10]
    assert env.get_attr("pace") == ("walk", "gallop", "walk", "walk")
    env.set_params(pace=["gallop", "gallop"], lanes=np.array([True, False, True, False]))
    assert env.get_params()["pace"].tolist() == ["gallop", "gallop", "gallop", "walk"]
    env.set_attr("n", [1, 2, 3, 4])
    env.set_attr("down", False)
    assert env.get_params()["n"].dtype == np.int64 and env.get_params()["down"] is False
    env.set_params(n=[6, 6, 6, 6], pace="walk")  # the same in all lanes after all
    assert env.get_params() == {"n": 6, "down": False, "pace": "walk", "limit": 5}


def test_snapshots_and_pickles_hold_them(strides):
    values = mixed()
    env = begun(batchenv.make(strides, 69, **values))
    positions(env, 1)
    saved = env.snapshot()
    wanted = positions(env, 1)
    others = [batchenv.make(strides, 69, pace=pace) for pace in ("walk", "gallop")]
    for other in (pickle.loads(pickle.dumps(env)), *others):
        other.restore(saved)
        np.testing.assert_array_equal(positions(other, 1), wanted)
        np.testing.assert_array_equal(other.get_params()["pace"], values["pace"])
    plain = begun(batchenv.make(strides, 2))
    plain.restore(saved, lanes=[1], rows=[3])
    assert plain.get_attr("n") == (3, 4) and plain.get_attr("pace") == ("walk", "gallop")
    assert plain.get_attr("down") == (False, True)
    with pytest.raises(ValueError, match="another limit"):
        batchenv.make(strides, 69, limit=9).restore(saved)


@pytest.mark.parametrize(
    "change, error, text",
    [
        ({"n": [1.5, 2.0, 3.0]}, TypeError, r"n has dtype float64, but must hold whole numbers \(ints\)"),
        ({"n": [True, False, True]}, TypeError, "n has dtype bool, but must hold whole numbers"),
        ({"n": [1, 2, 101]}, ValueError, "n=101 of lane 2 must be a whole number between 1 and 100"),
        ({"n": [1, 2**60, 2]}, ValueError, r"n=1152921504606846976 must be between 1 and 100 \(lane 1\)"),
        ({"n": [1, 2]}, ValueError, r"n has shape \(2,\), but must be one value, or have one value per lane"),
        ({"n": [1, 13, 2]}, ValueError, r"n=13 brings bad luck \(lane 1\)"),
        ({"n": 2.5}, TypeError, "n=2.5 must be an int, not float"),
        ({"down": [0, 1, 0]}, TypeError, "down has dtype int64, but must hold bools"),
        ({"pace": ["walk", "trot", "walk"]}, ValueError, r"pace='trot' must be one of \['walk', 'gallop'\] \(lane 1\)"),
        ({"pace": [0, 1, 0]}, TypeError, "pace has dtype int64, but must hold texts"),
        ({"pace": [["walk"]] * 3}, ValueError, "pace has shape"),
        ({"limit": [1, 2, 3]}, ValueError, "limit is one value for all lanes"),
        ({"limit": 1, "lanes": [0]}, ValueError, "limit is one value for all lanes: set it without lanes"),
        ({"pace": ["trot"], "lanes": [1]}, ValueError, r"'trot' must be one of .* \(lane 1\)"),
    ],
    ids=str,
)
def test_wrong_values_change_nothing(strides, change, error, text):
    env = batchenv.make(strides, 3, n=[4, 5, 6], pace=["walk", "gallop", "walk"])
    before = env.get_params()
    with pytest.raises(error, match=text):
        env.set_params(**change)
    for name, value in env.get_params().items():
        np.testing.assert_array_equal(value, before[name])
    if "lanes" not in change:
        with pytest.raises(error, match=text):
            batchenv.make(strides, 3, **change)


def test_a_damaged_snapshot_is_refused(strides):
    env = begun(batchenv.make(strides, 2, n=[4, 5], down=[False, True], pace=["walk", "gallop"]))
    env.restore(forge(env, n=100, down=1, pace=0))
    for name, wrong in [("n", 4.5), ("n", 101), ("down", 2), ("pace", 2), ("pace", -1), ("pace", 0.5), ("n", np.nan)]:
        with pytest.raises(ValueError, match=f"the snapshot is damaged: {name} is out of range"):
            env.restore(forge(env, **{name: wrong}))


def test_shared_and_per_lane_at_once_are_refused(tmp_path):
    (tmp_path / "both.c").write_text(STRIDES.replace('"stride", .per_lane = 1', '"stride", .shared = 1, .per_lane = 1'))
    with pytest.raises(ValueError, match=r'row 0 of \.params \("n"\) has both \.shared and \.per_lane: leave out one'):
        batchenv.compile(tmp_path / "both.c")
