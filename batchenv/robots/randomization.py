"""Models that differ from episode to episode."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from batchenv.arguments.numbers import Range, integer
from batchenv.envs.mujoco.drawn import Changes, Pool

if TYPE_CHECKING:
    from batchenv.envs.mujoco.vectorized.view import Lanes


class Randomization:
    """Draws fields of mjModel when episodes start: `scale`, `add` and `set` say which, in the task's prepare; call
    `start` in its start. What MuJoCo computes from a field is computed anew, which takes some milliseconds for
    each lane that starts; with a `pool`, it is done once for each of the pool's models.

    Args:
        model: the task's model. Numbers are drawn around its fields.
        pool: 0: each episode has numbers of its own. n: n models are drawn at first, from `seed`, and each episode has
            one of them. 1,024 models, or 256 MiB of them if that is less, are kept. Where other fields have been set by
            keywords or `env.set_params`, models are made anew each time.
        seed: of the pool.
        name: lanes.NAME has the factors, summands and values drawn for each lane's episode, in the order of the calls,
            if `state` is put into the task's: for critics, which may see them. Snapshots hold them, but not the models.
    """

    def __init__(self, model: Any, *, pool: int = 0, seed: int = 0, name: str = "drawn"):
        self._changes = Changes(model)
        self._pool, self._seed = integer("pool", pool, 0, None), seed
        self._name, self._shown = name, False
        self._made: tuple[dict[str, NDArray[np.float64]], NDArray[np.float64]] | None = None  # the pool

    @property
    def state(self) -> dict[str, ArrayLike]:
        """What remembers the numbers drawn. Ask for it when all calls of `scale`, `add` and `set` have been made."""
        self._shown = True
        return {self._name: np.zeros(self._changes.size)}

    def scale(self, field: str, values: Range, **more: Any) -> None:
        """Multiplies what the model has.

        Args:
            field: a field that `env.set_params` takes, such as body_mass, geom_friction, dof_armature or
                actuator_gainprm.
            values: two numbers, between which factors are drawn from the uniform distribution.
            more: `distribution="log_uniform"`: logarithms of factors are drawn so; "normal": the values are a mean and
                a deviation. `names`: a name or a regular expression: whose numbers; for degrees of freedom, the joints'
                names; without it, those of all. `columns`: which of each thing's numbers, such as 0, the sliding
                friction of geom_friction; without it, all. `together=True`: all things get the same numbers, instead of
                each its own. `with_inertia=True`, of body_mass: body_inertia is scaled as the mass, as that of a body
                of another density.
        """
        self._changes.add(field, "scale", values, **more)

    def add(self, field: str, values: Range, **more: Any) -> None:
        """Adds to what the model has: as `scale`, but with summands."""
        self._changes.add(field, "add", values, **more)

    def set(self, field: str, values: Range, **more: Any) -> None:
        """Replaces what the model has: as `scale`, but with the values themselves."""
        self._changes.add(field, "set", values, **more)

    def start(self, lanes: Lanes) -> None:
        """Gives the lanes whose episodes start models of their own."""
        if self._pool:
            if self._made is None:
                numbers = self._changes.draw(Pool(self._pool, self._seed))
                self._made = self._changes.fields_of(numbers), numbers
            chosen = lanes.integers(0, self._pool)
            rows, drawn = {name: row[chosen] for name, row in self._made[0].items()}, self._made[1][chosen]
        else:
            drawn = self._changes.draw(lanes)
            rows = self._changes.fields_of(drawn)
        lanes.set_model(**rows)
        if self._shown:
            getattr(lanes, self._name)[:] = drawn
