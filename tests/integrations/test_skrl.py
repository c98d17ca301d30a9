"""skrl's wrapper over a BatchEnv: against the same over Gymnasium's lanes, and a training of skrl's."""

import copy

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import batchenv
from helpers.awkward import ALIKE, makers, same

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


@pytest.mark.parametrize("workers", ["serial", "threads", "processes", "asyncio"])
@pytest.mark.parametrize("mode", AutoresetMode, ids=str)
@pytest.mark.parametrize("parts", [False, True])
def test_an_awkward_env(workers, mode, parts):
    """Observations, rewards, ends and infos are those of skrl's wrapper over Gymnasium's lanes, and stay as they are.

    skrl's own trainers reset once, without options, and never again: with "Disabled" a loop of one's own has to do it,
    by the env below.
    """
    some = {} if workers == "asyncio" else {"num_workers": 2}
    ours = batchenv.make_python(makers(parts=parts, says=ALIKE), workers=workers, autoreset_mode=mode, **some)
    theirs = SyncVectorEnv(makers(parts=parts, reuses=False, says=ALIKE), autoreset_mode=mode)
    wrapped = [wrap_env(env, wrapper="gymnasium", verbose=False) for env in (ours, theirs)]
    for env in wrapped:
        env._seed = 5
    kept = []

    def compare(mine, its):
        """skrl hands infos on as they are; ours are a subclass of dict where last observations are among them."""
        mine, its = ((*[part.numpy() for part in result[:-1]], dict(result[-1])) for result in (mine, its))
        same(mine, its)
        kept.append((mine, copy.deepcopy(mine)))

    compare(*[env.reset() for env in wrapped])
    for options in (None, {"start": [1]}):
        if options:
            same(*[env.reset(seed=[3, 9, 1, 2], options=options) for env in (ours, theirs)])
        for step in range(11):
            actions = torch.arange(LANES).reshape(-1, 1) * step % 3
            results = [env.step(actions) for env in wrapped]
            compare(*results)
            compare(*[env.reset() for env in wrapped])  # which is the last step's
            done = (results[0][2] | results[0][3]).numpy().ravel()
            if done.any() and mode is AutoresetMode.DISABLED:
                same(*[env.reset(options={"reset_mask": done}) for env in (ours, theirs)])
    for now, before in kept:
        same(now, before)
    for env in wrapped:
        env.close()


def test_an_awkward_env_that_says_what_cannot_be_put_together():
    """Gymnasium's lanes fail with what no array can hold, and so do these, which can go on."""
    ours = batchenv.make_python(makers(), workers="serial", autoreset_mode="SameStep")
    theirs = SyncVectorEnv(makers(reuses=False), autoreset_mode="SameStep")
    for env in (ours, theirs):
        with pytest.raises((ArithmeticError, TypeError, ValueError)):
            wrap_env(env, wrapper="gymnasium", verbose=False).reset()
        env.close()
