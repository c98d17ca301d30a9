"""batchenv's ids in Gymnasium's registry, and what Gymnasium calls when it makes one.

An entry point such as "batchenv.integrations.registration:vector CartPole-v1" is an attribute that is made when it is
asked for, so that a registered id needs no keyword that would show up in its spec.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import gymnasium
from gymnasium.envs.registration import EnvSpec

from batchenv.env import BatchEnv
from batchenv.integrations.single_env import SingleEnv
from batchenv.registry import NAMESPACE, TABLE, lookup, watchers

_MAKERS = {"single": SingleEnv, "vector": BatchEnv}


def __getattr__(name: str) -> Any:
    kind, _, env_id = name.partition(" ")
    if kind in _MAKERS and env_id in TABLE:
        maker = partial(_MAKERS[kind], env_id)
        maker.metadata = BatchEnv.class_metadata(env_id)
        return maker
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def entry_point(kind: str, name: str) -> str:
    """What Gymnasium imports to make the id `name`. kind: "single" or "vector"."""
    return f"{__name__}:{kind} {name}"


def gymnasium_id(name: str) -> str:
    """What `name` is registered as: "batchenv/<id>", where ids of ale-py lose their slash (batchenv/ALE-Pong-v5).

    Two games are called Blackjack: the Atari game gets another name, or Gymnasium would take it for a newer version of
    the card game.
    """
    if name == "Blackjack-v5":
        return f"{NAMESPACE}/Atari-Blackjack-v5"
    return f"{NAMESPACE}/{name.replace('/', '-')}"


def spec(env_id: str) -> EnvSpec:
    """A new Gymnasium EnvSpec of an environment id, equal to the one that is registered under "batchenv/<id>"."""
    name, entry = lookup(env_id)
    return EnvSpec(
        gymnasium_id(name),
        entry_point=entry_point("single", name),
        vector_entry_point=entry_point("vector", name),
        max_episode_steps=entry.max_episode_steps,
        reward_threshold=entry.reward_threshold,
        kwargs=dict(entry.kwargs),  # numbers and texts
    )


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
