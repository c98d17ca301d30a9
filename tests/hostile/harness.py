"""Attacks: what a hostile or unlucky user does to batchenv, each in a process of its own.

An attack is a function in a file attacks_*.py, registered by `@attack(...)`. It checks by asserts that all is well, or
raises the error that a user should see. README.md says how to add one. The verdict on an attack is one of:

works        the function returned, and the process ended normally
clear error  it raised one of the exceptions expected, with all of the words expected
wrong        an assert failed; another exception, or an unclear one; text on stdout or stderr; files left behind
killed       the process died from a signal, or ended without a word
hangs        it did not end within its time limit
"""

from __future__ import annotations

import atexit
import contextlib
import faulthandler
import importlib
import importlib.util
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent
# The attacks, where Python does not look in a script's own folder (PYTHONSAFEPATH); what all tests share; and a
# batchenv built in place, where none is installed.
sys.path += [str(FOLDER), str(FOLDER.parent), str(FOLDER.parents[1])]
SANITIZED = "AddressSanitizer" in os.environ.get("BATCHENV_HOSTILE", "")
SLOWER = 5 if SANITIZED else 1
EFFORT = float(os.environ.get("BATCHENV_HOSTILE_EFFORT", "1"))

ATTACKS: dict[str, Attack] = {}
_ALONE = ("attacks_fork:", "attacks_memory:", "attacks_threads:")  # about what a process has when it is new


@dataclass
class Attack:
    """One attack; see `attack`."""

    function: Callable[[], None]
    name: str
    errors: tuple[type[BaseException], ...]
    words: tuple[str, ...]
    needs: tuple[str, ...]
    env: dict[str, str]
    limit: float
    stderr: str | None
    options: tuple[str, ...] = field(default=())

    @property
    def expected(self) -> str:
        """The verdict that it should get."""
        return "clear error" if self.errors else "works"

    @property
    def alone(self) -> bool:
        """Whether it has an interpreter of its own. Others are forks of one that has only imported what they need,
        which takes longer than most attacks do."""
        return bool(SANITIZED or self.env or self.options or self.name.startswith(_ALONE) or not hasattr(os, "fork"))

    def missing(self) -> str | None:
        """What it needs and this machine has not, or None."""
        return next((need for need in self.needs if not _HAS[need]()), None)


def _module(name: str) -> Callable[[], bool]:
    return lambda: importlib.util.find_spec(name) is not None


_HAS: dict[str, Callable[[], bool]] = {
    "cc": lambda: any(shutil.which(name) for name in ("cc", "gcc", "clang")),
    "mujoco": _module("mujoco"),
    "ale": lambda: _module("ale_py")() and _module("multi_agent_ale_py")(),
    "jax": _module("jax"),
    "procgen": _module("procgen"),
    "pygame": _module("pygame"),
    "linux": lambda: sys.platform.startswith("linux"),
    "root": lambda: sys.platform.startswith("linux") and os.geteuid() == 0,
    "little memory": lambda: sys.platform.startswith("linux") and not SANITIZED,  # ASan maps terabytes
    # A fork beside another thread's malloc leaves ASan's own lock taken, and its frames do not fit small stacks.
    "no sanitizer": lambda: not SANITIZED,
}


def attack(
    *,
    name: str = "",
    error: type[BaseException] | tuple[type[BaseException], ...] = (),
    words: tuple[str, ...] = (),
    needs: tuple[str, ...] = (),
    env: dict[str, str] | None = None,
    limit: float = 60,
    stderr: str | None = None,
    options: tuple[str, ...] = (),
):
    """Registers a function as an attack.

    Args:
        name: instead of the function's own: several attacks that only call one function in different ways are lambdas.
        error, words: the exceptions of which it should raise one, and what the message must contain. Without `error`
            it should return.
        needs: what it cannot do without; names of `_HAS`. It is skipped where that is missing.
        env: environment variables of its process.
        limit: seconds after which it hangs.
        stderr: a text that what it prints may contain. Otherwise it must print nothing.
        options: of the Python interpreter.
    """
    errors = error if isinstance(error, tuple) else (error,)

    def register(function: Callable[[], None]) -> Callable[[], None]:
        full = f"{function.__module__}:{name or function.__name__}"
        assert full not in ATTACKS, f"two attacks are called {full}"
        ATTACKS[full] = Attack(function, full, errors, words, needs, env or {}, limit, stderr, options)
        return function

    return register


def load(pattern: str = "") -> list[Attack]:
    """All attacks whose name contains `pattern`."""
    for path in sorted(FOLDER.glob("attacks_*.py")):
        importlib.import_module(path.stem)
    return [found for name, found in ATTACKS.items() if pattern in name]


# ---- for attacks -------------------------------------------------------------------------------------------------


def note(text: Any) -> None:
    """Where the attack is now: told with the verdict if it goes wrong."""
    if _report is not None:
        _report.write(json.dumps(["note", str(text)]) + "\n")
        _report.flush()


def rounds(count: int) -> range:
    """range(count), or more where BATCHENV_HOSTILE_EFFORT asks for more."""
    return range(max(1, int(count * EFFORT)))


# ---- the attacked process ----------------------------------------------------------------------------------------

_report: Any = None
_UNCLEAR = ("'NoneType'", "unsized object", "has no attribute '_", "NoneType object")


def _judge(found: Attack) -> tuple[str, str]:
    try:
        found.function()
    except BaseException as error:
        told = f"{type(error).__name__}: {error}"
        where = "".join(traceback.format_exception(error))
        if not found.errors or not isinstance(error, found.errors):
            return "wrong", where
        if lacking := [word for word in found.words if word.lower() not in str(error).lower()]:
            return "wrong", f"the message does not say {lacking}: {told}"
        if unclear := [word for word in _UNCLEAR if word in str(error)]:
            return "wrong", f"the message is unclear ({unclear[0]}): {told}"
        return "clear error", told
    return "works", ""


def attacked(name: str, report: str) -> None:
    """Runs one attack, and writes into the file `report` what became of it."""
    global _report
    faulthandler.enable()
    _report = Path(report).open("a", encoding="utf-8")  # noqa: SIM115 - open until the process ends
    process = os.getpid()
    importlib.import_module(name.split(":")[0])
    verdict = _judge(ATTACKS[name])
    if os.getpid() == process:  # not in a forked child that came this far
        _report.write(json.dumps(verdict) + "\n")
        _report.flush()


def fork_attacks() -> None:
    """Reads a line of JSON for each attack from stdin, forks its process, and writes the process's id and then its exit
    status. Returns in the forked processes, so that they end as a process does; and at the end of stdin."""
    load()
    while line := _line(0):
        name, report, work, output = json.loads(line)
        process = os.fork()
        if process == 0:
            os.setsid()
            os.chdir(work)
            for path, flags, numbers in ((os.devnull, os.O_RDONLY, (0,)), (output, os.O_WRONLY, (1, 2))):
                opened = os.open(path, flags)
                for number in numbers:
                    os.dup2(opened, number)
                os.close(opened)
            attacked(name, report)
            return
        os.write(1, b"%d\n" % process)
        os.write(1, b"%d\n" % os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]))


def _line(descriptor: int) -> bytes:
    """The next line, read byte by byte: nothing stays in a buffer that a fork would copy."""
    line = b""
    while not line.endswith(b"\n") and (byte := os.read(descriptor, 1)):
        line += byte
    return line


# ---- the attacker ------------------------------------------------------------------------------------------------


@dataclass
class Verdict:
    """What became of an attack: one of the words of the module's docstring, and more about it."""

    verdict: str
    details: str = ""


def run(found: Attack) -> Verdict:
    """Runs an attack in a new process, and says what became of it."""
    import batchenv

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
        work = Path(scratch, "work")
        work.mkdir()
        report, output = Path(scratch, "report"), Path(scratch, "output")
        report.touch()
        for path in (Path(scratch), work, report):
            path.chmod(0o777)  # an attack may give up its rights
        # Beside the attacks only batchenv itself is added to the path.
        path = os.pathsep.join([str(Path(batchenv.__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])])
        env = {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1", **found.env}
        with output.open("wb") as file:
            if found.alone:
                command = [sys.executable, *found.options, str(FOLDER / "harness.py"), found.name, str(report)]
                streams: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": file, "stderr": file}
                process: subprocess.Popen | Forked
                process = subprocess.Popen(command, cwd=work, env=env, start_new_session=True, **streams)
            else:
                process = Forked([found.name, str(report), str(work), str(output)], env)
            limit = found.limit * SLOWER * _shared()
            timely = _wait(process, limit)
        lines = [json.loads(line) for line in report.read_text(encoding="utf-8").splitlines()]
        printed = output.read_bytes().decode(errors="replace").strip()
        left = sorted(str(path.relative_to(work)) for path in work.rglob("*"))
        return _verdict(found, process.returncode, limit if not timely else 0, lines, printed, left)


class Forked:
    """A process that was forked for an attack, with what is used here of `subprocess.Popen`. Each thread has a process
    that forks, which ends with this one."""

    _forking = threading.local()

    def __init__(self, job: list[str], env: dict[str, str]):
        if not hasattr(self._forking, "process"):
            command = [sys.executable, str(FOLDER / "harness.py"), "--fork"]
            self._forking.process = subprocess.Popen(
                command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0, start_new_session=True
            )
            atexit.register(self._forking.process.communicate)
        self._from = self._forking.process
        self._from.stdin.write(json.dumps(job).encode() + b"\n")
        self.pid = int(_line(self._from.stdout.fileno()))
        self.returncode: int | None = None

    def wait(self, timeout: float | None = None) -> None:
        """As that of Popen."""
        if self.returncode is None:
            if not select.select([self._from.stdout], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired("fork", timeout)
            self.returncode = int(_line(self._from.stdout.fileno()))

    def send_signal(self, number: int) -> None:
        """As that of Popen."""
        if self.returncode is None:
            os.kill(self.pid, number)


def _shared() -> float:
    """How many programs there are for each CPU: on a busy machine, an attack takes so much longer."""
    return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1)) if hasattr(os, "getloadavg") else 1.0


def _wait(process: subprocess.Popen | Forked, limit: float) -> bool:
    """Waits for a process and ends it after `limit` seconds, whereupon faulthandler prints its stacks."""
    try:
        process.wait(limit)
        return True
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGABRT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(10)
        return False
    finally:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)  # and any children that it left
        process.wait()


def _verdict(found: Attack, status: int, over: float, lines: list[list[str]], printed: str, left: list[str]) -> Verdict:
    notes = [text for kind, text in lines if kind == "note"]
    told = [line for line in lines if line[0] != "note"]
    at = f" (at {notes[-1]})" if notes else ""
    if over:
        return Verdict("hangs", f"after {over:.0f} s{at}\n{printed}")
    if status < 0:
        return Verdict("killed", f"by {signal.Signals(-status).name}{at}\n{printed}")
    if not told or status != 0:
        ended = "after its verdict" if told else "without a word"
        return Verdict("killed", f"it ended {ended} with status {status}{at}\n{printed}")
    verdict, details = told[-1]
    if verdict == "wrong":
        return Verdict(verdict, f"{details.strip()}{at}\n{printed}")
    if printed and (found.stderr is None or found.stderr not in printed):
        return Verdict("wrong", f"it printed{at}:\n{printed}")
    if left:
        return Verdict("wrong", f"it left files behind{at}: {', '.join(left)}")
    return Verdict(verdict, details)


if __name__ == "__main__":
    import harness  # so that attacks and this find one and the same registry

    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
    if sys.argv[1:] == ["--fork"]:
        harness.fork_attacks()
    else:
        harness.attacked(*sys.argv[1:])
