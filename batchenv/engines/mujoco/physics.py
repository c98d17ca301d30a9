"""Which models can be stepped several lanes at a time, what the C core needs for it, and the self-check.

csrc/engines/physics computes what is smooth in a step of MuJoCo, in MuJoCo's order of sums, which differs from version
to version. So this is used only with versions whose order is known, for models that need nothing else, and after a
check that the results of this very model with this very library are the same bits.
"""

from __future__ import annotations

import copy
import os
import platform
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium import logger
from numpy.typing import NDArray

from batchenv import _core
from batchenv.engines.mujoco import constraints

if TYPE_CHECKING:
    from batchenv.engines.mujoco.library import Lanes

# Versions whose arithmetic is known. Between these two groups sums of quaternions changed, and RK4 of free joints.
VERSIONS = (*((3, minor) for minor in range(11, 18)), (4, 0))
_MOST_PAIRS = 1000  # of geoms that are looked at in each evaluation

Test = Callable[[Any, Any], bool]  # of the mujoco module and a model


def _any(*names: str) -> Test:
    """Whether one of these fields, where the model has it, has a number that is not 0."""
    return lambda mujoco, model: any(np.any(np.asarray(getattr(model, name, 0)) != 0) for name in names)


def _joints(mujoco: Any, model: Any, *names: str) -> NDArray[np.bool_]:
    return np.isin(model.jnt_type, [int(getattr(mujoco.mjtJoint, f"mjJNT_{name}")) for name in names])


def _bad_motors(mujoco: Any, model: Any) -> bool:
    of_joint = model.actuator_trntype == int(mujoco.mjtTrn.mjTRN_JOINT)
    single = getattr(model, "nactuator", model.nu) == model.nu == getattr(model, "nout", model.nu)
    if not single or not of_joint.all():
        return True
    return not _joints(mujoco, model, "SLIDE", "HINGE")[model.actuator_trnid[:, 0]].all()


def _bad_tendons(mujoco: Any, model: Any) -> bool:
    if (model.wrap_type != int(mujoco.mjtWrap.mjWRAP_JOINT)).any():
        return True
    for first, count in zip(model.tendon_adr, model.tendon_num, strict=True):
        if count > 3 or (np.diff(model.jnt_dofadr[model.wrap_objid[first : first + count]]) <= 0).any():
            return True  # MuJoCo would sort the joints, or add up partial sums
    return False


def _sprung_bodies(mujoco: Any, model: Any) -> bool:
    return bool((model.jnt_stiffness[_joints(mujoco, model, "FREE", "BALL")] != 0).any())


def _bad_fluid(mujoco: Any, model: Any) -> bool:
    fluid = model.opt.density != 0 or model.opt.viscosity != 0
    return fluid and bool(np.any(model.opt.wind != 0) or np.any(model.geom_fluid[:, 0] != 0))


def _enabled(mujoco: Any, model: Any) -> bool:
    return bool(model.opt.enableflags)


def _disabled(mujoco: Any, model: Any) -> bool:
    """Whether something is disabled that the stages do not leave to MuJoCo."""
    names = ("ACTUATION", "AUTORESET", "CLAMPCTRL", "DAMPER", "EULERDAMP", "GRAVITY", "PASSIVE", "SPRING")
    flags = mujoco.mjtDisableBit
    return any(model.opt.disableflags & int(getattr(flags, f"mjDSBL_{name}", 0)) for name in names)


def _bad_geoms(mujoco: Any, model: Any) -> bool:
    kinds = [int(getattr(mujoco.mjtGeom, f"mjGEOM_{name}")) for name in ("HFIELD", "SDF")]
    return bool(np.isin(model.geom_type, kinds).any())


# What a model may not have, and how it is found: a feature's name is a reason that the user sees.
UNSUPPORTED: tuple[tuple[str, Test], ...] = (
    ("an implicit integrator", lambda mujoco, model: int(model.opt.integrator) not in (0, 1)),
    ("flags in <option><flag>: something is enabled", _enabled),
    ("flags in <option><flag>: something smooth is disabled", _disabled),
    ("plugins", _any("nplugin")),
    ("flexes", _any("nflex")),
    ("mocap bodies", _any("nmocap")),
    ("states of actuators", _any("na")),
    ("delays of actuators or sensors", _any("nhistory", "actuator_delay", "sensor_delay")),
    ("actuators that are not at slide or hinge joints", _bad_motors),
    ("actuators that are not motors", _any("actuator_gaintype", "actuator_biastype", "actuator_dyntype")),
    ("limits of forces", _any("actuator_forcelimited", "jnt_actfrclimited", "tendon_actfrclimited")),
    ("armature or damping of actuators", _any("actuator_armature", "actuator_damping", "actuator_dampingpoly")),
    ("disabled groups of actuators", lambda mujoco, model: bool(model.opt.disableactuator)),
    ("gravity compensation", _any("body_gravcomp")),
    ("adhesion, or surfaces that move", _any("flg_adhesion", "flg_surfacevel")),
    ("springs or dampers that are not linear", _any("jnt_stiffnesspoly", "dof_dampingpoly", "nplastic")),
    ("springs of free or ball joints", _sprung_bodies),
    ("limits of ball joints", lambda mujoco, model: bool(model.jnt_limited[_joints(mujoco, model, "BALL")].any())),
    ("wind, or fluid forces on ellipsoids", _bad_fluid),
    ("spatial tendons, or fixed ones of many joints", _bad_tendons),
    (
        "tendons with limits, springs, damping, friction or armature",
        _any("tendon_limited", "tendon_stiffness", "tendon_damping", "tendon_frictionloss", "tendon_armature"),
    ),
    ("height fields or signed distance fields", _bad_geoms),
    # MuJoCo leaves out contacts for which it has no room, or raises an error.
    ("less than 2 MB of memory", lambda mujoco, model: model.narena < 2_000_000),
    ("too many pairs of geoms that may touch", lambda mujoco, model: len(pairs(mujoco, model)) > _MOST_PAIRS),
)


def reasons(mujoco: Any, model: Any) -> list[str]:
    """Why lanes with this model cannot be stepped together: names of features that it has."""
    return [name for name, test in UNSUPPORTED if test(mujoco, model)]


# ---- the model, as csrc/engines/physics/physics.h has it


def pairs(mujoco: Any, model: Any) -> NDArray[np.int32]:
    """Pairs of geoms between which MuJoCo may find contacts: (pairs, 2). The first one has the lower type."""
    if model.opt.disableflags & int(mujoco.mjtDisableBit.mjDSBL_CONTACT):
        return np.zeros((0, 2), np.int32)
    first, second = np.triu_indices(model.ngeom, 1)
    contype, affinity = model.geom_contype, model.geom_conaffinity
    kinds = (contype[first] & affinity[second]) | (contype[second] & affinity[first])
    weld = model.body_weldid[model.geom_bodyid]
    above = model.body_weldid[model.body_parentid[weld]]
    apart = weld[first] != weld[second]
    if not model.opt.disableflags & int(mujoco.mjtDisableBit.mjDSBL_FILTERPARENT):
        related = (weld[first] == above[second]) | (weld[second] == above[first])
        apart &= ~(related & (weld[first] != 0) & (weld[second] != 0))
    excluded = {tuple(sorted((int(sign) >> 16, int(sign) & 0xFFFF))) for sign in model.exclude_signature}
    bodies = np.sort(model.geom_bodyid[np.column_stack([first, second])], 1)
    if excluded:
        apart &= np.array([tuple(pair) not in excluded for pair in bodies.tolist()], bool)
    found = np.column_stack([first, second])[(kinds != 0) & apart]
    bodies = bodies[(kinds != 0) & apart]
    found = found[np.lexsort((found[:, 1], found[:, 0], bodies[:, 1], bodies[:, 0]))]
    found = np.concatenate([found, np.column_stack([model.pair_geom1, model.pair_geom2])])
    swap = model.geom_type[found[:, 0]] > model.geom_type[found[:, 1]]
    found[swap] = found[swap, ::-1]
    planes = int(mujoco.mjtGeom.mjGEOM_PLANE)
    return found[model.geom_type[found[:, 1]] != planes].astype(np.int32)


def _pair_kinds(mujoco: Any, model: Any, found: NDArray[np.int32]) -> NDArray[np.int32]:
    geom = mujoco.mjtGeom
    round_ones = [int(geom.mjGEOM_SPHERE), int(geom.mjGEOM_CAPSULE)]
    first, second = model.geom_type[found].T
    plane, capsule = first == int(geom.mjGEOM_PLANE), second == int(geom.mjGEOM_CAPSULE)
    both = np.isin(first, round_ones) & np.isin(second, round_ones)
    cylinder = second == int(geom.mjGEOM_CYLINDER)
    with_plane = np.where(capsule, 1, np.where(cylinder, 4, 0))
    return np.where(plane, with_plane, np.where(both, 3, 2)).astype(np.int32)


def _pair_reach(model: Any, found: NDArray[np.int32]) -> NDArray[np.float64]:
    """For each pair: how far apart the geoms' middles, and how far apart their axes may be when a contact begins."""
    margin = np.maximum(model.geom_margin, 0) + np.maximum(model.geom_gap, 0)
    margins = margin[found].sum(1)
    explicit = len(found) - model.npair
    if model.npair:
        more = np.maximum(model.pair_margin, 0) + np.maximum(model.pair_gap, 0)
        margins[explicit:] = np.maximum(margins[explicit:], more)
    sizes = np.where(np.isin(model.geom_type, (2, 3)), model.geom_size[:, 0], model.geom_rbound)
    return np.column_stack([margins + model.geom_rbound[found].sum(1), margins + sizes[found].sum(1)])


# Numbers on whose signs it depends what is computed. All lanes of a group have to agree about them.
DECIDING = ("body_mass", "body_subtreemass", "jnt_stiffness", "dof_damping", "opt_density", "opt_viscosity")


class Plan:
    """A model as the C core reads it: see csrc/engines/physics/physics.h.

    Attributes:
        sizes, ints: in the order of `_core.PHYSICS_SIZES` and `PHYSICS_INTS`; ints are int32 arrays.
        floats: all numbers of `_core.PHYSICS_FLOATS`; starts: where each begins.
        signs: those of DECIDING.
    """

    def __init__(self, mujoco: Any, model: Any):
        found = pairs(mujoco, model)
        version = mujoco.__version__.split(".")
        constrained = np.any(model.dof_frictionloss != 0) or model.neq > 0
        kinds = _pair_kinds(mujoco, model, found)
        contacts = constraints.Contacts(mujoco, model, found, kinds)
        joint_curves, joint_shapes = constraints.curves(model, model.jnt_solref, model.jnt_solimp)
        solves = constraints.solves(mujoco, model) and (joint_shapes >= 0)[model.jnt_limited != 0].all()
        trees = np.append(np.flatnonzero(np.diff(model.dof_treeid, prepend=-1)), model.nv)
        own = {
            "num_pairs": len(found),
            "num_trees": len(trees) - 1,
            "tree_dofs": trees,
            "num_candidates": int(np.select([kinds == 1, kinds == 4], [2, 4], 1)[contacts.own > 0].sum()) * int(solves),
            "version": int(version[0]) * 1000 + int(version[1]),
            "always": int(constrained),
            "solves": int(solves),
            "jnt_shape": joint_shapes,
            "jnt_curve": joint_curves,
            "pair_geoms": found,
            "pair_kind": kinds,
            "pair_own": contacts.own * int(solves),
            "pair_dim": contacts.dim,
            "pair_shape": contacts.shape,
            "pair_reach": _pair_reach(model, found),
            "pair_margin": contacts.margin,
            "pair_friction": contacts.friction,
            "pair_curve": contacts.curve,
        }

        def field(name: str) -> Any:
            if name in own:
                return own[name]
            return getattr(model.opt, name[4:]) if name.startswith("opt_") else getattr(model, name)

        self.sizes = [int(field(name)) for name in _core.PHYSICS_SIZES]
        self.ints = [np.array(field(name), np.int32).reshape(-1) for name in _core.PHYSICS_INTS]
        arrays = [np.array(field(name), np.float64).reshape(-1) for name in _core.PHYSICS_FLOATS]
        self.starts = np.cumsum([0, *(len(array) for array in arrays)])[:-1]
        self.floats = np.concatenate(arrays)

        self.signs = np.concatenate([np.sign(np.ravel(field(name))) for name in DECIDING])

    def is_like(self, other: Plan) -> bool:
        """Whether lanes of both can be in one group: they take the same decisions."""
        ints = all(np.array_equal(a, b) for a, b in zip(self.ints, other.ints, strict=True))
        return ints and self.sizes == other.sizes and np.array_equal(self.signs, other.signs)


# ---- lanes


def start(lanes: Lanes) -> list[str]:
    """Has the lanes stepped together. Returns why not, if that is impossible.

    Which features, versions and observations allow it is checked first, and then the results (`check`).
    """
    from batchenv.engines.mujoco import library

    mujoco, functions = library.load()
    why = _obstacles(lanes, mujoco, functions)
    if not why:
        key = (library.fingerprint(lanes.model), lanes.isa, tuple(lanes.fields), tuple(lanes.sizes))
        if key not in _checked:
            _checked[key] = check(lanes, mujoco)
            if _checked[key]:
                logger.warn(f"MuJoCo's lanes are stepped one by one: {_checked[key]}")
        why = [_checked[key]] if _checked[key] else []
    if not why:
        together(lanes, mujoco, functions)
    return why


_checked: dict[Any, str] = {}  # what `check` has found


def _obstacles(lanes: Lanes, mujoco: Any, functions: dict[str, int]) -> list[str]:
    if os.environ.get("BATCHENV_PHYSICS") == "0":
        return ["BATCHENV_PHYSICS=0"]
    if platform.machine().lower() not in ("x86_64", "amd64"):
        return [f"on {platform.machine()}, MuJoCo's sums are rounded in another way"]
    version = tuple(int(part) for part in mujoco.__version__.split(".")[:2])
    if version not in VERSIONS:
        return [f"the arithmetic of mujoco {mujoco.__version__} is not known to this batchenv"]
    missing = [name for name in _core.MUJOCO_STAGES if not functions[name]]
    if missing:
        return [f"mujoco's library has no {', '.join(missing)}"]
    if len(lanes) < 2:
        return ["there is one lane"]
    unknown = [name for name, size in zip(lanes.fields, lanes.sizes, strict=True) if size and name not in _places]
    return [f"observes {name}" for name in unknown] + [f"the model has {name}" for name in reasons(mujoco, lanes.model)]


_places = {name: place for place, name in enumerate(_core.PHYSICS_ARRAYS)}


def together(lanes: Lanes, mujoco: Any, functions: dict[str, int]) -> None:
    """Has the lanes stepped together from now on. No lane may have been stepped."""
    plan = Plan(mujoco, lanes.model)
    without_contacts = copy.copy(lanes.model)
    without_contacts.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
    at = _state_places(mujoco, lanes)
    lanes.source.step_together(
        lanes.isa,
        plan.sizes,
        plan.ints,
        plan.starts,
        plan.floats,
        np.zeros_like(lanes.records),
        functions,
        [at[name][0] for name in _core.MUJOCO_STATES],
        (min(at["QFRC_APPLIED"][0], at["XFRC_APPLIED"][0]), max(at["QFRC_APPLIED"][1], at["XFRC_APPLIED"][1])),
        [_places.get(name, -1) for name in lanes.fields],
        without_contacts,
        lanes.slots,
    )
    lanes.plan = plan


def _state_places(mujoco: Any, lanes: Lanes) -> dict[str, tuple[int, int]]:
    """{name: (begin, end)} of the parts of MuJoCo's states. They are in the order of their bits."""
    states = mujoco.mjtState
    names = [*_core.MUJOCO_STATES, "QFRC_APPLIED", "XFRC_APPLIED"]
    bits = {name: int(getattr(states, f"mjSTATE_{name}")) for name in names}

    def size(signature: int) -> int:
        return int(mujoco.mj_stateSize(lanes.model, signature & lanes.signature)) if signature else 0

    return {name: (size(bit - 1), size(2 * bit - 1)) for name, bit in bits.items()}


def floats_of(lanes: Lanes, model: Any) -> tuple[NDArray[np.float64] | None, list[str]]:
    """What `MujocoSource.put_model` needs to step a lane with this model together with others; or None, and why."""
    from batchenv.engines.mujoco import library

    mujoco, _ = library.load()
    if lanes.plan is None:
        return None, lanes.alone
    why = [f"the lane's model has {name}" for name in reasons(mujoco, model)]
    plan = None if why else Plan(mujoco, model)
    if plan and not plan.is_like(lanes.plan):
        names = f"{', '.join(DECIDING[:-1])} or {DECIDING[-1]}"
        why = [f"a number of {names} is 0 in the lane's model, and not in the others', or the other way round"]
    return (None, why) if why else (plan.floats, [])


# ---- the self-check

_TRIAL_LANES = 16
_TRIAL_STEPS = (1, 2, 25, 1, 3, 25, 1)  # of MuJoCo, in each round


def check(lanes: Lanes, mujoco: Any) -> str:
    """Steps states of the model together and with mj_step, and compares every number. Returns what differs, or "".

    States are near the start and far from it, at rest and fast, in the air and in contact, beyond limits and absurd.
    """
    from batchenv.engines.mujoco import library

    _, functions = library.load()
    trial = lanes.like(_TRIAL_LANES)
    together(trial, mujoco, functions)
    rng = np.random.default_rng(1)
    low, high = (np.clip(bound, -2, 2) for bound in lanes.model.actuator_ctrlrange.T)
    free = ~np.asarray(lanes.model.actuator_ctrllimited, bool)
    low[free], high[free] = -1, 1
    data = mujoco.MjData(lanes.model)
    for lane in range(_TRIAL_LANES):
        trial.records[lane, : trial.state_size] = _trial_state(mujoco, trial, data, rng, lane)
    for steps in _TRIAL_STEPS:
        actions = rng.uniform(low, high, (_TRIAL_LANES, lanes.model.nu))
        differs, unstable = trial.source.compare(actions.astype(np.float32), steps)
        for lane in np.flatnonzero(differs >= 0):
            return (
                f"{trial.name_of(int(differs[lane]))} differs from mj_step's in the self-check, with mujoco "
                f"{mujoco.__version__} and {lanes.isa}"
            )
        for lane in np.flatnonzero(unstable):
            trial.records[lane, : trial.state_size] = _trial_state(mujoco, trial, data, rng, int(lane))
    return ""


def _trial_state(mujoco: Any, trial: Lanes, data: Any, rng: np.random.Generator, lane: int) -> NDArray[np.float64]:
    model = trial.model
    mujoco.mj_resetData(model, data)
    scale = (0.01, 0.1, 0.5, 2.0)[lane % 4]
    data.qpos[:] += rng.uniform(-scale, scale, model.nq)
    data.qvel[:] = rng.standard_normal(model.nv) * scale * (1, 5)[lane // 4 % 2]
    if lane == _TRIAL_LANES - 1:
        data.qvel[0] = 1e12  # MuJoCo finds this unstable
    state = np.empty(trial.state_size)
    mujoco.mj_getState(model, data, state, trial.signature)
    return state
