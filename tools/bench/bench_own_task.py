"""A task of one's own over a MuJoCo model: steps per second in C, in NumPy, and with what others offer.

    python tools/bench/bench_own_task.py [--lanes 64 1024 4096] [--threads 1 2] [--rounds 7] [--seconds 0.5]

The task is examples/own_task: a quadruped that is to stand. `c` is stand.c, `numpy` stand.py, `physics` the same model
without a task (make_mujoco). `batch` is MuJoCo 4's batch (or mjbatch) with the task's formulas in NumPy around it, and
`sync` Gymnasium's SyncVectorEnv over MuJoCo's Python bindings. In the latter two nobody resets lanes: what a user would
have to add is left out. Contenders take turns; printed are our steps per second in C, and medians of "theirs / c" of
the rounds' processor times with one thread, and of their wall times with several.
"""

import argparse
import itertools
import sys
import time
from pathlib import Path

import gymnasium
import numpy as np
from gymnasium.spaces import Box

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples" / "own_task"))
import bench_mujoco
from bench_mujoco import CYCLE, batches, ratios, slices
from stand import Stand

import batchenv
from batchenv.envs.mujoco import library

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "own_task"
ROBOT = str(FOLDER / "quadruped.xml")
CONTENDERS = ("c", "numpy", "physics", "batch", "sync")
SKIP, SCALE, EFFORT, LEAST = 5, 0.25, 0.01, 0.15


def actions_of(lanes):
    rng = np.random.default_rng(1)
    return [np.clip(rng.normal(0, 0.3, (lanes, 12)), -1, 1).astype(np.float32) for _ in range(CYCLE)]


class Ours:
    def __init__(self, kind, lanes, threads):
        settings = {"num_threads": threads, "max_episode_steps": 500}
        if kind == "c":
            name = batchenv.compile(FOLDER / "stand.c").ids[0]
            self.env = batchenv.make(name, lanes, xml_file=ROBOT, **settings)
        elif kind == "numpy":
            self.env = batchenv.make_mujoco(ROBOT, lanes, task=Stand, **settings)
        else:
            self.env = batchenv.make_mujoco(ROBOT, lanes, frame_skip=SKIP, qpos_noise=0.02, **settings)
        self.env.reset(seed=0)
        pose = self.env.get_attr("model")[0].qpos0[7:]
        self.actions = actions_of(lanes)
        if kind == "physics":
            self.actions = [(pose + SCALE * actions).astype(np.float32) for actions in self.actions]

    def run(self, steps):
        for t in range(steps):
            self.env.step(self.actions[t % CYCLE])


class Batch:
    """MuJoCo's batch, and the task around it."""

    def __init__(self, lanes, threads):
        model = library.read_model(ROBOT)
        self.batch = batches().Batch(model, lanes, threads)
        names = ("qpos", "qvel", "ctrl", "xpos", "sensordata", "geom_xpos")
        self.qpos, self.qvel, self.control, *outputs = (self.batch.bind(name) for name in names)
        self.xpos, self.sensors, self.geoms = (array.reshape(lanes, -1) for array in outputs)
        self.trunk, gyro = 3 * model.body("trunk").id, model.sensor("gyro")
        self.gyro = slice(gyro.adr[0], gyro.adr[0] + 3)
        feet = [k for k in range(model.ngeom) if model.geom(k).name.endswith("_foot")]
        self.feet = [3 * k + 2 for k in feet]
        self.pose, self.last, self.actions = model.qpos0[7:], np.zeros((lanes, 12)), actions_of(lanes)

    def run(self, steps):
        for t in range(steps):
            action = self.actions[t % CYCLE]
            self.control[:] = self.pose + SCALE * action
            self.batch.step(nstep=SKIP)
            height = self.xpos[:, self.trunk + 2]
            reward = height - EFFORT * np.square(action - self.last).sum(1)
            ended = height < LEAST
            self.last[:] = action
            observed = [self.qpos, self.qvel, self.sensors[:, self.gyro], self.geoms[:, self.feet]]
            _ = np.concatenate(observed, axis=1), reward, ended


class Single(gymnasium.Env):
    """The task over MuJoCo's Python bindings."""

    observation_space, action_space = Box(-np.inf, np.inf, (44,), np.float64), Box(-1, 1, (12,), np.float32)

    def __init__(self):
        self.mujoco, self.model = library.load()[0], library.read_model(ROBOT)
        self.data, self.last = self.mujoco.MjData(self.model), np.zeros(12)
        names = [self.model.geom(k).name for k in range(self.model.ngeom)]
        self.feet = [k for k, name in enumerate(names) if name.endswith("_foot")]
        self.trunk = self.model.body("trunk").id

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.mujoco.mj_resetData(self.model, self.data)
        self.data.qpos += self.np_random.uniform(-0.02, 0.02, self.model.nq)
        self.data.qvel += self.np_random.uniform(-0.02, 0.02, self.model.nv)
        self.mujoco.mj_forward(self.model, self.data)
        self.last[:] = 0
        return self.observe(), {}

    def step(self, action):
        self.data.ctrl[:] = self.model.qpos0[7:] + SCALE * action
        self.mujoco.mj_step(self.model, self.data, SKIP)
        height = self.data.xpos[self.trunk, 2]
        reward = height - EFFORT * np.square(action - self.last).sum()
        self.last[:] = action
        return self.observe(), reward, height < LEAST, False, {}

    def observe(self):
        data = self.data
        return np.concatenate([data.qpos, data.qvel, data.sensor("gyro").data, data.geom_xpos[self.feet, 2]])


class Sync:
    def __init__(self, lanes):
        self.env = gymnasium.vector.SyncVectorEnv([Single] * lanes)
        self.env.reset(seed=0)
        self.actions = actions_of(lanes)

    run = Ours.run


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lanes", type=int, nargs="+", default=[64, 1024, 4096])
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.5, help="of a contender's turn")
    options = parser.parse_args()
    bench_mujoco.actions_of.gait = False
    names = [name for name in CONTENDERS if name != "batch" or batches()]
    print("| lanes | threads | c, steps/s | " + " | ".join(names[1:]) + " |")
    print("|" + "---|" * (2 + len(names)))
    for lanes, threads in itertools.product(options.lanes, options.threads):
        clock = time.process_time if threads == 1 else time.perf_counter
        contenders = {"ours" if name == "c" else name: Ours(name, lanes, threads) for name in ("c", "numpy", "physics")}
        if batches():
            contenders["batch"] = Batch(lanes, threads)
        if lanes <= 1024:
            contenders["sync"] = Sync(lanes)
        found, cost = ratios(contenders, slices(contenders, options.seconds), options.rounds, clock, threads)
        cells = [f"{found[name]:.2f}" if name in found else "" for name in names[1:]]
        print(f"| {lanes} | {threads} | {lanes / cost:,.0f} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
