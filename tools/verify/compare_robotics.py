"""Compares all ids of gymnasium-robotics with the package's own environments: every bit of observations, rewards, ends
of episodes, infos and random streams.

    python tools/verify/compare_robotics.py [--seeds 10] [--steps 500] [--only PointMaze Large]

It needs `pip install gymnasium-robotics`; BATCHENV_ISA chooses the instruction set, and BATCHENV_PHYSICS=0 has lanes
stepped one by one. A lane is a seed. Each id is played three times, in each autoreset mode: with its own keywords and
random actions, held for 5 steps, in episodes of a third of the steps; then mazes with goals that move, and with
episodes that end at goals, for which balls go straight; and Fetch twice with actions that bring hands and objects to
goals, in episodes of 50 steps; and hands with other keywords and actions that close and open them, and with actions at
their bounds, in episodes of 25 steps. Exit status 1: something differs.
"""

import argparse
import sys
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))
from helpers.parity import MODES, play
from helpers.robotics import FETCH, HANDS, IDS, extremes, grasping, of, towards_goals, towards_objects

PLAYS = ({}, {"reset_target": True}, {"continuing_task": False})


def hand(env_id, grasps):
    """One of the two plays of hands."""
    if not grasps:
        case = of(env_id, max_episode_steps=25)
    elif "Reach" in env_id:
        case = of(env_id, distance_threshold=0.1)
    else:
        case = of(env_id, rotation_threshold=1.0, randomize_initial_position=False)
    vars(case)["policy"] = grasping if grasps else extremes
    return case


def differs(env_id, keywords, mode, options):
    """What differs first, or None; and how many episodes ended."""
    case = of(env_id, max_episode_steps=options.steps // 3, **keywords)
    if keywords and env_id in FETCH:
        case = of(env_id)
        vars(case)["policy"] = towards_objects
    elif keywords and env_id in HANDS:
        case = hand(env_id, keywords == PLAYS[1])
    elif keywords and env_id.startswith("Point"):
        vars(case)["policy"] = towards_goals
    try:
        return None, play(case, options.steps, mode, options.seeds)[0]
    except AssertionError as problem:
        return str(problem).splitlines()[0], 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10, help="how many lanes with seeds of their own")
    parser.add_argument("--steps", type=int, default=500, help="of each lane and play")
    parser.add_argument("--only", nargs="+", default=[], help="parts of the ids' names, all of which they have")
    options = parser.parse_args()
    warnings.filterwarnings("ignore", ".*out of date")
    failed = []
    chosen = [env_id for env_id in IDS if all(part in env_id for part in options.only)]
    for env_id in chosen:
        ended, found = 0, []
        for keywords, mode in zip(PLAYS, MODES, strict=True):
            problem, count = differs(env_id, keywords, mode, options)
            ended += count
            found += [f"{keywords}: {problem}"] if problem else []
        failed += [env_id] if found else []
        print(f"{env_id}: {ended} episodes; {'; '.join(found) or 'equal'}", flush=True)
    print(f"{len(chosen)} ids, {options.seeds} seeds, {options.steps} steps in each of {len(PLAYS)} plays; "
          f"differ: {', '.join(failed) or 'none'}")  # fmt: skip
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
