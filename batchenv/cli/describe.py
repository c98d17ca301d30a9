"""What `python -m batchenv list` and `info` say about environments."""

from __future__ import annotations

import contextlib
import fnmatch
import importlib.util
import re
import textwrap
from collections.abc import Iterable, Iterator
from typing import Any

from gymnasium import spaces
from gymnasium.error import DependencyNotInstalled

import batchenv
from batchenv import _core
from batchenv.arguments import messages
from batchenv.backend.core import CoreBackend
from batchenv.envs.atari import games
from batchenv.registry import TABLE, Entry, family_of

MANY = 65536  # with so many lanes, fixed costs do not matter in the bytes per lane
_NO_BOUND = 1e300  # C tables hold finite numbers only: larger ones mean no bound
_ROWS = 40  # families with at most so many ids are shown with spaces, since each env must be made to know them


def families() -> dict[str, list[str]]:
    """{family: its ids}, in the order in which ids are listed."""
    found: dict[str, list[str]] = {}
    for name in batchenv.list_envs():
        found.setdefault(TABLE[name].family, []).append(name)
    return found


def typical(ids: list[str]) -> list[str]:
    """The ids that stand for a family in a benchmark: of each C type the plainest one of the newest version."""

    def rank(name: str) -> tuple[int, int]:
        return int(name.rpartition("-v")[2]), -len(name)

    best: dict[str, str] = {}
    for name in sorted(ids, key=rank):
        best[re.sub(r"V4$", "", TABLE[name].type_name)] = name
    return list(family_of(TABLE[ids[0]].family).typical) or sorted(best.values())


# ---- list ----------------------------------------------------------------------------------------------------------


def matching(pattern: str | None) -> list[str]:
    """The ids of the family that `pattern` names ("mujoco", "toy text"), or that match it as a pattern with `*` or `?`,
    begin with it, or contain it; the first of these that finds any. Case does not matter.

    Raises:
        ValueError: there is none.
    """
    ids = batchenv.list_envs()
    if pattern is None:
        return ids
    wanted = pattern.lower()
    if set(wanted) & set("*?["):
        found = [name for name in ids if fnmatch.fnmatchcase(name.lower(), wanted)]
        if not found:
            raise ValueError(f"no id matches {pattern!r}: `list` without a pattern shows the families")
        return found
    found = [name for name in ids if re.sub("[ _-]", "", TABLE[name].family.lower()) == re.sub("[ _-]", "", wanted)]
    found = found or [name for name in ids if name.rpartition("/")[2].lower().startswith(wanted)]
    found = found or [name for name in ids if wanted in name.lower()]
    if not found:
        raise ValueError(messages.unknown_id(pattern, ids))
    return found


def list_lines(pattern: str | None) -> Iterator[str]:
    """The environments by family."""
    families: dict[str, list[str]] = {}
    for name in matching(pattern):
        families.setdefault(TABLE[name].family, []).append(name)
    for family, chosen in sorted(families.items(), key=lambda item: len(item[1])):
        everyone = [name for name, entry in TABLE.items() if entry.listed and entry.family == family]
        yield _heading(family, chosen, everyone)
        if pattern is None and family == "Atari":
            yield from _atari_overview()
        elif pattern is None and len(chosen) > _ROWS:
            yield from _many(family, chosen)
        elif len(chosen) > _ROWS or (pattern is None and TABLE[chosen[0]].extra):
            yield from _wrapped(chosen)
        else:
            yield from _table(chosen)
        yield ""
    if pattern is None:
        yield "`list mujoco`, `list Hopper` and `list '*Pong*'` show some of them, `info ID` describes one."


def _heading(family: str, chosen: list[str], everyone: list[str]) -> str:
    count = str(len(everyone)) if len(chosen) == len(everyone) else f"{len(chosen)} of {len(everyone)}"
    extra = TABLE[chosen[0]].extra
    parts = [f"{family}: {count} id{'s' * (len(everyone) != 1)}"]
    if extra:
        install = family_of(family).install or f"pip install 'batchenv[{extra}]'"
        state = "installed" if installed(family) else install
        parts.append(f"needs the extra {extra} ({state})")
    if note := family_of(family).note:
        parts.append(note)
    return "; ".join(parts)


def installed(family: str) -> bool:
    """Whether the packages that a family needs can be found."""
    return all(importlib.util.find_spec(module) for module in family_of(family).packages)


def _atari_overview() -> Iterator[str]:
    forms = {
        "ALE/Pong-v5": "as gymnasium.make_vec has it",
        "PongNoFrameskip-v4": "a frame per step and no preprocessing",
        "Pong-v5": "as EnvPool has it",
    }
    ids = [name for name in batchenv.list_envs() if TABLE[name].family == "Atari"]
    for form, meaning in forms.items():
        start, _, end = form.partition("Pong")
        those = [name for name in ids if name.startswith(start) and name.endswith(end)]
        ids = [name for name in ids if name not in those]
        yield f"  {form + ':':20} {len(those)} games, {meaning}"
    yield from _wrapped(sorted(game.title().replace("_", "") for game in [*games.GAMES, *games.TWO_PLAYER_GAMES]))


def _many(family: str, ids: list[str]) -> Iterator[str]:
    """Ids of a family of many, without what most of them begin and end with."""
    namespace, slash, _ = ids[0].rpartition("/")
    starts = (f"{family}-", f"{family}-".lower(), namespace + slash)
    start = next(start for start in starts if any(name.startswith(start) for name in ids))
    end = "-v" + ids[0].rpartition("-v")[2]
    short = [name for name in ids if start and name.startswith(start) and name.endswith(end)]
    if short:
        yield f"  {start}NAME{end}, where NAME is one of:"
        yield from _wrapped(name.removeprefix(start).removesuffix(end) for name in short)
        yield from ["  and:"] * (len(short) < len(ids))
    yield from _wrapped(_folded([name for name in ids if name not in short]))


def _folded(ids: list[str]) -> Iterator[str]:
    """Ids, with X-v4, XDense-v4, X_A-v4 and X_ADense-v4 as X[_A][Dense]-v4, and with all versions of one in one."""
    versions: dict[str, list[str]] = {}
    for name in ids:
        stem, _, version = name.rpartition("-")
        versions.setdefault(stem, []).append(version)
    ends = {stem: f"-{'/'.join(these)}" for stem, these in versions.items()}
    for stem in versions:
        plain = stem.removesuffix("Dense")
        if plain != stem and ends.get(plain) == f"[Dense]{ends[stem]}":
            del ends[stem]
        elif ends.get(f"{stem}Dense") == ends[stem]:
            ends[stem] = f"[Dense]{ends[stem]}"
    for stem in [*ends]:
        longer = [other for other in ends if other.startswith(f"{stem}_") and ends[other] == ends[stem]]
        if stem in ends and longer:
            parts = "|".join(other.removeprefix(stem) for other in longer)
            ends[stem] = f"[{parts}]{ends[stem]}"
            for other in longer:
                del ends[other]
    yield from (f"{stem}{end}" for stem, end in ends.items())


def _wrapped(words: Iterable[str]) -> list[str]:
    text = ", ".join(words)
    return textwrap.wrap(
        text, 110, initial_indent="  ", subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
    )


def _table(ids: list[str]) -> Iterator[str]:
    rows = [["id", "observation", "action", "step limit"]]
    for name in ids:
        limit = TABLE[name].max_episode_steps
        rows.append([name, *_spaces(name), "none" if limit is None else str(limit)])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  " + "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()


def _spaces(name: str) -> tuple[str, str]:
    with contextlib.suppress(DependencyNotInstalled, OSError):
        env = batchenv.make(name)
        return space_text(env.single_observation_space), space_text(env.single_action_space)
    return "?", "?"


def space_text(space: Any) -> str:
    """A space without its bounds."""
    return f"Box{space.shape} {space.dtype}" if isinstance(space, spaces.Box) else str(space)


# ---- info ----------------------------------------------------------------------------------------------------------


def info_lines(env_id: str, keywords: dict[str, Any]) -> Iterator[str]:
    """Spaces, state, parameters and reset options of an environment that is made with these keywords."""
    entry = TABLE[env_id]
    if entry.join is not None:
        yield from (env_id, *entry.join.about())
        return
    tables = _core.type_info(entry.type_name)
    simulated = bool(entry.extra) or tables["reads"] is not None
    lanes = 64 if simulated else MANY
    env = batchenv.make(env_id, lanes, **keywords)
    given = {**entry.kwargs, **keywords}
    backend = env._open()
    assert isinstance(backend, CoreBackend)  # as of all ids of the table
    yield env_id
    yield f"observation space: {env.single_observation_space}"
    yield f"action space: {env.single_action_space}{_meanings(entry, env)}"
    yield f"step limit: {entry.max_episode_steps}"
    yield f"reward threshold: {entry.reward_threshold}"
    yield from _fields("state", tables["state"])
    for name, values in backend.translator.inputs().items():
        yield f"  {name} {values.dtype}{_shape(values.shape[1:])}: as in mjData; set_state() takes it"
    if tables["info"]:
        yield from _fields("info", tables["info"])
    if backend.translator.KEYWORDS:
        yield "keywords:"
        for name, default, meaning in backend.translator.KEYWORDS:
            yield f"  {name} = {given.get(name, default)!r}: {meaning}"
    for row in tables["params"]:
        row["default"] = given.get(row["name"], row["default"])
    yield from _params("parameters", tables["params"])
    names = backend.translator.fields
    if names:
        yield "fields of MuJoCo's model, with their shapes; make() and set_params() take them, for single lanes too:"
        yield from _wrapped(name + _shape(backend.translator.field_shape(name)) for name in names)
    several = [f"  {name} = None: {meaning}" for name, _, meaning in backend.translator.OPTIONS]
    others = backend.translator.other_options(tables["options"])
    yield from _params("reset options", others) if others or not several else ["reset options:"]
    yield from several
    yield f"bytes per lane: {backend.core.nbytes / lanes:.1f}{', without the engine' if simulated else ''}"


def _meanings(entry: Entry, env: Any) -> str:
    """The names of the actions of an Atari game, if ale-py is installed."""
    if entry.extra != "atari" or not isinstance(env.single_action_space, spaces.Discrete):
        return ""
    from batchenv.envs.atari.files import minimal_actions

    names = minimal_actions(env.get_attr("game")[0])
    if len(names) != env.single_action_space.n:
        return ""
    return ": " + ", ".join(f"{i} {name}" for i, name in enumerate(names))


def _shape(shape: tuple[int, ...]) -> str:
    return f"[{'x'.join(map(str, shape))}]" if shape else ""


def _fields(title: str, rows: list[dict[str, Any]]) -> Iterator[str]:
    yield f"{title}:"
    for row in rows:
        size = f"[{row['size']}]" if row["size"] > 1 else ""
        yield f"  {row['name']} {row['dtype']}{size}: {row['doc']}"


def _params(title: str, rows: list[dict[str, Any]]) -> Iterator[str]:
    yield f"{title}:" if rows else f"{title}: none"
    for row in rows:
        default = row["default"]
        text = "no bound" if isinstance(default, float) and abs(default) >= _NO_BOUND else repr(default)
        yield f"  {row['name']} = {text} ({limits(row)}): {row['doc']}"


def limits(row: dict[str, Any]) -> str:
    """The values that a parameter may have, in words. row: one of `_core.type_info`'s params."""
    if row["kind"] == "choice":
        return "one of " + ", ".join(map(repr, row["choices"]))
    if row["kind"] == "bool":
        return "True or False"
    if row["kind"] == "text":
        return "a text or a path"
    return _range(row["low"], row["high"])


def _range(low: float, high: float) -> str:
    ends = abs(low) < _NO_BOUND, abs(high) < _NO_BOUND
    if ends == (True, True):
        return f"{_plain(low)} to {_plain(high)}"
    if ends == (False, False):
        return "any number"
    return f"at least {_plain(low)}" if ends[0] else f"at most {_plain(high)}"


def _plain(value: float) -> str:
    """A number without an exponent where that is readable."""
    return f"{value:.0f}" if value == int(value) and abs(value) < 1e10 else f"{value:g}"
