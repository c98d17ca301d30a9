"""The backend of an env that is being recorded: it has the env's own do everything, and writes down what."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from batchenv.backend.course import Course
from batchenv.backend.env_calls import call_env, set_attribute
from batchenv.backend.protocol import Backend, Flags, LaneError
from batchenv.backend.snapshot import Snapshot
from batchenv.env.batch_env import BatchEnv
from batchenv.recordings import leaves
from batchenv.recordings.errors import RecordingError
from batchenv.recordings.header import waiting
from batchenv.recordings.log import Log
from batchenv.recordings.moments import moments_of, same
from batchenv.recordings.plans import describe_course
from batchenv.recordings.values import to_json
from batchenv.recordings.watching import Watching
from batchenv.spaces import nested


class RecordingBackend(Watching):
    """See `Backend`.

    Args:
        inner: the env's own backend.
        env: what is recorded.
        log: where it is written.
        ended: is called when the env is closed.

    Attributes:
        failure: why recording has stopped, or None. The step during which this happened was taken, and its results
            were returned; each call after it raises this error until the recording is closed.
    """

    def __init__(self, inner: Backend, env: BatchEnv, log: Log, ended: Callable[[], None]):
        super().__init__(inner)
        self.failure: RecordingError | None = None
        self._env, self._log, self._ended, self._process = env, log, ended, os.getpid()
        self._sent: list[Any] = [None] * inner.num_envs  # per lane in flight: its action's parts, or "reset"
        self._flying = False  # whether any lane has been sent since all were together
        self._unsure = False  # a call was interrupted: nobody knows whether it was noted
        self._skipped: NDArray[np.int64] | None = None  # see `skip_entries`
        self._lost = False  # a call was interrupted: nobody knows what lanes have done
        self._moments = moments_of(env)

    def hold(self, settle: bool = True) -> AbstractContextManager[Any]:
        # A key frame of lanes that are not in flight is only possible while no lane is being stepped.
        return self.inner.hold(settle or (self._flying and bool(self._log.due().any())))

    @property
    def core(self) -> Any:
        """Refuses what steps lanes by way of the C core itself, such as env.xla()."""
        raise RecordingError(
            f"{self._env!r} is being recorded, and env.xla() would step its lanes without the recording: close the "
            "recording first, or step with env.step()"
        )

    # ---- before and after each call ------------------------------------------------------------------------------

    def _begin(self) -> None:
        """Raises what has stopped the recording, and notes what changed since the last call."""
        if self.failure is not None:
            raise self.failure
        if os.getpid() != self._process:
            raise RecordingError(
                "this env is being recorded by the process from which this one was forked: make another env here"
            )
        if self._unsure:
            self._note(self._found_again, None)
            self._unsure = False
        if self._moments:
            now = moments_of(self._env)
            if not same(now, self._moments):
                self._note(self._log.event, "moments", {"moments": now})

    def _note(self, function: Callable[..., Any], *arguments: Any, **keywords: Any) -> None:
        """Writes something. Whatever goes wrong, the result of the env's call is returned first."""
        if self.failure is not None:
            return
        try:
            function(*arguments, **keywords)
        except Exception as problem:
            self.failure = self._stopped(problem)
            self.failure.__cause__ = problem
        except BaseException:
            if self._log.torn:
                self.failure = self._stopped(RuntimeError("a block was being written when this was interrupted"))
            raise
        if self._moments:
            self._moments = moments_of(self._env)

    def _stopped(self, problem: Exception) -> RecordingError:
        log = self._log
        whole = int(log.done.min())
        why = problem.strerror if isinstance(problem, OSError) and problem.strerror else repr(problem)
        return RecordingError(
            f"recording into {log.path} has stopped: {why}. The env has taken every step; {whole} steps of each lane "
            f"are safe in the file ({int(log.done.sum())} steps of lanes). Close the recording to go on without it"
        )

    def _run(self, note: Callable[[Any], None], call: Callable[..., Any], *arguments: Any) -> Any:
        """The result of a call of the backend's, when it has been noted; also that of a LaneError."""
        waiting, flying = self.inner.needs_reset, self._flying and self.inner.in_flight()
        try:
            try:
                result = call(*arguments)
            except LaneError as error:
                self._note(note, error.result)
                raise
            self._note(note, result)
            return result
        except Exception:
            self._lost = self._lost or (self.inner.needs_reset and not waiting)
            raise
        except BaseException:
            self._interrupted(waiting, flying)
            raise

    def _interrupted(self, waiting: bool, flying: bool | int) -> None:
        """Notes that Ctrl-C or the like has ended a call, so that nobody knows whether its results were noted. waiting,
        flying: `needs_reset` before it, and how many lanes were in flight, if any."""
        if self.inner.needs_reset:
            self._lost = self._lost or not waiting
        elif not self._flying:
            self._unsure = True
        elif self.inner.in_flight() != flying:
            self.failure = self._stopped(RuntimeError("a call was interrupted while lanes were in flight"))

    def _found_again(self, lanes: NDArray[np.int64] | None, goes_on: bool = False) -> None:
        """Notes where lanes are, by a snapshot, after a call of which a replay does not know what it does. goes_on:
        their episodes go on."""
        lanes = np.arange(self.num_envs) if lanes is None else lanes
        data = b"" if self._log.stores else bytes(self.inner.snapshot(lanes))
        rows = np.arange(len(lanes))
        meta = {"rows": rows, "lanes": lanes, "waiting": waiting(self.inner, lanes), "goes_on": goes_on}
        self._log.event("restore", meta, {"s": data}, begun=None if goes_on else lanes)
        if self._env.present_plan is not None:
            self._log.event("places", {"lanes": lanes}, {"places": self.inner.places()[lanes]})

    # ---- resets --------------------------------------------------------------------------------------------------

    def reset(self, seeds: Any, mask: Flags | None, options: Any) -> Any:
        self._begin()
        options = None if options is None else dict(options)
        if options is not None and not self._log.stores:
            to_json(options)  # raises TypeError before anything is done
        begun = slice(None) if mask is None else np.array(mask)

        def note(result: Any) -> None:
            if mask is None:
                self._drop()
            if self._lost:
                self._found_again(None)
                return
            meta = {"seeds": seeds, "mask": None if mask is None else np.array(mask), "options": options}
            meta["skip"] = self._skipped
            self._log.event("reset", meta, begun=begun, observations=result[0])
            if not self._flying:
                self._log.key_frame_if_due(first=False)

        result = self._run(note, self.inner.reset, seeds, mask, options)
        if mask is None:
            self._lost = False
        return result

    def send_reset(self, seeds: Any, options: Any) -> None:
        self._begin()
        options = None if options is None else dict(options)
        if options is not None and not self._log.stores:
            to_json(options)
        if self._lost and (seeds is None or (isinstance(seeds, list) and None in seeds)):
            raise RecordingError(
                "after a call that was interrupted, async_reset() without a seed for each lane cannot be replayed: "
                "give it seeds, or call reset()"
            )

        def note(result: None) -> None:
            self._drop()
            self._log.event(
                "reset", {"seeds": seeds, "mask": None, "options": options, "skip": self._skipped}, begun=slice(None)
            )
            self._sent, self._lost, self._flying = ["reset"] * self.num_envs, False, True

        self._run(note, self.inner.send_reset, seeds, options)

    def _drop(self) -> None:
        """Notes the steps of lanes in flight whose results a reset of all drops: their random streams have moved."""
        lanes = np.array(
            [lane for lane, sent in enumerate(self._sent) if sent is not None and sent != "reset"], np.int64
        )
        if len(lanes):
            both = zip(self._log.parts, self._gathered(lanes), strict=True)
            arrays = {f"a{k}": leaves.packed(leaf, part) for k, (leaf, part) in enumerate(both)}
            self._log.event("dropped", {"lanes": lanes}, arrays)
        self._sent, self._flying = [None] * self.num_envs, False

    # ---- steps ---------------------------------------------------------------------------------------------------

    def step(self, actions: Any, out: Any) -> Any:
        self._begin()
        return self._run(lambda result: self._log.step(actions, result), self.inner.step, actions, out)

    def step_some(self, actions: Any, env_id: Any, out: Any) -> Any:
        self._begin()

        def note(result: Any) -> None:
            lanes = np.array(result[4]["env_id"], np.int64)
            self._log.some(lanes, self._kept(actions, len(lanes)), result)
            self._log.key_frame_if_due()

        return self._run(note, self.inner.step_some, actions, env_id, out)

    def rollout(self, actions: Any, steps: int, key: int, first_step: int, out: Any) -> Any:
        self._begin()

        def note(result: Any) -> None:
            for t in range(steps):
                row = [nested.each(lambda part, t=t: part[t], part) for part in result[:4]]
                infos = leaves.row_of(result[4], t) if self._log.reads_infos else {}
                self._log.step(nested.each(lambda part, t=t: part[t], result[5]), (*row, infos), keys=False)
            self._log.key_frame_if_due(first=False)  # now that lanes are where the last step has led

        return self._run(note, self.inner.rollout, actions, steps, key, first_step, out)

    def _kept(self, actions: Any, rows: int) -> list[NDArray[Any]]:
        """Copies of the parts of actions."""
        parts = self._log.parts
        return [np.array(leaves.kept(leaf, leaves.part_of(actions, leaf.path), (rows,))) for leaf in parts]

    def _gathered(self, lanes: NDArray[np.int64]) -> list[NDArray[Any]]:
        """The parts of the actions that lanes in flight were sent with."""
        return [np.stack([self._sent[lane][k] for lane in lanes.tolist()]) for k in range(len(self._log.parts))]

    def send(self, actions: Any, env_id: Any) -> NDArray[np.int64]:
        self._begin()
        self._key_frames_between()
        self._flying = True

        def note(lanes: NDArray[np.int64]) -> None:
            parts = self._kept(actions, len(lanes))
            for row, lane in enumerate(np.asarray(lanes).tolist()):
                self._sent[lane] = [part[row] for part in parts]

        return self._run(note, self.inner.send, actions, env_id)

    def _key_frames_between(self) -> None:
        """Key frames of lanes that need one and are not in flight."""
        due = self._log.due()
        if due.any():
            due &= np.array([sent is None for sent in self._sent])
            if due.any():
                self._note(self._log.key_frame, np.flatnonzero(due))

    def recv(self, timeout: float | None) -> Any:
        self._begin()

        def note(result: Any) -> None:
            lanes = np.array(result[4]["env_id"], np.int64)
            stepped = np.array(
                [self._sent[lane] is not None and self._sent[lane] != "reset" for lane in lanes.tolist()]
            )
            if stepped.all():
                actions = self._gathered(lanes)
                if len(lanes) == self.num_envs and (np.diff(lanes) == 1).all():
                    given = [
                        part.astype(leaf.given) + leaf.low for leaf, part in zip(self._log.parts, actions, strict=True)
                    ]
                    nest = leaves.built(self._log.parts, given, self._env.single_action_space)
                    self._log.step(nest, result)
                else:
                    self._log.some(lanes, actions, result)
            elif not stepped.any():
                self._log.event("arrived", {"lanes": lanes}, observations=result[0])
            else:
                self._both(lanes, stepped, result)
            for lane in lanes.tolist():
                self._sent[lane] = None

        return self._run(note, self.inner.recv, timeout)

    def _both(self, lanes: NDArray[np.int64], stepped: NDArray[np.bool_], result: Any) -> None:
        """Notes a batch of which some lanes were stepped and others reset."""
        for chosen, is_step in ((~stepped, False), (stepped, True)):
            rows = np.flatnonzero(chosen)
            part = [nested.each(lambda leaf, rows=rows: leaves.rows_of(leaf, rows), value) for value in result[:4]]
            infos = leaves.row_of(result[4], rows)
            if is_step:
                self._log.some(lanes[rows], self._gathered(lanes[rows]), (*part, infos))
            else:
                self._log.event("arrived", {"lanes": lanes[rows]}, observations=part[0])

    # ---- plans ---------------------------------------------------------------------------------------------------

    def set_plan(self, course: Course | None, places: NDArray[np.int64] | None = None) -> None:
        self._begin()
        described = None
        if course is not None and not self._log.stores:
            described = describe_course(course, self.inner)

        def note(result: None) -> None:
            if not self._log.stores:
                arrays = {} if course is None else {"places": self.inner.places()}
                self._log.event("plan", {"course": described}, arrays)

        self._run(note, self.inner.set_plan, course, places)

    def set_weights(self, course: Course) -> None:
        self._begin()
        if not self._log.stores:
            self._refuse_flight("setting weights of a plan")

        def note(result: None) -> None:
            if not self._log.stores:
                self._log.event("weights", {"weights": course.weights})

        self._run(note, self.inner.set_weights, course)

    def skip_entries(self, lanes: NDArray[np.int64] | None) -> None:
        self._skipped = lanes  # the reset that follows is written with it
        self.inner.skip_entries(lanes)

    def put_places(self, places: NDArray[np.int64], lanes: NDArray[np.int64]) -> None:
        self._begin()
        self.inner.put_places(places, lanes)
        if not self._log.stores:
            self._note(self._log.event, "places", {"lanes": np.array(lanes)}, {"places": np.array(places)})

    # ---- what else changes lanes ---------------------------------------------------------------------------------

    def _refuse_flight(self, what: str) -> None:
        if any(sent is not None for sent in self._sent):
            raise RecordingError(
                f"{what} while lanes are in flight cannot be replayed, because it depends on which of them have been "
                "stepped: recv() them first, or record with observations=True"
            )

    def restore(self, snapshot: Snapshot, rows: NDArray[np.int64], lanes: NDArray[np.int64]) -> Any:
        self._begin()
        data = b"" if self._log.stores else bytes(snapshot)
        whole = len(lanes) == self.num_envs

        def note(result: Any) -> None:
            meta = {"rows": np.array(rows), "lanes": np.array(lanes), "goes_on": False}
            meta["waiting"] = waiting(self.inner, lanes)
            self._log.event("restore", meta, {"s": data}, begun=np.array(lanes), observations=result)

        observations = self.inner.restore(snapshot, rows, lanes)
        if whole:
            self._lost = False
        self._note(note, observations)
        return observations

    def set_params(self, params: dict[str, Any], lanes: NDArray[np.int64] | None) -> None:
        self._begin()
        if not self._log.stores:
            self._refuse_flight("set_params()")
        given = {name: value if value is None or isinstance(value, (str, bool, int, float, list)) else np.array(value)
                 for name, value in params.items()}  # fmt: skip
        to_json(given)
        chosen = None if lanes is None else np.array(lanes)
        self.inner.set_params(params, lanes)
        self._note(self._log.event, "params", {"params": given, "lanes": chosen})

    def set_state(self, values: dict[str, Any], lanes: NDArray[np.int64]) -> Any:
        self._begin()
        given = {name: np.array(value) for name, value in values.items()}
        to_json(given)
        result = self.inner.set_state(values, lanes)
        meta = {"values": given, "lanes": np.array(lanes)}
        self._note(self._log.event, "state", meta, observations=result)
        return result

    def apply(self, function: Callable[..., Any], arguments: Any, lanes: Sequence[int]) -> Sequence[Any]:
        """See `Backend.apply`. What may change an env is written by a snapshot after it, where results are not
        stored."""
        self._begin()
        changes = function in (call_env, set_attribute) and not self._log.stores
        if function is call_env and changes:  # a question for an attribute, as get_attr asks it
            changes = any(arguments_of[1] or arguments_of[2] for arguments_of in arguments) or self._calls(arguments)
        if changes:
            self._refuse_flight("a call that may change envs")
        result = self.inner.apply(function, arguments, lanes)
        if changes:
            self._note(self._found_again, np.array(lanes, np.int64), goes_on=True)
        return result

    def _calls(self, arguments: Any) -> bool:
        """Whether the names in these questions may be those of functions: all but a few that are known not to be."""
        return any(of[0] not in ("spec", "render_mode", "metadata", "np_random", "np_random_seed") for of in arguments)

    def close(self) -> None:
        try:
            self._ended()
        finally:
            self.inner.close()
