"""Environments written in Python that say and do everything an env may."""

import asyncio
import copy

import gymnasium
import numpy as np
from gymnasium import spaces

import batchenv

KINDS = ("serial", "threads", "processes", "asyncio")  # of workers
ARRAYS = {
    "box": spaces.Box(-1, 1, (3, 2), np.float32),
    "double": spaces.Box(-np.inf, np.inf, (4,), np.float64),
    "one number": spaces.Box(-2, 2, (), np.float32),
    "picture": spaces.Box(0, 255, (7, 5, 3), np.uint8),
    "discrete": spaces.Discrete(5, start=2),
    "multi_discrete": spaces.MultiDiscrete([3, 4, 2], start=[1, 0, 5]),
    "multi_binary": spaces.MultiBinary([2, 3]),
    "as many bounds as C has room for": spaces.Box(np.float32(np.arange(32)), np.float32(np.arange(32)) + 1),
    "many bounds": spaces.Box(np.arange(40.0, dtype=np.float32), np.arange(40.0, dtype=np.float32) + 1),
    "tuple": spaces.Tuple([spaces.Discrete(3), spaces.Box(0, 1, (2,), np.float32)]),
    "goal": spaces.Dict(
        desired=spaces.Box(-1, 1, (2,), np.float64),
        achieved=spaces.Box(-1, 1, (2,), np.float64),
        more=spaces.Dict(count=spaces.Discrete(4), pair=spaces.Tuple([spaces.MultiBinary(3), spaces.Discrete(2)])),
    ),
}
OBJECTS = {
    "text": spaces.Text(12),
    "mission": spaces.Dict(image=spaces.Box(0, 9, (3, 3), np.uint8), mission=spaces.Text(30), way=spaces.Discrete(4)),
    "text in the middle": spaces.Tuple([spaces.Discrete(3), spaces.Text(5), spaces.Box(0, 1, (2,), np.float32)]),
    "text beside an array": spaces.Dict(image=spaces.Box(0, 9, (3, 3), np.uint8), mission=spaces.Text(30)),
    "sequence": spaces.Sequence(spaces.Discrete(4)),
    "graph": spaces.Graph(spaces.Box(0, 1, (2,)), spaces.Discrete(3)),
    "small integers": spaces.Box(0, 100, (3,), np.int16),
    "names with slashes": spaces.Dict({"a/b": spaces.Discrete(3), "7": spaces.Discrete(2)}),
    "many parts": spaces.Tuple([spaces.Discrete(k + 2) for k in range(40)]),
}
SPACES = ARRAYS | OBJECTS


class Anything(gymnasium.Env):
    """Observations and actions of any space; episodes of random length; infos of all kinds."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 7}

    def __init__(self, observation_space, action_space=None, render_mode=None):
        self.observation_space = copy.deepcopy(observation_space)  # other lanes draw from theirs at the same time
        self.action_space = action_space or spaces.Discrete(3)
        self.render_mode, self.weight, self.taken = render_mode, 1.0, None

    def _look(self):
        self.observation_space.seed(int(self.np_random.integers(2**31)))
        return self.observation_space.sample()

    def _info(self):
        info = {
            "number": int(self.np_random.integers(9)),
            "real": self.np_random.random(),
            "text": f"step {self.count}",
        }
        if self.count % 3 == 0:
            info["array"] = self.np_random.random(2).astype(np.float32)
            info["inner"] = {"flag": bool(self.count % 2), "what": None}
        return info if self.count % 4 else {}

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.count, self.options = 0, options
        return self._look(), {**self._info(), "options": options}

    def step(self, action):
        assert self.action_space.contains(action), f"{action!r} is not in {self.action_space}"
        self.count, self.taken = self.count + 1, action
        ends = self.np_random.random(2) < (0.15, 0.1)
        reward = float(self.np_random.normal()) * self.weight
        return self._look(), reward, bool(ends[0]), bool(ends[1]), self._info()

    def render(self):
        return np.full((2, 2, 3), self.count, np.uint8)

    def double(self, number, plus=0):
        return 2 * number + plus


class Troubled(gymnasium.Env):
    """Does what `action` says: 0 nothing, 1 raises, 2 gives a wrong observation, 3 returns four values."""

    observation_space, action_space = spaces.Box(0, 9, (2,), np.float32), spaces.Discrete(8)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.resets = getattr(self, "resets", 0) + 1
        if options and options.get("fail"):
            raise KeyError("no such start")
        return np.zeros(2, np.float32), {}

    taken = None

    def step(self, action):
        self.taken = action
        if action == 1:
            raise ZeroDivisionError("a bug in the env")
        if action == 3:
            return np.ones(2, np.float32), 1.0, False, {}
        if action == 4:
            return np.ones(2, np.float32), 1.0, False, False, "no dict"
        if action == 5:
            return np.ones(2, np.float32), "a lot", False, False, {}
        return np.ones(3 if action == 2 else 2, np.float32), 1.0, False, False, {}


class Raising(gymnasium.Wrapper):
    """Raises a problem when the env is given an action."""

    def __init__(self, env, action, problem):
        super().__init__(env)
        self.fatal, self.problem = action, problem

    def step(self, action):
        if action == self.fatal:
            raise self.problem
        return super().step(action)


class Counting(gymnasium.Env):
    """Infos of numbers of all types. Some keys have several types, some come late, and there are very many."""

    observation_space, action_space = spaces.Box(0, 9, (2,), np.float32), spaces.Discrete(3)
    TYPES = (int, float, bool, np.float32, np.int8, np.uint64, np.float64, np.bool_, np.complex128, str)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.count = 0
        return np.zeros(2, np.float32), {"begins": True, "started": self.np_random.random()}

    def step(self, action):
        self.count += 1
        draw = self.np_random.integers
        info = {"count": self.count, "inner": {"count": self.count}}
        for kind in self.TYPES:
            if draw(3):
                info[f"a {kind.__name__}"] = kind(draw(99))
        if not draw(4):
            info["of several types"] = self.TYPES[draw(7)](draw(99))
        if not draw(9):
            info[f"one of many: {draw(60)}"] = float(self.count)
        if not draw(9):
            info |= {"large": 2**63 - 1, "larger": np.uint64(2**64 - 1)}
        if action == 2:
            info = {}
        return np.ones(2, np.float32), 1.0, not draw(12), False, info


class Awaited(gymnasium.Wrapper):
    """An env whose methods are coroutines."""

    async def reset(self, *, seed=None, options=None):
        await asyncio.sleep(0)
        return self.env.reset(seed=seed, options=options)

    async def step(self, action):
        await asyncio.sleep(0)
        return self.env.step(action)

    async def render(self):
        return self.env.render()

    async def double(self, number, plus=0):
        await asyncio.sleep(0)
        return self.env.double(number, plus)

    async def close(self):
        await asyncio.sleep(0)
        self.env.close()


class Plain(gymnasium.Env):
    """Counts its steps."""

    observation_space, action_space = spaces.Box(-9, 9, (2,), np.float32), spaces.Discrete(9)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.count = 0
        return np.zeros(2, np.float32), {}

    def step(self, action):
        self.count += 1
        return np.full(2, self.count, np.float32), 1.0, False, False, {}


def make(kind, make_env, lanes=2, **options):
    """An env of lanes written in Python, with workers of a kind: one, where their number can be chosen."""
    if kind != "asyncio":
        options.setdefault("num_workers", 1)
    return batchenv.make_python(make_env, lanes, workers=kind, **options)
