"""Formulas over many lanes. Quaternions are MuJoCo's: (w, x, y, z), of length 1."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


def rotate_inverse(quaternions: ArrayLike, vectors: ArrayLike) -> Floats:
    """Vectors (n, 3) of the world in the frames of bodies whose orientations are `quaternions` (n, 4); with vectors
    (n, things, 3), those of several things of each lane."""
    quaternions, vectors = np.asarray(quaternions, np.float64), np.asarray(vectors, np.float64)
    if quaternions.ndim == 2 and vectors.ndim == 3:
        quaternions = quaternions[:, None]
    real, imaginary = quaternions[..., :1], -quaternions[..., 1:]
    twice = 2 * np.cross(imaginary, vectors)
    return vectors + real * twice + np.cross(imaginary, twice)


def projected_gravity(quaternions: ArrayLike) -> Floats:
    """Where down is for bodies of these orientations (n, 4): unit vectors (n, 3); (0, 0, -1) for one that is upright.
    The angle by which it is tilted is `np.arccos(-projected_gravity(q)[:, 2])`."""
    w, x, y, z = np.moveaxis(np.asarray(quaternions, np.float64), -1, 0)
    return np.stack([2 * (w * y - x * z), -2 * (w * x + y * z), 2 * (x * x + y * y) - 1], axis=-1)


def yaw_of(quaternions: ArrayLike) -> Floats:
    """Where bodies of these orientations (n, 4) head: angles around the vertical, rad, (n,)."""
    w, x, y, z = np.moveaxis(np.asarray(quaternions, np.float64), -1, 0)
    return np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))


def wrap(angles: ArrayLike) -> Floats:
    """The same angles, from -pi to pi, rad."""
    return np.remainder(np.asarray(angles, np.float64) + np.pi, 2 * np.pi) - np.pi


def tracking(squared_error: ArrayLike, sigma: ArrayLike) -> Floats:
    """The usual reward for following a command: exp(-squared_error / sigma), which is 1 without an error."""
    return np.exp(-np.divide(squared_error, sigma))


def joint_limits(model: Any, factor: float = 1.0) -> tuple[Floats, Floats]:
    """The lower and upper limits of all hinges and slides of a mjModel, in its order, brought nearer to their middle by
    `factor`; infinite where a joint has none."""
    single = model.jnt_type >= 2  # mjJNT_SLIDE, mjJNT_HINGE
    low, high = model.jnt_range[single].T
    middle, half = (low + high) / 2, factor * (high - low) / 2
    free = model.jnt_limited[single] == 0
    return np.where(free, -np.inf, middle - half), np.where(free, np.inf, middle + half)


def beyond(values: ArrayLike, low: ArrayLike, high: ArrayLike) -> Floats:
    """By how much numbers (n, ...) are beyond their limits, summed up for each lane: (n,)."""
    values = np.asarray(values, np.float64)
    over = np.maximum(np.subtract(low, values), 0) + np.maximum(np.subtract(values, high), 0)
    return over.reshape(len(values), -1).sum(axis=1)
