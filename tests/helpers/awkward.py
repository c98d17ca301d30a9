"""An environment made to be awkward for whoever puts lanes together. Learners' own vector environments, with which
adapters are compared, take it as it is."""

import functools

import gymnasium
import numpy as np
from gymnasium import spaces

LANES = 4
# What lanes 0 to 3 say under one key: of several types and shapes, too large for C, or nothing that goes into an array.
SAID = {
    "half": (0, 0.5, 1, 2),
    "yes": (True, 7, False, np.float32(0.5)),
    "maybe": (3, None, None, 4),
    "word": (1, "s", b"t", 1.5),
    "sizes": (np.arange(2), np.arange(3), np.zeros((2, 2)), np.float32(1)),
    "huge": (2**70, 1, -(2**63), 0),
    "deep": ({"a": 1}, 5, {"a": {"b": "c"}}, {"b": [1, 2]}),
    "pair": ((1, 2), [3], {4}, frozenset()),
    "final_info": ("all", 1, {"a": 2}, None),
    "episode": ("pilot", 2, {"r": 1}, None),
    "env_id": ("first", 1, "third", None),
    "_half": (True, "masked", 0, None),
    "terminal_observation": ("mine", 0, None, 1),
    "TimeLimit.truncated": ("mine", 0, None, 1),
    5: ("a number as a key", 1, 2, 3),
}
# The same for vector environments that put together what lanes say: Gymnasium's can do it, whichever lane comes first.
ALIKE = {
    **{key: SAID[key] for key in ("half", "yes", "pair")},
    "_half": (True, 2, 0, False),
    "small": (np.float32(0.1), 0.1, 1, np.uint8(3)),
    "word": ("t", b"long", None, "s"),
    "sizes": (np.arange(2), np.ones(2), np.zeros(2, bool), [3, 4]),
    "deep": ({"a": 1}, {"a": 2.5, "b": {"c": "d"}}, {}, {"b": {}}),
    "episode": ({"r": 1.0, "l": 2}, {"r": 0.5}, {"l": 3}, {"r": 2.0, "l": 1}),
    "env_id": ("first", None, "third", None),
    "final_rows": ("mine", None, "yours", "ours"),
    "terminal_observation": ("mine", {1}, None, "yours"),
    5: ("a number as a key", None, "a", "b"),
}


class Awkward(gymnasium.Env):
    """Says other things in each lane, and not in each step; also which seeds, options and actions it has got. Episodes
    of lane k end after 2 + k steps, by its own limit where k is odd.

    Args:
        lane: k.
        parts: True: observations are a Dict.
        reuses: True: observations, lists and dicts are those of the last call, changed. Learners' own environments hand
            these on as they are.
        says: what each lane says.
    """

    action_space = spaces.Discrete(3)

    def __init__(self, lane, parts=False, reuses=True, says=SAID):
        box = spaces.Box(-99, 99, (2,), np.float32)
        self.observation_space = spaces.Dict(count=spaces.Discrete(99), where=box) if parts else box
        self.lane, self.parts, self.reuses, self.says = lane, parts, reuses, says
        self.where, self.taken, self.info = np.zeros(2, np.float32), [], {}

    def _look(self):
        self.where[:] = self.lane, self.count
        where = self.where if self.reuses else self.where.copy()
        return {"count": self.count, "where": where} if self.parts else where

    def _info(self, **more):
        said = {key: values[self.lane] for key, values in self.says.items()}
        if self.count % 2:
            said = {key: value for k, (key, value) in enumerate(said.items()) if (k + self.count) % 3}
        self.info.clear()
        self.info |= {**said, "taken": self.taken, "drawn": float(self.np_random.random()), **more}
        return self.info if self.reuses else {**self.info, "taken": self.taken.copy()}

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.count = 0
        self.taken.clear()
        return self._look(), self._info(seed=seed, options=options)

    def step(self, action):
        self.count += 1
        self.taken.append(int(action))
        ends = self.count == 2 + self.lane
        return self._look(), 0.5 * self.count, ends and not self.lane % 2, ends and bool(self.lane % 2), self._info()


class AwkwardPair:
    """Two agents with PettingZoo's parallel API, of which each says what Awkward's lane of this number says."""

    metadata = {"name": "awkward_v0"}
    possible_agents = ["one", "two"]
    render_mode = None

    def __init__(self, lane):
        self.envs = [Awkward((lane + k) % LANES, reuses=False) for k in range(2)]

    def observation_space(self, agent):
        return self.envs[0].observation_space

    def action_space(self, agent):
        return self.envs[0].action_space

    def reset(self, seed=None, options=None):
        self.agents = list(self.possible_agents)
        seeds = [None] * 2 if seed is None else [seed, seed + 100]
        pairs = [env.reset(seed=own, options=options) for env, own in zip(self.envs, seeds, strict=True)]
        return tuple([dict(zip(self.agents, values, strict=True)) for values in zip(*pairs, strict=True)])

    def step(self, actions):
        results = [env.step(actions[agent]) for agent, env in zip(self.agents, self.envs, strict=True)]
        over = any(result[2] or result[3] for result in results)
        results = [(*result[:2], over, False, result[4]) for result in results]
        told = tuple([dict(zip(self.agents, values, strict=True)) for values in zip(*results, strict=True)])
        self.agents = [] if over else self.agents
        return told

    def close(self):
        pass


def makers(**keywords):
    """Functions that make the env of each lane."""
    return [functools.partial(Awkward, lane, **keywords) for lane in range(LANES)]


def same(ours, theirs, but=()):
    """Equal in values and types, dicts apart from the keys `but`."""
    assert type(ours) is type(theirs), (ours, theirs)
    if isinstance(theirs, dict):
        assert set(ours) - set(but) == set(theirs) - set(but)
        for key in theirs:
            if key not in but:
                same(ours[key], theirs[key], but)
    elif isinstance(theirs, (list, tuple)):
        assert len(ours) == len(theirs)
        for mine, its in zip(ours, theirs, strict=True):
            same(mine, its, but)
    elif isinstance(theirs, np.ndarray) and theirs.dtype == object:
        same(ours.tolist(), theirs.tolist(), but)
    else:
        np.testing.assert_array_equal(ours, theirs, strict=isinstance(theirs, (np.ndarray, np.generic)))
