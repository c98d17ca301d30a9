"""Compares all ids of Meta-World with the package's own environments: every bit of observations, rewards, ends of
episodes, infos and random streams.

    python tools/verify/compare_metaworld.py [--seeds 10] [--steps 500] [--only window]

It needs `pip install metaworld`, which brings MuJoCo 3.3.0; BATCHENV_ISA chooses the instruction set. A lane is a
seed. Each id is played five times: with random actions, held for 5 steps, in episodes of a third of the steps; with the
package's own policies, some noise, and episodes that end with a success; with goals that are hidden, as in ML1; with
the policies, hardly any noise, and episodes that go on when the task is done; and with a hand that goes straight to the
object. Exit status 1: something differs.
"""

import argparse
import itertools
import sys
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))
from helpers.metaworld import IDS, of, skilled, towards_objects
from helpers.parity import MODES, assert_streams_same, follow

# Keywords, which part of the steps is an episode's limit, and who plays: None: random actions; a number: the package's
# policy, with so much noise; or a policy of ours.
PLAYS = (
    ({}, 3, None),
    ({"terminate_on_success": True}, 0, 0.1),
    ({"partially_observable": True}, 3, None),
    ({}, 2, 0.02),
    ({}, 5, towards_objects),
)


def differs(env_id, play, mode, options):
    """What differs first, or None; how many episodes ended, and the highest reward."""
    keywords, part, policy = play
    case = of(env_id, max_episode_steps=options.steps // part if part else options.steps + 1, **keywords)
    if policy is not None:
        vars(case)["policy"] = policy if callable(policy) else skilled(env_id, policy)
    ours, theirs = case.pair(options.seeds, mode)
    try:
        finished, rewards = follow(case, ours, theirs, options.steps)
        assert_streams_same(ours, theirs)
    except AssertionError as problem:
        return str(problem).splitlines()[0], 0, 0.0
    return None, finished, max(rewards)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10, help="how many lanes with seeds of their own")
    parser.add_argument("--steps", type=int, default=500, help="of each lane and play")
    parser.add_argument("--only", nargs="+", default=[], help="parts of the ids' names, all of which they have")
    options = parser.parse_args()
    warnings.filterwarnings("ignore", ".*may be too high")
    failed = []
    chosen = [env_id for env_id in IDS if all(part in env_id for part in options.only)]
    for env_id in chosen:
        ended, done, highest, found = 0, 0, 0.0, []
        for play, mode in zip(PLAYS, itertools.cycle(MODES)):
            problem, count, most = differs(env_id, play, mode, options)
            ended, highest = ended + count, max(highest, most)
            done += count if play[1] == 0 else 0
            found += [f"{play}: {problem}"] if problem else []
        failed += [env_id] if found else []
        print(f"{env_id}: {ended} episodes, {done} of them done, rewards up to {highest:.2f}; "
              f"{'; '.join(found) or 'equal'}", flush=True)  # fmt: skip
    print(f"{len(chosen)} ids, {options.seeds} seeds, {options.steps} steps in each of {len(PLAYS)} plays; "
          f"differ: {', '.join(failed) or 'none'}")  # fmt: skip
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
