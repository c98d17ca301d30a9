"""gymnasium-robotics as the reference. Its ids are not put into Gymnasium's registry, which other tests go through."""

import contextlib
import functools
import io

import gymnasium
import numpy as np

import batchenv
from helpers.parity import Case

IDS = batchenv.list_envs("robotics")


@functools.cache
def specs():
    """{id: EnvSpec} of the package.

    Raises:
        ImportError: it is not installed.
    """
    before = dict(gymnasium.registry)
    try:
        with contextlib.redirect_stderr(io.StringIO()):  # it speaks of ids that have changed
            import gymnasium_robotics  # noqa: F401
        return {
            name: spec for name, spec in gymnasium.registry.items() if "gymnasium_robotics" in str(spec.entry_point)
        }
    finally:
        gymnasium.registry.clear()
        gymnasium.registry.update(before)


def make_robotics(env_id, **keywords):
    """One of the package's environments."""
    return gymnasium.make(specs()[env_id], disable_env_checker=True, **keywords)


def of(env_id, **both):
    """A case of this family, with these keywords for both."""
    return Case(env_id, both=both, creator=make_robotics, hold=5)


def towards_goals(env, step):
    """Actions that lead straight to the goals of point mazes, with detours."""
    way = env.state["goal"] - env.get_attr("qpos")
    detour = np.random.default_rng(step // 7).uniform(-1, 1, way.shape)
    return np.clip(way + 0.7 * detour, -1, 1).astype(np.float32)
