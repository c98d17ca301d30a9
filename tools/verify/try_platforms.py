"""Which systems and compilers the C code compiles for, and whether its tests pass where an emulator can run them.

python tools/verify/try_platforms.py [TARGET ...]     # needs pip install ziglang, which is clang for many systems

Programs for aarch64-linux-gnu are run by qemu-aarch64-static (Debian: qemu-user-static) with the C library in
/usr/aarch64-linux-gnu (libc6-arm64-cross), those for x86_64-windows-gnu by wine, if these are there. Neither says
anything about speed. What only compiles and links has never been run: docs/guide/install.md says so.
"""

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TARGETS = (
    "x86_64-linux-gnu",
    "aarch64-linux-gnu",
    "x86_64-linux-musl",
    "aarch64-macos",
    "x86_64-macos",
    "x86_64-windows-gnu",
)
TESTS = ("test_exact_math", "test_core", "test_async", "test_joined", "test_gate", "test_stream", "test_pool_loop")
RUNNERS = {  # the command before a program, and what has to be there
    "x86_64-linux-gnu": ([], []),
    "aarch64-linux-gnu": (["qemu-aarch64-static", "-L", "/usr/aarch64-linux-gnu"], ["/usr/aarch64-linux-gnu"]),
    "x86_64-windows-gnu": (["wine"], []),
}
PATIENCE = 3600  # seconds for a test in an emulator: test_core takes some twenty minutes there


def compiler(target: str) -> list[str]:
    return [sys.executable, "-m", "ziglang", "cc", "-target", target]


def compile_all(target: str, folder: Path) -> tuple[int, dict[str, str]]:
    """How many sources compile, and {source: its first error} of the others."""
    command = [sys.executable, "tests/c/objects.py", folder, "--isas", "baseline", "--with", "csrc/core/load/isa.c"]
    command += [f"tests/c/{name}.c" for name in TESTS]
    done = subprocess.run(
        [*command, "--", "-O2"],
        cwd=ROOT,
        env={**os.environ, "CC": shlex.join(compiler(target))},
        capture_output=True,
        text=True,
    )
    errors: dict[str, str] = {}
    for found in re.finditer(r"^((?:csrc|tests)/\S+?):\d+:\d+: (?:fatal )?error: (.*)$", done.stderr, re.MULTILINE):
        errors.setdefault(found[1], found[2])
    if done.returncode and not errors:
        sys.exit(f"{target}: {done.stderr[-2000:]}")
    return len(list(folder.glob("*.o"))), errors


def link_and_run(target: str, folder: Path, name: str) -> str:
    """The last line that a test writes, or why it was not run."""
    others = [path for path in folder.glob("*.o") if not path.name.startswith("tests-c-")]
    program = folder / f"{name}.exe"
    libraries = ["-lm", "-lpthread", *(["-ldl"] if "linux" in target else [])]
    link = [*compiler(target), *others, folder / f"tests-c-{name}.c.o", "-o", program, *libraries]
    done = subprocess.run([*map(str, link)], capture_output=True, text=True)
    if done.returncode:
        return f"does not link: {done.stderr.strip().splitlines()[0]}"
    runner, needed = RUNNERS.get(target, (None, []))
    if runner is None or not all(map(os.path.exists, needed)) or (runner and not shutil.which(runner[0])):
        return "links; not run"
    try:
        done = subprocess.run(
            [*runner, str(program)],
            env={**os.environ, "WINEDEBUG": "-all"},
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
    except subprocess.TimeoutExpired:
        return f"not finished after {PATIENCE} s (failed)"
    lines = (done.stdout + done.stderr).strip().splitlines() or [f"exit status {done.returncode}"]
    return lines[-1] + ("" if done.returncode == 0 else " (failed)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("targets", nargs="*", default=TARGETS, help="default: %(default)s")
    for target in parser.parse_args().targets:
        with tempfile.TemporaryDirectory() as work:
            count, errors = compile_all(target, Path(work))
            print(f"{target}: {count} sources compile, {len(errors)} do not", flush=True)
            for source, error in sorted(errors.items()):
                print(f"    {source}: {error}")
            if not errors:
                for name in TESTS:
                    print(f"    {name}: {link_and_run(target, Path(work), name)}", flush=True)


if __name__ == "__main__":
    main()
