"""Checks the envs of a C file under sanitizers, in other processes. A crash there is reported with file and line."""

from __future__ import annotations

import contextlib
import os
import subprocess
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from batchenv.check.isolated import ids_in, run_isolated
from batchenv.check.report import Report
from batchenv.compiler import build, libraries

SANITIZERS = ("-fsanitize=address,undefined", "-fno-sanitize-recover=undefined", "-fno-omit-frame-pointer")
_FEW = 3
_MANY = 321  # more than a kernel steps in one call, and neither a multiple of 8 nor of 64
_MANY_MODELS = 35  # of a task over a model, which steps lanes one by one, and needs microseconds for each
_MOST_LOST = 2  # how many checks may crash, probably by the same mistake in the C code
_PROBE = "int probe(int *x, int i) { return x[i]; }\n"
_OPTIONS = "detect_leaks=0:handle_abort=1:allocator_may_return_null=1:color=never"


def check_file(
    target: str,
    num_envs: int | None,
    timeout: float,
    max_steps: int,
    skip: tuple[str, ...] = (),
    cflags: Sequence[str] = (),
    env_kwargs: dict[str, Any] | None = None,
) -> tuple[list[Report], list[str]]:
    """A report for each id of "my_env.c", or for the one of "my_env.c:MyEnv-v0"; and notes on how they were checked.
    The file is compiled with `cflags`, and is never loaded into this process, which its code might end. Its envs are
    made with `env_kwargs`.

    num_envs None: few lanes, and where all rules hold, the first id once more with many: a mistake such as a row's
    number in the place of a lane's is not seen in the first lanes.

    Raises:
        CompileError, ValueError, OSError: as `batchenv.compile`.
    """
    path, _, env_id = target.partition(".c:")
    source = Path(path if env_id else target.removesuffix(".c")).with_suffix(".c").absolute()
    isas = libraries.isas()
    plain = build.build(source, isas, cflags)
    if plain.words:
        warnings.warn(f"{source}:\n{plain.words}", UserWarning, stacklevel=2)
    runtime, notes = None, []
    try:
        runtime = sanitizer_runtime()
        sanitized = build.build(source, isas, [*cflags, *SANITIZERS, "-O1", "-g"]).path
    except build.CompileError as error:
        reason = str(error).splitlines()[-1]
        notes.append(
            f"checked without sanitizers, which find wrong reads and writes, since the compiler has none: {reason}"
        )
        sanitized = plain.path
    of_file = {"library": str(sanitized), "source": str(source)}
    with _environment(runtime):

        def checked(name: str | None, lanes: int) -> Report:
            asked = str(sanitized) if name is None else f"{sanitized}:{name}"
            report = run_isolated(asked, lanes, timeout, max_steps, None, skip, env_kwargs, of_file, _MOST_LOST)
            report.target = source.name if name is None else f"{name} of {source.name}"
            return report

        ids, over_model = ids_in(of_file, timeout)
        if ids is None:  # the first check says how it ends
            notes.append(
                f"{source.name} could not be asked for its ids: loading its library hangs or ends the process, as a "
                "function with __attribute__((constructor)) can"
            )
            return [checked(None, num_envs or _FEW)], notes
        if env_id and env_id not in ids:
            raise ValueError(f"{source} has the ids {', '.join(ids)}, and not {env_id}")
        ids = [env_id] if env_id else ids
        reports = [checked(name, num_envs or _FEW) for name in ids]
        if num_envs is None and not any(report.failures for report in reports):
            reports.append(checked(ids[0], _MANY_MODELS if over_model else _MANY))
    return reports, notes


def sanitizer_runtime() -> str:
    """The library that must be loaded before a library that was compiled with SANITIZERS.

    Raises:
        CompileError: the compiler has no such library.
    """
    command = build.find_compiler()
    with build.scratch_folder() as folder:
        probe = [*command, *SANITIZERS, "-fPIC", "-shared", "-x", "c", "-", "-o", str(folder / "probe.so")]
        build.run(probe, _PROBE.encode(), 60.0)
    for name in ("libasan.so", "libclang_rt.asan-x86_64.so", "libclang_rt.asan-aarch64.so"):
        asked = subprocess.run([*command, f"-print-file-name={name}"], capture_output=True, text=True, timeout=60)
        path = asked.stdout.strip()
        if os.path.isabs(path) and os.path.exists(path):
            return os.path.realpath(path)
    raise build.CompileError(f"{command[0]} does not say where its library of AddressSanitizer is")


@contextlib.contextmanager
def _environment(runtime: str | None) -> Iterator[None]:
    """The environment variables of the processes that check."""
    changes: dict[str, Any] = {"BATCHENV_CHECK_WRITES": "1"}  # see csrc/core/checked.h
    if runtime is not None:
        preload = ":".join(filter(None, (runtime, os.environ.get("LD_PRELOAD"))))
        changes |= {"LD_PRELOAD": preload, "ASAN_OPTIONS": _OPTIONS, "UBSAN_OPTIONS": "print_stacktrace=1"}
    before = {name: os.environ.get(name) for name in changes}
    os.environ.update(changes)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
