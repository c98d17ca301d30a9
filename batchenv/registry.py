"""The tables of environment ids and of families. C types are put in here, all others where they are defined."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np

from batchenv import _core

NAMESPACE = "batchenv"
FILE = re.compile(r"(?P<path>.+\.(?:c|so))(?::(?P<id>.+))?")  # "my_env.c", "my_env.c:MyEnv-v0"


class OfFile(Protocol):
    """The `compiler.Library` that has a type which is not built in."""

    @property
    def reference(self) -> dict[str, Any]:
        """All that another process needs to load the same library."""
        ...


class Share(NamedTuple):
    """Neighbouring lanes of a batch whose lanes have several tasks: an id, how many there are, and keywords."""

    env_id: str
    num_envs: int
    kwargs: dict[str, Any]


def rows(value: Any, first: int, count: int, num_envs: int) -> Any:
    """What a keyword's value is for `count` of `num_envs` lanes: an array or list may have a value per lane."""
    if np.ndim(value) != 1 or len(value) != num_envs:
        return value
    return np.asarray(value)[first : first + count]


class Join(Protocol):
    """What an id means whose lanes have several tasks."""

    def shares(self, num_envs: int, keywords: dict[str, Any]) -> list[Share]:
        """Of what so many lanes consist. Raises TypeError or ValueError for a wrong number, keyword or value."""
        ...

    def fixed(self) -> Sequence[str]:
        """Params of lanes that `shares` sets, for which users have other keywords."""
        ...

    def about(self) -> Iterator[str]:
        """Lines about it, for `python -m batchenv info`."""
        ...

    def seeded(self, keywords: dict[str, Any], seed: int | None) -> dict[str, Any]:
        """The keywords, and those that `make` means by its `seed`."""
        ...

    def first_seeds(self, seed: int, num_envs: int) -> list[int]:
        """The seeds of the first reset, where `make` has got this one."""
        ...


@dataclass(frozen=True)
class Entry:
    """An environment id: its type in the C core, and its limits.

    kwargs: the keywords that this id sets for its type.
    family: the heading under which `python -m batchenv list` shows it.
    """

    type_name: str
    max_episode_steps: int | None
    reward_threshold: float | None
    render_fps: int
    kwargs: dict[str, Any] = field(default_factory=dict)
    listed: bool = True  # for users; the others are for tests and benchmarks
    family: str = "your own"
    library: OfFile | None = None  # None: it is built in
    join: Join | None = None  # None: all lanes have one task; otherwise `type_name` is that of the first

    @property
    def extra(self) -> str | None:
        """The extra that it needs (pip install 'batchenv[extra]'), or None. A user's type needs none, whatever the
        name of its family."""
        return family_of(self.family).extra if self.library is None else None


@dataclass(frozen=True)
class Family:
    """What Python knows of a family of environments; its module in `batchenv.envs` says it. Families of users' C files
    have none.

    Attributes:
        name: the family, as entries have it.
        translators: modules with a `Translator` for each C type that has one, under the type's name; types that end in
            V4 may share the one without it. The name of one, or several.
        default: the name of the translator of all other types of the family.
        extra: the extra that it needs, or None. packages: modules, all of which are there if the extra is installed.
        gymnasium: how the entry points of Gymnasium's environments begin that the ids are copies of.
        install: the command that installs what it needs, where pip cannot install that as an extra.
        note: what `python -m batchenv list` says of it.
        typical: the ids that stand for it in a benchmark; (): the plainest of each C type.
        bench_lanes: how many lanes a benchmark takes where it is not told: few where steps take long.
    """

    name: str
    translators: str | tuple[str, ...] = ""
    default: str = ""
    extra: str | None = None
    packages: tuple[str, ...] = ()
    gymnasium: str | None = None
    install: str = ""
    note: str = ""
    typical: tuple[str, ...] = ()
    bench_lanes: int = 4096


FAMILIES: dict[str, Family] = {}


def add_family(family: Family) -> None:
    """Adds a family, which its module does when it is imported: `batchenv.envs` imports all of them."""
    FAMILIES[family.name] = family


def family_of(name: str | None) -> Family:
    """The family of this name; one without anything if Python knows nothing of it."""
    return FAMILIES.get(name or "") or Family(name or "")


def entry_of(kind: dict[str, Any], row: dict[str, Any], family: str, library: OfFile | None = None) -> Entry:
    """The entry of an id. kind, row: its C type and itself, as `_core.env_types` describes them."""
    limits = row["max_episode_steps"], row["reward_threshold"]
    return Entry(kind["name"], *limits, kind["render_fps"], row["kwargs"], row["listed"], family, library)


# The ids in the tables of C types, and those that are put in later.
TABLE = {row["name"]: entry_of(kind, row, kind["family"]) for kind in _core.env_types() for row in kind["ids"]}
# Functions that are called with each id whose entry is added, changed or removed.
watchers: list[Callable[[str], None]] = []
# The keywords that `make` and `set_params` take for every environment, so that no param could be set by such a name;
# make.py adds them.
reserved: set[str] = set()


def put(name: str, entry: Entry | None) -> None:
    """Sets the entry of an id, replacing the one that it has; None removes the id."""
    if entry is None:
        del TABLE[name]
    else:
        TABLE[name] = entry
    for watcher in watchers:
        watcher(name)


def is_file(text: str) -> bool:
    """Whether `text` names a C file or library of envs, or an id in one, as `catalog.lookup` takes them."""
    return FILE.fullmatch(text) is not None
