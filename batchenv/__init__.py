"""batchenv: thousands of reinforcement-learning environments stepped at once.

import batchenv
env = batchenv.make("CartPole-v1", num_envs=4096)
observations, infos = env.reset(seed=0)
observations, rewards, terminations, truncations, infos = env.step(env.action_space.sample())
"""

from typing import TYPE_CHECKING, Any

from batchenv.system import built, openmp
from batchenv.system.built import build_info

built.check()
openmp.share_runtime()

from batchenv.arguments.seeds import spawn_seeds  # noqa: E402
from batchenv.backend.protocol import LaneError  # noqa: E402
from batchenv.backend.snapshot import Snapshot  # noqa: E402
from batchenv.catalog import list_envs, spec  # noqa: E402
from batchenv.env.batch_env import BatchEnv  # noqa: E402
from batchenv.env.plan import Plan  # noqa: E402
from batchenv.env.rollout import Rollout  # noqa: E402
from batchenv.integrations.envpool import list_all_envs  # noqa: E402
from batchenv.integrations.gymnasium.patch import patch_gymnasium, unpatch_gymnasium  # noqa: E402
from batchenv.integrations.gymnasium.registration import register_with_gymnasium  # noqa: E402
from batchenv.make import make, make_dm, make_gymnasium, make_mujoco, make_parallel, make_python, make_spec  # noqa: E402

__version__ = built.VERSION
__all__ = [
    "BatchEnv",
    "LaneError",
    "MuJoCoTask",
    "Plan",
    "Rollout",
    "Snapshot",
    "build_info",
    "check_vector_env",
    "compile",
    "evaluate",
    "list_all_envs",
    "list_envs",
    "load",
    "make",
    "make_dm",
    "make_gymnasium",
    "make_mujoco",
    "make_parallel",
    "make_python",
    "make_spec",
    "patch_gymnasium",
    "record",
    "replay",
    "spawn_seeds",
    "spec",
    "unpatch_gymnasium",
]

if TYPE_CHECKING:
    from batchenv.check import check_vector_env as check_vector_env
    from batchenv.compiler import compile as compile
    from batchenv.compiler import load as load
    from batchenv.envs.mujoco.vectorized.task import MuJoCoTask as MuJoCoTask
    from batchenv.evaluation import evaluate as evaluate
    from batchenv.integrations import jax as jax
    from batchenv.recordings import record as record
    from batchenv.recordings import replay as replay

register_with_gymnasium()


def _late(name: str) -> Any:
    if name == "check_vector_env":  # imported when first asked for: most programs check nothing
        from batchenv.check import check_vector_env

        return check_vector_env
    if name == "evaluate":
        from batchenv.evaluation import evaluate

        return evaluate
    if name in ("record", "replay"):
        from batchenv import recordings

        return getattr(recordings, name)
    if name == "MuJoCoTask":
        from batchenv.envs.mujoco.vectorized.task import MuJoCoTask

        return MuJoCoTask
    if name == "jax":
        from batchenv.integrations import jax

        return jax
    if name in ("compile", "load"):
        from batchenv import compiler

        return getattr(compiler, name)
    if name == "make_gym":
        from batchenv.integrations.envpool import NO_GYM

        raise AttributeError(f"batchenv has no make_gym. {NO_GYM}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


if not TYPE_CHECKING:  # checkers have these names from above, and report all others
    __getattr__ = _late


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})  # what is imported late is there, too
