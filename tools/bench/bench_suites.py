"""DM Control, gymnasium-robotics or Meta-World against EnvPool and against the package itself.

    python tools/bench/bench_suites.py [--family dmc|robotics|metaworld] [--lanes 64] [--threads 1 2] [--rounds 5]
        [--seconds 0.3] [--only walker] [--pixels]

Contenders take turns, with the same random actions (each held for five steps in all but DM Control), episodes that end
and begin included; the package steps one environment, or 16 of gymnasium-robotics one after the other. Printed are
microseconds per step of one lane (medians of the rounds), and how many times as long the others take. With one thread
these are processor times, with more wall times. Who is not installed is left out: EnvPool has wheels for Python 3.12,
and brings a MuJoCo of its own. With --pixels, for DM Control, which needs MUJOCO_GL=egl or osmesa, pictures of 84 x 84
pixels are observed; OpenGL may use all processors for them, so times are wall times.
"""

import argparse
import statistics
import sys
import time
import warnings
from pathlib import Path

import numpy as np

import batchenv

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))
from helpers import dm_control

try:
    import envpool
except ImportError:
    envpool = None


class DmControl:
    """The DM Control suite."""

    package, hold, copies = "dm_control", 1, 1
    names = ["-".join(both) for both in dm_control.names()]

    @staticmethod
    def ids(name):
        """Its id here, and EnvPool's."""
        parts = name.replace("-", "_").split("_")
        return f"dm_control/{name}-v0", "".join(part if part.isupper() else part.title() for part in parts) + "-v1"

    @staticmethod
    def reference(name, pixels):
        """The package's own environment, stepped by a function of the lanes' actions."""
        env = dm_control.load().load(*name.split("-"), task_kwargs={"random": 0})
        env.reset()
        if pixels:
            return lambda actions: (env.step(actions[0]), env.physics.render(84, 84, camera_id=0))
        return lambda actions: env.step(actions[0])


class Robotics:
    """gymnasium-robotics."""

    package, hold, copies = "gymnasium-robotics", 5, 16
    names = batchenv.list_envs("robotics")

    @staticmethod
    def ids(name):
        return name, name

    @staticmethod
    def reference(name, pixels):
        from helpers.robotics import make_robotics

        envs = [make_robotics(name) for _ in range(Robotics.copies)]
        for lane, env in enumerate(envs):
            env.reset(seed=lane)

        def step(actions):
            for env, action in zip(envs, actions, strict=False):
                *_, terminated, truncated, _ = env.step(action.astype(env.action_space.dtype))
                if terminated or truncated:
                    env.reset()

        return step


class MetaWorld:
    """Meta-World, with hidden goals, as EnvPool has it."""

    package, hold, copies = "metaworld", 5, 1
    names = [env_id.removeprefix("Meta-World/").removesuffix("-v3") for env_id in batchenv.list_envs("metaworld")]

    @staticmethod
    def ids(name):
        pool_id = f"MetaWorld/{name.title().replace('-', '')}-v3"
        return pool_id, pool_id

    @staticmethod
    def reference(name, pixels):
        from helpers.metaworld import make_metaworld

        env = make_metaworld(f"Meta-World/{name}-v3", partially_observable=True)
        env.reset(seed=0)

        def step(actions):
            *_, truncated, _ = env.step(actions[0].astype(np.float32))
            if truncated:
                env.reset()

        return step


FAMILIES = {"dmc": DmControl, "robotics": Robotics, "metaworld": MetaWorld}


def actions_of(env, lanes, hold):
    space, rng = env.single_action_space, np.random.default_rng(0)
    low, high = np.clip([space.low, space.high], -1, 1)  # some have no bounds
    return [actions for _ in range(16) for actions in [rng.uniform(low, high, (lanes, *space.shape))] * hold]


def of_envpool(pool_id, lanes, threads, pixels):
    """A function that steps EnvPool's env, or None where it has no such task."""
    if envpool is None or pool_id not in envpool.list_all_envs():
        return None
    keywords = {"from_pixels": True} if pixels else {}
    env = envpool.make_gymnasium(pool_id, num_envs=lanes, num_threads=threads, seed=0, **keywords)
    env.reset()
    return env.step


def of_package(family, name, pixels):
    try:
        return family.reference(name, pixels)
    except ImportError:
        return None


def measure(step, actions, seconds, clock):
    begin, calls, until = clock(), 0, time.perf_counter() + seconds
    while time.perf_counter() < until:
        step(actions[calls % len(actions)])
        calls += 1
    return (clock() - begin) / calls * 1e6


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--family", choices=FAMILIES, default="dmc")
    parser.add_argument("--lanes", type=int, default=64)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.3, help="of a contender's turn")
    parser.add_argument("--only", nargs="+", default=[], help="names of tasks, or how they begin")
    parser.add_argument("--pixels", action="store_true")
    options = parser.parse_args()
    warnings.filterwarnings("ignore", ".*out of date")
    family = FAMILIES[options.family]
    keywords = {"observation": "pixels"} if options.pixels else {}
    columns = " | ".join(f"{n} threads, us | EnvPool | {family.package}" for n in options.threads)
    print(f"| task | {columns} |")
    print("|---|" + "---:|---:|---:|" * len(options.threads))
    for name in family.names:
        if options.only and not name.startswith(tuple(options.only)):
            continue
        env_id, pool_id = family.ids(name)
        cells = []
        for threads in options.threads:
            lanes = options.lanes
            clock = time.perf_counter if options.pixels or threads > 1 else time.process_time
            env = batchenv.make(env_id, lanes, num_threads=threads, **keywords)
            env.reset(seed=0)
            actions = actions_of(env, lanes, family.hold)
            pool = of_envpool(pool_id, lanes, threads, options.pixels)
            contenders = {"ours": (env.step, lanes), "EnvPool": (pool, lanes)}
            contenders[family.package] = (of_package(family, name, options.pixels), min(family.copies, lanes))
            contenders = {name: both for name, both in contenders.items() if both[0]}
            costs = {name: [] for name in contenders}
            for repeat in range(options.rounds + 1):  # the first one warms up
                for contender, (step, count) in contenders.items():
                    cost = measure(step, actions, options.seconds if repeat else 0.1, clock) / count
                    costs[contender] += [cost] * (repeat > 0)
            cells.append(f"{statistics.median(costs['ours']):.2f}")
            for other in ("EnvPool", family.package):
                ratios = [theirs / mine for theirs, mine in zip(costs.get(other, ()), costs["ours"], strict=False)]
                cells.append(f"{statistics.median(ratios):.1f}" if ratios else "")
            env.close()
        print(f"| `{name}` | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
