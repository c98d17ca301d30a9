"""What a BatchEnv is made from: an id of a C type, or environments written in Python."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Protocol

from batchenv.arguments.seeds import Seeds
from batchenv.backend.core import CoreBackend
from batchenv.backend.joined import JoinedBackend
from batchenv.registry import OfFile


class Origin(Protocol):
    """Makes the backend of one BatchEnv.

    Attributes:
        name: what the environment is called.
        max_episode_steps: the limit that holds unless the user says otherwise; None: no limit.
        threads: how many threads or workers there are unless the user says otherwise; None: one per CPU.
        library: that of a C type that is not built in, or None.
        again: what a BatchEnv can be made of again, in a pickle: `name`, or this object itself; None: nothing, so that
            it cannot be pickled.
    """

    name: str
    max_episode_steps: int | None
    threads: int | None
    library: OfFile | None
    again: Any

    @abstractmethod
    def check_mode(self, render_mode: Any, num_envs: int) -> None:
        """Raises ValueError or gymnasium.error.DependencyNotInstalled if lanes cannot be drawn in this mode."""

    def seeded(self, params: dict[str, Any], seed: int | None) -> dict[str, Any]:
        """The user's keywords for the environment, and those that it has because of the env's `seed`."""
        return params

    def first_seeds(self, seed: int | None, num_envs: int) -> Seeds:
        """The seeds of the first reset to which none is passed, where the env was made with this one."""
        return seed

    @abstractmethod
    def backend(self, num_envs: int, params: dict[str, Any], **options: Any) -> CoreBackend | JoinedBackend:
        """The backend. params: the user's keywords for the environment; options: see `CoreBackend`."""

    @abstractmethod
    def metadata(self, backend: CoreBackend | JoinedBackend) -> dict[str, Any]:
        """What Gymnasium calls metadata, without the autoreset mode."""

    @abstractmethod
    def render_mode(self, backend: CoreBackend | JoinedBackend, asked: str | None) -> str | None:
        """The render mode of the lanes, where the user has asked for this one."""
