"""How much CPU time this process's control groups leave it: what a container's limit is on Linux."""

from __future__ import annotations

from pathlib import Path, PurePosixPath


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


def cpu_limit(mount: str = "/sys/fs/cgroup", membership: str = "/proc/self/cgroup") -> float | None:
    """CPUs that this process may use at a time, by version 1 and 2 control groups; None: no limit, or not Linux.

    The least of the groups from the process's own to the topmost that can be seen.
    """
    limits = []
    for line in _read(Path(membership)).splitlines():
        number, _, rest = line.partition(":")
        controllers, _, group = rest.partition(":")
        if number == "0":
            roots = [Path(mount)]
        elif "cpu" in controllers.split(","):
            roots = [Path(mount, controllers), Path(mount, "cpu")]
        else:
            continue
        # In a container the path may be the host's, where only its top can be seen: what is not there has no limit.
        own = PurePosixPath("/", *(part for part in PurePosixPath(group).parts if part not in ("/", "..")))
        for root in roots:
            limits += [_quota(root / str(path).lstrip("/")) for path in (own, *own.parents)]
    return min((limit for limit in limits if limit is not None), default=None)
