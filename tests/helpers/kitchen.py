"""gymnasium-robotics' FrankaKitchen as the reference, with lists of tasks as arrays."""

import gymnasium
import numpy as np

from helpers.parity import Case
from helpers.robotics import make_robotics

NAMES = ["bottom burner", "hinge cabinet", "kettle", "light switch", "microwave", "slide cabinet", "top burner"]
LISTS = ("tasks_to_complete", "step_task_completions", "episode_task_completions")


class Flagged(gymnasium.Wrapper):
    """The package's environment, with a flag per chosen task instead of lists, whose order differs from process to
    process; with the random stream from which it draws; and `ended`: whether it waits for a reset."""

    def reset(self, **keywords):
        observation, info = self.env.reset(**keywords)
        self.ended = False
        return observation, self.flagged(info)

    def step(self, action):
        *results, info = self.env.step(action)
        self.ended = results[2] or results[3]
        return *results, self.flagged(info)

    def flagged(self, info):
        names = [name for name in NAMES if name in self.unwrapped.goal]
        return {key: np.array([name in info[key] for name in names]) for key in LISTS}

    @property
    def np_random(self):
        return self.unwrapped.robot_env.np_random


def make_kitchen(env_id, **keywords):
    return Flagged(make_robotics(env_id, **keywords))


def kitchen(**both):
    """A case of FrankaKitchen."""
    return Case("FrankaKitchen-v1", both=both, creator=make_kitchen, hold=5)


def push_things(ours, theirs):
    """A case's `look`: forces that bring things to their goals, one after the other. They act from the next step on, in
    ours as in the reference. Returns both sides' data."""
    from gymnasium_robotics.envs.franka_kitchen import kitchen_env as package

    forces = ours.state["qfrc_applied"] * 0
    for lane, env in enumerate(theirs.envs):
        data = env.unwrapped.data
        for number, name in enumerate(NAMES):
            goal = package.OBS_ELEMENT_GOALS[name][:3]
            at = package.OBS_ELEMENT_INDICES[name][: len(goal)]  # of positions, which are those of velocities, too
            if 1.5 * number <= data.time:
                forces[lane, at] = np.clip(60 * (goal - data.qpos[at]), -9, 9) - 2 * data.qvel[at]
        data.qfrc_applied[:] = forces[lane]
    before = ours.get_attr("data"), [env.unwrapped.data for env in theirs.envs]
    going = np.flatnonzero([not env.ended for env in theirs.envs])
    if len(going):
        ours.set_state({"qfrc_applied": forces[going]}, going)
    names = ("time", "qpos", "qvel", "qacc_warmstart", "ctrl", "xpos")
    return tuple({name: np.array([getattr(one, name) for one in side]) for name in names} for side in before)
