"""The backend for environments written in Python whose lanes are stepped in this process: the C core calls them."""

from __future__ import annotations

import contextlib
import functools
import itertools
import reprlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from gymnasium import spaces
from gymnasium.vector import VectorEnv
from gymnasium.vector.utils import batch_space, iterate
from numpy.typing import NDArray

from batchenv import _core
from batchenv.backend.core import CoreBackend
from batchenv.backend.course import Course
from batchenv.backend.env_calls import call_env, get_attribute
from batchenv.backend.lanes import mask_of
from batchenv.backend.protocol import Arguments, Drawer, Flags, InfoDict, LaneError, Options, Shortcuts
from batchenv.backend.results import Apart, RowInfos
from batchenv.backend.snapshot import Snapshot
from batchenv.backend.stepwise import stepwise
from batchenv.backend.translator import Translator
from batchenv.workers import saved
from batchenv.workers.parts import SpaceParts
from batchenv.workers.saved import Row, Saved

_numbers = itertools.count()


NOTES = "\0notes"  # a key beside those of infos
_FINAL = ("final_info", "_final_info", "final_obs", "_final_obs")  # what a step says of episodes that have ended


def gather(
    infos: InfoDict, notes: RowInfos, finals: RowInfos, lanes: Sequence[int], apart: bool = False
) -> dict[str, Any]:
    """The infos of these lanes with what envs have said, and what they have said of episodes that have ended.

    Args:
        apart: let it be put in when somebody reads it.

    Raises:
        InfosDiffer: it cannot be put together.
    """
    finals = [(row, info) for row, info in finals if "_final_info" in infos and infos["_final_info"][row]]
    if apart:
        return Apart(infos, notes, finals, lambda: gather(dict(infos), notes, finals, lanes))
    numbers = None if "_env_id" in infos else infos.get("env_id")  # those of lanes have no mask
    gathered = _Infos(lanes).gather(notes)
    if "final_info" in infos:
        more = _Infos(lanes).gather(finals)
        # An env may say something of these names, too. The step's own stay, to which a dict is added.
        theirs, *_ = [gathered.pop(name, None) for name in _FINAL]
        if more or theirs is not None:
            infos["final_info"] = {**(theirs if isinstance(theirs, dict) else {}), **infos["final_info"], **more}
    if isinstance(infos.get("episode"), dict) and isinstance(gathered.get("episode"), dict):  # also of the env's own
        gathered["episode"] = {**infos["episode"], **gathered["episode"]}
        gathered["_episode"] = gathered["_episode"] | infos["_episode"]
    infos.update(gathered)
    if numbers is not None:  # an env may say something of this name
        infos["env_id"] = numbers
        infos.pop("_env_id", None)
    return infos


class _Infos(VectorEnv):
    """Gymnasium's own way to put infos of single envs together."""

    closed = True

    def __init__(self, lanes: Sequence[int]):
        self.num_envs, self._lanes = len(lanes), lanes

    def gather(self, notes: RowInfos) -> dict[str, Any]:
        infos, notes = _core.gather_numbers(notes, self.num_envs)
        for row, info in notes:
            try:
                infos = self._add_info(infos, info, row)
            except Exception as problem:
                raise self._refusal(infos, info, row, problem) from problem
        return infos

    def _refusal(self, infos: InfoDict, info: dict[str, Any], row: int, problem: Exception) -> Exception:
        """Says which info of a row cannot be put among those of the rows before it."""
        for key, value in info.items():
            try:
                self._add_info(infos, {key: value}, row)
            except Exception:
                return _core.InfosDiffer(
                    f"the info {key!r} of lane {self._lanes[row]} is {reprlib.repr(value)}, which cannot be put "
                    f"together with that of other lanes ({problem}): let it be of one type and shape in all lanes"
                )
        return problem


def check_env(env: Any, lane: int) -> None:
    """Raises TypeError if what has been made for a lane is no env with Gymnasium's API."""
    what = f"make_env has returned {env!r} for lane {lane}, which "
    for kind, meant in ((type, "a class"), (VectorEnv, "a vector of envs")):
        if isinstance(env, kind):
            raise TypeError(what + f"is {meant}: return one env")
    for name in ("reset", "step", "observation_space", "action_space"):
        if not hasattr(env, name):
            raise TypeError(what + f"has no {name}: return an env with Gymnasium's API")
    for name in ("observation_space", "action_space"):
        if not isinstance(getattr(env, name), spaces.Space):
            raise TypeError(
                what + f"has an {name} of {type(getattr(env, name))}, which is none of Gymnasium's spaces: convert it"
            )


def check_spaces(one: Any, first: Any, lane: int) -> None:
    """Raises ValueError if what a lane is like has not the spaces of what lane 0 is like."""
    for name in ("observation_space", "action_space"):
        mine, its = getattr(one, name), getattr(first, name)
        if mine != its:
            raise ValueError(
                f"the {name} of lane {lane} is {mine}, but that of lane 0 is {its}: all lanes of an env have the same "
                "spaces"
            )


class Spaces(NamedTuple):
    """Those of all lanes, as they were when the envs were made."""

    observation_space: spaces.Space
    action_space: spaces.Space


def renew(envs: list[Any], makers: Sequence[Callable[[], Any]], like: Spaces, lane: int) -> None:
    """Closes the env of a lane, and puts a new one in its place."""
    with contextlib.suppress(Exception):  # it has failed already, and that was reported
        envs[lane].close()
    env = makers[lane]()
    check_env(env, lane)
    check_spaces(env, like, lane)
    envs[lane] = env


class PythonTranslator(Translator):
    """See `Translator`: hands the lanes to the C core."""

    def __init__(self, lanes: _core.PythonLanes):
        self.type_name = lanes.name
        self.lanes = lanes

    def engine(self, num_envs: int, threads: int) -> Any:
        return SimpleNamespace(source=self.lanes.source)


class EnvBackend(CoreBackend):
    """What all backends of environments written in Python have in common.

    Attributes:
        observations, actions: the parts of the spaces' values.
    """

    has_envs = True
    observations: SpaceParts
    actions: SpaceParts
    _snapshots: str | None

    def _in_core(self) -> bool:
        return not self.observations.objects

    def _fill(self, agenda: Any, course: Course) -> None:
        """Lets the C core know which entries come. What they say is for the envs."""
        entries = course.entries
        if entries.params is not None:
            raise NotImplementedError(
                "params: environments in Python have none that batchenv knows: let entries have options, which "
                "reset(options=...) of the env gets"
            )
        if entries.snapshots is not None:
            raise NotImplementedError(
                "snapshots: environments in Python cannot start episodes from them: env.restore() puts lanes into one"
            )
        agenda.fill(entries.size, course.sums(), course.lists())

    def rollout(self, actions: Any, steps: int, key: int, first_step: int, out: Any) -> tuple[Any, ...]:
        return stepwise(self, actions, steps, key, first_step, out)

    def generators(self) -> tuple[np.random.Generator, ...]:
        return tuple(self.apply(get_attribute, [("np_random",)] * self.num_envs, range(self.num_envs)))

    def drawer(self, mode: str) -> Drawer:
        return PythonDrawer(self)

    def kept_as(self) -> str:
        """Which of `saved.KINDS` snapshots are.

        Raises:
            NotImplementedError: there are none.
        """
        if self._snapshots is None:
            raise saved.not_kept("snapshot()")
        return self._snapshots

    def apart(self, snapshot: Snapshot) -> Saved:
        """A snapshot of such lanes, taken apart: see `saved.apart`."""
        return saved.apart(snapshot, self._snapshots, self.raw_spaces())

    def check_snapshot(self, snapshot: Snapshot) -> int:
        parts = self.apart(snapshot)
        counts = [self.core.check_snapshot(block) for block in parts.blocks]
        if any(row.row >= counts[row.block] for row in parts.rows):
            raise ValueError("the snapshot is damaged: some of its lanes are missing")
        return len(parts.rows)


def python_lanes(
    env_id: str, observations: SpaceParts, actions: SpaceParts, count: int, *more: Any
) -> _core.PythonLanes:
    """A new env type for lanes that are objects of Python. more: further arguments of `_core.PythonLanes`."""
    name = f"{env_id} in Python {next(_numbers)}"
    seen, taken = ([tuple(port) for port in parts.ports] for parts in (observations, actions))
    return _core.PythonLanes(name, seen, taken, count, *more)


class PythonBackend(EnvBackend):
    """See `Backend`.

    Args:
        env_id: used in messages.
        makers: a function per lane that makes its env.
        kind: "serial", "threads", or what a backend that inherits from this one is called.
        on_failure: "restart": an env that has raised an exception is closed, and made again before its next reset.
            "raise": it is just reset.
        snapshots: one of `saved.KINDS`, or None.
        gathers: whether what envs say is put into infos; else it comes there as NOTES, for somebody else to do it.
        **options: as `CoreBackend`.
    """

    _apart = False  # see `tell_apart`

    def __init__(
        self,
        env_id: str,
        makers: Sequence[Callable[[], Any]],
        kind: str,
        gathers: bool = True,
        on_failure: str = "raise",
        snapshots: str | None = None,
        **options: Any,
    ):
        self.kind, self.gathers, self._snapshots = kind, gathers, snapshots
        self.envs: list[Any] = []
        lane_of: dict[int, int] = {}  # by the envs' identities
        try:
            for lane, make in enumerate(makers):
                env = make()
                check_env(env, lane)
                other = lane_of.setdefault(id(env), lane)
                if other != lane:
                    raise ValueError(
                        f"lanes {other} and {lane} are the same object: let make_env make a new env in each call"
                    )
                self.envs.append(env)
                check_spaces(env, self.envs[0], lane)
            if snapshots == "state":
                saved.check_states(self.envs[0])
            self._made = Spaces(self.envs[0].observation_space, self.envs[0].action_space)
            space, action_space = self._made
            self.metadata = getattr(self.envs[0], "metadata", None) or {}
            self.render_mode = getattr(self.envs[0], "render_mode", None)
            self.observations, self.actions = SpaceParts(space), SpaceParts(action_space, either=True)
            build = None if self.actions.whole or self.actions.objects else self.actions.builder()
            take = self.observations.take_objects if self.observations.objects else None
            self.lanes = python_lanes(env_id, self.observations, self.actions, len(self.envs), build, take)
            self.lanes.envs = self.envs
            if on_failure == "restart":
                self.lanes.renew = functools.partial(renew, self.envs, makers, self._made)
            super().__init__(env_id, PythonTranslator(self.lanes), len(self.envs), params={}, **options)
        except BaseException:
            with contextlib.suppress(Exception):
                self._close_envs()
            raise
        if kind == "threads" and options["threads"] > 1:
            self.core.force_parallel(True)  # time that envs spend waiting cannot be measured as work

    def close(self) -> None:
        super().close()
        self._close_envs()

    def _close_envs(self) -> None:
        """Closes all, and raises the first exception of those that fail."""
        problems = []
        while self.envs:
            try:
                self.envs.pop(0).close()
            except Exception as problem:
                problems.append(problem)
        if problems:
            raise problems[0]

    # ---- spaces and steps ----------------------------------------------------------------------------------------

    def raw_spaces(self) -> tuple[spaces.Space, spaces.Space]:
        return self._made

    def _look_at_spaces(self) -> None:
        super()._look_at_spaces()
        # An observation with parts that are single values or objects: arrays do not say of which type they were.
        more = self.observations.objects or any(not port.shape for port in self.observations.ports)
        self._says_more = self.lanes.keeps_final = self._layout.observation_space is self.raw_spaces()[0] and bool(more)

    def tell_apart(self) -> None:
        self._apart = True

    def shortcuts(self) -> Shortcuts:
        return Shortcuts()

    def set_plan(
        self, course: Course | None, places: NDArray[np.int64] | None = None, rows: NDArray[np.int64] | None = None
    ) -> None:
        super().set_plan(course, places, rows)
        self.lanes.agenda = self.core.agenda
        if course is not None:
            entries = course.entries
            nothing = [None] * entries.size
            self.lanes.planned = list(zip(entries.seeds or nothing, entries.options or nothing, strict=True))

    def weigh(self, sums: NDArray[np.float64]) -> None:
        """Sets other running sums of weights."""
        self._present().weigh(sums)

    def reset(self, seeds: Any, mask: Flags | None, options: Options) -> tuple[Any, InfoDict]:
        self._order(seeds, mask, options)
        return self.complete(super().reset, self._stream(), mask, {})

    def _stream(self) -> int | None:
        """The seed of the C core's random streams, which nobody draws from; snapshots need them to be sound."""
        return 0 if self.core.needs_reset else None

    def _order(self, seeds: Any, mask: Flags | None, options: Options) -> None:
        """Notes what the next reset of each lane gets."""
        for lane in range(self.num_envs) if mask is None else np.flatnonzero(mask).tolist():
            seed = seeds + lane if isinstance(seeds, int) else None if seeds is None else seeds[lane]
            self.lanes.orders[lane] = (seed, options)

    def step(self, actions: Any, out: Any) -> Any:
        if self.actions.objects:
            self.core.refuse_in_flight("step()", np.ones(self.num_envs, np.uint8))
        return self.step_taken(self._taken(actions, None), out)

    def step_taken(self, actions: Any, out: Any) -> Any:
        """`step` with actions for the C core."""
        return self.complete(super().step, actions, out)

    def step_some(self, actions: Any, env_id: Any, out: Any) -> Any:
        if self.actions.objects:
            env_id = self.core.lanes_of(env_id, "no lane has been stepped")
        return self.step_some_taken(self._taken(actions, env_id), env_id, out)

    def step_some_taken(self, actions: Any, env_id: Any, out: Any) -> Any:
        """`step_some` with actions for the C core."""
        return self.complete(super().step_some, actions, env_id, out)

    def send(self, actions: Any, env_id: Any) -> NDArray[np.int64]:
        if self.actions.objects:
            env_id = self.core.lanes_of(env_id, "nothing was sent")
        return super().send(self._taken(actions, env_id), env_id)

    def send_reset(self, seeds: Any, options: Options) -> None:
        self.core.drop()
        self._order(seeds, None, options)
        super().send_reset(self._stream(), {})

    def recv(self, timeout: float | None) -> Any:
        return self.complete(super().recv, timeout)

    def _taken(self, actions: Any, env_id: Any) -> Any:
        """The actions for the C core. Those that have parts which are no arrays are handed to the lanes, of which none
        may be in flight. env_id: an array; None: all lanes."""
        if not self.actions.objects:
            return actions
        lanes = range(self.num_envs) if env_id is None else env_id.tolist()
        return self.hand_over(rows_of_actions(self._layout.action_space, actions, len(lanes)), lanes)

    def hand_over(self, rows: list[Any], lanes: Sequence[int]) -> Any:
        """Hands actions that are no arrays to their lanes, and returns what stands for them in the C core."""
        taken = self.lanes.actions or [None] * self.num_envs
        for lane, row in zip(lanes, rows, strict=True):
            taken[lane] = row
        self.lanes.actions = taken
        return {self.actions.ports[0].name: np.zeros(len(lanes), np.uint8)}

    def complete(self, call: Callable[..., Any], *arguments: Any) -> Any:
        """What a call returns, with what does not go through ports."""
        try:
            result = call(*arguments)
            if self.lanes.interrupt is None:
                return self._completed(*result)
        except LaneError as error:
            if self.lanes.interrupt is None:
                error.result = self._completed(*error.result)
                error.causes = {int(lane): self.lanes.take_problem(lane) for lane in error.env_id}
                raise error from next(iter(error.causes.values()))
        interrupt, self.lanes.interrupt = self.lanes.interrupt, None
        self.core.tear(_core.INTERRUPTED)
        raise interrupt

    def _completed(self, *result: Any) -> Any:
        infos = result[-1]
        lanes = infos["env_id"].tolist() if "env_id" in infos else None
        numbers = range(self.num_envs) if lanes is None else lanes
        if self.observations.objects:
            objects = [self.lanes.objects_of_lane(lane) for lane in numbers]
            result = (self.observations.join(result[0], objects), *result[1:])
        if self._says_more and "_final_obs" in infos:
            infos = dict(infos)
            for row in np.flatnonzero(infos["_final_obs"]).tolist():
                final = self.lanes.final_of_lane(numbers[row])
                failed = final is _core.NoObservation
                infos["final_obs"][row] = self.observations.missing() if failed else final
        notes = self.lanes.take(lanes)
        if notes is not None:
            if self.gathers:
                infos = gather(infos, *notes, numbers, self._apart)
            else:
                infos[NOTES] = notes
        return (*result[:-1], infos)

    # ---- what lanes have and do ----------------------------------------------------------------------------------

    def snapshot(self, lanes: NDArray[np.int64]) -> Snapshot:
        return self.save(lanes).snapshot()

    def save(self, lanes: NDArray[np.int64]) -> Saved:
        """A snapshot in parts."""
        kind = self.kept_as()
        self.core.refuse_in_flight("snapshot()", mask_of(lanes, self.num_envs))
        block, waits, numbers = self.core.snapshot(lanes), self.core.waiting(), lanes.tolist()
        kept = self._keep(kind, numbers)
        rows = [Row(0, row, bool(waits[lane]), env) for row, (lane, env) in enumerate(zip(numbers, kept, strict=True))]
        return Saved(kind, self.raw_spaces(), [block], rows)

    def _keep(self, kind: str, lanes: Sequence[int]) -> list[Any]:
        """What `saved.keep` makes of these lanes."""
        return [
            saved.keep(kind, self.envs[lane], saved.asked(kind, self.envs[lane]), self.lanes.held(lane))
            for lane in lanes
        ]

    def restore(self, snapshot: Snapshot, rows: NDArray[np.int64], lanes: NDArray[np.int64]) -> Any:
        self.core.refuse_in_flight("restore()", mask_of(lanes, self.num_envs))
        if len(lanes) < self.num_envs:
            self.core.require_reset("env.restore() of some lanes")
        return self.load(self.apart(snapshot).chosen(rows.tolist()), lanes)

    def load(self, parts: Saved, lanes: NDArray[np.int64]) -> Any:
        """Puts a checked snapshot's rows into as many lanes; returns observations (num_envs, ...). If lanes have to be
        reset, the others are."""
        numbers = lanes.tolist()
        given = self._give(parts, numbers)
        # The C core lets only some lanes go on if all have been reset, and envs may make in their first reset what
        # set_state needs.
        if self.core.needs_reset and (parts.kind == "state" or len(lanes) < self.num_envs):
            self.reset(None, None, None)
        try:
            for lane, held in zip(numbers, self._put(parts.kind, given, numbers), strict=True):
                self.lanes.hold(lane, held)
        except BaseException:
            self.core.tear("restore() has failed, and some lanes have been restored, others have not")
            raise
        observations: Any = None
        for number, block in enumerate(parts.blocks):
            chosen = [k for k, row in enumerate(parts.rows) if row.block == number]
            rows = np.array([parts.rows[k].row for k in chosen])
            observations = self.core.load(block, rows, np.ascontiguousarray(lanes[chosen]))
        return self._completed(observations, {})[0]

    def _give(self, parts: Saved, lanes: Sequence[int]) -> list[Any]:
        """What `saved.give` makes of a snapshot's rows for these lanes."""
        return [saved.give(parts.kind, row.env) for row in parts.rows]

    def _put(self, kind: str, given: Sequence[Any], lanes: Sequence[int]) -> Iterator[Any]:
        """Puts envs into these lanes, or into a state; yields what each lane holds beside its env."""
        for lane, one in zip(lanes, given, strict=True):
            saved.refuse_awaitable("set_state()", saved.tell(kind, one, self.envs[lane]))
            env, held = saved.put(kind, one, self.envs[lane])
            if env is not self.envs[lane]:
                with contextlib.suppress(Exception):  # nobody needs it any more
                    self.envs[lane].close()
                self.envs[lane] = env
            yield held

    def state(self) -> dict[str, NDArray[Any]]:
        return {"elapsed_steps": self.core.elapsed()}

    def apply(self, function: Callable[..., Any], arguments: Arguments, lanes: Sequence[int]) -> list[Any]:
        return [function(self.envs[lane], *own) for lane, own in zip(lanes, arguments, strict=True)]

    def arrays_of(self, observations: Any) -> Any:
        """Of observations of all lanes, what the C core knows."""
        return self.observations.arrays(observations, self.num_envs)


def rows_of_actions(space: spaces.Space, actions: Any, count: int) -> list[Any]:
    """The action of each lane, as SyncVectorEnv takes them from those of all; copies, which belong to the envs."""
    rows = [_core.own_value(row) for row in iterate(batch_space(space, count), actions)]
    if len(rows) != count:
        raise ValueError(f"actions has {len(rows)} rows, but {count} lanes are stepped: give one per lane")
    return rows


class PythonDrawer(Drawer):
    """Draws the lanes of a backend by their own `render`."""

    def __init__(self, backend: Any):
        self._backend = backend

    def draw(self, lanes: Iterable[int]) -> tuple[Any, ...] | None:
        chosen = list(lanes)
        return tuple(self._backend.apply(call_env, [("render", (), {})] * len(chosen), chosen))
