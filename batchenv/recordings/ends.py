"""The ends of episodes, found among rewards and flags of many steps."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class Ends(NamedTuple):
    """Ends of episodes, sorted by lane and step. steps: counted from the beginning of the block, per lane. flags: 1:
    terminated, 2: truncated, 3: both. returns: sums of rewards since the episode began, or the recording did."""

    lanes: NDArray[Any]
    steps: NDArray[Any]
    flags: NDArray[np.uint8]
    returns: NDArray[Any]

    def arrays(self, lanes: int) -> dict[str, NDArray[Any]]:
        """What is written; nothing where no episode has ended. lanes: how many there are."""
        if not len(self.lanes):
            return {}
        returns = self.returns
        for dtype in (np.int8, np.int16, np.float32):
            with np.errstate(invalid="ignore", over="ignore"):
                small = returns.astype(dtype)
            if np.array_equal(small.astype(np.float64), returns):
                returns = small
                break
        # Many ends: how many each lane has. Few: the numbers of their lanes.
        many = len(self.lanes) > lanes // 2
        which = {"ec": _small(np.bincount(self.lanes, minlength=lanes))} if many else {"el": _small(self.lanes)}
        flags = self.flags[:1] if (self.flags == self.flags[0]).all() else self.flags
        return {**which, "es": _small(self.steps), "ef": flags, "er": returns}

    @classmethod
    def of(cls, arrays: dict[str, Any]) -> Ends:
        """Those that `arrays` has written."""
        if "es" not in arrays:
            nothing = np.empty(0, np.int64)
            return cls(nothing, nothing, nothing.astype(np.uint8), nothing.astype(np.float64))
        steps = arrays["es"].astype(np.int64)
        counts = arrays.get("ec")
        lanes = arrays["el"].astype(np.int64) if counts is None else np.repeat(np.arange(len(counts)), counts)
        return cls(lanes, steps, np.broadcast_to(arrays["ef"], len(steps)), arrays["er"].astype(np.float64))


def _small(values: NDArray[Any]) -> NDArray[Any]:
    most = int(values.max())
    return values.astype(
        next(dtype for dtype in (np.uint8, np.uint16, np.uint32, np.int64) if most <= np.iinfo(dtype).max)
    )


def flags_of(terminations: NDArray[Any], truncations: NDArray[Any]) -> NDArray[np.uint8]:
    """1: terminated, 2: truncated, 3: both."""
    return terminations.astype(np.uint8) | (truncations.astype(np.uint8) << np.uint8(1))


def sorted_ends(
    terminations: NDArray[np.bool_], truncations: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.uint8]]:
    """(lanes, steps, flags) of ends among steps (steps, lanes), sorted by lane and step."""
    over = terminations | truncations
    steps, lanes = np.divmod(np.flatnonzero(over.ravel()), over.shape[1])
    order = np.argsort(lanes.astype(np.uint16) if over.shape[1] <= 2**16 else lanes, kind="stable")
    steps, lanes = steps[order], lanes[order]
    return lanes, steps, flags_of(terminations[steps, lanes], truncations[steps, lanes])


class Returns:
    """Sums the rewards of the episodes that go on.

    so_far: float64 (lanes,).
    """

    def __init__(self, lanes: int):
        self.so_far = np.zeros(lanes)

    def of_steps(self, rewards: NDArray[Any], terminations: Any, truncations: Any) -> Ends:
        """Takes steps (steps, lanes), and returns the ends among them."""
        so_far, over = self.so_far.copy(), terminations | truncations
        steps, lanes = np.divmod(np.flatnonzero(over.ravel()), over.shape[1])
        found, begin = [], 0
        bounds = np.searchsorted(steps, np.arange(1, len(over) + 1)).tolist()
        for row, end in zip(rewards, bounds, strict=True):  # one by one, as the env adds them up
            so_far += row
            if end > begin:
                which = lanes[begin:end]
                found.append(so_far[which])
                so_far[which] = 0
                begin = end
        self.so_far = so_far
        if not found:
            return Ends.of({})
        order = np.argsort(lanes.astype(np.uint16) if over.shape[1] <= 2**16 else lanes, kind="stable")
        flags = flags_of(terminations[steps, lanes], truncations[steps, lanes])
        return Ends(lanes[order], steps[order], flags[order], np.concatenate(found)[order])

    def of_rows(self, lanes: NDArray[np.int64], steps: NDArray[np.int64], rewards: Any, flags: Any) -> Ends:
        """Takes a step of different lanes. steps: which one of the block this is for each."""
        self.so_far[lanes] += rewards
        over = np.flatnonzero(flags)
        ended = lanes[over]
        returns = self.so_far[ended].copy()
        self.so_far[ended] = 0
        return Ends(ended, steps[over], flags[over], returns)
