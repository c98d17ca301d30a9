"""Tells whether the tests notice small mistakes: makes random ones, one at a time, and runs the tests that should fail.

    python tools/mutate.py --count 40            # 40 mutants, ten per room; a second call goes on where it stopped
    python tools/mutate.py --only 7              # number 7 again
    python tools/mutate.py --by-hand csrc/core/queue/pool.c:230 'call_workers(pool, helpers);' ';'

Each mutant is one change in one line of csrc/ or batchenv/: an operator, a comparison, a number, a condition or a
deleted statement. It is built in a copy of the checkout (--work), where results-SEED.jsonl says what became of it:

    killed       a test failed, or one took five times as long as without the mutant
    survived     all of them passed: read the change, and either write the test or see that it changes nothing
    equivalent   the machine code is the same

A mutant that does not build is replaced by another one. What is drawn depends on the files, --seed and the number
alone. Tests run one after the other, in the order of TESTS, until one fails.
"""

import argparse
import hashlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ROOMS = {
    "core": ["csrc/core/**/*.[ch]", "csrc/include/*.h"],
    "envs": ["csrc/envs/**/*.c"],
    "engines": ["csrc/engines/**/*.[ch]"],
    "python": ["batchenv/**/*.py", "batchenv/**/*.pyx", "batchenv/**/*.pxi"],
}
# Tables of numbers from elsewhere, and names that are only kept for old programs.
NOT_MUTATED = re.compile(r"csrc/.*/(ziggurat|trig_table)\.h|csrc/envs/list\.h|.*/_moved/.*")
# What is mutated, and what should notice it: arguments of pytest, and scripts of tests/c for what pytest has not
# noticed. The first pattern that fits counts.
CORE = ["tests/core", "tests/envs/test_synthetic.py", "tests/queue", "tests/envs"]
TESTS = [
    (r"csrc/core/queue/", ["tests/model/test_orders.py", "tests/queue", "tests/c/run_pool.sh", "tests/c/run_async.sh"]),
    (r"csrc/core/place/", ["tests/machine", "tests/queue", "tests/c/run_pool.sh"]),
    (r"csrc/core/(async|loop|run)", ["tests/queue", "tests/core", "tests/c/run_async.sh"]),
    (r"csrc/(core|include)/", [*CORE, "tests/c/run.sh", "tests/c/run_async.sh"]),
    (r"csrc/envs/classic/", ["tests/envs/test_parity.py", "tests/core", "tests/c/run.sh"]),
    (r"csrc/envs/", ["tests/envs", "tests/core", "tests/c/run.sh"]),
    (r"csrc/engines/mujoco/", ["tests/engines/mujoco", "tests/engines/test_engine_memory.py", "tests/core"]),
    (r"csrc/engines/", ["tests/engines/atari", "tests/engines/test_engine_memory.py", "tests/core"]),
    (r"batchenv/check/", ["tests/check"]),
    (r"batchenv/integrations/", ["tests/integrations", "tests/api"]),
    (r"batchenv/engines/.*mujoco", ["tests/engines/mujoco", "tests/engines/test_engine_memory.py", "tests/api"]),
    (r"batchenv/engines/", ["tests/engines/atari", "tests/engines/test_engine_memory.py", "tests/api"]),
    (r"batchenv/render", ["tests/api", "tests/engines"]),
    (r"batchenv/_core", [*CORE, "tests/api", "tests/machine"]),
    (r"batchenv/", ["tests/api", *CORE, "tests/integrations", "tests/project", "tests/machine"]),
]  # fmt: skip

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


class Copy:
    """A copy of the checkout, built in place, in which mutants are tried."""

    def __init__(self, folder: Path):
        self.folder, self.times = folder, {}
        tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
        for name in tracked.splitlines():
            source, target = ROOT / name, folder / name
            if source.is_file() and not (target.exists() and target.read_bytes() == source.read_bytes()):
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(source, target)
        if (ROOT / "build").is_dir() and not (folder / "build").exists():
            shutil.copytree(ROOT / "build", folder / "build", ignore=shutil.ignore_patterns("mutants"))
        if not self.build():
            sys.exit(f"{folder} does not build")
        self.code = self.machine_code()

    def build(self) -> bool:
        command = [sys.executable, "setup.py", "-q", "build_ext", "--inplace"]
        return subprocess.run(command, cwd=self.folder, capture_output=True, timeout=1200).returncode == 0

    def machine_code(self) -> str:
        (library,) = (self.folder / "batchenv").glob("_core.*.so")
        return hashlib.sha256(library.read_bytes()).hexdigest()

    def run(self, test: str, limit: float | None) -> str | None:
        """None if the test passes, or what it says."""
        pytest = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"]
        command = ["bash", test] if test.endswith(".sh") else [*pytest, test]
        pipe = subprocess.PIPE
        with subprocess.Popen(
            command, cwd=self.folder, stdout=pipe, stderr=subprocess.STDOUT, start_new_session=True, text=True
        ) as process:
            try:
                said, _ = process.communicate(timeout=limit)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()
                return f"{test}: not over after {limit:.0f} s"
        if process.returncode == 0:
            return None
        names = re.findall(r"^FAILED (\S+::.*?)(?: - |$)", said, re.M)
        if names and "::" not in test and self.run(names[0], limit) is None:
            return self.run(test, limit)  # a test that fails once in a while, on a busy machine
        failed = re.findall(r"^(?:FAILED|ERROR) .*|.*Sanitizer: .*|^FAILED.*", said, re.M)
        last = said.strip().splitlines()[-1:] or ["nothing"]
        return f"{test}: {(failed or last)[0][:200]}"

    def limit(self, test: str) -> float:
        """Five times what the test takes without a mutant."""
        if test not in self.times:
            start = time.monotonic()
            failed = self.run(test, None)
            if failed:
                start = time.monotonic()
                failed = self.run(test, None)
            if failed:
                sys.exit(f"without a mutant: {failed}")
            self.times[test] = time.monotonic() - start
        return max(60.0, 5 * self.times[test])

    def verdict(self, mutant: dict, tests: list[str] | None = None) -> tuple[str, str] | None:
        """What became of a mutant, and who says so; None if it does not build."""
        path = self.folder / mutant["file"]
        text = path.read_text(encoding="utf-8")
        assert text[mutant["start"] : mutant["end"]] == mutant["old"], f"{path} is not that of the checkout"
        tests = tests or next(tests for pattern, tests in TESTS if re.match(pattern, mutant["file"]))
        limits = {test: self.limit(test) for test in tests if not test.endswith(".sh")}
        try:
            path.write_text(text[: mutant["start"]] + mutant["new"] + text[mutant["end"] :], encoding="utf-8")
            if path.suffix == ".py":
                try:
                    compile(path.read_text(encoding="utf-8"), path, "exec")
                except SyntaxError:
                    return None
            elif not self.build():
                return None
            elif self.machine_code() == self.code:
                return "equivalent", "the same machine code"
            for test in tests:
                if said := self.run(test, limits.get(test, 1800.0)):
                    return "killed", said
            return "survived", f"{len(tests)} sets of tests"
        finally:
            path.write_text(text, encoding="utf-8")
            if path.suffix != ".py" and not self.build():
                sys.exit(f"{self.folder} does not build any more")


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
    """Per room, how many of those that change anything were killed."""
    rows = []
    for room in [*ROOMS, "all"]:
        verdicts = [result["verdict"] for result in results if room in (result["room"], "all")]
        killed, survived = verdicts.count("killed"), verdicts.count("survived")
        if killed + survived:
            rows.append(f"{room:8} {killed:4} of {killed + survived:4} killed: {killed / (killed + survived):4.0%}")
    return "\n".join(rows)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=12)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, metavar="NUMBER")
    parser.add_argument("--by-hand", nargs=3, metavar=("FILE:LINE", "OLD", "NEW"))
    parser.add_argument("--tests", nargs="+", help="with --by-hand: these instead of those in TESTS")
    parser.add_argument("--work", type=Path, default=ROOT / "build" / "mutants", help="a folder for the copy")
    options = parser.parse_args()
    copy = Copy(options.work.resolve())
    log = options.work / f"results-{options.seed}.jsonl"
    results = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    if options.by_hand:
        one = by_hand(options.by_hand)
        verdict = copy.verdict(one, options.tests) or ("does not build", "")
        print(*verdict, told(one), sep="  ")
        return verdict[0] == "survived"
    done = {result["number"] for result in results}
    numbers = [options.only] if options.only is not None else [k for k in range(options.count) if k not in done]
    for number in numbers:
        start = time.monotonic()
        for attempt in range(100):
            one = draw(options.seed, number, attempt)
            if verdict := copy.verdict(one):
                break
        result = {**one, "verdict": verdict[0], "by": verdict[1], "seconds": round(time.monotonic() - start)}
        print(f"{number} {verdict[0]} {told(one)}\n    {verdict[1]} ({result['seconds']} s)", flush=True)
        if options.only is None:
            results.append(result)
            with log.open("a") as file:
                print(json.dumps(result), file=file)
    print(shares(results))
    return 0


if __name__ == "__main__":
    sys.exit(main())
