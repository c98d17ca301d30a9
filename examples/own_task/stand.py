"""A robot that learns to stand: an example of a task over a model of one's own, in NumPy. stand.c is the same in C."""

import numpy as np

import batchenv


class Stand(batchenv.MuJoCoTask):
    frame_skip = 5
    max_episode_steps = 500
    params = {
        "least_height": 0.15,  # episodes end where the trunk is lower, m
        "effort_weight": 0.01,  # cost of changing actions, per squared difference
        "action_scale": 0.25,  # how far an action of 1 moves a joint's target, rad
        "reset_noise_scale": 0.02,
    }

    def prepare(self):
        self.state = {"last_action": np.zeros(self.model.nu)}
        self.pose = self.model.qpos0[7:]

    def start(self, lanes):
        noise = lanes.reset_noise_scale[:, None]
        lanes.qpos += lanes.uniform(-noise, noise, self.model.nq)
        lanes.qvel += lanes.uniform(-noise, noise, self.model.nv)

    def control(self, lanes, actions):
        """Targets of the joints' servos, around where the model starts."""
        return self.pose + lanes.action_scale[:, None] * actions.astype(float)

    def reward(self, lanes, actions):
        change = sum(difference * difference for difference in (actions - lanes.last_action).T)
        return lanes.body("trunk").xpos[:, 2] - lanes.effort_weight * change

    def terminated(self, lanes):
        return lanes.body("trunk").xpos[:, 2] < lanes.least_height

    def update(self, lanes, actions):
        lanes.last_action = actions

    def observe(self, lanes):
        feet = lanes.geoms(".*_foot").xpos
        return np.concatenate([lanes.qpos, lanes.qvel, lanes.sensor("gyro"), feet[:, :, 2]], axis=1)

    def info(self, lanes):
        return {"upright": lanes.body("trunk").xpos[:, 2]}


if __name__ == "__main__":
    env = batchenv.make_mujoco("quadruped.xml", num_envs=64, task=Stand, record_episode_statistics=True)
    env.reset(seed=0)
    for _ in range(1000):
        _, _, _, _, infos = env.step(env.action_space.sample())
        if "episode" in infos:
            print("returns", infos["episode"]["r"][infos["_episode"]].round(1))
