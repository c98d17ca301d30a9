"""The interface between BatchEnv and the backend that steps its lanes, and the errors that both sides know.

`core.CoreBackend` is the backend for lanes of C types. Those of `batchenv.workers` step environments written in Python,
in this process or in others. BatchEnv has Gymnasium's API and checks shapes, seeds and masks; it knows nothing about
how a lane is stepped.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from numpy.typing import ArrayLike, NDArray

from batchenv._core import LaneError, LanePendingError
from batchenv.arguments.seeds import Seeds
from batchenv.backend.course import Course
from batchenv.backend.snapshot import Snapshot

__all__ = ["Backend", "Drawer", "LaneError", "LanePendingError", "LaneSpaces", "ResetNeeded", "Shortcuts"]

# What calls take and return. Where a space has one part, observations are an array; else a dict or tuple of arrays. The
# second half, Any, lets users take them for what they know they are.
Observations: TypeAlias = NDArray[Any] | Any
Rewards: TypeAlias = NDArray[np.floating[Any]]  # float64, or float32 with reward_dtype
Flags: TypeAlias = NDArray[np.bool_]
InfoDict: TypeAlias = dict[str, Any]  # in Gymnasium's form
Step: TypeAlias = tuple[Observations, Rewards, Flags, Flags, InfoDict]
Actions: TypeAlias = ArrayLike | Mapping[str, Any] | tuple[Any, ...]
Options: TypeAlias = dict[str, Any] | None  # of a reset
Arguments: TypeAlias = Sequence[tuple[Any, ...]]  # of calls: a tuple for each
Out: TypeAlias = Sequence[Any] | None  # four arrays to write into, each of which may be None
EnvIds: TypeAlias = Sequence[int] | NDArray[np.integer[Any]]  # the numbers of lanes, in this order
# What environments with goals answer for any goals: functions of achieved goals, desired goals, and infos.
GOAL_FUNCTIONS = ("compute_reward", "compute_terminated", "compute_truncated")
Lanes: TypeAlias = int | np.integer[Any] | slice | EnvIds | Flags  # for `lanes.lane_indices`


class LaneSpaces(NamedTuple):
    """The spaces of one lane."""

    observation_space: spaces.Space[Any]
    action_space: spaces.Space[Any]


class Shortcuts(NamedTuple):
    """Functions of a backend that hold the lanes themselves, so that BatchEnv can call them directly for `step`, `send`
    and `recv`. If one is None, BatchEnv holds the lanes during the call."""

    step: Callable[[Actions, Out], Step] | None = None
    send: Callable[[Actions, EnvIds | None], NDArray[np.int64]] | None = None
    recv: Callable[[float | None], Step] | None = None


class Drawer:
    """Draws lanes. This base class draws nothing; it is for envs without a render mode."""

    def watch(self, actions: Any, lanes: Any = None) -> None:
        """Is told that these lanes (None: all) have taken these actions."""

    def forget(self, lanes: Any) -> None:
        """Is told that it is not known what these lanes have done last."""

    def draw(self, lanes: Iterable[int]) -> tuple[Any, ...] | None:
        """A picture of each lane in its present state, or None if a window shows it."""
        return None

    def close(self) -> None:
        """Closes the window, if there is one. May be called again."""


class Backend(Protocol):
    """Steps `num_envs` lanes of one environment.

    All calls except `hold`, `closed`, `close` and `num_threads` are made while BatchEnv holds the lanes. Returned
    arrays belong to the caller: none is written again while the caller has it, unless the user has asked for that. A
    call that raises has changed nothing. The exception is a LaneError, which says that some lanes failed while the
    others went on: its `result` is what would have been returned, and its `env_id` says which lanes failed.

    A backend that inherits from this class must have `hold`, `layout`, `reset`, `step`, `state`, `generators` and
    `close`. It may leave out any other method, which then raises NotImplementedError or returns an empty result.

    Attributes:
        num_envs, num_threads: the number of lanes, and of threads or processes that may step them.
        closed: whether `close` has ended it.
        needs_reset: whether lanes have to be reset before anything else.
        kind: what steps the lanes, for `BatchEnv.backend`: "C", "serial", "threads", "processes", "asyncio".
        has_envs: whether each lane is an env of its own, with attributes and methods, for `apply`.
    """

    num_envs: int
    num_threads: int
    closed: bool
    needs_reset: bool
    kind: str = "other"
    has_envs: bool = False

    @abstractmethod
    def hold(self, settle: bool = True) -> AbstractContextManager[Any]:
        """A context manager that keeps other calls out. settle: also wait until no lane is being stepped.

        Raises:
            RuntimeError: another call is running, in another thread or interrupted by a signal handler; or the backend
                is closed.
        """

    @abstractmethod
    def layout(self) -> LaneSpaces:
        """The spaces of a lane. Returns the same object until they change; parameters may change them."""

    def info_forms(self) -> Sequence[tuple[tuple[str, ...], Any, tuple[int, ...]]]:
        """The infos of a step whose forms are known before: (path in the dict of infos, dtype, shape of one lane)."""
        return ()

    def tell_apart(self) -> None:
        """Asks for infos into which what envs say is put when somebody reads it, as `results.Apart`."""

    def shortcuts(self) -> Shortcuts:
        """Functions that need no `hold`; see `Shortcuts`."""
        return Shortcuts()

    def innermost(self) -> Backend:
        """The backend that steps the lanes, where this one only watches another."""
        return self

    @abstractmethod
    def reset(self, seeds: Seeds, mask: Flags | None, options: Options) -> tuple[Observations, InfoDict]:
        """Starts new episodes. If all lanes are reset, lanes in flight are waited for, and their results are dropped.

        Args:
            seeds: an int s: lane i gets seed s + i. A list: one int per lane, or None where the lane's random stream
                goes on. None: all streams go on.
            mask: which lanes; None: all.
            options: the environment's, or None. A backend that reads them itself refuses those that it does not have.

        Returns:
            observations (num_envs, ...) and infos. Lanes that were not reset give their present observation.

        Raises:
            TypeError, ValueError: a wrong or unknown option.
        """

    @abstractmethod
    def step(self, actions: Actions, out: Out) -> Step:
        """Takes one action per lane, and resets lanes as the autoreset mode says.

        Args:
            actions: (num_envs, ...).
            out: four arrays to write into, each of which may be None; or None.

        Returns:
            observations (num_envs, ...), rewards (num_envs,) float64, terminations and truncations (num_envs,) bool,
            and infos as gymnasium.vector.SyncVectorEnv has them.

        Raises:
            TypeError, ValueError: wrong actions or `out`; no lane has been stepped.
            ResetNeeded: before the first reset, or for a finished lane with autoreset disabled.
        """

    def step_some(self, actions: Actions, env_id: EnvIds, out: Out) -> Step:
        """Like `step`, but only for the lanes listed in `env_id`; row k belongs to lane `infos["env_id"][k]`, in the
        order given."""
        raise self._lacks("step(actions, env_id)")

    def send(self, actions: Actions, env_id: EnvIds | None) -> NDArray[np.int64]:
        """Sends lanes to be stepped and returns their numbers. env_id: the numbers; None: the lanes last received."""
        raise self._lacks("send()")

    def send_reset(self, seeds: Seeds, options: Options) -> None:
        """Sends all lanes to be reset. Lanes in flight are waited for, and their results are dropped."""
        raise self._lacks("async_reset()")

    def recv(self, timeout: float | None) -> Step:
        """Like `step`, for the lanes that are finished first; row k belongs to lane `infos["env_id"][k]`.

        Raises:
            TimeoutError: the batch was not complete in time; nothing is lost. RuntimeError: fewer lanes are in flight
                than a batch has.
        """
        raise self._lacks("recv()")

    def in_flight(self) -> int:
        """How many lanes are in flight."""
        return 0

    def fileno(self) -> int:
        """A file descriptor that is readable when `recv` would not wait."""
        raise self._lacks("fileno()")

    def rollout(self, actions: Any, steps: int, key: int, first_step: int, out: Out) -> tuple[Any, ...]:
        """`steps` steps of all lanes.

        Args:
            actions: (steps, num_envs, ...); None: random ones, which are a function of `key`, the number of the step
                (from first_step on), and the lane.

        Returns:
            observations, rewards, terminations, truncations, infos, actions, with a first axis of steps.
        """
        raise self._lacks("rollout()")

    def waiting(self) -> NDArray[np.bool_]:
        """Whether each lane has finished its episode, and waits for its reset."""
        return np.zeros(self.num_envs, np.bool_)

    def set_plan(self, course: Course | None, places: NDArray[np.int64] | None = None) -> None:
        """Lets lanes follow a plan; None: none any more. No lane may be in flight. places: see `places`; None: its
        beginning. If it raises, nothing has changed."""
        raise self._lacks("plan()")

    def set_weights(self, course: Course) -> None:
        """The same for a plan that differs from the present one in its weights only; lanes may be in flight."""
        raise self._lacks("plan()")

    def skip_entries(self, lanes: NDArray[np.int64] | None) -> None:
        """Lets the next `reset` or `send_reset` of these lanes begin episodes that are none of the plan. None: takes
        that back."""
        raise self._lacks("plan()")

    def places(self) -> NDArray[np.int64]:
        """Of each lane (num_envs, 4): its stream in the plan, how many entries it has had, the entry of its present
        episode (-1: none), and that of its next one, where that is decided (-2: it is not)."""
        raise self._lacks("plan()")

    def put_places(self, places: NDArray[np.int64], lanes: NDArray[np.int64]) -> None:
        """Sets the places of these lanes to rows that `places` of the same plan, or of one with fewer entries, has
        returned."""
        raise self._lacks("plan()")

    def snapshot(self, lanes: NDArray[np.int64]) -> Snapshot:
        """Everything that decides what these lanes do next."""
        raise self._lacks("snapshot()")

    def check_snapshot(self, snapshot: Snapshot) -> int:
        """How many lanes a snapshot holds. Raises ValueError if it is damaged or belongs to another environment."""
        raise self._lacks("restore()")

    def restore(self, snapshot: Snapshot, rows: NDArray[np.int64], lanes: NDArray[np.int64]) -> Observations:
        """Puts rows of a checked snapshot into as many lanes; returns observations (num_envs, ...)."""
        raise self._lacks("restore()")

    def get_params(self) -> dict[str, Any]:
        """Copies of all parameters: {name: one value, or an array (num_envs,) if lanes differ}."""
        return {}

    def set_params(self, params: dict[str, Any], lanes: NDArray[np.int64] | None) -> None:
        """Changes parameters of these lanes (None: of all). `BatchEnv.set_params` says which forms values have.

        Raises:
            TypeError, ValueError: an unknown parameter, or a wrong value.
        """
        raise self._lacks("set_params()")

    @abstractmethod
    def state(self) -> dict[str, NDArray[Any]]:
        """Copies of the state: {field: array (num_envs, ...)}, including "elapsed_steps"."""

    def set_state(self, values: dict[str, Any], lanes: NDArray[np.int64]) -> Observations:
        """Sets fields of the state of these lanes; `BatchEnv.set_state` says which forms values have. Returns
        observations (num_envs, ...)."""
        raise self._lacks("set_state()")

    def attributes(self) -> Sequence[str]:
        """Names of the attributes of lanes other than parameters."""
        return ()

    def attribute(self, name: str) -> Sequence[Any] | NDArray[Any]:
        """The value of one of `attributes` in each lane."""
        raise KeyError(name)

    def apply(self, function: Callable[..., Any], arguments: Arguments, lanes: Sequence[int]) -> Sequence[Any]:
        """What `function(env, *arguments[k])` returns for the env of lane `lanes[k]`, called where this env is, which
        may be another process. `env_calls` has functions for it."""
        raise self._lacks("a question to the envs")

    @abstractmethod
    def generators(self) -> tuple[np.random.Generator | np.random.RandomState, ...]:
        """The lanes' random streams, in their present state; copies."""

    def keywords(self) -> dict[str, Any]:
        """{keyword: value} that makes the same lanes again, without the keywords that every environment takes."""
        return {}

    def changes(self) -> Any:
        """Changes by `set_params` that `keywords` does not include, for `take_changes`; None if there are none."""
        return None

    def take_changes(self, changes: Any) -> None:
        """Makes the changes that `changes` of another backend of the same lanes returned."""

    def drawer(self, mode: str) -> Drawer:
        """What draws the lanes in this render mode."""
        raise self._lacks(f"pictures in render_mode={mode!r}")

    @abstractmethod
    def close(self) -> None:
        """Releases the lanes; arrays that were handed out stay valid. May be called again.

        Raises:
            RuntimeError: another call is running; nothing has been closed.
        """

    def _lacks(self, what: str) -> RuntimeError:  # not NotImplementedError: checkers take its raisers for abstract
        return NotImplementedError(f"{what} is not possible here: {type(self).__name__} has nothing of the kind")
