"""What observations and rewards go through last equals Gymnasium's own vector wrappers, bit for bit."""

import pickle

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers import vector as vector_wrappers

import batchenv
from helpers.begun import begun
from helpers.lockstep import actions_of
from helpers.parity import assert_same

LANES = 7
LIMIT = 30  # of steps: episodes end by truncation too
MODES = list(AutoresetMode)
needs_new_wrapper = pytest.mark.skipif(
    not hasattr(vector_wrappers.NormalizeReward(SyncVectorEnv([lambda: gymnasium.make("CartPole-v1")])), "_prev_dones"),
    reason="this Gymnasium's NormalizeReward counts resets as steps",
)


def reference(env_id, mode):
    make = lambda: gymnasium.make(env_id, max_episode_steps=LIMIT, disable_env_checker=True)  # noqa: E731
    return SyncVectorEnv([make] * LANES, autoreset_mode=mode)


def ours(env_id, mode, **keywords):
    return batchenv.make(env_id, LANES, autoreset_mode=mode, max_episode_steps=LIMIT, **keywords)


@needs_new_wrapper
@pytest.mark.parametrize("mode", MODES, ids=[mode.value for mode in MODES])
@pytest.mark.parametrize("env_id", ["CartPole-v1", "Pendulum-v1"])
def test_normalized_rewards(env_id, mode):
    env = begun(ours(env_id, mode, normalize_reward=0.97), seed=1)
    theirs = begun(vector_wrappers.NormalizeReward(reference(env_id, mode), gamma=0.97), seed=1)
    for step, actions in enumerate(actions_of(env, 100)):
        if step == 70:  # as for evaluation
            env.reward_normalizer.update_running_mean = theirs.update_running_mean = False
        result, expected = env.step(actions), theirs.step(actions)
        assert result[1].dtype == expected[1].dtype == np.float64
        np.testing.assert_array_equal(result[1], expected[1], err_msg=f"step {step}")
        done = result[2] | result[3]
        if mode is AutoresetMode.DISABLED and done.any():
            env.reset(seed=step), theirs.reset(seed=step)
    for name in ("mean", "var", "count"):
        assert getattr(env.reward_normalizer.return_rms, name) == getattr(theirs.return_rms, name)
    np.testing.assert_array_equal(env.reward_normalizer.accumulated_reward, theirs.accumulated_reward)


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
@pytest.mark.parametrize("normalize", [False, True])
def test_clipped_observations(mode, normalize):
    keywords = {"autoreset_mode": mode, "max_episode_steps": LIMIT, "normalize_observation": normalize}
    env = batchenv.make("Pendulum-v1", LANES, clip_observation=(-0.3, 0.8), **keywords)
    raw = batchenv.make("Pendulum-v1", LANES, **keywords)
    space = env.single_observation_space
    assert space.dtype == np.float32 and (space.low == np.float32(-0.3)).all() and (space.high == np.float32(0.8)).all()
    clipped = lambda rows: np.clip(rows, -0.3, 0.8)  # noqa: E731  what TransformObservation is given
    np.testing.assert_array_equal(env.reset(seed=2)[0], clipped(raw.reset(seed=2)[0]))
    finals = 0
    for actions in actions_of(env, 65):
        result, expected = env.step(actions), raw.step(actions)
        assert result[0].dtype == np.float32
        np.testing.assert_array_equal(result[0], clipped(expected[0]))
        for row, other in zip(*(infos.get("final_obs", ()) for infos in (result[4], expected[4])), strict=True):
            np.testing.assert_array_equal(row, clipped(other))
            finals += 1
    assert finals or mode == "NextStep"
    one_side = batchenv.make("Pendulum-v1", 2, clip_observation=(0.0, None))
    assert one_side.reset(seed=0)[0].min() >= 0 and one_side.single_observation_space.high[2] == 8


def test_float32_rewards_are_rounded_last():
    for keywords in ({}, {"normalize_reward": 0.9}, {"reward_scale": 0.1}):
        env = begun(ours("Pendulum-v1", "NextStep", reward_dtype="float32", **keywords), seed=3)
        wide = begun(ours("Pendulum-v1", "NextStep", **keywords), seed=3)
        for actions in actions_of(env, 40):
            rewards, expected = env.step(actions)[1], wide.step(actions)[1]
            assert rewards.dtype == np.float32 and expected.dtype == np.float64
            np.testing.assert_array_equal(rewards, expected.astype(np.float32))
        storage = np.full(LANES, 9, np.float32)
        assert env.step(actions, out=(None, storage, None, None))[1] is storage
        np.testing.assert_array_equal(storage, wide.step(actions)[1].astype(np.float32))
        with pytest.raises(ValueError, match="out's rewards must have dtype float32"):
            env.step(actions, out=(None, np.zeros(LANES), None, None))


EVERYTHING = {
    "normalize_reward": 0.95,
    "normalize_observation": True,
    "clip_observation": (-1, 1),
    "reward_dtype": "float32",
    "reward_scale": 0.5,
}


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_a_rollout_is_that_many_steps(mode):
    one, other = (begun(ours("Pendulum-v1", mode, **EVERYTHING), seed=5) for _ in range(2))
    actions = np.stack(actions_of(one, 70))
    rows = one.rollout(actions)
    assert rows.rewards.dtype == rows.observations.dtype == np.float32
    for t in range(len(actions)):
        step = other.step(actions[t])
        for a, b in zip(rows[:4], step[:4], strict=True):
            np.testing.assert_array_equal(a[t], b)
        for lane in np.flatnonzero(step[4].get("_final_obs", [])):
            np.testing.assert_array_equal(rows.infos["final_obs"][t][lane], step[4]["final_obs"][lane])


def test_sent_steps_are_normalized_as_others():
    """With batch_size = num_envs, whose batches come in the order of lanes."""
    one, other = (ours("Pendulum-v1", "NextStep", **EVERYTHING) for _ in range(2))
    one.reset(seed=6)
    other.async_reset(seed=6)
    assert (other.recv()[1] == 0).all()
    for actions in actions_of(one, 70):
        expected = one.step(actions)
        other.send(actions)
        assert_same(other.recv()[:4], expected[:4])


def test_pickles_hold_the_moments():
    env = begun(ours("Pendulum-v1", "NextStep", **EVERYTHING), seed=7)
    actions = actions_of(env, 50)
    for row in actions[:20]:
        env.step(row)
    other = pickle.loads(pickle.dumps(env))
    for row in actions[20:]:
        assert_same(env.step(row)[:4], other.step(row)[:4])


@pytest.mark.parametrize(
    ("keywords", "error", "words"),
    [
        ({"normalize_reward": 1.5}, ValueError, r"normalize_reward=1\.5 must be a discount factor: 0 to 1"),
        ({"normalize_reward": "0.9"}, TypeError, "normalize_reward='0.9' must be a number"),
        ({"normalize_reward": float("nan")}, TypeError, "normalize_reward=nan must be a number"),
        ({"reward_dtype": "float16"}, ValueError, "reward_dtype='float16' must be 'float32' or 'float64'"),
        ({"reward_dtype": None}, ValueError, "reward_dtype=None must be"),
        ({"clip_observation": 3}, TypeError, r"clip_observation=3 must be a pair \(low, high\)"),
        ({"clip_observation": (None, None)}, ValueError, "clips nothing"),
        ({"clip_observation": (1, 0)}, ValueError, "must have low <= high"),
    ],
)
def test_wrong_keywords_are_refused(keywords, error, words):
    with pytest.raises(error, match=words):
        batchenv.make("CartPole-v1", 1, **keywords)


def test_observations_that_cannot_be_clipped():
    with pytest.raises(TypeError, match=r"clip_observation=\(-1\.0, 1\.0\) needs Box observations of floats"):
        batchenv.make("FrozenLake-v1", 1, clip_observation=(-1, 1))


def test_moments_that_are_none_are_refused_before_a_lane_moves():
    env = begun(ours("CartPole-v1", "NextStep", normalize_reward=0.9))
    env.reward_normalizer.return_rms.var = np.ones(3)
    with pytest.raises(TypeError, match=r"env\.reward_normalizer\.return_rms\.var"):
        env.step(np.zeros(LANES, int))
    assert (env.state["elapsed_steps"] == 0).all()
