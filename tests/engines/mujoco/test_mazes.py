"""PointMaze and AntMaze against gymnasium-robotics itself, over the same MuJoCo: every bit of observations, rewards,
flags, infos, random streams, models and pictures. (tools/verify/compare_robotics.py compares for longer.)"""

import os
import pickle
import re

import gymnasium
import numpy as np
import pytest

import batchenv
from batchenv.envs.mujoco import mazes
from batchenv.envs.mujoco.tasks import assets
from helpers.begun import begun
from helpers.mujoco import assert_alone_as_among_others, assert_models_same, assert_pictures_same
from helpers.parity import MODES, assert_same, assert_streams_same, follow, play
from helpers.robotics import MAZES, make_robotics, of, specs, towards_goals

pytest.importorskip("gymnasium_robotics", reason="pip install 'batchenv[robotics]'")
pytestmark = pytest.mark.filterwarnings("ignore:.*out of date:DeprecationWarning")

POINT, ANT, ANT4 = "PointMaze_UMaze-v3", "AntMaze_UMaze-v5", "AntMaze_UMaze-v4"
BOTH = [[1, 1, 1, 1], [1, "c", "c", 1], [1, 1, 1, 1]]
COMBINED = [[1, 1, 1, 1, 1, 1], [1, "r", 0, "g", "c", 1], [1, 1, 0, 1, "c", 1], [1, 1, 1, 1, 1, 1]]


@pytest.mark.cases(1, per="mode")
@pytest.mark.parametrize("env_id", MAZES)
@pytest.mark.parametrize("mode", MODES, ids=[mode.value for mode in MODES])
def test_trajectories(env_id, mode):
    case = of(env_id, max_episode_steps=40)
    assert play(case, 130, mode)[0]


@pytest.mark.cases(8)
@pytest.mark.parametrize("env_id", MAZES)
def test_models(env_id):
    """Models have the bytes of the reference's."""
    model = batchenv.make(env_id, 1).get_attr("model")[0]
    theirs = make_robotics(env_id).unwrapped.model
    model.site_pos[:] = theirs.site_pos  # of the goal
    assert_models_same(model, theirs)


def test_ids_are_those_of_the_package():
    """All but AntMaze-v3, which is over another MuJoCo."""
    theirs = {name: spec for name, spec in specs().items() if "Maze_" in name}
    theirs = {name: spec for name, spec in theirs.items() if not (name.startswith("Ant") and name.endswith("v3"))}
    assert set(MAZES) == set(theirs)
    for env_id, spec in theirs.items():
        assert batchenv.spec(env_id).max_episode_steps == spec.max_episode_steps, env_id
        assert mazes.in_lists(mazes.rows_of(batchenv.spec(env_id).kwargs["maze_map"])) == spec.kwargs["maze_map"], (
            env_id
        )


CASES = [
    of(POINT, maze_map=COMBINED, reward_type="dense"),
    of(POINT, maze_map=[[1, 1, 1, 1], [1, "r", "g", 1], [1, 1, 1, 1]], continuing_task=False),
    of(POINT, maze_map=[[1, 1, 1, 1], [1, "g", 0, 1], [1, 1, 1, 1]]),
    of(POINT, maze_map=[[1, 1, 1, 1], [1, 0, "r", 1], [1, 0, 0, 1], [1, 1, 1, 1]], reset_target=True),
    of("PointMaze_OpenDense-v3", maze_map=BOTH, continuing_task=False, reset_target=True),
    of(ANT, maze_map=COMBINED, healthy_z_range=(0.4, 0.9), forward_reward_weight=1.3, contact_force_range=(-0.3, 0.6)),
    of(ANT, include_cfrc_ext_in_observation=False, main_body="aux_1", frame_skip=3),
    of(ANT4, use_contact_forces=True, healthy_reward=0.5),
    of(ANT4, maze_map=BOTH, reward_type="dense", reset_target=True, terminate_when_unhealthy=False),
]


@pytest.mark.parametrize("case", CASES, ids=[f"{k}-{case.env_id}" for k, case in enumerate(CASES)])
def test_keywords(case):
    play(case, 80)


@pytest.mark.parametrize("keywords", [{}, {"reset_target": True}, {"continuing_task": False}], ids=str)
@pytest.mark.parametrize("mode", MODES, ids=[mode.value for mode in MODES])
def test_goals_that_are_reached(keywords, mode):
    """The ball gets to its goals, at speeds that are limited, and goals move or end the episode."""
    fastest = 0

    def look(ours, theirs):
        nonlocal fastest
        data = ours.get_attr("data"), theirs.get_attr("data")
        fastest = max(fastest, *(abs(one.qvel).max() for one in data[0]))
        return tuple({name: np.array([getattr(one, name) for one in side]) for name in ("qpos", "qvel", "site_xpos")}
                     for side in data)  # fmt: skip

    case = of("PointMaze_Open_Diverse_GR-v3", max_episode_steps=70, **keywords)
    ours, theirs = case.pair(3, mode)
    vars(case).update(policy=towards_goals, look=look)
    finished, rewards = follow(case, ours, theirs, 200)
    assert_streams_same(ours, theirs)
    assert rewards == {0.0, 1.0} and finished and fastest > 1


def test_speeds_are_limited():
    case = of("PointMaze_Open-v3", maze_map=[[1, *[0] * 30, 1]] * 3, max_episode_steps=200)
    seen = 0

    def fast(env, step):
        nonlocal seen
        seen = max(seen, abs(np.array(env.get_attr("qvel"))).max())
        return np.tile([np.sign(np.sin(step / 60) + 0.01), 0.1], (env.num_envs, 1)).astype(np.float32)

    vars(case).update(policy=fast)
    play(case, 200)
    assert seen > 5.01  # the last step's own acceleration comes on top


@pytest.mark.parametrize("reset_target", [False, True])
@pytest.mark.parametrize("env_id", [ANT, ANT4])
def test_goals_of_ants(env_id, reset_target):
    """Some start at their goal, since both are in the same cell, and leave it."""
    case = of(env_id, reset_target=reset_target)
    cell = np.array([1, 1])
    vars(case).update(starts={"goal_cell": cell, "reset_cell": cell})
    _, rewards = follow(case, *case.pair(8, MODES[2]), 12, seed=187)  # three of the four
    assert rewards == {0.0, 1.0}


@pytest.mark.parametrize("env_id", [POINT, ANT])
@pytest.mark.parametrize(
    "starts", [{"goal_cell": (3, 1)}, {"reset_cell": np.array([2, 3])}, {"goal_cell": [1, 2], "reset_cell": None}, {}]
)
def test_cells_of_resets(env_id, starts):
    case = of(env_id)
    vars(case).update(starts=starts)
    ours, theirs = case.pair(4, MODES[2])
    follow(case, ours, theirs, 20)
    assert_streams_same(ours, theirs)


def test_cells_of_single_lanes():
    """By arrays, by masks, and by plans."""
    env = begun(batchenv.make(POINT, 3), seed=0)
    cells = np.array([[1, 1], [1, 3], [3, 3]])
    ways = [env.reset(seed=5, options={"goal_cell": cells[lane], "reset_cell": (2, 3)})[0] for lane in range(3)]
    observations, _ = env.reset(seed=5, options={"goal_cell": cells, "reset_cell": (2, 3)})
    assert_same(observations, {key: np.array([ways[lane][key][lane] for lane in range(3)]) for key in observations})
    before = env.state["goal"]
    env.reset(options={"goal_cell": cells[::-1] * [[1], [0], [1]], "reset_mask": np.arange(3) != 1})
    assert np.abs(env.state["goal"][[0, 2]] - [[1, -1], [-1, 1]]).max() <= 0.25
    assert (env.state["goal"][1] == before[1]).all()
    for lane, cell in enumerate([(1, 1), (1, 3), (3, 2)]):
        env.reset(options={"reset_mask": np.arange(3) == lane, "goal_cell": cell, "reset_cell": (2, 3)})
    x, y = env.state["goal"].T
    assert np.abs(x - [-1, 1, 0]).max() <= 0.25 and np.abs(y - [1, 1, -1]).max() <= 0.25
    env.plan(options=[{"goal_cell": (1, 1)}, None, {"goal_cell": (3, 3), "reset_cell": (1, 1)}])
    observations, _ = env.reset()
    assert np.abs(observations["desired_goal"][[0, 2]] - [[-1, 1], [1, -1]]).max() <= 0.25
    with pytest.raises(ValueError, match=r"options\[0\].*goal_cell=\(0, 0\) is a wall"):
        env.plan(options=[{"goal_cell": (0, 0)}])


# ---- rewards of other goals


@pytest.mark.parametrize("env_id", [POINT, "PointMaze_UMazeDense-v3", "AntMaze_UMazeDense-v4"])
def test_compute_reward(env_id):
    env, theirs = batchenv.make(env_id, 2), make_robotics(env_id).unwrapped
    achieved, desired = np.random.default_rng(0).uniform(-0.6, 0.6, (2, 1000, 2))
    rewards = env.compute_reward(achieved, desired, [{}] * 1000)
    assert_same(rewards, theirs.compute_reward(achieved, desired, {}))
    assert len(set(rewards.tolist())) >= 2
    assert_same(
        env.compute_reward(achieved.reshape(20, 50, 2), desired.reshape(20, 50, 2), {}), rewards.reshape(20, 50)
    )
    one = env.compute_reward(achieved[0], desired[0], {})
    assert one == rewards[0] and type(one) is np.float64
    assert env.call("compute_reward", achieved, desired, {})[1].tobytes() == rewards.tobytes()
    for wrong in ((achieved[:, :1], desired), (achieved, desired[:5]), (["a"], ["b"])):
        with pytest.raises(ValueError, match=r"compute_reward\(\) got goals of shapes"):
            env.compute_reward(*wrong, {})
    env.close()
    assert not hasattr(env, "compute_reward")
    assert not hasattr(batchenv.make("CartPole-v1", 1), "compute_reward")


@pytest.mark.parametrize("continuing", [True, False])
def test_ends_of_other_goals(continuing):
    env = batchenv.make(POINT, 2, continuing_task=[continuing, not continuing])
    theirs = make_robotics(POINT, continuing_task=continuing).unwrapped
    achieved, desired = np.random.default_rng(0).uniform(-0.6, 0.6, (2, 100, 2))
    for name in ("compute_terminated", "compute_truncated"):
        expected = [getattr(theirs, name)(*goals, {}) for goals in zip(achieved, desired, strict=True)]
        found = getattr(env, name)(achieved, desired, {})
        assert found.dtype == bool and found.tolist() == expected
        assert type(getattr(env, name)(achieved[0], desired[0], {})) is np.bool_
        other = env.call(name, achieved, desired, {})[1]
        assert other.any() == (continuing and name == "compute_terminated")
    with pytest.raises(ValueError, match=r"compute_terminated\(\) got goals of shapes"):
        env.compute_terminated(achieved, desired[:5], {})
    single = gymnasium.make(f"batchenv/{POINT}", continuing_task=continuing).unwrapped
    assert single.compute_terminated(achieved[0], achieved[0], {}) == (not continuing)


def test_rewards_of_steps_are_those_of_compute_reward():
    env = begun(batchenv.make("PointMaze_Open_Diverse_GRDense-v3", 8, reset_target=True), seed=0)
    for step in range(50):
        observations, rewards, *_ = env.step(towards_goals(env, step))
        again = env.compute_reward(observations["achieved_goal"], observations["desired_goal"], {})
        assert again.tobytes() == rewards.tobytes()


def test_compute_reward_of_single_environments():
    env, theirs = gymnasium.make(f"batchenv/{POINT}"), make_robotics(POINT)
    mine, other = env.reset(seed=4), theirs.reset(seed=4)
    assert_same(mine, other)
    goals = mine[0]["desired_goal"], mine[0]["desired_goal"] + 0.4
    for name in ("unwrapped", "get_wrapper_attr"):
        asked = [getattr(one, name) for one in (env, theirs)]
        ask = [one.compute_reward if name == "unwrapped" else one("compute_reward") for one in asked]
        assert ask[0](*goals, {}) == ask[1](*goals, {}) == 0
        assert ask[0](goals[0], goals[0], {}) == 1
    assert not hasattr(gymnasium.make("batchenv/CartPole-v1").unwrapped, "compute_reward")


@pytest.mark.parametrize("env_id", [POINT, "AntMaze_Medium_Diverse_GDense-v5"])
def test_patched_gymnasium(env_id, monkeypatch):
    monkeypatch.setitem(gymnasium.registry, env_id, specs()[env_id])
    batchenv.patch_gymnasium()
    try:
        env = gymnasium.make_vec(env_id, num_envs=3)
    finally:
        batchenv.unpatch_gymnasium()
    assert type(env) is batchenv.BatchEnv and env.spec.id == env_id
    assert_same(env.reset(seed=1)[0], batchenv.make(env_id, 3).reset(seed=1)[0])


def test_hindsight_of_stable_baselines3():
    sb3 = pytest.importorskip("stable_baselines3", reason="pip install 'batchenv[sb3]'")
    env = batchenv.make(POINT, 4, env_type="sb3", max_episode_steps=20)
    model = sb3.SAC(
        "MultiInputPolicy", env, replay_buffer_class=sb3.HerReplayBuffer, learning_starts=100, batch_size=32, seed=0
    )
    model.learn(200)
    assert model.replay_buffer.sample(16).rewards.shape == (16, 1)
    env.set_options([{"goal_cell": (1, 1)}, {}, {"goal_cell": (3, 3)}, {}])
    goals = env.reset()["desired_goal"]
    assert np.abs(goals[[0, 2]] - [[-1, 1], [1, -1]]).max() <= 0.25


# ---- state


@pytest.mark.parametrize("env_id", ["PointMaze_Open_Diverse_GR-v3", "AntMaze_UMazeDense-v5"])
def test_snapshots_and_pickles(env_id):
    env = begun(batchenv.make(env_id, 5, reset_target=True), seed=3)
    policy = towards_goals if "Point" in env_id else lambda env, step: env.action_space.high * np.sin(step)
    moved = 0
    for step in range(60):
        observations, *_ = env.step(policy(env, step).astype(np.float32))
        moved += (env.state["goal"] != env.state["desired_goal"]).any()
        snapshot, twin = env.snapshot(), pickle.loads(pickle.dumps(env))
        if step % 20 == 19:
            assert_same(env.restore(snapshot), observations)
            assert_same(twin.restore(snapshot), observations)
            actions = policy(env, step).astype(np.float32)
            assert_same(tuple(map(np.asarray, twin.step(actions)[1:4])), tuple(map(np.asarray, env.step(actions)[1:4])))
            assert_same(twin.state, env.state)
    assert moved or "Ant" in env_id


def test_goals_may_be_set():
    env = begun(batchenv.make(POINT, 2), seed=0)
    env.set_state({"goal": env.get_attr("qpos")})
    assert env.step(env.action_space.high * 0)[1].tolist() == [1, 1]


def test_lanes_may_differ():
    env = batchenv.make("PointMaze_Open-v3", 3, continuing_task=[True, False, True], position_noise_range=[0, 0.1, 0.3])
    observations, _ = env.reset(seed=[4, 4, 4], options={"goal_cell": (1, 1), "reset_cell": (1, 1)})
    assert observations["desired_goal"][0].tolist() == [-2.0, 1.0]
    terminated = env.step(env.action_space.high * 0)[2]
    assert terminated.tolist() == [False, True, False]


@pytest.mark.parametrize("threads", [1, 3])
def test_numbers_of_lanes_and_threads_do_not_matter(threads):
    one, many = batchenv.make(ANT, 1), batchenv.make(ANT, 21, num_threads=threads)
    many.action_space.seed(0)
    assert_alone_as_among_others(one, many, lambda env, step: env.action_space.sample(), 40)
    assert re.search("together with others|arithmetic .* is not known", many.call("physics")[0])


# ---- maps and bad input


@pytest.mark.parametrize(
    "maze_map", [np.array(COMBINED), ["".join(map(str, row)) for row in COMBINED], tuple(map(tuple, COMBINED))]
)
def test_maps_may_be_written_otherwise(maze_map):
    ours, theirs = batchenv.make(POINT, 2, maze_map=maze_map), batchenv.make(POINT, 2, maze_map=COMBINED)
    assert ours.get_attr("maze_map") == (COMBINED, COMBINED)
    assert_same(ours.reset(seed=2)[0], theirs.reset(seed=2)[0])


def test_maps_are_copied():
    maze_map = [list(row) for row in COMBINED]
    env = begun(batchenv.make(POINT, 1, maze_map=maze_map), seed=0)
    maze_map[1][3] = 1
    assert pickle.loads(pickle.dumps(env)).get_attr("maze_map")[0] == COMBINED


def bad(match, error=ValueError, **keywords):
    return pytest.param(keywords, error, match, id=match)


@pytest.mark.parametrize(
    ("keywords", "error", "match"),
    [
        bad("'Huge' is not the name of a map: UMaze, Open", maze_map="Huge"),
        bad("must be rows of equal length", TypeError, maze_map=5),
        bad("must be rows of equal length, of", TypeError, maze_map=[1, 0, 1]),
        bad("has no cells", maze_map=[]),
        bad("has no cells: it", maze_map=[[], []]),
        bad("row 1 has 2 cells and row 0 has 3", maze_map=[[1, 0, 0], [1, 0]]),
        bad("cell 1 of row 0 is 2", maze_map=[[1, 2, 0, 0]]),
        bad("cell 2 of row 0 is 'G'", maze_map=[[1, 0, "G", 0]]),
        bad("cell 0 of row 0 is nan", maze_map=[[np.nan, 0, 0]]),
        bad("cell 0 of row 0 is None", maze_map=[[None, 0, 0]]),
        bad("cell 1 of row 0 is ''", maze_map=[[0, "", 0]]),
        bad("no cell where episodes can start", maze_map=[[1, 1], [1, "g"]]),
        bad("no cell where the goal can be", maze_map=[[1, 1], [1, "r"]]),
        bad(r"only cell where episodes can start, \(0, 1\), may also be the goal", maze_map=[[1, 0]]),
        bad(r"only cell where episodes can start, \(0, 2\)", maze_map=[["g", 1, "c"]]),
        bad("reward_type='shaped' must be one of", reward_type="shaped"),
        bad("position_noise_range=0.5 must be", position_noise_range=0.5),
        bad("xml_file: there is no file", FileNotFoundError, xml_file="none.xml"),
        bad("xml_file is not XML", xml_file="<mujoco>"),
        bad("the XML has no worldbody", xml_file="<mujoco/>"),
        bad("must be the path of an XML file, or XML text, not int", TypeError, xml_file=3),
        bad("0 positions, 0 velocities", xml_file="<mujoco><worldbody/></mujoco>"),
    ],
)
def test_bad_keywords(keywords, error, match):
    with pytest.raises(error, match=match):
        batchenv.make(POINT, 2, **keywords)


@pytest.mark.parametrize(
    "keywords", [{"reset_noise_scale": 0.1}, {"maze_height": 1}, {"maze_size_scaling": 2}], ids=str
)
def test_keywords_that_the_package_sets_itself_are_refused(keywords):
    with pytest.raises(TypeError, match=r"has no|no (such )?keyword"):
        batchenv.make(ANT, 2, **keywords)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"goal_cell": (0, 0)}, r"goal_cell=\(0, 0\) is a wall: name a free cell"),
        (
            {"reset_cell": (5, 1)},
            r"reset_cell=\(5, 1\) is outside of maze_map: its rows are 0 to 4, its columns 0 to 4",
        ),
        ({"reset_cell": (1, -1)}, "reset_cell=-1 must be at least 0, a row or column of maze_map"),
        ({"goal_cell": (-1, -1)}, "goal_cell=-1 must be at least 0"),
        ({"goal_cell": (1.5, 2)}, r"goal_cell=1\.5 must be an int, not float"),
        ({"goal_cell": np.array([[1, 1], [0, 0]])}, r"goal_cell=\(0, 0\) is a wall: .*\(lane 1\)"),
        ({"goal_cell": np.array([[1, 1], [1, -3]])}, "goal_cell=-3 must be at least 0"),
        ({"goal_cell": np.array([[1, 1], [1, 1.5]])}, r"goal_cell=np.float64\(1\.0\) must be an int"),
        ({"goal_cell": np.ones((3, 2), int)}, r"must be 2 numbers, an array of shape \(2, 2\) with those of each lane"),
        ({"goal_cell": 3}, "goal_cell=3 must be 2 numbers"),
        ({"goal_cell": "11"}, "goal_cell='11' must be 2 numbers"),
        ({"goal_cell": {"row": 1, "column": 1}}, "must be 2 numbers"),
        ({"goal_cell": (1, 2, 3)}, "must be 2 numbers"),
        ({"goal_cell_row": 1}, "no such reset option: did you mean 'goal_cell'"),
        ({"cell": (1, 1)}, "no such reset option"),
    ],
    ids=str,
)
def test_bad_options(options, match):
    env = begun(batchenv.make(POINT, 2), seed=0)
    before = env.state["goal"]
    with pytest.raises(ValueError, match=match):
        env.reset(options=options)
    np.testing.assert_array_equal(env.state["goal"], before)


def test_a_goal_at_the_only_start_is_an_error():
    """The reference would look for another start for ever."""
    env = batchenv.make(POINT, 2, maze_map=[[1, 1, 1, 1], [1, "r", "g", 1], [1, 1, 1, 1]])
    env.reset(seed=0)
    with pytest.raises(Exception, match=r"goal_cell=\(1, 1\) is the only cell where episodes can start"):
        env.reset(options={"goal_cell": (1, 1)})
    env.reset(seed=0, options={"goal_cell": (1, 1), "reset_cell": (1, 1)})


def test_a_robot_of_ones_own(tmp_path):
    path = tmp_path / "slider.xml"
    path.write_text(
        '<mujoco><worldbody><body name="torso"><joint name="x" type="slide" axis="1 0 0"/><joint name="y" type="slide" '
        'axis="0 1 0"/><joint name="turn" type="hinge" axis="0 0 1"/><geom size=".1"/></body></worldbody>'
        '<actuator><motor joint="x"/><motor joint="y"/><motor joint="turn"/></actuator></mujoco>'
    )
    for xml in (str(path), path, path.read_text()):
        env = batchenv.make(POINT, 2, xml_file=xml, clip_actions=True)
        observations, _ = env.reset(seed=0)
        assert observations["observation"].shape == (2, 6) and observations["achieved_goal"].shape == (2, 2)


def test_another_ant(tmp_path):
    path = tmp_path / "ant.xml"
    path.write_text((assets() / "ant.xml").read_text().replace('density="5.0"', 'density="9.0"'))
    play(of(ANT, xml_file=str(path), frame_skip=2), 30)


@pytest.mark.skipif("MUJOCO_GL" not in os.environ, reason="pictures need OpenGL: set MUJOCO_GL to egl or osmesa")
@pytest.mark.parametrize("env_id", ["PointMaze_Open_Diverse_GR-v3", "PointMaze_Large-v3", "AntMaze_UMaze-v5"])
def test_pictures(env_id):
    """Goals that move are seen where the reference shows them."""
    case = of(env_id, render_mode="rgb_array", width=64, height=48, reset_target=True)
    ours, theirs = case.pair(2)
    assert ours.metadata["render_fps"] == theirs.metadata["render_fps"]
    ours.reset(seed=1), theirs.reset(seed=1)
    goals = set()
    for step in range(40):
        assert_pictures_same(ours, theirs)
        actions = towards_goals(ours, step) if "Point" in env_id else ours.action_space.sample()
        ours.step(actions), theirs.step(actions)
        goals.update(map(tuple, ours.state["goal"].tolist()))
    assert len(goals) > 2 or "Open" not in env_id
    ours.close(), theirs.close()


def test_without_the_package(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(gymnasium.error.DependencyNotInstalled, match="gymnasium-robotics: pip install"):
        batchenv.make(POINT, 1)
    batchenv.make(ANT, 1)  # whose model is Gymnasium's
