"""Minari: datasets of recorded episodes, and the episodes of datasets played again."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium.error import DependencyNotInstalled
from numpy.typing import NDArray

from batchenv.arguments.numbers import brief
from batchenv.make import make
from batchenv.recordings import leaves
from batchenv.recordings.reading import Reading
from batchenv.recordings.trajectories import chosen_episodes, trajectories
from batchenv.spaces import nested


def _library() -> Any:
    try:
        import minari  # pyright: ignore[reportMissingImports]
    except ImportError as error:
        raise DependencyNotInstalled('Minari datasets need minari: pip install "batchenv[recordings]"') from error
    return minari


def export(recording: Reading, dataset_id: str, episodes: Any, metadata: dict[str, Any]) -> Any:
    """See `Recording.to_minari`."""
    minari = _library()
    from minari.data_collector import EpisodeBuffer  # pyright: ignore[reportMissingImports]

    table = recording.episodes
    numbers = np.flatnonzero(table.complete) if episodes is None else chosen_episodes(episodes, len(table.lanes))
    if not len(numbers):
        raise ValueError(
            f"{recording.path} has no episode from beginning to end: name others, as episodes=[0], or record longer"
            if episodes is None
            else f"episodes={brief(episodes)} chooses no episode: name at least one of the {len(table.lanes)}"
        )
    buffers = []
    for one in sorted(trajectories(recording, numbers), key=lambda one: one.number):
        seed = int(table.seeds[one.number])
        buffers.append(
            EpisodeBuffer(
                seed=None if seed < 0 else seed, observations=_listed(one.observations), actions=_listed(one.actions),
                rewards=one.rewards.tolist(), terminations=one.terminations.tolist(),
                truncations=one.truncations.tolist(), infos=_infos(one.infos, one.observations),
            )
        )  # fmt: skip
    if not buffers:
        raise ValueError(
            "of these episodes nothing is known but their first step, and not what the lane saw before it: name others"
        )
    keywords: dict[str, Any] = {
        "observation_space": recording.single_observation_space,
        "action_space": recording.single_action_space,
    }
    if "jpeg_encoding" in inspect.signature(minari.create_dataset_from_buffers).parameters:
        keywords["jpeg_encoding"] = False
    return minari.create_dataset_from_buffers(dataset_id, buffers, **{**keywords, **metadata})


def _listed(part: Any) -> Any:
    """Texts as lists, since Minari knows no arrays of objects."""
    return nested.each(lambda leaf: leaf.tolist() if leaf.dtype.hasobject else leaf, part)


def _infos(infos: dict[str, NDArray[Any]], observations: Any) -> dict[str, Any] | None:
    """As Minari has them: with a row for the reset, of which recordings have no infos; it is the first step's."""
    del observations
    found = {name.replace("/", "."): np.concatenate([values[:1], values]) for name, values in infos.items()}
    return found or None


def check_minari(
    dataset: Any, env_id: str | None = None, *, episodes: Sequence[int] | None = None, **kwargs: Any
) -> dict[str, NDArray[Any]]:
    """Plays the actions of a Minari dataset's episodes again, all of them at once, a lane each, and compares what comes
    out with what the dataset has.

    Args:
        dataset: a `minari.MinariDataset`, or the id of one that is here.
        env_id: of the env; None: the dataset's own.
        episodes: their numbers; None: all that have a seed.
        kwargs: keywords of `batchenv.make`.

    Returns:
        {name: array with a row per episode}: "episodes": their numbers; "steps": how many they have;
        "same_steps": how many from the beginning on give the same observations, rewards and flags, bit for bit;
        "observation_difference", "reward_difference": the largest in the steps that both have.

    Raises:
        gymnasium.error.DependencyNotInstalled: Minari is missing.
        ValueError: no episode has a seed, so that nobody knows how it began; or the dataset names no env.
    """
    minari = _library()
    if isinstance(dataset, str):
        dataset = minari.load_dataset(dataset)
    if env_id is None:
        if dataset.env_spec is None:
            raise ValueError("this dataset does not say which env it is of: say env_id=")
        env_id = dataset.env_spec.id
    numbers = [int(number) for number in (dataset.episode_indices if episodes is None else episodes)]
    about = dataset.storage.get_episode_metadata(numbers)
    seeds = {number: one["seed"] for number, one in zip(numbers, about, strict=True) if one.get("seed") is not None}
    found = list(dataset.iterate_episodes(list(seeds))) if seeds else []
    if not found:
        raise ValueError("no episode of this dataset has a seed, without which nobody knows how it began")
    env = make(str(env_id), len(found), **{"autoreset_mode": "Disabled", **kwargs})
    try:
        return _compared(env, found, [int(seeds[int(one.id)]) for one in found])
    finally:
        env.close()


def _compared(env: Any, episodes: list[Any], seeds: list[int]) -> dict[str, NDArray[Any]]:
    lengths = np.array([len(one.rewards) for one in episodes])
    same = np.zeros(len(episodes), np.int64)
    right = np.ones(len(episodes), np.bool_)
    worst = np.zeros((2, len(episodes)))
    observations, _ = env.reset(seed=seeds)
    for lane, one in enumerate(episodes):
        right[lane] = _differs(_row(observations, lane), _row(one.observations, 0), worst[0], lane) == 0
    over = np.zeros(len(episodes), np.bool_)
    for step in range(int(lengths.max())):
        lanes = np.flatnonzero((lengths > step) & ~over)
        if not len(lanes):
            break
        rows = [_row(episodes[lane].actions, step) for lane in lanes.tolist()]
        flat = [np.stack(column) for column in zip(*map(leaves.flat, map(_arrays, rows)), strict=True)]
        result = env.step(leaves.nested_as(_arrays(rows[0]), flat), lanes)
        for k, lane in enumerate(lanes.tolist()):
            one = episodes[lane]
            off = _differs(_row(result[0], k), _row(one.observations, step + 1), worst[0], lane)
            off += _differs(result[1][k], one.rewards[step], worst[1], lane)
            flags = (bool(result[2][k]), bool(result[3][k]))
            agrees = flags[0] == bool(one.terminations[step]) and (
                flags[1] or not one.truncations[step] or step + 1 == lengths[lane]
            )
            right[lane] &= off == 0 and agrees
            same[lane] += right[lane]
            over[lane] = flags[0] or flags[1]
    numbers = np.array([one.id for one in episodes])
    return {
        "episodes": numbers, "steps": lengths, "same_steps": same, "observation_difference": worst[0],
        "reward_difference": worst[1],
    }  # fmt: skip


def _row(tree: Any, row: int) -> Any:
    return nested.each(lambda leaf: leaf[row], tree)


def _arrays(tree: Any) -> Any:
    return nested.each(np.asarray, tree)


def _differs(one: Any, other: Any, worst: NDArray[np.float64], lane: int) -> int:
    """How many leaves differ; notes the largest difference of numbers."""
    count = 0
    for mine, theirs in zip(leaves.flat(_arrays(one)), leaves.flat(_arrays(other)), strict=True):
        if mine.dtype.kind in "biuf" and theirs.dtype.kind in "biuf":
            difference = np.abs(mine.astype(np.float64) - theirs.astype(np.float64))
            worst[lane] = max(worst[lane], float(difference.max(initial=0.0)))
        count += not np.array_equal(mine, theirs)
    return count
