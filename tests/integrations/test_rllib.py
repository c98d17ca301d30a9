"""RLlib takes ids of batchenv by their vector entry point, in its EnvRunners' processes, too."""

import os

import pytest

ray = pytest.importorskip("ray", reason="needs RLlib: pip install 'ray[rllib]'")
pytest.importorskip("ray.rllib", reason="needs RLlib: pip install 'ray[rllib]'")
pytest.importorskip("torch", reason="needs torch")

from ray.rllib.algorithms.algorithm_config import AlgorithmConfig  # noqa: E402
from ray.rllib.algorithms.ppo import PPOConfig  # noqa: E402
from ray.rllib.env.single_agent_env_runner import SingleAgentEnvRunner  # noqa: E402

import batchenv  # noqa: E402
from helpers.awkward import ALIKE, LANES, makers, same  # noqa: E402


@pytest.mark.parametrize(
    ("env_id", "setup"),
    [
        ("batchenv:batchenv/CartPole-v1", {}),
        ("batchenv/CartPole-v1", {"worker_process_setup_hook": "batchenv.register_with_gymnasium"}),
    ],
)
def test_a_remote_runner_steps_a_batch_env(env_id, setup):
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    ray.init(
        "local", num_cpus=2, object_store_memory=200 * 2**20, include_dashboard=False, logging_level="ERROR",
        log_to_driver=False, runtime_env=setup,
    )  # fmt: skip
    try:
        config = (
            PPOConfig()
            .environment(env_id)
            .env_runners(num_env_runners=1, num_envs_per_env_runner=16, gym_env_vectorize_mode="vector_entry_point")
            .training(train_batch_size_per_learner=512, minibatch_size=256, num_epochs=1)
        )
        algorithm = config.build_algo()
        results = algorithm.train()["env_runners"]
        runners = algorithm.env_runner_group
        envs = runners.foreach_env_runner(lambda runner: repr(runner.env.unwrapped), local_env_runner=False)
        algorithm.stop()
    finally:
        ray.shutdown()
    assert envs == [repr(batchenv.make("CartPole-v1", 16))]
    assert results["num_env_steps_sampled"] >= 512
    assert 8 < results["episode_return_mean"] < 60  # of random actions: 22


def runner(env, mode):
    """RLlib's EnvRunner in this process, without a network: it takes random actions."""
    config = (
        AlgorithmConfig()
        .environment(env)
        .env_runners(num_env_runners=0, num_envs_per_env_runner=LANES, gym_env_vectorize_mode=mode)
        .debugging(seed=5)
    )
    made = SingleAgentEnvRunner(config=config)
    made.env.action_space.seed(0)
    return made


def told(episode):
    """All that RLlib keeps of an episode."""
    seen, actions, rewards = episode.observations, episode.actions, episode.rewards
    ends = episode.t_started, episode.t, episode.is_terminated, episode.is_truncated
    return *(part.data for part in (seen, actions, rewards, episode.infos)), ends


@pytest.mark.parametrize("workers", ["serial", "threads", "processes", "asyncio"])
@pytest.mark.parametrize("parts", [False, True])
def test_an_awkward_env(workers, parts):
    """Episodes are those that RLlib's EnvRunner makes of its own vectorisation of the same envs, infos too.

    RLlib gives no options to resets, and knows no autoreset mode but "NextStep".
    """
    says = {key: values for key, values in ALIKE.items() if isinstance(key, str)}  # RLlib takes no other keys
    plain = iter(makers(parts=parts, reuses=False, says=says))
    some = {} if workers == "asyncio" else {"num_workers": 2}

    def make(context):
        return batchenv.make_python(makers(parts=parts, says=says), context["num_envs"], workers=workers, **some)

    ours, theirs = runner(make, "vector_entry_point"), runner(lambda context: next(plain)(), "sync")
    ended = 0
    for wanted in ({"num_timesteps": 40}, {"num_timesteps": 7}, {"num_episodes": 5},
                   {"num_timesteps": 30, "force_reset": True}):  # fmt: skip
        mine, its = (one.sample(random_actions=True, **wanted) for one in (ours, theirs))
        same([told(episode) for episode in mine], [told(episode) for episode in its])
        ended += sum(episode.is_done for episode in mine)
    assert ended > 20
    for one in (ours, theirs):
        one.stop()
