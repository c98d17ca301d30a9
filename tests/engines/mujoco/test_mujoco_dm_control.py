"""The DM Control suite against dm_control itself, over the same MuJoCo: every bit of observations, rewards, discounts
and ends. (tools/verify/compare_dm_control.py compares for longer, and with other versions of MuJoCo.)"""

import pickle
import xml.etree.ElementTree as ElementTree
from xml.etree.ElementTree import SubElement

import gymnasium
import mujoco
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict

import batchenv
from batchenv import _core
from batchenv.envs.mujoco import dm_models
from batchenv.envs.mujoco.dm_control import suite
from helpers import dm_control
from helpers.processes import python, succeeded
from helpers.project import ROOT

pytest.importorskip("dm_control")

WALKER, CHEETAH = "dm_control/walker-walk-v0", "dm_control/cheetah-run-v0"
HEAVY = ("dog", "humanoid_CMU", "quadruped")  # whose steps take long


@pytest.mark.parametrize("name", dm_control.names(), ids="-".join)
def test_equals_dm_control(name):
    steps = 60 if name[0] in HEAVY else 250
    keywords = {"model_seed": 3} if name[0] == "lqr" else {}
    assert list(dm_control.differences(*name, seed=3, steps=steps, limit=steps // 2 - 7, **keywords)) == []


@pytest.mark.parametrize("isa", _core.supported_isas())
@pytest.mark.parametrize("name", [("walker", "run"), ("humanoid", "stand"), ("cartpole", "three_poles")], ids="-".join)
def test_equals_dm_control_with_each_instruction_set(name, isa, monkeypatch):
    monkeypatch.setenv("BATCHENV_ISA", isa)
    assert list(dm_control.differences(*name, seed=11, lanes=9, steps=120, limit=50, hold=4)) == []


@pytest.mark.parametrize("kernels", ["Haswell", "SkylakeX"])
def test_equals_dm_control_with_other_kernels_of_openblas(kernels):
    """With which NumPy multiplies a vector by a matrix, with or without fused multiply-adds."""
    if not any(name.startswith("avx512") for name in _core.supported_isas()) and kernels == "SkylakeX":
        pytest.skip("these kernels need AVX-512")
    tasks = [("humanoid", "stand"), ("dog", "fetch"), ("quadruped", "fetch"), ("swimmer", "swimmer6"), ("fish", "swim")]
    code = f"""
import sys
sys.path[:0] = [{str(ROOT / "tests")!r}]
from helpers import dm_control
for name in {tasks!r}:
    assert not list(dm_control.differences(*name, seed=3, lanes=2, steps=40, limit=15)), name
"""
    succeeded(python("-c", code, OPENBLAS_CORETYPE=kernels))


def test_equals_dm_control_one_lane_at_a_time(monkeypatch):
    monkeypatch.setenv("BATCHENV_PHYSICS", "0")
    assert list(dm_control.differences("walker", "walk", steps=150)) == []
    assert list(dm_control.differences("humanoid", "run", lanes=1, steps=150)) == []


def test_lanes_are_stepped_together():
    env = batchenv.make(WALKER, 8)
    env.reset(seed=0)
    for _ in range(5):
        env.step(env.action_space.sample())
    assert "together with others" in env.call("physics")[0]


@pytest.mark.parametrize("threads", [1, 3])
def test_numbers_of_lanes_and_threads_do_not_matter(threads):
    one, many = batchenv.make(WALKER, 1), batchenv.make(WALKER, 21, num_threads=threads)
    (first, _), (all_of_them, _) = one.reset(seed=20), many.reset(seed=0)
    for key in first:
        assert first[key].tobytes() == all_of_them[key][20:].tobytes()
    rng = np.random.default_rng(0)
    for _ in range(40):
        actions = rng.uniform(-1, 1, many.action_space.shape)
        mine, theirs = one.step(actions[20:]), many.step(actions)
        assert mine[1].tobytes() == theirs[1][20:].tobytes()
        assert all(mine[0][key].tobytes() == theirs[0][key][20:].tobytes() for key in mine[0])


# ---- spaces, keywords


def test_spaces_are_those_of_the_specs():
    env = batchenv.make(WALKER, 2)
    reference = dm_control.load().load("walker", "walk")
    assert isinstance(env.single_observation_space, Dict)
    for name, spec in reference.observation_spec().items():
        space = env.single_observation_space[name]
        assert space.shape == spec.shape
        assert space.dtype == spec.dtype
        assert np.all(space.high == np.inf)
    assert env.single_observation_space.keys() == reference.observation_spec().keys()
    action = reference.action_spec()
    assert env.single_action_space == Box(action.minimum, action.maximum, action.shape, np.float64)


def test_flat_observations_are_the_parts_in_a_row():
    parts, flat = batchenv.make(WALKER, 3), batchenv.make(WALKER, 3, observation="flat")
    assert flat.single_observation_space == Box(-np.inf, np.inf, (24,), np.float64)
    rows, row = parts.reset(seed=4)[0], flat.reset(seed=4)[0]
    order = list(dm_control.load().load("walker", "walk").observation_spec())  # a Dict space sorts its keys
    for _ in range(30):
        assert np.array_equal(np.concatenate([rows[key].reshape(3, -1) for key in order], axis=1), row)
        actions = parts.action_space.sample()
        rows, row = parts.step(actions)[0], flat.step(actions)[0]


@pytest.mark.parametrize("value", ["pixel", 3, None])
def test_observation_must_be_known(value):
    with pytest.raises(ValueError, match=r"observation=.* must be 'dict', 'flat' or 'pixels'"):
        batchenv.make(WALKER, 2, observation=value)


@pytest.mark.parametrize(("envpool", "name"), [("CheetahRun-v1", CHEETAH), ("WalkerWalk-v1", WALKER)])
def test_envpools_names(envpool, name):
    mine, theirs = batchenv.make(name, 2), batchenv.make(envpool, 2)
    first, second = mine.reset(seed=1)[0], theirs.reset(seed=1)[0]
    assert all(np.array_equal(first[key], second[key]) for key in first)
    assert theirs.spec.max_episode_steps == 1000


def test_tasks_differ_by_params_that_lanes_may_have_of_their_own():
    env = batchenv.make(WALKER, 2)
    env.reset(seed=[5, 5])
    env.set_params(move_speed=np.array([0.0, 8.0]))
    _, rewards, *_ = env.step(np.zeros((2, 6)))
    for lane, task in enumerate(("stand", "run")):
        reference = dm_control.load().load("walker", task, task_kwargs={"random": 5})
        reference.reset()
        assert reference.step(np.zeros(6)).reward == rewards[lane]


def test_fields_of_models():
    """A lane with a model of its own equals dm_control with that model, where episodes start, too."""
    env = batchenv.make(WALKER, 2)
    friction = np.stack([env.get_attr("model")[0].geom_friction] * 2)
    friction[1] *= 0.3
    env.set_params(geom_friction=friction)
    reference = dm_control.load().load("walker", "walk", task_kwargs={"random": 8})
    reference.physics.model.geom_friction[:] = friction[1]
    observations, expected = env.reset(seed=[0, 8])[0], reference.reset()
    for _ in range(200):
        assert all(np.array_equal(observations[key][1], value) for key, value in expected.observation.items())
        actions = env.action_space.sample()
        observations, expected = env.step(actions)[0], reference.step(actions[1])


# ---- what lanes keep


def test_snapshots_and_pickles_go_on_alike():
    env = batchenv.make(CHEETAH, 3, max_episode_steps=40)
    env.reset(seed=0)
    rng = np.random.default_rng(0)
    actions = rng.uniform(-1, 1, (100, *env.action_space.shape))
    for k in range(25):
        env.step(actions[k])
    saved, copied = env.snapshot(), pickle.loads(pickle.dumps(env))
    played = [env.step(row) for row in actions[25:]]
    env.restore(saved)
    for other in (env, copied):
        for row, (observations, rewards, *_) in zip(actions[25:], played, strict=True):
            again = other.step(row)
            assert again[1].tobytes() == rewards.tobytes()
            assert all(again[0][key].tobytes() == observations[key].tobytes() for key in observations)


def test_data_is_dm_controls():
    """`data` has what the reference's physics shows after a step: what positions decide is of where the step ended."""
    env = batchenv.make(WALKER, 1)
    reference = dm_control.load().load("walker", "walk", task_kwargs={"random": 2})
    env.reset(seed=2)
    reference.reset()
    for _ in range(7):
        action = env.action_space.sample()
        env.step(action)
        reference.step(action[0])
    (data,) = env.call("data")
    for name in ("qpos", "qvel", "xpos", "xmat", "cvel", "sensordata", "qacc_warmstart"):
        assert np.array_equal(getattr(data, name), getattr(reference.physics.data, name)), name


def test_gymnasium_makes_it():
    env = gymnasium.make_vec("batchenv/dm_control-cheetah-run-v0", 2)
    observations, _ = env.reset(seed=0)
    assert observations["position"].shape == (2, 8)
    env.close()


# ---- refusals


def test_the_package_is_missing(monkeypatch):
    import importlib.util

    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *rest: None if name == "dm_control" else find(name, *rest)
    )
    with pytest.raises(gymnasium.error.DependencyNotInstalled, match=r"in the package dm_control: pip install"):
        batchenv.make(WALKER, 2)


def test_a_model_without_the_names():
    body = "<worldbody><body><joint name='j'/><geom size='1'/></body></worldbody>"
    xml = f"<mujoco>{body}<actuator><motor joint='j'/></actuator></mujoco>"
    with pytest.raises(ValueError, match="the model has no body 'torso'"):
        batchenv.make(WALKER, 2, xml_file=xml)


@pytest.mark.parametrize(
    ("env_id", "body", "place"),
    [
        ("dm_control/humanoid-stand-v0", "humanoid", "0 0 1.5"),
        ("dm_control/humanoid_CMU-stand-v0", "humanoid_CMU", "0 0 1.5"),
        ("dm_control/ball_in_cup-catch-v0", "ball_in_cup", "0 0 .3"),
    ],
)
def test_starts_that_always_touch_something_are_given_up(env_id, body, place):
    """dm_control tries for ever, and nobody could stop a thread that does."""
    root = dm_models.read(suite(f"{body}.xml"))
    SubElement(root.find("worldbody"), "geom", type="sphere", size="1", pos=place, contype="15", conaffinity="15")
    env = batchenv.make(env_id, 2, xml_file=ElementTree.tostring(root, encoding="unicode"))
    with pytest.raises(batchenv.LaneError, match="no start without contacts was found in 1000 tries: check the model"):
        env.reset(seed=0)


def test_unstable_simulations_raise_as_in_dm_control():
    env = batchenv.make(WALKER, 2)
    env.reset(seed=0)
    env.set_state({"qfrc_applied": np.array([np.full(9, 1e12), np.zeros(9)])})
    with pytest.raises(batchenv.LaneError, match="the simulation is unstable"):
        for _ in range(3):
            env.step(np.zeros((2, 6)))


def test_contacts_are_counted_where_mujoco_counts_them():
    from batchenv.envs.mujoco import library

    assert library.contacts_at() > 0
    model = mujoco.MjModel.from_xml_string(library._BALLS.format('<geom pos="0 0 0.05" size=".1"/>'))
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    import ctypes

    assert ctypes.c_int32.from_address(data._address + library.contacts_at()).value == data.ncon == 1


def test_time_steps_of_dm_env():
    env = batchenv.make(WALKER, 2, env_type="dm", max_episode_steps=5)
    reference = dm_control.load().load("walker", "walk", task_kwargs={"random": 1})
    reference._step_limit = 5
    specs = env.observation_spec().obs
    for name, spec in reference.observation_spec().items():
        assert (specs[name].shape, specs[name].dtype, specs[name].name) == (spec.shape, spec.dtype, name)
        assert type(specs[name]) is type(spec)
    assert np.array_equal(env.action_spec().minimum, reference.action_spec().minimum)
    ours, theirs = env.reset(seed=0), reference.reset()
    for _ in range(12):
        assert ours.step_type[1] == theirs.step_type
        assert all(np.array_equal(ours.observation.obs[name][1], value) for name, value in theirs.observation.items())
        if not theirs.first():
            assert (ours.reward[1], ours.discount[1]) == (theirs.reward, theirs.discount)
        actions = env.env.action_space.sample()
        ours, theirs = env.step(actions), reference.step(actions[1])


@pytest.mark.parametrize("value", [3, np.int64(3), np.uint8(3)])
def test_sizes_of_models_are_integers_of_any_kind(value):
    env = batchenv.make("dm_control/cartpole-swingup-v0", 2, num_poles=value)
    assert env.single_observation_space["position"].shape == (7,)
    assert env.get_params()["num_poles"] == 3


@pytest.mark.parametrize("value", [0, 101, 2.5, 3.0, "2", True, None])
def test_sizes_of_models_are_checked(value):
    with pytest.raises((TypeError, ValueError), match="num_poles"):
        batchenv.make("dm_control/cartpole-swingup-v0", 2, num_poles=value)
