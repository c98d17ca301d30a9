"""RLlib's PPO over batchenv: pip install -e ".[ray]" "ray[rllib]" torch.

python examples/learners/rllib_ppo.py [--lanes 32] [--runners 1] [--iterations N] [--speed]

Trains CartPole-v1, whose lanes are in EnvRunners in processes of their own, until the mean return of 100
episodes is 475, Gymnasium's threshold; exits with status 1 if --iterations are not enough. --speed compares
batchenv with RLlib's own vectorisation, measured in turns: steps per second of one EnvRunner that samples
with PPO's network, and of whole iterations, which sample and learn.
"""

import argparse
import os
import sys
import time
from statistics import median

os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")

import ray
from ray.rllib.algorithms.ppo import PPO, PPOConfig

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


def train(lanes: int, runners: int, iterations: int, seed: int) -> bool:
    """Trains; returns whether the threshold was reached."""
    algorithm = ppo(**OURS, lanes=lanes, runners=runners, seed=seed)
    begin, steps = time.perf_counter(), 0
    for iteration in range(1, iterations + 1):
        results = algorithm.train()["env_runners"]
        steps += results["num_env_steps_sampled"]
        seconds, mean = time.perf_counter() - begin, results["episode_return_mean"]
        print(f"{iteration:3} {steps:8,} steps {seconds:4.0f} s  mean return {mean:5.1f}", flush=True)
        if mean >= 475:
            break
    algorithm.stop()
    return mean >= 475


def compare(lanes: int, seed: int, turns: int = 5) -> None:
    """Prints medians of several turns, each with one EnvRunner."""
    learners = {
        "batchenv": ppo(**OURS, lanes=lanes, runners=1, seed=seed),
        "SyncVectorEnv": ppo(**THEIRS, lanes=lanes, runners=1, seed=seed),
    }

    def sample(algorithm: PPO) -> None:
        algorithm.env_runner_group.foreach_env_runner(
            lambda runner: len(runner.sample(num_timesteps=BATCH)), local_env_runner=False
        )

    sampled, trained = {name: [] for name in learners}, {name: [] for name in learners}
    for turn in range(turns + 1):
        for name, algorithm in learners.items():
            for run, rates in ((sample, sampled), (PPO.train, trained)):
                begin = time.perf_counter()
                run(algorithm)
                if turn:  # the first one warms up
                    rates[name].append(BATCH / (time.perf_counter() - begin))
    for what, rates in (("an EnvRunner that samples", sampled), ("whole iterations of PPO", trained)):
        told = ", ".join(f"{name} {median(values):,.0f}" for name, values in rates.items())
        times = median(rates["batchenv"]) / median(rates["SyncVectorEnv"])
        print(f"CartPole-v1, {lanes} lanes, steps/s, {what}: {told}: {times:.2f} times")
    for algorithm in learners.values():
        algorithm.stop()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split(":")[0])
    parser.add_argument("--lanes", type=int, default=32, help="of each EnvRunner")
    parser.add_argument("--runners", type=int, default=1, help="EnvRunners, each in a process of its own")
    parser.add_argument("--iterations", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--speed", action="store_true", help="measure, and train nothing")
    args = parser.parse_args()
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
            compare(args.lanes, args.seed)
            return 0
        return 0 if train(args.lanes, args.runners, args.iterations, args.seed) else 1
    finally:
        ray.shutdown()


if __name__ == "__main__":
    sys.exit(main())
