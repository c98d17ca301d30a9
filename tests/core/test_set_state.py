"""env.set_state: fields of the state of lanes, set from Python."""

import copy

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded

import batchenv
from helpers.begun import begun

ISAS = ["baseline", None]


def started(env_id, lanes=5, **keywords):
    env = begun(batchenv.make(env_id, lanes, **keywords), seed=1)
    return env


def same_state(first, second):
    return all(first[name].tobytes() == second[name].tobytes() for name in first)


@pytest.mark.parametrize("isa", ISAS)
def test_cartpole_goes_on_as_gymnasiums_does(isa, monkeypatch):
    if isa:
        monkeypatch.setenv("BATCHENV_ISA", isa)
    lanes, rng = 20, np.random.default_rng(0)
    env = started("CartPole-v1", lanes)
    wanted = rng.uniform(-0.1, 0.1, (lanes, 4))
    observations = env.set_state(dict(zip(("x", "x_dot", "theta", "theta_dot"), wanted.T, strict=True)))
    assert observations.tobytes() == wanted.astype(np.float32).tobytes()
    theirs = [gymnasium.make("CartPole-v1") for _ in range(lanes)]
    for one, state in zip(theirs, wanted, strict=True):
        one.reset()
        one.unwrapped.state = tuple(state)
    ended = np.zeros(lanes, bool)
    for _ in range(60):
        actions = rng.integers(2, size=lanes)
        observations, rewards, terminated, truncated, _ = env.step(actions)
        for lane in np.flatnonzero(~ended):
            observation, reward, over, _, _ = theirs[lane].step(actions[lane])
            assert observation.tobytes() == observations[lane].tobytes()
            assert (reward, over) == (rewards[lane], terminated[lane])
        ended |= terminated | truncated
    assert ended.any()


def test_frozen_lake_goes_on_from_the_cell():
    lake = started("FrozenLake-v1", 16, is_slippery=False)
    assert lake.set_state({"s": np.arange(16)}).tolist() == list(range(16))
    reference = gymnasium.make("FrozenLake-v1", is_slippery=False)
    observations, rewards, terminated, _, _ = lake.step(np.full(16, 2))
    for cell in range(16):
        reference.reset()
        reference.unwrapped.s = cell
        assert reference.step(2)[:3] == (observations[cell], rewards[cell], terminated[cell])


@pytest.mark.parametrize(
    "lanes, value, expected",
    [
        ([3], 0.5, {3: 0.5}),
        ([3, 1], [0.5, 0.25], {3: 0.5, 1: 0.25}),
        (None, 0.5, dict.fromkeys(range(5), 0.5)),
        (None, [0, 1, 2, 3, 4], {0: 0, 1: 1, 2: 2, 3: 3, 4: 4}),
        ([4, 2], np.arange(5.0), {2: 2, 4: 4}),
        (slice(0, 2), np.float32([0.5, 0.25]), {0: 0.5, 1: 0.25}),
        (np.arange(5) == 2, [0.75], {2: 0.75}),
        (-1, 1, {4: 1}),
        ([2, 2], 1, {2: 1}),
    ],
    ids=str,
)
def test_fields_of_chosen_lanes(lanes, value, expected):
    env = started("CartPole-v1")
    env.step(np.ones(5, np.int64))
    before = {name: values.copy() for name, values in env.state.items()}
    streams = [generator.bit_generator.state for generator in env.np_random]
    observations = env.set_state({"x": value}, lanes)
    for lane, number in expected.items():
        before["x"][lane] = number
    assert same_state(before, env.state)
    np.testing.assert_array_equal(observations[:, 0], before["x"].astype(np.float32))
    assert streams == [generator.bit_generator.state for generator in env.np_random]


@pytest.mark.parametrize("env_id", ["LunarLander-v3", "Taxi-v4", "Catch-v0", "MiniGrid-DoorKey-5x5-v0", "Acrobot-v1"])
def test_a_whole_state_of_another_env(env_id):
    env, other = started(env_id), batchenv.make(env_id, 5)
    other.reset(seed=7)
    env.restore(other.snapshot())  # the same streams, maps and missions
    env.step(np.zeros(5, np.int64))
    late = env.set_state(other.state)
    assert same_state(env.state, other.state)
    again = copy.deepcopy(other)
    for first, second in zip(*(e.restore(e.snapshot()) for e in (env, again)), strict=True):
        np.testing.assert_array_equal(first, second)
    assert np.size(late) or isinstance(late, (tuple, dict))


def test_elapsed_steps_and_the_time_limit():
    env = started("CartPole-v1", 3, max_episode_steps=10, record_episode_statistics=True)
    env.set_state({"elapsed_steps": 9}, [1])
    assert env.state["elapsed_steps"].tolist() == [0, 9, 0]
    *_, truncated, infos = env.step(np.ones(3, np.int64))
    assert truncated.tolist() == [False, True, False] and infos["episode"]["r"][1] == 1


def test_frames_are_those_of_the_new_state():
    env = started("CartPole-v1", 3, frame_stack=4)
    env.step(np.ones(3, np.int64))
    before = env.restore(env.snapshot())
    observations = env.set_state({"x": 1.5}, [1])
    assert (observations[1] == observations[1][-1]).all() and observations[1, 0, 0] == 1.5
    np.testing.assert_array_equal(observations[[0, 2]], before[[0, 2]])
    after = env.step(np.ones(3, np.int64))[0]
    np.testing.assert_array_equal(after[1, :3], observations[1, 1:])


def test_in_every_mode_and_form():
    modes = [{"autoreset_mode": mode} for mode in ("SameStep", "Disabled")]
    for keywords in (*modes, {"copy": False}, {"time_aware": True}):
        env = started("CartPole-v1", 3, **keywords)
        env.step(np.ones(3, np.int64))
        assert env.set_state({"theta": 0.125}, 0)[0][2] == 0.125
    env = started("CartPole-v1", 3, normalize_observation=True)
    env.step(np.ones(3, np.int64))
    moments = env.normalizer.obs_rms.mean.copy()
    env.set_state({"theta": 0.125}, 0)
    np.testing.assert_array_equal(env.normalizer.obs_rms.mean, moments)


POLE = "CartPole-v1"


@pytest.mark.parametrize(
    "env_id, values, lanes, error, text",
    [
        (POLE, {"y": 1.0}, None, ValueError, "have no state field 'y'; they have: x, x_dot, theta, theta_dot, elapsed"),
        (POLE, {"x": "a"}, None, TypeError, "x has dtype .*, but must hold numbers"),
        (POLE, {"x": [1.0, 2.0]}, None, ValueError, r"x has 2 values|x has shape \(2,\), but must be one value"),
        (POLE, {"x": [[1.0], 2.0]}, None, ValueError, "x has shape"),
        (POLE, {"x": [1.0, 2.0], "theta": 0.0}, [0], ValueError, "x has 2 values"),
        (POLE, {"x": 1.0}, [], ValueError, "chooses no lane"),
        (POLE, {"x": 1.0}, [9], ValueError, "lane 9 of lanes"),
        (POLE, [1.0], None, TypeError, "values must be a dict of fields of the state, not list"),
        (POLE, {"elapsed_steps": -1}, [1], ValueError, r"elapsed_steps=-1 of lane 1 must be in 0\.\.2147483647"),
        (POLE, {"elapsed_steps": 1.0}, None, TypeError, "elapsed_steps has dtype float64, but must hold whole"),
        (POLE, {"x": 1.0, "elapsed_steps": 2**31}, 0, ValueError, "must be in"),
        ("FrozenLake-v1", {"s": [0, 16]}, [2, 4], ValueError, r"s=16 of lane 4 is not a cell of this map, 0\.\.15"),
        ("NChain-v0", {"s": [0, 5]}, [2, 4], ValueError, r"s=5 of lane 4 must be in 0\.\.4"),
        ("FrozenLake-v1", {"s": 1.0}, None, TypeError, "s has dtype float64"),
        ("FrozenLake-v1", {"s": True}, None, TypeError, "s has dtype bool"),
        ("FrozenLake-v1", {"s": 2**70}, None, TypeError, "s has dtype object"),
        ("FrozenLake-v1", {"s": np.uint64(2**63)}, None, ValueError, "s=9223372036854775808"),
        ("LunarLander-v3", {"legs_touch": [0, 1, 1]}, None, ValueError, r"one value of \(2,\) for all chosen lanes"),
        ("Blackjack-v1", {"player_size": 99}, [3], ValueError, "player_size"),
    ],
    ids=str,
)
def test_wrong_values_change_nothing(env_id, values, lanes, error, text):
    env = started(env_id)
    before = env.snapshot()
    with pytest.raises(error, match=text):
        env.set_state(values, lanes)
    assert bytes(env.snapshot()) == bytes(before)


def test_what_check_state_refuses():
    env = started("LunarLander-v3", 3)
    before = env.snapshot()
    with pytest.raises(ValueError, match="lane"):
        env.set_state({"contacts": 10**6}, [1, 2])
    assert env.snapshot() == before


def test_lanes_that_cannot_be_set():
    env = batchenv.make("CartPole-v1", 3)
    with pytest.raises(ResetNeeded, match="before any reset"):
        env.set_state({"x": 0.0})
    env.reset(seed=1)
    env.set_state({"x": 100.0}, [1])
    assert env.step(np.ones(3, np.int64))[2].tolist() == [False, True, False]
    with pytest.raises(ValueError, match="lane 1 has finished its episode and waits for its reset"):
        env.set_state({"x": 0.0})
    env.set_state({"x": 0.5}, [0, 2])
    env.step(np.ones(3, np.int64))  # the reset of lane 1
    assert env.set_state({"x": 0.5})[1, 0] == 0.5
    env.async_reset(seed=0)
    with pytest.raises(RuntimeError, match=r"set_state\(\)"):
        env.set_state({"x": 0.5}, [0])
    python = begun(batchenv.make_python(lambda: gymnasium.make("CartPole-v1"), 2, workers="serial"))
    with pytest.raises(NotImplementedError, match=r"set_state\(\) is not possible here"):
        python.set_state({"x": 0.5})
    with pytest.raises(AttributeError, match=r"has no parameter 'x'.*set_state\(\) changes fields"):
        env.set_attr("x", 0.5)
