"""PPO on MiniGrid and BabyAI, with PyTorch: pip install -e ".[examples]".

python examples/ppo_minigrid.py [--quick] [--id ID] [--save FILE] [--resume FILE] [--eval N] [--video DIR]

Trains on MiniGrid-DoorKey-8x8-v0 until the last 1,000 episodes have a mean return of 0.95, or on a level of BabyAI,
such as --id BabyAI-GoToLocal-v0, until 99% of them have succeeded, which is when BabyAI's authors call a level solved;
and so have 1,024 new episodes, with actions drawn from the policy. Exits with status 1 if --steps are not enough.

The agent sees the view of 7 by 7 cells, what it carries and the words of its mission, and remembers nothing.
"""

import sys

import numpy as np
import ppo
import torch
from torch import nn

OBJECTS, COLORS, STATES = 11, 6, 4  # of a cell, more than there are


class Eye(nn.Module):
    """Features of a view and a mission. The mission's words scale and shift the channels of each cell, and a layer that
    all cells share puts them together, so that it is easy to see whether a cell holds what the mission is about."""

    def __init__(self, cells: int, words: int, features: int, channels: int = 16):
        super().__init__()
        self.things = nn.Embedding(OBJECTS * COLORS * STATES, channels)
        self.words = nn.EmbeddingBag(words, 2 * channels, mode="mean", padding_idx=0)
        self.joint = ppo.orthogonal(nn.Linear(channels, channels), 2**0.5)
        self.last = ppo.orthogonal(nn.Linear(cells * channels, features), 2**0.5)

    def forward(self, observation: dict[str, torch.Tensor]) -> torch.Tensor:
        image = observation["image"].flatten(1, 2).int()
        things = self.things((image[..., 0] * COLORS + image[..., 1]) * STATES + image[..., 2])
        scale, shift = self.words(observation["mission"]).chunk(2, dim=1)
        things = (things * (1 + scale[:, None]) + shift[:, None]).relu()
        return self.last(self.joint(things).relu().flatten(1)).relu()


def make_agent(env) -> ppo.Discrete:
    view, words = (env.single_observation_space[name] for name in ("image", "mission"))
    return ppo.Discrete(
        ppo.orthogonal(nn.Linear(128, int(env.single_action_space.n)), 0.01),
        ppo.orthogonal(nn.Linear(128, 1), 1.0),
        Eye(view.shape[0] * view.shape[1], int(words.nvec.max()), 128),
    )


def main() -> int:
    parser = ppo.argument_parser(
        __doc__.split(":")[0], quick={"steps": 32_768, "lanes": 64, "rollout": 32, "minibatch": 512}, target=0.95,
        steps=20_000_000, lanes=512, rollout=64, minibatch=2048, epochs=3, learning_rate=1e-3, min_episodes=1000,
    )  # fmt: skip
    parser.add_argument("--id", default="MiniGrid-DoorKey-8x8-v0", help="a level, see python -m batchenv list MiniGrid")
    args = parser.parse_args()
    score = np.asarray
    if args.id.startswith("BabyAI"):
        args.target, score = 0.99, lambda returns: returns > 0
    task = ppo.Task(args.id, mission="tokens")
    return ppo.solve(args, task, make_agent, score, evaluated=1024, greedy=False)


if __name__ == "__main__":
    sys.exit(main())
