"""What the integrators implicit and implicitfast need of a model: see csrc/engines/physics/physics.h."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from batchenv.envs.mujoco.features import joints


def _lone_bodies(mujoco: Any, model: Any) -> NDArray[np.intp]:
    """Bodies with a free joint, alone in their tree. Before 3.14, no others with a mass may be fixed to them."""
    free = joints(mujoco, model, "FREE")
    bodies, trees = model.jnt_bodyid[free], model.dof_treeid[model.jnt_dofadr[free]]
    alone = model.tree_dofnum[trees] == 6
    if tuple(int(part) for part in mujoco.__version__.split(".")[:2]) < (3, 14):
        alone &= model.body_subtreemass[bodies] == model.body_mass[bodies]
    return bodies[alone]


def numbers(mujoco: Any, model: Any) -> dict[str, Any]:
    """{name in physics.h: number or array}."""
    fast = int(model.opt.integrator) == int(mujoco.mjtIntegrator.mjINT_IMPLICITFAST)
    lone = _lone_bodies(mujoco, model)[: None if fast else 0]
    sparsity = {f"D_{name}": getattr(model, f"M_{name}") if fast else [] for name in ("rownnz", "rowadr", "colind")}
    size = model.nC if fast else 0
    return {"num_lone": len(lone), "lone_bodies": lone, "nD": size, **sparsity, "mapD2M": np.arange(size)}
