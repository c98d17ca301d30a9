"""Tells whether the tests notice small mistakes: makes random ones, one at a time, and runs the tests that should fail.

    python tools/verify/mutate.py --count 40          # 40 mutants, ten per room; a second call goes on where it stopped
    python tools/verify/mutate.py --only 7            # number 7 again
    python tools/verify/mutate.py --survivors --thorough
    python tools/verify/mutate.py --judge 7 "sets again what is set"                # number 7 changes nothing
    python tools/verify/mutate.py --by-hand csrc/core/queue/pool.c:230 'call_workers(pool, helpers);' ';'

Each mutant is one change in one line of csrc/ or batchenv/: an operator, a comparison, a number, a condition or a
deleted statement. It is built in a copy of the checkout (--work), where results-SEED.jsonl says what became of it:

    killed       a test that passes without the mutant failed, crashed, or took many times as long
    survived     all of them passed: read the change, and either write the test or see that it changes nothing
    equivalent   the machine code is the same, or somebody said so, with --judge

A mutant that does not build is replaced by another one. What is drawn depends on the files, --seed and the number
alone. Sets of tests run one after the other, in the order of TESTS, until a test fails; within a set the likeliest to
fail for its time comes first, and after some seconds the mutant counts as survived. So first find out what each test
takes (--measure: a quarter of an hour; --work keeps it in seconds.json), and then give those that have survived all
tests (--survivors --thorough).
"""

import argparse
import contextlib
import faulthandler
import hashlib
import importlib
import json
import math
import os
import random
import re
import runpy
import select
import shutil
import signal
import subprocess
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROOMS = {
    "core": ["csrc/core/**/*.[ch]", "csrc/include/*.h"],
    "envs": ["csrc/envs/**/*.c"],
    "engines": ["csrc/engines/**/*.[ch]"],
    "python": ["batchenv/**/*.py", "batchenv/**/*.pyx", "batchenv/**/*.pxi"],
}
# Tables of numbers from elsewhere.
NOT_MUTATED = re.compile(r"csrc/.*/(ziggurat|trig_table)\.h")
# What is mutated, and what should notice it, quick sets first: a list is arguments of one pytest, a string is a test in
# C. The first pattern that fits counts.
ASYNC, FUZZ = "tests/c/test_async.c", "tests/c/fuzz_snapshot.c"
QUEUE = [f"tests/c/test_{name}.c" for name in ("pool", "pool_loop", "pool_process", "ring", "stream", "gate")]
LEAKS = "tests/c/test_memory.c"
CORE = ["tests/core", "tests/envs", "tests/queue"]
ATARI = ["tests/engines/atari", "tests/engines/test_engine_memory.py"]
CPU = "tests/engines/atari/test_atari_cpu.py::test_single_instructions_and_lines_equal_the_library[['-O2']]"
MUJOCO = ["tests/engines/mujoco", "tests/engines/test_engine_memory.py"]
TESTS = [
    (r"csrc/core/queue/", ["tests/model/test_orders.py"], ASYNC, ["tests/queue"], *QUEUE),
    (r"csrc/core/system/", ["tests/machine"], ["tests/queue"], *QUEUE),
    (r"csrc/core/run/", CORE, ASYNC, LEAKS, ["tests/machine"]),
    (r"csrc/core/(load/library|checked)", ["tests/compiler"], CORE),
    (r"csrc/core/snapshot", CORE, FUZZ, ["tests/api", "tests/engines"]),
    (r"csrc/core/", CORE, ASYNC, LEAKS, ["tests/api", "tests/engines", "tests/machine"]),
    (r"csrc/include/", CORE, ASYNC, FUZZ),
    (r"csrc/envs/", ["tests/envs", "tests/core"], FUZZ, ["tests/queue"]),
    (r"csrc/engines/mujoco/", MUJOCO, ["tests/core"]),
    (r"csrc/engines/atari/ale_fast/", [CPU], ATARI),
    (r"csrc/engines/", ATARI, ["tests/core"]),
    (r"batchenv/check/", ["tests/check"], ["tests/compiler"]),
    (r"batchenv/compiler/", ["tests/compiler"], ["tests/check"]),
    (r"batchenv/workers", ["tests/workers"], ["tests/api"]),
    (r"batchenv/integrations/pettingzoo", ["tests/engines/atari/test_atari_players.py"]),
    (r"batchenv/integrations/", ["tests/integrations"], ["tests/api"]),
    (r"batchenv/envs/mujoco", MUJOCO, ["tests/api", "tests/core"]),
    (r"batchenv/envs/atari", ATARI, ["tests/api", "tests/core"]),
    (r"batchenv/(envs/drawing|cli|__main__)", ["tests/api"], ["tests/engines"]),
    (r"batchenv/system", ["tests/machine"], ["tests/api", "tests/project"]),
    (r"batchenv/", [*CORE, "tests/api", "tests/integrations"], ["tests/machine", "tests/check", "tests/engines"]),
]  # fmt: skip
UNSTEADY = re.compile(r"tests/(queue|machine)")  # where time decides: what fails runs again
SPENT = 75  # exit status of tests that have not been over in their time
MEMORY = 6 << 30  # bytes that a process of tests may use

# ---- mutations ---------------------------------------------------------------------------------------------------

OTHER = {
    "+": "-", "-": "+", "*": "+", "/": "*", "%": "*", "//": "*", "&": "|", "|": "&", "^": "&", "<<": ">>", ">>": "<<",
    "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==",
    "&&": "||", "||": "&&", "and": "or", "or": "and",
}  # fmt: skip
OPERATOR = re.compile(r"(?<=[\w)\]\"'] )(\+|-|\*|//?|%|&|\||\^|<<|>>|<=?|>=?|==|!=|&&|\|\||and|or)(?= [\w(!~&*\"'\[-])")
NUMBER = re.compile(r"(?<![\w.])(\d+)(?![\w.])")
STATEMENT = re.compile(
    r"^( +)(?!(?:return|break|continue|goto|case|import|from|pass|cdef|else|for|while|if|switch)\b)(\S.*)$"
)
STATEMENT_IN_C = re.compile(r"[\w.>\[\]*()-]+(\[.*\])? [-+*/|&^]?= .*;$|\w+\(.*\);$|[\w.>\[\]-]+(\+\+|--);$")
STATEMENT_IN_PYTHON = re.compile(r"[\w.\[\], *]+ [-+*/|&]?= .*[^,(\[{]$|(await )?[\w.]+\(.*\)$|raise .*$")
# Comments, strings and lines of the preprocessor; comments and strings.
IN_C = re.compile(
    r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|^[ ]*#(?:[^\n]*\\\n)*[^\n]*", re.S | re.M
)
IN_PYTHON = re.compile(r'"""[\s\S]*?"""|\'\'\'[\s\S]*?\'\'\'|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|#[^\n]*')


def hide(text: str, pattern: re.Pattern) -> str:
    """The text with blanks, or quotes, in place of its comments and the insides of its strings."""

    def blank(found):
        word = found[0]
        edge = word[0] if word[0] in "\"'" else " "
        inside = re.sub(r"[^\n]", " ", word[1:-1])
        return edge + inside + (edge if len(word) > 1 else "")

    return pattern.sub(blank, text)


def closing(text: str, start: int) -> int:
    """Where the bracket that `text[start]` opens is closed."""
    depth = 0
    for place in range(start, len(text)):
        depth += (text[place] in "([{") - (text[place] in ")]}")
        if depth == 0:
            return place
    return -1


def candidates(name: str, text: str) -> dict[str, list[tuple[int, int, str]]]:
    """Per kind, the (start, end, replacement) of all that may be changed."""
    in_c = name.endswith((".c", ".h"))
    code = hide(text, IN_C if in_c else IN_PYTHON)
    kinds: dict[str, list[tuple[int, int, str]]] = {}
    for found in OPERATOR.finditer(code):
        if found[1] == "|" and not in_c:
            continue  # most of them stand between types
        kind = "compare" if found[1][0] in "<>=!" and found[1] not in ("<<", ">>") else "operator"
        kinds.setdefault(kind, []).append((*found.span(1), OTHER[found[1]]))
    for found in NUMBER.finditer(code):
        kinds.setdefault("number", []).append((*found.span(1), str(int(found[1]) + 1)))
    for found in re.finditer(r"\bif \(" if in_c else r"(?m)^ *(?:if|elif) (.*):$", code):
        if in_c:
            start = found.end() - 1
            end = closing(code, start) + 1
            kinds.setdefault("condition", []).append((start, end, f"(!{text[start:end]})"))
        else:
            kinds.setdefault("condition", []).append((*found.span(1), f"not ({text[slice(*found.span(1))]})"))
    place = 0
    for line in code.split("\n"):
        found = STATEMENT.match(line)
        body = found[2] if found else ""
        whole = body.count("(") == body.count(")") and body.count("[") == body.count("]") and "{" not in body
        whole = whole and (STATEMENT_IN_C if in_c else STATEMENT_IN_PYTHON).match(body) is not None
        if found and whole:
            start = place + len(found[1])
            kinds.setdefault("statement", []).append((start, place + len(line), ";" if in_c else "pass"))
        place += len(line) + 1
    return kinds


def files_of(room: str) -> list[Path]:
    found = {path for pattern in ROOMS[room] for path in ROOT.glob(pattern)}
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()
    names = {str(path.relative_to(ROOT)) for path in found} & set(tracked)
    return [ROOT / name for name in sorted(names) if not NOT_MUTATED.fullmatch(name)]


def mutant(number: int, room: str, path: Path, kind: str, start: int, end: int, new: str) -> dict:
    text = path.read_text(encoding="utf-8")
    name, line, old = str(path.relative_to(ROOT)), text.count("\n", 0, start) + 1, text[start:end]
    words = ("number", "room", "file", "kind", "line", "start", "end", "old", "new")
    return dict(zip(words, (number, room, name, kind, line, start, end, old, new), strict=True))


def draw(seed: int, number: int, attempt: int) -> dict:
    """One mutant: rooms take turns, files by their length, then a kind, then a place."""
    rng = random.Random(f"{seed} {number} {attempt}")
    room = list(ROOMS)[number % len(ROOMS)]
    paths = files_of(room)
    kinds: dict[str, list] = {}
    while not kinds:
        path = rng.choices(paths, [path.stat().st_size for path in paths])[0]
        text = path.read_text(encoding="utf-8")
        kinds = candidates(path.name, text)
    kind = rng.choice(sorted(kinds))
    start, end, new = rng.choice(kinds[kind])
    return mutant(number, room, path, kind, start, end, new)


# ---- running -----------------------------------------------------------------------------------------------------


def limit(seconds: dict[str, float], name: str) -> float:
    """How long a test may take: many times as long as it does without a mutant, on a busy machine too."""
    return 15 + 5 * seconds.get(name, 6)


class Limits(NamedTuple):
    """What is run of the tests that could see a mutant."""

    dearest: float  # seconds of the longest test; ten times that for those that have to do with the file
    cases: int  # of a test's cases, those that have to do with the file apart
    budget: float  # seconds for a set of tests
    sets: int  # of a row of TESTS


QUICK, THOROUGH = Limits(0.5, 3, 20.0, 2), Limits(1000.0, 1000, 3600.0, 9)


class Order:
    """A plugin of pytest's. What is likeliest to fail for its time runs first: a quick test, one that has to do with
    the mutated file by its name, one that has killed others, the first cases of a function. What is too dear does not
    run, and a test that takes far too long ends the process. `log` gets a line before and after each test."""

    def __init__(self, seconds, kills, mutated: str, limits: Limits, asked_for: list[str], log: Path):
        self.seconds, self.kills, self.limits = seconds, kills, limits
        self.words = {Path(mutated).stem.replace("_", ""), Path(mutated).parent.name} - {"core", "batchenv", "init"}
        self.asked_for = asked_for  # by their full names: these always run
        self.log = log.open("w", buffering=1)
        self.spent = self.end = 0.0

    def pytest_collection_modifyitems(self, items):
        ranks: Counter = Counter()
        order = []
        for item in items:
            name, function = item.nodeid, item.nodeid.split("[")[0]
            if name in self.asked_for:
                order.append((0.0, len(order), item))
                continue
            related = any(word in name.lower().replace("_", "") for word in self.words)
            ranks[function, related] += 1
            rank, seconds = ranks[function, related], self.seconds.get(name, 0.2)
            if (related and seconds <= 10 * self.limits.dearest) or (
                rank <= self.limits.cases and seconds <= self.limits.dearest
            ):
                likeliness = (1 + 9 * related) * (1 + self.kills[name]) / rank
                order.append(((seconds + 0.01) / likeliness, len(order), item))
        first: dict = {}  # when each test, or the first of those that share something, runs
        for place, number, item in sorted(order, key=lambda row: row[:2]):
            first.setdefault(self.unit(item), (place, number))
        items[:] = [item for *_, item in sorted(order, key=lambda row: (first[self.unit(row[2])], row[:2]))]
        self.end = time.monotonic() + self.limits.budget

    @staticmethod
    def unit(item):
        """Its module, if it has a fixture of the module's: pytest would make that several times otherwise, and a
        process can give an id to only one file."""
        fixtures = [last for *_, last in item._fixtureinfo.name2fixturedefs.values()]
        return item.module if any(fixture.scope == "module" for fixture in fixtures) else item

    def pytest_runtest_logstart(self, nodeid):
        self.spent = 0.0
        print(json.dumps(["starts", nodeid]), file=self.log)
        faulthandler.dump_traceback_later(limit(self.seconds, nodeid), exit=True, file=self.log)

    def pytest_runtest_logreport(self, report):
        self.spent += report.duration
        if report.failed:
            said = str(report.longrepr).strip().splitlines()
            said = [line for line in said if line.startswith("E ")] or said
            print(json.dumps(["failed", report.nodeid, said[0][:160] if said else ""]), file=self.log)

    def pytest_runtest_logfinish(self, nodeid):
        faulthandler.cancel_dump_traceback_later()
        print(json.dumps(["took", nodeid, round(self.spent, 3)]), file=self.log)
        if time.monotonic() > self.end:
            pytest.exit("the budget is spent", SPENT)


def run_pytest(arguments: list[str], order: Order) -> int:
    sys.argv = ["pytest"]
    sys.path.insert(0, os.getcwd())
    options = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:faulthandler"]
    if order.limits is THOROUGH:
        options.append("--all")
    return int(pytest.main([*options, *arguments], [order]))


def run_setup() -> int:
    sys.argv = ["setup.py", "-q", "build_ext", "--inplace"]
    runpy.run_path("setup.py", run_name="__main__")
    return 0


def wrapped() -> list[str]:
    """The flags that let a test decide which allocation fails."""
    return [f"-Wl,--wrap={name}" for name in re.findall(r"\b__wrap_(\w+)\(", (ROOT / LEAKS).read_text())]


class Copy:
    """A copy of the checkout, built in place, in which mutants are tried."""

    def __init__(self, folder: Path, limits: Limits):
        self.folder, self.limits = folder, limits
        self.kills: Counter = Counter()  # by test
        tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
        names = set(tracked.splitlines())
        for room in ("csrc", "batchenv", "tests"):  # what has been there since an older commit
            for path in (folder / room).rglob("*.[cfhp]*"):
                if path.is_file() and str(path.relative_to(folder)) not in names:
                    path.unlink()
        for name in names:
            source, target = ROOT / name, folder / name
            if source.is_file() and not (target.exists() and target.read_bytes() == source.read_bytes()):
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(source, target)
        self.compiler = folder / "cc"  # what is last in a command counts: mutants are built with little optimisation
        self.compiler.write_text(f'#!/bin/sh\nexec {os.environ.get("CC", "cc")} "$@" -O1 -w\n')
        self.compiler.chmod(0o755)
        if not self.build():
            sys.exit(f"{folder} does not build: {self.said()}")
        self.code = self.machine_code()
        self.kept = folder / "kept"
        self.keep(self.folder, self.kept)
        self.times = folder / "seconds.json"  # of each test that has passed here
        self.seconds: dict[str, float] = json.loads(self.times.read_text()) if self.times.exists() else {}

    # ---- processes

    def run(self, work: Callable[[], int] | list[str], limit: float, **environment: str) -> int | None:
        """The exit status of a function or a command in a process of its own; None where it is ended, after `limit`
        seconds. A child of this process has pytest, NumPy and Gymnasium loaded already."""
        child = os.fork()
        if child == 0:
            try:
                os.setsid()
                os.chdir(self.folder)
                said = os.open("said.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
                for stream in (1, 2):
                    os.dup2(said, stream)
                signal.signal(signal.SIGTERM, signal.SIG_DFL)
                signal.signal(signal.SIGINT, signal.default_int_handler)
                os.environ.update(environment, PYTHONPATH=str(self.folder))
                os.environ.pop("BATCHENV_WERROR", None)
                if isinstance(work, list):
                    os.execvp(work[0], work)
                status = work()
            except SystemExit as error:
                status = error.code if isinstance(error.code, int) else int(error.code is not None)
            except BaseException:
                traceback.print_exc()
                status = 70
            finally:
                for stream in (sys.stdout, sys.stderr):
                    stream.flush()
                os._exit(status)
        watch = os.pidfd_open(child)
        try:
            end = time.monotonic() + limit
            while not (over := bool(select.select([watch], [], [], 0.5)[0])) and time.monotonic() < end:
                pages = int(Path(f"/proc/{child}/statm").read_text().split()[1])
                if (
                    pages * os.sysconf("SC_PAGE_SIZE") > MEMORY
                ):  # no limit of the system's: sanitizers reserve terabytes
                    break
        finally:
            os.close(watch)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child, signal.SIGKILL)  # what it has left running, too
            _, status = os.waitpid(child, 0)
        return os.waitstatus_to_exitcode(status) if over else None

    def said(self) -> str:
        lines = (self.folder / "said.txt").read_text(errors="replace").strip().splitlines()
        return (lines or ["nothing"])[-1][:200]

    # ---- building

    def build(self) -> bool:
        return self.run(run_setup, 600, CC=str(self.compiler)) == 0

    def machine_code(self) -> str:
        (library,) = (self.folder / "batchenv").glob("_core.*.so")
        return hashlib.sha256(library.read_bytes()).hexdigest()

    @staticmethod
    def keep(source: Path, target: Path) -> None:
        """Copies what takes long to make: the module, and what Cython's code is compiled from and to. The rest is in
        ccache."""
        for pattern in (
            "batchenv/_core.*.so",
            "build/cython/batchenv/_core.*",
            "build/objects/*/common/build-cython-*",
        ):
            for path in source.glob(pattern):
                copy = target / path.relative_to(source)
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.unlink(missing_ok=True)
                shutil.copy2(path, copy)

    # ---- testing

    def run_driver(self, source: str) -> tuple[str, str] | None:
        """A test of tests/c over the mutant's own objects, which looks for leaks; no other sanitizers."""
        sources = {str(path.relative_to(self.folder)) for path in (self.folder / "csrc").rglob("*.c")}
        names = {source.replace("/", "-") + ".o" for source in sources}  # without those of an older commit
        objects = sorted((self.folder / "build" / "objects").glob("*/*/csrc-*.o"))
        objects = [path for path in objects if path.name in names]
        if source.endswith("fuzz_snapshot.c"):  # it includes the file
            objects = [path for path in objects if path.name != "csrc-core-snapshot.c.o"]
        flags = ["-std=gnu11", "-DBE_ISA=BE_ISA_BASELINE", "-DBE_HAVE_X86_VECTORS=1", "-Icsrc", "-Icsrc/include"]
        command = [str(self.compiler), *flags, source, *map(str, objects), "-o", "driver"]
        command += ["-fopenmp", "-lm", "-ldl", *(wrapped() if source == LEAKS else ["-fsanitize=leak"])]
        if self.run(command, 120) != 0:
            return source, "does not link"
        start = time.monotonic()
        status = self.run(["./driver"], limit(self.seconds, source))
        if status == 0:
            self.seconds[source] = time.monotonic() - start
            return None
        return source, "not over in time" if status is None else f"exit status {status}: {self.said()}"

    def run_tests(self, tests: list[str], mutated: str) -> tuple[str, str] | None:
        """None if they pass; or which one fails, and what it says."""
        log = self.folder / "log.txt"
        log.unlink(missing_ok=True)
        order = Order(self.seconds, self.kills, mutated, self.limits, tests, log)
        limit = 120 + 2 * self.limits.budget  # pytest's own start and the tests' collection may go on for ever, too
        status = self.run(lambda: run_pytest(tests, order), limit)
        now = failed = None
        for line in log.read_text().splitlines() if log.exists() else []:
            if not line.startswith('["'):
                continue  # of a traceback
            what, name, *rest = json.loads(line)
            if what == "starts":
                now = name
            elif what == "failed":
                failed = failed or (name, rest[0])
            elif failed is None or failed[0] != name:
                now = None
                self.seconds[name] = min(rest[0], self.seconds.get(name, rest[0]))
        if status in (0, 5, SPENT) and not failed:  # 5: there are no such tests
            return None
        self.times.write_text(json.dumps(self.seconds))
        if failed:
            return failed
        if status == 4:
            sys.exit(f"pytest: {self.said()}")
        if now:
            text = log.read_text()
            return now, "takes too long" if "Timeout" in text else f"ends the process: {status}"
        return tests[0], f"exit status {status}: {self.said()}"

    def check(self, tests: str | list[str], mutated: str) -> tuple[str, str] | None:
        failed = self.run_driver(tests) if isinstance(tests, str) else self.run_tests(tests, mutated)
        if failed and UNSTEADY.match(failed[0]) and self.check_one(failed[0], mutated) is None:
            failed = self.check(tests, mutated)  # a test that fails once in a while, on a busy machine
        return failed

    def check_one(self, name: str, mutated: str) -> tuple[str, str] | None:
        return self.run_driver(name) if name.endswith(".c") else self.run_tests([name], mutated)

    def verdict(self, mutant: dict, tests: list[str | list[str]] | None = None) -> tuple[str, str] | None:
        """What became of a mutant, and who says so; None if it does not build."""
        sets = tests or next(row for pattern, *row in TESTS if re.match(pattern, mutant["file"]))
        sets, failed = sets[: self.limits.sets], None
        try:
            if not self.change(mutant):
                return None
            if self.machine_code() == self.code and not mutant["file"].endswith(".py"):
                return "equivalent", "the same machine code"
            for some in sets:
                if failed := self.check(some, mutant["file"]):
                    break
        finally:
            self.restore(mutant)
        if not failed:
            return "survived", f"{len(sets)} sets of tests"
        if failed[0] not in self.seconds:  # it has not been seen to pass
            self.build()  # the objects, which tests in C are linked with
            if said := self.check_one(failed[0], mutant["file"]):
                print(f"fails without a mutant, and is left out from now on: {said[0]}: {said[1]}", flush=True)
                self.seconds[failed[0]] = math.inf
                return self.verdict(mutant, tests)
            self.seconds.setdefault(failed[0], 1.0)
        self.kills[failed[0]] += 1
        return "killed", f"{failed[0]}: {failed[1]}"

    def measure(self) -> None:
        """Runs all tests without a mutant, so that their order is known."""
        for tests in dict.fromkeys(
            test for _, *row in TESTS for some in row if isinstance(some, list) for test in some
        ):
            if failed := self.run_tests([tests], ""):
                sys.exit(f"without a mutant: {failed[0]}: {failed[1]}")
            self.times.write_text(json.dumps(self.seconds))

    def change(self, mutant: dict) -> bool:
        """Makes the mutant; False if it does not build."""
        path = self.folder / mutant["file"]
        text = path.read_text(encoding="utf-8")
        assert text[mutant["start"] : mutant["end"]] == mutant["old"], f"{path} is not that of the checkout"
        path.write_text(text[: mutant["start"]] + mutant["new"] + text[mutant["end"] :], encoding="utf-8")
        if path.suffix != ".py":
            return self.build()
        try:
            compile(path.read_text(encoding="utf-8"), path, "exec")
        except SyntaxError:
            return False
        return True

    def restore(self, mutant: dict) -> None:
        shutil.copy2(ROOT / mutant["file"], self.folder / mutant["file"])  # its time, too: Python looks at it
        if not mutant["file"].endswith(".py"):
            self.keep(self.kept, self.folder)


def told(mutant: dict) -> str:
    """The mutant in its line."""
    line = (ROOT / mutant["file"]).read_text(encoding="utf-8").split("\n")[mutant["line"] - 1].strip()
    change = f"{mutant['old']} -> {mutant['new']}"
    return f"{mutant['file']}:{mutant['line']} {mutant['kind']} [{change[:120]}] in: {line[:110]}"


def by_hand(words: list[str]) -> dict:
    place, old, new = words
    name, line = place.split(":")
    text = (ROOT / name).read_text(encoding="utf-8")
    start = sum(len(row) + 1 for row in text.split("\n")[: int(line) - 1])
    start = text.find(old, start)
    if start < 0 or text.count("\n", 0, start) + 1 != int(line):
        sys.exit(f"{old!r} is not in line {line} of {name}")
    return mutant(-1, "by hand", ROOT / name, "by hand", start, start + len(old), new)


def shares(results: list[dict]) -> str:
    """Per room, how many of those that change anything were killed, now and when they were first tried."""
    rows = []
    for room in [*ROOMS, "all"]:
        found = [result for result in results if room in (result["room"], "all") and result["verdict"] != "equivalent"]
        if found:
            killed = sum(result["verdict"] == "killed" for result in found)
            first = sum(result.get("first", result["verdict"]) == "killed" for result in found)
            share, before = killed / len(found), first / len(found)
            rows.append(f"{room:8} {killed:4} of {len(found):4} killed: {share:4.0%} (at first {before:4.0%})")
    return "\n".join(rows)


def read(log: Path) -> dict[int, dict]:
    """What became of each mutant: of several lines with a number the last one holds."""
    lines = log.read_text().splitlines() if log.exists() else []
    return {result["number"]: result for result in map(json.loads, lines)}


def write(log: Path, result: dict, before: dict | None = None) -> None:
    if before:
        result["first"] = before.get("first", before["verdict"])
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("a") as file:
        print(json.dumps(result), file=file)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=12)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, nargs="+", metavar="NUMBER", help="these, again")
    parser.add_argument("--survivors", action="store_true", help="those that have survived, again")
    parser.add_argument("--judge", nargs=2, metavar=("NUMBER", "REASON"), help="records that it changes nothing")
    parser.add_argument("--by-hand", nargs=3, metavar=("FILE:LINE", "OLD", "NEW"))
    parser.add_argument("--tests", nargs="+", help="sets of tests instead of those in TESTS")
    parser.add_argument("--measure", action="store_true", help="first run all tests once, to know which are quick")
    parser.add_argument("--thorough", action="store_true", help="all tests that could see it, however long they take")
    parser.add_argument("--work", type=Path, default=ROOT / "build" / "mutants", help="a folder for the copy")
    parser.add_argument("--results", type=Path, help="the file of verdicts (in --work: results-SEED.jsonl)")
    options = parser.parse_args()
    tests = [test if test.endswith(".c") else [test] for test in options.tests or []]
    log = options.results or options.work / f"results-{options.seed}.jsonl"
    results = read(log)
    if options.judge:
        before = results[int(options.judge[0])]
        write(log, {**before, "verdict": "equivalent", "by": options.judge[1]}, before)
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))
    for name in ("setuptools", "numpy", "gymnasium", "hypothesis"):
        importlib.import_module(name)  # for all children
    copy = Copy(options.work.resolve(), THOROUGH if options.thorough or tests else QUICK)
    copy.kills.update(result["by"].split(": ")[0] for result in results.values() if result["verdict"] == "killed")
    if options.measure:
        copy.measure()
    if options.by_hand:
        one = by_hand(options.by_hand)
        verdict = copy.verdict(one, tests) or ("does not build", "")
        print(*verdict, told(one), sep="  ")
        return verdict[0] == "survived"
    numbers = options.only or [k for k in range(options.count) if k not in results]
    if options.survivors:
        numbers = [number for number, result in sorted(results.items()) if result["verdict"] == "survived"]
    for number in numbers:
        start = time.monotonic()
        one = results.get(number)
        if one:
            verdict = copy.verdict(one, tests)
        for attempt in range(0 if one else 100):
            one = draw(options.seed, number, attempt)
            if verdict := copy.verdict(one):
                break
        result = {**one, "verdict": verdict[0], "by": verdict[1], "seconds": round(time.monotonic() - start)}
        print(f"{number} {verdict[0]} {told(one)}\n    {verdict[1]} ({result['seconds']} s)", flush=True)
        write(log, result, results.get(number))
    print(shares(list(read(log).values())))
    return 0


if __name__ == "__main__":
    sys.exit(main())
