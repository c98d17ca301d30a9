"""The Atari games: finds the emulator and the ROMs, and puts the keywords into the C core's terms."""

from __future__ import annotations

import ctypes
import hashlib
import importlib.util
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from gymnasium.error import DependencyNotInstalled
from numpy.typing import NDArray

from batchenv.backend import Drawer
from batchenv.engines import games, memory, players
from batchenv.engines.players_batch import PlayersBatch
from batchenv.transforms import flag
from batchenv.translator import Translator
from batchenv.values import integer

OBSERVATIONS = ("grayscale", "rgb", "ram")  # as in csrc/engines/atari/atari.h
PALETTES = ("NTSC", "PAL", "SECAM")  # as in csrc/engines/emulator.h
ACTIONS = (
    *("NOOP", "FIRE", "UP", "RIGHT", "LEFT", "DOWN", "UPRIGHT", "UPLEFT", "DOWNRIGHT", "DOWNLEFT", "UPFIRE"),
    *("RIGHTFIRE", "LEFTFIRE", "DOWNFIRE", "UPRIGHTFIRE", "UPLEFTFIRE", "DOWNRIGHTFIRE", "DOWNLEFTFIRE"),
)
SCREEN_WIDTH = 160
_MAX_STACK = 1024
# Bytes of a lane beside its observations: filled, and of address space. Of an observation there are six per lane: the
# frames, the array returned, and four in Gymnasium's space. 300 to 900 lanes took 2% more.
_LANE_BYTES, _LANE_ADDRESSES = 220_000, 730_000
_ROWS = 6
_MISSING = "pip install 'batchenv[atari]'"


class _Cartridge(ctypes.Structure):
    """be_cartridge."""

    _fields_ = [
        ("library", ctypes.c_char_p),
        ("rom", ctypes.c_char_p),
        ("mode", ctypes.c_int32),
        ("difficulty", ctypes.c_int32),
        ("players", ctypes.c_int32),
        ("palette", ctypes.c_int32),
        ("lives", ctypes.c_int32),
        ("ends_without_lives", ctypes.c_int32),
        ("settle", ctypes.c_int32),
    ]


class _Setup(ctypes.Structure):
    """be_atari_setup."""

    _fields_ = [
        ("bytes", ctypes.c_uint64),
        ("cartridge", _Cartridge),
        ("observation", ctypes.c_int32),
        ("height", ctypes.c_int32),
        ("width", ctypes.c_int32),
        ("stack", ctypes.c_int32),
        ("num_actions", ctypes.c_int32),
        ("actions", ctypes.c_int32 * len(ACTIONS)),
        ("layout", ctypes.c_uint64),
        ("rewards", ctypes.c_void_p),
        ("lives", ctypes.c_void_p),
        ("step_lives", ctypes.c_void_p),
    ]


class _Given(NamedTuple):
    """What open() is given. source: be_atari_setup, and for more players the arrays that it points to. strings: those
    that it points to."""

    source: Any
    strings: list[bytes]


def library_path() -> Path:
    """libale_c of the installed multi-agent-ale-py.

    Raises:
        gymnasium.error.DependencyNotInstalled: there is none.
    """
    spec = importlib.util.find_spec("multi_agent_ale_py")
    for folder in (spec and spec.submodule_search_locations) or ():
        path = Path(folder) / "libale_c.so"
        if path.exists():
            return path
    raise DependencyNotInstalled(f"Atari games need libale_c of multi-agent-ale-py: {_MISSING}")


def rom_path(game: str) -> Path:
    """The ROM of a game: in the folder that the environment variable ALE_ROMS_DIR names, or else in ale-py's.

    Raises:
        gymnasium.error.DependencyNotInstalled: no ALE_ROMS_DIR and no ale-py.
        FileNotFoundError: the folder has no such ROM.
        ValueError: no such game, or the file is not the ROM that it should be.
    """
    known = games.about(game).md5
    folder = os.environ.get("ALE_ROMS_DIR")
    if not folder:
        spec = importlib.util.find_spec("ale_py")
        if spec is None or not spec.submodule_search_locations:
            raise DependencyNotInstalled(f"Atari games need the ROMs of ale-py: {_MISSING}")
        folder = os.path.join(spec.submodule_search_locations[0], "roms")
    path = Path(folder) / f"{game}.bin"
    if not path.exists():
        raise FileNotFoundError(f"there is no ROM {path}: {_MISSING}, or set ALE_ROMS_DIR to a folder that has it")
    md5 = hashlib.md5(path.read_bytes(), usedforsecurity=False).hexdigest()
    if md5 != known:
        raise ValueError(
            f"{path} is damaged or another version: its MD5 is {md5}, and the emulator knows {known}; "
            "pip install --force-reinstall ale-py"
        )
    return path


def minimal_actions(game: str) -> list[str]:
    """Names of the actions that mean something in a game for one player, in the order of the action space; [] where
    ale-py is not installed."""
    if importlib.util.find_spec("ale_py") is None:
        return []
    import ale_py

    ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
    emulator = ale_py.ALEInterface()
    emulator.loadROM(rom_path(game))
    return [action.name for action in emulator.getMinimalActionSet()]


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
        self._kept: list[bytes] = []
        self._setup = _Setup()
        self._board: Any = None
        self.transforms: dict[str, Any] = {}

    def to_core(self, keywords: dict[str, Any]) -> tuple[dict[str, Any], None]:
        """The C type's params that the user's keywords stand for; `transforms` is set.

        Raises:
            TypeError, ValueError: a wrong keyword or value.
            FileNotFoundError, gymnasium.error.DependencyNotInstalled: the emulator or the ROM is missing.
        """
        params = dict(keywords)
        values = {name: params.pop(name, default) for name, default, _ in self.KEYWORDS}
        game = games.about(values["game"])
        rom = rom_path(values["game"])
        if values["obs_type"] not in OBSERVATIONS:
            raise ValueError(f"obs_type={values['obs_type']!r} must be one of {', '.join(map(repr, OBSERVATIONS))}")
        numbers = {}
        for name, low, high in (
            ("mode", 0, 2**31 - 1),
            ("difficulty", 0, 2**31 - 1),
            ("img_height", 1, 256),
            ("img_width", 1, SCREEN_WIDTH),
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
        self._kept = [os.fsencode(library_path()), os.fsencode(rom)]
        cartridge = _Cartridge(
            *self._kept,
            -1 if mode is None else mode,
            -1 if numbers["difficulty"] is None else numbers["difficulty"],
            count,
            PALETTES.index(game.palette),
            alone.lives,
            alone.ends_without_lives,
            game.settle,
        )
        self._setup = _Setup(
            ctypes.sizeof(_Setup),
            cartridge,
            OBSERVATIONS.index(values["obs_type"]),
            numbers["img_height"] or 0,
            numbers["img_width"] or 0,
            numbers["stack_num"] or 0,
            len(actions),
            (ctypes.c_int32 * len(ACTIONS))(*actions),
            int.from_bytes(layout, "little"),
        )
        self.transforms = {"clip_reward": (-1, 1)} if flag("reward_clipping", values["reward_clipping"]) else {}
        return params, None

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
        count = self._values["players"]
        if count == 1:
            return _Given(bytes(self._setup), self._kept)
        columns = [("rewards", np.float64), ("lives", np.int32), ("step_lives", np.int32)]
        dtype = [("setup", np.uint8, ctypes.sizeof(_Setup)), *((*column, (num_envs, count)) for column in columns)]
        block = np.zeros(1, np.dtype(dtype, align=True))
        self._board = tuple(block[name][0] for name, _ in columns)
        for (name, _), array in zip(columns, self._board, strict=True):
            setattr(self._setup, name, array.ctypes.data)
        block["setup"][0] = np.frombuffer(self._setup, np.uint8)
        return _Given(block, self._kept)

    def _observation_bytes(self) -> int:
        values = self._values
        frame = (values["img_height"] or games.about(values["game"]).height) * (values["img_width"] or SCREEN_WIDTH)
        return (values["stack_num"] or 1) * {"grayscale": frame, "rgb": 3 * frame, "ram": 128}[values["obs_type"]]

    def wrap(self, batch: Any, transforms: dict[str, Any]) -> Any:
        """The batch, with actions, rewards and lives of all players where there are more than one."""
        count = self._values["players"]
        if count == 1:
            return batch
        scale, bounds = transforms.get("reward_scale", 1.0), transforms.get("clip_reward", (-np.inf, np.inf))
        return PlayersBatch(batch, count, self._board, scale, bounds)

    def render_modes(self, env_id: str) -> list[str]:
        """See `Translator.render_modes`."""
        return ["rgb_array"]

    def drawer(self, env_id: str, mode: str, action_shape: tuple[int, ...], batch: Any) -> AtariDrawer:
        """See `Translator.drawer`."""
        return AtariDrawer(self._values["game"], batch)

    def attribute(self, name: str, batch: Any) -> list[Any]:
        """A lane attribute: one value per lane."""
        lanes = len(batch.elapsed())
        if name == "game":
            return [self._values["game"]] * lanes
        return [list(ACTIONS)] * lanes


class AtariDrawer(Drawer):
    """Pictures of lanes: the screens as they are, in RGB."""

    def __init__(self, game: str, batch: Any):
        self._batch = batch
        about = games.about(game)
        self._height = about.height
        symbols = {"NTSC": "_ZN3ale11NTSCPaletteE", "PAL": "_ZN3ale10PALPaletteE"}
        table = (ctypes.c_uint32 * 256).in_dll(ctypes.CDLL(str(library_path())), symbols[about.palette])
        colours = np.array(table, np.uint32)
        self._palette = np.stack([colours >> 16, colours >> 8, colours], axis=1).astype(np.uint8)

    def draw(self, lanes: Iterable[int]) -> tuple[NDArray[np.uint8], ...]:
        """A frame per lane: uint8 (height, 160, 3)."""
        screens = self._batch.state()["screen"]
        size = self._height * SCREEN_WIDTH
        return tuple(self._palette[screens[i, :size]].reshape(self._height, SCREEN_WIDTH, 3) for i in lanes)
