"""Processes that come from this one."""

import os
import time
from pathlib import Path


def descendants(of=None, named="batchenv"):
    """{pid: name} of all living processes below one (default: this one) whose names begin so."""
    rows = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            name, rest = (folder / "stat").read_text().split("(", 1)[1].rsplit(")", 1)
        except OSError:  # it has ended meanwhile
            continue
        state, parent = rest.split()[:2]
        rows[int(folder.name)] = (name, state, int(parent))
    found, seen = {}, {of or os.getpid()}
    while True:
        more = {pid for pid, (_, _, parent) in rows.items() if parent in seen} - seen
        if not more:
            return {pid: name for pid, name in found.items() if name.startswith(named)}
        found.update({pid: rows[pid][0] for pid in more if rows[pid][1] != "Z"})
        seen |= more


def zombies():
    """Children of this process that have ended, and that nobody has asked how."""
    rows = [path.read_text().rsplit(")", 1)[1].split() for path in Path("/proc").glob("[0-9]*/stat") if path.exists()]
    return sum(row[0] == "Z" and int(row[1]) == os.getpid() for row in rows)


def ended(pids, seconds=10):
    """Whether these processes end within so many seconds."""
    for _ in range(int(seconds / 0.05)):
        if not any(_runs(pid) for pid in pids):
            return True
        time.sleep(0.05)
    return False


def _runs(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False
