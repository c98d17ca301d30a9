"""Starts from snapshots: finds a way that random actions hardly ever find, as in Go-Explore.

"First return, then explore" (Ecoffet, Huizinga, Lehman, Stanley, Clune, 2021): states that have been reached are kept,
one for each cell of a coarse grid, and episodes start from them, more often from cells that have seldom been started
from. In batchenv, such starts are a plan of snapshots (`env.plan`), which grows with the cells. Here a car has to get
up a hill for which it is too weak. Needs only batchenv. Exits with status 1 if the goal is not reached.
"""

import argparse
import sys

import numpy as np

import batchenv

GOAL = 0.5  # m


def cells_of(state: dict[str, np.ndarray]) -> np.ndarray:
    """The cell of each lane: a number for 1/20 of the way and 1/20 of the speeds."""
    place = np.clip((state["position"] + 1.2) / 1.8 * 20, 0, 19).astype(int)
    speed = np.clip((state["velocity"] + 0.07) / 0.14 * 20, 0, 19).astype(int)
    return place * 20 + speed


class Archive:
    """The cells that have been reached, and how often episodes started there."""

    def __init__(self, env: batchenv.BatchEnv, seed: int):
        self.env, self.rng = env, np.random.default_rng(seed)
        self.cells: dict[int, int] = {}  # the entry of each cell
        env.reset(seed=seed)
        self.cells[int(cells_of(env.state)[0])] = 0
        self.plan = env.plan(snapshots=env.snapshot(0), seeds=self._seeds(1), weights=[1.0])
        self.starts = np.zeros(1)
        env.reset()

    def _seeds(self, count: int) -> list[int]:
        return self.rng.integers(2**62, size=count).tolist()

    def add(self) -> None:
        """Keeps the lanes that are in new cells."""
        new: dict[int, int] = {}  # the first lane that is there
        for lane, cell in enumerate(cells_of(self.env.state).tolist()):
            if cell not in self.cells:
                new.setdefault(cell, lane)
        if new:
            self.cells.update({cell: len(self.plan) + k for k, cell in enumerate(new)})
            self.plan.extend(snapshots=self.env.snapshot(list(new.values())), seeds=self._seeds(len(new)))

    def start_again(self) -> None:
        """Starts all lanes from kept states, those that have seldom been started from first."""
        self.starts.resize(len(self.plan), refcheck=False)
        self.plan.weights = 1 / np.sqrt(self.starts + 1)
        self.env.reset()
        np.add.at(self.starts, self.plan.entries, 1)


def explore(lanes: int, rounds: int, steps: int, seed: int) -> tuple[int, int | None]:
    """How many cells were found, and the round in which the goal was reached, or None."""
    env = batchenv.make("MountainCar-v0", lanes, max_episode_steps=None)
    archive, rng = Archive(env, seed), np.random.default_rng(seed)
    for number in range(rounds):
        for _ in range(steps):
            terminations = env.step(np.repeat(rng.integers(3, size=lanes // 4), 4))[2]
            if terminations.any():
                return len(archive.cells), number
            archive.add()
        archive.start_again()
    return len(archive.cells), None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lanes", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--steps", type=int, default=10, help="of each lane in a round")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quick", action="store_true", help="leaves the comparison out")
    args = parser.parse_args()
    found, reached = explore(args.lanes, args.rounds, args.steps, args.seed)
    where = "nowhere near the goal" if reached is None else f"the goal in round {reached}"
    print(f"from kept states: {found} cells, {where}")
    if not args.quick:
        env = batchenv.make("MountainCar-v0", args.lanes)
        env.reset(seed=args.seed)
        rollout = env.rollout(args.rounds * args.steps, policy="random", seed=args.seed)
        print(f"from the usual starts, as many steps: as far as {rollout.observations[..., 0].max():.2f} of {GOAL}")
    return 1 if reached is None else 0


if __name__ == "__main__":
    sys.exit(main())
