"""PPO on Procgen's games, from the screen, with PyTorch: pip install -e ".[examples]", and docs/envs/procgen.md.

python examples/ppo_procgen.py [--quick] [--id ID] [--mode MODE] [--levels LEVELS] [--steps STEPS] [--save FILE]
    [--resume FILE] [--eval N] [--video DIR]

Trains on a few levels of a game. --eval N plays N episodes of these, and N of all levels: Procgen is there to show how
much of what was learnt holds where nothing was learnt. docs/benchmarks/training.md has a run.
"""

import sys

import ppo
import torch
from torch import nn


class Eye(nn.Module):
    """256 features of (n, 3, 64, 64) uint8: the network of Mnih et al. 2015, three convolutions and a linear layer."""

    def __init__(self):
        super().__init__()
        gain = 2**0.5
        self.layers = nn.Sequential(
            ppo.orthogonal(nn.Conv2d(3, 32, 8, stride=4), gain), nn.ReLU(),
            ppo.orthogonal(nn.Conv2d(32, 64, 4, stride=2), gain), nn.ReLU(),
            ppo.orthogonal(nn.Conv2d(64, 64, 3), gain), nn.ReLU(), nn.Flatten(),
            ppo.orthogonal(nn.Linear(64 * 4 * 4, 256), gain), nn.ReLU(),
        ).to(memory_format=torch.channels_last)  # fmt: skip

    def forward(self, pixels: torch.Tensor) -> torch.Tensor:
        return self.layers(pixels.to(memory_format=torch.channels_last).float() / 255)


def make_agent(env) -> ppo.Discrete:
    return ppo.Discrete(
        ppo.orthogonal(nn.Linear(256, int(env.single_action_space.n)), 0.01),
        ppo.orthogonal(nn.Linear(256, 1), 1.0),
        Eye(),
    )


def main() -> int:
    parser = ppo.argument_parser(
        __doc__.split(":")[0], quick={"steps": 8192, "lanes": 16, "rollout": 32}, steps=400_000, lanes=32, rollout=64,
        minibatch=256, epochs=3, learning_rate=5e-4,
    )  # fmt: skip
    parser.add_argument("--id", default="procgen-coinrun-v0", help="a game, see python -m batchenv list Procgen")
    parser.add_argument("--mode", default="easy", help="distribution_mode: how hard levels are")
    parser.add_argument("--levels", type=ppo.positive, default=10, help="how many levels to train on")
    args = parser.parse_args()
    few = {"distribution_mode": args.mode, "num_levels": args.levels, "channel_first": True}
    also = "all levels:", ppo.Task(args.id, **few | {"num_levels": 0})
    return ppo.train(args, ppo.Task(args.id, **few), make_agent, every=8, also=also)


if __name__ == "__main__":
    sys.exit(main())
