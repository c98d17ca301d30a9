"""What tasks of robots that walk are made of, for a `batchenv.MuJoCoTask`: see docs/robots.md.

Some of these objects remember something of each lane (`Commands`, `Pushes`, `Feet`, `History`, `Delay`,
`TerrainLevels`): their `state` goes into the task's, by `states`.
"""

from batchenv.robots.commands import Commands
from batchenv.robots.feet import Feet, Steps
from batchenv.robots.formulas import beyond, joint_limits, projected_gravity, rotate_inverse, tracking, wrap, yaw_of
from batchenv.robots.memory import Delay, History
from batchenv.robots.parts import states
from batchenv.robots.pushes import Pushes
from batchenv.robots.randomization import Randomization
from batchenv.robots.terrain import TERRAINS, TerrainLevels, add_terrain

__all__ = [
    "TERRAINS",
    "Commands",
    "Delay",
    "Feet",
    "History",
    "Pushes",
    "Randomization",
    "Steps",
    "TerrainLevels",
    "add_terrain",
    "beyond",
    "joint_limits",
    "projected_gravity",
    "rotate_inverse",
    "states",
    "tracking",
    "wrap",
    "yaw_of",
]
