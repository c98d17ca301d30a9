"""Builds bare_loop.c with setup.py's flags and runs it: ns per call and lane, kernel alone and with the driver.

python tools/bench/bare_loop.py [--isa avx512] [--env CartPole] [--lanes 8,64,4096] [--seconds 0.5]
python tools/bench/bare_loop.py --rollout 128x4096,1024x256

The second compares env.rollout(actions), one thread, with a rollout written by hand in C over the same kernel, for
CartPole-v1. Both read the same actions, write the same arrays, go through the same episodes (outputs are compared, bit
for bit) and take turns.
"""

import argparse
import ctypes
import subprocess
import sys
import sysconfig
import tempfile
import time
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[2]
LANES = "8,64,1024,4096,65536,1048576"


def build(folder, shared=False):
    """The program's path, or with `shared` the library's."""
    sys.path.insert(0, str(ROOT))
    from build_config import C_FLAGS, COMMON_SOURCES, INCLUDE, ISA_FLAGS, KERNEL_SOURCES, of_isa

    compiler = (sysconfig.get_config_var("CC") or "cc").split()[0]
    define = ["-DBE_HAVE_X86_VECTORS=1"] if "AVX512" in ISA_FLAGS else []
    objects = []

    def compile_one(source, tag, extra):
        objects.append(str(folder / f"{tag}_{Path(source).stem}.o"))
        command = [
            compiler,
            *C_FLAGS,
            "-fPIC",
            *extra,
            *(f"-I{ROOT / folder}" for folder in INCLUDE),
            "-c",
            str(ROOT / source),
            "-o",
            objects[-1],
        ]
        subprocess.run(command, check=True)

    for source in [*COMMON_SOURCES, "tools/bench/bare_loop.c"]:
        compile_one(source, "common", define)
    for isa in ISA_FLAGS:
        for source in KERNEL_SOURCES:
            compile_one(source, isa.lower(), of_isa(isa))
    program = folder / ("bare_loop.so" if shared else "bare_loop")
    libraries = [*(["-shared"] if shared else []), "-lm", "-ldl", "-lpthread"]
    subprocess.run([compiler, *objects, *libraries, "-o", str(program)], check=True)
    return program


def compare_rollouts(shapes, seconds):
    sys.path.insert(0, str(ROOT))
    with tempfile.TemporaryDirectory() as folder:
        library = ctypes.CDLL(str(build(Path(folder), shared=True)))
    library.bare_open.restype = ctypes.c_void_p
    print("ns per step and lane; shares are those of the loop that does the same work, by rounds")
    print("    T x lanes  episodes end  kernel loop  with restarts   out=  share  new arrays  share")
    for shape in shapes.split(","):
        steps, lanes = map(int, shape.split("x"))
        for ends in (True, False):
            compare_rollout(library, steps, lanes, ends, seconds)


def compare_rollout(library, steps, lanes, ends, seconds):
    """Prints a line. `ends`: random actions; once poles have begun to fall one lane in 23 starts again in every step.
    Else the actions keep all poles up: no episode ends, and the loop that restarts nothing does the same work too."""
    import numpy as np

    import batchenv

    env = batchenv.make("CartPole-v1", lanes, num_threads=1, max_episode_steps=500 if ends else None)
    observations, _ = env.reset(seed=1)
    actions = np.random.default_rng(2).integers(2, size=(steps, lanes))
    for t in range(0 if ends else steps):
        actions[t] = observations @ np.array([0.1, 0.3, 1.0, 0.5], np.float32) > 0
        observations, *_ = env.step(actions[t])
    shape = (steps, lanes)
    ours, theirs = (
        (np.zeros((*shape, 4), np.float32), np.zeros(shape), np.zeros(shape, np.bool_), np.zeros(shape, np.bool_))
        for _ in range(2)
    )
    addresses = [ctypes.c_void_p(array.ctypes.data) for array in (actions, *theirs)]
    scratch = np.empty((lanes, 4), np.float32)
    first_rows = ctypes.c_void_p(scratch.ctypes.data)
    isa = batchenv.build_info()["isa"].encode()
    handle = ctypes.c_void_p(library.bare_open(isa, ctypes.c_int64(lanes), first_rows))

    def by_hand(chunk, restarts):
        limit = restarts * (500 if ends else 2**31 - 1)
        library.bare_rollout(handle, ctypes.c_int64(chunk), ctypes.c_int64(steps), limit, *addresses)

    ways = {("by hand", chunk, restarts): by_hand for chunk in (256, 512, 1024) for restarts in (0, 1)[ends:]}
    ways["out="] = lambda: env.rollout(actions, out=ours)
    ways["new arrays"] = lambda: env.rollout(actions)
    rounds = {way: [] for way in ways}
    until = time.perf_counter() + seconds * len(ways)
    while time.perf_counter() < until or len(rounds["out="]) < 5:
        for way, call in ways.items():
            for _ in range(2):  # the first brings the way's own arrays back into the caches
                env.reset(seed=1)
                library.bare_start(handle, first_rows)
                start = time.perf_counter_ns()
                call(*way[1:]) if isinstance(way, tuple) else call()
                taken = time.perf_counter_ns() - start
            rounds[way].append(taken / (steps * lanes))
    for mine, bare in zip(ours, theirs, strict=True):
        if not np.array_equal(mine, bare):
            raise RuntimeError("env.rollout and the loop by hand have gone through different episodes")
    if ours[2].any() != ends or (ours[3].any() and not ends):
        raise RuntimeError("the actions have not done what they are for: make the policy above catch the pole")
    best = {
        restarts: min((rounds["by hand", chunk, restarts] for chunk in (256, 512, 1024)), key=median)
        for restarts in (0, 1)[ends:]
    }
    same_work = best[1]
    share = {way: median(b / a for a, b in zip(rounds[way], same_work, strict=True)) for way in ("out=", "new arrays")}
    kernel = f"{median(best[0]):.3f}" if not ends else "-"
    print(
        f"{steps:>6} x {lanes:<6} {'yes' if ends else 'no':>10} {kernel:>12} {median(best[1]):>14.3f} "
        f"{median(rounds['out=']):>6.3f} {share['out=']:>6.2f} {median(rounds['new arrays']):>11.3f} "
        f"{share['new arrays']:>6.2f}"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--isa", default="all", help="baseline, avx2, avx512 or all")
    parser.add_argument("--env", default="all", help="a type's name, such as CartPole, or all")
    parser.add_argument("--lanes", default=LANES, help="comma-separated; default %(default)s")
    parser.add_argument("--seconds", type=float, default=0.5, help="per line; default %(default)s")
    parser.add_argument("--rollout", metavar="TxLANES,...", help="rollouts instead, of so many steps and lanes")
    options = parser.parse_args()
    if options.rollout:
        return compare_rollouts(options.rollout, options.seconds)
    with tempfile.TemporaryDirectory() as folder:
        program = build(Path(folder))
        command = [str(program), str(options.seconds), options.isa, options.env, *options.lanes.split(",")]
        return subprocess.run(command).returncode


if __name__ == "__main__":
    sys.exit(main())
