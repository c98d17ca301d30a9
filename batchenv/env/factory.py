"""Makes BatchEnvs: from an id of a C type, an id of Gymnasium's, or what makes environments in Python."""

from __future__ import annotations

import copy
import inspect
import os
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.envs.registration import EnvSpec

from batchenv.arguments.messages import OF_PYTHON
from batchenv.arguments.numbers import integer
from batchenv.arguments.settings import MAX_ENVS
from batchenv.catalog import is_own, lookup, spec
from batchenv.env.batch_env import BatchEnv
from batchenv.env.envpool_keywords import keywords
from batchenv.env.origin import ListedOrigin

_told: set[str] = set()  # ids of which it has been said that they run in Python


def make_env(env_id: str | Sequence[str] | Mapping[str, int], num_envs: int = 1, /, **kwargs: Any) -> BatchEnv:
    """What `batchenv.make` makes of the same arguments, without another API around it."""
    if isinstance(env_id, (list, tuple, Mapping)):
        return _make_listed(env_id, num_envs, keywords(None, kwargs))
    own, registered = _meant(env_id)
    if registered is not None:
        return _make_registered(registered, num_envs, keywords(None, kwargs))
    name, entry = lookup(own)
    return _make_core(name, num_envs, keywords(entry.extra, kwargs))


def _meant(env_id: Any) -> tuple[Any, EnvSpec | None]:
    """(an id for `lookup`, None), or (the id, Gymnasium's entry) if batchenv has not this environment in C."""
    if not isinstance(env_id, str) or is_own(env_id):
        return env_id, None
    from batchenv.workers.registered import find

    spec = find(env_id)
    # "ale_py:ALE/Pong-v5" is what batchenv has; "my_module:CartPole-v1" may be something else.
    if spec is not None and is_own(spec.id) and str(spec.entry_point).startswith(("gymnasium.envs.", "ale_py.")):
        return spec.id, None
    return env_id, spec


def _make_core(name: str, num_envs: int, kwargs: dict[str, Any]) -> BatchEnv:
    """Lanes of a C type, of which this is the plain id."""
    env = BatchEnv(name, num_envs, **kwargs)
    # The same spec as make_vec would set, so that make_vec(env.spec) makes this env again.
    env.spec = spec(name)
    if env.spec.max_episode_steps is not None:
        env.spec.kwargs["max_episode_steps"] = env.spec.max_episode_steps
    env.spec.kwargs.update({name: _own(value) for name, value in kwargs.items()})
    if "autoreset_mode" in kwargs:
        env.spec.kwargs["autoreset_mode"] = env.autoreset_mode.value
    if env.num_envs != 1:
        env.spec.kwargs["num_envs"] = env.num_envs
    env.spec.kwargs["vectorization_mode"] = "vector_entry_point"
    return env


def _make_listed(ids: Any, num_envs: int, kwargs: dict[str, Any]) -> BatchEnv:
    """Lanes of several ids of C types: a list, whose ids have equal shares of the lanes, or {id: how many}."""
    if len(ids) < 2:
        raise ValueError(f"{ids!r} must be one id, or two or more in a list")
    if isinstance(ids, Mapping):
        counts = [integer(f"the number of lanes of {env_id}", count, 1, MAX_ENVS) for env_id, count in ids.items()]
        if num_envs not in (1, sum(counts)):
            raise ValueError(f"num_envs={num_envs} is not the sum of the lanes of {dict(ids)}: leave it out")
    else:
        lanes = integer("num_envs", num_envs, 1, MAX_ENVS)
        if lanes % len(ids):
            raise ValueError(
                f"num_envs={lanes} must be a multiple of {len(ids)}, the number of ids, all of which have as many "
                "lanes; {id: number} says others"
            )
        counts = [lanes // len(ids)] * len(ids)
    return BatchEnv(ListedOrigin(list(ids), counts), sum(counts), **kwargs)


def _own(value: Any) -> Any:
    """A copy of what the caller may change later."""
    if isinstance(value, os.PathLike):  # a spec can be written as JSON
        return os.fspath(value)
    return copy.copy(value) if isinstance(value, (np.ndarray, list, dict)) else value


def _make_registered(spec: EnvSpec, num_envs: int, kwargs: dict[str, Any]) -> BatchEnv:
    """Lanes of an environment that Gymnasium knows, in Python."""
    taking = (make_python, gymnasium.make_vec)  # the latter's own are refused, with what to write instead
    known = {name for one in taking for name in inspect.signature(one).parameters}
    known.update(BatchEnv._builtin_keywords(), OF_PYTHON)
    own = {name: value for name, value in kwargs.items() if name in known}
    env_kwargs = {**{name: value for name, value in kwargs.items() if name not in known}, **own.pop("env_kwargs", {})}
    lanes = integer("num_envs", num_envs, 1, MAX_ENVS)
    workers = own.pop("workers", None)
    chosen = workers or ("processes" if lanes > 1 and hasattr(os, "memfd_create") else "serial")
    env = make_python(spec, lanes, workers=chosen, env_kwargs=env_kwargs, **own)
    if workers is None and spec.id not in _told:
        _told.add(spec.id)
        where = "in this process" if chosen == "serial" else f"in {env.num_threads} processes"
        warnings.warn(
            f"{spec.id} is written in Python, and steps {where} (workers={chosen!r}). Say workers= to choose, and to "
            "leave out this note: docs/guide/python-envs.md",
            stacklevel=6,
        )
    return env


def make_task(task: Any, xml: Any, num_envs: int, **kwargs: Any) -> BatchEnv:
    """Lanes of a MuJoCo model whose task is in NumPy."""
    from batchenv.envs.mujoco.vectorized.origin import TaskOrigin

    return BatchEnv(TaskOrigin(task, xml), num_envs, **keywords(None, kwargs))


def make_python(make_env: Any, num_envs: int | None = None, **kwargs: Any) -> BatchEnv:
    """As `batchenv.make_python`, without another API around the lanes."""
    from batchenv.workers.origin import PythonOrigin

    if num_envs is None:
        num_envs = len(make_env) if isinstance(make_env, (list, tuple)) else 1
    num_envs = integer("num_envs", num_envs, 1, MAX_ENVS)
    origin = PythonOrigin(make_env, num_envs, **{name: kwargs.pop(name) for name in OF_PYTHON if name in kwargs})
    env = BatchEnv(origin, num_envs, **kwargs)
    env.spec = origin.spec
    return env
