"""MuJoCo: steps, making lanes, and their memory."""

import batchenv
from batchenv.cli.bench import draw_actions

TASKS = ["Ant-v5", "HalfCheetah-v5", "Hopper-v5", "Humanoid-v5", "InvertedPendulum-v5", "Reacher-v5"]


class Step:
    params = (TASKS, [16, 64, 256], [1, 2])
    param_names = ("env", "lanes", "threads")

    def setup(self, env_id, lanes, threads):
        self.env = batchenv.make(env_id, lanes, seed=0, num_threads=threads)
        self.env.reset()
        self.actions = draw_actions(self.env)

    def time_step(self, env_id, lanes, threads):
        for action in self.actions:
            self.env.step(action)


def construct():
    env = batchenv.make("Humanoid-v5", 256)
    env.reset(seed=0)
    return env


def time_construct():
    construct()


def peakmem_construct():
    return construct()
