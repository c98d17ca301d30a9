"""A policy for LunarLander."""

import numpy as np


def land(observation):
    """Discrete actions that mostly bring the lander down safely, in the manner of Gymnasium's heuristic."""
    x, y, vx, vy, angle, spin, left, right = observation.T
    turn = (np.clip(x * 0.5 + vx, -0.4, 0.4) - angle) * 0.5 - spin
    rise = (0.55 * np.abs(x) - y) * 0.5 - vy * 0.5
    down = (left > 0) | (right > 0)
    turn, rise = np.where(down, 0, turn), np.where(down, -vy * 0.5, rise)
    aside = np.where(turn < -0.05, 3, np.where(turn > 0.05, 1, 0))
    return np.where((rise > np.abs(turn)) & (rise > 0.05), 2, aside)
