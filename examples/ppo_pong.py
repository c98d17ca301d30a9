"""PPO on Pong, from the screen, with PyTorch: pip install -e ".[examples,atari]".

python examples/ppo_pong.py [--quick] [--id ID] [--steps STEPS] [--save FILE] [--resume FILE] [--eval N] [--video DIR]

In one run (seed 1, two threads, 2 quiet cores of an AMD EPYC) the return, which is 21 at most, rose from -20.6 (random
play) to -13.8 within 327,680 steps (170 s), 2.8 within 491,520 (242 s) and 9.6 within 655,360 (317 s). Stepping took
25% of the wall time, learning 61%, acting 12%. With --torch-threads 1, which rounds sums differently, another run
reached 17.5 within 557,056 steps.
"""

import argparse
import sys
from pathlib import Path

import numpy as np
import ppo
import torch
from torch import nn


def has_bfloat16() -> bool:
    """Whether the CPU computes with bfloat16 itself (elsewhere it is slower than float32)."""
    cpu = Path("/proc/cpuinfo")
    return cpu.exists() and any(flag in cpu.read_text() for flag in ("avx512_bf16", "amx_bf16"))


class Eye(nn.Module):
    """256 features of (n, 4, 84, 84) uint8: the network of Mnih et al. 2013, two convolutions and a linear layer.

    The first convolution, 8x8 with stride 4, is computed as one of 2x2 over blocks of 4x4 pixels. The sums are the
    same, but CPUs are much faster with 64 channels than with 4. Most of a screen is background, which becomes 0, so
    that ball and paddles stand out.
    """

    def __init__(self, background: float, bfloat16: bool):
        super().__init__()
        self.register_buffer("background", torch.tensor(background, dtype=torch.float32))
        self.dtype = torch.bfloat16 if bfloat16 else torch.float32
        gain = 2**0.5
        self.first = ppo.orthogonal(nn.Conv2d(64, 16, 2), gain)
        self.rest = nn.Sequential(
            nn.ReLU(),
            ppo.orthogonal(nn.Conv2d(16, 32, 4, stride=2), gain), nn.ReLU(), nn.Flatten(),
            ppo.orthogonal(nn.Linear(32 * 9 * 9, 256), gain), nn.ReLU(),
        )  # fmt: skip
        self.to(memory_format=torch.channels_last)

    def forward(self, frames: torch.Tensor) -> torch.Tensor:
        # A row of four pixels is moved as one int32: (n, frame, 21, 4 rows, 21) to (n, 21, 21, frame, 4 rows).
        fours = frames.view(torch.int32).view(-1, 4, 21, 4, 21).permute(0, 2, 4, 1, 3).reshape(-1, 21, 21, 16)
        blocks = fours.view(torch.uint8).permute(0, 3, 1, 2)  # 64 channels, last in memory
        with torch.autocast("cpu", torch.bfloat16, enabled=self.dtype is torch.bfloat16):
            # conv((pixels - background) / 64), computed by changing the few weights instead of the many pixels.
            weight = self.first.weight / 64
            bias = self.first.bias - self.background * weight.sum(dim=(1, 2, 3))
            features = torch.conv2d(blocks.to(self.dtype), weight, bias)
            return self.rest(features).float()


def main() -> int:
    parser = ppo.argument_parser(
        __doc__.split(":")[0], quick={"steps": 10_240, "lanes": 8, "torch_threads": 1}, steps=655_360, lanes=32,
        rollout=64, minibatch=256, epochs=3, learning_rate=3e-4, anneal_from=1.0, torch_threads=2,
    )  # fmt: skip
    parser.add_argument("--id", default="Pong-v5", help="a game, see python -m batchenv list")
    parser.add_argument(
        "--bfloat16", action=argparse.BooleanOptionalAction, default=has_bfloat16(), help="use it in the convolutions"
    )
    args = parser.parse_args()

    def make_agent(env):
        if (shape := env.single_observation_space.shape) != (4, 84, 84):
            parser.error(f"--id {args.id}: observations must be of shape (4, 84, 84), not {shape}")
        # A resumed run finds the background in its file.
        background = 0.0 if args.resume else float(np.median(env.reset(seed=args.seed)[0]))
        return ppo.Discrete(
            ppo.orthogonal(nn.Linear(256, int(env.single_action_space.n)), 0.01),
            ppo.orthogonal(nn.Linear(256, 1), 1.0),
            Eye(background, args.bfloat16),
        )

    return ppo.train(args, ppo.Task(args.id, clip_reward=(-1, 1)), make_agent)


if __name__ == "__main__":
    sys.exit(main())
