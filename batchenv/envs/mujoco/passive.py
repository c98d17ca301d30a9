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
    for place, name in enumerate(("dof_damping", "tendon_damping")):
        ids, add = _of_actuators(mujoco, model, "actuator_damping", place)
        linear[name] = (getattr(model, name) + add[ids]) * (not no_dampers)
        more = np.column_stack(
            [_of_actuators(mujoco, model, "actuator_dampingpoly", place, k)[1] for k in range(_POLY)]
        )
        polys[f"{name}poly"] = (_poly(model, name) + more[ids]) * (not no_dampers)
    ids, armature = _of_actuators(mujoco, model, "actuator_armature", 0)
    arms = model.tendon_armature + _of_actuators(mujoco, model, "actuator_armature", 1)[1]
    order = ("jnt_stiffnesspoly", "dof_dampingpoly", "tendon_stiffnesspoly", "tendon_dampingpoly")
    has = [bool((polys[name] != 0).any()) for name in order]
    active = getattr(model, "jnt_actuatorid", np.full(model.njnt, -1))[model.dof_jntid] != -1
    damped = (linear["dof_damping"] > 0) | (polys["dof_dampingpoly"] != 0).any(1) | active
    return {
        **linear,
        **{name: polys[name] if there else _NONE for name, there in zip(order, has, strict=True)},
        "polynomials": sum(there << k for k, there in enumerate(has)),
        "dof_armature": model.dof_armature + armature[ids],
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


def _of_actuators(mujoco: Any, model: Any, name: str, place: int, column: int | None = None) -> tuple[Any, Any]:
    """The joint of each degree of freedom, or (`place` 1) each tendon; and what actuators add to each of these."""
    tendons = model.actuator_trntype == int(mujoco.mjtTrn.mjTRN_TENDON)
    chosen = tendons if place else at_joints(mujoco, model)
    sums = np.zeros(model.ntendon if place else model.njnt)
    values = getattr(model, name, np.zeros((model.nu, _POLY)[: 1 if column is None else 2]))
    for i in np.flatnonzero(chosen):
        gear = model.actuator_gear[i, 0]
        sums[model.actuator_trnid[i, 0]] += (values[i] if column is None else values[i, column]) * (gear * gear)
    return np.arange(model.ntendon) if place else model.dof_jntid, sums


def _compensates(mujoco: Any, model: Any) -> bool:
    """Whether gravity compensation is computed."""
    possible = getattr(model, "flg_gravcomp", getattr(model, "ngravcomp", 0))
    return bool(possible and not disabled(mujoco, model, "GRAVITY") and mujoco.mju_norm3(model.opt.gravity) != 0)
