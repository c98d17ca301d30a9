"""The limits of keywords that are numbers, and what None means for them."""

import pytest

import batchenv
import helpers.atari  # noqa: F401 (skips this module without the emulators)

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
    given, own = (batchenv.make("Pong-v5", 1, **modes) for modes in ({"mode": 1, "difficulty": 0}, {}))
    for env in (given, own):
        env.reset(seed=1)
    for name in ("ram", "screen"):
        assert (given.state[name] == own.state[name]).all()


def test_modes_for_one_player_are_those_of_the_table():
    for mode in (1, 2):
        batchenv.make("Pong-v5", 1, mode=mode).close()
    with pytest.raises(ValueError, match=r"mode=5 is none of this game's: 1, 2 with players=1; it is for players=4"):
        batchenv.make("Pong-v5", 1, mode=5)
