"""What a BatchEnv is made from: an id of a C type here, environments written in Python in `batchenv.workers`."""

from __future__ import annotations

from typing import Any, Protocol

from batchenv.backend import Backend
from batchenv.core_backend import CoreBackend
from batchenv.envs import translator
from batchenv.registry import lookup
from batchenv.render import check_mode


class Origin(Protocol):
    """Makes the backend of one BatchEnv.

    Attributes:
        name: what the environment is called.
        max_episode_steps: the limit that holds unless the user says otherwise; None: no limit.
        threads: how many threads or workers there are unless the user says otherwise; None: one per CPU.
        library: the `compiler.Library` of a C type that is not built in, or None.
        from_id: whether an env made from `name` is the same again, so that it can be pickled.
    """

    name: str
    max_episode_steps: int | None
    threads: int | None
    library: Any
    from_id: bool

    def check_mode(self, render_mode: Any, num_envs: int) -> None:
        """Raises ValueError or gymnasium.error.DependencyNotInstalled if lanes cannot be drawn in this mode."""

    def backend(self, num_envs: int, params: dict[str, Any], **options: Any) -> Backend:
        """The backend. params: the user's keywords for the environment; options: see `CoreBackend`."""

    def metadata(self, backend: Backend) -> dict[str, Any]:
        """What Gymnasium calls metadata, without the autoreset mode."""

    def render_mode(self, backend: Backend, asked: str | None) -> str | None:
        """The render mode of the lanes, where the user has asked for this one."""


class CoreOrigin(Origin):
    """An id of a C type."""

    threads, from_id = None, True

    def __init__(self, env_id: str):
        self.name, self._entry = lookup(env_id)
        self.library, self.max_episode_steps = self._entry.library, self._entry.max_episode_steps
        self._translator = translator(self._entry.type_name)

    def check_mode(self, render_mode: Any, num_envs: int) -> None:
        """See `Origin.check_mode`."""
        if render_mode is not None:
            check_mode(self.name, render_mode, self._translator.render_modes(self.name), num_envs)
            self._translator.check_drawing(render_mode)

    def backend(self, num_envs: int, params: dict[str, Any], **options: Any) -> Backend:
        """See `Origin.backend`."""
        return CoreBackend(self.name, self._translator, num_envs, params={**self._entry.kwargs, **params}, **options)

    def metadata(self, backend: Backend | None = None) -> dict[str, Any]:
        """See `Origin.metadata`."""
        return {"render_modes": self._translator.render_modes(self.name), "render_fps": self._entry.render_fps}

    def render_mode(self, backend: Backend, asked: str | None) -> str | None:
        """See `Origin.render_mode`."""
        return asked
