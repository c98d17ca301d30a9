"""The seam between BatchEnv and what steps its lanes: a table of verbs, and the errors that both sides know.

`core_backend.CoreBackend` is one: lanes of C types. Another may step environments that are written in Python, in this
process or in others. BatchEnv checks shapes of arguments, seeds and masks, has Gymnasium's API, and knows nothing of
how a lane is stepped.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol

import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from numpy.typing import NDArray

from batchenv._core import LaneError, LanePendingError

__all__ = ["Backend", "Drawer", "LaneError", "LanePendingError", "Layout", "ResetNeeded", "Shortcuts"]


class Layout(NamedTuple):
    """The spaces of one lane."""

    observation_space: spaces.Space
    action_space: spaces.Space


class Shortcuts(NamedTuple):
    """`step`, `send` and `recv` of a backend that hold the lanes by themselves, for BatchEnv to call directly; where
    there is None, BatchEnv holds the lanes around a call."""

    step: Callable[..., Any] | None = None
    send: Callable[..., Any] | None = None
    recv: Callable[..., Any] | None = None


class Drawer:
    """What draws lanes. This one draws nothing, for an env without a render mode."""

    def watch(self, actions: Any, lanes: Any = None) -> None:
        """These actions have been taken, by these lanes; None: by all."""

    def draw(self, lanes: Iterable[int]) -> tuple[Any, ...] | None:
        """A picture per lane, of its present state; None where a window shows it."""
        return None

    def close(self) -> None:
        """Closes the window, if there is one. May be called again."""


class Backend(Protocol):
    """Steps `num_envs` lanes of one environment.

    All calls but `hold`, `closed`, `close` and `num_threads` are made while BatchEnv holds the lanes. Arrays that are
    returned belong to the caller: none is written again while the caller has it, unless the backend was asked for that.
    A call that raises has changed nothing; but a LaneError says that some lanes failed and the others went on: its
    `result` is what would have been returned, its `env_id` says which lanes.

    A backend that inherits from this class must have `hold`, `layout`, `reset`, `step`, `state`, `generators` and
    `close`. Of the other verbs it may leave some out: they raise NotImplementedError, or say that there is nothing.

    Attributes:
        num_envs, num_threads: how many lanes, and how many threads or processes may step them.
        closed: whether `close` has ended it.
        needs_reset: whether lanes have to be reset before anything else.
    """

    num_envs: int
    num_threads: int
    closed: bool
    needs_reset: bool

    @abstractmethod
    def hold(self, settle: bool = True) -> AbstractContextManager[Any]:
        """Keeps other calls out while a `with` block lasts. settle: and refuses where lanes are in flight.

        Raises:
            RuntimeError: another call runs, in another thread or in a handler; it is closed.
        """

    @abstractmethod
    def layout(self) -> Layout:
        """The lanes' spaces. The same object, as long as they are the same: parameters may change them."""

    def shortcuts(self) -> Shortcuts:
        """The ways past `hold`."""
        return Shortcuts()

    @abstractmethod
    def reset(
        self, seeds: int | list[int | None] | None, mask: NDArray[np.bool_] | None, options: dict[str, Any]
    ) -> tuple[Any, dict[str, Any]]:
        """Starts new episodes. With all lanes, those in flight are waited for, and their results dropped.

        Args:
            seeds: an int s: lane i gets s + i; a list: one per lane, None: its stream goes on; None: all go on.
            mask: which lanes; None: all.
            options: the environment's; unknown ones are ignored.

        Returns:
            observations (num_envs, ...) and infos; of lanes that were not reset, the present observation.

        Raises:
            TypeError, ValueError: a wrong option.
        """

    @abstractmethod
    def step(self, actions: Any, out: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
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

    def step_some(self, actions: Any, env_id: Any, out: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """As `step`, of the lanes numbered in `env_id` alone: row k is lane `infos["env_id"][k]`, in that order."""
        raise self._lacks("step(actions, env_id)")

    def send(self, actions: Any, env_id: Any) -> NDArray[np.int64]:
        """Sends lanes off to be stepped; returns which. env_id None: those that were last received."""
        raise self._lacks("send()")

    def send_reset(self, seeds: int | list[int | None] | None, options: dict[str, Any]) -> None:
        """Sends all lanes off to be reset; those in flight are waited for, and their results dropped."""
        raise self._lacks("async_reset()")

    def recv(self, timeout: float | None) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """As `step`, the lanes that are finished first: row k is lane `infos["env_id"][k]`.

        Raises:
            TimeoutError: nothing is lost. RuntimeError: fewer lanes are in flight than are to be received.
        """
        raise self._lacks("recv()")

    def in_flight(self) -> int:
        """How many lanes are in flight."""
        return 0

    def fileno(self) -> int:
        """A file descriptor that is readable when `recv` would not wait."""
        raise self._lacks("fileno()")

    def rollout(self, actions: Any, steps: int, key: int, first_step: int, out: Any) -> tuple[Any, ...]:
        """`steps` steps of all lanes.

        Args:
            actions: (steps, num_envs, ...); None: random ones, which are a function of `key`, the number of the step
                (from first_step on), and the lane.

        Returns:
            observations, rewards, terminations, truncations, infos, actions, with a first axis of steps.
        """
        raise self._lacks("rollout()")

    def snapshot(self, lanes: NDArray[np.int64]) -> bytes:
        """All that decides the future of these lanes."""
        raise self._lacks("snapshot()")

    def check_snapshot(self, data: bytes) -> int:
        """How many lanes a snapshot holds. ValueError: it is damaged, or another environment's."""
        raise self._lacks("restore()")

    def restore(self, data: bytes, rows: NDArray[np.int64], lanes: NDArray[np.int64]) -> Any:
        """Puts rows of a checked snapshot into as many lanes; returns observations (num_envs, ...)."""
        raise self._lacks("restore()")

    def get_params(self) -> dict[str, Any]:
        """{name: one value, or an array (num_envs,) where lanes differ}; copies."""
        return {}

    def set_params(self, params: dict[str, Any], lanes: NDArray[np.int64] | None) -> None:
        """Changes parameters of these lanes (None: of all). `BatchEnv.set_params` says which forms values have.

        Raises:
            TypeError, ValueError: an unknown parameter, or a wrong value.
        """
        raise self._lacks("set_params()")

    @abstractmethod
    def state(self) -> dict[str, NDArray[Any]]:
        """{field: (num_envs, ...)}, with "elapsed_steps"; copies."""

    def attributes(self) -> Sequence[str]:
        """Names of what lanes have beside parameters."""
        return ()

    def attribute(self, name: str) -> Sequence[Any]:
        """One of `attributes`: one value per lane."""
        raise KeyError(name)

    @abstractmethod
    def generators(self) -> tuple[np.random.Generator, ...]:
        """The lanes' random streams, in their present state; copies."""

    def keywords(self) -> dict[str, Any]:
        """What makes the same lanes again, beside the keywords of every environment: {keyword: value}."""
        return {}

    def changes(self) -> Any:
        """What `set_params` has changed and `keywords` does not tell, for `take_changes`; None: nothing."""
        return None

    def take_changes(self, changes: Any) -> None:
        """Makes the changes that another backend of the same lanes has told."""

    def drawer(self, mode: str) -> Drawer:
        """What draws the lanes in this render mode."""
        raise self._lacks(f"pictures in render_mode={mode!r}")

    @abstractmethod
    def close(self) -> None:
        """Releases the lanes; arrays that were handed out stay valid. May be called again.

        Raises:
            RuntimeError: another call is running; nothing has been closed.
        """

    def _lacks(self, what: str) -> NotImplementedError:
        return NotImplementedError(f"{what} is not possible here: {type(self).__name__} has nothing of the kind")
