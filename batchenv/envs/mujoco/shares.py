"""What share of a lane's steps MuJoCo itself has computed so far, and why: what `get_attr("physics")` says."""

from __future__ import annotations

from typing import Any

import numpy as np

from batchenv import _core
from batchenv._core import PhysicsOwn

Lanes = Any  # library.Lanes; that module imports this one
_MOST_KINDS = 4  # of pairs of geoms that are named
_MOST_LANES, _FEW_STEPS = 64, 100  # how many lanes speak for all, and up to how many steps of each nothing is said


def told(mujoco: Any, lanes: Lanes, lane: int, alone: list[str]) -> str:
    """How the lane is stepped. alone: why it takes mj_step, if it does."""
    if alone:
        return f"alone, by mj_step: {'; '.join(alone)}"
    return _told(mujoco, lanes, lanes.source.model(lane), *lanes.source.counts(lane))


def _told(
    mujoco: Any, lanes: Lanes, model: Any, together: int, by_cause: list[int], left: list[int], called: int
) -> str:
    text = f"together with others ({lanes.isa})"
    steps = together + sum(by_cause)
    if not steps:
        return text
    text += f": {_share(together, steps)} of {steps:,} steps of MuJoCo"
    if together < steps:
        text += f", the others by mj_step ({_reasons(by_cause, steps, _core.MUJOCO_ALONE)})"
    return "; ".join([text, *by_mujoco(mujoco, model, lanes.plan, together, left, called)])


def warning(mujoco: Any, lanes: Lanes) -> str:
    """What to warn of when lanes are closed that could be stepped together: that MuJoCo did most of their work, and
    why; "" if it did not, or if there were few steps."""
    if lanes.plan is None:
        return ""
    counts = [lanes.source.counts(lane) for lane in range(min(len(lanes), _MOST_LANES))]
    together, called = (sum(row[k] for row in counts) for k in (0, 3))
    by_cause, left = (np.sum([row[k] for row in counts], axis=0).tolist() for k in (1, 2))
    alone = sum(by_cause)
    solved = sum(left) / _evaluations(lanes.model)  # as steps
    if together + alone < _FEW_STEPS * len(counts) or 2 * (alone + solved) < together + alone:
        return ""
    return "MuJoCo did most of the work of lanes, which therefore gained little: they were stepped " + _told(
        mujoco, lanes, lanes.model, together, by_cause, left, called
    )


def _evaluations(model: Any) -> int:
    """How many evaluations of accelerations a step has: Runge-Kutta has four."""
    return 4 if int(model.opt.integrator) == 1 else 1


def by_mujoco(mujoco: Any, model: Any, plan: Any, steps: int, left: list[int], called: int) -> list[str]:
    """What MuJoCo did in `steps` steps of groups, and why: `left` and `called` are as MujocoSource.counts has them."""
    evaluations = steps * _evaluations(model)
    names = list(_core.PHYSICS_LEFT)
    names[_core.PHYSICS_LEFT_PAIRS] += f" ({_kinds(mujoco, model, plan, PhysicsOwn.NOT)})"
    found = []
    if sum(left):
        solved = f"MuJoCo solved the constraints of {_share(sum(left), evaluations)} of their evaluations"
        found.append(f"{solved}: {_reasons(left, evaluations, names)}")
    if called:
        looked = f"MuJoCo's functions looked for contacts in {_share(called, evaluations)}"
        found.append(f"{looked} ({_kinds(mujoco, model, plan, PhysicsOwn.CALLED)})")
    return found


def _share(part: int, whole: int) -> str:
    percent = 100 * part / whole
    return f"{min(percent, 99.9) if part < whole else percent:.3g}%"


def _reasons(counts: list[int], whole: int, names: Any) -> str:
    found = [(count, name) for count, name in zip(counts, names, strict=True) if count]
    return ", ".join(f"{_share(count, whole)} {name}" for count, name in sorted(found, reverse=True))


def _kinds(mujoco: Any, model: Any, plan: Any, own: PhysicsOwn) -> str:
    """The kinds of the pairs of geoms that are `own`."""
    chosen = plan.pairs[plan.contacts.own == own]

    def kind(geom: int) -> str:
        return str(mujoco.mjtGeom(int(model.geom_type[geom])).name).removeprefix("mjGEOM_").lower()

    kinds = np.unique([f"{kind(one)} and {kind(two)}" for one, two in chosen]).tolist()
    return ", ".join(kinds[:_MOST_KINDS]) + (", ..." if len(kinds) > _MOST_KINDS else "")
