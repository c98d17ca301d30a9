#!/usr/bin/env bash
# Builds a wheel with the Python of another Debian, and tries it there as tools/generate/build_wheels.py does:
#
#     sudo bash tools/verify/try_debian.sh FOLDER [SUITE [OPTION ...]]      # FOLDER sid --numpy 2.4.0; the default is sid
#
# This is for a Python that this machine does not have, and for another C library and another gcc. FOLDER takes a small
# Debian of that suite, a copy of the sources and the wheels; what is there is used again. Needs mmdebstrap, and root,
# because the Debian is entered by chroot; it runs in namespaces of its own, so that nothing is mounted here. The
# options are those of build_wheels.py. What is committed is tried.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
mkdir -p "${1:?a folder}"
work=$(cd "$1" && pwd)
suite=${2:-sid}
debian=$work/$suite

if [ ! -e "$debian/usr/bin/python3" ]; then
    mmdebstrap --variant=minbase --aptopt='Acquire::Check-Valid-Until "false"' \
        --include=python3-venv,python3-dev,gcc,libc6-dev,ca-certificates "$suite" "$debian"
fi
# The network, as this machine reaches it.
for file in /etc/resolv.conf /etc/ssl/certs/ca-certificates.crt; do
    if [ -e "$file" ]; then cp -L --remove-destination "$file" "$debian$file"; fi
done
rm -rf "$debian/srv/batchenv"
mkdir -p "$debian/srv/batchenv"
git -C "$root" archive HEAD | tar x -C "$debian/srv/batchenv"

# shellcheck disable=SC2016 # the inner bash expands them
PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 TMPDIR=/tmp unshare --mount --pid --fork bash -c '
    mount -t proc none "$0/proc" && mount --rbind /dev "$0/dev" && mount -t tmpfs none "$0/dev/shm"
    exec chroot "$0" python3 /srv/batchenv/tools/generate/build_wheels.py /srv/wheels "$@"
' "$debian" "${@:3}"
