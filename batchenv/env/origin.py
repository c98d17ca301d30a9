"""What makes the lanes of an id of a C type, or of an id that stands for several."""

from __future__ import annotations

from typing import Any

from batchenv.arguments.seeds import Seeds
from batchenv.backend.core import CoreBackend
from batchenv.backend.joined import JoinedBackend, Part
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

    def metadata(self, backend: Any = None) -> dict[str, Any]:
        return {"render_modes": self._translator.render_modes(self.name), "render_fps": self._entry.render_fps}

    def render_mode(self, backend: Any, asked: str | None) -> str | None:
        return asked


class JoinedOrigin(CoreOrigin):
    """An id whose lanes have several tasks."""

    def first_seeds(self, seed: int | None, num_envs: int) -> Seeds:
        assert self._entry.join is not None
        return None if seed is None else self._entry.join.first_seeds(seed, num_envs)

    def backend(self, num_envs: int, params: dict[str, Any], **options: Any) -> CoreBackend | JoinedBackend:
        join = self._entry.join
        assert join is not None
        shares = join.shares(num_envs, params)
        origins = [CoreOrigin(share.env_id) for share in shares]
        if len(shares) == 1:  # then it is one task, which can be made again as such
            self.again = origins[0].again
            return origins[0].backend(num_envs, shares[0].kwargs, **options)
        parts = [
            Part(origin.name, origin._translator, share.num_envs, {**origin._entry.kwargs, **share.kwargs})
            for origin, share in zip(origins, shares, strict=True)
        ]
        return JoinedBackend(self.name, parts, keywords=params, fixed=join.fixed(), **options)


def origin_of(env_id: str) -> CoreOrigin:
    """What makes the lanes of an id."""
    return CoreOrigin(env_id) if lookup(env_id)[1].join is None else JoinedOrigin(env_id)
