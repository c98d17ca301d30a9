#!/usr/bin/env bash
# Builds the C core with AddressSanitizer and UndefinedBehaviorSanitizer, and runs test_core.c, test_memory.c,
# test_exact_math.c and fuzz_snapshot.c (so many damaged snapshots as the first argument says) over it.
set -euo pipefail
cd "$(dirname "$0")/../.."
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
sanitizers=(-fsanitize=address,undefined -fno-sanitize-recover=all)
python3 tests/c/objects.py "$build" --isas all --with tests/c/{test_core,test_memory,fuzz_snapshot}.c \
    -- -O1 "${sanitizers[@]}"
mkdir "$build/mains"
mv "$build"/tests-c-*.o "$build/mains"
gcc "${sanitizers[@]}" "$build"/*.o "$build/mains/tests-c-test_core.c.o" -o "$build/test_core" -lm -ldl -lpthread
"$build/test_core"
wrap=(-Wl,--wrap={malloc,calloc,aligned_alloc,free,mmap,munmap}) # test_memory.c has functions of its own in their place
gcc "${sanitizers[@]}" "${wrap[@]}" "$build"/*.o "$build/mains/tests-c-test_memory.c.o" -o "$build/test_memory" -lm -ldl -lpthread
"$build/test_memory"
for isa in baseline widest; do
    python3 tests/c/objects.py "$build/$isa" --isas $isa --only csrc/core/libm.c csrc/core/place/shared.c \
        --with tests/c/test_exact_math.c -- -O1 "${sanitizers[@]}"
    gcc "${sanitizers[@]}" "$build/$isa"/*.o -o "$build/test_exact_math" -lm -ldl
    "$build/test_exact_math"
done
rm "$build/csrc-core-snapshot.c.o" # fuzz_snapshot.c includes it
gcc "${sanitizers[@]}" "$build"/*.o "$build/mains/tests-c-fuzz_snapshot.c.o" -o "$build/fuzz_snapshot" -lm -ldl -lpthread
"$build/fuzz_snapshot" "${1:-50000}"
