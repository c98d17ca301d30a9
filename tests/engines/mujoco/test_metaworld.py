"""Meta-World's tasks against the package itself, over the same MuJoCo: every bit of observations, rewards, ends, infos,
random streams and states. (tools/verify/compare_metaworld.py compares for longer.)"""

import importlib.util
import pickle

import gymnasium
import numpy as np
import pytest

import batchenv
from helpers.begun import begun
from helpers.metaworld import IDS, of, skilled, towards_objects
from helpers.mujoco import assert_alone_as_among_others, assert_models_same, mujoco
from helpers.parity import MODES, assert_same, assert_streams_same, follow, play

pytestmark = [
    pytest.mark.skipif(importlib.util.find_spec("metaworld") is None, reason="pip install 'batchenv[metaworld]'"),
    pytest.mark.filterwarnings("ignore:Constant.s. may be too high"),
]

beside = pytest.mark.skipif(mujoco.mjNEQDATA != 11, reason="the package does not run with this MuJoCo: 3.3.0 is for it")

REACH, DRAWER, PICK = "Meta-World/reach-v3", "Meta-World/drawer-close-v3", "Meta-World/pick-place-v3"


def states(ours, theirs):
    """What decides a lane's future, of both."""

    def both(name):
        return tuple(np.array([getattr(one, name).copy() for one in env.get_attr("data")]) for env in (ours, theirs))

    names = ("qpos", "qvel", "qacc_warmstart", "ctrl", "mocap_pos", "mocap_quat", "xpos", "site_xpos")
    return tuple(map(dict, zip(*([(name, values) for values in both(name)] for name in names), strict=True)))


@beside
@pytest.mark.cases(1, per="mode")
@pytest.mark.parametrize("env_id", IDS)
@pytest.mark.parametrize("mode", MODES, ids=[mode.value for mode in MODES])
def test_trajectories(env_id, mode):
    assert play(of(env_id, max_episode_steps=40), 130, mode)[0]


@beside
@pytest.mark.cases(2)
@pytest.mark.parametrize("env_id", IDS)
def test_tasks_that_are_done(env_id):
    """The package's policies get far, with all of a reward's parts; a success ends the episode."""
    case = of(env_id, max_episode_steps=300, terminate_on_success=True)
    vars(case).update(policy=skilled(env_id, 0.05))
    ours, theirs = case.pair(3, MODES[1])
    assert follow(case, ours, theirs, 240)[0]
    assert_streams_same(ours, theirs)


@beside
@pytest.mark.cases(2)
@pytest.mark.parametrize("env_id", IDS)
def test_hands_at_their_objects(env_id):
    """The hand's tip goes straight to the object, and tries to hold it, so that rewards for being there count."""
    case = of(env_id, max_episode_steps=80)
    vars(case).update(policy=towards_objects)
    follow(case, *case.pair(3), 160)


@beside
@pytest.mark.cases(2)
@pytest.mark.parametrize("env_id", [env_id for env_id in IDS if "button" not in env_id])
def test_goals_anywhere(env_id):
    """Goals are around the object, also where hands hardly ever bring it (below the board of a shelf, beside a goal of
    soccer), and from the first step on where they are clipped when observed. The package's buttons keep how far they
    have been from the goal at the start."""
    ours, theirs = of(env_id).pair(6)
    seen, _ = ours.reset(seed=0)
    theirs.reset(seed=0)
    rng = np.random.default_rng(0)
    for step in range(48):
        if step % 4 == 0:
            away = rng.uniform(0.07, 0.2, (6, 3)) * rng.choice([-1, 1], (6, 3))
            ours.set_state({"target": seen[:, 4:7] + away})
            for env, target in zip(theirs.envs, ours.state["target"], strict=True):
                env.unwrapped._target_pos = target.copy()
        actions = towards_objects(ours, step)
        result = ours.step(actions)
        assert_same(result, theirs.step(actions), f"step {step}")
        seen = result[0]


@beside
@pytest.mark.cases(2)
@pytest.mark.parametrize("env_id", IDS)
def test_states(env_id):
    case = of(env_id)
    vars(case).update(look=states)
    follow(case, *case.pair(2), 40)


@beside
def test_pucks_that_are_held():
    """Both pads press on the puck, and it is in the air."""
    seen = set()
    for env_id in (PICK, "Meta-World/push-v3"):
        case = of(env_id)
        policy = skilled(PICK, 0.0)

        def look(ours, theirs):
            seen.add(tuple(ours.state["object_start"][:, 2] + 0.02 < np.array(ours.get_attr("qpos"))[:, 11]))
            return (), ()

        vars(case).update(policy=policy, look=look)
        follow(case, *case.pair(2), 130)
    assert (True, True) in seen and (False, False) in seen


@beside
@pytest.mark.parametrize("env_id", [REACH, DRAWER])
def test_goals_that_are_hidden(env_id):
    """As in the package's ML1."""
    play(of(env_id, partially_observable=True, goals_seed=3, max_episode_steps=30), 70)


@beside
@pytest.mark.cases(8)
@pytest.mark.parametrize("env_id", IDS)
def test_models(env_id):
    """Models have the bytes of the reference's, once both have begun an episode with the same goal."""
    ours, theirs = of(env_id).pair(1)
    ours.reset(seed=3), theirs.reset(seed=3)
    model, other = ours.get_attr("model")[0], theirs.envs[0].unwrapped.model
    assert_models_same(model, other)


@pytest.mark.parametrize("env_id", IDS)
def test_snapshots_and_pickles(env_id):
    env = begun(batchenv.make(env_id, 3, max_episode_steps=25), seed=3)
    rng = np.random.default_rng(0)
    for step in range(60):
        observations, *_ = env.step(rng.uniform(-1, 1, (3, 4)).astype(np.float32))
        if step % 20 in (4, 5):
            snapshot, twin = env.snapshot(), pickle.loads(pickle.dumps(env))
            assert_same(env.restore(snapshot), observations)
            assert_same(twin.restore(snapshot), observations)
            actions = rng.uniform(-1, 1, (3, 4)).astype(np.float32)
            assert_same(tuple(map(np.asarray, twin.step(actions)[:4])), tuple(map(np.asarray, env.step(actions)[:4])))
            assert_same(twin.state, env.state)


@pytest.mark.cases(3, per="threads")
@pytest.mark.parametrize("env_id", IDS)
@pytest.mark.parametrize("threads", [1, 3])
def test_numbers_of_lanes_and_threads_do_not_matter(env_id, threads):
    one, many = batchenv.make(env_id, 1), batchenv.make(env_id, 21, num_threads=threads)
    assert_alone_as_among_others(one, many, towards_objects, 60)


def test_goals():
    """There are 50 of a seed, of which each episode has one."""
    env = batchenv.make(REACH, 400)
    goals = np.unique(env.reset(seed=0)[0][:, 36:], axis=0)
    assert len(goals) == 50
    assert_same(np.unique(env.reset()[0][:, 36:], axis=0), goals)
    other = batchenv.make(REACH, 400, goals_seed=1)
    assert not np.isin(other.reset(seed=0)[0][:, 36:], goals).any()
    assert (env.reset()[0][:, 36:] >= env.single_observation_space.low[36:]).all()


@pytest.mark.parametrize("env_id", IDS)
def test_envpools_names(env_id):
    """They are those of the package without hyphens. Goals are hidden unless the keyword says otherwise."""
    name = env_id.removeprefix("Meta-World/").removesuffix("-v3").title().replace("-", "")
    config = batchenv.make_spec(f"MetaWorld/{name}-v3").config
    assert config.partially_observable and config.max_episode_steps == 500


def test_envpools_names_have_the_same_episodes():
    mine, theirs = batchenv.make(DRAWER, 2), batchenv.make("MetaWorld/DrawerClose-v3", 2)
    first, second = mine.reset(seed=1)[0], theirs.reset(seed=1)[0]
    assert_same(first[:, :36], second[:, :36])
    assert first[:, 36:].all(axis=1).any() and not second[:, 36:].any()
    shown = batchenv.make("MetaWorld/DrawerClose-v3", 2, partially_observable=False)
    assert_same(shown.reset(seed=1)[0], first)


def test_kept_starts_are_those_of_the_first_lane():
    """Also where a lane has a model of its own, and after seeding."""
    env = batchenv.make(REACH, 2)
    first, _ = env.reset(seed=5)
    assert_same(env.reset(seed=5)[0], first)
    env.set_params(lanes=[1], body_mass=env.get_attr("model")[0].body_mass * 1.5)
    again, _ = env.reset(seed=5)
    assert_same(again[:1], first[:1])
    assert (again[1] != first[1]).any()
    assert_same(env.reset(seed=5)[0], again)


@pytest.mark.parametrize(
    ("keywords", "error", "match"),
    [
        ({"goals_seed": -1}, ValueError, "goals_seed=-1 must be"),
        ({"goals_seed": 1.5}, TypeError, "goals_seed=1.5 must be an int"),
        ({"goals_seed": 2**32}, ValueError, "goals_seed=4294967296 must be"),
        ({"xml_file": "none.xml"}, FileNotFoundError, "xml_file: there is no file"),
        ({"xml_file": "<mujoco/>"}, ValueError, "the model has no body 'hand'"),
        ({"partially_observable": 2}, TypeError, "partially_observable=2 must be"),
    ],
    ids=str,
)
def test_bad_keywords(keywords, error, match):
    with pytest.raises(error, match=match):
        batchenv.make(REACH, 2, **keywords)


@pytest.mark.parametrize("value", [np.nan, 1.01, -np.inf])
def test_bad_actions(value):
    env = begun(batchenv.make(REACH, 2), seed=0)
    before, actions = env.state, np.zeros((2, 4), np.float32)
    actions[1, 3] = value
    with pytest.raises(ValueError, match=r"action .* of lane 1 \(component 3\)"):
        env.step(actions)
    assert_same(env.state, before)


def test_without_the_package(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(gymnasium.error.DependencyNotInstalled, match="the package metaworld: pip install"):
        batchenv.make(REACH, 1)
