"""batchenv: thousands of reinforcement-learning environments stepped at once.

import batchenv
env = batchenv.make("CartPole-v1", num_envs=4096)
observations, infos = env.reset(seed=0)
observations, rewards, terminations, truncations, infos = env.step(env.action_space.sample())
"""

from typing import TYPE_CHECKING

from batchenv import _built, _openmp
from batchenv._built import build_info

_built.check()
_openmp.share_runtime()
__path__.append(f"{__path__[0]}/_moved")  # where old names of modules are found

from batchenv.backend import LaneError  # noqa: E402
from batchenv.env import BatchEnv  # noqa: E402
from batchenv.integrations.envpool import list_all_envs  # noqa: E402
from batchenv.integrations.patch import patch_gymnasium, unpatch_gymnasium  # noqa: E402
from batchenv.integrations.registration import register_with_gymnasium, spec  # noqa: E402
from batchenv.make import make, make_dm, make_gymnasium, make_mujoco, make_parallel, make_python, make_spec  # noqa: E402
from batchenv.registry import list_envs  # noqa: E402
from batchenv.rollout import Rollout  # noqa: E402
from batchenv.snapshot import Snapshot  # noqa: E402

__version__ = _built.VERSION
__all__ = [
    "BatchEnv",
    "LaneError",
    "Rollout",
    "Snapshot",
    "build_info",
    "check_vector_env",
    "compile",
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
    "spec",
    "unpatch_gymnasium",
]

if TYPE_CHECKING:
    from batchenv.check import check_vector_env as check_vector_env
    from batchenv.compiler import compile as compile
    from batchenv.compiler import load as load

register_with_gymnasium()


def __getattr__(name: str):
    if name == "check_vector_env":  # imported when first asked for: most programs check nothing
        from batchenv.check import check_vector_env

        return check_vector_env
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


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})  # what is imported late is there, too
