"""PPO on CartPole-v1 with TorchRL's collector and loss, over lanes of batchenv: pip install -e ".[torchrl]".

python examples/learners/torchrl_ppo.py [--lanes 64] [--steps N] [--quick] [--save FILE] [--eval N] [--speed]

Trains until the mean return of a batch's episodes is 475, Gymnasium's threshold; exits with status 1 if --steps are not
enough. --speed trains little, but prints the steps per second with batchenv and with TorchRL's SerialEnv, measured in
turns: of a collector with random actions, and of PPO, which is collecting with its network and learning.
"""

import statistics
import sys
import time
from inspect import signature

import torch
from tensordict import TensorDict
from tensordict.nn import TensorDictModule
from torch import nn
from torch.distributions import Categorical
from torchrl.collectors import Collector
from torchrl.envs import GymEnv, SerialEnv
from torchrl.modules import ProbabilisticActor, ValueOperator
from torchrl.objectives import ClipPPOLoss
from torchrl.objectives.value import GAE

import batchenv
from common import compare, finish, options, rate

ID = "CartPole-v1"
# Nothing here asks which trajectory a step belongs to.
QUICK = {"track_traj_ids": False} if "track_traj_ids" in signature(Collector).parameters else {}


def network(size, outputs):
    return nn.Sequential(nn.Linear(size, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, outputs))


def learner(env, total=-1, steps=64):
    """An actor, a collector of its batches of so many steps per lane, and the function that learns from one."""
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
    collector = Collector(env, actor, frames_per_batch=env.batch_size[0] * steps, total_frames=total, **QUICK)

    def learn(batch):
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

    return actor, collector, learn


def train(args):
    """Trains; returns whether the threshold was reached."""
    lanes, total, seed = args.lanes, args.steps, args.seed
    env = batchenv.make(ID, lanes, env_type="torchrl")
    env.set_seed(seed)
    actor, collector, learn = learner(env, total)
    length, best, done, start = torch.zeros(lanes), 0.0, 0, time.perf_counter()
    for count, batch in enumerate(collector, 1):
        returns = []
        for ended in batch["next", "done"].squeeze(-1).unbind(1):  # rewards are 1, so a return is a length
            length += 1
            returns += length[ended].tolist()
            length[ended] = 0
        learn(batch)
        done += batch.numel()
        if returns:
            best = max(best, statistics.mean(returns))
        if count % 10 == 0 or best >= 475:
            mean = f"{statistics.mean(returns):.1f}" if returns else "-"
            per_second = done / (time.perf_counter() - start)
            print(f"{done:>9,} steps, mean return {mean}, {per_second:,.0f} steps per second with learning", flush=True)
        if best >= 475:
            break
    collector.shutdown()
    print(f"best mean return of a batch: {best:.1f}")

    def act(observations):
        with torch.no_grad():
            told = actor(TensorDict({"observation": torch.from_numpy(observations)}, len(observations)))
        return told["logits"].argmax(-1).numpy()

    finish(args, lambda count: batchenv.make(ID, count), act, lambda path: torch.save(actor.state_dict(), path))
    return best >= 475


def way(make, lanes):
    """What is compared."""
    frames = lanes * 32
    randomly = iter(Collector(make(), None, frames_per_batch=frames, total_frames=-1, **QUICK))
    _, collector, learn = learner(make())
    batches = iter(collector)
    next(randomly), learn(next(batches))  # the first ones warm up
    return lambda: {
        "a collector with random actions": rate(lambda: next(randomly), frames, seconds=0.3),
        "PPO": rate(lambda: learn(next(batches)), lanes * 64, seconds=0),
    }


def main():
    args = options(__doc__, {"steps": 5 * 4096}, lanes=64, steps=360 * 4096)
    torch.set_num_threads(1)  # the networks are small
    torch.manual_seed(args.seed)
    if args.speed:
        makers = {
            "batchenv": lambda: batchenv.make(ID, args.lanes, env_type="torchrl"),
            "SerialEnv": lambda: SerialEnv(args.lanes, lambda: GymEnv(ID)),
        }
        compare(f"{ID}, {args.lanes} lanes", {name: way(make, args.lanes) for name, make in makers.items()})
        return 0
    return 0 if train(args) or args.quick else 1


if __name__ == "__main__":
    sys.exit(main())
