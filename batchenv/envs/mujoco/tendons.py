"""Tendons, as csrc/engines/physics reads them: see physics.h there."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from batchenv.envs.mujoco.features import since, wraps


def fixed(mujoco: Any, model: Any) -> NDArray[np.bool_]:
    """Which tendons are fixed: the others are spatial."""
    return model.wrap_type[model.tendon_adr] == int(mujoco.mjtWrap.mjWRAP_JOINT)


def foreign(mujoco: Any, model: Any) -> tuple[str, ...]:
    """Fields that only mj_step computes: from mujoco 3.14 on, they have the forces of spatial tendons on bodies."""
    return ("cfrc_ext", "cfrc_int") if since(mujoco, 3, 14) and not fixed(mujoco, model).all() else ()


def coefs(mujoco: Any, model: Any) -> NDArray[np.float64]:
    """How far each degree of freedom of `ten_J_colind` moves its tendon if this is fixed, and 0 if it is not."""
    found = np.zeros(len(model.ten_J_colind))
    for i in np.flatnonzero(fixed(mujoco, model)).tolist():
        path = slice(model.tendon_adr[i], model.tendon_adr[i] + model.tendon_num[i])
        dofs = model.ten_J_colind[_entries(model, i)]
        places = np.searchsorted(dofs, model.jnt_dofadr[model.wrap_objid[path]])  # no joint is there twice
        found[model.ten_J_rowadr[i] + places] = model.wrap_prm[path]
    return found


def _entries(model: Any, i: int) -> slice:
    """Those of tendon i in `ten_J_colind`."""
    return slice(model.ten_J_rowadr[i], model.ten_J_rowadr[i] + model.ten_J_rownnz[i])


def have_neighbours(mujoco: Any, model: Any, chosen: NDArray[np.intp]) -> bool:
    """Whether each of these tendons moves some trees of joints, and they follow each other in the model."""
    moving, straight = coefs(mujoco, model) != 0, fixed(mujoco, model)
    for i in chosen.tolist():
        entries = _entries(model, i)
        moves = moving[entries] | ~straight[i]
        trees = np.unique(model.dof_treeid[model.ten_J_colind[entries][moves]])
        if len(trees) == 0 or trees[-1] - trees[0] != len(trees) - 1:
            return False
    return True


def numbers(mujoco: Any, model: Any) -> dict[str, Any]:
    """Numbers that are ours."""
    return {
        "spatial": not fixed(mujoco, model).all(),
        "wrap_side": np.where(wraps(mujoco, model), np.rint(model.wrap_prm), -1),
        "tendon_coefs": coefs(mujoco, model),
    }
