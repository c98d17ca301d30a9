"""What went wrong with recordings once."""

import os
import signal
import threading
from contextlib import closing, contextmanager
from functools import partial

import numpy as np
import pytest

import batchenv
from batchenv.recordings import RecordingError
from batchenv.recordings.leaves import flat
from helpers.recordings import Kept


@pytest.mark.parametrize("count", [1030, 1500])
def test_key_frames_of_rollouts(count, tmp_path):
    """Lanes are where the last step has led before anything of a rollout is written."""
    env = batchenv.make("CartPole-v1", 4)
    with batchenv.record(env, tmp_path / "run.rec", key_frames=64):
        env.reset(seed=0)
        live = env.rollout(count, policy="random", seed=0)
        more = env.rollout(200, policy="random")
    with batchenv.replay(tmp_path / "run.rec") as recording:
        recording.verify()
        observations = np.concatenate([live.observations, more.observations])
        for start in range(0, count + 200, 90):
            stop = min(start + 40, count + 200)
            assert np.array_equal(recording.window(start, stop).observations, observations[start:stop])


@pytest.mark.parametrize("copy", [True, False])
def test_stored_infos_are_copies(copy, tmp_path):
    env = batchenv.make("HalfCheetah-v5", 4, copy=copy)
    wanted = []
    with batchenv.record(env, tmp_path / "run.rec", observations=True):
        env.reset(seed=0)
        for _ in range(30):
            infos = env.step(env.action_space.sample())[4]
            wanted.append(np.array(infos["x_velocity"]))
            infos["x_velocity"][:] = 0
    with batchenv.replay(tmp_path / "run.rec") as recording:
        assert np.array_equal(recording.window(0, 30).infos["x_velocity"], np.stack(wanted))


def test_returns_of_episodes_that_a_reset_cuts(tmp_path):
    env = batchenv.make("CartPole-v1", 2)
    with batchenv.record(env, tmp_path / "run.rec"):
        for seed in (0, 7):
            env.reset(seed=seed)
            for _ in range(5):
                env.step(np.array([0, 1]))
    with batchenv.replay(tmp_path / "run.rec") as recording:
        assert recording.episodes.returns.tolist() == [5.0] * 4


def test_returns_are_added_up_as_the_env_does(tmp_path):
    env = batchenv.make("Pendulum-v1", 3, max_episode_steps=17, record_episode_statistics=True)
    told = [[] for _ in range(3)]
    with batchenv.record(env, tmp_path / "run.rec"):
        env.reset(seed=1)
        for _ in range(100):
            infos = env.step(env.action_space.sample())[4]
            for lane in np.flatnonzero(infos["_episode"]).tolist() if "episode" in infos else ():
                told[lane].append(infos["episode"]["r"][lane])
    with batchenv.replay(tmp_path / "run.rec") as recording:
        table = recording.episodes
        for lane in range(3):
            mine = table.returns[(table.lanes == lane) & table.complete]
            assert mine.tolist() == told[lane]


@pytest.mark.parametrize("env_id", ["CartPole-v1", "FrozenLake-v1", "MiniGrid-Empty-5x5-v0"])
@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_steps_of_all_lanes_and_of_some(env_id, mode, tmp_path):
    env = batchenv.make(env_id, 3, autoreset_mode=mode, max_episode_steps=7)
    kept = Kept(env)
    with batchenv.record(env, tmp_path / "run.rec", key_frames=16):
        kept.reset(seed=1)
        env.action_space.seed(1)
        for number in range(60):
            if number // 10 % 2 == 0:
                kept.step(env.action_space.sample())
                continue
            actions = env.action_space.sample()
            for lane in (2, 0, 1):
                kept.took(env.step(actions[[lane]], np.array([lane])), [lane])
    with batchenv.replay(tmp_path / "run.rec") as recording:
        recording.verify()
        kept.check(recording)
        kept.check(recording, 5, 55, [2, 0])


def test_texts_in_mode_disabled(tmp_path):
    env = batchenv.make("MiniGrid-Empty-5x5-v0", 3, autoreset_mode="Disabled", max_episode_steps=40)
    kept = Kept(env)
    with batchenv.record(env, tmp_path / "run.rec"):
        kept.reset(seed=0)
        env.action_space.seed(0)
        for _ in range(150):
            result = kept.step(env.action_space.sample())
            over = result[2] | result[3]
            if over.any():
                kept.seen(env.reset(options={"reset_mask": over})[0])
    with batchenv.replay(tmp_path / "run.rec") as recording:
        assert recording.verify() == 450


def test_short_blocks_have_checksums_and_key_frames(tmp_path, monkeypatch):
    from batchenv.recordings.player import Player

    env = batchenv.make("CartPole-v1", 16, autoreset_mode="Disabled")
    rng = np.random.default_rng(0)
    with batchenv.record(env, tmp_path / "run.rec", key_frames=100) as recorder:
        env.reset(seed=0)
        for number in range(1000):
            result = env.step(rng.integers(0, 2, 16))
            over = result[2] | result[3]
            if over.any():
                env.reset(options={"reset_mask": over})
            if number % 7 == 0:
                recorder.flush()
    with batchenv.replay(tmp_path / "run.rec") as recording:
        entries = recording._contents.entries
        assert 5 <= sum(entry.kind == b"KEYF" for entry in entries) <= 12
        assert recording.verify() == 16_000
    rolled = Player._rollout

    def wrong(self, *arguments):
        observations, *others = rolled(self, *arguments)
        if self._single is not None:
            self._single = [(one[0] + 1, *one[1:]) for one in self._single]
        return (observations + 1, *others)

    monkeypatch.setattr(Player, "_rollout", wrong)
    with batchenv.replay(tmp_path / "run.rec") as recording, pytest.raises(batchenv.recordings.ReplayMismatch):
        recording.verify()


def test_ctrl_c_in_the_middle_of_a_block_is_told(tmp_path, monkeypatch):
    """What was cut in two is not taken for whole: the recording ends there, and says so."""
    from batchenv.recordings.file import Writer

    env = batchenv.make("CartPole-v1", 4)
    written, hit = Writer._write, []

    def interrupted(self, data):
        if not hit and len(data) > 60:
            hit.append(1)
            raise KeyboardInterrupt
        written(self, data)

    recorder = batchenv.record(env, tmp_path / "run.rec", key_frames=32)
    env.reset(seed=0)
    monkeypatch.setattr(Writer, "_write", interrupted)
    with pytest.raises(KeyboardInterrupt):
        for _ in range(100):
            env.step(env.action_space.sample())
    with pytest.raises(RecordingError, match="was being written when this was interrupted"):
        env.step(env.action_space.sample())
    with pytest.raises(RecordingError, match="was being written"):
        recorder.close()
    env.step(env.action_space.sample())
    with batchenv.replay(tmp_path / "run.rec") as recording:
        assert not recording.complete
        recording.verify()


@contextmanager
def storm():
    """Ctrl-C every 4 ms. Gives a function that makes a call, which alone is interrupted, and says whether it was."""
    armed, over = False, threading.Event()

    def interrupt(*_):
        nonlocal armed
        if armed:
            armed = False  # what cleans up after the call is not interrupted once more
            raise KeyboardInterrupt

    def send():
        while not over.wait(0.004):
            os.kill(os.getpid(), signal.SIGINT)

    def interrupted(call):
        nonlocal armed
        try:
            try:
                armed = True
                call()
            finally:
                armed = False
        except KeyboardInterrupt:
            return True
        return False

    before = signal.signal(signal.SIGINT, interrupt)
    thread = threading.Thread(target=send)
    thread.start()
    try:
        yield interrupted
    finally:
        over.set()
        thread.join()
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("some", [False, True])
def test_a_storm_of_ctrl_c(some, tmp_path):
    """Whatever is interrupted: what the file has is what happened, or the recording says that it has stopped."""
    env = batchenv.make("CartPole-v1", 64)
    recorder = batchenv.record(env, tmp_path / "run.rec", key_frames=32)
    env.reset(seed=0)
    arguments = (np.ones(64, int), np.arange(64)[::-1].copy()) if some else (np.ones(64, int),)
    count, stopped = 0, None

    def steps():
        for _ in range(50):
            env.step(*arguments)

    with storm() as interrupted:
        while count < 25 and stopped is None:
            try:
                try:
                    count += interrupted(steps)
                except batchenv.backend.protocol.ResetNeeded:
                    count += interrupted(partial(env.reset, seed=count))
            except RecordingError as error:
                stopped = error
    try:
        recorder.close()
    except RecordingError as error:
        stopped = stopped or error
    with batchenv.replay(tmp_path / "run.rec") as recording:
        assert recording.complete == (stopped is None)
        recording.verify()


def test_a_forked_child_leaves_the_lock(tmp_path):
    env = batchenv.make("CartPole-v1", 2)
    with batchenv.record(env, tmp_path / "run.rec") as recorder:
        env.reset(seed=0)
        child = os.fork()
        if child == 0:
            try:
                recorder.close()
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        with pytest.raises(RecordingError, match="being written by another recording"):
            batchenv.record(batchenv.make("CartPole-v1", 2), tmp_path / "run.rec", overwrite=True)
        env.step(np.ones(2, int))
    with batchenv.replay(tmp_path / "run.rec") as recording:
        assert recording.verify() == 2


def test_what_is_refused_replaces_nothing(tmp_path):
    env = batchenv.make("CartPole-v1", 2)
    with batchenv.record(env, tmp_path / "run.rec"):
        env.reset(seed=0)
    before = (tmp_path / "run.rec").read_bytes()
    other = batchenv.make("CartPole-v1", 2)
    other.plan(labels=[{1}])
    with pytest.raises(RecordingError):
        batchenv.record(other, tmp_path / "run.rec", overwrite=True)
    assert (tmp_path / "run.rec").read_bytes() == before


def test_a_lane_twice(tmp_path):
    env = batchenv.make("CartPole-v1", 3)
    with batchenv.record(env, tmp_path / "run.rec"):
        env.reset(seed=0)
        env.step(np.ones(3, int))
    with batchenv.replay(tmp_path / "run.rec") as recording, pytest.raises(ValueError, match="twice"):
        recording.window(0, 1, [1, 1])


def test_a_plan_of_snapshots_after_new_params(tmp_path):
    env = batchenv.make("CartPole-v1", 2)
    kept = Kept(env)
    with batchenv.record(env, tmp_path / "run.rec", key_frames=16):
        kept.reset(seed=0)
        env.set_params(gravity=12.0)
        env.plan(snapshots=[env.snapshot(0)] * 3)
        kept.steps(40)
    with batchenv.replay(tmp_path / "run.rec") as recording:
        kept.check(recording, 33, 40)


def test_infos_of_starts_from_snapshots(tmp_path):
    """They are not those of another lane that has stood there before."""
    env = batchenv.make("FrozenLake-v1", 5)
    env.reset(seed=0)
    env.plan(snapshots=[env.snapshot(2)] * 5)
    rng = np.random.default_rng(0)
    with batchenv.record(env, tmp_path / "run.rec"):
        env.reset()
        for _ in range(300):
            lanes = rng.permutation(5)[: rng.integers(1, 6)]
            env.step(rng.integers(0, 4, len(lanes)), lanes)
    with batchenv.replay(tmp_path / "run.rec") as recording:
        assert recording.verify() == recording.steps


@pytest.mark.parametrize("workers", [None, "serial", "threads", "processes"])
def test_lanes_that_wait_for_their_reset(workers, tmp_path):
    if workers is None:
        env = batchenv.make("CartPole-v1", 2)
    else:
        env = batchenv.make_python("CartPole-v1", 2, workers=workers)
    with closing(env):
        env.reset(seed=0)
        while not env.step(np.ones(2, int))[2].any():
            pass
        with batchenv.record(env, tmp_path / "run.rec"):
            for _ in range(30):
                env.step(np.ones(2, int))
        with batchenv.replay(tmp_path / "run.rec") as recording:
            table = recording.episodes
            first = table.starts[table.lanes == 0][0]
            assert first == 1  # step 0 resets lane 0
            assert (table.returns[table.complete] == table.lengths[table.complete]).all()


def test_a_restored_lane_that_waits(tmp_path):
    env = batchenv.make("CartPole-v1", 2)
    env.reset(seed=0)
    while not env.step(np.ones(2, int))[2].any():
        pass
    snapshot = env.snapshot()
    with batchenv.record(env, tmp_path / "run.rec"):
        env.reset(seed=5)
        for _ in range(3):
            env.step(np.array([0, 1]))
        env.restore(snapshot)
        for _ in range(30):
            env.step(np.array([1, 1]))
    with batchenv.replay(tmp_path / "run.rec") as recording:
        table = recording.episodes
        assert (table.returns[table.complete] == table.lengths[table.complete]).all()
        assert all((batch["reward"] == 1).all() for batch in recording.transitions(1000))


def test_questions_do_not_cut_episodes(tmp_path):
    env = batchenv.make_python("CartPole-v1", 2, workers="serial", snapshots="pickle")
    with closing(env), batchenv.record(env, tmp_path / "run.rec", observations=False):
        env.reset(seed=0)
        for _ in range(3):
            env.step(np.array([1, 0]))
        env.get_attr("gravity")
        for _ in range(20):
            env.step(np.array([1, 0]))
    with batchenv.replay(tmp_path / "run.rec", trust=True) as recording:
        table = recording.episodes
        assert table.seeds[:2].tolist() == [0, 1] and table.complete[:2].all()
        assert (table.lengths[:2] > 3).all()
        recording.verify()


def test_masked_resets_of_a_normalizing_env(tmp_path):
    env = batchenv.make("Pendulum-v1", 3, normalize_observation=True)
    kept = Kept(env)
    with batchenv.record(env, tmp_path / "run.rec"):
        kept.reset(seed=0)
        kept.steps(20)
        kept.seen(env.reset(options={"reset_mask": np.array([True, False, False])})[0])
        kept.steps(20)
    with batchenv.replay(tmp_path / "run.rec") as recording:
        kept.check(recording)
        assert flat(recording.window(18, 25).previous())[0].shape == (7, 3, 3)
