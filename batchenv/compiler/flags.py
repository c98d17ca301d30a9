"""The flags that env kernels are compiled with: batchenv's own (build_config.py reads this file) and those of users.

It imports nothing from batchenv, because batchenv's own build reads it before batchenv is built.
"""

import platform

# Rows of the tables of fields and params leave out members that are 0; clang would warn about each of them.
WARNINGS = ["-Wall", "-Wextra", "-Wno-missing-field-initializers"]

# Exact kernels: no fused multiply-adds but the ones written, no -ffast-math. -fno-trapping-math and -fno-math-errno
# change no value; they let the compiler vectorise comparisons and inline rounding.
EXACT = ["-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math"]
# A function that no header declares would be found missing only when the library is loaded.
C_FLAGS = ["-std=gnu11", "-O3", "-fvisibility=hidden", *EXACT, "-Wno-psabi", "-Werror=implicit-function-declaration"]
LINK_FLAGS = ["-lm", "-Wl,-Bsymbolic"]

ISA_FLAGS = {"BASELINE": []}
if platform.machine().lower() in ("x86_64", "amd64"):
    ISA_FLAGS["AVX2"] = ["-mavx2", "-mfma", "-mbmi", "-mbmi2"]
    ISA_FLAGS["AVX512"] = [*ISA_FLAGS["AVX2"], "-mavx512f", "-mavx512dq", "-mavx512bw", "-mavx512vl", "-mavx512cd"]


def of_isa(name: str) -> list[str]:
    """The flags that compile a kernel for the instruction set `name`, which is a key of ISA_FLAGS in upper or lower
    case."""
    return [f"-DBE_ISA=BE_ISA_{name.upper()}", *ISA_FLAGS[name.upper()]]
