"""Libraries of envs: from a C file, from a shared library, from another package; and their ids in the registry."""

from __future__ import annotations

import os
import re
import struct
import threading
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from batchenv import _core
from batchenv.compiler import build
from batchenv.registry import FAMILIES, FILE, TABLE, Entry, entry_of, put, reserved

GROUP = "batchenv.envs"
# Names that a type of a user's own cannot have, since batchenv has them for every env.
_ATTRIBUTES = frozenset(
    {"spec", "metadata", "observation_space", "action_space", "np_random", "np_random_seed", "render"}
)
_OF_LANES = frozenset({"state", "elapsed_steps"})
_INFOS = frozenset({"env_id", "final_obs", "final_info", "final_rows"})
_lock = threading.RLock()
_opened: dict[tuple[str, str | None], Library] = {}  # {(the file that was loaded, the namespace): the library}


@dataclass(frozen=True, eq=False)
class Library:
    """A library of env types, loaded into this process until the process ends.

    Attributes:
        ids: the ids that it has registered: `batchenv.make(library.ids[0])` makes the first.
        path: the shared library.
        source: the C file that it was compiled from; None: it was compiled elsewhere.
        isas: the instruction sets that it was compiled for; "any": one for all.
    """

    ids: tuple[str, ...]
    path: str
    source: str | None
    isas: tuple[str, ...]
    entries: dict[str, Entry]
    reference: dict[str, Any]  # all that another process needs to load the same library

    def __repr__(self) -> str:
        return f"Library(ids={list(self.ids)}, path={self.path!r}, source={self.source!r})"


def compile(
    source: str | os.PathLike[str],
    *,
    cflags: Sequence[str] = (),
    compiler: str | Sequence[str] | None = None,
    namespace: str | None = None,
    timeout: float = 120.0,
) -> Library:
    """Compiles the C file of an env and registers its ids, so that `batchenv.make`, `gymnasium.make_vec` and all other
    functions know them. docs/envs/your-own-env.md shows how to write one, and `python -m batchenv new NAME` writes one
    to start from.

    It is compiled with batchenv's own flags for the instruction set that batchenv uses here, and for the baseline that
    every CPU has; the compiler's warnings are shown as warnings. Compiling an unchanged file again takes milliseconds:
    libraries are kept in the user's cache folder (BATCHENV_CACHE, or batchenv in XDG_CACHE_HOME or ~/.cache), which may
    be deleted at any time. After an edit, compiling again gives the file's ids the new code: envs made from then on
    have it, and older ones keep the code that they were made with.

    Args:
        source: the file. The folder it is in is searched for what it includes.
        cflags: more flags for the compiler, such as ("-DSIZE=9",); -l and -L for the linker too.
        compiler: its command, such as "clang"; None: the environment variable CC, else cc, gcc or clang.
        namespace: put before its ids, as in "mine/CartPole-v1".
        timeout: seconds that the compiler may take.

    Raises:
        CompileError (a ValueError): there is no compiler, or it failed; the message has its output, with file and line.
        ValueError: the env breaks a rule for its tables, or another env has one of its ids. OSError: the file cannot be
        read, or no library can be written.
    """
    path = Path(source).absolute()
    flags = [cflags] if isinstance(cflags, str) else [str(flag) for flag in cflags]
    with _lock:
        built = build.build(path, isas(), flags, compiler, timeout)
        if built.words:
            warnings.warn(f"{path}:\n{built.words}", UserWarning, stacklevel=2)
        reference = {"source": str(path), "cflags": flags, "content": built.content}
        return _register(_open(built.path, path, namespace, reference))


def load(path: str | os.PathLike[str], *, namespace: str | None = None) -> Library:
    """Loads a shared library of envs that was compiled elsewhere, and registers its ids.

    The file may be replaced or deleted afterwards: what is loaded is a copy in the cache folder.

    Args:
        path: the file, such as "my_env.so".
        namespace: put before its ids, as in "mine/CartPole-v1".

    Raises:
        ValueError: it is not a library of envs for this version of batchenv, it breaks a rule for its tables, or
            another env has one of its ids.
        OSError: the file cannot be read.
    """
    file = Path(path).absolute()
    with _lock:
        content = file.read_bytes()
        if _is_cut_short(content):
            raise ValueError(f"{file}: it cannot be loaded: its end is missing ({len(content):,} bytes are there)")
        copy = build.keep(file, content)
        return _register(_open(copy, file, namespace, {"source": None, "content": copy.stem}))


def ids_of(path: Path, origin: Path) -> tuple[str, ...]:
    """The ids of a library that was compiled from the C file `origin`; they are registered.

    Raises:
        ValueError: as `compile`.
    """
    return _register(_open(path, origin, None, {"source": None, "content": path.stem})).ids


def _is_cut_short(content: bytes) -> bool:
    """Whether a library of 64 bits is shorter than its header says. To load it would end the process."""
    if content[:5] != b"\x7fELF\2" or len(content) < 64:
        return False  # the loader says what it is
    start, size, count = struct.unpack_from("<Q", content, 40)[0], *struct.unpack_from("<HH", content, 58)
    return start + size * count > len(content)


def again(reference: dict[str, Any], env_id: str) -> str:
    """The id by which `catalog.lookup` finds the entry of a pickled env in this process; it loads or compiles the
    library if necessary.

    Raises:
        ValueError: the library is gone or damaged, and its C file has changed or is gone.
    """
    path, namespace = Path(reference["path"]), reference["namespace"]
    with _lock:
        if (str(path), namespace) in _opened or build.is_whole(path):
            library = _open(path, Path(reference["origin"]), namespace, reference)
        else:
            library = _compile_again(reference, env_id)
        free = all(name not in TABLE for name in library.entries)
        if free:
            _register(library)
    return f"{library.path}:{env_id}"


def _compile_again(reference: dict[str, Any], env_id: str) -> Library:
    source = reference["source"]
    gone = f"{env_id} was pickled with the library {reference['path']}, which is not here, or is damaged"
    if source is None:
        raise ValueError(f"{gone}: copy that file there, or load the env in the process that pickled it")
    if not os.path.exists(source):
        raise ValueError(f"{gone}, and the C file that it was compiled from, {source}, is not here either")
    built = build.build(Path(source), isas(), reference["cflags"])
    if built.content != reference["content"]:
        raise ValueError(
            f"{gone}, and {source}, from which it was compiled, has changed since, or other flags were in CC or "
            "compiler=: make the env anew, or compile the file as before"
        )
    return _open(built.path, Path(source), reference["namespace"], reference)


def find(text: str, cflags: Sequence[str] = ()) -> tuple[str, Entry]:
    """The id and entry that a text such as "my_env.c" or "my_env.c:MyEnv-v0" (or the same with .so) names: see
    `registry.is_file`. A C file is compiled with these flags.

    Raises:
        ValueError: the file has no such id, or has several and none is named; or it does not compile or load.
        OSError: there is no such file.
    """
    match = FILE.fullmatch(text)
    assert match is not None  # as `is_file` says
    path, env_id = str(Path(match["path"]).absolute()), match["id"]
    library = next((known for (file, _), known in _opened.items() if file == path and env_id in known.entries), None)
    if library is None:
        library = compile(path, cflags=cflags) if path.endswith(".c") else load(path)
    if env_id is None and len(library.entries) == 1:
        (env_id,) = library.entries
    if env_id not in library.entries:
        first = next(iter(library.entries))
        raise ValueError(
            f"{match['path']} has the ids {', '.join(library.entries)}: name one, as in {match['path']}:{first}"
        )
    return env_id, library.entries[env_id]


def isas() -> list[str]:
    """The instruction sets to compile for: the one in use, and the one that every CPU has."""
    return list(dict.fromkeys([_core.build_info()["isa"], "baseline"]))


def _open(path: Path, origin: Path, namespace: str | None, reference: dict[str, Any]) -> Library:
    """Loads a library, once."""
    key = (str(path), namespace)
    if key not in _opened:
        prefix = "" if namespace is None else f"{_checked_namespace(namespace)}/"
        core = _core.Library(str(path), str(origin))
        reference = {**reference, "path": str(path), "origin": str(origin), "namespace": namespace}
        entries: dict[str, Entry] = {}
        ids = tuple(f"{prefix}{row['name']}" for kind in core.types for row in kind["ids"])
        library = Library(ids, str(path), reference["source"], tuple(core.isas), entries, reference)
        for kind in core.types:
            _check_type(kind, origin)
            for row in kind["ids"]:
                if f"{prefix}{row['name']}" in entries:
                    raise ValueError(f"{origin}: the id {row['name']} is there twice")
                if "xml_file" in row["kwargs"] and _core.type_info(kind["name"])["reads"] is not None:
                    row["kwargs"]["xml_file"] = _beside(origin, row["kwargs"]["xml_file"])
                entries[f"{prefix}{row['name']}"] = entry_of(kind, row, _heading(kind["family"]), library)
        _opened[key] = library
    return _opened[key]


def _heading(family: str | None) -> str:
    """The heading under which a user's type is listed: not that of a family of ours, whose tables' macros name it."""
    return Entry.family if family is None or family in FAMILIES else family


def _beside(origin: Path, name: str) -> str:
    """The path of a file that the C file `origin` names."""
    return os.path.normpath(origin.parent / Path(name).expanduser())


def _check_type(kind: dict[str, Any], origin: Path) -> None:
    """Raises ValueError if a type has what a file of its own cannot have."""
    if kind["grid"] is not None:
        raise ValueError(f"{origin}: type {kind['name']} has a .grid, which only built-in types can have")
    info = _core.type_info(kind["name"])
    for table, names, meaning in (
        ("params", reserved, "a keyword that make, make_vec or set_params takes for every env, so nobody could set it"),
        ("params", _ATTRIBUTES, "an attribute that lanes of every env have, so get_attr could not tell them apart"),
        ("state", _ATTRIBUTES | _OF_LANES, "an attribute that lanes of every env have, so get_attr could not give it"),
        ("options", {"reset_mask"}, "the option that chooses lanes in every env, so no reset could set it"),
        ("info", _INFOS, "what batchenv itself puts into infos, so one of the two would be lost"),
    ):
        for index, row in enumerate(info[table]):
            name = row["name"].partition("/")[0].removeprefix("_") if table == "info" else row["name"]
            if name in names:
                place = f"row {row.get('index', index)} of .{'ports' if table == 'info' else table}"
                raise ValueError(
                    f'{origin}: type {kind["name"]}: {place} ("{row["name"]}") has the name of {meaning}: choose '
                    "another name"
                )


def _checked_namespace(namespace: Any) -> str:
    if not isinstance(namespace, str) or not re.fullmatch(r"[A-Za-z][\w-]*", namespace):
        raise ValueError(f"namespace={namespace!r} must be a word such as 'mine', of letters, digits, - and _")
    if namespace.lower() in ("batchenv", "ale"):
        raise ValueError(f"namespace={namespace!r} is taken: choose another")
    return namespace


def _register(library: Library) -> Library:
    """Puts the library's ids into the registries, replacing those that the same file had before."""
    origin = library.reference["origin"]
    for name in library.entries:
        other = TABLE.get(name)
        if other is not None and (other.library is None or other.library.reference["origin"] != origin):
            owner = "one of batchenv's own" if other.library is None else f"that of {other.library.reference['origin']}"
            raise ValueError(
                f"{origin}: the id {name} is {owner} already: change it in the file, or say namespace='mine' for "
                f"'mine/{name}'"
            )
    namespace = library.reference["namespace"]
    for name, entry in list(TABLE.items()):
        if entry.library is not None and name not in library.entries:
            theirs = entry.library.reference
            if (theirs["origin"], theirs["namespace"]) == (origin, namespace):  # the file no longer has this id
                put(name, None)
    for name, entry in library.entries.items():
        put(name, entry)
    return library


_packages_loaded = False


def load_packages() -> None:
    """Loads the envs of other packages, once. A package names functions without arguments, which call
    `batchenv.compile` or `batchenv.load`, in the group "batchenv.envs" of its entry points."""
    global _packages_loaded
    with _lock:
        if _packages_loaded:
            return
        _packages_loaded = True
        import importlib.metadata  # late: importing it takes as long as importing the rest

        for point in importlib.metadata.entry_points(group=GROUP):
            try:
                point.load()()
            except Exception as error:
                package = point.dist.name if point.dist is not None else "?"
                warnings.warn(
                    f"the environments of the package {package} cannot be had: its entry point {point.name} = "
                    f"{point.value} raised {type(error).__name__}: {error}",
                    RuntimeWarning,
                    stacklevel=3,
                )
