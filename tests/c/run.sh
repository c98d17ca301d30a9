#!/usr/bin/env bash
# Builds the C core as setup.py does, with AddressSanitizer and UndefinedBehaviorSanitizer, and runs test_core.c,
# test_exact_math.c and fuzz_snapshot.c (so many damaged snapshots as the first argument says) over it.
set -euo pipefail
cd "$(dirname "$0")/../.."
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
flags=(-std=gnu11 -O1 -g -ffp-contract=off -fno-math-errno -fno-trapping-math -Wall -Wextra -Wshadow -Wno-missing-field-initializers -Werror -Wno-psabi
    -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer -Icsrc -Icsrc/include)
avx2=(-mavx2 -mfma -mbmi -mbmi2)
declare -A isa=([BASELINE]="")
if [[ $(uname -m) == x86_64 ]]; then
    isa[AVX2]="${avx2[*]}"
    isa[AVX512]="${avx2[*]} -mavx512f -mavx512dq -mavx512bw -mavx512vl -mavx512cd"
    flags+=(-DBE_HAVE_X86_VECTORS=1)
fi
for name in "${!isa[@]}"; do
    for source in csrc/core/isa/*.c csrc/envs/*/*.c csrc/engines/atari/{atari,pixel}.c; do
        # shellcheck disable=SC2086
        printf '%s\n' "gcc ${flags[*]} ${isa[$name]} -DBE_ISA=BE_ISA_$name -c $source -o $build/$name-$(basename "$source").o"
    done
done | xargs -P 2 -d '\n' -n 1 sh -c
core=(csrc/core/*.c csrc/core/queue/*.c csrc/core/place/*.c csrc/engines/atari/pixel_plan.c csrc/engines/*/*/*.c csrc/engines/mujoco/*.c)
gcc "${flags[@]}" tests/c/test_core.c "${core[@]}" "$build"/*.o -o "$build/test_core" -lm -ldl -lpthread
"$build/test_core"
for name in "${!isa[@]}"; do
    # shellcheck disable=SC2086
    gcc "${flags[@]}" ${isa[$name]} "-DBE_ISA=BE_ISA_$name" tests/c/test_exact_math.c csrc/core/libm.c -o "$build/test_exact_math" \
        -lm -ldl
    if [[ $name == BASELINE ]] || grep -qw "$([[ $name == AVX2 ]] && echo avx2 || echo avx512dq)" /proc/cpuinfo; then
        "$build/test_exact_math"
    fi
done
rest=()
for source in "${core[@]}"; do
    [[ $source == */snapshot.c ]] || rest+=("$source")
done
gcc "${flags[@]}" tests/c/fuzz_snapshot.c "${rest[@]}" "$build"/*.o -o "$build/fuzz_snapshot" -lm -ldl -lpthread
"$build/fuzz_snapshot" "${1:-50000}"
