"""Compares environments written in Python with SyncVectorEnv, bit for bit: many kinds of env, in every kind of workers
and autoreset mode. The tests do this, too, for fewer steps.

python tools/verify/compare_python_envs.py [--steps 20000] [--only NAME] [--kinds serial,threads] [--modes SameStep]

It needs gymnasium[box2d] and minigrid. Exit status 1: something differs.
"""

import argparse
import itertools
import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

import gymnasium
from gymnasium.envs.classic_control import CartPoleEnv
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import batchenv
from helpers.lockstep import lockstep
from helpers.python_envs import ARRAYS, SPACES, Anything, Awaited

LANES = 3
KINDS = ("serial", "threads", "processes", "asyncio", "coroutines")


def envs():
    """{name: (function that makes an env, part of the steps that are made)}."""

    def registered(env_id):
        return lambda: gymnasium.make(env_id)

    found = {
        "CartPole's class": (CartPoleEnv, 1.0),
        "LunarLander-v3": (registered("LunarLander-v3"), 1.0),
        "CarRacing-v3": (registered("CarRacing-v3"), 0.005),
        "MiniGrid-DoorKey-8x8-v0": (registered("minigrid:MiniGrid-DoorKey-8x8-v0"), 1.0),
    }
    for name, space in SPACES.items():
        found[f"observations: {name}"] = (lambda space=space: Anything(space), 1 / len(SPACES))
        found[f"actions: {name}"] = (lambda space=space: Anything(ARRAYS["box"], space), 1 / len(SPACES))
    found["a goal env"] = (lambda: Anything(SPACES["goal"]), 1.0)
    found["an env with Tuple actions"] = (lambda: Anything(ARRAYS["box"], SPACES["tuple"]), 1.0)
    return found


def compare(make_one, kind, mode, steps):
    """Steps both; returns how many episodes have ended."""
    make, options = make_one, {"workers": kind, "num_workers": 2}
    if kind == "coroutines":
        make, options = lambda: Awaited(make_one()), {"workers": "asyncio"}
    elif kind == "asyncio":
        del options["num_workers"]
    ours = batchenv.make_python(make, LANES, autoreset_mode=mode, **options)
    theirs = SyncVectorEnv([make_one] * LANES, autoreset_mode=mode)
    try:
        return lockstep(ours, theirs, steps, every=500)[0]
    finally:
        ours.close(), theirs.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=20000, help="of each of CartPole's lanes (%(default)s)")
    parser.add_argument("--only", default="", help="only envs whose name contains this")
    parser.add_argument("--kinds", default=",".join(KINDS), help="default %(default)s")
    parser.add_argument("--modes", default=",".join(mode.value for mode in AutoresetMode), help="default %(default)s")
    options = parser.parse_args()
    os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
    differ = count = total = 0
    kinds, modes = options.kinds.split(","), map(AutoresetMode, options.modes.split(","))
    for (name, (make, part)), kind, mode in itertools.product(envs().items(), kinds, modes):
        if options.only not in name:
            continue
        if name == "CarRacing-v3" and kind in ("threads", "asyncio"):
            continue  # pygame draws its pictures, and in one thread at a time
        steps, start = max(1, round(options.steps * part)), time.monotonic()
        try:
            said = f"{compare(make, kind, mode, steps):,} episodes"
        except AssertionError as difference:
            said, differ = f"DIFFERS {difference}", differ + 1
        count, total = count + 1, total + steps * LANES
        print(f"{name:32} {kind:10} {mode.value:9} {steps:6,} steps of {LANES} lanes: {said}", end="", flush=True)
        print(f" ({time.monotonic() - start:.0f} s)", flush=True)
    print(f"{count} comparisons, {total:,} steps of one lane: {differ} differ")
    return int(differ > 0)


if __name__ == "__main__":
    sys.exit(main())
