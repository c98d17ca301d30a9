"""RLlib's PPO over batchenv: pip install -e ".[ray]" "ray[rllib]" torch.

python examples/learners/rllib_ppo.py [--lanes 32] [--runners 1] [--iterations N] [--quick] [--save FOLDER] [--eval N]
    [--speed]

Trains CartPole-v1, whose lanes are in EnvRunners in processes of their own, until the mean return of 100
episodes is 475, Gymnasium's threshold; exits with status 1 if --iterations are not enough. --speed compares
batchenv with RLlib's own vectorisation, measured in turns: steps per second of one EnvRunner that samples
with PPO's network, and of whole iterations, which sample and learn.
"""

import os
import sys
import time

os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")

import ray
import torch
from ray.rllib.algorithms.ppo import PPO, PPOConfig

import batchenv
from common import compare, finish, options, rate

BATCH = 4096
# "batchenv:" tells Gymnasium to import batchenv first, which the processes of EnvRunners have not done.
OURS = {"env": "batchenv:batchenv/CartPole-v1", "mode": "vector_entry_point"}
THEIRS = {"env": "CartPole-v1", "mode": "sync"}


def ppo(env: str, mode: str, lanes: int, runners: int, seed: int) -> PPO:
    """PPO with `lanes` lanes in each of so many remote EnvRunners."""
    config = (
        PPOConfig()
        .environment(env)
        .env_runners(
            num_env_runners=runners,
            num_envs_per_env_runner=lanes,
            gym_env_vectorize_mode=mode,
            rollout_fragment_length="auto",
        )
        .training(
            train_batch_size_per_learner=BATCH,
            minibatch_size=512,
            num_epochs=8,
            lr=1e-3,
            gamma=0.98,
            lambda_=0.95,
        )
        .debugging(seed=seed)
    )
    return config.build_algo()


def train(args) -> bool:
    """Trains; returns whether the threshold was reached."""
    algorithm = ppo(**OURS, lanes=args.lanes, runners=args.runners, seed=args.seed)
    begin, steps = time.perf_counter(), 0
    for iteration in range(1, args.iterations + 1):
        results = algorithm.train()["env_runners"]
        steps += results["num_env_steps_sampled"]
        seconds, mean = time.perf_counter() - begin, results["episode_return_mean"]
        print(f"{iteration:3} {steps:8,} steps {seconds:4.0f} s  mean return {mean:5.1f}", flush=True)
        if mean >= 475:
            break
    module = algorithm.get_module()

    def act(observations):
        with torch.no_grad():
            told = module.forward_inference({"obs": torch.from_numpy(observations)})
        return told["action_dist_inputs"].argmax(-1).numpy()

    def save(path):
        algorithm.save_to_path(os.path.abspath(path))

    finish(args, lambda count: batchenv.make("CartPole-v1", count), act, save)
    algorithm.stop()
    return mean >= 475


def way(env: str, mode: str, lanes: int, seed: int):
    """What is compared: a learner with one EnvRunner."""
    algorithm = ppo(env, mode, lanes, 1, seed)

    def sample() -> None:
        algorithm.env_runner_group.foreach_env_runner(
            lambda runner: len(runner.sample(num_timesteps=BATCH)), local_env_runner=False
        )

    def measure() -> dict[str, float]:
        return {
            "an EnvRunner that samples": rate(sample, BATCH, seconds=0),
            "whole iterations of PPO": rate(algorithm.train, BATCH, seconds=0),
        }

    measure()  # the first one warms up
    return measure


def main() -> int:
    more = [
        ("runners", 1, "EnvRunners, each in a process of its own, with so many lanes"),
        ("iterations", 60, "the most iterations of training"),
    ]
    args = options(__doc__, {"iterations": 2}, lanes=32, more=more)
    runners = max(2, args.runners)  # --speed has two learners with a runner each
    ray.init(
        "local",
        num_cpus=runners,
        object_store_memory=200 * 2**20,
        include_dashboard=False,
        log_to_driver=False,
        logging_level="ERROR",
    )
    try:
        if args.speed:
            sides = {"batchenv": OURS, "SyncVectorEnv": THEIRS}
            ways = {name: way(**side, lanes=args.lanes, seed=args.seed) for name, side in sides.items()}
            compare(f"CartPole-v1, {args.lanes} lanes", ways)
            return 0
        return 0 if train(args) or args.quick else 1
    finally:
        ray.shutdown()


if __name__ == "__main__":
    sys.exit(main())
