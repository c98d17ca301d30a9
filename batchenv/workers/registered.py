"""Environments of Gymnasium's registry: which ids it has, and how one is made as a lane."""

from __future__ import annotations

import copy
import importlib
from typing import Any

import gymnasium
from gymnasium.envs.registration import EnvSpec

from batchenv.registry import TABLE


def find(env_id: str) -> EnvSpec | None:
    """Gymnasium's entry of an id that makes single environments; None: it has none. "module:id" imports the module
    first, as gymnasium.make does.

    Raises:
        ModuleNotFoundError: there is no such module.
    """
    module, colon, name = env_id.rpartition(":")
    if colon:
        try:
            importlib.import_module(module)
        except ModuleNotFoundError as problem:
            problem.add_note(f"{env_id!r} means the id {name!r}, which the module {module!r} registers with Gymnasium.")
            raise
    spec = gymnasium.registry.get(name)
    return None if spec is None or spec.entry_point is None or _moved(spec) else spec


def _moved(spec: EnvSpec) -> bool:
    """Whether Gymnasium only says where an old version of one of MuJoCo's tasks has gone."""
    return "mujoco" in str(spec.entry_point) and spec.id.endswith(("-v2", "-v3"))


def make_lane(spec: EnvSpec, **keywords: Any) -> gymnasium.Env:
    """What gymnasium.make makes, without those of its wrappers that do what the C core does for every lane: the time
    limit, and checks of the order of calls and of what comes back.

    Raises:
        ModuleNotFoundError: the environment needs a package that is missing; the message says which.
    """
    bare = copy.deepcopy(spec)
    bare.max_episode_steps, bare.order_enforce, bare.disable_env_checker = None, False, True
    try:
        env = gymnasium.make(bare, **keywords)
    except ModuleNotFoundError as problem:
        module, plain = problem.name, spec.id.rpartition("/")[2]
        instead = f"; batchenv.make({plain!r}, num_envs) runs {plain} in C, without it" if plain in TABLE else ""
        raise ModuleNotFoundError(
            f"{spec.id} is written in Python ({spec.entry_point}), and that needs the module {module!r}, which is not "
            f"installed: pip install {module}, or what its documentation says{instead}",
            name=module,
        ) from problem
    for name in ("max_episode_steps", "order_enforce", "disable_env_checker"):  # as whoever reads it expects
        setattr(env.unwrapped.spec, name, getattr(spec, name))
    return env
