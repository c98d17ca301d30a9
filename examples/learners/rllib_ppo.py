"""PPO of RLlib on CartPole-v1, with lanes in a remote EnvRunner.

pip install -e ".[ray]" "ray[rllib]" torch
python examples/learners/rllib_ppo.py
"""

import argparse
import os
import time

os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")

import ray
from ray.rllib.algorithms.ppo import PPOConfig

parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
parser.add_argument("--env", default="batchenv:batchenv/CartPole-v1", help="CartPole-v1: RLlib's own vectorisation")
parser.add_argument("--lanes", type=int, default=32)
parser.add_argument("--iterations", type=int, default=40)
parser.add_argument("--goal", type=float, default=450, help="stops at this mean return")
args = parser.parse_args()

ray.init("local", num_cpus=2, object_store_memory=200 * 2**20, include_dashboard=False, log_to_driver=False)
mode = "vector_entry_point" if args.env.startswith("batchenv") else "sync"
config = (
    PPOConfig()
    # "batchenv:" tells Gymnasium to import batchenv first, which the processes of EnvRunners have not done.
    .environment(args.env)
    .env_runners(num_env_runners=1, num_envs_per_env_runner=args.lanes, gym_env_vectorize_mode=mode)
    .training(train_batch_size_per_learner=4096, minibatch_size=512, num_epochs=8, lr=1e-3, gamma=0.98, lambda_=0.95)
)
algorithm = config.build_algo()
start, steps = time.perf_counter(), 0
for iteration in range(args.iterations):
    results = algorithm.train()["env_runners"]
    steps += results["num_env_steps_sampled"]
    rate = steps / (time.perf_counter() - start)
    print(
        f"{iteration:3} {steps:7} steps  return {results['episode_return_mean']:5.1f}  {rate:,.0f} steps/s", flush=True
    )
    if results["episode_return_mean"] >= args.goal:
        break
algorithm.stop()
ray.shutdown()
