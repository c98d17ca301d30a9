"""Compares all tasks of the DM Control suite with dm_control's own: every bit of observations, rewards, discounts and
ends, in three episodes per seed; or, with --pixels, of pictures, in a few steps.

    python tools/verify/compare_dm_control.py [--seeds 10] [--steps 1000] [--only walker cheetah-run] [--pixels]

It needs `pip install dm_control`; BATCHENV_ISA chooses the instruction set, and BATCHENV_PHYSICS=0 has lanes stepped
one by one. A lane is a seed; actions are random, and held for 1, 5 or 25 steps. --pixels needs MUJOCO_GL=egl or osmesa.
Exit status 1: something differs.
"""

import argparse
import itertools
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))
from helpers import dm_control


def pictures(domain, task, options):
    own = {"model_seed": 0} if domain == "lqr" else {}
    play = dm_control.picture_differences(domain, task, lanes=min(options.seeds, 3), steps=7, limit=4, **own)
    return itertools.islice(play, 3)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10, help="how many lanes with seeds of their own")
    parser.add_argument("--steps", type=int, default=1000, help="of each lane")
    parser.add_argument("--only", nargs="+", default=[], help="domains, or domain-task")
    parser.add_argument("--pixels", action="store_true")
    options = parser.parse_args()
    failed = 0
    for domain, task in dm_control.names():
        if options.only and not {domain, f"{domain}-{task}"} & set(options.only):
            continue
        found = []
        if options.pixels:
            found = [(step, lane, f"{count} numbers") for step, lane, count in pictures(domain, task, options)]
        for k, hold in enumerate(() if options.pixels else (1, 5, 25)):
            play = dm_control.differences(
                domain, task, seed=1000 * k, lanes=options.seeds, steps=options.steps // 3 + 1,
                limit=options.steps // 9, hold=hold,
                **({"model_seed": 1000 * k} if domain == "lqr" else {}),
            )  # fmt: skip
            found += itertools.islice(play, 3)
        failed += bool(found)
        where = "; ".join(f"{what} in step {step} of lane {lane}" for step, lane, what in found)
        print(f"{domain}-{task}: {where or 'equal'}", flush=True)
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
