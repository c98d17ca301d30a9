"""What a BatchEnv is made from: an id of a C type, or environments written in Python."""

from __future__ import annotations

from typing import Any, Protocol

from batchenv.backend.protocol import Backend


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
