"""Springs, dampers and other passive forces, as csrc/engines/physics reads them: see physics.h there."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from batchenv.envs.mujoco.features import at_joints, disabled

_POLY = 2  # mjNPOLY
_NONE = np.zeros(0)


def numbers(mujoco: Any, model: Any) -> dict[str, Any]:
    """Numbers that are ours, or that disabled flags change."""
    no_springs, no_dampers = disabled(mujoco, model, "SPRING"), disabled(mujoco, model, "DAMPER")
    nothing = no_springs and no_dampers  # neither fluids nor gravity compensation
    linear = {name: getattr(model, name) * (not no_springs) for name in ("jnt_stiffness", "tendon_stiffness")}
    polys = {f"{name}poly": _poly(model, name) * (not no_springs) for name in linear}
    joints, tendons = _contributors(mujoco, model)
    for name, owners in (("dof_damping", joints), ("tendon_damping", tendons)):
        linear[name] = (getattr(model, name) + _sums(model, "actuator_damping", owners)) * (not no_dampers)
        poly = _sums(model, "actuator_dampingpoly", owners, _poly(model, name))
        polys[f"{name}poly"] = poly * (not no_dampers)
    arms = model.tendon_armature + _sums(model, "actuator_armature", tendons)
    order = ("jnt_stiffnesspoly", "dof_dampingpoly", "tendon_stiffnesspoly", "tendon_dampingpoly")
    has = [bool((polys[name] != 0).any()) for name in order]
    active = getattr(model, "jnt_actuatorid", np.full(model.njnt, -1))[model.dof_jntid] != -1
    damped = (linear["dof_damping"] > 0) | (polys["dof_dampingpoly"] != 0).any(1) | active
    return {
        **linear,
        **{name: polys[name] if there else _NONE for name, there in zip(order, has, strict=True)},
        "polynomials": sum(there << k for k, there in enumerate(has)),
        "dof_armature": model.dof_armature + _sums(model, "actuator_armature", joints),
        "tendon_armature": arms,
        "arms_tendons": bool((arms != 0).any()),
        "damps": bool(damped.any()) and not no_dampers and not disabled(mujoco, model, "EULERDAMP"),
        "opt_density": 0 if nothing else model.opt.density,
        "opt_viscosity": 0 if nothing else model.opt.viscosity,
        "gravcomp": not nothing and _compensates(mujoco, model),
    }


def _poly(model: Any, name: str) -> NDArray[np.float64]:
    """Coefficients of joints, degrees of freedom or tendons: a row each."""
    return getattr(model, f"{name}poly", np.zeros((len(getattr(model, name)), _POLY)))


def _contributors(mujoco: Any, model: Any) -> tuple[list[list[int]], list[list[int]]]:
    """The actuators that add damping and armature to each degree of freedom, and to each tendon, in order.

    MuJoCo notes for a joint or a tendon that there is none (-1), which one, or that all that move it count (-2).
    """
    tendons = model.actuator_trntype == int(mujoco.mjtTrn.mjTRN_TENDON)

    def of(name: str, chosen: NDArray[np.bool_], owner: int) -> list[int]:
        noted = int(getattr(model, name)[owner]) if hasattr(model, name) else -1
        if noted >= -1:
            return [] if noted == -1 else [noted]
        return np.flatnonzero(chosen & (model.actuator_trnid[:, 0] == owner)).tolist()

    at = at_joints(mujoco, model)
    joints = [of("jnt_actuatorid", at, joint) for joint in model.dof_jntid]
    return joints, [of("tendon_actuatorid", tendons, tendon) for tendon in range(model.ntendon)]


def _sums(model: Any, name: str, owners: list[list[int]], first: Any = 0.0) -> NDArray[np.float64]:
    """`first` and what actuators add to it, added up from left to right as MuJoCo does."""
    values: Any = getattr(model, name, None)  # of old versions, whose actuators have none and add nothing
    sums = np.zeros((len(owners), *np.shape(first)[1:])) + first
    for row, actuators in enumerate(owners):
        for i in actuators:
            gear = model.actuator_gear[i, 0]
            sums[row] += values[i] * (gear * gear)
    return sums


def _compensates(mujoco: Any, model: Any) -> bool:
    """Whether gravity compensation is computed."""
    possible = getattr(model, "flg_gravcomp", getattr(model, "ngravcomp", 0))
    return bool(possible and not disabled(mujoco, model, "GRAVITY") and mujoco.mju_norm3(model.opt.gravity) != 0)
