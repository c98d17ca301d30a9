"""Tianshou's DQN over batchenv: pip install -e ".[tianshou]".

python examples/learners/tianshou_dqn.py [--lanes 16] [--steps N] [--quick] [--save FILE] [--eval N] [--speed]

Trains CartPole-v1 until 40 test episodes have a mean return of 475, Gymnasium's threshold; exits
with status 1 if --steps are not enough. --speed trains nothing, but prints the steps per second with batchenv and with
Tianshou's DummyVectorEnv and SubprocVectorEnv, measured in turns: of the env alone, of a Collector over it, and of
training, which is collecting and as many updates of the network as when it trains in earnest.
"""

import sys
import time

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
from common import compare, finish, options, rate

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


def train(args) -> bool:
    """Trains; returns whether the threshold was reached."""
    lanes, steps, seed = args.lanes, args.steps, args.seed
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

    def act(observations):
        with torch.no_grad():
            return dqn.policy.model(torch.from_numpy(observations))[0].argmax(-1).numpy()

    finish(args, lambda count: batchenv.make(ID, count), act, lambda path: torch.save(dqn.state_dict(), path))
    return best >= 475


def ways(lanes: int, seed: int) -> dict:
    """What is compared."""
    make = [lambda: gymnasium.make(ID)] * lanes
    envs = {
        "batchenv": batchenv.make(ID, lanes, env_type="tianshou"),
        "DummyVectorEnv": DummyVectorEnv(make),
        "SubprocVectorEnv": SubprocVectorEnv(make),
    }
    actions = np.random.default_rng(seed).integers(0, 2, (16, lanes))
    count = max(10, 4096 // lanes) * lanes

    def way(env):
        env.seed(seed)
        dqn = learner(env)
        collector = Collector(dqn, env, VectorReplayBuffer(50_000, lanes))

        def walk():
            """Finished lanes are reset, as a Collector does it."""
            for some in actions:
                _, _, terminated, truncated, _ = env.step(some)
                done = np.flatnonzero(terminated | truncated)
                if len(done):
                    env.reset(done)

        def collect():
            with torch.no_grad():
                collector.collect(n_step=count)

        def update():
            with policy_within_training_step(dqn.policy):
                for _ in range(int(count * UPDATES)):
                    dqn.update(buffer=collector.buffer, sample_size=BATCH)

        def measure():
            env.reset()
            alone = rate(walk, len(actions) * lanes)
            collector.reset()
            collecting, updating = rate(collect, count, seconds=0), rate(update, count, seconds=0)
            return {
                "the env alone": alone,
                "a Collector with a network": collecting,
                "training": 1 / (1 / collecting + 1 / updating),
            }

        return measure

    return {name: way(env) for name, env in envs.items()}


def main() -> int:
    args = options(__doc__, {"steps": 10_000}, lanes=16, steps=300_000)
    torch.set_num_threads(1)  # the network is small
    if args.speed:
        compare(f"{ID}, {args.lanes} lanes", ways(args.lanes, args.seed))
        return 0
    return 0 if train(args) or args.quick else 1


if __name__ == "__main__":
    sys.exit(main())
