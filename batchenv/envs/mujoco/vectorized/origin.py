"""Makes lanes of a task in NumPy."""

from __future__ import annotations

from typing import Any

from batchenv.backend.origin import Origin
from batchenv.envs.drawing import check_mode
from batchenv.envs.mujoco.vectorized.backend import TaskBackend
from batchenv.envs.mujoco.vectorized.translator import TaskTranslator


class TaskOrigin(Origin):
    """See `Origin`.

    Args:
        task, xml: see `TaskTranslator`.
    """

    threads: int | None = None
    library = None

    def __init__(self, task: Any, xml: Any):
        self._made_of = (task, xml)
        self.again = self
        self._translator = TaskTranslator(task, xml)
        self._unused: TaskTranslator | None = self._translator  # every backend has its own
        self.name, self.max_episode_steps = self._translator.name, self._translator.task.max_episode_steps

    def __reduce__(self) -> Any:
        return type(self), self._made_of

    def check_mode(self, render_mode: Any, num_envs: int) -> None:
        if render_mode is not None:
            check_mode(self.name, render_mode, self._translator.render_modes(self.name), num_envs)
            self._translator.check_drawing(render_mode)

    def backend(self, num_envs: int, params: dict[str, Any], **options: Any) -> TaskBackend:
        translator, self._unused = self._unused or TaskTranslator(*self._made_of), None
        return TaskBackend(self.name, translator, num_envs, params=params, **options)

    def metadata(self, backend: Any = None) -> dict[str, Any]:
        return {"render_modes": self._translator.render_modes(self.name), "render_fps": 50}

    def render_mode(self, backend: Any, asked: str | None) -> str | None:
        return asked
