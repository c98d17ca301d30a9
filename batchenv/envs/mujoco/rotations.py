"""Rotations with the roundings of gymnasium-robotics: quaternions w, x, y, z, and angles around x, y and z. All take
arrays whose last axis holds one."""

from __future__ import annotations

import functools
import itertools

import numpy as np
from numpy.typing import NDArray

_EPSILON = np.finfo(np.float64).eps
_Array = NDArray[np.float64]


def _matrix_of_angles(angles: _Array) -> _Array:
    i, j, k = -angles[2], -angles[1], -angles[0]
    si, sj, sk = np.sin(i), np.sin(j), np.sin(k)
    ci, cj, ck = np.cos(i), np.cos(j), np.cos(k)
    return np.array(
        [
            [cj * ci, cj * si, -sj],
            [sj * (ci * sk) - si * ck, sj * (si * sk) + ci * ck, cj * sk],
            [sj * (ci * ck) + si * sk, sj * (si * ck) - ci * sk, cj * ck],
        ]
    )


def _angles_of_matrix(matrix: _Array) -> _Array:
    m = matrix
    length = np.sqrt(m[..., 2, 2] * m[..., 2, 2] + m[..., 1, 2] * m[..., 1, 2])
    regular = length > 4 * _EPSILON
    x = np.where(regular, -np.arctan2(m[..., 1, 2], m[..., 2, 2]), 0.0)
    y = -np.arctan2(-m[..., 0, 2], length)
    z = np.where(regular, -np.arctan2(m[..., 0, 1], m[..., 0, 0]), -np.arctan2(-m[..., 1, 0], m[..., 1, 1]))
    return np.stack([x, y, z], axis=-1)


def angles_of(quat: _Array) -> _Array:
    """The angles of quaternions, which need not have length 1."""
    w, x, y, z = np.moveaxis(quat, -1, 0)
    squares = np.sum(quat * quat, axis=-1)
    with np.errstate(all="ignore"):
        s = 2.0 / squares
        xs, ys, zs = x * s, y * s, z * s
        rows = [
            [1.0 - (y * ys + z * zs), x * ys - w * zs, x * zs + w * ys],
            [x * ys + w * zs, 1.0 - (x * xs + z * zs), y * zs - w * xs],
            [x * zs - w * ys, y * zs + w * xs, 1.0 - (x * xs + y * ys)],
        ]
    matrix = np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)
    return _angles_of_matrix(np.where((squares > _EPSILON)[..., None, None], matrix, np.eye(3)))


def quat_of(angles: _Array) -> _Array:
    """The quaternions of angles."""
    i, j, k = angles[..., 2] / 2, -angles[..., 1] / 2, angles[..., 0] / 2
    si, sj, sk = np.sin(i), np.sin(j), np.sin(k)
    ci, cj, ck = np.cos(i), np.cos(j), np.cos(k)
    w, x = cj * (ci * ck) + sj * (si * sk), cj * (ci * sk) - sj * (si * ck)
    y, z = -(cj * (si * sk) + sj * (ci * ck)), cj * (si * ck) - sj * (ci * sk)
    return np.stack([w, x, y, z], axis=-1)


def angle_between(a: _Array, b: _Array) -> _Array:
    """The angles from quaternions to others, all of length 1."""
    products = np.moveaxis(a * b, -1, 0)
    cosine = products[0] + products[1] + products[2] + products[3]
    return 2 * np.arccos(np.clip(cosine, -1.0, 1.0))


@functools.cache
def parallel() -> _Array:
    """(24, 4): all rotations by quarters of a turn around any axes, in the reference's order."""
    quarter, found = np.pi / 2, []
    for turns in itertools.product((0, quarter, -quarter, np.pi), repeat=3):
        angles = np.round(_angles_of_matrix(_matrix_of_angles(np.array(turns))) / quarter)
        angles[[0, 2]] = np.where(angles[[0, 2]] == -2, 2, angles[[0, 2]])
        angles *= quarter
        if all((angles != other).any() for other in found):
            found.append(angles)
    quats = np.array([quat_of(angles) for angles in found])
    quats.flags.writeable = False
    return quats
