"""What makes the lanes of an id of a C type."""

from __future__ import annotations

from typing import Any

from batchenv.backend.core import CoreBackend
from batchenv.backend.origin import Origin
from batchenv.catalog import lookup
from batchenv.envs import translator
from batchenv.envs.drawing import check_mode


class CoreOrigin(Origin):
    """An id of a C type."""

    threads: int | None = None

    def __init__(self, env_id: str):
        self.name, self._entry = lookup(env_id)
        self.again = self.name
        self.library, self.max_episode_steps = self._entry.library, self._entry.max_episode_steps
        self._translator = translator(self._entry.type_name)

    def check_mode(self, render_mode: Any, num_envs: int) -> None:
        if render_mode is not None:
            check_mode(self.name, render_mode, self._translator.render_modes(self.name), num_envs)
            self._translator.check_drawing(render_mode)

    def backend(self, num_envs: int, params: dict[str, Any], **options: Any) -> CoreBackend:
        return CoreBackend(self.name, self._translator, num_envs, params={**self._entry.kwargs, **params}, **options)

    def metadata(self, backend: CoreBackend | None = None) -> dict[str, Any]:
        return {"render_modes": self._translator.render_modes(self.name), "render_fps": self._entry.render_fps}

    def render_mode(self, backend: CoreBackend, asked: str | None) -> str | None:
        return asked
