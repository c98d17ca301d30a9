"""MuJoCo Playground's Go1 and Spot that get up, Go1 that stands on two feet, and Spot that walks in a given gait:
against the same formulas in NumPy over MuJoCo's bindings. (tools/verify/compare_playground.py compares with
Playground's own functions, in JAX.)"""

import pickle

import numpy as np
import pytest
from gymnasium.spaces import Box
from gymnasium.vector import AutoresetMode

from helpers.mujoco import mujoco
from helpers.playground import make_robots, play, random_actions, uniform

GO1_GETUP, SPOT_GETUP, HANDSTAND, FOOTSTAND = "Go1Getup-v0", "SpotGetup-v0", "Go1Handstand-v0", "Go1Footstand-v0"
GAIT = "SpotJoystickGaitTracking-v0"
ALL = [GO1_GETUP, SPOT_GETUP, HANDSTAND, FOOTSTAND, GAIT]
GETUP = [GO1_GETUP, SPOT_GETUP]
WEIGHTS = {
    GO1_GETUP: {
        "orientation": 1.0, "torso_height": 1.0, "posture": 1.0, "stand_still": 1.0, "action_rate": -0.001,
        "torques": -1e-5, "dof_pos_limits": -0.1, "dof_acc": -2.5e-7, "dof_vel": -0.1,
    },
    SPOT_GETUP: {
        "orientation": 1.0, "torso_height": 1.0, "posture": 1.0, "stand_still": 1.0, "action_rate": 0.0, "torques": 0.0,
    },
    HANDSTAND: {
        "height": 1.0, "orientation": 1.0, "contact": -0.1, "action_rate": 0.0, "termination": 0.0,
        "dof_pos_limits": -0.5, "torques": 0.0, "pose": -0.1, "stay_still": 0.0, "energy": 0.0, "dof_acc": 0.0,
    },
    GAIT: {
        "tracking_lin_vel": 0.5, "tracking_ang_vel": 0.5, "feet_phase": 2.0, "lin_vel_z": -0.5, "ang_vel_xy": -0.5,
        "hip_splay": -0.5,
    },
}  # fmt: skip
WEIGHTS[FOOTSTAND] = WEIGHTS[HANDSTAND]
SIZES = {GO1_GETUP: (42, 91), SPOT_GETUP: (30,), HANDSTAND: (45, 94), FOOTSTAND: (45, 94), GAIT: (69,)}
LIMITS = {GO1_GETUP: 300, SPOT_GETUP: 300, HANDSTAND: 500, FOOTSTAND: 500, GAIT: 1000}
GAINS = {SPOT_GETUP: (400, 20), GAIT: (400, 10)}
SPOTS_FEET = ("FL", "FR", "HL", "HR")
PHASES = np.pi * np.array([[0, 1, 1, 0], [0, 0.5, 1, 1.5], [0, 1, 0, 1], [0, 0, 1, 1], [0, 0, 0, 0]])


def make(env_id, lanes=6, **kwargs):
    return make_robots(env_id, lanes, **kwargs)


def without_noise(env_id):
    names = ("gyro", "gravity", "joint_pos") if env_id == GAIT else ("level",)
    return {f"noise_{name}": 0.0 for name in names}


def standing(env_id):
    """Keywords of lanes that start just above the floor."""
    return {"drop_from_height_prob": 0.0, "settle_time": 0.0} if env_id in GETUP else {}


def model_of(env_id):
    """Copying the model of every lane takes memory: it has textures."""
    return make(env_id, 1).get_attr("model")[0]


class Lane:
    """What a step should give. before: the lane's state when the step began."""

    def __init__(self, env_id, model, data, before, action, scale=0.3):
        self.env_id, self.model, self.data, self.before = env_id, model, data, before
        self.action, self.scale = action.astype(np.float64), scale
        self.angles, self.speeds, self.torque = data.qpos[7:], data.qvel[6:], data.actuator_force
        self.pose = model.keyframe("home").qpos[7:] if model else None
        self.gravity = data.site("imu").xmat.reshape(3, 3).T @ [0, 0, -1]

    def sensors(self, *names):
        return [self.data.sensor(name).data for name in names]

    def observations(self):
        if self.env_id == GAIT:
            return {"": self.gait()}
        own = [self.angles - self.pose, self.speeds, self.before["last_act"]]
        if self.env_id == SPOT_GETUP:
            return {"": np.concatenate([*self.sensors("gyro", "upvector"), own[0], own[2]])}
        first = [] if self.env_id == GO1_GETUP else self.sensors("local_linvel")
        state = np.concatenate([*first, *self.sensors("gyro"), self.gravity, *own])
        more = self.sensors("gyro", "accelerometer", "local_linvel", "global_angvel")
        more += [self.angles, self.speeds, self.torque, self.data.site("imu").xpos[2:]]
        return {"state": state, "privileged_state": np.concatenate([state, *more])}

    def on_floor(self):
        return np.array([self.data.sensor(f"{foot}_floor_found").data[0] > 0 for foot in SPOTS_FEET])

    def heights(self):
        return np.array([self.data.site(foot).xpos[2] for foot in SPOTS_FEET])

    def gait(self):
        low, high = self.model.actuator_ctrlrange.T
        error, before = self.angles - np.clip(self.pose + self.scale * self.action, low, high), self.before
        history, phase = [error, before["qpos_error_history"][:-12]], before["phase"]
        given = [before["gait_freq"], before["gait"], before["foot_height"]]
        seen = [*self.sensors("gyro", "upvector"), self.angles, *history]
        return np.concatenate([*seen, self.on_floor(), np.cos(phase), np.sin(phase), np.ravel(given)])

    def beyond(self, soft):
        """How far joints are beyond their soft limits."""
        low, high = self.model.jnt_range[1:].T
        middle, half = (low + high) / 2, (high - low) / 2 * soft
        return np.maximum(np.abs(self.angles - middle) - half, 0).sum()

    def terms(self):
        """The parts of the reward, without weights, and whether the episode ends."""
        if self.env_id in GETUP:
            return self.getup()
        return self.walk() if self.env_id == GAIT else self.stand()

    def total(self, weights, terms):
        """The reward."""
        weighted = {name: weights[name] * term for name, term in terms.items()}
        if self.env_id != GAIT:
            return max(sum(weighted.values()) * 0.02, 0)
        cost = sum(weighted.pop(name) for name in ("lin_vel_z", "ang_vel_xy", "hip_splay"))
        return sum(weighted.values()) * np.exp(0.2 * cost) * 0.02

    def walk(self):
        command, before, up = self.before["command"], self.before, self.sensors("upvector")[0]
        gyro, local, linvel, angvel = self.sensors("gyro", "local_linvel", "global_linvel", "global_angvel")
        stride = (before["phase"] + np.pi) / (2 * np.pi)
        t = np.where(stride <= 0.5, 2 * stride, 2 - 2 * stride)  # the curve is symmetrical
        error = ((self.heights() - before["foot_height"] * (t**3 + 3 * t**2 * (1 - t))) ** 2).sum()
        return {
            "tracking_lin_vel": np.exp(-((command[:2] - local[:2]) ** 2).sum() / 0.25),
            "tracking_ang_vel": np.exp(-((command[2] - gyro[2]) ** 2) / 0.25),
            "feet_phase": np.exp(-error / 0.1),
            "lin_vel_z": linvel[2] ** 2 * (before["gait"].item() > 2),
            "ang_vel_xy": (angvel[:2] ** 2).sum(),
            "hip_splay": ((self.angles - self.pose)[::3] ** 2).sum(),
        }, up[2] < 0.85

    def getup(self):
        spot, change = self.env_id == SPOT_GETUP, self.action - self.before["last_act"]
        up = self.sensors("upvector")[0] if spot else -self.gravity
        tilt = ((up - [0, 0, 1]) ** 2).sum()
        height, wanted = (self.data.qpos[2], 0.46) if spot else (self.data.site("imu").xpos[2], 0.275)
        below = max(wanted - height, 0) / (wanted if spot else 1)
        gate = tilt < 0.01 and below < 0.005
        twice = change - self.before["last_act"].astype(float) + self.before["last_last_act"]
        terms = {
            "orientation": np.exp(-2 * tilt),
            "torso_height": 1 - min(below, 1) if spot else np.exp(min(height, wanted)) - 1,
            "posture": (tilt < 0.01) * np.exp(-0.5 * ((self.angles - self.pose) ** 2).sum()),
            "stand_still": gate * np.exp(-0.5 * (self.action**2).sum()),
            "action_rate": (change**2).sum() + (twice**2).sum(),
            "torques": np.linalg.norm(self.torque) + np.abs(self.torque).sum(),
        }
        low, high = self.model.actuator_ctrlrange.T
        if spot:
            return terms, ((self.angles < low) | (self.angles > high)).any()
        fast = np.maximum(np.abs(self.speeds) - 2 * np.pi, 0)
        terms |= {"dof_pos_limits": self.beyond(0.95), "dof_acc": (self.data.qacc[6:] ** 2).sum()}
        return terms | {"dof_vel": (fast**2).sum()}, np.abs(self.torque * self.speeds).sum() > 500

    def stand(self):
        hands, data = self.env_id == HANDSTAND, self.data
        forward = data.site("imu").xmat.reshape(3, 3)[2, 0]
        legs = slice(6, 12) if hands else slice(0, 6)
        wanted = 0.55 if hands else 0.53
        power = np.abs(self.speeds * self.torque).sum()
        parts = ("calf1", "calf2", "thigh1", "thigh2", "thigh3", "hip")
        fallen = any(data.sensor(f"{leg}_{part}_floor_found").data[0] for leg in ("fl", "fr") for part in parts)
        ends = bool(fallen or self.sensors("upvector")[0][2] < -0.25 or power > 500)
        terms = {
            "height": np.exp(min(data.site("imu").xpos[2] - wanted, 0)),
            "orientation": (0.5 + (-0.5 if hands else 0.5) * forward) ** 2,
            "contact": float(any(data.sensor(f"{foot}_floor_found").data[0] for foot in ("FR", "FL", "RR", "RL"))),
            "action_rate": ((self.action - self.before["last_act"]) ** 2).sum(),
            "termination": float(ends),
            "dof_pos_limits": self.beyond(0.9),
            "torques": (self.torque**2).sum(),
            "pose": ((self.angles[legs] - self.pose[legs]) ** 2).sum(),
            "stay_still": (data.qvel[[0, 1, 5]] ** 2).sum(),
            "energy": power,
            "dof_acc": (data.qacc[6:] ** 2).sum(),
        }
        return terms, ends


@pytest.mark.parametrize("env_id", ALL)
def test_like_the_formulas_in_numpy(env_id):
    lanes, weights = 8, {name: weight or -1e-3 for name, weight in WEIGHTS[env_id].items()}
    some = {} if env_id in (SPOT_GETUP, GAIT) else {"energy_termination_threshold": 500.0}
    some |= {f"reward_{name}": weight for name, weight in weights.items()}
    if env_id in GETUP:
        some |= {"settle_time": np.where(np.arange(lanes) % 2, 0.2, 0.0), "drop_from_height_prob": 0.5}
    scales = np.where(np.arange(lanes) % 2, 0.3, 0.8)
    env = make(env_id, lanes, **without_noise(env_id), action_scale=scales, **some)
    env.reset(seed=1)
    model, largest = env.get_attr("model")[0], dict.fromkeys(weights, 0.0)
    for actions in random_actions(lanes, 40, 12):
        before = {name: values.copy() for name, values in env.state.items()}
        observations, rewards, ended, _, infos = env.step(actions)
        seen = observations if isinstance(observations, dict) else {"": observations}
        for i, data in enumerate(env.get_attr("data")):
            remembered = {name: values[i] for name, values in before.items()}
            lane = Lane(env_id, model, data, remembered, actions[i], scales[i])
            for name, expected in lane.observations().items():
                np.testing.assert_allclose(seen[name][i], expected, rtol=1e-6, atol=1e-6)
            terms, ends = lane.terms()
            assert ended[i] == ends
            for name, term in terms.items():
                np.testing.assert_allclose(infos["reward"][name][i], weights[name] * term, rtol=1e-9, atol=1e-12)
                largest[name] = max(largest[name], abs(term))
            np.testing.assert_allclose(rewards[i], lane.total(weights, terms), rtol=1e-9, atol=1e-12)
        if env_id != GAIT:
            assert (env.state["last_act"] == actions).all()
        if ended.any():
            env.reset(options={"reset_mask": ended})
    assert min(largest.values()) > 0, largest


@pytest.mark.parametrize("env_id", ALL)
def test_defaults_and_spaces(env_id):
    env = make(env_id, 2)
    params = env.get_params()
    assert {name: params[f"reward_{name}"] for name in WEIGHTS[env_id]} == WEIGHTS[env_id]
    assert env.single_action_space == Box(-1, 1, (12,), np.float32) and env.get_attr("dt")[0] == 0.02
    space = env.single_observation_space
    parts = [space] if len(SIZES[env_id]) == 1 else [space["state"], space["privileged_state"]]
    assert parts == [Box(-np.inf, np.inf, (size,), np.float32) for size in SIZES[env_id]]
    assert env.spec.max_episode_steps == LIMITS[env_id]
    model, (kp, kd) = env.get_attr("model")[0], GAINS.get(env_id, (35, 0.5))
    assert (model.actuator_gainprm[:, 0] == kp).all() and (model.dof_damping[6:] == kd).all()
    _, infos = env.reset(seed=0)
    assert "reward" not in infos
    infos = env.step(np.zeros((2, 12), np.float32))[4]
    assert {name for name in infos["reward"] if not name.startswith("_")} == set(WEIGHTS[env_id])


@pytest.mark.parametrize("env_id", ALL)
def test_lanes_are_stepped_in_groups(env_id):
    env = make(env_id, 8, autoreset_mode=AutoresetMode.NEXT_STEP, **standing(env_id))
    env.reset(seed=0)
    for actions in random_actions(8, 10, 12, size=0.1):
        env.step(actions)
    told = env.get_attr("physics")[0]
    if "the arithmetic of mujoco" in told:
        pytest.skip(told)
    assert told.startswith("together with others") and "100% of 50 steps" in told


@pytest.mark.parametrize("env_id", GETUP)
def test_robots_come_to_rest_before_an_episode(env_id):
    """As many steps of MuJoCo as settle_time says, with the first positions as targets, and then time 0."""
    lanes, kwargs = 4, {"noise_level": 0.0, "sim_dt": 0.005}
    begun, env = make(env_id, lanes, settle_time=0.0, **kwargs), make(env_id, lanes, settle_time=0.128, **kwargs)
    begun.reset(seed=2)
    observations, _ = env.reset(seed=2)
    model = env.get_attr("model")[0]
    steps = 25 if env_id == GO1_GETUP else 26  # Playground cuts one, and rounds the other
    for i, (qpos, qvel) in enumerate(zip(begun.get_attr("qpos"), begun.get_attr("qvel"), strict=True)):
        data = mujoco.MjData(model)
        data.qpos[:], data.qvel[:] = qpos, qvel
        if env_id == GO1_GETUP:
            data.ctrl[:] = qpos[7:]
        mujoco.mj_forward(model, data)
        data.ctrl[:] = qpos[7:]
        mujoco.mj_step(model, data, steps)
        assert env.get_attr("qpos")[i].tobytes() == data.qpos.tobytes()
        lane = Lane(env_id, model, data, {name: values[i] for name, values in env.state.items()}, np.zeros(12))
        for name, expected in lane.observations().items():
            seen = observations[name] if name else observations
            np.testing.assert_allclose(seen[i], expected, rtol=1e-6, atol=1e-6)
    assert env.get_attr("time") == (0.0,) * lanes


@pytest.mark.parametrize("env_id, height", [(GO1_GETUP, 0.5), (SPOT_GETUP, 1.0)])
def test_falls_have_playgrounds_distributions(env_id, height):
    env = make(env_id, 3000, settle_time=0.0)
    observations, _ = env.reset(seed=0)
    qpos, qvel, model = np.stack(env.get_attr("qpos")), np.stack(env.get_attr("qvel")), model_of(env_id)
    falls = (qpos != model.key_qpos[0]).any(1)
    assert abs(falls.mean() - 0.6) < 0.03
    quaternions, joints = qpos[falls, 3:7], qpos[falls, 7:]
    np.testing.assert_allclose(np.linalg.norm(quaternions, axis=1), 1, atol=1e-4)
    assert np.abs(quaternions.mean(0)).max() < 0.05
    np.testing.assert_allclose(quaternions.T @ quaternions / falls.sum(), np.eye(4) / 4, atol=0.02)
    low, high = model.jnt_range[1:].T
    uniform((joints - low) / (high - low), 0, 1)
    assert (qpos[falls, :3] == [0, 0, height]).all() and not qvel[:, 6:].any()
    if env_id == GO1_GETUP:
        uniform(qvel[:, :6], -0.5, 0.5)
        state, exact = observations["state"], observations["privileged_state"][:, 42:]
        uniform(state[:, :3] - exact[:, :3], -0.2, 0.2)
        uniform(state[:, 6:18] - (exact[:, 12:24] - model.key_qpos[0][7:]), -0.03, 0.03)
        uniform(state[:, 18:30] - exact[:, 24:36], -1.5, 1.5)
    else:
        assert not qvel.any()
        uniform(observations[:, 6:18] - (qpos[:, 7:] - model.key_qpos[0][7:]), -0.01, 0.01)
        uniform(observations[:, :3], -0.2, 0.2)


def test_gaits_have_playgrounds_distributions():
    env = make(GAIT, 3000, history_len=1)
    observations, _ = env.reset(seed=0)
    qpos, home, state = np.stack(env.get_attr("qpos")), model_of(GAIT).keyframe("home").qpos, env.state
    assert (qpos == home).all() and not np.stack(env.get_attr("qvel")).any()
    gait = state["gait"].ravel()
    assert np.abs(np.bincount(gait) / 3000 - 0.2).max() < 0.03 and gait.max() == 4
    assert (state["phase"] == PHASES[gait]).all()
    uniform(state["gait_freq"], 0.5, 4.0)
    uniform(state["foot_height"], 0.08, 0.4)
    stands = ~state["command"].any(1)
    assert abs(stands.mean() - 0.1) < 0.02
    for values, high in zip(state["command"].T, (1.0, 0.5, 1.0), strict=True):
        uniform(values[~stands], -high, high)
    uniform(observations[:, :3], -0.1, 0.1)
    uniform(observations[:, 3:6] - [0, 0, 1], -0.03, 0.03)
    uniform(observations[:, 6:18] - home[7:], -0.05, 0.05)
    assert (observations[:, 6:18] == observations[:, 18:30]).all()  # errors of joints without targets
    env.set_params(gaits=2)
    env.reset()
    assert set(env.state["gait"].ravel().tolist()) == {0, 1}


def test_commands_and_phases_go_on():
    env = make(GAIT, 400)
    env.reset(seed=0)
    env.set_state({"step": np.where(np.arange(400) % 2, 199, 200)})
    before = {name: env.state[name].copy() for name in ("command", "phase", "gait_freq")}
    env.step(np.zeros((400, 12), np.float32))
    after = env.state
    changed = (after["command"] != before["command"]).any(1)
    assert not changed[1::2].any() and changed[::2].mean() > 0.95
    assert after["step"].tolist() == [0, 200] * 200
    turned = before["phase"] + 2 * np.pi * 0.02 * before["gait_freq"].reshape(-1, 1)
    np.testing.assert_allclose(after["phase"], (turned + np.pi) % (2 * np.pi) - np.pi, atol=1e-12)


def test_swing_peaks():
    env = make(GAIT, 8, early_termination=False)
    env.reset(seed=0)
    peaks, risen = np.zeros((8, 4)), 0
    for actions in random_actions(8, 30, 12):
        told = env.step(actions)[4]["swing_peak"]
        for i, data in enumerate(env.get_attr("data")):
            lane = Lane(GAIT, None, data, {}, actions[i])
            peaks[i] = np.maximum(peaks[i], lane.heights()) * ~lane.on_floor()
        np.testing.assert_allclose(env.state["swing_peak"], peaks)
        np.testing.assert_allclose(told, peaks.mean(1))
        risen += (peaks > 0).sum()
    assert risen > 50


def test_stands_start_at_home_or_in_a_crouch():
    env = make(HANDSTAND, 2000, init_from_crouch=0.3)
    env.reset(seed=0)
    qpos, qvel, model = np.stack(env.get_attr("qpos")), np.stack(env.get_attr("qvel")), model_of(HANDSTAND)
    home, crouch = model.keyframe("home").qpos, model.keyframe("pre_recovery").qpos
    crouches = qpos[:, 2] == crouch[2]
    assert abs(crouches.mean() - 0.3) < 0.04
    for which, key in ((crouches, crouch), (~crouches, home)):
        assert (qpos[which, 7:] == key[7:]).all() and (qpos[which, 2] == key[2]).all()
        uniform(qpos[which, :2] - key[:2], -0.5, 0.5)
    assert not qvel[crouches].any() and not qvel[:, 6:].any()
    uniform(qvel[~crouches, :6], -0.5, 0.5)
    yaw = 2 * np.arctan2(qpos[:, 6], qpos[:, 3])
    uniform((yaw + np.pi) % (2 * np.pi) - np.pi, -3.14, 3.14)


@pytest.mark.parametrize("env_id", ALL)
def test_targets(env_id):
    """Of getting up, from where joints are; of a Spot, within bounds; of a stand, from where the last ones were."""
    env = make(env_id, 9, action_scale=0.6)  # a group and a lane alone
    env.reset(seed=0)
    model = model_of(env_id)
    (low, high), home = model.actuator_ctrlrange.T, model.keyframe("home").qpos[7:]
    targets, compared = np.stack([data.ctrl for data in env.get_attr("data")]), 0
    for actions in random_actions(9, 3, 12):
        centre = np.stack(env.get_attr("qpos"))[:, 7:] if env_id in GETUP else targets
        centre = home if env_id == GAIT else centre
        ended = env.step(actions)[2]
        targets = centre + 0.6 * actions.astype(np.float64)
        if env_id in (SPOT_GETUP, GAIT):
            targets = np.clip(targets, low, high)
        assert (np.stack([data.ctrl for data in env.get_attr("data")]) == targets).all()
        compared += 1
        if ended.any():
            break
    assert compared > 1 or env_id == SPOT_GETUP  # which may end at once


@pytest.mark.parametrize("env_id", ALL)
def test_threads_seeds_snapshots_and_pickles(env_id):
    lanes, actions = 9, random_actions(9, 24, 12)
    some = {"settle_time": 0.1} if env_id in GETUP else {}
    made = {"autoreset_mode": AutoresetMode.SAME_STEP, "max_episode_steps": 15, **some}
    env = make(env_id, lanes, num_threads=1, **made)
    env.reset(seed=3)
    begun = play(env, actions[:12])
    snapshot, copied = env.snapshot(), pickle.loads(pickle.dumps(env))
    rest = play(env, actions[12:])
    assert play(copied, actions[12:]) == rest
    env.restore(snapshot)
    assert play(env, actions[12:]) == rest
    other = make(env_id, lanes, num_threads=2, **made)
    other.reset(seed=3)
    assert play(other, actions) == begun + rest
    assert other.state["elapsed_steps"].max() < 15  # there were autoresets


@pytest.mark.parametrize(
    "env_id, keywords, error, words",
    [
        (GO1_GETUP, {"drop_from_height_prob": 1.5}, ValueError, "drop_from_height_prob"),
        (GO1_GETUP, {"settle_time": -1}, ValueError, "settle_time"),
        (GO1_GETUP, {"energy_termination_threshold": -1}, ValueError, "energy_termination_threshold"),
        (SPOT_GETUP, {"energy_termination_threshold": 5}, TypeError, "energy_termination_threshold"),
        (SPOT_GETUP, {"noise_joint_vel": 0}, TypeError, "noise_joint_vel"),
        (HANDSTAND, {"init_from_crouch": 2}, ValueError, "init_from_crouch"),
        (FOOTSTAND, {"task": "rough_terrain"}, ValueError, "task='rough_terrain' must be one of 'flat_terrain'"),
        (FOOTSTAND, {"pert_enable": True}, TypeError, "pert_enable"),
        (GAIT, {"gaits": 6}, ValueError, "gaits"),
        (GAIT, {"gait_frequency_range": 3}, ValueError, "gait_frequency_range=3 must be two numbers"),
    ],
)
def test_bad_keywords(env_id, keywords, error, words):
    with pytest.raises(error, match=words):
        make(env_id, **keywords)
