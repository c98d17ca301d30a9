"""Compares the Box2D environments with Gymnasium's, bit for bit: every variant, with random actions and Gymnasium's
own heuristics, several episodes of each seed; observations, rewards, flags, infos, and their types.

    python tools/verify/compare_box2d.py [--seeds 200] [--first 0] [--episodes 3] [--modes Disabled] [--only TEXT]

Seed s is that of a lane of ours and of a SyncVectorEnv with one lane, which are compared until the seed's episodes have
ended. Ours is there once for each instruction set of this machine, and all are compared. Now and then they are restored
from snapshots of each other. It needs gymnasium[box2d]. Exit status 1: something differs.
"""

import argparse
import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

import gymnasium
import numpy as np
from gymnasium.envs.box2d.bipedal_walker import BipedalWalkerHeuristics
from gymnasium.envs.box2d.lunar_lander import heuristic
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import batchenv
from helpers.parity import assert_same
from helpers.tuned import Tuned

GROUP = 25  # seeds that are compared at a time
RESTORE = 61  # steps between two restores
GALE = {"enable_wind": True, "wind_power": 19.5, "turbulence_power": 1.9}
VARIANTS = [  # the id, its keywords, and those of ours that are constants in Gymnasium's modules
    ("LunarLander-v3", {}, {}),
    ("LunarLander-v3", {"enable_wind": True}, {}),
    ("LunarLander-v3", {"gravity": -3.7, **GALE}, {}),
    ("LunarLander-v3", {}, {"main_engine_power": 17.0, "side_engine_power": 0.9, "lander_density": 7.3}),
    ("LunarLander-v3", {}, {"leg_spring_torque": 9.0, "leg_density": 2.6, "initial_random": 1500.0}),
    ("LunarLanderContinuous-v3", {}, {}),
    ("LunarLanderContinuous-v3", {"enable_wind": True}, {}),
    ("BipedalWalker-v3", {}, {}),
    ("BipedalWalker-v3", {}, {"motors_torque": 95.0, "speed_hip": 3.6, "speed_knee": 6.9, "friction": 1.7}),
    ("BipedalWalker-v3", {}, {"initial_random": 40.0, "hull_density": 3.9, "leg_density": 1.4}),
    ("BipedalWalkerHardcore-v3", {}, {}),
]


class Random:
    """A lane's random actions."""

    def __init__(self, env, seed):
        self.space, self.rng = env.single_action_space, np.random.default_rng(seed)

    def act(self, observation):
        if isinstance(self.space, gymnasium.spaces.Discrete):
            return self.rng.integers(self.space.n)
        return self.rng.uniform(-1, 1, self.space.shape).astype(np.float32)


class Heuristic:
    """Gymnasium's way to land, or to walk."""

    def __init__(self, env, seed):
        self.env = env.envs[0].unwrapped
        self.walks = hasattr(self.env, "hull")
        self.mind = BipedalWalkerHeuristics() if self.walks else None

    def act(self, observation):
        action = self.mind.step_heuristic(observation) if self.walks else heuristic(self.env, observation)
        if isinstance(self.env.action_space, gymnasium.spaces.Discrete):
            return action
        return np.clip(action, -1, 1).astype(np.float32)


POLICIES = {"random": Random, "heuristic": Heuristic}


def lane_of(infos, lane):
    """What infos say about a lane, which has a row in each array."""
    if not infos:
        return {}
    told = (key for key, mask in infos.items() if key.startswith("_") and mask[lane])
    values = ((key[1:], infos[key[1:]]) for key in told)
    return {key: lane_of(v, lane) if isinstance(v, dict) else v[lane : lane + 1] for key, v in values}


class Comparison:
    """Some seeds of one variant, each with the given number of episodes."""

    def __init__(self, env_id, keywords, constants, policy, seeds, episodes, mode):
        self.policy, self.seeds, self.mode = policy, seeds, mode
        self.ours = []
        for isa in batchenv.build_info()["isas"]:
            os.environ["BATCHENV_ISA"] = isa
            self.ours.append(batchenv.make(env_id, len(seeds), autoreset_mode=mode, **keywords, **constants))
        keywords = {"disable_env_checker": True, **keywords}
        make = (
            (lambda: Tuned(env_id, constants, **keywords)) if constants else lambda: gymnasium.make(env_id, **keywords)
        )
        self.theirs = [SyncVectorEnv([make], autoreset_mode=mode) for _ in seeds]
        self.left, self.bad, self.steps = np.full(len(seeds), episodes), set(), 0
        self.minds = [policy(env, seed) for env, seed in zip(self.theirs, seeds, strict=True)]
        self.seen = [None] * len(seeds)

    def same(self, results, expected, lane, where):
        """Compares a lane of all of ours; if one differs, the lane is compared no further."""
        for env, (*arrays, infos) in zip(self.ours, results, strict=True):
            try:
                assert_same(tuple(array[lane : lane + 1] for array in arrays), expected[:-1], where)
                assert_same(lane_of(infos, lane), lane_of(expected[-1], 0), f"{where}, infos")
            except AssertionError as error:
                print(f"  {env.spec.id}, {self.mode.value}, seed {self.seeds[lane]}: {error}")
                self.bad.add(self.seeds[lane])
                self.left[lane] = 0
                return

    def reset(self, mask, where, **options):
        results = [env.reset(**options) for env in self.ours]
        for k in np.flatnonzero(mask & (self.left > 0)):
            own = {"seed": self.seeds[k]} if "seed" in options else {"options": {"reset_mask": np.array([True])}}
            expected = self.theirs[k].reset(**own)
            self.same(results, expected, k, where)
            self.seen[k] = expected[0][0]

    def step(self, number):
        if number % RESTORE == RESTORE - 1:
            shots = [env.snapshot() for env in self.ours]
            for env, shot in zip(self.ours, shots[1:] + shots[:1], strict=True):
                env.restore(shot)
        actions = np.zeros(self.ours[0].action_space.shape, self.ours[0].action_space.dtype)
        compared = np.flatnonzero(self.left)
        for k in compared:
            actions[k] = self.minds[k].act(self.seen[k])
        results = [env.step(actions) for env in self.ours]
        ended = results[0][2] | results[0][3]
        for k in compared:
            expected = self.theirs[k].step(actions[k : k + 1])
            self.same(results, expected, k, f"step {number}")
            self.seen[k] = expected[0][0]
            if ended[k]:
                self.left[k] -= self.left[k] > 0
                self.minds[k] = self.policy(self.theirs[k], self.seeds[k] + 1000 * int(self.left[k]))
        self.steps += len(compared)
        if ended.any() and self.mode is AutoresetMode.DISABLED:
            self.reset(ended, f"reset after step {number}", options={"reset_mask": ended})

    def run(self):
        """Returns (steps compared, seeds that differ)."""
        self.reset(np.ones(len(self.seeds), bool), "reset", seed=list(self.seeds))
        number = 0
        while self.left.any():
            self.step(number)
            number += 1
        for env in (*self.ours, *self.theirs):
            env.close()
        return self.steps, self.bad


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=200, help="how many (%(default)s)")
    parser.add_argument("--first", type=int, default=0, help="the first seed (%(default)s)")
    parser.add_argument("--episodes", type=int, default=3, help="of each seed (%(default)s)")
    parser.add_argument("--modes", nargs="*", type=AutoresetMode, default=list(AutoresetMode), help="of autoreset; all")
    parser.add_argument("--only", default="", help="only variants whose line contains this")
    options = parser.parse_args()
    end, failed = options.first + options.seeds, False
    for env_id, keywords, constants in VARIANTS:
        for name, policy in POLICIES.items():
            variant = " ".join([env_id, *(f"{key}={value}" for key, value in (keywords | constants).items()), name])
            if options.only not in variant:
                continue
            for mode in options.modes:
                start, steps, bad = time.monotonic(), 0, set()
                for first in range(options.first, end, GROUP):
                    seeds = range(first, min(first + GROUP, end))
                    more, worse = Comparison(env_id, keywords, constants, policy, seeds, options.episodes, mode).run()
                    steps, bad = steps + more, bad | worse
                failed |= bool(bad)
                result = f"{len(bad)} seeds differ" if bad else "equal"
                seconds = time.monotonic() - start
                print(
                    f"{variant}, {mode.value}: {steps:,} steps of {options.seeds} seeds {result}, {seconds:.0f} s",
                    flush=True,
                )
    return failed


if __name__ == "__main__":
    sys.exit(main())
