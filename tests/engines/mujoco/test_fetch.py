"""Fetch against gymnasium-robotics itself, over the same MuJoCo: every bit of observations, rewards, flags, infos,
random streams, models, data and pictures. (tools/verify/compare_robotics.py compares for longer.)"""

import os
import pickle

import numpy as np
import pytest

import batchenv
from batchenv.envs.mujoco.goals import asset
from helpers.begun import begun
from helpers.mujoco import assert_alone_as_among_others, assert_models_same, assert_pictures_same, mujoco
from helpers.parity import MODES, assert_same, assert_streams_same, follow, play
from helpers.robotics import FETCH, assert_survives_absurd_forces, make_robotics, of, specs, towards_objects

pytest.importorskip("gymnasium_robotics", reason="pip install 'batchenv[robotics]'")
pytestmark = pytest.mark.filterwarnings("ignore:.*out of date:DeprecationWarning")

REACH, PUSH, SLIDE, PICK = "FetchReach-v4", "FetchPush-v4", "FetchSlide-v4", "FetchPickAndPlace-v4"
TASKS = [REACH, PUSH, SLIDE, PICK]


@pytest.mark.cases(3, per="mode")
@pytest.mark.parametrize("env_id", FETCH)
@pytest.mark.parametrize("mode", MODES, ids=[mode.value for mode in MODES])
def test_trajectories(env_id, mode):
    assert play(of(env_id, max_episode_steps=20), 70, mode)[0]


@pytest.mark.cases(2)
@pytest.mark.parametrize("env_id", TASKS)
def test_objects_that_are_moved(env_id):
    """Hands touch objects, and what has got to a goal is rewarded. Data and models are the same, too."""

    def look(ours, theirs):
        sides = ours.get_attr("data"), theirs.get_attr("data")
        names = ("time", "qpos", "qvel", "qacc", "qacc_warmstart", "mocap_pos", "mocap_quat", "xpos", "actuator_force")
        return tuple({name: np.array([getattr(one, name) for one in side]) for name in names} for side in sides)

    case = of(env_id)
    ours, theirs = case.pair(4, MODES[2])
    vars(case).update(policy=towards_objects, look=look)
    finished, rewards = follow(case, ours, theirs, 110)
    assert_streams_same(ours, theirs)
    assert finished and sorted(rewards) == [-1, 0]


@pytest.mark.parametrize("env_id", TASKS)
def test_models(env_id):
    """Models have the bytes of the reference's, whose welds are changed after it is compiled."""
    model = batchenv.make(env_id, 1).get_attr("model")[0]
    theirs = make_robotics(env_id).unwrapped.model
    model.vis.global_.offwidth, model.vis.global_.offheight = 480, 480  # as the reference's pictures
    model.site_pos[:] = theirs.site_pos  # of the goal
    assert_models_same(model, theirs)


def test_ids_are_those_of_the_package():
    """All but -v1, which is over another MuJoCo."""
    theirs = {name: spec for name, spec in specs().items() if name.startswith("Fetch") and not name.endswith("v1")}
    assert set(FETCH) == set(theirs)
    for env_id, spec in theirs.items():
        ours = batchenv.spec(env_id)
        assert (ours.max_episode_steps, ours.kwargs) == (spec.max_episode_steps, spec.kwargs), env_id


@pytest.mark.parametrize("env_id", TASKS)
def test_starts(env_id):
    """Objects and goals are drawn where the reference's are, whichever seed."""
    ours, theirs = of(env_id).pair(1, MODES[2])
    for seed in range(40):
        assert_same(ours.reset(seed=seed), theirs.reset(seed=seed))
    assert_same(ours.reset(), theirs.reset())
    assert ours.get_attr("time") == theirs.call("get_wrapper_attr", "initial_time")
    assert ours.get_attr("init_qpos")[0].tobytes() == theirs.call("get_wrapper_attr", "initial_qpos")[0].tobytes()


def test_reward_types():
    play(of(PUSH, reward_type="dense"), 20)
    play(of("FetchReachDense-v4", reward_type="sparse"), 20)


@pytest.mark.parametrize("env_id", [REACH, PICK])
def test_other_numbers_of_steps(env_id):
    """The arm is brought into position with as many, and what is observed is of a step of the env."""
    few, many = (begun(batchenv.make(env_id, 2, frame_skip=n), seed=0) for n in (7, 20))
    assert few.get_attr("dt") == (0.014, 0.014)
    assert few.get_attr("time")[0] == pytest.approx(0.14) and many.get_attr("time")[0] == pytest.approx(0.4)
    action = np.tile([1, 0, 0, 0], (2, 1)).astype(np.float32)
    assert few.step(action)[0]["observation"][0, -5] < many.step(action)[0]["observation"][0, -5]


# ---- rewards of other goals


@pytest.mark.parametrize("env_id", [PUSH, "FetchPushDense-v4"])
def test_compute_reward(env_id):
    env, theirs = batchenv.make(env_id, 2), make_robotics(env_id).unwrapped
    achieved, desired = np.random.default_rng(0).uniform(-0.05, 0.05, (2, 1000, 3))
    rewards = env.compute_reward(achieved, desired, [{}] * 1000)
    assert_same(rewards, theirs.compute_reward(achieved, desired, {}))
    assert len(set(rewards.tolist())) >= 2
    one = env.compute_reward(achieved[0], desired[0], {})
    assert one == rewards[0] and type(one) is rewards.dtype.type
    assert env.compute_reward(achieved.reshape(20, 50, 3), desired.reshape(20, 50, 3), {}).shape == (20, 50)
    for name in ("compute_terminated", "compute_truncated"):
        assert getattr(env, name)(achieved, desired, {}).tolist() == [False] * 1000
        assert getattr(env, name)(achieved[0], achieved[0], {}) == getattr(theirs, name)(achieved[0], achieved[0], {})


def test_rewards_of_steps_are_those_of_compute_reward():
    env = begun(batchenv.make("FetchSlideDense-v4", 8), seed=0)
    for step in range(50):
        observations, rewards, *_ = env.step(towards_objects(env, step))
        again = env.compute_reward(observations["achieved_goal"], observations["desired_goal"], {})
        assert again.tobytes() == rewards.tobytes()


def test_hindsight_of_stable_baselines3():
    sb3 = pytest.importorskip("stable_baselines3", reason="pip install 'batchenv[sb3]'")
    env = batchenv.make(REACH, 4, env_type="sb3")
    model = sb3.SAC(
        "MultiInputPolicy", env, replay_buffer_class=sb3.HerReplayBuffer, learning_starts=210, batch_size=32, seed=0
    )
    model.learn(240)
    sample = model.replay_buffer.sample(64)
    rewards = sample.rewards.numpy()[:, 0]
    goals = [sample.next_observations[name].numpy() for name in ("achieved_goal", "desired_goal")]
    assert set(rewards.tolist()) == {-1, 0}  # hindsight has brought goals that were reached
    assert (rewards == 0).tolist() == (np.linalg.norm(goals[0] - goals[1], axis=-1) <= 0.05).tolist()


# ---- state


@pytest.mark.parametrize("env_id", TASKS)
def test_snapshots_and_pickles(env_id):
    """Of where mocap bodies are, too: the next step moves them from the hand, which snapshots have to know."""
    env = begun(batchenv.make(env_id, 5), seed=3)
    for step in range(45):
        observations, *_ = env.step(towards_objects(env, step))
        if step % 15 == 14:
            snapshot, twin = env.snapshot(), pickle.loads(pickle.dumps(env))
            assert_same(env.restore(snapshot), observations)
            assert_same(twin.restore(snapshot), observations)
            actions = towards_objects(env, step)
            assert_same(tuple(map(np.asarray, twin.step(actions)[1:4])), tuple(map(np.asarray, env.step(actions)[1:4])))
            assert_same(twin.state, env.state)
            assert_same(twin.snapshot(), env.snapshot())


def test_goals_may_be_set():
    env = batchenv.make(PUSH, 2)
    observations, _ = env.reset(seed=0)
    env.set_state({"goal": observations["achieved_goal"]})
    _, rewards, terminations, _, infos = env.step(env.action_space.high * 0)
    assert rewards.tolist() == [0, 0] and infos["is_success"].tolist() == [1, 1] and not terminations.any()


@pytest.mark.parametrize("env_id", TASKS)
@pytest.mark.parametrize("threads", [1, 3])
def test_numbers_of_lanes_and_threads_do_not_matter(env_id, threads):
    """Nor does it whether lanes are stepped together, or alone."""
    one, many = batchenv.make(env_id, 1), batchenv.make(env_id, 21, num_threads=threads)
    assert_alone_as_among_others(one, many, towards_objects, 60, ("qacc", "efc_force", "contact"))


@pytest.mark.parametrize("env_id", [PUSH, PICK])
def test_numbers_that_are_absurd(env_id):
    assert_survives_absurd_forces(of(env_id))


@pytest.mark.parametrize("position", [np.nan, np.inf, -np.inf])
def test_mocap_bodies_are_finite(position):
    env = begun(batchenv.make(REACH, 2), seed=0)
    with pytest.raises(ValueError, match="mocap_pos of lane 0 must be finite"):
        env.set_state({"mocap_pos": np.full((2, 1, 3), position)})


# ---- bad input


@pytest.mark.parametrize(
    ("env_id", "keywords", "error", "match"),
    [
        (PUSH, {"reward_type": "shaped"}, ValueError, "reward_type='shaped' must be one of"),
        (PUSH, {"frame_skip": 0}, ValueError, "frame_skip=0 must be"),
        (PUSH, {"distance_threshold": 0.1}, TypeError, r"has no|no (such )?keyword"),
        (PUSH, {"xml_file": "none.xml"}, FileNotFoundError, "there is no file"),
        (PUSH, {"xml_file": "<mujoco/>"}, ValueError, "has no body 'robot0:gripper_link'"),
    ],
    ids=str,
)
def test_bad_keywords(env_id, keywords, error, match):
    with pytest.raises(error, match=match):
        batchenv.make(env_id, 2, **keywords)


def test_a_model_of_another_task_is_refused():
    model = batchenv.make(PUSH, 1).get_attr("model")[0]
    match = "1 mocap bodies, 21 velocities and 0 actuators: there must be one mocap body, 2 actuators"
    with pytest.raises(ValueError, match=match):
        batchenv.make(PICK, 1, xml_file=model)


def test_a_model_without_a_mocap_body_is_refused():
    spec = mujoco.MjSpec.from_file(str(asset("fetch", "push.xml")))
    spec.body("robot0:mocap").mocap = False
    with pytest.raises(ValueError, match="xml_file: the arm cannot be brought into position"):
        batchenv.make(PUSH, 1, xml_file=spec.compile())


@pytest.mark.parametrize("bad", [np.nan, 1.5])
def test_bad_actions(bad):
    env = begun(batchenv.make(PICK, 2), seed=0)
    with pytest.raises(ValueError, match="action"):
        env.step(np.full((2, 4), bad, np.float32))
    env = begun(batchenv.make(PICK, 2, clip_actions=True), seed=0)
    assert np.isfinite(env.step(np.full((2, 4), 1.5, np.float32))[0]["observation"]).all()


# ---- pictures


@pytest.mark.skipif("MUJOCO_GL" not in os.environ, reason="pictures need OpenGL: set MUJOCO_GL to egl or osmesa")
@pytest.mark.parametrize("env_id", [REACH, PUSH, PICK])
def test_pictures(env_id):
    """Goals are seen where the reference shows them. Drawing changes what follows there, so steps are of new envs."""
    case = of(env_id, render_mode="rgb_array", width=64, height=48)
    for steps in range(4):
        ours, theirs = case.pair(2)
        assert ours.metadata["render_fps"] == theirs.metadata["render_fps"]
        ours.reset(seed=steps), theirs.reset(seed=steps)
        for step in range(steps):
            actions = towards_objects(ours, step)
            ours.step(actions), theirs.step(actions)
        assert_pictures_same(ours, theirs)
        ours.close(), theirs.close()
