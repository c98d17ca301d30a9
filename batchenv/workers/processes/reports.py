"""What workers have reported of lanes, until the user gets it as the lanes' results."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from batchenv import _core
from batchenv.backend.protocol import InfoDict
from batchenv.backend.results import RowInfos, parted
from batchenv.workers.backend import NOTES, gather
from batchenv.workers.parts import SpaceParts
from batchenv.workers.processes.lane_states import Event, LaneStates
from batchenv.workers.processes.merge import merged
from batchenv.workers.processes.pool import WorkerPool, WorkerReport
from batchenv.workers.processes.process import WorkerDied, revived
from batchenv.workers.processes.protocol import BROKEN, FAILED, KEYS, OBJECTS, Verb, text_of


class Reports:
    """See above. Whatever a worker reports without a payload, `_core.RemoteLanes` notes by itself.

    Args:
        core: the batch of all lanes.
        parts: of observations.
        pool: of the workers, whose memory has been made.
        flight: of the lanes.
        bounds: see `WorkerPool`.

    Attributes:
        states: of the lanes.
        numbers: in infos.
        infos: {first lane: infos of the lanes from there on}.
        objects: per lane, the parts of its present observation that are no arrays.
        answers: {worker: its answer to the last question}.
        apart: see `Backend.tell_apart`.
        stage: of `core`; None: it has none.
        planned: whether lanes follow a plan; labels: those of its entries, and a last one for none; or None.
    """

    def __init__(self, core: _core.Batch, parts: SpaceParts, pool: WorkerPool, flight: _core.Flight, bounds: list[int]):
        self._core, self._parts, self._pool, self._flight = core, parts, pool, flight
        self._columns = pool.memory.columns
        self._all = range(bounds[-1])
        pool.owner = weakref.proxy(self)
        self.states = LaneStates(bounds[-1])
        values, masks = pool.memory.numbers
        self.numbers = _core.Numbers(values, masks, bounds)
        self.infos: dict[int, dict[str, Any]] = {}
        self.objects: list[Any] = [None] * bounds[-1]
        self.answers: dict[int, Any] = {}
        self.apart = False
        self.stage: Any = None
        self.planned = False
        self.labels: NDArray[Any] | None = None
        self._broken: BaseException | None = None  # what a worker could not do: an exception of batchenv's own

    # ---- what comes ----------------------------------------------------------------------------------------------

    def note(self, report: WorkerReport) -> None:
        """Keeps what a worker has reported. May be called again with the same report."""
        if report.verb == Verb.CALL:
            self.answers[report.worker] = report.payload
            return
        lane, infos = report.lane, report.payload or {}
        if KEYS in infos:
            self.numbers.learn(report.worker, *infos.pop(KEYS))
        for failed, failure in infos.pop(FAILED, {}).items():
            self.states.fail(Event.FAILURE, failed, revived(failure))
        if BROKEN in infos:
            self._broken = revived(infos.pop(BROKEN))
            self.states.all_running = False
        for k, objects in enumerate(infos.pop(OBJECTS, ())):
            self.objects[lane + k] = objects
        if report.numbers:
            self.numbers.mark(report.worker, lane if report.verb == Verb.LANE else -1, report.numbers)
        if infos:
            self.infos[lane] = infos
        if report.verb == Verb.LANE:
            self._flight.land(lane, self._pool.messages)

    def lose(self, worker: int, why: WorkerDied) -> None:
        """See `Owner.lose`. What the worker owed counts as reported: these lanes have failed."""
        lanes = self._pool.lanes_of(worker)
        owed = [lane for lane in lanes if self._flight.owes(lane)]
        self.show_failed(owed if self._flight.count else list(lanes))
        for lane in lanes:
            if self._flight.has_landed(lane):
                self.states.fail(Event.LATE_DEATH, lane, why)
                notes, _ = self.infos.setdefault(lane, {}).setdefault(NOTES, ([], []))
                notes += self.numbers.notes(np.array([lane]))
            else:
                self.states.fail(Event.DEATH, lane, why)
        self.numbers.forget(worker)
        for lane in owed:
            self._flight.land(lane)

    def show_failed(self, lanes: list[int]) -> None:
        """Writes the rows of lanes that have failed."""
        for column in self._columns:
            column[lanes] = 0
        self._columns[-1][lanes] = True
        for lane in lanes:
            self.objects[lane] = None

    def drop(self) -> None:
        """Forgets what has been reported."""
        self.infos.clear()
        self.numbers.drop()
        self.states.forgive(Event.DROP, self._all)
        self._broken = None

    # ---- what the user gets --------------------------------------------------------------------------------------

    def results(self, lanes: NDArray[np.int64] | None, out: Any, resets: Any = None) -> Any:
        """What a step returns, of lanes (None: of all). out: from `_core.take_actions`; resets: see `_core.adopt`.

        Raises:
            LaneError: lanes have failed. InfosDiffer: infos cannot be put together. Exception: a worker could not do
                what it was asked for.
        """
        if self._broken is not None:
            broken, self._broken = self._broken, None
            raise broken
        arrays = _core.adopt(self._core, self._columns, lanes, out, resets)
        failed = self.states.hand_over(self._numbers(lanes))
        try:
            infos = self._taken_infos(lanes)
        except _core.InfosDiffer:  # when the lanes' states have been noted
            if not failed:
                raise
            infos = {} if lanes is None else {"env_id": lanes}
        known, _, _ = parted(infos)
        if self.stage is not None and "final_obs" in known:
            self._observe_finals(known["final_obs"], np.flatnonzero(known["_final_obs"]))
        result = (self.observations(arrays[0], lanes), *arrays[1:], infos)
        if failed:
            raise _lane_error(failed, result)
        return result

    def restored(self, lanes: NDArray[np.int64]) -> Any:
        """The observations of all lanes, of which these have been restored."""
        return self.observations(_core.adopt(self._core, self._columns, None, None, restored=lanes)[0], None)

    def observations(self, arrays: Any, lanes: NDArray[np.int64] | None) -> Any:
        """Observations of lanes (None: of all), of which these are the parts that are arrays."""
        if not self._parts.objects:
            return arrays
        return self._parts.join(arrays, [self.objects[lane] for lane in self._numbers(lanes)])

    def gathered(
        self, infos: InfoDict, notes: tuple[RowInfos, RowInfos], lanes: NDArray[np.int64] | None
    ) -> dict[str, Any]:
        """Infos of lanes (None: of all) with what their envs have said."""
        if lanes is not None:
            infos["env_id"] = lanes
            infos.pop("_env_id", None)  # an env's own
        return gather(infos, *notes, self._numbers(lanes), self.apart)

    def _numbers(self, lanes: NDArray[np.int64] | None) -> Sequence[int]:
        return self._all if lanes is None else lanes.tolist()

    def _taken_infos(self, lanes: NDArray[np.int64] | None) -> dict[str, Any]:
        """What was reported of lanes beside arrays."""
        numbers = self._numbers(lanes)
        if lanes is None:
            reported = sorted(self.infos.items())
            self.infos.clear()
        else:
            reported = [(row, self.infos.pop(lane)) for row, lane in enumerate(numbers) if lane in self.infos]
        notes: tuple[RowInfos, RowInfos] = ([], [])
        for first, infos in reported:
            for together, some in zip(notes, infos.pop(NOTES, ((), ())), strict=True):
                together += [(first + row, info) for row, info in some]
        infos = merged(reported, len(numbers))
        if self.planned and "entry" in infos.get("episode", ()):
            infos["episode"]["entry"][~infos["_episode"]] = _core.NO_ENTRY
            if self.labels is not None:
                infos["episode"]["label"] = self.labels[infos["episode"]["entry"]]
        columns = None if notes[0] or self.apart else self.numbers.take(lanes)
        if columns is None:  # a key may have numbers and others, which Gymnasium decides in the order of lanes
            notes[0].extend(self.numbers.notes(lanes))
            notes[0].sort(key=lambda note: note[0])
        else:
            infos.update(columns)
        return self.gathered(infos, notes, lanes)

    def _observe_finals(self, final: NDArray[Any], rows: NDArray[np.int64]) -> None:
        """Does with these rows what is done here with observations."""
        raw = np.stack([final[row] for row in rows])
        seen = np.empty(raw.shape, self.stage.observation_dtype or raw.dtype)
        self.stage.observe(raw, seen)
        for row, one in zip(rows, seen, strict=True):
            final[row] = one


def _lane_error(failed: dict[int, BaseException], result: Any) -> _core.LaneError:
    """What is raised if these lanes have failed in a call that returns `result`."""
    first = list(failed.items())[:5]
    error = _core.lanes_failed(
        np.array(list(failed)), [f"{type(cause).__name__}: {text_of(cause)}" for _, cause in first], result
    )
    error.causes = failed
    error.__cause__ = first[0][1]
    return error
