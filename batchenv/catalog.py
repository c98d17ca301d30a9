"""Which environment an id means, and what Gymnasium's registry is told of it."""

from __future__ import annotations

from types import ModuleType

from gymnasium.envs.registration import EnvSpec

from batchenv import envs  # noqa: F401 the families, which put their ids into the table
from batchenv.arguments import messages
from batchenv.registry import NAMESPACE, TABLE, Entry, is_file

_MAKERS = "batchenv.integrations.gymnasium.registration"  # what Gymnasium imports to make an id


def _libraries() -> ModuleType:
    """What compiles and loads environments that are not built in; imported late, since most programs have none."""
    from batchenv.compiler import libraries

    return libraries


def list_envs(extra: str | None = "any") -> list[str]:
    """Environment ids, sorted: all of them; those of an extra, such as "atari"; or, with None, those that need none.

    They include ids that were compiled or loaded, and those of other packages (docs/envs/your-own-env.md).

    Raises:
        ValueError: no environment needs this extra.
    """
    _libraries().load_packages()
    extras = sorted({entry.extra for entry in TABLE.values() if entry.extra})
    if extra not in ("any", None, *extras):
        raise ValueError(f"extra={extra!r} must be one of {', '.join(map(repr, extras))}, None or 'any'")
    return sorted(name for name, entry in TABLE.items() if entry.listed and extra in ("any", entry.extra))


def is_own(text: str) -> bool:
    """Whether `lookup` finds something for `text`, or it names a file in which there should be something."""
    return is_file(text) or _name(text) is not None


def _name(text: str) -> str | None:
    """The plain id of one that is in the table, with or without the "batchenv/" namespace."""
    name = text.removeprefix(f"{NAMESPACE}/")
    if name.startswith("ALE-"):
        name = name.replace("-", "/", 1)
    if name not in TABLE and not is_file(text):
        _libraries().load_packages()
        # As Gymnasium has them, ids have one slash.
        name = next((other for other in TABLE if other.replace("/", "-") == name), name)
    return name if name in TABLE else None


def lookup(env_id: str) -> tuple[str, Entry]:
    """The plain id and entry of `env_id`, with or without the "batchenv/" namespace; or of a C file or library of envs:
    "my_env.c" where that has one id, "my_env.c:MyEnv-v0".

    Raises:
        TypeError: `env_id` is not a str.
        ValueError: there is no such id; the message says which one may be meant, or what to do instead.
    """
    if not isinstance(env_id, str):
        raise TypeError(messages.not_an_id(env_id))
    name = _name(env_id)
    if name is not None:
        return name, TABLE[name]
    if is_file(env_id):
        return _libraries().find(env_id)
    several = [other for other, entry in TABLE.items() if entry.join is not None]  # which are not listed
    raise ValueError(messages.unknown_id(env_id, [*list_envs(), *several]))


def entry_point(kind: str, name: str) -> str:
    """What Gymnasium imports to make the id `name`. kind: "single" or "vector"."""
    return f"{_MAKERS}:{kind} {name}"


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
