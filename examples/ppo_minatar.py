"""PPO on MinAtar's games, with PyTorch: pip install -e ".[examples]".

python examples/ppo_minatar.py [--quick] [--id ID] [--steps STEPS] [--save FILE] [--resume FILE] [--eval N]
    [--video DIR]

dqn_minatar.py learns the same games with DQN and the same network. docs/benchmarks/training.md has a run of each.
"""

import argparse
import sys

import ppo
import torch
from torch import nn


def make_task(parser: argparse.ArgumentParser, env_id: str) -> ppo.Task:
    """A game, whose observations have their channels first, as convolutions take them."""
    task = ppo.Task(env_id)
    if task.make(1).single_observation_space.shape[:2] != (10, 10):
        parser.error(f"--id {env_id} is none of MinAtar's games: see python -m batchenv list MinAtar")
    task.keywords["channels_first"] = True
    return task


class Eye(nn.Module):
    """128 features of (n, channels, 10, 10) bool: the network of Young and Tian (2019), a convolution of 3 by 3 cells
    and a linear layer."""

    def __init__(self, channels: int):
        super().__init__()
        gain = 2**0.5
        self.layers = nn.Sequential(
            ppo.orthogonal(nn.Conv2d(channels, 16, 3), gain), nn.ReLU(), nn.Flatten(),
            ppo.orthogonal(nn.Linear(16 * 8 * 8, 128), gain), nn.ReLU(),
        )  # fmt: skip

    def forward(self, cells: torch.Tensor) -> torch.Tensor:
        return self.layers(cells.float())


def make_agent(env) -> ppo.Discrete:
    return ppo.Discrete(
        ppo.orthogonal(nn.Linear(128, int(env.single_action_space.n)), 0.01),
        ppo.orthogonal(nn.Linear(128, 1), 1.0),
        Eye(env.single_observation_space.shape[0]),
    )


def main() -> int:
    parser = ppo.argument_parser(
        __doc__.split(":")[0], quick={"steps": 32_768, "lanes": 64, "rollout": 32, "minibatch": 512}, steps=2_000_000,
        lanes=128, rollout=64, minibatch=1024, epochs=3, learning_rate=1e-3, anneal_from=0.0,
    )  # fmt: skip
    parser.add_argument("--id", default="MinAtar/SpaceInvaders-v1", help="a game, see python -m batchenv list MinAtar")
    args = parser.parse_args()
    return ppo.train(args, make_task(parser, args.id), make_agent)


if __name__ == "__main__":
    sys.exit(main())
