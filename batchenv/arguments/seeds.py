"""Checks the seeds that users pass, and remembers the seed of each lane."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from batchenv.arguments.numbers import integer

# Checked: an int s: lane i gets seed s + i; a list: one per lane, or None where its stream goes on; None: all go on.
Seeds: TypeAlias = int | list[int | None] | None


def entropy() -> int:
    """A seed from the operating system."""
    seed = np.random.SeedSequence().entropy
    assert isinstance(seed, int)  # as of all that were given none
    return seed


FIX = "pass an int from 0 on, as large as you like"


def read_seed(seed: Any, name: str = "seed", fix: str = FIX) -> int:
    """`seed` as an int from 0 on, which may be of any size, as `np.random.default_rng` takes it. All interfaces read
    seeds with this function. Integers of NumPy, and arrays and tensors that are one integer, are ints, too.

    Raises:
        TypeError, ValueError: it is something else. The message calls it `name`, and ends with `fix`.
    """
    return integer(name, seed, 0, None, f": {fix}")


def check_seed(seed: Any, count: int) -> Seeds:
    """`seed` of `count` lanes: None, an int, or a list of ints and None, one per lane.

    Raises:
        TypeError, ValueError: it is none of these; or as `read_seed`.
    """
    if seed is None:
        return None
    if isinstance(seed, (list, tuple, range)) or getattr(seed, "ndim", 0) > 0:
        if len(seed) != count:
            raise ValueError(
                f"If seeds are passed as a list the length must match num_envs={count} but got length={len(seed)}."
            )
        return [None if s is None else read_seed(s, f"seed[{i}]") for i, s in enumerate(seed)]
    return read_seed(seed)


def spawn_seeds(seed: int, count: int) -> list[int]:
    """Seeds of `count` lanes whose streams have nothing to do with those of any other seed: `env.reset(seed=
    batchenv.spawn_seeds(7, env.num_envs))`. With `reset(seed=7)`, lane 1 has the stream of lane 0 of `reset(seed=8)`,
    so that runs of neighbouring seeds share most of their episodes; with spawned seeds they share none.

    Args:
        seed: an int from 0 on, as large as you like.
        count: how many. The first ones do not depend on it.

    Returns:
        ints from 0 to 2**63 - 1, which every vector env takes in a list. Each has 63 bits of the state of one of the
        children that `numpy.random.SeedSequence(seed).spawn(count)` gives.

    Raises:
        TypeError, ValueError: a wrong seed or count.
    """
    children = np.random.SeedSequence(read_seed(seed)).spawn(integer("count", count, 1, None))
    return [int(child.generate_state(1, np.uint64)[0] >> np.uint64(1)) for child in children]


def lane_seeds(seed: Any, count: int) -> list[int | None]:
    """`seed` of `count` lanes, checked as `check_seed` does, as one per lane."""
    seeds = check_seed(seed, count)
    if isinstance(seeds, list):
        return seeds
    return [None if seeds is None else seeds + lane for lane in range(count)]


def adopt_stream(space: spaces.Space[Any], before: spaces.Space[Any]) -> None:
    """Has a space go on with the random stream of the space that it replaces, so that what was seeded stays so."""
    if type(space) is not type(before):
        return
    space._np_random = before._np_random
    if isinstance(space, spaces.Dict) and isinstance(before, spaces.Dict):
        for name in space.keys() & before.keys():
            adopt_stream(space[name], before[name])
    elif isinstance(space, spaces.Tuple) and isinstance(before, spaces.Tuple):
        for part, old in zip(space, before, strict=False):
            adopt_stream(part, old)


class Seeder:
    """The seed of each of `count` lanes, as of its last seeded reset.

    first: the seeds of the first reset to which none are passed; None: some from the operating system.
    known: None before the first reset; an int s: lane i has s + i; a list: one per lane.
    """

    def __init__(self, count: int, first: Seeds):
        self.known: int | Sequence[int] | None = None
        self._count = count
        self._first = first

    def fill(self, seeds: Seeds) -> Seeds:
        """The checked `seeds` of a reset, completed with seeds for lanes that have none yet."""
        if self.known is not None:
            return seeds
        if seeds is None:
            return self._first if self._first is not None else entropy()
        if isinstance(seeds, list) and None in seeds:
            base = entropy()
            return [base + i if s is None else s for i, s in enumerate(seeds)]
        return seeds

    def note(self, seeds: Seeds, mask: NDArray[np.bool_] | None) -> None:
        """Notes that the lanes of `mask` (None: all) were reset with these seeds (None: their streams go on)."""
        if seeds is None:
            return
        if isinstance(seeds, int) and mask is None:
            self.known = seeds
            return
        known = [0] * self._count if self.known is None else list(self.of_lanes())  # 0: until the next lines
        chosen = range(self._count) if mask is None else np.flatnonzero(mask).tolist()
        for i in chosen:
            new = seeds + i if isinstance(seeds, int) else seeds[i]
            if new is not None:
                known[i] = new
        self.known = known

    def of_lanes(self) -> tuple[int, ...]:
        """One seed per lane, after the first reset."""
        if isinstance(self.known, int):
            return tuple(range(self.known, self.known + self._count))
        return tuple(self.known or ())
