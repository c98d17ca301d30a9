"""Plans of episodes in recordings: written when they are made or changed, and followed again by replays."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from batchenv.backend.course import Course, Entries
from batchenv.backend.protocol import Backend
from batchenv.backend.snapshot import Snapshot
from batchenv.env.batch_env import BatchEnv
from batchenv.recordings.errors import RecordingError
from batchenv.recordings.values import to_json

_MOST_INT = 2**63


def describe_course(course: Course, backend: Backend) -> dict[str, Any]:
    """A plan as `values.pack` takes it. backend: the env's own.

    Raises:
        RecordingError: something of it cannot be written, or not be repeated.
    """
    entries = course.entries
    fields = set(entries.params or ()) & set(getattr(getattr(backend, "translator", None), "fields", ()))
    if fields:
        raise RecordingError(
            f"the plan sets {', '.join(sorted(fields))} of models, which snapshots do not hold, so that replays could "
            "not begin in the middle: record with observations=True"
        )
    snapshots = entries.snapshots
    described = {
        "size": entries.size,
        "seeds": _described_seeds(entries.seeds),
        "options": entries.options,
        "params": entries.params,
        "snapshots": snapshots and [None if one is None else (bytes(one[0]), one[1]) for one in snapshots],
        "labels": entries.labels if entries.labels is None or entries.labels.dtype != object else list(entries.labels),
        "order": course.order,
        "repeat": course.repeat,
        "weights": course.weights,
        "lanes": course.lanes,
        "key": course.key,
        "streams": course.streams,
        "tells": course.tells,
    }
    for name, value in described.items():
        try:
            to_json(value)
        except TypeError as problem:
            raise RecordingError(f"{name} of the plan: {problem}; record with observations=True") from None
    return described


def course_of(described: dict[str, Any]) -> Course:
    """The plan of which `describe_course` has made this."""
    parts = dict(described)
    seeds, labels, snapshots = parts.pop("seeds"), parts.pop("labels"), parts.pop("snapshots")
    if isinstance(labels, list):
        objects = np.empty(len(labels), object)
        objects[:] = labels
        labels = objects
    if snapshots is not None:  # of one `bytes` that many entries have, one Snapshot
        made: dict[bytes, Snapshot] = {}
        snapshots = [None if one is None else (made.setdefault(one[0], Snapshot(one[0])), one[1]) for one in snapshots]
    seeds = seeds.tolist() if isinstance(seeds, np.ndarray) else seeds
    entries = Entries(parts.pop("size"), seeds, parts.pop("options"), parts.pop("params"), snapshots, labels)
    return Course(entries=entries, **parts)


def _described_seeds(seeds: list[int | None] | None) -> Any:
    if seeds is None or any(seed is None or seed >= _MOST_INT for seed in seeds):
        return seeds
    return np.array(seeds, np.int64)


class Follower:
    """The plan that a replayed env follows."""

    def __init__(self, env: BatchEnv, backend: Backend, lanes: NDArray[np.int64]):
        self._env, self._backend, self._lanes = env, backend, lanes
        self.course: Course | None = None

    def follow(self, described: dict[str, Any] | None, places: NDArray[np.int64] | None) -> None:
        """Lets the env's lanes follow a plan, from the places that the recorded lanes had."""
        course = None if described is None else course_of(described)
        if course is None and self.course is None:
            return
        self._backend.set_plan(course, None if places is None else places[self._lanes])
        self._env._set_spaces(self._backend)
        self.course = course

    def weigh(self, weights: NDArray[np.float64]) -> None:
        """Sets other weights."""
        assert self.course is not None
        self.course = self.course._replace(weights=weights)
        self._backend.set_weights(self.course)

    def put(self, places: NDArray[np.int64], lanes: NDArray[np.int64]) -> None:
        """Sets the places of lanes of the env."""
        if self.course is not None and len(lanes):
            self._backend.put_places(places, lanes)
