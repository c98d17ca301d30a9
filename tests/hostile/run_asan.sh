#!/usr/bin/env bash
# The attacks of this folder against an extension with AddressSanitizer and UndefinedBehaviorSanitizer:
#   bash tests/hostile/run_asan.sh [PATTERN]
# PYTHON says which Python; it needs what a build needs (Cython, NumPy, setuptools) and what the attacks need. The build
# is kept in BUILD (default: a folder of its own under TMPDIR), so that the next one is short.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
python=${PYTHON:-python3}
build=${BUILD:-${TMPDIR:-/tmp}/batchenv-asan-$(id -u)}
mkdir -p "$build"

# Sources only: an extension built in place there would be taken for this one.
(cd "$root" && tar -c --exclude='*.so' --exclude=build --exclude='_core.c' --exclude=__pycache__ \
    batchenv csrc tests/hostile tests/helpers setup.py build_*.py pyproject.toml README.md) | tar -x -C "$build"
cd "$build"
# -O1: the build takes two and a half minutes of CPU time, instead of five; and stacks are easier to read.
cat >cc <<END
#!/usr/bin/env bash
exec ${CC:-gcc} "\${@/#-O[23]/-O1}"
END
chmod +x cc
CC="$build/cc" BATCHENV_SANITIZE=address,undefined "$python" setup.py -q build_ext --inplace >build.log 2>&1 ||
    { tail -20 build.log; exit 1; }

compiler=${CC:-gcc}
compiler=${compiler##* } # of "ccache gcc"
preload="$("$compiler" -print-file-name=libasan.so) $("$compiler" -print-file-name=libubsan.so)"
# The C++ runtime as well: MuJoCo and the emulator throw, and the sanitizer has to find that function at the start.
preload="$preload $("$compiler" -print-file-name=libstdc++.so.6)"
export BATCHENV_HOSTILE=AddressSanitizer
export ASAN_OPTIONS=detect_leaks=0:abort_on_error=1:handle_segv=0:handle_abort=0:allocator_may_return_null=1:detect_stack_use_after_return=0
export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1:abort_on_error=1
export PYTHONMALLOC=malloc # so that Python's own objects are watched as well
exec env LD_PRELOAD="$preload" PYTHONPATH="$build" "$python" tests/hostile/run.py "$@"
