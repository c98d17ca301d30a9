"""Makes a shared library from the C file of an env: finds the compiler, runs it, and keeps the library."""

from __future__ import annotations

import atexit
import codecs
import contextlib
import functools
import hashlib
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from batchenv.compiler import flags

COMPILERS = ("cc", "gcc", "clang")
_MOST_WORDS = 8000  # the most characters of a compiler's output in a message
_OTHER_UNICODE = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_BE)  # UTF-32-LE begins as the first
_ATTEMPTS = 3  # how often to try if a header changes while it is compiled


class CompileError(ValueError):
    """A C file could not be compiled; the message has the compiler's output."""


class Built(NamedTuple):
    """A library, and what it was made from."""

    path: Path
    content: str  # a hash of the source, of the headers beside it and of all flags, but not of which compiler it was
    words: str  # the compiler's warnings; "" if the library was made before


def include_folder() -> Path:
    """The headers that an env's author includes: installed beside this package, or in the checkout."""
    package = Path(__file__).resolve().parent.parent
    installed = package / "include"
    return installed if installed.is_dir() else package.parent / "csrc" / "include"


def build(
    source: Path,
    isas: Sequence[str],
    cflags: Sequence[str] = (),
    compiler: str | Sequence[str] | None = None,
    timeout: float = 120.0,
) -> Built:
    """The library of `source` for these instruction sets. It is made now, unless it was made before from the same files
    with the same compiler and flags.

    Raises:
        OSError: the source cannot be read, or nothing can be written.
        CompileError: there is no compiler, it failed, or it took longer than `timeout` seconds.
    """
    command = find_compiler(compiler)
    compiler_key = [*command, _identity(tuple(command))]
    key = _digest(json.dumps([compiler_key, list(isas), list(cflags), flags.C_FLAGS]), *_own_headers())
    for _ in range(_ATTEMPTS):
        text = source.read_bytes()
        if text.startswith(_OTHER_UNICODE):
            raise CompileError(
                f"{source} is not UTF-8 but UTF-16 or UTF-32, which C compilers cannot read: save it as UTF-8"
            )
        job = _Job(source, text, tuple(isas), tuple(cflags), tuple(command), timeout, _digest(key, str(source), text))
        built = None
        with contextlib.suppress(OSError):
            built = _made_before(job, cache_folder())
        if built is not None:
            return built
        built = _build_somewhere(job)
        if built is not None:
            return built
    raise CompileError(f"{source} includes files that changed while it was compiled, {_ATTEMPTS} times: try again")


# ---- the compiler --------------------------------------------------------------------------------------------------


def find_compiler(compiler: str | Sequence[str] | None = None) -> list[str]:
    """The command of a C compiler: as given, or CC, or the first of cc, gcc and clang.

    Raises:
        CompileError: there is none.
    """
    asked = compiler if compiler is not None else os.environ.get("CC") or None
    if asked is not None:
        words = shlex.split(asked) if isinstance(asked, str) else [os.fspath(word) for word in asked]
        if not words or shutil.which(words[0]) is None:
            source = "compiler=" if compiler is not None else "CC="
            raise CompileError(f"there is no C compiler {source}{asked!r} here: name another, such as {source}'gcc'")
        return words
    for name in COMPILERS:
        if shutil.which(name):
            return [name]
    raise CompileError(
        f"there is no C compiler here ({', '.join(COMPILERS)} were looked for): install gcc (Debian and Ubuntu: apt "
        "install gcc; Fedora: dnf install gcc; conda: conda install gcc), or name one with CC=... or compiler=..."
    )


@functools.cache
def _version(command: tuple[str, ...], changed: int) -> str:
    """The compiler's version text. changed: the time of its file, because another compiler may replace it."""
    return run([*command, "--version"], b"", 60.0)


def _identity(command: tuple[str, ...]) -> str:
    path = shutil.which(command[-1]) or shutil.which(command[0]) or command[0]  # the last word of "ccache gcc"
    return _version(command, os.stat(path).st_mtime_ns) + path


def run(command: Sequence[str], text: bytes, timeout: float) -> str:
    """Runs a compiler and returns its output, stderr and stdout.

    Raises:
        CompileError: it fails, cannot be started, or takes too long. In the last case it is ended, with all processes
            that it has started.
    """
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env={**os.environ, "LC_ALL": "C.UTF-8"},
        )
    except OSError as error:
        raise CompileError(f"the C compiler {command[0]!r} cannot be started: {error}") from None
    try:
        words, _ = process.communicate(text, timeout)
    except BaseException as problem:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        if isinstance(problem, subprocess.TimeoutExpired):
            raise CompileError(
                f"the C compiler was still running after {timeout:g} s and was ended; timeout=... gives it more: "
                f"{shlex.join(command)}"
            ) from None
        raise
    said = words.decode(errors="replace")
    if process.returncode != 0:
        raise CompileError(said[:_MOST_WORDS].strip() or f"the C compiler failed: {shlex.join(command)}")
    return said


# ---- the cache -----------------------------------------------------------------------------------------------------


def cache_folder() -> Path:
    """The folder where libraries are kept: BATCHENV_CACHE, or batchenv in the user's cache folder. It is made if
    necessary.

    Raises:
        OSError: it cannot be made.
    """
    chosen = os.environ.get("BATCHENV_CACHE")
    folder = Path(chosen) if chosen else Path(os.environ.get("XDG_CACHE_HOME") or _home() / ".cache") / "batchenv"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def _home() -> Path:
    try:
        return Path.home()
    except RuntimeError:
        raise OSError("HOME is not set, and the system knows no home folder of this user") from None


@functools.cache
def temporary_folder() -> Path:
    """A folder for libraries that only this process uses."""
    folder = Path(tempfile.mkdtemp(prefix="batchenv-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def folders() -> Iterator[Path]:
    """Folders where a library may be written: the cache, then, with a warning, a folder that is deleted when this
    process ends."""
    problem: Any = None
    try:
        yield cache_folder()
    except OSError as error:
        problem = error
    warnings.warn(
        f"compiled envs cannot be kept ({problem or 'writing failed'}), so each process compiles them again: let "
        "BATCHENV_CACHE name a folder that can be written",
        RuntimeWarning,
        stacklevel=5,
    )
    yield temporary_folder()


@contextlib.contextmanager
def scratch_folder() -> Iterator[Path]:
    """A temporary folder for intermediate files of the compiler."""
    with tempfile.TemporaryDirectory(prefix="batchenv-") as name:
        yield Path(name)


def keep(path: Path, content: bytes) -> Path:
    """A file of that content in the first of `folders` that takes it, named after `path`."""
    for folder in folders():
        target = folder / f"{path.stem}-{_digest(content)}.so"
        with contextlib.suppress(OSError):
            if not is_whole(target):
                _write(target, content)
            return target
    raise OSError(f"{path} cannot be copied: neither the cache nor the temporary folder takes a file")


def is_whole(library: Path) -> bool:
    """Whether a library in one of `folders` is as it was written there: its name ends with its hash. One that a full
    disk or a loss of power has cut short would end the process that loads it."""
    try:
        return library.stem.rpartition("-")[2] == _digest(library.read_bytes())
    except OSError:
        return False


def _write(target: Path, content: bytes) -> None:
    """Writes the whole file or nothing, even if other processes write the same file, or the power is lost."""
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=".new-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())  # otherwise the new name may reach the disk before the content
        os.replace(name, target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


class _Job(NamedTuple):
    source: Path
    text: bytes
    isas: tuple[str, ...]
    cflags: tuple[str, ...]
    compiler: tuple[str, ...]
    timeout: float
    key: str  # a hash of everything except the headers that the source includes


def _made_before(job: _Job, folder: Path) -> Built | None:
    """The library in `folder` whose record names the same files with the same contents."""
    try:
        record = json.loads((folder / f"{job.source.stem}-{job.key}.json").read_text())
        path, headers = folder / record["library"], record["headers"]
        if is_whole(path) and all(_digest(Path(name).read_bytes()) == was for name, was in headers.items()):
            return Built(path, record["content"], "")
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        pass  # it was never made, or the record there is not one of ours
    return None


def _build_somewhere(job: _Job) -> Built | None:
    """Compiles in the first folder that has room. Returns None if a header changed meanwhile."""
    full: Exception | None = None
    for folder in folders():
        try:
            with tempfile.TemporaryDirectory(dir=folder, prefix=".build-") as scratch:
                return _build(job, folder, Path(scratch))
        except CompileError as error:
            if "No space left on device" not in str(error):
                raise CompileError(f"{job.source} does not compile:\n{error}") from None
            full = error
        except OSError as error:
            full = error
    raise OSError(f"{job.source} cannot be compiled, since its library cannot be written: {full}")


def _build(job: _Job, folder: Path, scratch: Path) -> Built | None:
    started = time.time_ns()
    # The compiler reads the text from here, not from a file that may change. Its messages name the file.
    # A mark of the byte order, as some editors write it, may only be the first thing that a compiler reads.
    name = os.fsencode(json.dumps(str(job.source), ensure_ascii=False))
    text = b"#line 1 " + name + b"\n" + job.text.removeprefix(codecs.BOM_UTF8)

    def compile_one(isa: str) -> str:
        own = [*flags.C_FLAGS, *flags.WARNINGS, "-fPIC", *flags.of_isa(isa)]
        paths = ["-I", str(include_folder()), "-iquote", str(job.source.parent)]
        files = ["-x", "c", "-", "-c", "-o", str(scratch / f"{isa}.o")]
        depends = ["-MMD", "-MF", str(scratch / f"{isa}.d"), "-MT", "object"]  # a target without special letters
        return run([*job.compiler, *own, *paths, *job.cflags, *files, *depends], text, job.timeout)

    with ThreadPoolExecutor(len(job.isas)) as pool:
        words = list(pool.map(compile_one, job.isas))
    made = scratch / "library.so"
    _link(job, [str(scratch / f"{isa}.o") for isa in job.isas], made)
    headers = _headers(scratch / f"{job.isas[0]}.d")
    if any(path.is_file() and path.stat().st_mtime_ns >= started for path in headers):
        return None
    library = made.read_bytes()
    # Of a header that is not found (its depfile is ambiguous, or it was deleted) nobody knows what was in it. The
    # library stands for it, and is compiled anew next time.
    known = {str(path): _digest(path.read_bytes() if path.is_file() else library) for path in headers}
    flags_given = [word for word in job.compiler if word.startswith("-")] + list(job.cflags)
    content = _digest(job.text, json.dumps(sorted(known.values())), json.dumps(flags_given))
    target = folder / f"{job.source.stem}-{_digest(job.key, json.dumps(known))}-{_digest(library)}.so"
    _write(target, library)
    record = {"library": target.name, "headers": known, "content": content}
    _write(folder / f"{job.source.stem}-{job.key}.json", json.dumps(record).encode())
    return Built(target, content, words[0].strip())


def _link(job: _Job, objects: list[str], made: Path) -> None:
    sanitizers = [flag for flag in job.cflags if flag.startswith(("-fsanitize", "-static", "-shared-lib"))]
    libraries = [flag for flag in job.cflags if flag.startswith(("-l", "-L", "-Wl,"))]
    command = [*job.compiler, "-shared", *sanitizers, *objects, "-o", str(made), *libraries, *flags.LINK_FLAGS]
    try:
        run(command, b"", job.timeout)
    except CompileError as error:
        # As GNU's linkers say it, or LLVM's.
        twice = re.search(r"(?:multiple definition of|duplicate symbol:) \W?(\w+)", str(error))
        if twice is None:
            raise
        raise CompileError(
            f"{error}\n{twice[1]} must be static: the file is compiled once per instruction set into one library, so "
            "write `static` before each of its functions and variables"
        ) from None
    if not made.exists():
        raise CompileError(f"the C compiler reported no error, but wrote no library: {shlex.join(job.compiler)}")


def _headers(depfile: Path) -> list[Path]:
    """The user's own files among those that, by its depfile, the compiler has read."""
    own = include_folder()
    paths = (Path(name).absolute() for name in _depends(os.fsdecode(depfile.read_bytes())) if name != "-")
    return [path for path in dict.fromkeys(paths) if not path.is_relative_to(own)]


def _depends(rule: str) -> list[str]:
    """The files on which the target of a rule for make depends, as gcc and clang write it. A space is part of a name
    after an odd number of backslashes, 2n + 1 for n of the name's own; $ is doubled, and # has one backslash more.
    Every other backslash and all quotes stand for themselves."""
    words = re.findall(r"(?:\\.|[^\\\s])+", rule.replace("\\\n", " ").partition(":")[2])
    spaced = (re.sub(r"(\\*)\1\\([ \t])", r"\1\2", word) for word in words)
    return [word.replace("\\#", "#").replace("$$", "$") for word in spaced]


def _own_headers() -> list[bytes]:
    return [path.read_bytes() for path in sorted(include_folder().glob("*.h"))]


def _digest(*parts: str | bytes) -> str:
    whole = hashlib.sha256()
    for part in parts:
        data = os.fsencode(part) if isinstance(part, str) else part
        whole.update(len(data).to_bytes(8, "little") + data)
    return whole.hexdigest()[:24]
