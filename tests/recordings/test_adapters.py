"""Envs are recorded under whatever API is around them."""

import gymnasium
import numpy as np
import pytest

import batchenv
from batchenv.recordings import RecordingError


def same_steps(path, observations, steps):
    with batchenv.replay(path) as recording:
        assert recording.verify() == recording.steps
        window = recording.window(0, steps)
        assert np.array_equal(window.observations, np.stack(observations))


def test_wrappers_of_gymnasium(tmp_path):
    env = gymnasium.wrappers.vector.RecordEpisodeStatistics(batchenv.make("CartPole-v1", 3))
    with batchenv.record(env, tmp_path / "run.rec"):
        env.reset(seed=0)
        seen = [env.step(np.array([0, 1, t % 2]))[0] for t in range(30)]
    same_steps(tmp_path / "run.rec", seen, 30)


def test_evaluate(tmp_path):
    env = batchenv.make("CartPole-v1", 4, autoreset_mode="Disabled")
    with batchenv.record(env, tmp_path / "run.rec"):
        result = batchenv.evaluate(env, lambda observations: (observations[:, 2] > 0).astype(int), 10)
    with batchenv.replay(tmp_path / "run.rec") as recording:
        recording.verify()
        table = recording.episodes
        planned = {seed: total for seed, total in zip(result.seeds.tolist(), result.returns.tolist(), strict=True)}
        found = dict(zip(table.seeds[table.complete].tolist(), table.returns[table.complete].tolist(), strict=True))
        assert planned.items() <= found.items()


def test_gym_and_dm(tmp_path):
    env = batchenv.make("CartPole-v1", 2, env_type="gym")
    with batchenv.record(env, tmp_path / "gym.rec"):
        env.reset()
        seen = [env.step(np.array([0, 1]))[0] for _ in range(20)]
    same_steps(tmp_path / "gym.rec", seen, 20)


def test_torch_follows(tmp_path):
    torch = pytest.importorskip("torch")
    env = batchenv.make("CartPole-v1", 3, env_type="torch")
    other = batchenv.make("CartPole-v1", 3, env_type="torch")
    for one in (env, other):
        one.reset(seed=0)
        one.step(torch.tensor([0, 1, 1]))
    with batchenv.record(env, tmp_path / "run.rec") as recorder:
        seen = []
        for t in range(25):
            actions = torch.tensor([0, t % 2, 1])
            result, known = env.step(actions), other.step(actions)
            assert torch.equal(result[0], known[0])
            seen.append(result[0].numpy().copy())
        assert recorder.steps == 75
    assert torch.equal(env.step(actions)[0], other.step(actions)[0])
    assert recorder.steps == 75
    same_steps(tmp_path / "run.rec", seen, 25)


def test_stable_baselines3(tmp_path):
    pytest.importorskip("stable_baselines3")
    env = batchenv.make("CartPole-v1", 3, env_type="sb3")
    with batchenv.record(env, tmp_path / "run.rec") as recorder:
        env.reset()
        seen = [env.step(np.array([0, 1, 1]))[0] for _ in range(20)]
        assert recorder.steps == 60
    same_steps(tmp_path / "run.rec", seen, 20)


def test_programs_of_jax_are_refused(tmp_path):
    pytest.importorskip("jax")
    env = batchenv.make("CartPole-v1", 2)
    with batchenv.record(env, tmp_path / "run.rec"), pytest.raises(RecordingError, match=r"env.xla\(\)"):
        env.xla()
    env.xla()
    with pytest.raises(RuntimeError, match=r"env.xla\(\) has given out functions"):
        batchenv.record(env, tmp_path / "other.rec")
    assert not (tmp_path / "other.rec").exists()


def test_pictures_go_on(tmp_path):
    pytest.importorskip("pygame")
    env = batchenv.make("Pendulum-v1", 2, render_mode="rgb_array")
    with batchenv.record(env, tmp_path / "run.rec"):
        env.reset(seed=0)
        env.step(np.array([[1.0], [-2.0]]))
        assert env.render()[0].shape == (500, 500, 3)
    with batchenv.replay(tmp_path / "run.rec") as recording:
        assert recording.verify() == 2


def test_infos_that_learners_take_apart(tmp_path):
    env = batchenv.make("Taxi-v4", 2, copy=False)
    with batchenv.record(env, tmp_path / "run.rec"):
        env.reset(seed=0)
        seen = [np.array(env.step([0, t % 6])[0]) for t in range(40)]
    same_steps(tmp_path / "run.rec", seen, 40)


def test_results_that_users_write_over(tmp_path):
    env = batchenv.make("Pendulum-v1", 2)
    out = (np.empty((2, 3), np.float32), np.empty(2), np.empty(2, bool), np.empty(2, bool))
    seen, actions = [], np.zeros((2, 1), np.float32)
    with batchenv.record(env, tmp_path / "run.rec"):
        env.reset(seed=0)
        for t in range(30):
            actions[:] = t % 3 - 1  # the same array each time
            result = env.step(actions, out=out)
            seen.append(result[0].copy())
            for part in result[:4]:
                part[...] = 0
    same_steps(tmp_path / "run.rec", seen, 30)


def test_every_verb_of_backends_is_watched_or_passed_on():
    """A new verb must be one or the other: see `recordings.events`."""
    from batchenv.backend.protocol import Backend
    from batchenv.recordings.backend import RecordingBackend
    from batchenv.recordings.watching import Watching

    verbs = {name for name in vars(Backend) if not name.startswith("_")} - {"shortcuts"}  # which would go past it
    assert verbs <= set(vars(Watching)) | set(vars(RecordingBackend))
