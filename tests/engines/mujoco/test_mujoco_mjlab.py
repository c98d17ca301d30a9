"""mjlab's Go1 and G1 that follow commands: against the same formulas in NumPy over MuJoCo's bindings.
(tools/verify/compare_mjlab.py compares with mjlab's own env, in PyTorch.)"""

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
from batchenv import _core
from batchenv.envs.mujoco import mjlab
from helpers.mujoco import mujoco

if importlib.util.find_spec("mjlab") is None:
    pytest.skip("pip install --no-deps mjlab", allow_module_level=True)

GO1, G1 = "Mjlab-Velocity-Flat-Unitree-Go1-v0", "Mjlab-Velocity-Flat-Unitree-G1-v0"
WEIGHTS = {
    "track_linear_velocity": 2.0, "track_angular_velocity": 2.0, "upright": 1.0, "pose": 1.0, "body_ang_vel": 0.0,
    "angular_momentum": 0.0, "dof_pos_limits": -1.0, "action_rate_l2": -0.1, "air_time": 0.0, "foot_clearance": -2.0,
    "foot_swing_height": -0.25, "foot_slip": -0.1, "soft_landing": -1e-5, "self_collisions": 0.0,
}  # fmt: skip
NO_PUSHES = {"push_enable": False}
SITES = {GO1: ("FR", "FL", "RR", "RL"), G1: ("left_foot", "right_foot")}
JOINTS = {GO1: 12, G1: 29}


def make(lanes=6, env_id=GO1, **kwargs):
    return batchenv.make(env_id, lanes, **{"autoreset_mode": AutoresetMode.DISABLED, **kwargs})


def actions_of(lanes, steps, joints=12, seed=0, size=0.5):
    return np.random.default_rng(seed).normal(0, size, (steps, lanes, joints)).astype(np.float32)


class Lane:
    """What a step of a lane should give. before: the lane's state when the step began."""

    def __init__(self, env_id, model, data, before, action):
        robot = mjlab.ROBOTS["go1" if env_id == GO1 else "g1"]
        self.model, self.data, self.before, self.action = model, data, before, action
        self.base, self.torso = data.body(robot.base), data.body(robot.torso)
        self.pose = model.keyframe("init_state").qpos[7:]
        self.sites = [data.site(name) for name in SITES[env_id]]
        names = [mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_GEOM, geom) or "" for geom in range(model.ngeom)]
        soles = {geom for geom, name in enumerate(names) if re.fullmatch(robot.feet, name)}
        feet = [model.site(name).bodyid[0] for name in SITES[env_id]]
        scale = 0.25 * model.actuator_forcerange[:, 1] / model.actuator_gainprm[:, 0]
        data.ctrl[:] = self.pose + scale * action - before["encoder_bias"]
        self.timer = before["foot_timer"].copy()
        for _ in range(4):
            mujoco.mj_step(model, data)  # finds contacts before it moves
            touching = {int(geom) for pair in data.contact.geom if model.geom("terrain").id in pair for geom in pair}
            self.contact = np.isin(feet, [model.geom_bodyid[geom] for geom in touching & soles])
            dt = np.float32(0.005)
            self.timer = np.where(self.contact, np.minimum(self.timer, 0) - dt, np.maximum(self.timer, 0) + dt)

    def sensor(self, name):
        return self.data.sensor(name).data

    def forces(self):
        names = [self.model.sensor(i).name for i in range(self.model.nsensor)]
        return np.array([self.sensor(name) for name in names if name.startswith("feet_")])

    def velocity(self, place, cvel):
        return cvel[3:] - np.cross(cvel[:3], self.data.subtree_com[self.base.id] - place)

    def terms(self):
        """The parts of the reward, without weights."""
        before, data, model = self.before, self.data, self.model
        command, height = before["command"], before["foot_height"]
        mat, angles = self.base.xmat.reshape(3, 3), data.qpos[7:]
        linear, turns = mat.T @ self.velocity(self.base.xpos, self.base.cvel), mat.T @ self.base.cvel[:3]
        speed = np.linalg.norm(command[:2]) + abs(command[2])
        active = speed > 0.05
        moved = [self.velocity(site.xpos, data.cvel[model.site_bodyid[site.id]])[:2] for site in self.sites]
        moved = np.linalg.norm(moved, axis=1)
        std = model.jnt_user[1:, 0 if speed < 0.05 else 1 if speed < 1.5 else 2]
        low, high = model.jnt_range[1:].T
        middle, half = (low + high) / 2, 0.9 * (high - low) / 2
        lands = self.contact & (-self.timer < np.float32(0.020001))
        self.peak = np.where(self.contact, before["peak_height"], np.maximum(before["peak_height"], height))
        hits = np.linalg.norm(self.sensor(f"self_collision_{self.base.name}_force")) > 10
        terms = {
            "track_linear_velocity": np.exp(-(((command[:2] - linear[:2]) ** 2).sum() + linear[2] ** 2) / 0.25),
            "track_angular_velocity": np.exp(-((command[2] - turns[2]) ** 2 + (turns[:2] ** 2).sum()) / 0.5),
            "upright": np.exp(-(self.torso.xmat[6:8] ** 2).sum() / 0.2),
            "pose": np.exp(-(((angles - self.pose) / std) ** 2).mean()),
            "body_ang_vel": (self.torso.cvel[:2] ** 2).sum(),
            "angular_momentum": (self.sensor("root_angmom") ** 2).sum(),
            "dof_pos_limits": np.maximum(np.abs(angles - middle) - half, 0).sum(),
            "action_rate_l2": ((self.action - before["last_action"]) ** 2).sum(),
            "air_time": ((self.timer > np.float32(0.05)) & (self.timer < 0.5)).sum() * (speed > 0.5),
            "foot_clearance": (np.abs(height - 0.1) * moved).sum() * active,
            "foot_swing_height": ((self.peak / 0.1 - 1) ** 2 * lands).sum() * active,
            "foot_slip": (moved**2 * self.contact).sum() * active,
            "soft_landing": (np.linalg.norm(self.forces(), axis=1) * lands).sum() * active,
            "self_collisions": 4.0 * hits,
        }
        self.peak[lands] = 0
        return terms

    def observations(self, after):
        """What is seen where the step has ended, after a push if there was one; without noise, and with the command of
        the next step."""
        forces, data = self.forces().ravel().copy(), self.data
        data.qvel[:6] = after["qvel"][:6]
        mujoco.mj_forward(self.model, data)
        gravity = self.base.xmat.reshape(3, 3).T @ [0, 0, -1]
        angles, more = data.qpos[7:] - self.pose, (data.qvel[6:], self.action, after["command"])
        begin = (self.sensor("imu_lin_vel"), self.sensor("imu_ang_vel"), gravity)
        height = np.clip([site.xpos[2] for site in self.sites], 0, 1)
        own = (height, np.maximum(self.timer, 0), self.contact, np.sign(forces) * np.log1p(np.abs(forces)))
        return {
            "actor": np.concatenate([*begin, angles + self.before["encoder_bias"], *more]),
            "critic": np.concatenate([*begin, angles, *more, *own]),
        }


@pytest.mark.parametrize("env_id", [GO1, G1])
def test_like_the_formulas_in_numpy(env_id):
    lanes, weights = 6, {"body_ang_vel": -0.05, "angular_momentum": -0.02, "air_time": 1.0, "self_collisions": -1.0}
    extra = {f"reward_{name}": weight for name, weight in weights.items()}
    extra |= {"noise_level": 0.0, "push_interval_range": (0.2, 0.4), "command_resampling_time_range": (0.3, 1.0)}
    env = make(lanes, env_id, **extra)
    model = env.get_attr("model")[0]
    env.reset(seed=1)
    largest = dict.fromkeys(WEIGHTS, 0.0)
    size = np.where(np.arange(lanes) % 3 == 0, 6.0, 0.7)[:, None].astype(np.float32)
    for actions in actions_of(lanes, 30, JOINTS[env_id]):
        actions *= size
        before = {name: values.copy() for name, values in env.state.items()}
        datas = env.get_attr("data")
        observations, rewards, ended, _, infos = env.step(actions)
        after = {name: values.copy() for name, values in env.state.items()} | {"qvel": np.stack(env.get_attr("qvel"))}
        for i, data in enumerate(datas):
            lane = Lane(env_id, model, data, {name: values[i] for name, values in before.items()}, actions[i])
            assert ended[i] == (lane.base.xmat[8] < np.cos(np.radians(70)))
            terms, total = lane.terms(), 0.0
            for name, term in terms.items():
                weighted = {**WEIGHTS, **weights}[name] * term
                np.testing.assert_allclose(infos["reward"][name][i], weighted, rtol=1e-6, atol=1e-7, err_msg=name)
                largest[name], total = max(largest[name], abs(term)), total + weighted
            np.testing.assert_allclose(rewards[i], total * 0.02, rtol=1e-6, atol=1e-7)
            np.testing.assert_allclose(env.get_attr("qpos")[i], data.qpos, rtol=0, atol=1e-7)
            assert (after["foot_timer"][i] == lane.timer).all()
            np.testing.assert_allclose(after["peak_height"][i], lane.peak, atol=1e-7)
            seen = lane.observations({name: values[i] for name, values in after.items()})
            for name, expected in seen.items():
                np.testing.assert_allclose(observations[name][i], expected, rtol=1e-5, atol=1e-5, err_msg=name)
        if ended.any():
            env.reset(options={"reset_mask": ended})
    never = {"self_collisions"} if env_id == GO1 else set()
    assert {name for name, value in largest.items() if value == 0} <= never


@pytest.mark.parametrize("env_id", [GO1, G1])
def test_lanes_are_stepped_in_groups(env_id):
    env = make(16, env_id, push_interval_range=(0.05, 0.2), model_seed=1)
    env.reset(seed=0)
    for actions in actions_of(16, 15, JOINTS[env_id], size=0.2):
        env.step(actions)
    told = env.get_attr("physics")[0]
    if "the arithmetic of mujoco" in told:
        pytest.skip(told)
    assert told.startswith("together with others") and "100% of 60 steps" in told


def uniform(values, low, high):
    """Whether numbers are of the uniform distribution."""
    values = np.sort(np.asarray(values, np.float64).ravel())
    assert low - 1e-6 <= values[0] and values[-1] <= high + 1e-6
    assert np.abs((values - low) / (high - low) - np.linspace(0, 1, values.size)).max() < 0.05


def test_starts_commands_and_noise_have_mjlabs_distributions():
    lanes = 2000
    env = make(lanes)
    observations, _ = env.reset(seed=0)
    qpos, state, home = np.stack(env.get_attr("qpos")), env.state, make(1).get_attr("model")[0].key_qpos[0]
    yaw = 2 * np.arctan2(qpos[:, 6], qpos[:, 3])
    uniform(qpos[:, :2], -0.5, 0.5)
    uniform(qpos[:, 2] - home[2], 0.01, 0.05)
    uniform((yaw + np.pi) % (2 * np.pi) - np.pi, -3.14, 3.14)
    assert (qpos[:, 7:] == home[7:]).all() and not np.stack(env.get_attr("qvel")).any()
    uniform(state["encoder_bias"], -0.015, 0.015)
    uniform(state["push_time_left"], 1, 3)
    uniform(state["command_time_left"], 3, 8)
    uniform(state["heading_target"], -np.pi, np.pi)
    stands, turns, command = state["is_standing"].ravel(), state["is_heading"].ravel(), state["command"]
    forward = ~stands & (command[:, 1] == 0)
    assert abs(stands.mean() - 0.1) < 0.02 and abs(turns.mean() - 0.3) < 0.03
    assert abs(forward.sum() / (~stands).sum() - 0.2) < 0.03
    assert not command[stands].any() and command[forward, 0].min() == 0.3 and not command[forward & ~turns, 2].any()
    free = ~stands & ~forward
    uniform(command[free, 0], -1, 1)
    uniform(command[free, 1], -1, 1)
    uniform(command[free & ~turns, 2], -0.5, 0.5)
    noise = observations["actor"] - observations["critic"][:, :48]
    noise[:, 9:21] -= state["encoder_bias"]
    for place, scale in ((slice(0, 3), 0.5), (slice(3, 6), 0.2), (slice(6, 9), 0.05), (slice(9, 21), 0.01)):
        uniform(noise[:, place], -scale, scale)
    uniform(noise[:, 21:33], -1.5, 1.5)
    assert not noise[:, 33:].any()


def test_commands_turn_to_a_heading_and_change_in_time():
    env = make(400, **NO_PUSHES)
    env.reset(seed=0)
    env.set_state({"is_heading": True, "is_standing": False, "heading_target": 1.0, "command_time_left": 9.0})
    env.step(np.zeros((400, 12), np.float32))
    w, x, y, z = np.stack(env.get_attr("qpos"))[:, 3:7].T
    heading = np.arctan2(2 * (x * y + w * z), 1 - 2 * (y * y + z * z))
    error = (1.0 - heading + np.pi) % (2 * np.pi) - np.pi
    np.testing.assert_allclose(env.state["command"][:, 2], np.clip(0.5 * error, -0.5, 0.5), atol=1e-12)
    before = env.state["command"].copy()
    env.set_state({"command_time_left": np.where(np.arange(400) % 2, 0.021, 0.02)})
    env.step(np.zeros((400, 12), np.float32))
    changed = (env.state["command"][:, :2] != before[:, :2]).any(1)
    assert not changed[1::2].any() and changed[::2].mean() > 0.95  # those that stood may be told to stand again
    assert (env.state["command_time_left"][::2] >= 3).all()


def test_pushes_change_velocities_at_once():
    lanes = 600
    envs = [make(lanes, noise_level=0.0, push_enable=on) for on in (True, False)]
    speeds = []
    for env in envs:
        env.reset(seed=0)
        env.set_state({"push_time_left": np.where(np.arange(lanes) < 5, 0.5, 0.02)})
        env.step(np.zeros((lanes, 12), np.float32))
        speeds.append(np.stack(env.get_attr("qvel")))
    change = speeds[0] - speeds[1]
    assert not change[:5].any() and not change[:, 6:].any()
    # mjlab adds to the velocities before the last of MuJoCo's steps, so a little more than the push has changed
    for j, most in enumerate((0.5, 0.5, 0.4, 0.52, 0.52, 0.78)):
        lasting = change[5:, j] - np.median(change[5:, j])
        assert 0.95 * most < np.ptp(lasting) / 2 < most + 0.5 and abs(lasting.std() * np.sqrt(3) - most) < 0.15
    uniform(envs[0].state["push_time_left"][5:], 1, 3)


def test_a_step_begins_with_the_velocities_of_the_push():
    env = make(3, encoder_bias=0.0)
    env.reset(seed=0)
    env.set_state({"push_time_left": 0.02})
    env.step(np.zeros((3, 12), np.float32))
    model, datas, speeds = env.get_attr("model")[0], env.get_attr("data"), np.stack(env.get_attr("qvel"))
    env.step(np.zeros((3, 12), np.float32))
    for data, before, after in zip(datas, speeds, env.get_attr("qvel"), strict=True):
        assert (data.qvel == before).all()
        data.ctrl[:] = model.key_qpos[0][7:]
        mujoco.mj_step(model, data, 4)
        np.testing.assert_allclose(after, data.qvel, atol=1e-6)


def play(env, actions):
    rows = []
    for action in actions:
        observations, rewards, ended, cut, infos = env.step(action)
        rows += [*(observations[name].copy() for name in sorted(observations)), rewards.copy(), ended | cut]
        rows += [np.asarray(infos["reward"]["pose"]).copy()] if "reward" in infos else []
    return [row.tobytes() for row in rows]


@pytest.mark.parametrize("mode, env_id", [("NEXT_STEP", GO1), ("SAME_STEP", G1)])
def test_threads_seeds_snapshots_and_pickles(mode, env_id):
    lanes, actions = 10, actions_of(10, 40, JOINTS[env_id], size=1.5)
    made = {"autoreset_mode": AutoresetMode[mode], "max_episode_steps": 25, "push_interval_range": (0.1, 0.4)}
    made |= {"model_seed": 3, "command_resampling_time_range": (0.1, 0.5)}
    env = make(lanes, env_id, num_threads=1, **made)
    first, _ = env.reset(seed=3)
    begun = play(env, actions[:20])
    snapshot, copied = env.snapshot(), pickle.loads(pickle.dumps(env))
    rest = play(env, actions[20:])
    assert play(copied, actions[20:]) == rest
    env.restore(snapshot)
    assert play(env, actions[20:]) == rest
    other = make(lanes, env_id, num_threads=2, **made)
    again, _ = other.reset(seed=3)
    assert all((again[name] == first[name]).all() for name in first)
    assert play(other, actions) == begun + rest


@pytest.mark.parametrize("env_id", [GO1, G1])
def test_all_instruction_sets_give_the_same_rows(env_id, monkeypatch):
    rows = []
    for isa in _core.supported_isas():
        monkeypatch.setenv("BATCHENV_ISA", isa)
        env = make(7, env_id, push_interval_range=(0.1, 0.4))
        env.reset(seed=2)
        rows.append(play(env, actions_of(7, 12, JOINTS[env_id])))
    assert all(row == rows[0] for row in rows)


def test_an_episode_ends_where_the_robot_falls():
    env = make(4, autoreset_mode=AutoresetMode.NEXT_STEP, **NO_PUSHES)
    env.reset(seed=0)
    forces = np.zeros_like(env.state["xfrc_applied"])
    forces[1, 1, 3] = 60.0  # turns one of them over
    env.set_state({"xfrc_applied": forces})
    ended = [env.step(np.zeros((4, 12), np.float32))[2].tolist() for _ in range(40)]
    assert {tuple(row) for row in ended} == {(False,) * 4, (False, True, False, False)}


def test_one_physics_step_per_step():
    """Timers of feet run as well where MuJoCo takes a single step."""
    env = make(3, frame_skip=1, **NO_PUSHES)
    env.reset(seed=0)
    for _ in range(60):
        before = env.state["foot_timer"].copy()
        contact = env.state["foot_contact"].copy()
        env.step(np.zeros((3, 12), np.float32))
        step = np.float32(0.005)
        expected = np.where(contact, np.minimum(before, 0) - step, np.maximum(before, 0) + step)
        assert (env.state["foot_timer"] == expected).all()


@pytest.mark.parametrize("env_id, ranges", [(GO1, ((0.3, 1.5), (1e-4, 2e-2), (1e-5, 5e-3))), (G1, ((0.3, 1.2),))])
def test_model_seed_draws_friction_and_the_centre_of_mass(env_id, ranges):
    lanes = 12
    models = make(lanes, env_id, model_seed=7).get_attr("model")
    plain = make(2, env_id).get_attr("model")[1]
    feet = [i for i in range(plain.ngeom) if "foot" in (mujoco.mj_id2name(plain, mujoco.mjtObj.mjOBJ_GEOM, i) or "")]
    friction = np.stack([model.geom_friction[feet] for model in models])
    assert (friction == friction[:, :1]).all()
    for axis, (low, high) in enumerate(ranges):
        drawn = friction[:, 0, axis]
        assert low <= drawn.min() < drawn.max() <= high and len(np.unique(drawn)) == lanes
        if axis:
            assert np.median(drawn) < (low + high) / 3  # log-uniform
    moved = np.stack([model.body_ipos for model in models]) - plain.body_ipos
    torso = plain.body("trunk" if env_id == GO1 else "torso_link").id
    assert not np.delete(moved, torso, 1).any()
    assert (np.abs(moved[:, torso]).max(0) <= (0.025, 0.025, 0.03)).all() and (np.ptp(moved[:, torso], 0) > 0.02).all()
    again = make(lanes, env_id, model_seed=7).get_attr("model")
    assert all((one.geom_friction == other.geom_friction).all() for one, other in zip(models, again, strict=True))


def test_spaces_infos_and_limits():
    for env_id, joints, sizes in ((GO1, 12, (48, 72)), (G1, 29, (99, 111))):
        env = make(3, env_id)
        assert env.single_action_space == Box(-np.inf, np.inf, (joints,), np.float32)
        for name, size in zip(("actor", "critic"), sizes, strict=True):
            assert env.single_observation_space[name] == Box(-np.inf, np.inf, (size,), np.float32)
        assert env.spec.max_episode_steps == 1000 and env.get_attr("dt")[0] == 0.02
        _, infos = env.reset(seed=0)
        assert "reward" not in infos
        infos = env.step(np.zeros((3, joints), np.float32))[4]
        assert {name for name in infos["reward"] if not name.startswith("_")} == set(WEIGHTS)
    given = env.get_params()
    expected = {**WEIGHTS, "body_ang_vel": -0.05, "angular_momentum": -0.02, "self_collisions": -1.0}
    assert {name: given[f"reward_{name}"] for name in WEIGHTS} == expected


def package_file(robot="unitree_go1", name="go1.xml"):
    folder = importlib.util.find_spec("mjlab").submodule_search_locations[0]
    return Path(folder, "asset_zoo", "robots", robot, "xmls", name)


def test_a_model_of_ones_own():
    heavier = package_file().read_text().replace('mass="5.204"', 'mass="7.5"')
    spec = mujoco.MjSpec.from_string(heavier.replace('meshdir="assets"', f'meshdir="{package_file().parent}/assets"'))
    env = make(2, xml_file=spec.to_xml())
    env.reset(seed=0)
    assert env.get_attr("model")[0].body("trunk").mass[0] == 7.5


@pytest.mark.parametrize(
    "wrong, message",
    [
        ({"robot": "spot"}, "robot='spot' must be one of 'go1', 'g1'"),
        ({"sim_dt": 0.0}, "sim_dt=0.0 must be from 1e-06 to 1"),
        ({"model_seed": -1}, "model_seed"),
        ({"xml_file": "<mujoco/>"}, "xml_file cannot be used"),
        ({"xml_file": package_file("unitree_g1", "g1.xml")}, "has no joint 'left_hip_pitch_joint'"),
        ({"limit_angle": 4.0}, "limit_angle"),
    ],
)
def test_wrong_keywords(wrong, message):
    with pytest.raises(ValueError, match=message):
        make(2, **wrong)
    with pytest.raises(TypeError, match="xml_file=3 must be"):
        make(2, xml_file=3)


def test_without_the_package(monkeypatch):
    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *rest: None if name == "mjlab" else found(name, *rest)
    )
    with pytest.raises(DependencyNotInstalled, match="pip install --no-deps mjlab"):
        make(2)
