"""Terrain that becomes harder for robots that can walk on it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from batchenv.arguments.numbers import integer, number
from batchenv.envs.mujoco import library

if TYPE_CHECKING:
    from batchenv.envs.mujoco.vectorized.view import Lanes

Floats = NDArray[np.floating[Any]]
_BASE = 0.5  # how far a height field reaches down below its lowest point, m
_PLATFORM = 1.0  # half the side of the flat square in the middle of a tile, m


def _ring(side: int, cell: float) -> Floats:
    """How far each cell is from the middle of its tile, in m, measured along the axis where it is farther."""
    axis = np.abs(np.arange(side) - (side - 1) / 2) * cell
    return np.maximum(axis[:, None], axis)


def _flat(ring: Floats, hard: float, rng: np.random.Generator) -> Floats:
    return np.zeros_like(ring)


def _rough(ring: Floats, hard: float, rng: np.random.Generator) -> Floats:
    return 0.005 * rng.integers(0, round(4 + 20 * hard), ring.shape, endpoint=True)


def _slope(ring: Floats, hard: float, rng: np.random.Generator) -> Floats:
    return -(0.05 + 0.45 * hard) * np.maximum(ring - _PLATFORM, 0)


def _stairs(ring: Floats, hard: float, rng: np.random.Generator) -> Floats:
    return -(0.04 + 0.16 * hard) * np.ceil(np.maximum(ring - _PLATFORM, 0) / 0.35)


def _waves(ring: Floats, hard: float, rng: np.random.Generator) -> Floats:
    axis = np.linspace(0, 4 * np.pi, len(ring))
    return (0.02 + 0.13 * hard) * (np.sin(axis)[:, None] + np.cos(axis))


def _stones(ring: Floats, hard: float, rng: np.random.Generator) -> Floats:
    blocks = rng.uniform(-1, 1, (-(-len(ring) // 4), -(-len(ring) // 4))) * (0.03 + 0.17 * hard)
    return np.kron(blocks, np.ones((4, 4)))[: len(ring), : len(ring)]


# Heights (m) of the cells of a tile: functions of `_ring`, of how hard it is (0 to 1), and of random numbers.
_HEIGHTS: dict[str, Callable[[Floats, float, np.random.Generator], Floats]] = {
    "flat": _flat,
    "rough": _rough,
    "slope": _slope,
    "slope_up": lambda *given: -_slope(*given),
    "stairs": _stairs,
    "stairs_up": lambda *given: -_stairs(*given),
    "waves": _waves,
    "stones": _stones,
}
TERRAINS = tuple(_HEIGHTS)


def add_terrain(
    spec: Any, kinds: Sequence[str] = ("rough", "slope", "stairs", "stairs_up"), *, levels: int = 10, tile: float = 8.0,
    cell: float = 0.1, seed: int = 0, name: str = "terrain", **geom: Any,
) -> None:  # fmt: skip
    """Adds a height field to a `mujoco.MjSpec`: square tiles, a row of them for each level, a column for each kind.
    The sites `terrain_LEVEL_KIND`, numbered from 0, are in the middle of each tile, on its surface. Level 0 is easy.
    Episodes of `TerrainLevels` begin there.

    Args:
        kinds: of TERRAINS: "slope" and "stairs" lead down from the middle, "slope_up" and "stairs_up" lead up.
        levels: how many. tile: the side of a tile, m. cell: that of a cell of the height field, m.
        seed: of "rough" and "stones".
        name: of the height field and its geom; the sites' names begin with it.
        geom: attributes of the geom, such as friction, condim and rgba.

    Raises:
        ValueError: a kind is unknown, or a number is out of its range.
    """
    for kind in kinds:
        if kind not in _HEIGHTS:
            raise ValueError(f"kinds: {kind!r} must be one of {', '.join(map(repr, _HEIGHTS))}")
    integer("levels", levels, 1, 1000)
    side = round(number("tile", tile) / number("cell", cell)) if cell > 0 else 0
    if not 4 <= side <= 2000 or not kinds:
        raise ValueError(f"tile={tile} and cell={cell}: a tile must have 4 to 2000 cells per side; kinds: at least one")
    mujoco, _ = library.load()
    rng, ring = np.random.default_rng(seed), _ring(side, cell)
    flat_middle = ring <= _PLATFORM
    heights = np.zeros((len(kinds) * side, levels * side))
    for k, kind in enumerate(kinds):
        for level in range(levels):
            part = _HEIGHTS[kind](ring, level / max(levels - 1, 1), rng)
            part = np.where(flat_middle, part[flat_middle].mean(), part)
            heights[k * side : (k + 1) * side, level * side : (level + 1) * side] = part
    low, high = heights.min(), heights.max()
    size = [levels * side * cell / 2, len(kinds) * side * cell / 2, max(high - low, 1e-3), _BASE]
    field = spec.add_hfield(name=name, size=size, nrow=len(heights), ncol=len(heights[0]))
    field.userdata = ((heights - low) / max(high - low, 1e-3)).astype(np.float32).ravel().tolist()
    geom = {"name": name, "hfieldname": name, "pos": [0, 0, low], **geom}
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_HFIELD, **geom)
    middle = side // 2
    for k in range(len(kinds)):
        for level in range(levels):
            x, y = (level + 0.5) * side * cell - size[0], (k + 0.5) * side * cell - size[1]
            height = heights[k * side + middle, level * side + middle]
            spec.worldbody.add_site(name=f"{name}_{level}_{k}", pos=[x, y, height])


class TerrainLevels:
    """Where on the terrain of `add_terrain` each lane's episodes begin. A lane keeps its kind of terrain. Its next
    episode is a level higher if it has walked farther than half a tile, and a level lower if it has walked less than
    half as far as it was asked to. Beyond the last level it gets any one.

    Call `start` in the task's start, and `update` in its update. The model begins with a free joint. Add `kept` to the
    task's `keeps`, because what a lane has reached outlasts its episodes.

    Args:
        model: the task's model.
        most: the highest level at which lanes start at first.
        name: that of `add_terrain`; the states' names begin with it.

    Attributes:
        levels, kinds: how many the terrain has.
        kept: names of states that stay when an episode ends.
    """

    def __init__(self, model: Any, *, most: int = 0, name: str = "terrain"):
        mujoco, _ = library.load()
        names = [mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_SITE, i) or "" for i in range(model.nsite)]
        found = {one: i for i, one in enumerate(names) if one.startswith(f"{name}_")}
        pairs = [tuple(map(int, one.split("_")[-2:])) for one in found]
        if not pairs:
            raise ValueError(f"the model has no sites {name}_0_0 ...: build it with robots.add_terrain(name={name!r})")
        self.levels, self.kinds = (max(numbers) + 1 for numbers in zip(*pairs, strict=True))
        sites = [[found[f"{name}_{level}_{kind}"] for kind in range(self.kinds)] for level in range(self.levels)]
        self._origins = model.site_pos[np.array(sites)]
        places = self._origins[:2, 0, 0] if self.levels > 1 else self._origins[0, :2, 1]
        self._half = float(np.abs(np.diff(places))[0]) / 2 if len(places) > 1 else np.inf  # half a tile's side
        self._most = integer("most", most, 0, self.levels - 1)
        self._name = name
        self.state: dict[str, ArrayLike] = {
            f"{name}_level": -1,  # none yet
            f"{name}_kind": 0,
            f"{name}_walked": 0.0,  # m, in this episode
            f"{name}_asked": 0.0,
        }
        self.kept = tuple(self.state)

    def start(self, lanes: Lanes) -> None:
        """Moves lanes to where their episodes begin. Call it before anything adds to `lanes.qpos`."""
        level, kind, walked, asked = (getattr(lanes, f"{self._name}_{part}") for part in self._parts)
        first, any_level = level < 0, lanes.integers(0, self.levels)
        level += (walked > self._half).astype(int) - ((walked <= self._half) & (walked < 0.5 * asked)).astype(int)
        level[:] = np.where(level >= self.levels, any_level, np.maximum(level, 0))
        level[first] = np.minimum(any_level, self._most)[first]
        kind[first] = (lanes.numbers % self.kinds)[first]
        lanes.qpos[:, :3] += self._origins[level, kind]
        walked[:] = asked[:] = 0

    def update(self, lanes: Lanes, speed: ArrayLike) -> None:
        """Notes how far lanes have walked. speed: the speed that they are asked for, m/s, (n,)."""
        level, kind, walked, asked = (getattr(lanes, f"{self._name}_{part}") for part in self._parts)
        walked[:] = np.hypot(*(lanes.qpos[:, :2] - self._origins[level, kind, :2]).T)
        asked += np.asarray(speed) * lanes.dt

    _parts = ("level", "kind", "walked", "asked")
