"""Recordings of envs that follow plans."""

import numpy as np
import pytest

import batchenv
from helpers.recordings import Kept


def check(kept, path, steps):
    with batchenv.replay(path) as recording:
        assert recording.verify() == steps * kept.env.num_envs
        kept.check(recording)
        kept.check(recording, steps // 2, steps // 2 + 7)
        kept.check(recording, steps - 9, steps, [2, 0])
        kept.check(recording, 3, steps - 3, [1])
    with batchenv.replay(path, num_threads=1) as recording:
        kept.check(recording, steps - 30, steps)  # from a key frame alone
        kept.check(recording, 0, 20)


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
@pytest.mark.parametrize(
    "plan",
    [
        {"seeds": range(13)},
        {"seeds": [5, 2**70, None, 7], "labels": ["a", "b", "c", "d"]},
        {"seeds": range(9), "order": "shuffled", "repeat": False},
        {"seeds": range(9), "weights": [1, 2, 3, 0, 0, 1, 1, 5, 1]},
        {"options": [{"low": -0.1, "high": 0.1}, None], "labels": [None, ("x", 2)]},
        {"params": {"length": [0.3, 0.6, 0.9]}},
        {"seeds": range(6), "lanes": [0, 0, 2, 2, 2, 1]},
    ],
    ids=str,
)
def test_a_plan_that_is_there_before(plan, mode, tmp_path):
    env = batchenv.make("CartPole-v1", 3, autoreset_mode=mode)
    env.plan(**plan)
    env.reset()
    env.action_space.seed(3)
    for _ in range(30):
        observations = env.step(env.action_space.sample())[0]
    kept, told = Kept(env), {}
    kept.seen(observations)
    with batchenv.record(env, tmp_path / "run.rec", key_frames=32):
        for step in range(150):
            infos = kept.step(env.action_space.sample())[4]
            told |= {step: infos["episode"]} if "episode" in infos else {}
    check(kept, tmp_path / "run.rec", 150)
    assert bool(told) == ("labels" in plan)
    with batchenv.replay(tmp_path / "run.rec") as recording:
        infos = recording.window(0, 150).infos
        for step, episode in told.items():
            for name, values in episode.items():
                assert infos["episode"][name][step].tolist() == values.tolist()


def test_plans_that_are_made_and_changed(tmp_path):
    env = batchenv.make("CartPole-v1", 3, record_episode_statistics=True)
    kept = Kept(env)
    with batchenv.record(env, tmp_path / "run.rec", key_frames=32):
        kept.reset(seed=1)
        kept.steps(20)
        plan = env.plan(seeds=range(100, 107), order="sampled", seed=4)
        kept.steps(60)
        plan.weights = [0, 0, 0, 1, 1, 0, 2]
        kept.steps(40)
        plan.extend(seeds=[50, 51])
        kept.steps(40)
        kept.reset(seed=[9, None, 8])
        kept.steps(30)
        snapshot = env.snapshot([1])
        env.plan(snapshots=snapshot, seeds=[6])
        kept.steps(30)
        kept.seen(env.restore(snapshot, [2]))
        kept.steps(40)
        env.end_plan()
        kept.steps(40)
    check(kept, tmp_path / "run.rec", 300)


def test_lanes_in_flight(tmp_path):
    env = batchenv.make("CartPole-v1", 3, batch_size=2)
    plan = env.plan(seeds=range(40), order="sampled")
    with batchenv.record(env, tmp_path / "run.rec", key_frames=32):
        env.async_reset()
        for _ in range(200):
            lanes = env.recv()[4]["env_id"]
            env.send(np.ones(2, int), lanes)
        with pytest.raises(batchenv.recordings.RecordingError, match="setting weights of a plan while"):
            plan.weights = np.arange(40)
        env.recv()
        env.async_reset(seed=4)
        for _ in range(50):
            lanes = env.recv()[4]["env_id"]
            env.send(np.ones(2, int), lanes)
    with batchenv.replay(tmp_path / "run.rec") as recording:
        assert recording.verify() == recording.steps > 400


def test_what_cannot_be_recorded(tmp_path):
    env = batchenv.make("CartPole-v1", 2)
    env.plan(labels=[{1, 2}, "a"])
    with pytest.raises(batchenv.recordings.RecordingError, match=r"labels of the plan: .* observations=True"):
        batchenv.record(env, tmp_path / "run.rec")
    with batchenv.record(env, tmp_path / "stored.rec", observations=True):
        env.reset()
        env.plan(labels=[{3}])
        env.step(np.ones(2, int))
    robot = batchenv.make("Hopper-v5", 2)
    mass = np.array(robot.get_attr("model")[0].body_mass)
    with batchenv.record(robot, tmp_path / "robot.rec"):
        robot.reset()
        with pytest.raises(batchenv.recordings.RecordingError, match="the plan sets body_mass of models"):
            robot.plan(params={"body_mass": mass[None]})
        assert robot.present_plan is None
