"""A step: of many lanes, and the cost of a call."""

import batchenv
from batchenv.cli.bench import draw_actions

from .ids import KERNELS, make


class Step:
    params = (KERNELS, [64, 4096, 65536])
    param_names = ("env", "lanes")
    pretty_name = "eight steps of all lanes"

    def setup(self, env_id, lanes):
        self.env = make(env_id, lanes, seed=0)
        self.env.reset()
        self.actions = draw_actions(self.env)
        for action in self.actions * 4:  # past the trials that choose between one thread and several
            self.env.step(action)

    def time_step(self, env_id, lanes):
        for action in self.actions:
            self.env.step(action)


class Call:
    params = KERNELS
    param_names = ("env",)
    pretty_name = "a thousand calls, each of which steps one lane"

    def setup(self, env_id):
        self.env = make(env_id, 1, seed=0)
        self.env.reset()
        self.action = draw_actions(self.env)[0]

    def time_1000_calls(self, env_id):  # asv calls setup() before each measurement: a single call would be a cold one
        for _ in range(1000):
            self.env.step(self.action)


class Autoreset:
    """SameStep beside NextStep: with lanes that end now and then, and all at once."""

    params = (["NextStep", "SameStep"], [None, 1])
    param_names = ("mode", "max_episode_steps")
    pretty_name = "eight steps in which few lanes are reset, or all"

    def setup(self, mode, limit):
        limits = {} if limit is None else {"max_episode_steps": limit}
        self.env = batchenv.make("CartPole-v1", 4096, seed=0, num_threads=1, autoreset_mode=mode, **limits)
        self.env.reset()
        self.actions = draw_actions(self.env)
        for action in self.actions * 4:
            self.env.step(action)

    def time_step(self, mode, limit):
        for action in self.actions:
            self.env.step(action)
