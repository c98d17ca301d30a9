"""Other APIs around a BatchEnv, each in a module of its own.

A module has a line such as `ENV_TYPES = {"sb3": "BatchVecEnv"}`: env_types of `batchenv.make`, and a class for each,
which is called with the BatchEnv. `PARALLEL_ENV_TYPES` are those of `batchenv.make_parallel`, whose classes are called
with the ParallelBatchEnv. `DEFAULTS` of a class are keywords of the BatchEnv that have other defaults with it, and
`KEYWORDS` are names of keywords that it takes itself.

These lines are read from the source, because importing a module imports its learner.
"""

from __future__ import annotations

import ast
import functools
import importlib.util
import pkgutil
import re
from collections.abc import Callable
from typing import Any


@functools.cache
def env_types(name: str = "ENV_TYPES") -> dict[str, tuple[str, str]]:
    """{env_type: (module, class)} of all lines of this name in the modules of this package; see above."""
    found = {}
    for module in sorted(f"{__name__}.{info.name}" for info in pkgutil.iter_modules(__path__)):
        spec = importlib.util.find_spec(module)
        loader: Any = None if spec is None else spec.loader
        line = re.search(rf"^{name} = (.*)$", (loader and loader.get_source(module)) or "", re.MULTILINE)
        if line is not None:
            found |= {env_type: (module, owner) for env_type, owner in ast.literal_eval(line[1]).items()}
    return found


def find_wrapper(env_type: Any) -> Any:
    """The class that `make(env_type=...)` wraps around a BatchEnv, or None for "gymnasium".

    Raises:
        ValueError: there is no such env_type.
        ImportError: the package of that API is missing; the message says how to install it.
    """
    return _find(env_type, "gymnasium", "ENV_TYPES")


def find_player_wrapper(env_type: Any) -> Any:
    """The class that `make_parallel(env_type=...)` wraps around a ParallelBatchEnv, or None for "pettingzoo".

    Raises:
        As `find_wrapper`.
    """
    return _find(env_type, "pettingzoo", "PARALLEL_ENV_TYPES")


def _find(env_type: Any, plain: str, table: str) -> Any:
    if isinstance(env_type, str) and env_type == plain:
        return None
    known = env_types(table)
    if not isinstance(env_type, str) or env_type not in known:
        *names, last = map(repr, (plain, *known))
        raise ValueError(f"env_type={env_type!r} must be {', '.join(names)} or {last}")
    module, name = known[env_type]
    return getattr(importlib.import_module(module), name)


def wrapped(wrap: Any, kwargs: dict[str, Any], make_env: Callable[..., Any]) -> Any:
    """What `make_env` makes of those of `kwargs` that are not the wrapper's own, in this wrapper (None: in none)."""
    if wrap is None:
        return make_env(**kwargs)
    own = {name: value for name, value in kwargs.items() if name in wrap.KEYWORDS}
    env = make_env(**{**wrap.DEFAULTS, **{name: value for name, value in kwargs.items() if name not in own}})
    try:
        return wrap(env, **own)
    except BaseException:
        env.close()
        raise
