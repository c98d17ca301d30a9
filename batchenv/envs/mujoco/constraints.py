"""What limits and contacts of a model come to, in numbers that do not change while it is stepped.

MuJoCo computes them anew in each step; here, once, in the same order of operations.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from batchenv import _core
from batchenv._core import (
    PHYSICS_MOST_SWEEPS,
    PHYSICS_PGS_ROWS,
    PhysicsLimit,
    PhysicsOwn,
    PhysicsPair,
    PhysicsShape,
    PhysicsSolver,
)
from batchenv.envs.mujoco import pruning, sparse, tendons
from batchenv.envs.mujoco.features import disabled, one_of, since

MINVAL = 1e-15  # mjMINVAL
_MINIMP, _MAXIMP = 0.0001, 0.9999  # of impedances
_MINMU = 1e-5  # of friction
_MIXED = -2
_SLACK = 1e-6  # more than errors of rounding in a ball's angle
_MOST_ROWS = 1000  # of constraints, for which groups have room
# More than MuJoCo takes, as data.maxuse_arena tells: for a row, for a contact, and for everything else.
_ROW_BYTES, _CONTACT_BYTES, _RESERVE = 1200, 700, 500_000


def always(mujoco: Any, model: Any, solves: PhysicsSolver, equalities: Equalities, loss: FrictionLoss) -> bool:
    """Whether the model has constraints wherever its bodies are, of which csrc/engines/physics does not make rows."""
    unsolved = solves is PhysicsSolver.NOTHING and loss.rows > 0
    return unsolved or (_equal(mujoco, model) and not (solves and equalities.own))


def limits(mujoco: Any, model: Any) -> dict[str, NDArray[Any]]:
    """What csrc/engines/physics/physics.h says of limits of joints and tendons."""
    apply = int(not disabled(mujoco, model, "CONSTRAINT", "LIMIT"))
    joint_curve, joint_shape = curves(model, model.jnt_solref, model.jnt_solimp)
    tendon_curve, tendon_shape = curves(model, model.tendon_solref_lim, model.tendon_solimp_lim)
    free = model.jnt_range.max(1, initial=-np.inf) - model.jnt_margin  # how far a ball may turn
    reach = np.cos(np.clip(free, 0, np.pi) / 2) ** 2 + _SLACK
    who = np.where(tendon_shape < 0, PhysicsLimit.FOREIGN, PhysicsLimit.OWN)
    return {
        "jnt_limited": model.jnt_limited * apply,
        "jnt_shape": joint_shape,
        "jnt_curve": joint_curve,
        "ball_reach": np.where(free > np.pi + _SLACK, -1, reach),
        "tendon_limited": model.tendon_limited * apply * who,
        "tendon_shape": tendon_shape,
        "tendon_curve": tendon_curve,
    }


def _equal(mujoco: Any, model: Any) -> bool:
    """Whether the model has active equalities."""
    return bool(model.eq_active0.any()) and not disabled(mujoco, model, "CONSTRAINT", "EQUALITY")


def _equality_rows(mujoco: Any, model: Any) -> list[int]:
    """Of which equality each row is, where the model's bodies begin. MuJoCo leaves out rows that move nothing: so there
    may be others elsewhere."""
    if not _equal(mujoco, model):
        return []
    data = mujoco.MjData(model)
    data.warning.number[:] = 1  # MuJoCo prints and logs only the first warning of each kind
    mujoco.mj_fwdPosition(model, data)  # without the user's callbacks
    return list(data.efc_id[: data.ne])


class Equalities:
    """The model's active equalities, as csrc/engines/physics/physics.h has them.

    Attributes:
        own: whether all of them are made there.
        numbers: {name there: array with a row for each equality}; without rows if they are not.
        rows: how many rows of constraints they have.
    """

    def __init__(self, mujoco: Any, model: Any):
        kinds, objects = mujoco.mjtEq, mujoco.mjtObj
        rows = _equality_rows(mujoco, model)
        self.rows = len(rows)
        curve, shape = curves(model, model.eq_solref, model.eq_solimp)
        known = [int(getattr(kinds, f"mjEQ_{name}")) for name in ("CONNECT", "WELD", "JOINT", "TENDON")]
        active = np.flatnonzero(model.eq_active0) if _equal(mujoco, model) else np.zeros(0, np.intp)
        self.own = bool((one_of(model.eq_type[active], known) & (shape[active] >= 0)).all())
        if not self.own:
            active = active[:0]
        kind, sites = model.eq_type[active], model.eq_objtype[active] == int(objects.mjOBJ_SITE)
        pairs = np.column_stack([model.eq_obj1id, model.eq_obj2id])[active]
        holds = one_of(kind, known[:2])[:, None]
        bodies = np.where(holds, pairs, 0)
        bodies[sites] = model.site_bodyid[pairs[sites]]
        joint, tendon = (kind == known[2])[:, None], (kind == known[3])[:, None]
        start = np.zeros(pairs.shape)
        start[joint & (pairs >= 0)] = model.qpos0[model.jnt_qposadr[pairs[joint & (pairs >= 0)]]]
        start[tendon & (pairs >= 0)] = model.tendon_length0[pairs[tendon & (pairs >= 0)]]
        self.numbers = {
            "eq_kind": kind,
            "eq_sites": sites,
            "eq_objects": pairs,
            "eq_bodies": bodies,
            "eq_trees": np.where(holds, model.body_treeid[bodies], -1),
            "eq_row": np.array([rows.index(i) if i in rows else -1 for i in active.tolist()], int),
            "eq_shape": shape[active],
            "eq_curve": curve[active],
            "eq_data": model.eq_data[active, : _core.PHYSICS_EQUALITY_DATA],
            "eq_start": start,
        }


def _frictions(mujoco: Any, model: Any) -> NDArray[np.intp]:
    """friction_id of csrc/engines/physics/physics.h."""
    if disabled(mujoco, model, "CONSTRAINT", "FRICTIONLOSS"):
        return np.zeros(0, np.intp)
    return np.flatnonzero(np.append(model.dof_frictionloss, model.tendon_frictionloss) > 0)


class FrictionLoss:
    """Friction loss of joints and tendons, as csrc/engines/physics/physics.h has it.

    Attributes:
        numbers: {name there: array with a number for each row}. rows: how many there are.
        solvable: whether each row moves trees of joints that follow each other, with a solref that is known.
    """

    def __init__(self, mujoco: Any, model: Any):
        rows = _frictions(mujoco, model)
        self.rows = len(rows)

        def both(name: str) -> NDArray[Any]:
            """Of degrees of freedom and of tendons."""
            return np.concatenate([getattr(model, f"dof_{name}"), getattr(model, f"tendon_{name}")])[rows]

        solref = np.concatenate([model.dof_solref, model.tendon_solref_fri])[rows]
        solimp = np.concatenate([model.dof_solimp, model.tendon_solimp_fri])[rows]
        curve, shape = curves(model, solref, solimp)
        damping, least, most = curve[:, 1], curve[:, 2], curve[:, 3]
        impedance = np.where(shape == PhysicsShape.FLAT, 0.5 * (least + most), least)  # where the position is 0
        resistance = np.maximum(MINVAL, (1 - impedance) * both("invweight0") / impedance)
        self.numbers = {
            "friction_id": rows,
            "friction_loss": both("frictionloss"),
            "friction_R": resistance,
            "friction_D": 1 / resistance,
            "friction_damping": damping,
        }
        follow = tendons.have_neighbours(mujoco, model, rows[rows >= model.nv] - model.nv)
        self.solvable = follow and bool((shape != _MIXED).all())


def most_rows(model: Any, idle_contacts: int) -> int:
    """How many rows of constraints a lane in a group may have: MuJoCo needs memory for each. Where it has none left, it
    leaves out constraints, or raises an error. idle_contacts: how many contacts without rows there may be, too."""
    nv = int(model.nv)
    left = int(model.narena) - _RESERVE - _CONTACT_BYTES * idle_contacts - 32 * nv * nv
    return max(0, min(_MOST_ROWS, left // (_ROW_BYTES + 24 * nv)))


def solver(mujoco: Any, model: Any, equalities: Equalities, loss: FrictionLoss, room: int) -> PhysicsSolver:
    """Which solver of this model csrc/engines/physics has. room: see `most_rows`.

    Newton works on each tree of joints, and PGS on one tree. The latter is MuJoCo 3.17's and later ones'.
    """
    option = model.opt
    least = equalities.rows + loss.rows
    elliptic = int(option.cone) == int(mujoco.mjtCone.mjCONE_ELLIPTIC)
    known = (
        (not sparse.is_sparse(mujoco, model) or sparse.is_known(mujoco, model))
        and option.noslip_iterations == 0
        and (model.ntree == 1 or not disabled(mujoco, model, "ISLAND"))
        and not disabled(mujoco, model, "REFSAFE", "WARMSTART", "MIDPHASE")
        and loss.solvable
    )
    if not (known and equalities.own) or least > room:
        return PhysicsSolver.NOTHING
    if int(option.solver) == int(mujoco.mjtSolver.mjSOL_NEWTON):
        return PhysicsSolver.NEWTON
    pgs = not elliptic and since(mujoco, 3, 17) and model.ntree == 1 and 0 < option.iterations <= PHYSICS_MOST_SWEEPS
    pgs = pgs and int(option.solver) == int(mujoco.mjtSolver.mjSOL_PGS) and least <= PHYSICS_PGS_ROWS <= room
    return PhysicsSolver.PGS if pgs else PhysicsSolver.NOTHING


def curves(
    model: Any, solref: NDArray[np.float64], solimp: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """BE_CURVE numbers and the PhysicsShape of each row.

    Less than 0: csrc/engines/physics does not have such a shape, or (_MIXED) MuJoCo has a warning.
    """
    ref0, ref1 = solref.reshape(-1, 2).T.copy()
    mixed = (ref0 > 0) != (ref1 > 0)
    ref0 = np.where(ref0 > 0, np.maximum(ref0, 2 * model.opt.timestep), ref0)
    least, most, width, middle, power = solimp.reshape(-1, 5).T
    least, most, middle = (np.minimum(_MAXIMP, np.maximum(_MINIMP, value)) for value in (least, most, middle))
    width, power = np.maximum(0, width), np.maximum(1, power)
    with np.errstate(all="ignore"):
        standard = 1 / np.maximum(MINVAL, most * most * ref0 * ref0 * ref1 * ref1)
        stiffness = np.where(ref0 > 0, standard, -ref0 / np.maximum(MINVAL, most * most))
        damping = np.where(ref1 > 0, 2 / np.maximum(MINVAL, most * ref0), -ref1 / np.maximum(MINVAL, most))
        below, above = 1 / middle, 1 / (1 - middle)
    flat = (least == most) | (width <= MINVAL)
    shape = np.select([flat, power == 1, power == 2], list(PhysicsShape), -1)
    shape[mixed] = _MIXED
    columns = [stiffness, damping, least, most, width, middle, below, above]
    return np.column_stack(columns), shape.astype(np.int32)


class Contacts:
    """Contacts of the pairs of geoms `found`, whose first geom has the lower type, and whose <pair>s are `numbers`.

    Attributes (a row per pair):
        own: int32, who finds them: PhysicsOwn.
        dim, rows (of each contact), shape: int32. margin, begin, friction (five numbers), curve: float64.
        tests: what decides about `own`, of what fields of a model may change: {names of these: bool}.
    """

    def __init__(
        self,
        mujoco: Any,
        model: Any,
        found: NDArray[np.int32],
        numbers: NDArray[np.int32],
        kinds: NDArray[np.int32],
        compiled: Any = None,
    ):
        first, second = found.T.astype(int)
        weld = model.body_weldid[model.geom_bodyid]
        ground = weld[first] == 0
        # A <pair> may be of two bodies that do not move.
        moves = (model.body_treeid[model.geom_bodyid[found]] >= 0).any(1)
        sphere = model.geom_type[second] == int(mujoco.mjtGeom.mjGEOM_SPHERE)
        kind = PhysicsPair
        with_plane = [kind.PLANE_CAPSULE, kind.PLANE_CYLINDER, kind.PLANE_BOX, kind.PLANE_ELLIPSOID]
        on_plane = one_of(kinds, with_plane) | (sphere & (kinds == kind.PLANE_BALL))
        priority = model.geom_priority[first] - model.geom_priority[second]
        self.dim = np.where(
            priority == 0,
            np.maximum(model.geom_condim[first], model.geom_condim[second]),
            np.where(priority > 0, model.geom_condim[first], model.geom_condim[second]),
        ).astype(np.int32)
        self.margin = model.geom_margin[first] + model.geom_margin[second]
        gap = model.geom_gap[first] + model.geom_gap[second]
        one, two, order = model.geom_friction[first], model.geom_friction[second], priority[:, None]
        friction = np.where(order == 0, np.maximum(one, two), np.where(order > 0, one, two))[:, [0, 0, 1, 2, 2]]
        solref, solimp = self._mixed(model, first, second, priority)
        own = numbers >= 0  # of a <pair>
        for values, name in (
            *((self.dim, "dim"), (self.margin, "margin"), (gap, "gap")),
            *((friction, "friction"), (solref, "solref"), (solimp, "solimp")),
        ):
            values[own] = getattr(model, f"pair_{name}")[numbers[own]]
        elliptic = int(model.opt.cone) == int(mujoco.mjtCone.mjCONE_ELLIPTIC)
        self.rows = self.dim if elliptic else np.maximum(1, 2 * self.dim - 2)
        self.begin = self.margin + gap
        self.friction = np.maximum(_MINMU, friction)
        self.curve, self.shape = curves(model, solref, solimp)
        capsules = kinds == kind.CAPSULES
        free = one_of(kinds, [kind.CAPSULES, kind.SPHERE_BOX, kind.CAPSULE_BOX])
        signed = (model.geom_type[found] == int(mujoco.mjtGeom.mjGEOM_SDF)).any(1)
        known = moves & (weld[first] != weld[second]) & ~signed
        if elliptic:  # friction that is damped in its own way
            known[own] &= (model.pair_solreffriction[numbers[own]] == 0).all(1)
        # Before 3.17, MuJoCo looked for contacts of capsules in another way.
        looked = (free | (ground & on_plane)) & (~capsules | since(mujoco, 3, 17))
        self.tests = {
            "geom_gap": gap >= 0,
            "geom_solref or geom_solimp": self.shape >= 0,
            **pruning.tests(mujoco, model, found, own, compiled),
        }
        known = np.logical_and.reduce([known, *self.tests.values()])
        owners = [PhysicsOwn.LOOKED, PhysicsOwn.CALLED]
        self.own = np.select([known & looked, known], owners, PhysicsOwn.NOT).astype(np.int32)

    @staticmethod
    def _mixed(model: Any, first: NDArray[Any], second: NDArray[Any], priority: NDArray[Any]) -> tuple[Any, Any]:
        """solref and solimp, as mj_contactParam mixes them."""
        weight1, weight2 = model.geom_solmix[first], model.geom_solmix[second]
        with np.errstate(all="ignore"):
            mix = weight1 / (weight1 + weight2)
        small1, small2 = weight1 < MINVAL, weight2 < MINVAL
        mix = np.select([small1 & small2, small1, small2], [0.5, 0.0, 1.0], mix)[:, None]
        ref1, ref2 = model.geom_solref[first], model.geom_solref[second]
        imp1, imp2 = model.geom_solimp[first], model.geom_solimp[second]
        standard = ((ref1[:, 0] > 0) & (ref2[:, 0] > 0))[:, None]
        ref = np.where(standard, mix * ref1 + (1 - mix) * ref2, np.minimum(ref1, ref2))
        imp = mix * imp1 + (1 - mix) * imp2
        above, below = (priority > 0)[:, None], (priority < 0)[:, None]
        return (np.where(above, ref1, np.where(below, ref2, ref)), np.where(above, imp1, np.where(below, imp2, imp)))
