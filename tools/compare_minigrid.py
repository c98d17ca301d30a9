"""Compares MiniGrid's and BabyAI's levels with the package minigrid's, bit for bit: images, directions, missions,
rewards, flags and the state of each lane's random stream after each reset and step.

    python tools/compare_minigrid.py [--seeds 50] [--steps 2000] [--only TEXT] [--modes NextStep,SameStep,Disabled]
        [--policy solver]

Actions of even lanes are those of a policy that solves the levels (for BabyAI minigrid's own bot), a fifth of them
random; those of odd lanes are random, and go forward, toggle and pick up more often than others. --policy takes one of
the two for all lanes. Seed s is that of lane s.
Exit status 1: something differs. A line per id says how many episodes ended, and how many of them were solved (a reward
above 0).
"""

import argparse
import sys
import time
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

import gymnasium
import minigrid  # noqa: F401  (registers the ids)
import numpy as np
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import batchenv
from helpers.babyai_bot import Bot
from helpers.minigrid_solver import Solver
from helpers.parity import choose

STREAM = "the random stream"
NOISE = 0.2  # how many of the policy's actions are random


def differences(ours, theirs):
    """What differs of two results: their observations first, then reward, terminated and truncated."""
    (a, *rest), (b, *others) = ours, theirs
    for key in b:
        same = tuple(a[key]) == tuple(b[key]) if key == "mission" else np.array_equal(a[key], b[key])
        if not same:
            yield key
    for name, x, y in zip(("reward", "terminated", "truncated"), rest, others, strict=False):
        if x.tobytes() != y.tobytes():
            yield name


def compare(env_id, seeds, steps, mode, policies):
    """Returns what differs (a list of texts), how many episodes ended and how many were solved. policies: of lanes with
    even and with odd numbers."""
    ours = batchenv.make(env_id, seeds, autoreset_mode=mode)
    theirs = SyncVectorEnv([lambda: gymnasium.make(env_id, disable_env_checker=True)] * seeds, autoreset_mode=mode)
    rng = np.random.default_rng(7)
    found = [f"reset: {what}" for what in differences(ours.reset(seed=0)[:1], theirs.reset(seed=0)[:1])]
    ended = solved = 0
    begun = done = np.ones(seeds, bool)
    played = [lane for lane in range(seeds) if policies[lane % 2] == "solver"]
    make_solver, env = (Bot, theirs) if env_id.startswith("BabyAI-") else (Solver, ours)
    solver = make_solver(env, 7, NOISE, played)
    for step in range(steps):
        actions = choose(ours, rng)
        actions[played] = solver.actions(begun)
        before = done
        result, expected = ours.step(actions), theirs.step(actions)
        found += [f"step {step}: {what}" for what in differences(result[:4], expected[:4])]
        streams = zip(ours.np_random, theirs.np_random, strict=True)
        if any(a.bit_generator.state != b.bit_generator.state for a, b in streams):
            found.append(f"step {step}: {STREAM}")
        done = expected[2] | expected[3]
        begun = before if mode is AutoresetMode.NEXT_STEP else done
        ended += int(done.sum())
        solved += int((expected[1] > 0).sum())
        if mode is AutoresetMode.DISABLED and done.any():
            options = {"reset_mask": done}
            pair = ours.reset(options=dict(options))[:1], theirs.reset(options=dict(options))[:1]
            found += [f"reset after step {step}: {what}" for what in differences(*pair)]
        if found:
            break
    return found, ended, solved


def main():
    """Runs the comparison that the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--seeds", type=int, default=50)
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--only", default="MiniGrid-")
    parser.add_argument("--modes", default="NextStep")
    parser.add_argument("--policy", choices=["solver", "random"])
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    known = set(batchenv.list_envs(None))
    ids = [name for name in gymnasium.registry if arguments.only in name and name in known]
    policies = [arguments.policy] * 2 if arguments.policy else ["solver", "random"]
    failed, ended, solved, start = [], 0, 0, time.time()
    for mode in map(AutoresetMode, arguments.modes.split(",")):
        for env_id in ids:
            found, ends, wins = compare(env_id, arguments.seeds, arguments.steps, mode, policies)
            ended, solved = ended + ends, solved + wins
            failed += [env_id] if found else []
            print(f"{env_id} {mode.value}: {ends} episodes, {wins} solved", *found[:3], sep="; ", flush=True)
    print(f"{len(ids)} ids, {ended} episodes, {solved} solved, {time.time() - start:.0f} s; differ: {failed or 'none'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
