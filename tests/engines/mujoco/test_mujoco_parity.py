"""MuJoCo's lanes equal `gymnasium.make(id)` bit for bit, in observations, rewards, flags, infos and attributes.

BATCHENV_MUJOCO_STEPS sets the steps of every trajectory (1000 is the time limit of most), and BATCHENV_MUJOCO_LANES the
number of lanes; the defaults are short and few.
"""

import inspect
import os

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import SyncVectorEnv

import batchenv
from batchenv.envs import translator
from helpers.begun import begun
from helpers.mujoco import TASKS, mujoco, swing
from helpers.parity import MODES, Case, choose, follow, make_gymnasium

pytestmark = pytest.mark.filterwarnings("ignore:.*out of date:DeprecationWarning")

LANES = int(os.environ.get("BATCHENV_MUJOCO_LANES", "3"))
STEPS = int(os.environ.get("BATCHENV_MUJOCO_STEPS", "70"))
IDS = [f"{task}-{version}" for task in TASKS for version in ("v5", "v4")]
ANY = np.inf


@pytest.mark.cases(1, per="env_id")
@pytest.mark.parametrize("mode", MODES, ids=[mode.value for mode in MODES])
@pytest.mark.parametrize("env_id", IDS)
def test_trajectories(env_id, mode):
    limit = {} if STEPS > 1000 else {"max_episode_steps": 40}  # so that all lanes are truncated at once, too
    case = Case(env_id, both=limit)
    assert follow(case, *case.pair(LANES, mode), STEPS)[0]


@pytest.mark.cases(1, per="task")
@pytest.mark.parametrize("mode", MODES, ids=[mode.value for mode in MODES])
@pytest.mark.parametrize("task", [task for task in TASKS if "Inverted" not in task])
def test_gaits(task, mode):
    """With steps, falls and long contacts, which random actions seldom have."""

    def gait(env, step):
        space = env.single_action_space
        return swing(space.low, space.high, env.num_envs, step)

    case = Case(f"{task}-v5", both={"max_episode_steps": 300}, policy=gait)
    follow(case, *case.pair(LANES, mode), STEPS)


def of(env_id, **both):
    """A case with these keywords for both."""
    return Case(env_id, both=both)


CASES = [
    of("Ant-v5", forward_reward_weight=1.3, ctrl_cost_weight=0.37, contact_cost_weight=0.011),
    of("Ant-v5", healthy_reward=0.7, healthy_z_range=(0.45, 0.9), contact_force_range=(-0.3, 0.6)),
    of("Ant-v5", include_cfrc_ext_in_observation=False, exclude_current_positions_from_observation=False),
    of("Ant-v5", main_body="aux_1", frame_skip=3, reset_noise_scale=0.3, terminate_when_unhealthy=False),
    of("Ant-v4", use_contact_forces=True),
    of("Ant-v4", exclude_current_positions_from_observation=False, terminate_when_unhealthy=False),
    of("HalfCheetah-v5", forward_reward_weight=0.9, ctrl_cost_weight=0.31, reset_noise_scale=0.0),
    of("HalfCheetah-v5", exclude_current_positions_from_observation=False, frame_skip=2),
    of("HalfCheetah-v5", xml_file="walker2d.xml"),
    of("Hopper-v5", healthy_state_range=(-2.0, 2.0), healthy_angle_range=(-ANY, 0.3)),
    of("Hopper-v5", healthy_z_range=(1.0, ANY), terminate_when_unhealthy=False, healthy_reward=-2.0),
    of("Hopper-v4", healthy_z_range=(1.0, 1.3), terminate_when_unhealthy=False),
    of("Humanoid-v5", contact_cost_weight=1e-3, contact_cost_range=(0.5, 3.0), healthy_z_range=(1.2, 1.6)),
    of(
        "Humanoid-v5",
        include_cinert_in_observation=False,
        include_cvel_in_observation=False,
        include_qfrc_actuator_in_observation=False,
        include_cfrc_ext_in_observation=False,
        exclude_current_positions_from_observation=False,
    ),
    of("Humanoid-v5", include_cvel_in_observation=False, frame_skip=1),
    of("Humanoid-v4", exclude_current_positions_from_observation=False, terminate_when_unhealthy=False),
    of("HumanoidStandup-v5", impact_cost_weight=0.01, impact_cost_range=(0.1, 4.0), ctrl_cost_weight=0.3),
    of("HumanoidStandup-v5", include_cinert_in_observation=False, uph_cost_weight=3.0, frame_skip=2),
    of("InvertedDoublePendulum-v5", healthy_reward=3.3, reset_noise_scale=0.25, frame_skip=2),
    of("InvertedPendulum-v5", reset_noise_scale=0.1, frame_skip=7),
    of("Pusher-v5", reward_near_weight=0.3, reward_dist_weight=0.9, reward_control_weight=0.7),
    of("Reacher-v5", reward_dist_weight=0.3, reward_control_weight=1.1, frame_skip=5),
    of("Swimmer-v5", forward_reward_weight=2.0, ctrl_cost_weight=0.02, frame_skip=3),
    of("Swimmer-v4", exclude_current_positions_from_observation=False, reset_noise_scale=0.4),
    of("Walker2d-v5", healthy_angle_range=(-0.2, 0.2), healthy_z_range=(1.0, 1.4), ctrl_cost_weight=0.1),
    of("Walker2d-v4", exclude_current_positions_from_observation=False, terminate_when_unhealthy=False),
]


@pytest.mark.cases(13)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.env_id)
def test_keywords(case):
    follow(case, *case.pair(LANES), STEPS)


@pytest.mark.parametrize("task", TASKS)
def test_models_of_their_own(task):
    """Each lane has a body, joints, a ground and a gravity of its own."""
    env_id, rng = f"{task}-v5", np.random.default_rng(3)
    ours = batchenv.make(env_id, LANES)
    model = ours.get_attr("model")[0]
    masses = model.body_mass * rng.uniform(0.7, 1.3, (LANES, 1))
    damping = model.dof_damping * rng.uniform(0.5, 2, (LANES, 1))
    friction = model.geom_friction * rng.uniform(0.3, 2, (LANES, 1, 1))
    gravity = model.opt.gravity * rng.uniform(0.8, 1.2, (LANES, 1)) + [0, 0.3, 0]
    ours.set_params(body_mass=masses, dof_damping=damping, geom_friction=friction, gravity=gravity)

    def changed(lane):
        env = make_gymnasium(env_id)
        model = env.unwrapped.model
        model.body_mass[:], model.dof_damping[:] = masses[lane], damping[lane]
        model.geom_friction[:], model.opt.gravity[:] = friction[lane], gravity[lane]
        mujoco.mj_setConst(model, mujoco.MjData(model))
        return env

    theirs = SyncVectorEnv([lambda lane=lane: changed(lane) for lane in range(LANES)])
    follow(Case(env_id), ours, theirs, STEPS)


@pytest.mark.parametrize("env_id", ["HalfCheetah-v5", "Humanoid-v5", "InvertedPendulum-v4"])
def test_actions_beyond_the_bounds(env_id):
    case = Case(env_id, ours={"clip_actions": True}, beyond=2.5)
    follow(case, *case.pair(LANES), 20)
    strict = begun(batchenv.make(env_id, LANES), seed=1)
    with pytest.raises(ValueError, match="lane 0"):
        strict.step(strict.action_space.high * 1.5)


def test_every_keyword_of_gymnasium_is_taken():
    from gymnasium.envs.registration import load_env_creator

    for env_id in IDS:
        taken = inspect.signature(load_env_creator(gymnasium.registry[env_id].entry_point).__init__).parameters
        entry = batchenv.registry.TABLE[env_id]
        names = {row[0] for row in translator(entry.type_name).KEYWORDS}
        names |= {row["name"] for row in batchenv._core.type_info(entry.type_name)["params"]}
        assert set(taken) - {"self", "kwargs"} <= names, env_id


def test_lanes_may_differ_in_weights():
    weights = [0.0, 1.0, 2.5]
    env = begun(batchenv.make("HalfCheetah-v5", 3, forward_reward_weight=np.array(weights)), seed=[4, 4, 4])
    info = env.step(np.full((3, 6), 0.5, np.float32))[4]
    np.testing.assert_array_equal(info["reward_forward"], info["x_velocity"] * weights)


@pytest.mark.parametrize("env_id", ["Hopper-v5", "Humanoid-v5"])
def test_transforms(env_id):
    """Repeated actions, statistics and dtype, against a loop of single steps."""
    options = {"action_repeat": 3, "record_episode_statistics": True, "observation_dtype": "float32"}
    ours = begun(batchenv.make(env_id, 3, autoreset_mode="Disabled", **options), seed=6)
    plain = begun(batchenv.make(env_id, 3, autoreset_mode="Disabled"), seed=6)
    rng = np.random.default_rng(6)
    for _ in range(2):
        actions = choose(ours, rng)
        total = np.zeros(3)
        for _ in range(3):
            observation, reward, terminations, *_ = plain.step(actions)
            total += reward
            assert not terminations.any()
        result = ours.step(actions)
        np.testing.assert_array_equal(result[0], observation.astype(np.float32))
        np.testing.assert_array_equal(result[1], total)


def test_attributes():
    ours, theirs = (begun(env, seed=2) for env in Case("Hopper-v5", both={"frame_skip": 3}).pair(LANES))
    actions = ours.action_space.high
    for _ in range(7):
        ours.step(actions), theirs.step(actions)
    for a, b in zip(ours.get_attr("data"), theirs.get_attr("data"), strict=True):
        for name in ("qpos", "qvel", "qacc", "xpos", "geom_xpos", "cfrc_ext", "ctrl", "qfrc_constraint", "cinert"):
            np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
    assert ours.get_attr("dt") == theirs.get_attr("dt")
    for name in ("init_qpos", "init_qvel"):
        np.testing.assert_array_equal(ours.get_attr(name), theirs.get_attr(name))
    assert ours.get_attr("model")[0].nq == 6
    assert ours.get_attr("time")[0] == ours.get_attr("data")[0].time
