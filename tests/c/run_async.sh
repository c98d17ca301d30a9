#!/usr/bin/env bash
# Builds test_async.c over the C core plain, under ThreadSanitizer, and under AddressSanitizer and
# UndefinedBehaviorSanitizer, with the widest vectors that this CPU has, and runs each. The first argument makes
# trajectories so many times as long.
set -euo pipefail
cd "$(dirname "$0")/../.."
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
vectors="-mavx2 -mfma -mbmi -mbmi2"
isa="-DBE_ISA=BE_ISA_BASELINE"
if grep -qw avx512dq /proc/cpuinfo; then
    isa="-DBE_ISA=BE_ISA_AVX512 $vectors -mavx512f -mavx512dq -mavx512bw -mavx512vl -mavx512cd"
elif grep -qw avx2 /proc/cpuinfo; then
    isa="-DBE_ISA=BE_ISA_AVX2 $vectors"
fi
flags="-std=gnu11 -g -ffp-contract=off -fno-math-errno -fno-trapping-math -Wall -Wextra -Wshadow -Wno-missing-field-initializers -Werror -Wno-psabi
    -fno-omit-frame-pointer -Icsrc -Icsrc/include"
sources=(tests/c/test_async.c csrc/envs/*/*.c)
for source in csrc/core/*.c csrc/core/*/*.c csrc/engines/*/*.c csrc/engines/*/*/*.c; do
    [[ $source == */isa.c ]] || sources+=("$source")
done
per_isa() { # the flags of what is compiled once per instruction set: see KERNEL_SOURCES in build_config.py
    case $1 in
    tests/c/* | csrc/envs/* | csrc/core/isa/* | csrc/engines/atari/atari.c | csrc/engines/atari/pixel.c) echo "$isa" ;;
    esac
}
declare -A kinds=(
    [plain]="-O1"
    [threads]="-O1 -fsanitize=thread"
    [addresses]="-O1 -fsanitize=address,undefined -fno-sanitize-recover=all"
)
for kind in plain threads addresses; do
    for source in "${sources[@]}"; do
        # shellcheck disable=SC2086
        echo gcc $flags ${kinds[$kind]} $(per_isa "$source") -c "$source" -o "$build/$kind-$(basename "$source").o"
    done
done | xargs -P 2 -d '\n' -n 1 sh -c
for kind in plain threads addresses; do
    # shellcheck disable=SC2086
    gcc ${kinds[$kind]} "$build/$kind"-*.o -o "$build/$kind" -lm -ldl -lpthread
    echo "-- $kind"
    "$build/$kind" "${1:-1}"
done
