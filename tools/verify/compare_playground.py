"""Compares tasks with MuJoCo Playground's own functions, state by state: what is observed without noise, reward terms,
rewards, ends, timers of feet, and the forces of pushes. The folder playground has tasks of other robots than Go1's and
Spot's.

    python tools/verify/compare_playground.py [ID ...] [--lanes 64] [--steps 80] [--seed 0]

Playground's own step() runs on a CPU in JAX; in place of MJX's physics it gets the results of MuJoCo's step that a lane
has taken. So it needs `pip install playground mujoco`, but neither a GPU nor the models that Playground downloads. Exit
status 1: something differs by more than float32's rounding.
"""

import argparse
import sys

import jax
import jax.numpy as jnp
import numpy as np
from gymnasium.vector import AutoresetMode
from mujoco_playground._src import mjx_env
from mujoco_playground._src.locomotion.go1 import joystick as go1
from mujoco_playground._src.locomotion.spot import joystick as spot

import batchenv
from playground import humanoids, quadrupeds, small_humanoids
from playground.common import Differences, data_of, stepped

PUSHES = {"pert_enable": True, "pert_kick_wait_times_range": (0.1, 0.4), "pert_velocity_kick_range": (0, 20)}
NO_NOISE = {
    go1: ("level",),
    spot: ("joint_pos", "gyro", "gravity", "feet_pos_x", "feet_pos_y", "feet_pos_z"),
}
TASKS = {
    "Go1JoystickFlatTerrain-v0": go1,
    "Go1JoystickRoughTerrain-v0": go1,
    "SpotFlatTerrainJoystick-v0": spot,
}
COMMANDS = {go1: ("a_x", "a_y", "a_yaw"), spot: ("lin_vel_x_max", "lin_vel_y_max", "ang_vel_yaw_max")}
PUSHED = {go1: slice(119, 122), spot: slice(164, 167)}  # forces in privileged_state, which are rounded more


def reference(module, model):
    """Playground's step over all lanes, of its env over a compiled mjModel."""
    env = module.Joystick.__new__(module.Joystick)
    config = module.default_config()
    config.pert_config.enable = True
    if module is go1:
        config.noise_config.level = 0.0
        env._imu_site_id = model.site("imu").id
    else:
        config.obs_noise.scales = {"joint_pos": 0.0, "gyro": 0.0, "gravity": 0.0, "feet_pos": [0.0, 0.0, 0.0]}
        env._pert_func = env._maybe_apply_perturbation
    env._feet_floor_found_sensor = [model.sensor(f"{foot}_floor_found").id for foot in module.consts.FEET_GEOMS]
    return stepped(env, config, model)


def state_of(module, datas, before, random):
    """Playground's state of all lanes: the physics' results, and what was there before the step."""
    push = {name: before["push"][:, k] for k, name in enumerate(PUSH)}
    info = {
        **{name: before[name] for name in ("command", "last_act", "feet_air_time", "last_contact", "swing_peak")},
        **{name: push[name] for name in ("pert_duration_seconds", "pert_mag")},
        **{name: push[name].astype(np.int32) for name in COUNTERS},
        "pert_dir": np.column_stack([push["x"], push["y"], np.zeros(len(datas))]),
        "last_last_act": before.get("last_last_act", before["last_act"]),
        "motor_targets": np.zeros_like(before["last_act"]),
        "rng": random,
    }
    info |= {name: before[name] for name in ("steps_until_next_cmd", "step", "qpos_error_history") if name in before}
    metrics = ["swing_peak", *(f"reward/{name}" for name in module.default_config().reward_config.scales)]
    data = data_of(datas, xfrc_applied=np.zeros((len(datas), *datas[0].xfrc_applied.shape)))
    info = {name: jnp.asarray(values) for name, values in info.items()}
    zeros = jnp.zeros(len(datas))
    return mjx_env.State(data, {}, zeros, zeros, {name: zeros for name in metrics}, info)


COUNTERS = ("steps_until_next_pert", "pert_duration", "steps_since_last_pert", "pert_steps")
PUSH = ("steps_until_next_pert", "pert_duration", "pert_duration_seconds", "pert_mag", "steps_since_last_pert",
        "pert_steps", "x", "y")  # fmt: skip


def swung(rng, lanes, number, rhythm):
    """Actions: a third of the lanes do anything, a third swing their legs, a third stand and sway."""
    legs = np.array([0, 0, 0, 1, 1, 1, 1, 1, 1, 0, 0, 0])  # a trot
    kind = np.arange(lanes)[:, None] % 3
    swing = np.sin(2 * np.pi * rhythm * number + np.pi * legs) * np.array([0.1, 0.5, 0.8] * 4)
    random = rng.uniform(-1, 1, (lanes, 12))
    return np.select([kind == 0, kind == 1], [random, swing], 0.1 * random).astype(np.float32)


def compare(env_id, lanes, steps, seed):
    """Returns the largest differences, {what: number}."""
    which, module = np.arange(lanes), TASKS[env_id]
    # Some lanes get no commands, others go beyond the limits of their joints, and fall.
    many = {f"command_{name}": np.where(which % 5 == 0, 0.0, 1.5) for name in COMMANDS[module]}
    many |= {name.replace("max", "min"): -values for name, values in many.items() if name.endswith("max")}
    if module is go1:  # a Spot observes its joints' targets
        many["action_scale"] = np.where(which % 2, 0.5, 4.0)
    many |= PUSHES
    many |= {f"noise_{name}": 0.0 for name in NO_NOISE[module]}
    env = batchenv.make(env_id, lanes, autoreset_mode=AutoresetMode.DISABLED, **many)
    step = reference(module, env.get_attr("model")[0])
    env.reset(seed=seed)
    rng, key, differences = np.random.default_rng(seed), jax.random.key(seed), Differences(env_id)
    rhythm = rng.uniform(0.02, 0.08, (lanes, 1))
    pushes, started = env.state["push"].copy(), np.ones(lanes, bool)

    same = differences.same
    for number in range(steps):
        before = {name: values.copy() for name, values in env.state.items()}
        # Ours is one step ahead: it has the force of the coming step already.
        pushes[started] = before["push"][started] * np.isin(PUSH, (*COUNTERS[2:], "x", "y"), invert=True)
        actions = swung(rng, lanes, number, rhythm)
        observations, rewards, ended, _, infos = env.step(actions)
        key, use = jax.random.split(key)
        given = state_of(module, env.get_attr("data"), {**before, "push": pushes}, jax.random.split(use, lanes))
        theirs = step(given, jnp.asarray(actions))
        same("state", observations["state"], theirs.obs["state"])
        ours, other = observations["privileged_state"], np.array(theirs.obs["privileged_state"])
        pushed = PUSHED[module]
        same("push", ours[:, pushed], other[:, pushed], atol=4e-3 if module is spot else 1e-3)
        same("privileged_state", np.delete(ours, pushed, 1), np.delete(other, pushed, 1))
        same("reward", rewards, theirs.reward)
        same("terminated", ended, theirs.done)
        same("metrics/swing_peak", infos["swing_peak"], theirs.metrics["swing_peak"])
        differences.terms(infos, theirs.metrics)
        for name in ("last_act", "feet_air_time", "last_contact", "swing_peak", "last_last_act", "qpos_error_history"):
            if name in env.state:
                same(name, env.state[name], theirs.info[name])
        kept = before["step"] < 200 if module is spot else before["steps_until_next_cmd"] > 1
        same("command", env.state["command"], theirs.info["command"], kept)
        pushes, started = before["push"], ended
        if ended.any():
            env.reset(options={"reset_mask": ended})
    differences.check()
    return differences.worst


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ids", nargs="*", metavar="ID", help="all, unless some are given")
    for name, value in (("lanes", 64), ("steps", 80), ("seed", 0)):
        parser.add_argument(f"--{name}", type=int, default=value)
    given = parser.parse_args()
    comparisons = {
        **dict.fromkeys(TASKS, compare),
        **{env_id: module.compare for module in (quadrupeds, humanoids, small_humanoids) for env_id in module.TASKS},
    }
    unknown = set(given.ids) - set(comparisons)
    if unknown:
        parser.error(f"no comparison of {', '.join(sorted(unknown))}; there are {', '.join(comparisons)}")
    for env_id in given.ids or comparisons:
        worst = comparisons[env_id](env_id, given.lanes, given.steps, given.seed)
        print(f"{env_id}: {given.lanes * given.steps} states; largest differences:")
        print("  " + ", ".join(f"{what} {difference:.1e}" for what, difference in worst.items()))


if __name__ == "__main__":
    try:
        main()
    except AssertionError as problem:
        sys.exit(f"differs: {problem}")
