"""Checksums of what lanes return, one per lane, which are as quick as reading the memory.

A sum of words times odd random numbers, modulo 2**64: a single word that differs always changes it, and others escape
its upper half once in 2**32 times.
"""

from __future__ import annotations

import functools
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from batchenv.text import Texts

_FACTOR, _MIXER = 0x9E6C63D0876A9A47, 0xD1B54A32D192ED03  # odd
_WORD = np.uint64
Sums = NDArray[np.uint64]


@functools.cache
def _weights(count: int) -> Sums:
    """Odd random numbers, the same ones for ever."""
    return np.random.Generator(np.random.PCG64(20261127)).integers(0, 2**64, count, _WORD) | _WORD(1)


@functools.cache
def _powers(count: int) -> Sums:
    """The factors of the first to last of `count` steps."""
    powers = [1]
    for _ in range(count):
        powers.append(powers[-1] * _FACTOR % 2**64)
    return np.array(powers[::-1], _WORD)


def over_steps(before: Sums, words: NDArray[Any]) -> Sums:
    """Sums (lanes,) after further steps. words: (steps, lanes), uint64 or uint32."""
    powers = _powers(len(words))
    return before * powers[0] + np.einsum("t,tn->n", powers[1:], words)


def words_of(rewards: NDArray[Any]) -> NDArray[Any]:
    """The bits of rewards as integers."""
    rewards = np.ascontiguousarray(rewards)
    return rewards.view(np.uint64 if rewards.itemsize == 8 else np.uint32)


def of_rows(values: Any) -> Sums:
    """A sum of each row of an array, or of texts."""
    if isinstance(values, Texts):
        values = values.codes
    elif isinstance(values, (tuple, list)) or values.dtype.kind in "OUS":
        values = np.array([zlib.crc32(str(value).encode()) for value in values], np.uint64)
    rows = len(values)
    flat = np.ascontiguousarray(values).reshape(rows, -1)
    width = flat.shape[1] * flat.itemsize
    if width % 8:
        wide = np.zeros((rows, -(-width // 8) * 8), np.uint8)
        wide[:, :width] = flat.view(np.uint8)
        flat = wide
    words = flat.view(np.uint64)
    if words.shape[1] <= 8:  # the columns of few numbers are quicker one by one
        weights = _weights(8)
        total = words[:, 0] * weights[0] if words.shape[1] else np.zeros(rows, _WORD)
        for k in range(1, words.shape[1]):
            total += words[:, k] * weights[k]
        return total
    return np.einsum("nk,k->n", words, _weights(words.shape[1]))


def of_parts(parts: Sequence[Any]) -> Sums:
    """A sum of each row of several arrays of as many rows."""
    total = of_rows(parts[0])
    for part in parts[1:]:
        total = total * _WORD(_FACTOR) + of_rows(part)
    return total


def added(before: Sums, rows: Sums) -> Sums:
    """Sums after one more step."""
    return before * _WORD(_FACTOR) + rows


def halves(sums: Sums) -> NDArray[np.uint32]:
    """What is written: the upper halves, after a multiplication by which every bit of a sum reaches them."""
    return (sums * _WORD(_MIXER) >> _WORD(32)).astype(np.uint32)
