"""Two-player Pong: random agents play many games at once, and some of the games become an animated GIF.

Both players of all games act in one call, through PettingZoo's parallel API: `batchenv.make_parallel`. A *lane* is one
game.
Needs the Atari games and imageio: pip install -e ".[atari]" imageio.
"""

import argparse
import sys
import time
from pathlib import Path

import numpy as np
from gymnasium.error import DependencyNotInstalled

import batchenv


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lanes", type=int, default=16, help="games at once; default %(default)s")
    parser.add_argument("--shown", type=int, default=3, help="games in the picture; default %(default)s")
    parser.add_argument("--steps", type=int, default=300, help="each of four frames; default %(default)s")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--picture", metavar="FILE", default="two_player_pong.gif", help="default %(default)s")
    parser.add_argument("--quick", action="store_true", help="few steps of few games")
    args = parser.parse_args()
    if args.quick:
        args.lanes, args.shown, args.steps = 4, 2, 60
    if min(args.lanes, args.shown, args.steps) < 1 or args.shown > args.lanes:
        parser.error("--lanes, --shown and --steps must be at least 1, and --shown at most --lanes")
    return args


def play(args: argparse.Namespace) -> tuple[list[np.ndarray], dict[str, float], float]:
    """The pictures, each agent's points over all lanes, and the seconds that the steps took."""
    env = batchenv.make_parallel("Pong-v5", args.lanes, players=2, render_mode="rgb_array")
    rng = np.random.default_rng(args.seed)
    points = dict.fromkeys(env.agents, 0.0)
    pictures, seconds = [], 0.0
    env.reset(seed=args.seed)
    for _ in range(args.steps):
        actions = {agent: rng.integers(env.action_space(agent).n, size=env.num_envs) for agent in env.agents}
        start = time.perf_counter()
        _, rewards, _, _, _ = env.step(actions)
        seconds += time.perf_counter() - start
        for agent, reward in rewards.items():
            points[agent] += np.maximum(reward, 0).sum()
        frames = env.render(list(range(args.shown)))
        pictures.append(np.concatenate([np.pad(frame, ((0, 0), (2, 2), (0, 0))) for frame in frames], axis=1))
    env.close()
    return pictures, points, seconds


def main() -> int:
    args = parse_arguments()
    try:
        import imageio.v3 as imageio
    except ImportError:
        sys.exit("the picture needs imageio: pip install imageio")
    if Path(args.picture).suffix != ".gif":
        sys.exit(f"--picture {args.picture} must end in .gif")
    try:
        pictures, points, seconds = play(args)
    except DependencyNotInstalled as error:
        sys.exit(str(error))
    duration = 1000 * 4 / 60  # of a picture in ms: four frames of a console that draws 60 per second
    imageio.imwrite(args.picture, pictures, duration=duration, loop=0)
    steps = args.lanes * args.steps
    print(f"{steps:,} steps of two players in {seconds:.1f} s: {steps / seconds:,.0f} steps/s")
    print("points: " + ", ".join(f"{agent} {count:.0f}" for agent, count in points.items()))
    size = Path(args.picture).stat().st_size
    print(f"{args.picture}: {len(pictures)} pictures of {args.shown} games, {size:,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
