"""The mathematical functions that kernels call are Python's, whichever C library the build has linked."""

import ctypes
import math
import os
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest

import batchenv
from batchenv import _core
from helpers import compiled
from helpers.processes import run_python
from helpers.project import ROOT

ARGUMENTS = np.random.default_rng(1).uniform(-10, 10, 1000)
WRONG = """
/* A C library of the toolchain's own, whose sine is now and then one unit in the last place too large. */
#include <math.h>
__attribute__((visibility("hidden"))) double sin(double x) {
    double power = x, sum = x;
    for (int k = 1; k < 40; k++) {
        power *= -x * x / (2 * k * (2 * k + 1));
        sum += power;
    }
    return nextafter(sum, 2);
}
"""
DOORS = """
#include "libm.h"
double chosen_sin(double x) { return be_math.sin(x); }
double chosen_sincos(double x) { double s, c; be_math.sincos(x, &s, &c); return s; }
"""


def pointer(array):
    return array.ctypes.data_as(ctypes.POINTER(ctypes.c_double))


@pytest.fixture
def foreign(tmp_path_factory):
    """csrc/core/math/libm.c, linked with a sine that is not Python's; loaded anew, so that nothing is chosen yet."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    folder = tmp_path_factory.mktemp("libm")
    (folder / "wrong.c").write_text(WRONG)
    (folder / "doors.c").write_text(DOORS)
    core = ROOT / "csrc/core"
    sources = [core / "math/libm.c", core / "system/shared.c", folder / "wrong.c", folder / "doors.c"]
    # Its own be_math, not the one of batchenv: that one is global in the process once an env's file was loaded.
    flags = ["-shared", "-fPIC", "-O2", "-Wl,-Bsymbolic", f"-I{ROOT / 'csrc'}", f"-I{ROOT / 'csrc/include'}"]
    subprocess.run([compiler, *flags, *sources, "-o", folder / "foreign.so", "-lm", "-ldl"], check=True)
    library = ctypes.CDLL(str(folder / "foreign.so"))
    for door in (library.chosen_sin, library.chosen_sincos):
        door.argtypes, door.restype = [ctypes.c_double], ctypes.c_double
    library.be_libm_choose.argtypes = [ctypes.c_char_p, *[ctypes.c_void_p] * 3, ctypes.c_int64, ctypes.c_void_p]
    library.be_libm_choose_sincos.argtypes = [ctypes.c_void_p, ctypes.c_int64]
    return library


def choose(library, name, expected):
    counts = (ctypes.c_int64 * 2)()
    right = library.be_libm_choose(name, pointer(ARGUMENTS), None, pointer(expected), len(ARGUMENTS), counts)
    return right, list(counts)


def test_a_foreign_sine_is_replaced_by_pythons(foreign):
    right = np.array([math.sin(x) for x in ARGUMENTS])
    assert [foreign.chosen_sin(x) for x in ARGUMENTS] != right.tolist()  # the linked one, before anything is chosen
    found, (process, linked) = choose(foreign, b"sin", right)
    assert (found, process) == (1, 0) and linked > 100
    foreign.be_libm_choose_sincos(pointer(ARGUMENTS), len(ARGUMENTS))
    assert [foreign.chosen_sin(x) for x in ARGUMENTS] == right.tolist()
    assert [foreign.chosen_sincos(x) for x in ARGUMENTS] == right.tolist()


def test_the_linked_function_is_kept_where_only_it_agrees(foreign):
    cosine = np.array([math.cos(x) for x in ARGUMENTS])
    assert choose(foreign, b"cos", cosine) == (1, [0, 0])
    assert choose(foreign, b"sin", np.nextafter(cosine, 2)) == (0, [1000, 1000])  # neither


NEITHER = """
import math, warnings
right = math.sin
math.sin = lambda x: math.nextafter(right(x), 2)  # as a Python whose C library cannot be found in the process
import batchenv
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    batchenv.make("Pendulum-v1", 2).close()
    batchenv.make("Pendulum-v1", 2).close()
(said,) = [str(w.message) for w in caught if w.category is RuntimeWarning]
assert said.startswith("batchenv's sin differ from Python's, so results may differ from Gymnasium's"), said
assert "CC=gcc pip install" in said, said
counts = batchenv.build_info()["python_mismatches"]
assert counts.pop("sin") > 2000 and not any(counts.values()), counts
"""


def test_no_silence_where_neither_agrees():
    run_python(NEITHER)


LINKED = """
import numpy as np, gymnasium, batchenv
info = batchenv.build_info()
assert info["linked_mismatches"]["sin"] > 100 and not any(info["python_mismatches"].values()), info
env, single = batchenv.make("Pendulum-v1", 1), gymnasium.make("Pendulum-v1")
assert (env.reset(seed=5)[0][0] == single.reset(seed=5)[0]).all()
actions = np.random.default_rng(0).uniform(-2, 2, (199, 1)).astype(np.float32)
assert all((env.step(action[None])[0][0] == single.step(action)[0]).all() for action in actions)
"""


@pytest.mark.parametrize("isa", ["", "baseline"])
def test_a_whole_build_with_a_foreign_sine_is_exact(tmp_path, isa):
    pytest.importorskip("setuptools", "77")
    from setuptools._distutils.ccompiler import new_compiler
    from setuptools._distutils.sysconfig import customize_compiler

    import build_objects

    build_objects.content.cache_clear()
    compiler = new_compiler()
    customize_compiler(compiler)
    builder = build_objects.Builder(compiler)
    if not builder.is_generated() or not all(map(builder.is_fresh, builder.units())):
        pytest.skip("the objects of this checkout are not built, or with other flags: this would take minutes")
    (tmp_path / "wrong.c").write_text(WRONG)
    command = [*compiler.compiler_so, "-c", str(tmp_path / "wrong.c"), "-o", str(tmp_path / "wrong.o")]
    subprocess.run(command, check=True)
    command = [sys.executable, "setup.py", "-q", "build_ext", "--build-lib", str(tmp_path / "lib")]
    environment = {**os.environ, "LDFLAGS": str(tmp_path / "wrong.o")}
    subprocess.run(command, cwd=ROOT, check=True, env=environment)
    package = tmp_path / "lib" / "batchenv"
    shutil.copytree(ROOT / "batchenv", package, ignore=shutil.ignore_patterns("*.so"), dirs_exist_ok=True)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "lib"), "BATCHENV_ISA": isa}
    subprocess.run([sys.executable, "-c", LINKED], cwd=tmp_path, check=True, env=environment)


FUNCTIONS = [("sin", 0), ("cos", 1), ("pow", 2), ("powf", 3), ("fmod", 4)]


@pytest.mark.skipif("avx2" not in batchenv.build_info()["isas"], reason="the plain code calls the C library itself")
@pytest.mark.parametrize("name, place", FUNCTIONS)
def test_the_probe_counts_where_vectors_differ_from_the_c_library(name, place):
    library = compiled.library("probe.c", "rng.c", "libm.c", "shared.c", isa="AVX2")
    names = ["sin", "cos", "exp", "log1p", "pow", "fmod", "remainder", "sincos", "fma", "sinf", "cosf", "powf", "fmaf"]
    table = (ctypes.c_void_p * len(names)).in_dll(library, "be_math")
    number = ctypes.c_float if name == "powf" else ctypes.c_double
    function = ctypes.CFUNCTYPE(number, *[number] * (1 if name in ("sin", "cos") else 2))
    right = function(table[names.index(name)])
    calls = iter(range(10**9))
    wrong = function(lambda *values: right(*values) + (next(calls) % 2))
    counts = (ctypes.c_int64 * 5)()
    try:
        library.be_isa_probe_avx2(counts)
        assert list(counts) == [0] * 5
        table[names.index(name)] = ctypes.cast(wrong, ctypes.c_void_p).value
        library.be_isa_probe_avx2(counts)
    finally:
        table[names.index(name)] = ctypes.cast(right, ctypes.c_void_p).value
    assert counts[place] > 8 * 2048 * 0.4
    assert not any(counts[other] for _, other in FUNCTIONS if other != place)


def test_build_info_says_all_agree_here():
    info = batchenv.build_info()
    names = {"sin", "cos", "exp", "log", "log1p", "tanh", "pow", "fmod", "remainder", "atan2"}
    assert set(info["python_mismatches"]) == names
    assert not any(info["python_mismatches"].values())


def test_kernels_call_the_chosen_functions_only():
    """A direct call would take what the build has linked."""
    direct = re.compile(r"(?<![\w.>])(sin|cos|sincos|exp|log|log1p|pow|fmod|remainder|fma|sinf|cosf|powf|fmaf|atan2)\(")
    other = re.compile(r"(?<![\w.>])(a?tanh?|asinh?|acosh?|exp2|expm1|log2|log10|hypot|cbrt|expf|logf)\(")
    found = []
    for path in sorted([*(ROOT / "csrc").rglob("*.c"), *(ROOT / "csrc").rglob("*.h")]):
        text = re.sub(r"/\*.*?\*/|\"[^\"\n]*\"", "", path.read_text(), flags=re.DOTALL)
        if path.name != "libm.c":
            found += [f"{path.name}: {match[0]}" for match in direct.finditer(text)]
        found += [f"{path.name}: {match[0]}, which be_math lacks" for match in other.finditer(text)]
    assert not found


def test_build_info_leaves_float32_sines_alone(monkeypatch):
    """It once tried both of NumPy's float32 sines by setting the switch that every kernel reads."""
    env = batchenv.make("Acrobot-v1", 1000)
    before = env.reset(seed=0)[0].copy()
    library = ctypes.CDLL("libm.so.6")

    def as_in_the_c_library(name, right):
        function = getattr(library, f"{name}f")
        function.argtypes, function.restype = [ctypes.c_float], ctypes.c_float
        plain = np.vectorize(function, otypes=[np.float32])
        return lambda x: plain(x) if getattr(x, "dtype", None) == np.float32 else right(x)

    for name in ("sin", "cos"):  # the other one of the two that NumPy has
        monkeypatch.setattr(np, name, as_in_the_c_library(name, getattr(np, name)))
    differ = batchenv.build_info()["numpy_mismatches"]["sin_cos_float32"]
    np.testing.assert_array_equal(env.reset(seed=0)[0], before)
    if _core._numpy_float32_mismatches(0) == 0 and differ == 0:
        pytest.skip("this NumPy takes its float32 sines from the C library")


def test_first_envs_made_at_once_choose_the_same():
    code = (
        "import threading, batchenv\n"
        "envs = [None] * 8\n"
        "def make(i): envs[i] = batchenv.make('Acrobot-v1', 8)\n"
        "threads = [threading.Thread(target=make, args=(i,)) for i in range(8)]\n"
        "[t.start() for t in threads]; [t.join() for t in threads]\n"
        "rows = {env.reset(seed=3)[0].tobytes() for env in envs}\n"
        "assert len(rows) == 1\n"
    )
    run_python(code)
