"""The order in which MuJoCo's Newton solver computes with sparse matrices, where each row of constraints moves joints
of one chain only: then the Hessian and its factor have the sparsity of the joints' tree, in all lanes.

MuJoCo 4 computes with blocks of rows that follow each other, and continue each other's chain.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from batchenv.envs.mujoco.features import disabled, since

_MOST_AUTO = 60  # degrees of freedom, from which on matrices are sparse where the model does not say
_LEAF, _BLOCK = 4, 3  # the most rows of a block, where joints end and elsewhere


def is_sparse(mujoco: Any, model: Any) -> bool:
    """Whether MuJoCo's solver uses sparse matrices (mj_isSparse)."""
    kinds, chosen = mujoco.mjtJacobian, int(model.opt.jacobian)
    return chosen == int(kinds.mjJAC_SPARSE) or (chosen == int(kinds.mjJAC_AUTO) and model.nv >= _MOST_AUTO)


def is_known(mujoco: Any, model: Any) -> bool:
    """Whether csrc/engines/physics can solve the model with sparse matrices, at least where joints of one chain move.

    All joints that a joint moves have to follow it. MuJoCo leaves out what is 0 in the inertia of a body that is alone,
    and this has to come back with each contact.
    """
    sizes = np.ones(model.nv, int)
    for dof in range(model.nv - 1, -1, -1):
        if model.dof_parentid[dof] >= 0:
            sizes[model.dof_parentid[dof]] += sizes[dof]
    together = (_ends(model) - np.arange(model.nv) == sizes).all()
    simple = np.flatnonzero(model.dof_simplenum)
    bound = (model.jnt_limited[model.dof_jntid[simple]] != 0) | (model.dof_frictionloss[simple] > 0)
    tendons = bool(((model.tendon_limited != 0) | (model.tendon_frictionloss > 0)).any())
    elliptic = int(model.opt.cone) == int(mujoco.mjtCone.mjCONE_ELLIPTIC)
    equal = model.eq_active0.any() and not disabled(mujoco, model, "CONSTRAINT", "EQUALITY")
    newton = int(model.opt.solver) == int(mujoco.mjtSolver.mjSOL_NEWTON)
    return bool(newton and together and not (bound.any() or tendons or elliptic or equal))


def _ends(model: Any) -> NDArray[np.intp]:
    """For each degree of freedom, where those end that it moves, which begin with itself."""
    ends = np.arange(1, model.nv + 1)
    for dof in range(model.nv - 1, -1, -1):
        parent = model.dof_parentid[dof]
        if parent >= 0:
            ends[parent] = max(ends[parent], ends[dof])
    return ends


def _blocks(continues: NDArray[np.bool_], order: range, most: list[int]) -> NDArray[np.intp]:
    """For each row, the row at which its block begins. continues: whether each row continues the one before.

    order: that of the rows. most: rows of a block that begins with a row.
    """
    begins = np.arange(len(continues))
    first, count = -1, 0
    for row in order:
        after = row if order.step > 0 else row + 1  # of this row and the one before it in `order`
        if first >= 0 and count < most[first] and continues[after]:
            count += 1
        else:
            first, count = row, 1
        begins[row] = first
    return begins


def numbers(mujoco: Any, model: Any, solves: bool) -> dict[str, Any]:
    """What csrc/engines/physics/physics.h says of L. solves: whether groups solve constraints."""
    names = ("L_rownnz", "L_rowadr", "L_colind", "L_end", "L_top", "L_first", "L_cost")
    if not (solves and is_sparse(mujoco, model)):
        return {"sparse": 0, "nL": 0, **dict.fromkeys(names, np.zeros(0, np.int32))}
    parents, ends, rows = model.dof_parentid, _ends(model), np.arange(model.nv)
    paths: list[list[int]] = []
    for dof, parent in enumerate(parents.tolist()):
        paths.append([*(paths[parent] if parent >= 0 else []), dof])
    lengths = np.array([len(path) for path in paths])
    top = first = rows
    if since(mujoco, 4, 0):
        follows = np.append(False, parents[1:] == rows[:-1])
        alone = follows & np.append(False, ends[1:] == ends[:-1])
        most = [_LEAF if ends[row] == row + 1 else _BLOCK for row in rows]
        top = _blocks(alone, range(model.nv - 1, -1, -1), most)
        first = _blocks(follows, range(model.nv), [_BLOCK] * model.nv)
    values = (
        lengths,
        np.cumsum(lengths) - lengths,
        np.concatenate(paths),
        ends,
        top,
        first,
        [lengths[path].sum() for path in paths],
    )
    return {"sparse": 1, "nL": lengths.sum(), **dict(zip(names, values, strict=True))}
