"""The Atari games: their keywords and lane attributes, put into the C core's terms."""

from __future__ import annotations

import hashlib
import os
from typing import Any, NamedTuple

from batchenv import _core
from batchenv.arguments.numbers import integer
from batchenv.backend.transforms import flag
from batchenv.backend.translator import Translator
from batchenv.envs.atari import games, players
from batchenv.envs.atari.files import Rom, library_path
from batchenv.system import memory

ACTIONS = (
    *("NOOP", "FIRE", "UP", "RIGHT", "LEFT", "DOWN", "UPRIGHT", "UPLEFT", "DOWNRIGHT", "DOWNLEFT", "UPFIRE"),
    *("RIGHTFIRE", "LEFTFIRE", "DOWNFIRE", "UPRIGHTFIRE", "UPLEFTFIRE", "DOWNRIGHTFIRE", "DOWNLEFTFIRE"),
)
_MAX_STACK = 1024
# Bytes of a lane beside its observations: filled, and of address space. Of an observation there are six per lane: the
# frames, the array returned, and four in Gymnasium's space. 300 to 900 lanes took 2% more.
_LANE_BYTES, _LANE_ADDRESSES = 220_000, 730_000
_ROWS = 6


def _may_be_fast() -> bool:
    """Whether lanes that are made now may use what batchenv puts in place of parts of the emulator."""
    return "0" not in (os.environ.get("BATCHENV_ALE_FAST"), os.environ.get("BATCHENV_ALE_CPU"))  # the older name


class _Given(NamedTuple):
    """What the batch is given; see `Translator.engine`."""

    source: _core.AtariSetup


class Atari(Translator):
    """What an Atari environment has beside its C type's parameters."""

    KEYWORDS = (
        ("game", None, "snake_case name of the game, as in ale-py"),
        ("players", 1, "how many play, each with actions of his own: 1 to 4, as the game's modes allow"),
        ("mode", None, "the game's mode; None: its own default for so many players"),
        ("difficulty", None, "the game's difficulty; None: its own default"),
        ("obs_type", "grayscale", "what is seen: 'grayscale', 'rgb' or 'ram'"),
        ("img_height", 84, "rows of a frame, at most the screen's; None: the screen's (210, or 250)"),
        ("img_width", 84, "columns of a frame, at most 160; None: 160"),
        ("stack_num", 4, "frames in an observation, oldest first; None: one, without an axis of its own"),
        ("full_action_space", False, "all 18 actions, instead of those that mean something in the game"),
        ("reward_clipping", False, "rewards are clipped to -1..1 (the same as clip_reward=(-1, 1))"),
    )
    ALIASES = {"frame_skip": "frameskip", "reward_clip": "reward_clipping"}
    names = ("game", "action_meanings")

    def __init__(self):
        self._values: dict[str, Any] = {}
        self._setup: Any = None
        self._stacks = False
        self.transforms: dict[str, Any] = {}

    def to_core(self, keywords: dict[str, Any]) -> tuple[dict[str, Any], None]:
        """The C type's params that the user's keywords stand for; `transforms` is set.

        Raises:
            TypeError, ValueError: a wrong keyword or value.
            FileNotFoundError, gymnasium.error.DependencyNotInstalled: the emulator or the ROM is missing.
        """
        params = dict(keywords)
        self._stacks = "stack_num" not in params
        values = {name: params.pop(name, default) for name, default, _ in self.KEYWORDS}
        game = games.about(values["game"])
        rom = Rom(values["game"])
        if values["obs_type"] not in _core.ATARI_OBSERVATIONS:
            known = ", ".join(map(repr, _core.ATARI_OBSERVATIONS))
            raise ValueError(f"obs_type={values['obs_type']!r} must be one of {known}")
        numbers = {}
        for name, low, high in (
            ("mode", 0, 2**31 - 1),
            ("difficulty", 0, 2**31 - 1),
            ("img_height", 1, 256),
            ("img_width", 1, _core.ATARI_SCREEN_WIDTH),
            ("stack_num", 1, _MAX_STACK),
        ):
            hint = "" if name == "stack_num" else "; None: the game's own"
            numbers[name] = None if values[name] is None else integer(name, values[name], low, high, hint)
        count = integer("players", values["players"], 1, players.MAX_PLAYERS)
        self._values = {**values, **numbers, "players": count}
        told = {name: value for name, value in self._values.items() if name != "players"}
        mode = players.choose(values["game"], count, numbers["mode"])
        if count == 1 and values["game"] in games.TWO_PLAYER_GAMES:
            raise ValueError(f"game={values['game']!r} needs two players: pass players=2")
        alone = game if count == 1 else games.Game(game.md5)  # what is put right for one player
        layout_of = (game.md5, sorted(told.items())) if count == 1 else (game.md5, sorted(told.items()), count, mode)
        layout = hashlib.blake2b(repr(layout_of).encode(), digest_size=8).digest()
        all_actions = flag("full_action_space", values["full_action_space"])
        actions = tuple(range(len(ACTIONS))) if all_actions else alone.actions
        self._setup = _core.AtariSetup(
            os.fsencode(library_path()),
            rom,
            mode=mode,
            difficulty=numbers["difficulty"],
            players=count,
            palette=game.palette,
            fast=_may_be_fast(),
            lives=alone.lives,
            ends_without_lives=alone.ends_without_lives,
            settle=game.settle,
            observation=values["obs_type"],
            height=numbers["img_height"],
            width=numbers["img_width"],
            stack=numbers["stack_num"],
            actions=actions,
            layout=int.from_bytes(layout, "little"),
        )
        self.transforms = {"clip_reward": (-1, 1)} if flag("reward_clipping", values["reward_clipping"]) else {}
        return params, None

    def check_transforms(self, asked: dict[str, Any]) -> None:
        """See `Translator.check_transforms`. Who gives stack_num as well knows that frames are stacked twice."""
        frames = asked["frame_stack"]
        if frames is not None and self._stacks:
            raise ValueError(
                f"frame_stack={frames!r} would stack observations of {self._values['stack_num']} frames: "
                "leave it out; stack_num=k has k frames in an observation, and stack_num=None, frame_stack=k stacks "
                "them as Gymnasium's FrameStackObservation does"
            )

    def keywords(self) -> dict[str, Any]:
        """Values of KEYWORDS that make the same environment again, once `to_core` was called."""
        return dict(self._values)

    def engine(self, num_envs: int, threads: int) -> _Given:
        """See `Translator.engine`.

        Raises:
            MemoryError: so many lanes do not fit. The emulator would end the process.
        """
        rows = num_envs * _ROWS * self._observation_bytes()
        memory.check(f"{num_envs} lanes of Atari", num_envs * _LANE_BYTES + rows, num_envs * _LANE_ADDRESSES + rows)
        return _Given(self._setup)

    def _observation_bytes(self) -> int:
        values = self._values
        frame = (values["img_height"] or games.about(values["game"]).height) * (
            values["img_width"] or _core.ATARI_SCREEN_WIDTH
        )
        return (values["stack_num"] or 1) * {"grayscale": frame, "rgb": 3 * frame, "ram": 128}[values["obs_type"]]

    def attribute(self, name: str, batch: Any) -> list[Any]:
        """A lane attribute: one value per lane."""
        lanes = len(batch.elapsed())
        if name == "game":
            return [self._values["game"]] * lanes
        return [list(ACTIONS)] * lanes
