"""Numbers of an episode that belong to a model in the reference, and to the lanes' own state here.

Some tasks move a target at the start of each episode. Nothing in the physics depends on it (where something does, see
acting.py), so the lanes' models, which they may share, stay as they are. But whoever looks at a lane, at its picture or
its `model` and `data`, is to see the target: what is shown is a copy of the lane's model with these numbers in it.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from typing import Any

from batchenv.envs.mujoco import library
from batchenv.envs.mujoco.places import Place, Row, find
from batchenv.system import memory


class Shown:
    """Makes the models of `lanes` as they are to be seen. batch: what has the lanes' state. copies: whoever borrows a
    model changes it."""

    def __init__(self, lanes: library.Lanes, batch: Any, rows: Sequence[Row], copies: bool = False):
        self._lanes, self._batch = lanes, batch
        self._places: list[Place] = find(library.load()[0], lanes.model, rows)
        self._copies = copies or bool(self._places)
        self._like: Any = None  # what the model that `borrowed` yields was copied from
        self._lent: Any = None

    def models(self) -> list[Any]:
        """A model per lane, which is the caller's. Lanes have the same one where they share it and show the same."""
        models = [self._lanes.source.model(lane) for lane in range(len(self._lanes))]
        if not self._places:  # of some MB each
            copies = {id(model): copy.copy(model) for model in {id(one): one for one in models}.values()}
            return [copies[id(model)] for model in models]
        size = self._lanes.model.nbuffer * len(models)
        memory.check(f"{len(models)} models, each with what its lane shows", size, size)
        state = self._batch.state()
        return [self._put(copy.copy(model), state, lane) for lane, model in enumerate(models)]

    def borrowed(self, chosen: Sequence[int]) -> Iterator[Any]:
        """The models of lanes, one after the other, each to be looked at until the next one."""
        state = self._batch.state() if self._places else {}
        for lane in chosen:
            model = self._lanes.source.model(lane)
            if self._copies and self._like is not model:
                self._like, self._lent = model, copy.copy(model)
            yield self._put(self._lent, state, lane) if self._copies else model

    def _put(self, model: Any, state: dict[str, Any], lane: int) -> Any:
        for place in self._places:
            place.put(model, state[place.field][lane])
        return model
