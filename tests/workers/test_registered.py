"""Ids that batchenv has not in C: `make` takes them from Gymnasium's registry."""

import sys
import types
import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import SyncVectorEnv

import batchenv
from batchenv.env import factory
from helpers.lockstep import lockstep
from helpers.parity import MODES
from helpers.python_envs import ARRAYS, Anything

LANES = 5


@pytest.fixture
def registered(monkeypatch):
    """An env of a user's own, in a module that registers it when it is imported."""
    module = types.ModuleType("my_own_envs")
    module.Own = lambda **keywords: Anything(ARRAYS["box"], **keywords)
    monkeypatch.setitem(sys.modules, "my_own_envs", module)
    spec = gymnasium.envs.registration.EnvSpec("MyOwn-v3", module.Own, reward_threshold=7.0, max_episode_steps=4)
    monkeypatch.setitem(gymnasium.registry, "MyOwn-v3", spec)
    monkeypatch.setattr(factory, "_told", set())
    return spec


def test_an_id_that_only_gymnasium_has(registered):
    with pytest.warns(UserWarning, match=r"MyOwn-v3 is written in Python, and steps in 2 processes") as told:
        env = batchenv.make("MyOwn-v3", 3, num_workers=2)
    assert told[0].filename == __file__
    assert env.backend == "processes" and env.num_threads == 2
    assert env.id == "MyOwn-v3" and env.spec.reward_threshold == 7.0 and env.config["max_episode_steps"] == 4
    env.close()
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # it was said
        for env_id in ("MyOwn-v3", "my_own_envs:MyOwn-v3"):
            assert batchenv.make(env_id).backend == "serial"  # one lane
        env = batchenv.make("MyOwn-v3", 3, workers="threads", env_type="gym")
    assert env.env.backend == "threads"


def test_nothing_is_said_to_who_has_chosen(registered):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert batchenv.make("MyOwn-v3", 2, workers="serial").backend == "serial"


def test_keywords_go_to_batchenv_or_to_the_env(registered):
    env = batchenv.make("MyOwn-v3", 2, workers="serial", render_mode="rgb_array", seed=5, max_episode_steps=2)
    env.reset()
    assert env.np_random_seed == (5, 6) and env.render()[0].shape == (2, 2, 3)
    env.step(np.zeros(2, int))
    assert (env.step(np.zeros(2, int))[2] | env.step(np.zeros(2, int))[3]).any()
    action_space = gymnasium.spaces.Discrete(5)
    env = batchenv.make("MyOwn-v3", 2, workers="serial", action_space=action_space)
    assert env.single_action_space == action_space
    with pytest.raises(TypeError, match="unexpected keyword argument 'wieght'"):
        batchenv.make("MyOwn-v3", 2, workers="serial", wieght=3)


def test_what_batchenv_has_in_c_stays_in_c():
    for env_id in ("CartPole-v1", "batchenv/CartPole-v1", "gymnasium:CartPole-v1"):
        assert batchenv.make(env_id, 2).backend == "C"


def test_another_env_of_a_known_name(monkeypatch):
    """A module's own CartPole-v1 is not batchenv's."""
    module = types.ModuleType("my_cart_poles")
    monkeypatch.setitem(sys.modules, "my_cart_poles", module)
    spec = gymnasium.envs.registration.EnvSpec("CartPole-v1", lambda: Anything(ARRAYS["box"]))
    monkeypatch.setitem(gymnasium.registry, "CartPole-v1", spec)
    env = batchenv.make("my_cart_poles:CartPole-v1", 2, workers="serial")
    assert env.single_observation_space.shape == (3, 2)


def test_the_time_limit_is_the_ids_own(registered):
    """TimeLimit's work is the core's; what the env can read of its spec is the same."""
    ours = batchenv.make("MyOwn-v3", LANES, workers="serial")
    theirs = SyncVectorEnv([lambda: gymnasium.make("MyOwn-v3")] * LANES)
    assert ours.get_attr("spec") == theirs.get_attr("spec")
    ends, _ = lockstep(ours, theirs, 40)
    assert ends > LANES


def test_unknown_ids():
    with pytest.raises(ValueError, match=r"did you mean CarRacing-v3 \(of Gymnasium's registry\)\?"):
        batchenv.make("CarRacing-v2", 2)
    with pytest.raises(ValueError, match=r"no environment 'CarRacing-v2' in Gymnasium's registry: did you mean Car"):
        batchenv.make_python("CarRacing-v2", 2)
    with pytest.raises(ModuleNotFoundError, match="no_such_module") as raised:
        batchenv.make("no_such_module:Own-v0", 2)
    assert "registers with Gymnasium" in raised.value.__notes__[0]
    with pytest.raises(ValueError, match="The module 'types' does not register it with Gymnasium"):
        batchenv.make("types:Own-v0", 2)


# ---- the same numbers as SyncVectorEnv -----------------------------------------------------------------------------

CASES = [  # id, module, steps of each lane in each autoreset mode
    ("CartPole-v1", "gymnasium", 4000),
    ("LunarLander-v3", "Box2D", 4000),
    ("LunarLanderContinuous-v3", "Box2D", 300),
    ("BipedalWalker-v3", "Box2D", 300),
    ("CarRacing-v3", "Box2D", 12),  # not in threads: pygame draws one picture at a time
    ("MiniGrid-DoorKey-5x5-v0", "minigrid", 1500),
    ("Blackjack-v1", "gymnasium", 1000),  # an observation that is a Tuple
    ("PointMaze_UMaze-v3", "gymnasium_robotics", 200),  # a Dict of goals
]


@pytest.mark.cases(1, per="env_id")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("env_id", "package", "steps"), CASES)
def test_the_same_numbers(env_id, package, steps, mode):
    """20,000 steps where steps are quick. Each mode is in a kind of workers of its own."""
    module = pytest.importorskip(package)
    if package == "gymnasium_robotics":
        gymnasium.register_envs(module)
    kind = {"NextStep": "processes", "SameStep": "serial", "Disabled": "threads"}[mode.value]
    if kind == "threads" and env_id == "CarRacing-v3":
        kind = "processes"
    ours = batchenv.make_python(env_id, LANES, workers=kind, num_workers=2, autoreset_mode=mode)
    theirs = SyncVectorEnv([lambda: gymnasium.make(env_id)] * LANES, autoreset_mode=mode)
    ends, _ = lockstep(ours, theirs, steps, env_id)
    assert ends or steps < 1000
