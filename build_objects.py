"""Compiles batchenv's objects, in parallel, and only those whose sources, headers or flags have changed.

Objects stay in build/objects/, in a folder for each compiler, Python and set of flags. Beside each one lies a record of
the command that made it and of the contents of every file of ours that it was made from, so that a touched or restored
file is not mistaken for a changed one.
"""

import concurrent.futures
import functools
import hashlib
import importlib.metadata
import json
import os
import shlex
import subprocess
import sysconfig
import time
from pathlib import Path
from typing import NamedTuple

from setuptools.errors import CompileError

import build_config

ROOT = build_config.ROOT
GENERATED = "build/cython/batchenv/_core.c"
TOOLS = ["cython>=3.1", "numpy>=2.0"]  # wanted only where _core.pyx has to be compiled
OPENMP_PROBE = """
#include <omp.h>
#include <stdio.h>
int main(void) {
    int threads = 0;
#pragma omp parallel num_threads(2) reduction(+ : threads)
    threads += 1;
    printf("%d\\n", threads);
    return threads < 1;
}
"""


class Unit(NamedTuple):
    source: str  # relative to ROOT
    object: Path
    flags: list[str]  # all that goes into the command but the compiler's path, the files and numpy's headers


def digest(*parts):
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


@functools.cache
def content(path):
    """A hash of the file; None where it is missing."""
    try:
        return hashlib.sha256((ROOT / path).read_bytes()).hexdigest()[:16]
    except OSError:
        return None


def read_record(path):
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError):
        return {}


def write_record(path, about, inputs, since):
    """since: when making this began, in nanoseconds. Where a file has changed from then on, nobody knows what of
    it was read. Then there is no record, and this is made again next time."""
    if any(since <= (ROOT / name).stat().st_mtime_ns <= time.time_ns() for name in inputs):
        return
    path.write_text(json.dumps({"about": about, "inputs": {name: content(name) for name in inputs}}))


def matches(path, about):
    """Whether what the record at `path` belongs to was made so, from files that have not changed."""
    record = read_record(path)
    return record.get("about") == about and all(content(name) == was for name, was in record["inputs"].items())


def inputs_of(depfile):
    """Our own files in a depfile of the compiler: not the system's, nor those of a temporary environment."""
    names = depfile.read_text().replace("\\\n", " ").split(":", 1)[1].split()
    paths = (Path(os.path.relpath(ROOT / name, ROOT)) for name in names)
    return sorted({str(path) for path in paths if path.parts[0] in ("csrc", "build", "batchenv")})


class Builder:
    """`compiler`: a compiler object of setuptools, customized for this Python."""

    def __init__(self, compiler, jobs=None):
        self.compiler = compiler
        self.command = list(compiler.compiler_so)
        cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        self.jobs = jobs or cpus or 1
        version = self.run([*self.command[: self.compiler_words()], "--version"]).stdout
        key = digest(*self.command, version, sysconfig.get_config_var("EXT_SUFFIX") or "", *build_config.C_FLAGS)
        self.folder = ROOT / "build" / "objects" / key

    def compiler_words(self):
        """How many words of the command are programs: 2 in "ccache gcc -O2"."""
        return next((i for i, word in enumerate(self.command) if word.startswith("-")), len(self.command))

    def run(self, command):
        try:
            return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, errors="replace")
        except FileNotFoundError as error:
            raise CompileError(
                f"batchenv is written in C, and there is no C compiler {command[0]!r} here: install gcc (Debian and "
                "Ubuntu: apt install gcc; Fedora: dnf install gcc), or name another with CC=clang"
            ) from error

    # ---- what to compile

    @functools.cached_property
    def openmp(self):
        """Whether a program with OpenMP can be compiled, linked and run here."""
        if os.environ.get("BATCHENV_NO_OPENMP") == "1":
            return False
        good = self.folder / "openmp"
        if good.exists():
            return True
        problem = self.probe_openmp()
        if problem is None:
            good.touch()
            return True
        if os.environ.get("BATCHENV_REQUIRE_OPENMP") == "1":
            raise CompileError(
                f"BATCHENV_REQUIRE_OPENMP=1, but OpenMP does not work here: {problem}\nInstall it (gcc brings it "
                "along; Debian's clang needs libomp-dev), choose another compiler with CC=gcc, or leave "
                "BATCHENV_REQUIRE_OPENMP out to build for one thread"
            )
        print(f"batchenv: building without OpenMP, for one thread: {problem}", flush=True)
        return False

    def probe_openmp(self):
        """None, or why it failed."""
        self.folder.mkdir(parents=True, exist_ok=True)
        source, program = self.folder / "openmp.c", self.folder / f"openmp.{os.getpid()}"
        source.write_text(OPENMP_PROBE)
        link = [*self.compiler.linker_exe, "-fopenmp", str(source), "-o", str(program)]
        try:
            done = self.run(link)
            if done.returncode == 0:
                done = subprocess.run([str(program)], capture_output=True, text=True, timeout=30)
            return None if done.returncode == 0 else f"{shlex.join(link)} or its program failed: {done.stderr.strip()}"
        except (OSError, subprocess.TimeoutExpired) as error:
            return str(error)
        finally:
            program.unlink(missing_ok=True)

    def units(self):
        macros = ["-DBE_HAVE_X86_VECTORS=1"] if "AVX512" in build_config.ISA_FLAGS else []
        openmp = ["-fopenmp"] if self.openmp else []
        if os.environ.get("BATCHENV_NO_OPENMP") == "1":
            openmp = ["-DBE_OPENMP_DECLINED=1"]
        for isa in build_config.ISA_FLAGS:
            for source in build_config.KERNEL_SOURCES:
                yield self.unit(isa.lower(), source, [*build_config.C_FLAGS, *build_config.of_isa(isa)])
        for source in build_config.COMMON_SOURCES:
            yield self.unit("common", source, [*macros, *build_config.COMMON_FLAGS, *build_config.C_FLAGS])
        yield self.core_unit([*macros, *openmp])

    def core_unit(self, flags):
        flags = ["-DNPY_NO_DEPRECATED_API=NPY_2_0_API_VERSION", *flags, *build_config.CYTHON_FLAGS]
        include = sysconfig.get_paths()
        return self.unit("common", GENERATED, [*(f"-I{include[name]}" for name in ("include", "platinclude")), *flags])

    def unit(self, folder, source, flags):
        return Unit(
            source,
            self.folder / folder / f"{source.replace('/', '-')}.o",
            [*(f"-I{folder}" for folder in build_config.INCLUDE), *flags],
        )

    # ---- what has changed

    def about(self, unit):
        return digest(*self.command, *unit.flags)

    def is_fresh(self, unit):
        return unit.object.exists() and matches(unit.object.with_suffix(".json"), self.about(unit))

    def needs_tools(self):
        """Whether Cython and NumPy's headers are wanted for this build."""
        *_, core = self.units()
        return not (self.is_generated() and self.is_fresh(core))

    @staticmethod
    def is_generated():
        return (ROOT / GENERATED).exists() and matches(ROOT / GENERATED.replace(".c", ".json"), "cython")

    # ---- compiling

    @classmethod
    def generate(cls):
        """_core.pyx to C."""
        if cls.is_generated():
            return
        check_tools()
        from Cython.Build import cythonize

        folder = GENERATED.removesuffix(build_config.CYTHON_SOURCE.replace(".pyx", ".c"))
        record, since = ROOT / GENERATED.replace(".c", ".json"), time.time_ns()
        record.unlink(missing_ok=True)
        cythonize([str(build_config.CYTHON_SOURCE)], build_dir=folder, language_level=3, force=True, quiet=True)
        content.cache_clear()
        write_record(record, "cython", build_config.CYTHON_SOURCES, since)

    def compile(self):
        """All objects, with those compiled anew that have to be."""
        self.generate()
        units = list(self.units())
        # The longest first, so that no core is left with it at the end.
        stale = sorted((u for u in units if not self.is_fresh(u)), key=lambda u: -(ROOT / u.source).stat().st_size)
        done, said = 0, time.monotonic()
        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            try:
                for future in concurrent.futures.as_completed([pool.submit(self.compile_one, unit) for unit in stale]):
                    future.result()
                    done += 1
                    if time.monotonic() > said + 5 or done == len(stale):
                        print(f"batchenv: compiled {done} of {len(stale)} objects", flush=True)
                        said = time.monotonic()
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise
        return [str(unit.object) for unit in units]

    def compile_one(self, unit):
        unit.object.parent.mkdir(parents=True, exist_ok=True)
        record, depfile = unit.object.with_suffix(".json"), unit.object.with_suffix(".d")
        record.unlink(missing_ok=True)
        headers, since = [], time.time_ns()
        if unit.source == GENERATED:
            check_tools()
            import numpy

            headers = [f"-I{numpy.get_include()}"]
        files = ["-c", unit.source, "-o", str(unit.object), "-MMD", "-MF", str(depfile)]
        result = self.run([*self.command, *unit.flags, *headers, *files])
        if result.stderr:
            print(result.stderr, flush=True)
        if result.returncode != 0:
            raise CompileError(f"{unit.source} does not compile: {shlex.join([*self.command, *unit.flags])}")
        write_record(record, self.about(unit), inputs_of(depfile), since)


def check_tools():
    """That Cython and NumPy are installed in the Python that builds."""
    for name in ("cython", "numpy"):
        try:
            importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            raise CompileError(
                f"{name} is not installed here, and building batchenv needs it. `pip install -e .` brings everything "
                f"along; for `python setup.py build_ext --inplace` do `pip install 'setuptools>=77' "
                f"{' '.join(map(repr, TOOLS))}` first"
            ) from None
