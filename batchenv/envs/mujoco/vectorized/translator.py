"""What a task in NumPy has besides params and state: its model, and the type that is made of it."""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Callable, Sequence
from typing import Any

from gymnasium import logger

from batchenv import _core
from batchenv.arguments.numbers import integer
from batchenv.backend.transforms import DEFAULTS
from batchenv.envs.mujoco import library
from batchenv.envs.mujoco.tasks import Task, read_own
from batchenv.envs.mujoco.vectorized.task import MuJoCoTask
from batchenv.envs.mujoco.vectorized.trial import Found, try_task
from batchenv.registry import reserved

_numbers = itertools.count()


_FUNCTIONS = [name for name, value in vars(MuJoCoTask).items() if callable(value) and not name.startswith("_")]
_ALSO = {"reset": "start", "observation": "observe", "get_observation": "observe", "termination": "terminated"}


def _warn_of_names(task: type) -> None:
    """Warns of functions that nobody calls, and whose names are nearly those of functions that are."""
    inherited = [one for one in task.__mro__ if one not in MuJoCoTask.__mro__]
    own = {name for one in inherited for name, value in vars(one).items() if callable(value)}
    for name in sorted(own.difference(_FUNCTIONS)):
        near = [_ALSO[name]] if name in _ALSO else difflib.get_close_matches(name, _FUNCTIONS, n=1, cutoff=0.8)
        if near and near[0] not in own:
            logger.warn(f"{task.__name__}.{name}() is not called by the env: did you mean {near[0]}()?")


class TaskTranslator(Task):
    """See `Translator`.

    Args:
        make_task: a class derived from `MuJoCoTask`, or another callable that makes such an object.
        xml: the model: an XML file, or XML text.

    Attributes:
        task: the object. found: what it is like. made: its type.
        threads: how many threads may step the physics.
    """

    unlimited = True
    threads: int

    def __init__(self, make_task: Callable[[], MuJoCoTask], xml: Any):
        super().__init__()
        if not callable(make_task):
            raise TypeError(f"task={make_task!r} must be a class derived from batchenv.MuJoCoTask")
        self._own_model = read_own(xml, "xml")
        if not self._own_model.nu:
            raise ValueError("the model has no actuators, so a task has nothing to act on: add an <actuator> to it")
        self.task = make_task()
        if not isinstance(self.task, MuJoCoTask):
            raise TypeError(f"task={make_task!r} made {self.task!r}, which is no batchenv.MuJoCoTask")
        self.name = type(self.task).__name__
        _warn_of_names(type(self.task))
        self.task.model = self._own_model
        integer(f"{self.name}.frame_skip", self.task.frame_skip, 1, 10**6)
        taken = reserved.union(keyword for keyword, *_ in self.KEYWORDS) | {"frame_skip", "on_unstable", "task"}
        for name in self.task.params:
            if name in taken:
                raise ValueError(
                    f"{self.name}.params names {name!r}, which is a keyword of every such env, so that nobody could "
                    "set it: take another name"
                )
        self.found: Found = try_task(self.task)
        ports = [(part.name, part.dtype, part.shape, part.low, part.high) for part in self.found.observations]
        self.made = _core.TaskType(
            f"{self.name} in NumPy {next(_numbers)}",
            self.found.action[1:],
            ports,
            [(part.name, part.dtype, part.shape) for part in self.found.infos],
            [(name, value.dtype, value.size) for name, value in self.found.state.items()],
            list(self.found.params.items()),
            self.task.frame_skip,
        )
        self.type_name = self.made.name

    def _drawn_keywords(self) -> Sequence[tuple[str, Any, str]]:
        return ()  # the task itself draws

    def _read(self, xml: Any) -> Any:
        return self._own_model

    def check_transforms(self, asked: dict[str, Any]) -> None:
        if asked["action_repeat"] != DEFAULTS["action_repeat"]:
            raise ValueError(
                f"action_repeat={asked['action_repeat']} cannot be used with tasks in NumPy: frame_skip says how many "
                "of MuJoCo's steps an action lasts"
            )

    def _make_lanes(self, num_envs: int, threads: int) -> library.Lanes:
        lanes = library.Lanes(self._model, num_envs, self.threads + 1, (), self.found.reads, self.unlimited)
        lanes.source.task = self.made
        return lanes
