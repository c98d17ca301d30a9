"""Rows of several calls as those of one: what lanes of several tasks say, and lanes in flight."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from batchenv.backend.lanes import rows_of
from batchenv.backend.protocol import Step

Places = list[NDArray[np.int64]]  # of each call, which rows of the whole its own are


class Landed(NamedTuple):
    """Lanes that have done what they were sent to do, and the result.

    failed: the lanes among them that have failed. texts: why, of the first of them. causes: {lane: the exception}.
    """

    lanes: NDArray[np.int64]
    result: Step
    failed: NDArray[np.int64]
    texts: list[str]
    causes: dict[int, BaseException]

    def split(self, count: int) -> tuple[Landed, Landed]:
        """The first `count` lanes, and the others."""
        parts = []
        for chosen in (slice(None, count), slice(count, None)):
            lanes = self.lanes[chosen]
            there = np.isin(self.failed, lanes)
            texts = [text for text, mine in zip(self.texts, there, strict=False) if mine]
            causes = {lane: cause for lane, cause in self.causes.items() if lane in lanes}
            result = (*rows_of(self.result[:4], chosen), rows_of(dict(self.result[4]), chosen))
            parts.append(Landed(lanes, result, self.failed[there], texts, causes))
        return parts[0], parts[1]


def together(several: list[Landed], in_order: bool) -> Landed:
    """As one. in_order: rows are to be in the order of the lanes."""
    lanes = np.concatenate([one.lanes for one in several])
    order = np.argsort(lanes, kind="stable") if in_order else np.arange(len(lanes))
    if len(several) == 1 and (order == np.arange(len(lanes))).all():
        return several[0]
    rank = np.empty(len(lanes), np.int64)
    rank[order] = np.arange(len(lanes))
    places = np.split(rank, np.cumsum([len(one.lanes) for one in several])[:-1])
    arrays = [joined_values([one.result[k] for one in several], places, len(lanes)) for k in range(4)]
    infos = joined_infos([dict(one.result[4]) for one in several], places, len(lanes))
    return Landed(
        lanes[order],
        (arrays[0], arrays[1], arrays[2], arrays[3], infos),
        np.concatenate([one.failed for one in several]),
        [text for one in several for text in one.texts],
        {lane: cause for one in several for lane, cause in one.causes.items()},
    )


def joined_values(values: list[Any], places: Places, total: int) -> Any:
    """Arrays, or dicts or tuples of such, as those of one call of `total` rows."""
    first = values[0]
    if isinstance(first, dict):
        return {name: joined_values([value[name] for value in values], places, total) for name in first}
    if isinstance(first, tuple):
        return tuple([joined_values(list(part), places, total) for part in zip(*values, strict=True)])
    if first.dtype == object:
        whole = np.full((total, *first.shape[1:]), None, object)
    else:
        whole = np.zeros((total, *first.shape[1:]), np.result_type(*values))
    for value, mine in zip(values, places, strict=True):
        whole[mine] = value
    return whole


def joined_infos(several: list[dict[str, Any]], places: Places, total: int) -> dict[str, Any]:
    """Infos in Gymnasium's form as those of one call: 0, False or None where a call has not said something."""
    infos: dict[str, Any] = {}
    for name in dict.fromkeys(name for one in several for name in one):
        having = [(one[name], mine) for one, mine in zip(several, places, strict=True) if name in one]
        values, mine = [value for value, _ in having], [rows for _, rows in having]
        join = joined_infos if isinstance(values[0], dict) else joined_values
        infos[name] = join(values, mine, total)
    return infos
