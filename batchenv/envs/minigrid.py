"""Keywords, lane attributes and pictures of MiniGrid's and BabyAI's levels, whose rules are in C. The package minigrid
is not needed."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.error import DependencyNotInstalled
from numpy.typing import NDArray

from batchenv import _core
from batchenv.arguments.numbers import brief, integer
from batchenv.backend.protocol import Drawer
from batchenv.backend.translator import Pictures, Translator
from batchenv.registry import Family, add_family

# Keywords of minigrid's that are two numbers, and the params that have them; None is -1 twice.
PAIRS = {
    "agent_start_pos": ("agent_start_x", "agent_start_y"),
    "agent_pos": ("agent_x", "agent_y"),
    "goal_pos": ("goal_x", "goal_y"),
    "agent_room": ("agent_room_column", "agent_room_row"),
}
MEANINGS = {
    "agent_start_pos": "(column, row) where the agent starts; None: anywhere",
    "agent_pos": "(column, row) where the agent starts; None: anywhere",
    "goal_pos": "(column, row) of the goal; None: anywhere",
    "agent_room": "(column, row) of the room where the agent starts",
}
# BabyAI's keywords that are lists of words. In a param each word is a digit, the first word 1.
WORDS = {"action_kinds": ("goto", "pickup", "open", "putnext"), "instr_kinds": ("action", "and", "seq")}
MOST_WORDS = 9
SCREEN_SIZE = 640
DIRECTIONS = ((1, 0), (0, 1), (-1, 0), (0, -1))
# By the kinds of cells in csrc/include/minigrid.h: the number of the type, and of the state, that images have.
TYPES = np.array([0, 1, 2, 3, 4, 4, 4, 5, 6, 7, 8, 9, 0, 0, 0, 0], np.uint8)
STATES = np.array([0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0], np.uint8)
EMPTY, AGENT = 1, 10


for _name in ("MiniGrid", "BabyAI"):
    add_family(Family(_name, translators=__name__, default="MiniGrid"))


def encoded(cells: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """(..., 3): type, color and state of cells, as minigrid encodes them."""
    return np.stack([TYPES[cells & 15], cells >> 4 & 7, STATES[cells & 15]], axis=-1, dtype=np.uint8)


class MiniGrid(Translator):
    """A level of MiniGrid or BabyAI."""

    names = (
        "agent_pos", "agent_dir", "step_count", "carrying", "mission", "max_steps", "width", "height", "grid",
        "front_pos", "dir_vec",
    )  # fmt: skip

    def __init__(self) -> None:
        self._screen_size = SCREEN_SIZE
        self._observation = "dict"
        self._wide: tuple[str, ...] = ()

    def _params(self) -> dict[str, Any]:
        return {row["name"]: row for row in _core.type_info(self.type_name)["params"]}

    # They are only read, and of a translator, so that a property may be in place of the base's class variable.
    @property
    def KEYWORDS(self) -> list[tuple[str, Any, str]]:  # pyright: ignore[reportIncompatibleVariableOverride]
        """See `Translator`. They depend on the level."""
        params = self._params()
        pairs = []
        for name, columns in PAIRS.items():
            if columns[0] in params:
                default = tuple(params[column]["default"] for column in columns)
                pairs.append((name, None if min(default) < 0 else default, MEANINGS[name]))
        return [*pairs, ("screen_size", SCREEN_SIZE, "side of the window with render_mode='human', pixels")]

    def to_core(self, keywords):
        """See `Translator.to_core`. None of minigrid's becomes the number that stands for it."""
        params, known = dict(keywords), self._params()
        self._screen_size = integer("screen_size", params.pop("screen_size", SCREEN_SIZE), 1, 2**14)
        for name in PAIRS.keys() & params.keys():
            value = params.pop(name)
            pair = (-1, -1) if value is None else self._pair(name, value)
            params.update(zip(PAIRS[name], pair, strict=True))
        if params.get("max_steps", 0) is None:
            params["max_steps"] = 0
        for name in WORDS.keys() & params.keys() & known.keys():
            params[name] = self._digits(name, params[name])
        for name, value in params.items():
            choices = known.get(name, {}).get("choices", ())
            if value is None and "any" in choices:
                params[name] = "any"
            if isinstance(value, type) and known.get(name, {}).get("kind") == "choice":
                params[name] = value.__name__.lower()  # minigrid's classes of objects, such as Lava
        self._observation = params.get("observation", "dict")
        return params, None

    @staticmethod
    def _pair(name: str, value: Any) -> tuple[int, int]:
        if not isinstance(value, (tuple, list, np.ndarray)) or len(value) != 2:
            raise TypeError(f"{name}={brief(value)} must be None or a pair (column, row)")
        return integer(f"{name}[0]", value[0], 0, 2**20), integer(f"{name}[1]", value[1], 0, 2**20)

    @staticmethod
    def _digits(name: str, value: Any) -> Any:
        """Numbers are taken as they are: a spec has them."""
        if isinstance(value, (int, np.integer)):
            return value
        words = WORDS[name]
        if not isinstance(value, (tuple, list)) or not 0 < len(value) <= MOST_WORDS or not set(value) <= set(words):
            raise ValueError(
                f"{name}={brief(value)} must be a tuple or list of 1 to {MOST_WORDS} of the words {', '.join(words)}"
            )
        return int("".join(str(words.index(word) + 1) for word in value))

    def keywords(self):
        return {} if self._screen_size == SCREEN_SIZE else {"screen_size": self._screen_size}

    def observation_space(self, space):
        """See `Translator.observation_space`. The bounds of symbolic observations differ from value to value."""
        if self._observation != "symbolic":
            return space
        image = space["image"] if isinstance(space, spaces.Dict) else space
        assert isinstance(image, spaces.Box)
        width, height, _ = image.shape
        low, high = np.zeros(image.shape, np.int64), np.zeros(image.shape, np.int64)
        low[..., 2] = -1
        high[...] = width - 1, height - 1, AGENT
        image = spaces.Box(low, high, dtype=np.int64)
        return spaces.Dict({**space.spaces, "image": image}) if isinstance(space, spaces.Dict) else image

    # ---- lanes ---------------------------------------------------------------------------------------------------

    def attribute(self, name: str, batch: Any) -> list[Any]:
        """See `Translator.attribute`. "grid" is a `Grid`; "carrying" is None, or type, color and state as images have
        them."""
        state = batch.state()
        if name == "step_count":
            return batch.elapsed().tolist()
        if name == "mission":
            return list(batch.texts("mission", state["mission_code"]))
        if name == "agent_pos":
            return [tuple(place) for place in state["agent_pos"].tolist()]
        if name == "carrying":
            return [None if cell == EMPTY else tuple(encoded(cell).tolist()) for cell in state["carrying"][:, 0]]
        if name in ("dir_vec", "front_pos"):
            ahead = np.array(DIRECTIONS)[state["agent_dir"]]
            return list(ahead if name == "dir_vec" else state["agent_pos"] + ahead)
        if name in ("width", "height", "grid"):
            width, height, *_ = sizes = batch.constants()[:4].astype(int).tolist()
            grids = (Grid(cells_of(cells, *sizes)) for cells in state["cells"])
            return list(grids) if name == "grid" else [width if name == "width" else height] * len(state["cells"])
        return state[name].tolist()

    # ---- pictures ------------------------------------------------------------------------------------------------

    def render_modes(self, env_id):
        return ["human", "rgb_array"]

    def check_drawing(self, mode):
        """See `Translator.check_drawing`. Pictures need nothing, a window does."""
        if mode == "human" and importlib.util.find_spec("pygame") is None:
            raise DependencyNotInstalled(f"render_mode={mode!r} needs pygame: pip install 'batchenv[render]'")

    def drawer(self, env_id, mode, action_shape, batch):
        return Window(self, batch, self._screen_size) if mode == "human" else Pictures(batch)


def cells_of(cells: NDArray[np.uint8], width: int, height: int, stride: int, view: int) -> NDArray[np.uint8]:
    """(width, height): a lane's cells without the walls that lie around the grid. See csrc/envs/minigrid/grid.h."""
    begin = view - 1 + stride
    return cells[begin : begin + height * stride].reshape(height, stride)[:, :width].T


class Grid:
    """A lane's grid at one moment, as far as minigrid's Grid shows it.

    Attributes:
        width, height: cells.
    """

    def __init__(self, cells: NDArray[np.uint8]):
        self._codes = encoded(cells)
        self.width, self.height = cells.shape

    def encode(self) -> NDArray[np.uint8]:
        """(width, height, 3): type, color and state of each cell, without the agent."""
        return self._codes.copy()

    def get(self, i: int, j: int) -> tuple[int, int, int] | None:
        """Type, color and state in column i and row j; None: the cell is empty."""
        code = tuple(self._codes[i, j].tolist())
        return None if code[0] == EMPTY else code


class Window(Drawer):
    """A window with the picture of a lane, and its mission below."""

    FONT_SIZE = 22
    FRAMES_PER_SECOND = 10

    def __init__(self, translator: MiniGrid, batch: Any, side: int):
        self._translator, self._batch, self._side = translator, batch, side
        self._window: Any = None

    def draw(self, lanes: Iterable[int]) -> None:
        """Shows the lane."""
        import pygame
        import pygame.freetype

        if self._window is None:
            pygame.freetype.init()
            pygame.display.init()
            self._window = pygame.display.set_mode((self._side, self._side))
            pygame.display.set_caption("minigrid")
            self._clock = pygame.time.Clock()
        missions = self._translator.attribute("mission", self._batch)
        for lane in lanes:
            picture = pygame.surfarray.make_surface(self._batch.picture(lane).transpose(1, 0, 2))
            margin = picture.get_width() // 10
            sheet = pygame.Surface((picture.get_width() + margin, picture.get_height() + margin))
            sheet.fill("white")
            sheet.blit(picture, (margin // 2, 0))
            sheet = pygame.transform.smoothscale(sheet, (self._side, self._side))
            font = pygame.freetype.SysFont(pygame.font.get_default_font(), self.FONT_SIZE)
            place = font.get_rect(missions[lane])
            place.center = sheet.get_rect().center
            place.y = int(self._side - 1.5 * self.FONT_SIZE)
            font.render_to(sheet, place, missions[lane])
            self._window.blit(sheet, (0, 0))
            pygame.event.pump()
            self._clock.tick(self.FRAMES_PER_SECOND)
            pygame.display.flip()

    def close(self) -> None:
        """Closes the window."""
        if self._window is not None:
            import pygame

            pygame.display.quit()
            self._window = None
