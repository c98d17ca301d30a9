#!/usr/bin/env bash
# Builds test_async.c and test_joined.c over the C core plain, under ThreadSanitizer, and under AddressSanitizer and
# UndefinedBehaviorSanitizer, with the widest vectors that this CPU has, and runs each. The first argument makes
# trajectories so many times as long.
set -euo pipefail
cd "$(dirname "$0")/../.."
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
declare -A kinds=(
    [plain]="-O1"
    [threads]="-O1 -fsanitize=thread"
    [addresses]="-O1 -fsanitize=address,undefined -fno-sanitize-recover=all"
)
for kind in plain threads addresses; do
    # With the envs that it steps: to compile all would take longer than to run it.
    # shellcheck disable=SC2086
    python3 tests/c/objects.py "$build/$kind" --only csrc/core csrc/envs/{classic,testing,toy_text} \
        --with tests/c/test_{async,joined}.c -- ${kinds[$kind]}
    mkdir "$build/$kind/mains"
    mv "$build/$kind"/tests-c-*.o "$build/$kind/mains"
    echo "-- $kind"
    for main in "$build/$kind/mains"/*.o; do
        # shellcheck disable=SC2086
        gcc ${kinds[$kind]} "$build/$kind"/*.o "$main" -o "$build/$kind/run" -lm -ldl -lpthread
        "$build/$kind/run" "${1:-1}"
    done
done
