"""What share of a lane's steps MuJoCo itself has computed so far, and why: what `get_attr("physics")` says."""

from __future__ import annotations

from typing import Any

import numpy as np

from batchenv import _core
from batchenv._core import PhysicsOwn

Lanes = Any  # library.Lanes; that module imports this one
_MOST_KINDS = 4  # of pairs of geoms that are named


def told(mujoco: Any, lanes: Lanes, lane: int, alone: list[str]) -> str:
    """How the lane is stepped. alone: why it takes mj_step, if it does."""
    if alone:
        return f"alone, by mj_step: {'; '.join(alone)}"
    text = f"together with others ({lanes.isa})"
    together, by_cause, left, called = lanes.source.counts(lane)
    steps = together + sum(by_cause)
    if not steps:
        return text
    text += f": {_share(together, steps)} of {steps:,} steps of MuJoCo"
    if together < steps:
        text += f", the others by mj_step ({_reasons(by_cause, steps, _core.MUJOCO_ALONE)})"
    model = lanes.source.model(lane)
    return "; ".join([text, *by_mujoco(mujoco, model, lanes.plan, together, left, called)])


def by_mujoco(mujoco: Any, model: Any, plan: Any, steps: int, left: list[int], called: int) -> list[str]:
    """What MuJoCo did in `steps` steps of groups, and why: `left` and `called` are as MujocoSource.counts has them."""
    evaluations = steps * (4 if int(model.opt.integrator) == 1 else 1)  # Runge-Kutta has four in a step
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
