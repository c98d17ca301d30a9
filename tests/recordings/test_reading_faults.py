"""What readers of recordings do where arguments, files or beginnings are unusual."""

import json

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

import batchenv
from batchenv.cli import replay as cli
from batchenv.recordings import RecordingError
from batchenv.recordings.file import Reader, Writer
from batchenv.recordings.values import pack, unpack


def recorded(path, steps=60, begin=True, before=0, **keywords):
    """A recording of three lanes of CartPole that is stored."""
    env = batchenv.make("CartPole-v1", 3, **keywords)
    env.reset(seed=1)
    for _ in range(before):
        env.step(env.action_space.sample())
    with batchenv.record(env, path, observations=True):
        if begin:
            env.reset(seed=0)
        for _ in range(steps):
            env.step(env.action_space.sample())
    return path


def test_infos_of_some_lanes_are_kept(tmp_path):
    env = batchenv.make("CartPole-v1", 3, record_episode_statistics=True)
    env.reset(seed=0)
    ends = []
    with batchenv.record(env, tmp_path / "run.rec", observations=True):
        env.reset(seed=0)
        for step in range(60):
            result = env.step(np.zeros(2, np.int64), [0, 2])
            if "episode" in result[4]:
                over = np.flatnonzero(result[4]["_episode"])
                ends += [(step, (0, 2)[row], float(result[4]["episode"]["r"][row])) for row in over]
    assert ends
    with batchenv.replay(tmp_path / "run.rec") as recording:
        window = recording.window(0, 60, [0, 2])
        for step, lane, total in ends:
            assert window.infos["episode"]["r"][step, lane // 2] == total


def test_windows_of_flights_read_little(tmp_path):
    env = batchenv.make("CartPole-v1", 4, batch_size=2)
    with batchenv.record(env, tmp_path / "run.rec", observations=True) as recorder:
        env.async_reset(seed=0)
        for k in range(300):
            lanes = env.recv()[4]["env_id"]
            env.send(np.zeros(len(lanes), np.int64), lanes)
            if k % 20 == 19:
                recorder.flush()
    with batchenv.replay(tmp_path / "run.rec") as recording:
        stop = int(recording.lengths.min())
        whole = recording.window(0, stop)
        seen, read = [], recording._contents.read
        recording._contents.read = lambda entry: seen.append(entry) or read(entry)
        part = recording.window(stop - 3, stop)
        assert len(seen) < len(recording._contents.entries) / 2
        assert np.array_equal(part.previous(), whole.previous()[-3:])
        assert np.array_equal(part.observations, whole.observations[-3:])


def test_episodes_are_chosen_by_masks_or_numbers(tmp_path):
    with batchenv.replay(recorded(tmp_path / "run.rec", 100)) as recording:
        count = len(recording.episodes.lanes)
        mask = np.zeros(count, bool)
        mask[[2, 3]] = True
        for chosen in (mask, mask.tolist(), [3, 2, 3], np.array([2, 3], np.uint8)):
            assert sorted(one.number for one in recording.trajectories(chosen)) == [2, 3]
        for wrong in (mask[1:], [count], [-1]):
            with pytest.raises(ValueError, match="episodes"):
                recording.trajectories(wrong)
        for wrong in ([0.5], 3, ["a"], [[1]], [True, 2]):
            with pytest.raises(TypeError, match="episodes must be"):
                recording.trajectories(wrong)
        assert list(recording.trajectories([])) == []


@pytest.mark.parametrize("some", [False, True])
def test_beginnings_in_the_middle_of_episodes(some, tmp_path):
    env = batchenv.make("CartPole-v1", 3)
    env.reset(seed=1)
    with batchenv.record(env, tmp_path / "run.rec", observations=True):
        if some:
            env.reset(options={"reset_mask": np.array([True, False, False])})
        for _ in range(60):
            env.step(env.action_space.sample())
    with batchenv.replay(tmp_path / "run.rec") as recording:
        if not recording.unseen.any():
            pytest.skip("the recorder writes what lanes saw before")
        assert recording.unseen.tolist() == [not some, True, True]
        window = recording.window(0, 5)
        assert window.before is None
        with pytest.raises(RecordingError, match="before step 0"):
            window.previous()
        later = recording.window(1, 5)
        assert np.array_equal(later.before, window.observations[0])
        one = recording.episodes.lanes.tolist().index(1)
        assert recording.episode(one).before is None
        steps = [int(step) for batch in recording.transitions() for step in batch["step"]]
        assert min(steps) == 1
        for one in recording.trajectories():
            first = recording.episodes.starts[one.number] == 0
            assert len(one.rewards) == recording.episodes.lengths[one.number] - first
            assert len(one.observations) == len(one.rewards) + 1
        recording.to_numpy(tmp_path / "run.npz")
        assert "before" not in np.load(tmp_path / "run.npz")


class Named(gymnasium.Env):
    observation_space = spaces.Box(-1, 1, (1,), np.float32)
    action_space = spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        return np.zeros(1, np.float32), {"label": "b"}

    def step(self, action):
        return np.zeros(1, np.float32), 0.0, False, False, {"label": "a"} if action else {}


def test_texts_in_hdf5(tmp_path):
    h5py = pytest.importorskip("h5py")
    env = batchenv.make_python(Named, 2)
    with batchenv.record(env, tmp_path / "run.rec"):
        env.reset(seed=0)
        for actions in ([1, 0], [0, 1], [1, 1]):
            env.step(np.array(actions))
    with batchenv.replay(tmp_path / "run.rec") as recording:
        recording.to_hdf5(tmp_path / "run.h5")
        with h5py.File(tmp_path / "run.h5") as file:
            assert file["infos/label"].asstr()[()].tolist() == [["a", ""], ["", "a"], ["a", "a"]]


def test_exports_are_whole_and_never_over_the_recording(tmp_path, monkeypatch):
    path = recorded(tmp_path / "run.rec")
    link = tmp_path / "link.npz"
    link.symlink_to(path)
    data = path.read_bytes()
    with batchenv.replay(path) as recording:
        for same in (path, link):
            with pytest.raises(ValueError, match="the recording itself"):
                recording.to_numpy(same)
            with pytest.raises(ValueError, match="the recording itself"):
                cli.write(recording, str(same))
        (tmp_path / "old.npz").write_bytes(b"old")
        monkeypatch.setattr(np, "savez", lambda *_, **__: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            recording.to_numpy(tmp_path / "old.npz")
    assert (tmp_path / "old.npz").read_bytes() == b"old"
    assert path.read_bytes() == data
    assert sorted(one.name for one in tmp_path.iterdir()) == ["link.npz", "old.npz", "run.rec"]


def test_torch_reads_until_damage(tmp_path):
    pytest.importorskip("torch")
    path = recorded(tmp_path / "run.rec", 3000)
    with batchenv.replay(path) as recording:
        last = [entry for entry in recording._contents.entries if entry.kind == b"STEP"][-1]
    data = bytearray(path.read_bytes())
    data[last.block.offset + 60] ^= 1
    path.write_bytes(data)
    with batchenv.replay(path, until_damage=True) as recording:
        count = sum(len(batch["reward"]) for batch in recording.transitions())
        assert sum(len(batch["reward"]) for batch in recording.torch_dataset()) == count


def test_messages(tmp_path):
    with batchenv.replay(recorded(tmp_path / "run.rec")) as recording:
        for lanes in ([], np.zeros(3, bool)):
            with pytest.raises(ValueError, match="chooses no lane"):
                recording.window(0, 5, lanes)
    for call in (
        lambda: recording.window(0, 5),
        lambda: recording.windows(3),
        lambda: recording.verify(),
        lambda: recording.episodes,
    ):
        with pytest.raises(RecordingError, match="is closed"):
            call()
    with batchenv.replay(recorded(tmp_path / "empty.rec", 0)) as recording:
        for call in (
            recording.transitions,
            lambda: recording.to_numpy(tmp_path / "no.npz"),
            lambda: recording.window(0, 1),
        ):
            with pytest.raises(ValueError, match="has no steps"):
                call()
        with pytest.raises(ValueError, match="has no episodes"):
            recording.episode(0)
    env = batchenv.make("CartPole-v1", 3)
    env.reset(seed=0)
    with batchenv.record(env, tmp_path / "some.rec", observations=True):
        env.reset(seed=0)
        env.step(np.zeros(1, np.int64), [1])
    with batchenv.replay(tmp_path / "some.rec") as recording:
        for call in (recording.transitions, lambda: recording.to_numpy(tmp_path / "no.npz")):
            with pytest.raises(ValueError, match=r"lane 0 has no steps.*lanes=\[1\]"):
                call()


WRONG = [None, -1, 2**70, 1.5, "x", [], {"": "dict", "of": []}, [9, 9]]


def crafted(path, target, change):
    """Copies a recording without its index; change: is given the number, meta and arrays of each block."""
    reader, writer = Reader(path, True), Writer(target, True)
    for number, block in enumerate(reader.blocks):
        meta, arrays = unpack(reader.read(block))
        meta, arrays = change(number, dict(meta), dict(arrays))
        writer.append(block.kind, pack(meta, arrays))
    writer.close()
    reader.close()
    return len(reader.blocks)


@pytest.mark.parametrize("stored", [True, False])
def test_nonsense_is_refused_as_such(stored, tmp_path):
    env = batchenv.make("CartPole-v1", 3)
    env.reset(seed=0)
    path = tmp_path / "run.rec"
    with batchenv.record(env, path, observations=stored):
        env.reset(seed=0)
        for _ in range(40):
            env.step(env.action_space.sample())
        env.step(np.zeros(2, np.int64), [0, 2])
    reader = Reader(path, True)
    parts = [tuple(map(list, unpack(reader.read(block)))) for block in reader.blocks]
    reader.close()
    for number, names in enumerate(parts):
        for place, of in enumerate(names):
            for name in of:
                for wrong in WRONG if place == 0 else [np.zeros(0), np.full(3, 2**40), np.array(["x"])]:

                    def change(k, *both, number=number, place=place, name=name, wrong=wrong):
                        if k == number:
                            both[place][name] = wrong
                        return both

                    crafted(path, tmp_path / "bad.rec", change)
                    try:
                        with batchenv.replay(tmp_path / "bad.rec", ignore_versions=True) as recording:
                            for read in (
                                lambda: recording.window(0, min(3, int(recording.lengths.min()))),
                                lambda: recording.verify(),
                                lambda: recording.episodes,
                                lambda: list(recording.trajectories()),
                                lambda: recording.single_action_space,
                            ):
                                try:
                                    read()
                                except RecordingError:
                                    pass
                                except ValueError as problem:  # of the argument above
                                    assert "steps" in str(problem), (number, name, wrong)
                    except RecordingError:
                        pass
                    except Exception as problem:
                        raise AssertionError((number, name, wrong, problem)) from problem


def test_own_errors_of_make_env_stay(tmp_path):
    env = batchenv.make("CartPole-v1", 3)
    with batchenv.record(env, tmp_path / "run.rec"):
        env.reset(seed=0)
        env.step(env.action_space.sample())
    with batchenv.replay(tmp_path / "run.rec", make_env=lambda: {}["mine"]) as recording:
        with pytest.raises(KeyError, match="mine"):
            recording.verify()
        with pytest.raises(KeyError, match="mine"):
            next(recording.windows(1))


def test_json_has_null_for_unknown_returns(tmp_path):
    path = recorded(tmp_path / "run.rec", 5)
    crafted(path, tmp_path / "cut.rec", lambda _, *both: both)
    with batchenv.replay(tmp_path / "cut.rec") as recording:
        assert np.isnan(recording.episodes.returns).any()
        cli.write(recording, str(tmp_path / "out.json"))
    assert None in json.loads((tmp_path / "out.json").read_text())["episodes"]["returns"]
    assert "NaN" not in (tmp_path / "out.json").read_text()
