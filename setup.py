"""Builds batchenv._core: Cython over the C core, whose kernels are compiled once per x86-64 instruction set."""

import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy
from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

ROOT = Path(__file__).parent
WERROR = ["-Wall", "-Wextra", "-Wshadow", "-Werror"] if os.environ.get("BATCHENV_WERROR") == "1" else []
# Exact kernels: no fused multiply-adds but the ones written, no -ffast-math. -fno-trapping-math and -fno-math-errno
# change no value; they let the compiler vectorise comparisons and inline rounding.
C_FLAGS = ["-std=gnu11", "-O3", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math", "-Wno-psabi", *WERROR]
SANITIZE = os.environ.get("BATCHENV_SANITIZE")
if SANITIZE:
    C_FLAGS += [f"-fsanitize={SANITIZE}", "-fno-omit-frame-pointer", "-g"]

ISA_FLAGS = {"BASELINE": []}
if platform.machine().lower() in ("x86_64", "amd64"):
    ISA_FLAGS["AVX2"] = ["-mavx2", "-mfma", "-mbmi", "-mbmi2"]
    ISA_FLAGS["AVX512"] = [*ISA_FLAGS["AVX2"], "-mavx512f", "-mavx512dq", "-mavx512bw", "-mavx512vl", "-mavx512cd"]


def relative(paths):
    return sorted(str(path.relative_to(ROOT)) for path in paths)


# Compiled once per instruction set: every env, and the driver's hot loops. Those over engines only where they have hot
# loops of their own: see csrc/engines/list.h.
ENGINES = ROOT / "csrc" / "engines"
KERNEL_SOURCES = [
    *relative((ROOT / "csrc" / "envs").rglob("*.c")),
    *relative((ENGINES / "atari").glob("*.c")),
    "csrc/core/isa_step.c",
]
COMMON_SOURCES = [
    *(path for path in relative((ROOT / "csrc" / "core").glob("*.c")) if path != "csrc/core/isa_step.c"),
    *relative(ENGINES.glob("*.c")),
    *relative((ENGINES / "mujoco").rglob("*.c")),
]
HEADERS = relative((ROOT / "csrc").rglob("*.h"))

OPENMP_PROBE = """
#include <omp.h>
#include <stdio.h>
int main(void) {
    int threads = 0;
#pragma omp parallel num_threads(2) reduction(+ : threads)
    threads += 1;
    printf("%d\\n", threads);
    return threads < 1;
}
"""


def openmp_flag(compiler):
    """The flag that makes a program with OpenMP compile, link and run here, or None."""
    if os.environ.get("BATCHENV_NO_OPENMP") == "1":
        return None
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "probe.c"
        source.write_text(OPENMP_PROBE)
        try:
            objects = compiler.compile([str(source)], output_dir=folder, extra_postargs=["-fopenmp"])
            compiler.link_executable(objects, str(Path(folder) / "probe"), extra_postargs=["-fopenmp"])
            subprocess.run([str(Path(folder) / "probe")], check=True, stdout=subprocess.DEVNULL, timeout=30)
        except Exception as error:
            print(f"batchenv: building without OpenMP: the probe failed ({error})", file=sys.stderr)
            return None
    return "-fopenmp"


class BuildExt(build_ext):
    """Adds the per-instruction-set objects, and OpenMP where a probe runs."""

    def build_extension(self, extension):
        flag = openmp_flag(self.compiler)
        if flag:
            extension.extra_compile_args.append(flag)
            extension.extra_link_args.append(flag)
            extension.define_macros.append(("BE_HAVE_OPENMP", "1"))
        if "AVX512" in ISA_FLAGS:
            extension.define_macros.append(("BE_HAVE_X86_VECTORS", "1"))
        for isa, flags in ISA_FLAGS.items():
            extension.extra_objects += self.compiler.compile(
                KERNEL_SOURCES,
                output_dir=os.path.join(self.build_temp, isa.lower()),
                include_dirs=["csrc"],
                macros=[("BE_ISA", f"BE_ISA_{isa}")],
                extra_postargs=[*C_FLAGS, *flags],
                depends=HEADERS,
            )
        extension.extra_objects += self.compiler.compile(
            COMMON_SOURCES,
            output_dir=os.path.join(self.build_temp, "common"),
            include_dirs=["csrc"],
            macros=extension.define_macros,
            extra_postargs=C_FLAGS,
            depends=HEADERS,
        )
        super().build_extension(extension)


setup(
    ext_modules=cythonize(
        [
            Extension(
                "batchenv._core",
                ["batchenv/_core.pyx"],
                include_dirs=["csrc", numpy.get_include()],
                define_macros=[("NPY_NO_DEPRECATED_API", "NPY_2_0_API_VERSION")],
                extra_compile_args=["-O2", "-std=gnu11", "-Wno-psabi"],
                extra_link_args=["-lm", "-ldl", "-pthread"] + ([f"-fsanitize={SANITIZE}"] if SANITIZE else []),
                depends=[
                    *HEADERS,
                    *KERNEL_SOURCES,
                    *COMMON_SOURCES,
                    "batchenv/_async.pxi",
                    "batchenv/_rng.pxi",
                ],
            )
        ],
        language_level=3,
    ),
    cmdclass={"build_ext": BuildExt},
)
