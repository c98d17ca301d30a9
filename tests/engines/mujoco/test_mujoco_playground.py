"""MuJoCo Playground's Go1 and Spot that follow commands: against the same formulas in NumPy over MuJoCo's bindings.
(tools/verify/compare_playground.py compares with Playground's own functions, in JAX.)"""

import importlib.util
import pickle
import re
from pathlib import Path

import numpy as np
import pytest
from gymnasium.error import DependencyNotInstalled
from gymnasium.spaces import Box
from gymnasium.vector import AutoresetMode

import batchenv
from batchenv.envs.mujoco import playground
from helpers.mujoco import mujoco
from helpers.playground import make_robots, play, random_actions, uniform

ROOT = Path(__file__).resolve().parents[3]
FLAT, ROUGH, SPOT = "Go1JoystickFlatTerrain-v0", "Go1JoystickRoughTerrain-v0", "SpotFlatTerrainJoystick-v0"
WEIGHTS = {
    "tracking_lin_vel": 1.0, "tracking_ang_vel": 0.5, "lin_vel_z": -0.5, "ang_vel_xy": -0.05, "orientation": -5.0,
    "dof_pos_limits": -1.0, "pose": 0.5, "termination": -1.0, "stand_still": -1.0, "torques": -0.0002,
    "action_rate": -0.01, "energy": -0.001, "feet_clearance": -2.0, "feet_height": -0.2, "feet_slip": -0.1,
    "feet_air_time": 0.1,
}  # fmt: skip
SPOT_WEIGHTS = {
    "tracking_lin_vel": 1.5, "tracking_ang_vel": 0.8, "lin_vel_z": -2.0, "ang_vel_xy": -0.05, "orientation": -5.0,
    "termination": -1.0, "posture": 1.0, "torques": -0.0002, "action_rate": -0.01, "energy": -0.001,
    "feet_slip": -0.1, "feet_clearance": -2.0, "feet_height": -0.1, "feet_air_time": 0.1,
}  # fmt: skip
SPOT_NOISE = {
    "joint_pos": 0.05,
    "gyro": 0.1,
    "gravity": 0.03,
    "feet_pos_x": 0.01,
    "feet_pos_y": 0.005,
    "feet_pos_z": 0.02,
}
SPOT_WITHOUT_NOISE = {f"noise_{name}": 0.0 for name in SPOT_NOISE}
UNTIL, DURATION_STEPS, DURATION, KICK, SINCE = range(5)  # columns of the field push
DIRECTION = slice(6, 8)
PUSHES = {"pert_enable": True, "pert_kick_wait_times_range": (0.1, 0.3), "pert_velocity_kick_range": (0, 0.8)}
MANY_PUSHES = {**PUSHES, "pert_velocity_kick_range": (0, 12)}  # and robots that fall


def make(lanes=6, env_id=FLAT, **kwargs):
    return make_robots(env_id, lanes, **kwargs)


def actions_of(lanes, steps, seed=0, size=1.0):
    return random_actions(lanes, steps, 12, seed, size)


class Lane:
    """What a step of a Go1's lane should give. before: the lane's state when the step began."""

    feet, weights, wanted = ("FR", "FL", "RR", "RL"), WEIGHTS, 0.1

    def __init__(self, model, data, before, action, acts):
        sensor = {name: data.sensor(name).data.copy() for name in ("gyro", "local_linvel", "global_linvel", "upvector")}
        self.model, self.data, self.before, self.action, self.sensor = model, data, before, action, sensor
        self.pose = model.keyframe("home").qpos[7:]
        self.acts = acts
        self.contact = np.array([data.sensor(f"{foot}_floor_found").data[0] > 0 for foot in self.feet])
        self.height = np.array([data.site(foot).xpos[2] for foot in self.feet])
        self.velocity = np.stack([data.sensor(f"{foot}_global_linvel").data for foot in self.feet])
        self.first = (before["feet_air_time"] > 0) & (self.contact | before["last_contact"])
        self.air_time = before["feet_air_time"] + 0.02
        self.peak = np.maximum(before["swing_peak"], self.height)

    def observations(self):
        data, sensor = self.data, self.sensor
        gravity = data.site("imu").xmat.reshape(3, 3).T @ [0, 0, -1]
        angles, speeds = data.qpos[7:] - self.pose, data.qvel[6:]
        own = [self.before["last_act"], self.before["command"]]
        state = np.concatenate([sensor["local_linvel"], sensor["gyro"], gravity, angles, speeds, *own])
        more = [
            *(sensor["gyro"], data.sensor("accelerometer").data, gravity, sensor["local_linvel"]),
            *(data.sensor("global_angvel").data, angles, speeds, data.actuator_force),
            *(self.before["last_contact"], self.velocity.ravel(), self.air_time),
            *(self.before["xfrc_applied"][1, :3], [self.acts]),
        ]
        return {"state": state, "privileged_state": np.concatenate([state, *more])}

    def terms(self):
        """The parts of the reward, without weights."""
        data, sensor, command = self.data, self.sensor, self.before["command"]
        angles, torque = data.qpos[7:], data.actuator_force
        low, high = 0.95 * self.model.jnt_range[1:].T
        moves = np.linalg.norm(command) > 0.01
        speed = np.linalg.norm(self.velocity[:, :2], axis=1)
        return {
            "tracking_lin_vel": np.exp(-((command[:2] - sensor["local_linvel"][:2]) ** 2).sum() / 0.25),
            "tracking_ang_vel": np.exp(-((command[2] - sensor["gyro"][2]) ** 2) / 0.25),
            "lin_vel_z": sensor["global_linvel"][2] ** 2,
            "ang_vel_xy": (data.sensor("global_angvel").data[:2] ** 2).sum(),
            "orientation": (sensor["upvector"][:2] ** 2).sum(),
            "dof_pos_limits": np.maximum(low - angles, 0).sum() + np.maximum(angles - high, 0).sum(),
            "pose": np.exp(-((angles - self.pose) ** 2 * ([1, 1, 0.1] * 4)).sum()),
            "termination": float(sensor["upvector"][2] < 0),
            "stand_still": np.abs(angles - self.pose).sum() * (not moves),
            "torques": np.linalg.norm(torque) + np.abs(torque).sum(),
            "action_rate": ((self.action.astype(float) - self.before["last_act"]) ** 2).sum(),
            "energy": np.abs(data.qvel[6:] * torque).sum(),
            "feet_clearance": (np.abs(self.height - self.wanted) * np.sqrt(speed)).sum(),
            "feet_height": ((self.peak / self.wanted - 1) ** 2 * self.first).sum() * moves,
            "feet_slip": (speed**2 * self.contact).sum() * moves,
            "feet_air_time": ((self.air_time - 0.1) * self.first).sum() * moves,
        }


class SpotLane(Lane):
    """The same for a Spot."""

    feet, weights, wanted = ("FL", "FR", "HL", "HR"), SPOT_WEIGHTS, 0.12

    def observations(self):
        data, sensor, before = self.data, self.sensor, self.before
        low, high = self.model.actuator_ctrlrange.T
        angles, targets = data.qpos[7:] - self.pose, np.clip(self.pose + 0.3 * self.action.astype(float), low, high)
        history = [data.qpos[7:] - targets, before["qpos_error_history"][:-12]]
        places = np.concatenate([data.sensor(f"{foot}_pos").data for foot in self.feet])
        own = [before["last_act"], before["command"]]
        state = np.concatenate([sensor["gyro"], sensor["upvector"], angles, *history, places, *own])
        more = [
            *(sensor["gyro"], data.sensor("accelerometer").data, sensor["upvector"], sensor["local_linvel"]),
            *(data.sensor("global_angvel").data, angles, places, data.qvel[6:], data.actuator_force),
            *(before["last_contact"], self.velocity.ravel(), self.air_time, before["xfrc_applied"][1, :3]),
        ]
        return {"state": state, "privileged_state": np.concatenate([state, *more])}

    def terms(self):
        terms, action, before = super().terms(), self.action.astype(float), self.before
        stands = np.linalg.norm(before["command"]) < 0.01
        terms["posture"] = np.exp(-10 * stands * ((self.data.qpos[7:] - self.pose) ** 2).sum())
        terms["termination"] = float(self.sensor["upvector"][2] < 0.85)
        terms["action_rate"] += ((action - 2.0 * before["last_act"] + before["last_last_act"]) ** 2).sum()
        terms["feet_slip"] = (np.linalg.norm(self.velocity[:, :2], axis=1) ** 2 * self.contact).sum()
        return {name: terms[name] for name in SPOT_WEIGHTS}


@pytest.mark.parametrize("env_id", [FLAT, ROUGH, SPOT])
def test_like_the_formulas_in_numpy(env_id):
    lanes = 12
    which = np.arange(lanes)
    stand = np.where(which % 4 == 0, 0.0, 1.0)
    if env_id == SPOT:
        ranges = {f"command_{name}_max": stand for name in ("lin_vel_x", "lin_vel_y", "ang_vel_yaw")}
        some = {**ranges, **{name.replace("max", "min"): -stand for name in ranges}, **SPOT_WITHOUT_NOISE}
    else:
        some = {f"command_a_{name}": stand for name in ("x", "y", "yaw")}
        some |= {"noise_level": 0.0, "action_scale": np.where(which % 2, 0.5, 4.0)}
    env = make(lanes, env_id, **some, **MANY_PUSHES)
    kind = SpotLane if env_id == SPOT else Lane
    model, weights = env.get_attr("model")[0], kind.weights
    env.reset(seed=1)
    largest = dict.fromkeys(weights, 0.0)
    for actions in actions_of(lanes, 60):
        before = {name: values.copy() for name, values in env.state.items()}
        observations, rewards, ended, _, infos = env.step(actions)
        after, acting = env.state, before["push"][:, SINCE] >= before["push"][:, UNTIL]
        for i, data in enumerate(env.get_attr("data")):
            lane = kind(model, data, {name: values[i] for name, values in before.items()}, actions[i], acting[i])
            for name, expected in lane.observations().items():
                np.testing.assert_allclose(observations[name][i], expected, rtol=1e-6, atol=1e-6)
            terms = lane.terms()
            for name, term in terms.items():
                np.testing.assert_allclose(infos["reward"][name][i], weights[name] * term, rtol=1e-9, atol=1e-12)
                largest[name] = max(largest[name], abs(term))
            total = sum(weights[name] * term for name, term in terms.items()) * 0.02
            np.testing.assert_allclose(rewards[i], max(total, 0), rtol=1e-9, atol=1e-12)
            assert ended[i] == terms["termination"]
            air_time, peak = lane.air_time * ~lane.contact, lane.peak * ~lane.contact
            np.testing.assert_allclose(after["feet_air_time"][i], air_time)
            np.testing.assert_allclose(after["swing_peak"][i], peak)
            np.testing.assert_allclose(infos["swing_peak"][i], peak.mean())
            assert (after["last_contact"][i] == lane.contact).all()
        assert (after["last_act"] == actions).all()
        if ended.any():
            env.reset(options={"reset_mask": ended})
    assert min(largest.values()) > 0, largest


@pytest.mark.parametrize("env_id", [FLAT, ROUGH, SPOT])
def test_lanes_are_stepped_in_groups(env_id):
    env = make(16, env_id, **PUSHES)
    env.reset(seed=0)
    for actions in actions_of(16, 20, size=0.2):
        env.step(actions)
    told = env.get_attr("physics")[0]
    if "the arithmetic of mujoco" in told:
        pytest.skip(told)
    assert told.startswith("together with others") and "100% of 100 steps" in told


def test_the_physics_is_mujocos():
    """Keyframe, controls, steps and pushes: a lane's positions and velocities, bit for bit."""
    lanes = 9  # a group and a lane alone
    env = make(lanes, noise_level=0.0, action_scale=0.3, Kp=30.0, Kd=0.7, sim_dt=0.005, **PUSHES)
    env.reset(seed=5)
    model = env.get_attr("model")[0]
    assert (model.actuator_gainprm[:, 0] == 30).all() and (model.actuator_biasprm[:, 1] == -30).all()
    assert (model.dof_damping[:6] == 0).all() and (model.dof_damping[6:] == 0.7).all() and model.opt.timestep == 0.005
    assert env.get_attr("dt")[0] == 0.02 and env.get_params()["frame_skip"] == 4
    datas = [mujoco.MjData(model) for _ in range(lanes)]
    for data, qpos, qvel in zip(datas, env.get_attr("qpos"), env.get_attr("qvel"), strict=True):
        data.qpos[:], data.qvel[:] = qpos, qvel
        data.ctrl[:] = qpos[7:]
        mujoco.mj_forward(model, data)
    pushed = 0
    for actions in actions_of(lanes, 50, size=0.5):
        forces = env.state["xfrc_applied"].copy()
        pushed += (forces != 0).any((1, 2)).sum()
        env.step(actions)
        for data, action, force in zip(datas, actions, forces, strict=True):
            data.ctrl[:] = model.keyframe("home").qpos[7:] + 0.3 * action.astype(np.float64)
            data.xfrc_applied[:] = force
            mujoco.mj_step(model, data, 4)
        for i, (qpos, qvel) in enumerate(zip(env.get_attr("qpos"), env.get_attr("qvel"), strict=True)):
            assert (qpos.tobytes(), qvel.tobytes()) == (datas[i].qpos.tobytes(), datas[i].qvel.tobytes())
    assert pushed > 50


def test_pushes_are_half_a_sine_wave_now_and_then():
    env = make(16, **PUSHES)
    env.reset(seed=0)
    mass = env.get_attr("model")[0].body("trunk").subtreemass[0]
    since, steps = np.zeros(16), np.zeros(16)
    for _ in range(60):
        push, forces = env.state["push"], env.state["xfrc_applied"]
        acts = since >= push[:, UNTIL]
        share = np.where(acts, 0.5 * np.sin(np.pi * steps * 0.02 / push[:, DURATION]), 0)
        size = share * mass * push[:, KICK] / push[:, DURATION]
        np.testing.assert_allclose(forces[:, 1, :2], size[:, None] * push[:, DIRECTION], rtol=1e-12, atol=1e-9)
        assert not forces[:, 1, 2:].any() and not np.delete(forces, 1, 1).any()
        since = np.where(acts, np.where(steps >= push[:, DURATION_STEPS], 0, since), since + 1)
        steps = np.where(acts, steps + 1, np.where(since >= push[:, UNTIL], 0, steps))
        env.step(np.zeros((16, 12), np.float32))


def test_pushes_can_be_switched_off():
    env = make(4, pert_enable=True, pert_kick_wait_times_range=(0.1, 0.1), pert_kick_durations_range=(0.1, 0.1))
    env.reset(seed=0)
    for _ in range(8):
        env.step(np.zeros((4, 12), np.float32))
    assert env.state["xfrc_applied"].any((1, 2)).all()
    env.set_params(pert_enable=[False, True, True, False])
    env.step(np.zeros((4, 12), np.float32))
    assert env.state["xfrc_applied"].any((1, 2)).tolist() == [False, True, True, False]


def test_starts_commands_and_noise_have_playgrounds_distributions():
    lanes = 3000
    env = make(lanes)
    observations, _ = env.reset(seed=0)
    qpos, qvel, home = (
        np.stack(env.get_attr("qpos")),
        np.stack(env.get_attr("qvel")),
        make(1).get_attr("model")[0].key_qpos,
    )
    yaw = 2 * np.arctan2(qpos[:, 6], qpos[:, 3])
    yaw = (yaw + np.pi) % (2 * np.pi) - np.pi
    uniform(qpos[:, :2], -0.5, 0.5)
    uniform(yaw, -3.14, 3.14)
    uniform(qvel[:, :6], -0.5, 0.5)
    assert not qvel[:, 6:].any() and (qpos[:, 2] == home[0][2]).all() and (qpos[:, 7:] == home[0][7:]).all()
    commands, most = env.state["command"], [1.5, 0.8, 1.2]
    for values, high in zip(commands.T, most, strict=True):
        uniform(values, -high, high)
    push, seconds = env.state["push"], env.state["steps_until_next_cmd"] * 0.02
    assert abs(seconds.mean() - 5) < 0.4 and abs(seconds.std() - 5) < 0.6  # exponential
    for values, low, high in ((push[:, UNTIL] * 0.02, 1, 3), (push[:, DURATION], 0.05, 0.2), (push[:, KICK], 0, 3)):
        uniform(values, low, high)
    noise = observations["state"] - without_noise(observations["privileged_state"])
    for place, scale in ((slice(0, 3), 0.1), (slice(3, 6), 0.2), (slice(6, 9), 0.05), (slice(9, 21), 0.03)):
        uniform(noise[:, place], -scale, scale)
    uniform(noise[:, 21:33], -1.5, 1.5)
    assert (observations["privileged_state"][:, :48] == observations["state"]).all()


def without_noise(privileged):
    """The part `state` of an observation, as it would be without noise."""
    gyro, _, gravity, linvel, _, angles, speeds = np.split(privileged[:, 48:], [3, 6, 9, 12, 15, 27, 39], 1)[:7]
    return np.concatenate([linvel, gyro, gravity, angles, speeds[:, :12], privileged[:, 33:48]], 1)


def test_commands_change_as_playgrounds_do():
    """Each part changes with probability 1/2: to 0 with probability 1 - b, or to a new number."""
    lanes = 2000
    env = make(lanes)
    env.reset(seed=0)
    env.set_state({"steps_until_next_cmd": 1})
    before = env.state["command"].copy()
    env.step(np.zeros((lanes, 12), np.float32))
    after = env.state["command"]
    changed = after != before
    assert np.abs(changed.mean(0) - 0.5).max() < 0.04
    for j, kept in enumerate((0.9, 0.25, 0.5)):
        assert abs((after[changed[:, j], j] != 0).mean() - kept) < 0.05
    assert (env.state["steps_until_next_cmd"] >= 0).all() and len(np.unique(env.state["steps_until_next_cmd"])) > 200


def test_spots_starts_commands_and_noise():
    lanes = 3000
    env = make(lanes, SPOT, history_len=1)
    observations, _ = env.reset(seed=0)
    qpos = np.stack(env.get_attr("qpos"))
    assert (qpos == make(1, SPOT).get_attr("model")[0].key_qpos[0]).all() and not np.stack(env.get_attr("qvel")).any()
    commands = env.state["command"]
    stands = ~commands.any(1)
    assert abs(stands.mean() - 0.1) < 0.02
    for values, high in zip(commands.T, (1.0, 0.8, 1.0), strict=True):
        uniform(values[~stands], -high, high)
    state, exact = observations["state"], observations["privileged_state"][:, 57:]
    assert env.single_observation_space["state"].shape == (57,)
    for place, true, name in ((slice(0, 3), 0, "gyro"), (slice(3, 6), 6, "gravity"), (slice(6, 18), 15, "joint_pos")):
        noise = state[:, place] - exact[:, true : true + place.stop - place.start]
        uniform(noise, -SPOT_NOISE[name], SPOT_NOISE[name])
    feet = (state[:, 30:42] - exact[:, 27:39]).reshape(-1, 3) / list(SPOT_NOISE.values())[3:]
    uniform(feet, -1, 1)
    assert np.ptp(feet, 1).max() < 1e-3  # Playground draws one number per foot
    ran = env.state["step"].copy()
    env.set_state({"step": np.where(np.arange(lanes) % 2, 199, 200)})
    env.step(np.zeros((lanes, 12), np.float32))
    changed = (env.state["command"] != commands).any(1)
    assert not ran.any() and not changed[1::2].any() and changed[::2].mean() > 0.95
    assert env.state["step"].tolist() == [0, 200] * (lanes // 2)


@pytest.mark.parametrize("mode, env_id", [("NEXT_STEP", FLAT), ("SAME_STEP", FLAT), ("SAME_STEP", SPOT)])
def test_threads_seeds_snapshots_and_pickles(mode, env_id):
    lanes, actions = 10, actions_of(10, 60)
    made = {"autoreset_mode": AutoresetMode[mode], "action_scale": 5.0, "max_episode_steps": 45, **MANY_PUSHES}
    env = make(lanes, env_id, num_threads=1, sim_dt=0.002, Kp=60.0, **made)
    first, _ = env.reset(seed=3)
    begun = play(env, actions[:30])
    snapshot, copied = env.snapshot(), pickle.loads(pickle.dumps(env))
    rest = play(env, actions[30:])
    assert play(copied, actions[30:]) == rest
    env.restore(snapshot)
    assert play(env, actions[30:]) == rest
    other = make(lanes, env_id, num_threads=2, sim_dt=0.002, Kp=60.0, **made)
    again, _ = other.reset(seed=3)
    assert all((again[name] == first[name]).all() for name in first)
    assert play(other, actions) == begun + rest
    assert other.state["elapsed_steps"].min() < 45  # there were autoresets


def test_an_episode_ends_where_the_robot_falls():
    env = make(4, autoreset_mode=AutoresetMode.NEXT_STEP)
    env.reset(seed=0)
    forces = np.zeros_like(env.state["xfrc_applied"])
    forces[1, 1, 3] = 60.0  # turns one of them over
    env.set_state({"xfrc_applied": forces})
    ended = [env.step(np.zeros((4, 12), np.float32))[2].tolist() for _ in range(40)]
    assert {tuple(row) for row in ended} == {(False,) * 4, (False, True, False, False)}
    assert sum(row[1] for row in ended) == 1
    env.step(np.zeros((4, 12), np.float32))
    assert not env.state["xfrc_applied"].any()  # a reset takes the force away


def test_spaces_and_infos():
    env = make(3)
    assert env.single_action_space == Box(-1, 1, (12,), np.float32)
    for name, size in (("state", 48), ("privileged_state", 123)):
        assert env.single_observation_space[name] == Box(-np.inf, np.inf, (size,), np.float32)
    assert env.spec.max_episode_steps == 1000
    _, infos = env.reset(seed=0)
    assert "reward" not in infos
    infos = env.step(np.zeros((3, 12), np.float32))[4]
    assert {name for name in infos["reward"] if not name.startswith("_")} == set(WEIGHTS)


def package_xml():
    spec = mujoco.MjSpec.from_file(str(playground.locomotion("go1", playground.Go1Joystick.SCENES["flat_terrain"])))
    for part in [*(geom for geom in spec.geoms if geom.meshname), *spec.meshes]:
        spec.delete(part)
    spec.compile()
    return spec.to_xml()


def test_a_model_of_ones_own(tmp_path):
    (tmp_path / "go1.xml").write_text(package_xml())
    ours, theirs = make(5, xml_file=tmp_path / "go1.xml"), make(5)
    for env in (ours, theirs):
        env.reset(seed=0)
    actions = actions_of(5, 5)
    assert play(ours, actions) == play(theirs, actions)


def test_the_header_is_for_users_files_too(tmp_path):
    """The built-in task as a file of one's own: the same rows."""
    source = (ROOT / "csrc/engines/mujoco/tasks/go1_joystick.c").read_text()
    source = re.sub(r", \{\{\"task\".*?\}\}", "", source).replace('"Go1Joystick"', '"MyGo1"')
    (tmp_path / "go1.c").write_text(source)
    own = batchenv.compile(tmp_path / "go1.c", namespace="playground_header").ids[0]
    ours, theirs = (make(5, env_id, xml_file=package_xml(), pert_enable=True) for env_id in (own, FLAT))
    for env in (ours, theirs):
        env.reset(seed=0)
    actions = actions_of(5, 5)
    assert play(ours, actions) == play(theirs, actions)


@pytest.mark.parametrize(
    "change, words",
    [
        (('name="home"', 'name="away"'), "the model has no key 'home'"),
        (('body name="trunk"', 'body name="torso"'), "the model has no body 'trunk'"),
        (('name="FR_floor_found"', 'name="FR_touches"'), "the model has no sensor 'FR_floor_found'"),
        (
            ('<gyro site="imu" name="gyro"/>', '<jointpos name="gyro" joint="FR_hip_joint"/>'),
            "sensor gyro has 1 numbers",
        ),
        (('<joint type="free"', '<joint type="ball"'), "one free joint and then 12 joints"),
    ],
)
def test_models_that_do_not_fit(change, words):
    text = package_xml()
    assert change[0] in text
    text = re.sub("<keyframe>.*</keyframe>", '<keyframe><key name="home"/></keyframe>', text, flags=re.DOTALL)
    text = text.replace(*change).replace('target="trunk"', "")
    with pytest.raises(ValueError, match=words):
        make(xml_file=text)


@pytest.mark.parametrize(
    "keywords, error, words",
    [
        ({"task": "stairs"}, ValueError, "task='stairs' must be one of 'flat_terrain', 'rough_terrain'"),
        ({"ctrl_dt": 0.01, "sim_dt": 0.004}, ValueError, "ctrl_dt=0.01 must be a multiple of sim_dt=0.004"),
        ({"ctrl_dt": 0.01, "frame_skip": 2}, TypeError, "ctrl_dt says what frame_skip says"),
        ({"sim_dt": 0}, ValueError, "sim_dt=0.0 must be from 1e-06 to 1"),
        ({"sim_dt": float("nan")}, ValueError, "sim_dt=nan"),
        ({"ctrl_dt": "fast"}, TypeError, "ctrl_dt='fast'"),
        ({"Kp": -1}, ValueError, "Kp=-1.0 must be from 0"),
        ({"Kd": None}, TypeError, "Kd=None"),
        ({"tracking_sigma": 0}, ValueError, "tracking_sigma"),
        ({"command_b_x": 1.5}, ValueError, "command_b_x"),
        ({"pert_velocity_kick_range": 3}, ValueError, "pert_velocity_kick_range=3 must be two numbers"),
        ({"noise_levle": 0}, TypeError, "noise_level"),
        ({"xml_file": "no_robot.xml"}, OSError, "no_robot.xml"),
        ({"xml_file": 5}, TypeError, "xml_file=5"),
    ],
)
def test_bad_keywords(keywords, error, words):
    with pytest.raises(error, match=words):
        make(**keywords)


def test_without_the_package(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(DependencyNotInstalled, match="pip install --no-deps playground"):
        make()


def test_another_version_of_the_package(monkeypatch):
    monkeypatch.setitem(playground.Go1Joystick.SCENES, "flat_terrain", "no_scene.xml")
    with pytest.raises(DependencyNotInstalled, match=r"has no .*no_scene\.xml"):
        make()
