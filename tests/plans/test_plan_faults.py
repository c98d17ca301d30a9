"""What went wrong with plans once: resets that cross lanes in flight, envs that change their options, dead workers."""

from __future__ import annotations

import copy
import os
import pickle
import signal
import threading
import time
from contextlib import closing
from typing import Any

import gymnasium
import numpy as np
import pytest

import batchenv
from helpers.robots import Stand
from helpers.robots import make as make_robots


class Shows(gymnasium.Env):
    """Shows the seed of its reset, or -1; episodes have so many steps."""

    observation_space = gymnasium.spaces.Box(-1, 1e12, (1,), np.float64)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, steps: int = 2):
        self.steps = steps

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.age = 0
        return np.array([-1.0 if seed is None else float(seed)]), {}

    def step(self, action: Any) -> Any:
        self.age += 1
        return np.array([0.0]), 1.0, self.age >= self.steps, False, {}

    def pid(self) -> int:
        return os.getpid()


class Waits(Shows):
    async def step(self, action: Any) -> Any:
        return super().step(action)


class Draws(Shows):
    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        return np.array([self.np_random.random()]), {}


class Spends(Shows):
    """Takes something out of its options, also of a dict in them."""

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        return np.array([float((options or {"of": {}})["of"].pop("value", -1))]), {}


KINDS = ["serial", "threads", "processes", "asyncio"]
PUSH = np.zeros(2, int)


def make(kind: str, env: Any = None, **keywords: Any) -> batchenv.BatchEnv:
    factory = (Waits if kind == "asyncio" else Shows) if env is None else env
    workers = {"num_workers": 2} if kind == "processes" else {}
    return batchenv.make_python(factory, 2, workers=kind, **workers, **keywords)


@pytest.mark.parametrize("call", ["reset", "async_reset"])
def test_a_seeded_reset_while_lanes_are_in_flight(call: str) -> None:
    """They end their episodes, and begin others, before the reset drops what they have done."""
    env = batchenv.make("Hopper-v5", 32, autoreset_mode="SameStep", max_episode_steps=1, frame_skip=100, num_threads=2)
    with closing(env):
        plan = env.plan(seeds=range(100_000, 100_300))
        env.async_reset()
        env.recv()
        env.send(np.zeros((32, 3), np.float32))
        if call == "reset":
            observations = env.reset(seed=7)[0]
        else:
            env.async_reset(seed=7)
            observations = env.recv()[0]
        wanted = batchenv.make("Hopper-v5", 32, frame_skip=100).reset(seed=7)[0]
        assert np.array_equal(observations, wanted)
        assert (plan.entries == -1).all()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_resets_of_python_envs_in_flight(kind: str, mode: str) -> None:
    with closing(make(kind, autoreset_mode=mode)) as env:
        plan = env.plan(seeds=range(1000, 1300))
        env.async_reset()
        env.recv()
        for _ in range(6):
            env.send(PUSH)
            assert env.reset(seed=5)[0].ravel().tolist() == [5, 6]
            assert plan.entries.tolist() == [-1, -1]
            env.send(PUSH)
            observations = env.reset()[0].ravel()
            assert observations.tolist() == (plan.entries + 1000).tolist()
            assert (plan.entries % 2 == [0, 1]).all()


def test_resets_of_tasks_in_flight() -> None:
    with closing(make_robots(Stand, 4, max_episode_steps=1, autoreset_mode="SameStep")) as env:
        plan = env.plan(seeds=range(100, 140))
        env.async_reset()
        env.recv()
        for _ in range(3):
            env.send(np.zeros(env.action_space.shape, np.float32))
            observations = env.reset()[0]
            with closing(make_robots(Stand, 4)) as alone:
                assert np.array_equal(observations, alone.reset(seed=[100 + int(k) for k in plan.entries])[0])


@pytest.mark.parametrize("kind", KINDS)
def test_entries_without_seeds_leave_those_of_the_env(kind: str) -> None:
    def first() -> list[float]:
        with closing(make(kind, Draws, seed=11)) as env:
            env.plan(labels=["a", "b"])
            return env.reset()[0].ravel().tolist()

    assert first() == first() == [np.random.default_rng(seed).random() for seed in (11, 12)]


@pytest.mark.parametrize("kind", KINDS)
def test_envs_may_change_their_options(kind: str) -> None:
    with closing(make(kind, lambda: Spends(1), autoreset_mode="SameStep")) as env:
        env.plan(options=[{"of": {"value": value}} for value in (10, 20, 30)])
        rows = [env.reset()[0], *(env.step(PUSH)[0] for _ in range(5))]
        assert np.array(rows).ravel().tolist() == [10, 20, 30] * 4


def test_a_model_that_a_task_refuses_is_told() -> None:
    for env in (make_robots(Stand, 2), batchenv.make("Hopper-v5", 2)):
        with closing(env):
            mass = np.array(env.get_attr("model")[0].body_mass)
            env.plan(params={"body_mass": np.stack([mass * 2, mass * 1e-300])})
            with pytest.raises(batchenv.LaneError, match="entry 1 of the plan: ValueError: MuJoCo refuses") as told:
                env.reset()
            assert told.value.env_id.tolist() == [1]
            assert np.allclose(env.get_attr("model")[0].body_mass, mass * 2)


def test_copies_know_the_entries_of_present_episodes() -> None:
    with closing(batchenv.make("CartPole-v1", 4, record_episode_statistics=True)) as env:
        plan = env.plan(seeds=range(50))
        env.reset()
        env.step(np.zeros(4, int))
        for other in (pickle.loads(pickle.dumps(env)), copy.deepcopy(env)):
            assert other.present_plan is not None
            assert np.array_equal(plan.entries, other.present_plan.entries)


@pytest.mark.parametrize("kind", ["serial", "asyncio"])
def test_entries_that_were_decided_beforehand(kind: str) -> None:
    """In asyncio a lane knows its next entry before its episode ends. Seeded resets and new weights come first."""
    with closing(make(kind, lambda: (Waits if kind == "asyncio" else Shows)(3), autoreset_mode="SameStep")) as env:
        env.plan(seeds=range(1000, 1100))
        env.reset()
        env.step(PUSH)
        env.reset(seed=5)
        for _ in range(3):
            observations = env.step(PUSH)[0]
        assert observations.ravel().tolist() == [1002, 1003]
        plan = env.plan(seeds=[0, 1, 2], weights=[1, 0, 0])
        env.reset()
        env.step(PUSH)
        plan.weights = [0, 0, 1]
        assert env.reset()[0].ravel().tolist() == [2, 2]


def kill(env: batchenv.BatchEnv) -> None:
    pid = env.call("pid")[0]
    os.kill(pid, signal.SIGKILL)
    time.sleep(0.2)


def test_a_worker_that_is_dead_when_a_plan_is_made() -> None:
    with closing(make("processes", on_failure="restart")) as env:
        env.reset(seed=1)
        kill(env)
        with pytest.raises(Exception, match="ended by signal 9"):
            env.plan(seeds=range(1000, 1003), labels=["a", "b", "c"])
        assert env.present_plan is None
        assert env.reset(seed=3)[0].ravel().tolist() == [3, 4]
        assert [env.step(PUSH)[4] for _ in range(3)] == [{}] * 3


def test_a_worker_that_is_dead_when_weights_are_set_or_entries_are_added() -> None:
    with closing(make("processes", on_failure="restart")) as env:
        plan = env.plan(seeds=range(1000, 1003), weights=[1, 0, 0])
        env.reset()
        kill(env)
        with pytest.raises(Exception, match="ended by signal 9"):
            plan.weights = [0, 0, 1]
        assert plan.weights is not None and plan.weights.tolist() == [1, 0, 0]
        assert env.reset()[0].ravel().tolist() == [1000, 1000]
        plan.weights = [0, 0, 1]
        assert env.reset()[0].ravel().tolist() == [1002, 1002]
        kill(env)
        with pytest.raises(Exception, match="ended by signal 9"):
            plan.extend(seeds=[1003])
        assert len(plan) == 3
        assert env.reset()[0].ravel().tolist() == [1002, 1002]


def test_ctrl_c_while_a_plan_is_made() -> None:
    """With processes, all of them follow the plan that the env has, or lanes have to be reset."""
    with closing(make("processes", lambda: Shows(1))) as env:
        env.reset(seed=1)
        interrupted = 0
        for _ in range(12):
            try:
                threading.Timer(0.005, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
                while True:
                    env.plan(seeds=range(1000, 1100), labels=list(range(100)))
                    env.end_plan()
            except KeyboardInterrupt:
                interrupted += 1
            if env.present_plan is not None:
                env.end_plan()
            env.reset(seed=1)
            assert [env.step(PUSH)[4] for _ in range(2)] == [{}, {}]
        assert interrupted == 12


def test_ctrl_c_while_models_are_made() -> None:
    env = batchenv.make("Hopper-v5", 64, max_episode_steps=1, autoreset_mode="SameStep", num_threads=1)
    with closing(env):
        mass = np.array(env.get_attr("model")[0].body_mass)
        env.plan(params={"body_mass": mass * np.linspace(0.5, 2, 200)[:, None]})
        env.reset()
        with pytest.raises(KeyboardInterrupt):
            threading.Timer(0.03, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
            while True:
                env.step(np.zeros((64, 3), np.float32))


def test_an_entry_that_another_lane_cannot_have() -> None:
    with closing(batchenv.make("MountainCar-v0", 2)) as env:
        env.set_params(min_position=np.array([-1.2, 0.3]), goal_position=0.55)
        with pytest.raises(ValueError, match=r"min_position=0.3 .* \(entry 1 of the plan, in lane 1\)"):
            env.plan(params={"max_position": [0.6, 0.1]})
        env.plan(params={"max_position": [0.6, 0.4]})
        with pytest.raises(ValueError, match=r"entry 1 of the plan, in lane 0"):
            env.set_params(min_position=[0.5, 0.3])
        env.reset()


def test_labels_stay_what_they_are() -> None:
    with closing(batchenv.make("CartPole-v1", 2)) as env:
        for given, more in (([1, 2], ["a"]), ([2**60 + 1, 2], [0.5]), ([2**63, -1], [None]), (["a\0"], ["b"])):
            plan = env.plan(labels=given)
            plan.extend(labels=more)
            assert plan.labels is not None and plan.labels.tolist() == given + more


def test_what_a_plan_is_not() -> None:
    plan = batchenv.make("CartPole-v1", 2).plan(seeds=[1])
    with pytest.raises(RuntimeError, match="is gone: keep it"):
        plan.entries  # noqa: B018
    with pytest.raises(TypeError, match="pickle the env"):
        pickle.dumps(plan)
    with closing(batchenv.make("CartPole-v1", 2)) as env:
        with pytest.raises(TypeError, match="the name 1 must be a str"):
            env.plan(params={1: [2]})
        with pytest.raises(ValueError, match="order="):
            env.plan(seeds=[1], order=np.array(["a", "b"]))
