"""Actuators, as csrc/engines/physics reads them, and which ones it knows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

_MINVAL = 1e-15  # mjMINVAL


def numbers(model: Any) -> dict[str, NDArray[Any]]:
    """Numbers of actuators that are ours, or that only some models need: see csrc/engines/physics/physics.h."""
    none, muscle = np.zeros(0), 2  # mjGAIN_MUSCLE and mjBIAS_MUSCLE
    states, muscles = model.na > 0, (model.actuator_gaintype == muscle) | (model.actuator_biastype == muscle)
    taus = np.maximum(_MINVAL, model.actuator_dynprm[:, 0]) if states else none
    # mju_exp is the C library's, as math.exp is; NumPy's may differ.
    decay = [1 - math.exp(-model.opt.timestep / tau) for tau in taus]
    return {
        "actuator_dynprm": model.actuator_dynprm if states else none,
        "actuator_decay": np.array(decay),
        "actuator_actrange": model.actuator_actrange if states else none,
        "actuator_lengthrange": model.actuator_lengthrange if muscles.any() else none,
        "actuator_acc0": model.actuator_acc0 if muscles.any() else none,
    }


def bad_states(mujoco: Any, model: Any) -> bool:
    """Whether some actuator has a state that is neither an integral, nor filtered, nor a muscle's activation."""
    dyn = mujoco.mjtDyn
    known = [dyn.mjDYN_NONE, dyn.mjDYN_INTEGRATOR, dyn.mjDYN_FILTER, dyn.mjDYN_FILTEREXACT, dyn.mjDYN_MUSCLE]
    single = (model.actuator_actnum <= 1).all() and model.na == model.actuator_actnum.sum()
    return not (single and np.isin(model.actuator_dyntype, [int(kind) for kind in known]).all())


def bad_forces(mujoco: Any, model: Any) -> bool:
    """Whether some actuator has a gain or a bias that is neither fixed, nor affine, nor a muscle's."""
    gain, bias = mujoco.mjtGain, mujoco.mjtBias
    gains = [int(kind) for kind in (gain.mjGAIN_FIXED, gain.mjGAIN_AFFINE, gain.mjGAIN_MUSCLE)]
    biases = [int(kind) for kind in (bias.mjBIAS_NONE, bias.mjBIAS_AFFINE, bias.mjBIAS_MUSCLE)]
    known = np.isin(model.actuator_gaintype, gains) & np.isin(model.actuator_biastype, biases)
    return not known.all()
