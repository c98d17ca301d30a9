"""Families of environments that others' packages have: what they are, and how batchenv steps them in Python.

They are those of EnvPool's families that are not in C here; docs/reference/from-envpool.md has them in a table.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_OWN_API = "which has an API of its own: write a gymnasium.Env around it, and pass that to batchenv.make_python"
_GYMS_API = "which has gym's old API: shimmy.GymV21CompatibilityV0 translates it, and batchenv.make_python takes that"
_FOOTBALL = "(gfootball/|GFootball).*|(11_vs_11|academy)_.*"
_JUMANJI = (
    "BinPack|CVRP|Cleaner|Connector|FlatPack|Game2048|GraphColoring|JobShop|Knapsack|LevelBasedForaging|MMST|Maze|"
    "Minesweeper|MultiCVRP|PacMan|RobotWarehouse|RubiksCube|SearchAndRescue|SlidingTilePuzzle|Snake|Sokoban|Sudoku|TSP|"
    "Tetris"
)
_PLAYGROUND = "Aloha|Barkour|LeapCube|Panda[A-Z]|AeroCube"


class OtherFamily(NamedTuple):
    """Environments of one package.

    name: what they are called. pool: EnvPool's name for the family.
    ids: a pattern of their ids, as EnvPool or the package has them.
    package: what pip installs. how: how batchenv steps them, as a clause; {id} is the id, without a namespace.
    """

    name: str
    pool: str
    ids: str
    package: str
    how: str


FAMILIES = (
    OtherFamily("Craftax", "craftax", "Craftax.*", "craftax", _OWN_API),
    OtherFamily("Google Research Football", "gfootball", _FOOTBALL, "gfootball", _GYMS_API),
    OtherFamily(
        "HighwayEnv",
        "highway",
        "(?i:(highway|exit|intersection|merge|racetrack|roundabout|u-?turn|lane-?keeping|parking|two-?way)[a-z-]*-v\\d)",
        "highway-env",
        "and batchenv.make('highway_env:highway-v0', num_envs) and the like step them, by the ids of that package",
    ),
    OtherFamily("Jumanji", "jumanji", f"Jumanji/.*|({_JUMANJI})(-[a-z-]+)?-v[0-3]", "jumanji", _OWN_API),
    OtherFamily(
        "MarlGrid",
        "marlgrid",
        "(MarlGrid|Goalcycle)-.*",
        "marlgrid (from its repository)",
        "which has gym's old API, and several agents: write PettingZoo's parallel API around it for "
        "batchenv.make_parallel",
    ),
    OtherFamily(
        "dm_control's locomotion",
        "mujoco.locomotion",
        "dm_control/locomotion/.*|Dmc[A-Z].*",
        "'shimmy[dm-control]' 'mujoco<4'",
        "and shimmy.DmControlCompatibilityV0 around one of dm_control.locomotion.examples is what batchenv.make_python "
        "takes",
    ),
    OtherFamily("mjlab", "mujoco.mjlab", "Mjlab-(?!Velocity-Flat-Unitree-(Go1|G1)).*", "mjlab", _OWN_API),
    OtherFamily(
        "MyoSuite",
        "mujoco.myosuite",
        "(MyoSuite/)?([Mm]yo|motorFinger)[A-Z].*",
        "myosuite",
        "and batchenv.make('myosuite:{id}', num_envs) steps it",
    ),
    OtherFamily(
        "MuJoCo Playground", "mujoco.playground", f"MuJoCoPlayground/.*|({_PLAYGROUND}).*-v1", "playground", _OWN_API
    ),
    OtherFamily(
        "Pgx",
        "pgx",
        "((Chinese)?Go\\d+x\\d+|TicTacToe|ConnectFour|Hex|Othello|KuhnPoker|LeducHoldem|Play2048|AnimalShogi|Backgammon|"
        "(Gardner)?Chess|Shogi|SparrowMahjong)-v1",
        "pgx",
        _OWN_API,
    ),
    OtherFamily(
        "ViZDoom",
        "vizdoom",
        "(D\\d(Basic|Navigation|Battle\\d?)|(Rocket|Simpler)?Basic(Audio|Notifications)?|Cig|DeadlyCorridor|Deathmatch|DefendThe\\w+|"
        "HealthGathering\\w*|MultiDuel|MyWayHome|PredictPosition|TakeCover|Vizdoom\\w+)-v\\d",
        "vizdoom",
        "and batchenv.make('vizdoom.gymnasium_wrapper:VizdoomBasic-v1', num_envs) and the like step them; see "
        "examples/vizdoom_env.py",
    ),
    OtherFamily(
        "MiniGrid's WFC levels",
        "minigrid",
        "MiniGrid-WFC-.*",
        "'minigrid[wfc]'",
        "and batchenv.make('minigrid:{id}', num_envs) steps it (minigrid 3.2's wheel lacks the pictures that these "
        "levels are made from: install it from its repository)",
    ),
)


def family_of(env_id: str) -> OtherFamily | None:
    """The family that has this id, or None if none of them has."""
    return next((family for family in FAMILIES if re.fullmatch(family.ids, env_id)), None)


def where(env_id: str) -> str:
    """Which family has this id, and how to step it, as a sentence; "" if no family is known to have it."""
    family = family_of(env_id)
    if family is None:
        return ""
    how = family.how.format(id=env_id.rpartition("/")[2])
    return f"It belongs to {family.name}, which is not in C here. In Python: pip install {family.package}, {how}"
