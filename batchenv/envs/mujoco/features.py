"""Features of models with which lanes cannot be stepped together, and pairs of geoms that may touch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from batchenv.envs.mujoco.carried_arrays import lags

_MOST_PAIRS = 16_000  # of geoms that may touch: each takes memory
_AT_A_TIME = 200_000  # pairs that `pairs` looks at, so that it needs little memory also for thousands of geoms

Test = Callable[[Any, Any], bool]  # of the mujoco module and a model


def _any(*names: str) -> Test:
    """Whether one of these fields, where the model has it, has a number that is not 0."""
    return lambda mujoco, model: any(np.any(np.asarray(getattr(model, name, 0)) != 0) for name in names)


def disabled(mujoco: Any, model: Any, *names: str) -> bool:
    """Whether one of these flags, as "GRAVITY", is among those that are disabled."""
    flags = mujoco.mjtDisableBit
    return any(model.opt.disableflags & int(getattr(flags, f"mjDSBL_{name}", 0)) for name in names)


def one_of(values: NDArray[Any], few: Any) -> NDArray[np.bool_]:
    """Which values are among a few. (np.isin takes several times as long for so few.)"""
    return (np.asarray(values)[..., None] == np.asarray(few)).any(-1)


def joints(mujoco: Any, model: Any, *names: str) -> NDArray[np.bool_]:
    """Which joints are of one of these types, such as BALL."""
    return one_of(model.jnt_type, [int(getattr(mujoco.mjtJoint, f"mjJNT_{name}")) for name in names])


def at_joints(mujoco: Any, model: Any) -> NDArray[np.bool_]:
    """Which actuators are at joints."""
    kinds = mujoco.mjtTrn
    return one_of(model.actuator_trntype, [int(kinds.mjTRN_JOINT), int(kinds.mjTRN_JOINTINPARENT)])


def _misplaced(mujoco: Any, model: Any) -> bool:
    """Whether some actuator is not at a joint, at a tendon, at a site or at a slider-crank."""
    kinds = mujoco.mjtTrn
    single = getattr(model, "nactuator", model.nu) == model.nu == getattr(model, "nout", model.nu)
    others = [int(kinds.mjTRN_TENDON), int(kinds.mjTRN_SITE), int(kinds.mjTRN_SLIDERCRANK)]
    elsewhere = one_of(model.actuator_trntype, others)
    return not single or not (at_joints(mujoco, model) | elsewhere).all()


def _bad_states(mujoco: Any, model: Any) -> bool:
    """Whether some actuator has a state that is neither an integral, nor filtered, nor a muscle's activation."""
    dyn = mujoco.mjtDyn
    known = [dyn.mjDYN_NONE, dyn.mjDYN_INTEGRATOR, dyn.mjDYN_FILTER, dyn.mjDYN_FILTEREXACT, dyn.mjDYN_MUSCLE]
    single = (model.actuator_actnum <= 1).all() and model.na == model.actuator_actnum.sum()
    return not (single and one_of(model.actuator_dyntype, [int(kind) for kind in known]).all())


def _bad_forces(mujoco: Any, model: Any) -> bool:
    """Whether some actuator has a gain or a bias that is neither fixed, nor affine, nor a muscle's."""
    gain, bias = mujoco.mjtGain, mujoco.mjtBias
    gains = [int(kind) for kind in (gain.mjGAIN_FIXED, gain.mjGAIN_AFFINE, gain.mjGAIN_MUSCLE)]
    biases = [int(kind) for kind in (bias.mjBIAS_NONE, bias.mjBIAS_AFFINE, bias.mjBIAS_MUSCLE)]
    known = one_of(model.actuator_gaintype, gains) & one_of(model.actuator_biastype, biases)
    return not known.all()


def version_of(mujoco: Any) -> tuple[int, ...]:
    """Major and minor."""
    return tuple(int(part) for part in mujoco.__version__.split(".")[:2])


def since(mujoco: Any, *version: int) -> bool:
    """Whether mujoco is of this major and minor version, or newer."""
    return version_of(mujoco) >= version


def wraps(mujoco: Any, model: Any) -> NDArray[np.bool_]:
    """At which places in their paths tendons wrap around geoms."""
    return one_of(model.wrap_type, [int(mujoco.mjtWrap.mjWRAP_SPHERE), int(mujoco.mjtWrap.mjWRAP_CYLINDER)])


def _bad_tendons(mujoco: Any, model: Any) -> bool:
    return bool(wraps(mujoco, model).any()) and not since(mujoco, 3, 16)


def servos(mujoco: Any, model: Any, *states: str) -> NDArray[np.bool_]:
    """Which actuators may be servos, whose inputs are setpoints, with states of these types, such as NONE."""
    fixed = model.actuator_gaintype == int(mujoco.mjtGain.mjGAIN_FIXED)
    affine = model.actuator_biastype == int(mujoco.mjtBias.mjBIAS_AFFINE)
    types = [int(getattr(mujoco.mjtDyn, f"mjDYN_{name}")) for name in states]
    return fixed & affine & one_of(model.actuator_dyntype, types)


def _turning(mujoco: Any, model: Any) -> NDArray[np.bool_]:
    """Which actuators have setpoints that may be angles: those at ball joints, or between sites."""
    turning = at_joints(mujoco, model)
    turning[turning] = joints(mujoco, model, "BALL")[model.actuator_trnid[turning, 0]]
    sited = (model.actuator_trntype == int(mujoco.mjtTrn.mjTRN_SITE)) & (model.actuator_trnid[:, 1] >= 0)
    return turning | sited


def _turning_setpoints(mujoco: Any, model: Any) -> bool:
    """Whether RK4 integrates setpoints that may be angles."""
    integrates = model.actuator_dyntype == int(mujoco.mjtDyn.mjDYN_INTEGRATOR)
    return int(model.opt.integrator) == 1 and bool((integrates & _turning(mujoco, model)).any())


def _filtered_angles(mujoco: Any, model: Any) -> bool:
    """Whether a servo filters a setpoint that may be an angle: mujoco 4 takes the nearest one here, too."""
    return bool((servos(mujoco, model, "FILTER", "FILTEREXACT") & _turning(mujoco, model)).any())


def has_fluid(model: Any) -> bool:
    return bool(model.opt.density != 0 or model.opt.viscosity != 0)


def _bad_fluid(mujoco: Any, model: Any) -> bool:
    return has_fluid(model) and bool(np.any(model.geom_fluid[:, 0] != 0))


def _enabled(mujoco: Any, model: Any) -> bool:
    return bool(model.opt.enableflags & ~int(mujoco.mjtEnableBit.mjENBL_ENERGY))


def _bad_geoms(mujoco: Any, model: Any) -> bool:
    return bool((model.geom_type == int(mujoco.mjtGeom.mjGEOM_SDF)).any())


# What a model may not have, and how it is found: a feature's name is a reason that the user sees.
UNSUPPORTED: tuple[tuple[str, Test], ...] = (
    ("no joints", lambda mujoco, model: model.nv == 0),
    ("the integrator discrete", lambda mujoco, model: int(model.opt.integrator) > 3),
    ("the integrator RK4 with integrated setpoints at ball joints or between sites", _turning_setpoints),
    ("filtered setpoints of servos at ball joints or between sites", _filtered_angles),
    ("flags in <option><flag>: something is enabled", _enabled),
    ("a sensor of kinetic energy, which shows that of the step before", lags),
    ("plugins", _any("nplugin")),
    ("flexes", _any("nflex")),
    ("states of actuators other than integrals, filters and muscles", _bad_states),
    ("delays of actuators or sensors", _any("nhistory", "actuator_delay", "sensor_delay")),
    ("actuators that are not at joints, tendons, sites or slider-cranks", _misplaced),
    ("actuators whose force is neither affine in length and velocity, nor a muscle's", _bad_forces),
    ("adhesion, or surfaces that move", _any("flg_adhesion", "flg_surfacevel")),
    ("plastic springs", _any("nplastic")),
    ("fluid forces on ellipsoids", _bad_fluid),
    ("tendons that wrap around geoms, for which mujoco has no function before 3.16", _bad_tendons),
    ("signed distance fields", _bad_geoms),
    # MuJoCo leaves out contacts for which it has no room, or raises an error.
    ("less than 2 MB of memory", lambda mujoco, model: model.narena < 2_000_000),
    ("too many pairs of geoms that may touch", lambda mujoco, model: len(pairs(mujoco, model)[0]) > _MOST_PAIRS),
)


def reasons(mujoco: Any, model: Any) -> list[str]:
    """Why lanes with this model cannot be stepped together: names of features that it has."""
    return [name for name, test in UNSUPPORTED if test(mujoco, model)]


def _by_type(model: Any, found: NDArray[np.integer[Any]]) -> NDArray[np.integer[Any]]:
    """The pairs, with the geom of the lower type first."""
    swap = (model.geom_type[found[:, 0]] > model.geom_type[found[:, 1]])[:, None]
    return np.where(swap, found[:, ::-1], found)


def pairs(mujoco: Any, model: Any) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Pairs of geoms between which MuJoCo may find contacts, in its order, and numbers of <pair>s.

    Of more than _MOST_PAIRS, some may be missing.

    Returns two arrays: geoms, of shape (pairs, 2), where the one of the lower type is first; and the number of each
    pair's <pair>, whose parameters MuJoCo takes instead of the geoms', or -1.
    """
    if disabled(mujoco, model, "CONTACT", "CONSTRAINT"):
        return np.zeros((0, 2), np.int32), np.zeros(0, np.int32)
    moves = model.body_treeid[model.geom_bodyid] >= 0  # MuJoCo looks for no contact of two mocap bodies
    touches = np.flatnonzero(model.geom_contype | model.geom_conaffinity)
    moving = touches[moves[touches]]
    rows = max(1, _AT_A_TIME // max(1, len(touches)))
    parts = [np.zeros((0, 2), np.intp)]
    for k in range(0, len(moving), rows):
        first, second = np.repeat(moving[k : k + rows], len(touches)), np.tile(touches, len(moving[k : k + rows]))
        once = ~moves[second] | (first < second)
        some = np.sort(np.column_stack([first[once], second[once]]), 1)
        parts.append(some[_may_touch(mujoco, model, some)])
        if sum(map(len, parts)) > _MOST_PAIRS + model.npair:  # `reasons` needs no more
            break
    found = np.concatenate(parts)
    return _merged(mujoco, model, _by_type(model, found), np.sort(model.geom_bodyid[found], 1))


def _may_touch(mujoco: Any, model: Any, found: NDArray[np.integer[Any]]) -> NDArray[np.bool_]:
    """Which pairs of geoms MuJoCo looks at, by their types and affinities and by how their bodies are related."""
    first, second = found.T
    contype, affinity = model.geom_contype, model.geom_conaffinity
    kinds = (contype[first] & affinity[second]) | (contype[second] & affinity[first])
    weld = model.body_weldid[model.geom_bodyid]
    above = model.body_weldid[model.body_parentid[weld]]
    apart = weld[first] != weld[second]
    if not disabled(mujoco, model, "FILTERPARENT"):
        related = (weld[first] == above[second]) | (weld[second] == above[first])
        apart &= ~(related & (weld[first] != 0) & (weld[second] != 0))
    if model.nexclude:
        bodies = np.column_stack([model.exclude_signature >> 16, model.exclude_signature & 0xFFFF])
        apart &= ~np.isin(_signatures(model.geom_bodyid[found]), _signatures(bodies))
    return (kinds != 0) & apart


def _signatures(bodies: NDArray[Any]) -> NDArray[Any]:
    """MuJoCo's number for each pair of bodies."""
    return bodies.min(1, initial=2**16) * 2**16 + bodies.max(1, initial=0)


def _merged(mujoco: Any, model: Any, found: NDArray[Any], bodies: NDArray[Any]) -> tuple[Any, Any]:
    """What `pairs` returns, of the pairs that MuJoCo finds by itself: the <pair>s of two bodies come before them, and
    take the place of pairs of the same geoms."""
    explicit = _by_type(model, np.column_stack([model.pair_geom1, model.pair_geom2]))
    again = np.isin(_codes(model, found), _codes(model, explicit))
    order = np.lexsort((found[:, 1], found[:, 0], bodies[:, 1], bodies[:, 0]))
    order = order[~again[order]]
    signatures = np.concatenate([model.pair_signature, _signatures(bodies[order])])
    merged = np.concatenate([explicit, found[order]])
    numbers = np.append(np.arange(model.npair), np.full(len(order), -1))
    planes = model.geom_type[merged[:, 1]] == int(mujoco.mjtGeom.mjGEOM_PLANE)
    rank = np.argsort(signatures, kind="stable")
    rank = rank[~planes[rank]]
    return merged[rank].astype(np.int32), numbers[rank].astype(np.int32)


def _codes(model: Any, found: NDArray[Any]) -> NDArray[Any]:
    """A number for each pair of geoms, whatever their order."""
    return found.min(1, initial=model.ngeom) * model.ngeom + found.max(1, initial=0)
