"""Compares MiniGrid's and BabyAI's levels with the package minigrid's, bit for bit: images, directions, missions,
rewards, flags and the state of each lane's random stream after each reset and step, in all three autoreset modes.

    python tools/verify/compare_minigrid.py [--seeds 50] [--steps 2000] [--only TEXT] [--policy solver] [--jobs 1]

The reference takes nearly all of the time, so that it is played once for the three modes: as a SyncVectorEnv with
autoreset disabled, whose finished lanes are reset by mask. What SyncVectorEnv returns in the other two modes is put
together from these results (tests/envs/test_minigrid.py plays it in each mode).

Actions of even lanes are those of a policy that solves the levels (for BabyAI minigrid's own bot), a fifth of them
random; those of odd lanes are random, and go forward, toggle and pick up more often than others. --policy takes one of
the two for all lanes. Seed s is that of lane s.
Exit status 1: something differs. A line per id says how many episodes ended, and how many of them were solved (a reward
above 0).
"""

import argparse
import functools
import multiprocessing
import sys
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

import gymnasium
import minigrid  # noqa: F401  (registers the ids)
import numpy as np
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import batchenv
from helpers.babyai_bot import Bot
from helpers.minigrid_solver import Solver
from helpers.parity import choose
from helpers.patience import OutOfTime, at_most

MODES = AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP, AutoresetMode.DISABLED
PATIENCE = 20  # seconds of processor time, for a level of the reference
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


class Ours:
    """The id's BatchEnv in the three autoreset modes, each of which gets what the reference gets."""

    def __init__(self, env_id, count):
        self.modes = [batchenv.make(env_id, count, autoreset_mode=mode) for mode in MODES]
        self.next_step, self.same_step, self.disabled = self.modes

    def reset(self, seeds, expected):
        """What differs after a reset of all lanes."""
        for env in self.modes:
            yield from differences(env.reset(seed=seeds)[:1], (expected,))

    def step(self, actions, expected):
        """What differs after a step, before any lane is reset, but for what SameStep begins in finished lanes: that is
        for `begin`."""
        for env in (self.next_step, self.disabled):
            yield from differences(env.step(actions)[:4], expected)
        self.begun, *rest, infos = self.same_step.step(actions)
        done = expected[2] | expected[3]
        last = {key: value if key == "mission" else value.copy() for key, value in self.begun.items()}
        if done.any():
            if infos["_final_obs"].tolist() != done.tolist():
                yield "_final_obs"
            last["mission"] = list(last["mission"])
            for lane in np.flatnonzero(done):
                for key in last:
                    last[key][lane] = infos["final_obs"][lane][key]
        yield from differences((last, *rest), expected)

    def begin(self, done, expected):
        """What differs after the lanes of the mask `done` have been reset."""
        yield from differences(self.disabled.reset(options={"reset_mask": done.copy()})[:1], (expected,))
        yield from differences((self.begun,), (expected,))
        lanes = np.flatnonzero(done)
        result = self.next_step.step(np.zeros(len(lanes), np.int64), lanes)[:4]
        nothing = np.zeros(len(lanes)), np.zeros(len(lanes), bool), np.zeros(len(lanes), bool)
        yield from differences(result, ({key: [value[k] for k in lanes] for key, value in expected.items()}, *nothing))

    def streams(self, theirs):
        """What differs of the states of the streams."""
        states = [stream.bit_generator.state for stream in theirs.np_random]
        for env in self.modes:
            if [stream.bit_generator.state for stream in env.np_random] != states:
                yield "the random stream"


def begins(env):
    """Whether one of the reference's environments can be reset. In some states of the stream it goes on for ever."""
    try:
        with at_most(PATIENCE):
            env.reset()
    except (OutOfTime, RecursionError):
        return False
    return True


def compare(env_id, seeds, steps, policies):
    """Returns what differs (a list of texts), how many episodes ended, how many were solved, and seeds that were left
    out, because after some episodes no level can be generated for them, neither here nor in the reference. policies: of
    lanes with even and with odd numbers."""
    ours = Ours(env_id, len(seeds))
    theirs = SyncVectorEnv(
        [lambda: gymnasium.make(env_id, disable_env_checker=True)] * len(seeds), autoreset_mode=AutoresetMode.DISABLED
    )
    rng = np.random.default_rng(7)
    found = [f"reset: {what}" for what in ours.reset(seeds, theirs.reset(seed=seeds)[0])]
    ended = solved = 0
    done = np.ones(len(seeds), bool)
    played = [lane for lane in range(len(seeds)) if policies[lane % 2] == "solver"]
    make_solver, env = (Bot, theirs) if env_id.startswith("BabyAI-") else (Solver, ours.disabled)
    solver = make_solver(env, 7, NOISE, played)
    for step in range(steps):
        actions = choose(ours.disabled, rng)
        actions[played] = solver.actions(done)
        expected = theirs.step(actions)[:4]
        try:
            found.extend(f"step {step}: {what}" for what in ours.step(actions, expected))
        except batchenv.LaneError as error:
            stuck = error.env_id.tolist()
            if "no level could be generated" not in str(error) or any(begins(theirs.envs[lane]) for lane in stuck):
                raise
            if found:  # in another mode, which was stepped before
                break
            left_out = [seeds[lane] for lane in stuck]
            *result, more = compare(env_id, [seed for seed in seeds if seed not in left_out], steps, policies)
            return *result, left_out + more
        done = expected[2] | expected[3]
        ended += int(done.sum())
        solved += int((expected[1] > 0).sum())
        if done.any():
            first = theirs.reset(options={"reset_mask": done.copy()})[0]
            found += [f"reset after step {step}: {what}" for what in ours.begin(done, first)]
        found += [f"step {step}: {what}" for what in ours.streams(theirs)]
        if found:
            break
    return found, ended, solved, []


def main():
    """Runs the comparison that the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--seeds", type=int, default=50)
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--only", default="-", help="a part of the ids' names")
    parser.add_argument("--policy", choices=["solver", "random"])
    parser.add_argument("--jobs", type=int, default=1, help="how many processes")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    known = set(batchenv.list_envs(None))
    ids = [
        name
        for name in gymnasium.registry
        if arguments.only in name and name in known and name.startswith(("MiniGrid-", "BabyAI-"))
    ]
    if not ids:
        parser.error(f"--only {arguments.only}: this is in the name of no level of MiniGrid or BabyAI")
    policies = [arguments.policy] * 2 if arguments.policy else ["solver", "random"]
    failed, ended, solved, start = [], 0, 0, time.time()
    task = functools.partial(compare, seeds=list(range(arguments.seeds)), steps=arguments.steps, policies=policies)
    with ProcessPoolExecutor(arguments.jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
        for env_id, (found, ends, wins, left_out) in zip(ids, pool.map(task, ids), strict=True):
            ended, solved = ended + ends, solved + wins
            failed += [env_id] if found else []
            notes = [f"without seeds {left_out}, which come to no level"] if left_out else []
            print(f"{env_id}: {ends} episodes, {wins} solved", *notes, *found[:3], sep="; ", flush=True)
    print(f"{len(ids)} ids, {ended} episodes, {solved} solved, {time.time() - start:.0f} s; differ: {failed or 'none'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
