"""Arrays and rings in memory that processes share. It has no name in any file system: it goes when its users have
gone, however they went."""

from __future__ import annotations

import errno
import mmap
import os
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from batchenv import _core

_PAGE = 4096


class MemoryPlan(NamedTuple):
    """What lies in the memory: pickled, it tells a worker.

    columns, actions: (dtype, shape of one lane), see `_core.columns_of`.
    """

    num_envs: int
    num_workers: int
    capacity: int
    columns: list[tuple[np.dtype, tuple[int, ...]]]
    actions: list[tuple[np.dtype, tuple[int, ...]]]


class Memory:
    """See above. `columns` and `actions` are arrays (num_envs, ...); `numbers` are what `_core.NumberWriter`
    takes; `places` are those of lanes in a plan, (num_envs, 4), see `_core.Agenda`; `mailbox` has the rings.

    Args:
        fd: a file descriptor of memfd_create.
        plan: what is to lie there.
        create: whether this process is the first to use it.
    """

    def __init__(self, fd: int, plan: MemoryPlan, create: bool):
        offset = _pages(_core.Mailbox.size(plan.num_workers, plan.capacity))
        places = []
        for dtype, shape in [*plan.columns, *plan.actions]:
            places.append((offset, dtype, (plan.num_envs, *shape)))
            offset += _pages(int(np.prod(places[-1][2])) * dtype.itemsize)
        for dtype in (np.dtype(np.int64), np.dtype(np.bool_)):
            places.append((offset, dtype, (_core.COLUMNS, plan.num_envs)))
            offset += _pages(_core.COLUMNS * plan.num_envs * dtype.itemsize)
        places.append((offset, np.dtype(np.int64), (plan.num_envs, 4)))
        offset += _pages(4 * plan.num_envs * 8)
        try:
            self._map = _mapped(fd, offset, create)
        except (OSError, OverflowError) as problem:
            raise MemoryError(
                f"{plan.num_envs} lanes need {offset:,} bytes of shared memory, which cannot be had ({problem}): take "
                "fewer lanes, or smaller observations"
            ) from problem
        arrays = [np.ndarray(shape, dtype, self._map, place) for place, dtype, shape in places]
        self.columns: list[NDArray[Any]] = arrays[: len(plan.columns)]
        self.actions: list[NDArray[Any]] = arrays[len(plan.columns) : -3]
        self.numbers: list[NDArray[Any]] = arrays[-3:-1]
        self.places: NDArray[np.int64] = arrays[-1]
        self.mailbox = _core.Mailbox(self._map, plan.num_workers, plan.capacity, create)


def _mapped(fd: int, size: int, create: bool) -> mmap.mmap:
    if create:
        if size > os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"):
            raise OSError(errno.ENOMEM, "this machine has not so much memory")
        os.ftruncate(fd, size)
    mapped = mmap.mmap(fd, size)  # which RLIMIT_AS may not allow
    if create:
        os.posix_fallocate(fd, 0, size)  # an error here rather than a SIGBUS later
    return mapped


def _pages(size: int) -> int:
    return -(-size // _PAGE) * _PAGE
