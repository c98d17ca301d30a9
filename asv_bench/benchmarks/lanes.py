"""Snapshots, parameters by lane, and rollouts."""

import numpy as np

import batchenv
from batchenv.cli.bench import BATCHES, draw_actions

LANES = 4096
STEPS = 128


class Snapshot:
    params = (["CartPole-v1", "Acrobot-v1", "Taxi-v4"], [1, 64, LANES])
    param_names = ("env", "lanes saved")

    def setup(self, env_id, count):
        self.env = batchenv.make(env_id, LANES)
        self.env.reset(seed=0)
        self.chosen = np.arange(count)
        self.saved = self.env.snapshot(self.chosen)

    def time_snapshot(self, env_id, count):
        self.env.snapshot(self.chosen)

    def time_restore(self, env_id, count):
        self.env.restore(self.saved, self.chosen)

    def track_bytes_per_lane(self, env_id, count):
        return self.saved.nbytes / count

    track_bytes_per_lane.unit = "bytes"


class Params:
    """A step with one gravity for all lanes and with one per lane, and changing it."""

    params = (["one", "by lane"],)
    param_names = ("gravity",)

    def setup(self, kind):
        self.gravity = 9.8 if kind == "one" else np.linspace(5.0, 15.0, LANES)
        self.env = batchenv.make("CartPole-v1", LANES, num_threads=1, gravity=self.gravity)
        self.env.reset(seed=0)
        self.actions = draw_actions(self.env)[0]

    def time_step(self, kind):
        self.env.step(self.actions)

    def time_set_params(self, kind):
        self.env.set_params(gravity=self.gravity)


PLANS = {
    "none": None,
    "seeds": {"seeds": range(100_000)},
    "shuffled": {"seeds": range(100_000), "order": "shuffled"},
    "by weights": {"seeds": range(100_000), "order": "sampled"},
    "labels": {"seeds": range(100_000), "labels": range(100_000)},
}


class Plan:
    """A step whose episodes are those of a plan; tools/bench/bench_plans.py has the ratios."""

    params = (list(PLANS),)
    param_names = ("plan",)

    def setup(self, kind):
        self.env = batchenv.make("CartPole-v1", LANES, num_threads=1)
        if PLANS[kind] is not None:
            self.env.plan(**PLANS[kind])
        self.env.reset(seed=0)
        self.batches = draw_actions(self.env)
        self.time_steps(kind)

    def time_steps(self, kind):
        for actions in self.batches:
            self.env.step(actions)


class Rollout:
    params = (["CartPole-v1", "Pendulum-v1"], ["steps", "rollout", "random"])
    param_names = ("env", "how")

    def setup(self, env_id, how):
        self.env = batchenv.make(env_id, LANES, num_threads=1)
        self.env.reset(seed=0)
        self.actions = np.stack(draw_actions(self.env) * (STEPS // BATCHES))

    def time_128_steps(self, env_id, how):
        if how == "steps":
            for row in self.actions:
                self.env.step(row)
        elif how == "rollout":
            self.env.rollout(self.actions)
        else:
            self.env.rollout(STEPS, policy="random")
