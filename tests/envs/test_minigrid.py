"""MiniGrid's levels equal those of the package minigrid, bit for bit: images, directions, missions, rewards, flags and
the state of each lane's random stream.

tools/verify/compare_minigrid.py makes the same comparison at length."""

import re

import gymnasium
import numpy as np
import pytest

import batchenv
from batchenv import LaneError
from helpers.begun import begun
from helpers.forged import forge
from helpers.parity import MODES, Case, excuse_ints, play

pytest.importorskip("minigrid")

IDS = [name for name in gymnasium.registry if name.startswith("MiniGrid-") and "WFC" not in name]
LANES = 3
# Levels with hooks, balls that move, boxes, and a last step in which both flags are set.
EACH_MODE = ["Dynamic-Obstacles-Random-5x5-v0", "Fetch-5x5-N2-v0", "MemoryS7-v0", "ObstructedMaze-1Dlh-v0"]
KEYWORDS = {
    "a small view": ("DoorKey-6x6-v0", {"agent_view_size": 3}),
    "a wide view": ("MultiRoom-N4-S5-v1", {"agent_view_size": 9}),
    "a view beyond the grid": ("LavaCrossingS9N2-v0", {"agent_view_size": 21}),
    "through walls": ("DoorKey-6x6-v0", {"see_through_walls": True}),
    "few steps": ("Unlock-v0", {"max_steps": 7}),
    "a size between the ids'": ("DoorKey-8x8-v0", {"size": 7}),
    "more objects": ("Fetch-8x8-N3-v0", {"numObjs": 9}),
    "all sorts of objects": ("GoToObject-6x6-N2-v0", {"numObjs": 18, "size": 9}),
    "objects to be put": ("PutNear-6x6-N2-v0", {"numObjs": 3, "size": 9}),
    "many obstacles": ("Dynamic-Obstacles-8x8-v0", {"n_obstacles": 50, "size": 7}),
    "another strip": ("DistShift1-v0", {"width": 11, "height": 9, "strip2_row": 6, "agent_start_dir": 1}),
    "more rivers than fit": ("LavaCrossingS9N1-v0", {"num_crossings": 30, "size": 7}),
    "walls": ("LavaCrossingS9N1-v0", {"obstacle_type": "wall"}),
    "many rooms": ("MultiRoom-N6-v0", dict(minNumRooms=2, maxNumRooms=9, maxRoomSize=6, width=30, height=31)),
    "a corridor of boxes": ("KeyCorridorS4R3-v0", {"obj_type": "box", "num_rows": 5}),
    "a corridor of keys": ("KeyCorridorS4R3-v0", {"obj_type": "key"}),
    "two sides": ("ObstructedMaze-Full-v1", {"num_quarters": 3, "blocked": False}),
    "a large memory": ("MemoryS7-v0", {"size": 15, "random_length": True}),
    "a large locked room": ("LockedRoom-v0", {"size": 25}),
    "large doors": ("RedBlueDoors-6x6-v0", {"size": 11}),
    "a door far away": ("GoToDoor-5x5-v0", {"size": 12}),
}


def case_of(name, **both):
    return Case(f"MiniGrid-{name.removeprefix('MiniGrid-')}", both=both, drop=("mission_code",), excuse=excuse_ints)


def test_all_ids_are_here():
    assert len(IDS) == 76
    assert sorted(name for name in batchenv.list_envs(None) if name.startswith("MiniGrid-")) == sorted(IDS)


@pytest.mark.parametrize("env_id", IDS)
def test_a_sample_of_each_id(env_id):
    play(case_of(env_id), 120, lanes=LANES)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", EACH_MODE)
def test_each_autoreset_mode(name, mode):
    ended, rewards = play(case_of(name, **({"max_steps": 60} if "Maze" in name else {})), 150, mode, LANES)
    assert ended and rewards


@pytest.mark.parametrize("what", KEYWORDS)
def test_keywords(what):
    name, keywords = KEYWORDS[what]
    play(case_of(name, **keywords), 100, lanes=LANES)


def test_both_flags_in_one_step():
    """The agent of an empty room reaches the goal in the last step that it has."""
    case = case_of("Empty-5x5-v0", max_steps=5)
    ours, theirs = map(begun, case.pair(1))
    for action in (2, 2, 1, 2, 2):
        result, expected = ours.step([action]), theirs.step([action])
    assert result[2][0] and result[3][0] and expected[2][0] and expected[3][0]
    np.testing.assert_array_equal(result[1], expected[1])


def test_a_lane_that_cannot_be_generated_is_told():
    env = batchenv.make("MiniGrid-Fetch-5x5-N2-v0", 2, size=4, numObjs=4)  # four cells, and the agent wants one
    with pytest.raises(LaneError, match="no level could be generated: no free cell was found") as error:
        env.reset(seed=0)
    assert error.value.env_id.tolist() == [0, 1]
    assert not error.value.result[0]["image"].any()
    env.restore(env.snapshot())


@pytest.mark.parametrize(
    "name, keywords, words",
    [
        ("Empty-5x5-v0", {"agent_view_size": 4}, "agent_view_size=4 must be an odd number"),
        ("Empty-5x5-v0", {"agent_view_size": 1}, "agent_view_size=1 must be"),
        ("DoorKey-8x8-v0", {"size": 4}, "size=4 must be"),
        ("LavaCrossingS9N1-v0", {"size": 8}, "size=8 must be an odd number"),
        ("MemoryS7-v0", {"size": 8}, "size=8 must be an odd number"),
        ("MultiRoom-N6-v0", {"minNumRooms": 7}, "minNumRooms=7 must not be greater than maxNumRooms=6"),
        ("KeyCorridorS6R3-v0", {"num_rows": 49}, "sides? must be|each side must be"),
        ("KeyCorridorS6R3-v0", {"see_through_walls": True}, "see_through_walls"),
        ("Fetch-8x8-N3-v0", {"numObjs": 0}, "numObjs=0 must be"),
    ],
)
def test_wrong_keywords_are_refused(name, keywords, words):
    with pytest.raises((TypeError, ValueError), match=words):
        batchenv.make(f"MiniGrid-{name}", 2, **keywords)


def test_the_grids_size_cannot_change_later():
    env = batchenv.make("MiniGrid-Empty-5x5-v0", 2)
    with pytest.raises(ValueError, match="change the size of a lane's state: make a new env"):
        env.set_params(size=6)


@pytest.mark.parametrize("env_id", [name for name in IDS if re.search("Dynamic|Maze|Memory", name)][::3])
def test_a_snapshot_goes_on_in_the_same_way(env_id):
    env = begun(batchenv.make(env_id, 4, autoreset_mode="SameStep"), seed=3)
    rng = np.random.default_rng(0)
    actions = rng.integers(env.single_action_space.n, size=(60, 4))
    for action in actions[:30]:
        env.step(action)
    snapshot = env.snapshot()
    first = [env.step(action)[:4] for action in actions[30:]]
    other = batchenv.make(env_id, 4, autoreset_mode="SameStep")
    other.restore(snapshot)
    for action, expected in zip(actions[30:], first, strict=True):
        result = other.step(action)
        np.testing.assert_array_equal(result[0]["image"], expected[0]["image"])
        for a, b in zip(result[1:4], expected[1:4], strict=True):
            np.testing.assert_array_equal(a, b)


FORGED = {
    "a wall outside is missing": ("Empty-5x5-v0", "cells", 0, 1),
    "no such cell": ("Empty-5x5-v0", "cells", 40, 13),
    "a cell without a color": ("Empty-5x5-v0", "cells", 40, 0x61),
    "an opaque key": ("Empty-5x5-v0", "cells", 40, 0x87),
    "an agent outside": ("Empty-5x5-v0", "agent_pos", 1, 5),
    "a wall is carried": ("Empty-5x5-v0", "carrying", 0, 2),
    "an object that is not there is carried": ("Unlock-v0", "carrying", 1, 9),
    "an object without a number": ("Unlock-v0", "objects", 60, 200),
    "more objects than there is room for": ("Unlock-v0", "num_objects", 0, 200),
    "a box with something unknown": ("ObstructedMaze-1Dlh-v0", "inside", 2, 0xFF),
    "a mission that is none": ("Fetch-5x5-N2-v0", "mission_code", 0, 60),
    "obstacles that are elsewhere": ("Dynamic-Obstacles-5x5-v0", "own", 0, 77),
}


@pytest.mark.parametrize("what", FORGED)
def test_impossible_snapshots_are_refused(what):
    name, field, index, value = FORGED[what]
    env = begun(batchenv.make(f"MiniGrid-{name}", 2), seed=1)
    before = bytes(env.snapshot())
    column = forge_column(env, field)
    column[index] = value
    with pytest.raises(ValueError, match="damaged"):
        env.restore(forge(env, **{field: column}))
    assert bytes(env.snapshot()) == before
    env.restore(forge(env, **{field: forge_column(env, field)}))


def forge_column(env, field):
    """The first lane's values of a field of the state."""
    return np.atleast_1d(np.array(env.state[field][0]))
