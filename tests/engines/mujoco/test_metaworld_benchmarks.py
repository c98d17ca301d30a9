"""Meta-World's benchmarks against the package itself, over the same MuJoCo. (tools/verify/compare_metaworld.py compares
for longer.)"""

import importlib.util
import pickle

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

import batchenv
from batchenv.registry import TABLE
from helpers.begun import begun
from helpers.metaworld import benchmark_pair, follow_benchmark, package
from helpers.mujoco import mujoco
from helpers.parity import MODES, assert_same

pytestmark = [
    pytest.mark.skipif(importlib.util.find_spec("metaworld") is None, reason="pip install 'batchenv[metaworld]'"),
    pytest.mark.filterwarnings("ignore"),
]
beside = pytest.mark.skipif(mujoco.mjNEQDATA != 11, reason="the package does not run with this MuJoCo: 3.3.0 is for it")

MT10 = "Meta-World/MT10"


def mt10(lanes=10, **keywords):
    return batchenv.make(MT10, lanes, **keywords)


@beside
@pytest.mark.parametrize(
    ("seed", "mode", "one_hot"), [(0, MODES[0], True), (1, AutoresetMode.SAME_STEP, False), (5, MODES[1], True)]
)
def test_mt10(seed, mode, one_hot):
    ours, theirs = benchmark_pair("MT10", None, seed, mode=mode, use_one_hot=one_hot, max_episode_steps=20)
    assert follow_benchmark(ours, theirs, 50, seed)
    assert ours.single_observation_space.dtype == theirs.single_observation_space.dtype
    assert ours.single_observation_space.shape == theirs.single_observation_space.shape
    assert_same(ours.single_observation_space.low[:36], theirs.single_observation_space.low[:36])
    assert_same(ours.single_observation_space.high[39:], theirs.single_observation_space.high[39:])
    assert ours.np_random_seed == (seed,) * 10


@beside
@pytest.mark.parametrize(("name", "split"), [("drawer-close-v3", "train"), ("reach-v3", "test")])
def test_ml1(name, split):
    """Lanes share out six goals, keep one until they are told to take another, and have had all after three times."""
    keywords = {"max_episode_steps": 6, "total_tasks_per_cls": 6}
    ours, theirs = benchmark_pair(name, split, 3, 2, **keywords)
    assert follow_benchmark(ours, theirs, 90, 0, sampling=10)
    assert ours.get_attr("goals_had") == (9, 9)


@beside
def test_ml1_that_takes_goals_in_resets():
    ours, theirs = benchmark_pair("reach-v3", "train", 2, 2, max_episode_steps=5, total_tasks_per_cls=8)
    ours.set_attr("sample_tasks_on_reset", True)
    theirs.call("toggle_sample_tasks_on_reset", True)
    assert follow_benchmark(ours, theirs, 60, 0) == 24


@beside
@pytest.mark.parametrize("name", ["MT10", "MT25", "MT50", "ML10", "ML25", "ML45"])
def test_tasks(name):
    """They are the package's, in its order."""
    table = getattr(package()._env_dict, f"{name}_V3")
    splits = {f"-{split}": table[split] for split in table} if name.startswith("ML") else {"": table}
    for ending, tasks in splits.items():
        join = TABLE[f"Meta-World/{name}{ending}"].join
        assert [f"{task}-v3" for task in join.tasks] == list(tasks)


@beside
def test_goals():
    """Those of each task follow on those of the tasks before."""
    package_tasks = package().MT10(seed=11).train_tasks
    shares = TABLE[MT10].join.shares(10, {"goals_seed": 11})
    for share in shares:
        name = share.env_id.removeprefix("Meta-World/")
        theirs = [pickle.loads(task.data)["rand_vec"] for task in package_tasks if task.env_name == name]
        assert_same(share.kwargs["goals"], np.array(theirs))


def test_goals_of_a_users_own():
    goals = np.array([[0.0, 0.6, 0.02, 0.05, 0.85, 0.2]])
    env = batchenv.make("Meta-World/reach-v3", 3, goals=goals)
    assert_same(env.reset(seed=0)[0][:, 36:], np.repeat(goals[:, 3:], 3, axis=0))
    for wrong in (goals[0], goals[:, :5], goals * np.nan, [["a"] * 6], np.empty((0, 6))):
        with pytest.raises(ValueError, match="must be finite numbers, an array of shape"):
            batchenv.make("Meta-World/reach-v3", 3, goals=wrong)


def test_gymnasium_makes_the_same():
    env = gymnasium.make_vec("batchenv/Meta-World-MT10", num_envs=10, seed=4)
    again, ours = gymnasium.make_vec(env.spec), mt10(seed=4)
    starts = [one.reset()[0] for one in (env, again, ours)]
    assert_same(starts[0], starts[1])
    assert_same(starts[0], starts[2])
    assert ours.config["goals_seed"] == 4
    assert (mt10(seed=4, goals_seed=5).reset()[0] != starts[0]).any()


def test_several_lanes_of_a_task():
    """They are as in a batch of that task, and have seeds of their own."""
    env = mt10(20, seed=4, use_one_hot=True)
    observations, _ = env.reset()
    assert env.np_random_seed == (4, 5) * 10
    assert_same(observations[:, 39:], np.repeat(np.eye(10, dtype=np.float32), 2, axis=0))
    share = TABLE[MT10].join.shares(20, {"goals_seed": 4, "use_one_hot": True})[3]
    alone = batchenv.make(share.env_id, 2, **share.kwargs)
    assert_same(alone.reset(seed=4)[0], observations[6:8])
    rng = np.random.default_rng(0)
    for _ in range(20):
        actions = rng.uniform(-1, 1, (20, 4)).astype(np.float32)
        mine, theirs = env.step(actions), alone.step(actions[6:8])
        for one, other in zip(mine[:4], theirs[:4], strict=True):
            assert_same(one[6:8], other)


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_threads_do_not_matter(threads):
    one, many = begun(mt10(20, num_threads=1), 1), begun(mt10(20, num_threads=threads), 1)
    many._open().joined.force_parallel(threads > 1)
    rng = np.random.default_rng(0)
    for _ in range(25):
        actions = rng.uniform(-1, 1, (20, 4)).astype(np.float32)
        mine, theirs = one.step(actions), many.step(actions)
        assert_same(tuple(mine[:4]), tuple(theirs[:4]))
        assert_same(mine[4], theirs[4])


def test_snapshots_pickles_and_rollouts():
    env = begun(mt10(max_episode_steps=12, terminate_on_success=np.arange(10) % 2 == 0, seed=1), 1)
    actions = np.random.default_rng(0).uniform(-1, 1, (30, 10, 4)).astype(np.float32)
    env.rollout(actions[:5])
    twin, saved = pickle.loads(pickle.dumps(env)), env.snapshot()
    ways = [one.rollout(actions) for one in (env, twin)]
    assert_same(*(way.observations for way in ways))
    env.restore(saved)
    assert_same(env.rollout(actions).rewards, ways[0].rewards)
    assert env.get_attr("terminate_on_success") == twin.get_attr("terminate_on_success") == (True, False) * 5
    with pytest.raises(
        ValueError, match=r"row 0 of the snapshot cannot go into lane 1, which is one of Meta-World/push"
    ):
        env.restore(saved, rows=[0], lanes=[1])


def test_one_task():
    """MT1 and ML1 are the task's own id with other keywords."""
    env = batchenv.make("Meta-World/MT1", 3, env_name="reach-v3", seed=6)
    assert_same(env.reset()[0], batchenv.make("Meta-World/reach-v3", 3, goals_seed=6).reset(seed=6)[0])
    twin = pickle.loads(pickle.dumps(env))
    assert_same(twin.state, env.state)
    hidden = batchenv.make("Meta-World/ML1-test", 5, env_name="reach-v3", seed=6)
    assert not hidden.reset()[0][:, 36:].any()
    assert hidden.get_params()["terminate_on_success"]


def test_kept_goals_begin_anew_with_a_seed():
    env = batchenv.make("Meta-World/ML1-train", 2, env_name="reach-v3")
    starts = [env.reset(seed=3)[0] for _ in range(2)]
    assert_same(*starts)
    first = env.state["goal"]
    env.reset()
    assert_same(env.state["goal"], first)
    env.reset(options={"sample_tasks": np.array([True, False])})
    assert (env.state["goal"] != first).tolist() == [True, False]


@pytest.mark.parametrize("value", [-1, 50, 10**12])
def test_states_of_goals_that_there_are_not(value):
    env = begun(batchenv.make("Meta-World/ML1-train", 1, env_name="reach-v3"))
    env.set_state({"goal": [value]})
    with pytest.raises(batchenv.LaneError, match="there is no goal"):
        env.reset()


def test_lanes_that_fail():
    """They are told apart from the others, which go on."""
    env = begun(mt10(sample_tasks_on_reset=False, max_episode_steps=3, autoreset_mode="SameStep"))
    env.set_state({"goal": [99, 99]}, lanes=[2, 7])
    actions = np.zeros((10, 4), np.float32)
    env.step(actions), env.step(actions)
    with pytest.raises(batchenv.LaneError, match=r"2 of the lanes failed \(lane 2: there is no goal 99") as caught:
        env.step(actions)
    assert caught.value.env_id.tolist() == [2, 7]
    assert caught.value.result[3].sum() >= 8
    env.reset(options={"sample_tasks": True})
    env.set_state({"goal": [99]}, lanes=[4])
    env.send(actions[:3], [4, 5, 9]), env.send(actions[:7], [0, 1, 2, 3, 6, 7, 8])
    env.recv()
    env.step(actions)
    env.send(actions[:3], [4, 5, 9]), env.send(actions[:7], [0, 1, 2, 3, 6, 7, 8])
    with pytest.raises(batchenv.LaneError) as caught:
        env.recv()
    assert caught.value.env_id.tolist() == [4]
    assert caught.value.result[4]["env_id"].tolist() == list(range(10))


@pytest.mark.parametrize(
    ("env_id", "keywords", "error", "match"),
    [
        ("MT10", {"num_envs": 8}, ValueError, "num_envs=8 must be a multiple of 10"),
        ("MT10", {"meta_batch_size": 10}, TypeError, "takes no meta_batch_size here: num_envs"),
        ("MT10", {"recurrent_info_in_obs": True}, TypeError, "takes no recurrent_info_in_obs here: append"),
        ("MT10", {"task_idx": 3}, TypeError, "sets task_idx itself"),
        ("MT10", {"goals_seed": -1}, ValueError, "goals_seed=-1"),
        ("MT10", {"num_goals": 0}, ValueError, "num_goals=0"),
        ("MT10", {"gravitation": 0}, TypeError, "gravitation"),
        ("MT1", {}, ValueError, "needs the keyword env_name"),
        ("MT1", {"env_name": "reach-v2"}, ValueError, "it is 'reach-v2'"),
        ("ML1-train", {"env_name": "reach-v3", "num_envs": 3}, ValueError, "3 lanes of each task cannot share out 50"),
    ],
    ids=str,
)
def test_bad_keywords(env_id, keywords, error, match):
    with pytest.raises(error, match=match):
        batchenv.make(f"Meta-World/{env_id}", **{"num_envs": 10, **keywords})
