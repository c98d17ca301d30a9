"""What an Atari step costs: batchenv against EnvPool, ale-py's AtariVectorEnv and the bare emulator, interleaved.

"as it is" is batchenv over libale_c without the processor and drawing of our own (BATCHENV_ALE_FAST=0); "bare act" is a
C loop of nothing but the library's own act calls.

    python tools/bench/bench_atari.py                     # six games, 8 and 32 lanes, one thread
    python tools/bench/bench_atari.py --games pong --lanes 8 --threads 2 --rounds 20
    python tools/bench/bench_atari.py --asynchronous --lanes 64 --threads 2   # recv and send of half of the lanes
    python tools/bench/bench_atari.py --sync-vector-env --lanes 8             # Gymnasium's, with its wrappers, too

Each round runs every contender for a few steps, in turn. The figures are medians over rounds of microseconds per step
of one lane: CPU time (of all threads), which a busy machine disturbs less, and wall time. All but the bare loop include
resets.
"""

import argparse
import ctypes
import os
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np

import batchenv
from batchenv.envs.atari.files import library_path, rom_path

GAMES = ("pong", "breakout", "space_invaders", "ms_pacman", "seaquest", "qbert")


class Ours:
    name = "batchenv"

    def __init__(self, game, lanes, threads):
        self.env = batchenv.make(f"{camel(game)}-v5", lanes, num_threads=threads, autoreset_mode="NextStep")
        self.env.reset(seed=1)
        self.count = self.env.single_action_space.n

    def step(self, actions):
        self.env.step(actions)


class AsItIs(Ours):
    name = "as it is"

    def __init__(self, game, lanes, threads):
        os.environ["BATCHENV_ALE_FAST"] = "0"
        try:
            super().__init__(game, lanes, threads)
        finally:
            del os.environ["BATCHENV_ALE_FAST"]


class EnvPool:
    name = "envpool"

    def __init__(self, game, lanes, threads):
        import envpool

        self.env = envpool.make_gymnasium(f"{camel(game)}-v5", num_envs=lanes, num_threads=threads, seed=1)
        self.env.reset()
        self.count = self.env.action_space.n

    def step(self, actions):
        self.env.step(actions.astype(np.int32))


class AleVector:
    name = "ale-py"

    def __init__(self, game, lanes, threads):
        from ale_py.vector_env import AtariVectorEnv

        self.env = AtariVectorEnv(game, lanes, num_threads=threads, reward_clipping=False)
        self.env.reset(seed=1)
        self.count = self.env.single_action_space.n

    def step(self, actions):
        self.env.step(actions)


class SyncVector:
    name = "gymnasium"

    def __init__(self, game, lanes, threads):
        import ale_py
        import gymnasium
        from gymnasium.wrappers import AtariPreprocessing, FrameStackObservation

        gymnasium.register_envs(ale_py)

        def make():
            env = gymnasium.make(f"ALE/{camel(game)}-v5", frameskip=1, repeat_action_probability=0.0)
            return FrameStackObservation(AtariPreprocessing(env), 4)

        self.env = gymnasium.vector.SyncVectorEnv([make] * lanes)
        self.env.reset(seed=1)
        self.count = self.env.single_action_space.n

    def step(self, actions):
        self.env.step(actions)


def halves(contender, actions):
    """A step of all lanes in two batches, each sent back as soon as it is there."""
    middle = len(actions) // 2
    for part in (actions[:middle], actions[middle:]):
        contender.turn(part)


class OursAsync:
    name = "batchenv"

    def __init__(self, game, lanes, threads):
        self.env = batchenv.make(f"{camel(game)}-v5", lanes, batch_size=lanes // 2, num_threads=threads)
        self.env.async_reset(seed=1)
        self.count = self.env.single_action_space.n

    def turn(self, actions):
        self.env.send(actions, self.env.recv()[4]["env_id"])

    step = halves


class EnvPoolAsync:
    name = "envpool"

    def __init__(self, game, lanes, threads):
        import envpool

        self.env = envpool.make_gymnasium(
            f"{camel(game)}-v5", num_envs=lanes, batch_size=lanes // 2, num_threads=threads, seed=1
        )
        self.env.async_reset()
        self.count = self.env.action_space.n

    def turn(self, actions):
        self.env.send(actions.astype(np.int32), self.env.recv()[4]["env_id"])

    step = halves


class AleVectorAsync:
    name = "ale-py"

    def __init__(self, game, lanes, threads):
        from ale_py.vector_env import AtariVectorEnv

        self.env = AtariVectorEnv(game, lanes, num_threads=threads, batch_size=lanes // 2, reward_clipping=False)
        self.count = self.env.single_action_space.n
        self.env.reset(seed=1)  # receives the first batch

    def turn(self, actions):
        self.env.step(actions)  # of the lanes received last; the others are being stepped meanwhile

    step = halves


class Bare:
    name = "bare act"

    def __init__(self, game, lanes, threads):
        self.library = bare_library()
        self.lanes, self.seed, self.count = lanes, 1, 0
        self.library.bare_open.restype = ctypes.c_void_p
        self.library.bare_run.restype = ctypes.c_double
        machines = self.library.bare_open(str(library_path()).encode(), str(rom_path(game)).encode(), lanes)
        self.machines = ctypes.c_void_p(machines)

    def run(self, steps):
        self.seed += 1
        return self.library.bare_run(self.machines, self.lanes, steps, 4, ctypes.c_uint64(self.seed))


def bare_library():
    source = Path(__file__).with_name("bare_act.c")
    target = Path(tempfile.gettempdir()) / f"batchenv_bare_act_{source.stat().st_mtime_ns}.so"
    if not target.exists():
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", str(target), str(source), "-ldl"], check=True)
    return ctypes.CDLL(str(target))


def camel(game):
    return "".join(word.capitalize() for word in game.split("_"))


def measure(contender, steps, lanes, rng):
    """(CPU, wall) seconds of some steps."""
    if isinstance(contender, Bare):
        spent = contender.run(steps)
        return spent, spent
    actions = rng.integers(contender.count, size=(steps, lanes))
    cpu, wall = time.process_time(), time.perf_counter()
    for row in actions:
        contender.step(row)
    return time.process_time() - cpu, time.perf_counter() - wall


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--games", nargs="+", default=GAMES)
    parser.add_argument("--lanes", nargs="+", type=int, default=[8, 32])
    parser.add_argument("--threads", nargs="+", type=int, default=[1])
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--steps", type=int, default=240, help="lane-steps per round, at least one step of all lanes")
    parser.add_argument("--asynchronous", action="store_true")
    parser.add_argument("--sync-vector-env", action="store_true")
    arguments = parser.parse_args()
    if arguments.asynchronous:
        kinds = [OursAsync, EnvPoolAsync, AleVectorAsync]
    else:
        kinds = [Ours, EnvPool, AleVector, *[SyncVector] * arguments.sync_vector_env, AsItIs, Bare]
    titles = [kind.name for kind in kinds]
    print("us per lane-step: " + " ".join(["game", "lanes", "threads", "| CPU:", *titles, "| wall:", *titles]), end="")
    print(" | times as fast as each (CPU, wall)")
    rng = np.random.default_rng(0)
    for threads in arguments.threads:
        for lanes in arguments.lanes:
            for game in arguments.games:
                contenders = [kind(game, lanes, threads) for kind in kinds]
                steps = max(1, arguments.steps // lanes)
                rounds = [[measure(c, steps, lanes, rng) for c in contenders] for _ in range(arguments.rounds + 1)][1:]
                scale = 1e6 / (steps * lanes)
                cpu, wall = (
                    [statistics.median(r[k][which] for r in rounds) * scale for k in range(len(kinds))]
                    for which in (0, 1)
                )
                print(f"{game:14} {lanes:3} {threads} |", *(f"{value:4.0f}" for value in cpu), end=" | ")
                print(*(f"{value:4.0f}" for value in wall), end=" | ")
                print(
                    *(f"{a / cpu[0]:.2f},{b / wall[0]:.2f}" for a, b in zip(cpu[1:], wall[1:], strict=True)), flush=True
                )


if __name__ == "__main__":
    main()
