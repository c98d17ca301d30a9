"""Steps of windows as parts of episodes: without steps that only reset, and with the last observations of episodes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from batchenv.arguments.numbers import brief
from batchenv.recordings import leaves
from batchenv.recordings.episodes import Episodes
from batchenv.recordings.nonsense import each
from batchenv.recordings.reading import Reading
from batchenv.recordings.window import Window
from batchenv.spaces import nested

STEPS = 256  # of a window that is made at a time


class Trajectory(NamedTuple):
    """One episode. observations: (steps + 1, ...), the first one included; infos: those that are numbers, {path joined
    by "/": (steps, ...)}; all others: (steps, ...)."""

    number: int
    observations: Any
    actions: Any
    rewards: NDArray[Any]
    terminations: NDArray[np.bool_]
    truncations: NDArray[np.bool_]
    infos: dict[str, NDArray[Any]]


def in_episodes(table: Episodes, start: int, stop: int, lanes: int) -> NDArray[np.bool_]:
    """Which steps (stop - start, lanes) belong to episodes; others only reset a lane."""
    marks = np.zeros((stop - start + 1, lanes), np.int32)
    low = np.clip(table.starts - start, 0, stop - start)
    high = np.clip(table.starts + table.lengths - start, 0, stop - start)
    np.add.at(marks, (low, table.lanes), 1)
    np.add.at(marks, (high, table.lanes), -1)
    return marks.cumsum(axis=0)[:-1] > 0


def following(window: Window) -> Any:
    """The observations that the actions have led to, also where an episode ended in autoreset mode SameStep and
    `observations` has the next one's first."""
    final, mask = window.infos.get("final_obs"), window.infos.get("_final_obs")
    if final is None or mask is None or not mask.any():
        return window.observations
    changed = [np.array(leaf) for leaf in leaves.flat(window.observations)]
    if isinstance(final, np.ndarray) and final.dtype.hasobject:  # an object for each
        for place in zip(*np.nonzero(mask), strict=True):
            for leaf, part in zip(changed, leaves.flat(final[place]), strict=True):
                leaf[place] = part
    else:
        for leaf, part in zip(changed, leaves.flat(final), strict=True):
            leaf[mask] = part[mask]
    return leaves.nested_as(window.observations, changed)


def numeric_infos(window: Window) -> dict[str, NDArray[Any]]:
    """Infos that are numbers, by their paths; of the last steps of episodes, those of "final_info"."""
    found: dict[str, NDArray[Any]] = {}

    def take(infos: dict[str, Any], path: str) -> None:
        for name, value in infos.items():
            if name.startswith("_") or name in ("final_obs", "final_info", "env_id"):
                continue
            if isinstance(value, dict):
                take(value, f"{path}{name}/")
            elif isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
                found[path + name] = value

    take(window.infos, "")
    final, over = window.infos.get("final_info"), window.infos.get("_final_info")
    if isinstance(final, dict):
        ends = window.terminations | window.truncations if over is None else over
        now, then = dict(found), window._replace(infos=final)
        for name, value in numeric_infos(then).items():
            known = np.array(now.get(name, np.zeros_like(value)))
            known[ends] = value[ends]
            found[name] = known
    return found


def chosen_episodes(episodes: Any, count: int) -> NDArray[np.int64]:
    """The numbers of the episodes that are meant, in ascending order. episodes: a bool mask, or numbers; None: all.

    Raises:
        TypeError, ValueError: it is something else; a number or the mask's length is not right.
    """
    if episodes is None:
        return np.arange(count)
    rule = f"episodes must be None, a bool mask of length {count}, or a list of ints in 0..{count - 1}"
    try:
        given = episodes if isinstance(episodes, np.ndarray) else np.array(list(episodes))
    except (TypeError, ValueError):  # nothing to go through, or ragged
        raise TypeError(f"{rule}, not {brief(episodes)}: for one episode, say [number]") from None
    if given.dtype == np.bool_:
        if given.shape != (count,):
            raise ValueError(
                f"the mask episodes has shape {given.shape}, but must be ({count},), as recording.episodes"
            )
        return np.flatnonzero(given)
    if given.shape == (0,):
        return np.empty(0, np.int64)
    mixed = not isinstance(episodes, np.ndarray) and any(isinstance(one, (bool, np.bool_)) for one in episodes)
    if given.ndim != 1 or given.dtype.kind not in "iu" or mixed:
        raise TypeError(f"{rule}, not {brief(episodes)}")
    wrong = (given < 0) | (given >= count)
    if wrong.any():
        raise ValueError(f"episodes has {given[wrong][0]}, but there are {count} episodes: {rule}")
    return np.unique(given).astype(np.int64)


def trajectories(recording: Reading, episodes: Any = None) -> Iterator[Trajectory]:
    """Episodes, in the order in which they end (within a window of steps), each as a whole, but for step 0 where
    a lane's observation before it is not known.

    Args:
        episodes: a mask of `recording.episodes`, or numbers; None: all.
    """
    table = recording.episodes
    wanted = chosen_episodes(episodes, len(table.lanes))
    late = recording.unseen.any() & (table.starts == 0)  # as in transitions
    table = table._replace(starts=table.starts + late, lengths=table.lengths - late)
    return each(recording.path, _trajectories(recording, table, wanted[table.lengths[wanted] > 0]))


def _trajectories(recording: Reading, table: Episodes, wanted: NDArray[np.int64]) -> Iterator[Trajectory]:
    if not len(wanted):
        return
    equal = len(set(recording.lengths.tolist())) == 1
    if not equal or len(wanted) * 4 < len(table.lanes):  # one by one
        for number in wanted.tolist():
            start, length = int(table.starts[number]), int(table.lengths[number])
            window = recording.window(start, start + length, [int(table.lanes[number])])
            yield from _whole(recording, {number: _piece(recording, window, number, 0, length, 0)})
        return
    pending: dict[int, list[Any]] = {}
    first = int(table.starts[wanted].min())
    last = int((table.starts + table.lengths)[wanted].max())
    at = first
    for window in recording.windows(STEPS, first, last):
        stop = at + len(window.rewards)
        inside = wanted[(table.starts[wanted] < stop) & ((table.starts + table.lengths)[wanted] > at)]
        if len(inside):
            parts = _parts(recording, window)
            for number in inside.tolist():
                low, high = int(table.starts[number]), int(table.starts[number] + table.lengths[number])
                piece = _cut(parts, max(low, at) - at, min(high, stop) - at, int(table.lanes[number]), number)
                pending.setdefault(number, []).append(piece)
                if high <= stop:
                    yield _joined(recording, number, pending.pop(number))
        at = stop


def _parts(recording: Reading, window: Window) -> tuple[Any, ...]:
    same = AutoresetMode(recording.header["autoreset_mode"]) is AutoresetMode.SAME_STEP
    after = following(window) if same else window.observations
    return (
        window.previous(), after, window.actions, window.rewards, window.terminations, window.truncations,
        numeric_infos(window),
    )  # fmt: skip


def _cut(parts: tuple[Any, ...], low: int, high: int, lane: int, number: int) -> tuple[Any, ...]:
    return tuple(nested.each(lambda leaf: np.array(leaf[low:high, lane]), part) for part in parts)


def _piece(recording: Reading, window: Window, number: int, low: int, high: int, lane: int) -> list[Any]:
    return [_cut(_parts(recording, window), low, high, lane, number)]


def _whole(recording: Reading, pieces: dict[int, list[Any]]) -> Iterator[Trajectory]:
    for number, piece in pieces.items():
        yield _joined(recording, number, piece)


def _joined(recording: Reading, number: int, pieces: list[Any]) -> Trajectory:
    columns = list(zip(*pieces, strict=True))
    before, after = (
        [np.concatenate(leaf) for leaf in zip(*(leaves.flat(part) for part in column), strict=True)]
        for column in columns[:2]
    )
    observations = [np.concatenate([first[:1], rest]) for first, rest in zip(before, after, strict=True)]
    actions = [np.concatenate(leaf) for leaf in zip(*(leaves.flat(part) for part in columns[2]), strict=True)]
    rewards, terminations, truncations = (np.concatenate(column) for column in columns[3:6])
    names = set.intersection(*(set(infos) for infos in columns[6]))
    infos = {name: np.concatenate([part[name] for part in columns[6]]) for name in sorted(names)}
    return Trajectory(
        number,
        leaves.nested_as(columns[1][0], observations),
        leaves.nested_as(columns[2][0], actions),
        rewards,
        terminations,
        truncations,
        infos,
    )
