"""Figures of environments in Python: our workers against Gymnasium's vector envs, and against what cannot be beaten.

What is compared is measured in turns in one run; `tools/bench/bench_python_envs.py` prints them.
"""

import asyncio
import functools
import os
import statistics
import time

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.envs.classic_control import CartPoleEnv
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv

import batchenv

from .async_figures import in_turns

CPUS = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


class Working(gymnasium.Env):
    """Steps that take `seconds`, waiting or computing; one in `tail` takes ten times as long (0: none)."""

    observation_space, action_space = spaces.Box(0, 1, (4,), np.float32), spaces.Discrete(2)

    def __init__(self, seconds=0.0, waits=False, tail=0, shape=None):
        self.seconds, self.waits, self.tail, self.count = seconds, waits, tail, 0
        if shape is not None:
            self.observation_space = spaces.Box(0, 255, shape, np.uint8)
        self.shown = np.zeros(self.observation_space.shape, self.observation_space.dtype)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self.shown, {}

    def step(self, action):
        self.count += 1
        slow = self.tail and self.np_random.integers(self.tail) == 0
        seconds = self.seconds * (10 if slow else 1)
        end = time.perf_counter() + seconds
        if self.waits:
            time.sleep(seconds)
        else:
            while time.perf_counter() < end:
                pass
        return self.shown, 0.0, False, False, {}


class Telling(CartPoleEnv):
    """Gymnasium's CartPole class, with three numbers in the infos of each step."""

    def step(self, action):
        *rest, info = super().step(action)
        return *rest, {**info, "position": float(self.state[0]), "side": int(action), "left": bool(self.state[0] < 0)}


class Awaiting(Working):
    """Steps that wait for `seconds` in an event loop; 0: they do not wait at all."""

    async def reset(self, *, seed=None, options=None):
        return super().reset(seed=seed)

    async def step(self, action):
        if self.seconds:
            await asyncio.sleep(self.seconds)
        return self.shown, 0.0, False, False, {}


def _steps(env):
    """A function that steps all lanes."""
    env.reset(seed=0)
    return functools.partial(env.step, np.ones(env.num_envs, int))


def _turns(env):
    """A function that receives a batch and sends its lanes back."""
    env.async_reset(seed=0)
    actions = np.ones(env.batch_size, int)

    def call():
        env.send(actions, env.recv()[4]["env_id"])

    return call


def _compared(envs, rounds, seconds=0.25):
    """{name: median seconds of a step of all lanes} of vector envs, which are closed afterwards."""
    try:
        return in_turns({name: _steps(env) for name, env in envs.items()}, rounds, seconds)
    finally:
        for env in envs.values():
            env.close()


def cartpole(lanes, rounds, kinds=("serial", "processes"), peers=("Sync", "Async"), make=CartPoleEnv):
    """Gymnasium's CartPole class, or what inherits from it: {name: median seconds of a step of all lanes}."""
    makers = {"Sync": SyncVectorEnv, "Async": AsyncVectorEnv}
    envs = {name: makers[name]([make] * lanes) for name in peers}
    envs |= {kind: batchenv.make_python(make, lanes, workers=kind) for kind in kinds}
    return _compared(envs, rounds)


def busy(seconds, waits, rounds, lanes=16, workers=None):
    """Steps that wait or compute: the share that processes reach of what so many workers could do."""
    workers = workers or CPUS
    make = functools.partial(Working, seconds, waits)
    env = batchenv.make_python(make, lanes, num_workers=workers)
    took = _compared({"processes": env}, rounds, 0.5)["processes"]
    one = make()
    one.reset(seed=0)
    alone = statistics.median(_timed_steps(one) for _ in range(5))
    return alone * lanes / workers / took


def _timed_steps(env, count=50):
    start = time.perf_counter()
    for _ in range(count):
        env.step(0)
    return (time.perf_counter() - start) / count


def uneven(rounds, lanes=16, seconds=1e-3):
    """One step in ten takes ten times as long: how many times more steps a batch of a quarter makes than `step`."""
    make = functools.partial(Working, seconds, True, 10)
    options = {"num_workers": lanes}
    whole = batchenv.make_python(make, lanes, **options)
    quarter = batchenv.make_python(make, lanes, batch_size=lanes // 4, **options)
    try:
        took = in_turns({"step": _steps(whole), "recv": _turns(quarter)}, rounds, 0.5)
    finally:
        whole.close(), quarter.close()
    return took["step"] / 4 / took["recv"]


def pictures(rounds, lanes=64):
    """Pictures of 84 x 84 x 4: {name: median seconds of a step of all lanes}. The frames of "stacked" are stacked by
    batchenv, in the workers."""
    make, frame = (functools.partial(Working, shape=shape) for shape in ((84, 84, 4), (84, 84)))
    envs = {
        "Async": AsyncVectorEnv([make] * lanes, shared_memory=True),
        "processes": batchenv.make_python(make, lanes),
        "stacked": batchenv.make_python(frame, lanes, frame_stack=4),
    }
    return _compared(envs, rounds, 0.5)


def round_trip(rounds):
    """Seconds of a send and recv of one lane of which the step takes none, and of the step itself."""
    env = batchenv.make_python(Working, 2, num_workers=2, batch_size=1)
    one = Working()
    one.reset(seed=0)
    try:
        took = in_turns({"trip": _turns(env)}, rounds)["trip"]
    finally:
        env.close()
    return took, statistics.median(_timed_steps(one, 1000) for _ in range(5))


def waiting(seconds, rounds, lanes=256, batch=32):
    """Lanes of an event loop: {name: median seconds of a step of all lanes}. "gather" is without any vector env; what
    "recv" takes is for as many batches as make all lanes."""
    make = functools.partial(Awaiting, seconds)
    env, batches = (batchenv.make_python(make, lanes, workers="asyncio", batch_size=size) for size in (lanes, batch))
    alone, loop = [make() for _ in range(lanes)], asyncio.new_event_loop()

    async def gathered():
        await asyncio.gather(*[one.step(1) for one in alone])

    calls = {"step": _steps(env), "recv": _turns(batches), "gather": lambda: loop.run_until_complete(gathered())}
    try:
        took = in_turns(calls, rounds, 0.5)
    finally:
        env.close(), batches.close(), loop.close()
    return {**took, "recv": took["recv"] * lanes / batch}


def beside_a_learner(rounds, lanes=16):
    """Steps of 200 us beside a program that keeps every CPU busy half of the time: how many times longer `step` takes
    than when alone."""
    import multiprocessing

    context = multiprocessing.get_context("spawn")
    make = functools.partial(Working, 200e-6)
    env = batchenv.make_python(make, lanes)
    step = _steps(env)
    try:
        alone = in_turns({"step": step}, rounds)["step"]
        learners = [context.Process(target=_learn, daemon=True) for _ in range(CPUS)]
        for learner in learners:
            learner.start()
        time.sleep(1.0)
        beside = in_turns({"step": step}, rounds)["step"]
        for learner in learners:
            learner.kill()
    finally:
        env.close()
    return beside / alone


def _learn():
    while True:
        end = time.perf_counter() + 0.01
        while time.perf_counter() < end:
            pass
        time.sleep(0.01)
