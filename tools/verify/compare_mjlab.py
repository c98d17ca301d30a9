"""Compares the velocity tasks of Go1 and G1 with mjlab's own env, step by step: observations without noise, reward
terms, rewards, ends, commands, and velocities after pushes.

    python tools/verify/compare_mjlab.py [--lanes 64] [--steps 80] [--seed 0]

mjlab's ManagerBasedRlEnv runs as it is, with all its managers, in PyTorch on a CPU; only MuJoCo Warp is replaced: by
MuJoCo itself, with the model that mjlab builds. Before each step it gets the lanes' positions, velocities, commands and
biases of encoders. So it needs `pip install --no-deps mjlab` and `pip install mujoco torch`, but no GPU. Exit status 1:
something differs by more than float32's rounding.
"""

import argparse
import importlib.abc
import importlib.machinery
import sys
from types import SimpleNamespace
from unittest import mock

import mujoco
import numpy as np
import torch
from gymnasium.vector import AutoresetMode

import batchenv

RTOL, ATOL = 2e-5, 2e-5
# What mjlab imports, and what is not needed here.
UNUSED = (
    *("imageio_ffmpeg", "mediapy", "mjviser", "moviepy", "mujoco_warp", "onnxscript", "prettytable", "rsl_rl", "scipy"),
    *("tensordict", "torchrunx", "torchvision", "tqdm", "trimesh", "tyro", "viser", "wandb", "warp"),
    *("mjlab.rl", "mjlab.tasks.velocity.rl", "mjlab.viewer"),
)


class Unused(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports these modules as mocks, which have any name."""

    def find_spec(self, name, path=None, target=None):
        if any(f"{name}.".startswith(f"{unused}.") for unused in UNUSED):
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        module = mock.MagicMock(__path__=[], __spec__=spec)
        module.PrettyTable.return_value.get_string.return_value = ""
        return module

    def exec_module(self, module):
        pass


sys.meta_path.insert(0, Unused())

from mjlab.envs import manager_based_rl_env  # noqa: E402
from mjlab.sensor import TerrainHeightSensor  # noqa: E402
from mjlab.sensor.raycast_sensor import RayCastData, RayCastSensor  # noqa: E402
from mjlab.tasks.velocity.config.g1.env_cfgs import unitree_g1_flat_env_cfg  # noqa: E402
from mjlab.tasks.velocity.config.go1.env_cfgs import unitree_go1_flat_env_cfg  # noqa: E402

TASKS = {
    "Mjlab-Velocity-Flat-Unitree-Go1-v0": unitree_go1_flat_env_cfg,
    "Mjlab-Velocity-Flat-Unitree-G1-v0": unitree_g1_flat_env_cfg,
}
WEIGHTS = {"body_ang_vel": -0.05, "angular_momentum": -0.02, "air_time": 1.0}  # otherwise 0 for one robot or both
ARRAYS = ("qpos", "qvel", "ctrl", "xpos", "xquat", "xmat", "xipos", "cvel", "subtree_com", "sensordata", "site_xpos",
          "site_xmat", "actuator_force", "qacc", "xfrc_applied")  # fmt: skip


class Simulation:
    """In place of mjlab's: MuJoCo on a CPU. mjlab reads and writes tensors, which are copied to and from mjData."""

    def __init__(self, num_envs, cfg, spec, variant_info, device):
        self.device, self.sensors = device, []
        self.mj_model = model = spec.compile()
        cfg.mujoco.apply(model)
        self.datas = [mujoco.MjData(model) for _ in range(num_envs)]
        self.model = SimpleNamespace(
            jnt_range=torch.tensor(model.jnt_range, dtype=torch.float32).repeat(num_envs, 1, 1),
            site_bodyid=torch.tensor(model.site_bodyid),
            geom_bodyid=torch.tensor(model.geom_bodyid),
        )
        shapes = {name: getattr(self.datas[0], name).shape for name in ARRAYS}
        shapes |= {"xmat": (model.nbody, 3, 3), "site_xmat": (model.nsite, 3, 3)}
        tensors = {name: torch.zeros(num_envs, *shape) for name, shape in shapes.items()}
        self.data = SimpleNamespace(nworld=num_envs, time=torch.zeros(num_envs), **tensors)

    def expand_model_fields(self, fields):
        assert not fields, fields

    def create_graph(self):
        pass

    def put(self):
        """Copies what mjlab may have written, where float32 tells it from what was there."""
        for lane, data in enumerate(self.datas):
            for name in ("qpos", "qvel", "ctrl"):
                mine, theirs = getattr(data, name), getattr(self.data, name)[lane].numpy()
                written = mine.astype(np.float32) != theirs
                mine[written] = theirs[written]

    def get(self):
        for name in ARRAYS:
            tensor = getattr(self.data, name)
            values = np.stack([getattr(data, name) for data in self.datas]).astype(np.float32)
            tensor[:] = torch.from_numpy(values.reshape(tensor.shape))

    def step(self):
        self.put()
        for data in self.datas:
            mujoco.mj_step(self.mj_model, data)
        self.get()

    def forward(self):
        self.put()
        for data in self.datas:
            warmstart = data.qacc_warmstart.copy()
            mujoco.mj_forward(self.mj_model, data)
            data.qacc_warmstart[:] = warmstart
        self.get()

    def reset(self, env_ids):
        for lane in env_ids.tolist():
            mujoco.mj_resetData(self.mj_model, self.datas[lane])
        self.get()

    def sense(self):
        for sensor in self.sensors:
            cast(sensor, self)


def begin_rays(sensor, mj_model, model, data, device):
    sensor.sites = [mj_model.site(frame.prefixed_name()).id for frame in sensor.cfg.frame]
    sensor._local_offsets = sensor.cfg.pattern.generate_rays(None, device)[0]
    sensor._num_frames, sensor._num_rays_per_frame = frames, rays = len(sensor.sites), len(sensor._local_offsets)
    nothing, places = torch.zeros(data.nworld, frames * rays, 3), torch.zeros(data.nworld, frames, 3)
    sensor.cast = RayCastData(nothing[..., 0], nothing, nothing, places[:, 0], None, places, None)


def cast(sensor, sim):
    """What mjlab's sensor of heights above the terrain computes, by MuJoCo's rays."""
    groups = np.array([group in sensor.cfg.include_geom_groups for group in range(6)], np.uint8)
    model, rows, found = sim.mj_model, [], np.zeros(1, np.int32)
    for data in sim.datas:
        for site in sensor.sites:
            mat = torch.tensor(data.site_xmat[site].reshape(1, 3, 3))
            turned = sensor._compute_alignment_rotation(mat)[0].double().numpy()
            for offset in sensor._local_offsets.double().numpy():
                start, down, normal = data.site_xpos[site] + turned @ offset, turned @ [0, 0, -1.0], np.zeros(3)
                body = int(model.site_bodyid[site])
                far = mujoco.mj_ray(model, data, start, down, groups, 1, body, found, normal)
                far = far if far <= sensor.cfg.max_distance else -1
                rows.append([far, *(start + down * max(far, 0)), *(normal if far >= 0 else np.zeros(3))])
    rays = torch.tensor(np.array(rows), dtype=torch.float32).reshape(len(sim.datas), -1, 7)
    places = sim.data.site_xpos[:, sensor.sites].clone()
    sensor.cast = RayCastData(rays[..., 0], rays[..., 4:], rays[..., 1:4], places[:, 0], None, places, None)
    sensor._invalidate_cache()


def reference(make_cfg, lanes):
    """mjlab's env."""
    cfg = make_cfg()
    cfg.scene.num_envs, cfg.auto_reset, cfg.seed = lanes, False, 0
    cfg.observations["actor"].enable_corruption = False
    for name in ("foot_friction", "foot_friction_slide", "foot_friction_spin", "foot_friction_roll", "base_com"):
        cfg.events.pop(name, None)
    cfg.events["push_robot"].params["velocity_range"] = {}  # mjlab then takes a velocity back by a step of MuJoCo
    cfg.curriculum = {}
    for name, weight in WEIGHTS.items():
        cfg.rewards[name].weight = weight
    manager_based_rl_env.print_info = lambda text: None
    with (
        mock.patch.multiple(TerrainHeightSensor, requires_sensor_context=False, initialize=begin_rays),
        mock.patch("mjlab.envs.manager_based_rl_env.Simulation", Simulation),
    ):
        env = manager_based_rl_env.ManagerBasedRlEnv(cfg, "cpu")
    env.sim.sensors = [one for one in env.scene.sensors.values() if isinstance(one, TerrainHeightSensor)]
    return env


def put_commands(term, state):
    """Gives mjlab the lanes' commands, which do not change in its next step but for headings."""
    term.vel_command_b[:] = torch.tensor(state["command"], dtype=torch.float32)
    term.heading_target[:] = torch.tensor(state["heading_target"].ravel(), dtype=torch.float32)
    term.is_heading_env[:] = torch.tensor(state["is_heading"].ravel())
    term.is_standing_env[:] = torch.tensor(state["is_standing"].ravel())
    term.time_left[:] = 1e9


def put_positions(env, qpos, qvel, lanes):
    for lane in lanes:
        data = env.sim.datas[lane]
        data.qpos[:], data.qvel[:] = qpos[lane], qvel[lane]
    env.sim.get()


def swung(rng, number, rhythm, joints):
    """Actions: a third of the lanes do anything, a third move their joints to and fro, a third stand and sway."""
    lanes = len(rhythm)
    kind = np.arange(lanes)[:, None] % 3
    swing = 0.8 * np.sin(2 * np.pi * rhythm * number + np.arange(joints) * 2.1)
    random = rng.normal(0, 1, (lanes, joints))
    return np.select([kind == 0, kind == 1], [2 * random, swing], 0.1 * random).astype(np.float32)


class Comparison:
    """The largest differences, and the largest values, {what: number}."""

    def __init__(self, env_id):
        self.env_id, self.worst, self.largest = env_id, {}, {}

    def same(self, what, ours, theirs, where=slice(None), atol=ATOL):
        ours, theirs = np.asarray(ours, np.float64)[where], np.asarray(theirs, np.float64)[where]
        self.worst[what] = max(self.worst.get(what, 0.0), float(np.abs(ours - theirs).max(initial=0)))
        self.largest[what] = max(self.largest.get(what, 0.0), float(np.abs(theirs).max(initial=0)))
        np.testing.assert_allclose(ours, theirs, rtol=RTOL, atol=atol, err_msg=f"{self.env_id}, {what}")

    def models(self, ours, theirs):
        """What MuJoCo computes with: options, bodies, joints, geoms that collide, servos, the start."""
        options = ("timestep", "integrator", "cone", "impratio", "solver", "iterations", "ls_iterations", "tolerance",
                   "ls_tolerance", "ccd_iterations", "enableflags")  # fmt: skip
        for name in options:
            assert getattr(ours.opt, name) == getattr(theirs.opt, name), name
        parts = {
            "joint": ("range", "axis", "pos", "solref", "solimp", "stiffness"),
            "dof": ("armature", "damping", "frictionloss"),
            "body": ("mass", "inertia", "ipos", "iquat", "pos", "quat", "gravcomp"),
            "geom": ("size", "pos", "quat", "friction", "solref", "solimp", "condim", "priority", "margin", "gap",
                     "solmix", "contype", "conaffinity"),
            "actuator": ("gainprm", "biasprm", "forcerange", "gear", "ctrllimited"),
        }  # fmt: skip
        kinds = {"joint": mujoco.mjtObj.mjOBJ_JOINT, "body": mujoco.mjtObj.mjOBJ_BODY, "geom": mujoco.mjtObj.mjOBJ_GEOM,
                 "actuator": mujoco.mjtObj.mjOBJ_ACTUATOR}  # fmt: skip
        counts = {"joint": ours.njnt, "body": ours.nbody, "geom": ours.ngeom, "actuator": ours.nu}
        for kind, count in counts.items():
            for i in range(count):
                name = mujoco.mj_id2name(ours, kinds[kind], i)
                if name == "world":
                    continue
                other = name if name == "terrain" else f"robot/{name}"
                k = mujoco.mj_name2id(theirs, kinds[kind], other)
                assert k >= 0, f"{kind} {other}"
                if kind == "joint":
                    a, b = ours.jnt_dofadr[i], theirs.jnt_dofadr[k]
                    for field in parts["dof"]:
                        assert getattr(ours, f"dof_{field}")[a] == getattr(theirs, f"dof_{field}")[b], (name, field)
                for field in parts[kind]:
                    array = f"{'jnt' if kind == 'joint' else kind}_{field}"
                    assert np.array_equal(getattr(ours, array)[i], getattr(theirs, array)[k]), (name, field)
        np.testing.assert_allclose(ours.key("init_state").qpos, theirs.key("init_state").qpos)
        assert np.count_nonzero(theirs.geom_contype) == np.count_nonzero(ours.geom_contype)


def observed(same, env, theirs, ours, kept, state):
    """Compares observations."""
    joints, feet = env.action_manager.action.shape[1], len(state["foot_height"][0])
    own, critic = ours["critic"], theirs["critic"].numpy()
    command = slice(9 + 3 * joints, 12 + 3 * joints)
    same("command", state["command"], env.command_manager.get_command("twist"), kept)
    for name in ("actor", "critic"):
        same(name, ours[name][:, : command.start], theirs[name].numpy()[:, : command.start])
        same(f"{name}, command", ours[name][:, command], theirs[name].numpy()[:, command], kept)
    for k, name in enumerate(("foot_height", "foot_air_time", "foot_contact")):
        place = slice(command.stop + k * feet, command.stop + (k + 1) * feet)
        same(name, own[:, place], critic[:, place])
    same("foot_contact_forces", own[:, command.stop + 3 * feet :], critic[:, command.stop + 3 * feet :], atol=1e-3)


def compare(env_id, lanes, steps, seed):
    """Returns the largest differences, {what: number}, and how many lanes ended, were pushed, got other commands."""
    which, counts = np.arange(lanes), dict.fromkeys(("ended", "pushed", "commanded", "self_collisions differ"), 0)
    weights = {f"reward_{name}": weight for name, weight in WEIGHTS.items()}
    many = {f"push_{name}": 0.0 for name in ("x", "y", "z", "roll", "pitch", "yaw")}
    many |= {"action_scale": np.where(which % 4, 0.25, 0.75), "command_lin_vel_x_max": np.where(which % 5, 1.0, 3.0)}
    many |= {"noise_level": 0.0, "push_interval_range": (0.1, 0.4), "command_resampling_time_range": (0.2, 1.0)}
    ours = batchenv.make(env_id, lanes, autoreset_mode=AutoresetMode.DISABLED, **many, **weights)
    theirs = reference(TASKS[env_id], lanes)
    comparison = Comparison(env_id)
    same = comparison.same
    comparison.models(ours.get_attr("model")[0], theirs.sim.mj_model)
    joints = ours.single_action_space.shape[0]
    term, robot = theirs.command_manager.get_term("twist"), theirs.scene["robot"]
    action = theirs.action_manager.get_term("joint_pos")
    action._scale = action._scale * torch.tensor(np.where(which % 4, 1.0, 3.0), dtype=torch.float32)[:, None]
    swing = theirs.reward_manager.get_term_cfg("foot_swing_height").func

    def begin(chosen):
        """Resets lanes of both."""
        observations, _ = ours.reset(seed=seed) if chosen.all() else ours.reset(options={"reset_mask": chosen})
        indices = np.flatnonzero(chosen)
        theirs.reset(env_ids=torch.tensor(indices))
        swing.peak_heights[chosen] = 0  # mjlab keeps them over the ends of episodes
        state = ours.state
        robot.data.encoder_bias[:] = torch.tensor(state["encoder_bias"], dtype=torch.float32)
        put_positions(theirs, ours.get_attr("qpos"), ours.get_attr("qvel"), indices)
        put_commands(term, state)
        theirs.sim.forward()
        theirs.sim.sense()
        for sensor in theirs.scene.sensors.values():
            sensor._invalidate_cache()
        theirs.obs_buf = theirs.observation_manager.compute(update_history=True)
        for name in ("actor", "critic"):
            same(f"{name} at the start", observations[name], theirs.obs_buf[name].numpy(), chosen, atol=1e-3)

    begin(np.ones(lanes, bool))
    rng = np.random.default_rng(seed)
    rhythm = rng.uniform(0.02, 0.08, (lanes, 1))
    for number in range(steps):
        before = {name: values.copy() for name, values in ours.state.items()}
        put_positions(theirs, ours.get_attr("qpos"), ours.get_attr("qvel"), range(lanes))
        put_commands(term, before)
        actions = swung(rng, number, rhythm, joints)
        observations, rewards, ended, _, infos = ours.step(actions)
        after = ours.state
        pushed = (after["push_time_left"] > before["push_time_left"]).ravel()
        kept = (after["command_time_left"] < before["command_time_left"]).ravel()
        theirs.event_manager._interval_term_time_left[0][:] = torch.tensor(np.where(pushed, 0.0, 1e9))
        obs, reward, fell, _, _ = theirs.step(torch.tensor(actions))
        observed(same, theirs, obs, observations, kept, after)
        same("qpos", np.stack(ours.get_attr("qpos")), np.stack([data.qpos for data in theirs.sim.datas]))
        same("qvel", np.stack(ours.get_attr("qvel")), np.stack([data.qvel for data in theirs.sim.datas]), atol=1e-4)
        total, terms = np.array(reward, np.float64), theirs.reward_manager.active_terms
        for k, name in enumerate(terms):
            values, step_reward = infos["reward"][name], np.array(theirs.reward_manager._step_reward[:, k], np.float64)
            if name == "self_collisions":
                history = theirs.scene["self_collision"].data.force_history[:, :, 0]
                last = -4.0 * np.array((history.norm(dim=-1) > 10).any(1))
                counts["self_collisions differ"] += int((last != step_reward).sum())
                total += (last - step_reward) * theirs.step_dt
                step_reward = last
            same(f"reward/{name}", values, step_reward)
        assert set(terms) <= {name for name in infos["reward"] if not name.startswith("_")}
        same("reward", rewards, total)
        same("terminated", ended, fell)
        timer = theirs.scene["feet_ground_contact"].data
        same("timers", after["foot_timer"], np.array(timer.current_air_time - timer.current_contact_time))
        same("peak heights", after["peak_height"], swing.peak_heights)
        counts["ended"] += int(ended.sum())
        counts["pushed"] += int(pushed.sum())
        counts["commanded"] += int((~kept).sum())
        if ended.any():
            begin(ended)
    never = [what for what, value in comparison.largest.items() if value == 0]
    assert not never, f"{env_id}: was 0 in all states: {', '.join(never)}"
    return comparison.worst, counts


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, value in (("lanes", 64), ("steps", 80), ("seed", 0)):
        parser.add_argument(f"--{name}", type=int, default=value)
    given = parser.parse_args()
    for env_id in TASKS:
        worst, counts = compare(env_id, given.lanes, given.steps, given.seed)
        print(f"{env_id}: {given.lanes * given.steps} states ({counts}); largest differences:")
        print("  " + ", ".join(f"{what} {difference:.1e}" for what, difference in worst.items()))


if __name__ == "__main__":
    RayCastSensor._compute_data = lambda sensor: sensor.cast
    torch.set_num_threads(1)
    try:
        main()
    except AssertionError as problem:
        sys.exit(f"differs: {problem}")
