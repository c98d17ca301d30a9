"""What the integrators implicit and implicitfast need of a model: see csrc/engines/physics/physics.h."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from batchenv.envs.mujoco import tendons
from batchenv.envs.mujoco.features import at_joints, has_fluid, joints, since


def _lone_bodies(mujoco: Any, model: Any) -> NDArray[np.intp]:
    """Bodies with a free joint, alone in their tree. Before 3.14, no others with a mass may be fixed to them."""
    free = joints(mujoco, model, "FREE")
    bodies, trees = model.jnt_bodyid[free], model.dof_treeid[model.jnt_dofadr[free]]
    alone = model.tree_dofnum[trees] == 6
    if not since(mujoco, 3, 14):
        alone &= model.body_subtreemass[bodies] == model.body_mass[bodies]
    return bodies[alone]


def _above(model: Any) -> NDArray[np.intp]:
    """B_above of physics.h."""
    above = np.full(model.nB, -1)
    for body in range(1, model.nbody):
        parent = model.body_parentid[body]
        if model.body_weldid[parent] != 0:
            mine, theirs = (slice(model.B_rowadr[i], model.B_rowadr[i] + model.B_rownnz[i]) for i in (body, parent))
            above[mine] = theirs.start + np.searchsorted(model.B_colind[theirs], model.B_colind[mine])
    return above


def _derives_all(mujoco: Any, model: Any) -> bool:
    """Whether forces on a free body may depend on its velocities in another way than the entries of M tell."""
    jointed = at_joints(mujoco, model)
    simple = jointed & joints(mujoco, model, "SLIDE", "HINGE")[np.where(jointed, model.actuator_trnid[:, 0], 0)]
    simple |= model.actuator_trntype == int(mujoco.mjtTrn.mjTRN_TENDON)
    simple |= (model.actuator_gaintype == 0) & (model.actuator_biastype == 0)  # fixed, and none
    return has_fluid(model) or not (simple.all() and tendons.fixed(mujoco, model).all())


def numbers(mujoco: Any, model: Any) -> dict[str, Any]:
    """{name in physics.h: number or array}."""
    kinds = mujoco.mjtIntegrator
    whole = int(model.opt.integrator) == int(kinds.mjINT_IMPLICIT)
    fast = int(model.opt.integrator) == int(kinds.mjINT_IMPLICITFAST)
    lone = _lone_bodies(mujoco, model)[: None if fast else 0]
    every = whole or (len(lone) > 0 and _derives_all(mujoco, model))  # entries, not only those that M has
    some = fast and not every
    found: dict[str, Any] = {
        "num_lone": len(lone),
        "lone_bodies": lone,
        "nD": model.nD if every else model.nC * some,
        "mapD2M": model.mapD2M if every else np.arange(model.nC * some),
        "nB": model.nB * whole,
        "B_above": _above(model)[: None if whole else 0],
    }
    for name in ("rownnz", "rowadr", "colind"):
        found[f"D_{name}"] = getattr(model, f"D_{name}" if every else f"M_{name}")[: None if every or some else 0]
        found[f"B_{name}"] = getattr(model, f"B_{name}")[: None if whole else 0]
    return {**found, **{name: getattr(model, name)[: None if whole else 0] for name in ("D_diag", "mapM2D")}}
