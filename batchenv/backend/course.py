"""A plan of episodes as backends take it; `BatchEnv.plan` says what its parts mean."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from batchenv.backend.snapshot import Snapshot


class Entries(NamedTuple):
    """Each is None where entries say nothing of the kind, or has something for each of the `size` entries.

    Attributes:
        options: of resets; None for an entry that has none.
        params: {name: array (size, ...)}.
        snapshots: (a snapshot, which of its lanes), or None for an entry that has none.
        labels: (size,), of any dtype.
    """

    size: int
    seeds: list[int | None] | None = None
    options: list[dict[str, Any] | None] | None = None
    params: dict[str, NDArray[Any]] | None = None
    snapshots: list[tuple[Snapshot, int] | None] | None = None
    labels: NDArray[Any] | None = None

    def and_then(self, more: Entries) -> Entries:
        """These and others after them, which say the same kinds of things.

        Raises:
            ValueError: they do not.
        """
        joined: dict[str, Any] = {}
        for name in self._fields[1:]:
            one, other = getattr(self, name), getattr(more, name)
            if (one is None) != (other is None):
                has, lacks = ("present", "new") if other is None else ("new", "present")
                raise ValueError(f"the {has} entries of the plan have {name}, and the {lacks} ones have none")
            if one is None:
                continue
            if name == "params":
                if one.keys() != other.keys():
                    raise ValueError(f"params of new entries are {sorted(other)}, but the plan's are {sorted(one)}")
                joined[name] = {key: np.concatenate([one[key], other[key]]) for key in one}
            elif name == "labels":
                joined[name] = np.concatenate([_of_one_kind(one, other), _of_one_kind(other, one)])
            else:
                joined[name] = one + other
        return Entries(self.size + more.size, **joined)

    def labels_and_none(self) -> NDArray[Any] | None:
        """The labels, and a last one for episodes that are not of the plan: 0, False, "" or, of objects, None."""
        if self.labels is None:
            return None
        none = np.full(1, None, object) if self.labels.dtype == object else np.zeros(1, self.labels.dtype)
        return np.concatenate([self.labels, none])


def _of_one_kind(labels: NDArray[Any], others: NDArray[Any]) -> NDArray[Any]:
    """Labels as an array that keeps what they are when it is joined with others."""
    if labels.dtype.kind == others.dtype.kind:
        return labels
    objects = np.empty(len(labels), object)
    objects[:] = labels.tolist()
    return objects


class Course(NamedTuple):
    """Entries, and the order in which they come.

    Attributes:
        weights: for "sampled" (count,) or (streams, count), else None.
        lanes: (count,), the lane of each entry; None: they are dealt to all.
        key: 64 random bits. streams: how many lanes the env has.
        tells: whether steps say of which entries episodes were that end.
    """

    entries: Entries
    order: str
    repeat: bool
    weights: NDArray[np.float64] | None
    lanes: NDArray[np.int64] | None
    key: int
    streams: int
    tells: bool

    def sums(self) -> NDArray[np.float64] | None:
        """Running sums of the weights."""
        return None if self.weights is None else np.cumsum(self.weights, axis=-1)

    def lists(self) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
        """Where each lane's list of entries starts, and the entries."""
        if self.lanes is None:
            return None
        counts = np.bincount(self.lanes, minlength=self.streams)
        return np.concatenate([[0], np.cumsum(counts)]), np.argsort(self.lanes, kind="stable")
