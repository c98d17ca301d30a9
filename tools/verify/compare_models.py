"""Steps MuJoCo models from files in groups and by mj_step, and compares every number, bit for bit.

    python tools/verify/compare_models.py [--steps 1000] [--seed 0] [--isa NAME] [--quiet] PATH ...

A path is an XML file, or a folder, in which all XML files are tried: those that are parts of other files and cannot be
read alone are counted only. Each file has a line in a Markdown table: its size; how its lanes are stepped (in groups,
or by mj_step because of some features); who solves its constraints; how many steps were compared, in all instruction
sets together; in how many of these calls a lane was left to mj_step, because its numbers were bad; and in which share
of the evaluations in groups MuJoCo solved a lane's constraints, or made their rows, and why. Controls are random, and
there are 8 lanes; lanes that become unstable start again. Exit status 1: something differs.
"""

import argparse
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

import mujoco
import numpy as np

from batchenv import _core
from batchenv.envs.mujoco import physics, shares
from helpers.together import LANES, Both

EACH = 5  # steps with the same controls


def files(paths):
    for path in map(Path, paths):
        yield from sorted(path.rglob("*.xml")) if path.is_dir() else [path]


def solver(model):
    """Who solves constraints, and how many of the pairs of geoms have contacts that csrc/engines/physics finds."""
    plan = dict(zip(_core.PHYSICS_INTS, physics.Plan(mujoco, model).ints, strict=True))
    own = plan["pair_own"]
    who = "MuJoCo" if plan["always"][0] or not plan["solves"][0] else "batchenv"
    return f"{who}, {own.sum()} of {len(own)} pairs"


def row(path, model, args):
    """The columns of a file's row, and whether something differs."""
    size = f"{model.nv} DoF, {model.nu} actuators"
    reasons = physics.reasons(mujoco, model)
    if reasons or model.nv == 0:
        return [path, size, "; ".join(reasons) or "nothing moves", "mj_step", "", "", ""], False
    compared = left = 0
    solved, called = np.zeros(len(_core.PHYSICS_LEFT), int), 0
    for isa in args.isa or _core.supported_isas():
        os.environ["BATCHENV_ISA"] = isa
        calls = [EACH] * (args.steps // EACH)
        both = Both(model)
        wrong, count, alone = both.compare(np.random.default_rng(args.seed), calls)
        if wrong:
            return [path, size, f"**differs** with {isa}: {wrong}", "", "", "", ""], True
        compared += count * EACH
        left += alone
        counts = [both.lanes.source.counts(lane) for lane in range(LANES)]
        solved += np.sum([count[2] for count in counts], 0)
        called += sum(count[3] for count in counts)
    share = left / max(1, left + compared // EACH)
    asked = "; ".join(shares.by_mujoco(mujoco, model, both.lanes.plan, compared, solved.tolist(), called))
    return [path, size, "in groups", solver(model), f"{compared:,}", f"{share:.1%}", asked], False


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="+")
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--isa", action="append", choices=_core.supported_isas(), help="the default is all")
    parser.add_argument("--quiet", action="store_true", help="leave out files in which nothing moves")
    args = parser.parse_args()
    print(f"mujoco {mujoco.__version__}, {LANES} lanes, {', '.join(args.isa or _core.supported_isas())}\n")
    print("| file | size | how | constraints | steps compared | left to mj_step | constraints left to MuJoCo |")
    print("|---|---|---|---|---:|---:|---|")
    unread = wrong = 0
    for path in files(args.paths):
        try:
            model = mujoco.MjModel.from_xml_path(str(path))
        except ValueError:
            unread += 1
            continue
        if args.quiet and model.nv == 0:
            continue
        columns, differs = row("/".join(path.parts[-2:]), model, args)
        wrong += differs
        print(f"| {' | '.join(columns)} |", flush=True)
    print(f"\n{unread} files are no models by themselves; {wrong} differ")
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main())
