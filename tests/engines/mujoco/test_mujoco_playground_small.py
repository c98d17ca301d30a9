"""MuJoCo Playground's tasks of small humanoids: against the same formulas in NumPy over MuJoCo's bindings.
(tools/verify/compare_playground.py compares with Playground's own functions, in JAX.)"""

import pickle

import numpy as np
import pytest
from gymnasium.spaces import Box
from gymnasium.vector import AutoresetMode

from helpers.mujoco import mujoco
from helpers.playground import make_robots, play, random_actions, uniform

OP3 = "Op3Joystick-v0"
JOINTS = {OP3: 20}
WEIGHTS = {
    OP3: {
        "tracking_lin_vel": 1.5, "tracking_ang_vel": 0.8, "lin_vel_z": -2.0, "ang_vel_xy": -0.05, "orientation": -5.0,
        "torques": -0.0002, "action_rate": -0.01, "zero_cmd": -0.5, "termination": -1.0, "feet_slip": -0.1,
        "feet_clearance": 0.0, "energy": -0.0001,
    },
}  # fmt: skip
WITHOUT_NOISE = {OP3: {"obs_noise": 0.0}}
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
        self.last, self.earlier = before["last_act"].astype(float), before["last_last_act"].astype(float)
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


LANES = {OP3: Op3Lane}


def disturb(env, number, joints):
    """Some robots are turned over, and others get a joint beyond its limits."""
    forces, torques = np.zeros_like(env.state["xfrc_applied"]), np.zeros_like(env.state["qfrc_applied"])
    which = np.arange(len(forces)) + number // 15
    forces[which % 4 == 1, 1, 3:5] = 10.0 * env.get_attr("model")[0].body_subtreemass[1]
    torques[which % 6 == 2, 6 + number // 15 % joints] = 200.0
    env.set_state({"xfrc_applied": forces, "qfrc_applied": torques})


@pytest.mark.parametrize("env_id", LANES)
def test_like_the_formulas_in_numpy(env_id):
    lanes, joints = 12, JOINTS[env_id]
    which = np.arange(lanes)
    weights = {name: weight or 0.3 for name, weight in WEIGHTS[env_id].items()}
    keywords = {f"reward_{name}": weight for name, weight in weights.items()} | WITHOUT_NOISE[env_id]
    env = make_robots(
        env_id, lanes, early_termination=which % 3 > 0, **keywords, **commands(np.where(which % 4, 1.0, 0.0))
    )
    env.reset(seed=1)
    env.set_state({"step": np.where(which % 2, 0, 480)})
    model, largest, reasons = env.get_attr("model")[0], dict.fromkeys(weights, 0.0), set()
    size = np.where(which % 2, 1, 0.2).astype(np.float32)[:, None]
    for number, actions in enumerate(random_actions(lanes, 40, joints) * size):
        disturb(env, number, joints)
        before = {name: values.copy() for name, values in env.state.items()}
        observations, rewards, ended, _, infos = env.step(actions)
        told = [
            LANES[env_id](model, data, {name: values[i] for name, values in before.items()}, actions[i], i % 3 > 0)
            for i, data in enumerate(env.get_attr("data"))
        ]
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
        assert (env.state["last_last_act"] == before["last_act"]).all()
        step = np.where(before["step"] == 500, 0, before["step"] + 1)
        assert (env.state["step"] == step).all()
        if ended.any():
            env.reset(options={"reset_mask": ended})
    assert min(largest.values()) > 0, largest
    assert reasons == {(False, False), (True, False), (True, True)}


@pytest.mark.parametrize("env_id", LANES)
def test_lanes_are_stepped_in_groups(env_id):
    env = make_robots(env_id, 16)
    env.reset(seed=0)
    for actions in random_actions(16, 20, JOINTS[env_id], size=0.2):
        env.step(actions)
    told = env.get_attr("physics")[0]
    if "the arithmetic of mujoco" in told:
        pytest.skip(told)
    assert told.startswith("together with others") and "100% of 100 steps" in told


@pytest.mark.parametrize("env_id", LANES)
@pytest.mark.parametrize("mode", ["NEXT_STEP", "SAME_STEP"])
def test_threads_seeds_snapshots_and_pickles(mode, env_id):
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
    other = make_robots(env_id, lanes, num_threads=2, **made)
    again, _ = other.reset(seed=3)
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
    same_physics(env, random_actions(9, 6, 20), model.keyframe("stand_bent_knees").qpos[7:], 8.0)


def same_physics(env, all_actions, centre, scale):
    """A lane's positions and velocities are mj_step's, bit for bit. centre: what actions of 0 stand for."""
    model, steps = env.get_attr("model")[0], env.get_params()["frame_skip"]
    datas = [mujoco.MjData(model) for _ in range(env.num_envs)]
    for data, qpos, qvel in zip(datas, env.get_attr("qpos"), env.get_attr("qvel"), strict=True):
        data.qpos[:], data.qvel[:] = qpos, qvel
        mujoco.mj_forward(model, data)
    for actions in all_actions:
        env.step(actions)
        for i, (qpos, qvel) in enumerate(zip(env.get_attr("qpos"), env.get_attr("qvel"), strict=True)):
            datas[i].ctrl[:] = np.clip(centre + actions[i].astype(float) * scale, *model.actuator_ctrlrange.T)
            mujoco.mj_step(model, datas[i], steps)
            assert (qpos.tobytes(), qvel.tobytes()) == (datas[i].qpos.tobytes(), datas[i].qvel.tobytes())


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
    "env_id, keywords, error, words",
    [
        (OP3, {"task": "rough_terrain"}, ValueError, "task='rough_terrain' must be one of 'flat_terrain'"),
        (OP3, {"obs_noise": -1}, ValueError, "obs_noise"),
        (OP3, {"obs_history_size": 0}, ValueError, "obs_history_size"),
        (OP3, {"command_lin_vel_x_range": (1,)}, ValueError, "must be two numbers"),
        (OP3, {"pert_enable": True}, TypeError, "pert_enable"),
    ],
)
def test_bad_keywords(env_id, keywords, error, words):
    with pytest.raises(error, match=words):
        make_robots(env_id, 2, **keywords)
