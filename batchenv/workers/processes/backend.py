"""The backend for environments written in Python whose lanes are stepped in other processes."""

from __future__ import annotations

import contextlib
import itertools
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from batchenv import _core
from batchenv.backend.core import CoreBackend
from batchenv.backend.protocol import Drawer, Shortcuts
from batchenv.backend.results import Notes, parted
from batchenv.backend.snapshot import Snapshot
from batchenv.backend.transforms import DEFAULTS
from batchenv.workers import saved
from batchenv.workers.backend import (
    NOTES,
    PythonDrawer,
    PythonTranslator,
    gather,
    generators,
    new_name,
    rows_of_actions,
)
from batchenv.workers.parts import Parts
from batchenv.workers.processes import trial
from batchenv.workers.processes.memory import Plan
from batchenv.workers.processes.merge import merged
from batchenv.workers.processes.pool import Crew, Owner, Report
from batchenv.workers.processes.process import WorkerDied, pack, pack_options, revived
from batchenv.workers.processes.worker import BROKEN, FAILED, KEYS, OBJECTS, Job, Verb, text_of
from batchenv.workers.saved import Saved
from batchenv.workers.stepwise import stepwise

_PARENTS = ("normalize_observation", "clip_observation", "normalize_reward", "reward_dtype")  # moments are of all lanes


class ProcessBackend(CoreBackend, Owner):
    """See `Backend`. A worker process has neighbouring lanes, for which it does all that the C core does for
    lanes in one process; here, their rows are put together.

    Args:
        env_id: used in messages.
        makers: a function per lane that makes its env.
        num_workers: how many processes there are.
        step_timeout: see `Crew`.
        start_method: see `Crew`.
        on_failure, snapshots: see `PythonBackend`.
        **options: as `CoreBackend`.
    """

    kind = "processes"
    has_envs = True

    def __init__(
        self,
        env_id: str,
        makers: Sequence[Callable[[], Any]],
        num_workers: int,
        step_timeout: float | None,
        start_method: str | None,
        on_failure: str,
        snapshots: str | None,
        **options: Any,
    ):
        count = len(makers)
        self._mode: AutoresetMode = options["autoreset_mode"]
        theirs = {**options, "threads": 1, "cpus": None, "copy": True, "on_failure": on_failure}
        theirs["snapshots"] = self._snapshots = snapshots
        theirs["transforms"] = {**options["transforms"], **{name: DEFAULTS[name] for name in _PARENTS}}
        bounds = np.linspace(0, count, num_workers + 1).round().astype(int).tolist()
        cpus = options["cpus"] or [None] * num_workers
        jobs = []
        for cpu, (first, end) in zip(cpus, itertools.pairwise(bounds), strict=False):
            own = {**theirs, "batch_size": end - first}
            jobs.append(pack(Job(env_id, list(makers[first:end]), first, cpu, own)))
        self._worker_of = np.repeat(np.arange(num_workers), np.diff(bounds)).tolist()
        self._crew = Crew(self, jobs, bounds, step_timeout, start_method)
        try:
            like = self._crew.like
            self._raw, self._actions = like.observation_space, like.action_space
            self.metadata, self.render_mode = like.metadata, like.render_mode
            self.observations, self._action_parts = Parts(self._raw), Parts(self._actions, either=True)
            lanes = _core.PythonLanes(
                new_name(env_id),
                [tuple(port) for port in self.observations.ports],
                [tuple(port) for port in self._action_parts.ports],
                count,
            )
            super().__init__(env_id, PythonTranslator(lanes), count, params={}, **options)
            self._crew.share(Plan(count, num_workers, 2 * max(np.diff(bounds)) + 16, *_core.columns_of(self.core)))
        except BaseException:
            self._crew.end()
            raise
        self._memory = self._crew.memory
        self._numbers = _core.Numbers(*self._memory.numbers, bounds)
        self._said: dict[int, dict[str, Any]] = {}  # per first lane, what was reported beside arrays
        self._objects: list[Any] = [None] * count  # parts of the lanes' present observations that are no arrays
        self._flight = _core.Flight(self.core, options["batch_size"])
        self._renewed = np.zeros(count, np.bool_)  # in a new process, and not reset there
        self._broken: BaseException | None = None  # what a worker could not do: an exception of batchenv's own
        self._lost: dict[int, BaseException] = {}  # lanes whose failure has not been raised
        self._gone: dict[int, BaseException] = {}  # lanes whose result comes first, and then a failure
        self._unlike: _core.InfosDiffer | None = None  # of the present call, if its infos cannot be put together
        self._ready, self._torn = False, ""
        self._remote = _core.Remote(
            weakref.ref(self),
            self.core,
            self._memory.mail,
            self._flight,
            self._numbers,
            self._worker_of,
            self._memory.columns,
            self._memory.actions,
            self._said,
            self._crew.letters,
        )

    @property
    def num_threads(self) -> int:
        """See `Backend`."""
        return len(self._crew)

    def close(self) -> None:
        """See `Backend.close`. Envs get a second to close, and are ended then."""
        if not self.closed:
            super().close()
            self._crew.close()

    def measured(self, num_envs: int, cpus: int) -> int:
        """How many workers suit so many lanes of this env on so many CPUs: see `trial`. Its first lane is stepped. Each
        of its calls is a request of its own, and so has as long as `step_timeout`."""
        cost = trial.mean_cost(lambda: self._ask({0: ("try_env", ())})[0])
        return trial.suitable(cost, self._overhead(), num_envs, cpus)

    def _overhead(self) -> float:
        """The seconds that it takes to ask a worker for something and to get its answer: the median of a few."""
        took = []
        for _ in range(31):
            start = time.perf_counter()
            for number in range(len(self._crew)):
                self._crew.post(number, Verb.NOTHING)
            self._settle()
            took.append(time.perf_counter() - start)
        return sorted(took)[len(took) // 2]

    # ---- reports -------------------------------------------------------------------------------------------------

    def lose(self, number: int, why: WorkerDied) -> None:
        """See `Owner.lose`. What the worker owed is reported as failed lanes."""
        lanes = list(self._crew.lanes_of(number))
        owed = [lane for lane in lanes if self._flight.owes(lane)]
        self._remote.calm = False
        self._clear(owed if self._flight.count else lanes)
        for lane in lanes:
            self._objects[lane] = None
        self._renewed[lanes] = True
        for lane in lanes:
            if not self._flight.has_landed(lane):
                self._lost[lane] = why
            elif lane not in self._lost:  # its result has come before
                self._gone[lane] = why
                told, _ = self._said.setdefault(lane, {}).setdefault(NOTES, ([], []))
                told += self._numbers.notes(np.array([lane]))
        self._numbers.forget(number)
        for lane in owed:
            self._flight.land(lane)

    def _clear(self, lanes: list[int]) -> None:
        """Writes the rows of lanes that have failed."""
        for column in self._memory.columns:
            column[lanes] = 0
        self._memory.columns[-1][lanes] = True

    def _settle(self) -> None:
        """Waits for all that workers owe, and drops it. A worker that has died has a successor then: a reset of all
        lanes loses nothing by its death, and so does not report it."""
        for report in self._crew.reports(self._crew.nothing_due):
            self._learn(report)
        self._crew.look_after()
        self._flight.clear()
        self._said.clear()
        self._numbers.drop()
        self._lost.clear()
        self._gone.clear()
        self._broken = None

    def _hear(self) -> None:
        """Waits for all that workers owe.

        Raises:
            Exception: a worker could not do it.
        """
        for report in self._crew.reports(self._crew.nothing_due):
            self._note(report)
        self._flight.clear(landed_only=True)
        self._refuse_broken()

    def _refuse_broken(self) -> None:
        """Raises what a worker could not do, which has not been raised yet."""
        broken, self._broken = self._broken, None
        try:
            if broken is not None:
                raise broken
        finally:
            del broken  # as in `_raised`

    def _note(self, report: Report) -> None:
        """Keeps what was said beside arrays."""
        if report.verb == Verb.CALL:  # the answer to a question that Ctrl-C has interrupted
            return
        self._learn(report)
        lane, said = report.lane, report.said or {}
        for failed, told in said.pop(FAILED, {}).items():
            self._lost[failed] = revived(told)
            self._remote.calm = False
        if BROKEN in said:
            self._broken = revived(said.pop(BROKEN))
            self._remote.calm = False
        for k, objects in enumerate(said.pop(OBJECTS, ())):
            self._objects[lane + k] = objects
        if report.numbers:
            self._numbers.mark(report.worker, lane if report.verb == Verb.LANE else -1, report.numbers)
        if said:
            self._said[lane] = said
        if report.verb == Verb.LANE:
            self._flight.land(lane, self._crew.letters)

    def _learn(self, report: Report) -> None:
        """Keeps what will be needed even if the report is dropped."""
        if report.said and KEYS in report.said:
            self._numbers.learn(report.worker, *report.said.pop(KEYS))

    @contextlib.contextmanager
    def _whole(self) -> Iterator[None]:
        """A call that is interrupted leaves lanes that have done it beside others that have not."""
        try:
            yield
        except BaseException:
            self.tear()
            raise

    def tear(self) -> None:
        """Notes that some lanes have done a call, and others have not."""
        self._ready = self._remote.calm = False
        self._torn = _core.INTERRUPTED

    # ---- what BatchEnv calls -------------------------------------------------------------------------------------

    @property
    def needs_reset(self) -> bool:
        """See `Backend`."""
        return not self._ready

    def shortcuts(self) -> Shortcuts:
        if self.observations.objects or self._action_parts.objects or self._mode is AutoresetMode.DISABLED:
            return Shortcuts()
        return Shortcuts(self._remote.step, self._remote.send, self._remote.recv)

    def tell_apart(self) -> None:
        self._remote.apart = True

    def _spaces(self) -> tuple[spaces.Space, spaces.Space]:
        return self._raw, self._actions

    def _in_core(self) -> bool:
        return not self.observations.objects

    def _refuse_foreign(self, doing: str) -> None:
        if self._crew.foreign:
            raise RuntimeError(f"{doing} in a forked process: its workers are the parent's; make a new env here")

    def _check(self, doing: str, lanes: str = "") -> None:
        """Refuses what needs lanes that have been reset. lanes: also refuses if any is in flight, and says this."""
        self._refuse_foreign(doing)
        self._crew.mend()
        if self._torn:
            raise ResetNeeded(f"{doing} needs a reset first: {self._torn}; call env.reset()")
        if not self._ready:
            raise ResetNeeded(f"Cannot call {doing} before calling env.reset()")
        if lanes:
            self._flight.refuse(lanes)

    def reset(
        self, seeds: Any, mask: NDArray[np.bool_] | None, options: dict[str, Any] | None
    ) -> tuple[Any, dict[str, Any]]:
        packed = pack_options(options)
        if mask is None:
            if self._crew.foreign:
                self._check("env.reset()")
            self._settle()
        else:
            self._check("env.reset(options={'reset_mask': ...})", "reset() of some lanes")
        for lane in range(self.num_envs) if mask is None else np.flatnonzero(mask).tolist():
            self._lost.pop(lane, None)
        with self._whole():
            self._order_resets(seeds, mask, packed, one_by_one=False)
            self._hear()
        self._renewed[... if mask is None else mask] = False
        self._ready, self._torn = True, ""
        observations, _, _, _, infos = self._told(None, None, True if mask is None else mask)
        return self._raised((observations, infos), None)

    def _order_resets(self, seeds: Any, mask: Any, options: bytes | None, one_by_one: bool) -> None:
        self._remote.calm = False
        for number in range(len(self._crew)):
            lanes = self._crew.lanes_of(number)
            own = None if mask is None else mask[lanes.start : lanes.stop]
            if own is not None and not own.any():
                continue
            some = seeds + lanes.start if isinstance(seeds, int) else seeds and seeds[lanes.start : lanes.stop]
            told = (some, own, options, list(lanes) if one_by_one else None)
            self._crew.post(number, Verb.RESET, lanes.start, told, len(lanes) if one_by_one else 1)

    def step(self, actions: Any, out: Any) -> Any:
        self._check("env.step()", "step()")
        self._refuse_pending(None, "stepping", "no lane has been stepped")
        out, taken = self._take(actions, None, out)
        with self._whole():
            self._order_all(taken)
            self._hear()
        return self._raised(self._told(None, out), None)

    def finish_step(self, out: Any) -> Any:
        """What `step` returns, when all workers have been asked for it. `out`: as `take_orders` has returned it."""
        with self._whole():
            self._hear()
        return self._raised(self._told(None, out), None)

    def _order_all(self, taken: list[Any] | None) -> None:
        """Asks for a step of all lanes. taken: their actions, if these are no arrays."""
        for number in range(len(self._crew)):
            lanes = self._crew.lanes_of(number)
            if self._renewed[lanes.start : lanes.stop].any():
                for lane in lanes:
                    self._order_lane(lane, taken and taken[lane])
            else:
                self._crew.post(number, Verb.STEP, lanes.start, taken and taken[lanes.start : lanes.stop])

    def step_some(self, actions: Any, env_id: Any, out: Any) -> Any:
        self._check("env.step()", "step()")
        lanes = self._flight.lanes(env_id, "no lane has been stepped")
        self._refuse_pending(lanes, "stepping", "no lane has been stepped")
        out, taken = self._take(actions, lanes, out)
        with self._whole():
            self._submit(lanes, taken)
            self._hear()
        self._flight.clear()
        return self._raised(self._told(lanes, out), lanes)

    def _take(self, actions: Any, lanes: NDArray[np.int64] | None, out: Any) -> tuple[Any, list[Any] | None]:
        """Checks actions and `out`. Actions are written where workers read them, or returned if they are no arrays."""
        taken = None
        if self._action_parts.objects:
            count = self.num_envs if lanes is None else len(lanes)
            taken = rows_of_actions(self._actions, actions, count)
            actions = {self._action_parts.ports[0].name: np.zeros(count, np.uint8)}
        return _core.take_orders(self.core, actions, lanes, self._memory.actions, out), taken

    def _submit(self, lanes: NDArray[np.int64], taken: list[Any] | None) -> None:
        self._flight.depart(lanes)
        for k, lane in enumerate(lanes.tolist()):
            self._order_lane(lane, taken and taken[k])

    def _order_lane(self, lane: int, taken: Any) -> None:
        """Asks for a step of one lane. If its process is a new one, the step starts an episode there."""
        number = self._worker_of[lane]
        if lane in self._lost:  # its process has died since it was received last
            self._clear([lane])
            self._flight.land(lane)
        elif self._renewed[lane]:
            self._renewed[lane] = False
            own = np.array(self._crew.lanes_of(number)) == lane
            self._crew.post(number, Verb.RESET, lane, (None, own, None, [lane]))
        else:
            self._crew.post(number, Verb.LANE, lane, None if taken is None else [taken])

    def _refuse_pending(self, lanes: NDArray[np.int64] | None, doing: str, ending: str) -> None:
        if self._mode is not AutoresetMode.DISABLED:
            return
        terminations, truncations = self._memory.columns[-2:]  # the worker says there which lanes wait for a reset
        pending = terminations | truncations
        ended = np.flatnonzero(pending) if lanes is None else lanes[pending[lanes]]
        if len(ended):
            raise _core.lane_pending(ended[0], doing, ending)

    def _told(self, lanes: NDArray[np.int64] | None, out: Any, resets: Any = None) -> Any:
        """The results of lanes (None: of all) that have been reported. resets: see `_core.adopt`."""
        observations, rewards, terminations, truncations = _core.adopt(
            self.core, self._memory.columns, lanes, out, resets
        )
        observations = self._observed(observations, lanes)
        try:
            infos, self._unlike = self._infos(lanes), None
        except _core.InfosDiffer as problem:  # when the lanes' states have been noted
            infos, self._unlike = {} if lanes is None else {"env_id": lanes}, problem
        known, _, _ = parted(infos)
        if self._stage is not None and "final_obs" in known:
            self._observe_finals(known["final_obs"], np.flatnonzero(known["_final_obs"]))
        return observations, rewards, terminations, truncations, infos

    def _observed(self, arrays: Any, lanes: NDArray[np.int64] | None) -> Any:
        """Observations of lanes (None: of all), of which these are the parts that are arrays."""
        if not self.observations.objects:
            return arrays
        numbers = range(self.num_envs) if lanes is None else lanes.tolist()
        return self.observations.join(arrays, [self._objects[lane] for lane in numbers])

    def _observe_finals(self, final: NDArray[Any], rows: NDArray[np.int64]) -> None:
        """Does with these rows what is done here with observations."""
        raw = np.stack([final[row] for row in rows])
        seen = np.empty(raw.shape, self._stage.observation_dtype or raw.dtype)
        self._stage.observe(raw, seen)
        for row, one in zip(rows, seen, strict=True):
            final[row] = one

    def _infos(self, lanes: NDArray[np.int64] | None) -> dict[str, Any]:
        """What was said of lanes beside arrays."""
        if lanes is None:
            said = sorted(self._said.items())
            self._said.clear()
        else:
            said = [(row, self._said.pop(lane)) for row, lane in enumerate(lanes.tolist()) if lane in self._said]
        rows = self.num_envs if lanes is None else len(lanes)
        told: tuple[Notes, Notes] = ([], [])
        for first, infos in said:
            for notes, some in zip(told, infos.pop(NOTES, ((), ())), strict=True):
                notes += [(first + row, info) for row, info in some]
        infos = merged(said, rows)
        numbers = None if told[0] or self._remote.apart else self._numbers.take(lanes)
        if numbers is None:  # a key may have numbers and others, which Gymnasium decides in the order of lanes
            told[0].extend(self._numbers.notes(lanes))
            told[0].sort(key=lambda note: note[0])
        else:
            infos.update(numbers)
        return self.gathered(infos, told, lanes)

    def gathered(
        self, infos: dict[str, Any], told: tuple[Notes, Notes], lanes: NDArray[np.int64] | None
    ) -> dict[str, Any]:
        """Infos of lanes (None: of all) with what their envs have said."""
        if lanes is not None:
            infos["env_id"] = lanes
            infos.pop("_env_id", None)  # an env's own
        numbers = range(self.num_envs) if lanes is None else lanes.tolist()
        return gather(infos, *told, numbers, self._remote.apart)

    def _raised(self, result: Any, lanes: NDArray[np.int64] | None) -> Any:
        """`result`, or a LaneError that holds it, if lanes have failed.

        Raises:
            InfosDiffer: its infos could not be put together.
        """
        asked = range(self.num_envs) if lanes is None else lanes.tolist()
        lost = {lane: self._lost.pop(lane) for lane in asked if lane in self._lost} if self._lost else None
        if self._gone:
            self._lost.update({lane: self._gone.pop(lane) for lane in asked if lane in self._gone})
        if not self._remote.calm:
            self._look_around()
        if not lost:
            self._refuse_unlike()
            return result
        failed = list(lost)
        error = _core.lanes_failed(
            np.array(failed), [f"{type(lost[lane]).__name__}: {text_of(lost[lane])}" for lane in failed[:5]], result
        )
        error.causes = lost
        try:
            raise error from lost[failed[0]]
        finally:
            del error, lost  # else the exception, its traceback and this frame hold each other, and the processes

    def _refuse_unlike(self) -> None:
        """Raises InfosDiffer if the infos of the present call could not be put together."""
        unlike, self._unlike = self._unlike, None
        try:
            if unlike is not None:
                raise unlike
        finally:
            del unlike  # as in `_raised`

    def _look_around(self) -> None:
        """Notes whether anything is out of the ordinary."""
        self._remote.calm = self._ready and not (self._lost or self._gone or self._renewed.any())

    # ---- lanes in flight -----------------------------------------------------------------------------------------

    def send(self, actions: Any, env_id: Any) -> NDArray[np.int64]:
        self._check("send()")
        lanes = self._flight.lanes(env_id, "nothing was sent")
        self._refuse_pending(lanes, "sending", "nothing was sent")
        _, taken = self._take(actions, lanes, None)
        with self._whole():
            self._submit(lanes, taken)
        if self._remote.watched:
            self.expect()
        return lanes

    def send_reset(self, seeds: Any, options: dict[str, Any] | None) -> None:
        self._refuse_foreign("async_reset()")
        packed = pack_options(options)
        self._settle()
        self.core.expect_resets()
        with self._whole():
            self._order_resets(seeds, None, packed, one_by_one=True)
            self._flight.depart(np.arange(self.num_envs))
            self._renewed[:] = False
            self._ready, self._torn = True, ""
        if self._remote.watched:
            self.expect()

    def recv(self, timeout: float | None, left: float | None = None) -> Any:
        """See `Backend.recv`. left: how much of the timeout is left; None: all of it."""
        self._refuse_foreign("recv()")
        if self._torn:
            self._check("recv()")
        self._flight.refuse_starved()
        deadline = None if timeout is None else time.monotonic() + (timeout if left is None else left)
        try:
            self._crew.look_after_some()
            for report in self._crew.reports(lambda: self._flight.complete, deadline):
                self._note(report)
        except TimeoutError:
            if self._remote.watched:
                self.expect()
            raise _core.batch_late(self._flight.rows, timeout) from None
        with self._whole():
            self._refuse_broken()
            lanes = self._flight.upcoming()
            result = self._told(lanes, None)
            self._flight.receive(lanes)
        if self._remote.watched:
            self.expect()
        return self._raised(result, lanes)

    def in_flight(self) -> int:
        return self._flight.count

    def fileno(self) -> int:
        self._refuse_foreign("fileno()")
        descriptor = self._crew.fileno()
        self._remote.watched = True
        self.expect()
        return descriptor

    def expect(self) -> None:
        """Lets the descriptor show when the next batch has come."""
        flight = self._flight
        self._crew.expect(None if flight.count < flight.rows else max(0, flight.rows - flight.landed))

    def rollout(self, actions: Any, steps: int, key: int, first_step: int, out: Any) -> tuple[Any, ...]:
        return stepwise(self, actions, steps, key, first_step, out)

    # ---- what lanes have and do ----------------------------------------------------------------------------------

    def _ask(self, questions: dict[int, tuple[str, tuple[Any, ...]]]) -> dict[int, Any]:
        """{worker: answer} of questions to workers, all at once."""
        self._refuse_foreign("a question to the envs")
        self._flight.refuse("a question to the envs")
        self._remote.calm = False  # until all is known again: Ctrl-C may come between question and answer
        for number, question in questions.items():
            self._crew.post(number, Verb.CALL, 0, question)
        answers = {}
        for report in self._crew.reports(self._crew.nothing_due):
            answers[report.worker] = report.said
        for number in questions:
            if number not in answers:
                raise self._lost[self._crew.lanes_of(number).start]
            if answers[number][0] == "failed":
                raise revived(answers[number][1])
        self._look_around()
        return {number: said for number, (_, said) in answers.items()}

    def apply(
        self, function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]], lanes: Sequence[int]
    ) -> list[Any]:
        chosen = self._by_worker(np.array(lanes, np.int64))
        questions = {}
        for number, own in chosen.items():
            first = self._crew.lanes_of(number).start
            told = [arguments[k] for k in own], [lanes[k] - first for k in own]
            questions[number] = ("apply", (function, *told))
        answers = self._ask(questions)
        values = {
            k: value for number, own in chosen.items() for k, value in zip(own.tolist(), answers[number], strict=True)
        }
        return [values[k] for k in range(len(lanes))]

    def drawer(self, mode: str) -> Drawer:
        return PythonDrawer(self)

    def state(self) -> dict[str, NDArray[Any]]:
        answers = self._ask({number: ("state", ()) for number in range(len(self._crew))})
        states = [answers[number] for number in range(len(self._crew))]
        return {name: np.concatenate([state[name] for state in states]) for name in states[0]}

    def generators(self) -> tuple[np.random.Generator, ...]:
        return generators(self)

    def snapshot(self, lanes: NDArray[np.int64]) -> Snapshot:
        if self._snapshots is None:
            raise saved.not_kept("snapshot()")
        self._check("env.snapshot()", "snapshot()")
        gone = lanes[self._renewed[lanes]]
        if len(gone):
            raise ResetNeeded(f"env.snapshot(): the process of lane {gone[0]} has died: step or reset this lane first")
        chosen = self._by_worker(lanes)
        answers = self._ask({k: ("save", (lanes[own] - self._crew.lanes_of(k).start,)) for k, own in chosen.items()})
        blocks, rows = [], [None] * len(lanes)
        for number, own in chosen.items():
            for k, row in zip(own.tolist(), answers[number].rows, strict=True):
                rows[k] = row._replace(block=len(blocks))
            blocks += answers[number].blocks
        return Saved(self._snapshots, self._spaces(), blocks, rows).snapshot()

    def check_snapshot(self, snapshot: Snapshot) -> int:
        parts = saved.apart(snapshot, self._snapshots, self._spaces())
        for block in parts.blocks:
            self.core.check_snapshot(block)
        return len(parts.rows)

    def restore(self, snapshot: Snapshot, rows: NDArray[np.int64], lanes: NDArray[np.int64]) -> Any:
        if len(lanes) < self.num_envs or self._crew.foreign:
            self._check("env.restore() of some lanes")
        self._flight.refuse("restore()")
        if self._stage is not None:
            self._stage.check()
        if not self._ready:
            self._settle()
        self._remote.calm = False
        parts = saved.apart(snapshot, self._snapshots, self._spaces()).chosen(rows.tolist())
        chosen = self._by_worker(lanes)
        orders = {}
        for number, own in chosen.items():
            orders[number] = ("load", (parts.chosen(own.tolist()), lanes[own] - self._crew.lanes_of(number).start))
        with self._whole():
            answers = self._ask(orders)
        for number, own in chosen.items():
            for lane, objects in zip(lanes[own].tolist(), answers[number], strict=True):
                self._objects[lane] = objects
                self._lost.pop(lane, None)
        self._renewed[lanes] = False
        self._ready, self._torn = True, ""
        return self._observed(_core.adopt(self.core, self._memory.columns, None, None, restored=lanes)[0], None)

    def _by_worker(self, lanes: NDArray[np.int64]) -> dict[int, NDArray[np.int64]]:
        """{worker: places in `lanes` of its lanes}."""
        workers = np.array(self._worker_of)[lanes]
        return {int(number): np.flatnonzero(workers == number) for number in np.unique(workers)}
