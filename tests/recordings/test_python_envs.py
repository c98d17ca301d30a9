"""Recordings of environments written in Python: with their results, or with snapshots of their own."""

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

import batchenv
from batchenv.recordings import RecordingError
from helpers.python_envs import ARRAYS, OBJECTS, Anything
from helpers.recordings import Kept


class Walk(gymnasium.Env):
    """A deterministic env: everything comes from its stream."""

    observation_space = spaces.Box(-np.inf, np.inf, (2,), np.float64)
    action_space = spaces.Discrete(3)

    def __init__(self, step=1.0):
        self.step_size = step

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.at, self.time = self.np_random.normal(size=2), 0
        return self.at.copy(), {"time": 0}

    def step(self, action):
        self.at = self.at + (int(action) - 1) * self.step_size + self.np_random.normal(size=2)
        self.time += 1
        over = bool(abs(self.at[0]) > 4)
        return (
            self.at.copy(),
            float(self.at[1]),
            over,
            self.time >= 30,
            {"time": self.time, "name": f"step {self.time}"},
        )

    def nudge(self, by):
        self.at = self.at + by


@pytest.mark.parametrize("workers", ["serial", "processes"])
def test_results_are_stored(workers, tmp_path):
    env = batchenv.make_python(Walk, 3, workers=workers)
    kept = Kept(env)
    with batchenv.record(env, tmp_path / "run.rec"):
        kept.reset(seed=0)
        kept.steps(50)
        env.call("nudge", 2.5)
        env.set_attr("step_size", [1.0, 2.0, 3.0])
        kept.steps(30)
        kept.reset(options={"reset_mask": np.array([True, False, True])})
        kept.steps(20)
    env.close()
    with batchenv.replay(tmp_path / "run.rec") as recording:
        assert recording.stored
        assert recording.verify() == 300
        kept.check(recording)
        kept.check(recording, 45, 85, [2, 0])
        window = recording.window(0, 100)
        assert window.infos["name"][3, 1] == "step 4"
        assert len(recording.episodes.lanes) > 3
        recording.episode(1)


@pytest.mark.parametrize("workers", ["serial", "processes"])
@pytest.mark.parametrize("mode", ["NextStep", "SameStep", "Disabled"])
def test_deterministic_envs_are_replayed(workers, mode, tmp_path):
    def make():
        return batchenv.make_python(Walk, 3, workers=workers, snapshots="pickle", autoreset_mode=mode)

    env = make()
    kept = Kept(env)
    env.action_space.seed(0)
    with batchenv.record(env, tmp_path / "run.rec", observations=False, key_frames=16):
        kept.reset(seed=0)
        for t in range(80):
            result = kept.step(env.action_space.sample())
            over = result[2] | result[3]
            if mode == "Disabled" and over.any():
                kept.reset(options={"reset_mask": over})
            if t == 40:
                env.call("nudge", 2.5)
                env.set_attr("step_size", 2.0)
    env.close()
    pickles = pytest.raises(RecordingError, match="trust=True")
    with batchenv.replay(tmp_path / "run.rec", make_env=make) as recording, pickles:
        recording.window(60, 70)
    with batchenv.replay(tmp_path / "run.rec") as recording, pytest.raises(RecordingError, match="make_env="):
        recording.window(0, 10)
    with batchenv.replay(tmp_path / "run.rec", make_env=make, trust=True) as recording:
        recording.verify()
        for window in ((0, 40), (60, 70), (2, 5)):
            found = recording.window(*window)
            for step in range(*window):
                for lane in range(3):
                    assert np.array_equal(found.observations[step - window[0], lane], kept.lanes[lane][step][0][0])
                    assert found.rewards[step - window[0], lane] == kept.lanes[lane][step][1]


def test_envs_without_snapshots_must_be_stored(tmp_path):
    env = batchenv.make_python(Walk, 2, workers="serial")
    with pytest.raises(RecordingError, match="snapshots='pickle'"):
        batchenv.record(env, tmp_path / "run.rec", observations=False)


@pytest.mark.parametrize("name", [*ARRAYS, "text", "mission", "text beside an array"])
def test_observations_of_all_kinds(name, tmp_path):
    space = ARRAYS.get(name) or OBJECTS[name]
    env = batchenv.make_python(lambda: Anything(space), 2, workers="serial")
    kept = Kept(env)
    with batchenv.record(env, tmp_path / "run.rec"):
        kept.reset(seed=0)
        kept.steps(30)
    with batchenv.replay(tmp_path / "run.rec") as recording:
        window = recording.window(0, 30)
        kept_rewards = np.array([[step[1] for step in lane] for lane in kept.lanes]).T
        assert np.array_equal(window.rewards, kept_rewards)
        kept.check(recording)


@pytest.mark.parametrize("name", ["discrete", "multi_discrete", "multi_binary", "tuple", "goal", "picture"])
def test_actions_of_all_kinds(name, tmp_path):
    env = batchenv.make_python(lambda: Anything(spaces.Discrete(2), ARRAYS[name]), 2, workers="serial")
    env.action_space.seed(3)
    with batchenv.record(env, tmp_path / "run.rec"):
        env.reset(seed=0)
        taken = []
        for _ in range(20):
            taken.append(env.action_space.sample())
            env.step(taken[-1])
    from batchenv.recordings.leaves import flat

    with batchenv.replay(tmp_path / "run.rec") as recording:
        found = flat(recording.window(0, 20).actions)
        for step, actions in enumerate(taken):
            for part, known in zip(found, flat(actions), strict=True):
                assert np.array_equal(part[step], known)


def test_actions_that_are_no_arrays_are_refused(tmp_path):
    env = batchenv.make_python(lambda: Anything(spaces.Discrete(2), OBJECTS["text"]), 2, workers="serial")
    with pytest.raises((RecordingError, TypeError), match="only arrays"):
        batchenv.record(env, tmp_path / "run.rec")
    assert not (tmp_path / "run.rec").exists()


def test_lanes_that_come_in_any_order(tmp_path):
    env = batchenv.make_python(Walk, 4, workers="processes", num_workers=2, batch_size=2)
    kept = Kept(env)
    with batchenv.record(env, tmp_path / "run.rec"):
        kept.reset(seed=0)
        env.send(np.zeros(4, int), np.arange(4))
        while min(map(len, kept.lanes)) < 25:  # a worker may be slow
            result = env.recv()
            lanes = np.array(result[4]["env_id"])
            kept.took((*result[:4], {}), lanes)
            env.send(np.ones(2, int), lanes)
    env.close()
    with batchenv.replay(tmp_path / "run.rec") as recording:
        kept.check(recording)
        for lane in range(4):
            kept.check(recording, 3, len(kept.lanes[lane]), [lane])


def test_ids_of_gymnasium_are_made_again(tmp_path):
    env = batchenv.make_python("CartPole-v1", 2, workers="serial", snapshots="pickle")
    kept = Kept(env)
    with batchenv.record(env, tmp_path / "run.rec", observations=False, key_frames=16):
        kept.reset(seed=0)
        kept.steps(60)
    with batchenv.replay(tmp_path / "run.rec", trust=True) as recording:
        assert recording.verify() == 120
        kept.check(recording, 30, 60)


def test_options_may_be_anything_where_results_are_stored(tmp_path):
    env = batchenv.make_python(Walk, 2, workers="serial")
    with batchenv.record(env, tmp_path / "run.rec"):
        env.reset(seed=0, options={"function": print})
        env.step([0, 1])
    with batchenv.replay(tmp_path / "run.rec") as recording:
        assert recording.window(0, 1).rewards.shape == (1, 2)
