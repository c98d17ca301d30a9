#!/usr/bin/env bash
# Runs numa_machine.c on a virtual machine with two NUMA nodes. Needs qemu-system-x86, cpio, a static C library, and a
# kernel to boot, e.g. out of Debian's package: apt-get download linux-image-6.1.0-50-cloud-amd64; dpkg-deb -x ... kernel
#
#     bash tests/c/run_numa.sh kernel/boot/vmlinuz-6.1.0-50-cloud-amd64
set -euo pipefail
kernel=$(realpath "$1")
cd "$(dirname "$0")/../.."
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
sources=(tests/c/numa_machine.c csrc/envs/*/*.c)
for source in csrc/core/*.c csrc/core/*/*.c csrc/engines/*/*.c csrc/engines/*/*/*.c; do
    [[ $source == */isa.c ]] || sources+=("$source")
done
for source in "${sources[@]}"; do
    case $source in # what is compiled once per instruction set: see KERNEL_SOURCES in build_config.py
    tests/c/* | csrc/envs/* | csrc/core/isa/* | csrc/engines/atari/atari.c | csrc/engines/atari/pixel.c) isa=-DBE_ISA=BE_ISA_BASELINE ;;
    *) isa= ;;
    esac
    # shellcheck disable=SC2086
    echo gcc -std=gnu11 -O1 -ffp-contract=off -fno-math-errno -fno-trapping-math -Wall -Wextra -Wshadow -Wno-missing-field-initializers -Werror -Wno-psabi \
        $isa -Icsrc -Icsrc/include -c "$source" -o "$build/$(basename "$source").o"
done | xargs -P 2 -d '\n' -n 1 sh -c
mkdir "$build/root"
gcc -static "$build"/*.o -o "$build/root/init" -lm -ldl -lpthread 2>"$build/warnings" # dlopen, which is not called
(cd "$build/root" && echo init | cpio --quiet -o -H newc) >"$build/initramfs"
timeout 600 qemu-system-x86_64 -accel tcg -nographic -no-reboot -smp 4 -m 1024 \
    -object memory-backend-ram,id=near,size=512M -object memory-backend-ram,id=far,size=512M \
    -numa node,cpus=0-1,memdev=near -numa node,cpus=2-3,memdev=far \
    -kernel "$kernel" -initrd "$build/initramfs" -append "console=ttyS0 quiet panic=-1" </dev/null | tee "$build/log"
grep -q "two nodes: all good" "$build/log"
