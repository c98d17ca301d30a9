"""Stable-Baselines3's API over a BatchEnv, against Stable-Baselines3's own vector environments."""

import copy
import pickle
import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

import batchenv
from batchenv._core import OwnDicts, dones_and_rewards, put_ends
from helpers.awkward import makers
from helpers.awkward import same as exactly
from helpers.robots import example

pytest.importorskip("stable_baselines3")
import torch
from stable_baselines3 import DQN, PPO, SAC, HerReplayBuffer
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.envs import BitFlippingEnv
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv, VecCheckNan, VecFrameStack, VecMonitor, VecNormalize

from batchenv.integrations.sb3 import BatchVecEnv

torch.set_num_threads(1)  # more of them wait for each other where other tests run
pytestmark = pytest.mark.filterwarnings("ignore:.*already wrapped with a `Monitor`")
LANES = 3


class Numbered(gymnasium.Env):
    """A Dict env that says much, and keeps what it has said."""

    observation_space = spaces.Dict({"a": spaces.Box(-9, 9, (2,), np.float32), "b": spaces.Discrete(50)})
    action_space = spaces.Discrete(3)
    height = 1

    def __init__(self, length=4):
        self.length, self.told = length, []

    def look(self):
        return {"a": np.array([self.steps, self.height], np.float32), "b": self.steps}

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps = 0
        return self.look(), {"begun": True, "options": str(options), "drawn": float(self.np_random.random())}

    def step(self, action):
        self.steps += 1
        self.told.append(self.steps)
        info = {"steps": self.steps, "told": self.told, "deep": {"action": float(action)}}
        if self.steps % 2:
            info["odd"] = "yes"
        return self.look(), 0.1 * self.steps, self.steps == self.length, False, info

    def action_masks(self):
        return np.array([True, self.steps % 2 == 0, True])

    def times(self, factor, plus=0):
        return self.length * factor + plus


def same(ours, theirs):
    """Equal in values, and arrays in dtypes. Of numbers, the type may be NumPy's."""
    if isinstance(theirs, dict):
        assert set(ours) == set(theirs)
        for name in theirs:
            if name != "t":
                same(ours[name], theirs[name])
    elif isinstance(theirs, (list, tuple)):
        assert len(ours) == len(theirs)
        for a, b in zip(ours, theirs, strict=True):
            same(a, b)
    else:
        np.testing.assert_array_equal(ours, theirs)
        if isinstance(theirs, np.ndarray):
            assert ours.dtype == theirs.dtype and ours.shape == theirs.shape


def compare(ours, theirs, steps, sample=None):
    """Lets both take the same actions; returns how many episodes ended."""
    same(ours.reset(), theirs.reset())
    same(ours.reset_infos, theirs.reset_infos)
    ended = 0
    space = copy.deepcopy(theirs.action_space)
    space.seed(0)
    for _ in range(steps):
        actions = np.stack([space.sample() for _ in range(theirs.num_envs)])
        expected, got = theirs.step(actions), ours.step(actions)
        same(got, expected)
        assert type(got[3]) is list and all(type(info) is dict for info in got[3])
        assert all(type(info["TimeLimit.truncated"]) is bool for info in got[3])
        same(ours.reset_infos, theirs.reset_infos)
        ended += expected[2].sum()
    return ended


WRAPPERS = {
    "bare": lambda env: env,
    "VecMonitor": VecMonitor,
    "VecNormalize": VecNormalize,
    "VecFrameStack": lambda env: VecFrameStack(env, 3),
    "VecCheckNan": VecCheckNan,
}


@pytest.mark.parametrize("wrap", WRAPPERS.values(), ids=WRAPPERS)
@pytest.mark.parametrize("env_id", ["CartPole-v1", "Pendulum-v1", "MountainCarContinuous-v0"])
def test_as_make_vec_env(env_id, wrap):
    kwargs = {"max_episode_steps": 30}
    ours = wrap(batchenv.make(env_id, LANES, seed=7, env_type="sb3", **kwargs))
    assert compare(ours, wrap(make_vec_env(env_id, LANES, seed=7, env_kwargs=kwargs)), 100) >= 6


@pytest.mark.parametrize("env_id", ["Taxi-v4", "FrozenLake-v1", "Blackjack-v1"])
def test_infos_and_discrete_observations(env_id):
    kwargs = {"max_episode_steps": 13}
    ours = batchenv.make(env_id, LANES, seed=7, env_type="sb3", **kwargs)
    assert compare(ours, make_vec_env(env_id, LANES, seed=7, env_kwargs=kwargs), 60) >= 6


@pytest.mark.parametrize("wrap", [WRAPPERS["bare"], VecNormalize], ids=["bare", "VecNormalize"])
@pytest.mark.parametrize("env_id", ["HalfCheetah-v5", "Hopper-v5"])
def test_mujoco_with_its_infos(env_id, wrap):
    pytest.importorskip("mujoco")
    kwargs = {"max_episode_steps": 9}
    ours = wrap(batchenv.make(env_id, LANES, seed=3, env_type="sb3", **kwargs))
    assert compare(ours, wrap(make_vec_env(env_id, LANES, seed=3, env_kwargs=kwargs)), 30) >= 6


@pytest.mark.parametrize("workers", ["serial", "threads", "processes"])
def test_environments_in_python(workers):
    make = [lambda: Numbered(4), lambda: Numbered(5), lambda: Numbered(7)]
    ours = batchenv.make_python(make, workers=workers, env_type="sb3", seed=2)
    theirs = DummyVecEnv([lambda one=one: Monitor(one()) for one in make])
    theirs.seed(2)
    assert compare(ours, theirs, 30) >= 12
    for env in (ours, theirs):
        assert env.get_attr("length") == [4, 5, 7] and env.get_attr("length", [2, 0]) == [7, 4]
        assert env.env_method("times", 2, plus=1, indices=[1]) == [11]
        assert env.env_method("times", 2, indices=2) == [14]
        assert env.has_attr("action_masks") and not env.has_attr("nonsense")
        with pytest.raises(AttributeError, match="nonsense"):
            env.get_attr("nonsense")
    same(ours.env_method("action_masks"), theirs.env_method("action_masks"))
    ours.set_attr("height", 5, indices=[0, 2])
    assert ours.get_attr("height") == [5, 1, 5]
    ours.set_attr("height", [1, 2])  # one value, not one per env
    assert ours.get_attr("height") == [[1, 2]] * 3
    ours.close()


def test_options_and_seeds():
    env = batchenv.make("CartPole-v1", LANES, env_type="sb3")
    theirs = make_vec_env("CartPole-v1", LANES)
    for each in (env, theirs):
        assert each.seed(5) == [5, 6, 7]
        each.set_options({"low": -0.01, "high": 0.01})
    first = env.reset()
    same(first, theirs.reset())
    assert abs(first).max() <= 0.01
    same(env.reset(), theirs.reset())  # neither holds for the next reset
    for again in range(2):  # options of lanes' own, before the first reset of all and after
        env = batchenv.make("CartPole-v1", LANES, env_type="sb3") if not again else env
        for each in (env, theirs):
            if not again:
                each.seed(9)
            each.set_options([{"low": 0.02, "high": 0.03}, {}, {"low": -0.9, "high": -0.8}])
        same(env.reset(), theirs.reset())
    env.set_options({"lo": 0.0})
    with pytest.raises(ValueError, match="did you mean 'low'"):
        env.reset()
    python_env = batchenv.make_python(Numbered, 2, workers="serial", env_type="sb3")
    python_env.reset()
    python_env.set_options([{"a": 1}, {"b": 2}])
    python_env.reset()
    assert "'a': 1" in python_env.reset_infos[0]["options"] and "'b': 2" in python_env.reset_infos[1]["options"]


def test_dicts_belong_to_whoever_gets_them():
    env = batchenv.make("CartPole-v1", 2, env_type="sb3", seed=0)
    env.reset()
    kept = [env.step(np.array([0, 1]))[3] for _ in range(7)]
    assert len({id(info) for infos in kept for info in infos}) == 14
    ended = sum("episode" in info for infos in kept for info in infos)
    before = copy.deepcopy([[dict(info, kept=None) for info in infos] for infos in kept])
    one = kept[0][0]
    del kept
    for _ in range(6):
        infos = env.step(np.array([0, 1]))[3]
        infos[0]["mine"] = 1
        infos[1]["TimeLimit.truncated"] = True
        infos.append({})
    del infos
    assert one == {"TimeLimit.truncated": False} and ended == 0 and len(before) == 7
    for _ in range(6):
        infos = env.step(np.array([0, 1]))[3]
        assert len(infos) == 2
        for info in infos:
            assert info["TimeLimit.truncated"] is False
            assert set(info) in ({"TimeLimit.truncated"}, {"TimeLimit.truncated", "terminal_observation", "episode"})


def test_own_dicts():
    dicts = OwnDicts(3, "key", None)
    first = dicts.take()
    assert first == [{"key": None}] * 3
    names, one = [id(info) for info in first], first[1]
    del first[0]["key"]
    first[2] = "something else"
    del first
    again = dicts.take()
    assert again == [{"key": None}] * 3 and again[1] is not one and id(again[1]) != names[1]
    held = [dicts.take() for _ in range(9)]
    assert len({id(info) for infos in [again, *held] for info in infos}) == 30


@pytest.mark.parametrize("lanes", [1, 128, 129, 1000])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
def test_dones_and_rewards_are_numpys(lanes, dtype):
    rng = np.random.default_rng(lanes)
    reward = (rng.normal(size=2 * lanes) * 1e9).astype(dtype)
    flags = rng.random((2, 2 * lanes)) < 0.3
    for stride in (1, 2):  # every second one is no array that is read as it lies
        (terminated, truncated), rewards = flags[:, : lanes * stride : stride], reward[: lanes * stride : stride]
        dones, narrow = dones_and_rewards(terminated, truncated, rewards)
        np.testing.assert_array_equal(dones, terminated | truncated, strict=True)
        np.testing.assert_array_equal(narrow, rewards.astype(np.float32), strict=True)


def test_put_ends_checks_what_it_is_given():
    flags, rows = np.zeros(2, np.bool_), np.zeros((1, 4))
    with pytest.raises(ValueError, match=r"must be in 0\.\.1"):
        put_ends([{}, {}], np.array([2]), rows, flags, flags, None, 0.0)
    with pytest.raises(ValueError, match=r"must be in 0\.\.1"):
        put_ends([{}, {}], np.array([-1]), rows, flags, flags, None, 0.0)
    with pytest.raises(ValueError, match="flags"):
        put_ends([{}], np.array([0]), rows, flags, flags, None, 0.0)
    with pytest.raises(ValueError, match="rows"):
        put_ends([{}, {}], np.array([0, 1]), rows, flags, flags, None, 0.0)
    with pytest.raises(ValueError, match="lengths"):
        put_ends([{}, {}], np.array([0]), rows, flags, flags, {"r": np.zeros(1), "l": np.zeros(2)}, 0.0)


def test_wraps_an_env_that_exists():
    env = batchenv.make("CartPole-v1", LANES, autoreset_mode="SameStep", seed=1, max_episode_steps=9)
    wrapped = BatchVecEnv(env)
    assert wrapped.env is env and wrapped.num_envs == len(wrapped) == LANES
    assert wrapped.spec.id == "batchenv/CartPole-v1"
    theirs = DummyVecEnv([lambda: gymnasium.make("CartPole-v1", max_episode_steps=9)] * LANES)
    theirs.seed(1)
    assert compare(wrapped, theirs, 20) >= 3  # without statistics as without a Monitor
    assert wrapped.env_is_wrapped(Monitor) == [False] * 3
    for name, value in (("autoreset_mode", "NextStep"), ("autoreset_mode", "Disabled"), ("batch_size", 2)):
        with pytest.raises(ValueError, match=name):
            batchenv.make("CartPole-v1", LANES, env_type="sb3", **{name: value})
    with pytest.raises(TypeError, match="CartPoleEnv"):
        BatchVecEnv(gymnasium.make("CartPole-v1").unwrapped)


def test_attributes_of_environments_in_c():
    env = batchenv.make("CartPole-v1", LANES, env_type="sb3", seed=0)
    assert env.get_attr("gravity") == [9.8] * 3 and env.get_attr("gravity", indices=[1]) == [9.8]
    env.set_attr("gravity", 1.0, indices=[0, 2])
    assert env.get_attr("gravity") == [1.0, 9.8, 1.0] and env.get_attr("gravity", 2) == [1.0]
    env.set_attr("gravity", 2.0)
    assert env.get_attr("gravity", range(2)) == [2.0] * 2
    env.reset()
    assert env.env_method("x", indices=[0]) == env.get_attr("x", 0)
    for call in (env.get_attr, env.env_method):
        with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
            call("nonsense")
    with pytest.raises(AttributeError, match="no parameter 'x'"):
        env.set_attr("x", 1.0, indices=[0])
    with pytest.raises(ValueError, match="lane 3"):
        env.get_attr("gravity", 3)
    assert env.env_is_wrapped(Monitor, [0, 1]) == [True, True]
    assert env.env_is_wrapped(gymnasium.wrappers.TimeLimit) == [False] * 3
    assert not env.has_attr("action_masks")


@pytest.mark.parametrize("workers", ["serial", "processes"])
def test_wrappers_of_environments_in_python(workers):
    makers = [Numbered, lambda: gymnasium.wrappers.TimeLimit(Numbered(), 3)]
    env = batchenv.make_python(makers, workers=workers, env_type="sb3")
    assert env.env_is_wrapped(gymnasium.wrappers.TimeLimit) == [False, True]
    assert env.env_is_wrapped(gymnasium.wrappers.TimeLimit, 1) == [True]
    assert env.env_is_wrapped(Monitor) == [True, True]
    env.close()


def test_pictures():
    pytest.importorskip("pygame")
    env = batchenv.make("CartPole-v1", 2, env_type="sb3", render_mode="rgb_array", seed=0)
    theirs = make_vec_env("CartPole-v1", 2, seed=0)
    env.reset()
    theirs.reset()
    same(env.get_images(), theirs.get_images())
    same(env.render(), theirs.render())
    assert env.render_mode == "rgb_array" and env.metadata == theirs.metadata
    with pytest.warns(UserWarning, match="rgb_array"):
        assert batchenv.make("CartPole-v1", 2, env_type="sb3").get_images() == [None, None]


def test_pickle_goes_on_where_it_was():
    env = batchenv.make("CartPole-v1", LANES, env_type="sb3", seed=0)
    env.reset()
    for _ in range(5):
        env.step(np.ones(LANES, int))
    again = pickle.loads(pickle.dumps(env))
    for _ in range(20):
        same(again.step(np.ones(LANES, int)), env.step(np.ones(LANES, int)))


def test_a_model_learns_is_saved_and_evaluated(tmp_path):
    env = VecNormalize(batchenv.make("CartPole-v1", 8, env_type="sb3", seed=0))
    model = PPO("MlpPolicy", env, n_steps=32, batch_size=64, n_epochs=1, seed=0, device="cpu").learn(512)
    assert model.ep_info_buffer
    model.save(tmp_path / "model.zip")
    env.save(tmp_path / "moments.pkl")
    other = VecNormalize.load(tmp_path / "moments.pkl", batchenv.make("CartPole-v1", 8, env_type="sb3", seed=1))
    again = PPO.load(tmp_path / "model.zip", env=other, device="cpu")
    observation = np.zeros((8, 4), np.float32)
    same(again.predict(observation, deterministic=True)[0], model.predict(observation, deterministic=True)[0])
    again.learn(256)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        returns, lengths = evaluate_policy(again, other, 5, return_episode_rewards=True)
    assert returns == lengths and len(returns) == 5  # CartPole pays 1 a step, whatever VecNormalize makes of it


def trained(make, algorithm, policy="MlpPolicy", steps=200, **kwargs):
    """The parameters of a policy that has learnt a little."""
    model = algorithm(policy, make(), seed=0, device="cpu", **kwargs).learn(steps)
    return {name: value.numpy() for name, value in model.policy.state_dict().items()}


@pytest.mark.parametrize("algorithm", [PPO, DQN, SAC], ids=lambda one: one.__name__)
def test_learns_bit_for_bit_what_it_learns_with_its_own(algorithm):
    env_id = "Pendulum-v1" if algorithm is SAC else "CartPole-v1"
    kwargs = {"n_steps": 32, "batch_size": 32} if algorithm is PPO else {"learning_starts": 50, "batch_size": 16}
    ours = trained(lambda: batchenv.make(env_id, LANES, env_type="sb3", seed=4), algorithm, **kwargs)
    same(ours, trained(lambda: make_vec_env(env_id, LANES, seed=4), algorithm, **kwargs))


def test_tasks_over_mujoco_in_numpy():
    """A learner has their observations of two parts, and the sums of their rewards."""
    pytest.importorskip("mujoco")
    walk = example("walk")
    env = batchenv.make_mujoco(walk.model(), LANES, task=walk.Walk, env_type="sb3", seed=4, max_episode_steps=20)
    model = PPO("MultiInputPolicy", VecMonitor(env), n_steps=32, batch_size=32, n_epochs=1, seed=0)
    model.learn(4 * 32 * LANES)
    assert len(model.ep_info_buffer) >= 4 * LANES and all(info["l"] == 20 for info in model.ep_info_buffer)
    assert set(env.step(np.zeros((LANES, 12), np.float32))[3][0]["reward"]) > {"velocity", "turn"}


def test_hindsight_replay():
    """It asks environments for rewards, and keeps infos."""
    kwargs = {"learning_starts": 50, "buffer_size": 1000, "policy": "MultiInputPolicy"}
    kwargs |= {"replay_buffer_class": HerReplayBuffer, "replay_buffer_kwargs": {"copy_info_dict": True}}
    make = lambda: BitFlippingEnv(n_bits=4, continuous=True, max_steps=4)  # noqa: E731
    ours = trained(lambda: batchenv.make_python(make, 2, workers="serial", env_type="sb3", seed=4), SAC, **kwargs)
    same(ours, trained(lambda: make_vec_env(make, 2, seed=4), SAC, **kwargs))


def test_masks_and_recurrence_of_sb3_contrib():
    contrib = pytest.importorskip("sb3_contrib")
    env = batchenv.make("Taxi-v4", LANES, env_type="sb3", seed=0, max_episode_steps=7)
    env.reset()
    for _ in range(20):
        masks = env.env_method("action_masks")
        assert all(mask.dtype == bool and mask.shape == (6,) and mask.any() for mask in masks)
        expected = [env.env.call("s")[lane] for lane in range(LANES)]
        forbidden = np.array([np.flatnonzero(~mask)[0] for mask in masks])
        if env.env.state["elapsed_steps"].max() < 6:  # what a mask forbids does not move the taxi
            env.step(forbidden)
            assert list(env.env.call("s")) == expected
        masks = env.env_method("action_masks")
        env.step(np.array([np.flatnonzero(mask)[0] for mask in masks]))
    same(env.get_attr("action_masks", [1])[0](), env.env_method("action_masks", indices=1)[0])
    short = {"n_steps": 16, "batch_size": 16}
    trained(lambda: batchenv.make("Taxi-v4", LANES, env_type="sb3", seed=0), contrib.MaskablePPO, **short)
    make = lambda: batchenv.make_python(Numbered, 2, workers="processes", env_type="sb3")  # noqa: E731
    trained(make, contrib.MaskablePPO, "MultiInputPolicy", **short)
    options = {"env_type": "sb3", "seed": 1}
    both = (lambda: batchenv.make("CartPole-v1", 2, **options)), lambda: make_vec_env("CartPole-v1", 2, seed=1)
    same(*[trained(make, contrib.RecurrentPPO, "MlpLstmPolicy", steps=64, **short) for make in both])


def test_masks_before_a_reset():
    env = batchenv.make("Taxi-v4", 2, env_type="sb3")
    assert env.has_attr("action_masks")
    with pytest.raises(gymnasium.error.ResetNeeded, match=r"env\.reset"):
        env.env_method("action_masks")


def test_lives_are_no_games():
    pytest.importorskip("ale_py")
    env = batchenv.make("Breakout-v5", 2, env_type="sb3", episodic_life=True, seed=0)
    env.reset()
    lives = games = 0
    for _ in range(1500):
        _, _, dones, infos = env.step(np.array([env.action_space.sample() for _ in range(2)]))
        for info in (infos[lane] for lane in np.flatnonzero(dones)):
            lives += 1
            games += "episode" in info
        if games:
            break
    assert games and lives >= 5 * games


@pytest.mark.parametrize("workers", ["serial", "threads", "processes", "asyncio"])
@pytest.mark.parametrize("monitored", [True, False])
def test_what_an_awkward_env_says(workers, monitored):
    """Infos, options, seeds and last observations are those of DummyVecEnv, types too."""
    make = makers(parts=monitored)
    some = {} if workers == "asyncio" else {"num_workers": 2}
    ours = batchenv.make_python(make, workers=workers, env_type="sb3", record_episode_statistics=monitored, **some)
    plain = makers(parts=monitored, reuses=False)
    theirs = DummyVecEnv([lambda one=one: Monitor(one()) if monitored else one() for one in plain])
    for options in ({}, {"start": 1}, [{"start": [lane]} if lane % 2 else {} for lane in range(len(make))]):
        for env in (ours, theirs):
            env.seed(5)
            env.set_options(options)
        exactly(ours.reset(), dict(theirs.reset()) if monitored else theirs.reset())
        exactly(ours.reset_infos, theirs.reset_infos, ("options",))
        for lane, info in enumerate(ours.reset_infos):
            assert (info["options"] or None) == theirs.reset_infos[lane]["options"]
        kept = []
        for step in range(13):
            actions = np.arange(len(make)) * step % 3
            got, (seen, *expected) = ours.step(actions), theirs.step(actions)
            exactly(got, (dict(seen) if monitored else seen, *expected), ("t",))
            exactly(ours.reset_infos, theirs.reset_infos, ("t", "options"))
            kept.append((got, copy.deepcopy(got)))
        for now, before in kept:
            exactly(now, before)
    ours.close()


def test_a_dict_of_options_for_each_env():
    ours = batchenv.make_python(makers(), workers="serial", env_type="sb3")
    ours.set_options([{"start": 1}])
    with pytest.raises(ValueError, match=r"set_options\(\) got 1 dicts, but must .* one for all, or one for each of 4"):
        ours.reset()
    ours.close()


def test_the_env_below_puts_infos_together():
    """Who uses the BatchEnv itself gets infos as ever, or the error that they do not fit together."""
    told = [lambda: Numbered(3), lambda: Numbered(4)]
    ours = batchenv.make_python(told, workers="serial", env_type="sb3", record_episode_statistics=False)
    plain = batchenv.make_python(told, workers="serial", autoreset_mode="SameStep")
    for env in (ours.env, plain):
        env.reset(seed=1)
    for _ in range(5):
        mine, its = (env.step(np.zeros(2, int)) for env in (ours.env, plain))
        same(mine[:4], its[:4])
        assert mine[4].keys() == its[4].keys() and pickle.loads(pickle.dumps(mine[4])).keys() == its[4].keys()
        for name in ("steps", "_steps", "odd", "final_info"):
            same(mine[4].get(name), its[4].get(name))
    for env in (ours, plain):
        env.close()
    awkward = batchenv.make_python(makers(), workers="serial", env_type="sb3").env
    observations, infos = awkward.reset(seed=1)
    assert observations.shape == (4, 2) and infos
    with pytest.raises(ValueError, match="cannot be put together"):
        len(infos)
    awkward.close()
