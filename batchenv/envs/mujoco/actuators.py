"""Actuators, as csrc/engines/physics reads them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from batchenv.envs.mujoco.constraints import MINVAL
from batchenv.envs.mujoco.features import at_joints, disabled, joints, servos


def numbers(mujoco: Any, model: Any) -> dict[str, Any]:
    """Numbers of actuators that are ours, or that only some models need: see csrc/engines/physics/physics.h."""
    none, muscle = np.zeros(0), 2  # mjGAIN_MUSCLE and mjBIAS_MUSCLE
    states, muscles = model.na > 0, (model.actuator_gaintype == muscle) | (model.actuator_biastype == muscle)
    taus = np.maximum(MINVAL, model.actuator_dynprm[:, 0]) if states else none
    at_tendons = model.actuator_trnid[model.actuator_trntype == int(mujoco.mjtTrn.mjTRN_TENDON), 0]
    limits = bool((model.tendon_actfrclimited[at_tendons] != 0).any())
    groups = np.where((model.actuator_group < 0) | (model.actuator_group > 30), 31, model.actuator_group)
    left_out = np.array([(model.opt.disableactuator & 0x7FFFFFFF) >> int(group) & 1 for group in groups])
    acts, transmissions = not disabled(mujoco, model, "ACTUATION"), _transmissions(mujoco, model)
    special = states or limits or bool(muscles.any() or left_out.any() or transmissions["num_moments"])
    return {
        "acts": acts,
        "acts_plainly": acts and not special,
        "actuator_disabled": left_out,
        "actuator_ctrllimited": model.actuator_ctrllimited * (not disabled(mujoco, model, "CLAMPCTRL")),
        "actuator_dynprm": model.actuator_dynprm if states else none,
        # mju_exp is the C library's, as math.exp is; NumPy's may differ.
        "actuator_decay": np.array([1 - math.exp(-model.opt.timestep / tau) for tau in taus]),
        "actuator_actrange": model.actuator_actrange if states else none,
        "actuator_lengthrange": model.actuator_lengthrange if muscles.any() else none,
        "actuator_acc0": model.actuator_acc0 if muscles.any() else none,
        "limits_tendons": limits,
        "tendon_actfrcrange": model.tendon_actfrcrange if limits else none,
        **transmissions,
    }


def _transmissions(mujoco: Any, model: Any) -> dict[str, Any]:
    sited = model.actuator_trntype == int(mujoco.mjtTrn.mjTRN_SITE)
    jointed = at_joints(mujoco, model)
    balls = joints(mujoco, model, "BALL")[np.where(jointed, model.actuator_trnid[:, 0], 0)] & jointed
    free = joints(mujoco, model, "FREE")[np.where(jointed, model.actuator_trnid[:, 0], 0)] & jointed
    apart = sited & (model.actuator_trnid[:, 1] >= 0)
    has_moment = sited | balls | free | (model.actuator_trntype == int(mujoco.mjtTrn.mjTRN_SLIDERCRANK))
    wraps = servos(mujoco, model, "NONE", "INTEGRATOR") & (balls | apart)
    gears = model.actuator_gear
    turns = np.where(balls, True, ~gears[:, :3].any(1))
    same = model.actuator_gainprm[:, 0] == -model.actuator_biasprm[:, 1]
    periods = [
        2 * math.pi * mujoco.mju_norm3(gear[:3] if ball else gear[3:]) for gear, ball in zip(gears, balls, strict=True)
    ]
    return {
        "num_moments": has_moment.sum(),
        "actuator_moment": np.where(has_moment, np.cumsum(has_moment) - 1, -1),
        "actuator_common": [
            _common(model, *ids) if two else -1 for ids, two in zip(model.actuator_trnid, apart, strict=True)
        ],
        "actuator_wraps": wraps,
        "actuator_period": np.where(wraps & turns & same, periods, 0) if wraps.any() else np.zeros(0),
    }


def _common(model: Any, first: int, second: int) -> int:
    """The last degree of freedom that moves both sites, or -1."""
    bodies = model.body_weldid[model.site_bodyid[[first, second]]]
    one, other = (int(dof) for dof in (model.body_dofadr + model.body_dofnum - 1)[bodies])
    while one != other and min(one, other) >= 0:
        if one < other:
            other = int(model.dof_parentid[other])
        else:
            one = int(model.dof_parentid[one])
    return one if one == other >= 0 else -1
