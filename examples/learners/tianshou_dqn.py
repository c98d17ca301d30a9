"""Tianshou's DQN over batchenv: pip install -e ".[tianshou]".

python examples/learners/tianshou_dqn.py [--lanes 16] [--steps N] [--speed]

Trains CartPole-v1 until 40 test episodes have a mean return of 475, Gymnasium's threshold; exits
with status 1 if --steps are not enough. --speed trains nothing, but prints the steps per second with batchenv and with
Tianshou's DummyVectorEnv and SubprocVectorEnv, measured in turns: of the env alone, of a Collector over it, and of
training, which is collecting and as many updates of the network as when it trains in earnest.
"""

import argparse
import sys
import time
from collections import defaultdict
from statistics import median

import gymnasium
import numpy as np
import torch
from tianshou.algorithm import DQN
from tianshou.algorithm.modelfree.dqn import DiscreteQLearningPolicy
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import Collector, VectorReplayBuffer
from tianshou.env import DummyVectorEnv, SubprocVectorEnv
from tianshou.trainer import OffPolicyTrainerParams
from tianshou.utils.net.common import Net
from tianshou.utils.torch_utils import policy_within_training_step

import batchenv

ID = "CartPole-v1"
BATCH, UPDATES = 256, 1 / 10  # transitions of an update, and updates for each step


def learner(env) -> DQN:
    """DQN with a small network."""
    space, actions = env.observation_space[0], env.action_space[0]
    policy = DiscreteQLearningPolicy(
        model=Net(state_shape=space.shape, action_shape=actions.n, hidden_sizes=(128, 128)),
        action_space=actions,
        eps_training=0.05,
    )
    return DQN(policy=policy, optim=AdamOptimizerFactory(lr=1e-3), gamma=0.99, n_step_return_horizon=3,
               target_update_freq=100)  # fmt: skip


def train(lanes: int, steps: int, seed: int) -> bool:
    """Trains; returns whether the threshold was reached."""
    torch.manual_seed(seed)
    np.random.seed(seed)
    env, test = batchenv.make(ID, lanes, env_type="tianshou"), batchenv.make(ID, 40, env_type="tianshou")
    env.seed(seed)
    test.seed(seed + 1000)
    dqn = learner(env)
    collector = Collector(dqn, env, VectorReplayBuffer(50_000, lanes), exploration_noise=True)
    collector.reset()
    collector.collect(n_step=2000 // lanes * lanes, random=True)
    begin = time.perf_counter()
    result = dqn.run_training(
        OffPolicyTrainerParams(
            training_collector=collector,
            test_collector=Collector(dqn, test),
            max_epochs=max(1, steps // 5_000),
            epoch_num_steps=5_000,
            collection_step_num_env_steps=4 * lanes,
            update_step_num_gradient_steps_per_sample=UPDATES,
            batch_size=BATCH,
            test_step_num_episodes=40,
            stop_fn=lambda mean: mean >= 475,
            show_progress=False,
        )
    )
    seconds = time.perf_counter() - begin
    best = result.best_reward
    print(f"{ID}: mean return {best:.1f} after {collector.collect_step:,} steps in {seconds:.0f} s")
    return best >= 475


def rate(env, actions, seconds: float = 0.5) -> float:
    """Steps per second of an env alone, whose finished lanes are reset, as a Collector does it."""
    steps, begin = 0, time.perf_counter()
    while time.perf_counter() - begin < seconds:
        for some in actions:
            _, _, terminated, truncated, _ = env.step(some)
            done = np.flatnonzero(terminated | truncated)
            if len(done):
                env.reset(done)
        steps += len(actions) * len(env)
    return steps / (time.perf_counter() - begin)


def compare(lanes: int, seed: int, turns: int = 5) -> None:
    """Prints medians of several turns."""
    make = [lambda: gymnasium.make(ID)] * lanes
    envs = {
        "batchenv": batchenv.make(ID, lanes, env_type="tianshou"),
        "DummyVectorEnv": DummyVectorEnv(make),
        "SubprocVectorEnv": SubprocVectorEnv(make),
    }
    actions = np.random.default_rng(seed).integers(0, 2, (16, lanes))
    count = max(10, 4096 // lanes) * lanes
    collectors, trained, rates = {}, {}, defaultdict(dict)
    for name, env in envs.items():
        env.seed(seed)
        trained[name] = learner(env)
        collectors[name] = Collector(trained[name], env, VectorReplayBuffer(50_000, lanes))
        for what in ("the env alone", "a Collector with a network", "training"):
            rates[what][name] = []
    for _ in range(turns):
        for name, env in envs.items():
            env.reset()
            rates["the env alone"][name].append(rate(env, actions))
            collectors[name].reset()
            with torch.no_grad():
                begin = time.perf_counter()
                collectors[name].collect(n_step=count)
                seconds = time.perf_counter() - begin
            rates["a Collector with a network"][name].append(count / seconds)
            with policy_within_training_step(trained[name].policy):
                begin = time.perf_counter()
                for _ in range(int(count * UPDATES)):
                    trained[name].update(buffer=collectors[name].buffer, sample_size=BATCH)
            seconds += time.perf_counter() - begin
            rates["training"][name].append(count / seconds)
    for what, by_env in rates.items():
        medians = {name: median(values) for name, values in by_env.items()}
        told = ", ".join(
            f"{name} {value:,.0f} ({medians['batchenv'] / value:.1f} times)" for name, value in medians.items()
        )
        print(f"{ID}, {lanes} lanes, steps/s, {what}: {told}")
    for env in envs.values():
        env.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split(":")[0])
    parser.add_argument("--lanes", type=int, default=16)
    parser.add_argument("--steps", type=int, default=300_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--speed", action="store_true", help="measure, and train nothing")
    args = parser.parse_args()
    torch.set_num_threads(1)  # the network is small
    if args.speed:
        compare(args.lanes, args.seed)
        return 0
    return 0 if train(args.lanes, args.steps, args.seed) else 1


if __name__ == "__main__":
    sys.exit(main())
