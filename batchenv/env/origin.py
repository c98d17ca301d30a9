"""What makes the lanes of an id of a C type, or of an id that stands for several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from batchenv.arguments.seeds import Seeds
from batchenv.backend.core import CoreBackend
from batchenv.backend.joined import JoinedBackend, Part
from batchenv.backend.origin import Origin
from batchenv.catalog import lookup
from batchenv.envs import translator
from batchenv.envs.drawing import check_mode
from batchenv.registry import Share, rows


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

    def part(self, num_envs: int, params: dict[str, Any]) -> Part:
        """So many lanes of it, with these keywords, as a part of a batch."""
        return Part(self.name, self._translator, num_envs, {**self._entry.kwargs, **params})

    def backend(self, num_envs: int, params: dict[str, Any], **options: Any) -> CoreBackend | JoinedBackend:
        return CoreBackend(self.name, self._translator, num_envs, params={**self._entry.kwargs, **params}, **options)

    def metadata(self, backend: Any = None) -> dict[str, Any]:
        return {"render_modes": self._translator.render_modes(self.name), "render_fps": self._entry.render_fps}

    def render_mode(self, backend: Any, asked: str | None) -> str | None:
        return asked


class JoinedOrigin(CoreOrigin):
    """An id whose lanes have several tasks."""

    def seeded(self, params: dict[str, Any], seed: int | None) -> dict[str, Any]:
        assert self._entry.join is not None
        return self._entry.join.seeded(params, seed)

    def first_seeds(self, seed: int | None, num_envs: int) -> Seeds:
        assert self._entry.join is not None
        return None if seed is None else list(self._entry.join.first_seeds(seed, num_envs))

    def backend(self, num_envs: int, params: dict[str, Any], **options: Any) -> CoreBackend | JoinedBackend:
        join = self._entry.join
        assert join is not None
        shares = join.shares(num_envs, params)
        if len(shares) == 1:  # then it is one task, which can be made again as such
            only = CoreOrigin(shares[0].env_id)
            self.again = only.again
            return only.backend(num_envs, shares[0].kwargs, **options)
        return JoinedBackend(self.name, _parts(shares), keywords=params, fixed=join.fixed(), **options)


class ListedOrigin(CoreOrigin):
    """Several ids, with as many lanes each as `counts` says. Keywords are for all of them."""

    def __init__(self, ids: Sequence[str], counts: Sequence[int]):
        self._shares = [Share(lookup(env_id)[0], count, {}) for env_id, count in zip(ids, counts, strict=True)]
        super().__init__(self._shares[0].env_id)
        joined = [share.env_id for share in self._shares if lookup(share.env_id)[1].join is not None]
        if joined:
            raise ValueError(f"{joined[0]} stands for several tasks already, so it cannot be one of several ids")
        self.name, self.again, self.library = "+".join(share.env_id for share in self._shares), self, None
        self._limits = {share.env_id: lookup(share.env_id)[1].max_episode_steps for share in self._shares}

    @property
    def max_episode_steps(self) -> int | None:  # pyright: ignore[reportIncompatibleVariableOverride] it is only read
        limits = set(self._limits.values())
        if len(limits) > 1:
            raise ValueError(f"these ids have different time limits, {self._limits}: give max_episode_steps")
        return limits.pop()

    @max_episode_steps.setter
    def max_episode_steps(self, limit: int | None) -> None:
        """That of the first alone is not of interest."""

    def __reduce__(self) -> Any:
        return type(self), ([share.env_id for share in self._shares], [share.num_envs for share in self._shares])

    def check_mode(self, render_mode: Any, num_envs: int) -> None:
        for share in self._shares:
            CoreOrigin(share.env_id).check_mode(render_mode, num_envs)

    def metadata(self, backend: Any = None) -> dict[str, Any]:
        return CoreOrigin(self._shares[0].env_id).metadata()

    def backend(self, num_envs: int, params: dict[str, Any], **options: Any) -> CoreBackend | JoinedBackend:
        shares: list[Share] = []
        first = 0
        for share in self._shares:
            own = {name: rows(value, first, share.num_envs, num_envs) for name, value in params.items()}
            shares.append(share._replace(kwargs=own))
            first += share.num_envs
        return JoinedBackend(self.name, _parts(shares), keywords=params, **options)


def _parts(shares: Sequence[Share]) -> list[Part]:
    return [CoreOrigin(share.env_id).part(share.num_envs, share.kwargs) for share in shares]


def origin_of(env_id: str) -> CoreOrigin:
    """What makes the lanes of an id."""
    return CoreOrigin(env_id) if lookup(env_id)[1].join is None else JoinedOrigin(env_id)
