"""Draws docs/atari.png: one row per game, its screen and the four stacked frames of 84 x 84 that the agent sees.

python tools/generate/atari_picture.py            # needs batchenv[atari] and imageio
"""

import argparse
from pathlib import Path

import imageio.v3 as imageio
import numpy as np

import batchenv

GAMES = (("Pong-v5", {"players": 2}), ("Breakout-v5", {}), ("SpaceInvaders-v5", {}), ("MsPacman-v5", {}))
HEIGHT, MARGIN, SCALE = 210, 4, 2


def row(env_id: str, keywords: dict, steps: int) -> np.ndarray:
    """(HEIGHT + MARGIN, width, 3) after some steps of random actions, each held for a while."""
    env = batchenv.make(env_id, 1, render_mode="rgb_array", **keywords)
    env.reset(seed=0)
    env.action_space.seed(1)
    for step in range(steps):
        if step % 3 == 0:
            actions = env.action_space.sample()
        observation = env.step(actions)[0]
    parts = [env.render()[0]]
    for frame in observation[0]:
        large = frame.repeat(SCALE, axis=0).repeat(SCALE, axis=1)[..., None].repeat(3, axis=2)
        above = (HEIGHT - large.shape[0]) // 2
        below = HEIGHT - large.shape[0] - above
        parts.append(np.pad(large, ((above, below), (0, 0), (0, 0)), constant_values=255))
    env.close()
    return np.concatenate([np.pad(p, ((0, MARGIN), (0, MARGIN), (0, 0)), constant_values=255) for p in parts], axis=1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=75)
    parser.add_argument("--picture", default=Path(__file__).parents[2] / "docs" / "atari.png")
    args = parser.parse_args()
    rows = [row(env_id, keywords, args.steps) for env_id, keywords in GAMES]
    imageio.imwrite(args.picture, np.concatenate(rows)[:-MARGIN, :-MARGIN])


if __name__ == "__main__":
    main()
