#!/usr/bin/env bash
# Builds the tests of the queue and of NUMA nodes plain, under ThreadSanitizer, under AddressSanitizer and
# UndefinedBehaviorSanitizer, and without futexes, and runs each. The first argument makes the stress loops so many times as
# long.
set -euo pipefail
cd "$(dirname "$0")/../.."
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
declare -A kinds=(
    [plain]="-O3"
    [threads]="-O1 -fsanitize=thread"
    [addresses]="-O1 -fsanitize=address,undefined -fno-sanitize-recover=all"
    [no-futex]="-O2 -DBE_NO_FUTEX"
    [no-futex-threads]="-O1 -DBE_NO_FUTEX -fsanitize=thread"
)
for kind in plain addresses threads no-futex no-futex-threads; do
    # shellcheck disable=SC2086
    python3 tests/c/objects.py "$build/$kind" --only csrc/core/queue csrc/core/system \
        --with tests/c/test_{gate,ring,stream,pool,pool_loop,pool_process,numa}.c tools/bench/bench_pool.c -- ${kinds[$kind]}
    mkdir "$build/$kind/mains"
    mv "$build/$kind"/t*.o "$build/$kind/mains" # the last one, of tools/, only has to build
    echo "-- $kind"
    for main in "$build/$kind/mains"/*.c.o; do
        # shellcheck disable=SC2086
        gcc ${kinds[$kind]} "$build/$kind"/*.o "$main" -o "$build/$kind/program" -lpthread
        name=$(basename "$main" .c.o)
        if [[ $name == tests-c-* ]]; then "$build/$kind/program" "${1:-1}" | tail -n 1 | sed "s/^/${name#tests-c-}: /"; fi
    done
done
