"""Ready tasks of robots, and what the parts of batchenv.robots cost: processor time of one thread.

    python tools/bench/bench_robots.py [--lanes 64 1024] [--rounds 7] [--seconds 0.3] [--ready]

The task is examples/own_task/stand.py, alone and with one part. Contenders take turns; printed are medians of the
rounds: of the time of the task alone, and of what each part adds to it, per lane, in steps and where episodes start.
--ready: the tasks of MuJoCo Playground and mjlab instead, in steps of the env per second, with actions that are small
(a normal distribution of deviation 0.3), starts of episodes included.
"""

import argparse
import functools
import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples" / "own_task"))
from stand import Stand

import batchenv
from batchenv import robots

ROBOT = str(Path(__file__).resolve().parents[2] / "examples" / "own_task" / "quadruped.xml")
FEET = ".*_foot"


class With(Stand):
    """The task with one part."""

    max_episode_steps = None

    @classmethod
    def env(cls, lanes):
        return batchenv.make_mujoco(ROBOT, lanes, task=cls, num_threads=1)

    def make(self):
        return None

    def prepare(self):
        super().prepare()
        self.part = self.make()
        self.state = robots.states(*([self.part] if hasattr(self.part, "state") else []), **self.state)

    def start(self, lanes):
        super().start(lanes)
        if hasattr(self.part, "start"):
            self.part.start(lanes)


class Commands(With):
    def make(self):
        return robots.Commands(standing=0.1, heading=(-3, 3))

    def update(self, lanes, actions):
        super().update(lanes, actions)
        self.part.update(lanes)


class Pushes(With):
    def make(self):
        return robots.Pushes(self.model, "trunk")

    def control(self, lanes, actions):
        self.part.control(lanes)
        return super().control(lanes, actions)


class Feet(With):
    def make(self):
        return robots.Feet(4)

    def reward(self, lanes, actions):
        heights = lanes.geoms(FEET).xpos[:, :, 2]
        steps = self.part.step(lanes, heights < 0.03, heights)
        return super().reward(lanes, actions) + steps.air_time.sum(axis=1)


class History(With):
    def make(self):
        return robots.History("joints", 5, 12)

    def update(self, lanes, actions):
        super().update(lanes, actions)
        self.part.add(lanes, lanes.qpos[:, 7:])

    def observe(self, lanes):
        return np.concatenate([super().observe(lanes), self.part.rows(lanes, lanes.qpos[:, 7:])], axis=1)


class Delay(With):
    def make(self):
        return robots.Delay(12, 4)

    def control(self, lanes, actions):
        return super().control(lanes, self.part.control(lanes, actions))

    def recontrol(self, lanes, actions, step):
        return super().control(lanes, self.part.recontrol(lanes, step))


class Friction(With):
    def make(self):
        drawn = robots.Randomization(self.model)
        drawn.scale("geom_friction", (0.5, 1.5), names=FEET, columns=0, together=True)
        return drawn


class Masses(With):
    def make(self):
        drawn = robots.Randomization(self.model)
        drawn.add("body_mass", (-0.5, 1), names="trunk", with_inertia=True)
        return drawn


class Six(With):
    """Six fields."""

    pool = 0

    def make(self):
        drawn = robots.Randomization(self.model, pool=self.pool)
        drawn.scale("geom_friction", (0.5, 1.5), names=FEET, columns=0, together=True)
        drawn.add("body_mass", (-0.5, 1), names="trunk", with_inertia=True)
        for field in ("actuator_gainprm", "dof_frictionloss", "dof_armature"):
            drawn.scale(field, (0.9, 1.1))
        return drawn


class Pool(Six):
    """Six fields of 64 models."""

    pool = 64


EDITS = {
    "enum { TRUNK,": """static const be_drawn drawn[] = {
        {"geom_friction", ".*_foot", BE_SCALE, 0.5, 1.5, .columns = BE_COLUMN(0), .together = 1},
        {"body_mass", "trunk", BE_ADD, -0.5, 1, .with_inertia = 1},
        {"actuator_gainprm", NULL, BE_SCALE, 0.9, 1.1}, {"dof_frictionloss", NULL, BE_SCALE, 0.9, 1.1},
        {"dof_armature", NULL, BE_SCALE, 0.9, 1.1}, {0}};
    enum { TRUNK,""",
    "    return be_mujoco_start(b,": """    const int status = be_mujoco_draw_model(b, lane, error);
    return status != BE_OK ? status : be_mujoco_start(b,""",
    ".control = control,": ".control = control, .drawn = drawn,",
    "Stand-v0": "VariedStand-v0",
}  # of examples/own_task/stand.c


@functools.cache
def varied():
    """The id of the task in C with the same six fields."""
    text = Path(ROBOT).with_name("stand.c").read_text()
    for before, after in EDITS.items():
        assert before in text, before
        text = text.replace(before, after)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "varied.c")
        file.write_text(text)
        return batchenv.compile(file).ids[0]


class InC(Six):
    """Six fields of a task in C."""

    @classmethod
    def env(cls, lanes):
        return batchenv.make(varied(), lanes, xml_file=ROBOT, num_threads=1, model_pool=cls.pool)


class PoolInC(InC):
    """Six fields of 64 models, in C."""

    pool = 64


STEPS = (With, Commands, Pushes, Feet, History, Delay)
STARTS = (With, Friction, Masses, Six, Pool, InC, PoolInC)


def measured(tasks, lanes, options, play):
    """Microseconds per lane and call of play(env): {task: their median}."""
    envs = {task: task.env(lanes) for task in tasks}
    times = {task: [] for task in tasks}
    for env in envs.values():
        env.reset(seed=0)
        play(env)
    for _ in range(options.rounds):
        for task, env in envs.items():
            begin, calls, until = time.process_time(), 0, time.perf_counter() + options.seconds
            while time.perf_counter() < until:
                play(env)
                calls += 1
            times[task].append((time.process_time() - begin) / calls / lanes * 1e6)
    return {task: statistics.median(values) for task, values in times.items()}


def measure_ready(options):
    ids = [env_id for extra in ("playground", "mjlab") for env_id in batchenv.list_envs(extra)]
    rng = np.random.default_rng(0)
    print("| id | " + " | ".join(f"{lanes} lanes, steps/s" for lanes in options.lanes) + " |")
    print("|---|" + "---:|" * len(options.lanes))
    for env_id in ids:
        cells = []
        for lanes in options.lanes:
            env = batchenv.make(env_id, lanes, num_threads=1)
            env.reset(seed=0)
            shape = env.action_space.shape
            actions = np.clip(rng.normal(0, 0.3, (16, *shape)), -1, 1).astype(np.float32)
            rates = []
            for _ in range(options.rounds):
                begin, calls, until = time.process_time(), 0, time.perf_counter() + options.seconds
                while time.perf_counter() < until:
                    env.step(actions[calls % len(actions)])
                    calls += 1
                rates.append(calls * lanes / (time.process_time() - begin))
            cells.append(f"{statistics.median(rates):,.0f}")
        print(f"| `{env_id}` | " + " | ".join(cells) + " |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lanes", type=int, nargs="+", default=[64, 1024])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.3, help="of a contender's turn")
    parser.add_argument("--ready", action="store_true", help="ready tasks instead of parts")
    options = parser.parse_args()
    if options.ready:
        return measure_ready(options)
    rng = np.random.default_rng(0)
    for what, tasks in (("step", STEPS), ("start of an episode", STARTS)):
        print(f"| us per lane and {what} | " + " | ".join(f"{lanes} lanes" for lanes in options.lanes) + " |")
        print("|---|" + "---:|" * len(options.lanes))
        rows = {task: [] for task in tasks}
        for lanes in options.lanes:
            actions = np.clip(rng.normal(0, 0.3, (lanes, 12)), -1, 1).astype(np.float32)
            play = (lambda env, actions=actions: env.step(actions)) if what == "step" else (lambda env: env.reset())
            found = measured(tasks, lanes, options, play)
            for task, row in rows.items():
                row.append(found[task] - (found[With] if task is not With else 0))
        for task, row in rows.items():
            name = "the task alone" if task is With else f"+ {task.__name__}"
            print(f"| {name} | " + " | ".join(f"{value:.1f}" for value in row) + " |", flush=True)


if __name__ == "__main__":
    main()
