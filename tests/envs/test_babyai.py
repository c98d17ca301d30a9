"""BabyAI's levels equal those of the package minigrid, bit for bit: images, directions, missions, rewards, flags and
the state of each lane's random stream."""

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

import batchenv
from batchenv import LaneError
from helpers.forged import forge
from helpers.parity import MODES, Case, assert_same, assert_streams_same, excuse_ints, follow, play

pytest.importorskip("minigrid")
from helpers.babyai_bot import Bot
from helpers.begun import begun

IDS = [name for name in gymnasium.registry if name.startswith("BabyAI-")]
# Keywords of ours that the ids do not set, or set otherwise.
KEYWORDS = {
    "a narrow view": ("GoToLocal-v0", {"agent_view_size": 3}),
    "few steps": ("BossLevel-v0", {"max_steps": 9}),
    "small rooms": ("GoToLocal-v0", {"room_size": 4, "num_dists": 1}),
    "many rooms": ("GoTo-v0", {"room_size": 5, "num_rows": 2, "num_cols": 4, "num_dists": 3, "doors_open": True}),
    "many objects": ("BossLevel-v0", {"room_size": 12, "num_dists": 60}),
    "an object may be in the locked room": ("GoToImpUnlock-v0", {"room_size": 6, "num_rows": 2, "num_cols": 2}),
    "sequences of doors": ("OpenDoorsOrderN2-v0", {"num_doors": 3, "debug": True}),
    "other colors": ("OpenTwoDoors-v0", {"first_color": "grey", "second_color": "grey", "strict": True}),
    "any color": ("OpenRedBlueDoors-v0", {"first_color": None}),
    "no selection": ("OpenDoorLoc-v0", {"select_by": None, "room_size": 5}),
    "few actions": ("BossLevel-v0", {"action_kinds": ["putnext", "open"], "instr_kinds": ["seq"]}),
    "one action twice": ("SynthSeq-v0", {"action_kinds": ("goto", "goto", "pickup"), "room_size": 5}),
    "no sides": ("MiniBossLevel-v0", {"locations": False, "unblocking": False, "implicit_unlock": False}),
    "always locked": ("SynthLoc-v0", {"locked_room_prob": 1.0, "num_rows": 1, "num_cols": 2}),
    "two and": ("GoToSeq-v0", {"instr_kinds": ("and",), "num_dists": 5}),
    "a room of objects": ("PutNextLocal-v0", {"room_size": 9, "num_objs": 18}),
    "carrying": ("PutNextS4N1-v0", {"start_carrying": True}),
    "more objects": ("MoveTwoAcrossS5N2-v0", {"objs_per_room": 3}),
    "a box in a corridor": ("KeyCorridorS3R2-v0", {"obj_type": "box", "num_cols": 4}),
    "doors and distractors": ("UnlockLocal-v0", {"distractors": True, "room_size": 5, "num_cols": 2}),
    "none": ("GoToRedBallGrey-v0", {"num_dists": 0, "room_size": 4}),
}
# Each kind of instruction, and what the agent may carry from the start.
SOLVED = [
    "GoToSeqS5R2-v0",
    "OpenDoorsOrderN4-v0",
    "PickupDist-v0",
    "PutNextLocalS5N3-v0",
    "UnlockLocal-v0",
    "MiniBossLevel-v0",
    "MoveTwoAcrossS5N2-v0",
]


def case_of(name, **both):
    return Case(f"BabyAI-{name.removeprefix('BabyAI-')}", both=both, drop=("mission_code",), excuse=excuse_ints)


def test_all_ids_are_here():
    assert len(IDS) == 96
    assert sorted(name for name in batchenv.list_envs(None) if name.startswith("BabyAI-")) == sorted(IDS)


@pytest.mark.parametrize("env_id", IDS)
def test_a_sample_of_each_id(env_id):
    play(case_of(env_id), 40)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["GoToObjS4-v0", "OpenDoorDebug-v0"])
def test_each_autoreset_mode(name, mode):
    ended, _ = play(case_of(name, max_steps=25), 80, mode)
    assert ended


@pytest.mark.parametrize("what", KEYWORDS)
def test_keywords(what):
    name, keywords = KEYWORDS[what]
    play(case_of(name, **keywords), 40)


@pytest.mark.parametrize("name", ["SynthLoc-v0", "BossLevel-v0"])
def test_each_lane_has_its_own_probability_of_a_locked_room(name):
    case, shares = case_of(name), [0.0, 1.0, 0.4, 0.6, 1.0, 0.0]
    ours = batchenv.make(case.env_id, len(shares), locked_room_prob=shares)
    theirs = gymnasium.vector.SyncVectorEnv(
        [lambda share=share: gymnasium.make(case.env_id, locked_room_prob=share) for share in shares]
    )
    follow(case, ours, theirs, 20, 3)
    assert_streams_same(ours, theirs)
    shares.reverse()
    ours.set_params(locked_room_prob=shares)
    for env, share in zip(theirs.envs, shares, strict=True):
        env.unwrapped.locked_room_prob = share
    follow(case, ours, theirs, 20, 4)
    assert_streams_same(ours, theirs)


@pytest.mark.parametrize("name", SOLVED)
def test_levels_are_solved_alike(name):
    """The reference's bot acts, and some of its actions are replaced by random ones."""
    ours, theirs = case_of(name).pair(2, AutoresetMode.SAME_STEP)
    seeds = [5, 6]
    observation, expected = ours.reset(seed=seeds)[0], theirs.reset(seed=seeds)[0]
    assert_same(observation, expected, "reset")
    bot, ended, solved = Bot(theirs, noise=0.05), np.zeros(2, bool), 0
    for step in range(150):
        actions = bot.actions(ended)
        result, expected = ours.step(actions), theirs.step(actions)
        for mine, reference in zip(result[:4], expected[:4], strict=True):
            assert_same(mine, reference, f"step {step}")
        ended = result[2] | result[3]
        solved += (result[1] > 0).sum()
    assert_streams_same(ours, theirs)
    assert solved > 0


def test_episodes_may_be_longer_for_longer_missions():
    env = batchenv.make("BabyAI-MiniBossLevel-v0", 64)
    observation, _ = env.reset(seed=0)
    # RoomGridLevel: a way for each action, and two where something is put next to something.
    ways = [mission.count(" to ") - mission.count("next to") + 2 * mission.count("put ") for mission in
            observation["mission"]]  # fmt: skip
    ways = [count + mission.count("open ") + mission.count("pick up ") for count, mission in
            zip(ways, observation["mission"], strict=True)]  # fmt: skip
    assert env.get_attr("max_steps") == tuple(count * 5**2 * 2 * 2 for count in ways)
    assert len(set(ways)) > 3


def test_what_the_agent_carries_at_first_is_not_seen_in_the_first_observation():
    """As in the reference, whose reset makes the observation and then takes the object out of the grid."""
    ours, theirs = case_of("PutNextS5N2Carrying-v0").pair(4)
    assert_same(ours.reset(seed=3)[0], theirs.reset(seed=3)[0], "reset")
    snapshot = ours.snapshot()
    drop = np.full(4, 4)
    expected = theirs.step(drop)
    for _ in range(2):
        assert_same(ours.step(drop)[0], expected[0], "step")
        ours.restore(snapshot)


def test_keys_may_be_in_the_room_that_they_open():
    """The reference compares numbers of rooms by `is`, which never holds for NumPy's."""
    found = 0
    ours, theirs = case_of("Unlock-v0").pair(12)
    assert_same(ours.reset(seed=0)[0], theirs.reset(seed=0)[0], "reset")
    for one in theirs.envs:
        level = one.unwrapped
        for room in (room for row in level.room_grid for room in row):
            locked = [door.color for door in room.doors if door and door.is_locked]
            inside = [thing.color for thing in room.objs if thing.type == "key"]
            found += bool(room.locked and set(locked) & set(inside))
    assert found


@pytest.mark.parametrize(
    "name, keywords, words",
    [
        ("GoToLocal-v0", {"room_size": 2}, "room_size=2 must be"),
        ("GoToLocal-v0", {"num_dists": 0}, "num_dists=0 must be"),
        ("GoToLocal-v0", {"room_size": 4, "num_dists": 4}, "5 objects and the agent do not fit into 1 rooms of 2 by 2"),
        ("GoToLocal-v0", {"see_through_walls": True}, "see_through_walls"),
        ("BossLevel-v0", {"num_dists": 250, "room_size": 20}, "there may be 12 doors and 251 other objects"),
        ("BossLevel-v0", {"num_rows": 14, "num_cols": 14}, "14 by 14 rooms are more than"),
        ("BossLevel-v0", {"action_kinds": ("goto", "jump")}, "action_kinds.*'jump'.*goto, pickup, open, putnext"),
        ("BossLevel-v0", {"action_kinds": ()}, "action_kinds"),
        ("BossLevel-v0", {"instr_kinds": "and"}, "instr_kinds"),
        ("GoToDoor-v0", {"num_rows": 2}, "num_rows=2 must be"),
        ("OpenDoor-v0", {"select_by": "size"}, "select_by"),
        ("OpenDoorsOrderN2-v0", {"num_doors": 5}, "num_doors=5 must be"),
        ("PutNextLocal-v0", {"num_objs": 19}, "num_objs=19 must be"),
    ],
)
def test_wrong_keywords_are_refused(name, keywords, words):
    with pytest.raises((TypeError, ValueError), match=words):
        batchenv.make(f"BabyAI-{name}", 2, **keywords)


@pytest.mark.parametrize(
    "name, keywords, words",
    [
        ("SynthLoc-v0", {"num_rows": 1, "num_cols": 1, "locked_room_prob": 1.0}, "one room alone cannot be locked"),
        ("Open-v0", {"num_rows": 1, "num_cols": 1}, "one room alone has no door"),
        ("GoToLocal-v0", {"room_size": 4, "num_dists": 2}, "tries have all been rejected"),  # not next to the agent
        ("FindObjS5-v0", {"num_rows": 2, "num_cols": 4}, "num_rows and num_cols must be the same"),
    ],
)
def test_what_cannot_be_made_fails(name, keywords, words):
    """Where the reference goes on for ever or fails by an assertion."""
    env = batchenv.make(f"BabyAI-{name}", 8, **keywords)
    with pytest.raises(LaneError, match=words) as error:
        env.reset(seed=0)
    assert "" in error.value.result[0]["mission"]
    env.restore(env.snapshot())


@pytest.mark.parametrize("name", ["BossLevel-v0", "PutNextS5N2Carrying-v0", "KeyInBox-v0", "GoToSeqS5R2-v0"])
def test_a_snapshot_goes_on_in_the_same_way(name):
    env = begun(batchenv.make(f"BabyAI-{name}", 4, autoreset_mode="SameStep"), seed=3)
    rng = np.random.default_rng(0)
    actions = rng.choice(7, size=(160, 4), p=(0.12, 0.12, 0.33, 0.15, 0.10, 0.16, 0.02))
    for action in actions[:80]:
        env.step(action)
    snapshot = env.snapshot()
    first = [play_on(env, action) for action in actions[80:]]
    other = batchenv.make(f"BabyAI-{name}", 4, autoreset_mode="SameStep")
    other.restore(snapshot)
    for step, (action, expected) in enumerate(zip(actions[80:], first, strict=True)):
        assert_same(play_on(other, action), expected, f"step {step}")


def play_on(env, action):
    """A step's result, with missions as plain tuples."""
    observation, *flags = env.step(action)[:4]
    return {**observation, "mission": tuple(observation["mission"])}, *flags


# A field of the state, the place of a value in it, and the value. In `own` a lane of BossLevel has flags, the object
# that is carried at first, four that were carried, eight sets of two words each (31 objects), and 32 places.
FORGED = {
    "no such verb": ("mission_code", 0, 7),
    "a mission with too many bits": ("mission_code", 1, 2**60),
    "no such order": ("mission_code", 0, 3 * 2**46 + 1),
    "an object that is not there at first": ("own", 1, 200),
    "an object before the first": ("own", 1, -1),
    "a door is carried at first": ("own", 1, 1),
    "an object that was carried and is not there": ("own", 2, 77),
    "the object 0 in a set": ("own", 6, 1),
    "a place beyond the grid": ("own", -1, 10**6),
    "a place before the grid": ("own", -1, -5),
}


@pytest.mark.parametrize("what", FORGED)
def test_impossible_snapshots_are_refused(what):
    field, index, value = FORGED[what]
    env = begun(batchenv.make("BabyAI-UnblockPickup-v0", 2), seed=1)  # 20 objects and 12 doors at most
    before = bytes(env.snapshot())
    column = np.array(env.state[field][0])
    count = int(env.state["num_objects"][0])
    words = count // 32 + 1
    last_place = 6 + 8 * words + count
    good = column.copy()
    column[last_place if index == -1 else index] = value
    with pytest.raises(ValueError, match="damaged"):
        env.restore(forge(env, **{field: column}))
    assert bytes(env.snapshot()) == before
    env.restore(forge(env, **{field: good}))
