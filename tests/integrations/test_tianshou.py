"""Tianshou's API over a BatchEnv: against its DummyVectorEnv, by hand and through its collectors."""

import copy
import pickle

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ClosedEnvironmentError

import batchenv
from helpers.awkward import makers
from helpers.awkward import same as exactly

LANES = 5


pytest.importorskip("tianshou")

from tianshou.algorithm.algorithm_base import Policy  # noqa: E402
from tianshou.data import AsyncCollector, Batch, Collector, VectorReplayBuffer  # noqa: E402
from tianshou.env import BaseVectorEnv, DummyVectorEnv, VectorEnvNormObs  # noqa: E402


def ours(env_id, lanes=LANES, **keywords):
    return batchenv.make(env_id, lanes, env_type="tianshou", **keywords)


def theirs(env_id, lanes=LANES, **keywords):
    return DummyVectorEnv([lambda: gymnasium.make(env_id, disable_env_checker=True, **keywords)] * lanes)


def equal(mine, other):
    assert len(mine) == len(other)
    for k, (a, b) in enumerate(zip(mine, other, strict=True)):
        assert type(a) is type(b) and a.shape == b.shape
        assert a.dtype == b.dtype or (k == 1 and a.dtype == np.float64)  # the other's rewards may be integers
        if a.dtype != object:
            np.testing.assert_array_equal(a, b)
            continue
        for one, same in zip(a, b, strict=True):
            assert one.keys() == same.keys()
            for key in one:
                np.testing.assert_array_equal(one[key], same[key])


class Plan(Policy):
    """Takes the action that the sum of an observation chooses: the same of all envs that agree."""

    def forward(self, batch, state=None, **keywords):
        sums = np.abs(np.asarray(batch.obs, np.float64).reshape(len(batch.obs), -1).sum(1))
        if isinstance(self.action_space, gymnasium.spaces.Discrete):
            return Batch(act=(sums * 1e4).astype(np.int64) % self.action_space.n)
        return Batch(act=np.sin(np.outer(sums, np.arange(1, 1 + self.action_space.shape[0]))).astype(np.float32))


class WithMemory(Plan):
    """Tianshou's AsyncCollector works only with policies that have a state."""

    def forward(self, batch, state=None, **keywords):
        act = super().forward(batch).act
        return Batch(act=act, state=np.zeros((len(act), 1)))


def plan(env, kind=Plan):
    return kind(
        action_space=env.action_space[0],
        observation_space=env.observation_space[0],
        action_scaling=not isinstance(env.action_space[0], gymnasium.spaces.Discrete),
    )


IDS = ["CartPole-v1", "Pendulum-v1", "FrozenLake-v1", "Taxi-v4", "HalfCheetah-v5", "Ant-v5"]


@pytest.mark.parametrize("env_id", IDS)
def test_resets_and_steps_of_some_lanes(env_id):
    """Finished lanes are reset, others are left out now and then; rows come in the order asked for."""
    mine, other = ours(env_id, max_episode_steps=7), theirs(env_id, max_episode_steps=7)
    assert mine.seed(3) == other.seed(3) == [[3 + lane] for lane in range(LANES)]
    equal(mine.reset(), other.reset())
    random = np.random.default_rng(0)
    ended = 0
    for turn in range(60):
        lanes = random.permutation(LANES)[: random.integers(1, LANES + 1)] if turn % 3 else np.arange(LANES)
        actions = np.array([space.sample() for space in np.array(mine.action_space, object)[lanes]])
        for space, lane in zip(np.array(other.action_space, object)[lanes], range(len(lanes)), strict=True):
            np.testing.assert_array_equal(actions[lane], space.sample())
        which = None if turn % 6 == 0 else lanes
        results = mine.step(actions, which), other.step(actions, which)
        equal(*results)
        done = lanes[results[0][2] | results[0][3]]
        ended += len(done)
        if len(done):
            equal(mine.reset(done), other.reset(done))
    assert ended > 20
    equal(mine.reset(2), other.reset(2))
    equal(mine.step(actions[:1], 2), other.step(actions[:1], 2))
    equal(mine.reset([1, 3], seed=8), other.reset([1, 3], seed=8))


@pytest.mark.parametrize("random", [True, False])
@pytest.mark.parametrize("env_id", IDS)
def test_a_collectors_statistics(env_id, random):
    told = []
    for make in ours, theirs:
        env = make(env_id, max_episode_steps=30)
        env.seed(7)
        collector = Collector(plan(env), env, VectorReplayBuffer(4000, LANES))
        collector.reset()
        told.append([collector.collect(n_step=LANES * 50, random=random)])
        told[-1].append(collector.collect(n_episode=LANES + 2, random=random))  # the last ones run alone
        told[-1].append(collector.collect(n_episode=2, random=random, reset_before_collect=True))
        told[-1].append(collector.collect(n_episode=6, random=random, gym_reset_kwargs={"seed": 4}))
        told[-1].append(collector.buffer)
        collector.close()
        assert env.is_closed
    assert sum(stats.n_collected_episodes for stats in told[0][:-1]) > 15
    for mine, other in zip(told[0][:-1], told[1][:-1], strict=True):
        assert mine.n_collected_steps == other.n_collected_steps
        np.testing.assert_array_equal(mine.returns, other.returns)
        np.testing.assert_array_equal(mine.lens, other.lens)
        assert mine.returns_stat == other.returns_stat and mine.lens_stat == other.lens_stat
    mine, other = told[0][-1], told[1][-1]
    for name in ("obs", "act", "rew", "terminated", "truncated", "obs_next"):
        np.testing.assert_array_equal(getattr(mine, name), getattr(other, name))


def test_an_asynchronous_env():
    """Each lane's steps in the buffer are those of its environment, in whichever order the lanes come."""
    env = ours("CartPole-v1", batch_size=2)
    assert env.is_async and env.wait_num == 2 and env.env_num == LANES
    env.seed(5)
    collector = AsyncCollector(plan(env, WithMemory), env, VectorReplayBuffer(LANES * 300, LANES))
    collector.reset()
    assert env.waiting_id == [] and env.ready_id == list(range(LANES))
    statistics = collector.collect(n_step=600)
    assert len(env.waiting_id) == LANES - 2 and sorted(env.waiting_id + env.ready_id) == list(range(LANES))
    assert statistics.n_collected_steps >= 600 and statistics.n_collected_episodes > 10
    alone = theirs("CartPole-v1")
    alone.seed(5)
    observations = alone.reset()[0]
    policy, steps = plan(alone), 0
    for lane in range(LANES):
        rows = collector.buffer.buffers[lane][:]
        row = observations[lane]
        for k in range(len(rows)):
            np.testing.assert_array_equal(rows.obs[k], row)
            assert rows.act[k] == policy(Batch(obs=row[None])).act[0]
            row, reward, terminated, truncated, _ = (part[0] for part in alone.step([int(rows.act[k])], [lane]))
            np.testing.assert_array_equal(rows.obs_next[k], row)
            assert (rows.rew[k], rows.terminated[k], rows.truncated[k]) == (reward, terminated, truncated)
            if terminated or truncated:
                row = alone.reset([lane])[0][0]
            steps += 1
    assert steps == statistics.n_collected_steps
    collector.reset_env()
    assert env.waiting_id == []
    assert [len(part) for part in env.step(None)] == [0] * 5


def test_an_env_in_python_with_dicts():
    """Observations that are dicts, infos, and questions to single environments, in processes."""

    def make():
        return _Named(gymnasium.make("CartPole-v1", disable_env_checker=True))

    mine = batchenv.make_python(make, 3, env_type="tianshou", num_workers=2)
    other = DummyVectorEnv([make] * 3)
    for env in mine, other:
        env.seed(1)
    equal(mine.reset(), other.reset())
    for turn in range(30):
        actions = np.array([turn % 2, 1, 0])
        results = mine.step(actions), other.step(actions)
        equal(*results)
        done = np.flatnonzero(results[0][2])
        if len(done):
            equal(mine.reset(done), other.reset(done))
    assert mine.get_env_attr("gravity", [2, 0]) == other.get_env_attr("gravity", [2, 0])
    for env in mine, other:
        env.set_env_attr("gravity", 3.0, 1)
        assert env.get_env_attr("gravity") == [9.8, 3.0, 9.8]
    collector = Collector(RandomPolicy(action_space=mine.action_space[0]), mine, VectorReplayBuffer(300, 3))
    collector.reset()
    assert collector.collect(n_episode=5).n_collected_episodes == 5
    assert collector.buffer.obs.place.shape == (300, 2)


class RandomPolicy(Policy):
    def forward(self, batch, state=None, **keywords):
        return Batch(act=np.arange(len(batch.obs)) % 2)


class _Named(gymnasium.ObservationWrapper):
    def __init__(self, env):
        super().__init__(env)
        parts = {"place": env.observation_space.low[:2], "speed": env.observation_space.low[2:]}
        self.observation_space = gymnasium.spaces.Dict(
            {name: gymnasium.spaces.Box(low, -low, dtype=np.float32) for name, low in parts.items()}
        )

    def observation(self, observation):
        return {"place": observation[:2], "speed": observation[2:]}

    def step(self, action):
        *result, info = super().step(action)
        return (*result, {**info, "twice": 2 * action, "deep": {"action": action}})


def test_wrappers_and_attributes():
    mine, other = ours("CartPole-v1"), theirs("CartPole-v1")
    assert isinstance(mine, BaseVectorEnv) and len(mine) == LANES
    assert mine.action_space == other.action_space and mine.observation_space == other.observation_space
    assert mine.get_env_attr("gravity", [1, 2]) == other.get_env_attr("gravity", [1, 2])
    for env in mine, other:
        env.set_env_attr("gravity", 3.5, [0, 4])
    assert mine.get_env_attr("gravity") == other.get_env_attr("gravity") == [3.5, 9.8, 9.8, 9.8, 3.5]
    with pytest.raises(AttributeError, match="'gravitation'"):
        mine.set_env_attr("gravitation", 1.0)
    mine, other = VectorEnvNormObs(mine), VectorEnvNormObs(other)
    for env in mine, other:
        env.seed([4, 3, 2, 1, 0])
    equal(mine.reset(), other.reset())
    for _ in range(5):
        equal(mine.step(np.ones(LANES, int)), other.step(np.ones(LANES, int)))


def test_copies_and_pictures():
    env = ours("CartPole-v1", 2, render_mode="rgb_array")
    assert ours("CartPole-v1", 2).seed(None) == [[None], [None]]
    env.seed(0)
    again = pickle.loads(pickle.dumps(env))
    equal(env.step([0, 1]), again.step([0, 1]))
    pictures = env.render()
    assert len(pictures) == 2 and pictures[0].shape == (400, 600, 3)
    equal(copy.deepcopy(env).step([1, 1]), env.step([1, 1]))
    env.close()
    assert env.is_closed
    with pytest.raises(ClosedEnvironmentError):
        env.step([0, 0])


def test_refusals():
    with pytest.raises(ValueError, match="must be 'Disabled' with env_type='tianshou'"):
        ours("CartPole-v1", autoreset_mode="SameStep")
    with pytest.raises(TypeError, match="tuples, which Tianshou does not support"):
        ours("Blackjack-v1")
    env = ours("CartPole-v1")
    env.reset()
    with pytest.raises(ValueError, match="action=None must be one action per lane"):
        env.step(None)
    with pytest.raises(ValueError, match="2"):
        env.step(np.array([0, 2]), [3, 1])
    with pytest.raises(ValueError, match="length must match"):
        env.seed([1, 2])
    with pytest.raises(TypeError, match="seed"):
        env.seed("now")


@pytest.mark.parametrize("workers", ["serial", "threads", "processes", "asyncio"])
def test_what_an_awkward_env_says(workers):
    """Infos, seeds and options are those of DummyVectorEnv, types too; and they stay as they are."""
    some = {} if workers == "asyncio" else {"num_workers": 2}
    mine = batchenv.make_python(makers(), workers=workers, env_type="tianshou", **some)
    other = DummyVectorEnv(makers(reuses=False))
    lanes, kept = np.arange(len(other)), []
    for options in ({}, {"options": {"start": [1]}}):
        exactly(mine.reset(seed=5, **options), other.reset(seed=5, **options), () if options else ("options",))
        for step in range(11):
            which = lanes if step % 3 else lanes[::-1][:3]
            actions = which * step % 3
            got, expected = mine.step(actions, which), other.step(actions, which)
            exactly(got, expected, ("env_id",))  # which is of the type that the test asks with
            assert [info["env_id"] for info in got[4]] == which.tolist()
            kept.append((got, copy.deepcopy(got)))
            done = which[got[2] | got[3]][::-1]
            if len(done):
                exactly(mine.reset(done), other.reset(done), ("options",))
    for now, before in kept:
        exactly(now, before)
    mine.close()
    other.close()


@pytest.mark.parametrize("workers", ["serial", "processes", "asyncio"])
def test_what_awkward_envs_say_that_are_finished_first(workers):
    env = batchenv.make_python(makers(), workers=workers, env_type="tianshou", batch_size=2)
    alone = [one() for one in makers(reuses=False)]
    for lane, info in enumerate(env.reset(seed=5)[1]):
        exactly(info, alone[lane].reset(seed=5)[1], ("options",))
    lanes = np.arange(len(alone))
    for actions in (lanes % 3, None):
        seen, _, _, _, infos = env.step(actions, lanes)
        for row, info in zip(seen, infos, strict=True):
            observation, *_, said = alone[info["env_id"]].step(info["env_id"] % 3)
            exactly(row, observation)
            exactly(info, said | {"env_id": info["env_id"]})
    env.close()
