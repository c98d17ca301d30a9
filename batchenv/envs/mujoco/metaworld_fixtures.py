"""Those of Meta-World's tasks in which the hand moves something that is fixed to the table, or slides on it."""

from __future__ import annotations

import numpy as np

from batchenv.envs.mujoco.metaworld import Sawyer

_DEEP_LOW, _DEEP_HIGH = (-0.5, 0.40, -0.15), (0.5, 1, 0.5)  # bounds of the goal where the hand may go deeper


class SawyerCoffeeButton(Sawyer):
    """Meta-World/coffee-button-v3."""

    file, body = "sawyer_coffee", "coffee_machine"
    low, high = (-0.1, 0.8, -0.001), (0.1, 0.9, 0.001)
    goal_low = (-0.1 + -0.001, 0.8 + (-0.22 + 0.03), -0.001 + 0.299)
    goal_high = (0.1 + 0.001, 0.9 + (-0.22 + 0.03), 0.001 + 0.301)


class SawyerDialTurn(Sawyer):
    """Meta-World/dial-turn-v3."""

    file, body = "sawyer_dial", "dial"
    low, high = (-0.1, 0.7, 0.0), (0.1, 0.8, 0.0)
    goal_low, goal_high = (-0.1, 0.73, 0.0299), (0.1, 0.83, 0.0301)


class SawyerDoorClose(Sawyer):
    """Meta-World/door-close-v3."""

    file, body = "sawyer_door_pull", "door"
    low, high = (0.0, 0.85, 0.15), (0.1, 0.95, 0.15)
    goal_low, goal_high = (0.2, 0.65, 0.1499), (0.3, 0.75, 0.1501)


class SawyerDoorLock(Sawyer):
    """Meta-World/door-lock-v3."""

    file, body = "sawyer_door_lock", "door"
    low, high = (-0.1, 0.8, 0.15), (0.1, 0.85, 0.15)
    goal_low, goal_high = _DEEP_LOW, _DEEP_HIGH


class SawyerDoorUnlock(SawyerDoorLock):
    """Meta-World/door-unlock-v3."""

    goal_low, goal_high = (0.0, 0.64, 0.21), (0.2, 0.7, 0.2111)


class SawyerFaucetOpen(Sawyer):
    """Meta-World/faucet-open-v3."""

    file, body, site = "sawyer_faucet", "faucetBase", "goal_open"
    low, high = (-0.05, 0.8, 0.0), (0.05, 0.85, 0.0)
    goal_low, goal_high = _DEEP_LOW, _DEEP_HIGH


class SawyerFaucetClose(SawyerFaucetOpen):
    """Meta-World/faucet-close-v3."""

    site = "goal_close"
    low, high = (-0.1, 0.8, 0.0), (0.1, 0.85, 0.0)


class SawyerHandlePull(Sawyer):
    """Meta-World/handle-pull-v3."""

    file, body = "sawyer_handle_press", "box"
    low, high = (-0.1, 0.8, -0.001), (0.1, 0.9, 0.001)
    goal_low, goal_high = (-0.1, 0.55, 0.04), (0.1, 0.70, 0.18)


class SawyerHandlePullSide(Sawyer):
    """Meta-World/handle-pull-side-v3."""

    file, body = "sawyer_handle_press_sideways", "box"
    low, high = (-0.35, 0.65, 0.0), (-0.25, 0.75, 0.0)


class SawyerLeverPull(Sawyer):
    """Meta-World/lever-pull-v3."""

    file, body = "sawyer_lever_pull", "lever"
    low, high = (-0.1, 0.7, 0.0), (0.1, 0.8, 0.0)
    goal_low, goal_high = _DEEP_LOW, _DEEP_HIGH


class SawyerPegUnplugSide(Sawyer):
    """Meta-World/peg-unplug-side-v3."""

    file, body = "sawyer_peg_unplug_side", "box"
    low, high = (-0.25, 0.6, -0.001), (-0.15, 0.8, 0.001)
    goal_low, goal_high = (-0.25 + 0.194, 0.6, -0.001 + 0.131), (-0.15 + 0.194, 0.8, 0.001 + 0.131)


class SawyerPlateSlide(Sawyer):
    """Meta-World/plate-slide-v3."""

    file, body = "sawyer_plate_slide", "puck_goal"
    low, high = (0.0, 0.6, 0.0, -0.1, 0.85, 0.0), (0.0, 0.6, 0.0, 0.1, 0.9, 0.0)
    goal_low, goal_high = low[3:], high[3:]


class SawyerPlateSlideSide(Sawyer):
    """Meta-World/plate-slide-side-v3."""

    file = "sawyer_plate_slide_sideway"
    low, high = (0.0, 0.6, 0.0, -0.3, 0.54, 0.0), (0.0, 0.6, 0.0, -0.25, 0.66, 0.0)
    goal_low, goal_high = low[3:], high[3:]


class SawyerPlateSlideBack(Sawyer):
    """Meta-World/plate-slide-back-v3."""

    file = "sawyer_plate_slide"
    low, high = (0.0, 0.85, 0.0, -0.1, 0.6, 0.015), (0.0, 0.85, 0.0, 0.1, 0.6, 0.015)
    goal_low, goal_high = low[3:], high[3:]


class SawyerPlateSlideBackSide(Sawyer):
    """Meta-World/plate-slide-back-side-v3."""

    file, body = "sawyer_plate_slide_sideway", "puck_goal"
    low, high = (-0.25, 0.6, 0.0, -0.05, 0.6, 0.015), (-0.25, 0.6, 0.0, 0.15, 0.6, 0.015)
    goal_low, goal_high = low[3:], high[3:]


class SawyerSweep(Sawyer):
    """Meta-World/sweep-v3."""

    file, presses = "sawyer_sweep_v3", True
    low, high = (-0.1, 0.6, 0.02), (0.1, 0.7, 0.02)
    goal_low, goal_high = (0.49, 0.6, 0.0), (0.51, 0.7, 0.02)


class SawyerSweepInto(Sawyer):
    """Meta-World/sweep-into-v3."""

    file, presses = "sawyer_table_with_hole", True
    low, high = (-0.1, 0.6, 0.02, -0.001, 0.8399, 0.0199), (0.1, 0.7, 0.02, 0.001, 0.8401, 0.0201)
    goal_low, goal_high = low[3:], high[3:]

    def _fits(self, goal):
        """The hole is where the goal of the model is, not where the numbers say."""
        return bool(np.linalg.norm(goal[:2] - np.array([0.0, 0.84])) >= 0.15)
