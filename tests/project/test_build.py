"""What a build compiles, says and puts into its packages."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from fnmatch import fnmatch
from pathlib import Path

import pytest

pytest.importorskip("setuptools", "77")

from setuptools._distutils.ccompiler import new_compiler
from setuptools._distutils.sysconfig import customize_compiler
from setuptools.errors import CompileError

import build_objects
from batchenv.system import built
from helpers.processes import run_python
from helpers.project import ROOT

GENERATED = {"PKG-INFO", "setup.cfg"}  # what an sdist has beside our files


def our_files():
    """Every file of the project, relative to its root."""
    if (ROOT / ".git").exists() and shutil.which("git"):
        listed = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
        return {line for line in listed.splitlines() if (ROOT / line).exists()}
    ignored = {line.rstrip("/") for line in (ROOT / ".gitignore").read_text().splitlines()} | {".git"}
    paths = (path.relative_to(ROOT) for path in ROOT.rglob("*") if path.is_file())
    paths = (path for path in paths if not any(fnmatch(name, rule) for name in (*path.parts, path) for rule in ignored))
    return {str(path) for path in paths} - GENERATED


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    """A copy of the project in a folder called batchenv, as a clone is, with what work leaves behind in one."""
    folder = tmp_path_factory.mktemp("parent") / "batchenv"
    for name in our_files():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, folder / name)
    for name in ("batchenv/_core.c", "batchenv/_core.so", "tests/__pycache__/x.pyc", "build/objects/x.o"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    return folder


def backend(clone, hook, *arguments):
    """Runs a hook of our build backend, as pip would."""
    code = f"import sys; sys.path.insert(0, '.'); import build_backend; print(build_backend.{hook}(*sys.argv[1:]))"
    return run_python(code, *arguments, cwd=clone, timeout=900).splitlines()[-1]


def test_sdist_holds_every_file_of_ours(clone, tmp_path):
    name = backend(clone, "build_sdist", str(tmp_path))
    with tarfile.open(tmp_path / name) as archive:
        held = {path.name.split("/", 1)[1] for path in archive.getmembers() if path.isfile()}
    held = {path for path in held - GENERATED if not path.startswith("batchenv.egg-info/")}
    assert held == our_files()
    for wanted in (
        "tests/conftest.py",
        "tests/c/run.sh",
        "docs/guide/async.md",
        "tools/verify/soak.py",
        "CHANGELOG.md",
        ".ci/run",
    ):
        assert wanted in held


def test_wheel_holds_what_runs_and_the_headers_of_authors(clone, tmp_path):
    command = [sys.executable, "setup.py", "-q", "build_py", "--build-lib", str(tmp_path)]
    subprocess.run(command, cwd=clone, check=True)
    held = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    headers = {name.removeprefix("csrc/") for name in our_files() if name.startswith("csrc/include/")}
    assert {"include/batchenv.h", "include/exact_math.h"} <= headers
    assert held == {f"batchenv/{name}" for name in headers} | {
        name
        for name in our_files()
        if name.startswith("batchenv/") and (name.endswith((".py", ".pyi", ".c", ".in")) or name == "batchenv/py.typed")
    }


def test_editable_install_is_found_from_the_folder_that_holds_the_clone(clone, tmp_path):
    """There Python finds a folder `batchenv`, which is the clone and no package, before it asks import hooks."""
    full = (clone / "setup.py").read_text()
    try:
        (clone / "setup.py").write_text("from setuptools import setup\nsetup()\n")  # nothing to compile
        name = backend(clone, "build_editable", str(tmp_path))
    finally:
        (clone / "setup.py").write_text(full)
    site = tmp_path / "site"
    zipfile.ZipFile(tmp_path / name).extractall(site)
    code = (
        "import importlib.util, site, sys; sys.path.insert(0, ''); site.addsitedir(sys.argv[1]); "
        "print(importlib.util.find_spec('batchenv').origin)"
    )
    for folder in (clone.parent, clone, tmp_path):
        clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        command = [sys.executable, "-S", "-c", code, str(site)]
        done = subprocess.run(command, cwd=folder, env=clean, capture_output=True, text=True)
        assert Path(done.stdout.strip()).resolve() == (clone / "batchenv/__init__.py").resolve(), done.stderr


def test_an_unbuilt_checkout_says_so(clone):
    for name in ("batchenv/_core.so", "batchenv/_core.c"):
        (clone / name).unlink(missing_ok=True)
    code = "import sys; sys.path.insert(0, ''); import batchenv"
    done = subprocess.run([sys.executable, "-c", code], cwd=clone, capture_output=True, text=True)
    assert done.stderr.splitlines()[-1].startswith("ImportError: batchenv is not built here: pip install -e . (")
    assert "ModuleNotFoundError" not in done.stderr


def test_advice_names_a_build_for_another_python(tmp_path):
    (tmp_path / "_core.cpython-39-x86_64-linux-gnu.so").touch()
    advice = built.advice(tmp_path)
    assert "_core.cpython-39-x86_64-linux-gnu.so, for another Python" in advice
    assert f"{sys.executable} -m pip install --force-reinstall batchenv" in advice


# ---- compiling


@pytest.fixture
def make_builder(tmp_path, monkeypatch):
    """A Builder whose root is tmp_path, with that C compiler."""
    monkeypatch.setattr(build_objects, "ROOT", tmp_path)
    for name in ("BATCHENV_NO_OPENMP", "BATCHENV_REQUIRE_OPENMP"):
        monkeypatch.delenv(name, raising=False)

    def make(cc=None):
        if cc:
            monkeypatch.setenv("CC", str(cc))
        build_objects.content.cache_clear()
        compiler = new_compiler()
        customize_compiler(compiler)
        return build_objects.Builder(compiler, jobs=1)

    yield make
    build_objects.content.cache_clear()


def script(path, text):
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def test_without_a_compiler_that_is_all_it_says(make_builder, capsys):
    with pytest.raises(CompileError, match="there is no C compiler 'no-such-cc' here: install gcc"):
        make_builder("no-such-cc")
    assert "OpenMP" not in "".join(capsys.readouterr())


def test_a_failed_openmp_probe_is_told_or_refused(make_builder, tmp_path, monkeypatch, capsys):
    compiler = script(tmp_path / "cc", "echo no omp.h here >&2; exit 1")
    assert not make_builder(compiler).openmp
    assert "building without OpenMP, for one thread" in (said := capsys.readouterr().out) and "no omp.h here" in said
    monkeypatch.setenv("BATCHENV_REQUIRE_OPENMP", "1")
    with pytest.raises(CompileError, match=r"(?s)OpenMP does not work here: .*no omp\.h here.*CC=gcc"):
        _ = make_builder(compiler).openmp
    monkeypatch.setenv("BATCHENV_NO_OPENMP", "1")
    assert not make_builder(compiler).openmp
    assert not capsys.readouterr().out
    *_, core = make_builder(compiler).units()
    assert "-DBE_OPENMP_DECLINED=1" in core.flags  # the warning of a first make() does not come


def test_only_what_has_changed_is_compiled(make_builder, tmp_path):
    if not shutil.which("gcc"):
        pytest.skip("no gcc")
    (tmp_path / "csrc").mkdir()
    (tmp_path / "csrc/a.h").write_text("#define A 1\n")
    (tmp_path / "csrc/a.c").write_text('#include "a.h"\nint a(void) { return A; }\n')

    def is_fresh(flags=()):
        builder = make_builder("gcc")
        return builder.is_fresh(builder.unit("x", "csrc/a.c", list(flags)))

    def compile_it():
        builder = make_builder("gcc")
        builder.compile_one(builder.unit("x", "csrc/a.c", []))

    assert not is_fresh()
    compile_it()
    assert is_fresh() and not is_fresh(["-DB"])
    os.utime(tmp_path / "csrc/a.c", (0, 2**31))  # touched
    assert is_fresh()
    for name in ("a.h", "a.c"):
        text = (tmp_path / "csrc" / name).read_text()
        (tmp_path / "csrc" / name).write_text(text.replace("A", "AA"))
        assert not is_fresh()
        (tmp_path / "csrc" / name).write_text(text)
        assert is_fresh()
    (tmp_path / "csrc/a.c").write_text("int a(void) { return }\n")
    with pytest.raises(CompileError, match=r"csrc/a\.c does not compile"):
        compile_it()
    (tmp_path / "csrc/a.c").write_text('#include "a.h"\nint a(void) { return A; }\n')
    assert not is_fresh()  # of the failed attempt nothing is left


def test_what_changes_while_it_is_compiled_is_compiled_again(make_builder, tmp_path):
    if not shutil.which("gcc"):
        pytest.skip("no gcc")
    source = tmp_path / "csrc/a.c"
    source.parent.mkdir()
    source.write_text("int a(void) { return 1; }\n")
    builder = make_builder(script(tmp_path / "cc", f'gcc "$@" && case "$*" in *a.c*) touch {source};; esac'))
    unit = builder.unit("x", "csrc/a.c", [])
    builder.compile_one(unit)
    assert unit.object.exists() and not builder.is_fresh(unit)


def test_missing_cython_is_told(make_builder, monkeypatch):
    def version(name):
        raise build_objects.importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(build_objects.importlib.metadata, "version", version)
    with pytest.raises(CompileError, match=r"cython is not installed here.*pip install 'setuptools>=77' 'cython>=3.1'"):
        make_builder().generate()


def test_kernels_are_compiled_for_every_instruction_set():
    config = importlib.import_module("build_config")
    sources = [*config.KERNEL_SOURCES, *config.COMMON_SOURCES]
    assert len(set(sources)) == len(sources)
    assert set(sources) == {str(path.relative_to(ROOT)) for path in (ROOT / "csrc").rglob("*.c")}


def test_one_version_everywhere():
    for name, pattern in (("CITATION.cff", r"^version: (.*)$"), ("CHANGELOG.md", r"^## ([0-9.]+)")):
        assert re.search(pattern, (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE)[1] == built.VERSION, name
