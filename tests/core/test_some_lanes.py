"""`step(actions, env_id)` without a queue: some lanes, in any order, are stepped as all of them would be."""

import os

import numpy as np
import pytest
from gymnasium.error import ResetNeeded

import batchenv
from helpers.begun import begun

# A kernel with SIMD, one that draws in steps, ids of one lane a call, and several observations and actions.
IDS = ["CartPole-v1", "FrozenLake-v1", "Pendulum-v1", "Blackjack-v1", "Synthetic-v0", "SyntheticDict-v0"]


def rows(tree, chosen):
    """Rows of an array, or of all arrays in a dict or tuple."""
    if isinstance(tree, dict):
        return {key: rows(part, chosen) for key, part in tree.items()}
    return tuple(rows(part, chosen) for part in tree) if isinstance(tree, tuple) else np.asarray(tree)[chosen]


def assert_equal(ours, theirs):
    if isinstance(ours, (dict, tuple)):
        assert len(ours) == len(theirs)
        for key in ours if isinstance(ours, dict) else range(len(ours)):
            assert_equal(ours[key], theirs[key])
    else:
        np.testing.assert_array_equal(ours, theirs)


def sampled(env, steps):
    env.action_space.seed(3)
    return [env.action_space.sample() for _ in range(steps)]


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
@pytest.mark.parametrize("env_id", IDS)
@pytest.mark.parametrize("parallel", [False, True])
def test_the_lanes_listed_go_where_all_would_and_the_others_stay(env_id, mode, parallel):
    n = 700
    options = {"autoreset_mode": mode, "max_episode_steps": 4, "record_episode_statistics": True, "num_threads": 3}
    env, other = (batchenv.make(env_id, n, **options) for _ in range(2))
    for each in (env, other):
        each.reset(seed=4)
        each._backend.core.force_parallel(parallel)
    rng = np.random.default_rng(0)
    for t, actions in enumerate(sampled(env, 10)):
        order = rng.permutation(n) if t % 2 else np.arange(n)  # neighbours are stepped where they are
        lengths = []
        for ids in np.split(order, [1, 1 + n // 3, n // 2 + 64]):
            observations, rewards, terminations, truncations, infos = env.step(rows(actions, ids), ids)
            lengths.append((ids, observations, rewards, terminations, truncations, infos))
        expected = other.step(actions)
        for ids, *got in lengths:
            assert_equal(tuple(got[:4]), tuple(rows(part, ids) for part in expected[:4]))
            infos = got[4]
            np.testing.assert_array_equal(infos.pop("env_id"), ids)
            done = expected[2][ids] | expected[3][ids]
            assert ("episode" in infos) == done.any()
            if done.any():
                for key in ("r", "l"):
                    np.testing.assert_array_equal(infos["episode"][key], expected[4]["episode"][key][ids])
                if mode == "SameStep":
                    np.testing.assert_array_equal(infos["_final_obs"], done)
                    for k in np.flatnonzero(done)[:3]:
                        assert_equal(infos["final_obs"][k], expected[4]["final_obs"][ids[k]])
    assert_equal(env.state, other.state)


def test_lanes_that_are_not_listed_are_not_touched():
    env = batchenv.make("Pendulum-v1", 130, record_episode_statistics=True)
    env.reset(seed=0)
    before = env.state
    env.step(np.full((3, 1), 2, np.float32), [129, 0, 64])
    after = env.state
    changed = np.flatnonzero(before["elapsed_steps"] != after["elapsed_steps"])
    assert changed.tolist() == [0, 64, 129]
    for name in before:
        keep = np.delete(np.arange(130), changed)
        np.testing.assert_array_equal(before[name][keep], after[name][keep])


def test_params_by_lane_and_normalization():
    gravity = np.linspace(5, 15, 300)
    options = {"normalize_observation": True, "normalize_reward": 0.9, "reward_dtype": "float32"}
    envs = [begun(batchenv.make("Pendulum-v1", 300, g=gravity, **options)) for _ in range(2)]
    for env in envs:
        env.normalizer.update_running_mean = env.reward_normalizer.update_running_mean = False
    ids = np.random.default_rng(0).permutation(300)[:200]
    actions = np.random.default_rng(1).uniform(-2, 2, (300, 1)).astype(np.float32)
    for _ in range(3):
        some, all_lanes = envs[0].step(actions[ids], ids), envs[1].step(actions)
        np.testing.assert_array_equal(some[0], all_lanes[0][ids])
        assert some[1].dtype == np.float32
    envs[0].set_params(g=1.0)
    envs[1].set_params(g=1.0)
    np.testing.assert_array_equal(envs[0].step(actions[ids], ids)[0], envs[1].step(actions)[0][ids])


def test_out_has_a_row_per_lane_listed():
    env, other = (batchenv.make("CartPole-v1", 9) for _ in range(2))
    env.reset(seed=1)
    other.reset(seed=1)
    out = (np.empty((2, 4), np.float32), np.empty(2), np.empty(2, bool), np.empty(2, bool))
    result = env.step([1, 0], [7, 2], out=out)
    assert all(a is b for a, b in zip(result[:4], out, strict=True))
    np.testing.assert_array_equal(out[0], other.step([0, 0, 0, 0, 0, 0, 0, 1, 0])[0][[7, 2]])
    with pytest.raises(ValueError, match=r"shape \(3, 4\), got float32 and \(2, 4\)"):
        env.step([1, 0, 1], [7, 2, 3], out=out)


def test_refusals_step_no_lane():
    env = batchenv.make("CartPole-v1", 6, autoreset_mode="Disabled", max_episode_steps=2)
    with pytest.raises(ResetNeeded):
        env.step([0], [1])
    env.reset(seed=0)
    for ids, actions, refused in (
        ([], [], "env_id is empty.*no lane has been stepped"),
        ([6], [0], r"env_id\[0\]=6 is not in 0..5; no lane has been stepped"),
        ([-1], [0], r"env_id\[0\]=-1 is not in"),
        ([2, 2], [0, 0], r"env_id\[1\]=2 occurs twice.*no lane has been stepped"),
        ([2, 3], [0, 5], "action 5 of lane 3"),
        ([2, 3], [0], r"shape \(1,\), but 2 lanes"),
    ):
        with pytest.raises(ValueError, match=refused):
            env.step(actions, ids)
    with pytest.raises(TypeError, match="env_id="):
        env.step([0], [1.5])
    assert not env.state["elapsed_steps"].any()
    env.step([0, 0], [4, 5])
    env.step([0], [4])
    with pytest.raises(ResetNeeded, match=r"lane 4 has finished.*no lane has been stepped"):
        env.step([0, 0], [5, 4])
    env.step([0], [5])
    env.reset(options={"reset_mask": np.arange(6) == 4})
    env.step([0], [4])
    env.send([0], [1])
    with pytest.raises(RuntimeError, match="in flight"):
        env.step([0], [2])


def test_in_a_forked_child():
    env, other = (batchenv.make("CartPole-v1", 600, num_threads=2) for _ in range(2))
    for each in (env, other):
        each.reset(seed=0)
        each._backend.core.force_parallel(True)
    ids = np.arange(600)[::-1]
    env.step(np.zeros(600, int), ids)
    child = os.fork()
    if child == 0:
        try:
            os._exit(int(env.step(np.ones(600, int), ids)[0].shape != (600, 4)))
        finally:
            os._exit(2)
    assert os.waitpid(child, 0)[1] == 0
    other.step(np.zeros(600, int))
    np.testing.assert_array_equal(env.step(np.ones(600, int), ids)[0][::-1], other.step(np.ones(600, int))[0])


@pytest.mark.parametrize("env_id", ["HalfCheetah-v5", "ALE/Pong-v5"])
def test_engines(env_id):
    pytest.importorskip("mujoco" if env_id.startswith("Half") else "ale_py")
    env, other = (batchenv.make(env_id, 5, num_threads=2) for _ in range(2))
    env.reset(seed=0)
    other.reset(seed=0)
    for actions in sampled(env, 5):
        some = [env.step(actions[ids], ids) for ids in (np.array([4, 0]), np.array([2, 3, 1]))]
        expected = other.step(actions)
        np.testing.assert_array_equal(some[0][0], expected[0][[4, 0]])
        np.testing.assert_array_equal(some[1][0], expected[0][[2, 3, 1]])
        np.testing.assert_array_equal(some[1][1], expected[1][[2, 3, 1]])


@pytest.mark.parametrize("masked", [False, True])
def test_options_of_resets_may_differ_from_lane_to_lane(masked):
    lanes = 200  # more than are reset at once
    env = begun(batchenv.make("CartPole-v1", lanes, num_threads=3), seed=3)
    low = np.linspace(-0.3, -0.1, lanes)
    mask = {"reset_mask": np.arange(lanes) % 3 == 0} if masked else {}
    before = env.snapshot()
    expected = np.empty((lanes, 4), np.float32)
    for lane in range(0, lanes, 9):
        env.restore(before)
        expected[lane] = env.reset(options={"low": low[lane], "high": 0.1, **mask})[0][lane]
    env.restore(before)
    found, _ = env.reset(options={"low": low, "high": 0.1, **mask})
    assert found[::9].tobytes() == expected[::9].tobytes()
    with pytest.raises(ValueError, match=r"Lower bound.*\(lane 198\)"):
        env.reset(options={"low": np.where(np.arange(lanes) == 198, 0.5, low), "high": 0.1, **mask})
    with pytest.raises(ValueError, match=r"low has shape \(3,\), but must be one value, or have one per lane"):
        env.reset(options={"low": low[:3]})
    with pytest.raises(ValueError, match="low"):
        env.async_reset(options={"low": low})
