"""Infos in autoreset mode SameStep: Gymnasium's final_obs, made when asked for, and the same rows in one array."""

import collections
import copy
import json
import pickle

import numpy as np
import pytest
from gymnasium.vector import SyncVectorEnv
from gymnasium.wrappers import vector as vector_wrappers

import batchenv
from helpers.begun import begun

LANES = 9


def ended(env_id="CartPole-v1", **keywords):
    """The infos of a step in which some lanes ended and others did not."""
    env = begun(batchenv.make(env_id, LANES, autoreset_mode="SameStep", **keywords), seed=3)
    env.action_space.seed(3)
    for _ in range(500):
        result = env.step(env.action_space.sample())
        done = result[2] | result[3]
        if done.any() and not done.all():
            return result[4], done
    raise AssertionError("no episode ended")


def same(a, b):
    assert a.dtype == b.dtype == object and a.shape == b.shape
    for x, y in zip(a, b, strict=True):
        assert (x is None) == (y is None)
        if x is not None:
            np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize(
    ("env_id", "keywords"),
    [
        ("CartPole-v1", {}),
        ("FrozenLake-v1", {}),
        ("Blackjack-v1", {}),
        ("CartPole-v1", {"frame_stack": 3}),
        ("CartPole-v1", {"normalize_observation": True}),
    ],
)
def test_final_rows_are_those_of_final_obs(env_id, keywords):
    infos, done = ended(env_id, **keywords)
    lanes, rows = infos.final_rows
    assert lanes.dtype == np.int64 and lanes.tolist() == np.flatnonzero(done).tolist()
    parts = rows if isinstance(rows, tuple) else (rows,)
    for k, lane in enumerate(lanes):
        row = infos["final_obs"][lane]
        for part, value in zip(parts, row if isinstance(rows, tuple) else (row,), strict=True):
            np.testing.assert_array_equal(part[k], value)
    assert [row is not None for row in infos["final_obs"]] == done.tolist()


def test_steps_that_end_nothing_have_no_final_rows():
    env = begun(batchenv.make("CartPole-v1", 3, autoreset_mode="SameStep"))
    infos = env.step(np.zeros(3, int))[4]
    lanes, rows = infos.final_rows
    assert dict(infos) == {} and lanes.shape == (0,) and rows.shape == (0, 4) and rows.dtype == np.float32
    for mode in ("NextStep", "Disabled"):
        env = begun(batchenv.make("CartPole-v1", 3, autoreset_mode=mode))
        assert type(env.step(np.zeros(3, int))[4]) is dict


def test_received_batches_have_them():
    env = batchenv.make("CartPole-v1", 8, batch_size=4, autoreset_mode="SameStep")
    env.async_reset(seed=0)
    seen = 0
    for _ in range(200):
        infos = env.recv()[4]
        lanes, rows = infos.final_rows
        for k, lane in enumerate(lanes):
            np.testing.assert_array_equal(rows[k], infos["final_obs"][lane])
        seen += len(lanes)
        env.send(np.zeros(4, int), infos["env_id"])
    assert seen > 20


READERS = {
    "item": lambda d: d["final_obs"],
    "get": lambda d: d.get("final_obs"),
    "items": lambda d: dict(list(d.items()))["final_obs"],
    "values": lambda d: list(d.values())[list(d).index("final_obs")],
    "pop": lambda d: d.pop("final_obs"),
    "pop with default": lambda d: d.pop("final_obs", None),
    "setdefault": lambda d: d.setdefault("final_obs"),
    "popitem": lambda d: {k: v for k, v in [d.popitem() for _ in range(len(d))]}["final_obs"],
    "dict()": lambda d: dict(d)["final_obs"],
    "dict(**)": lambda d: dict(**d)["final_obs"],
    "{**}": lambda d: {**d}["final_obs"],
    "update": lambda d: (other := {}, other.update(d))[0]["final_obs"],
    "copy()": lambda d: d.copy()["final_obs"],
    "copy.copy": lambda d: copy.copy(d)["final_obs"],
    "deepcopy": lambda d: copy.deepcopy(d)["final_obs"],
    "pickle": lambda d: pickle.loads(pickle.dumps(d))["final_obs"],
    "old pickle": lambda d: pickle.loads(pickle.dumps(d, 0))["final_obs"],
    "or": lambda d: (d | {"x": 1})["final_obs"],
    "ror": lambda d: ({"x": 1} | d)["final_obs"],
    "ior": lambda d: (d.__ior__({"x": 1}), d)[1]["final_obs"],
    "chain": lambda d: collections.ChainMap({}, d)["final_obs"],
    "ordered": lambda d: collections.OrderedDict(d)["final_obs"],
    "fromkeys": lambda d: d["final_obs"] if set(dict.fromkeys(d)) == set(d) else None,
    "call": lambda d: (lambda **given: given["final_obs"])(**d),
    "json": lambda d: through_json(d)["final_obs"],
}


def listed(value):
    if isinstance(value, np.ndarray) and value.ndim:
        return [listed(part) for part in value]
    return value if value is None else value.item()


def through_json(infos):
    found = json.loads(json.dumps(infos, default=listed))
    rows = [None if row is None else np.array(row, np.float32) for row in found["final_obs"]]
    return {"final_obs": np.array([*rows, None], object)[:-1]}


@pytest.mark.parametrize("reader", READERS.values(), ids=READERS)
def test_every_way_to_read_it_makes_it(reader):
    """Of a dict subclass whose value is not there yet, Python's own code must not see what stands in its place."""
    if reader is READERS["json"]:
        pytest.importorskip("json")
    expected = ended()[0]["final_obs"]
    same(reader(ended()[0]), expected)


def test_it_is_a_dict_otherwise():
    infos = ended()[0]
    plain = dict(ended()[0])
    assert isinstance(infos, dict) and list(infos) == list(plain) and len(infos) == len(plain)
    assert list(infos.keys()) == list(plain.keys()) and list(reversed(infos)) == list(reversed(plain))
    assert "final_obs" in infos and "other" not in infos and infos.get("other", 5) == 5
    assert infos["final_obs"] is infos["final_obs"]  # made once
    assert repr(infos) == repr(dict(infos)) and "Later" not in repr(infos)
    for kind in (copy.copy(infos), pickle.loads(pickle.dumps(infos)), infos.copy(), infos | {}, {} | infos):
        assert type(kind) is dict
    with pytest.raises(KeyError):
        infos["other"]
    with pytest.raises(TypeError, match="unhashable"):
        hash(infos)
    with pytest.raises(TypeError):
        infos | 5


def test_what_the_user_puts_there_stays():
    for change in (lambda d: d.__setitem__("final_obs", 7), lambda d: d.update(final_obs=7)):
        infos = ended()[0]
        change(infos)
        assert infos["final_obs"] == 7 and dict(infos)["final_obs"] == 7
    infos = ended()[0]
    del infos["final_obs"]
    assert "final_obs" not in dict(infos)
    infos = ended()[0]
    infos.clear()
    assert len(infos) == 0 and infos == dict(infos)


def test_equality_is_that_of_dicts():
    infos = ended()[0]
    assert infos == infos.copy() and infos.copy() == infos
    assert infos != {"final_obs": infos["final_obs"]} and infos != 5
    with pytest.raises(ValueError, match="ambiguous"):  # of arrays, as in any dict
        assert infos == {**infos, "final_obs": np.full(LANES, 3)}


def test_gymnasium_wrappers_see_what_they_see_of_sync_vector_env():
    import gymnasium

    def run(env):
        env = begun(vector_wrappers.DictInfoToList(vector_wrappers.RecordEpisodeStatistics(env)), seed=5)
        rng = np.random.default_rng(0)
        told = []
        for _ in range(60):
            infos = env.step(rng.integers(0, 2, LANES))[4]
            told.append(infos)
        return told

    ours = run(batchenv.make("CartPole-v1", LANES, autoreset_mode="SameStep"))
    theirs = run(SyncVectorEnv([lambda: gymnasium.make("CartPole-v1")] * LANES, autoreset_mode="SameStep"))
    finals = 0
    for a, b in zip(ours, theirs, strict=True):
        for x, y in zip(a, b, strict=True):
            assert x.keys() == y.keys()
            if "final_obs" in x:
                np.testing.assert_array_equal(x["final_obs"], y["final_obs"])
                assert x["episode"]["r"] == y["episode"]["r"] and x["episode"]["l"] == y["episode"]["l"]
                finals += 1
    assert finals > 10


def test_final_rows_of_stored_steps_stay():
    env = begun(batchenv.make("CartPole-v1", 64, autoreset_mode="SameStep", max_episode_steps=3))
    stored = []
    for _ in range(30):
        infos = env.step(np.zeros(64, int))[4]
        if "final_obs" in infos:
            stored.append((infos, infos.final_rows[1].copy()))
    for infos, rows in stored:
        np.testing.assert_array_equal(infos.final_rows[1], rows)
        np.testing.assert_array_equal(np.stack(infos["final_obs"]), rows)
