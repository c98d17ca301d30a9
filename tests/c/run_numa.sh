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
python3 tests/c/objects.py "$build" --isas baseline --with tests/c/numa_machine.c -- -O1
mkdir "$build/root"
gcc -static "$build"/*.o -o "$build/root/init" -lm -ldl -lpthread 2>"$build/warnings" # dlopen, which is not called
(cd "$build/root" && echo init | cpio --quiet -o -H newc) >"$build/initramfs"
timeout 600 qemu-system-x86_64 -accel tcg -nographic -no-reboot -smp 4 -m 1024 \
    -object memory-backend-ram,id=near,size=512M -object memory-backend-ram,id=far,size=512M \
    -numa node,cpus=0-1,memdev=near -numa node,cpus=2-3,memdev=far \
    -kernel "$kernel" -initrd "$build/initramfs" -append "console=ttyS0 quiet panic=-1" </dev/null | tee "$build/log"
grep -q "two nodes: all good" "$build/log"
