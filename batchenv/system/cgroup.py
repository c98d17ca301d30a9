"""How much CPU time and how many threads this process may use by its control groups: the limits of a container on
Linux."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import TypeVar

_Limit = TypeVar("_Limit", int, float)


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except (OSError, UnicodeDecodeError):
        return ""


def _quota(folder: Path) -> float | None:
    """CPUs that one group may use; None: no limit here."""
    words = _read(folder / "cpu.max").split()  # version 2: "quota period", or "max period"
    if not words:
        words = [*_read(folder / "cpu.cfs_quota_us").split(), *_read(folder / "cpu.cfs_period_us").split()]
    try:
        quota, period = int(words[0]), int(words[1])
    except (ValueError, IndexError):
        return None
    return quota / period if quota > 0 and period > 0 else None


def _pids(folder: Path) -> int | None:
    """Threads that one group may have; None: no limit here."""
    text = _read(folder / "pids.max").strip()
    return int(text) if text.isdecimal() else None


def cpu_limit(mount: str = "/sys/fs/cgroup", membership: str = "/proc/self/cgroup") -> float | None:
    """CPUs that this process may use at a time, by version 1 and 2 control groups; None: no limit, or not Linux."""
    return _least("cpu", _quota, mount, membership)


def pids_limit(mount: str = "/sys/fs/cgroup", membership: str = "/proc/self/cgroup") -> int | None:
    """Threads that the processes of this control group may have together; None: no limit, or not Linux."""
    return _least("pids", _pids, mount, membership)


def _least(name: str, read: Callable[[Path], _Limit | None], mount: str, membership: str) -> _Limit | None:
    """The least that the controller `name` has in the groups from the process's own to the topmost that can be seen."""
    limits: list[_Limit | None] = []
    for line in _read(Path(membership)).splitlines():
        number, _, rest = line.partition(":")
        controllers, _, group = rest.partition(":")
        if number == "0":
            roots = [Path(mount)]
        elif name in controllers.split(","):
            roots = [Path(mount, controllers), Path(mount, name)]
        else:
            continue
        # In a container the path may be one of the host's, of which only the top can be seen. Groups that cannot be
        # seen set no limit here.
        own = PurePosixPath("/", *(part for part in PurePosixPath(group).parts if part not in ("/", "..")))
        for root in roots:
            limits += [read(root / str(path).lstrip("/")) for path in (own, *own.parents)]
    return min((limit for limit in limits if limit is not None), default=None)
