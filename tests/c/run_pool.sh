#!/usr/bin/env bash
# Builds test_numa.c and test_pool.c plain, under ThreadSanitizer, under AddressSanitizer and UndefinedBehaviorSanitizer, and without
# futexes, and runs each. The first argument makes the stress loops so many times as long.
set -euo pipefail
cd "$(dirname "$0")/../.."
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
sources=(tests/c/test_pool.c csrc/core/queue/*.c csrc/core/place/*.c)
flags=(-std=gnu11 -g -Wall -Wextra -Wshadow -Wno-missing-field-initializers -Werror -fno-omit-frame-pointer -Icsrc -Icsrc/include)
declare -A kinds=(
    [plain]="-O3"
    [threads]="-O1 -fsanitize=thread"
    [addresses]="-O1 -fsanitize=address,undefined -fno-sanitize-recover=all"
    [no-futex]="-O2 -DBE_NO_FUTEX"
    [no-futex-threads]="-O1 -DBE_NO_FUTEX -fsanitize=thread"
)
for kind in plain addresses threads no-futex no-futex-threads; do
    # shellcheck disable=SC2086
    gcc "${flags[@]}" ${kinds[$kind]} "${sources[@]}" -o "$build/$kind" -lpthread
    echo "-- $kind"
    "$build/$kind" "${1:-1}" | tail -n 1
    # shellcheck disable=SC2086
    gcc "${flags[@]}" ${kinds[$kind]} tests/c/test_numa.c csrc/core/place/numa.c -o "$build/$kind-numa"
    "$build/$kind-numa"
done
gcc "${flags[@]}" -O2 tools/bench_pool.c "${sources[@]:1}" -o "$build/bench_pool" -lpthread # that it still builds
