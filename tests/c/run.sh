#!/usr/bin/env bash
# Builds the C core with AddressSanitizer and UndefinedBehaviorSanitizer, and runs test_core.c, test_memory.c,
# test_exact_math.c and fuzz_snapshot.c (so many damaged snapshots as the first argument says) over it, as many programs
# at a time as there are CPUs.
set -euo pipefail
cd "$(dirname "$0")/../.."
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
# shellcheck disable=SC2054 # these commas are the flags' own
flags=(-O1 -fsanitize=address,undefined -fno-sanitize-recover=all)
libraries=(-lm -ldl -lpthread)
# Without the engines: their types need handles from Python, so that these programs leave them out.
python3 tests/c/objects.py "$build/core" --isas all --only csrc/core csrc/envs \
    --with tests/c/{test_core,test_memory,fuzz_snapshot}.c -- "${flags[@]}"
mkdir "$build/mains"
mv "$build"/core/tests-c-*.o "$build/mains"
for isa in baseline widest; do
    python3 tests/c/objects.py "$build/$isa" --isas $isa --only csrc/core/math/libm.c csrc/core/system/shared.c \
        --with tests/c/test_exact_math.c -- "${flags[@]}"
    gcc "${flags[@]}" "$build/$isa"/*.o -o "$build/test_exact_math_$isa" "${libraries[@]}"
done
gcc "${flags[@]}" "$build"/core/*.o "$build/mains/tests-c-test_core.c.o" -o "$build/test_core" "${libraries[@]}"
# shellcheck disable=SC2054
wrap=(-Wl,--wrap={malloc,calloc,aligned_alloc,free,mmap,munmap}) # test_memory.c has functions of its own in their place
gcc "${flags[@]}" "${wrap[@]}" "$build"/core/*.o "$build/mains/tests-c-test_memory.c.o" -o "$build/test_memory" "${libraries[@]}"
rm "$build/core/csrc-core-snapshot.c.o" # fuzz_snapshot.c includes it
gcc "${flags[@]}" "$build"/core/*.o "$build/mains/tests-c-fuzz_snapshot.c.o" -o "$build/fuzz_snapshot" "${libraries[@]}"

parts=16 # of test_core's types, which take between a second and a minute
{
    for ((part = 0; part < parts; part++)); do echo "test_core $part/$parts"; done
    echo "fuzz_snapshot ${1:-50000}"
    printf '%s\n' test_memory test_exact_math_baseline test_exact_math_widest
} | xargs -P "$(nproc)" -I {} bash -c "$build/{}" | tee "$build/log"
awk '/ passed, 0 failed$/ { checks += $1; parts++ }
    END { print checks " checks of test_core passed"; exit parts != '$parts' }' "$build/log"
