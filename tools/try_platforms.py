"""Which systems and compilers the C code compiles for, and whether its tests pass where an emulator can run them.

python tools/try_platforms.py [TARGET ...]     # needs pip install ziglang, which is clang for many systems

Linux on aarch64 is run by qemu-aarch64-static, if it and /usr/aarch64-linux-gnu (Debian: libc6-arm64-cross) are there.
What only compiles has never been run: README.md's table of platforms says so.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TARGETS = (
    "x86_64-linux-gnu",
    "aarch64-linux-gnu",
    "x86_64-linux-musl",
    "aarch64-macos",
    "x86_64-macos",
    "x86_64-windows-gnu",
)
SYSROOT = Path("/usr/aarch64-linux-gnu")
EMULATOR = "qemu-aarch64-static"
TESTS = ("test_exact_math", "test_core")


def compile_all(target: str, folder: Path) -> tuple[int, dict[str, str]]:
    """How many sources compile, and {source: its first error} of the others."""
    compiler = f"{sys.executable} -m ziglang cc -target {target}"
    command = [sys.executable, "tests/c/objects.py", folder, "--isas", "baseline", "--with", "csrc/core/isa.c"]
    command += [f"tests/c/{name}.c" for name in TESTS]
    done = subprocess.run(
        [*command, "--", "-O2"], cwd=ROOT, env={**os.environ, "CC": compiler}, capture_output=True, text=True
    )
    errors: dict[str, str] = {}
    for found in re.finditer(r"^(csrc/\S+?|tests/\S+?):\d+:\d+: (?:fatal )?error: (.*)$", done.stderr, re.MULTILINE):
        errors.setdefault(found[1], found[2])
    if done.returncode and not errors:
        sys.exit(f"{target}: {done.stderr[-2000:]}")
    return len(list(folder.glob("*.o"))), errors


def link_and_run(target: str, folder: Path, name: str) -> str:
    """What the last line of a test's output is, or why it was not run."""
    others = [path for path in folder.glob("*.o") if not path.name.startswith("tests-c-")]
    program = folder / name
    own = folder / f"tests-c-{name}.c.o"
    libraries = [] if "macos" in target else ["-ldl"]
    link = [
        sys.executable,
        "-m",
        "ziglang",
        "cc",
        "-target",
        target,
        *others,
        own,
        "-o",
        program,
        "-lm",
        "-lpthread",
        *libraries,
    ]
    done = subprocess.run([*map(str, link)], capture_output=True, text=True)
    if done.returncode:
        return f"does not link: {done.stderr.strip().splitlines()[0]}"
    runner = {"aarch64-linux-gnu": [EMULATOR, "-L", str(SYSROOT)], "x86_64-linux-gnu": []}.get(target)
    if runner is None or (runner and not (shutil.which(EMULATOR) and SYSROOT.is_dir())):
        return "links; not run"
    done = subprocess.run([*runner, str(program)], capture_output=True, text=True)
    return (done.stdout + done.stderr).strip().splitlines()[-1] + ("" if done.returncode == 0 else " (failed)")


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
