"""Compares the joystick tasks of G1, T1, Apollo and Berkeley Humanoid with MuJoCo Playground's own functions."""

from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
from gymnasium.vector import AutoresetMode
from mujoco_playground._src import mjx_env
from mujoco_playground._src.locomotion.apollo import base as apollo_base
from mujoco_playground._src.locomotion.apollo import joystick as apollo
from mujoco_playground._src.locomotion.berkeley_humanoid import joystick as berkeley
from mujoco_playground._src.locomotion.g1 import joystick as g1
from mujoco_playground._src.locomotion.t1 import joystick as t1

import batchenv
from playground.common import Differences, data_of, stepped

TASKS = {
    "G1JoystickFlatTerrain-v0": g1,
    "G1JoystickRoughTerrain-v0": g1,
    "T1JoystickFlatTerrain-v0": t1,
    "T1JoystickRoughTerrain-v0": t1,
    "ApolloJoystickFlatTerrain-v0": apollo,
    "BerkeleyHumanoidJoystickFlatTerrain-v0": berkeley,
    "BerkeleyHumanoidJoystickRoughTerrain-v0": berkeley,
}
COMMANDS = ("lin_vel_x", "lin_vel_y", "ang_vel_yaw")
# Weights of what Playground does not weigh by default: so that all count in the reward.
OTHERS = {"dof_acc": 1e-6, "dof_vel": 1e-3, "energy": 1e-3, "torques": 1e-3}
# Fields of env.state that Playground's info does not have.
OWN = ("model_fingerprint", "elapsed_steps", "qfrc_applied", "xfrc_applied", "last_observation")


def keywords(lanes, weights):
    """Some lanes get no commands, and some go far beyond their targets; there are many pushes."""
    which = np.arange(lanes)
    most = np.where(which % 5 == 0, 0.0, 1.0)
    ranges = {f"command_{name}_{end}": sign * most for name in COMMANDS for end, sign in (("min", -1), ("max", 1))}
    pushes = {"push_interval_range": (0.05, 0.4), "push_magnitude_range": (0, 2)}
    scale = {"action_scale": np.where(which % 2, 0.5, 3.0), "noise_level": 0.0}
    return {**ranges, **pushes, **scale, **{f"reward_{name}": weight for name, weight in weights.items()}}


def acted(rng, lanes, joints, number):
    """Actions: a third of the lanes do anything, a third swing their limbs, a third stand and sway."""
    which = np.arange(lanes)[:, None]
    random = rng.uniform(-1, 1, (lanes, joints))
    swing = np.sin(0.3 * number * (1 + which / lanes) + np.pi * (np.arange(joints) // 6 % 2))
    return np.select([which % 3 == 0, which % 3 == 1], [random, 0.5 * swing], 0.05 * random).astype(np.float32)


def reference(module, config, model):
    """Playground's step over all lanes, of its env over a compiled mjModel."""
    if module is not apollo:
        return stepped(module.Joystick.__new__(module.Joystick), config, model)
    # This one reads all that it needs where it reads the model's file.
    compiled = SimpleNamespace(from_xml_string=lambda xml, assets: model)
    apollo_base.mujoco, apollo_base.get_assets = SimpleNamespace(MjModel=compiled), dict
    apollo_base.mjx = SimpleNamespace(put_model=lambda model, impl: SimpleNamespace(nu=model.nu, nv=model.nv))
    env = module.Joystick(config=config)
    env._post_init = lambda: None
    return stepped(env, config, model)


def state_of(model, data, before, random, metrics):
    """Playground's state of all lanes: the physics' results, and what was there before the step."""
    lanes = len(random)
    unread = {f"filtered_{name}": np.zeros((lanes, 3)) for name in ("linvel", "angvel")}
    unread |= {name: np.zeros((lanes, model.nu)) for name in ("last_last_act", "motor_targets")}
    info = {"step": np.zeros(lanes, np.int32), **unread, **before, "rng": random}
    zeros = jnp.zeros(lanes)
    info = {name: jnp.asarray(values) for name, values in info.items()}
    return mjx_env.State(data, {}, zeros, zeros, dict.fromkeys(metrics, zeros), info)


def compare(env_id, lanes, steps, seed):
    """Returns the largest differences, {what: number}."""
    module, differences = TASKS[env_id], Differences(env_id)
    same, config = differences.same, module.default_config()
    weights = {name: weight or OTHERS.get(name, 0.5) for name, weight in config.reward_config.scales.items()}
    config.noise_config.level, config.reward_config.scales = 0.0, weights
    env = batchenv.make(env_id, lanes, autoreset_mode=AutoresetMode.DISABLED, **keywords(lanes, weights))
    model = env.get_attr("model")[0]
    step = reference(module, config, model)
    env.reset(seed=seed)
    rng, key = np.random.default_rng(seed), jax.random.key(seed)
    metrics = ["swing_peak", *(f"reward/{name}" for name in weights)]
    for number in range(steps):
        forces = np.zeros_like(env.state["xfrc_applied"])
        forces[(np.arange(lanes) + number // 20) % 8 == 1, 1, 3:5] = 100.0  # turns some of them over
        env.set_state({"xfrc_applied": forces})
        before = {name: values.copy() for name, values in env.state.items() if name not in OWN}
        actions = acted(rng, lanes, model.nu, number)
        observations, rewards, ended, _, infos = env.step(actions)
        key, use = jax.random.split(key)
        given = state_of(model, data_of(env.get_attr("data")), before, jax.random.split(use, lanes), metrics)
        theirs = step(given, jnp.asarray(actions))
        for name, expected in theirs.obs.items():
            same(name, observations[name], expected)
        same("reward", rewards, theirs.reward)
        same("terminated", ended, theirs.done)
        differences.terms(infos, theirs.metrics)
        if "swing_peak" in infos:
            same("metrics/swing_peak", infos["swing_peak"], theirs.metrics["swing_peak"])
        same("pushed", before["push"].any(1), np.hypot(*np.asarray(theirs.info["push"]).T))
        kept_command = before["step"] < 500 if "step" in before else before["steps_until_next_cmd"] > 1
        for name in before.keys() - {"push"}:
            kept = slice(None)
            if name in ("step", "steps_until_next_cmd"):
                kept = ~ended & kept_command
            elif name == "command":
                kept = kept_command
            same(name, env.state[name], theirs.info[name], kept)
        if ended.any():
            env.reset(options={"reset_mask": ended})
    differences.check()
    return differences.worst
