"""Which models can be stepped several lanes at a time, what the C core needs for it, and the self-check.

csrc/engines/physics computes what is smooth in a step of MuJoCo, in MuJoCo's order of sums, which differs from version
to version. So this is used only with versions whose order is known, for models that need nothing else, and after a
check that the results of this very model with this very library are the same bits.
"""

from __future__ import annotations

import copy
import ctypes
import os
import platform
from typing import Any

import numpy as np
from gymnasium import logger
from numpy.typing import NDArray

from batchenv import _core
from batchenv._core import PhysicsOwn, PhysicsPair, PhysicsSolver
from batchenv.envs.mujoco import (
    acting,
    actuators,
    broad,
    constraints,
    derivatives,
    inputs,
    passive,
    pruning,
    sensors,
    sparse,
    tendons,
)
from batchenv.envs.mujoco.features import disabled, one_of, pairs, reasons, version_of

Lanes = Any  # library.Lanes; that module imports this one

# Versions whose arithmetic is known. Between these two groups sums of quaternions changed, and RK4 of free joints.
VERSIONS = (*((3, minor) for minor in range(11, 18)), (4, 0))

# How many contacts that MuJoCo's functions find groups have room for, and how many rows of these.
_MOST_CALLED, _MOST_CALLED_ROWS = 128, 400
_MOST_LOOKED = 2048  # the same of contacts that groups find: these are of all lanes, at different places
_CALLED_CONTACTS = 8  # of a pair without a height field
_SPARSE_ROOM = 4  # with sparse matrices, lanes rarely have such contacts at the same places: how many there are
_CANDIDATES = np.array([_core.PHYSICS_CANDIDATES[kind] for kind in sorted(PhysicsPair)])  # of each PhysicsPair

# ---- the model, as csrc/engines/physics/physics.h has it


def _pair_kinds(mujoco: Any, model: Any, found: NDArray[np.int32]) -> NDArray[np.int32]:
    geom = mujoco.mjtGeom
    round_ones = [int(geom.mjGEOM_SPHERE), int(geom.mjGEOM_CAPSULE)]
    first, second = model.geom_type[found].T
    plane, capsule = first == int(geom.mjGEOM_PLANE), second == int(geom.mjGEOM_CAPSULE)
    both = one_of(first, round_ones) & one_of(second, round_ones)
    cylinder, box = second == int(geom.mjGEOM_CYLINDER), second == int(geom.mjGEOM_BOX)
    ellipsoid = second == int(geom.mjGEOM_ELLIPSOID)
    kind = PhysicsPair
    sphere_first, capsule_first = first == round_ones[0], first == round_ones[1]
    cases = [plane & capsule, plane & cylinder, plane & box, plane & ellipsoid, plane]
    cases += [both, sphere_first & box, capsule_first & box]
    kinds = [kind.PLANE_CAPSULE, kind.PLANE_CYLINDER, kind.PLANE_BOX, kind.PLANE_ELLIPSOID, kind.PLANE_BALL]
    kinds += [kind.CAPSULES, kind.SPHERE_BOX, kind.CAPSULE_BOX]
    return np.select(cases, kinds, PhysicsPair.BALLS).astype(np.int32)


def _called_contacts(mujoco: Any, model: Any, found: NDArray[np.int32]) -> NDArray[np.int64]:
    """About how many contacts MuJoCo's functions find in each pair of geoms at most."""
    field = (model.geom_type[found] == int(mujoco.mjtGeom.mjGEOM_HFIELD)).any(1)
    return np.where(field, _core.PHYSICS_MOST_CONTACTS, _CALLED_CONTACTS)


def _pair_numbers(model: Any, found: NDArray[np.int32], contacts: constraints.Contacts) -> NDArray[np.float64]:
    """For each pair: how far apart the geoms' middles, axes and surfaces may be when a contact begins; and the numbers
    of its contacts."""
    begin = np.maximum(contacts.begin, 0)
    sizes = np.where(one_of(model.geom_type, (2, 3)), model.geom_size[:, 0], model.geom_rbound)
    reach = [begin + model.geom_rbound[found].sum(1), begin + sizes[found].sum(1), begin]
    return np.column_stack([*reach, contacts.begin, contacts.margin, contacts.friction, contacts.curve])


# Numbers on whose signs it depends what is computed, and numbers that MuJoCo takes for 0 if they are very small. All
# lanes of a group have to agree about them.
_SIGNS = (
    *("jnt_stiffness", "dof_damping", "tendon_stiffness", "tendon_damping", "tendon_armature"),
    *("opt_density", "opt_viscosity", "body_gravcomp"),
)
_MASSES = ("body_mass", "body_subtreemass")
# Which numbers of _core.PHYSICS_INTS are derived from which fields that lanes may have of their own.
_DERIVED = {
    "body_ipos or body_iquat": ("body_sameframe", "geom_sameframe", "site_sameframe"),
    "dof_frictionloss": ("always", "friction_id"),
    "body_mass": ("lone_bodies",),
    "gravity or body_gravcomp": ("gravcomp",),
    "geom_solref or geom_solimp": ("pair_shape",),
}


class Plan:
    """A model as the C core reads it: see csrc/engines/physics/physics.h.

    compiled: the plan of the compiler's model, if `model` is a changed copy of it.

    Attributes:
        sizes, ints: in the order of `_core.PHYSICS_SIZES` and `PHYSICS_INTS`; ints are int32 arrays.
        floats: all numbers of `_core.PHYSICS_FLOATS`; starts: where each begins.
        model: the model. pairs, numbers: of geoms, and of their <pair>s, as features.pairs() has them for the
            compiler's model. contacts: what constraints.py says of them. broad: what broad.py does.
        deciding: what else all lanes of a group have to agree about: {name of a field: array}.
    """

    @np.errstate(all="ignore")  # huge numbers become infinite, as they do in MuJoCo
    def __init__(self, mujoco: Any, model: Any, compiled: Plan | None = None):
        self.model = model
        self.pairs, self.numbers = (compiled.pairs, compiled.numbers) if compiled else pairs(mujoco, model)
        found = self.pairs
        major, minor = version_of(mujoco)
        kinds = _pair_kinds(mujoco, model, found)
        self.contacts = contacts = constraints.Contacts(
            mujoco, model, found, self.numbers, kinds, compiled and compiled.model
        )
        limits = constraints.limits(mujoco, model)
        known_limits = (limits["jnt_shape"] >= 0)[model.jnt_limited != 0].all()
        equalities = constraints.Equalities(mujoco, model)
        called = contacts.own != PhysicsOwn.LOOKED
        candidates = np.where(called, _called_contacts(mujoco, model, found), _CANDIDATES[kinds])
        idle = candidates[contacts.begin > contacts.margin].sum()
        room = constraints.most_rows(model, min(idle, _MOST_LOOKED + _MOST_CALLED))
        loss = constraints.FrictionLoss(mujoco, model)
        solver = constraints.solver(mujoco, model, equalities, loss, room) if known_limits else PhysicsSolver.NOTHING
        friction = loss.numbers
        if solver is PhysicsSolver.NOTHING:
            friction = {name: numbers[:0] for name, numbers in friction.items()}
        pair_own = contacts.own * (solver is not PhysicsSolver.NOTHING)
        looked, called = pair_own == PhysicsOwn.LOOKED, pair_own == PhysicsOwn.CALLED
        num_called = min(_MOST_CALLED, candidates[called].sum())
        num_looked = min(_MOST_LOOKED, candidates[looked].sum())
        ne = equalities.rows if solver is not PhysicsSolver.NOTHING else 0
        num_rows = ne + len(friction["friction_id"]) + 2 * (model.jnt_limited.sum() + model.tendon_limited.sum())
        rows = candidates * contacts.rows
        num_rows += rows[looked].sum() + min(_MOST_CALLED_ROWS, rows[called].sum())
        if sparse.is_sparse(mujoco, model) and called.any():
            num_rows *= _SPARSE_ROOM
        num_rows = min(room, num_rows)
        trees = np.append(np.flatnonzero(np.diff(model.dof_treeid, prepend=-1)), model.nv)
        self.broad = compiled.broad if compiled else broad.lists(mujoco, model, found)
        geom_box, geom_reach = pruning.boxes(mujoco, model), broad.reach(model, found, contacts.begin)
        own = {
            **self.broad,
            "num_pairs": len(found),
            "num_trees": len(trees) - 1,
            "tree_dofs": trees,
            "num_candidates": num_looked + num_called,
            "num_called": num_called,
            "num_equalities": len(equalities.numbers["eq_kind"]),
            "ne": ne,
            **equalities.numbers,
            "nf": len(friction["friction_id"]),
            "num_rows": _core.PHYSICS_PGS_ROWS if solver is PhysicsSolver.PGS else num_rows,
            **friction,
            "version": major * 1000 + minor,
            "always": int(constraints.always(mujoco, model, solver, equalities, loss)),
            "sparse_jacobian": int(sparse.is_sparse(mujoco, model)),
            **limits,
            **tendons.numbers(mujoco, model),
            **actuators.numbers(mujoco, model),
            **passive.numbers(mujoco, model),
            # MuJoCo takes 0 for what is the negative of gravity
            "opt_gravity": np.full(3, -0.0) if disabled(mujoco, model, "GRAVITY") else model.opt.gravity,
            "solves": solver,
            "pair_geoms": found,
            "geom_box": geom_box,
            "geom_reach": geom_reach,
            "still_digest": broad.digest(model, geom_box, geom_reach),
            "pair_kind": kinds,
            "pair_own": pair_own,
            "pair_dim": contacts.dim,
            "pair_shape": contacts.shape,
            "pair_numbers": _pair_numbers(model, found, contacts),
            **sensors.numbers(mujoco, model, found),
            **derivatives.numbers(mujoco, model),
            **sparse.numbers(mujoco, model, solver is not PhysicsSolver.NOTHING),
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

        self.deciding = {
            **{name.removeprefix("opt_"): np.sign(field(name)) for name in _SIGNS},
            **{name: field(name) >= constraints.MINVAL for name in _MASSES},
            "wind": (model.opt.wind != 0).any(),
        }

    def start_of(self, name: str) -> int:
        """Where a field of PHYSICS_FLOATS begins in `floats`."""
        return int(self.starts[_core.PHYSICS_FLOATS.index(name)])

    def unlike(self, compiled: Plan) -> list[str]:
        """Why lanes of this model and of the compiler's cannot be in one group: they do not take the same decisions."""
        why = [
            f"a number of {name} is 0 or less in the lane's model, and more in the others', or the other way round"
            for name, values in self.deciding.items()
            if not np.array_equal(values, compiled.deciding[name])
        ]
        ints = zip(_core.PHYSICS_INTS, self.ints, compiled.ints, strict=True)
        other = {name for name, mine, theirs in ints if not np.array_equal(mine, theirs)}
        names = [field for field, derived in _DERIVED.items() if other.intersection(derived)]
        if "pair_own" in other:
            mine, theirs = self.contacts, compiled.contacts
            differ = mine.own != theirs.own
            names += [name for name in mine.tests if (mine.tests[name] != theirs.tests[name])[differ].any()]
        if not other and self.sizes != compiled.sizes:  # of `most_rows`
            names = ["geom_gap"]
        names = list(dict.fromkeys(names)) or sorted(other)
        return why + [f"with the lane's {name}, a step is not computed as those of the others" for name in names]


# ---- lanes


def start(lanes: Lanes, mujoco: Any, functions: dict[str, int], fingerprint: int) -> list[str]:
    """Has the lanes stepped together. Returns why not, if that is impossible.

    functions: {name: address}, as library.load() has them. fingerprint: identifies the model.

    Which features, versions and observations allow it is checked first, and then the results (`check`).
    """
    why = _obstacles(lanes, mujoco, functions)
    acted: list[Any] = []
    if not why:
        why = _unknown(lanes, mujoco)
        if why:
            what = "Lanes are stepped one by one, by mj_step, which may take several times as long: %s"
            logger.warn(what, "; ".join(why))
    if not why and lanes.acting:
        plan = Plan(mujoco, lanes.model)
        what, *acted = acting.numbers(plan, lanes.acting, lambda model: Plan(mujoco, model, plan))
        why = [what] if what else []
    if not why:
        key = (fingerprint, lanes.isa, tuple(lanes.fields), tuple(lanes.sizes))
        if key not in _checked:
            _checked[key] = check(lanes, mujoco, functions)
            if _checked[key]:
                logger.warn(f"MuJoCo's lanes are stepped one by one: {_checked[key]}")
        why = [_checked[key]] if _checked[key] else []
    if not why:
        together(lanes, mujoco, functions)
    if not why and lanes.acting:
        lanes.source.act_in_groups(*acted)
    return why


_checked: dict[Any, str] = {}  # what `check` has found


def _obstacles(lanes: Lanes, mujoco: Any, functions: dict[str, int]) -> list[str]:
    if os.environ.get("BATCHENV_PHYSICS") == "0":
        return ["BATCHENV_PHYSICS=0"]
    if platform.machine().lower() not in ("x86_64", "amd64"):
        return [f"on {platform.machine()}, MuJoCo's sums are rounded in another way"]
    if version_of(mujoco) not in VERSIONS:
        return [f"the arithmetic of mujoco {mujoco.__version__} is not known to this batchenv"]
    needed = {*_core.MUJOCO_STAGES, *_core.PHYSICS_FUNCTIONS} - {"mju_wrap"}  # without which no tendon may wrap
    missing = [name for name in sorted(needed) if not functions[name]]
    if missing:
        return [f"mujoco's library has no {', '.join(missing)}"]
    if len(lanes) < 2:
        return ["there is one lane"]
    return _called(functions)


def _unknown(lanes: Lanes, mujoco: Any) -> list[str]:
    """What groups do not know of the model and of what is observed."""
    shown = [name for name, size in zip(lanes.fields, lanes.sizes, strict=True) if size]
    why = [f"observes {name}" for name in shown if name not in _places]
    foreign = tendons.foreign(mujoco, lanes.model)
    why += [f"observes {name} of a model with spatial tendons" for name in shown if name in foreign]
    if "sensordata" in shown:
        why += [f"observes sensordata with {name}" for name in sensors.unknown(mujoco, lanes.model)]
    return why + [f"the model has {name}" for name in reasons(mujoco, lanes.model)]


def _called(functions: dict[str, int]) -> list[str]:
    """Why nothing can be checked now: steps by mj_step would call what the user has set."""

    def is_set(variable: int) -> bool:
        return bool(variable) and bool(ctypes.c_void_p.from_address(variable).value)

    names = [name for name in _core.MUJOCO_CALLBACKS if is_set(functions[name])]
    return [f"{', '.join(names)} was set when the lane got its model"] if names else []


_places = {name: place for place, name in enumerate(_core.PHYSICS_ARRAYS)}


def together(lanes: Lanes, mujoco: Any, functions: dict[str, int]) -> None:
    """Has the lanes stepped together from now on. No lane may have been stepped."""
    plan = Plan(mujoco, lanes.model)
    without_contacts = copy.copy(lanes.model)
    without_contacts.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
    at = inputs.places(mujoco, lanes.model, _core.MUJOCO_STATES)
    begin, end = inputs.span(mujoco, lanes.model, _FIXED)
    state = np.empty(lanes.state_size)
    mujoco.mj_getState(lanes.model, mujoco.MjData(lanes.model), state, lanes.signature)
    numbers = plan.sizes, plan.ints, plan.starts, plan.floats
    states = [at[name][0] for name in _core.MUJOCO_STATES], begin, state[begin:end].copy()
    array_of = [_places.get(name, -1) for name in lanes.fields]
    ahead = np.zeros_like(lanes.records)
    known = *states, int(mujoco.mjtGeom.mjNGEOMTYPES), array_of
    functions = functions | dict.fromkeys(sensors.idle(mujoco, lanes.model), 0)
    lanes.source.step_together(lanes.isa, *numbers, ahead, functions, *known, without_contacts, lanes.slots)
    lanes.plan = plan


_FIXED = ("eq_active",)  # what lanes of groups have as the model has it


def floats_of(lanes: Lanes, mujoco: Any, model: Any) -> tuple[NDArray[np.float64] | None, list[str]]:
    """What `MujocoSource.put_model` needs to step a lane with this model together with others; or None, and why."""
    if lanes.plan is None:
        return None, lanes.alone
    why = [f"the lane's model has {name}" for name in reasons(mujoco, model)]
    if why:
        return None, why
    plan = Plan(mujoco, model, lanes.plan)
    why = plan.unlike(lanes.plan)
    return (None, why) if why else (plan.floats, [])


# ---- the self-checks

_TRIAL_LANES = 16
_TRIAL_STEPS = (1, 2, 25, 1, 3, 25, 1)  # of MuJoCo, in each round


def check(lanes: Lanes, mujoco: Any, functions: dict[str, int]) -> str:
    """Steps states of the model together and with mj_step, and compares every number. Returns what differs, or "".

    States are near the start and far from it, at rest and fast, in the air and in contact, beyond limits and absurd.
    """
    trial = SelfCheck(lanes, mujoco, functions, _TRIAL_LANES)
    trial.states[-1, trial.first_speed] = 1e12  # MuJoCo finds this unstable
    return next((what for what in trial.compare(_TRIAL_STEPS, "in the self-check") if what), "")


class SelfCheck:
    """Lanes of the same model as others, which are stepped both together and with mj_step.

    Attributes:
        states: where they begin: (lanes, size of a state).
    """

    def __init__(self, lanes: Lanes, mujoco: Any, functions: dict[str, int], count: int):
        self._lanes = lanes.like(count)
        together(self._lanes, mujoco, functions)
        self._rng = np.random.default_rng(1)
        model, data = self._lanes.model, self._lanes.slots[0]
        low, high = (np.clip(bound, -2, 2) for bound in model.actuator_ctrlrange.T)
        free = ~np.asarray(model.actuator_ctrllimited, bool)
        low[free], high[free] = -1, 1
        beyond = 0.2 * (high - low)  # MuJoCo clips controls that are out of range
        self._low, self._high = low - beyond, high + beyond
        self.first_speed = inputs.places(mujoco, model, ["QVEL"])["QVEL"][0]
        self.states = np.empty((count, self._lanes.state_size))
        for lane, state in enumerate(self.states):
            mujoco.mj_resetData(model, data)
            scale = (0.01, 0.1, 0.5, 2.0)[lane % 4]
            data.qpos[:] += self._rng.uniform(-scale, scale, model.nq)
            data.qvel[:] = self._rng.standard_normal(model.nv) * scale * (1, 5)[lane // 4 % 2]
            data.act[:] += self._rng.uniform(-scale, scale, model.na)
            if lane % 4 == 1 and lane >= _TRIAL_LANES // 2:  # so that there are groups with and without such lanes
                data.qfrc_applied[:] = self._rng.standard_normal(model.nv)
                data.xfrc_applied[-1] = self._rng.standard_normal(6)
                data.mocap_pos += self._rng.uniform(-scale, scale, data.mocap_pos.shape)
                data.mocap_quat += self._rng.uniform(-scale, scale, data.mocap_quat.shape)
            mujoco.mj_getState(model, data, state, self._lanes.signature)
        self._version = mujoco.__version__

    def put_models(self, models: list[Any], floats: list[NDArray[np.float64]]) -> None:
        """Gives the lanes models of their own, by turns. floats: their `floats_of`."""
        for lane in range(len(self._lanes)):
            k = lane % len(models)
            self._lanes.source.put_model(lane, models[k], floats[k].copy())  # so that groups have several models

    def compare(self, calls: tuple[int, ...], where: str) -> list[str]:
        """Takes so many steps in each call. Returns what of each lane differs (`where` is part of this text), or ""."""
        lanes = self._lanes
        lanes.records[:, : lanes.state_size] = self.states
        found = [""] * len(lanes)
        for steps in calls:
            actions = self._rng.uniform(self._low, self._high, (len(lanes), len(self._low)))
            differs, unstable = lanes.source.compare(actions.astype(np.float32), steps)
            for lane in np.flatnonzero(differs >= 0):
                name = lanes.name_of(int(differs[lane]))
                found[lane] = f"{name} differs from mj_step's {where}, with mujoco {self._version} and {lanes.isa}"
            if any(found):
                break
            lanes.records[unstable, : lanes.state_size] = self.states[unstable]
        return found


_OWN_LANES = 8
_OWN_STEPS = (1, 4)


def check_models(
    lanes: Lanes, mujoco: Any, functions: dict[str, int], models: list[Any], floats: list[NDArray[np.float64]]
) -> list[str]:
    """The same for models that lanes are to get, several at a time. Returns what differs with each model, or ""."""
    called = _called(functions)
    if called:
        return called * len(models)
    if models and lanes.trial is None:
        lanes.trial = SelfCheck(lanes, mujoco, functions, _OWN_LANES)
    found = []
    for k in range(0, len(models), _OWN_LANES):
        some = models[k : k + _OWN_LANES]
        lanes.trial.put_models(some, floats[k : k + _OWN_LANES])
        differs = lanes.trial.compare(_OWN_STEPS, "in the check of the lane's model")
        found += [next((text for text in differs[j :: len(some)] if text), "") for j in range(len(some))]
    for what in set(found) - {""}:
        logger.warn(f"Some of MuJoCo's lanes are stepped one by one: {what}")
    return found
