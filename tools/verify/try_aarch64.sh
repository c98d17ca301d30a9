#!/usr/bin/env bash
# Builds batchenv for Linux on aarch64 and runs tests there, in an emulator:
#
#     bash tools/verify/try_aarch64.sh FOLDER [TEST ...]        # tests/envs/test_parity.py ...; none: imports it alone
#
# FOLDER takes a small Debian for aarch64, wheels of what the tests need, and a copy of the sources with the compiled
# module; what is there is used again. The C compiler is this machine's cross compiler, Python and the tests run in
# qemu. Needs mmdebstrap, qemu-user-static and gcc-aarch64-linux-gnu (Debian), this Python with Cython and pip, and a
# kernel that lets users have namespaces. The emulator is some ten to fifty times slower than a machine, so that a test
# that starts processes takes minutes; a TEST may also be a single one, such as
# "tests/envs/test_parity.py::test_trajectories[Acrobot-v1-NextStep]", and BATCHENV_PARITY_STEPS=60 (Pendulum's episodes
# need more than 200), BATCHENV_MUJOCO_STEPS=45 and PYTEST_ADDOPTS="-k ..." leave out more. It says nothing about speed.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
mkdir -p "${1:?a folder}"
work=$(cd "$1" && pwd)
shift

if [ ! -e "$work/debian/usr/bin/python3.13" ]; then
    mmdebstrap --architectures=arm64 --variant=extract --include=python3,libpython3-dev,python3-dev,libgomp1,libstdc++6 \
        trixie "$work/debian"
    ln -sfn usr/lib "$work/debian/lib" # a Debian that is only unpacked lacks these two
    ln -sfn usr/bin "$work/debian/bin"
fi
if [ ! -e "$work/packages/numpy" ]; then
    platforms=()
    for glibc in 2_28 2_27 2_17; do platforms+=(--platform "manylinux_${glibc}_aarch64"); done
    python3 -m pip install -q --target "$work/packages" "${platforms[@]}" --platform manylinux2014_aarch64 \
        --python-version 3.13 --only-binary=:all: numpy gymnasium mujoco imageio minigrid pettingzoo pytest hypothesis \
        packaging cloudpickle dm-env cython 'setuptools>=77'
fi

# The system's headers of Python alone: the cross compiler has the C library's own.
mkdir -p "$work/include/aarch64-linux-gnu" "$work/source"
ln -sfn "$work/debian/usr/include/aarch64-linux-gnu/python3.13" "$work/include/aarch64-linux-gnu/python3.13"
git -C "$root" archive HEAD | tar x -C "$work/source"
cd "$work/source"
python3 -c 'from build_objects import Builder; Builder.generate()' # Cython, not in the emulator

# Programs for aarch64 start by themselves in a namespace of its own, those that Python starts, too.
cat >"$work/inside.sh" <<'END_INSIDE'
mount -t binfmt_misc none /proc/sys/fs/binfmt_misc
zeros='\x00\x00\x00\x00\x00\x00\x00\x00' ones='\xff\xff\xff\xff\xff\xff\xff\xff'
echo ":aarch64:M::\x7fELF\x02\x01\x01\x00$zeros\x02\x00\xb7\x00:\xff\xff\xff\xff\xff\xff\xff\x00$ones\xfe\xff\xff\xff:$(
    command -v qemu-aarch64-static):F" >/proc/sys/fs/binfmt_misc/register
exec "$@"
END_INSIDE
emulated() { # with the cross compiler, for tests that compile C
    # Python keeps what it has compiled of itself, even if the user has said no: every start would take a minute longer.
    PYTHONDONTWRITEBYTECODE='' CC=aarch64-linux-gnu-gcc QEMU_LD_PREFIX="$work/debian" PYTHONHOME="$work/debian/usr" \
        PYTHONPATH="$work/source:$work/packages" unshare -r -m bash "$work/inside.sh" "$work/debian/usr/bin/python3.13" "$@"
}
LDSHARED="aarch64-linux-gnu-gcc -shared" CFLAGS="-I$work/include" BATCHENV_REQUIRE_OPENMP=1 \
    emulated setup.py -q build_ext --inplace
emulated -c 'import batchenv; batchenv.make("CartPole-v1", 2); print(batchenv.build_info())'
for test in "$@"; do emulated -m pytest -q -p no:cacheprovider "$test"; done
