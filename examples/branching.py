"""Tree search with snapshots: it escapes from the valley of MountainCar-v0, which random actions do not.

This is a beam search with one lane per candidate. In each round every state of the beam is copied into a few lanes (one
`restore`), each of these takes its own action for a few steps (one `rollout`), and the most promising of the new states
become the next beam. The search needs no model of the environment: a snapshot holds everything that decides a lane's
future, so it plans with the environment itself. The plan that it finds is then played from the start, to see that it
works. Needs only batchenv.
"""

import argparse
import sys
import time

import numpy as np

import batchenv

ENV_ID = "MountainCar-v0"


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10, help="start states to solve; default %(default)s")
    parser.add_argument("--beam", type=int, default=64, help="states kept per round; default %(default)s")
    parser.add_argument("--hold", type=int, default=5, help="steps that an action is held; default %(default)s")
    parser.add_argument("--quick", action="store_true", help="three start states, a narrow beam")
    args = parser.parse_args()
    if args.quick:
        args.seeds, args.beam = 3, 16
    if min(args.seeds, args.beam, args.hold) < 1:
        parser.error("--seeds, --beam and --hold must be at least 1")
    return args


def spread(observations: np.ndarray, count: int) -> np.ndarray:
    """The rows of up to `count` states to go on from: the fastest car of each place, then the fastest of the others.

    Speed is needed to get out, but the fastest cars alone would be nearly the same: taking one from each place keeps
    the beam diverse. Of states with the same place and speed, only one is kept.
    """
    place = np.round(observations[:, 0] * 20).astype(int)
    fastest = np.argsort(-np.abs(observations[:, 1]), kind="stable")
    _, first = np.unique(observations[fastest].round(4), axis=0, return_index=True)
    fastest = fastest[np.sort(first)]
    _, first = np.unique(place[fastest], return_index=True)
    best = fastest[np.sort(first)]
    others = fastest[~np.isin(fastest, best)]
    return np.concatenate([best, others])[:count]


def search(seed: int, width: int, hold: int) -> tuple[list[int] | None, int]:
    """A list of actions that leads out of the valley (or None), and how many steps of the environment that took."""
    start = batchenv.make(ENV_ID, num_envs=1)
    start.reset(seed=seed)
    root = start.snapshot()

    choices = int(start.single_action_space.n)
    lanes = width * choices
    env = batchenv.make(ENV_ID, num_envs=lanes)
    env.restore(root)  # the one row of `root` goes into all lanes
    action_of_lane = np.arange(lanes) % choices
    held = np.broadcast_to(action_of_lane, (hold, lanes))
    plans: list[list[int]] = [[]]  # the actions that led to each state in the beam
    snapshot, rows = root, np.zeros(1, np.int64)
    taken = 0
    while len(plans[0]) < env.spec.max_episode_steps:
        used = len(rows) * choices
        # Row k of the beam goes into the lanes from choices * k on, one per action; the remaining lanes repeat the last
        # row.
        parent = np.minimum(np.arange(lanes) // choices, len(rows) - 1)
        env.restore(snapshot, rows=rows[parent])
        result = env.rollout(held)
        taken += hold * lanes
        out = np.argwhere(result.terminations[:, :used])
        if len(out):
            t, lane = out[0]  # sorted by step, so this is the shortest way
            return plans[parent[lane]] + [int(action_of_lane[lane])] * (int(t) + 1), taken
        rows = spread(result.observations[-1, :used], width)
        plans = [plans[parent[lane]] + [int(action_of_lane[lane])] * hold for lane in rows]
        snapshot = env.snapshot()
    return None, taken


def play(seed: int, plan: list[int]) -> tuple[bool, float]:
    """Whether a plan, played from the start, reaches the flag, and its return."""
    env = batchenv.make(ENV_ID, num_envs=1)
    env.reset(seed=seed)
    result = env.rollout(np.array(plan)[:, None])
    return bool(result.terminations[-1, 0]), float(result.rewards.sum())


def random_successes(lanes: int) -> int:
    """How many of `lanes` episodes with random actions reach the flag."""
    env = batchenv.make(ENV_ID, num_envs=lanes, seed=0)
    env.reset()
    return int(env.rollout(env.spec.max_episode_steps, policy="random", seed=0).terminations.any(axis=0).sum())


def main() -> int:
    args = parse_arguments()
    print(f"{'seed':>4} {'reached':>8} {'return':>7} {'searched steps':>15} {'ms':>7}")
    solved = 0
    for seed in range(args.seeds):
        start = time.perf_counter()
        plan, taken = search(seed, args.beam, args.hold)
        seconds = time.perf_counter() - start
        reached, value = play(seed, plan) if plan else (False, float("nan"))
        solved += reached
        print(f"{seed:>4} {'yes' if reached else 'no':>8} {value:>7.0f} {taken:>15,} {seconds * 1e3:>7.1f}")
    print(f"search: {solved} of {args.seeds} reach the flag; random actions: {random_successes(1000)} of 1000")
    return 0 if solved == args.seeds else 1


if __name__ == "__main__":
    sys.exit(main())
