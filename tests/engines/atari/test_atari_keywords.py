"""The limits of keywords that are numbers, and what None means for them."""

import gymnasium
import pytest

import batchenv
import helpers.atari  # noqa: F401 (skips this module without the emulators)
from helpers.begun import begun

LIMITS = [
    ("mode", 0, 2**31 - 1),
    ("difficulty", 0, 2**31 - 1),
    ("img_height", 1, 256),
    ("img_width", 1, 160),
    ("stack_num", 1, 1024),
    ("players", 1, 4),
]


@pytest.mark.parametrize("name, low, high", LIMITS)
def test_limits_are_exact(name, low, high):
    least = {"mode": -1, "difficulty": -1}.get(name, low)  # -1 is EnvPool's None
    for value, rule in ((least - 1, f"at least {low}"), (high + 1, f"at most {high}")):
        with pytest.raises(ValueError, match=f"^{name}={value} must be {rule}"):
            batchenv.make("Pong-v5", 1, **{name: value})
    for value in {"stack_num": [low]}.get(name, [low, high]):  # so high a stack takes seconds
        try:
            batchenv.make("Pong-v5", 1, **{name: value}).close()
        except ValueError as error:  # the game has no such mode, or is not for so many
            assert "must be at" not in str(error)


def test_the_games_own_mode_and_difficulty():
    given, own = (begun(batchenv.make("Pong-v5", 1, **modes), seed=1) for modes in ({"mode": 0, "difficulty": 0}, {}))
    for name in ("ram", "screen"):
        assert (given.state[name] == own.state[name]).all()


def test_modes_for_one_player_are_those_of_the_table():
    for mode in (0, 1):
        batchenv.make("Pong-v5", 1, mode=mode).close()
    with pytest.raises(ValueError, match=r"mode=5 is none of this game's: 0, 1 with players=1; it is for players=4"):
        batchenv.make("Pong-v5", 1, mode=5)


# Where games keep their mode in the console's memory.
MODE_BYTES = {
    "BasicMath": 77,
    "LostLuggage": 39,
    "MarioBros": 0,
    "Othello": 68,
    "Pong": 22,
    "SpaceInvaders": 0x5C,
    "Surround": 121,
    "Tennis": 0,
}


def of_ale_py(game):
    """ale-py's emulator with the game in it."""
    return gymnasium.make(f"ALE/{game}-v5").unwrapped.ale


@pytest.mark.cases(3)
@pytest.mark.parametrize("game", MODE_BYTES)
def test_modes_have_the_numbers_that_ale_py_gives_them(game):
    theirs, shown = of_ale_py(game), set()
    for mode in theirs.getAvailableModes():
        theirs.setMode(mode)
        theirs.reset_game()
        ours = batchenv.make(f"ALE/{game}-v5", 1, mode=mode, noop_max=0, use_fire_reset=False)
        ours.reset(seed=0)
        assert ours.state["ram"][0][MODE_BYTES[game]] == theirs.getRAM()[MODE_BYTES[game]], mode
        shown.add(theirs.getRAM()[MODE_BYTES[game]])
    assert len(shown) > 1


@pytest.mark.parametrize(
    "game", ["Backgammon", "Boxing", "Entombed", "FishingDerby", "IceHockey", "SpaceWar", "Breakout"]
)
def test_no_mode_of_ale_pys_is_missing(game):
    modes = of_ale_py(game).getAvailableModes()
    for mode in modes:
        batchenv.make(f"ALE/{game}-v5", 1, mode=mode).close()
    with pytest.raises(ValueError, match=f"mode=99 is none of this game's: {modes[0]}"):
        batchenv.make(f"ALE/{game}-v5", 1, mode=99)


def test_frames_are_not_stacked_twice_without_being_asked():
    for env_id in ("Pong-v5", "ALE/Pong-v5"):
        with pytest.raises(ValueError, match=r"frame_stack=3 .* of 4 frames: .*stack_num=None, frame_stack=k"):
            batchenv.make(env_id, 1, frame_stack=3)
    for env_id in ("PongNoFrameskip-v4", "Pong-v5"):
        env = batchenv.make(env_id, 1, stack_num=None, frame_stack=3)
        assert env.single_observation_space.shape[0] == 3 and env.single_observation_space.shape[-1] in (3, 84)
        env.close()
    assert batchenv.make("PongNoFrameskip-v4", 1, frame_stack=2).single_observation_space.shape == (2, 210, 160, 3)
    env = batchenv.make("Pong-v5", 1, stack_num=2, frame_stack=3)  # who says both means both
    again = batchenv.make("Pong-v5", **{name: env.config[name] for name in ("num_envs", "stack_num", "frame_stack")})
    assert again.single_observation_space.shape == env.single_observation_space.shape == (3, 2, 84, 84)
