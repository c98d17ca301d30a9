"""Terrain that becomes harder for robots that can walk on it."""

from __future__ import annotations

import re
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
    return -(0.04 + 0.16 * hard) * np.ceil(np.maximum(ring - _PLATFORM, 0) / _STEP)


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
# Those that are made of boxes instead.
_BOXES = ("box_stairs", "box_stairs_up")
TERRAINS = (*_HEIGHTS, *_BOXES)
_STEP = 0.35  # how deep a step of stairs is, m


def _box_stairs(tile: float, hard: float, up: bool) -> tuple[list[tuple[list[float], list[float]]], float]:
    """Boxes (middle, half sizes), from the middle of a tile, and how high the middle of the tile is."""
    rise, count = 0.04 + 0.16 * hard, int((tile / 2 - _PLATFORM) / _STEP)
    boxes = []
    for k in range(1, count + 1):
        height = k * rise / 2
        if not up:
            half = tile / 2 - k * _STEP
            boxes.append(([0, 0, height], [half, half, height]))
            continue
        inner = tile / 2 - (count - k + 1) * _STEP  # half the side of the square that these four surround
        middle = inner + _STEP / 2
        for side in (-middle, middle):
            boxes.append(([side, 0, height], [_STEP / 2, inner + _STEP, height]))
            boxes.append(([0, side, height], [inner, _STEP / 2, height]))
    return boxes, 0.0 if up else count * rise


def add_terrain(
    spec: Any, kinds: Sequence[str] = ("rough", "slope", "stairs", "stairs_up"), *, levels: int = 10, tile: float = 8.0,
    cell: float = 0.1, seed: int = 0, name: str = "terrain", **geom: Any,
) -> None:  # fmt: skip
    """Adds a terrain to a `mujoco.MjSpec`: square tiles, a row of them for each level, a column for each kind. Level 0
    is easy. The sites `terrain_LEVEL_KIND`, numbered from 0, are in the middle of each tile, on its surface. Episodes
    of `TerrainLevels` begin there.

    It is a height field, or a plane if all kinds are flat or made of boxes ("box_stairs", "box_stairs_up"). Boxes have
    sharp edges; a step takes the longer the more there are. To ask a contact sensor for all of it, name the body world.
    A height field ends where its outer tiles do: let episodes end where a robot falls off.

    Args:
        kinds: of TERRAINS: "slope", "stairs" and "box_stairs" lead down from the middle, those with "_up" lead up.
        levels: how many. tile: the side of a tile, m. cell: that of a cell of the height field, m.
        seed: of "rough" and "stones".
        name: of the height field and its geom; the names of sites and boxes begin with it.
        geom: attributes of the geoms, such as friction, condim and rgba.

    Raises:
        ValueError: a kind is unknown, or a number is out of its range.
    """
    for kind in kinds:
        if kind not in TERRAINS:
            raise ValueError(f"kinds: {kind!r} must be one of {', '.join(map(repr, TERRAINS))}")
    integer("levels", levels, 1, 1000)
    side = round(number("tile", tile) / number("cell", cell)) if cell > 0 else 0
    if not 4 <= side <= 2000 or not kinds:
        raise ValueError(f"tile={tile} and cell={cell}: a tile must have 4 to 2000 cells per side; kinds: at least one")
    mujoco, _ = library.load()
    hardness = [level / max(levels - 1, 1) for level in range(levels)]
    half = np.array([levels, len(kinds)]) * side * cell / 2
    middles = np.zeros((levels, len(kinds), 3))
    middles[:, :, 0] = ((np.arange(levels) + 0.5) * side * cell - half[0])[:, None]
    middles[:, :, 1] = (np.arange(len(kinds)) + 0.5) * side * cell - half[1]
    if set(kinds) <= {*_BOXES, "flat"}:
        spec.worldbody.add_geom(**geom, name=name, type=mujoco.mjtGeom.mjGEOM_PLANE, size=[*half, 1])
    else:
        heights = _heights(kinds, hardness, side, cell, seed)
        low, rise = heights.min(), max(np.ptp(heights), 1e-3)
        field = spec.add_hfield(name=name, size=[*half, rise, _BASE], nrow=len(heights), ncol=len(heights[0]))
        field.userdata = ((heights - low) / rise).astype(np.float32).ravel().tolist()
        at = {"pos": [0, 0, low], "hfieldname": name, "type": mujoco.mjtGeom.mjGEOM_HFIELD}
        spec.worldbody.add_geom(**geom, name=name, **at)
        middles[:, :, 2] = heights[side // 2 :: side, side // 2 :: side].T
    for level, kind in np.ndindex(levels, len(kinds)):
        x, y, z = middles[level, kind]
        if kinds[kind] in _BOXES:
            boxes, z = _box_stairs(side * cell, hardness[level], kinds[kind] == "box_stairs_up")
            for k, ((dx, dy, height), sizes) in enumerate(boxes):
                box = {"name": f"{name}_{level}_{kind}_box_{k}", "type": mujoco.mjtGeom.mjGEOM_BOX}
                spec.worldbody.add_geom(**geom, **box, pos=[x + dx, y + dy, height], size=sizes)
        spec.worldbody.add_site(name=f"{name}_{level}_{kind}", pos=[x, y, z])


def _heights(kinds: Sequence[str], hardness: Sequence[float], side: int, cell: float, seed: int) -> Floats:
    """Those of all cells of a height field, m: rows along y, columns along x."""
    rng, ring = np.random.default_rng(seed), _ring(side, cell)
    flat_middle = ring <= _PLATFORM
    rows = []
    for kind in kinds:
        parts = [_HEIGHTS.get(kind, _flat)(ring, hard, rng) for hard in hardness]
        rows.append(np.hstack([np.where(flat_middle, part[flat_middle].mean(), part) for part in parts]))
    return np.vstack(rows)


class TerrainLevels:
    """Where on the terrain of `add_terrain` each lane's episodes begin. A lane keeps its kind of terrain. Its next
    episode is a level higher if it has walked farther than half a tile, and a level lower if it has walked less than
    half as far as it was asked to. Beyond the last level it gets any one.

    Call `start` in the task's start, and `update` in its update. The model begins with a free joint. What a lane has
    reached outlasts its episodes: `robots.states` sees to that.

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
        found = {one: i for i, one in enumerate(names) if re.fullmatch(rf"{re.escape(name)}_\d+_\d+", one)}
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
        level[first] = (any_level * (self._most + 1) // self.levels)[first]
        kind[first] = (lanes.numbers % self.kinds)[first]
        lanes.qpos[:, :3] += self._origins[level, kind]
        walked[:] = asked[:] = 0

    def update(self, lanes: Lanes, speed: ArrayLike) -> None:
        """Notes how far lanes have walked. speed: the speed that they are asked for, m/s, (n,)."""
        level, kind, walked, asked = (getattr(lanes, f"{self._name}_{part}") for part in self._parts)
        x, y = (lanes.qpos[:, :2] - self._origins[level, kind, :2]).T
        walked[:] = np.sqrt(x * x + y * y)  # as mujoco_terrain.h does
        asked += np.asarray(speed) * lanes.dt

    _parts = ("level", "kind", "walked", "asked")
