"""Runs tests with the kernels for AVX-512 on an x86-64 machine that has no AVX-512.

python tools/verify/try_avx512.py [PYTEST ARGUMENT ...]     # Debian: apt install libsimde-dev

The checkout is copied to build/avx512 and built there by the same build, but for a compiler in front of the compiler:
it has the header avx512_by_simde.h compute by AVX2 what these kernels ask of AVX-512, and lets the CPU's check for
AVX-512 pass. So vectors have eight lanes, and results show whether the code for eight lanes is right. Their speed says
nothing: some operations go through memory, and steps take some six times as long. Without arguments, these are the
tests in which each instruction set is compared with others or with a reference.
"""

import os
import shlex
import shutil
import stat
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TREE = ROOT / "build" / "avx512"
TESTS = ("tests/core", "tests/envs", "tests/engines")
COMPILER = """#!{python}
import os, sys
words = sys.argv[1:]
if "-DBE_ISA=BE_ISA_AVX512" in words:
    words = [word for word in words if not word.startswith("-mavx512")] + ["-include", {header!r}]
if any(word.endswith("core/load/isa.c") for word in words):
    words.append("-D__builtin_cpu_supports(name)=1")
compiler = {compiler!r}
os.execvp(compiler[0], [*compiler, *words])
"""


def copy_tree() -> None:
    """Copies what git knows of the checkout, or would take in. Files that are the same keep their times."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in filter(None, listed.split("\0")):
        source, target = ROOT / name, TREE / name
        if not source.is_file() or (target.exists() and target.read_bytes() == source.read_bytes()):
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, target)


def main() -> int:
    if not Path("/usr/include/simde").exists():
        sys.exit("SIMDe's headers are not there: apt install libsimde-dev")
    copy_tree()
    compiler = TREE / "build" / "cc"
    compiler.parent.mkdir(exist_ok=True)
    header = str(ROOT / "tools" / "verify" / "avx512_by_simde.h")
    real = shlex.split(os.environ.get("CC", "gcc"))
    compiler.write_text(COMPILER.format(python=sys.executable, header=header, compiler=real), encoding="utf-8")
    compiler.chmod(compiler.stat().st_mode | stat.S_IXUSR)
    env = {**os.environ, "CC": str(compiler), "PYTHONPATH": str(TREE), "PYTHONSAFEPATH": "1"}
    subprocess.run([sys.executable, "setup.py", "-q", "build_ext", "--inplace"], cwd=TREE, env=env, check=True)
    command = [sys.executable, "-c", "from batchenv import _core; print(*_core.supported_isas())"]
    if "avx512" not in subprocess.run(command, env=env, check=True, capture_output=True, text=True).stdout:
        sys.exit("batchenv was built without kernels for AVX-512")
    return subprocess.run([sys.executable, "-m", "pytest", *(sys.argv[1:] or TESTS)], cwd=TREE, env=env).returncode


if __name__ == "__main__":
    sys.exit(main())
