"""Builds parts of the C core as a library that tests can call, because the extension module exports none of its
functions; and programs around them."""

import ctypes
import functools
import os
import shlex
import shutil
import subprocess
import tempfile

import pytest

import build_config
from helpers.project import ROOT


@functools.cache
def library(*sources, isa="BASELINE"):
    """Files of the project, named by the ends of their paths and compiled with the product's flags for an instruction
    set. Skips the test where there is no C compiler."""
    compiler = shlex.split(os.environ.get("CC", "cc"))
    if not shutil.which(compiler[0]):
        pytest.skip(f"needs the C compiler {compiler[0]}")
    known = ["tests/c/streams.c", "tests/c/plan.c", *build_config.COMMON_SOURCES, *build_config.KERNEL_SOURCES]
    paths = [next(path for path in known if path.endswith(f"/{source}")) for source in sources]
    flags = [*build_config.C_FLAGS, *build_config.ISA_FLAGS[isa], f"-DBE_ISA=BE_ISA_{isa}"]
    flags += ["-fPIC", "-shared", "-fvisibility=default", *(f"-I{path}" for path in build_config.INCLUDE)]
    with tempfile.TemporaryDirectory() as folder:
        target = f"{folder}/library.so"
        command = [*compiler, *flags, *paths, "-o", target, *build_config.LINK_FLAGS]
        subprocess.run(command, cwd=ROOT, check=True)
        return ctypes.CDLL(target)


def program(folder, flags, *sources):
    """A program of these files of the project. Skips the test where there is no C compiler, or it lacks the sanitizers
    that the flags ask for."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("needs a C compiler")
    target = folder / "program"
    files = [str(path) for source in sources for path in ROOT.glob(source)]
    command = [compiler, "-std=gnu11", *flags, f"-I{ROOT / 'csrc'}", f"-I{ROOT / 'csrc/include'}", *files]
    built = subprocess.run([*command, "-o", str(target), "-ldl", "-lm", "-pthread"], capture_output=True, text=True)
    if built.returncode and "-fsanitize" in " ".join(flags):
        pytest.skip("the compiler has no sanitizers here")
    assert built.returncode == 0, built.stderr
    return target
