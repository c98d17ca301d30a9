"""batchenv's ids in Gymnasium's registry, and what Gymnasium calls when it makes one.

An entry point such as "batchenv.integrations.gymnasium.registration:vector CartPole-v1" is an attribute that is made
when it is asked for, so that a registered id needs no keyword that would show up in its spec.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import gymnasium

from batchenv.catalog import gymnasium_id, spec
from batchenv.env.batch_env import BatchEnv
from batchenv.integrations.gymnasium.single_env import SingleEnv
from batchenv.registry import TABLE, watchers

_MAKERS = {"single": SingleEnv, "vector": BatchEnv}


def __getattr__(name: str) -> Any:
    kind, _, env_id = name.partition(" ")
    if kind in _MAKERS and env_id in TABLE:
        maker = partial(_MAKERS[kind], env_id)
        maker.metadata = BatchEnv.class_metadata(env_id)
        return maker
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def register(name: str) -> None:
    """Puts an id as it is now into Gymnasium's registry, as "batchenv/<id>"; one that is gone, it takes out."""
    if name in TABLE:
        # What gymnasium.register does, without its look through all the other ids: there are hundreds.
        gymnasium.registry[gymnasium_id(name)] = spec(name)
    else:
        gymnasium.registry.pop(gymnasium_id(name), None)


def register_with_gymnasium() -> None:
    """Registers every id as "batchenv/<id>", for `gymnasium.make` and `gymnasium.make_vec`, now and later."""
    for name in TABLE:
        if gymnasium_id(name) not in gymnasium.registry:
            register(name)
    if register not in watchers:
        watchers.append(register)
