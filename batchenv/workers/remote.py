"""The backend for environments written in Python whose lanes are stepped in other processes."""

from __future__ import annotations

import contextlib
import os
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from batchenv import _core
from batchenv.backend import Drawer, LaneError, LanePendingError, Layout, Shortcuts
from batchenv.core_backend import CoreBackend
from batchenv.transforms import DEFAULTS
from batchenv.workers.backend import (
    NOTES,
    Notes,
    PythonDrawer,
    PythonTranslator,
    gather,
    new_name,
    rows_of_actions,
)
from batchenv.workers.memory import Memory, Plan
from batchenv.workers.merge import merged
from batchenv.workers.parts import Parts
from batchenv.workers.process import WorkerDied, WorkerProcess, pack, revived
from batchenv.workers.stepwise import stepwise
from batchenv.workers.worker import FAILED, OBJECTS, Job, Verb

_LOOK = 0.05  # seconds between looks for signals, and for workers that have died
_PARENTS = ("normalize_observation", "clip_observation", "normalize_reward", "reward_dtype")  # moments are of all lanes


class ProcessBackend(CoreBackend):
    """See `backend.Backend`. A worker process has neighbouring lanes, for which it does all that the C core does for
    lanes in one process; here, their rows are put together.

    Args:
        env_id: used in messages.
        makers: a function per lane that makes its env.
        num_workers: how many processes there are.
        step_timeout: seconds that a worker may take for one request before it is ended; None: for ever.
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
        **options: Any,
    ):
        count = len(makers)
        self._mode: AutoresetMode = options["autoreset_mode"]
        self._timeout = step_timeout
        self._pid = os.getpid()
        if not hasattr(os, "memfd_create"):
            raise NotImplementedError("workers='processes' needs Linux: take workers='threads' or 'serial'")
        self._memory_fd = os.memfd_create("batchenv")
        weakref.finalize(self, os.close, self._memory_fd)
        theirs = {**options, "threads": 1, "batch_size": None, "cpus": None, "copy": True}
        theirs["transforms"] = {**options["transforms"], **{name: DEFAULTS[name] for name in _PARENTS}}
        self._bounds = np.linspace(0, count, num_workers + 1).round().astype(int).tolist()
        self._jobs = []
        for first, end in zip(self._bounds, self._bounds[1:], strict=False):
            own = {**theirs, "batch_size": end - first}
            self._jobs.append(pack(Job(env_id, list(makers[first:end]), first, own)))
        self._worker_of = np.repeat(np.arange(num_workers), np.diff(self._bounds)).tolist()
        self._workers: list[WorkerProcess] = []
        try:
            for number in range(num_workers):
                self._workers.append(WorkerProcess(number, self._memory_fd, self._jobs[number]))
            self._likes = [self._like(number) for number in range(num_workers)]
            space, action_space, self.metadata, self.render_mode = self._likes[0]
            for number, like in enumerate(self._likes):
                self._compare(number, like)
            self.observations, self._action_parts = Parts(space), Parts(action_space, either=True)
            self._raw, self._actions = space, action_space
            lanes = _core.PythonLanes(
                new_name(env_id),
                [tuple(port) for port in self.observations.ports],
                [tuple(port) for port in self._action_parts.ports],
                count,
            )
            super().__init__(env_id, PythonTranslator(lanes), count, params={}, **options)
            if self.normalizers and self._mode is AutoresetMode.SAME_STEP:
                raise NotImplementedError(
                    "normalize_observation and normalize_reward are not possible with workers='processes' in autoreset "
                    "mode SameStep: take NextStep, or gymnasium.wrappers.vector.NormalizeObservation around this env"
                )
            columns, actions = _core.columns_of(self.core)
            self._plan = Plan(count, num_workers, 2 * count + 16, columns, actions)
            self._memory = Memory(self._memory_fd, self._plan, create=True)
            for worker in self._workers:
                worker.channel.send(self._plan)
        except BaseException:
            self._end_workers()
            raise
        self._batch_size = options["batch_size"]
        self._due = [0] * num_workers  # reports that each worker owes
        self._letters: deque[tuple[int, int, int, int]] = deque()  # that have come, and have not been read
        self._reading: int | None = None  # the worker of which a message is being read
        self._since = [0.0] * num_workers  # when it got the oldest request that it has not answered
        self._said: dict[int, dict[str, Any]] = {}  # per first lane, what was reported beside arrays
        self._objects: list[Any] = [None] * count  # parts of the lanes' present observations that are no arrays
        self._flying = np.zeros(count, np.bool_)  # sent and not received
        self._landed: list[int] = []  # of these, what has been reported, in this order
        self._last: NDArray[np.int64] | None = None  # lanes that were received last
        self._renewed = np.zeros(count, np.bool_)  # in a new process, and not reset there
        self._pending = np.zeros(count, np.bool_)  # ended, and not reset: autoreset mode Disabled
        self._lost: dict[int, BaseException] = {}  # lanes whose failure has not been raised
        self._ready, self._torn = False, ""

    # ---- processes -----------------------------------------------------------------------------------------------

    def _like(self, number: int) -> Any:
        """What a new worker says of its envs."""
        like = self._workers[number].hear()
        if isinstance(like, tuple) and len(like) == 4 and not hasattr(like, "trace"):
            return like
        raise revived(like)

    def _compare(self, number: int, like: Any) -> None:
        for name, mine, first in zip(("observation_space", "action_space"), like, self._likes[0], strict=False):
            if mine != first:
                lane = self._bounds[number]
                raise ValueError(
                    f"the {name} of lane {lane} is {mine}, but that of lane 0 is {first}: all lanes of an env have the "
                    "same spaces"
                )

    def _lanes_of(self, number: int) -> range:
        return range(self._bounds[number], self._bounds[number + 1])

    def _replace(self, number: int, why: str) -> None:
        """Puts a new worker in the place of one that has died. What that one owes is reported as failed lanes."""
        self._workers[number].kill()
        owed = [lane for lane in self._lanes_of(number) if self._flying[lane] and lane not in self._landed]
        self._memory.mail.empty(number)
        self._letters = deque(letter for letter in self._letters if letter[0] != number)
        self._due[number] = 0
        self._clear(owed if self._flying.any() else list(self._lanes_of(number)))
        for lane in self._lanes_of(number):
            self._objects[lane] = None
        self._renewed[list(self._lanes_of(number))] = True
        problem = WorkerDied(why)
        self._lost.update(dict.fromkeys(self._lanes_of(number), problem))
        self._landed += owed
        worker = WorkerProcess(number, self._memory_fd, self._jobs[number])
        self._workers[number] = worker
        self._like(number)
        worker.channel.send(self._plan)

    def _clear(self, lanes: list[int]) -> None:
        """Writes the rows of lanes that have failed."""
        for column in self._memory.columns:
            column[lanes] = 0
        self._memory.columns[-1][lanes] = True

    def _end_workers(self) -> None:
        for worker in self._workers:
            worker.kill()

    def close(self) -> None:
        """See `Backend.close`. Envs get a second to close, and are ended then."""
        if self.closed:
            return
        super().close()
        if os.getpid() == self._pid:
            for number in range(len(self._workers)):
                with contextlib.suppress(RuntimeError):
                    self._memory.mail.post(number, Verb.END)
            end = time.monotonic() + 1.0
            while any(worker.alive() for worker in self._workers) and time.monotonic() < end:
                time.sleep(0.002)
            self._end_workers()

    # ---- letters -------------------------------------------------------------------------------------------------

    def _post(self, number: int, verb: Verb, lane: int = 0, said: Any = None) -> None:
        if not self._due[number]:
            self._since[number] = time.monotonic()
        self._due[number] += 1
        self._memory.mail.post(number, verb, lane, int(said is not None))
        if said is not None:
            with contextlib.suppress(OSError):  # the worker has died, which is noticed later
                self._workers[number].channel.send(said)

    def _reports(
        self, enough: Callable[[], bool], deadline: float | None = None
    ) -> Iterator[tuple[int, int, int, Any]]:
        """Reports (worker, verb, lane, what was said) as they come, until there are enough.

        Raises:
            TimeoutError: not in time.
        """
        while not enough():
            if self._reading is not None:  # Ctrl-C came while a message was read: the rest of it cannot be told apart
                number, self._reading = self._reading, None
                self._workers[number].kill()
                self._replace(number, "its process was ended, because Ctrl-C came while its report was read")
            elif self._letters:
                number, verb, lane, more = self._letters[0]
                said = None
                self._reading = number if more else None
                if more:
                    with contextlib.suppress(WorkerDied):  # in the midst of its report: it is replaced soon
                        said = self._workers[number].hear()
                self._letters.popleft()
                self._reading = None
                if said is not None or not more:
                    self._due[number] -= 1
                    self._since[number] = time.monotonic()
                    yield number, verb, lane, said
            else:
                wait = _LOOK if deadline is None else max(0.0, min(_LOOK, deadline - time.monotonic()))
                self._memory.mail.collect(self._letters, wait)
                if not self._letters:
                    self._look_after_workers()
                    if deadline is not None and time.monotonic() >= deadline and not enough():
                        raise TimeoutError

    def _look_after_workers(self) -> None:
        for number, worker in enumerate(self._workers):
            if not worker.alive():
                self._replace(number, worker.obituary())
            elif self._due[number] and self._timeout and time.monotonic() - self._since[number] > self._timeout:
                worker.kill()
                self._replace(number, f"it took longer than step_timeout={self._timeout} s, and its process was ended")

    def _settle(self) -> None:
        """Waits for all that workers owe, and drops it."""
        for _ in self._reports(lambda: not any(self._due)):
            pass
        self._flying[:] = False
        self._landed.clear()
        self._said.clear()
        self._lost.clear()

    def _note(self, verb: int, lane: int, said: Any) -> None:
        """Keeps what was said beside arrays."""
        said = said or {}
        self._lost.update({failed: revived(told) for failed, told in said.pop(FAILED, {}).items()})
        for k, objects in enumerate(said.pop(OBJECTS, ())):
            self._objects[lane + k] = objects
        if said:
            self._said[lane] = said
        if verb == Verb.LANE:
            self._landed.append(lane)

    @contextlib.contextmanager
    def _whole(self) -> Iterator[None]:
        """A call that is interrupted leaves lanes that have done it beside others that have not."""
        try:
            yield
        except BaseException:
            self._ready = False
            self._torn = "the last call was interrupted, and some lanes have done it, others have not"
            raise

    # ---- what BatchEnv calls -------------------------------------------------------------------------------------

    @property
    def needs_reset(self) -> bool:
        """See `Backend`."""
        return not self._ready

    def shortcuts(self) -> Shortcuts:
        """See `Backend.shortcuts`."""
        return Shortcuts()

    def _look_at_spaces(self) -> None:
        self._layout = Layout(self._transforms.space(self._raw), self._actions)
        coefficients = self._transforms.coefficients(self._raw)
        if coefficients is not None:
            self.core.rescale(*coefficients)

    def _check(self, doing: str) -> None:
        if os.getpid() != self._pid:
            raise RuntimeError(f"{doing} in a forked process: its workers are the parent's; make a new env here")
        if not self._ready:
            told = (
                f"{doing} needs a reset first: {self._torn}"
                if self._torn
                else f"Cannot call {doing} before calling env.reset()"
            )
            raise ResetNeeded(f"{told}; call env.reset()" if self._torn else told)

    def _refuse_flying(self, doing: str) -> None:
        if self._flying.any():
            lanes = np.flatnonzero(self._flying)
            named = ", ".join(map(str, lanes[:5])) + (", ..." if len(lanes) > 5 else "")
            raise RuntimeError(
                f"{doing} while {len(lanes)} lanes are in flight (env_id {named}): recv() their results first, or "
                "reset() everything"
            )

    def reset(self, seeds: Any, mask: NDArray[np.bool_] | None, options: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        """See `Backend.reset`."""
        if os.getpid() != self._pid:
            self._check("env.reset()")
        if mask is None:
            self._settle()
        else:
            self._check("env.reset(options={'reset_mask': ...})")
            self._refuse_flying("reset() of some lanes")
        for lane in range(self.num_envs) if mask is None else np.flatnonzero(mask).tolist():
            self._lost.pop(lane, None)
        with self._whole():
            self._order_resets(seeds, mask, options, one_by_one=False)
            for _, verb, lane, said in self._reports(lambda: not any(self._due)):
                self._note(verb, lane, said)
        self._pending[... if mask is None else mask] = False
        self._renewed[... if mask is None else mask] = False
        self._landed.clear()
        self._ready, self._torn = True, ""
        observations, _, _, _, infos = self._told(None, None)
        return self._raised((observations, infos), None)

    def _order_resets(self, seeds: Any, mask: Any, options: dict[str, Any], one_by_one: bool) -> None:
        for number in range(len(self._workers)):
            lanes = self._lanes_of(number)
            own = None if mask is None else mask[lanes.start : lanes.stop]
            if own is not None and not own.any():
                continue
            some = seeds + lanes.start if isinstance(seeds, int) else seeds and seeds[lanes.start : lanes.stop]
            told = (some, own, options, list(lanes) if one_by_one else None)
            self._post(number, Verb.RESET, lanes.start, told)
            if one_by_one:
                self._due[number] += len(lanes) - 1

    def step(self, actions: Any, out: Any) -> Any:
        """See `Backend.step`."""
        self._check("env.step()")
        self._refuse_flying("step()")
        self._refuse_pending(None, "stepping", "no lane has been stepped")
        out, taken = self._take(actions, None, out)
        with self._whole():
            for number in range(len(self._workers)):
                lanes = self._lanes_of(number)
                if self._renewed[lanes.start : lanes.stop].any():
                    for lane in lanes:
                        self._order_lane(lane, taken and taken[lane])
                else:
                    self._post(number, Verb.STEP, lanes.start, taken and taken[lanes.start : lanes.stop])
            for _, verb, lane, said in self._reports(lambda: not any(self._due)):
                self._note(verb, lane, said)
        self._landed.clear()
        return self._raised(self._told(None, out), None)

    def step_some(self, actions: Any, env_id: Any, out: Any) -> Any:
        """See `Backend.step_some`."""
        self._check("env.step()")
        self._refuse_flying("step()")
        lanes = self._read_lanes(env_id, "no lane has been stepped")
        self._refuse_pending(lanes, "stepping", "no lane has been stepped")
        out, taken = self._take(actions, lanes, out)
        with self._whole():
            self._submit(lanes, taken)
            for _, verb, lane, said in self._reports(lambda: not any(self._due)):
                self._note(verb, lane, said)
        self._landed.clear()
        self._flying[:] = False
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
        for k, lane in enumerate(lanes.tolist()):
            self._flying[lane] = True
            self._order_lane(lane, taken and taken[k])

    def _order_lane(self, lane: int, taken: Any) -> None:
        """Asks for a step of one lane. If its process is a new one, the step starts an episode there."""
        number = self._worker_of[lane]
        if lane in self._lost:  # its process has died since it was received last
            self._clear([lane])
            self._landed.append(lane)
        elif self._renewed[lane]:
            self._renewed[lane] = False
            own = np.arange(len(self._lanes_of(number))) == lane - self._bounds[number]
            self._post(number, Verb.RESET, lane, (None, own, {}, [lane]))
        else:
            self._post(number, Verb.LANE, lane, None if taken is None else [taken])

    def _read_lanes(self, env_id: Any, ending: str) -> NDArray[np.int64]:
        if env_id is None:
            if self._last is None:
                raise ValueError("env_id=None means the lanes last received, and none have been: say which lanes")
            env_id = self._last
        return _core.lanes_given(self.core, env_id, self._flying.view(np.uint8), ending)

    def _refuse_pending(self, lanes: NDArray[np.int64] | None, doing: str, ending: str) -> None:
        if self._mode is not AutoresetMode.DISABLED:
            return
        ended = np.flatnonzero(self._pending) if lanes is None else lanes[self._pending[lanes]]
        if len(ended):
            raise LanePendingError(
                f"lane {ended[0]} has finished its episode and autoreset_mode is DISABLED: reset it with "
                f"env.reset(options={{'reset_mask': terminations | truncations}}) before {doing} it; {ending}"
            )

    def _told(self, lanes: NDArray[np.int64] | None, out: Any) -> Any:
        """The results of lanes (None: of all) that have been reported."""
        observations, rewards, terminations, truncations = _core.adopt(self.core, self._memory.columns, lanes, out)
        numbers = range(self.num_envs) if lanes is None else lanes.tolist()
        if self.observations.objects:
            observations = self.observations.join(observations, [self._objects[lane] for lane in numbers])
        if lanes is None:
            said = sorted(self._said.items())
        else:
            said = [(row, self._said[lane]) for row, lane in enumerate(numbers) if lane in self._said]
        infos = {}
        if said:
            told: tuple[Notes, Notes] = ([], [])
            for first, infos in said:
                for together, some in zip(told, infos.pop(NOTES, ((), ())), strict=True):
                    together += [(first + row, info) for row, info in some]
            infos = merged(said, len(numbers))
            gather(infos, *told, len(numbers))
        for lane in list(self._said) if lanes is None else numbers:
            self._said.pop(lane, None)
        if lanes is not None:
            infos["env_id"] = lanes
        self._pending[slice(None) if lanes is None else lanes] = terminations | truncations
        return observations, rewards, terminations, truncations, infos

    def _raised(self, result: Any, lanes: NDArray[np.int64] | None) -> Any:
        """`result`, or a LaneError that holds it, if lanes have failed."""
        asked = range(self.num_envs) if lanes is None else lanes.tolist()
        lost = {lane: self._lost.pop(lane) for lane in asked if lane in self._lost}
        if not lost:
            return result
        named = "; ".join(f"lane {lane}: {type(lost[lane]).__name__}: {lost[lane]}" for lane in sorted(lost)[:5])
        error = LaneError(
            f"{len(lost)} of the lanes failed ({named}{', ...' if len(lost) > 5 else ''}); their episodes are over, "
            "and the next step or reset starts new ones; the other lanes are fine: see this error's env_id and result",
            np.array(sorted(lost)),
            result,
        )
        error.causes = lost
        raise error from lost[min(lost)]

    # ---- lanes in flight -----------------------------------------------------------------------------------------

    def send(self, actions: Any, env_id: Any) -> NDArray[np.int64]:
        """See `Backend.send`."""
        self._check("send()")
        lanes = self._read_lanes(env_id, "nothing was sent")
        self._refuse_pending(lanes, "sending", "nothing was sent")
        _, taken = self._take(actions, lanes, None)
        self._submit(lanes, taken)
        return lanes

    def send_reset(self, seeds: Any, options: dict[str, Any]) -> None:
        """See `Backend.send_reset`."""
        self._settle()
        self._order_resets(seeds, None, options, one_by_one=True)
        self._flying[:] = True
        self._pending[:] = False
        self._renewed[:] = False
        self._ready, self._torn = True, ""

    def recv(self, timeout: float | None) -> Any:
        """See `Backend.recv`."""
        flying = int(self._flying.sum())
        if flying < self._batch_size:
            raise RuntimeError(
                f"recv() with {flying or 'nothing'} in flight: a batch has {self._batch_size} rows and would never "
                "come; async_reset() or send() first"
            )
        deadline = None if timeout is None else time.monotonic() + timeout
        try:
            for _, verb, lane, said in self._reports(lambda: len(self._landed) >= self._batch_size, deadline):
                self._note(verb, lane, said)
        except TimeoutError:
            raise TimeoutError(
                f"no batch of {self._batch_size} lanes within {timeout} s; nothing is lost: call recv() again"
            ) from None
        lanes = np.array(self._landed[: self._batch_size])
        if self._batch_size == self.num_envs:
            lanes.sort()
        result = self._told(lanes, None)
        del self._landed[: self._batch_size]
        self._flying[lanes] = False
        self._last = lanes
        return self._raised(result, lanes)

    def in_flight(self) -> int:
        """See `Backend.in_flight`."""
        return int(self._flying.sum())

    def fileno(self) -> int:
        """See `Backend.fileno`."""
        raise self._lacks("fileno()")

    def rollout(self, actions: Any, steps: int, key: int, first_step: int, out: Any) -> tuple[Any, ...]:
        """See `Backend.rollout`."""
        return stepwise(self, actions, steps, key, first_step, out)

    # ---- what lanes have and do ----------------------------------------------------------------------------------

    def _ask(self, questions: dict[int, tuple[str, tuple[Any, ...]]]) -> dict[int, Any]:
        """{worker: answer} of questions to workers, all at once."""
        self._refuse_flying("a question to the envs")
        for number, question in questions.items():
            self._post(number, Verb.CALL, 0, question)
        answers = {}
        for number, _, _, said in self._reports(lambda: not any(self._due)):
            answers[number] = said
        for number in questions:
            if number not in answers:
                raise self._lost[self._bounds[number]]
            if answers[number][0] == "failed":
                raise revived(answers[number][1])
        return {number: said for number, (_, said) in answers.items()}

    def call(self, name: str, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> list[Any]:
        """See `Backend.call`."""
        answers = self._ask({number: ("call", (name, arguments, keywords)) for number in range(len(self._workers))})
        return [value for number in range(len(self._workers)) for value in answers[number]]

    def set_attribute(self, name: str, values: Sequence[Any]) -> None:
        """See `Backend.set_attribute`."""
        lanes = {number: self._lanes_of(number) for number in range(len(self._workers))}
        self._ask({k: ("set_attribute", (name, list(values[own.start : own.stop]))) for k, own in lanes.items()})

    def pictures(self, lanes: list[int]) -> list[Any]:
        """What the envs of these lanes draw."""
        asked: dict[int, list[int]] = {}
        for lane in lanes:
            asked.setdefault(self._worker_of[lane], []).append(lane - self._bounds[self._worker_of[lane]])
        answers = self._ask({number: ("pictures", (own,)) for number, own in asked.items()})
        drawn = {number: iter(pictures) for number, pictures in answers.items()}
        return [next(drawn[self._worker_of[lane]]) for lane in lanes]

    def drawer(self, mode: str) -> Drawer:
        """See `Backend.drawer`."""
        return PythonDrawer(self.pictures)

    def state(self) -> dict[str, NDArray[Any]]:
        """See `Backend.state`."""
        answers = self._ask({number: ("state", ()) for number in range(len(self._workers))})
        states = [answers[number] for number in range(len(self._workers))]
        return {name: np.concatenate([state[name] for state in states]) for name in states[0]}

    def generators(self) -> tuple[np.random.Generator, ...]:
        """See `Backend.generators`."""
        return tuple(self.call("np_random", (), {}))

    def snapshot(self, lanes: NDArray[np.int64]) -> bytes:
        """See `Backend.snapshot`."""
        raise self._lacks("snapshot()")

    def check_snapshot(self, data: bytes) -> int:
        """See `Backend.check_snapshot`."""
        raise self._lacks("restore()")
