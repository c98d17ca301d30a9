"""MuJoCo Playground's G1, T1 and Apollo that follow commands: against the same formulas in NumPy over MuJoCo's
bindings, and against the package's defaults. (tools/verify/compare_playground.py compares with Playground's own
functions.)"""

import pickle
import re
from pathlib import Path

import numpy as np
import pytest
from gymnasium.spaces import Box
from gymnasium.vector import AutoresetMode

import batchenv
from batchenv.envs.mujoco import playground
from helpers.mujoco import mujoco
from helpers.playground import config_of, make_robots, package_xml, play, random_actions, uniform

ROOT = Path(__file__).resolve().parents[3]
G1, G1_ROUGH, APOLLO = "G1JoystickFlatTerrain-v0", "G1JoystickRoughTerrain-v0", "ApolloJoystickFlatTerrain-v0"
BERKELEY = "BerkeleyHumanoidJoystickFlatTerrain-v0"  # test_mujoco_playground_small.py has more
T1, T1_ROUGH = "T1JoystickFlatTerrain-v0", "T1JoystickRoughTerrain-v0"
JOINTS = {G1: 29, G1_ROUGH: 29, T1: 23, T1_ROUGH: 23, APOLLO: 32}
SEEN = {G1: (103, 216), G1_ROUGH: (103, 216), T1: (85, 180), T1_ROUGH: (85, 180), APOLLO: (112, 224)}
EVERY, ONE_EACH = list(JOINTS), [G1, T1, APOLLO]
COMMANDS = ("lin_vel_x", "lin_vel_y", "ang_vel_yaw")
PUSHES = {"push_interval_range": (0.04, 0.3), "push_magnitude_range": (0.5, 2)}


def make(env_id=G1, lanes=6, **kwargs):
    return make_robots(env_id, lanes, **kwargs)


def actions_of(env, steps, seed=0, size=1.0):
    return random_actions(env.num_envs, steps, env.single_action_space.shape[0], seed, size)


# ---- formulas ----------------------------------------------------------------------------------------------


def wanted_height(phase, swing):
    stride = (phase + np.pi) / (2 * np.pi)
    t = np.where(stride <= 0.5, 2 * stride, 2 * stride - 1)
    share = t**3 + 3 * t**2 * (1 - t)
    return swing * np.where(stride <= 0.5, share, 1 - share)


class G1Lane:
    """What a step of a G1's lane should give. before: the lane's state when the step began."""

    part, key, imu, feet, parts = "_pelvis", "knees_bent", "imu_in_pelvis", ("left_foot", "right_foot"), ("",)
    swing, base, clipped = 0.15, 0.5, False

    def __init__(self, model, data, before, action):
        self.model, self.data, self.before, self.action = model, data, before, action.astype(float)
        self.pose = model.keyframe(self.key).qpos[7:]
        self.angles, self.speeds = data.qpos[7:] - self.pose, data.qvel[6:]
        names = ("gyro", "local_linvel", "global_linvel", "global_angvel", "upvector", "accelerometer")
        self.sensor = {name: data.sensor(name + self.part).data.copy() for name in names}
        self.command, self.torque = before["command"], data.actuator_force
        self.height = np.array([data.site(foot).xpos[2] for foot in self.feet])

    def found(self, *names):
        return [bool(self.data.sensor(f"{name}_found").data[0] > 0) for name in names]

    def contact(self):
        return np.array([any(self.found(*(f"{foot}{part}_floor" for part in self.parts))) for foot in self.feet])

    def observations(self):
        before, sensor, phase = self.before, self.sensor, self.before["phase"]
        gravity = self.data.site(self.imu).xmat.reshape(3, 3).T @ [0, 0, -1]
        state = [sensor["local_linvel"], sensor["gyro"], gravity, self.command, self.angles, self.speeds]
        state += [before["last_act"], np.cos(phase), np.sin(phase)]
        return {"state": np.concatenate(state), "privileged_state": np.concatenate([*state, *self.more(gravity)])}

    def more(self, gravity):
        """What only the critic sees."""
        sensor, velocities = self.sensor, [self.data.sensor(f"{foot}_global_linvel").data for foot in self.feet]
        return [
            *(sensor["gyro"], sensor["accelerometer"], gravity, sensor["local_linvel"], sensor["global_angvel"]),
            *(self.angles, self.speeds, [self.data.qpos[2]], self.torque, self.contact(), *velocities),
            self.before["feet_air_time"] + 0.02,
        ]

    def tracking(self):
        squares = (self.command - [*self.sensor["local_linvel"][:2], self.sensor["gyro"][2]]) ** 2
        return np.exp(-squares[:2].sum() / 0.25), np.exp(-squares[2] / 0.25)

    def shared(self):
        """Those parts of the reward that Apollo has, too."""
        return {
            "torques": np.abs(self.torque).sum(),
            "action_rate": ((self.action - self.before["last_act"]) ** 2).sum(),
            "feet_phase": np.exp(-((self.height - wanted_height(self.before["phase"], self.swing)) ** 2).sum() / 0.01),
        }

    def terms(self):
        """The parts of the reward, without weights."""
        before, data, sensor = self.before, self.data, self.sensor
        low, high = self.model.jnt_range[1:].T
        middle, half = (low + high) / 2, 0.95 * (high - low) / 2
        speed = [np.linalg.norm(data.sensor(f"{foot}_global_linvel").data[:2]) for foot in self.feet]
        contact, air_time = self.contact(), before["feet_air_time"]
        first = (air_time > 0) & (contact | before["last_contact"])
        peak = np.maximum(before["swing_peak"], self.height)
        lin_vel, ang_vel = self.tracking()
        return self.shared() | {
            "tracking_lin_vel": lin_vel,
            "tracking_ang_vel": ang_vel,
            "base_height": (data.qpos[2] - self.base) ** 2,
            "energy": np.abs(self.speeds * self.torque).sum(),
            "dof_acc": (data.qacc[6:] ** 2).sum(),
            "feet_clearance": (np.abs(self.height - self.swing) * np.sqrt(speed)).sum(),
            "feet_air_time": (np.minimum(air_time + 0.02 - 0.2, 0.3) * first).sum(),
            "feet_slip": np.linalg.norm(sensor["global_linvel"][:2]) * contact.sum(),
            "feet_height": ((peak / self.swing - 1) ** 2 * first).sum(),
            "alive": 1.0,
            "dof_pos_limits": np.maximum(np.abs(data.qpos[7:] - middle) - half, 0).sum(),
            **self.own(),
        }

    def own(self):
        data, sensor, angles = self.data, self.sensor, self.angles
        up, rise = data.sensor("upvector_torso").data, data.sensor("global_linvel_torso").data[2]
        moves = np.linalg.norm(sensor["global_linvel"][:2]) > 0.1 or abs(sensor["global_angvel"][2]) > 0.1
        feet = self.found("right_foot_left_foot", "left_foot_right_shin", "right_foot_left_shin")
        forces = [abs(data.sensor(f"{foot}_force").data[2]) for foot in self.feet]
        size = np.linalg.norm(self.command)
        return {
            "lin_vel_z": sensor["global_linvel"][2] ** 2 + rise**2,
            "ang_vel_xy": (data.sensor("global_angvel_torso").data[:2] ** 2).sum(),
            "orientation": ((up - [0.073, 0, 1]) ** 2).sum(),
            "feet_phase": self.shared()["feet_phase"] * (moves or size > 0.01),
            "stand_still": np.abs(angles).sum() * (size < 0.01),
            "joint_deviation_knee": np.abs(angles[[3, 9]]).sum(),
            "joint_deviation_hip": np.abs(angles[[1, 2, 7, 8]]).sum() * (2 if self.command[1] > 0.1 else 4),
            "pose": (angles**2).sum(),
            "collision": any(self.found("left_hand_left_thigh", "right_hand_right_thigh")),
            "contact_force": sum(max(force - 500, 0) for force in forces),
            "termination": up[2] < 0 or any(feet),
        }


class T1Lane(G1Lane):
    """The same for a T1."""

    part, key, imu, parts = "", "home", "imu", ("_1", "_2", "_3", "_4")
    swing, base, clipped = 0.12, 0.665, True
    stiffness = np.array([1, 1, *2 * [0.1, 1, 1, 1], 1, *2 * [0.01, 1, 1, 0.01, 1, 1]])

    def terms(self):
        terms, size = super().terms(), np.linalg.norm(self.command)
        return terms | {"feet_air_time": terms["feet_air_time"] * (size > 0.1)}

    def own(self):
        data, sensor, angles = self.data, self.sensor, self.angles
        forwards = data.site("imu").xmat.reshape(3, 3)[:2, 0]
        x, y = (data.site("left_foot").xpos - data.site("right_foot").xpos)[:2]
        apart = abs(forwards[0] * y - forwards[1] * x) / np.linalg.norm(forwards)
        return {
            "lin_vel_z": sensor["local_linvel"][2] ** 2,
            "ang_vel_xy": (sensor["gyro"][:2] ** 2).sum(),
            "orientation": (sensor["upvector"][:2] ** 2).sum(),
            "dof_vel": (self.speeds**2).sum(),
            "stand_still": np.abs(angles).sum() * (np.linalg.norm(self.command) < 0.1),
            "joint_deviation_knee": np.abs(angles[[14, 20]]).sum(),
            "joint_deviation_hip": np.abs(angles[[12, 13, 18, 19]]).sum() * (abs(self.command[1]) > 0.1),
            "pose": (angles**2 * self.stiffness).sum(),
            "feet_distance": np.clip(0.2 - apart, 0, 0.1),
            "collision": any(self.found("left_foot_right_foot")),
            "termination": sensor["upvector"][2] < 0,
        }


class ApolloLane(G1Lane):
    """The same for an Apollo."""

    part, imu, feet, swing = "", "imu", ("l_foot", "r_foot"), 0.12
    stiffness = np.array([5, 5, 5, 1, 1, 1, *2 * [1, 1, 0.1, 1, 1, 1, 1], *2 * [1, 1, 0.01, 0.01, 1, 1]])

    def more(self, gravity):
        sensor, qpos = self.sensor, self.data.qpos[:7]
        return [sensor["gyro"], gravity, sensor["local_linvel"], self.angles, self.speeds, self.torque, qpos]

    def terms(self):
        sensor, weights = self.sensor, self.stiffness.copy()
        if np.linalg.norm(self.command) < 0.01:
            weights[:] = 1
        weights[[21, 27]] = 0.01 if abs(self.command[1]) > 0.3 else 1
        lin_vel, ang_vel = self.tracking()
        legs = [f"collision_capsule_body_l_{part}_collision_capsule_body_r_{part}" for part in ("shin", "thigh")]
        hands = [f"collision_{side}_hand_plate_collision_capsule_body_{side}_thigh" for side in "lr"]
        return self.shared() | {
            "tracking": lin_vel + 0.5 * ang_vel,
            "lin_vel_z": sensor["local_linvel"][2] ** 2,
            "ang_vel_xy": (sensor["gyro"][:2] ** 2).sum(),
            "orientation": (sensor["upvector"][:2] ** 2).sum(),
            "energy": np.abs(self.speeds * self.torque / self.model.jnt_actfrcrange[1:, 1]).sum(),
            "alive": sensor["upvector"][2] >= 0,
            "termination": sensor["upvector"][2] < 0,
            "pose": (self.angles**2 * weights).sum(),
            "collision": any(self.found("collision_l_sole_collision_r_sole", *legs, *hands)),
        }


LANES = {G1: G1Lane, T1: T1Lane, APOLLO: ApolloLane}


def some_of_all(env_id, lanes):
    """Keywords with which robots stand, walk, are pushed and fall, and all parts of the reward have the weight 1."""
    which = np.arange(lanes)
    most = np.where(which % 4 == 0, 0.0, 1.0)
    ranges = {f"command_{name}_{end}": sign * most for name in COMMANDS for end, sign in (("min", -1), ("max", 1))}
    weights = {name: 1.0 for name in make(env_id, 1).get_params() if name.startswith("reward_")}
    return {**ranges, **weights, **PUSHES, "noise_level": 0.0, "action_scale": np.where(which % 2, 0.5, 4.0)}


@pytest.mark.parametrize("env_id", ONE_EACH)
def test_like_the_formulas_in_numpy(env_id):
    lanes = 8
    env = make(env_id, lanes, **some_of_all(env_id, lanes))
    kind, model = LANES[env_id], env.get_attr("model")[0]
    env.reset(seed=1)
    largest = {}
    for number, actions in enumerate(actions_of(env, 30)):
        forces = np.zeros_like(env.state["xfrc_applied"])
        forces[2, 1, 3:5] = 150.0 if number > 4 else 0  # turns one of them over
        env.set_state({"xfrc_applied": forces})
        before = {name: values.copy() for name, values in env.state.items()}
        observations, rewards, ended, _, infos = env.step(actions)
        for i, data in enumerate(env.get_attr("data")):
            lane = kind(model, data, {name: values[i] for name, values in before.items()}, actions[i])
            for name, expected in lane.observations().items():
                np.testing.assert_allclose(observations[name][i], expected, rtol=1e-6, atol=1e-6)
            terms = lane.terms()
            assert {name for name in infos["reward"] if not name.startswith("_")} == set(terms)
            for name, term in terms.items():
                np.testing.assert_allclose(infos["reward"][name][i], term, rtol=1e-9, atol=1e-12, err_msg=name)
                largest[name] = max(largest.get(name, 0.0), abs(term))
            total = sum(terms.values()) * 0.02
            np.testing.assert_allclose(rewards[i], np.clip(total, 0, 10000) if kind.clipped else total, rtol=1e-9)
            assert ended[i] == terms["termination"]
            if "last_contact" in env.state:
                assert (env.state["last_contact"][i] == lane.contact()).all()
        if ended.any():
            env.reset(options={"reset_mask": ended})
    rare = {"collision", "contact_force"}  # which few states show; compare_playground.py sees them
    assert min(value for name, value in largest.items() if name not in rare) > 0, largest


# ---- defaults, spaces --------------------------------------------------------------------------------------


@pytest.mark.parametrize("env_id, robot", [(G1, "g1"), (T1, "t1"), (APOLLO, "apollo"), (BERKELEY, "berkeley_humanoid")])
def test_defaults_are_playgrounds(env_id, robot):
    config, params = config_of(robot), make(env_id, 1).get_params()
    reward, noise, push = config["reward_config"], config["noise_config"], config["push_config"]
    weights = {name for name in params if name.startswith("reward_")}
    assert weights == {f"reward_{name}" for name in reward["scales"]}
    expected = {
        **{f"reward_{name}": weight for name, weight in reward.pop("scales").items()},
        **reward,
        **{f"noise_{name}": scale for name, scale in noise["scales"].items()},
        **{"noise_level": noise["level"], "action_scale": config["action_scale"], "push_enable": push["enable"]},
        "frame_skip": round(config["ctrl_dt"] / config["sim_dt"]),
    }
    if robot != "apollo":
        expected["soft_joint_pos_limit_factor"] = config["soft_joint_pos_limit_factor"]
        command = [config[name] for name in COMMANDS]
    else:
        command = list(zip(config["command_config"]["min"], config["command_config"]["max"], strict=True))
        chances = zip(["x", "y", "yaw"], config["command_config"]["zero_prob"], strict=True)
        expected |= {f"command_b_{name}": chance for name, chance in chances}
    ranges = dict(zip((f"command_{name}" for name in COMMANDS), command, strict=True))
    ranges |= {"push_interval": push["interval_range"], "push_magnitude": push["magnitude_range"]}
    for name, (low, high) in ranges.items():
        expected |= {f"{name}_min": low, f"{name}_max": high}
    assert {name: params[name] for name in expected} == expected
    assert set(params) - set(expected) == {"on_unstable"}


@pytest.mark.parametrize("env_id", EVERY)
def test_spaces_and_groups(env_id):
    env = make(env_id, 8)
    assert env.single_action_space == Box(-1, 1, (JOINTS[env_id],), np.float32)
    for name, size in zip(("state", "privileged_state"), SEEN[env_id], strict=True):
        assert env.single_observation_space[name] == Box(-np.inf, np.inf, (size,), np.float32)
    assert env.spec.max_episode_steps == 1000 and env.get_attr("dt")[0] == 0.02
    _, infos = env.reset(seed=0)
    assert "reward" not in infos
    for actions in actions_of(env, 10, size=0.2):
        infos = env.step(actions)[4]
    assert ("swing_peak" in infos) == (env_id != APOLLO)
    told = env.get_attr("physics")[0]
    assert "the arithmetic of mujoco" in told or (told.startswith("together with others") and "100% of" in told)


@pytest.mark.parametrize(
    "env_id, keywords, error, words",
    [
        (G1, {"task": "stairs"}, ValueError, "task='stairs' must be one of 'flat_terrain', 'rough_terrain'"),
        (APOLLO, {"task": "rough_terrain"}, ValueError, "task='rough_terrain' must be one of 'flat_terrain'"),
        (G1, {"ctrl_dt": 0.003}, ValueError, "ctrl_dt=0.003 must be a multiple of sim_dt=0.002"),
        (T1, {"Kp": 30.0}, TypeError, "Kp"),
        (T1, {"push_interval_range": 3}, ValueError, "push_interval_range=3 must be two numbers"),
        (T1, {"push_interval_min": -1.0}, ValueError, "push_interval_min"),
        (APOLLO, {"soft_joint_pos_limit_factor": 0.9}, TypeError, "soft_joint_pos_limit_factor"),
        (APOLLO, {"command_b_x": 1.5}, ValueError, "command_b_x"),
        (G1, {"max_foot_height": 0}, ValueError, "max_foot_height"),
        (G1, {"push_enable": 2}, TypeError, "push_enable"),
        (G1, {"restricted_joint_range": 1}, TypeError, "restricted_joint_range=1 must be a bool"),
    ],
)
def test_bad_keywords(env_id, keywords, error, words):
    with pytest.raises(error, match=words):
        make(env_id, **keywords)


def test_joints_of_a_g1_can_have_narrower_ranges():
    model, wide = (make(G1, 1, restricted_joint_range=narrow).get_attr("model")[0] for narrow in (True, False))
    assert (model.jnt_range[1:] == model.actuator_ctrlrange).all()
    assert model.jnt_range[[2, 4]].tolist() == [[-0.5, 0.5], [0, 1.57]]  # roll of the left hip, left knee
    assert (np.ptp(model.jnt_range[1:13], 1) < np.ptp(wide.jnt_range[1:13], 1)).all()
    with pytest.raises(ValueError, match="restricted_joint_range: the model must have 29 joints"):
        make(G1, xml_file=package_xml("t1", playground.TERRAINS["flat_terrain"]), restricted_joint_range=True)


@pytest.mark.parametrize(
    "env_id, old, new, words",
    [
        (G1, 'name="knees_bent"', 'name="away"', "the model has no key 'knees_bent'"),
        (T1, 'name="left_foot_3_floor_found"', 'name="left_foot_touches"', "no sensor 'left_foot_3_floor_found'"),
    ],
)
def test_models_that_do_not_fit(env_id, old, new, words):
    text = package_xml({G1: "g1", T1: "t1"}[env_id], playground.TERRAINS["flat_terrain"])
    assert old in text
    with pytest.raises(ValueError, match=words):
        make(env_id, xml_file=text.replace(old, new))


def test_the_headers_are_for_users_files_too(tmp_path):
    """The built-in task as a file of one's own: the same rows, pushes included."""
    source = (ROOT / "csrc/engines/mujoco/tasks/g1_joystick.c").read_text()
    source = re.sub(r", \{\{\"task\".*?\}\}", "", source).replace('"G1Joystick"', '"MyG1"')
    (tmp_path / "g1.c").write_text(source)
    own = batchenv.compile(tmp_path / "g1.c", namespace="playground_gait").ids[0]
    xml = package_xml("g1", playground.TERRAINS["flat_terrain"])
    pushes = {"push_interval_min": 0.04, "push_interval_max": 0.1}
    ours, theirs = (make(env_id, 4, xml_file=xml, **pushes) for env_id in (own, G1))
    for env in (ours, theirs):
        env.reset(seed=0)
    actions = actions_of(theirs, 8)
    assert play(ours, actions) == play(theirs, actions)
    assert theirs.state["push_interval_steps"].max() < 7  # so there were pushes


# ---- physics, pushes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("env_id", ONE_EACH)
def test_the_physics_is_mujocos_and_pushes_change_velocities(env_id):
    """Positions and velocities bit for bit, of a group and of a lane alone, and when pushes come."""
    lanes, key = 9, LANES[env_id].key
    env = make(env_id, lanes, **PUSHES)
    env.reset(seed=5)
    model, datas = env.get_attr("model")[0], env.get_attr("data")
    target, scale, steps = model.keyframe(key).ctrl, env.get_params()["action_scale"], env.get_params()["frame_skip"]
    pushed = []
    for number, actions in enumerate(actions_of(env, 20, size=0.5)):
        push, every = env.state["push"].copy(), env.state["push_interval_steps"]
        assert (push.any(1) == ((number + 1) % every == 0)).all() and (env.state["push_step"] == number).all()
        pushed.append(push[push.any(1)])
        observations, _, ended, _, _ = env.step(actions)
        for data, action in zip(datas, actions, strict=True):
            data.ctrl[:] = target + scale * action.astype(np.float64)
            mujoco.mj_step(model, data, steps)
        where = slice(SEEN[env_id][0], SEEN[env_id][0] + 3)
        gyro = [data.sensor("gyro" + LANES[env_id].part).data for data in datas]
        assert (observations["privileged_state"][:, where] == np.float32(gyro)).all()
        for data, change in zip(datas, env.state["push"], strict=True):
            data.qvel[:2] += change
        for ours, data in zip(env.get_attr("data"), datas, strict=True):
            assert all(
                getattr(ours, name).tobytes() == getattr(data, name).tobytes()
                for name in ("qpos", "qvel", "sensordata")
            )
        for name in ("qpos", "qvel"):
            assert np.stack(env.get_attr(name)).tobytes() == np.stack([getattr(data, name) for data in datas]).tobytes()
        if ended.any():
            break
    size = np.linalg.norm(np.concatenate(pushed), axis=1)
    assert number > 5 and len(size) > 10 and ((size >= 0.5) & (size <= 2)).all() and np.ptp(size) > 0.5


def test_sizes_directions_and_times_of_pushes():
    env = make(T1, 2000, push_interval_range=(0.02, 0.02), push_magnitude_range=(0.5, 2))
    env.reset(seed=0)  # and the first step is pushed, too, where all are
    assert (env.state["push_interval_steps"] == 1).all()
    uniform(np.linalg.norm(env.state["push"], axis=1), 0.5, 2)
    uniform(np.arctan2(*env.state["push"].T), -np.pi, np.pi)
    for keywords in ({"push_enable": False}, {"push_interval_range": (0, 0)}):
        env = make(T1, 4, **{"push_interval_range": (0.02, 0.02), **keywords})
        env.reset(seed=0)
        for actions in actions_of(env, 4):
            assert not env.state["push"].any()
            env.step(actions)
    env.set_state({"push_interval_steps": 3})
    env.set_params(push_enable=[False, True, True, False])
    seen = []
    for actions in actions_of(env, 6):
        env.step(actions)
        seen.append(env.state["push"].any(1).tolist())
    some = [False, True, True, False]
    assert [row == some for row in seen] == [(step + 1) % 3 == 0 for step in range(5, 11)]
    assert all(row in (some, [False] * 4) for row in seen)


# ---- random parts ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("env_id", ONE_EACH)
def test_starts_and_noise_have_playgrounds_distributions(env_id):
    lanes, joints, most_hz = 1000, JOINTS[env_id], 1.5 if env_id == G1 else 1.75
    env = make(env_id, lanes)
    observations, _ = env.reset(seed=0)
    qpos, qvel = np.stack(env.get_attr("qpos")), np.stack(env.get_attr("qvel"))
    home = make(env_id, 1).get_attr("model")[0].keyframe(LANES[env_id].key).qpos
    bent = home[7:] != 0
    uniform(qpos[:, :2], -0.5, 0.5)
    uniform((2 * np.arctan2(qpos[:, 6], qpos[:, 3]) + np.pi) % (2 * np.pi) - np.pi, -3.14, 3.14)
    uniform(qpos[:, 7:][:, bent] / home[7:][bent], 0.5, 1.5)
    uniform(qvel[:, :6], -0.5, 0.5)
    assert not qvel[:, 6:].any() and not qpos[:, 7:][:, ~bent].any() and (qpos[:, 2] == home[2]).all()
    state = env.state
    assert (state["phase"] == [0, np.pi]).all()
    uniform(state["phase_dt"] / (2 * np.pi * 0.02), 1.25, most_hz)
    uniform(state["push_interval_steps"] * 0.02, 5, 10)
    stands = ~state["command"].any(1)
    assert abs(stands.mean() - (0 if env_id == APOLLO else 0.1)) < 0.03
    highest = {G1: (1.0, 0.5, 1.0), T1: (1.0, 0.8, 1.0), APOLLO: (1.5, 0.8, 1.5)}[env_id]
    for values, high in zip(state["command"].T, highest, strict=True):
        uniform(values[~stands], -high, high)

    seen, exact = observations["state"], observations["privileged_state"][:, SEEN[env_id][0] :]
    assert (observations["privileged_state"][:, : SEEN[env_id][0]] == seen).all()
    gyro, gravity, linvel = (0, 3, 6) if env_id == APOLLO else (0, 6, 9)
    angles = 9 if env_id == APOLLO else 15
    parts = [(0, linvel, 3, 0.1), (3, gyro, 3, 0.2), (6, gravity, 3, 0.05)]
    parts += [(12, angles, joints, 0.03), (12 + joints, angles + joints, joints, 1.5)]
    for place, true, size, scale in parts:
        uniform(seen[:, place : place + size] - exact[:, true : true + size], -scale, scale)


@pytest.mark.parametrize("env_id", [G1, T1])
def test_commands_change_after_500_steps(env_id):
    lanes = 200
    env = make(env_id, lanes)
    env.reset(seed=0)
    env.set_state({"step": np.where(np.arange(lanes) % 2, 499, 500)})
    before = env.state["command"].copy()
    env.step(actions_of(env, 1)[0])
    changed = (env.state["command"] != before).any(1)
    assert env.state["step"].tolist() == [0, 500] * (lanes // 2)
    assert not changed[1::2].any() and changed[::2].mean() > 0.95


def test_apollos_commands_change_as_go1s_do():
    lanes = 1500
    env = make(APOLLO, lanes, command_lin_vel_x_range=(0.5, 1.0))
    env.reset(seed=0)
    uniform(env.state["command"][:, 0], 0.5, 1.0)
    seconds = env.state["steps_until_next_cmd"] * 0.02
    assert abs(seconds.mean() - 5) < 0.6 and abs(seconds.std() - 5) < 0.8  # exponential
    env.set_state({"steps_until_next_cmd": np.where(np.arange(lanes) % 3, 1, 2)})
    before = env.state["command"].copy()
    env.step(actions_of(env, 1)[0])
    after = env.state["command"]
    changed = after != before
    assert not changed[::3].any() and (env.state["steps_until_next_cmd"][::3] == 1).all()
    changed[::3] = False
    assert np.abs(changed.mean(0) * 1.5 - 0.5).max() < 0.06
    for j, kept in enumerate((0.9, 0.25, 0.5)):
        assert abs((after[changed[:, j], j] != 0).mean() - kept) < 0.07


@pytest.mark.parametrize("env_id", ONE_EACH)
def test_feet_stand_where_the_command_is_zero(env_id):
    """But for those of a G1; and then they go on together."""
    env = make(env_id, 2)
    env.reset(seed=0)
    env.set_state({"command": [[0, 0, 0], [0.3, 0, 0]]})
    phase, dt = env.state["phase"].copy(), env.state["phase_dt"][:, None].copy()
    actions = actions_of(env, 2, size=0.1)
    env.step(actions[0])
    moved = (phase + dt + np.pi) % (2 * np.pi) - np.pi
    np.testing.assert_allclose(env.state["phase"][1], moved[1])
    np.testing.assert_allclose(env.state["phase"][0], moved[0] if env_id == G1 else [np.pi, np.pi])
    env.set_state({"command": [0.3, 0, 0], "phase": [np.pi, np.pi]})
    env.step(actions[1])
    np.testing.assert_allclose(env.state["phase"], np.hstack([dt, dt]) - np.pi)


# ---- lanes -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode, env_id", [("SAME_STEP", G1), ("NEXT_STEP", T1), ("SAME_STEP", APOLLO)])
def test_threads_seeds_snapshots_and_pickles(mode, env_id):
    lanes = 5
    made = {"autoreset_mode": AutoresetMode[mode], "action_scale": 4.0, "max_episode_steps": 25, **PUSHES}
    env = make(env_id, lanes, num_threads=1, **made)
    actions = actions_of(env, 32)
    first, _ = env.reset(seed=3)
    first = {name: values.copy() for name, values in first.items()}
    begun = play(env, actions[:16])
    snapshot, copied = env.snapshot(), pickle.loads(pickle.dumps(env))
    rest = play(env, actions[16:])
    assert play(copied, actions[16:]) == rest
    env.restore(snapshot)
    assert play(env, actions[16:]) == rest
    assert env.state["elapsed_steps"].min() < 25  # there were autoresets
    other = make(env_id, lanes, num_threads=2, **made)
    again, _ = other.reset(seed=3)
    assert all((again[name] == first[name]).all() for name in first)
    assert play(other, actions) == begun + rest
    alone = make(env_id, 1, **made)  # by mj_step
    start, _ = alone.reset(seed=3 + 2)
    assert all((start[name][0] == first[name][2]).all() for name in first)
    env.reset(seed=3)
    for row in actions:
        ours, theirs = env.step(row), alone.step(row[2:3])
        assert all((ours[0][name][2] == theirs[0][name][0]).all() for name in first)
        assert all(ours[k][2] == theirs[k][0] for k in (1, 2, 3))
