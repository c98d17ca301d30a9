"""Rollouts equal the same steps taken one by one."""

import gymnasium
import numpy as np
import pytest

import batchenv
from helpers import ids
from helpers.begun import begun

STEPS = 60


def parts(observation):
    return observation if isinstance(observation, tuple) else (observation,)


@pytest.mark.cases(1, per="env_id")
@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
@pytest.mark.parametrize("lanes", [1, 9, 1300])
@pytest.mark.parametrize("env_id", ids.OWN)
def test_equals_steps(env_id, lanes, mode):
    env, other = (batchenv.make(env_id, lanes, autoreset_mode=mode, max_episode_steps=17) for _ in range(2))
    env.reset(seed=1)
    other.reset(seed=1)
    env.action_space.seed(0)
    actions = np.array([env.action_space.sample() for _ in range(STEPS)])
    result = env.rollout(actions)
    assert result.actions.shape == actions.shape
    for t in range(STEPS):
        observation, reward, terminated, truncated, info = other.step(actions[t])
        for x, y in zip(parts(result.observations), parts(observation), strict=True):
            np.testing.assert_array_equal(x[t], y)
        np.testing.assert_array_equal(result.rewards[t], reward)
        np.testing.assert_array_equal(result.terminations[t], terminated)
        np.testing.assert_array_equal(result.truncations[t], truncated)
        for key in info:
            if not key.startswith("_") and not key.startswith("final"):
                np.testing.assert_array_equal(result.infos[key][t], info[key])
        if "final_obs" in info:
            np.testing.assert_array_equal(result.infos["_final_obs"][t], info["_final_obs"])
            ended = np.flatnonzero(info["_final_obs"])
            finals = zip(*(parts(one) for one in info["final_obs"][ended]), strict=True)
            for x, y in zip(parts(result.infos["final_obs"]), finals, strict=True):
                np.testing.assert_array_equal(x[t, ended], np.array(y))
            for key, values in info["final_info"].items():
                if not key.startswith("_"):
                    done = info["_final_obs"]
                    np.testing.assert_array_equal(result.infos["final_info"][key][t][done], values[done])
    assert result.terminations.any() or result.truncations.any()


@pytest.mark.cases(9)
@pytest.mark.parametrize("env_id", ids.OWN)
def test_random_policy(env_id):
    env = begun(batchenv.make(env_id, 300))
    result = env.rollout(200, policy="random", seed=7)
    assert all(a in env.single_action_space for a in result.actions[::50, ::37].reshape(-1, *result.actions.shape[2:]))
    space = env.single_action_space
    flat = result.actions.astype(np.float64).ravel()
    low, high = (0, space.n - 1) if hasattr(space, "n") else (float(space.low[0]), float(space.high[0]))
    middle, spread = (low + high) / 2, flat.std()
    assert abs(flat.mean() - middle) < 5 * spread / np.sqrt(flat.size)
    if hasattr(space, "n"):
        counts = np.bincount(result.actions.ravel(), minlength=space.n)
        expected = flat.size / space.n
        assert ((counts - expected) ** 2 / expected).sum() < 40  # chi squared, at most 5 degrees of freedom
    # The same stream again, however many threads; and it goes on where it stopped.
    again = begun(batchenv.make(env_id, 300, num_threads=1))
    first, second = again.rollout(80, policy="random", seed=7), again.rollout(120, policy="random")
    np.testing.assert_array_equal(np.concatenate([first.actions, second.actions]), result.actions)
    for x, y, z in zip(parts(first.observations), parts(second.observations), parts(result.observations), strict=True):
        np.testing.assert_array_equal(np.concatenate([x, y]), z)
    assert not np.array_equal(again.rollout(80, policy="random", seed=8).actions, first.actions)
    # Actions that were drawn, given: the same rollout.
    given = begun(batchenv.make(env_id, 300))
    np.testing.assert_array_equal(given.rollout(result.actions).rewards, result.rewards)


def test_random_actions_stay_those_of_earlier_versions():
    """A seed means the same actions in every version, on every machine."""
    env = batchenv.make("CartPole-v1", 6, seed=0)
    env.reset()
    expected = [[0, 0, 1, 1, 1, 1], [0, 1, 1, 1, 0, 0], [0, 0, 1, 0, 1, 1]]
    np.testing.assert_array_equal(env.rollout(3, policy="random", seed=7).actions, expected)
    env = batchenv.make("Pendulum-v1", 2, seed=0)
    env.reset()
    expected = np.array([[-0.9242677688598633, -0.6942999362945557], [-0.5558438301086426, 0.902193546295166]])
    np.testing.assert_array_equal(env.rollout(2, policy="random", seed=7).actions[..., 0], expected.astype(np.float32))


def test_lanes_and_steps_are_uncorrelated():
    env = begun(batchenv.make("CartPole-v1", 512))
    a = env.rollout(512, policy="random", seed=1).actions * 2.0 - 1
    bound = 5 / np.sqrt(a.size)
    assert abs((a[1:] * a[:-1]).mean()) < bound and abs((a[:, 1:] * a[:, :-1]).mean()) < bound
    assert abs((a[1:, 1:] * a[:-1, :-1]).mean()) < bound


def test_parts_of_an_action_are_uncorrelated():
    env = begun(batchenv.make("SyntheticNested-v0", 64))
    gear, push, dials = env.rollout(200, policy="random", seed=1).actions
    columns = [gear, *(push[key][..., j] for key in ("keys", "push") for j in range(2)), dials[..., 0], dials[..., 1]]
    correlations = np.corrcoef([column.ravel() for column in columns])
    assert abs(correlations - np.eye(len(columns))).max() < 0.05  # of 12,800 samples: five times what chance gives


def test_out():
    env, other = (begun(batchenv.make("CartPole-v1", 5)) for _ in range(2))
    actions = np.ones((8, 5), np.int32)
    observations, rewards = np.empty((8, 5, 4), np.float32), np.empty((8, 5))
    result = env.rollout(actions, out=(observations, rewards, None, None))
    assert result.observations is observations and result.rewards is rewards
    np.testing.assert_array_equal(observations, other.rollout(actions.tolist()).observations)


def test_no_steps():
    env = begun(batchenv.make("CartPole-v1", 5))
    assert env.rollout(0, policy="random").observations.shape == (0, 5, 4)


@pytest.mark.parametrize(
    "arguments,error,words",
    [
        ({"actions": np.zeros((3, 4), int)}, ValueError, "need shape"),
        ({"actions": np.zeros((3, 5))}, TypeError, "float64"),
        ({"actions": np.full((3, 5), 2)}, ValueError, "step 0 of the rollout"),
        ({"actions": [[0, 1], [0]]}, ValueError, r"actions cannot be read as an array of shape \(T, 5\)"),
        ({"actions": np.zeros((3, 5), int), "out": (None,) * 3}, TypeError, "out is a tuple of 3, but must be"),
        ({"actions": 3}, TypeError, "policy='random'"),
        ({"actions": -1, "policy": "random"}, ValueError, "at least 0"),
        ({"actions": 2.5, "policy": "random"}, TypeError, "must be an int"),
        ({"actions": 3, "policy": "greedy"}, ValueError, "'greedy'"),
        ({"actions": 3, "policy": "random", "seed": -1}, ValueError, "seed"),
        ({"actions": np.zeros((3, 5), int), "seed": 1}, ValueError, "seed"),
        ({"actions": 3, "policy": "random", "out": 1}, TypeError, "tuple of four"),
        ({"actions": 3, "policy": "random", "out": (np.empty((3, 5, 4)), None, None, None)}, ValueError, "float32"),
        ({"actions": 3, "policy": "random", "out": (None, [1], None, None)}, TypeError, "rewards"),
    ],
)
def test_bad_input_steps_nothing(arguments, error, words):
    env = begun(batchenv.make("CartPole-v1", 5))
    before = env.snapshot()
    with pytest.raises(error, match=words):
        env.rollout(**arguments)
    assert env.snapshot() == before


def test_needs_a_reset_and_autoreset():
    with pytest.raises(gymnasium.error.ResetNeeded):
        batchenv.make("CartPole-v1", 5).rollout(3, policy="random")
    env = batchenv.make("CartPole-v1", 5, autoreset_mode="Disabled")
    env.reset()
    with pytest.raises(ValueError, match="needs autoreset"):
        env.rollout(3, policy="random")
