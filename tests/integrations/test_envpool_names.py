"""EnvPool's names, keywords and loops over batchenv: what docs/reference/from-envpool.md says can be taken as it is."""

import copy
import inspect
import pickle

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

import batchenv
import batchenv as envpool  # how a script changes over
from helpers.begun import begun


@pytest.fixture(scope="module")
def atari():
    pytest.importorskip("multi_agent_ale_py", reason="needs libale_c: pip install 'batchenv[atari]'")
    pytest.importorskip("ale_py", reason="needs the ROMs of ale-py: pip install 'batchenv[atari]'")


# ---- loops as EnvPool's documentation and its users write them -----------------------------------------------------


@pytest.mark.parametrize("env_type", ["gymnasium", None])
def test_synchronous_loop(env_type):
    if env_type is None:
        env = envpool.make_gymnasium("CartPole-v1", num_envs=5, seed=3)
    else:
        env = envpool.make("CartPole-v1", env_type=env_type, num_envs=5, seed=3)
    num_envs, num_actions = len(env), env.action_space.n
    observations, _ = env.reset()
    returns, lengths, ended = np.zeros(num_envs), np.zeros(num_envs), 0
    reference = batchenv.make("CartPole-v1", 5)
    np.testing.assert_array_equal(observations, reference.reset(seed=3)[0])
    for step in range(300):
        actions = np.arange(num_envs, dtype=np.int32) // 2 % num_actions
        observations, rewards, terminations, truncations, _ = env.step(actions)
        expected = reference.step(actions)
        np.testing.assert_array_equal(observations, expected[0], err_msg=f"step {step}")
        returns, lengths = returns + rewards, lengths + 1
        ended += np.count_nonzero(terminations | truncations)
    assert ended > 50 and returns.max() <= 300


@pytest.mark.parametrize("make", [envpool.make_gymnasium, lambda *a, **k: envpool.make(*a, env_type="gymnasium", **k)])
def test_asynchronous_loop(make):
    env = make("Pendulum-v1", num_envs=6, batch_size=3, num_threads=2, seed=0, thread_affinity_offset=0)
    assert env.is_async
    low, high = env.single_action_space.low, env.single_action_space.high
    env.async_reset()
    steps = np.zeros(len(env), int)
    for _ in range(200):
        observations, rewards, _, _, info = env.recv()
        env_id = info["env_id"]
        assert len(observations) == len(rewards) == 3 and set(env_id) <= set(env.all_env_ids)
        steps[env_id] += 1
        env.send(np.random.default_rng(0).uniform(low, high, (len(env_id), 1)), env_id)
    assert steps.sum() == 600 and steps.min() > 0


def test_number_of_actions_on_both_spaces():
    """`env.action_space.n`, whatever the batch size; the space stays Gymnasium's."""
    for batch_size in (1, 4, None):
        env = envpool.make_gymnasium("CartPole-v1", num_envs=4, batch_size=batch_size)
        assert env.action_space.n == env.single_action_space.n == 2
        assert env.action_space == gymnasium.vector.utils.batch_space(spaces.Discrete(2), 4)
        for again in (copy.deepcopy(env), pickle.loads(pickle.dumps(env))):
            assert again.action_space.n == 2
        env.set_params(gravity=3.0)
        assert env.action_space.n == 2
    assert not hasattr(envpool.make_gymnasium("Pendulum-v1").action_space, "n")


def test_dm_loop():
    dm_env = pytest.importorskip("dm_env", reason="needs dm_env: pip install 'batchenv[dm]'")
    env = envpool.make_dm("Catch-v0", num_envs=4, seed=1)
    assert len(env) == 4 and env.config["num_envs"] == 4
    np.testing.assert_array_equal(env.all_env_ids, range(4))
    time_step = env.reset()
    num_actions, total = env.action_spec().num_values, np.zeros(4)
    for _ in range(30):
        time_step = env.step(np.full(4, num_actions - 1))
        total[time_step.observation.env_id] += time_step.reward
    assert (time_step.step_type >= dm_env.StepType.FIRST).all() and np.abs(total).max() <= 3
    assert envpool.make_spec("Catch-v0").action_spec() == env.action_spec()
    assert envpool.make_spec("Catch-v0", num_envs=4).observation_spec() == env.observation_spec()


# ---- names ---------------------------------------------------------------------------------------------------------


def test_lists_and_specs():
    assert envpool.list_all_envs() == batchenv.list_envs()
    spec = envpool.make_spec("CartPole-v1", num_envs=3, gravity=3.7)
    env = envpool.make_gymnasium("CartPole-v1", num_envs=3, gravity=3.7)
    assert spec.observation_space == env.single_observation_space and spec.action_space.n == 2
    assert spec.reward_threshold == 475 == env.spec.reward_threshold
    assert spec.config._asdict() == env.config
    assert (spec.config.num_envs, spec.config.gravity, spec.config.max_episode_steps) == (3, 3.7, 500)
    assert "Discrete(2)" in repr(spec)


def test_config_is_what_there_is_now():
    env = envpool.make_gymnasium("FrozenLake-v1", num_envs=4, batch_size=2, map_name="8x8", max_episode_steps=None)
    assert [env.config[name] for name in ("num_envs", "batch_size", "max_episode_steps")] == [4, 2, None]
    assert len(env.config["desc"]) == 8 and env.config["success_rate"] == pytest.approx(1 / 3)
    env.set_params(success_rate=0.5)
    assert env.config["success_rate"] == 0.5


def test_make_gym_says_which_one():
    with pytest.raises(AttributeError, match=r"five.*make_gymnasium.*env_type='gym'"):
        envpool.make_gym  # noqa: B018
    assert not hasattr(batchenv, "make_gym") and "make_gym" not in batchenv.__all__


# ---- reset(env_id) -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("env_id", [[2], [3, 1], np.array([0, 2, 1], np.int32), np.arange(5)], ids=str)
@pytest.mark.parametrize("name", ["CartPole-v1", "Taxi-v4", "Blackjack-v1"])
def test_reset_of_some(name, env_id):
    """As a masked reset, the chosen rows of which are returned in the order of env_id."""
    ours, masked = (envpool.make_gymnasium(name, num_envs=5) for _ in range(2))
    for env in (ours, masked):
        env.reset(seed=4)
        env.step(np.zeros(5, int))
    mask = np.zeros(5, bool)
    mask[env_id] = True
    observations, infos = ours.reset(env_id)
    expected, all_infos = masked.reset(options={"reset_mask": mask})
    for mine, theirs in zip(*(x if isinstance(x, tuple) else (x,) for x in (observations, expected)), strict=True):
        np.testing.assert_array_equal(mine, theirs[env_id])
    np.testing.assert_array_equal(infos.pop("env_id"), env_id)
    assert infos.keys() == all_infos.keys()
    for key, value in infos.items():
        np.testing.assert_array_equal(value, all_infos[key][env_id])
    assert ours.snapshot() == masked.snapshot()


def test_reset_of_some_with_the_old_api():
    env = envpool.make("CartPole-v1", env_type="gym", num_envs=4)
    env.reset()
    assert env.reset([1, 3]).shape == (2, 4) and len(env) == 4


def test_reset_of_some_that_fail():
    env = begun(envpool.make_gymnasium("Synthetic-v0", num_envs=4, cost_us=0.0))
    env.set_params(fail_reset=2)
    assert len(env.reset([1, 3])[0]) == 2
    with pytest.raises(batchenv.LaneError) as caught:
        env.reset([3, 2])
    observations, infos = caught.value.result
    assert caught.value.env_id.tolist() == [2] and infos["env_id"].tolist() == [3, 2]
    assert observations[0].any() and not observations[1].any()


@pytest.mark.parametrize("wrong", [0, 3, np.int64(1), "1", [4], [-1], [1, 1], [], [0.0], [True], [[1]], None], ids=repr)
def test_wrong_lanes_to_reset(wrong):
    """An int is most likely a seed; nothing has moved."""
    env = begun(envpool.make_gymnasium("CartPole-v1", num_envs=4))
    env.step(np.zeros(4, int))
    before = env.snapshot()
    if wrong is None:  # all lanes
        assert len(env.reset(wrong)[0]) == 4
        return
    with pytest.raises((TypeError, ValueError), match="env_id"):
        env.reset(wrong)
    with pytest.raises(TypeError, match="reset_mask"):
        env.reset([1], options={"reset_mask": np.ones(4, bool)})
    assert env.snapshot() == before


# ---- keywords ------------------------------------------------------------------------------------------------------


def test_atari_keywords(atari):
    """All of EnvPool 1.2.7's that have a meaning here, at its defaults."""
    theirs = envpool.make(
        "Pong-v5",
        env_type="gymnasium",
        num_envs=2,
        batch_size=2,
        num_threads=1,
        max_num_players=1,
        thread_affinity_offset=-1,
        seed=42,
        gym_reset_return_info=True,
        max_episode_steps=27000,
        stack_num=4,
        frame_skip=4,
        noop_max=30,
        zero_discount_on_life_loss=False,
        episodic_life=False,
        reward_clip=False,
        use_fire_reset=True,
        img_height=84,
        img_width=84,
        mode=-1,
        difficulty=-1,
        full_action_space=False,
        repeat_action_probability=0.0,
        use_inter_area_resize=True,
        gray_scale=True,
    )
    ours = envpool.make("Pong-v5", 2, seed=42)
    np.testing.assert_array_equal(theirs.reset()[0], ours.reset()[0])
    for _ in range(20):
        for mine, other in zip(ours.step([2, 3])[:4], theirs.step([2, 3])[:4], strict=True):
            np.testing.assert_array_equal(mine, other)


def test_gray_scale_of_an_id_in_colours(atari):
    env = envpool.make_gymnasium("PongNoFrameskip-v4", num_envs=1, gray_scale=True, img_height=84, img_width=84)
    assert env.single_observation_space.shape == (84, 84)


@pytest.mark.parametrize(
    "keywords, text",
    [
        ({"gray_scale": False}, "gray_scale=False .*obs_type='rgb'"),
        ({"use_inter_area_resize": False}, "use_inter_area_resize=False .*by area"),
        ({"zero_discount_on_life_loss": True}, "zero_discount_on_life_loss=True .*life_lost"),
        ({"gray_scale": 1}, "gray_scale=1 must be True or False"),
        ({"gray_scale": True, "obs_type": "ram"}, "gray_scale=True and obs_type='ram'"),
        ({"mode": -2}, "mode=-2"),
    ],
    ids=str,
)
def test_atari_values_that_cannot_be_had(atari, keywords, text):
    with pytest.raises((TypeError, ValueError), match=text):
        envpool.make_gymnasium("Pong-v5", num_envs=2, **keywords)


@pytest.mark.parametrize(
    "keywords, text",
    [
        ({"max_num_players": 2}, "max_num_players=2 .*players=2"),
        ({"max_num_players": "1"}, "max_num_players='1' must be an int"),
        ({"gym_reset_return_info": False}, "gym_reset_return_info=False .*env_type='gym'"),
        ({"thread_affinity_offset": -2}, "thread_affinity_offset=-2 must be at least -1"),
        ({"thread_affinity_offset": 0, "thread_affinity": 0}, "thread_affinity_offset says what thread_affinity"),
        ({"gray_scale": True}, "CartPole-v1 has no parameter 'gray_scale'"),
        ({"base_path": "/tmp"}, "CartPole-v1 has no parameter 'base_path'"),
    ],
    ids=str,
)
def test_values_that_cannot_be_had(keywords, text):
    with pytest.raises((TypeError, ValueError), match=text):
        envpool.make_gymnasium("CartPole-v1", num_envs=2, **keywords)


def test_the_spec_has_our_keywords():
    """So that make_vec(env.spec) makes the same again."""
    env = envpool.make_gymnasium("CartPole-v1", num_envs=2, thread_affinity_offset=0, max_num_players=1)
    assert "thread_affinity_offset" not in env.spec.kwargs and env.spec.kwargs["thread_affinity"] == 0
    assert gymnasium.make_vec(env.spec).config == env.config


def test_env_type_by_position():
    env = batchenv.make("CartPole-v1", "gymnasium", num_envs=3)
    assert type(env) is batchenv.BatchEnv and env.num_envs == 3
    assert type(batchenv.make("CartPole-v1", "envpool_gym", num_envs=2)).__name__ == "PoolBatchEnv"
    with pytest.raises(ValueError, match="use make_gymnasium, or env_type='gymnasium'"):
        batchenv.make("CartPole-v1", "gym", num_envs=3)
    with pytest.raises(TypeError, match="env_type is given twice: 'gymnasium' and 'dm'"):
        batchenv.make("CartPole-v1", "gymnasium", num_envs=3, env_type="dm")
    with pytest.raises(ValueError, match="env_type='gymnasum' must be 'gymnasium'"):
        batchenv.make("CartPole-v1", "gymnasum", num_envs=3)
    assert list(inspect.signature(batchenv.make).parameters) == ["env_id", "num_envs", "env_type", "kwargs"]


def test_actions_in_a_dict_say_what_to_write():
    env = batchenv.make("CartPole-v1", 4)
    env.reset()
    for call in (lambda actions: env.send(actions, np.arange(4)), env.step):
        with pytest.raises(TypeError, match=r"a dict with 'action', 'env_id'.*is send\(a, ids\) or step\(a, ids\)"):
            call({"action": np.zeros(4, int), "env_id": np.arange(4)})
    with pytest.raises(TypeError, match=r"a dict with 'left'; pass an array of shape \(4,\), one row per lane$"):
        env.step({"left": 1})
