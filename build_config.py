"""What the extension module batchenv._core is compiled from, and with which flags."""

import os
import runpy
from pathlib import Path

ROOT = Path(__file__).resolve().parent

_FLAGS = runpy.run_path(str(ROOT / "batchenv/compiler/flags.py"))  # users' own envs are compiled with the same
ISA_FLAGS, of_isa = _FLAGS["ISA_FLAGS"], _FLAGS["of_isa"]

WARNINGS = [*_FLAGS["WARNINGS"], "-Wshadow"]
WERROR = [*WARNINGS, "-Werror"] if os.environ.get("BATCHENV_WERROR") == "1" else []
SANITIZE = os.environ.get("BATCHENV_SANITIZE")  # such as "address,undefined"

C_FLAGS = [*_FLAGS["C_FLAGS"], *WERROR]
CYTHON_FLAGS = ["-O2", "-std=gnu11", "-Wno-psabi"]
INCLUDE = ["csrc", "csrc/include"]  # the core's own folder, and what authors of envs include
LINK_FLAGS = [*_FLAGS["LINK_FLAGS"], "-ldl", "-pthread"]
if SANITIZE:
    C_FLAGS += [f"-fsanitize={SANITIZE}", "-fno-omit-frame-pointer", "-g"]
    LINK_FLAGS += [f"-fsanitize={SANITIZE}"]
elif not any(flag.startswith("-g") for flag in os.environ.get("CFLAGS", "").split()):
    # Python's own flags often ask for debugging information: four fifths of the module's size.
    C_FLAGS += ["-g0"]
    CYTHON_FLAGS += ["-g0"]


def _found(*patterns):
    return sorted(str(path.relative_to(ROOT)) for pattern in patterns for path in ROOT.glob(pattern))


# Compiled once per instruction set: every env, and the driver's hot loops. Of the engines these are the files with hot
# loops of their own; the time of the others is spent in the engine.
KERNEL_SOURCES = _found(
    "csrc/envs/**/*.c",
    "csrc/core/isa/*.c",
    "csrc/engines/atari/atari.c",
    "csrc/engines/atari/stacks.c",
    "csrc/engines/atari/pixel.c",
    "csrc/engines/physics/stages/*.c",
    "csrc/engines/procgen/procgen.c",
)
COMMON_SOURCES = [path for path in _found("csrc/core/**/*.c", "csrc/engines/**/*.c") if path not in KERNEL_SOURCES]
COMMON_FLAGS = []
if os.environ.get("BATCHENV_NO_ALE_FAST") == "1":  # the private processor and picture chip for libale_c
    COMMON_SOURCES = [path for path in COMMON_SOURCES if "/ale_fast/" not in path]
    COMMON_FLAGS = ["-DBE_ALE_FAST=0"]
CYTHON_SOURCE = "batchenv/_core.pyx"
CYTHON_SOURCES = [CYTHON_SOURCE, *_found("batchenv/_core/*.p*")]
