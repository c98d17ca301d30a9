"""skrl's wrapper over a BatchEnv: against the same over Gymnasium's lanes, and a training of skrl's."""

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import batchenv

torch = pytest.importorskip("torch")
pytest.importorskip("skrl")

from skrl.envs.wrappers.torch import wrap_env  # noqa: E402

LANES = 4


@pytest.mark.parametrize("mode", [AutoresetMode.SAME_STEP, AutoresetMode.NEXT_STEP], ids=str)
@pytest.mark.parametrize("env_id", ["CartPole-v1", "Pendulum-v1", "Ant-v5"])
def test_trajectories(env_id, mode):
    make = lambda: gymnasium.make(env_id, disable_env_checker=True, max_episode_steps=15)  # noqa: E731
    envs = [
        batchenv.make(env_id, LANES, autoreset_mode=mode, max_episode_steps=15),
        SyncVectorEnv([make] * LANES, autoreset_mode=mode),
    ]
    mine, other = wrapped = [wrap_env(env, wrapper="gymnasium", verbose=False) for env in envs]
    assert mine.num_envs == other.num_envs == LANES
    assert mine.observation_space == other.observation_space and mine.action_space == other.action_space
    for env in wrapped:
        env._seed = 5
    first = [env.reset()[0] for env in wrapped]
    assert torch.equal(*first)
    envs[1].action_space.seed(0)
    ended = 0
    for _ in range(50):
        actions = torch.as_tensor(envs[1].action_space.sample()).reshape(LANES, -1)
        results = [env.step(actions) for env in wrapped]
        for a, b in zip(results[0][:4], results[1][:4], strict=True):
            assert a.dtype == b.dtype and torch.equal(a, b)
        ended += int((results[0][2] | results[0][3]).sum())
    assert ended > 8
    for env in wrapped:
        env.close()


def test_a_training(tmp_path):
    """skrl's PPO learns from these lanes: the pole stays up ever longer."""
    from skrl.utils.runner.torch import Runner

    torch.manual_seed(0)
    env = batchenv.make("CartPole-v1", 16, seed=0, autoreset_mode="SameStep", record_episode_statistics=True)
    returns, step = [], env.step

    def watched(actions):
        result = step(actions)
        if "episode" in result[4]:
            returns.extend(result[4]["episode"]["r"][result[4]["_episode"]].tolist())
        return result

    env.step = watched
    network = [{"name": "net", "input": "OBSERVATIONS", "layers": [64, 64], "activations": "tanh"}]
    configuration = {
        "seed": 0,
        "models": {
            "separate": True,
            "policy": {"class": "CategoricalMixin", "network": network, "output": "ACTIONS"},
            "value": {"class": "DeterministicMixin", "network": network, "output": "ONE"},
        },
        "memory": {"class": "RandomMemory", "memory_size": -1},
        "agent": {
            "class": "PPO",
            "rollouts": 64,
            "learning_epochs": 6,
            "mini_batches": 4,
            "learning_rate": 2e-3,
            "experiment": {"directory": str(tmp_path), "write_interval": 0, "checkpoint_interval": 0},
        },
        "trainer": {"class": "SequentialTrainer", "timesteps": 1600, "disable_progressbar": True},
    }
    Runner(wrap_env(env, wrapper="gymnasium", verbose=False), configuration).run("train")
    assert len(returns) > 200
    assert np.mean(returns[:100]) < 40 and np.mean(returns[-30:]) > 100
