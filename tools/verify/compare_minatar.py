"""Compares MinAtar's games with the package minatar's, bit for bit: observations, rewards, ends of episodes and the
state of each lane's random stream after each reset and step.

    python tools/verify/compare_minatar.py [--seeds 200] [--steps 3000] [--only TEXT] [--sticky 0.1] [--no-ramping]

Actions of every fourth lane are those of a player that looks ahead, so that late states of the games are compared;
those of the others are random. Seed s is that of lane s. Exit status 1: something differs. A line per id says how many
episodes ended, what their rewards were in sum, and how long the longest one was.
"""

import argparse
import logging
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

import numpy as np

import batchenv
from helpers.minatar import IDS, Player, make_minatar, our_streams, their_streams


def compare(env_id, seeds, steps, keywords):
    """Returns what differs first, or None; how many episodes ended; the sum of rewards; the longest episode."""
    ours = batchenv.make(env_id, seeds, autoreset_mode="SameStep", **keywords)
    theirs = [make_minatar(env_id, **keywords) for _ in range(seeds)]
    player = Player(env_id, seeds, np.arange(0, seeds, 4), **keywords)
    observations, _ = ours.reset(seed=0)
    expected = np.array([env.reset(seed=seed)[0] for seed, env in enumerate(theirs)])
    ended = longest = 0
    rewards = 0.0
    lengths = np.zeros(seeds, int)
    for step in range(steps + 1):
        pairs = [(observations, expected), *zip(our_streams(ours), their_streams(theirs), strict=True)]
        for what, (a, b) in zip(("observation", "stream", "place in the stream"), pairs, strict=True):
            if a.tobytes() != b.tobytes():
                lanes = [lane for lane in range(seeds) if a[lane].tobytes() != b[lane].tobytes()]
                return f"before step {step}: {what} of lanes {lanes}", ended, rewards, longest
        if step == steps:
            break
        actions = player(ours)
        observations, reward, done, _, infos = ours.step(actions)
        results = [env.step(action) for env, action in zip(theirs, actions.tolist(), strict=True)]
        expected = np.array([result[0] for result in results])
        if reward.tolist() != [result[1] for result in results] or done.tolist() != [result[2] for result in results]:
            return f"step {step}: reward or end", ended, rewards, longest
        lengths += 1
        for lane in np.flatnonzero(done):
            if not np.array_equal(infos["final_obs"][lane], expected[lane]):
                return f"step {step}: last observation of lane {lane}", ended, rewards, longest
            expected[lane] = theirs[lane].reset()[0]
        longest = max(longest, int(lengths.max()))
        lengths[done] = 0
        ended += int(done.sum())
        rewards += float(reward.sum())
    return None, ended, rewards, longest


def main():
    """Runs the comparison that the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--only", default="", help="a part of the ids' names")
    parser.add_argument("--sticky", type=float, default=0.1, help="sticky_action_prob")
    parser.add_argument("--no-ramping", action="store_true", help="difficulty_ramping=False")
    options = parser.parse_args()
    logging.disable(logging.WARNING)  # minatar's, about packages that draw its pictures
    keywords = {"sticky_action_prob": options.sticky, "difficulty_ramping": not options.no_ramping}
    ids = [env_id for env_id in IDS if options.only in env_id]
    if not ids:
        parser.error(f"--only {options.only}: this is in the name of none of {', '.join(IDS)}")
    failed, begun = [], time.time()
    for env_id in ids:
        found, ended, rewards, longest = compare(env_id, options.seeds, options.steps, keywords)
        failed += [env_id] if found else []
        print(f"{env_id}: {ended} episodes, rewards {rewards:.0f}, longest {longest}; {found or 'equal'}", flush=True)
    print(f"{len(ids)} ids, {options.seeds} seeds, {options.steps} steps, {time.time() - begun:.0f} s", end="; ")
    print(f"differ: {', '.join(failed) or 'none'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
