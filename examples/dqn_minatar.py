"""DQN on MinAtar's games, with PyTorch: pip install -e ".[examples]".

python examples/dqn_minatar.py [--quick] [--id ID] [--steps STEPS] [--eval N] [--video DIR]

Lanes are stepped straight into the memory from which the network learns. ppo_minatar.py learns the same games with PPO
and the same network. docs/benchmarks/training.md has a run of each.
"""

import argparse
import copy
import sys

import numpy as np
import ppo
import torch
from ppo_minatar import Eye, make_task
from torch import nn


class Values(nn.Module):
    """The value of each action. `best` and `act` are those of the agents of ppo.py."""

    def __init__(self, env):
        super().__init__()
        self.body = Eye(env.single_observation_space.shape[0])
        self.last = nn.Linear(128, int(env.single_action_space.n))
        self.epsilon = 1.0  # the share of actions that are random

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        return self.last(self.body(observations))

    def best(self, observations: torch.Tensor) -> torch.Tensor:
        return self(observations).argmax(dim=1)

    def act(self, observations: torch.Tensor) -> tuple[torch.Tensor]:
        """A tuple of one tensor: the best actions, some of which are replaced by random ones."""
        best = self.best(observations)
        random = torch.randint(self.last.out_features, best.shape)
        return (torch.where(torch.rand(best.shape) < self.epsilon, random, best),)


class Memory:
    """The last steps of all lanes, in a ring of rows. Row t has what was seen before a step, the action, and what came
    of it; what was seen after it is in the next row, also where an episode ended, since the lane is reset one step
    later. That step, which only resets the lane, teaches nothing."""

    def __init__(self, env, steps: int):
        lanes = env.num_envs
        self.rows, self.count = max(2, steps // lanes), 0
        self.observations = np.empty((self.rows, *env.observation_space.shape), env.observation_space.dtype)
        self.actions = np.empty((self.rows, lanes), np.int64)
        self.rewards = np.empty((self.rows, lanes))
        self.terminated, self.truncated, self.is_reset = np.zeros((3, self.rows, lanes), bool)

    def step(self, env, actions: np.ndarray) -> dict:
        """Steps the env, and returns its infos."""
        row, after = self.count % self.rows, (self.count + 1) % self.rows
        self.actions[row] = actions
        out = self.observations[after], self.rewards[row], self.terminated[row], self.truncated[row]
        infos = env.step(actions, out=out)[-1]
        np.logical_or(self.terminated[row], self.truncated[row], out=self.is_reset[after])
        self.count += 1
        return infos

    def now(self) -> torch.Tensor:
        """What is seen now."""
        return torch.from_numpy(self.observations[self.count % self.rows])

    def draw(self, size: int, rng: np.random.Generator) -> list[torch.Tensor]:
        """Some steps: what was seen before and after them, actions, rewards, and whether they ended the game."""
        back = rng.integers(1, min(self.count, self.rows - 1), size, endpoint=True)
        rows, lanes = (self.count - back) % self.rows, rng.integers(self.actions.shape[1], size=size)
        teaches = ~self.is_reset[rows, lanes]
        rows, lanes = rows[teaches], lanes[teaches]
        before, after = self.observations[rows, lanes], self.observations[(rows + 1) % self.rows, lanes]
        columns = (column[rows, lanes] for column in (self.actions, self.rewards, self.terminated))
        return [torch.from_numpy(part) for part in (before, after, *columns)]


def learn(args, values: Values, target: Values, optimizer, batch: list[torch.Tensor]) -> None:
    """One update: Double DQN (van Hasselt et al. 2016) with Huber's loss."""
    before, after, actions, rewards, terminated = batch
    with torch.no_grad():
        best = target(after).gather(1, values.best(after)[:, None])[:, 0]
        goal = rewards.float() + args.gamma * best * ~terminated
    loss = nn.functional.smooth_l1_loss(values(before).gather(1, actions[:, None])[:, 0], goal)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def train(args, env, values: Values, watch: ppo.Stopwatch) -> None:
    """Trains until args.steps steps have been made, and prints how it goes."""
    target, rng = copy.deepcopy(values), np.random.default_rng(args.seed)
    optimizer = torch.optim.Adam(values.parameters(), lr=args.learning_rate)
    memory = Memory(env, args.memory)
    memory.observations[0], _ = env.reset(seed=args.seed)
    calls, learnt, means, returns, episodes = -(-args.steps // env.num_envs), 0, [], [], 0
    print(f"{'steps':>11} {'episodes':>8} {'return':>8} {'epsilon':>7} {'seconds':>7}")
    for call in range(1, calls + 1):
        steps = call * env.num_envs
        values.epsilon = max(args.epsilon, 1 - (1 - args.epsilon) * steps / args.explore)
        with watch("acting"), torch.inference_mode():
            (actions,) = values.act(memory.now())
        with watch("stepping"):
            infos = memory.step(env, actions.numpy())
        if "episode" in infos:
            returns.extend(infos["episode"]["r"][infos["_episode"]])
        with watch("learning"):
            while steps >= args.start and learnt < (steps - args.start) // args.every:
                learn(args, values, target, optimizer, memory.draw(args.batch, rng))
                learnt += 1
                if learnt % args.copy_every == 0:
                    target.load_state_dict(values.state_dict())
        if call % max(1, calls // 20) == 0 and returns:
            episodes += len(returns)
            means.append(np.mean(returns))
            returns = []
            print(
                f"{steps:>11,} {episodes:>8,} {means[-1]:>8.4g} {values.epsilon:>7.3f} {watch.wall():>7.1f}", flush=True
            )
    if means:
        print(f"mean return at first {means[0]:.4g}, at last {means[-1]:.4g}")
    watch.report(calls * env.num_envs)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__.split(":")[0], formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    parser.add_argument("--id", default="MinAtar/Breakout-v1", help="a game, see python -m batchenv list MinAtar")
    parser.add_argument("--seed", type=int, default=1, help="seed of lanes, weights, and what is drawn")
    quick = {"steps": 20_000, "start": 4_000, "explore": 10_000}
    for name, value, told in [
        ("steps", 3_000_000, "environment steps, of all lanes together"),
        ("lanes", 64, "environments stepped at once"),
        ("memory", 400_000, "steps that are remembered"),
        ("start", 10_000, "steps before the first update"),
        ("every", 64, "steps for each update"),
        ("batch", 256, "remembered steps in an update"),
        ("copy-every", 250, "updates after which the target network is made equal"),
        ("explore", 500_000, "steps in which the share of random actions falls from 1 to --epsilon"),
        ("torch-threads", 1, "threads of PyTorch"),
    ]:
        value = quick.get(name, value) if "--quick" in sys.argv else value
        parser.add_argument(f"--{name}", type=ppo.positive, default=value, help=told)
    parser.add_argument("--epsilon", type=float, default=0.02, help="the share of random actions in the end")
    parser.add_argument("--learning-rate", type=float, default=5e-4)
    parser.add_argument("--gamma", type=float, default=0.99, help="discount")
    parser.add_argument("--eval", type=ppo.positive, metavar="N", help="afterwards play N greedy episodes")
    parser.add_argument("--video", metavar="DIR", help="afterwards record a greedy episode")
    parser.add_argument("--quick", action="store_true", help="a short run, too short to learn much")
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(args.torch_threads)
    task = make_task(parser, args.id)
    if args.video:
        task.check_video()
    env, watch = task.make(args.lanes), ppo.Stopwatch()
    values = Values(env)
    train(args, env, values, watch)
    ppo.show(task, env, values, args)
    env.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
