"""Fields of a task's state that are a part of its lanes' models, and act on the physics.

A task draws them anew for each episode. Lanes share a model, so the C core copies them to the model with which a lane
is about to be stepped (be_mujoco_acting in csrc/engines/mujoco/mujoco.h), or to the lane's numbers in a group.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from batchenv.envs.mujoco.features import one_of
from batchenv.envs.mujoco.places import Place


class Acting(NamedTuple):
    """One of these fields: its number among the batch's, and where it is in the model."""

    field: int
    place: Place

    def row(self, model: Any) -> tuple[int, str, int, int, int]:
        """As `MujocoSource.put_acting` has it."""
        columns = np.asarray(self.place.columns)
        first = int(columns[0]) + self.place.number * self._width(model)
        (step,) = set(np.diff(columns).tolist()) or {1}
        return self.field, self.place.array, len(columns), first, step

    def _width(self, model: Any) -> int:
        values = getattr(model, self.place.array)
        return values.shape[1] if values.ndim > 1 else 0


def numbers(plan: Any, rows: Sequence[Acting], plan_of: Any) -> tuple[str, list[NDArray[np.int64]], bool]:
    """Why groups do not know what these fields do, or ""; and the arguments of `MujocoSource.act_in_groups`.

    plan: the physics.Plan of the lanes' model. plan_of: makes that of another model.

    It is found out with a model that has numbers in these places which are nowhere else: where they turn up among a
    group's numbers, as they are, groups read them; and nothing else may change.
    """
    model, marks, count = copy.copy(plan.model), list[NDArray[np.float64]](), 0
    for row in rows:
        values = getattr(model, row.place.array)
        if values.dtype != np.float64:
            return f"{row.place.array} differs from lane to lane", [], False
        marks.append(0.1 + np.sqrt(np.arange(count, count + len(row.place.columns)) + 2.0) / 64)
        count += len(row.place.columns)
        row.place.put(model, marks[-1])
    changed = plan_of(model)
    why = changed.unlike(plan)
    if why:
        return why[0], [], False
    differ = np.flatnonzero(changed.floats != plan.floats)
    digest = plan.start_of("still_digest")
    moves_still = bool(one_of(differ, (digest, digest + 1)).any())
    differ = differ[~one_of(differ, (digest, digest + 1))]
    read = changed.floats[differ]
    found = [[(k, place) for k, mark in enumerate(row) for place in differ[read == mark]] for row in marks]
    pairs = [np.array(row, np.int64).reshape(-1, 2) for row in found]
    known = sum(map(len, pairs))
    if known != len(differ) or any(len(set(pair[:, 0])) != len(row) for pair, row in zip(pairs, marks, strict=True)):
        names = ", ".join(row.place.array for row in rows)
        return f"{names} differ from lane to lane, and more depends on them than groups know", [], False
    return "", pairs, moves_still
