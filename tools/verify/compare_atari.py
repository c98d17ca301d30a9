"""Compares batchenv's own processor and picture chip for the Atari games with those of the library, bit for bit: every
game, in several configurations, for so many frames that rare events happen, too.

python tools/verify/compare_atari.py [--frames 20000] [--only NAME] [--skip-to NAME] [--jobs 1] [--seed 0]

Both play side by side: observations, rewards, ends, infos, memory and screens are compared after each step, and now and
then whole saved states, which are then put into other lanes. It needs batchenv[atari]. For each game there is a line,
with how much faster the steps of ours were (about 1.0 says that this build or library does without ours), or with the
first difference. Exit status 1: something differs.
"""

import argparse
import multiprocessing
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

import numpy as np

import batchenv
from batchenv.envs.atari import games, players
from helpers.atari import id_of, own_emulator

LANES = 4
RESULTS = ("observation", "reward", "terminated", "truncated", "info")
RESET = ("observation", "info")
WHOLE = {"img_height": None, "img_width": None}
STICKY = {"repeat_action_probability": 0.25}
CONFIGURATIONS = {
    "usual": {**STICKY, "num_threads": 1},
    "every frame": {**WHOLE, "obs_type": "rgb", "frameskip": 1, "maxpool": False, "stack_num": None, "num_threads": 2},
    "three": {"obs_type": "rgb", "frameskip": 3, "max_num_frames_per_episode": 4001, "num_threads": 1},
    "lives": {**STICKY, "episodic_life": True, "max_num_frames_per_episode": 9998, "num_threads": 2},
    "last frame": {**STICKY, "frameskip": 5, "maxpool": False, "stack_num": 1, "num_threads": 2},
    "many skipped": {"frameskip": 30, "noop_max": 0, "use_fire_reset": False, "stack_num": 2, "num_threads": 1},
}


def configurations(game):
    """{name: options}: for the players that there may be."""
    found = {}
    if game in games.GAMES:
        found.update(CONFIGURATIONS)
    for count in players.MODES.get(game, {}):
        if count > 1:
            found[f"{count} players"] = {"players": count, "num_threads": count % 2 + 1}
    return found


def first_difference(one, other, name):
    """Says where two results, which are made of dicts and arrays, differ first; "" if they do not."""
    if isinstance(one, dict):
        assert one.keys() == other.keys()
        found = (first_difference(part, other[key], f"{name}, {key}") for key, part in one.items())
        return next(filter(None, found), "")
    one, other = np.asarray(one), np.asarray(other)
    assert (one.dtype, one.shape) == (other.dtype, other.shape)
    places = np.argwhere(one != other)
    if not len(places):
        return ""
    at = tuple(places[0].tolist())
    return f"{name} at {at}: {one[at]} is not the library's {other[at]} ({len(places)} values differ)"


def assert_same(one, other, where):
    found = first_difference(one, other, where)
    assert not found, found


class Pair:
    """An env with our emulator and one with the library's."""

    def __init__(self, game, options):
        self.envs, self.seconds = [], [0.0, 0.0]
        for own in (True, False):
            with own_emulator(own):
                self.envs.append(batchenv.make(id_of(game), LANES, autoreset_mode="NextStep", **options))

    def do(self, where, act):
        """Does the same to both, and compares what they return and where they are then."""
        results = []
        for k, env in enumerate(self.envs):
            start = time.perf_counter()
            results.append(act(env))
            self.seconds[k] += time.perf_counter() - start
        names = RESULTS if len(results[0]) == len(RESULTS) else RESET
        assert_same(*(dict(zip(names, result, strict=True)) for result in results), where)
        assert_same(*(env.state for env in self.envs), f"{where}, state")

    def compare_saved(self, where, rows):
        """Compares saved states, which both then go on from: lane i from that of lane rows[i], and each env from the
        other's."""
        saved = [env.snapshot() for env in self.envs]
        assert bytes(saved[0]) == bytes(saved[1]), f"{where}: saved states differ"
        observed = [env.restore(other, rows=rows) for env, other in zip(self.envs, reversed(saved), strict=True)]
        assert_same(*observed, f"{where}, restored")


def play(game, options, frames, seed):
    """Plays so many frames, divided over the lanes; returns the seconds that both took."""
    pair, rng = Pair(game, options), np.random.default_rng(seed)
    space = pair.envs[0].action_space
    space.seed(seed)
    actions, skip = space.sample(), options.get("frameskip", 4)
    pair.do("reset", lambda env: env.reset(seed=seed))
    for step in range(max(1, frames // (skip * LANES))):
        held = rng.random(LANES) < 0.7  # most actions last for several steps
        actions[~held] = space.sample()[~held]
        pair.do(f"step {step}", lambda env: env.step(actions))
        if rng.random() < 0.02:
            rows = rng.permutation(LANES) if rng.random() < 0.5 else rng.integers(LANES, size=LANES)
            pair.compare_saved(f"step {step}", rows)
    return pair.seconds


def compare(game, frames, seed):
    """Returns the frames of a game that were compared, how much faster ours were, and the first difference or ""."""
    total, seconds = 0, np.zeros(2)
    for name, options in configurations(game).items():
        try:
            seconds += play(game, options, frames, seed)
        except AssertionError as difference:
            return total, 0, f"{name}: {difference}"
        total += frames
    return total, seconds[1] / seconds[0], ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--frames", type=int, default=20000, help="of each configuration of a game (%(default)s)")
    parser.add_argument("--only", default="", help="only games whose ROM's name contains this")
    parser.add_argument("--skip-to", default="", help="only games from this name on, in the order of the alphabet")
    parser.add_argument("--jobs", type=int, default=1, help="games at a time, each in a process (%(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of everything random (%(default)s)")
    options = parser.parse_args()
    wanted = sorted(name for name in {**games.GAMES, **games.TWO_PLAYER_GAMES} if options.only in name)
    wanted = [name for name in wanted if name >= options.skip_to]
    differ = total = 0
    # A process for each game, so that one that breaks down stops no other.
    context = multiprocessing.get_context("spawn")
    for first in range(0, len(wanted), options.jobs):
        some = wanted[first : first + options.jobs]
        pools = [ProcessPoolExecutor(1, mp_context=context) for _ in some]
        told = [
            pool.submit(compare, game, options.frames, options.seed) for pool, game in zip(pools, some, strict=True)
        ]
        for game, future, pool in zip(some, told, pools, strict=True):
            try:
                frames, faster, difference = future.result()
            except BrokenProcessPool:
                frames, faster, difference = 0, 0, "the process has broken down"
            pool.shutdown()
            total, differ = total + frames, differ + bool(difference)
            said = f"DIFFERS {difference}" if difference else f"equal, {faster:.2f} times as fast"
            print(f"{game:24} {frames:10,} frames: {said}", flush=True)
    print(f"{len(wanted)} games, {total:,} frames: {differ} differ")
    return int(differ > 0 or not wanted)


if __name__ == "__main__":
    sys.exit(main())
