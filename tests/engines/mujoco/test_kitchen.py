"""FrankaKitchen against gymnasium-robotics itself, over the same MuJoCo: every bit of observations, rewards, flags,
infos, random streams, models, data and pictures. (tools/verify/compare_robotics.py compares for longer.)"""

import os
import pickle

import numpy as np
import pytest

import batchenv
from batchenv.envs.mujoco.robotics import asset
from helpers.begun import begun
from helpers.kitchen import NAMES, kitchen, make_kitchen, push_things
from helpers.mujoco import assert_alone_as_among_others, assert_models_same, assert_pictures_same
from helpers.parity import MODES, assert_same, assert_streams_same, follow, play
from helpers.robotics import held_at_random, specs

pytest.importorskip("gymnasium_robotics", reason="pip install 'batchenv[robotics]'")
pytestmark = pytest.mark.filterwarnings("ignore:.*out of date:DeprecationWarning")

KITCHEN = "FrankaKitchen-v1"
FEW = {"tasks_to_complete": ["microwave", "bottom burner", "kettle"]}


def pushed(case, steps, mode=MODES[0], lanes=2):
    """Compares while things are pushed to their goals; returns how many episodes ended, and the rewards."""
    ours, theirs = case.pair(lanes, mode)
    vars(case).update(look=push_things)
    found = follow(case, ours, theirs, steps)
    assert_streams_same(ours, theirs)
    return found


@pytest.mark.parametrize("mode", MODES, ids=[mode.value for mode in MODES])
def test_trajectories(mode):
    assert play(kitchen(max_episode_steps=20), 70, mode)[0]


@pytest.mark.parametrize("mode", MODES, ids=[mode.value for mode in MODES])
def test_tasks_that_are_completed(mode):
    """Episodes end with the last of all tasks. Data are the same, too."""
    finished, rewards = pushed(kitchen(), 150, mode)
    assert finished == 2 and rewards >= {0, 1}


def test_some_of_the_tasks():
    finished, rewards = pushed(kitchen(**FEW), 130)
    assert finished == 2 and rewards >= {0, 1}


def test_tasks_that_stay():
    """They are rewarded in each step, and no episode ends."""
    finished, rewards = pushed(
        kitchen(**FEW, remove_task_when_completed=False, terminate_on_tasks_completed=False), 130
    )
    assert finished == 0 and rewards == {0, 1, 2, 3}
    finished, rewards = pushed(kitchen(**FEW, remove_task_when_completed=False), 130)
    assert finished == 2 and rewards >= {0, 1, 2}
    finished, rewards = pushed(kitchen(**FEW, terminate_on_tasks_completed=False), 130)
    assert finished == 0 and rewards == {0, 1}


@pytest.mark.parametrize(("objects", "robot"), [(0.0, 0.0), (0.5, 2.0), (-0.1, 0.3)])
def test_noise(objects, robot):
    """It also decides where joints are sent, from where they are seen."""
    case = kitchen(object_noise_ratio=objects, robot_noise_ratio=robot)
    ours, theirs = case.pair(2)
    follow(case, ours, theirs, 20)
    assert_streams_same(ours, theirs)
    qpos = ours.get_attr("qpos")[0]
    assert (ours.state["observation"][0, :9] == qpos[:9]).all() == (robot == 0)


def test_starts():
    ours, theirs = kitchen().pair(1, MODES[2])
    for seed in range(20):
        assert_same(ours.reset(seed=seed), theirs.reset(seed=seed))
    assert_same(ours.reset(), theirs.reset())
    assert_streams_same(ours, theirs)


def test_models():
    """Models have the bytes of the reference's."""
    model, theirs = batchenv.make(KITCHEN, 1).get_attr("model")[0], make_kitchen(KITCHEN).unwrapped.model
    assert_models_same(model, theirs)


def test_id_is_that_of_the_package():
    assert batchenv.spec(KITCHEN).max_episode_steps == specs()[KITCHEN].max_episode_steps
    assert {name for name in specs() if "Kitchen" in name} == {KITCHEN}


@pytest.mark.parametrize("several", [tuple, set, np.array, ",".join])
def test_ways_to_choose_tasks(several):
    """Infos have a column per task, in the order of their names."""
    env = begun(batchenv.make(KITCHEN, 2, tasks_to_complete=several(["microwave", "kettle", "kettle"])), seed=0)
    assert list(env.single_observation_space["desired_goal"]) == ["kettle", "microwave"]
    env.set_state({"tasks_to_complete": [name == "microwave" for name in NAMES]})
    infos = env.step(env.action_space.high)[4]
    assert infos["tasks_to_complete"].tolist() == [[False, True]] * 2
    assert infos["tasks_to_complete"].dtype == bool


def test_goals_differ_from_lane_to_lane_in_what_may():
    env = batchenv.make(KITCHEN, 2, **FEW, remove_task_when_completed=[True, False], robot_noise_ratio=[0.0, 1.0])
    env.reset(seed=0)
    qpos = env.get_attr("qpos")
    assert (env.state["observation"][0, :9] == qpos[0][:9]).all() and (env.state["observation"][1] != 0).all()
    assert np.abs(env.state["observation"][1, :9] - qpos[1][:9]).max() > 0.01


# ---- state


def test_snapshots_and_pickles():
    """Of the noise that was seen, too, and of what has been completed."""
    env = begun(batchenv.make(KITCHEN, 3, max_episode_steps=30), seed=3)
    rng = np.random.default_rng(0)
    for step in range(45):
        actions = rng.uniform(-1, 1, env.action_space.shape)
        observations, *_ = env.step(actions)
        if step % 15 == 14:
            snapshot, twin = env.snapshot(), pickle.loads(pickle.dumps(env))
            assert_same(env.restore(snapshot), observations)
            assert_same(twin.restore(snapshot), observations)
            actions = rng.uniform(-1, 1, env.action_space.shape)
            assert_same(twin.step(actions)[:4], env.step(actions)[:4])
            assert_same(twin.state, env.state)
            assert_same(twin.snapshot(), env.snapshot())


@pytest.mark.parametrize("threads", [1, 3])
def test_numbers_of_lanes_and_threads_do_not_matter(threads):
    """Nor does it whether lanes are stepped together, or alone."""
    one, many = batchenv.make(KITCHEN, 1), batchenv.make(KITCHEN, 21, num_threads=threads)
    assert_alone_as_among_others(one, many, held_at_random, 40, ("qacc", "efc_force", "contact"))


# ---- bad input


@pytest.mark.parametrize(
    ("keywords", "error", "match"),
    [
        ({"tasks_to_complete": ["oven"]}, ValueError, "tasks_to_complete names 'oven', which is none of the tasks"),
        ({"tasks_to_complete": "kettle,,microwave"}, ValueError, "names '', which is none"),
        ({"tasks_to_complete": []}, ValueError, "names '', which is none"),
        ({"tasks_to_complete": ["kettle "]}, ValueError, "names 'kettle ', which is none"),
        ({"tasks_to_complete": [1]}, TypeError, "must be a list of names"),
        ({"tasks_to_complete": 7}, TypeError, "must be a list of names"),
        ({"tasks_to_complete": "kettle" * 1000}, ValueError, "which is none of the tasks"),
        ({"object_noise_ratio": np.nan}, ValueError, "object_noise_ratio=nan must be"),
        ({"robot_noise_ratio": np.inf}, ValueError, "robot_noise_ratio=inf must be"),
        (
            {"terminate_on_tasks_completed": "yes"},
            (TypeError, ValueError),
            "terminate_on_tasks_completed='yes' must be",
        ),
        ({"xml_file": "none.xml"}, FileNotFoundError, "there is no file"),
        (
            {"xml_file": "<mujoco/>"},
            ValueError,
            "0 positions, 0 velocities and 0 actuators: there must be 30, 29 and 9",
        ),
    ],
    ids=str,
)
def test_bad_keywords(keywords, error, match):
    with pytest.raises(error, match=match):
        batchenv.make(KITCHEN, 2, **keywords)


def test_bad_actions():
    env = begun(batchenv.make(KITCHEN, 2), seed=0)
    for bad in (np.nan, 1.5):
        with pytest.raises(ValueError, match="action"):
            env.step(np.full((2, 9), bad))
    env = begun(batchenv.make(KITCHEN, 2, clip_actions=True), seed=0)
    assert np.isfinite(env.step(np.full((2, 9), 1.5))[0]["observation"]).all()


def test_limits_of_the_arm_are_the_packages():
    assert asset("kitchen_franka", "franka_assets", "franka_config.xml").is_file()
    ours, theirs = batchenv.make(KITCHEN, 1), make_kitchen(KITCHEN)
    ours.reset(seed=0), theirs.reset(seed=0)
    for sign in (1, -1):
        for _ in range(40):  # until positions are clipped
            ours.step(np.full((1, 9), sign, float)), theirs.step(np.full(9, sign, float))
        controls = ours.get_attr("data")[0].ctrl
        assert controls.tobytes() == theirs.unwrapped.data.ctrl.tobytes()
        bounds = theirs.unwrapped.robot_env.robot_pos_bound[:9, 0 if sign < 0 else 1]
        assert (controls == bounds).sum() >= 3


# ---- pictures


@pytest.mark.skipif("MUJOCO_GL" not in os.environ, reason="pictures need OpenGL: set MUJOCO_GL to egl or osmesa")
def test_pictures():
    ours, theirs = kitchen(render_mode="rgb_array", width=64, height=48).pair(2)
    assert ours.metadata["render_fps"] == theirs.metadata["render_fps"]
    for step in range(3):
        if step:
            ours.step(ours.action_space.high), theirs.step(ours.action_space.high)
        else:
            ours.reset(seed=0), theirs.reset(seed=0)
        assert_pictures_same(ours, theirs)
    ours.close(), theirs.close()
