"""Compares all ids of gymnasium-robotics with the package's own environments: every bit of observations, rewards, ends
of episodes, infos and random streams.

    python tools/verify/compare_robotics.py [--seeds 10] [--steps 500] [--only PointMaze Large]

It needs `pip install gymnasium-robotics`; BATCHENV_ISA chooses the instruction set, and BATCHENV_PHYSICS=0 has lanes
stepped one by one. A lane is a seed. Each id is played three times, in each autoreset mode: with its own keywords and
random actions, held for 5 steps, in episodes of a third of the steps; then mazes with goals that move, and with
episodes that end at goals, for which balls go straight; Fetch twice with actions that bring hands and objects to goals,
in episodes of 50 steps; hands with other keywords and actions that close and open them, and with actions at their
bounds, in episodes of 25 steps; Adroit twice with starts that a reset gives to every other lane; and FrankaKitchen
twice with forces that bring things to their goals. Exit status 1: something differs.
"""

import argparse
import re
import sys
import warnings
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))
from helpers.kitchen import kitchen, push_things
from helpers.parity import MODES, play
from helpers.robotics import (
    ADROIT,
    FETCH,
    HANDS,
    IDS,
    adroit,
    adroit_starts,
    extremes,
    grasping,
    of,
    towards_goals,
    towards_objects,
)

KEEPING = {"remove_task_when_completed": False, "terminate_on_tasks_completed": False}
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
    case = case_of(env_id, keywords, options)
    try:
        return None, play(case, options.steps, mode, options.seeds)[0]
    except AssertionError as problem:
        return str(problem).splitlines()[0], 0


def case_of(env_id, keywords, options):
    if env_id in ADROIT:
        case = adroit(env_id, max_episode_steps=options.steps // 3)
        starts = adroit_starts(re.findall("[A-Z][a-z]+", env_id)[2], np.random.default_rng(len(keywords)))
        vars(case)["starts"] = {"initial_state_dict": starts[PLAYS.index(keywords) + 1]} if keywords else None
        return case
    if "Kitchen" in env_id:
        case = kitchen(max_episode_steps=options.steps // 3, **(KEEPING if "continuing_task" in keywords else {}))
        vars(case)["look"] = push_things if keywords else None
        return case
    case = of(env_id, max_episode_steps=options.steps // 3, **keywords)
    if keywords and env_id in FETCH:
        case = of(env_id)
        vars(case)["policy"] = towards_objects
    elif keywords and env_id in HANDS:
        case = hand(env_id, keywords == PLAYS[1])
    elif keywords and env_id.startswith("Point"):
        vars(case)["policy"] = towards_goals
    return case


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
