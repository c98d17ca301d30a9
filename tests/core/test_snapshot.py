"""Snapshots: a restored lane goes on bit for bit, wherever it is put; bad bytes change nothing."""

import copy
import pickle

import gymnasium
import numpy as np
import pytest

import batchenv
from helpers import ids
from helpers.begun import begun

MODES = ["NextStep", "SameStep", "Disabled"]
LANES = 70


def make(env_id, lanes=LANES, mode="NextStep", **more):
    return batchenv.make(env_id, lanes, autoreset_mode=mode, max_episode_steps=23, **more)


def run(env, actions):
    """Steps and resets what has finished; returns everything that came out."""
    out = []
    for a in actions:
        observation, reward, terminated, truncated, _ = env.step(a)
        done = terminated | truncated
        if env.metadata["autoreset_mode"] is gymnasium.vector.AutoresetMode.DISABLED and done.any():
            observation, _ = env.reset(options={"reset_mask": done})
        parts = observation if isinstance(observation, tuple) else (observation,)
        out.append((*parts, reward, terminated, truncated))
    return out


def equal(a, b, lanes_a=slice(None), lanes_b=slice(None)):
    for x, y in zip(a, b, strict=True):
        for p, q in zip(x, y, strict=True):
            np.testing.assert_array_equal(p[lanes_a], q[lanes_b])


def started(env_id, mode="NextStep", steps=37, **more):
    env = make(env_id, mode=mode, **more)
    env.action_space.seed(0)
    env.reset(seed=3)
    actions = np.array([env.action_space.sample() for _ in range(steps + 60)])
    run(env, actions[:steps])
    return env, actions[steps:]


@pytest.mark.cases(1, per="env_id")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("env_id", ids.OWN)
def test_goes_on_bit_for_bit(env_id, mode):
    env, actions = started(env_id, mode)
    snapshot = env.snapshot()
    expected = run(env, actions)
    env.restore(snapshot)
    equal(run(env, actions), expected)
    fresh = make(env_id, mode=mode)
    fresh.restore(snapshot)
    equal(run(fresh, actions), expected)


@pytest.mark.parametrize("env_id", ids.OWN)
def test_into_other_lanes(env_id):
    env, actions = started(env_id)
    other = begun(make(env_id, 5), seed=99)
    other.restore(env.snapshot([69, 0, 13]), [4, 1, 2])
    expected = run(env, actions)
    got = run(other, actions[:, [1, 0, 13, 3, 69]])
    equal(got, expected, [4, 1, 2], [69, 0, 13])


@pytest.mark.parametrize("env_id", ids.OWN)
def test_returned_observations_are_the_present_ones(env_id):
    env, actions = started(env_id)
    last = run(env, actions[:5])[-1]
    observation = env.restore(env.snapshot())
    parts = observation if isinstance(observation, tuple) else (observation,)
    for x, y in zip(parts, last, strict=False):
        np.testing.assert_array_equal(x, y)


def test_branching():
    env, _ = started("CartPole-v1")
    tree = batchenv.make("CartPole-v1", 64, num_threads=1)
    tree.restore(env.snapshot(7))
    assert all((column == column[0]).all() for column in tree.state.values())
    choices = np.random.default_rng(0).integers(0, 2, (10, 64))
    for a in choices:
        tree.step(a)
    assert len(np.unique(tree.state["theta"])) > 32
    tree.restore(env.snapshot(slice(0, 10)), lanes=[5], rows=[3])
    assert tree.state["theta"][5] == env.state["theta"][3]


def test_parameters_travel_along():
    env, actions = started("CartPole-v1", gravity=np.linspace(1, 20, LANES))
    expected_from = env.snapshot([0, 69])
    plain = begun(make("CartPole-v1", 4))
    plain.restore(expected_from, [1, 3])
    np.testing.assert_array_equal(plain.get_params()["gravity"], [9.8, 1, 9.8, 20])
    got, expected = run(plain, actions[:, [0, 0, 0, 69]]), run(env, actions)
    equal(got, expected, [1, 3], [0, 69])


@pytest.mark.cases(1, per="env_id")
@pytest.mark.parametrize("env_id", ids.OWN)
@pytest.mark.parametrize("copier", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_copies_of_the_env(env_id, copier):
    env, actions = started(env_id, "SameStep")
    twin = copier(env)
    assert twin is not env and repr(twin) == repr(env) and twin.spec == env.spec
    assert twin.np_random_seed == env.np_random_seed and twin.action_space == env.action_space
    np.testing.assert_array_equal(twin.action_space.sample(), env.action_space.sample())
    equal(run(twin, actions), run(env, actions))
    a, b = twin.rollout(5, policy="random", seed=1), env.rollout(5, policy="random", seed=1)
    np.testing.assert_array_equal(a.actions, b.actions)
    np.testing.assert_array_equal(twin.rollout(5, policy="random").actions, env.rollout(5, policy="random").actions)


def test_copies_of_an_env_not_reset_and_of_a_closed_one():
    env = copy.deepcopy(batchenv.make("CartPole-v1", 3, seed=4, gravity=[1.0, 2.0, 3.0]))
    np.testing.assert_array_equal(env.reset()[0], batchenv.make("CartPole-v1", 3).reset(seed=4)[0])
    assert env.get_attr("gravity") == (1.0, 2.0, 3.0)
    env.close()
    assert copy.deepcopy(env).closed


def test_snapshot_objects():
    env, _ = started("CartPole-v1")
    snapshot = env.snapshot(range(5))
    assert len(snapshot) == 5 and snapshot == batchenv.Snapshot(bytes(snapshot)) == pickle.loads(pickle.dumps(snapshot))
    assert len({snapshot, env.snapshot(range(5)), env.snapshot(range(4))}) == 2
    assert env.snapshot(0) == env.snapshot(0) != env.snapshot(1) and snapshot != bytes(snapshot)
    assert snapshot.nbytes < 5 * 80 + 200  # compact
    env.restore(bytes(snapshot), range(5))
    with pytest.raises(TypeError, match="must be bytes"):
        batchenv.Snapshot("text")


def test_state_is_named_and_read_only():
    env, _ = started("Pendulum-v1")
    state = env.state
    assert list(state) == ["theta", "theta_dot", "elapsed_steps"] and state["theta"].shape == (LANES,)
    with pytest.raises(ValueError, match="read-only"):
        state["theta"][0] = 1
    before = state["theta"].copy()
    env.step(env.action_space.sample())
    np.testing.assert_array_equal(state["theta"], before)


BAD = [
    (lambda s: b"", ValueError, "too few bytes"),
    (lambda s: s[:-1], ValueError, "length"),
    (lambda s: s + b"\0", ValueError, "length"),
    (lambda s: b"X" + s[1:], ValueError, "does not start"),
    (lambda s: s[:200] + bytes([s[200] ^ 1]) + s[201:], ValueError, "checksum"),
    (lambda s: s[:8] + b"\xff\0\0\0" + s[12:], ValueError, "version 255"),
    (lambda s: 7, TypeError, "must be a batchenv.Snapshot"),
]


@pytest.mark.parametrize("damage,error,words", BAD)
def test_damaged_bytes_change_nothing(damage, error, words):
    env, actions = started("CartPole-v1")
    twin = copy.deepcopy(env)
    with pytest.raises(error, match=words):
        env.restore(damage(bytes(env.snapshot())))
    equal(run(env, actions), run(twin, actions))


def test_every_flipped_bit_is_noticed():
    env, _ = started("MountainCar-v0")
    sound = bytes(env.snapshot([1]))
    for bit in range(8 * len(sound)):
        data = bytearray(sound)
        data[bit // 8] ^= 1 << bit % 8
        with pytest.raises(ValueError):
            env.restore(data, 1)


@pytest.mark.parametrize(
    "call,error,words",
    [
        (lambda e, s: e.restore(s, [0, 1]), ValueError, "70 lanes of the snapshot cannot go into 2"),
        (lambda e, s: e.restore(s, [0, 0], rows=[1, 2]), ValueError, "twice"),
        (lambda e, s: e.restore(s, 70, rows=0), ValueError, "lane 70 of lanes"),
        (lambda e, s: e.restore(s, 0, rows=70), ValueError, "lane 70 of rows"),
        (lambda e, s: e.restore(s, []), ValueError, "into 0 lanes"),
        (lambda e, s: e.snapshot([]), ValueError, "no lane"),
        (lambda e, s: e.snapshot("x"), TypeError, "lanes='x'"),
        (lambda e, s: make("Pendulum-v1").restore(s), ValueError, "another env type"),
        (lambda e, s: make("CartPole-v1", sutton_barto_reward=True).restore(s), ValueError, "sutton_barto_reward"),
        (lambda e, s: make("CartPole-v1").restore(s, 0, rows=0), gymnasium.error.ResetNeeded, "before any reset"),
        (lambda e, s: make("CartPole-v1").snapshot(), gymnasium.error.ResetNeeded, "before calling"),
    ],
)
def test_misuse(call, error, words):
    env, actions = started("CartPole-v1")
    twin = copy.deepcopy(env)
    with pytest.raises(error, match=words):
        call(env, env.snapshot())
    equal(run(env, actions), run(twin, actions))


def test_a_finished_lane_does_not_fit_same_step():
    env = begun(batchenv.make("CartPole-v1", 2, max_episode_steps=1))
    env.step(np.zeros(2, np.int64))
    with pytest.raises(ValueError, match="waits for its reset"):
        batchenv.make("CartPole-v1", 2, autoreset_mode="SameStep").restore(env.snapshot())
