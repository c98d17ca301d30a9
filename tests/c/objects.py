"""Compiles the C core and the envs as a build of batchenv does (build_config.py says how), with a test's own flags.

    python3 tests/c/objects.py FOLDER [--isas all|widest|baseline] [--only PATH ...] [--with FILE.c ...] -- FLAGS

FOLDER gets an object per source, and per instruction set for those that are compiled once for each. `widest` is the
widest that this CPU has. Link them with -lm -ldl -lpthread.
"""

import argparse
import os
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
import build_config

HAS = {"AVX512": "avx512dq", "AVX2": "avx2"}  # what /proc/cpuinfo calls them


def chosen(isas: str) -> list[str]:
    """Names of instruction sets, the widest first."""
    names = sorted(build_config.ISA_FLAGS, reverse=True, key=lambda name: len(build_config.ISA_FLAGS[name]))
    if isas == "all":
        return names
    if isas == "baseline":
        return ["BASELINE"]
    cpu = set(Path("/proc/cpuinfo").read_text().split())
    return [next(name for name in names if name == "BASELINE" or HAS[name] in cpu)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--isas", choices=["all", "widest", "baseline"], default="widest")
    parser.add_argument("--only", nargs="+", default=["csrc"], metavar="PATH", help="files or folders in csrc/")
    parser.add_argument("--with", nargs="+", default=[], dest="own", metavar="FILE.c", help="the test's own")
    split = sys.argv.index("--")
    options, own_flags = parser.parse_args(sys.argv[1:split]), sys.argv[split + 1 :]
    isas = chosen(options.isas)
    exact = [flag for flag in build_config.C_FLAGS if not flag.startswith(("-O", "-g", "-fvisibility", "-fsanitize"))]
    include = [f"-I{folder}" for folder in build_config.INCLUDE]
    common = [*exact, *build_config.WARNINGS, "-Werror", "-g", "-fno-omit-frame-pointer", *include, *own_flags]
    if options.isas == "all" and len(isas) > 1:
        common.append("-DBE_HAVE_X86_VECTORS=1")
    units = [("", source, []) for source in build_config.COMMON_SOURCES]
    units += [(f"{isa}-", source, build_config.of_isa(isa)) for isa in isas for source in build_config.KERNEL_SOURCES]
    units = [unit for unit in units if any(f"{unit[1]}/".startswith(f"{path}/") for path in options.only)]
    if options.isas != "all":  # which sets there are is asked where there are all
        units = [unit for unit in units if Path(unit[1]).name != "isa.c"]
    own_isa = [] if options.isas == "all" else build_config.of_isa(isas[0])
    units += [("", source, own_isa) for source in options.own]
    compiler = shlex.split(os.environ.get("CC", "gcc"))

    def compile_one(unit) -> int:
        prefix, source, flags = unit
        target = options.folder / f"{prefix}{source.replace('/', '-')}.o"
        return subprocess.run([*compiler, *common, *flags, "-c", source, "-o", str(target)]).returncode

    options.folder.mkdir(parents=True, exist_ok=True)
    os.chdir(build_config.ROOT)
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        return max(pool.map(compile_one, units))


if __name__ == "__main__":
    sys.exit(main())
