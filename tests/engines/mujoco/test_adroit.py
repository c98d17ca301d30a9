"""Adroit against gymnasium-robotics itself, over the same MuJoCo: every bit of observations, rewards, flags, infos,
random streams, models, data and pictures. (tools/verify/compare_robotics.py compares for longer.)"""

import os
import pickle
import re

import numpy as np
import pytest

import batchenv
from batchenv import _core
from helpers.begun import begun
from helpers.mujoco import assert_alone_as_among_others, assert_models_same, assert_pictures_same
from helpers.parity import MODES, assert_same, assert_streams_same, follow, play
from helpers.robotics import (
    ADROIT,
    adroit,
    adroit_starts,
    assert_survives_absurd_forces,
    held_at_random,
    make_robotics,
    specs,
)

pytest.importorskip("gymnasium_robotics", reason="pip install 'batchenv[robotics]'")
pytestmark = pytest.mark.filterwarnings("ignore:.*out of date:DeprecationWarning")

NAMES = ["Door", "Hammer", "Pen", "Relocate"]
TASKS = [f"AdroitHand{name}-v1" for name in NAMES]
DOOR, HAMMER, PEN, RELOCATE = TASKS


def looked_at(ours, theirs):
    """Data and models of both."""
    sides = [
        [(env.get_attr if env is ours else env.call)(name) for name in ("data", "model")] for env in (ours, theirs)
    ]
    of_data = ("time", "qpos", "qvel", "qacc", "qacc_warmstart", "xpos", "site_xpos", "sensordata", "actuator_force")
    return tuple(
        {name: np.array([getattr(one, name) for one in data]) for name in of_data}
        | {name: np.array([getattr(one, name) for one in model]) for name in ("body_pos", "body_quat", "site_pos")}
        for data, model in sides
    )


@pytest.mark.cases(2, per="mode")
@pytest.mark.parametrize("env_id", ADROIT)
@pytest.mark.parametrize("mode", MODES, ids=[mode.value for mode in MODES])
def test_trajectories(env_id, mode):
    assert play(adroit(env_id, max_episode_steps=20), 70, mode)[0]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("sparse", ["", "Sparse"])
def test_starts_that_are_given(name, sparse):
    """Every part of the rewards occurs. Data and models are the same, too."""
    case = adroit(f"AdroitHand{name}{sparse}-v1")
    rewards = set()
    for start in adroit_starts(name, np.random.default_rng(0)):
        vars(case).update(starts={"initial_state_dict": start}, look=looked_at)
        rewards |= follow(case, *case.pair(2), 6)[1]
    if sparse:
        assert rewards == {-0.1, 10}
    else:
        bonuses = {
            "Door": [-0.2, 2, 10, 20],
            "Hammer": [-1.5, 24.2, 99.3, 101.4],
            "Pen": [-4, 11, 61],
            "Relocate": [0, 0.8, 10.8, 30.8],
        }
        assert all(any(abs(reward - bonus) < 0.6 for reward in rewards) for bonus in bonuses[name])


def test_places_outlast_episodes():
    """What a reset has said and no episode draws stays, as in the reference, until the lane is seeded."""
    case = adroit(HAMMER)
    ours, theirs = case.pair(2)
    ours.reset(seed=0), theirs.reset(seed=0)
    start = adroit_starts("Hammer", np.random.default_rng(0))[0]
    for options in ({"initial_state_dict": start}, None):
        assert_same(ours.reset(options=options)[0], theirs.reset(options=options)[0])
        assert ours.state["board_pos"][0, :2].tolist() == [0.07, -0.02]
    ours.reset(seed=0)
    assert ours.state["board_pos"][:, :2].tolist() == [[0.05, 0.0]] * 2


@pytest.mark.parametrize("env_id", TASKS)
def test_models(env_id):
    """Models have the bytes of the reference's, whose actuators are changed after it is compiled."""
    env, theirs = begun(batchenv.make(env_id, 1), seed=4), make_robotics(env_id)
    theirs.reset(seed=4)
    model, theirs = env.get_attr("model")[0], theirs.unwrapped.model
    assert_models_same(model, theirs)


def test_ids_are_those_of_the_package():
    theirs = {name: spec for name, spec in specs().items() if name.startswith("Adroit")}
    assert set(ADROIT) == set(theirs)
    for env_id, spec in theirs.items():
        ours = batchenv.spec(env_id)
        assert (ours.max_episode_steps, ours.kwargs) == (spec.max_episode_steps, spec.kwargs), env_id


@pytest.mark.parametrize("env_id", TASKS)
def test_starts(env_id):
    """Places are drawn where the reference's are, whichever seed."""
    ours, theirs = adroit(env_id).pair(1, MODES[2])
    for seed in range(40):
        assert_same(ours.reset(seed=seed), theirs.reset(seed=seed))
    assert_same(ours.reset(), theirs.reset())
    assert_same(*looked_at(ours, theirs))
    assert_streams_same(ours, theirs)


def test_reward_types():
    play(adroit(DOOR, reward_type="Sparse"), 20)
    play(adroit("AdroitHandPenSparse-v1", reward_type="DENSE"), 20)


@pytest.mark.parametrize("size", [1, 2, 3, 4, 7, 15, 16, 33, 64, 200])
def test_dots_are_numpys(size):
    """Sums that BLAS takes in an order of its own."""
    rng = np.random.default_rng(size)
    for x, y in rng.normal(size=(200, 2, size)):
        assert _core.numpy_dot(x, y) == x.dot(y)
        assert np.sqrt(_core.numpy_dot(x, x)) == np.linalg.norm(x)


# ---- state


@pytest.mark.parametrize("env_id", TASKS)
def test_snapshots_and_pickles(env_id):
    env = begun(batchenv.make(env_id, 5, max_episode_steps=30), seed=3)
    rng = np.random.default_rng(0)
    for step in range(45):
        actions = rng.uniform(-1, 1, env.action_space.shape).astype(np.float32)
        observations, *_ = env.step(actions)
        if step % 15 == 14:
            snapshot, twin = env.snapshot(), pickle.loads(pickle.dumps(env))
            assert_same(env.restore(snapshot), observations)
            assert_same(twin.restore(snapshot), observations)
            assert_same(tuple(map(np.asarray, twin.step(actions)[:4])), tuple(map(np.asarray, env.step(actions)[:4])))
            assert_same(twin.state, env.state)
            assert_same(twin.snapshot(), env.snapshot())


@pytest.mark.parametrize("env_id", TASKS)
@pytest.mark.parametrize("threads", [1, 3])
def test_numbers_of_lanes_and_threads_do_not_matter(env_id, threads):
    """Nor does it whether lanes are stepped together, or alone, although their models differ."""
    one, many = batchenv.make(env_id, 1), batchenv.make(env_id, 21, num_threads=threads)
    assert_alone_as_among_others(one, many, held_at_random, 60, ("qacc", "efc_force", "contact", "sensordata"))


def test_lanes_are_stepped_together():
    for env_id in TASKS:
        physics = batchenv.make(env_id, 8).get_attr("physics")[0]
        assert re.search("together with others|arithmetic .* is not known", physics), env_id


@pytest.mark.parametrize("env_id", [HAMMER, RELOCATE])
def test_numbers_that_are_absurd(env_id):
    assert_survives_absurd_forces(adroit(env_id))


def test_places_may_be_set():
    env = begun(batchenv.make("AdroitHandRelocateSparse-v1", 2), seed=0)
    balls = np.array([data.body("Object").xpos for data in env.get_attr("data")])
    env.set_state({"target_pos": balls + 0.05})
    _, rewards, _, _, infos = env.step(env.action_space.high * 0)
    assert rewards.tolist() == [10, 10] and infos["success"].tolist() == [True, True]
    assert np.allclose(env.get_attr("model")[0].site("target").pos, balls[0] + 0.05)


# ---- starts of lanes


def test_starts_of_each_lane():
    """A row of numbers per lane; and in a plan."""
    starts = adroit_starts("Door", np.random.default_rng(1))[:3]
    rows = {name: np.stack([start[name] for start in starts]) for name in starts[0]}
    env = begun(batchenv.make(DOOR, 3), seed=0)
    together, _ = env.reset(options={"initial_state_dict": rows})
    for lane, start in enumerate(starts):
        env.reset(seed=0)
        observations, _ = env.reset(options={"initial_state_dict": start})
        assert observations[lane].tobytes() == together[lane].tobytes()
    planned = batchenv.make(DOOR, 3)
    planned.plan(options=[{"initial_state_dict": start} for start in starts])
    assert_same(planned.reset()[0], together)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda start: {"qpos": start["qpos"]}, r"must be a dict with \['qpos', 'qvel', 'board_pos'\], not \['qpos'\]"),
        (lambda start: [1, 2], "must be a dict with"),
        (lambda start: start | {"qvel": start["qvel"][1:]}, r"shape \(32,\) and dtype float64, but must be 33 numbers"),
        (lambda start: start | {"qpos": [start["qpos"]] * 3}, r"an array of shape \(2, 33\)"),
        (lambda start: start | {"board_pos": ["a", "b", "c"]}, "dtype <U1, but must be 3 numbers"),
        (lambda start: start | {"board_pos": [0, np.nan, 0]}, "must be finite"),
        (lambda start: start | {"qpos": np.full(33, np.inf)}, "must be finite"),
    ],
)
def test_bad_starts(change, match):
    env = begun(batchenv.make(HAMMER, 2), seed=0)
    before = env.snapshot()
    start = adroit_starts("Hammer", np.random.default_rng(1))[0]
    with pytest.raises(ValueError, match=match):
        env.reset(options={"initial_state_dict": change(start)})
    assert_same(env.snapshot(), before)
    with pytest.raises(ValueError, match="given"):
        env.reset(options={"given": True})


# ---- bad input


@pytest.mark.parametrize(
    ("env_id", "keywords", "error", "match"),
    [
        (DOOR, {"reward_type": "shaped"}, ValueError, "reward_type='shaped' must be one of"),
        (DOOR, {"frame_skip": 0}, ValueError, "frame_skip=0 must be"),
        (DOOR, {"xml_file": "none.xml"}, FileNotFoundError, "there is no file"),
        (DOOR, {"xml_file": "<mujoco/>"}, ValueError, "must have the actuators A_WRJ1 and A_WRJ0"),
    ],
    ids=str,
)
def test_bad_keywords(env_id, keywords, error, match):
    with pytest.raises(error, match=match):
        batchenv.make(env_id, 2, **keywords)


def test_a_model_of_another_task_is_refused():
    model = batchenv.make(PEN, 1).get_attr("model")[0]
    with pytest.raises(ValueError, match="has no joint 'door_hinge'"):
        batchenv.make(DOOR, 1, xml_file=model)
    with pytest.raises(ValueError, match="30 positions, 30 velocities and 24 actuators: there must be 36, 36 and 30"):
        batchenv.make(RELOCATE, 1, xml_file=model)


@pytest.mark.parametrize("bad", [np.nan, 1.5])
def test_bad_actions(bad):
    env = begun(batchenv.make(PEN, 2), seed=0)
    with pytest.raises(ValueError, match="action"):
        env.step(np.full((2, 24), bad, np.float32))
    env = begun(batchenv.make(PEN, 2, clip_actions=True), seed=0)
    assert np.isfinite(env.step(np.full((2, 24), 1.5, np.float32))[0]).all()


# ---- pictures


@pytest.mark.skipif("MUJOCO_GL" not in os.environ, reason="pictures need OpenGL: set MUJOCO_GL to egl or osmesa")
@pytest.mark.parametrize("env_id", TASKS)
def test_pictures(env_id):
    """Doors, boards and targets are seen where the reference shows them."""
    ours, theirs = adroit(env_id, render_mode="rgb_array", width=64, height=48).pair(2)
    assert ours.metadata["render_fps"] == theirs.metadata["render_fps"]
    for step in range(3):
        if step:
            ours.step(ours.action_space.high), theirs.step(ours.action_space.high)
        else:
            ours.reset(seed=0), theirs.reset(seed=0)
        assert_pictures_same(ours, theirs)
    ours.close(), theirs.close()
