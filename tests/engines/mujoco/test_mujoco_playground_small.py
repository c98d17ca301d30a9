"""MuJoCo Playground's tasks of small humanoids: against the same formulas in NumPy over MuJoCo's bindings.
(tools/verify/compare_playground.py compares with Playground's own functions, in JAX.)"""

import pickle

import numpy as np
import pytest
from gymnasium.spaces import Box
from gymnasium.vector import AutoresetMode

from helpers.mujoco import mujoco
from helpers.playground import config_of, make_robots, play, random_actions, uniform

OP3, INPLACE, JOYSTICK = "Op3Joystick-v0", "H1InplaceGaitTracking-v0", "H1JoystickGaitTracking-v0"
FLAT, ROUGH = (f"BerkeleyHumanoidJoystick{terrain}Terrain-v0" for terrain in ("Flat", "Rough"))
JOINTS = {OP3: 20, INPLACE: 19, JOYSTICK: 19, FLAT: 12, ROUGH: 12}
BERKELEY = {
    "tracking_lin_vel": 1.0, "tracking_ang_vel": 0.5, "lin_vel_z": 0.0, "ang_vel_xy": -0.15, "orientation": -1.0,
    "base_height": 0.0, "torques": -2.5e-5, "action_rate": -0.01, "energy": 0.0, "feet_clearance": 0.0,
    "feet_air_time": 2.0, "feet_slip": -0.25, "feet_height": 0.0, "feet_phase": 1.0, "stand_still": 0.0, "alive": 0.0,
    "termination": -1.0, "joint_deviation_knee": -0.1, "joint_deviation_hip": -0.25, "dof_pos_limits": -1.0,
    "pose": -1.0,
}  # fmt: skip
WEIGHTS = {
    OP3: {
        "tracking_lin_vel": 1.5, "tracking_ang_vel": 0.8, "lin_vel_z": -2.0, "ang_vel_xy": -0.05, "orientation": -5.0,
        "torques": -0.0002, "action_rate": -0.01, "zero_cmd": -0.5, "termination": -1.0, "feet_slip": -0.1,
        "feet_clearance": 0.0, "energy": -0.0001,
    },
    INPLACE: {"feet_phase": 2.0, "pose": -0.5, "ang_vel": -0.5, "lin_vel": -0.5},
    JOYSTICK: {
        "tracking_lin_vel": 3.5, "tracking_ang_vel": 0.75, "lin_vel_z": 0.0, "ang_vel_xy": 0.0, "feet_phase": 5.0,
        "pose": -2.5, "feet_air_time": 0.0, "foot_slip": 0.0, "action_rate": -0.01,
    },
    FLAT: BERKELEY,
    ROUGH: BERKELEY,
}  # fmt: skip
# Keywords of comparisons, and how strong a torque turns joints beyond their limits.
KEYWORDS = {OP3: {"obs_noise": 0.0}, INPLACE: {"noise_level": 0.0}, JOYSTICK: {"noise_level": 0.0, "gaits": 2}}
KEYWORDS |= {env_id: {"noise_level": 0.0, "push_interval_range": (0.1, 0.3)} for env_id in (FLAT, ROUGH)}
TORQUES = {OP3: 200.0, INPLACE: 1000.0, JOYSTICK: 1000.0, FLAT: 100.0, ROUGH: 100.0}
RANGES = [f"command_{name}" for name in ("lin_vel_x", "lin_vel_y", "ang_vel_yaw")]


def commands(scale):
    """Commands up to 1, times the scale of each lane."""
    return {f"{name}_{end}": sign * scale for name in RANGES for end, sign in (("min", -1), ("max", 1))}


class Lane:
    """What a step of a lane should give. before: the lane's state when the step began."""

    keyframe = "home"

    def __init__(self, model, data, before, action, early):
        self.model, self.data, self.before, self.early = model, data, before, early
        self.action = action.astype(float)
        self.pose = model.keyframe(self.keyframe).qpos[7:]
        self.angles, self.speeds = data.qpos[7:], data.qvel[6:]
        self.low, self.high = model.actuator_ctrlrange.T
        self.last = before["last_act"].astype(float)
        self.earlier = before.get("last_last_act", before["last_act"]).astype(float)
        self.feet = [data.site(foot) for foot in self.sites]
        self.heights = np.array([foot.xpos[2] for foot in self.feet])
        self.moves = np.stack([self.sensor(f"{foot}_global_linvel")[:2] for foot in self.sites])

    def sensor(self, name):
        return self.data.sensor(name).data

    def found(self, *geoms):
        return any(self.sensor(f"{geom}_floor_found")[0] > 0 for geom in geoms)

    def tracking(self, sigma):
        command, velocity = self.before["command"], self.sensor("local_linvel")
        return {
            "tracking_lin_vel": np.exp(-((command[:2] - velocity[:2]) ** 2).sum() / sigma),
            "tracking_ang_vel": np.exp(-((command[2] - self.sensor("gyro")[2]) ** 2) / sigma),
            "lin_vel_z": self.sensor("global_linvel")[2] ** 2,
            "ang_vel_xy": (self.sensor("global_angvel")[:2] ** 2).sum(),
        }

    def exceeds(self):
        return bool((self.angles < self.low).any() or (self.angles > self.high).any())


class Op3Lane(Lane):
    keyframe, sites = "stand_bent_knees", ("left_foot", "right_foot")

    def observation(self):
        sensed = [self.sensor("gyro"), self.sensor("upvector"), self.before["command"]]
        new = np.clip(np.concatenate([*sensed, self.angles - self.pose, self.last]), -100, 100)
        return np.concatenate([new, self.before["obs_history"][:-49]])

    def ended(self):
        fallen = self.sensor("upvector")[2] < 0.85 or self.data.body("body_link").xpos[2] < 0.21
        return self.exceeds() or bool(fallen and self.early)

    def terms(self):
        action, torque = self.action, self.data.actuator_force
        contact = np.array([self.found(f"{side}_foot1", f"{side}_foot2") for side in "lr"])
        speed = np.linalg.norm(self.moves, axis=1)
        twice = action - 2 * self.last + self.earlier
        return self.tracking(0.25) | {
            "orientation": (self.sensor("upvector")[:2] ** 2).sum(),
            "torques": np.linalg.norm(torque) + np.abs(torque).sum(),
            "action_rate": ((action - self.last) ** 2).sum() + (twice**2).sum(),
            "zero_cmd": (action**2).sum() * (np.linalg.norm(self.before["command"]) < 0.1),
            "termination": float(self.ended() and self.before["step"] < 500),
            "feet_slip": (speed**2 * contact).sum(),
            "feet_clearance": ((self.heights - 0.07) ** 2 * np.sqrt(speed)).sum(),
            "energy": np.abs(self.speeds * torque).sum(),
        }

    def reward(self, weighted):
        return max(sum(weighted.values()) * 0.02, 0)


class H1Lane(Lane):
    sites = ("left_foot", "right_foot")
    sharpness = 0.1

    def __init__(self, *args):
        super().__init__(*args)
        self.targets = np.clip(self.centre() + self.action, self.low, self.high)
        # Playground uses numbers of sensors as places in sensordata.
        places = [
            [self.model.sensor(f"{side}_foot{i}_floor_found").id for i in (1, 2, 3)] for side in ("left", "right")
        ]
        self.contact = (self.data.sensordata[np.array(places)] > 0).any(1)

    def centre(self):
        self.action *= 0.6
        return self.pose

    def observation(self):
        before, command = self.before, [self.before["command"]] if "command" in self.before else []
        return np.concatenate([
            self.sensor("gyro"), self.sensor("upvector"), self.angles - self.pose, self.speeds, self.last, *command,
            self.speeds, before["qvel_history"][:-19],
            self.angles - self.targets, before["qpos_error_history"][:-19],
            self.contact, np.cos(before["phase"]), np.sin(before["phase"]),
            [before["gait_freq"], before["gait"], before["foot_height"]],
        ])  # fmt: skip

    def ended(self):
        return self.exceeds() or bool(self.sensor("upvector")[2] < 0.85 and self.early)

    def terms(self):
        x = (self.before["phase"] + np.pi) / (2 * np.pi)
        rise = [t**3 + 3 * t**2 * (1 - t) for t in (2 * x, 2 * x - 1)]
        wanted = self.before["foot_height"] * np.where(x <= 0.5, rise[0], 1 - rise[1])
        weights = np.array([5, 5, 0, 0, 5, 5, 5, 0, 0, 5, 2, *[1] * 8])
        return {
            "feet_phase": np.exp(-((self.heights - wanted) ** 2).sum() / self.sharpness),
            "pose": ((self.angles - self.pose) ** 2 * weights).sum(),
            **self.others(),
        }

    def others(self):
        return {
            "ang_vel": (self.sensor("global_angvel") ** 2).sum(),
            "lin_vel": (self.sensor("global_linvel")[:2] ** 2).sum(),
        }

    def reward(self, weighted):
        costs = sum(term for name, term in weighted.items() if name != "feet_phase")
        return weighted["feet_phase"] * np.exp(0.2 * costs) * 0.02


class H1JoystickLane(H1Lane):
    sharpness = 0.01

    def centre(self):
        self.action *= 0.3
        return self.before["motor_targets"]

    def others(self):
        action, before, speed = self.action / 0.3, self.before, np.linalg.norm(self.moves, axis=1)
        first = (before["feet_air_time"] > 0) & (self.contact | before["last_contact"])
        air_time = ((before["feet_air_time"] + 0.02 - 0.1) * first).sum()
        terms = self.tracking(0.5) | {
            "feet_air_time": air_time * (np.linalg.norm(before["command"][:2]) > 0.05),
            "foot_slip": (speed**2 * self.contact).sum(),
            "action_rate": ((self.last - self.earlier) ** 2).sum()
            + ((self.last - 2 * self.earlier + action) ** 2).sum(),
        }
        terms["lin_vel_z"] *= before["gait"] > 0
        return terms

    def reward(self, weighted):
        return max(sum(weighted.values()) * 0.02, 0)


class BerkeleyLane(Lane):
    sites = ("l_foot", "r_foot")

    def __init__(self, *args):
        super().__init__(*args)
        self.contact = np.array([self.found(f"{side}_foot1") for side in "lr"])
        self.first = (self.before["feet_air_time"] > 0) & (self.contact | self.before["last_contact"])
        self.air_time = self.before["feet_air_time"] + 0.02

    def observation(self):
        before, angles, data = self.before, self.angles - self.pose, self.data
        gravity = data.site("imu").xmat.reshape(3, 3).T @ [0, 0, -1]
        own = [before["command"], angles, self.speeds, self.last, np.cos(before["phase"]), np.sin(before["phase"])]
        sensed = [self.sensor("gyro"), self.sensor("accelerometer"), gravity, self.sensor("local_linvel")]
        return np.concatenate([
            self.sensor("local_linvel"), self.sensor("gyro"), gravity, *own, *sensed, self.sensor("global_angvel"),
            angles, self.speeds, [data.qpos[2]], data.actuator_force, self.contact,
            *(self.sensor(f"{foot}_global_linvel") for foot in self.sites), self.air_time,
        ])  # fmt: skip

    def ended(self):
        return bool(self.sensor("upvector")[2] < 0)

    def terms(self):
        command, torque, away = self.before["command"], self.data.actuator_force, self.angles - self.pose
        low, high = self.model.jnt_range[1:].T
        slack = 0.025 * (high - low)
        moves, speed = np.linalg.norm(command) > 0.1, np.linalg.norm(self.moves, axis=1)
        peak = np.maximum(self.before["swing_peak"], self.heights)
        x = (self.before["phase"] + np.pi) / (2 * np.pi)
        t = np.where(x <= 0.5, 2 * x, 2 - 2 * x)
        wanted = 0.1 * (t**3 + 3 * t**2 * (1 - t))
        return self.tracking(0.5) | {
            "orientation": (self.sensor("upvector")[:2] ** 2).sum(),
            "base_height": (self.data.qpos[2] - 0.5) ** 2,
            "torques": np.abs(torque).sum(),
            "action_rate": ((self.action - self.last) ** 2).sum(),
            "energy": np.abs(self.speeds * torque).sum(),
            "feet_clearance": (np.abs(self.heights - 0.1) * np.sqrt(speed)).sum(),
            "feet_air_time": np.minimum((self.air_time - 0.2) * self.first, 0.3).sum() * moves,
            "feet_slip": np.linalg.norm(self.sensor("global_linvel")[:2]) * self.contact.sum(),
            "feet_height": ((peak / 0.1 - 1) ** 2 * self.first).sum(),
            "feet_phase": np.exp(-((self.heights - wanted) ** 2).sum() / 0.01),
            "stand_still": np.abs(away).sum() * (np.linalg.norm(command) < 0.1),
            "alive": 1.0,
            "termination": float(self.ended()),
            "joint_deviation_knee": np.abs(away[[3, 9]]).sum(),
            "joint_deviation_hip": np.abs(away[[0, 1, 6, 7]]).sum() * (abs(command[1]) > 0.1),
            "dof_pos_limits": (
                np.maximum(low + slack - self.angles, 0) + np.maximum(self.angles - high + slack, 0)
            ).sum(),
            "pose": (away**2 * ([1, 1, 0.01, 0.01, 1, 1] * 2)).sum(),
        }

    def reward(self, weighted):
        return max(sum(weighted.values()) * 0.02, 0)


LANES = {OP3: Op3Lane, INPLACE: H1Lane, JOYSTICK: H1JoystickLane, FLAT: BerkeleyLane, ROUGH: BerkeleyLane}


def disturb(env, number, joints, torque):
    """Some robots are turned over, and others get a joint beyond its limits. Some feet get a time in the air."""
    forces, torques = np.zeros_like(env.state["xfrc_applied"]), np.zeros_like(env.state["qfrc_applied"])
    which = np.arange(len(forces)) + number // 10
    forces[which % 4 == 1, 1, 3:5] = 10.0 * env.get_attr("model")[0].body_subtreemass[1]
    torques[which % 6 == 2, 6 + number // 10 % joints] = torque
    air_time = np.random.default_rng(number).choice([0.0, 0.2], (len(forces), 2))
    more = {"feet_air_time": air_time} if joints == 19 and "feet_air_time" in env.state else {}
    env.set_state({"xfrc_applied": forces, "qfrc_applied": torques, **more})


@pytest.mark.parametrize("env_id", LANES)
def test_like_the_formulas_in_numpy(env_id):
    lanes, joints = 8, JOINTS[env_id]
    which = np.arange(lanes)
    weights = {name: weight or 0.3 for name, weight in WEIGHTS[env_id].items()}
    keywords = {f"reward_{name}": weight for name, weight in weights.items()} | KEYWORDS[env_id]
    if env_id != INPLACE:
        keywords |= commands(np.where(which % 4, 1.0, 0.0))
    if LANES[env_id] is not BerkeleyLane:
        keywords["early_termination"] = which % 3 > 0
    env = make_robots(env_id, lanes, **keywords)
    env.reset(seed=1)
    if env_id != INPLACE:
        env.set_state({"step": np.where(which % 2, 0, 480)})
    model, largest, reasons = env.get_attr("model")[0], dict.fromkeys(weights, 0.0), set()
    size = np.where(which % 2, 1, 0.2).astype(np.float32)[:, None]
    for number, actions in enumerate(random_actions(lanes, 30, joints) * size):
        disturb(env, number, joints, TORQUES[env_id])
        before = {name: values.copy() for name, values in env.state.items()}
        observations, rewards, ended, _, infos = env.step(actions)
        told = [
            LANES[env_id](model, data, {name: values[i] for name, values in before.items()}, actions[i], i % 3 > 0)
            for i, data in enumerate(env.get_attr("data"))
        ]
        if isinstance(observations, dict):
            state, observations = observations["state"], observations["privileged_state"]
            assert (observations[:, : state.shape[1]] == state).all()
        np.testing.assert_allclose(observations, [lane.observation() for lane in told], rtol=1e-6, atol=1e-6)
        terms = [{name: weights[name] * term for name, term in lane.terms().items()} for lane in told]
        for name in weights:
            expected = [parts[name] for parts in terms]
            np.testing.assert_allclose(infos["reward"][name], expected, rtol=1e-9, atol=1e-12)
            largest[name] = max(largest[name], np.abs(expected).max())
        expected = [lane.reward(parts) for lane, parts in zip(told, terms, strict=True)]
        np.testing.assert_allclose(rewards, expected, rtol=1e-9, atol=1e-12)
        assert ended.tolist() == [lane.ended() for lane in told]
        reasons |= {(bool(end), lane.exceeds()) for end, lane in zip(ended, told, strict=True)}
        assert (env.state["last_act"] == actions).all()
        assert (env.state.get("last_last_act", before["last_act"]) == before["last_act"]).all()
        if env_id != INPLACE:
            step = np.where(before["step"] == 500, 0, before["step"] + 1)
            assert (env.state["step"] == step).all()
        if env_id != OP3:
            phase = np.fmod(before["phase"] + before["phase_dt"][:, None] + np.pi, 2 * np.pi) - np.pi
            np.testing.assert_allclose(env.state["phase"], phase, rtol=1e-9, atol=1e-9)
        if env_id in (INPLACE, JOYSTICK):
            np.testing.assert_allclose(env.state["motor_targets"], [lane.targets for lane in told], rtol=1e-12)
        if ended.any():
            env.reset(options={"reset_mask": ended})
    assert min(largest.values()) > 0, largest
    exceeding = (False, True) if LANES[env_id] is BerkeleyLane else (True, True)  # a joint's limits
    assert {(False, False), (True, False), exceeding} <= reasons and len(reasons) < 4 + exceeding.count(False)


@pytest.mark.parametrize("env_id", LANES)
def test_lanes_are_stepped_in_groups(env_id):
    env = make_robots(env_id, 16, autoreset_mode=AutoresetMode.SAME_STEP)
    env.reset(seed=0)
    for actions in random_actions(16, 20, JOINTS[env_id], size=0.2):
        env.step(actions)
    told = env.get_attr("physics")[0]
    if "the arithmetic of mujoco" in told:
        pytest.skip(told)
    assert told.startswith("together with others") and f"100% of {20 * env.get_params()['frame_skip']} steps" in told


@pytest.mark.parametrize("mode, env_id", [("NEXT_STEP", OP3), *(("SAME_STEP", env_id) for env_id in LANES)])
def test_threads_instruction_sets_seeds_snapshots_and_pickles(mode, env_id, monkeypatch):
    lanes, actions = 10, random_actions(10, 40, JOINTS[env_id])
    made = {"autoreset_mode": AutoresetMode[mode], "action_scale": 1.5, "max_episode_steps": 25}
    env = make_robots(env_id, lanes, num_threads=1, **made)
    first, _ = env.reset(seed=3)
    begun = play(env, actions[:15])
    snapshot, copied = env.snapshot(), pickle.loads(pickle.dumps(env))
    rest = play(env, actions[15:])
    assert play(copied, actions[15:]) == rest
    env.restore(snapshot)
    assert play(env, actions[15:]) == rest
    monkeypatch.setenv("BATCHENV_ISA", "baseline")
    other = make_robots(env_id, lanes, num_threads=2, **made)
    again, _ = other.reset(seed=3)
    if isinstance(first, dict):
        assert all((first[name] == again[name]).all() for name in first)
    else:
        assert np.array_equal(first, again)
    assert play(other, actions) == begun + rest
    assert other.state["elapsed_steps"].min() < 25  # there were autoresets


def test_op3s_starts_commands_and_noise():
    lanes = 3000
    env = make_robots(OP3, lanes, obs_history_size=2)
    observations, _ = env.reset(seed=0)
    assert env.single_observation_space == Box(-np.inf, np.inf, (98,), np.float32)
    command = env.state["command"].copy()
    home = make_robots(OP3, 1).get_attr("model")[0].keyframe("stand_bent_knees").qpos
    assert (np.stack(env.get_attr("qpos")) == home).all() and not np.stack(env.get_attr("qvel")).any()
    stands = ~command.any(1)
    assert abs(stands.mean() - 0.1) < 0.02
    for values, low, high in zip(command.T, (-0.6, -0.8, -0.7), (1.5, 0.8, 0.7), strict=True):
        uniform(values[~stands], low, high)
    noise = observations[:, :49] - np.array([0] * 5 + [1] + [0] * 43)  # upright, and at rest
    noise[:, 6:9] -= command
    uniform(noise, -0.05, 0.05)
    assert np.abs(np.corrcoef(noise.T) - np.eye(49)).max() < 0.1
    assert not observations[:, 49:].any()  # no steps before the first one
    env.set_state({"step": np.where(np.arange(lanes) % 2, 499, 500)})
    env.step(np.zeros((lanes, 20), np.float32))
    changed = (env.state["command"] != command).any(1)
    assert not changed[1::2].any() and changed[::2].mean() > 0.95
    assert env.state["step"].tolist() == [0, 500] * (lanes // 2)


def test_op3s_model_and_controls():
    env = make_robots(OP3, 9, Kp=30.0, Kd=0.7, sim_dt=0.005, action_scale=8.0)
    env.reset(seed=5)
    model = env.get_attr("model")[0]
    assert (model.actuator_gainprm[:, 0] == 30).all() and (model.actuator_biasprm[:, 1] == -30).all()
    assert (model.dof_damping[:6] == 0).all() and (model.dof_damping[6:] == 0.7).all()
    assert model.opt.timestep == 0.005 and model.opt.ccd_iterations == 10 and env.get_params()["frame_skip"] == 4
    pose, scale = model.keyframe("stand_bent_knees").qpos[7:], 8.0
    same_physics(env, random_actions(9, 6, 20), lambda targets, actions: pose + actions * scale)


@pytest.mark.parametrize("env_id", [INPLACE, JOYSTICK])
def test_h1s_model_and_controls(env_id):
    """With commands, targets move on from where they are, and they begin at 0."""
    env = make_robots(env_id, 9, action_scale=0.4)
    env.reset(seed=5)
    pose = env.get_attr("model")[0].keyframe("home").qpos[7:]
    same_physics(
        env,
        random_actions(9, 6, 19),
        lambda targets, actions: (targets if env_id == JOYSTICK else pose) + actions * 0.4,
    )


def same_physics(env, all_actions, moved):
    """A lane's positions and velocities are mj_step's, bit for bit. moved: new targets from the last ones and
    actions."""
    model, steps = env.get_attr("model")[0], env.get_params()["frame_skip"]
    datas, targets = [mujoco.MjData(model) for _ in range(env.num_envs)], np.zeros((env.num_envs, model.nu))
    for data, qpos, qvel in zip(datas, env.get_attr("qpos"), env.get_attr("qvel"), strict=True):
        data.qpos[:], data.qvel[:] = qpos, qvel
        mujoco.mj_forward(model, data)
    for actions in all_actions:
        env.step(actions)
        targets = np.clip(moved(targets, actions.astype(float)), *model.actuator_ctrlrange.T)
        for i, (qpos, qvel) in enumerate(zip(env.get_attr("qpos"), env.get_attr("qvel"), strict=True)):
            datas[i].ctrl[:] = targets[i]
            mujoco.mj_step(model, datas[i], steps)
            assert (qpos.tobytes(), qvel.tobytes()) == (datas[i].qpos.tobytes(), datas[i].qvel.tobytes())


@pytest.mark.parametrize("env_id", [INPLACE, JOYSTICK])
def test_h1s_starts_gaits_and_noise(env_id):
    lanes, level, fastest = 3000, {INPLACE: 1.0, JOYSTICK: 0.6}[env_id], {INPLACE: 4.0, JOYSTICK: 2.0}[env_id]
    env = make_robots(env_id, lanes, history_len=1)
    observations, _ = env.reset(seed=0)
    state, model = env.state, make_robots(env_id, 1).get_attr("model")[0]
    home = model.keyframe("home").qpos
    assert (np.stack(env.get_attr("qpos")) == home).all() and not np.stack(env.get_attr("qvel")).any()
    uniform(state["gait_freq"], 0.5, fastest)
    uniform(state["foot_height"], 0.08, 0.4)
    np.testing.assert_allclose(state["phase_dt"], 2 * np.pi * 0.02 * state["gait_freq"])
    jumps = state["gait"] == 1
    assert abs(jumps.mean() - 0.5) < 0.04 if env_id == INPLACE else not jumps.any()
    assert (state["phase"] == np.where(jumps[:, None], 0, [0, np.pi])).all()
    noise = observations[:, :63] - np.array([0] * 5 + [1] + [0] * 57)  # upright, and at rest
    uniform(noise[:, :3], -0.2 * level, 0.2 * level)
    uniform(noise[:, 3:6], -0.05 * level, 0.05 * level)
    uniform(noise[:, 6:25], -0.01 * level, 0.01 * level)
    uniform(noise[:, 25:44], -1.5 * level, 1.5 * level)
    assert not noise[:, 44:].any()
    data = mujoco.MjData(model)
    data.qpos[:] = home
    mujoco.mj_forward(model, data)
    found = [any(data.sensor(f"{side}_foot{i}_floor_found").data > 0 for i in (1, 2, 3)) for side in ("left", "right")]
    rest = observations[:, -28:-7]
    assert (rest[:, :19] == home[7:].astype(np.float32)).all() and (rest[:, 19:] == found).all()


def test_h1s_commands():
    lanes = 3000
    env = make_robots(JOYSTICK, lanes)
    observations, _ = env.reset(seed=0)
    command = env.state["command"].copy()
    np.testing.assert_allclose(observations[:, 63:66], command, rtol=1e-6)
    for values, high in zip(command.T, (1.5, 0.5, 1.0), strict=True):
        moves = values != 0
        assert abs((~moves).mean() - 0.1 / high) < 0.03 and np.abs(values[moves]).min() >= 0.1
        uniform(np.abs(values[moves]), 0.1, high)
        assert abs((values[moves] > 0).mean() - 0.5) < 0.04
    env.set_state({"step": np.where(np.arange(lanes) % 2, 499, 500)})
    env.step(np.zeros((lanes, 19), np.float32))
    changed = (env.state["command"] != command).any(1)
    assert not changed[1::2].any() and changed[::2].mean() > 0.95


def test_berkeleys_starts_and_noise():
    lanes = 3000
    env = make_robots(FLAT, lanes)
    observations, _ = env.reset(seed=0)
    state, home = env.state, make_robots(FLAT, 1).get_attr("model")[0].keyframe("home").qpos
    qpos, qvel = np.stack(env.get_attr("qpos")), np.stack(env.get_attr("qvel"))
    uniform(qpos[:, :2], -0.5, 0.5)
    uniform(2 * np.arctan2(qpos[:, 6], qpos[:, 3]), -3.14, 3.14)
    for angles, angle in zip(qpos[:, 7:].T, home[7:], strict=True):
        uniform(angles, *sorted((0.5 * angle, 1.5 * angle))) if angle else angles.any()
    uniform(qvel[:, :6], -0.5, 0.5)
    uniform(state["phase_dt"] / (2 * np.pi * 0.02), 1.25, 1.5)
    uniform(state["push_interval_steps"] * 0.02, 5, 10)
    assert (state["phase"] == [0, np.pi]).all() and not qvel[:, 6:].any()
    stands = ~state["command"].any(1)
    assert abs(stands.mean() - 0.1) < 0.02
    uniform(state["command"][~stands], -1, 1)
    exact, seen = observations["privileged_state"][:, 52:], observations["state"]
    noise = seen[:, 12:24] - exact[:, 15:27]
    for joints, scale in (([0, 1, 2, 6, 7, 8], 0.03), ([3, 9], 0.05), ([4, 10], 0.08), ([5, 11], 0.03)):
        uniform(noise[:, joints], -scale, scale)
    uniform(seen[:, 24:36] - exact[:, 27:39], -1.5, 1.5)
    for place, true, scale in ((0, 9, 0.1), (3, 0, 0.2), (6, 6, 0.05)):
        uniform(seen[:, place : place + 3] - exact[:, true : true + 3], -scale, scale)


def test_berkeleys_pushes_change_the_velocity_at_once():
    lanes, made = 3000, {"push_interval_range": (0.06, 0.06), "push_magnitude_range": (1, 2)}
    envs = [make_robots(FLAT, lanes, push_enable=enable, **made) for enable in (True, False)]
    for env in envs:
        env.reset(seed=0)
        for _ in range(2):
            assert not env.state["push"].any()
            env.step(np.zeros((lanes, 12), np.float32))
    push = envs[0].state["push"]
    uniform(np.hypot(*push.T), 1, 2)
    uniform(np.arctan2(*push.T), -np.pi, np.pi)
    moved, unmoved = (np.stack(env.get_attr("qvel")) for env in envs)
    np.testing.assert_allclose(moved[:, :2] - unmoved[:, :2], push, rtol=1e-9, atol=1e-12)
    assert (moved[:, 2:] == unmoved[:, 2:]).all() and not envs[1].state["push"].any()


@pytest.mark.parametrize("env_id", LANES)
def test_infos_and_defaults(env_id):
    env = make_robots(env_id, 3)
    assert env.single_action_space == Box(-1, 1, (JOINTS[env_id],), np.float32)
    assert env.spec.max_episode_steps == 1000 and env.get_attr("dt")[0] == 0.02
    params = env.get_params()
    assert {name[7:]: params[name] for name in params if name.startswith("reward_")} == WEIGHTS[env_id]
    _, infos = env.reset(seed=0)
    assert "reward" not in infos
    infos = env.step(np.zeros((3, JOINTS[env_id]), np.float32))[4]
    assert {name for name in infos["reward"] if not name.startswith("_")} == set(WEIGHTS[env_id])


@pytest.mark.parametrize(
    "env_id, robot, module",
    [(OP3, "op3", "joystick"), (INPLACE, "h1", "inplace_gait_tracking"), (JOYSTICK, "h1", "joystick_gait_tracking")],
)
def test_defaults_are_playgrounds(env_id, robot, module):
    config, params = config_of(robot, module), make_robots(env_id, 1).get_params()
    reward, noise, command = config["reward_config"], config["obs_noise"], config.get("command_config", {})
    own = ("action_scale", "early_termination", "history_len", "obs_history_size", "max_foot_height")
    expected = {f"reward_{name}": weight for name, weight in reward.pop("scales").items()} | reward
    expected |= {name: config[name] for name in own if name in config}
    expected["frame_skip"] = round(config["ctrl_dt"] / config["sim_dt"])
    if robot == "h1":
        expected |= {f"noise_{name}": scale for name, scale in noise["scales"].items()}
        expected |= {"noise_level": noise["level"], "gaits": len(config["gaits"])}
        expected |= {f"command_{name}": value for name, value in command.items() if name.endswith("threshold")}
    else:
        expected["obs_noise"] = noise
    ranges = {f"command_{name}": value for name, value in {**config, **command}.items() if f"command_{name}" in RANGES}
    ranges |= {name: config[name] for name in ("gait_frequency", "foot_height") if name in config}
    for name, (low, high) in ranges.items():
        expected |= {f"{name}_min": low, f"{name}_max": high}
    assert {name: params[name] for name in expected} == expected
    assert set(params) - set(expected) == {"on_unstable"}
    model = make_robots(env_id, 1).get_attr("model")[0]
    if robot == "op3":
        assert (model.actuator_gainprm[:, 0] == config["Kp"]).all() and (model.dof_damping[6:] == config["Kd"]).all()
    assert model.opt.timestep == config["sim_dt"]


@pytest.mark.parametrize(
    "env_id, keywords, error, words",
    [
        (OP3, {"task": "rough_terrain"}, ValueError, "task='rough_terrain' must be one of 'flat_terrain'"),
        (OP3, {"obs_noise": -1}, ValueError, "obs_noise"),
        (OP3, {"obs_history_size": 0}, ValueError, "obs_history_size"),
        (OP3, {"command_lin_vel_x_range": (1,)}, ValueError, "must be two numbers"),
        (OP3, {"pert_enable": True}, TypeError, "pert_enable"),
        (INPLACE, {"Kp": 30.0}, TypeError, "Kp"),
        (INPLACE, {"command_lin_vel_x_min": 0.0}, TypeError, "command_lin_vel_x_min"),
        (JOYSTICK, {"gaits": 3}, ValueError, "gaits"),
        (ROUGH, {"task": "stairs"}, ValueError, "task='stairs'"),
        (FLAT, {"push_interval_range": 3}, ValueError, "must be two numbers"),
        (FLAT, {"Kd": 1.0}, TypeError, "Kd"),
        (JOYSTICK, {"gait_frequency_range": 2.0}, ValueError, "must be two numbers"),
    ],
)
def test_bad_keywords(env_id, keywords, error, words):
    with pytest.raises(error, match=words):
        make_robots(env_id, 2, **keywords)
