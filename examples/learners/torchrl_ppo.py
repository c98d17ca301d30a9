"""PPO on CartPole-v1 with TorchRL's collector and loss, over lanes of batchenv.

    pip install -e ".[torchrl]" && python examples/learners/torchrl_ppo.py

First prints how many steps per second TorchRL's collector makes with random actions, over batchenv and over TorchRL's
own SerialEnv, in turns. Then trains until the mean return of a batch's episodes is 475, or until the steps are used up.
"""

import argparse
import statistics
import time

import torch
from tensordict.nn import TensorDictModule
from torch import nn
from torch.distributions import Categorical
from torchrl.envs import GymEnv, SerialEnv
from torchrl.modules import ProbabilisticActor, ValueOperator
from torchrl.objectives import ClipPPOLoss
from torchrl.objectives.value import GAE

import batchenv

try:
    from torchrl.collectors import Collector
except ImportError:  # before TorchRL 0.11
    from torchrl.collectors import SyncDataCollector as Collector


def speed(make, lanes, steps=32, batches=5):
    """Steps per second of a collector with random actions."""
    frames = lanes * steps
    collector = Collector(make(lanes), None, frames_per_batch=frames, total_frames=frames * (batches + 1))
    results = iter(collector)
    next(results)
    start = time.perf_counter()
    taken = sum(batch.numel() for batch in results)
    seconds = time.perf_counter() - start
    collector.shutdown()
    return taken / seconds


def compare(lanes, turns=3):
    """Prints the speeds of both."""
    ways = {
        "batchenv": lambda lanes: batchenv.make("CartPole-v1", lanes, env_type="torchrl"),
        "SerialEnv": lambda lanes: SerialEnv(lanes, lambda: GymEnv("CartPole-v1")),
    }
    rates = {name: [] for name in ways}
    for _ in range(turns):
        for name, make in ways.items():
            rates[name].append(speed(make, lanes, batches=5 if name == "batchenv" else 1))
    told = ", ".join(f"{name} {statistics.median(rate):,.0f}" for name, rate in rates.items())
    print(f"collector with random actions, {lanes} lanes, steps per second: {told}")


def network(size, outputs):
    return nn.Sequential(nn.Linear(size, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, outputs))


def train(lanes=64, steps=64, total=360 * 4096, seed=0):
    """Trains, and returns the best mean return of a batch's episodes."""
    torch.manual_seed(seed)
    env = batchenv.make("CartPole-v1", lanes, env_type="torchrl")
    env.set_seed(seed)
    actor = ProbabilisticActor(
        TensorDictModule(network(4, 2), in_keys=["observation"], out_keys=["logits"]),
        in_keys=["logits"],
        distribution_class=Categorical,
        return_log_prob=True,
    )
    critic = ValueOperator(network(4, 1), in_keys=["observation"])
    advantage = GAE(gamma=0.99, lmbda=0.95, value_network=critic, average_gae=True)
    loss = ClipPPOLoss(actor, critic, clip_epsilon=0.2, entropy_coeff=0.01)
    optimizer = torch.optim.Adam(loss.parameters(), lr=1e-3)
    collector = Collector(env, actor, frames_per_batch=lanes * steps, total_frames=total)
    length, best, done, start = torch.zeros(lanes), 0.0, 0, time.perf_counter()
    for batch in collector:
        returns = []
        for ended in batch["next", "done"].squeeze(-1).unbind(1):  # rewards are 1, so a return is a length
            length += 1
            returns += length[ended].tolist()
            length[ended] = 0
        for _ in range(4):
            with torch.no_grad():
                advantage(batch)
            rows = batch.reshape(-1)
            for part in torch.randperm(len(rows)).split(1024):
                values = loss(rows[part])
                optimizer.zero_grad()
                sum(value for name, value in values.items() if name.startswith("loss_")).backward()
                nn.utils.clip_grad_norm_(loss.parameters(), 0.5)
                optimizer.step()
        collector.update_policy_weights_()
        done += len(rows)
        if returns:
            best = max(best, statistics.mean(returns))
        if done // len(rows) % 10 == 0 or best >= 475:
            mean = f"{statistics.mean(returns):.1f}" if returns else "-"
            rate = done / (time.perf_counter() - start)
            print(f"{done:>9,} steps, mean return {mean}, {rate:,.0f} steps per second with learning", flush=True)
        if best >= 475:
            break
    collector.shutdown()
    return best


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=360 * 4096, help="the most steps of training")
    parser.add_argument("--lanes", type=int, default=64)
    options = parser.parse_args()
    torch.set_num_threads(1)
    compare(options.lanes)
    print(f"best mean return of a batch: {train(options.lanes, total=options.steps):.1f}")
