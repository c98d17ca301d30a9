"""Go1 and Spot that get up, stand on two feet, or walk in a given gait."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import struct
from gymnasium.vector import AutoresetMode
from mujoco_playground._src import mjx_env
from mujoco_playground._src.locomotion.go1 import getup as go1_getup
from mujoco_playground._src.locomotion.go1 import handstand
from mujoco_playground._src.locomotion.spot import getup as spot_getup
from mujoco_playground._src.locomotion.spot import joystick_gait_tracking as spot_gait

import batchenv
from playground.common import Data, Differences, data_of, stepped

GO1, SPOT = ("FR", "FL", "RR", "RL"), ("FL", "FR", "HL", "HR")
ENERGY = {"energy_termination_threshold": 400.0}
# Fields of env.state that Playground's info has, too.
REMEMBERED = ("last_act", "last_last_act", "swing_peak", "qpos_error_history", "command", "gait_freq", "gait", "phase",
              "foot_height")  # fmt: skip
GAIT_NOISE = ("joint_pos", "gyro", "gravity")


@dataclass(frozen=True)
class Task:
    """kind, config: Playground's class, and its settings. feet: those of its model.

    weights: of parts of the reward that would have none. changes: settings of both. keywords: settings of lanes.
    noise: the keywords that switch it off.
    """

    kind: Any
    config: Callable[[], Any]
    feet: tuple[str, ...]
    weights: dict[str, float]
    changes: dict[str, float] = field(default_factory=dict)
    keywords: Callable[[np.ndarray], dict[str, Any]] = lambda which: {}
    noise: tuple[str, ...] = ("level",)


def _falls(which):
    """Some robots fall before their episode, some stand, and some have their feet hardly on the floor."""
    return {
        "drop_from_height_prob": np.where(which % 3 == 2, 0.0, 0.6),
        "settle_time": np.where(which % 4 == 0, 0.0, 0.5),
    }


def _crouches(which):
    return {"init_from_crouch": np.where(which % 8 == 0, 0.5, 0.0)}


_STAND = {"action_rate": -0.01, "termination": -1.0, "torques": -1e-3, "stay_still": -0.1, "energy": -3e-3,
          "dof_acc": -2.5e-7}  # fmt: skip
TASKS = {
    "Go1Getup-v0": Task(go1_getup.Getup, go1_getup.default_config, GO1, {}, ENERGY, _falls),
    "SpotGetup-v0": Task(
        spot_getup.Getup, spot_getup.default_config, SPOT, {"torques": -1e-5, "action_rate": -1e-3}, {}, _falls
    ),
    "Go1Handstand-v0": Task(handstand.Handstand, handstand.default_config, GO1, _STAND, ENERGY, _crouches),
    "Go1Footstand-v0": Task(handstand.Footstand, handstand.default_config, GO1, _STAND, ENERGY, _crouches),
    "SpotJoystickGaitTracking-v0": Task(
        spot_gait.JoystickGaitTracking, spot_gait.default_config, SPOT, {}, noise=GAIT_NOISE
    ),
}


@struct.dataclass
class Moved(Data):
    """after: what MuJoCo's steps have made of it."""

    after: Data


def _reference(task, model):
    """Playground's step without noise. The controls that it computes are in the data that it returns."""
    config = task.config()
    noise = config.noise_config if "noise_config" in config else config.obs_noise
    noise.scales.update({name: 0.0 for name in noise.scales if name != "feet_pos"})
    config.update(task.changes)
    config.reward_config.scales.update(task.weights)
    env = task.kind.__new__(task.kind)
    env._imu_site_id = model.site("imu").id
    env._feet_floor_found_sensor = [model.sensor(f"{foot}_floor_found").id for foot in task.feet]
    step = stepped(env, config, model)
    mjx_env.step = lambda model, data, controls, steps: data.after.replace(ctrl=controls)
    return step


def _make(env_id, task, lanes):
    keywords = {f"noise_{name}": 0.0 for name in task.noise} | {**task.changes, **task.keywords(np.arange(lanes))}
    keywords |= {f"reward_{name}": weight for name, weight in task.weights.items()}
    return batchenv.make(env_id, lanes, autoreset_mode=AutoresetMode.DISABLED, **keywords)


def _state(task, earlier, datas, before, random):
    """Playground's state of all lanes before the step, in which MuJoCo's results are already."""
    zeros = jnp.zeros(len(datas))
    info = {name: jnp.asarray(before[name]) for name in REMEMBERED if name in before}
    metrics = {f"reward/{name}": zeros for name in task.config().reward_config.scales}
    info |= {"rng": random, "step": jnp.zeros(len(datas), jnp.int32)}
    if "gait" in before:
        metrics["swing_peak"] = zeros
        info |= {"phase_dt": jnp.asarray(2 * np.pi * task.config().ctrl_dt * before["gait_freq"])}
        info |= {"motor_targets": jnp.zeros((len(datas), 12)), "last_contact": jnp.zeros((len(datas), 4), bool)}
        info |= {name: jnp.zeros((len(datas), 12)) for name in ("last_act", "last_last_act")}
    return mjx_env.State(Moved(**vars(data_of(earlier)), after=data_of(datas)), {}, zeros, zeros, metrics, info)


def _acted(rng, lanes, number):
    """Actions: a third of the lanes do anything, a third swing their legs, a third stand and sway."""
    legs = np.array([0, 0, 0, 1, 1, 1, 1, 1, 1, 0, 0, 0])  # a trot
    kind = np.arange(lanes)[:, None] % 3
    rhythm = 0.02 + 0.06 * np.arange(lanes)[:, None] / lanes
    swing = np.sin(2 * np.pi * rhythm * number + np.pi * legs) * np.array([0.1, 0.5, 0.8] * 4)
    random = rng.uniform(-1, 1, (lanes, 12))
    return np.select([kind == 0, kind == 1], [random, swing], 0.1 * random).astype(np.float32)


def compare(env_id, lanes, steps, seed):
    """Returns the largest differences, {what: number}."""
    task = TASKS[env_id]
    env = _make(env_id, task, lanes)
    step = _reference(task, env.get_attr("model")[0])
    env.reset(seed=seed)
    rng, key, compared = np.random.default_rng(seed), jax.random.key(seed), Differences(env_id)
    for number in range(steps):
        before = {name: values.copy() for name, values in env.state.items()}
        earlier, actions = env.get_attr("data"), _acted(rng, lanes, number)
        ours = env.step(actions)
        datas = env.get_attr("data")
        key, use = jax.random.split(key)
        given = _state(task, earlier, datas, before, jax.random.split(use, lanes))
        theirs = step(given, jnp.asarray(actions))
        if isinstance(theirs.obs, dict):
            assert set(theirs.obs) == set(ours[0])
            for name, values in theirs.obs.items():
                compared.same(name, ours[0][name], values)
        else:
            compared.same("observation", ours[0], theirs.obs)
        compared.same("ctrl", np.stack([data.ctrl for data in datas]), theirs.data.ctrl)
        compared.same("reward", ours[1], theirs.reward)
        compared.same("terminated", ours[2], theirs.done)
        compared.terms(ours[4], theirs.metrics)
        if "swing_peak" in ours[4]:
            compared.same("metrics/swing_peak", ours[4]["swing_peak"], theirs.metrics["swing_peak"])
        for name in set(REMEMBERED) & set(before):
            compared.same(name, env.state[name], theirs.info[name])
        if ours[2].any():
            env.reset(options={"reset_mask": ours[2]})
    compared.check()
    return compared.worst
