"""MinAtar's games equal those of the package minatar, bit for bit: observations, rewards, ends of episodes and the
state of each lane's random stream.

BATCHENV_PARITY_STEPS sets the steps of every comparison; tools/verify/compare_minatar.py makes the same one at length.
"""

import os

import gymnasium
import numpy as np
import pytest

import batchenv
from batchenv import LaneError
from helpers.begun import begun
from helpers.forged import forge
from helpers.minatar import GAMES, IDS, Player, make_minatar, our_streams, their_streams
from helpers.parity import MODES, Case, follow

LANES = 6
STEPS = int(os.environ.get("BATCHENV_PARITY_STEPS", "330"))
KEYWORDS = {
    "nothing sticks": {"sticky_action_prob": 0.0},
    "the first action sticks": {"sticky_action_prob": 1.0},
    "half sticks": {"sticky_action_prob": 0.5},
    "it stays as it is": {"difficulty_ramping": False},
}
# What makes a game as hard as it becomes: values of minatar's attributes, which are fields of ours.
LATE = {
    "Asterix": {"spawn_speed": 1, "move_speed": 1, "ramp_index": 9},
    "Breakout": {"ball_y": 1},
    "Seaquest": {"e_spawn_speed": 1, "move_speed": 2, "diver_count": 5, "oxygen": 60},
    "SpaceInvaders": {"enemy_move_interval": 6, "alien_move_timer": 0},
}


@pytest.fixture
def minatar():
    return pytest.importorskip("minatar", reason="compares with the package minatar: pip install minatar")


def streams(ours, theirs):
    """What must be the same of the two after each step."""
    return our_streams(ours), their_streams(theirs.envs)


def case_of(env_id, player=False, **both):
    policy = Player(env_id, LANES, range(0, LANES, 2), **both) if player else None
    return Case(env_id, both=both, creator=make_minatar, policy=policy, look=streams)


def play(case, steps=STEPS, mode=MODES[0]):
    ours, theirs = case.pair(LANES, mode)
    return follow(case, ours, theirs, steps)


def test_all_ids_are_here():
    assert sorted(env_id for env_id in batchenv.list_envs(None) if env_id.startswith("MinAtar/")) == sorted(IDS)


@pytest.mark.parametrize("env_id", IDS)
def test_games(env_id, minatar):
    """Half of the lanes are played well, so that not only beginnings are seen."""
    ended, rewards = play(case_of(env_id, player=True))
    assert {0, 1} <= rewards and (ended or "Freeway" in env_id)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("game", GAMES)
def test_each_autoreset_mode(game, mode, minatar):
    play(case_of(f"MinAtar/{game}-v1"), 200, mode)


@pytest.mark.parametrize("what", KEYWORDS)
@pytest.mark.parametrize("game", GAMES)
def test_keywords(game, what, minatar):
    play(case_of(f"MinAtar/{game}-v0", **KEYWORDS[what]), 150)


@pytest.mark.parametrize("game", LATE)
def test_late_states(game, minatar):
    env_id, values = f"MinAtar/{game}-v0", LATE[game]
    ours, theirs = batchenv.make(env_id, LANES, autoreset_mode="SameStep"), [make_minatar(env_id) for _ in range(LANES)]
    ours.reset(seed=5)
    for lane, env in enumerate(theirs):
        env.reset(seed=5 + lane)
    player, late = Player(env_id, LANES, range(0, LANES, 2)), np.ones(LANES, bool)
    for _ in range(STEPS):
        for lane in np.flatnonzero(late):
            ours.set_state(values, lanes=[lane])
            vars(theirs[lane].game.env).update(values)
        actions = player(ours)
        observations, rewards, late, _, infos = ours.step(actions)
        for lane, env in enumerate(theirs):
            observation, *result = env.step(int(actions[lane]))
            np.testing.assert_array_equal(infos["final_obs"][lane] if late[lane] else observations[lane], observation)
            assert result == [rewards[lane], late[lane], False, {}]
            if late[lane]:
                env.reset()
        for mine, other in zip(our_streams(ours), their_streams(theirs), strict=True):
            np.testing.assert_array_equal(mine, other)


def test_freeways_end(minatar):
    env_id = "MinAtar/Freeway-v1"
    ours, theirs = begun(batchenv.make(env_id, 1)), make_minatar(env_id)
    theirs.reset(seed=0)
    ours.set_state({"terminate_timer": 3})
    theirs.game.env.terminate_timer = 3
    ends = [(bool(ours.step([0])[2][0]), theirs.step(0)[2]) for _ in range(4)]
    assert ends == [(False, False)] * 3 + [(True, True)]


def test_pictures_have_minatars_colors(minatar):
    pytest.importorskip("seaborn", reason="minatar draws with it")
    for game in GAMES:
        env_id = f"MinAtar/{game}-v0"
        ours = begun(batchenv.make(env_id, 1, render_mode="rgb_array"))
        theirs = make_minatar(env_id, render_mode="rgb_array")
        theirs.reset(seed=0)
        for action in np.random.default_rng(0).integers(6, size=100).tolist():
            if ours.step([action])[2][0]:
                break
            theirs.step(action)
            (picture,) = ours.render()
            cells = np.round(255 * np.array(theirs.render())).astype(np.uint8)
            np.testing.assert_array_equal(picture, cells.repeat(16, axis=0).repeat(16, axis=1))


# ---- what minatar does not have ------------------------------------------------------------------------------------


@pytest.mark.parametrize("game", GAMES)
def test_keywords_may_differ_from_lane_to_lane(game):
    env_id, rng = f"MinAtar/{game}-v0", np.random.default_rng(0)
    keywords = {"sticky_action_prob": [0.0, 1.0, 0.5], "difficulty_ramping": [True, False, True]}
    together = begun(batchenv.make(env_id, 3, **keywords), seed=4)
    alone = [
        begun(batchenv.make(env_id, 1, **{name: values[lane] for name, values in keywords.items()}), seed=4 + lane)
        for lane in range(3)
    ]
    for _ in range(200):
        actions = rng.integers(6, size=3)
        results = [env.step(actions[lane : lane + 1])[:3] for lane, env in enumerate(alone)]
        for mine, others in zip(together.step(actions)[:3], zip(*results, strict=True), strict=True):
            np.testing.assert_array_equal(mine, np.concatenate(others))


@pytest.mark.parametrize("env_id", IDS)
def test_channels_first(env_id):
    last, first = (begun(batchenv.make(env_id, 5, channels_first=flag)) for flag in (False, True))
    assert first.single_observation_space == gymnasium.spaces.Box(
        0, 1, [last.single_observation_space.shape[axis] for axis in (2, 0, 1)], bool
    )
    for action in np.random.default_rng(1).integers(last.single_action_space.n, size=(100, 5)):
        np.testing.assert_array_equal(first.step(action)[0], last.step(action)[0].transpose(0, 3, 1, 2))


def test_a_seed_forgets_the_last_action():
    """In minatar, it is what a sticky first step repeats, even if the game is seeded anew."""
    env = begun(batchenv.make("MinAtar/Breakout-v1", 2, sticky_action_prob=1.0))
    env.set_state({"last_action": 3})
    env.reset()
    assert env.state["last_action"].tolist() == [3, 3]
    env.reset(seed=1)
    assert env.state["last_action"].tolist() == [0, 0]


@pytest.mark.parametrize("game", GAMES)
def test_a_snapshot_goes_on_in_the_same_way(game):
    env_id = f"MinAtar/{game}-v1"
    env, other = (begun(batchenv.make(env_id, 4, autoreset_mode="SameStep"), seed=seed) for seed in (3, 4))
    actions = np.random.default_rng(0).integers(env.single_action_space.n, size=(400, 4))
    for action in actions[:300]:
        env.step(action)
    other.restore(env.snapshot())
    for action in actions[300:]:
        for mine, expected in zip(other.step(action)[:4], env.step(action)[:4], strict=True):
            np.testing.assert_array_equal(mine, expected)


# ---- hostile input -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "keywords, words",
    [
        ({"sticky_action_prob": 1.5}, "sticky_action_prob=1.5 must be"),
        ({"sticky_action_prob": float("nan")}, "sticky_action_prob=nan must be"),
        ({"sticky_action_prob": [0.1, 0.2, 0.3]}, "sticky_action_prob"),
        ({"difficulty_ramping": "yes"}, "difficulty_ramping='yes' must be"),
        ({"channels_first": [True, False]}, "channels_first"),
        ({"display_time": 50}, "display_time"),
    ],
)
def test_wrong_keywords_are_refused(keywords, words):
    with pytest.raises((TypeError, ValueError), match=words):
        batchenv.make("MinAtar/Asterix-v0", 2, **keywords)


def test_the_shape_cannot_change_later():
    env = batchenv.make("MinAtar/Asterix-v0", 2)
    with pytest.raises(ValueError, match="make a new env"):
        env.set_params(channels_first=True)


def any_state(game, lanes, rng):
    """States within the ranges of the table of fields, and of Seaquest's own rule."""
    fields = {}
    for field in batchenv._core.type_info(f"MinAtar{game}")["state"]:
        shape = (lanes,) if field["size"] == 1 else (lanes, field["size"])
        fields[field["name"]] = rng.integers(field["low"], field["high"], shape, endpoint=True)
    del fields["random_state"]
    for name in ("f_bullets", "e_bullets", "e_fish", "e_subs", "divers") if game == "Seaquest" else ():
        fields[name].reshape(lanes, -1, 5)[..., 0] %= 10
        fields[name].reshape(lanes, -1, 5)[..., 1] %= 9
        fields[name].reshape(lanes, -1, 5)[..., 2] %= 2
    return fields


@pytest.mark.parametrize("game", GAMES)
def test_any_state_in_range_can_be_played(game):
    """Also those to which no game comes, and what they become is in range, too."""
    rng, lanes = np.random.default_rng(0), 64
    env = begun(batchenv.make(f"MinAtar/{game}-v0", lanes, render_mode="rgb_array"))
    for _ in range(30):
        env.reset()
        env.set_state(any_state(game, lanes, rng))
        for _ in range(20):
            try:
                env.step(rng.integers(6, size=lanes))
            except LaneError as error:
                assert game == "Seaquest" and "more than 32 fish" in str(error)
            env.restore(env.snapshot())
        env.render()


def test_a_full_sea_is_told():
    env = begun(batchenv.make("MinAtar/Seaquest-v0", 3, sticky_action_prob=0.0))
    fish = np.tile([0, 3, 1, 5, 0], 32)
    env.set_state({"e_fish": fish, "e_subs": fish, "num_e_fish": 32, "num_e_subs": 32}, lanes=[1])
    with pytest.raises(LaneError, match="more than 32 fish, submarines, divers or bullets") as error:
        for _ in range(300):
            env.set_state({"e_spawn_timer": 0, "e_fish": fish, "e_subs": fish}, lanes=[1])
            env.step(np.zeros(3, int))
    assert error.value.env_id.tolist() == [1]
    assert not error.value.result[0][1].any() and error.value.result[0][0].any()
    env.step(np.zeros(3, int))


@pytest.mark.parametrize("place, value", [(0, 10), (1, 9), (2, 2)])
def test_swimmers_outside_the_sea_are_refused(place, value):
    env = begun(batchenv.make("MinAtar/Seaquest-v0", 2))
    before = bytes(env.snapshot())
    entry = np.array([1, 2, 1, 3, 0])
    entry[place] = value
    divers = np.zeros(160, np.int8)
    divers[5:10] = entry
    with pytest.raises(ValueError, match=r"entry 1 of divers of lane 0 must be in 0\.\.9, 0\.\.8 and 0\.\.1"):
        env.restore(forge(env, divers=divers, num_divers=2))
    assert bytes(env.snapshot()) == before
    env.restore(forge(env, divers=divers, num_divers=1))
