#!/usr/bin/env bash
# Builds test_numa.c and test_pool.c plain, under ThreadSanitizer, under AddressSanitizer and UndefinedBehaviorSanitizer, and without
# futexes, and runs each. The first argument makes the stress loops so many times as long.
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
    python3 tests/c/objects.py "$build/$kind" --only csrc/core/queue csrc/core/place --with tests/c/test_{pool,numa}.c \
        tools/bench_pool.c -- ${kinds[$kind]}
    mkdir "$build/$kind/mains"
    mv "$build/$kind"/t*.o "$build/$kind/mains"
    for name in tests-c-test_pool tests-c-test_numa tools-bench_pool; do # the last one: that it still builds
        # shellcheck disable=SC2086
        gcc ${kinds[$kind]} "$build/$kind"/*.o "$build/$kind/mains/$name.c.o" -o "$build/$kind/$name" -lpthread
    done
    echo "-- $kind"
    "$build/$kind/tests-c-test_pool" "${1:-1}" | tail -n 1
    "$build/$kind/tests-c-test_numa"
done
