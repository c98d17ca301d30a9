"""Pairs of geoms that MuJoCo looks at wherever they touch.

To save time, MuJoCo leaves out pairs that are too far apart by bounds which its compiler has computed: a sphere and a
box around each geom, the largest margin of each body's geoms, and a tree of boxes around the geoms of a body that has
several. Users who change a size, a margin or a place in a model leave these bounds as they are (mj_setConst computes
some of them anew, which depends on the version), and then MuJoCo overlooks contacts. csrc/engines/physics knows no such
bounds: it may look only at pairs of which they leave out no contact.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from batchenv.envs.mujoco.features import one_of

_ROUNDED = 1e-6
_CLOSE = 1e-9  # by so much a tree's boxes may be too small: they are rounded


def tests(
    mujoco: Any, model: Any, found: NDArray[np.int32], explicit: NDArray[np.bool_], compiled: Any
) -> dict[str, NDArray[np.bool_]]:
    """For each pair of geoms in `found` (pairs, 2): whether bounds leave out no contact. {names of the fields that may
    be the reason if they do: bool}. This holds for pairs of spheres, capsules, cylinders, boxes and planes.

    explicit: which have a <pair>: MuJoCo compares only the spheres of their geoms.
    compiled: the model that the compiler made, of which `model` is a changed copy; None: the model is the compiler's.
    """
    bodies = model.geom_bodyid[found]
    # Without trees, MuJoCo compares the two geoms, with their own margins.
    tree = (model.body_geomnum[bodies] > 1).any(1) & ~explicit
    wide = model.geom_margin[found].sum(1) <= model.body_margin[bodies].sum(1)
    return {
        "geom_size": np.asarray(_bounded(mujoco, model)[found].all(1)),
        "geom_margin": wide | ~tree,
        "body_ipos or body_iquat": np.asarray(_trees_fit(mujoco, model, compiled)[bodies].all(1) | ~tree),
    }


def _bounded(mujoco: Any, model: Any) -> NDArray[np.bool_]:
    """Whether each geom is in the sphere and the box that MuJoCo thinks it is in."""
    names = ("PLANE", "CAPSULE", "CYLINDER", "BOX", "ELLIPSOID")
    plane, capsule, cylinder, box, ellipsoid = (_of_type(mujoco, model, name) for name in names)
    radius, half = model.geom_size[:, 0], model.geom_size[:, 1]
    corner, longest = np.linalg.norm(model.geom_size, axis=1), model.geom_size.max(1)
    spheres = [radius + half, np.hypot(radius, half), corner, longest]
    sphere = np.select([capsule, cylinder, box, ellipsoid], spheres, radius)
    inside = (_reaches(mujoco, model) <= model.geom_aabb[:, 3:] * (1 + 1e-12)).all(1)
    return plane | (inside & (sphere <= model.geom_rbound * (1 + 1e-12)))


def _of_type(mujoco: Any, model: Any, *names: str) -> NDArray[np.bool_]:
    return one_of(model.geom_type, [int(getattr(mujoco.mjtGeom, f"mjGEOM_{name}")) for name in names])


def _reaches(mujoco: Any, model: Any) -> NDArray[np.float64]:
    """How far each geom reaches from the middle of its aabb, by its geom_size, in its three axes; 0 for geoms whose
    shape is elsewhere: (geoms, 3)."""
    radius, half = model.geom_size[:, 0], model.geom_size[:, 1]
    long = [_of_type(mujoco, model, "CAPSULE"), _of_type(mujoco, model, "CYLINDER")]
    round_ones = np.column_stack([radius, radius, np.select(long, [radius + half, half], radius)])
    sizes = np.where(_of_type(mujoco, model, "BOX", "ELLIPSOID")[:, None], model.geom_size, round_ones)
    solid = _of_type(mujoco, model, "SPHERE", "CAPSULE", "CYLINDER", "BOX", "ELLIPSOID")
    return np.where(solid[:, None], np.abs(model.geom_aabb[:, :3]) + sizes, 0)


def boxes(mujoco: Any, model: Any) -> NDArray[np.float64]:
    """A box around each geom but planes, in its own axes, even if its size was changed: the middle and half of the
    sizes, as in geom_aabb, and a little larger than the geom, because shapes of meshes are rounded."""
    half = np.maximum(model.geom_aabb[:, 3:], _reaches(mujoco, model)) * (1 + _ROUNDED) + _ROUNDED
    boxes = np.column_stack([model.geom_aabb[:, :3], half])
    return np.where(_of_type(mujoco, model, "PLANE")[:, None], 0, boxes)


def _trees_fit(mujoco: Any, model: Any, compiled: Any) -> NDArray[np.bool_]:
    """Whether the geoms of each body are in the boxes of the body's tree."""
    fits = np.ones(model.nbody, bool)
    if compiled is None:
        return fits
    changed = np.zeros(model.nbody, bool)
    for names, bodies in (
        (("body_ipos", "body_iquat", "body_sameframe"), np.arange(model.nbody)),
        (("geom_aabb", "geom_sameframe"), model.geom_bodyid),
        (("bvh_aabb",), np.repeat(np.arange(model.nbody), model.body_bvhnum)),
    ):
        for name in names if len(bodies) else ():
            differs = (getattr(model, name) != getattr(compiled, name))[: len(bodies)].reshape(len(bodies), -1).any(1)
            changed[bodies[differs]] = True
    bodies = np.flatnonzero(changed & (model.body_geomnum > 1))
    if len(bodies):
        data = mujoco.MjData(model)
        mujoco.mj_kinematics(model, data)
        fits[bodies] = [_tree_fits(model, data, int(body)) for body in bodies]
    return fits


def _tree_fits(model: Any, data: Any, body: int) -> bool:
    first, count = int(model.body_bvhadr[body]), int(model.body_bvhnum[body])
    boxes = model.bvh_aabb[first : first + count]
    low, high = boxes[:, :3] - boxes[:, 3:] - _CLOSE, boxes[:, :3] + boxes[:, 3:] + _CLOSE
    axes = data.ximat[body].reshape(3, 3)
    if np.abs(axes @ axes.T - np.eye(3)).max() > _CLOSE:  # of a quaternion that is no rotation
        return False
    for node in range(count):
        for child in model.bvh_child[first + node]:
            if child >= 0 and ((low[child] < low[node] - _CLOSE) | (high[child] > high[node] + _CLOSE)).any():
                return False
        geom = model.bvh_nodeid[first + node]
        if geom < 0:
            continue
        own = data.geom_xmat[geom].reshape(3, 3)
        middle = axes.T @ (data.geom_xpos[geom] + own @ model.geom_aabb[geom, :3] - data.xipos[body])
        half = np.abs(axes.T @ own) @ model.geom_aabb[geom, 3:]
        if ((middle - half < low[node]) | (middle + half > high[node])).any():
            return False
    return True
