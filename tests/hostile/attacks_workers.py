"""Envs in Python that disturb each other, batchenv or the event loop that they share, in every kind of worker."""

import asyncio
import copy
import os
import sys

import gymnasium
import numpy as np
from gymnasium import spaces
from harness import attack, note, rounds

import batchenv
from helpers.begun import begun
from helpers.hostile import clear

KINDS = ("serial", "threads", "processes", "asyncio") if sys.platform.startswith("linux") else ("serial", "threads")
MODES = ("NextStep", "SameStep", "Disabled")
LANES = 3


class Hostile(gymnasium.Env):
    """Counts its steps. A step with action 1 or more calls the class's `strike`, whose result it returns if there is
    one; a reset with options calls `refuse`."""

    observation_space, action_space = spaces.Box(-np.inf, np.inf, (1,), np.float64), spaces.Discrete(3)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.count = 0
        if options:
            self.refuse(options)
        return np.zeros(1), {}

    def step(self, action):
        self.count += 1
        usual = np.full(1, float(self.count)), 1.0, False, False, {}
        return (action and self.strike(action)) or usual

    def pid(self):
        return os.getpid()


def made(kind, env, **options):
    if kind != "asyncio":
        options["num_workers"] = 1
    return batchenv.make_python(env, LANES, workers=kind, **options)


def one(action):
    """Actions, of which the last lane's is this one."""
    return np.array([0] * (LANES - 1) + [action])


@attack(limit=180)
def an_info_that_contains_itself():
    class Endless(Hostile):
        def strike(self, action):
            info = {}
            info["me"] = [info] if action == 1 else info
            return np.zeros(1), 0.0, False, False, info

    for kind in KINDS:
        env = begun(made(kind, Endless))
        for action in (1, 2):
            note(f"{kind}, {action}")
            error = clear(lambda env=env, action=action: env.step(one(action)), batchenv.LaneError, "recursion depth")
            assert error.env_id.tolist() == [LANES - 1]
            env.reset(seed=0)
        env.close()


@attack(limit=180)
def resets_that_fail():
    class Refusing(Hostile):
        def refuse(self, options):
            raise ValueError("on purpose")

    for kind in KINDS:
        for mode in MODES:
            note(f"{kind}, {mode}")
            env = begun(made(kind, Refusing, autoreset_mode=mode))
            env.step(one(0))
            pids, mask = env.call("pid"), np.arange(LANES) == LANES - 1
            for _ in rounds(3):
                options = {"reset_mask": mask, "fail": True}
                clear(lambda env=env, options=options: env.reset(options=options), batchenv.LaneError, "on purpose")
                if mode == "Disabled":
                    clear(lambda env=env: env.step(one(0)), batchenv._core.LanePendingError, f"lane {LANES - 1}")
            env.reset(options={"reset_mask": mask})
            observations = env.step(one(0))[0]
            assert observations[:, 0].tolist() == [2.0] * (LANES - 1) + [1.0], observations
            assert env.call("pid") == pids
            env.close()


@attack(limit=180, needs=("linux",))
def an_event_loop_that_envs_disturb():
    class Disturbing(Hostile):
        async def step(self, action):
            await asyncio.sleep(0)
            if action == 1:
                for task in asyncio.all_tasks():
                    task.cancel()
            if action == 2:
                asyncio.get_running_loop().stop()
            return super().step(0)

    env = begun(made("asyncio", Disturbing))
    for k in rounds(20):
        note(k)
        try:
            env.step(one(1 + k % 2))
        except batchenv.LaneError as error:
            assert k % 2 == 0, error
    env.reset(seed=0)
    assert env.step(one(0))[0][:, 0].tolist() == [1.0] * LANES
    env.close()


@attack(limit=180)
def an_env_that_changes_its_spaces():
    class Changing(Hostile):
        def strike(self, action):
            self.observation_space = spaces.Box(0, 1, (7,), np.float64)
            self.action_space = spaces.Discrete(1)
            return np.zeros(7), 0.0, False, False, {}

    for kind in KINDS:
        env = begun(made(kind, Changing, on_failure="restart"))
        for actions in (one(1), one(1)[::-1]):
            note(f"{kind}, {actions}")
            clear(lambda env=env, actions=actions: env.step(actions), batchenv.LaneError, "shape (7,)")
            env.step(one(0))
            assert env.step(one(0))[0].shape == (LANES, 1)
        env.close()


@attack(limit=180)
def a_buffer_that_all_observations_share():
    class Sharing(Hostile):
        observation_space = spaces.Sequence(spaces.Box(0, 99, (2,), np.float64))
        buffer = np.zeros(2)

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            return (self.buffer,), {}

        def step(self, action):
            self.buffer += 1
            return (self.buffer,), 0.0, False, False, {"list": [self.buffer]}

    for kind in KINDS:
        note(kind)
        env = made(kind, Sharing)
        held = env.reset(seed=0)[0], env.step(one(0))[4]["list"]
        copies = copy.deepcopy(held)
        for _ in rounds(5):
            env.step(one(0))
        for now, then in zip(held, copies, strict=True):
            for lane in range(LANES):
                assert np.array_equal(now[lane][0], then[lane][0]), (lane, now, then)
        env.close()
