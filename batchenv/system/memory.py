"""How much memory there is for more lanes: whoever takes too much is ended by the system, not refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from batchenv.system import cgroup


def _numbers(path: str | Path) -> dict[str, int]:
    """The numbers of a file whose lines are like `name: 12 kB`, or `name 12`, or 12: {name: 12}."""
    try:
        lines = Path(path).read_text(encoding="ascii").splitlines()
    except (OSError, UnicodeDecodeError):
        return {}
    words = [
        ["", *line.replace(":", " ").split()][-3 if line.endswith("kB") else -2 :] for line in lines if line.split()
    ]
    return {name: int(number) for name, number, *_ in words if number.isdecimal()}


def _group_left(folder: Path) -> int | None:
    """Bytes that the processes of one control group may still take; None: no limit here."""
    for most, used, cache in (
        ("memory.max", "memory.current", "inactive_file"),
        ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    ):
        limit, present = _numbers(folder / most), _numbers(folder / used)
        if limit and present:
            # Files' contents that were read long ago are let go where memory is needed.
            return limit[""] - present[""] + _numbers(folder / "memory.stat").get(cache, 0)
    return None


def _free() -> Iterator[tuple[int, str]]:
    """Bytes that this process may still fill, and by what rule."""
    available = _numbers("/proc/meminfo").get("MemAvailable")
    if available is not None:
        yield available * 1024, "on this machine"
    left = cgroup._least("memory", _group_left, "/sys/fs/cgroup", "/proc/self/cgroup")
    if left is not None:
        yield int(left), "under this container's or control group's limit"


def _free_addresses() -> Iterator[tuple[int, str]]:
    """Bytes of address space that this process may still take, filled or not, and by what rule."""
    try:
        import resource
    except ImportError:
        return
    used = _numbers("/proc/self/status")
    for name, what, present in (
        ("RLIMIT_AS", "under RLIMIT_AS (ulimit -v)", used.get("VmSize", 0)),
        ("RLIMIT_DATA", "under RLIMIT_DATA (ulimit -d)", used.get("VmData", 0)),
    ):
        limit = resource.getrlimit(getattr(resource, name))[0]
        if limit != resource.RLIM_INFINITY:
            yield limit - present * 1024, what


def check(what: str, filled: int, addressed: int) -> None:
    """MemoryError where `what`, which will fill so many bytes and take so many of address space, cannot fit."""
    for need, rooms in ((filled, _free()), (addressed, _free_addresses())):
        for free, where in rooms:
            if need > free:
                raise MemoryError(
                    f"{what} need at least {need / 1e9:.2f} GB of memory, and {max(free, 0) / 1e9:.2f} GB are free "
                    f"{where}: make fewer lanes"
                )
