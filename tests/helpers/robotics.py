"""gymnasium-robotics as the reference. Its ids are not put into Gymnasium's registry, which other tests go through."""

import contextlib
import functools
import io
from types import SimpleNamespace

import gymnasium
import numpy as np

import batchenv
from helpers.mujoco import mujoco
from helpers.parity import MODES, Case, assert_same

IDS = batchenv.list_envs("robotics")
MAZES = [env_id for env_id in IDS if "Maze_" in env_id]
FETCH = [env_id for env_id in IDS if env_id.startswith("Fetch")]
HANDS = [env_id for env_id in IDS if env_id.startswith("Hand")]
ADROIT = [env_id for env_id in IDS if env_id.startswith("Adroit")]


class Numbered:
    """mujoco, with numbers as the members of its enums. The package compares numbers of models with members, which are
    no numbers since MuJoCo 4, so that Fetch and the hands stop at an assertion there. This is all that it lacks."""

    def __getattr__(self, name):
        value = getattr(mujoco, name)
        if not name.startswith("mjt"):
            return value
        return SimpleNamespace(**{member: int(number) for member, number in value.__members__.items()})


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
            from gymnasium_robotics.utils import mujoco_utils
        mujoco_utils.mujoco = Numbered()
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


def towards_objects(env, step):
    """Actions of Fetch that bring the hand to the object, push or grip it, and move it to the goal; or only the hand to
    the goal. (The hand gets there in some episodes, and episodes have 50 steps.)"""
    name, step = env.spec.id, step % 50
    data, goal = env.get_attr("data"), env.state["goal"]
    grip = np.array([one.site("robot0:grip").xpos for one in data])
    if "Reach" in name:
        return np.column_stack([np.clip(10 * (goal - grip), -1, 1), np.sin(goal[:, 0] + step)]).astype(np.float32)
    place = np.array([one.site("object0").xpos for one in data])
    way = (goal - place) * [1, 1, 0]
    way /= np.linalg.norm(way, axis=-1, keepdims=True) + 1e-9
    picks = "Pick" in name
    behind = place - (0 if picks else 0.08) * way
    above, beside = np.array([0, 0, 0.1]), np.array([0, 0, 0 if picks else 0.005])
    targets = [behind + above, behind + beside, goal if picks else place]
    target = targets[0 if step < 12 else 1 if step < 22 else 2 if step > 26 or not picks else 1]
    fingers = np.full(len(goal), 1 if step < 22 else -1)
    return np.column_stack([np.clip(8 * (target - grip), -1, 1), fingers]).astype(np.float32)


def grasping(env, step):
    """Actions of hands that close around the object, and open again, each finger in its own time."""
    shape = env.action_space.shape
    rng = np.random.default_rng(step // 12)
    closed = np.sin(step / 9 + np.arange(shape[0])[:, None])
    return np.clip(0.8 * closed + rng.uniform(-0.6, 0.6, shape), -1, 1).astype(np.float32)


def extremes(env, step):
    """Actions at the bounds of hands' joints, held for ten steps, with 0 among them."""
    return np.random.default_rng(step // 10).choice([-1, 0, 1], env.action_space.shape).astype(np.float32)


class Held:
    """The data of a hand's env, with the function that the package's code looks for in it."""

    def __init__(self, data):
        self._data = data

    def __getattr__(self, name):
        return getattr(self._data, name)

    def get_joint_qpos(self, name):
        return self._data.joint(name).qpos[3:].copy()


def with_rotations_kept(env_id, **keywords):
    """One of the package's hands, which can draw goals with target_rotation="ignore" and "fixed"."""
    env = make_robotics(env_id, **keywords)
    inner = env.unwrapped
    sample = inner._sample_goal

    def sample_goal():
        data = inner.data
        inner.data = Held(data)
        try:
            return sample()
        finally:
            inner.data = data

    inner._sample_goal = sample_goal
    return env


def held_at_random(env, step):
    """Random actions, each held for five steps."""
    return np.random.default_rng(step // 5).uniform(-1, 1, env.action_space.shape).astype(env.action_space.dtype)


def assert_survives_absurd_forces(case):
    """A force that no simulation stands: MuJoCo resets the lane, which goes on as in the reference."""
    ours, theirs = case.pair(3, MODES[2])
    ours.reset(seed=0), theirs.reset(seed=0)
    forces = ours.state["xfrc_applied"].copy()
    forces[1, -1] = theirs.envs[1].unwrapped.data.xfrc_applied[-1] = 1e300
    ours.set_state({"xfrc_applied": forces})
    told = False
    for _ in range(3):
        actions = ours.action_space.high * np.float32(0.5)
        mine, reference = ours.step(actions), theirs.step(actions)
        told |= bool(mine[4].get("unstable", np.zeros(3))[1])
        assert_same(mine[:4], reference[:4])
    assert told


# ---- Adroit


def as_bool(infos):
    """Infos in which the reference's `success`, of objects that are numpy.bool_ or None, is an array of bool."""
    return {
        key: as_bool(value) if isinstance(value, dict) else value.astype(bool) if key == "success" else value
        for key, value in infos.items()
    }


def excuse_objects(result, expected, begun):
    """A case's `excuse` for Adroit: Gymnasium's vector env makes no array of bool of what is numpy.bool_."""
    del begun
    assert_same(result[4], as_bool(expected[4]))
    result[4] = expected[4]


def adroit(env_id, **both):
    """A case of Adroit."""
    case = of(env_id, **both)
    vars(case)["excuse"] = excuse_objects
    return case


def adroit_starts(name, rng):
    """Values of the option initial_state_dict from which each part of the task's rewards is in reach: doors that are
    open, nails that are in the board, pens that are turned as the target, balls that are at theirs."""
    size = {"Door": 30, "Hammer": 33, "Pen": 30, "Relocate": 36}[name]

    def start(**places):
        qpos, qvel = rng.normal(0, 0.05, size), rng.normal(0, 0.2, size)
        return {"qpos": qpos, "qvel": qvel, **{key: np.array(value, np.float64) for key, value in places.items()}}

    if name == "Door":
        starts = [start(door_body_pos=[-0.25, 0.3, 0.3]) for _ in range(5)]
        for one, angle in zip(starts, [0, 0.5, 1.2, 1.349, 1.5], strict=True):
            one["qpos"][-2:] = angle, 1.5
    elif name == "Hammer":
        starts = [start(board_pos=[0.07, -0.02, 0.2]) for _ in range(5)]
        for one, nail, height in zip(starts, [0, 0.075, 0.085, 0.0895, 0.0905], [0, 0, 0.1, 0.2, 0], strict=True):
            one["qpos"][-7], one["qpos"][-6:] = nail, [0, height, 0, 0, 0, 0]
    elif name == "Pen":
        starts = [start(desired_orien=[1, 0.02 * k, 0, 0]) for k in range(5)]
        for one, turn, fallen in zip(starts, [0, 0.2, 0.36, 0.8, 0], [0, 0.02, 0.03, 0.1, 0.2], strict=True):
            one["qpos"][-6:] = [fallen, 0, 0, 0, -1.57 + turn, 0]
    else:
        starts = [start(obj_pos=[0.1, 0, 0.04], target_pos=[0.1, 0.01 * k, 0.2]) for k in range(5)]
        for one, height in zip(starts, [0, 0.03, 0.09, 0.12, 0.16], strict=True):
            one["qpos"][-6:] = [0, 0, height, 0, 0, 0]
    return starts
