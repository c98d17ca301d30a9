"""What may keep this process from starting threads: for a message."""

from __future__ import annotations

import os
from collections.abc import Iterator

from batchenv.system import cgroup


def _process_limits() -> Iterator[str]:
    try:
        import resource
    except ImportError:  # Windows
        return
    for name, what in (
        ("RLIMIT_NPROC", "ulimit -u, threads of this user"),
        ("RLIMIT_AS", "ulimit -v, bytes of address space"),
    ):
        number = getattr(resource, name, None)
        limit = resource.RLIM_INFINITY if number is None else resource.getrlimit(number)[0]
        if limit != resource.RLIM_INFINITY:
            yield f"{name}={limit} ({what})"


def thread_limits() -> str:
    """The limits that are set here, with their values."""
    found = []
    for name in ("OMP_STACKSIZE", "GOMP_STACKSIZE"):
        if os.environ.get(name):
            found.append(f"{name}={os.environ[name]} (memory for each thread)")
    found += _process_limits()
    processes = cgroup.pids_limit()
    if processes is not None:
        found.append(f"pids.max={processes} (threads of this container or control group)")
    return ", ".join(found) or "the system's number of threads, or memory"
