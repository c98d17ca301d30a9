"""Hands against gymnasium-robotics itself, over the same MuJoCo: every bit of observations, rewards, flags, infos,
random streams, models, data and pictures. (tools/verify/compare_robotics.py compares for longer.)"""

import os
import pickle

import numpy as np
import pytest

import batchenv
from batchenv.envs.mujoco import rotations
from batchenv.envs.mujoco.goals import asset
from helpers.begun import begun
from helpers.mujoco import assert_alone_as_among_others, assert_models_same, assert_pictures_same, mujoco
from helpers.parity import MODES, assert_same, assert_streams_same, follow, play
from helpers.robotics import (
    HANDS,
    assert_survives_absurd_forces,
    extremes,
    grasping,
    make_robotics,
    of,
    specs,
    with_rotations_kept,
)

pytest.importorskip("gymnasium_robotics", reason="pip install 'batchenv[robotics]'")
pytestmark = pytest.mark.filterwarnings("ignore:.*out of date:DeprecationWarning")

REACH, BLOCK, PEN = "HandReach-v3", "HandManipulateBlock-v1", "HandManipulatePen-v1"
PARALLEL, EGG = "HandManipulateBlockRotateParallel-v1", "HandManipulateEggRotate-v1"
TOUCH, FELT = "HandManipulateEgg_ContinuousTouchSensors-v1", "HandManipulatePenRotate_BooleanTouchSensorsDense-v1"
TASKS = [REACH, BLOCK, PARALLEL, EGG, PEN, TOUCH, FELT]


@pytest.mark.cases(4, per="mode")
@pytest.mark.parametrize("env_id", HANDS)
@pytest.mark.parametrize("mode", MODES, ids=[mode.value for mode in MODES])
def test_trajectories(env_id, mode):
    assert play(of(env_id, max_episode_steps=15), 50, mode)[0]


@pytest.mark.cases(3)
@pytest.mark.parametrize("env_id", TASKS)
@pytest.mark.parametrize("policy", [grasping, extremes])
def test_hands_that_grasp(env_id, policy):
    """Data are the same, too, and where the solver begins, which outlasts episodes."""

    def look(ours, theirs):
        sides = ours.get_attr("data"), theirs.get_attr("data")
        names = ("time", "qpos", "qvel", "ctrl", "qacc_warmstart", "sensordata", "xpos", "actuator_force")
        return tuple({name: np.array([getattr(one, name) for one in side]) for name in names} for side in sides)

    case = of(env_id, max_episode_steps=12)
    ours, theirs = case.pair(3, MODES[2])
    vars(case).update(policy=policy, look=look)
    assert follow(case, ours, theirs, 40)[0]
    assert_streams_same(ours, theirs)


@pytest.mark.parametrize("env_id", TASKS)
def test_models(env_id):
    """Models have the bytes of the reference's."""
    model = batchenv.make(env_id, 1).get_attr("model")[0]
    theirs = make_robotics(env_id).unwrapped.model
    model.vis.global_.offwidth, model.vis.global_.offheight = 480, 480  # as the reference's pictures
    assert_models_same(model, theirs)


def test_ids_are_those_of_the_package():
    """All but -v0, which is over another MuJoCo."""
    theirs = {name: spec for name, spec in specs().items() if name.startswith("Hand") and not name.endswith("v0")}
    assert set(HANDS) == set(theirs)
    for env_id, spec in theirs.items():
        ours = batchenv.spec(env_id)
        assert (ours.max_episode_steps, ours.kwargs) == (spec.max_episode_steps, spec.kwargs), env_id


@pytest.mark.parametrize("env_id", [REACH, PARALLEL, PEN])
def test_starts(env_id):
    """Objects and goals are drawn where the reference's are, whichever seed."""
    ours, theirs = of(env_id).pair(1, MODES[2])
    for seed in range(12):
        theirs = of(env_id).reference(1, MODES[2]) if seed == 6 else theirs
        if env_id == REACH or seed in (0, 6):
            assert_same(ours.reset(seed=seed), theirs.reset(seed=seed))
        else:
            assert_same(ours.reset(), theirs.reset())
    assert ours.get_attr("init_qpos")[0].tobytes() == theirs.call("get_wrapper_attr", "initial_qpos")[0].tobytes()


def test_a_seed_makes_a_lane_new():
    """Where the solver begins outlasts episodes, but not a seed: what follows that is the same whatever was before."""
    env = batchenv.make(BLOCK, 3)
    first, _ = env.reset(seed=4)
    begun_by_itself, _ = env.reset()
    again, _ = env.reset(seed=4)
    assert_same(first, again)
    assert_same(begun_by_itself, env.reset()[0])


def test_objects_that_fall_start_again():
    """From the edge of the hand some objects fall: then another start is drawn."""
    place = asset("hand", "manipulate_block.xml")
    model = mujoco.MjModel.from_xml_path(str(place))
    places = model.qpos0.copy()
    places[24] += 0.06
    case = of(BLOCK, max_episode_steps=2)
    vars(case).update(ours={"initial_qpos": {"object:joint": places[24:31]}}, attributes={"initial_qpos": places})
    ours, theirs = case.pair(6, MODES[2])
    tries, settle = [], [env.unwrapped._reset_sim for env in theirs.envs]
    for env, one in zip(theirs.envs, settle, strict=True):
        env.unwrapped._reset_sim = lambda one=one: tries.append(one()) or tries[-1]
    follow(case, ours, theirs, 9)
    assert_streams_same(ours, theirs)
    assert False in tries and True in tries


def test_objects_that_never_stay_are_told():
    env = batchenv.make(PEN, 2, initial_qpos={"object:joint": [1, 0.5, 0, 1, 0, 0, 0]}, frame_skip=1)
    with pytest.raises(batchenv.LaneError, match="the object has fallen out of the hand in 1000 starts"):
        env.reset(seed=0)


# ---- keywords


@pytest.mark.cases(3)
@pytest.mark.parametrize(
    ("env_id", "keywords"),
    [
        (BLOCK, {"target_position": "fixed", "randomize_initial_position": False, "rotation_threshold": 1.5}),
        (BLOCK, {"target_rotation": "parallel", "ignore_z_target_rotation": True, "reward_type": "dense"}),
        (BLOCK, {"target_rotation": "z", "randomize_initial_rotation": False, "distance_threshold": 0.2}),
        (PEN, {"target_position": "ignore", "target_rotation": "z", "rotation_threshold": 2.0}),
        (TOUCH, {"touch_get_obs": "log"}),
        (TOUCH, {"touch_get_obs": "off"}),
        (REACH, {"distance_threshold": 0.2, "n_substeps": 20, "relative_control": False}),
        (REACH, {"initial_qpos": {"robot0:FFJ0": 0.3, "robot0:THJ1": -0.2}, "reward_type": "dense"}),
    ],
    ids=str,
)
def test_keywords(env_id, keywords):
    assert play(of(env_id, max_episode_steps=12, **keywords), 40)[0]


@pytest.mark.parametrize("kind", ["ignore", "fixed"])
def test_rotations_that_are_kept(kind):
    """Of which the package's documentation speaks. Its code stops at an error there, which is repaired here."""
    case = of(BLOCK, target_rotation=kind, max_episode_steps=12)
    vars(case).update(creator=with_rotations_kept, hold=3)
    assert play(case, 40)[0]


def test_keywords_that_may_differ_from_lane_to_lane():
    env = batchenv.make(BLOCK, 2, target_position="ignore", randomize_initial_position=False)
    env.set_params(randomize_initial_rotation=np.array([True, False]))
    first, _ = env.reset(seed=[1, 2])
    second, _ = env.reset(seed=[3, 4])
    same = first["achieved_goal"] == second["achieved_goal"]
    assert same[1].all() and not same[0].any()


# ---- rewards of other goals


@pytest.mark.parametrize("env_id", [REACH, "HandReachDense-v3", BLOCK, PARALLEL, "HandManipulateEggDense-v1"])
def test_compute_reward(env_id):
    env, theirs = batchenv.make(env_id, 2), make_robotics(env_id).unwrapped
    rng = np.random.default_rng(0)
    size = env.observation_space["desired_goal"].shape[-1]
    achieved = rng.uniform(-1, 1, (1000, size))
    desired = achieved + 0.02 * rng.uniform(-1, 1, (1000, 1)) * rng.uniform(-0.2, 1, (1000, size))
    if size == 7:
        desired[500:, 3:] += rng.uniform(-0.2, 0.2, (500, 4))
        for goals in (achieved, desired):
            goals[:, 3:] /= np.linalg.norm(goals[:, 3:], axis=-1, keepdims=True)
    rewards = env.compute_reward(achieved, desired, [{}] * 1000)
    assert_same(rewards, theirs.compute_reward(achieved, desired, {}))
    assert len(set(rewards.tolist())) >= 2
    one = env.compute_reward(achieved[0], desired[0], {})
    assert one == rewards[0] and type(one) is rewards.dtype.type
    assert env.compute_reward(achieved.reshape(20, 50, size), desired.reshape(20, 50, size), {}).shape == (20, 50)


@pytest.mark.parametrize("env_id", [PEN, "HandManipulatePenRotateDense-v1"])
def test_compute_reward_of_pens(env_id):
    """Each goal's is what the package gives for that goal alone: of several it mixes up the third with the others."""
    env, theirs = batchenv.make(env_id, 2), make_robotics(env_id).unwrapped
    rng = np.random.default_rng(0)
    goals = [np.append(rng.uniform(-0.03, 0.03, (100, 3)), rng.normal(size=(100, 4)), axis=1) for _ in range(2)]
    goals[1][50:, 3:] = goals[0][50:, 3:] + rng.uniform(-0.02, 0.02, (50, 4))
    for one in goals:
        one[:, 3:] /= np.linalg.norm(one[:, 3:], axis=-1, keepdims=True)
    rewards = env.compute_reward(*goals, {})
    assert len(set(rewards.tolist())) >= 2
    assert rewards.tolist() == [theirs.compute_reward(a, b, {}) for a, b in zip(*goals, strict=True)]


@pytest.mark.parametrize("env_id", TASKS)
def test_rewards_of_steps_are_those_of_compute_reward(env_id):
    env = begun(batchenv.make(env_id, 4, reward_type="dense"), seed=0)
    for step in range(30):
        observations, rewards, *_ = env.step(grasping(env, step))
        again = env.compute_reward(observations["achieved_goal"], observations["desired_goal"], {})
        assert again.tobytes() == rewards.tobytes()


@pytest.mark.parametrize("goal", [np.zeros(6), np.zeros((2, 3)), np.array(["a"] * 7)], ids=str)
def test_goals_that_are_none(goal):
    env = batchenv.make(BLOCK, 2)
    with pytest.raises(ValueError, match="compute_reward"):
        env.compute_reward(goal, goal, {})


def test_parallel_rotations_are_those_of_a_cube():
    quats = rotations.parallel()
    assert quats.shape == (24, 4) and not quats.flags.writeable
    np.testing.assert_allclose(np.linalg.norm(quats, axis=1), 1)
    cosines = np.abs(quats @ quats.T)
    assert (np.sort(cosines, axis=1)[:, -2] < 0.75).all()  # a quarter of a turn apart, at least
    for quat in quats:
        matrix = np.zeros(9)
        mujoco.mju_quat2Mat(matrix, quat)
        np.testing.assert_allclose(np.abs(matrix).round(), np.abs(matrix), atol=1e-12)


def test_hindsight_of_stable_baselines3():
    sb3 = pytest.importorskip("stable_baselines3", reason="pip install 'batchenv[sb3]'")
    env = batchenv.make(REACH, 4, env_type="sb3")
    model = sb3.SAC(
        "MultiInputPolicy", env, replay_buffer_class=sb3.HerReplayBuffer, learning_starts=210, batch_size=32, seed=0
    )
    model.learn(216)
    assert set(model.replay_buffer.sample(64).rewards.numpy()[:, 0].tolist()) == {-1, 0}


# ---- state


@pytest.mark.parametrize("env_id", [REACH, BLOCK, TOUCH])
def test_snapshots_and_pickles(env_id):
    """Of where the solver begins, too: the next episode depends on it."""
    env = begun(batchenv.make(env_id, 3, max_episode_steps=8), seed=3)
    for step in range(22):
        observations, *_ = env.step(grasping(env, step))
        if step % 7 == 6:
            snapshot, twin = env.snapshot(), pickle.loads(pickle.dumps(env))
            assert_same(env.restore(snapshot), observations)
            assert_same(twin.restore(snapshot), observations)
            for more in range(3):  # an episode ends
                actions = grasping(env, step + more)
                assert_same(twin.step(actions)[0], env.step(actions)[0])
            assert_same(twin.snapshot(), env.snapshot())


@pytest.mark.parametrize("env_id", [REACH, EGG])
def test_goals_may_be_set(env_id):
    env = batchenv.make(env_id, 2, reward_type="sparse")
    observations, _ = env.reset(seed=0)
    for _ in range(5):
        observations, *_ = env.step(env.action_space.high * 0)
    env.set_state({"goal": observations["achieved_goal"]})
    _, rewards, terminations, _, infos = env.step(env.action_space.high * 0)
    assert rewards.tolist() == [0, 0] and infos["is_success"].tolist() == [1, 1] and not terminations.any()


@pytest.mark.parametrize("env_id", TASKS)
@pytest.mark.parametrize("threads", [1, 3])
def test_numbers_of_lanes_and_threads_do_not_matter(env_id, threads):
    """Nor does it whether lanes are stepped together, or alone."""
    one = batchenv.make(env_id, 1, max_episode_steps=10)
    many = batchenv.make(env_id, 13, num_threads=threads, max_episode_steps=10)
    assert_alone_as_among_others(one, many, grasping, 25, ("qacc", "efc_force", "contact", "sensordata"))


@pytest.mark.parametrize("env_id", [REACH, BLOCK, TOUCH])
def test_numbers_that_are_absurd(env_id):
    assert_survives_absurd_forces(of(env_id))


# ---- bad input


@pytest.mark.parametrize(
    ("env_id", "keywords", "error", "match"),
    [
        (REACH, {"reward_type": "shaped"}, ValueError, "reward_type='shaped' must be one of"),
        (REACH, {"target_position": "fixed"}, TypeError, r"has no|no (such )?keyword"),
        (REACH, {"distance_threshold": -1}, ValueError, "distance_threshold=-1"),
        (REACH, {"distance_threshold": np.nan}, ValueError, "distance_threshold=nan"),
        (REACH, {"n_substeps": 0}, ValueError, "frame_skip=0 must be"),
        (REACH, {"relative_control": True}, ValueError, "relative_control=True is not there"),
        (REACH, {"relative_control": "no"}, TypeError, "relative_control='no' must be a bool"),
        (REACH, {"initial_qpos": [1]}, TypeError, r"initial_qpos=\[1\] must be a dict"),
        (REACH, {"initial_qpos": {"elbow": 1}}, ValueError, "initial_qpos: 'elbow' cannot be"),
        (REACH, {"initial_qpos": {"robot0:FFJ0": "bent"}}, ValueError, "initial_qpos: 'robot0:FFJ0' cannot be"),
        (REACH, {"initial_qpos": {"robot0:FFJ0": np.inf}}, ValueError, "must be finite"),
        (BLOCK, {"target_rotation": "y"}, ValueError, "target_rotation='y' must be one of"),
        (BLOCK, {"touch_get_obs": "log"}, TypeError, r"has no|no (such )?keyword"),
        (TOUCH, {"touch_get_obs": "pain"}, ValueError, "touch_get_obs='pain' must be one of"),
        (TOUCH, {"touch_visualisation": 3}, ValueError, "touch_visualisation=3 must be one of"),
        (BLOCK, {"xml_file": "<mujoco/>"}, ValueError, "has no joint 'robot"),
    ],
    ids=str,
)
def test_bad_keywords(env_id, keywords, error, match):
    with pytest.raises(error, match=match):
        batchenv.make(env_id, 2, **keywords)


def test_models_of_other_tasks_are_refused():
    spec = mujoco.MjSpec.from_file(str(asset("hand", "manipulate_block.xml")))
    for actuator in list(spec.actuators):
        spec.delete(actuator) if hasattr(spec, "delete") else actuator.delete()
    with pytest.raises(ValueError, match="needs actuators, and joints whose names begin with 'robot'"):
        batchenv.make(BLOCK, 1, xml_file=spec.compile())
    with pytest.raises(ValueError, match="object:joint"):
        batchenv.make(BLOCK, 1, xml_file=batchenv.make(REACH, 1).get_attr("model")[0])
    with pytest.raises(ValueError, match="TS_"):
        batchenv.make(TOUCH, 1, xml_file=batchenv.make(BLOCK, 1).get_attr("model")[0])


@pytest.mark.parametrize("bad", [np.nan, 1.5])
def test_bad_actions(bad):
    env = begun(batchenv.make(BLOCK, 2), seed=0)
    with pytest.raises(ValueError, match="action"):
        env.step(np.full((2, 20), bad, np.float32))
    env = begun(batchenv.make(BLOCK, 2, clip_actions=True), seed=0)
    assert np.isfinite(env.step(np.full((2, 20), 1.5, np.float32))[0]["observation"]).all()


# ---- pictures


@pytest.mark.skipif("MUJOCO_GL" not in os.environ, reason="pictures need OpenGL: set MUJOCO_GL to egl or osmesa")
@pytest.mark.parametrize(
    ("env_id", "keywords"),
    [(REACH, {}), (BLOCK, {}), (EGG, {}), (TOUCH, {}), (FELT, {"touch_visualisation": "off"})],
    ids=str,
)
def test_pictures(env_id, keywords):
    """Goals are seen where the reference shows them. Drawing changes what follows there, so steps are of new envs."""
    case = of(env_id, render_mode="rgb_array", width=64, height=48, **keywords)
    for steps in range(3):
        ours, theirs = case.pair(2)
        assert ours.metadata["render_fps"] == theirs.metadata["render_fps"]
        ours.reset(seed=steps), theirs.reset(seed=steps)
        for step in range(steps):
            actions = extremes(ours, step)
            ours.step(actions), theirs.step(actions)
        assert_pictures_same(ours, theirs)
        ours.close(), theirs.close()
