"""A robot of one's own that follows commands on terrain that becomes harder: a task in NumPy, made of the parts of
batchenv.robots.

python examples/own_task/walk.py
"""

from pathlib import Path

import mujoco
import numpy as np

import batchenv
from batchenv import robots

ROBOT = Path(__file__).parent / "quadruped.xml"
FEET = ".*_foot"


class Walk(batchenv.MuJoCoTask):
    frame_skip = 5
    max_episode_steps = 1000
    params = {
        "sigma": 0.25,  # how soon the reward for following a command falls, (m/s)^2
        "action_scale": 0.3,  # how far an action of 1 moves a joint's target, rad
        "noise": 1.0,  # of what the policy sees
    }

    def prepare(self):
        model = self.model
        self.pose, self.limits = model.qpos0[7:], robots.joint_limits(model, 0.9)
        self.commands = robots.Commands((-0.5, 1.0), (-0.4, 0.4), (-1.0, 1.0), standing=0.1, heading=(-np.pi, np.pi))
        self.pushes = robots.Pushes(model, "trunk", speed=(0, 0.8))
        self.feet = robots.Feet(4)
        self.history = robots.History("joints", 3, model.nu)
        self.delay = robots.Delay(model.nu, 4)
        self.levels = robots.TerrainLevels(model)
        self.randomization = robots.Randomization(model)
        self.randomization.scale("geom_friction", (0.5, 1.5), names=FEET, columns=0, together=True)
        self.randomization.add("body_mass", (-0.5, 1.0), names="trunk", with_inertia=True)
        self.randomization.scale("actuator_gainprm", (0.9, 1.1), columns=0)
        self.state = robots.states(
            *(self.commands, self.pushes, self.feet, self.history, self.delay, self.levels),
            last_action=np.zeros(model.nu),
        )

    def start(self, lanes):
        self.levels.start(lanes)
        self.randomization.start(lanes)
        lanes.qpos[:, 7:] += lanes.uniform(-0.1, 0.1, self.model.nu)
        for part in (self.commands, self.pushes, self.delay):
            part.start(lanes)

    def _targets(self, lanes, actions):
        return self.pose + lanes.action_scale[:, None] * actions

    def control(self, lanes, actions):
        self.pushes.control(lanes)
        return self._targets(lanes, self.delay.control(lanes, actions))

    def recontrol(self, lanes, actions, step):
        return self._targets(lanes, self.delay.recontrol(lanes, step))

    def reward(self, lanes, actions):
        velocity = robots.rotate_inverse(lanes.qpos[:, 3:7], lanes.qvel[:, :3])  # in the trunk's frame
        turn = lanes.qvel[:, 5]
        asked = np.hypot(*lanes.command[:, :2].T) > 0.1
        steps = self.feet.step(lanes, lanes.sensors(".*_contact")[:, :, 0], lanes.geoms(FEET).xpos[:, :, 2])
        error = np.square(velocity - lanes.command)[:, :2].sum(axis=1)
        return {
            "velocity": robots.tracking(error, lanes.sigma) * lanes.dt,
            "turn": 0.5 * robots.tracking(np.square(turn - lanes.command[:, 2]), lanes.sigma) * lanes.dt,
            "upright": -np.square(robots.projected_gravity(lanes.qpos[:, 3:7])[:, :2]).sum(axis=1) * lanes.dt,
            "air_time": np.where(steps.landed, steps.air_time - 0.2, 0).sum(axis=1) * asked * lanes.dt,
            "limits": -robots.beyond(lanes.qpos[:, 7:], *self.limits) * lanes.dt,
            "action_rate": -0.01 * np.square(actions - lanes.last_action).sum(axis=1) * lanes.dt,
        }

    def terminated(self, lanes):
        return robots.projected_gravity(lanes.qpos[:, 3:7])[:, 2] > -0.5  # tilted by more than 60 degrees

    def update(self, lanes, actions):
        self.levels.update(lanes, np.hypot(*lanes.command[:, :2].T))
        self.commands.update(lanes)
        self.history.add(lanes, lanes.qpos[:, 7:])
        lanes.last_action = actions

    def observe(self, lanes):
        gravity = robots.projected_gravity(lanes.qpos[:, 3:7])
        known = [lanes.sensor("gyro"), gravity, self.history.rows(lanes, lanes.qpos[:, 7:]) - np.tile(self.pose, 3)]
        known = np.concatenate(known, axis=1)
        own = [lanes.command, lanes.last_action]
        noise = lanes.noise[:, None] * lanes.uniform(-0.02, 0.02, known.shape[1])
        policy = np.concatenate([known + noise, *own], axis=1)
        critic = np.concatenate([known, *own, lanes.qvel, lanes.push_force / 100], axis=1)
        return {"policy": policy.astype(np.float32), "critic": critic.astype(np.float32)}

    def info(self, lanes):
        return {"level": lanes.terrain_level}


def model():
    """The quadruped on terrain instead of its floor, with a sensor for each foot that says whether it touches it."""
    spec = mujoco.MjSpec.from_file(str(ROBOT))
    spec.delete(spec.geom("floor"))
    robots.add_terrain(spec, levels=5, tile=6.0, friction=[1.0, 0.02, 0.01])
    for leg in ("fl", "fr", "hl", "hr"):
        spec.add_sensor(
            name=f"{leg}_contact", type=mujoco.mjtSensor.mjSENS_CONTACT, objtype=mujoco.mjtObj.mjOBJ_GEOM,
            objname=f"{leg}_foot", reftype=mujoco.mjtObj.mjOBJ_BODY, refname="world", intprm=[1, 0, 1],
        )  # fmt: skip
    return spec


if __name__ == "__main__":
    env = batchenv.make_mujoco(model(), num_envs=64, task=Walk, record_episode_statistics=True)
    env.reset(seed=0)
    for step in range(1, 1001):
        _, rewards, _, _, infos = env.step(env.action_space.sample())
        if step % 100 == 0:
            terms = ", ".join(f"{name} {values.mean():.4f}" for name, values in infos["reward"].items())
            print(f"step {step}: reward {rewards.mean():.4f}: {terms}; levels {np.bincount(infos['level'])}")
