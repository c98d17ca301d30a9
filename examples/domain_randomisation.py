"""Domain randomisation over lanes: a CartPole controller trained with varied physics also works with other physics.

The cross-entropy method looks for the four weights of a linear controller, once with Gymnasium's physics only and once
with another pole length, gravity and push in each episode. A plan gives an episode its physics and its seed: `env.plan(
params={"length": ...}, seeds=...)`. All candidates get the same ones, so only their weights differ.
Needs only batchenv; with --picture FILE also matplotlib (pip install -e ".[bench]").

The same plan goes through autoreset, without any code in between: see docs/guide/plans.md.
"""

import argparse
import sys

import numpy as np

import batchenv

ENV_ID = "CartPole-v1"
NOMINAL = {"length": 0.5, "gravity": 9.8, "force_mag": 10.0}
TRAINED = {"length": (0.25, 2.0), "gravity": (5.0, 15.0), "force_mag": (5.0, 15.0)}  # ranges to draw from
GRID_LENGTH, GRID_FORCE = (0.15, 0.5, 1.0, 2.0, 3.0), (3.0, 5.0, 10.0, 15.0, 20.0)  # partly outside of these ranges


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--candidates", type=int, default=64, help="per generation; default %(default)s")
    parser.add_argument("--episodes", type=int, default=32, help="per candidate; default %(default)s")
    parser.add_argument("--generations", type=int, default=15, help="default %(default)s")
    parser.add_argument("--repeats", type=int, default=3, help="controllers of each kind; default %(default)s")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--picture", metavar="FILE", help="draws the table")
    parser.add_argument("--quick", action="store_true", help="one small run of each kind")
    args = parser.parse_args()
    if args.quick:
        args.candidates, args.episodes, args.generations, args.repeats = 32, 16, 8, 1
    if args.candidates < 8 or min(args.episodes, args.generations, args.repeats) < 1:
        parser.error("--candidates must be at least 8, the other counts at least 1")
    return args


def returns(env: batchenv.BatchEnv, weights: np.ndarray) -> np.ndarray:
    """Each lane's return over one episode of the plan. A lane pushes to the right if its weights . observation > 0."""
    observations, _ = env.reset()
    total, running = np.zeros(env.num_envs), np.ones(env.num_envs, dtype=bool)
    while running.any():
        actions = (np.einsum("ij,ij->i", observations, weights) > 0).astype(np.int64)
        observations, rewards, terminations, truncations, _ = env.step(actions)
        total += rewards * running
        running &= ~(terminations | truncations)
    return total


def train(randomise: bool, args: argparse.Namespace, seed: int) -> np.ndarray:
    """Weights found by the cross-entropy method: the mean of the last generation's best quarter."""
    rng = np.random.default_rng(seed)
    env = batchenv.make(ENV_ID, num_envs=args.candidates * args.episodes, **NOMINAL)
    mean, spread = np.zeros(4), np.ones(4)
    for generation in range(args.generations):
        # New episodes in each generation, the same for all candidates: lane = candidate * episodes + episode, and lanes
        # are dealt entries in turn.
        physics = {name: rng.uniform(*bounds, args.episodes) for name, bounds in TRAINED.items()} if randomise else None
        env.plan(params=physics, seeds=rng.integers(2**31, size=args.episodes))
        candidates = rng.normal(mean, spread, (args.candidates, 4))
        scores = returns(env, candidates.repeat(args.episodes, axis=0)).reshape(args.candidates, -1).mean(axis=1)
        elite = candidates[np.argsort(-scores, kind="stable")[: args.candidates // 4]]
        # Some spread is kept at first, because the best of a few candidates may lie close together by chance.
        mean, spread = elite.mean(axis=0), elite.std(axis=0) + 0.3 * (1 - generation / args.generations)
    env.close()
    return mean / np.linalg.norm(mean)


def table(weights: np.ndarray, episodes: int) -> np.ndarray:
    """Mean returns over the grid (lengths, pushes). One env plays all of it, with `episodes` lanes per physics."""
    lengths, forces = (a.ravel().repeat(episodes) for a in np.meshgrid(GRID_LENGTH, GRID_FORCE, indexing="ij"))
    env = batchenv.make(ENV_ID, num_envs=len(lengths), length=lengths, force_mag=forces)
    env.plan(seeds=range(10**6, 10**6 + episodes))
    scores = returns(env, np.tile(weights, (len(lengths), 1)))
    return scores.reshape(len(GRID_LENGTH), len(GRID_FORCE), episodes).mean(axis=2)


def draw(tables: dict[str, np.ndarray], path: str) -> None:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        sys.exit("--picture needs matplotlib: pip install 'batchenv[bench]'")
    figure = Figure(figsize=(9, 4), layout="constrained")
    for axes, (name, values) in zip(figure.subplots(1, 2), tables.items(), strict=True):
        image = axes.imshow(values, vmin=0, vmax=500)
        axes.set(title=name, xlabel="push (N)", ylabel="half the pole's length (m)")
        axes.set_xticks(range(len(GRID_FORCE)), GRID_FORCE)
        axes.set_yticks(range(len(GRID_LENGTH)), GRID_LENGTH)
    figure.colorbar(image, ax=figure.axes, label="mean return")
    figure.savefig(path)


def main() -> int:
    args = parse_arguments()
    tables = {}
    for name, randomise in (("nominal physics", False), ("randomised physics", True)):
        found = [train(randomise, args, args.seed + repeat) for repeat in range(args.repeats)]
        tables[name] = np.mean([table(weights, 64) for weights in found], axis=0)
        print(f"\nlearned on {name}: mean return by pole length (rows, m) and push (columns, N)")
        print(" " * 6 + "".join(f"{force:>8}" for force in GRID_FORCE))
        for length, row in zip(GRID_LENGTH, tables[name], strict=True):
            print(f"{length:>6}" + "".join(f"{value:>8.1f}" for value in row))
        print(f"mean {tables[name].mean():.1f}, worst {tables[name].min():.1f}")
    if args.picture:
        draw(tables, args.picture)
    nominal, randomised = tables.values()
    print(f"\nrandomised / nominal: {randomised.mean() / nominal.mean():.2f}")
    return 0 if randomised.mean() > nominal.mean() else 1


if __name__ == "__main__":
    sys.exit(main())
