"""The gymnasium.vector.VectorEnv contract, against SyncVectorEnv where it says more than a document."""

import copy
import pickle
import tracemalloc

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ClosedEnvironmentError, ResetNeeded
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv
from gymnasium.vector.utils import batch_space

import batchenv
from helpers import ids
from helpers.begun import begun
from helpers.lockstep import actions_of
from helpers.parity import assert_same, make_gymnasium


def sync(env_id, lanes, **kwargs):
    return SyncVectorEnv([lambda: gymnasium.make(env_id, disable_env_checker=True)] * lanes, **kwargs)


@pytest.mark.parametrize("env_id", [*ids.IN_GYMNASIUM, *ids.SAMPLE])
def test_attributes(env_id):
    ours, theirs = batchenv.make(env_id, 3), sync(env_id, 3)
    assert isinstance(ours, VectorEnv) and ours.num_envs == 3
    assert ours.single_observation_space == theirs.single_observation_space
    assert ours.single_action_space == theirs.single_action_space
    assert ours.observation_space == theirs.observation_space == batch_space(ours.single_observation_space, 3)
    assert ours.action_space == theirs.action_space
    assert ours.metadata["autoreset_mode"] is ours.autoreset_mode is AutoresetMode.NEXT_STEP
    assert ours.metadata["render_fps"] == theirs.metadata["render_fps"]
    assert repr(ours) == f"BatchEnv(batchenv/{env_id}, num_envs=3)"
    limit = gymnasium.spec(env_id).max_episode_steps
    assert batchenv.spec(env_id).max_episode_steps == limit
    assert batchenv.spec(env_id).reward_threshold == gymnasium.spec(env_id).reward_threshold


def test_metadata_is_the_instances_own():
    before = dict(VectorEnv.metadata)  # others may have left something there: ale-py's AtariVectorEnv does
    one = batchenv.make("CartPole-v1", 2, autoreset_mode="SameStep")
    two = batchenv.make("CartPole-v1", 2)
    assert one.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    assert two.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
    assert before == VectorEnv.metadata
    two.spec = None  # writable
    assert repr(two) == "BatchEnv(num_envs=2)"


def test_seeds():
    ours, theirs = batchenv.make("CartPole-v1", 3), sync("CartPole-v1", 3)
    for seed in (5, [7, None, 9], None, [1, 2, 3]):
        np.testing.assert_array_equal(ours.reset(seed=seed)[0], theirs.reset(seed=seed)[0])
        assert ours.np_random_seed == theirs.np_random_seed
    assert [g.random() for g in ours.np_random] == [g.random() for g in theirs.np_random]
    with pytest.raises(ValueError, match=r"must match num_envs=3 but got length=2"):
        ours.reset(seed=[1, 2])
    unseeded = batchenv.make("CartPole-v1", 2)
    first, _ = unseeded.reset()
    again, _ = batchenv.make("CartPole-v1", 2, seed=unseeded.np_random_seed[0]).reset()
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, batchenv.make("CartPole-v1", 2).reset()[0])


@pytest.mark.parametrize("env_id", [*ids.IN_GYMNASIUM, *ids.SAMPLE])
def test_masked_reset(env_id):
    ours, theirs = begun(batchenv.make(env_id, 4), seed=2), begun(sync(env_id, 4), seed=2)
    ours.action_space.seed(0)
    for _ in range(5):
        actions = ours.action_space.sample()
        ours.step(actions), theirs.step(actions)
    mask = np.array([False, True, False, True])
    options = {"reset_mask": mask}
    observation, info = ours.reset(seed=[1, 2, None, 4], options=options)
    expected, expected_info = theirs.reset(seed=[1, 2, None, 4], options=dict(options))
    assert options == {"reset_mask": mask}
    np.testing.assert_equal(info, expected_info)
    np.testing.assert_array_equal(observation, expected)
    for _ in range(5):
        actions = ours.action_space.sample()
        assert_same(ours.step(actions)[:4], theirs.step(actions)[:4])


@pytest.mark.parametrize(
    "mask, error, text",
    [
        ([True] * 3, TypeError, r"`options\['reset_mask'\]` must be a numpy array, got <class 'list'>"),
        (np.array([True]), ValueError, r"must have shape `\(3,\)`, got \(1,\)"),
        (np.array([1, 0, 1]), TypeError, r"must have `dtype=np.bool_`, got int64"),
        (np.zeros(3, bool), ValueError, r"at least one True value, got reset_mask=\[False False False\]"),
    ],
)
def test_mask_errors(mask, error, text):
    env = begun(batchenv.make("CartPole-v1", 3))
    with pytest.raises(error, match=text):
        env.reset(options={"reset_mask": mask})


def test_order_of_calls():
    env = batchenv.make("CartPole-v1", 2, autoreset_mode="Disabled", max_episode_steps=3)
    with pytest.raises(ResetNeeded):
        env.step([0, 0])
    with pytest.raises(ResetNeeded, match="reset_mask"):
        env.reset(options={"reset_mask": np.array([True, False])})
    env.reset(seed=0)
    for _ in range(3):
        env.step([0, 1])
    before = np.stack(env.get_attr("state"))
    with pytest.raises(AssertionError, match="lane 0 has finished"):
        env.step([0, 0])
    np.testing.assert_array_equal(before, np.stack(env.get_attr("state")))
    env.reset(options={"reset_mask": np.array([True, True])})
    env.step([0, 0])
    started = batchenv.make("CartPole-v1", 2)  # a mask of all lanes is a full reset, so may be the first
    observation, _ = started.reset(seed=4, options={"reset_mask": np.array([True, True])})
    np.testing.assert_array_equal(observation, sync("CartPole-v1", 2).reset(seed=4)[0])
    assert started.np_random_seed == (4, 5)
    env.close()
    env.close()
    for call in (lambda: env.step([0, 0]), env.reset, lambda: env.get_attr("state")):
        with pytest.raises(ClosedEnvironmentError):
            call()


def test_attributes_of_lanes():
    env = begun(batchenv.make("CartPole-v1", 3))
    assert env.get_attr("gravity") == (9.8, 9.8, 9.8)
    assert env.call("render_mode") == (None, None, None)
    np.testing.assert_array_equal(np.stack(env.get_attr("state")).astype(np.float32), env.reset(seed=0)[0])
    env.set_attr("x_threshold", 1.0)
    assert env.single_observation_space.high[0] == 2.0
    env.set_attr("gravity", [3.0, 3.0, 3.0])
    assert env.get_attr("gravity") == (3.0,) * 3
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        env.get_attr("nonsense")
    with pytest.raises(AttributeError, match="no parameter 'nonsense'"):
        env.set_attr("nonsense", 1)
    with pytest.raises(ValueError, match="Got `2` values for 3"):
        env.set_attr("gravity", [1.0, 2.0])
    env.set_attr("gravity", [1.0, 2.0, 3.0])
    assert env.get_attr("gravity") == (1.0, 2.0, 3.0)
    with pytest.raises(ValueError, match="one value for all lanes"):
        env.set_attr("sutton_barto_reward", [True, False, True])


def test_gymnasium_registration():
    env = gymnasium.make_vec("batchenv/CartPole-v1", num_envs=8, autoreset_mode="SameStep")
    assert isinstance(env, batchenv.BatchEnv) and env.autoreset_mode is AutoresetMode.SAME_STEP
    again = gymnasium.make_vec(env.spec)
    assert again.spec == env.spec and again.num_envs == 8 and again.autoreset_mode is AutoresetMode.SAME_STEP
    made = batchenv.make("CartPole-v1", 4, max_episode_steps=9, sutton_barto_reward=True)
    again = gymnasium.make_vec(made.spec)
    assert again.spec == made.spec and again.get_attr("sutton_barto_reward") == (True,) * 4
    assert isinstance(gymnasium.make_vec("batchenv/Pendulum-v1", 2, vectorization_mode="sync"), SyncVectorEnv)


@pytest.mark.parametrize(
    "again",
    [copy.deepcopy, lambda spec: pickle.loads(pickle.dumps(spec)), lambda spec: type(spec).from_json(spec.to_json())],
    ids=["deepcopy", "pickle", "JSON"],
)
@pytest.mark.parametrize("env_id", ["CartPole-v1", "FrozenLake8x8-v1"])
def test_copies_of_a_registered_spec(env_id, again):
    spec = gymnasium.registry[f"batchenv/{env_id}"]
    made = again(spec)
    assert made == spec == batchenv.spec(env_id) and "env_id" not in made.kwargs
    assert gymnasium.make_vec(made, num_envs=2).id == gymnasium.make(made).unwrapped.spec.id.split("/")[1] == env_id


def test_gymnasium_prints_its_registry():
    assert "batchenv/CartPole-v1" in gymnasium.pprint_registry(disable_print=True)


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
@pytest.mark.parametrize("env_id", [*ids.IN_GYMNASIUM, *ids.SAMPLE])
def test_single_env(env_id):
    check_env(gymnasium.make(f"batchenv/{env_id}").unwrapped, skip_render_check=True)
    ours, theirs = gymnasium.make(f"batchenv/{env_id}"), make_gymnasium(env_id)
    np.testing.assert_array_equal(ours.reset(seed=3)[0], theirs.reset(seed=3)[0])
    for action in actions_of(ours, 300):
        a, b = ours.step(action), theirs.step(action)
        np.testing.assert_array_equal(a[0], b[0])
        assert a[1:4] == b[1:4]
        np.testing.assert_equal(a[4], b[4])
        if a[2] or a[3]:
            np.testing.assert_array_equal(ours.reset()[0], theirs.reset()[0])


# ---- the arrays handed out -----------------------------------------------------------------------------------------


def stepping(env, steps, keep):
    rng = np.random.default_rng(0)
    env.reset(seed=0)
    for _ in range(steps):
        keep(env.step(rng.integers(2, size=env.num_envs)))


@pytest.mark.parametrize("hold", [lambda a: a, lambda a: a[1:], memoryview, np.from_dlpack])
def test_held_arrays_are_never_written_again(hold):
    env, held, copies = batchenv.make("CartPole-v1", 50), [], []

    def keep(result):
        for array in result[:4]:
            if array.base is None and array.size:
                held.append(hold(array))
                copies.append(np.array(held[-1]))
        del result

    stepping(env, 60, keep)
    for a, b in zip(held, copies, strict=True):
        np.testing.assert_array_equal(np.asarray(a), b)


def test_released_arrays_are_recycled():
    env = batchenv.make("CartPole-v1", 2000)
    seen = set()
    last = []

    def keep(result):
        last[:] = [result]
        seen.add(result[0].ctypes.data)

    stepping(env, 50, keep)
    assert len(seen) <= 3
    rng = np.random.default_rng(0)
    actions = rng.integers(2, size=2000)
    tracemalloc.start()
    for _ in range(10):
        result = env.step(actions)
    before = tracemalloc.get_traced_memory()[0]
    tracemalloc.reset_peak()
    for _ in range(300):
        result = env.step(actions)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak - before < 4000  # a 2000-lane set of arrays is 52 kB
    assert result[0].shape == (2000, 4)


def test_ring():
    env = batchenv.make("CartPole-v1", 10, copy=False)
    results = []
    stepping(env, 9, results.append)
    assert [a[0] is b[0] for a, b in zip(results, results[4:], strict=False)] == [True] * 5
    assert len({id(r[0]) for r in results[:4]}) == 4


@pytest.mark.parametrize("copy", [True, False])
def test_changes_in_place_do_no_harm(copy):
    env, plain = begun(batchenv.make("CartPole-v1", 6, copy=copy)), begun(batchenv.make("CartPole-v1", 6))
    for step in range(40):
        actions = np.full(6, step % 2)
        result, expected = env.step(actions), plain.step(actions)
        for a, b in zip(result[:4], expected[:4], strict=True):
            assert a.dtype == b.dtype
            np.testing.assert_array_equal(a, b)
        result[0].flags.writeable = step % 3 != 0
        result[1].flags.writeable = step % 5 != 0
        del result


def test_out():
    env, plain = begun(batchenv.make("Pendulum-v1", 7)), begun(batchenv.make("Pendulum-v1", 7))
    storage = np.zeros((20, 7, 3), np.float32)
    rewards = np.zeros((20, 7))
    terminations, truncations = np.zeros((20, 7), bool), np.zeros((20, 7), bool)
    for step in range(20):
        actions = env.action_space.sample()
        out = (storage[step], rewards[step], terminations[step], truncations[step])
        result, expected = env.step(actions, out=out), plain.step(actions)
        assert all(a is b for a, b in zip(result, out, strict=False))
        np.testing.assert_array_equal(storage[step], expected[0])
        np.testing.assert_array_equal(rewards[step], expected[1])
    result, expected = env.step(actions, out=(storage[0], None, None, None)), plain.step(actions)
    assert np.shares_memory(result[0], storage)
    assert_same(result[:4], expected[:4])
