"""Compares the Box2D environments with Gymnasium's, bit for bit: every variant, with random actions and Gymnasium's
own heuristics, several episodes of each seed.

    python tools/compare_box2d.py [--seeds 200] [--first 0] [--episodes 3] [--only TEXT]

Seed s is that of lane s; a lane is compared until its episodes have ended. It needs gymnasium[box2d]. Exit status 1:
something differs.
"""

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

import gymnasium
import numpy as np
from gymnasium.envs.box2d.bipedal_walker import BipedalWalkerHeuristics
from gymnasium.envs.box2d.lunar_lander import heuristic

import batchenv

GALE = {"enable_wind": True, "wind_power": 19.5, "turbulence_power": 1.9}
VARIANTS = [  # the id, its keywords
    ("LunarLander-v3", {}),
    ("LunarLander-v3", {"enable_wind": True}),
    ("LunarLander-v3", {"gravity": -3.7, **GALE}),
    ("LunarLanderContinuous-v3", {}),
    ("LunarLanderContinuous-v3", {"enable_wind": True}),
    ("BipedalWalker-v3", {}),
    ("BipedalWalkerHardcore-v3", {}),
]


class Random:
    """A lane's random actions."""

    def __init__(self, env, seed):
        self.space, self.rng = env.action_space, np.random.default_rng(seed)

    def act(self, observation):
        if isinstance(self.space, gymnasium.spaces.Discrete):
            return self.rng.integers(self.space.n)
        return self.rng.uniform(-1, 1, self.space.shape).astype(np.float32)


class Heuristic:
    """Gymnasium's way to land, or to walk."""

    def __init__(self, env, seed):
        self.env, self.walks = env.unwrapped, env.spec.id.startswith("BipedalWalker")
        self.mind = BipedalWalkerHeuristics() if self.walks else None

    def act(self, observation):
        action = self.mind.step_heuristic(observation) if self.walks else heuristic(self.env, observation)
        if isinstance(self.env.action_space, gymnasium.spaces.Discrete):
            return action
        return np.clip(action, -1, 1).astype(np.float32)


POLICIES = {"random": Random, "heuristic": Heuristic}


def differs(ours, theirs, what, seed):
    """Says so if two values are not the same bit for bit. Rewards are float64 in a vector env."""
    if np.asarray(ours).tobytes() == np.asarray(theirs).astype(np.asarray(ours).dtype).tobytes():
        return False
    print(f"  seed {seed}, {what}: {ours} instead of {theirs}")
    return True


def compare(env_id, keywords, policy, seeds, episodes):
    """Returns (steps compared, seeds that differ)."""
    lanes = len(seeds)
    ours = batchenv.make(env_id, lanes, autoreset_mode="Disabled", **keywords)
    theirs = [gymnasium.make(env_id, **keywords) for _ in seeds]
    space = ours.single_action_space
    actions = np.zeros((lanes, *space.shape), space.dtype)
    observations = ours.reset(seed=list(seeds))[0]
    seen = [env.reset(seed=seed)[0] for env, seed in zip(theirs, seeds, strict=True)]
    bad = {k for k in range(lanes) if differs(observations[k], seen[k], "reset", seeds[k])}
    minds = [policy(env, seed) for env, seed in zip(theirs, seeds, strict=True)]
    left, steps, taken = np.full(lanes, episodes), 0, np.zeros(lanes, int)
    left[list(bad)] = 0
    while left.any():
        for k in np.flatnonzero(left):
            actions[k] = minds[k].act(seen[k])
        observations, rewards, terminated, truncated, _ = ours.step(actions)
        ended = terminated | truncated
        done = np.zeros(lanes, bool)
        for k in np.flatnonzero(left):
            steps, taken[k] = steps + 1, taken[k] + 1
            seen[k], reward, *flags, _ = theirs[k].step(actions[k])
            where = f"step {taken[k]}"
            if (
                differs(observations[k], seen[k], f"{where}, observation", seeds[k])
                or differs(rewards[k], np.float64(reward), f"{where}, reward", seeds[k])
                or differs([terminated[k], truncated[k]], flags, f"{where}, flags", seeds[k])
            ):
                bad.add(int(k))
                left[k] = 0
            elif ended[k]:
                left[k] -= 1
                done[k] = left[k] > 0
        if ended.any():
            observations, _ = ours.reset(options={"reset_mask": ended})
        for k in np.flatnonzero(done):
            seen[k] = theirs[k].reset()[0]
            minds[k] = policy(theirs[k], seeds[k] + 1000 * int(left[k]))
            if differs(observations[k], seen[k], f"reset after step {taken[k]}", seeds[k]):
                bad.add(int(k))
                left[k] = 0
    for env in (ours, *theirs):
        env.close()
    return steps, sorted(seeds[k] for k in bad)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=200, help="how many (%(default)s)")
    parser.add_argument("--first", type=int, default=0, help="the first seed (%(default)s)")
    parser.add_argument("--episodes", type=int, default=3, help="of each seed (%(default)s)")
    parser.add_argument("--only", default="", help="only variants whose line contains this")
    options = parser.parse_args()
    seeds, failed = range(options.first, options.first + options.seeds), False
    for env_id, keywords in VARIANTS:
        for name, policy in POLICIES.items():
            variant = " ".join([env_id, *(f"{key}={value}" for key, value in keywords.items()), name])
            if options.only not in variant:
                continue
            start = time.monotonic()
            steps, bad = compare(env_id, keywords, policy, seeds, options.episodes)
            failed |= bool(bad)
            result = f"{len(bad)} seeds differ" if bad else "equal"
            print(
                f"{variant}: {steps:,} steps of {len(seeds)} seeds {result}, {time.monotonic() - start:.0f} s",
                flush=True,
            )
    return failed


if __name__ == "__main__":
    sys.exit(main())
