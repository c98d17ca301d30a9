"""What a user holds is the user's, and what an env holds is the env's: neither changes when the other goes on."""

import copy
import threading

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector.utils import concatenate, create_empty_array

import batchenv
from batchenv import _core
from helpers.parity import assert_same
from helpers.python_envs import KINDS

BOX = spaces.Box(0, 99, (2,), np.float32)


class Wrapped(spaces.Space):
    """A space that Gymnasium does not know: of lists of one array."""

    def __init__(self):
        super().__init__(None, None)

    def sample(self, mask=None, probability=None):
        return [np.zeros(2)]

    def contains(self, x):
        return isinstance(x, list)

    def __eq__(self, other):
        return isinstance(other, Wrapped)


SPACES = {
    "sequence": spaces.Sequence(BOX),
    "graph": spaces.Graph(BOX, None),
    "one of": spaces.OneOf([BOX, spaces.Discrete(3)]),
    "half precision": spaces.Box(0, 99, (2,), np.float16),
    "five axes": spaces.Box(0, 99, (1, 2, 1, 1, 2), np.float32),
    "in a dict": spaces.Dict(image=BOX, more=spaces.Dict(words=spaces.Sequence(BOX))),
    "in a tuple": spaces.Tuple([spaces.Discrete(2), spaces.Sequence(BOX), BOX]),
    "of the user's own": Wrapped(),
}


def fill(value, number):
    """Writes into all arrays of a value."""
    if isinstance(value, np.ndarray):
        value[...] = number
    elif isinstance(value, dict):
        for part in value.values():
            fill(part, number)
    elif isinstance(value, (list, tuple)):
        for part in value:
            fill(part, number)


class Reusing(gymnasium.Env):
    """Writes all observations into the same arrays, says the same list and array in all infos, and writes into the
    actions that it gets."""

    def __init__(self, space):
        self.observation_space = copy.deepcopy(space)
        self.action_space = copy.deepcopy(space)
        self.observation_space.seed(3)
        self.buffer = self.observation_space.sample()
        while isinstance(self.observation_space, spaces.OneOf) and self.buffer[0] != 0:
            self.buffer = self.observation_space.sample()
        self.told = {"list": [np.zeros(2)], "array": np.zeros(2)}

    def look(self, number):
        fill(self.buffer, number)
        fill(self.told, number)
        return self.buffer

    def reset(self, *, seed=None, options=None):
        self.count = 0
        return self.look(0), self.told

    def step(self, action):
        self.count += 1
        fill(action, 77)
        return self.look(self.count), 0.0, self.count == 3, False, self.told


@pytest.mark.cases(1, per="name")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", SPACES)
def test_nothing_that_was_handed_out_or_in_changes(kind, name):
    options = {} if kind == "asyncio" else {"num_workers": 1}
    env = batchenv.make_python(lambda: Reusing(SPACES[name]), 2, workers=kind, autoreset_mode="SameStep", **options)
    given = env.reset(seed=0)
    held, kept = [given], [copy.deepcopy(given)]
    one = Reusing(SPACES[name])
    actions = concatenate(one.action_space, [one.buffer] * 2, create_empty_array(one.action_space, 2))
    fill(actions, 5)
    actions_before = copy.deepcopy(actions)
    for _ in range(4):
        given = env.step(actions)
        held.append(given)
        kept.append(copy.deepcopy(given))
    some = env.reset(options={"reset_mask": np.array([False, True])})
    fill(some[0], 55)  # the user's own, from which nothing comes back
    again, _ = env.reset(options={"reset_mask": np.array([False, True])})
    for number, (now, then) in enumerate(zip(held, kept, strict=True)):
        assert_same(plain(now), plain(then), f"call {number}")
    assert_same(plain(actions), plain(actions_before), "actions")
    if name in ("sequence", "graph", "of the user's own"):  # a tuple of lanes
        assert_same(plain(again[0]), plain(held[-1][0][0]), "the lane that was not reset")


def plain(value):
    """With lists as tuples, and named tuples as plain ones, for `assert_same`."""
    if isinstance(value, dict):
        return {key: plain(part) for key, part in dict(value).items()}
    if isinstance(value, (list, tuple)):
        return tuple(map(plain, value))
    if isinstance(value, np.ndarray) and value.dtype == object:
        return tuple(map(plain, value))
    return value


def test_an_info_that_contains_itself_is_an_error():
    info = {}
    info["me"] = [info]
    for copied in (_core.own_info, _core.own_value):
        with pytest.raises(RecursionError, match="while copying what an env has said"):
            copied(info)


def test_objects_that_cannot_be_copied_stay_as_they_are():
    lock = threading.Lock()
    assert _core.own_value([lock])[0] is lock and _core.own_info({"a": [lock]})["a"][0] is lock
