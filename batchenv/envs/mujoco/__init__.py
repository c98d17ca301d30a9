"""MuJoCo: the installed library, models, and the tasks over them."""

from batchenv.envs.mujoco.metaworld_benchmarks import add_benchmarks
from batchenv.registry import Family, add_family

add_family(
    Family(
        "MuJoCo",
        translators="batchenv.envs.mujoco.tasks",
        default="OwnTask",
        extra="mujoco",
        packages=("mujoco",),
        gymnasium="gymnasium.envs.mujoco.",
        note="models of your own: batchenv.make_mujoco",
        bench_lanes=64,
    )
)
add_family(
    Family(
        "MuJoCo Playground",
        translators="batchenv.envs.mujoco.playground",
        extra="playground",
        packages=("mujoco", "mujoco_playground"),
        note="robots that learn to walk",
        bench_lanes=64,
    )
)
add_family(
    Family(
        "mjlab",
        translators="batchenv.envs.mujoco.mjlab",
        extra="mjlab",
        packages=("mujoco", "mjlab"),
        note="robots that learn to walk",
        bench_lanes=64,
    )
)
add_family(
    Family(
        "DM Control",
        translators="batchenv.envs.mujoco.dm_control",
        default="DmControl",
        extra="dmc",
        packages=("mujoco", "dm_control"),
        note="the suite of dm_control",
        bench_lanes=64,
    )
)
add_family(
    Family(
        "Gymnasium-Robotics",
        translators=("batchenv.envs.mujoco.robotics", "batchenv.envs.mujoco.adroit", "batchenv.envs.mujoco.kitchen"),
        extra="robotics",
        packages=("mujoco", "gymnasium_robotics"),
        gymnasium="gymnasium_robotics.envs.",
        note="tasks with goals",
        typical=("AntMaze_UMaze-v5", "PointMaze_UMaze-v3"),
        bench_lanes=64,
    )
)
add_family(
    Family(
        "Meta-World",
        translators=(
            "batchenv.envs.mujoco.metaworld",
            "batchenv.envs.mujoco.metaworld_fixtures",
            "batchenv.envs.mujoco.metaworld_grasping",
        ),
        extra="metaworld",
        packages=("mujoco", "metaworld"),
        note="tasks of an arm",
        bench_lanes=64,
    )
)
add_benchmarks()
