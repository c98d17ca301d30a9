"""Recordings in other formats hold what the env returned, and their libraries open them."""

import json
import sys

import numpy as np
import pytest

import batchenv
from batchenv.recordings import check_minari
from helpers.recordings import Kept

MODES = ["NextStep", "SameStep"]


def recorded(path, env_id="CartPole-v1", mode="NextStep", steps=150, **keywords):
    env = batchenv.make(env_id, 3, autoreset_mode=mode, **keywords)
    kept = Kept(env)
    with batchenv.record(env, path):
        kept.reset(seed=4)
        kept.steps(steps)
    return kept


def single(env_id, seed, actions, **keywords):
    """What a single env of the same seed gives for these actions: observations, rewards."""
    env = batchenv.make(env_id, 1, autoreset_mode="Disabled", **keywords)
    seen, rewards = [env.reset(seed=seed)[0][0]], []
    for action in actions:
        result = env.step(np.asarray(action)[np.newaxis])
        seen.append(result[0][0])
        rewards.append(result[1][0])
    return np.array(seen), np.array(rewards)


@pytest.mark.parametrize("mode", MODES)
def test_trajectories_have_first_and_last_observations(mode, tmp_path):
    for env_id, keywords in (
        ("CartPole-v1", {}),
        ("Pendulum-v1", {"max_episode_steps": 13}),
        ("Taxi-v4", {"max_episode_steps": 9}),
    ):
        recorded(tmp_path / f"{env_id}.rec", env_id, mode, **keywords)
        with batchenv.replay(tmp_path / f"{env_id}.rec") as recording:
            table, found = recording.episodes, list(recording.trajectories())
            assert sorted(one.number for one in found) == list(range(len(table.lanes)))
            for one in found:
                assert len(one.rewards) == table.lengths[one.number]
                assert len(one.observations) == len(one.rewards) + 1
                if table.seeds[one.number] >= 0:
                    seen, rewards = single(env_id, int(table.seeds[one.number]), one.actions, **keywords)
                    assert np.array_equal(seen, one.observations)
                    assert np.array_equal(rewards, one.rewards)
            few = {one.number: one for one in recording.trajectories([2, 0])}
            for one in found:
                if one.number in few:
                    assert np.array_equal(one.observations, few[one.number].observations)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("shuffle", [None, 3])
def test_transitions(mode, shuffle, tmp_path):
    recorded(tmp_path / "run.rec", mode=mode)
    with batchenv.replay(tmp_path / "run.rec") as recording:
        known = {}
        for one in recording.trajectories():
            lane, start = (int(recording.episodes[k][one.number]) for k in (0, 1))
            for t in range(len(one.rewards)):
                row = (
                    one.observations[t],
                    one.actions[t],
                    one.rewards[t],
                    one.observations[t + 1],
                    one.terminations[t],
                )
                known[lane, start + t] = row
        batches = list(recording.transitions(64, shuffle=shuffle, steps=50))
        assert [len(batch["reward"]) for batch in batches[:-1]] == [64] * (len(batches) - 1)
        steps = [
            (int(lane), int(step)) for batch in batches for lane, step in zip(batch["lane"], batch["step"], strict=True)
        ]
        assert sorted(steps) == sorted(known)
        assert (steps == sorted(steps, key=lambda one: one[::-1])) == (shuffle is None)
        for batch in batches:
            for k in range(len(batch["lane"])):
                row = known[int(batch["lane"][k]), int(batch["step"][k])]
                names = ("observation", "action", "reward", "next_observation", "terminated")
                for name, value in zip(names, row, strict=True):
                    assert np.array_equal(batch[name][k], value)
        part = list(recording.transitions(64, 20, 40))
        assert min(batch["step"].min() for batch in part) >= 20
        assert max(batch["step"].max() for batch in part) < 40


def test_numpy(tmp_path):
    kept = recorded(tmp_path / "run.rec", "Taxi-v4")
    with batchenv.replay(tmp_path / "run.rec") as recording:
        recording.to_numpy(tmp_path / "run.npz")
        window = recording.window(0, 150)
        with np.load(tmp_path / "run.npz") as found:
            for name in ("observations", "actions", "rewards", "terminations", "truncations", "before"):
                assert np.array_equal(found[name], getattr(window, name))
            assert np.array_equal(found["infos/action_mask"], window.infos["action_mask"])
            assert np.array_equal(found["episodes/returns"], recording.episodes.returns)
            assert "Taxi-v4" in json.dumps(json.loads(str(found["header"])))
    assert len(kept.lanes[0]) == 150


def test_hdf5(tmp_path):
    h5py = pytest.importorskip("h5py")
    recorded(tmp_path / "run.rec", "MiniGrid-Empty-5x5-v0", steps=600)
    with batchenv.replay(tmp_path / "run.rec") as recording:
        recording.to_hdf5(tmp_path / "run.h5")
        window = recording.window(0, 600)
        with h5py.File(tmp_path / "run.h5") as file:
            assert np.array_equal(file["observations/image"][()], window.observations["image"])
            assert np.array_equal(file["observations/mission"].asstr()[()], window.observations["mission"])
            assert np.array_equal(file["rewards"][()], window.rewards)
            assert np.array_equal(file["before/image"][()], window.before["image"])
            assert np.array_equal(file["episodes/lengths"][()], recording.episodes.lengths)


def test_parquet(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    recorded(tmp_path / "run.rec", "Pendulum-v1")
    with batchenv.replay(tmp_path / "run.rec") as recording:
        recording.to_parquet(tmp_path / "run.parquet")
        table = parquet.read_table(tmp_path / "run.parquet")
        (batch,) = recording.transitions(10**6)
        assert np.array_equal(np.stack(table["observation"].to_pylist()).astype(np.float32), batch["observation"])
        assert np.array_equal(table["reward"].to_numpy(), batch["reward"])
        assert json.loads(table.schema.metadata[b"shapes"])["observation"] == [3]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("env_id", ["CartPole-v1", "MiniGrid-Empty-5x5-v0", "Taxi-v4"])
def test_minari(env_id, mode, tmp_path, monkeypatch):
    minari = pytest.importorskip("minari")
    pytest.importorskip("h5py")
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "datasets"))
    (tmp_path / "datasets").mkdir()
    recorded(tmp_path / "run.rec", env_id, mode, 300)
    with batchenv.replay(tmp_path / "run.rec") as recording:
        recording.to_minari("tests/run-v0", algorithm_name="random")
        dataset = minari.load_dataset("tests/run-v0")
        complete = np.flatnonzero(recording.episodes.complete)
        assert dataset.total_episodes == len(complete)
        assert dataset.total_steps == recording.episodes.lengths[complete].sum()
        known = {one.number: one for one in recording.trajectories(complete.tolist())}
        for number, episode in zip(complete.tolist(), dataset.iterate_episodes(), strict=True):
            one = known[number]
            assert np.array_equal(episode.rewards, one.rewards)
            assert np.array_equal(episode.actions, one.actions)
            if isinstance(one.observations, dict):
                assert np.array_equal(episode.observations["image"], one.observations["image"])
            else:
                assert np.array_equal(episode.observations, one.observations)
        found = check_minari(dataset, env_id)
        assert len(found["episodes"]) == 3
        assert np.array_equal(found["same_steps"], found["steps"])
        assert not found["observation_difference"].any()
        other = check_minari("tests/run-v0", env_id, episodes=[0, 1])
        assert np.array_equal(other["same_steps"], other["steps"])
        if env_id == "CartPole-v1":
            wrong = check_minari(dataset, env_id, gravity=9.7)
            assert (wrong["same_steps"] < wrong["steps"]).all() and wrong["observation_difference"].all()


def test_torch_dataset(tmp_path):
    pytest.importorskip("torch")
    from torch.utils.data import DataLoader

    recorded(tmp_path / "run.rec")
    with batchenv.replay(tmp_path / "run.rec") as recording:
        known = sorted(
            (int(a), int(b))
            for batch in recording.transitions()
            for a, b in zip(batch["lane"], batch["step"], strict=True)
        )
        for workers in (0, 2):
            loader = DataLoader(recording.torch_dataset(50, shuffle=1), batch_size=None, num_workers=workers)
            found = [(int(a), int(b)) for batch in loader for a, b in zip(batch["lane"], batch["step"], strict=True)]
            assert sorted(found) == known
        windows = list(DataLoader(recording.torch_dataset(length=50), batch_size=None))
        assert [len(window["reward"]) for window in windows] == [50, 50, 50]


@pytest.mark.parametrize(
    ("package", "call"),
    [
        ("h5py", lambda r, path: r.to_hdf5(path / "x")),
        ("pyarrow", lambda r, path: r.to_parquet(path / "x")),
        ("minari", lambda r, path: r.to_minari("a-v0")),
        ("torch.utils.data", lambda r, path: r.torch_dataset()),
    ],
)
def test_missing_packages_are_named(package, call, tmp_path, monkeypatch):
    from gymnasium.error import DependencyNotInstalled

    recorded(tmp_path / "run.rec", steps=5)
    monkeypatch.setitem(sys.modules, package, None)
    missing = pytest.raises(DependencyNotInstalled, match=r'pip install "batchenv\[(recordings|torch)\]"')
    with batchenv.replay(tmp_path / "run.rec") as recording, missing:
        call(recording, tmp_path)


def test_lanes_of_different_lengths(tmp_path):
    env = batchenv.make("CartPole-v1", 3)
    with batchenv.record(env, tmp_path / "run.rec"):
        env.reset(seed=0)
        for t in range(40):
            env.step([0, 1], [0, 1 + t % 2])
    with batchenv.replay(tmp_path / "run.rec") as recording:
        with pytest.raises(ValueError, match="lanes have 20 to 40 steps"):
            recording.to_numpy(tmp_path / "run.npz")
        recording.to_numpy(tmp_path / "run.npz", stop=20)
        found = list(recording.trajectories())
        assert sum(len(one.rewards) for one in found) <= recording.steps
