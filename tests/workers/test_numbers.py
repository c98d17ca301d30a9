"""Numbers of infos, which come from processes by column."""

import functools
import time

import numpy as np
import pytest
from gymnasium.envs.classic_control import CartPoleEnv
from gymnasium.vector import SyncVectorEnv

import batchenv
from batchenv._core import COLUMNS, Numbers, NumberWriter, gather_numbers
from helpers.awkward import same
from helpers.lockstep import lockstep
from helpers.parity import MODES
from helpers.python_envs import Counting

LANES = 5


@pytest.mark.parametrize("mode", MODES)
def test_every_type_and_more_keys_than_columns(mode):
    ours = batchenv.make_python(Counting, LANES, num_workers=2, autoreset_mode=mode)
    theirs = SyncVectorEnv([Counting] * LANES, autoreset_mode=mode)
    lockstep(ours, theirs, 400)
    assert len(ours._backend._reports.numbers.known(0)) == COLUMNS


def test_lanes_in_flight():
    """A reset drops reports; the columns that they announce are known nevertheless."""
    ours = batchenv.make_python(Counting, LANES, num_workers=2, batch_size=2)
    alone = batchenv.make_python(Counting, LANES, workers="serial", batch_size=LANES)
    for env in (ours, alone):
        env.async_reset(seed=4)
    ours.send(np.ones(2, int), ours.recv()[4]["env_id"])
    for env in (ours, alone):
        env.async_reset(seed=5)
    expected = [alone.recv()]
    for _ in range(40):
        alone.send(np.ones(LANES, int))
        expected.append(alone.recv())
    seen = np.zeros(LANES, int)
    while seen.max() < 40:
        *_, infos = ours.recv()
        for row, lane in enumerate(infos["env_id"]):
            theirs = expected[seen[lane]][4]
            for name in ("count", "a float", "a int8"):
                there = name in theirs and theirs[f"_{name}"][lane]
                assert (name in infos and infos[f"_{name}"][row]) == there
                if there:
                    assert infos[name][row] == theirs[name][lane] and infos[name].dtype == theirs[name].dtype
            seen[lane] += 1
        ours.send(np.ones(2, int), infos["env_id"])


def test_only_what_does_not_fit_is_left():
    values, masks = np.zeros((COLUMNS, 5), np.int64), np.zeros((COLUMNS, 5), np.bool_)
    writer, reader = NumberWriter(values, masks, 2, 5), Numbers(values, masks, [0, 2, 5])
    used, new, rest = writer.write(0, 3, [(0, {"a": 1, "b": "text"}), (2, {"a": 2**63, "c": np.float32(0.5)})])
    assert new == [("a", int), ("c", np.float32)] and rest == [(0, {"b": "text"}), (2, {"a": 2**63})]
    reader.learn(1, 0, new)
    reader.mark(1, -1, used)
    infos = reader.take(None)
    assert infos["a"][2] == 1 and infos["_a"].tolist() == [False, False, True, False, False]
    assert infos["c"].dtype == np.float32 and infos["c"][4] == 0.5 and infos["_c"].tolist() == [False] * 4 + [True]
    used, new, rest = writer.write(1, 1, [(0, {"c": np.float32(2)})])
    assert not new and not rest
    reader.mark(1, 3, used)
    infos = reader.take(np.array([3]))
    assert infos["c"].tolist() == [2] and infos["_c"].tolist() == [True] and set(infos) == {"c", "_c"}
    assert reader.take(np.array([3])) == {}  # taken


def test_a_key_of_several_types_is_left_to_gymnasium():
    values, masks = np.zeros((COLUMNS, 2), np.int64), np.zeros((COLUMNS, 2), np.bool_)
    writer, reader = NumberWriter(values, masks, 0, 2), Numbers(values, masks, [0, 2])
    used, new, rest = writer.write(0, 2, [(0, {"a": 1}), (1, {"a": 2.5})])
    assert new == [("a", int), ("a", float)] and not rest
    reader.learn(0, 0, new)
    reader.learn(0, 0, new)  # told again, since Ctrl-C came
    reader.mark(0, -1, used)
    assert reader.take(None) is None
    assert reader.notes(None) == [(0, {"a": 1}), (1, {"a": 2.5})]
    assert reader.notes(None) == []


def test_numbers_are_gathered_as_gymnasium_does():
    notes = [
        (0, {"a": 1, "b": 2.0, "c": True, "mixed": 1, "text": "x", "big": 1}),
        (2, {"a": 3, "mixed": 2.5, "d": np.int8(4), "array": np.arange(3), "big": 2**63}),
        (3, {"_b": 1, "final_obs": 1.0, "inner": {"e": 1}}),
    ]
    infos, rest = gather_numbers(notes, 4)
    assert {name: (value.dtype, value.tolist()) for name, value in infos.items()} == {
        "a": (np.int64, [1, 0, 3, 0]),
        "_a": (np.bool_, [True, False, True, False]),
        "c": (np.bool_, [True, False, False, False]),
        "_c": (np.bool_, [True, False, False, False]),
        "d": (np.int8, [0, 0, 4, 0]),
        "_d": (np.bool_, [False, False, True, False]),
    }
    (_, first), (_, second), (_, third) = rest
    assert list(first) == ["b", "mixed", "text", "big"] and list(second) == ["mixed", "array", "big"]
    assert list(third) == ["_b", "final_obs", "inner"]


class Masking(CartPoleEnv):
    """Says a number, and something by the name of its mask."""

    def __init__(self, said):
        super().__init__()
        self.said = said

    def step(self, action):
        return *super().step(action)[:-1], self.said


@pytest.mark.parametrize("numbers", [(1, 2, 3, 4), (1, 0.5, 3, 4)])
@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("workers", ["serial", "processes"])
def test_a_number_whose_mask_is_said_by_the_env(workers, order, numbers):
    """Gymnasium writes both into one array, in the order in which they are said."""
    pairs = [(("half", number), ("_half", mask)) for number, mask in zip(numbers, (True, 0, False, 2), strict=True)]
    envs = [functools.partial(Masking, dict(pair[::order])) for pair in pairs]
    ours, theirs = batchenv.make_python(envs, workers=workers, num_workers=2), SyncVectorEnv(envs)
    for env in (ours, theirs):
        env.reset(seed=1)
    for _ in range(3):
        mine, its = (env.step(np.zeros(4, int))[4] for env in (ours, theirs))
        same(mine, its)


class Telling(CartPoleEnv):
    """Says a number in every step and reset."""

    def reset(self, **keywords):
        observation, _ = super().reset(**keywords)
        return observation, {"position": float(observation[0])}

    def step(self, action):
        *rest, _ = super().step(action)
        return *rest, {"position": float(self.state[0])}


class NewKeys(CartPoleEnv):
    """Says a number of another key in each step."""

    def reset(self, **keywords):
        self.steps = 0
        return super().reset(**keywords)

    def step(self, action):
        self.steps += 1
        *rest, _ = super().step(action)
        return *rest, {f"step {self.steps}": self.steps}


@pytest.mark.parametrize("batch_size", [None, 2])
def test_numbers_need_no_python_code_in_the_parent(batch_size, monkeypatch):
    env = batchenv.make_python(Telling, 4, num_workers=2, batch_size=batch_size)
    heard = []
    reports = type(env._backend._reports)
    note = reports.note
    monkeypatch.setattr(reports, "note", lambda self, report: (heard.append(report), note(self, report)))
    start = time.monotonic()
    if batch_size is None:
        env.reset(seed=1)
    else:
        env.async_reset(seed=1)
        env.send(np.zeros(2, int), env.recv()[4]["env_id"])
    for _ in range(40):
        if batch_size is None:
            *_, infos = env.step(np.zeros(4, int))
        else:
            *_, infos = env.recv()
            env.send(np.zeros(2, int), infos["env_id"])
        assert infos["_position"].all()
    # The resets, and the first step of each lane, which announces a column; and one batch each time that the parent
    # looks whether its workers live, which it does 20 times a second.
    assert len(heard) <= 8 + (batch_size or 4) * int(20 * (time.monotonic() - start) + 1)


def test_columns_are_known_before_their_numbers_are_read():
    """Lane 0 announces each, in a message that the parent has to read in Python; lane 1 uses it."""
    env = batchenv.make_python(NewKeys, 2, num_workers=1, batch_size=1)
    env.async_reset(seed=1)
    assert [env.recv()[4]["env_id"].item() for _ in range(2)] == [0, 1]
    for step in range(1, 9):
        env.send(np.zeros(2, int), np.arange(2))
        time.sleep(0.003)  # until both have been reported
        for lane in range(2):
            infos = env.recv()[4]
            assert infos == {f"step {step}": step, f"_step {step}": True, "env_id": lane}
