"""Lists by which csrc/engines/physics finds the pairs of geoms that may touch, where most are far apart.

MuJoCo does so with trees of boxes and sorted bodies. Groups have boxes around clumps, which are geoms that move
together, and around blocks of a few geoms that never move: see physics.h and stages/broad.c.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

_FEWEST = 24  # pairs, for which this is worth it
_BLOCK = 8  # geoms
_TURNED = 1e-7  # quaternions may be so much longer or shorter than 1: boxes have more room
Ints = NDArray[np.integer[Any]]


def still(model: Any) -> NDArray[np.bool_]:
    """Which bodies nothing ever moves."""
    found = np.zeros(model.nbody, bool)
    for body in range(model.nbody):
        fixed = model.body_jntnum[body] == 0 and model.body_mocapid[body] < 0
        found[body] = body == 0 or (fixed and found[model.body_parentid[body]])
    return found


def lists(mujoco: Any, model: Any, found: Ints) -> dict[str, Any]:
    """The sizes and lists of physics.h, for the pairs of geoms `found`."""
    clumps = _clumps(mujoco, model)
    sides = np.sort(clumps[found], 1)  # -2: infinite, -1: still
    cells = (sides[:, 0] == -1) & (sides[:, 1] >= 0)
    meetings = sides[:, 0] >= 0
    if (cells | meetings).sum() < _FEWEST:
        cells, meetings = np.zeros((2, len(found)), bool)
    used = np.unique(sides[cells | meetings])
    used = used[used >= 0]
    sides = np.searchsorted(used, sides)
    geoms = [np.flatnonzero(clumps == clump) for clump in used]
    return {
        "body_still": still(model),
        "num_always": (~(cells | meetings)).sum(),
        "always_pairs": np.flatnonzero(~(cells | meetings)),
        "num_clumps": len(used),
        "clump_begin": np.cumsum([0, *map(len, geoms)]),
        "clump_geoms": np.concatenate([np.zeros(0, int), *geoms]),
        **_blocks(mujoco, model, found, np.flatnonzero(cells), sides[:, 1]),
        **_meetings(np.flatnonzero(meetings), sides),
    }


def _clumps(mujoco: Any, model: Any) -> Ints:
    """For each geom a number, which those have that are in the same tree of joints or on the same mocap body; or -1 if
    the geom never moves, or -2 if it is a plane."""
    bodies = np.where(model.body_treeid >= 0, model.body_treeid, model.nv + model.body_weldid)
    clumps = np.where(still(model), -1, bodies)[model.geom_bodyid]
    return np.where(model.geom_type == int(mujoco.mjtGeom.mjGEOM_PLANE), -2, clumps)


def _begins(*columns: Ints) -> Ints:
    """Where rows of sorted columns differ from those before, and their number at the end."""
    rows = np.column_stack(columns)
    return np.flatnonzero(np.append((rows != np.roll(rows, 1, 0)).any(1) | (np.arange(len(rows)) == 0), True))


def _blocks(mujoco: Any, model: Any, found: Ints, pairs: Ints, clumps: Ints) -> dict[str, Any]:
    fixed = still(model)[model.geom_bodyid[found[pairs]]]
    geoms = np.where(fixed[:, 0], found[pairs, 0], found[pairs, 1])
    places = _places(mujoco, model, np.unique(geoms))
    order = np.lexsort((pairs, places[geoms], clumps[pairs]))
    pairs, geoms, clump = pairs[order], geoms[order], clumps[pairs[order]]
    cells = _begins(clump, geoms)
    firsts = cells[:-1]
    blocks = _begins(clump[firsts], places[geoms[firsts]] // _BLOCK)
    return {
        "num_blocks": len(blocks) - 1,
        "block_clump": clump[firsts][blocks[:-1]],
        "block_begin": blocks,
        "cell_geom": geoms[firsts],
        "cell_begin": cells,
        "cell_pairs": pairs,
    }


def _places(mujoco: Any, model: Any, geoms: Ints) -> Ints:
    """For each geom a number, so that those of _BLOCK that follow each other from a multiple of it on are near each
    other; -1 for all but `geoms`."""
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    places = np.full(model.ngeom, -1)
    blocks, left = 0, [geoms] if len(geoms) else []
    while left:
        some = left.pop()
        if len(some) <= _BLOCK:
            places[some] = _BLOCK * blocks + np.arange(len(some))
            blocks += 1
            continue
        middles = np.nan_to_num(data.geom_xpos[some])
        some = some[np.argsort(middles[:, np.ptp(middles, 0).argmax()], kind="stable")]
        half = (len(some) // 2 + _BLOCK - 1) // _BLOCK * _BLOCK
        left += [some[half:], some[:half]]
    return places


def _meetings(pairs: Ints, sides: Ints) -> dict[str, Any]:
    order = np.lexsort((pairs, sides[pairs, 1], sides[pairs, 0]))
    pairs = pairs[order]
    begins = _begins(*sides[pairs].T)
    return {
        "num_meetings": len(begins) - 1,
        "meeting_clumps": sides[pairs[begins[:-1]]],
        "meeting_begin": begins,
        "meeting_pairs": pairs,
    }


def reach(model: Any, found: Ints, begin: NDArray[np.float64]) -> NDArray[np.float64]:
    """geom_reach of physics.h. begin: of each pair. Geoms whose axes are not 1 long may be anywhere."""
    reach = np.zeros(model.ngeom)
    for geoms in found.T:
        np.maximum.at(reach, geoms, np.maximum(begin, 0) / 2)
    turned = np.linalg.norm(model.geom_quat, axis=1), np.linalg.norm(model.body_iquat, axis=1)[model.geom_bodyid]
    straight = np.logical_and.reduce([np.abs(norm - 1) < _TURNED for norm in turned])
    return np.where(straight, reach, np.inf)


def digest(model: Any, geom_box: NDArray[np.float64], geom_reach: NDArray[np.float64]) -> list[int]:
    """still_digest of physics.h."""
    bodies = still(model)
    geoms = bodies[model.geom_bodyid]
    places = [getattr(model, f"body_{name}")[bodies] for name in ("pos", "quat", "ipos", "iquat")]
    of_geoms = model.geom_pos, model.geom_quat, model.geom_size, geom_box, geom_reach
    places += [values[geoms] for values in of_geoms]
    value = hashlib.blake2b(b"".join(values.tobytes() for values in places), digest_size=12).digest()
    return [int.from_bytes(value[k : k + 6], "little") for k in (0, 6)]
