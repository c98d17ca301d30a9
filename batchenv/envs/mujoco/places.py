"""Where in a model fields of a task's state belong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

# Field of the lanes' state, field of mjModel, kind and name of a thing, columns of its row. Things that a model of the
# user's own does not have are not shown. A name of "" is the first thing of its kind.
Row = tuple[str, str, str, str, Sequence[int]]

# The array of a row whose field has the numbers of the model's site_pos themselves. With "site_pos", the field says
# where in the world the site is.
SITE_POS = "site_pos as it is"


class Place(NamedTuple):
    """Where a field of the state is in a model: in which columns of a row of one of its arrays, or in which numbers of
    an array without rows."""

    field: str
    array: str
    number: int
    columns: list[int]
    origin: NDArray[np.float64] | float = 0.0

    def put(self, model: Any, numbers: Any) -> None:
        values = getattr(model, self.array)
        (values if values.ndim == 1 else values[self.number])[self.columns] = numbers - self.origin


def find(mujoco: Any, model: Any, rows: Sequence[Row]) -> list[Place]:
    """Where they are in this model, if it has them."""
    found = []
    for field, array, kind, name, columns in rows:
        number = mujoco.mj_name2id(model, getattr(mujoco.mjtObj, f"mjOBJ_{kind.upper()}"), name) if name else 0
        if number >= 0:
            origin = _origin(model, number)[list(columns)] if array == "site_pos" else 0.0
            found.append(Place(field, "site_pos" if array == SITE_POS else array, number, list(columns), origin))
    return found


def _origin(model: Any, site: int) -> NDArray[np.float64]:
    """Where the middle of a site's body is in the world, if the body only is somewhere else: a task's fields say where
    in the world sites are."""
    body, origin = int(model.site_bodyid[site]), np.zeros(3)
    while body:
        origin, body = origin + model.body_pos[body], int(model.body_parentid[body])
    return origin
