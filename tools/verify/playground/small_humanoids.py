"""Compares the tasks of OP3 and H1 with MuJoCo Playground's own functions."""

import jax
import jax.numpy as jnp
import numpy as np
from gymnasium.vector import AutoresetMode
from mujoco_playground._src import mjx_env
from mujoco_playground._src.locomotion.h1 import inplace_gait_tracking as h1_inplace
from mujoco_playground._src.locomotion.h1 import joystick_gait_tracking as h1_joystick
from mujoco_playground._src.locomotion.op3 import joystick as op3

import batchenv
from playground.common import Differences, data_of, stepped

# Fields of env.state that Playground's info does not have.
OWN = ("model_fingerprint", "elapsed_steps", "qfrc_applied", "xfrc_applied", "obs_history", "last_observation")


class Robot:
    """How a task is compared.

    joints: how many. torque: of the joint that is turned beyond its limit now and then, N m. tipped: torque that turns
    the robot over, N m. own: keywords of the env in addition to weights and commands. commands: whether there are some.
    config: Playground's.
    """

    joints: int
    torque: float
    tipped: float
    own = {}
    commands = True

    def keywords(self, lanes):
        """Some lanes get no commands."""
        if not self.commands:
            return self.own
        most = np.where(np.arange(lanes) % 5 == 0, 0.0, 1.0)
        names = ("lin_vel_x", "lin_vel_y", "ang_vel_yaw")
        ranges = {f"command_{name}_{end}": sign * most for name in names for end, sign in (("min", -1), ("max", 1))}
        return {**self.own, **ranges}

    def weights(self):
        """Playground's, but none of them is 0."""
        return {name: weight or 0.5 for name, weight in self.config().reward_config.scales.items()}

    def disturb(self, env, number, rng):
        """Forces of the coming step: some robots are turned over, others get a joint beyond its limit."""
        forces, torques = np.zeros_like(env.state["xfrc_applied"]), np.zeros_like(env.state["qfrc_applied"])
        which = (np.arange(len(forces)) + number // 20) % 8
        forces[which == 1, 1, 3:5] = self.tipped
        torques[which == 3, 6 + number // 20 % self.joints] = self.torque
        env.set_state({"xfrc_applied": forces, "qfrc_applied": torques})

    def acted(self, rng, lanes, number):
        """Actions: a third of the lanes do anything, a third swing their limbs, a third stand and sway."""
        kind = np.arange(lanes)[:, None] % 3
        random = rng.uniform(-1, 1, (lanes, self.joints))
        swing = np.sin(0.3 * number * (1 + np.arange(lanes)[:, None] / lanes) + np.pi * (np.arange(self.joints) % 2))
        return np.select([kind == 0, kind == 1], [random, 0.5 * swing], 0.1 * random).astype(np.float32)

    def observed(self, before):
        """What Playground reads of a state's observation."""
        return {}

    def info(self, before):
        """What Playground's info has in addition to the fields of env.state."""
        return {}

    def data(self, datas, before):
        return data_of(datas)


class Op3(Robot):
    joints, torque, tipped = 20, 30.0, 8.0
    own = {"obs_noise": 0.0, "action_scale": 0.5}
    config = staticmethod(op3.default_config)

    def reference(self, model, weights):
        config = self.config()
        config.obs_noise, config.action_scale, config.reward_config.scales = 0.0, 0.5, weights
        return stepped(op3.Joystick.__new__(op3.Joystick), config, model)

    def observed(self, before):
        return jnp.asarray(before["obs_history"])

    def info(self, before):
        unread = np.zeros_like(before["last_act"])
        return {"last_vel": unread, "motor_targets": unread}


class H1Inplace(Robot):
    joints, torque, tipped = 19, 600.0, 300.0
    own = {"noise_level": 0.0}
    commands = False
    config, kind = staticmethod(h1_inplace.default_config), h1_inplace.InplaceGaitTracking

    def reference(self, model, weights):
        config = self.config()
        config.obs_noise.level, config.reward_config.scales = 0.0, weights
        config.early_termination = self.own.get("early_termination", True)
        env = self.kind.__new__(self.kind)
        env._left_foot_floor_found_sensor, env._right_foot_floor_found_sensor = (
            [model.sensor(f"{side}_foot{i}_floor_found").id for i in (1, 2, 3)] for side in ("left", "right")
        )
        return stepped(env, config, model)

    def info(self, before):
        return {"swing_peak": np.zeros((len(before["gait"]), 2))}


class H1Joystick(H1Inplace):
    own = {"noise_level": 0.0, "gaits": 2, "early_termination": False}
    commands = True
    config, kind = staticmethod(h1_joystick.default_config), h1_joystick.JoystickGaitTracking

    def disturb(self, env, number, rng):
        """Feet seem to be on the floor nearly always, so some get a time in the air."""
        super().disturb(env, number, rng)
        env.set_state({"feet_air_time": rng.choice([0.0, 0.06, 0.3], (env.num_envs, 2))})

    def data(self, datas, before):
        return data_of(datas, ctrl=before["motor_targets"])


TASKS = {
    "Op3Joystick-v0": Op3(),
    "H1InplaceGaitTracking-v0": H1Inplace(),
    "H1JoystickGaitTracking-v0": H1Joystick(),
}


def compare(env_id, lanes, steps, seed):
    """Returns the largest differences, {what: number}."""
    robot, differences = TASKS[env_id], Differences(env_id)
    same, weights = differences.same, robot.weights()
    rewards_by_name = {f"reward_{name}": weight for name, weight in weights.items()}
    env = batchenv.make(
        env_id, lanes, autoreset_mode=AutoresetMode.DISABLED, **robot.keywords(lanes), **rewards_by_name
    )
    step = robot.reference(env.get_attr("model")[0], weights)
    env.reset(seed=seed)
    if robot.commands:
        env.set_state({"step": np.where(np.arange(lanes) % 2, 0, 470)})
    rng, key, zeros = np.random.default_rng(seed), jax.random.key(seed), jnp.zeros(lanes)
    metrics = {f"reward/{name}": zeros for name in weights} | {"swing_peak": zeros}
    for number in range(steps):
        robot.disturb(env, number, rng)
        before = {name: values.copy() for name, values in env.state.items() if name not in OWN or name == "obs_history"}
        actions = robot.acted(rng, lanes, number)
        observations, rewards, ended, _, infos = env.step(actions)
        after = env.state
        key, use = jax.random.split(key)
        info = {name: values for name, values in before.items() if name not in OWN} | robot.info(before)
        info = {name: jnp.asarray(values) for name, values in info.items()} | {"rng": jax.random.split(use, lanes)}
        data = robot.data(env.get_attr("data"), before)
        theirs = step(mjx_env.State(data, robot.observed(before), zeros, zeros, metrics, info), jnp.asarray(actions))
        if isinstance(theirs.obs, dict):
            for name, expected in theirs.obs.items():
                same(name, observations[name], expected)
        else:
            same("observation", observations, theirs.obs)
        same("reward", rewards, theirs.reward)
        same("terminated", ended, theirs.done)
        differences.terms(infos, theirs.metrics)
        for name in before.keys() & theirs.info.keys():
            kept = before["step"] < 500 if name == "command" else ~ended if name == "step" else slice(None)
            same(name, after[name], theirs.info[name], kept)
        if ended.any():
            env.reset(options={"reset_mask": ended})
    differences.check()
    return differences.worst
