"""Which environments written in Python a user means, and how their lanes are stepped."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Sequence
from typing import Any

from gymnasium.envs.registration import EnvSpec

from batchenv.arguments.messages import unknown_keyword, unknown_to_gymnasium
from batchenv.arguments.numbers import integer, number
from batchenv.backend.core import CoreBackend
from batchenv.backend.origin import Origin
from batchenv.workers.asyncio.backend import WaitingBackend
from batchenv.workers.backend import PythonBackend
from batchenv.workers.processes.backend import ProcessBackend
from batchenv.workers.processes.starter import METHODS
from batchenv.workers.registered import find, make_lane
from batchenv.workers.saved import KINDS as SNAPSHOTS

KINDS = ("serial", "threads", "processes", "asyncio")
MAX_WORKERS = 1024


class PythonOrigin(Origin):
    """See `Origin`.

    Args:
        make_env: a callable that makes an env; an id of Gymnasium's, or its EnvSpec; or a list of callables, one per
            lane.
        num_envs: how many lanes there are; None: as many as the list has.
        workers: one of KINDS.
        num_workers: how many threads or processes; None: one per CPU; "measured": see `trial`.
        step_timeout: see `ProcessBackend` and `WaitingBackend`.
        start_method: one of METHODS; None: the fastest one that is safe. Only for processes.
        on_failure, snapshots: see `PythonBackend`.
        env_kwargs: keywords for each env.

    Attributes:
        spec: Gymnasium's entry of the id, or None.
    """

    library = again = None

    def __init__(
        self,
        make_env: Any,
        num_envs: int,
        *,
        workers: str = "processes",
        num_workers: int | str | None = None,
        start_method: str | None = None,
        step_timeout: float | None = None,
        on_failure: str = "raise",
        snapshots: str | None = None,
        env_kwargs: dict[str, Any] | None = None,
    ):
        if workers not in KINDS:
            raise ValueError(f"workers={workers!r} must be one of {', '.join(map(repr, KINDS))}")
        self._measured = isinstance(num_workers, str)
        if self._measured and (num_workers != "measured" or workers != "processes"):
            raise ValueError(
                f"num_workers={num_workers!r} with workers={workers!r} must be an int or None, or 'measured' with "
                "workers='processes'"
            )
        if self._measured:
            num_workers = None
        if num_workers is not None:
            num_workers = integer("num_workers", num_workers, 1, MAX_WORKERS)
            if workers == "asyncio":
                raise ValueError(
                    f"num_workers={num_workers} has no meaning with workers='asyncio', where all lanes share one event "
                    "loop, and plain envs have a thread each: leave it out"
                )
        if step_timeout is not None and not number("step_timeout", step_timeout) > 0:
            raise ValueError(f"step_timeout={step_timeout!r} must be more than 0 seconds, or None")
        if step_timeout is not None and workers not in ("processes", "asyncio"):
            raise ValueError(
                f"step_timeout={step_timeout!r} is for workers='processes' or 'asyncio', not for workers={workers!r}, "
                "where nothing can end a step"
            )
        if start_method is not None and start_method not in METHODS:
            raise ValueError(f"start_method={start_method!r} must be None or one of {', '.join(map(repr, METHODS))}")
        if start_method is not None and workers != "processes":
            raise ValueError(f"start_method={start_method!r} is for workers='processes', not for workers={workers!r}")
        if on_failure not in ("raise", "restart"):
            raise ValueError(f"on_failure={on_failure!r} must be 'raise' or 'restart'")
        if snapshots is not None and snapshots not in SNAPSHOTS:
            raise ValueError(f"snapshots={snapshots!r} must be None or one of {', '.join(map(repr, SNAPSHOTS))}")
        if snapshots == "deepcopy" and workers == "processes":
            raise ValueError("snapshots='deepcopy' makes copies in one process: with workers='processes' take 'pickle'")
        self._snapshots = snapshots
        self._step_timeout = step_timeout
        self._start_method = start_method
        self._on_failure = on_failure
        self._kind = workers
        self.threads = 1 if workers in ("serial", "asyncio") else num_workers
        self.spec = spec_of(make_env)
        self.max_episode_steps = None if self.spec is None else self.spec.max_episode_steps
        try:
            self._makers: Sequence[Callable[..., Any]] = makers(self.spec or make_env, num_envs, env_kwargs or {})
        except MemoryError:
            raise MemoryError(f"num_envs={num_envs}: there is no memory for so many envs") from None
        named = getattr(make_env, "__name__", type(make_env).__name__)
        self.name = named if self.spec is None else self.spec.id

    def check_mode(self, render_mode: Any, num_envs: int) -> None:
        """See `Origin.check_mode`. The envs themselves say what they can draw."""
        if render_mode is not None:
            self._makers = [functools.partial(make, render_mode=render_mode) for make in self._makers]

    def backend(self, num_envs: int, params: dict[str, Any], **options: Any) -> CoreBackend:
        for name in params:
            raise TypeError(unknown_keyword(self.name, name, [], options["builtin"]))
        options.update(on_failure=self._on_failure, snapshots=self._snapshots)
        if self._kind == "processes":
            cpus = options["threads"]
            options.update(threads=1, start_method=self._start_method, step_timeout=self._step_timeout)
            if self._measured:
                cpus = self._measure(num_envs, cpus, options)
            return ProcessBackend(self.name, self._makers, min(cpus, num_envs), **options)
        if self._kind == "asyncio":
            return WaitingBackend(self.name, self._makers, self._step_timeout, **options)
        return PythonBackend(self.name, self._makers, self._kind, **options)

    def _measure(self, num_envs: int, cpus: int, options: dict[str, Any]) -> int:
        """How many workers suit what the first lane's env costs, of which one is made for this, and closed."""
        if options["cpus"] is not None:
            raise ValueError("thread_affinity needs a number of workers: leave out num_workers='measured'")
        own = {**options, "batch_size": 1, "cpus": None}
        with contextlib.closing(ProcessBackend(self.name, self._makers[:1], 1, **own)) as one:
            return one.measured(num_envs, cpus)

    def metadata(self, backend: Any) -> dict[str, Any]:
        return dict(backend.metadata)

    def render_mode(self, backend: Any, asked: str | None) -> str | None:
        return backend.render_mode


def spec_of(make_env: Any) -> EnvSpec | None:
    """Gymnasium's entry that an id means, or that is given; None for all else.

    Raises:
        ValueError: Gymnasium does not know the id. ModuleNotFoundError: nor the module of "module:id".
    """
    if not isinstance(make_env, str):
        return make_env if isinstance(make_env, EnvSpec) else None
    spec = find(make_env)
    if spec is None:
        raise ValueError(unknown_to_gymnasium(make_env))
    return spec


def makers(make_env: Any, num_envs: int, keywords: dict[str, Any]) -> Sequence[Callable[[], Any]]:
    """A callable per lane.

    Raises:
        TypeError, ValueError: `make_env` is of another kind, or has not as many callables as there are lanes.
    """
    if isinstance(make_env, EnvSpec):
        return [functools.partial(make_lane, make_env, **keywords)] * num_envs
    if callable(make_env):
        return [functools.partial(make_env, **keywords)] * num_envs
    if not isinstance(make_env, (list, tuple)) or not all(callable(one) for one in make_env):
        raise TypeError(
            f"make_env={make_env!r} must be a callable that makes an env, a class, an id of Gymnasium's, or a list of "
            "callables"
        )
    if len(make_env) != num_envs:
        raise ValueError(f"make_env is a list of {len(make_env)} callables, but num_envs={num_envs}: give one per lane")
    return [functools.partial(one, **keywords) for one in make_env]
