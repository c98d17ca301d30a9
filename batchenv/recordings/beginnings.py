"""Recordings of stored results that begin in the middle of episodes: what lanes saw before their first step is not in
them."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from batchenv.recordings.contents import Contents, positions, taken
from batchenv.recordings.episodes import Episodes
from batchenv.recordings.errors import RecordingError
from batchenv.recordings.log import EVENT, ROWS, STEPS
from batchenv.recordings.window import Window, of_one


class Unseen(Window):
    """A window from step 0 on, of lanes of which some were not seen before it. `before` is None."""

    __slots__ = ()

    def previous(self) -> NoReturn:
        raise RecordingError(
            "the recording began in the middle of episodes and stores results, so that the observations before step 0 "
            "are not known: read windows from step 1 on, or reset the env after record()"
        )

    def of_one(self) -> Unseen:
        """See `window.of_one`."""
        return Unseen(*of_one(Window(*self._replace(before={})))._replace(before=None))


def first_unseen(contents: Contents) -> NDArray[np.bool_]:
    """Of which lanes nothing in the recording says what they saw before their first step."""
    count = contents.header["num_envs"]
    unseen, stepped = np.ones(count, np.bool_), np.zeros(count, np.bool_)
    for entry in contents.entries:
        if stepped.all() or not unseen.any():
            break
        if entry.kind not in (STEPS, ROWS, EVENT):
            continue
        meta, arrays = contents.read(entry)
        stepped |= positions(meta, count) > 0
        if entry.kind != EVENT:
            stepped |= np.broadcast_to(taken(entry.kind, meta, arrays, count), (count,)) > 0
        elif "x0" in arrays:
            lanes = np.zeros(count, np.bool_)
            lanes[event_lanes(meta, count)] = True
            unseen &= ~lanes | stepped
    return unseen


def event_lanes(meta: dict[str, Any], count: int) -> NDArray[np.int64]:
    """The lanes that an event gives an observation."""
    if "lanes" in meta:
        return np.asarray(meta["lanes"], np.int64)
    mask = meta.get("mask")
    return np.arange(count) if mask is None else np.flatnonzero(mask)


def checked(table: Episodes, done: NDArray[np.int64]) -> Episodes:
    """A table of episodes whose steps are there. Raises ValueError."""
    lanes = table.lanes
    wrong = (lanes < 0) | (lanes >= len(done)) | (table.lengths < 0)
    if not wrong.any():
        wrong = table.starts + table.lengths > done[lanes]
    if wrong.any():
        first = int(np.flatnonzero(wrong)[0])
        raise ValueError(f"episode {first} has steps that are not in the recording")
    return table
