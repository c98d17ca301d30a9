"""What several batches return, as one batch of all their lanes returns it."""

import numpy as np

from helpers.parity import assert_same


def firsts(apart):
    return np.cumsum([0, *(env.num_envs for env in apart)])


def rows(apart, values):
    """The rows of each batch."""
    return [values[a:b] for a, b in zip(firsts(apart), firsts(apart)[1:], strict=False)]


def together(results):
    """What several batches return, as one returns it. An info that a batch has not said is 0 there, or None."""
    if isinstance(results[0], tuple):
        return tuple(map(together, zip(*results, strict=True)))
    if not isinstance(results[0], dict):
        return np.concatenate(results)
    infos = {}
    for name in dict.fromkeys(name for one in results for name in one):
        found = next(one[name] for one in results if name in one)
        blank = {"t": np.zeros(1)} if isinstance(found, dict) else found
        infos[name] = together([one.get(name, empty_like(blank, k)) for k, one in enumerate(results)])
    return infos


LANES = []  # how many each batch has, for infos that one of them lacks


def empty_like(value, k):
    if isinstance(value, dict):
        return {name: empty_like(part, k) for name, part in value.items()}
    return np.full((LANES[k], *value.shape[1:]), None if value.dtype == object else 0, value.dtype)


def plain(value):
    """Infos without times, which no two batches share, and with final observations as arrays that can be compared."""
    if isinstance(value, tuple):
        return tuple(map(plain, value))
    if isinstance(value, dict):
        return {name: plain(part) for name, part in value.items() if name != "t"}
    return [None if row is None else np.asarray(row).tolist() for row in value] if value.dtype == object else value


def assert_alike(mine, theirs):
    mine, theirs = plain(mine), plain(together(theirs))
    if isinstance(mine, tuple):
        for one, other in zip(mine, theirs, strict=True):
            assert_alike_part(one, other)
    else:
        assert_alike_part(mine, theirs)


def assert_alike_part(one, other):
    if isinstance(one, dict):
        assert sorted(one) == sorted(other)
        for name in one:
            assert_alike_part(one[name], other[name])
    elif isinstance(one, list):
        assert one == other
    else:
        assert one.dtype == other.dtype
        assert_same(one, other)


def start(apart, seed):
    LANES[:] = [env.num_envs for env in apart]
    return [env.reset(seed=seed + int(first)) for env, first in zip(apart, firsts(apart), strict=False)]
