"""Numbers of infos, which come from processes by column."""

import numpy as np
import pytest
from gymnasium.vector import SyncVectorEnv

import batchenv
from batchenv.workers.numbers import COLUMNS, Column, Reader, Writer
from helpers.lockstep import lockstep
from helpers.parity import MODES
from helpers.python_envs import Counting

LANES = 5


@pytest.mark.parametrize("mode", MODES)
def test_every_type_and_more_keys_than_columns(mode):
    ours = batchenv.make_python(Counting, LANES, num_workers=2, autoreset_mode=mode)
    theirs = SyncVectorEnv([Counting] * LANES, autoreset_mode=mode)
    lockstep(ours, theirs, 400)
    assert len(ours._backend._numbers[0]._columns) == COLUMNS
    ours.close()


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
    ours.close()


def test_only_what_does_not_fit_is_left():
    values, masks = np.zeros((COLUMNS, 3), np.int64), np.zeros((COLUMNS, 3), np.bool_)
    writer, reader = Writer(values, masks), Reader(values, masks)
    used, new, rest = writer.write(slice(0, 3), [(0, {"a": 1, "b": "text"}), (2, {"a": 2**63, "c": np.float32(0.5)})])
    assert new == [Column("a", int), Column("c", np.float32)] and rest == [(0, {"b": "text"}), (2, {"a": 2**63})]
    reader.learn(0, new)
    (_, numbers, mask), (_, halves, other) = reader.read(used, slice(0, 3))
    assert numbers[0] == 1 and mask.tolist() == [True, False, False]
    assert halves.dtype == np.float32 and halves[2] == 0.5 and other.tolist() == [False, False, True]
    used, new, rest = writer.write(slice(1, 2), [(0, {"c": np.float32(2)})])
    assert not new and not rest
    ((column, numbers, mask),) = reader.read(used, slice(1, 2))
    assert column.key == "c" and numbers.tolist() == [2] and mask.tolist() == [True]
