"""The task of csrc/engines/mujoco/tasks/go1_joystick.c in NumPy, around a batch of MuJoCo simulations: mjbatch's or
MuJoCo 4's. It is what a user would write who has only the physics; bench_walking.py compares the two."""

import numpy as np
from gymnasium.spaces import Box, Dict

DT, SKIP, LIMIT, SEEN, ALL_SEEN = 0.02, 5, 1000, 48, 123
FEET = ("FR", "FL", "RR", "RL")
FOOT_HEIGHT, SIGMA, ACTION_SCALE, SOFT_LIMIT = 0.1, 0.25, 0.5, 0.95
NOISE = np.repeat([0.1, 0.2, 0.05, 0.03, 1.5], [3, 3, 3, 12, 12]).astype(np.float32)  # of the first numbers observed
COMMAND_MOST, COMMAND_KEPT, COMMAND_SECONDS = np.array([1.5, 0.8, 1.2]), np.array([0.9, 0.25, 0.5]), 5.0
PUSH_KICK, PUSH_SECONDS, PUSH_WAIT = (0.0, 3.0), (0.05, 0.2), (1.0, 3.0)
POSE_WEIGHTS = np.array([1.0, 1.0, 0.1] * 4)
REWARDS = {
    "tracking_lin_vel": 1.0,
    "tracking_ang_vel": 0.5,
    "lin_vel_z": -0.5,
    "ang_vel_xy": -0.05,
    "orientation": -5.0,
    "dof_pos_limits": -1.0,
    "pose": 0.5,
    "termination": -1.0,
    "stand_still": -1.0,
    "torques": -0.0002,
    "action_rate": -0.01,
    "energy": -0.001,
    "feet_clearance": -2.0,
    "feet_height": -0.2,
    "feet_slip": -0.1,
    "feet_air_time": 0.1,
}
WEIGHTS = np.array(list(REWARDS.values()))


def squares(rows):
    return np.einsum("ij,ij->i", rows, rows)


class Walking:
    """What a learner needs of a vector environment, in Gymnasium's mode NextStep: the step after an episode's last one
    ignores the lane's action and starts a new episode."""

    single_action_space = Box(-1, 1, (12,), np.float32)
    single_observation_space = Dict(
        state=Box(-np.inf, np.inf, (SEEN,), np.float32), privileged_state=Box(-np.inf, np.inf, (ALL_SEEN,), np.float32)
    )

    def __init__(self, batch, lanes, pushes=False, noise=True, reward_scale=1.0):
        self.batch, self.num_envs = batch, lanes
        self.pushes, self.noise, self.reward_scale = pushes, noise, reward_scale
        model, sensors = batch.model, batch.bind("sensordata")

        def sensed(name, size=3):
            first = model.sensor(name).adr[0]
            return sensors[:, first : first + size]

        # All of these are live: states are written through them, and outputs change with each step of the batch.
        self.rows = batch.state if hasattr(batch, "state") else batch.bind("state")
        self.qpos, self.qvel, self.ctrl, self.torque = map(batch.bind, ("qpos", "qvel", "ctrl", "actuator_force"))
        self.joints, self.speeds = self.qpos[:, 7:], self.qvel[:, 6:]
        self.gyro, self.linvel, self.acceleration = map(sensed, ("gyro", "local_linvel", "accelerometer"))
        self.up, self.world_linvel, self.world_angvel = map(sensed, ("upvector", "global_linvel", "global_angvel"))
        self.feet_velocity = sensed("FR_global_linvel", 12)  # the other feet's follow
        self.feet_slide = self.feet_velocity.reshape(lanes, 4, 3)[:, :, :2]
        self.sensors, self.found = sensors, [model.sensor(f"{foot}_floor_found").adr[0] for foot in FEET]
        self.heights, self.feet = batch.bind("site_xpos")[:, :, 2], [model.site(foot).id for foot in FEET]
        self.world_up = batch.bind("site_xmat").reshape(lanes, -1, 9)[:, model.site("imu").id, 6:]
        trunk = model.body("trunk").id
        self.force, self.mass = batch.bind("xfrc_applied")[:, trunk, :3], model.body_subtreemass[trunk]
        self.home, self.pose = model.key("home").qpos, model.key("home").qpos[7:]
        self.low, self.high = SOFT_LIMIT * model.jnt_range[1:].T
        self.fresh = self.rows[0].copy()

        self.action, self.command, self.until = np.zeros((lanes, 12), np.float32), np.zeros((lanes, 3)), np.zeros(lanes)
        self.air, self.peak, self.contact = np.zeros((lanes, 4)), np.zeros((lanes, 4)), np.zeros((lanes, 4), bool)
        self.push = np.zeros((lanes, 8))
        self.wait, self.push_steps, self.push_seconds, self.kick, self.since, self.pushed = self.push[:, :6].T
        self.direction = self.push[:, 6:]
        self.elapsed, self.total = np.zeros(lanes, int), np.zeros(lanes)

    def reset(self, *, seed=None, options=None):
        self.rng = np.random.default_rng(seed)
        self.over = np.zeros(self.num_envs, bool)
        observations, *_ = self._arrays()
        self._start(np.arange(self.num_envs))
        self.observe(observations)
        return observations, {}

    def step(self, actions, out=None):
        observations, reward, terminated, truncated = out or self._arrays()
        starting = np.flatnonzero(self.over)
        self.ctrl[:] = self.pose + ACTION_SCALE * actions
        if not len(starting):
            self.batch.step(nstep=SKIP)
        elif len(starting) < self.num_envs:
            self.batch.step(np.flatnonzero(~self.over), nstep=SKIP)
        contact = self.sensors[:, self.found] > 0
        height = self.heights[:, self.feet]
        touching = (self.air > 0) & (contact | self.contact)
        self.air += DT
        np.maximum(self.peak, height, out=self.peak)
        self.observe(observations)
        self.terms = self._terms(actions, contact, height, touching)
        earned = np.clip(WEIGHTS @ self.terms * DT, 0, 10000)
        terminated[:] = self.up[:, 2] < 0

        self.air[contact] = self.peak[contact] = 0
        self.contact[:] = contact
        self.action[:] = actions
        self._change_commands()
        if self.pushes:
            self._push()
        self.elapsed += 1
        self.total += earned
        np.multiply(earned, self.reward_scale, out=reward)
        np.greater_equal(self.elapsed, LIMIT, out=truncated)
        if len(starting):  # what was computed for these lanes is of no use
            self._start(starting)
            self.observe(observations, starting)
            reward[starting], terminated[starting], truncated[starting] = 0, False, False
        self.over = terminated | truncated
        ended = {"episode": {"r": self.total.copy()}, "_episode": self.over} if self.over.any() else {}
        return observations, reward, terminated, truncated, ended

    def _arrays(self):
        """What a step without `out` returns."""
        n = self.num_envs
        seen = {"state": np.empty((n, SEEN), np.float32), "privileged_state": np.empty((n, ALL_SEEN), np.float32)}
        return seen, np.empty(n), np.empty(n, bool), np.empty(n, bool)

    def observe(self, out, lanes=slice(None)):
        gravity, angles, acts = -self.world_up, self.joints - self.pose, self.since >= self.wait
        seen = self.linvel, self.gyro, gravity, angles, self.speeds, self.action, self.command
        exact = self.gyro, self.acceleration, gravity, self.linvel, self.world_angvel, angles, self.speeds, self.torque
        feet = self.contact, self.feet_velocity, self.air, self.force, acts[:, None]
        rows = np.concatenate([part[lanes] for part in (*seen, *exact, *feet)], axis=1, dtype=np.float32)
        if self.noise:
            noise = self.rng.random((len(rows), len(NOISE)), dtype=np.float32)
            rows[:, : len(NOISE)] += NOISE * (2 * noise - 1)
        out["privileged_state"][lanes], out["state"][lanes] = rows, rows[:, :SEEN]

    def _terms(self, actions, contact, height, touching):
        """The parts of the reward, in the order of REWARDS."""
        slide = np.square(self.feet_slide).sum(axis=2)
        away = self.joints - self.pose
        speed = np.sqrt(squares(self.command))
        moves = speed > 0.01
        beyond = np.maximum(self.low - self.joints, 0) + np.maximum(self.joints - self.high, 0)
        return np.array(
            [
                np.exp(-squares(self.command[:, :2] - self.linvel[:, :2]) / SIGMA),
                np.exp(-np.square(self.gyro[:, 2] - self.command[:, 2]) / SIGMA),
                np.square(self.world_linvel[:, 2]),
                squares(self.world_angvel[:, :2]),
                squares(self.up[:, :2]),
                beyond.sum(axis=1),
                np.exp(-np.square(away) @ POSE_WEIGHTS),
                self.up[:, 2] < 0,
                np.abs(away).sum(axis=1) * (speed < 0.01),
                np.sqrt(squares(self.torque)) + np.abs(self.torque).sum(axis=1),
                squares(actions.astype(float) - self.action),
                np.abs(self.speeds * self.torque).sum(axis=1),
                (np.abs(height - FOOT_HEIGHT) * np.sqrt(np.sqrt(slide))).sum(axis=1),
                (np.square(self.peak / FOOT_HEIGHT - 1) * touching).sum(axis=1) * moves,
                (slide * contact).sum(axis=1) * moves,
                ((self.air - 0.1) * touching).sum(axis=1) * moves,
            ]
        )

    def _start(self, lanes):
        n, uniform = len(lanes), self.rng.uniform
        yaw = uniform(-3.14, 3.14, n)
        start = np.tile(self.home, (n, 1))
        start[:, :2] += uniform(-0.5, 0.5, (n, 2))
        start[:, 3], start[:, 6] = np.cos(yaw / 2), np.sin(yaw / 2)  # home has no rotation
        self.rows[lanes] = self.fresh
        self.qpos[lanes], self.qvel[lanes, :6], self.ctrl[lanes] = start, uniform(-0.5, 0.5, (n, 6)), self.pose
        self.batch.forward(lanes)

        self.action[lanes] = self.air[lanes] = self.peak[lanes] = self.contact[lanes] = 0
        self.elapsed[lanes] = self.total[lanes] = 0
        self.command[lanes], self.until[lanes] = uniform(-COMMAND_MOST, COMMAND_MOST, (n, 3)), self._command_steps(n)
        seconds = uniform(*PUSH_SECONDS, n)
        self.wait[lanes] = np.rint(uniform(*PUSH_WAIT, n) / DT)
        self.push_seconds[lanes], self.push_steps[lanes] = seconds, np.rint(seconds / DT)
        self.kick[lanes], self.since[lanes], self.pushed[lanes] = uniform(*PUSH_KICK, n), int(self.pushes), 0

    def _command_steps(self, count):
        return np.rint(self.rng.exponential(COMMAND_SECONDS, count) / DT)

    def _change_commands(self):
        over = np.flatnonzero(self.until <= 1)
        self.until -= 1
        if n := len(over):
            drawn = self.rng.uniform(-COMMAND_MOST, COMMAND_MOST, (n, 3)) * (self.rng.random((n, 3)) < COMMAND_KEPT)
            self.command[over] = np.where(self.rng.random((n, 3)) < 0.5, drawn, self.command[over])
            self.until[over] = self._command_steps(n)

    def _push(self):
        """The forces of the next step: half a sine wave over the time of a push."""
        acts = self.since >= self.wait
        share = 0.5 * np.sin(np.pi * self.pushed * DT / self.push_seconds) * self.mass * self.kick / self.push_seconds
        self.force[:] = 0
        self.force[:, :2] = (share * acts)[:, None] * self.direction
        self.since[:] = np.where(acts & (self.pushed >= self.push_steps), 0, self.since + ~acts)
        self.pushed += acts
        begins = np.flatnonzero(~acts & (self.since >= self.wait))
        angle = self.rng.uniform(0, 2 * np.pi, len(begins))
        self.pushed[begins] = 0
        self.direction[begins, 0], self.direction[begins, 1] = np.cos(angle), np.sin(angle)
