"""The backend for environments written in Python whose lanes are stepped in other processes."""

from __future__ import annotations

import itertools
import time
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from batchenv import _core
from batchenv.backend.course import Course
from batchenv.backend.planned import check_places
from batchenv.backend.protocol import Arguments, Flags, InfoDict, Options, Shortcuts
from batchenv.backend.results import converted
from batchenv.backend.snapshot import Snapshot
from batchenv.backend.transforms import DEFAULTS
from batchenv.workers.backend import EnvBackend, PythonTranslator, python_lanes, rows_of_actions
from batchenv.workers.parts import SpaceParts
from batchenv.workers.processes import trial
from batchenv.workers.processes.lane_states import Event
from batchenv.workers.processes.memory import MemoryPlan
from batchenv.workers.processes.pool import WorkerPool
from batchenv.workers.processes.process import pack, pack_options, revived
from batchenv.workers.processes.protocol import Job, Verb
from batchenv.workers.processes.reports import Reports
from batchenv.workers.saved import Saved

_PARENTS = ("normalize_observation", "clip_observation", "normalize_reward", "reward_dtype")  # moments are of all lanes


class ProcessBackend(EnvBackend):
    """See `Backend`. A worker process has neighbouring lanes, for which it does all that the C core does for lanes in
    one process; `_core.RemoteLanes` asks it for steps, and takes what it reports without a payload.

    Args:
        env_id: used in messages.
        makers: a function per lane that makes its env.
        num_workers: how many processes there are.
        step_timeout, start_method: see `WorkerPool`.
        on_failure, snapshots: see `PythonBackend`.
        **options: as `CoreBackend`.
    """

    kind = "processes"

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
        self._snapshots = snapshots
        self._same_step = options["autoreset_mode"] is AutoresetMode.SAME_STEP
        bounds = np.linspace(0, count, num_workers + 1).round().astype(int).tolist()
        jobs = _jobs(env_id, makers, bounds, {**options, "on_failure": on_failure, "snapshots": snapshots})
        self._worker_of = np.repeat(np.arange(num_workers), np.diff(bounds)).tolist()
        self._pool = WorkerPool(jobs, bounds, step_timeout, start_method)
        try:
            like = self._pool.like
            self._raw, self._actions = like.observation_space, like.action_space
            self.metadata, self.render_mode = like.metadata, like.render_mode
            self.observations, self.actions = SpaceParts(self._raw), SpaceParts(self._actions, either=True)
            lanes = python_lanes(env_id, self.observations, self.actions, count)
            super().__init__(env_id, PythonTranslator(lanes), count, params={}, **options)
            capacity = 2 * max(np.diff(bounds)) + 16
            self._pool.share(MemoryPlan(count, num_workers, capacity, *_core.columns_of(self.core)))
        except BaseException:
            self._pool.end()
            raise
        self._memory = self._pool.memory
        self._told: list[Any] = [self._pool.worker(number) for number in range(num_workers)]  # that know the plan
        self._flight = _core.Flight(self.core, options["batch_size"])
        self._reports = Reports(self.core, self.observations, self._pool, self._flight, bounds)
        self._reports.stage = self._stage
        self._states = self._reports.states
        objects = bool(self.observations.objects), bool(self.actions.objects)
        self._remote = _core.RemoteLanes(
            weakref.ref(self), self._reports, self._pool, self.core, self._flight, self._worker_of, objects
        )

    @property
    def num_threads(self) -> int:
        return len(self._pool)

    def close(self) -> None:
        """See `Backend.close`. Envs get a second to close, and are ended then."""
        if not self.closed:
            super().close()
            self._pool.close()

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
            for number in range(len(self._pool)):
                self._pool.post(number, Verb.NOTHING)
            self._settle()
            took.append(time.perf_counter() - start)
        return sorted(took)[len(took) // 2]

    def shortcuts(self) -> Shortcuts:
        remote = self._remote
        return Shortcuts(*(_core.HoldAndCall(self.core, call) for call in (remote.step, remote.send, remote.recv)))

    def tell_apart(self) -> None:
        self._reports.apart = True

    def raw_spaces(self) -> tuple[spaces.Space, spaces.Space]:
        return self._raw, self._actions

    # ---- what RemoteLanes leaves to others -----------------------------------------------------------------------

    def check(self, doing: str) -> None:
        """Refuses what needs lanes that have been reset."""
        self._refuse_foreign(doing)
        self._pool.mend()
        self.core.require_reset(doing)

    def _refuse_foreign(self, doing: str) -> None:
        if self._pool.foreign:
            raise RuntimeError(f"{doing} in a forked process: its workers are the parent's; make a new env here")

    def waiting(self) -> NDArray[np.bool_]:
        """See `Backend.waiting`."""
        terminations, truncations = self._memory.columns[-2:]
        return np.zeros(self.num_envs, np.bool_) if self._same_step else terminations | truncations

    def refuse_pending(self, lanes: NDArray[np.int64] | None, doing: str, ending: str) -> None:
        """Refuses lanes (None: any) whose episodes have ended, in autoreset mode Disabled."""
        terminations, truncations = self._memory.columns[-2:]  # the worker says there which lanes wait for a reset
        pending = terminations | truncations
        ended = np.flatnonzero(pending) if lanes is None else lanes[pending[lanes]]
        if len(ended):
            raise _core.lane_pending(ended[0], doing, ending)

    def take(self, actions: Any, lanes: NDArray[np.int64] | None, out: Any) -> tuple[Any, list[Any]]:
        """Checks actions that are no arrays, and `out`, and returns `out` and the actions."""
        count = self.num_envs if lanes is None else len(lanes)
        rows = rows_of_actions(self._actions, actions, count)
        arrays = {self.actions.ports[0].name: np.zeros(count, np.uint8)}
        return _core.take_actions(self.core, arrays, lanes, self._memory.actions, out), rows

    def ask(self, lanes: NDArray[np.int64] | None, actions: list[Any] | None) -> None:
        """Asks for a step of lanes (None: of all). actions: theirs, if these are no arrays."""
        if lanes is not None:
            for k, lane in enumerate(lanes.tolist()):
                self._ask_lane(lane, actions and actions[k])
            return
        for number in range(len(self._pool)):
            own = self._pool.lanes_of(number)
            if self._states.are_running(own):
                self._pool.post(number, Verb.STEP, own.start, actions and actions[own.start : own.stop])
            else:
                for lane in own:
                    self._ask_lane(lane, actions and actions[lane])

    def _ask_lane(self, lane: int, action: Any) -> None:
        """Asks for a step of one lane. If its process is a new one, the step starts an episode there."""
        number = self._worker_of[lane]
        if self._states.is_lost(lane):  # its process has died since it was received last
            self._reports.show_failed([lane])
            self._flight.land(lane)
        elif len(self._states.not_reset(np.array([lane]))):
            own = np.array(self._pool.lanes_of(number)) == lane
            self._states.forgive(Event.RESET, [lane])
            self._pool.post(number, Verb.RESET, lane, (None, own, None, [lane], self._news(number)))
        else:
            self._pool.post(number, Verb.LANE, lane, None if action is None else [action])

    # ---- resets and steps ----------------------------------------------------------------------------------------

    def reset(self, seeds: Any, mask: Flags | None, options: Options) -> tuple[Any, InfoDict]:
        packed = pack_options(options)
        if mask is None:
            self._refuse_foreign("env.reset()")
            self._settle()
        else:
            self.check("env.reset(options={'reset_mask': ...})")
            self._flight.refuse("reset() of some lanes")
        self._skip()
        with _core.Whole(self.core):
            self._ask_resets(seeds, mask, packed, one_by_one=False)
            self._remote.hear_all()
            self._remote.started()
            resets = True if mask is None else mask
            return converted(lambda *result: (result[0], result[-1]), self._reports.results, None, None, resets)

    def _settle(self) -> None:
        """Waits for all that workers owe, and drops it. A worker that has died has a successor then: a reset of all
        lanes loses nothing by its death, and so does not report it."""
        self._remote.hear_all()
        self._pool.look_after()
        self._reports.drop()

    def _ask_resets(self, seeds: Any, mask: Any, options: bytes | None, one_by_one: bool) -> None:
        for number in range(len(self._pool)):
            lanes = self._pool.lanes_of(number)
            own = np.ones(len(lanes), np.bool_) if mask is None else mask[lanes.start : lanes.stop]
            if not own.any():
                continue
            some = seeds + lanes.start if isinstance(seeds, int) else seeds and seeds[lanes.start : lanes.stop]
            arguments = (
                some,
                None if mask is None else own,
                options,
                list(lanes) if one_by_one else None,
                self._news(number),
            )
            self._states.forgive(Event.RESET, (lanes.start + np.flatnonzero(own)).tolist())
            self._pool.post(number, Verb.RESET, lanes.start, arguments, len(lanes) if one_by_one else 1)

    def step(self, actions: Any, out: Any) -> Any:
        return self._remote.step(actions, out)

    def step_some(self, actions: Any, env_id: Any, out: Any) -> Any:
        return self._remote.step_some(actions, env_id, out)

    def send(self, actions: Any, env_id: Any) -> NDArray[np.int64]:
        return self._remote.send(actions, env_id)

    def send_reset(self, seeds: Any, options: Options) -> None:
        self._refuse_foreign("async_reset()")
        packed = pack_options(options)
        self._settle()
        self._skip()
        with _core.Whole(self.core):
            self.core.expect_resets()
            self._flight.depart(np.arange(self.num_envs))
            self._ask_resets(seeds, None, packed, one_by_one=True)
        self._remote.expect()

    def recv(self, timeout: float | None) -> Any:
        return self._remote.recv(timeout)

    def in_flight(self) -> int:
        return self._flight.count

    def fileno(self) -> int:
        self._refuse_foreign("fileno()")
        descriptor = self._pool.fileno()
        self._remote.watched = True
        self._remote.expect()
        return descriptor

    # ---- plans: each worker follows them for its own lanes, from places that this process sees --------------------

    def set_plan(self, course: Course | None, places: NDArray[np.int64] | None = None, rows: Any = None) -> None:
        """See `Backend.set_plan`."""
        self._flight.refuse("a plan")
        before = self._memory.places.copy()
        if course is not None:
            if places is not None:
                check_places(places, course.streams, course.entries.size)
            self._fill(_core.Agenda(1, course.streams, 0, 0, True), course)  # refuses what cannot be done
            self._memory.places[:] = _core.first_places(self.num_envs) if places is None else places
        try:
            self._tell(course)
        except BaseException:
            self._memory.places[:] = before
            self._tell_again()
            raise
        self._reports.planned = course is not None
        self._reports.labels = None if course is None else course.entries.labels_and_none()

    def _tell(self, course: Course | None, weigh: bool = False) -> None:
        """Lets workers follow a plan. weigh: it is one that they know, but for its weights."""
        questions: dict[int, tuple[str, tuple[Any, ...]]] = {}
        numbers = range(len(self._pool))
        for number in numbers:
            known = weigh and self._told[number] is self._pool.worker(number)
            assert course is not None or not weigh
            sums = course.sums() if known and course is not None else None
            questions[number] = ("weigh", (sums,)) if known else ("set_plan", (_for_workers(course),))
        self._told = [None] * len(numbers)
        self._ask(questions)
        self._course, self._told = course, [self._pool.worker(number) for number in numbers]

    def _tell_again(self) -> None:
        """Lets workers follow the plan that they had, of which some may follow another one now. Those that cannot be
        asked learn it when their lanes are reset."""
        try:
            self._tell(self._course)
        except Exception:
            self.core.tear("a call that changes the plan was cut short, and some workers follow another one")
        except BaseException:
            self.core.tear("a call that changes the plan was interrupted, and some workers follow another one")
            raise

    def _news(self, number: int) -> tuple[Course | None] | None:
        """The plan (or none), if a worker does not know it."""
        worker = self._pool.worker(number)
        if self._told[number] is worker:
            return None
        self._told[number] = worker
        return (_for_workers(self._course),)

    def set_weights(self, course: Course) -> None:
        try:
            self._tell(course, weigh=True)
        except BaseException:
            self._tell_again()
            raise

    def _skip(self) -> None:
        """Does what `skip_entries` has asked for, while nothing is in flight."""
        lanes, self.core.skips = self.core.skips, None
        if lanes is not None:
            _core.skip_entries(self._memory.places, lanes)

    def places(self) -> NDArray[np.int64]:
        return self._memory.places.copy()

    def put_places(self, places: NDArray[np.int64], lanes: NDArray[np.int64]) -> None:
        assert self._course is not None, "BatchEnv asks only when there is a plan"
        check_places(places, self._course.streams, self._course.entries.size)
        self._memory.places[lanes] = places

    # ---- what lanes have and do ----------------------------------------------------------------------------------

    def _ask(self, questions: dict[int, tuple[str, tuple[Any, ...]]]) -> dict[int, Any]:
        """{worker: answer} of questions to workers, all at once."""
        self._refuse_foreign("a question to the envs")
        self._flight.refuse("a question to the envs")
        self._states.all_running = False  # so that what Ctrl-C may leave of a question is noticed
        self._reports.answers = {}
        for number, question in questions.items():
            self._pool.post(number, Verb.CALL, 0, question)
        self._remote.hear_all()
        answers, self._reports.answers = self._reports.answers, {}
        self._states.check()
        for number in questions:
            if number not in answers:
                raise self._states.cause(self._pool.lanes_of(number).start)
            if answers[number][0] == "failed":
                raise revived(answers[number][1])
        return {number: answer for number, (_, answer) in answers.items()}

    def apply(self, function: Callable[..., Any], arguments: Arguments, lanes: Sequence[int]) -> list[Any]:
        chosen = self._by_worker(np.array(lanes, np.int64))
        questions = {}
        for number, own in chosen.items():
            first = self._pool.lanes_of(number).start
            theirs = [arguments[k] for k in own], [lanes[k] - first for k in own]
            questions[number] = ("apply", (function, *theirs))
        answers = self._ask(questions)
        values = {
            k: value for number, own in chosen.items() for k, value in zip(own.tolist(), answers[number], strict=True)
        }
        return [values[k] for k in range(len(lanes))]

    def state(self) -> dict[str, NDArray[Any]]:
        answers = self._ask({number: ("state", ()) for number in range(len(self._pool))})
        states = [answers[number] for number in range(len(self._pool))]
        return {name: np.concatenate([state[name] for state in states]) for name in states[0]}

    def snapshot(self, lanes: NDArray[np.int64]) -> Snapshot:
        kind = self.kept_as()
        self.check("env.snapshot()")
        self._flight.refuse("snapshot()")
        gone = self._states.not_reset(lanes)
        if len(gone):
            raise ResetNeeded(f"env.snapshot(): the process of lane {gone[0]} has died: step or reset this lane first")
        chosen = self._by_worker(lanes)
        answers = self._ask({k: ("save", (lanes[own] - self._pool.lanes_of(k).start,)) for k, own in chosen.items()})
        blocks, rows = [], {}
        for number, own in chosen.items():
            for k, row in zip(own.tolist(), answers[number].rows, strict=True):
                rows[k] = row._replace(block=len(blocks))
            blocks += answers[number].blocks
        return Saved(kind, self.raw_spaces(), blocks, [rows[k] for k in range(len(lanes))]).snapshot()

    def restore(self, snapshot: Snapshot, rows: NDArray[np.int64], lanes: NDArray[np.int64]) -> Any:
        if len(lanes) < self.num_envs or self._pool.foreign:
            self.check("env.restore() of some lanes")
        self._flight.refuse("restore()")
        if self._stage is not None:
            self._stage.check()
        if self.needs_reset:
            self._settle()
        parts = self.apart(snapshot).chosen(rows.tolist())
        chosen = self._by_worker(lanes)
        orders = {}
        for number, own in chosen.items():
            orders[number] = ("load", (parts.chosen(own.tolist()), lanes[own] - self._pool.lanes_of(number).start))
        with _core.Whole(self.core):
            answers = self._ask(orders)
        for number, own in chosen.items():
            for lane, objects in zip(lanes[own].tolist(), answers[number], strict=True):
                self._reports.objects[lane] = objects
        self._states.forgive(Event.RESET, lanes.tolist())
        self._remote.started()
        return self._reports.restored(lanes)

    def _by_worker(self, lanes: NDArray[np.int64]) -> dict[int, NDArray[np.int64]]:
        """{worker: places in `lanes` of its lanes}."""
        workers = np.array(self._worker_of)[lanes]
        return {int(number): np.flatnonzero(workers == number) for number in np.unique(workers)}


def _for_workers(course: Course | None) -> Course | None:
    """What workers get of a plan. Labels are put into infos here."""
    return None if course is None else course._replace(entries=course.entries._replace(labels=None))


def _jobs(env_id: str, makers: Sequence[Callable[[], Any]], bounds: list[int], options: dict[str, Any]) -> list[bytes]:
    """A pickled job per worker. bounds: see `WorkerPool`; options: as the backend's."""
    theirs = {**options, "threads": 1, "cpus": None, "copy": True}
    theirs["transforms"] = {**options["transforms"], **{name: DEFAULTS[name] for name in _PARENTS}}
    cpus = options["cpus"] or [None] * (len(bounds) - 1)
    return [
        pack(Job(env_id, list(makers[first:end]), first, cpu, {**theirs, "batch_size": end - first}))
        for cpu, (first, end) in zip(cpus, itertools.pairwise(bounds), strict=False)
    ]
