"""Environment ids: those in the tables of C types, those of the engines, and how an id is looked up."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from batchenv import _core, hints
from batchenv._moved import moved
from batchenv.engines.atari import games

NAMESPACE = "batchenv"
FILE = re.compile(r"(?P<path>.+\.(?:c|so))(?::(?P<id>.+))?")  # "my_env.c", "my_env.c:MyEnv-v0"


@dataclass(frozen=True)
class Entry:
    """An environment id: its type in the C core, and its limits.

    kwargs: the keywords that this id sets for its type.
    family: the heading under which `python -m batchenv list` shows it.
    extra: the extra that it needs (pip install 'batchenv[extra]'), or None.
    """

    type_name: str
    max_episode_steps: int | None
    reward_threshold: float | None
    render_fps: int
    kwargs: dict[str, Any] = field(default_factory=dict)
    listed: bool = True  # for users; the others are for tests and benchmarks
    extra: str | None = None
    family: str = "classic control"
    library: Any = None  # the `compiler.Library` of a type that is not built in


_EXTRAS = {"MuJoCo": "mujoco"}  # what a family of C types needs


def _of_types() -> dict[str, Entry]:
    """The ids in the tables of C types."""
    return {
        row["name"]: Entry(
            kind["name"],
            row["max_episode_steps"],
            row["reward_threshold"],
            kind["render_fps"],
            row["kwargs"],
            listed=row["listed"],
            extra=_EXTRAS.get(kind["family"]),
            family=kind["family"],
        )
        for kind in _core.env_types()
        for row in kind["ids"]
    }


TABLE = {
    **_of_types(),
    **{
        name: Entry("Atari", limit, None, 30, keywords, extra="atari", family="Atari")
        for name, (limit, keywords) in games.ids().items()
    },
}


def list_envs(extra: str | None = "any") -> list[str]:
    """Environment ids, sorted: all of them; those of an extra, such as "atari"; or, with None, those that need none.

    They include ids that were compiled or loaded, and those of other packages (docs/your-own-env.md).

    Raises:
        ValueError: no environment needs this extra.
    """
    _libraries().load_packages()
    extras = sorted({entry.extra for entry in TABLE.values() if entry.extra})
    if extra not in ("any", None, *extras):
        raise ValueError(f"extra={extra!r} must be one of {', '.join(map(repr, extras))}, None or 'any'")
    return sorted(name for name, entry in TABLE.items() if entry.listed and extra in ("any", entry.extra))


# Functions that are called with each id whose entry is added, changed or removed.
watchers: list[Callable[[str], None]] = []


def put(name: str, entry: Entry | None) -> None:
    """Sets the entry of an id, replacing the one that it has; None removes the id."""
    if entry is None:
        del TABLE[name]
    else:
        TABLE[name] = entry
    for watcher in watchers:
        watcher(name)


# The keywords that `make` and `set_params` take for every environment, so that no param could be set by such a name;
# make.py adds them.
reserved: set[str] = set()


def _libraries() -> Any:
    """The module for envs that are not built in, which is imported when one is asked for."""
    return importlib.import_module("batchenv.compiler.libraries")


def is_file(text: str) -> bool:
    """Whether `text` names a C file or library of envs, or an id in one, as `lookup` takes them."""
    return FILE.fullmatch(text) is not None


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
        raise TypeError(hints.not_an_id(env_id))
    name = _name(env_id)
    if name is not None:
        return name, TABLE[name]
    if is_file(env_id):
        return _libraries().find(env_id)
    raise ValueError(hints.unknown_id(env_id, list_envs()))


__getattr__ = moved(
    __name__,
    "",
    make="batchenv",
    make_mujoco="batchenv",
    spec="batchenv",
    build_info="batchenv",
    gymnasium_id="batchenv.integrations.registration",
)
