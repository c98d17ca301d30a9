"""Lanes in flight: whatever order they come back in, a recording has the steps of each."""

import numpy as np
import pytest

import batchenv
from batchenv.recordings import RecordingError
from helpers.recordings import Kept


def flights(kept, count, rng, sent):
    """Receives and sends at least so many batches, until each lane has made a third of its share of steps more; a
    thread may be slow. sent: lanes of which the present flight is a reset."""
    env = kept.env
    least = min(map(len, kept.lanes)) + count * env.batch_size // env.num_envs // 3
    while count > 0 or min(map(len, kept.lanes)) < least:
        count -= 1
        result = env.recv()
        lanes = np.array(result[4]["env_id"])
        fresh = np.array([lane in sent for lane in lanes.tolist()])
        for rows, is_new in ((np.flatnonzero(fresh), True), (np.flatnonzero(~fresh), False)):
            part = [result[k][rows] for k in range(4)]
            if is_new:
                kept.seen(part[0], lanes[rows].tolist())
            elif len(rows):
                kept.took((*part, {}), lanes[rows])
        sent -= set(lanes.tolist())
        env.send(rng.integers(0, 2, len(lanes)), lanes)


@pytest.mark.parametrize("keys", [8, None])
def test_any_order(keys, tmp_path):
    env = batchenv.make("CartPole-v1", 6, batch_size=2, num_threads=2)
    kept, rng = Kept(env), np.random.default_rng(0)
    with batchenv.record(env, tmp_path / "run.rec", key_frames=keys) as recorder:
        env.async_reset(seed=3)
        flights(kept, 300, rng, set(range(6)))
        assert recorder.steps == sum(map(len, kept.lanes))
    with batchenv.replay(tmp_path / "run.rec") as recording:
        assert recording.lengths.tolist() == list(map(len, kept.lanes))
        assert recording.verify() == recording.steps
        kept.check(recording)
        for lane in range(6):
            kept.check(recording, 0, len(kept.lanes[lane]), [lane])
            kept.check(recording, 20, 32, [lane])
        kept.check(recording, 12, 30, [4, 1])
        if keys:
            assert any(entry.kind == b"KEYF" for entry in recording._contents.entries)
        table = recording.episodes
        for lane, start, length, total in zip(*table[:4], strict=True):
            steps = kept.lanes[lane][start : start + length]
            assert sum(step[1] for step in steps) == total


@pytest.mark.parametrize("env_id", ["CartPole-v1", "FrozenLake-v1"])  # the latter draws in each step
def test_resets_drop_what_is_in_flight(env_id, tmp_path):
    env = batchenv.make(env_id, 4, batch_size=2, num_threads=2)
    kept, rng = Kept(env), np.random.default_rng(1)
    with batchenv.record(env, tmp_path / "run.rec"):
        env.async_reset(seed=3)
        flights(kept, 20, rng, set(range(4)))
        env.async_reset()  # the streams of those in flight have moved
        flights(kept, 40, rng, set(range(4)))
        kept.reset()
        env.send(np.zeros(4, int), np.arange(4))
        flights(kept, 30, rng, set())
    with batchenv.replay(tmp_path / "run.rec") as recording:
        recording.verify()
        kept.check(recording)


def test_what_is_in_flight_at_the_end_is_no_part_of_it(tmp_path):
    env = batchenv.make("CartPole-v1", 4, batch_size=2, num_threads=2)
    kept, rng = Kept(env), np.random.default_rng(2)
    recorder = batchenv.record(env, tmp_path / "run.rec")
    env.async_reset(seed=3)
    flights(kept, 20, rng, set(range(4)))
    recorder.close()
    env.recv()
    with batchenv.replay(tmp_path / "run.rec") as recording:
        recording.verify()
        kept.check(recording)
        assert recording.steps == sum(map(len, kept.lanes))


def test_step_async_is_a_step(tmp_path):
    env = batchenv.make("HalfCheetah-v5", 3)
    kept = Kept(env)
    env.action_space.seed(0)
    with batchenv.record(env, tmp_path / "run.rec"):
        kept.reset(seed=0)
        for _ in range(30):
            env.step_async(env.action_space.sample())
            kept.took(env.step_wait())
        kept.steps(10)
    with batchenv.replay(tmp_path / "run.rec") as recording:
        recording.verify()
        kept.check(recording)
        assert b"ROWS" not in {entry.kind for entry in recording._contents.entries}


def test_steps_of_an_async_env_that_names_lanes(tmp_path):
    env = batchenv.make("CartPole-v1", 4, batch_size=2, num_threads=2)
    kept = Kept(env)
    with batchenv.record(env, tmp_path / "run.rec"):
        kept.reset(seed=0)
        env.send([0, 1], [2, 3])
        lanes = np.array([0, 1])
        for t in range(40):
            result = env.step(np.array([t % 2, 1]), lanes)
            lanes = np.array(result[4]["env_id"])
            kept.took(result, lanes)
    with batchenv.replay(tmp_path / "run.rec") as recording:
        recording.verify()
        kept.check(recording)


def test_parameters_wait_until_lanes_are_received(tmp_path):
    env = batchenv.make("CartPole-v1", 2)
    with batchenv.record(env, tmp_path / "run.rec"):
        env.reset(seed=0)
        env.send([0, 1], [0, 1])
        with pytest.raises(RecordingError, match=r"recv\(\) them first"):
            env.set_params(gravity=3.0)
        env.recv()
        env.set_params(gravity=3.0)
    with batchenv.replay(tmp_path / "run.rec") as recording:
        assert recording.verify() == 2


def test_normalizing_flights_are_stored(tmp_path):
    env = batchenv.make("Pendulum-v1", 4, batch_size=2, normalize_observation=True)
    with pytest.raises(RecordingError, match="which lanes are finished first"):
        batchenv.record(env, tmp_path / "run.rec", observations=False)
    kept = Kept(env)
    with batchenv.record(env, tmp_path / "run.rec"):
        kept.reset(seed=0)
        env.send(np.zeros((4, 1)), np.arange(4))
        for _ in range(30):
            result = env.recv()
            lanes = np.array(result[4]["env_id"])
            kept.took((*result[:4], {}), lanes)
            env.send(np.ones((2, 1)), lanes)
    with batchenv.replay(tmp_path / "run.rec") as recording:
        assert recording.stored
        kept.check(recording)


def test_lanes_in_flight_are_refused(tmp_path):
    env = batchenv.make("CartPole-v1", 4, batch_size=2)
    env.async_reset(seed=0)
    with pytest.raises(ValueError, match=r"record\(\) while 4 lanes are in flight"):
        batchenv.record(env, tmp_path / "run.rec")


def test_a_file_that_was_cut_off(tmp_path):
    env = batchenv.make("CartPole-v1", 6, batch_size=2, num_threads=2)
    kept, rng = Kept(env), np.random.default_rng(0)
    with batchenv.record(env, tmp_path / "run.rec", key_frames=8) as recorder:
        env.async_reset(seed=3)
        flights(kept, 100, rng, set(range(6)))
        recorder.flush()
        (tmp_path / "cut.rec").write_bytes((tmp_path / "run.rec").read_bytes())
    with batchenv.replay(tmp_path / "cut.rec") as recording, batchenv.replay(tmp_path / "run.rec") as whole:
        assert not recording.complete
        assert recording.lengths.tolist() == list(map(len, kept.lanes))
        assert recording._contents.entries == whole._contents.entries[: len(recording._contents.entries)]
        assert recording.verify() == recording.steps
        kept.check(recording)
        for lane in range(6):
            kept.check(recording, 5, len(kept.lanes[lane]), [lane])
