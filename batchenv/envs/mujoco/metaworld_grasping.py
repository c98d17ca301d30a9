"""Tasks of Meta-World in which an arm takes hold of something, or pushes it with what it holds."""

from __future__ import annotations

from batchenv.envs.mujoco.metaworld import Sawyer


class SawyerAssembly(Sawyer):
    """Meta-World/assembly-v3."""

    file, body, site = "sawyer_assembly_peg", "peg", "pegTop"
    low, high, apart = (0, 0.6, 0.02, -0.1, 0.75, 0.1), (0, 0.6, 0.02, 0.1, 0.85, 0.1), 0.1
    goal_low, goal_high = low[3:], high[3:]


class SawyerDisassemble(SawyerAssembly):
    """Meta-World/disassemble-v3."""

    marked = "mark"
    low, high = (0.0, 0.6, 0.025, -0.1, 0.6, 0.1699), (0.1, 0.75, 0.02501, 0.1, 0.75, 0.1701)
    goal_low, goal_high = (-0.1, 0.6, 0.1699 + 0.005), (0.1, 0.75, 0.1701 + 0.005)


class SawyerBasketball(Sawyer):
    """Meta-World/basketball-v3."""

    file, body = "sawyer_basketball", "basket_goal"
    low, high, apart = (-0.1, 0.6, 0.0299, -0.1, 0.85, 0.0), (0.1, 0.7, 0.0301, 0.1, 0.9 + 1e-7, 0.0), 0.15
    goal_low, goal_high = (-0.1, 0.85 - 0.083, 0.2499), (0.1, 0.9 + 1e-7 - 0.083, 0.2501)


class SawyerBinPicking(Sawyer):
    """Meta-World/bin-picking-v3."""

    file, site = "sawyer_bin_picking", ""
    low, high = (-0.21, 0.65, 0.02, 0.1199, 0.699, -0.001), (-0.03, 0.75, 0.02, 0.1201, 0.701, 0.001)
    goal_low, goal_high = low[3:], high[3:]


class SawyerBoxClose(Sawyer):
    """Meta-World/box-close-v3."""

    file, body = "sawyer_box", "boxbody"
    low, high, apart = (-0.05, 0.5, 0.02, -0.1, 0.7, 0.133), (0.05, 0.55, 0.02, 0.1, 0.8, 0.133), 0.25
    goal_low, goal_high = low[3:], high[3:]


class SawyerCoffeePull(Sawyer):
    """Meta-World/coffee-pull-v3."""

    file, body, site, presses = "sawyer_coffee", "coffee_machine", "mug_goal", True
    low, high, apart = (-0.05, 0.7, -0.001, -0.1, 0.55, -0.001), (0.05, 0.75, 0.001, 0.1, 0.65, 0.001), 0.15
    goal_low, goal_high = low[3:], high[3:]


class SawyerCoffeePush(SawyerCoffeePull):
    """Meta-World/coffee-push-v3."""

    low, high = (-0.1, 0.55, -0.001, -0.05, 0.7, -0.001), (0.1, 0.65, 0.001, 0.05, 0.75, 0.001)
    goal_low, goal_high = low[3:], high[3:]


class SawyerHammer(Sawyer):
    """Meta-World/hammer-v3."""

    file, site = "sawyer_hammer", ""
    low, high = (-0.1, 0.4, 0.0), (0.1, 0.5, 0.0)
    goal_low, goal_high = (0.2399, 0.7399, 0.109), (0.2401, 0.7401, 0.111)


class SawyerHandInsert(Sawyer):
    """Meta-World/hand-insert-v3."""

    file, presses = "sawyer_table_with_hole", True
    low, high, apart = (-0.1, 0.6, 0.05, -0.04, 0.8, -0.0201), (0.1, 0.7, 0.05, 0.04, 0.88, -0.0199), 0.15
    goal_low, goal_high = low[3:], high[3:]


class SawyerPickOutOfHole(Sawyer):
    """Meta-World/pick-out-of-hole-v3."""

    file = "sawyer_pick_out_of_hole"
    low, high, apart = (0, 0.75, 0.02, -0.1, 0.5, 0.15), (0, 0.75, 0.02, 0.1, 0.6, 0.3), 0.15
    goal_low, goal_high = low[3:], high[3:]


class SawyerPickPlaceWall(Sawyer):
    """Meta-World/pick-place-wall-v3."""

    file, presses = "sawyer_pick_place_wall_v3", True
    low, high, apart = (-0.05, 0.6, 0.015, -0.05, 0.85, 0.05), (0.05, 0.65, 0.015, 0.05, 0.9, 0.3), 0.15
    goal_low, goal_high = low[3:], high[3:]


class SawyerPushWall(Sawyer):
    """Meta-World/push-wall-v3."""

    file, presses = "sawyer_push_wall_v3", True
    low, high, apart = (-0.05, 0.6, 0.015, -0.05, 0.85, 0.01), (0.05, 0.65, 0.015, 0.05, 0.9, 0.02), 0.15
    goal_low, goal_high = low[3:], high[3:]


class SawyerPushBack(Sawyer):
    """Meta-World/push-back-v3."""

    file, presses = "sawyer_push_back_v3", True
    low, high, apart = (-0.1, 0.8, 0.02, -0.1, 0.6, 0.0199), (0.1, 0.85, 0.02, 0.1, 0.7, 0.0201), 0.15
    goal_low, goal_high = low[3:], high[3:]


class SawyerShelfPlace(Sawyer):
    """Meta-World/shelf-place-v3."""

    file, body, site, presses = "sawyer_shelf_placing", "shelf", "", True
    low, high, apart = (-0.1, 0.5, 0.019, -0.1, 0.8, 0.299), (0.1, 0.6, 0.021, 0.1, 0.9, 0.301), 0.1
    goal_low, goal_high = low[3:], high[3:]


class SawyerSoccer(Sawyer):
    """Meta-World/soccer-v3."""

    file, body, presses = "sawyer_soccer", "goal_whole", True
    low, high, apart = (-0.1, 0.6, 0.03, -0.1, 0.8, 0.0), (0.1, 0.7, 0.03, 0.1, 0.9, 0.0), 0.15
    goal_low, goal_high = low[3:], high[3:]


class SawyerStickPull(Sawyer):
    """Meta-World/stick-pull-v3."""

    file, presses = "sawyer_stick_obj", True
    low, high, apart = (-0.1, 0.55, 0.000, 0.35, 0.45, 0.0199), (0.0, 0.65, 0.001, 0.45, 0.55, 0.0201), 0.1
    goal_low, goal_high = low[3:], high[3:]


class SawyerStickPush(SawyerStickPull):
    """Meta-World/stick-push-v3."""

    low, high = (-0.08, 0.58, 0.000, 0.399, 0.55, 0.1319), (-0.03, 0.62, 0.001, 0.401, 0.6, 0.1321)
    goal_low, goal_high = low[3:], high[3:]
