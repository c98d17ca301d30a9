"""Workers for environments written in Python against those of other libraries, in turns in one run; medians.

python tools/bench/bench_python_peers.py [--rounds 9] [--only pufferlib vizdoom] [--lanes 8 64]

PufferLib 2.0.2 is the newest release that installs without downloading more than itself. It asks for older versions of
Gymnasium and NumPy, but runs with Gymnasium 1.4 and NumPy 1.26. ViZDoom's environments, which are compared with
EnvPool's, need vizdoom and opencv-python.
"""

import argparse
import contextlib
import functools
import importlib.util
import itertools
import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from gymnasium.envs.classic_control import CartPoleEnv
from gymnasium.vector import SyncVectorEnv

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "asv_bench"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples"))

from benchmarks.async_figures import in_turns

import batchenv

SPIN = 0.6  # seconds after which PufferLib's idle workers leave their cores to others
CONFIG = "\nscreen_format = GRAY8\nscreen_resolution = RES_160X120\n"  # beside what the scenario's file says


def missing(module):
    """Says so where a module is not installed."""
    if importlib.util.find_spec(module):
        return False
    print(f"skipped: {module} is not installed")
    return True


def random_actions(choices, rows):
    """Drawn beforehand, again and again."""
    return itertools.cycle(np.random.default_rng(0).integers(choices, size=(1000, rows)))


def steps(env):
    """A function that steps all lanes of a vector env."""
    env.reset()
    space = getattr(env, "single_action_space", env.action_space)  # EnvPool's is that of one lane
    actions = random_actions(space.n, env.num_envs)
    return lambda: env.step(next(actions))


def turns(env):
    """A function that receives a batch and sends its lanes back."""
    env.async_reset(seed=0)
    actions = random_actions(env.single_action_space.n, env.batch_size)
    return lambda: env.send(next(actions), env.recv()[4]["env_id"])


def puffers(env):
    """The same for PufferLib."""
    env.async_reset(0)
    actions = random_actions(env.single_action_space.n, env.num_envs)  # of which there are as many as in a batch

    def call():
        env.recv()
        env.send(next(actions))

    call.settle = lambda: time.sleep(SPIN)
    return call


def measured(contenders, rounds):
    """{name: median seconds of a call} of {name: (env, function that makes a call)}. The envs are closed then."""
    with contextlib.ExitStack() as closing:
        for env, _ in contenders.values():
            closing.callback(env.close)
        return in_turns({name: call(env) for name, (env, call) in contenders.items()}, rounds)


def best(rates, name):
    """The best rate of those whose names begin so."""
    return max(rate for its, rate in rates.items() if its.startswith(name))


def tell(title, rates):
    print(f"{title}, steps/s: " + ", ".join(f"{name} {rate:,.0f}" for name, rate in rates.items()))


def pufferlib(lanes, rounds):
    """Gymnasium's CartPole class: steps of all lanes, and batches of half of them."""
    if missing("pufferlib"):
        return
    from pufferlib import emulation, vector

    make = functools.partial(emulation.GymnasiumPufferEnv, env_creator=CartPoleEnv)
    puffer = functools.partial(vector.make, make, backend=vector.Multiprocessing, overwork=True)
    ours = functools.partial(batchenv.make_python, CartPoleEnv)
    for count in lanes or (8, 64, 256):
        contenders = {"Sync": (SyncVectorEnv([CartPoleEnv] * count), steps)}
        for workers in (1, 2):
            contenders[f"ours, {workers}"] = ours(count, num_workers=workers), steps
            env = puffer(num_envs=count, num_workers=workers, batch_size=count)
            contenders[f"PufferLib, {workers}"] = env, puffers
        half = count // 2
        contenders["halves, ours"] = ours(count, num_workers=2, batch_size=half), turns
        contenders["halves, PufferLib"] = puffer(num_envs=count, num_workers=2, batch_size=half), puffers
        took = measured(contenders, rounds)
        rates = {name: (half if "halves" in name else count) / seconds for name, seconds in took.items()}
        tell(f"CartPole's class, {count} lanes", rates)
        for kind in ("", "halves, "):
            print(f"  {kind}{best(rates, kind + 'ours') / best(rates, kind + 'PufferLib'):.2f} times PufferLib")


def vizdoom(lanes, rounds):
    """ViZDoom's basic scenario, gray, 160 x 120: the last four pictures, resized, make one of 4 x 84 x 84."""
    if missing("envpool") or missing("vizdoom"):
        return
    import envpool
    from vizdoom import scenarios_path
    from vizdoom_env import make_env

    ours = functools.partial(batchenv.make_python, make_env, env_kwargs={"scenario": "VizdoomBasic-v1"})
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # where the engines write a file of settings
        config = Path(folder) / "basic.cfg"
        config.write_text((Path(scenarios_path) / "basic.cfg").read_text() + CONFIG)
        theirs = functools.partial(envpool.make_gymnasium, "Basic-v1", use_combined_action=True, cfg_path=str(config))
        for count in lanes or (1, 4, 16):
            contenders = {}
            for workers in sorted({min(2, count), count}):
                contenders[f"processes, {workers}"] = ours(num_envs=count, num_workers=workers), steps
                contenders[f"threads, {workers}"] = ours(num_envs=count, workers="threads", num_workers=workers), steps
                contenders[f"EnvPool, {workers}"] = theirs(num_envs=count, num_threads=workers, frame_skip=4), steps
            rates = {name: count / seconds for name, seconds in measured(contenders, rounds).items()}
            contenders.clear()  # EnvPool's engines end with their env, and not before
            tell(f"ViZDoom, {count} lanes", rates)
            for kind in ("processes", "threads"):
                print(f"  {kind} {best(rates, kind) / best(rates, 'EnvPool'):.2f} times EnvPool")


def main():
    parts = {part.__name__: part for part in (pufferlib, vizdoom)}
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--only", nargs="+", choices=parts, default=list(parts))
    parser.add_argument("--lanes", nargs="+", type=int)
    arguments = parser.parse_args()
    for name in arguments.only:
        parts[name](arguments.lanes, arguments.rounds)


if __name__ == "__main__":
    main()
