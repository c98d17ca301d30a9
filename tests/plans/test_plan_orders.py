"""In which order lanes take entries."""

from __future__ import annotations

import pickle
from contextlib import closing
from typing import Any

import numpy as np
import pytest

import batchenv


def entries_of(lanes: int, episodes: int, /, **plan: Any) -> np.ndarray:
    """The entry of each episode of each lane, (episodes, lanes), in an env whose episodes are reset one by one."""
    env = batchenv.make("CartPole-v1", lanes)
    with closing(env):
        made = env.plan(**plan)
        found = []
        for _ in range(episodes):
            env.reset()
            found.append(made.entries)
        return np.array(found)


def test_entries_are_dealt_as_cards() -> None:
    found = entries_of(3, 6, seeds=range(7))
    assert found.tolist() == [[0, 1, 2], [3, 4, 5], [6, 0, 1], [2, 3, 4], [5, 6, 0], [1, 2, 3]]


def test_each_once() -> None:
    found = entries_of(3, 4, seeds=range(7), repeat=False)
    assert found.tolist() == [[0, 1, 2], [3, 4, 5], [6, -1, -1], [-1, -1, -1]]


def test_after_the_last_entry_streams_go_on_as_without_a_plan() -> None:
    env, alone = (batchenv.make("CartPole-v1", 2) for _ in range(2))
    env.reset(seed=3)
    env.plan(labels=["a", "b"], repeat=False)  # entries that say nothing
    alone.reset(seed=3)
    for _ in range(4):
        assert np.array_equal(env.reset()[0], alone.reset()[0])


@pytest.mark.parametrize("count", [1, 2, 7, 64, 100])
def test_shuffled(count: int) -> None:
    found = entries_of(5, 3 * count, seeds=range(count), order="shuffled").ravel().reshape(-1, count)
    assert all(sorted(one.tolist()) == list(range(count)) for one in found)  # each entry once in each pass
    if count > 7:
        assert len({tuple(one.tolist()) for one in found}) == len(found)  # in another order each time
    again = entries_of(5, 3 * count, seeds=range(count), order="shuffled").ravel().reshape(-1, count)
    assert np.array_equal(found, again)
    if count > 7:
        other = entries_of(5, 3, seeds=range(count), order="shuffled", seed=1)
        assert not np.array_equal(found.ravel()[:15], other.ravel())


def test_shuffled_once() -> None:
    found = entries_of(4, 6, seeds=range(21), order="shuffled", repeat=False).ravel()
    assert sorted(found.tolist()) == [-1] * 3 + list(range(21))


def test_shuffled_places_are_even() -> None:
    """Each entry comes first about as often as any other, over seeds of the order."""
    first = np.bincount([int(entries_of(1, 1, seeds=range(5), order="shuffled", seed=s)[0, 0]) for s in range(600)])
    assert len(first) == 5 and (abs(first - 120) < 5 * np.sqrt(120)).all()


def test_weights() -> None:
    weights = np.array([0.0, 1.0, 3.0, 0.0, 4.0])
    found = entries_of(50, 400, seeds=range(5), weights=weights)
    counts = np.bincount(found.ravel(), minlength=5)
    assert counts[0] == counts[3] == 0
    expected = weights / weights.sum() * found.size
    assert (abs(counts - expected) < 5 * np.sqrt(expected + 1)).all()
    assert np.array_equal(found, entries_of(50, 400, seeds=range(5), weights=weights * 7))
    assert not np.array_equal(found, entries_of(50, 400, seeds=range(5), weights=weights, seed=1))
    # lanes, and the episodes of a lane, draw independently of each other
    for a, b in ((found[:, 0], found[:, 1]), (found[:-1].ravel(), found[1:].ravel())):
        assert abs(np.mean(a == b) - np.sum((weights / 8) ** 2)) < 5 * 0.5 / np.sqrt(len(a))


def test_weights_of_each_lane() -> None:
    weights = np.array([[1, 0, 0], [0, 1, 1]])
    found = entries_of(2, 100, seeds=range(3), weights=weights)
    assert (found[:, 0] == 0).all()
    assert set(found[:, 1].tolist()) == {1, 2}


def test_extreme_weights() -> None:
    tiny = np.nextafter(0, 1)
    assert set(entries_of(2, 200, seeds=range(4), weights=[0, tiny, tiny, 0]).ravel().tolist()) == {1, 2}
    assert (entries_of(2, 50, seeds=range(3), weights=[1e300, 1e-300, 0]) == 0).all()


def test_weights_are_set() -> None:
    env = batchenv.make("CartPole-v1", 4)
    plan = env.plan(seeds=range(3), order="sampled")
    assert np.array_equal(plan.weights, [1, 1, 1])
    for k in (2, 0):
        plan.weights = np.eye(3)[k]
        env.reset()
        assert (plan.entries == k).all()


def test_lists_of_lanes() -> None:
    found = entries_of(3, 5, seeds=range(6), lanes=[0, 2, 0, 2, 0, 2])
    assert found.tolist() == [[0, -1, 1], [2, -1, 3], [4, -1, 5], [0, -1, 1], [2, -1, 3]]
    shuffled = entries_of(3, 9, seeds=range(6), lanes=[0, 2, 0, 2, 0, 2], order="shuffled")
    for lane, own in ((0, {0, 2, 4}), (2, {1, 3, 5})):
        assert all(set(one) == own for one in shuffled[:, lane].reshape(3, 3).tolist())


def test_a_plan_grows() -> None:
    env = batchenv.make("CartPole-v1", 2)
    plan = env.plan(seeds=[10, 11, 12], repeat=False)
    for entries in ([0, 1], [2, -1], [-1, -1]):
        env.reset()
        assert plan.entries.tolist() == entries
    plan.extend(seeds=[13, 14])
    assert (len(plan), plan.seeds) == (5, [10, 11, 12, 13, 14])
    for entries in ([4, 3], [-1, -1]):  # entry 3 was the turn of lane 1
        env.reset()
        assert plan.entries.tolist() == entries
    sampled = env.plan(seeds=[1, 2], weights=[0, 1])
    sampled.extend(seeds=[3])
    assert sampled.weights is not None and sampled.weights.tolist() == [0, 1, 1]
    sampled.extend(seeds=[4], weights=[0, 0, 0, 5])
    env.reset()
    assert (sampled.entries == 3).all()


def test_a_plan_ends() -> None:
    env, alone = (batchenv.make("CartPole-v1", 2) for _ in range(2))
    plan = env.plan(seeds=[5])
    env.reset(seed=1)
    alone.reset(seed=1)
    assert plan.entries.tolist() == [-1, -1]
    plan.end()
    assert env.present_plan is None
    assert np.array_equal(env.reset()[0], alone.reset()[0])
    with pytest.raises(RuntimeError, match="has ended"):
        plan.entries  # noqa: B018
    with pytest.raises(RuntimeError, match="has ended"):
        plan.weights = [1]


def test_a_seed_goes_before_the_plan() -> None:
    env, alone = (batchenv.make("CartPole-v1", 3) for _ in range(2))
    plan = env.plan(seeds=range(100, 120))
    first = env.reset(seed=[None, 7, None])[0]
    assert plan.entries.tolist() == [0, -1, 2]
    assert np.array_equal(first, alone.reset(seed=[100, 7, 102])[0])
    env.reset(options={"reset_mask": np.array([True, True, False])}, seed=[8, None, None])
    assert plan.entries.tolist() == [-1, 1, 2]
    with pytest.raises(ValueError, match="low"):
        env.reset(seed=5, options={"low": "x"})
    env.reset()  # what was refused has left no trace
    assert plan.entries.tolist() == [3, 4, 5]


@pytest.mark.parametrize("plan", [{}, {"order": "shuffled"}, {"order": "sampled"}, {"lanes": np.arange(17) % 3}])
def test_snapshots_and_pickles(plan: dict[str, Any]) -> None:
    def go(env: batchenv.BatchEnv, steps: int) -> list[Any]:
        return [np.copy(part) for _ in range(steps) for part in env.step(np.ones(3, int))[:4]]

    env = batchenv.make("CartPole-v1", 3)
    env.plan(seeds=range(17), **plan)
    env.reset()
    go(env, 50)
    snapshot, copy = env.snapshot(), pickle.loads(pickle.dumps(env))
    entries = env.present_plan.entries
    wanted = go(env, 60)
    assert all(map(np.array_equal, wanted, go(copy, 60)))
    env.restore(batchenv.Snapshot(bytes(snapshot)))
    assert np.array_equal(env.present_plan.entries, entries)
    assert all(map(np.array_equal, wanted, go(env, 60)))
    assert np.array_equal(copy.present_plan.entries, env.present_plan.entries)
    # Two lanes change places, and go on as the other would.
    env.restore(snapshot, lanes=[1, 2], rows=[2, 1])
    env.restore(snapshot, lanes=[0], rows=[0])
    assert all(np.array_equal(a[[0, 2, 1]], b) for a, b in zip(wanted, go(env, 60), strict=True))
    # Without a plan the places mean nothing.
    other = batchenv.make("CartPole-v1", 3)
    other.restore(snapshot)
    go(other, 20)
    # A snapshot from before the plan: its episodes are of no entry.
    env.plan(seeds=[3])
    env.restore(other.snapshot())
    assert env.present_plan.entries.tolist() == [-1, -1, -1]
