"""Transitions and windows for training loops, and for torch's DataLoader."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from batchenv.arguments.numbers import integer
from batchenv.recordings import leaves
from batchenv.recordings.nonsense import each
from batchenv.recordings.reading import Reading
from batchenv.recordings.trajectories import STEPS, following, in_episodes
from batchenv.spaces import nested

_OTHERS = ("reward", "terminated", "truncated", "lane", "step")


def transitions(
    recording: Reading, batch_size: int, start: int, stop: int, shuffle: int | None, steps: int
) -> Iterator[dict[str, Any]]:
    """See `Recording.transitions`."""
    return each(recording.path, _transitions(recording, batch_size, start, stop, shuffle, steps))


def first_seen(recording: Reading) -> int:
    """The first step before which every lane's observation is known: 0, or 1 where one of the first is not."""
    return int(recording.unseen.any())


def _transitions(
    recording: Reading, batch_size: int, start: int, stop: int, shuffle: Any, steps: int
) -> Iterator[dict[str, Any]]:
    start = max(start, first_seen(recording))
    if start >= stop:
        return
    rng = None if shuffle is None else np.random.default_rng(shuffle)
    kept: list[dict[str, Any]] = []
    count, at = 0, start
    for window in recording.windows(steps, start, stop):
        length = len(window.rewards)
        inside = in_episodes(recording.episodes, at, at + length, recording.num_envs)
        step, lane = np.nonzero(inside)
        if rng is not None:
            order = rng.permutation(len(step))
            step, lane = step[order], lane[order]
        at_rows = (step, lane)
        batch = {
            "observation": nested.each(lambda leaf, at=at_rows: leaf[at], window.previous()),
            "action": nested.each(lambda leaf, at=at_rows: leaf[at], window.actions),
            "next_observation": nested.each(lambda leaf, at=at_rows: leaf[at], following(window)),
            "reward": window.rewards[at_rows],
            "terminated": window.terminations[at_rows],
            "truncated": window.truncations[at_rows],
            "lane": lane,
            "step": step + at,
        }
        at += length
        kept.append(batch)
        count += len(step)
        while count >= batch_size:
            joined = _joined(kept)
            yield _rows(joined, slice(0, batch_size))
            kept, count = [_rows(joined, slice(batch_size, None))], count - batch_size
    if count:
        yield _joined(kept)


def _joined(batches: list[dict[str, Any]]) -> dict[str, Any]:
    if len(batches) == 1:
        return batches[0]
    found = {}
    for name, form in batches[0].items():
        columns = zip(*(leaves.flat(batch[name]) for batch in batches), strict=True)
        found[name] = leaves.nested_as(form, [np.concatenate(column) for column in columns])
    return found


def _rows(batch: dict[str, Any], rows: slice) -> dict[str, Any]:
    return {name: nested.each(lambda leaf: leaf[rows], part) for name, part in batch.items()}


def dataset(again: Callable[[], Reading], batch_size: int, shuffle: int | None, length: int | None) -> Any:
    """See `Recording.torch_dataset`.

    Raises:
        gymnasium.error.DependencyNotInstalled: torch is missing.
    """
    from gymnasium.error import DependencyNotInstalled

    try:
        from torch.utils.data import IterableDataset, get_worker_info  # pyright: ignore[reportMissingImports]
    except ImportError as error:
        raise DependencyNotInstalled('torch_dataset() needs PyTorch: pip install "batchenv[torch]"') from error

    class RecordedSteps(IterableDataset):
        """Batches of transitions, or windows. Each worker of a DataLoader opens the file itself, and gives the steps of
        its share of the recording."""

        def __iter__(self) -> Iterator[Any]:
            worker = get_worker_info()
            number, workers = (0, 1) if worker is None else (worker.id, worker.num_workers)
            with again() as recording:
                least, most = first_seen(recording), int(recording.lengths.min())
                start, stop = (least + max(0, most - least) * k // workers for k in (number, number + 1))
                if start >= stop:
                    return
                if length is not None:
                    for window in recording.windows(length, start, stop):
                        yield {
                            "observation": window.previous(), "action": window.actions, "reward": window.rewards,
                            "next_observation": following(window), "terminated": window.terminations,
                            "truncated": window.truncations,
                        }  # fmt: skip
                    return
                seed = None if shuffle is None else [shuffle, number]
                yield from transitions(recording, batch_size, start, stop, seed, STEPS)  # pyright: ignore

    return RecordedSteps()


def checked(batch_size: Any, shuffle: Any) -> tuple[int, int | None]:
    """Both, if they are right. Raises TypeError or ValueError."""
    size = integer("batch_size", batch_size, 1, None)
    return size, None if shuffle is None else integer("shuffle", shuffle, 0, None, " (a seed, or None)")
