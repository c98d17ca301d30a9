"""The backend for tasks in NumPy: steps the physics of lanes, calls the task's functions, and lets the C core take what
they have computed."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from batchenv import _core
from batchenv.backend.arrivals import Arrivals
from batchenv.backend.core import CoreBackend
from batchenv.backend.course import Course
from batchenv.backend.protocol import Flags, InfoDict, LaneError, Options, Shortcuts
from batchenv.backend.snapshot import Snapshot
from batchenv.backend.stepwise import stepwise
from batchenv.envs.mujoco.inputs import NAMES as INPUTS
from batchenv.envs.mujoco.library import Lanes as Engine
from batchenv.envs.mujoco.vectorized.translator import TaskTranslator
from batchenv.envs.mujoco.vectorized.trial import REWARDS, SUMS, TaskFailed, call, check_rows, leaves, recontrols
from batchenv.envs.mujoco.vectorized.view import CONTROLLING, STARTING, Lanes, SomeLanes

_SHARED = ("frame_skip", "on_unstable")  # params of the physics


class _Arrays:
    """See `view.Source`."""

    def __init__(self, engine: Engine, core: _core.Batch, state: Mapping[str, Any]):
        self.model, self.count, self.state = engine.model, len(engine), state
        self.places: dict[Any, Any] = {}
        self._core = core
        self._known = {name: engine.view(name) for name in engine.fields}
        first = 1 + engine.model.nq  # after the time and the positions
        self.velocities = engine.records[:, first : first + engine.model.nv]  # with which steps begin
        for name in INPUTS:  # a model without mocap bodies has arrays without numbers
            shape = (self.count, *getattr(engine.slots[0], name).shape)
            self._known[name] = engine.inputs[name] if name in engine.inputs else np.zeros(shape)
        views = _core.views_of(core)  # in which a row of one number has no axis
        self._known |= views | {
            name: views[name].reshape(self.count, *np.shape(value)) for name, value in state.items()
        }
        own = {name: value for name, value in core.get_params().items() if name not in _SHARED}
        self._params = {name: np.array(np.broadcast_to(value, self.count)) for name, value in own.items()}
        self.read_params()

    def read_params(self) -> None:
        """Takes over the params as they are now, into the same arrays, of which `Lanes` has views."""
        params = self._core.get_params()
        self.frame_skip = params["frame_skip"]
        self.dt = self.model.opt.timestep * self.frame_skip
        for name, array in self._params.items():
            array[:] = params[name]

    def array(self, name: str) -> NDArray[Any]:
        found = self._known.get(name)
        if found is None:
            found = self._params.get(name)
        if found is None:
            raise AttributeError(
                f"lanes have no array {name!r}; one of mjData's that was not read when the task was tried at first "
                "must be named in the task's `reads`"
            )
        return found

    def draw(self, numbers: NDArray[np.int64] | None, out: NDArray[Any], last: int | None) -> None:
        _core.draw(self._core, numbers, out, last)


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """`array`, which nobody may write any more."""
    array.flags.writeable = False
    return array


def spread_rows(rows: NDArray[Any], numbers: NDArray[np.int64], count: int) -> NDArray[Any]:
    """An array with a row for each of `count` lanes, of which these have `rows`, and the others have zeros."""
    spread = np.zeros((count, *rows.shape[1:]))
    spread[numbers] = rows
    return spread


class TaskBackend(CoreBackend):
    """See `Backend`. The lanes belong to two batches: `physics` steps MuJoCo, and `core` does the rest."""

    translator: TaskTranslator

    def __init__(self, env_id: str, translator: TaskTranslator, num_envs: int, *, threads: int, **options: Any):
        translator.threads = threads
        super().__init__(env_id, translator, num_envs, threads=1, **options)
        self._same_step = options["autoreset_mode"] is AutoresetMode.SAME_STEP
        self._limit, self._task, self._found = options["limit"], translator.task, translator.found
        engine = translator.lanes
        self._recontrols = recontrols(self._task)
        shared = self._shared()
        disabled = _core.AUTORESET_MODES["DISABLED"]
        self.physics = _core.Batch(
            _core.MUJOCO_PHYSICS, num_envs, disabled, 0, shared, threads, 4, False, engine=engine
        )
        self.physics.set_queue(num_envs, options["cpus"])
        self.physics.expect_resets()
        self._source = engine.source
        self._arrays = _Arrays(engine, self.core, self._found.state)
        self._all = Lanes(self._arrays)
        self._pending, self._physics_pending = _core.pending_of(self.core), _core.pending_of(self.physics)
        self._elapsed = self._arrays.array("elapsed_steps")
        self._every = np.arange(num_envs)
        self._flight, self._landed = _core.Flight(self.core, options["batch_size"]), Arrivals(options["batch_size"])
        self._resetting = np.zeros(num_envs, np.uint8)  # of lanes in flight: those that were sent to be reset
        self._worker: ThreadPoolExecutor | None = None  # plays lanes that were sent
        self._process = 0  # whose thread that is
        self._player = 0  # its number
        self._make_stage()
        model = engine.model
        self._idle = np.zeros((num_envs, model.nu), np.float32)  # actions of the physics, which takes no notice of them
        self._actions = np.zeros((num_envs, *self._found.action.shape), self._found.action.dtype)
        self._shown_actions = read_only(self._actions.view())

    def _shared(self) -> dict[str, Any]:
        """The params of the physics, which takes MuJoCo's steps one by one if the task controls each."""
        params = self.core.get_params()
        return {name: params[name] for name in _SHARED} | ({"frame_skip": 1} if self._recontrols else {})

    def _make_stage(self) -> None:
        def rows(part: Any) -> NDArray[Any]:
            return np.zeros((self.num_envs, *part.shape), part.dtype)

        made = self.translator.made
        self._observations = {part.name: rows(part) for part in self._found.observations}
        self._starts = {part.name: rows(part) for part in self._found.observations}
        self._infos = {part.name: rows(part) for part in self._found.infos}
        self._reward = np.zeros(self.num_envs)
        self._terminated, self._truncated = np.zeros((2, self.num_envs), np.bool_)
        ports = {made.observations[name]: array for name, array in self._observations.items()}
        ports |= {made.infos[name]: array for name, array in self._infos.items()}
        starts = {made.observations[name]: array for name, array in self._starts.items()}
        self._unstable = self._infos.pop(_core.MUJOCO_UNSTABLE_INFO)
        self._terms, self._sums = (self._infos.pop(name, self._reward) for name in (REWARDS, SUMS))
        self._stage = _core.MujocoStage(self._source, ports, starts, self._reward, self._terminated, self._truncated)

    @property
    def num_threads(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride] BatchEnv only reads it
        return self.physics.num_threads

    def shortcuts(self) -> Shortcuts:
        return Shortcuts()

    # ---- what the task's functions are asked for ---------------------------------------------------------------------

    def _forget(self, numbers: NDArray[np.int64]) -> None:
        """Forgets why these lanes have failed before."""
        self._stage.clear(numbers)
        for lane in self._source.raised.keys() & set(numbers.tolist()) if self._source.raised else ():
            del self._source.raised[lane]

    def _call(self, name: str, *arguments: Any) -> Any:
        return call(self._task, name, *arguments)

    def _put(self, what: str, value: Any, target: dict[str, NDArray[Any]], where: Any, count: int) -> None:
        """Copies arrays of a function into rows of all lanes."""
        given = dict(leaves(value))
        if given.keys() != target.keys():
            raise ValueError(f"{what} returned {sorted(given)}, but at first {sorted(target)}: let it return the same")
        for name, array in given.items():
            rows = target[name]
            check_rows(f"what {what} returned{f' as {name!r}' if name else ''}", array, (count, *rows.shape[1:]))
            if not np.can_cast(array.dtype, rows.dtype, "same_kind"):
                raise TypeError(f"what {what} returned is of {array.dtype}, but was of {rows.dtype} at first")
            rows[where] = array

    def _fail(self, numbers: NDArray[np.int64], problem: BaseException, starting: bool) -> None:
        """Lets lanes fail because of an exception in the task."""
        cause = problem.__cause__ or problem if isinstance(problem, TaskFailed) else problem
        self._stage.fail(numbers, str(problem), starting)
        self._source.raised.update(dict.fromkeys(numbers.tolist(), cause))

    def _let_fail(self, error: LaneError, starting: bool) -> NDArray[np.int64]:
        """Lets lanes fail whose physics have; returns their numbers."""
        for lane in error.env_id.tolist():
            self._stage.fail(np.array([lane]), _core.failure_of(self.physics, lane), starting)
        self._source.raised.update(error.causes)
        return error.env_id

    def _put_state(self, numbers: NDArray[np.int64], names: Sequence[str]) -> None:
        """Gives these lanes the state that the task had at first."""
        for name in names:
            self._arrays.array(name)[numbers] = self._found.state[name]

    def _seed(self, seeds: Any, mask: Flags | None) -> None:
        """Seeds lanes. What they get from now on depends on the seed alone, so they lose what the task keeps."""
        self.core.seed(seeds, mask)
        if seeds is None:
            return
        seeded = np.ones(self.num_envs, np.bool_) if mask is None else mask.copy()
        if isinstance(seeds, list):
            seeded &= np.array([seed is not None for seed in seeds])
        self._put_state(np.flatnonzero(seeded), self._found.keeps)

    def set_plan(
        self, course: Course | None, places: NDArray[np.int64] | None = None, rows: NDArray[np.int64] | None = None
    ) -> None:
        self._flight.refuse("a plan")
        if course is not None and course.entries.snapshots is not None:
            raise NotImplementedError(
                "snapshots: episodes of tasks in NumPy cannot start from them: env.restore() puts lanes into one"
            )
        super().set_plan(course, places, rows)
        self._arrays.read_params()

    def _begin_entries(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Lets lanes that start take their entries of the plan, if there is one. Returns those that can."""
        agenda, course = self.core.agenda, self._course
        if agenda is None or course is None:
            return numbers
        for lane, why in self.core.begin_entries(numbers):
            self._stage.fail(np.array([lane]), why, True)
            numbers = numbers[numbers != lane]
        entries = agenda.places[numbers, 2]
        if course.entries.seeds is not None:
            seeded = [entry >= 0 and course.entries.seeds[entry] is not None for entry in entries.tolist()]
            self._put_state(numbers[seeded], self._found.keeps)
        if course.entries.params is not None:
            self._arrays.read_params()
        return numbers

    def _start(self, numbers: NDArray[np.int64]) -> None:
        """Starts episodes in these lanes, and puts their observations onto the stage."""
        if not len(numbers):
            return
        try:
            numbers = self._begin_entries(numbers)
        except BaseException as problem:
            self._fail(numbers, problem, starting=True)
            return
        lanes = SomeLanes(self._arrays, numbers, elapsed=np.zeros(len(numbers), np.int32))
        self._put_state(numbers, [name for name in self._found.state if name not in self._found.keeps])
        engine = self.translator.lanes
        for name, value in zip(STARTING, (engine.init_qpos, engine.init_qvel, 0.0), strict=True):
            self._arrays.array(name)[numbers] = value
        mask = np.zeros(self.num_envs, np.bool_)
        mask[numbers] = True
        try:
            lanes._begin(STARTING)
            self._call("start", lanes)
            lanes._end()
            if lanes._fields:
                rows = {name: spread_rows(value, numbers, self.num_envs) for name, value in lanes._fields.items()}
                self._set_models(numbers, rows)
            try:
                self.physics.deliver(self.physics.reset(None, None if mask.all() else mask, {}))
            except LaneError as error:
                self._let_fail(error, starting=True)
            lanes._begin()
            self._put("observe()", self._call("observe", lanes), self._starts, numbers, len(numbers))
            lanes._end()
            self._refuse_nans(self._starts, numbers, starting=True)
        except BaseException as problem:
            self._fail(numbers, problem, starting=True)

    def _set_models(self, numbers: NDArray[np.int64], rows: dict[str, NDArray[Any]]) -> None:
        """Gives lanes models of their own. Those whose numbers MuJoCo refuses fail alone, and keep what they have."""
        try:
            self.translator.set_fields(numbers, rows)
        except ValueError:
            for one in numbers.reshape(-1, 1):
                try:
                    self.translator.set_fields(one, rows)
                except ValueError as problem:
                    self._fail(one, problem, starting=True)

    def _step_physics(self, numbers: NDArray[np.int64] | None) -> NDArray[np.int64]:
        """Steps these lanes (None: all); returns those that have failed."""
        self._physics_pending[:] = 0  # `core` knows who waits for a reset
        try:
            if numbers is None:
                result = self.physics.deliver(self.physics.step(self._idle))
            else:
                result = self.physics.deliver(self.physics.step_some(self._idle[: len(numbers)], numbers))
        except LaneError as error:
            failed = self._let_fail(error, starting=False)
            result = error.result
        else:
            failed = np.zeros(0, np.int64)
        where: Any = ... if numbers is None else numbers
        self._truncated[where] |= result[3]
        self._unstable[where] |= result[4].get(_core.MUJOCO_UNSTABLE_INFO, False)
        return failed

    def _simulate(
        self, lanes: Lanes, stepped: NDArray[np.int64] | None, active: NDArray[np.int64] | None, actions: NDArray[Any]
    ) -> NDArray[np.int64]:
        """Steps lanes with the task's controls; returns those that have failed."""
        where: Any = ... if lanes is self._all else lanes.numbers
        self._truncated[where] = self._unstable[where] = False
        failed = np.zeros(0, np.int64)
        for step in range(self.core.get_params()["frame_skip"] if self._recontrols else 1):
            name, more = ("recontrol", (step,)) if step else ("control", ())
            lanes._begin(CONTROLLING[1:] if step else CONTROLLING, active)
            controls = np.asarray(self._call(name, lanes, actions, *more))
            lanes._end()
            if not step:
                moved = where if stepped is None else stepped
                self._arrays.velocities[moved] = self._arrays.array("qvel")[moved]
            shape = (len(lanes), self._arrays.model.nu)
            self._arrays.array("ctrl")[where] = check_rows(f"what {name}() returned", controls, shape)
            failed = np.union1d(failed, self._step_physics(stepped))
        return failed

    def _play(self, numbers: NDArray[np.int64] | None) -> None:
        """Steps these lanes (None: all), and puts what that gives onto the stage. Lanes that wait for their reset are
        started."""
        numbers = None if numbers is None or len(numbers) == self.num_envs else numbers
        self._forget(self._every if numbers is None else numbers)
        waiting = self._pending != 0 if numbers is None else self._pending[numbers] != 0
        due = np.flatnonzero(waiting) if numbers is None else numbers[waiting]
        # What functions write about lanes that wait is lost when these start, unless the task keeps it.
        if numbers is None and not (len(due) and self._found.keeps):
            stepped, lanes = (None if not len(due) else np.flatnonzero(~waiting)), self._all
        else:
            stepped = (self._every if numbers is None else numbers)[~waiting]
            lanes = SomeLanes(self._arrays, stepped)
        chosen = self._every if stepped is None else stepped
        if len(chosen):
            failed = self._play_lanes(lanes, stepped, chosen)
            if self._same_step:
                due = np.concatenate([due, self._ended(chosen, failed)])
        self._start(due)

    def _ended(self, chosen: NDArray[np.int64], failed: NDArray[np.int64]) -> NDArray[np.int64]:
        """Those of the lanes stepped whose episodes end in this step."""
        ended = self._terminated[chosen] | self._truncated[chosen] | np.isin(chosen, failed)
        if self._limit:
            ended |= self._elapsed[chosen] + 1 >= self._limit
        return chosen[ended]

    def _play_lanes(
        self, lanes: Lanes, stepped: NDArray[np.int64] | None, chosen: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Calls the task's functions, and steps the physics of lanes that do not wait for a reset. stepped: their
        numbers; None: all. Returns those that have failed."""
        whole = lanes is self._all
        where: Any = ... if whole else chosen
        active = stepped if whole else None  # lanes that wait draw no random numbers
        actions = self._shown_actions if whole else read_only(self._actions[chosen])
        count = len(lanes)
        try:
            failed = self._simulate(lanes, stepped, active, actions)
            lanes._begin((), active)
            self._take_reward(self._call("reward", lanes, actions), where, lanes)
            ended = check_rows("what terminated() returned", np.asarray(self._call("terminated", lanes)), (count,))
            self._terminated[where] = ended
            self._call("update", lanes, actions)
            self._put("observe()", self._call("observe", lanes), self._observations, where, count)
            self._put("info()", self._call("info", lanes), self._infos, where, count)
            lanes._end()
        except BaseException as problem:
            self._fail(chosen, problem, starting=False)
            return chosen
        wrong = chosen[~np.isfinite(self._reward[chosen])]
        for lane in wrong.tolist():
            given = f"{type(self._task).__name__}.reward() gave {self._reward[lane]}"
            self._stage.fail(np.array([lane]), given, False)
        failed = np.union1d(failed, wrong)
        others = np.setdiff1d(chosen, failed)  # those have a message already
        return np.union1d(failed, self._refuse_nans(self._observations, others, starting=False))

    def _refuse_nans(
        self, observed: dict[str, NDArray[Any]], numbers: NDArray[np.int64], starting: bool
    ) -> NDArray[np.int64]:
        """Lets those of these lanes fail that observe NaN, of which a learner would never recover; returns them."""
        found = np.zeros(len(numbers), np.bool_)
        for name, rows in observed.items():
            if rows.dtype.kind != "f" or not len(numbers):
                continue
            bad = np.isnan(rows[numbers].reshape(len(numbers), -1)).any(axis=1)
            if bad.any():
                part = f" in {name!r}" if name else ""
                self._stage.fail(numbers[bad], f"{type(self._task).__name__}.observe() gave nan{part}", starting)
                found |= bad
        return numbers[found]

    def _take_reward(self, reward: Any, where: Any, lanes: Lanes) -> None:
        """Takes rewards, and infos of their terms, if there are any."""
        count = len(lanes)
        if self._found.terms:
            if not isinstance(reward, Mapping) or list(reward) != self._found.terms:
                raise ValueError(f"reward() must return a dict of {self._found.terms}, as it did at first")
            terms = np.empty((count, len(reward)))
            total = np.zeros(count)
            for k, (name, term) in enumerate(reward.items()):
                terms[:, k] = check_rows(f"the term {name!r} of reward()", np.asarray(term), (count,))
                total += terms[:, k]
            reward = total
            sums = getattr(lanes, SUMS)
            sums += terms
            self._terms[where], self._sums[where] = terms, sums
        self._reward[where] = check_rows("what reward() returned", np.asarray(reward), (count,))

    # ---- terms of the reward, by name -------------------------------------------------------------------------------

    def _deliver(self, result: Any) -> Any:
        """What the core delivers, with the terms of the reward in dicts."""
        if not self._found.terms:
            return self.core.deliver(result)
        try:
            result = self.core.deliver(result)
        except LaneError as error:
            self._name_terms(error.result[-1])
            raise
        self._name_terms(result[-1])
        return result

    def _name_terms(self, infos: InfoDict) -> None:
        for part in (infos, infos.get("final_info", {})):
            for name in (REWARDS, SUMS):
                if name in part:
                    part[name] = dict(zip(self._found.terms, part[name].T, strict=True))

    def info_forms(self) -> Sequence[tuple[tuple[str, ...], Any, tuple[int, ...]]]:
        forms = []
        for path, dtype, shape in super().info_forms():
            named = path in ((REWARDS,), (SUMS,)) and self._found.terms
            forms += [((*path, term), dtype, ()) for term in named] if named else [(path, dtype, shape)]
        return forms

    # ---- what BatchEnv calls -----------------------------------------------------------------------------------------

    def reset(self, seeds: Any, mask: Flags | None, options: Options) -> tuple[Any, InfoDict]:
        self.core_options(options)
        lanes = self._every if mask is None else np.flatnonzero(mask)
        if mask is None:
            self._settle()
        else:
            self.core.require_reset("env.reset(options={'reset_mask': ...})")
            self._flight.refuse("reset() of some lanes", lanes)
        self._forget(lanes)
        self.core.apply_skips()
        self._seed(seeds, mask)
        with _core.Whole(self.core):
            self._start(lanes)
            return self._deliver(self.core.reset(None, mask, options))

    def step(self, actions: Any, out: Any) -> Any:
        self._flight.refuse("step()")
        self.core.refuse_unready(None, "env.step()", "stepping", "no lane has been stepped")
        out = _core.take_actions(self.core, actions, None, [self._actions], out)
        with _core.Whole(self.core):
            self._play(None)
            return self._deliver(self.core.step(self._actions, out))

    def step_some(self, actions: Any, env_id: Any, out: Any) -> Any:
        self._flight.refuse("step()")
        lanes = self._take(actions, env_id, out, "env.step()", "stepping", "no lane has been stepped")
        with _core.Whole(self.core):
            self._play(lanes)
            return self._deliver(self.core.step_some(self._actions[lanes], lanes, out))

    def _take(self, actions: Any, env_id: Any, out: Any, doing: str, what: str, ending: str) -> NDArray[np.int64]:
        """Checks lanes, their actions and `out`, and takes the actions; returns the lanes."""
        self.core.require_reset(doing)
        lanes = self._flight.lanes(env_id, ending)
        self.core.refuse_unready(lanes, doing, what, ending)
        _core.take_actions(self.core, actions, lanes, [self._actions], out)
        return lanes

    # ---- lanes in flight ---------------------------------------------------------------------------------------------

    def _send_off(self, lanes: NDArray[np.int64], play: Callable[[NDArray[np.int64]], None]) -> None:
        """Lets a thread of our own play these lanes."""
        if self._process != os.getpid():
            self._worker, self._process = ThreadPoolExecutor(1, "batchenv"), os.getpid()
        self._flight.depart(lanes)
        landed = self._landed

        def work() -> None:
            self._player = threading.get_ident()
            try:
                play(lanes)
            finally:
                landed.extend(lanes.tolist())

        assert self._worker is not None
        self._worker.submit(work)

    def _settle(self) -> None:
        """Waits for the lanes in flight, and drops their results."""
        if self._orphaned():
            self._landed = self._landed.replaced()
        else:
            self._landed.wait(self._flight.count)
            self._landed.take(len(self._landed.lanes))
        self._flight.clear()
        self._resetting[:] = 0

    def hold(self, settle: bool = True) -> Any:
        if settle:
            self._wait()
        return super().hold(settle)

    def _orphaned(self) -> bool:
        """Whether there are lanes in flight that the parent of this process plays."""
        return self._flight.count > 0 and self._process != os.getpid()

    def _wait(self) -> None:
        """Waits until all lanes in flight have landed."""
        if threading.get_ident() == self._player:
            raise RuntimeError("a function of the task calls the env that has called it")
        if not self._orphaned():
            self._landed.wait(self._flight.count)

    def send(self, actions: Any, env_id: Any) -> NDArray[np.int64]:
        lanes = self._take(actions, env_id, None, "send()", "sending", "nothing was sent")
        self._send_off(lanes, self._play)
        return lanes

    def send_reset(self, seeds: Any, options: Options) -> None:
        self.core_options(options)
        self._settle()
        self._forget(self._every)
        self.core.expect_resets()
        self.core.apply_skips()
        self._seed(seeds, None)
        self._resetting[:] = 1
        self._send_off(self._every.copy(), self._start)

    def recv(self, timeout: float | None) -> Any:
        self._flight.refuse_starved()
        if self._orphaned():
            raise RuntimeError(
                "recv() in a forked process: lanes in flight are the parent's; call env.reset() here first"
            )
        rows = self._flight.rows
        if not self._landed.wait(rows, timeout):
            raise _core.batch_late(rows, timeout)
        with _core.Whole(self.core):
            lanes = self._landed.receive(self._flight)
            resets = self._resetting[lanes]
            self._resetting[lanes] = 0
            return self._deliver(self.core.step_some(self._actions[lanes], lanes, None, resets))

    def in_flight(self) -> int:
        return self._flight.count

    def fileno(self) -> int:
        return self._landed.fileno()

    def close(self) -> None:
        self._wait()
        super().close()
        if self._worker is not None and self._process == os.getpid():
            self._worker.shutdown()
        self.physics.close()
        self._landed.close()

    # ---- states and params -------------------------------------------------------------------------------------------

    def snapshot(self, lanes: NDArray[np.int64]) -> Snapshot:
        self._flight.refuse("snapshot()", lanes)
        return super().snapshot(lanes)

    def restore(self, snapshot: Snapshot, rows: NDArray[np.int64], lanes: NDArray[np.int64]) -> Any:
        if self.core.needs_reset and len(lanes) == self.num_envs:
            self._settle()
        self._flight.refuse("restore()", lanes)
        return super().restore(snapshot, rows, lanes)

    def rollout(self, actions: Any, steps: int, key: int, first_step: int, out: Any) -> tuple[Any, ...]:
        return stepwise(self, actions, steps, key, first_step, out)

    def set_params(self, params: dict[str, Any], lanes: NDArray[np.int64] | None) -> None:
        super().set_params(params, lanes)
        self.physics.set_params(self._shared())
        self._arrays.read_params()

    def set_state(self, values: dict[str, Any], lanes: NDArray[np.int64]) -> Any:
        self._flight.refuse("set_state()", lanes)
        before = {name: column[lanes] for name, column in self.state().items()}
        super().set_state(values, lanes)
        try:
            self._look_again(lanes)
        except BaseException:
            super().set_state(before, lanes)
            raise
        return self.core.observe()

    def _look_again(self, numbers: NDArray[np.int64]) -> None:
        """Computes the observations of these lanes anew, without drawing from their random streams."""
        streams = _core.streams_of(self.core)
        before = streams[numbers].copy()
        lanes = SomeLanes(self._arrays, numbers, elapsed=np.maximum(self._elapsed[numbers] - 1, 0))  # as in their step
        lanes._begin()
        try:
            observed = self._call("observe", lanes)
        finally:
            streams[numbers] = before
        self._put("observe()", observed, self._observations, numbers, len(numbers))
