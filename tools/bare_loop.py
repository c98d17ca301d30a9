"""Builds tools/bare_loop.c with setup.py's flags and runs it: ns a call and a lane of the kernel alone and the driver.

python tools/bare_loop.py [--isa avx512] [--env CartPole] [--lanes 8,64,4096] [--seconds 0.5]
"""

import argparse
import ast
import platform
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LANES = "8,64,1024,4096,65536,1048576"


def flags():
    """C_FLAGS and ISA_FLAGS as setup.py has them, without running its setup()."""
    wanted = {"WERROR", "SANITIZE", "C_FLAGS", "ISA_FLAGS"}
    tree = ast.parse((ROOT / "setup.py").read_text(encoding="utf-8"))
    body = []
    for node in tree.body:
        targets = {ast.unparse(t).split("[")[0] for t in getattr(node, "targets", [])}
        if targets & wanted or (isinstance(node, ast.If) and "ISA_FLAGS" in ast.unparse(node)):
            body.append(node)
    names = {"os": __import__("os"), "platform": platform}
    exec(compile(ast.Module(body, []), "setup.py", "exec"), names)
    return names["C_FLAGS"], names["ISA_FLAGS"]


def build(folder):
    """The program's path."""
    c_flags, isa_flags = flags()
    compiler = (sysconfig.get_config_var("CC") or "cc").split()[0]
    common = [path for path in (ROOT / "csrc" / "core").glob("*.c") if path.name != "isa_step.c"]
    common += (ROOT / "csrc" / "engines").rglob("*.c")
    kernels = [*(ROOT / "csrc" / "envs").rglob("*.c"), ROOT / "csrc" / "core" / "isa_step.c"]
    define = ["-DBE_HAVE_X86_VECTORS=1"] if "AVX512" in isa_flags else []
    objects = []

    def compile_one(source, tag, extra):
        objects.append(str(folder / f"{tag}_{source.stem}.o"))
        command = [compiler, *c_flags, *extra, f"-I{ROOT / 'csrc'}", "-c", str(source), "-o", objects[-1]]
        subprocess.run(command, check=True)

    for source in [*common, ROOT / "tools" / "bare_loop.c"]:
        compile_one(source, "common", define)
    for isa, extra in isa_flags.items():
        for source in kernels:
            compile_one(source, isa.lower(), [*extra, f"-DBE_ISA=BE_ISA_{isa}"])
    program = folder / "bare_loop"
    subprocess.run([compiler, *objects, "-lm", "-o", str(program)], check=True)
    return program


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--isa", default="all", help="baseline, avx2, avx512 or all")
    parser.add_argument("--env", default="all", help="a type's name, such as CartPole, or all")
    parser.add_argument("--lanes", default=LANES, help="comma-separated; default %(default)s")
    parser.add_argument("--seconds", type=float, default=0.5, help="per line; default %(default)s")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        program = build(Path(folder))
        command = [str(program), str(options.seconds), options.isa, options.env, *options.lanes.split(",")]
        return subprocess.run(command).returncode


if __name__ == "__main__":
    sys.exit(main())
