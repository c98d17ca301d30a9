"""Procgen's games, drawn by batchenv, against the same games that Qt draws, and against gym3: random options and calls.

    python tools/verify/compare_procgen.py [--minutes 10] [--trials 100] [--seed 0] [--calls 60]

A trial is an env of four lanes, each with a game, a mode and options of its own, and random calls: steps in which
actions are held for a while, resets, other options, snapshots that are restored in other lanes, and large pictures. Two
processes play each trial, one with BATCHENV_PROCGEN_FAST=0, on one thread, and the other on two; all that they see must
be equal. In every other trial, which has neither snapshots nor other options, the second also plays gym3's games, if
it is installed. Exit status 1: something differs.
"""

import argparse
import hashlib
import importlib.util
import os
import subprocess
import sys
import time
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

import numpy as np

import batchenv
from batchenv.envs.procgen.games import MODES
from helpers.procgen import Reference

LANES = 4
SWITCHES = {  # and how often they are on
    "use_sequential_levels": 0.3,
    "center_agent": 0.7,
    "use_backgrounds": 0.6,
    "use_monochrome_assets": 0.2,
    "restrict_themes": 0.3,
    "paint_vel_info": 0.3,
}


def options_of(rng, generated):
    """Random options of a lane."""
    game = str(rng.choice(list(MODES)))
    mode = str(rng.choice(["easy", "hard", *MODES[game]]))
    chosen = {"game": game, "distribution_mode": mode, "num_levels": 0, "start_level": 0}
    if mode != "exploration":
        chosen |= {"num_levels": int(rng.choice([0, 1, 2, 200])), "start_level": int(rng.integers(2**31 - 200))}
    chosen["debug_mode"] = int(rng.choice([0, 2, 4, 8, 14])) if game == "coinrun" else 0
    chosen["use_generated_assets"] = generated
    return chosen | {name: bool(rng.random() < often) for name, often in SWITCHES.items()}


def given(options):
    """What gym3 is given: it wants to hear nothing of levels in the mode that has one."""
    of_levels = ("num_levels", "start_level") if options["distribution_mode"] == "exploration" else ()
    return {name: value for name, value in options.items() if name not in of_levels}


def by_name(lanes):
    """{option: the lanes' values}."""
    return {name: [lane[name] for lane in lanes] for name in lanes[0]}


class Trial:
    """An env and the digest of all that it shows. gym3: whether it is compared with gym3's games."""

    def __init__(self, seed, threads, gym3):
        self.rng = np.random.default_rng(seed)
        generated = bool(self.rng.random() < 0.15)
        self.plain = seed % 2 == 0
        self.changes = not self.plain and not generated
        lanes = [options_of(self.rng, generated) for _ in range(LANES)]
        options = {"num_threads": threads, "render_human": True, "render_mode": "rgb_array"}
        self.env = batchenv.make(
            "procgen-coinrun-v0", LANES, autoreset_mode="SameStep" if self.plain else "NextStep", **options
        )
        self.env.set_params(**by_name(lanes))
        self.seen = hashlib.sha256()
        self.kept = []
        self.theirs = None
        if gym3 and self.plain:
            self.theirs = [Reference(one.pop("game"), [seed + k], **given(one)) for k, one in enumerate(lanes)]
        self.show(self.env.reset(seed=seed))

    def show(self, result):
        """Takes in a result, and compares its frames with gym3's."""
        for part in result[:4]:
            if isinstance(part, np.ndarray):
                self.seen.update(part.tobytes())
        if self.theirs:
            frames = np.concatenate([one.observe()[0] for one in self.theirs])
            assert np.array_equal(frames, result[0]), "it is not as gym3's"

    def step(self):
        """Some steps with the same actions."""
        actions = self.rng.integers(0, 15, LANES)
        actions[self.rng.random(LANES) < 0.3] = 4
        for _ in range(self.rng.integers(1, 15)):
            if self.theirs:
                for one, action in zip(self.theirs, actions, strict=True):
                    one.act([action])
            self.show(self.env.step(actions))

    def reset(self):
        """All lanes, or some, go on with their next levels."""
        mask = self.rng.random(LANES) < 0.5
        if self.plain or not mask.any():
            if self.theirs:
                for one in self.theirs:
                    one.act([-1])
            self.show(self.env.reset())
        else:
            self.show(self.env.reset(options={"reset_mask": mask}))

    def change(self):
        """Lanes get other options, and some of them at once."""
        if self.changes:
            self.env.set_params(**by_name([options_of(self.rng, False) for _ in range(LANES)]))
            self.reset()

    def swap(self):
        """A snapshot is taken, and one of those that were taken goes on in other lanes."""
        if self.changes:
            self.kept.append(self.env.snapshot([int(self.rng.integers(LANES))]))
            chosen = self.kept[self.rng.integers(len(self.kept))]
            for lane in self.rng.permutation(LANES)[: self.rng.integers(1, LANES)]:
                self.env.restore(chosen, lanes=[int(lane)])
            self.kept = self.kept[-5:]

    def draw(self):
        """Large pictures."""
        for picture in self.env.render():
            self.seen.update(picture.tobytes())

    def play(self, calls):
        """Returns the digest."""
        ways = (self.step, self.reset, self.change, self.swap, self.draw)
        for way in self.rng.choice(len(ways), calls, p=[0.7, 0.07, 0.08, 0.12, 0.03]):
            ways[way]()
        self.env.close()
        for one in self.theirs or ():
            one.close()
        return self.seen.hexdigest()


def play(arguments):
    """The trials whose seeds come by stdin: prints their digests."""
    fast = os.environ["BATCHENV_PROCGEN_FAST"] == "1"
    gym3 = fast and importlib.util.find_spec("gym3") is not None
    warnings.simplefilter("ignore")
    for line in sys.stdin:
        try:
            print(Trial(int(line), 2 if fast else 1, gym3).play(arguments.calls), flush=True)
        except AssertionError as error:
            print(error, flush=True)


def main():
    """Plays trials until the time is over."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--trials", type=int, default=sys.maxsize, help="at most")
    parser.add_argument("--seed", type=int, default=0, help="of the first trial")
    parser.add_argument("--calls", type=int, default=60, help="of a trial")
    parser.add_argument("--play", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.play:
        play(arguments)
        return 0
    command = [sys.executable, __file__, "--play", "--calls", str(arguments.calls)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "bufsize": 1}
    players = [
        subprocess.Popen(command, env={**os.environ, "BATCHENV_PROCGEN_FAST": fast}, **pipes) for fast in ("1", "0")
    ]
    seed, wrong, end = arguments.seed, [], time.monotonic() + 60 * arguments.minutes
    while time.monotonic() < end and seed - arguments.seed < arguments.trials:
        for player in players:
            player.stdin.write(f"{seed}\n")
        digests = [player.stdout.readline().strip() for player in players]
        if digests[0] != digests[1] or not digests[0]:
            wrong.append(seed)
            print(f"trial {seed} differs: {digests}", flush=True)
        if not all(digests):
            break
        seed += 1
    print(f"{seed - arguments.seed} trials, {len(wrong)} of which differ: {wrong}")
    for player in players:
        player.stdin.close()
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
