"""batchenv's ids in Gymnasium's registry, and the entry points that Gymnasium imports to make one.

An entry point names the id: "batchenv.integrations.gymnasium.registration:vector CartPole-v1". It is a text, since
`EnvSpec.to_json` refuses callables, and copies of `functools.partial` are not equal. A keyword in the spec could name
the id as well, but users would see it there, and Gymnasium would pass it on to `env.spec`.
"""

from __future__ import annotations

from typing import Any

import gymnasium

from batchenv.catalog import gymnasium_id, spec
from batchenv.env.batch_env import BatchEnv
from batchenv.integrations.gymnasium.single_env import SingleEnv
from batchenv.registry import TABLE, watchers


class EntryPoint:
    """What Gymnasium calls to make an env of one id: its class, with the id as first argument."""

    def __init__(self, made: type[SingleEnv] | type[BatchEnv], env_id: str):
        self._made, self._id = made, env_id

    def __call__(self, **keywords: Any) -> gymnasium.Env | gymnasium.vector.VectorEnv:
        return self._made(self._id, **keywords)

    @property
    def metadata(self) -> dict[str, Any]:
        """Gymnasium reads here which render modes there are, before it makes the env."""
        return BatchEnv.class_metadata(self._id)


def __getattr__(name: str) -> EntryPoint:
    """What entry points name in this module: "single <id>" and "vector <id>", of every id that there is now."""
    kind, _, env_id = name.partition(" ")
    if kind in ("single", "vector") and env_id in TABLE:
        return EntryPoint(SingleEnv if kind == "single" else BatchEnv, env_id)
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
