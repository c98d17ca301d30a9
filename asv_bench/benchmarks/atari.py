"""Atari: steps of one and of two players, against ale-py's AtariVectorEnv and the bare emulator, and making lanes."""

import importlib.util
import statistics
import sys
import time
from pathlib import Path

import numpy as np

import batchenv
from batchenv.cli.bench import draw_actions

GAMES = ["Pong", "Breakout", "SpaceInvaders"]
ROUNDS, STEPS = 7, 10


def needs(*packages):
    """asv's way to skip, with the reason."""
    missing = [name for name in packages if importlib.util.find_spec(name) is None]
    if missing:
        raise NotImplementedError(f"{', '.join(missing)} not installed: pip install 'batchenv[atari]'")


class Step:
    params = (GAMES, [8, 32], [1, 2])
    param_names = ("game", "lanes", "threads")

    def setup(self, game, lanes, threads):
        needs("multi_agent_ale_py", "ale_py")
        self.env = batchenv.make(f"{game}-v5", lanes, seed=0, num_threads=threads)
        self.env.reset()
        self.actions = draw_actions(self.env)

    def time_step(self, game, lanes, threads):
        for action in self.actions:
            self.env.step(action)


class Players(Step):
    params = ([2, 4], [8, 32], [1, 2])
    param_names = ("players", "lanes", "threads")

    def setup(self, players, lanes, threads):
        needs("multi_agent_ale_py", "ale_py")
        self.env = batchenv.make("Pong-v5", lanes, players=players, seed=0, num_threads=threads)
        self.env.reset()
        self.actions = draw_actions(self.env)


def spent(call):
    """CPU seconds."""
    start = time.process_time()
    call()
    return time.process_time() - start


def ratio(step, others):
    """How many times the CPU seconds of `step` those of `others` are, taken in turns: the median of rounds."""
    spent(step), spent(others)
    return statistics.median(spent(others) / spent(step) for _ in range(ROUNDS))


def stepper(env, count):
    actions = np.random.default_rng(0).integers(count, size=(STEPS, env.num_envs))

    def step():
        for row in actions:
            env.step(row)

    return step


def track_ratio_atari_vector_env(game, lanes):
    from ale_py.vector_env import AtariVectorEnv

    snake = "".join(f"_{c.lower()}" if c.isupper() else c for c in game).lstrip("_")
    ours = batchenv.make(f"{game}-v5", lanes, num_threads=1)
    theirs = AtariVectorEnv(snake, lanes, num_threads=1, reward_clipping=False)
    ours.reset(seed=0), theirs.reset(seed=0)
    count = int(ours.single_action_space.n)
    result = ratio(stepper(ours, count), stepper(theirs, count))
    theirs.close()
    return result


def track_share_of_bare_act(game, lanes):
    """What part of a step is the emulator: 1 is the limit. The C loop is tools/bench/bare_act.c."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools" / "bench"))
    from bench_atari import Bare

    snake = "".join(f"_{c.lower()}" if c.isupper() else c for c in game).lstrip("_")
    bare = Bare(snake, lanes, 1)
    ours = batchenv.make(f"{game}-v5", lanes, num_threads=1)
    ours.reset(seed=0)
    step = stepper(ours, int(ours.single_action_space.n))
    spent(step), bare.run(STEPS)
    return statistics.median(bare.run(STEPS) / spent(step) for _ in range(ROUNDS))


for benchmark in (track_ratio_atari_vector_env, track_share_of_bare_act):
    benchmark.params = (GAMES, [8, 32])
    benchmark.param_names = ("game", "lanes")
    benchmark.unit = "ratio"
    benchmark.setup = lambda game, lanes: needs("multi_agent_ale_py", "ale_py")
del benchmark


class Construct:
    def setup(self):
        needs("multi_agent_ale_py", "ale_py")

    def time_construct(self):
        batchenv.make("Pong-v5", 64).reset(seed=0)

    def peakmem_construct(self):
        env = batchenv.make("Pong-v5", 64)
        env.reset(seed=0)
        return env
