"""Atari games for more than one player, and the numbers of modes: ale-py's for one player, libale_c's, which are
PettingZoo's, for several."""

from __future__ import annotations

MAX_PLAYERS = 4

# {game: {players: modes}}, as libale_c has them. All other games are for one player alone.
MODES: dict[str, dict[int, tuple[int, ...]]] = {
    "backgammon": {1: (3,), 2: (4,)},
    "boxing": {1: (1,), 2: (2,)},
    "combat": {2: tuple(range(1, 28))},
    "double_dunk": {1: tuple(range(16)), 2: tuple(range(16, 32))},
    "entombed": {1: (1,), 2: (2, 3)},
    "fishing_derby": {1: (1,), 2: (2,)},
    "flag_capture": {1: (8, 9, 10), 2: (1, 2, 3, 4)},
    "ice_hockey": {1: (0, 2), 2: (1, 3)},
    "joust": {1: (0, 2), 2: (1, 3)},
    "mario_bros": {1: (1, 3, 5, 7), 2: (2, 4, 6, 8)},
    "maze_craze": {2: tuple(range(64))},
    "othello": {1: (1, 2, 3), 2: (4,)},
    "pong": {
        1: (1, 2),
        2: (3, 4, 9, 10, 13, 14, 19, 20, *range(23, 29), 35, 36, 39, 40, 43, 44, 45, 46),
        4: (5, 6, 7, 8, 11, 12, 15, 16, 17, 18, 21, 22, *range(29, 35), 37, 38, 41, 42, *range(47, 51)),
    },
    "space_invaders": {1: tuple(range(1, 17)), 2: tuple(range(33, 65))},
    "space_war": {1: tuple(range(6, 18)), 2: tuple(range(1, 6))},
    "surround": {1: (2, 4), 2: (1, *range(5, 13))},
    "tennis": {1: (1, 3), 2: (2, 4)},
    "video_checkers": {1: (*range(1, 10), *range(11, 20)), 2: (10,)},
    "warlords": {1: (4, 9, 14, 19), 2: (3, 5, 8, 10, 13, 15, 18, 20, 23), 4: (1, 6, 11, 16, 21)},
    "wizard_of_wor": {1: (0,), 2: (1,)},
}
# Where PettingZoo starts with another mode than the first: Pong's classic game, Space Invaders with moving shields,
# Maze Craze with robbers.
_STARTS = {("pong", 2): 4, ("pong", 4): 6, ("space_invaders", 2): 34, ("maze_craze", 2): 4}

# The same for games of one player alone whose modes have other numbers in ale-py.
_ALONE: dict[str, dict[int, tuple[int, ...]]] = {"basic_math": {1: (0, 1, 2, 3)}, "lost_luggage": {1: (1, 4)}}
# ale-py's numbers of the modes for one player, where libale_c has others. They are the same modes in the same order, as
# the byte in which a game keeps its mode shows.
_ALE_PY = {
    "backgammon": (0,), "basic_math": (5, 6, 7, 8), "boxing": (0,), "entombed": (0,), "fishing_derby": (0,),
    "lost_luggage": (0, 1), "mario_bros": (0, 2, 4, 6), "othello": (0, 1, 2), "pong": (0, 1),
    "space_invaders": tuple(range(16)), "surround": (0, 2), "tennis": (0, 2),
}  # fmt: skip


def ranges(modes: tuple[int, ...]) -> str:
    """Ascending modes in short: "1, 3-5"."""
    parts: list[list[int]] = []
    for mode in modes:
        if parts and mode == parts[-1][1] + 1:
            parts[-1][1] = mode
        else:
            parts.append([mode, mode])
    return ", ".join(f"{a}-{b}" if b > a + 1 else f"{a}, {b}" if b > a else str(a) for a, b in parts)


def choose(game: str, players: int, mode: int | None) -> int | None:
    """libale_c's number of the mode in which so many play: of `mode`, or of the game's first; None: the game's own for
    one.

    Raises:
        ValueError: the game or the mode is not for so many; the message lists those that are.
    """
    table = MODES.get(game, {})
    if players == 1:
        return _alone(game, mode)
    shown = {**table, 1: _ALE_PY[game]} if 1 in table and game in _ALE_PY else table
    listed = "; ".join(f"players={count}: mode {ranges(modes)}" for count, modes in shown.items())
    if not table:
        raise ValueError(f"players={players}: {game} supports one player only; games for more are {', '.join(MODES)}")
    if players not in table:
        raise ValueError(f"players={players} cannot play {game}, which has {listed}")
    if mode is None:
        return _STARTS.get((game, players), table[players][0])
    if mode not in table[players]:
        raise ValueError(f"mode={mode} of {game} is not for players={players}: it has {listed}")
    return mode


def _alone(game: str, mode: int | None) -> int | None:
    """libale_c's number of ale-py's mode `mode` for one player. Modes of games that are not listed here are left to
    libale_c to check.

    Raises:
        ValueError: the game has no such mode.
    """
    table = MODES.get(game) or _ALONE.get(game, {})
    if mode is None or 1 not in table:
        return mode
    numbers = _ALE_PY.get(game, table[1])
    if mode in numbers:
        return table[1][numbers.index(mode)]
    others = [count for count, modes in table.items() if count > 1 and mode in modes]
    hint = f" with players=1; it is for players={others[0]}" if others else ""
    raise ValueError(f"mode={mode} is none of this game's: {ranges(numbers)}{hint}")
