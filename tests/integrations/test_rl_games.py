"""rl_games' API over a BatchEnv: against Gymnasium's lanes, and a training of rl_games'."""

import copy
import functools

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers.vector import RecordEpisodeStatistics

import batchenv
from helpers.awkward import Awkward, same

pytest.importorskip("rl_games")

from rl_games.common import env_configurations, vecenv
from rl_games.common.algo_observer import DefaultAlgoObserver
from rl_games.common.gym_compat import wrap_gymnasium_env
from rl_games.common.ivecenv import IVecEnv
from rl_games.common.tr_helpers import dicts_to_dict_with_arrays
from rl_games.torch_runner import Runner

from batchenv.integrations.rl_games import register
from helpers.lockstep import actions_of

LANES = 4


@pytest.fixture(autouse=True)
def registered():
    """batchenv is known to rl_games during a test, and not after it."""
    register()
    yield
    del env_configurations.configurations["batchenv"], vecenv.vecenv_config["BATCHENV"]


@pytest.mark.parametrize("env_id", ["CartPole-v1", "Pendulum-v1", "Ant-v5"])
def test_trajectories(env_id):
    mine = vecenv.create_vec_env("batchenv", LANES, env_name=env_id, max_episode_steps=20)
    assert isinstance(mine, IVecEnv) and mine.get_number_of_agents() == 1 and not mine.has_action_masks()
    make = lambda: gymnasium.make(env_id, disable_env_checker=True, max_episode_steps=20)  # noqa: E731
    other = RecordEpisodeStatistics(SyncVectorEnv([make] * LANES, autoreset_mode=AutoresetMode.SAME_STEP))
    known = mine.get_env_info()
    assert known["observation_space"] == other.single_observation_space
    assert known["action_space"] == other.single_action_space and known["autoreset_mode"] == "same_step"
    mine.seed(3)
    np.testing.assert_array_equal(mine.reset(), other.reset(seed=3)[0].astype(np.float32))
    timed_out = ended = 0
    for actions in actions_of(other, 70, seed=0):
        observations, rewards, dones, infos = mine.step(actions)
        theirs = other.step(actions)
        assert observations.dtype == rewards.dtype == np.float32 and dones.dtype == bool
        np.testing.assert_array_equal(observations, theirs[0].astype(np.float32))
        np.testing.assert_array_equal(rewards, theirs[1].astype(np.float32))
        np.testing.assert_array_equal(dones, theirs[2] | theirs[3])
        np.testing.assert_array_equal(infos["time_outs"], theirs[3] & ~theirs[2])
        timed_out, ended = timed_out + infos["time_outs"].sum(), ended + dones.sum()
        assert ("scores" in infos) == dones.any()
        if dones.any():
            np.testing.assert_allclose(infos["scores"][dones], theirs[4]["episode"]["r"][dones], 1e-5)
    assert ended > 8 and timed_out > 0


def configuration(env_config, **changes):
    """A short PPO of rl_games' on CartPole."""
    config = {
        "name": "test",
        "env_name": "batchenv",
        "env_config": env_config,
        "num_actors": 16,
        "reward_shaper": {"scale_value": 0.1},
        "normalize_advantage": True,
        "gamma": 0.99,
        "tau": 0.95,
        "learning_rate": 3e-3,
        "e_clip": 0.2,
        "clip_value": True,
        "entropy_coef": 0.01,
        "truncate_grads": True,
        "grad_norm": 1.0,
        "horizon_length": 64,
        "minibatch_size": 256,
        "mini_epochs": 4,
        "critic_coef": 1,
        "lr_schedule": None,
        "kl_threshold": 0.01,
        "normalize_input": True,
        "normalize_value": True,
        "value_bootstrap": True,
        "ppo": True,
        "device": "cpu",
        "device_name": "cpu",
        "max_epochs": 25,
        "score_to_win": 1e9,
        "save_best_after": 1000,
        "print_stats": False,
        **changes,
    }
    network = {
        "name": "actor_critic",
        "separate": False,
        "space": {"discrete": None},
        "mlp": {"units": [32, 32], "activation": "tanh", "initializer": {"name": "default"}},
    }
    return {
        "params": {
            "seed": 7,
            "algo": {"name": "a2c_discrete"},
            "model": {"name": "discrete_a2c"},
            "network": network,
            "config": config,
        }
    }


class Scores(DefaultAlgoObserver):
    """Keeps what rl_games is told of episodes."""

    def __init__(self):
        self.told = []

    def process_infos(self, infos, done_indices):
        super().process_infos(infos, done_indices)
        self.told += [infos["scores"][lane] for lane in done_indices.flatten().tolist()]


def test_a_training(tmp_path):
    """rl_games' PPO learns from these lanes: the pole stays up ever longer."""
    observer = Scores()
    runner = Runner(observer)
    runner.load(configuration({"env_name": "CartPole-v1", "seed": 1}, train_dir=str(tmp_path)))
    runner.run({"train": True})
    assert len(observer.told) > 200
    assert np.mean(observer.told[:100]) < 40 and np.mean(observer.told[-30:]) > 100


def test_refusals():
    with pytest.raises(ValueError, match="must be 'SameStep' with rl_games"):
        vecenv.create_vec_env("batchenv", 2, env_name="CartPole-v1", autoreset_mode="NextStep")
    with pytest.raises(ValueError, match="with rl_games, which steps all lanes together"):
        vecenv.create_vec_env("batchenv", 2, env_name="CartPole-v1", batch_size=1)
    env = env_configurations.configurations["batchenv"]["env_creator"](env_name="CartPole-v1")
    assert env.num_envs == 1
    with pytest.raises(TypeError, match="seed"):
        env.seed("now")


def test_names():
    """The env_name of configurations may be another one."""
    register("fast")
    try:
        env = vecenv.create_vec_env("fast", 3, env_name="batchenv/CartPole-v1", gravity=3.7)
        assert env.num_envs == 3 and env.env.get_attr("gravity") == (3.7,) * 3
        assert isinstance(env.env, batchenv.BatchEnv)
    finally:
        del env_configurations.configurations["fast"]


class Arrays(Awkward):
    """Its number is one of NumPy's, as rl_games wants it."""

    def _look(self):
        seen = super()._look()
        return seen | {"count": np.int64(seen["count"])} if self.parts else seen


@pytest.mark.parametrize("workers", ["serial", "threads", "processes", "asyncio"])
@pytest.mark.parametrize("parts", [False, True])
def test_an_awkward_env(workers, parts):
    """Observations, rewards, ends and "time_outs" are those of the workers of rl_games' RayVecEnv, which stacks what
    they say, over rl_games' own wrapper of the same envs.

    rl_games has one way of autoreset and no options, and seeds none of Gymnasium's envs. What envs say is left out
    here but for "time_outs" and "scores"; rl_games hands all of it to its observers, as a list.
    """
    some = {} if workers == "asyncio" else {"num_workers": 2}
    envs = [functools.partial(Arrays, lane, parts) for lane in range(LANES)]
    mine = batchenv.make_python(envs, workers=workers, env_type="rl_games", **some)
    plain = [functools.partial(Arrays, lane, parts, reuses=False) for lane in range(LANES)]
    env_configurations.register("awkward", {"env_creator": lambda lane: wrap_gymnasium_env(plain[lane]())})
    others = [vecenv.RayWorker("awkward", {"lane": lane}) for lane in range(LANES)]
    del env_configurations.configurations["awkward"]
    stack = functools.partial(dicts_to_dict_with_arrays, add_batch_dim=True) if parts else np.stack
    known = others[0].get_env_info()
    assert {key: known[key] for key in ("observation_space", "action_space")}.items() <= mine.get_env_info().items()
    kept, ended = [], 0
    for seed in (5, None):
        mine.seed(seed)
        same(mine.reset(), stack([one.reset() for one in others]))
        said = mine.env.get_attr("info")
        assert [info["seed"] for info in said] == [seed and seed + lane for lane in range(LANES)]
        assert all(info["options"] in (None, {}) for info in said)
        returns = np.zeros(LANES)
        for step in range(13):
            actions = np.arange(LANES) * step % 3
            got = mine.step(actions)
            seen, rewards, dones, infos = zip(*map(vecenv.RayWorker.step, others, actions), strict=True)
            timed_out = np.stack([info["time_outs"] for info in infos])
            same(got[:3], (stack(seen), np.stack(rewards).astype(np.float32), np.stack(dones)))
            same(got[3], {"time_outs": timed_out}, ("scores",))
            returns += got[1]
            if got[2].any():
                np.testing.assert_array_equal(got[3]["scores"], np.where(got[2], returns, 0))
            returns[got[2]] = 0
            ended += got[2].sum()
            kept.append((got, copy.deepcopy(got)))
    assert ended > 10
    for now, before in kept:
        same(now, before)
    mine.env.close()
