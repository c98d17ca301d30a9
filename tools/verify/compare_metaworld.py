"""Compares all ids of Meta-World with the package's own environments: every bit of observations, rewards, ends of
episodes, infos and random streams.

    python tools/verify/compare_metaworld.py [--seeds 10] [--steps 500] [--only window]

The same for the benchmarks, each with all its tasks (MT10), or two lanes of each (ML10): with each seed, observations
have the task appended or not, and with ML lanes now and then take another goal.

It needs `pip install metaworld`, which brings MuJoCo 3.3.0; BATCHENV_ISA chooses the instruction set. A lane is a
seed. Each id is played five times, in one autoreset mode after the other: with random actions, held for 5 steps, in
episodes of a third of the steps; with the package's own policies, some noise, and episodes that end with a success;
with goals that are hidden, as in ML1; with hands that go straight to their objects; and with policies without noise,
whose episodes go on after a success. Exit status 1: something differs.
"""

import argparse
import sys
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))
from helpers.metaworld import (
    BENCHMARKS,
    IDS,
    benchmark_pair,
    follow_benchmark,
    of,
    skilled,
    towards_objects,
)
from helpers.parity import MODES, assert_streams_same, follow

ENDED = {"terminate_on_success": True}
PLAYS = {  # keywords, and what makes an id's policy
    "random": ({}, lambda env_id: None),
    "policies": (ENDED, skilled),
    "hidden": ({"partially_observable": True}, lambda env_id: None),
    "hands": ({}, lambda env_id: towards_objects),
    "still policies": ({}, lambda env_id: skilled(env_id, 0.0)),
}


def differs(env_id, play, mode, options):
    """What differs first, or None; how many episodes ended, how many of them with a success, and the highest reward."""
    keywords, make_policy = PLAYS[play]
    limit = options.steps if keywords is ENDED else options.steps // (2 if play == "still policies" else 3)
    case, successes = of(env_id, max_episode_steps=limit, **keywords), []
    vars(case).update(
        policy=make_policy(env_id), excuse=lambda result, expected, begun: successes.append(int(expected[2].sum()))
    )
    ours, theirs = case.pair(options.seeds, mode)
    try:
        finished, rewards = follow(case, ours, theirs, options.steps)
        assert_streams_same(ours, theirs)
    except AssertionError as problem:
        return str(problem).splitlines()[0], 0, 0, 0.0
    return None, finished, sum(successes), max(rewards)


def benchmarks():
    """(name, split, lanes) of each; of ML1, some tasks'."""
    found = [(name, "train", 10) for name in ("reach-v3", "door-open-v3", "peg-insert-side-v3")]
    found += [(name, "test", 5) for name in ("push-v3", "window-close-v3")]
    for name in BENCHMARKS:
        for split in ("train", "test") if name.startswith("ML") else (None,):
            tasks = 5 if split == "test" else int(name[2:])
            found.append((name, split, tasks * (2 if split else 1)))
    return found


def benchmark_differs(name, split, lanes, seed, options):
    """What differs first, or None, and how many episodes ended."""
    keywords = {"max_episode_steps": options.steps // (15 if split else 3)}
    if seed % 2 and split is None:
        keywords["use_one_hot"] = True
    ours, theirs = benchmark_pair(name, split, seed, lanes, **keywords)
    try:
        return None, follow_benchmark(ours, theirs, options.steps, seed, options.steps // 6 if split else 0)
    except AssertionError as problem:
        return str(problem).splitlines()[0], 0
    finally:
        theirs.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10, help="how many lanes with seeds of their own")
    parser.add_argument("--steps", type=int, default=500, help="of each lane and play")
    parser.add_argument("--only", nargs="+", default=[], help="parts of the ids' names, all of which they have")
    options = parser.parse_args()
    warnings.filterwarnings("ignore", ".*may be too high")
    warnings.filterwarnings("ignore", ".*precision lowered")
    failed = []
    chosen = [env_id for env_id in IDS if all(part in env_id for part in options.only)]
    for env_id in chosen:
        ended, done, highest, found = 0, 0, 0.0, []
        for number, play in enumerate(PLAYS):
            problem, count, successes, most = differs(env_id, play, MODES[number % len(MODES)], options)
            ended, done, highest = ended + count, done + successes, max(highest, most)
            found += [f"{play}: {problem}"] if problem else []
        failed += [env_id] if found else []
        print(
            f"{env_id}: {ended} episodes, {done} of them done, rewards up to {highest:.2f}; "
            f"{'; '.join(found) or 'equal'}",
            flush=True,
        )
    for name, split, lanes in benchmarks():
        title = f"{name} {split or ''}".strip()
        if not all(part in title for part in options.only):
            continue
        results = [benchmark_differs(name, split, lanes, seed, options) for seed in range(options.seeds)]
        found = [f"seed {seed}: {problem}" for seed, (problem, _) in enumerate(results) if problem]
        failed += [title] if found else []
        ended = sum(count for _, count in results)
        print(f"{title}, {lanes} lanes: {ended} episodes; {'; '.join(found) or 'equal'}", flush=True)
    print(f"{len(chosen)} ids, {options.seeds} seeds, {options.steps} steps in each of {len(PLAYS)} plays; "
          f"differ: {', '.join(failed) or 'none'}")  # fmt: skip
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
