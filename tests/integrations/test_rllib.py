"""RLlib takes ids of batchenv by their vector entry point, in its EnvRunners' processes, too."""

import os

import pytest

ray = pytest.importorskip("ray", reason="needs RLlib: pip install 'ray[rllib]'")
pytest.importorskip("ray.rllib", reason="needs RLlib: pip install 'ray[rllib]'")
pytest.importorskip("torch", reason="needs torch")

from ray.rllib.algorithms.ppo import PPOConfig  # noqa: E402

import batchenv  # noqa: E402


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
        num_cpus=2, object_store_memory=200 * 2**20, include_dashboard=False, logging_level="ERROR",
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
        envs = algorithm.env_runner_group.foreach_env_runner(
            lambda runner: repr(runner.env.unwrapped), local_env_runner=False
        )
        algorithm.stop()
    finally:
        ray.shutdown()
    assert envs == [repr(batchenv.make("CartPole-v1", 16))]
    assert results["num_env_steps_sampled"] >= 512
    assert 8 < results["episode_return_mean"] < 60  # of random actions: 22
