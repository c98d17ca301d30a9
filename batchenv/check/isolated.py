"""Runs checks in other processes, so that an env that hangs or dies does not stop the other checks."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import re
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from typing import Any

from batchenv.check.report import FAIL, SKIP, Report, Result
from batchenv.check.rules import CHECKS
from batchenv.check.run import FIRST, UNUSABLE, part_of
from batchenv.check.target import reference_of
from batchenv.compiler.build import include_folder

_IMPORT_SECONDS = 60.0


class _Lost(Exception):
    """The worker hung or died; the message says which."""


def run_isolated(
    target: Any,
    num_envs: int,
    timeout: float,
    max_steps: int,
    vectorization_mode: str | None,
    skip: tuple[str, ...],
    env_kwargs: dict[str, Any] | None = None,
    of_file: dict[str, str] | None = None,
    most_lost: int | None = None,
) -> Report:
    """Does the work of `check_vector_env(..., isolate=True)`. After `most_lost` checks that hang or die, the remaining
    checks of the mode are skipped. of_file: of a target in a C file's library, as `ids_in` takes it."""
    reference = target if isinstance(target, str) else reference_of(target)
    if reference is None:
        raise ValueError(
            f"isolate=True needs an id, 'module:function', or a function at the top of a module that another process "
            f"can import, not {target!r}"
        )
    job = {
        "target": reference,
        "num_envs": num_envs,
        "vectorization_mode": vectorization_mode,
        "max_steps": max_steps,
        "seconds": timeout / 2,
        "skip": skip,
        "env_kwargs": env_kwargs,
        **(of_file or {}),
    }
    report = Report(reference, num_envs)
    checks = {check.name: check for check in CHECKS}
    parts: list[dict[str, Any]] | None = None  # what is left to check, by modes; None: the worker says which there are

    def tell(part: dict[str, Any], status: str, detail: str) -> None:
        report.results.append(Result(checks[part["checks"].pop(0)], part["mode"], status, detail))

    while parts is None or parts:
        try:
            for event in _events({**job, "parts": parts}, timeout):
                if "parts" in event:
                    parts, report.target, report.notes = event["parts"], event["name"], event["notes"]
                    report.modes = [part["mode"] for part in event["parts"]]
                elif "status" in event and parts:
                    tell(parts[0], event["status"], event["detail"])
                parts = parts and [part for part in parts if part["checks"]]
            if parts is None or parts:
                raise _Lost("the process ended with exit code 0")
        except _Lost as loss:
            if parts is None:  # the first check fails as well, and reports it
                parts = [part for part in [part_of(None, "NextStep", skip)] if part["checks"]]
                report.modes = ["NextStep"]
                continue
            part = parts[0]
            name = part["checks"][0]
            tell(part, FAIL, str(loss))
            part["lost"].append(name)
            unusable = name == FIRST
            if unusable or len(part["lost"]) == most_lost:
                why = UNUSABLE if unusable else f"{most_lost} checks before this one hung or died"
                while part["checks"]:
                    tell(part, SKIP, why)
            parts = [part for part in parts if part["checks"]]
    return report


def ids_in(of_file: dict[str, str], timeout: float) -> tuple[list[str] | None, bool]:
    """The ids of the `library` that a C file, `source`, was compiled to, as another process finds them (None: that
    process hung or ended), and whether the first is of a task over a model.

    Raises:
        ValueError: the library breaks a rule for its tables.
    """
    try:
        for event in _events(of_file, timeout):
            if "ids" in event:
                return event["ids"], event["over_model"]
    except _Lost:
        pass
    return None, False


def _events(job: dict[str, Any], timeout: float) -> Iterator[dict[str, Any]]:
    """The events of a worker.

    Raises:
        ValueError: the worker cannot find the target.
        _Lost: it sent nothing for longer than `timeout` seconds, or died.
    """
    path = os.pathsep.join(entry or os.getcwd() for entry in sys.path)
    with tempfile.TemporaryFile() as stderr:
        process = subprocess.Popen(
            [sys.executable, "-m", "batchenv.check.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            env={**os.environ, "PYTHONPATH": path},
            start_new_session=True,
        )
        lines: queue.Queue[bytes] = queue.Queue()
        reader = threading.Thread(target=_read, args=(process.stdout, lines), daemon=True)
        reader.start()
        try:
            assert process.stdin is not None  # it is a pipe
            with contextlib.suppress(BrokenPipeError):
                process.stdin.write(json.dumps(job).encode())
                process.stdin.close()
            wait = _IMPORT_SECONDS + timeout
            while True:
                try:
                    line = lines.get(timeout=wait)
                except queue.Empty:
                    where = _where(process, stderr)
                    raise _Lost(
                        f"hung: there was no answer within {wait:g} s, so the process was killed{where}"
                    ) from None
                if not line:
                    break
                wait = timeout
                event = json.loads(line)
                if "refused" in event:
                    raise ValueError(event["refused"])
                yield event
            if process.wait(timeout=10):
                raise _Lost(_death(process.returncode, stderr))
        except subprocess.TimeoutExpired:
            raise _Lost("hung: the process did not end and was killed") from None
        finally:
            _kill(process)
            reader.join(timeout=5)


def _read(stream: Any, lines: queue.Queue[bytes]) -> None:
    with stream:
        for line in stream:
            lines.put(line)
    lines.put(b"")


def _kill(process: subprocess.Popen) -> None:
    """Ends the worker and what it has started."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    process.wait()


def _words(stderr: Any) -> list[str]:
    stderr.seek(0)
    return [line.strip() for line in stderr.read().decode(errors="replace").splitlines() if line.strip()]


def _sanitizer(words: list[str]) -> tuple[str, str]:
    """What a sanitizer has found, and where in the env's C code: ("SEGV", "step /home/me/my_env.c:70"). Empty texts if
    it found nothing or does not say it."""
    errors = [word for word in words if "runtime error: " in word or "ERROR: AddressSanitizer: " in word]
    if not errors:
        return "", ""
    what = re.sub(r"^==\d+==|ERROR: AddressSanitizer: |on (unknown )?address 0x\S+.*| \(pc 0x.*", "", errors[0]).strip()
    return what, _place(words)


def _place(words: list[str]) -> str:
    """The innermost frame that is not in batchenv's own headers or core; those that it called are of less use."""
    frames = [found[1] for word in words if (found := re.search(r"#\d+ \S+ in (\S+ \S+\.[ch]:\d+)", word))]
    own = (f" {include_folder()}{os.sep}", f" {include_folder().parent / 'core'}{os.sep}")
    inner: list[str] = []
    for frame in frames:
        if not any(folder in frame for folder in own):
            return f"{frame}, in its call of {inner[-1].split()[0]}" if inner else frame
        inner.append(frame)
    return inner[0] if inner else ""


def _where(process: subprocess.Popen, stderr: Any) -> str:
    """Where a process that hangs is, if a sanitizer can say it: "in step /home/me/my_env.c:70"."""
    if "handle_abort=1" not in os.environ.get("ASAN_OPTIONS", ""):
        return ""
    with contextlib.suppress(ProcessLookupError, subprocess.TimeoutExpired):
        process.send_signal(signal.SIGABRT)
        process.wait(timeout=10)
    place = _sanitizer(_words(stderr))[1]
    return f"; it was in {place}" if place else ""


def _death(code: int, stderr: Any) -> str:
    words = _words(stderr)
    found, place = _sanitizer(words)
    if found:
        return f"the C code broke: {found}, in {place}" if place else f"the C code broke: {found}"
    told = [word for word in words if "failed" in word.lower() or "error" in word.lower()]
    last = f"; it said: {(told or words)[-1][:200]}" if words else ""
    if code < 0:
        with contextlib.suppress(ValueError):
            return f"the process died of {signal.Signals(-code).name}{last}"
    return f"the process ended with exit code {code}{last}"
