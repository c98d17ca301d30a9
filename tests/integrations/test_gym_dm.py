"""The old gym's, the old EnvPool's and dm_env's API over a BatchEnv: against Gymnasium's trajectories, and EnvPool's
forms."""

import importlib.util
import sys
import types

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.envs.classic_control import CartPoleEnv
from gymnasium.error import ClosedEnvironmentError
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import batchenv
from helpers import ids
from helpers.begun import begun
from helpers.lockstep import actions_of
from helpers.processes import run_python

MODES = list(AutoresetMode)


def sync(env_id, lanes, mode):
    make = lambda: gymnasium.make(env_id, disable_env_checker=True, max_episode_steps=11)  # noqa: E731
    return SyncVectorEnv([make] * lanes, autoreset_mode=mode)


def equal(ours, theirs):
    np.testing.assert_array_equal(ours, theirs)
    assert type(ours) is type(theirs)
    if isinstance(theirs, tuple):
        for a, b in zip(ours, theirs, strict=True):
            equal(a, b)
    elif isinstance(theirs, np.ndarray):
        assert ours.dtype == theirs.dtype and ours.shape == theirs.shape


@pytest.mark.parametrize("env_type", ["gym", "envpool_gym", "dm"])
def test_unknown_reset_options_are_refused(env_type):
    if env_type == "dm":
        pytest.importorskip("dm_env", reason="needs dm_env: pip install 'batchenv[dm]'")
    env = batchenv.make("CartPole-v1", 3, env_type=env_type)
    with pytest.raises(ValueError, match="did you mean 'high'"):
        env.reset(options={"hihg": 0.1})


def test_spec_knows_no_env_type():
    for env_type in ("gymnasium", "gym"):
        env = batchenv.make("CartPole-v1", 3, env_type=env_type, gravity=3.7)
        assert "env_type" not in env.spec.kwargs
        again = gymnasium.make_vec(env.spec)
        assert isinstance(again, batchenv.BatchEnv) and again.num_envs == 3
        assert again.get_attr("gravity") == (3.7,) * 3


# ---- gym -----------------------------------------------------------------------------------------------------------


@pytest.mark.cases(1, per="env_id")
@pytest.mark.parametrize("mode", MODES, ids=str)
@pytest.mark.parametrize("env_id", ids.IN_GYMNASIUM)
def test_gym_trajectories(env_id, mode):
    ours = batchenv.make(env_id, 5, env_type="gym", autoreset_mode=mode, max_episode_steps=11)
    theirs = sync(env_id, 5, mode)
    equal(ours.reset(seed=3), theirs.reset(seed=3)[0])
    ended = 0
    for actions in actions_of(theirs, 40, seed=0):
        observations, rewards, dones, info = ours.step(actions)
        expected = theirs.step(actions)
        equal(observations, expected[0])
        equal(rewards, expected[1])
        equal(info["terminated"], expected[2])
        equal(dones, expected[2] | expected[3])
        equal(info["TimeLimit.truncated"], expected[3] & ~expected[2])
        assert set(expected[4]) <= set(info)
        for lane in np.flatnonzero(dones) if mode is AutoresetMode.SAME_STEP else ():
            equal(info["final_observation"][lane], expected[4]["final_obs"][lane])
            assert info["_final_observation"][lane]
        ended += dones.sum()
        if mode is AutoresetMode.DISABLED and dones.any():
            options = {"reset_mask": dones}
            equal(ours.reset(options=options), theirs.reset(options=dict(options))[0])
    assert ended >= 10


def test_gym_time_limit_at_a_terminal_step():
    """What terminates at the limit was not cut off by it, as in gym's TimeLimit."""
    steps = 0
    env = begun(batchenv.make("CartPole-v1", 1, env_type="gym"))
    while not env.step([0])[2][0]:
        steps += 1
    both = begun(batchenv.make("CartPole-v1", 1, env_type="gym", max_episode_steps=steps + 1))
    results = [both.step([0]) for _ in range(steps + 1)]
    assert results[-1][2][0] and results[-1][3]["terminated"][0] and not results[-1][3]["TimeLimit.truncated"][0]
    short = begun(batchenv.make("CartPole-v1", 1, env_type="gym", max_episode_steps=steps))
    results = [short.step([0]) for _ in range(steps)]
    assert results[-1][2][0] and not results[-1][3]["terminated"][0] and results[-1][3]["TimeLimit.truncated"][0]


def test_gym_seed():
    env, plain = batchenv.make("CartPole-v1", 3, env_type="gym"), batchenv.make("CartPole-v1", 3)
    env.seed(7)
    equal(env.reset(), plain.reset(seed=7)[0])
    equal(env.reset(), plain.reset()[0])  # a seed serves one reset
    env.seed([4, None, 6])
    equal(env.reset(), plain.reset(seed=[4, None, 6])[0])
    env.seed(1)
    equal(env.reset(seed=2), plain.reset(seed=2)[0])
    equal(env.reset(), plain.reset()[0])
    env.seed()
    assert not np.array_equal(env.reset(), plain.reset()[0])
    for wrong in (-1, 1.5, "1", [1, 2]):
        with pytest.raises((TypeError, ValueError), match="seed"):
            env.seed(wrong)
    observations, infos = env.reset(seed=5, return_info=True)
    equal(observations, plain.reset(seed=5)[0])
    assert infos == {}


def test_gym_attributes():
    """What old code reads, and that unknown names are refused."""
    with batchenv.make("CartPole-v1", 3, env_type="gym") as env:
        assert isinstance(env.env, batchenv.BatchEnv) and env.num_envs == 3 and env.render() is None
        assert env.autoreset_mode is AutoresetMode.SAME_STEP
        assert env.observation_space == env.env.observation_space and env.action_space == env.env.action_space
        assert env.single_action_space == gymnasium.make("CartPole-v1").action_space
        assert env.get_attr("gravity") == (9.8,) * 3
        env.set_attr("x_threshold", 1.0)
        assert env.single_observation_space.high[0] == 2.0
        assert "CartPole-v1" in repr(env) and repr(env).startswith("GymBatchEnv(")
        for name in ("nonsense", "_nonsense"):
            with pytest.raises(AttributeError, match=name):
                getattr(env, name)
    with pytest.raises(ClosedEnvironmentError):
        env.step([0, 0, 0])


def test_apis_do_not_copy():
    kept = begun(batchenv.make("CartPole-v1", 4, env_type="gym", copy=False))
    results = [kept.step([0, 1, 0, 1]) for _ in range(5)]
    assert results[0][0] is results[4][0] and results[0][1] is results[4][1]


# ---- the gym API of EnvPool before 1.0 -------------------------------------------------------------------------------


@pytest.mark.parametrize("env_id", ids.IN_GYMNASIUM)
def test_pool_trajectories(env_id):
    ours = batchenv.make(env_id, 5, env_type="envpool_gym", max_episode_steps=11)
    theirs = sync(env_id, 5, AutoresetMode.NEXT_STEP)
    assert ours.observation_space == theirs.single_observation_space
    assert ours.action_space == theirs.single_action_space
    equal(ours.reset(seed=3), theirs.reset(seed=3)[0])
    for actions in actions_of(theirs, 40, seed=0):
        observations, rewards, dones, info = ours.step(actions)
        expected = theirs.step(actions)
        equal(observations, expected[0])
        equal(rewards, expected[1].astype(np.float32))
        equal(info["reward"], rewards)
        assert not np.shares_memory(info["reward"], rewards)
        equal(info["terminated"], expected[2])
        equal(dones, expected[2] | expected[3])


def test_pool_names_that_scripts_set():
    """They make spaces of one lane out of what EnvPool calls its spaces, and say the number of lanes again."""
    env = batchenv.make("CartPole-v1", env_type="envpool_gym", num_envs=3, seed=1)
    env.num_envs = 3
    env.single_action_space = env.action_space
    env.single_observation_space = env.observation_space
    assert env.single_action_space.n == 2 and env.single_observation_space.shape == (4,)
    assert env.num_envs == 3 and env.reset().shape == (3, 4)
    with pytest.raises(ValueError, match="num_envs=4 must be 3"):
        env.num_envs = 4
    assert env.num_envs == 3


def test_pool_spaces_are_gyms(monkeypatch):
    """Once the process has imported gym: scripts ask isinstance(env.action_space, gym.spaces.Discrete)."""
    names = ("Discrete", "Box", "MultiDiscrete", "MultiBinary", "Tuple", "Dict")
    classes = {name: type(name, (getattr(spaces, name),), {}) for name in names}
    gym = types.SimpleNamespace(spaces=types.SimpleNamespace(**classes))
    for env_id in ("CartPole-v1", "Pendulum-v1", "Blackjack-v1"):
        env = batchenv.make(env_id, 2, env_type="envpool_gym")
        before = env.observation_space, env.action_space
        monkeypatch.setitem(sys.modules, "gym", gym)
        for space, plain in zip((env.observation_space, env.action_space), before, strict=True):
            assert type(space) is classes[type(plain).__name__] and space == plain
        assert env.action_space is env.action_space  # so that seed() counts
        assert env.env.single_action_space is before[1]
        monkeypatch.delitem(sys.modules, "gym")
    assert all(type(part) is spaces.Discrete for part in before[0])  # Blackjack's, and Gymnasium's again
    env = batchenv.make("CartPole-v1", 2, env_type="envpool_gym")
    monkeypatch.setitem(sys.modules, "gym", gym)
    assert env.observation_space.high[0] == np.float32(4.8)
    env.set_attr("x_threshold", 1.0)
    assert env.observation_space.high[0] == 2.0
    of_all = spaces.Dict(
        a=spaces.Discrete(3, start=-1),
        b=spaces.Tuple([spaces.Box(0, 1, (2,), np.float64), spaces.MultiBinary(3)]),
        c=spaces.MultiDiscrete([2, 5]),
    )
    env = batchenv.make_python(lambda: OfAllSpaces(of_all), 1, workers="serial", env_type="envpool_gym")
    space = env.observation_space
    assert space == of_all and type(space) is classes["Dict"] and space["a"].start == -1
    assert type(space["b"]) is classes["Tuple"] and type(space["b"][1]) is classes["MultiBinary"]
    assert type(space["b"][0]) is classes["Box"] and space["b"][0].dtype == np.float64
    assert type(space["c"]) is classes["MultiDiscrete"]


class OfAllSpaces(gymnasium.Env):
    """Nothing but an observation space."""

    action_space = spaces.Discrete(2)

    def __init__(self, space):
        self.observation_space = space


def test_pool_spaces_of_the_real_gym():
    if importlib.util.find_spec("gym") is None:
        pytest.skip("gym is not installed")
    code = """
import gym, batchenv
env = batchenv.make("CartPole-v1", 2, env_type="envpool_gym")
wrapped = gym.Wrapper(env)
assert isinstance(wrapped.action_space, gym.spaces.Discrete) and wrapped.action_space.n == 2
assert isinstance(wrapped.observation_space, gym.spaces.Box) and wrapped.observation_space.shape == (4,)
assert wrapped.reset().shape == (2, 4) and len(wrapped.step([0, 1])) == 4
"""
    run_python(code)


def test_pool_reward_clip():
    ours = batchenv.make("Pendulum-v1", 4, env_type="envpool_gym", reward_clip=True)
    plain = batchenv.make("Pendulum-v1", 4, reward_dtype="float32")
    ours.reset(seed=0)
    plain.reset(seed=0)
    for _ in range(20):
        _, rewards, _, info = ours.step(np.zeros((4, 1), np.float32))
        expected = plain.step(np.zeros((4, 1), np.float32))[1]
        equal(info["reward"], expected)
        equal(rewards, np.clip(expected, -1, 1))
        assert (expected < -1).any()
    assert ours.config["reward_clip"] is True
    with pytest.raises(TypeError, match="reward_clip=1 must be True or False"):
        batchenv.make("Pendulum-v1", 4, env_type="envpool_gym", reward_clip=1)


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_pool_games(mode):
    """Returns that are summed up as scripts do, over the lives of a game and before clipping, are the statistics'."""
    pytest.importorskip("multi_agent_ale_py", reason="needs libale_c: pip install 'batchenv[atari]'")
    pytest.importorskip("ale_py", reason="needs the ROMs of ale-py: pip install 'batchenv[atari]'")
    lanes = 3
    options = {"episodic_life": True, "reward_clip": True, "record_episode_statistics": True, "autoreset_mode": mode}
    env = batchenv.make("Breakout-v5", env_type="envpool_gym", num_envs=lanes, seed=1, **options)
    env.reset()
    returns, games, lives_lost = np.zeros(lanes, np.float32), 0, 0
    rng = np.random.default_rng(0)
    for _ in range(600):
        _, _, dones, info = env.step(rng.integers(0, env.action_space.n, lanes))
        returns += info["reward"]
        lives_lost += (dones & ~info["terminated"]).sum()
        if dones.any():
            equal(info["terminated"], dones & (info.get("final_info", info)["lives"] == 0))
        if info["terminated"].any():
            equal(info["_episode"], info["terminated"])
            over = info["terminated"]
            np.testing.assert_array_equal(info["episode"]["r"][over], returns[over])
            games += over.sum()
        returns *= 1 - info["terminated"]
    assert games >= 3 and lives_lost >= 10


# ---- dm_env --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("env_id", ids.IN_GYMNASIUM)
def test_dm_trajectories(env_id):
    dm_env = pytest.importorskip("dm_env")
    ours = batchenv.make(env_id, 5, env_type="dm", max_episode_steps=11)
    theirs = sync(env_id, 5, AutoresetMode.NEXT_STEP)
    first = ours.reset(seed=3)
    equal(first.observation.obs, theirs.reset(seed=3)[0])
    assert first.first().all() and not first.reward.any() and (first.discount == 1).all()
    last = [False] * 5
    kinds = set()
    for actions in actions_of(theirs, 40, seed=0):
        timestep = ours.step(actions)
        assert type(timestep) is dm_env.TimeStep
        observations, rewards, terminations, truncations, _ = theirs.step(actions)
        equal(timestep.observation.obs, observations)
        equal(timestep.reward, rewards)
        for lane in range(5):
            ended = bool(terminations[lane] or truncations[lane])
            expected = dm_env.StepType.LAST if ended else dm_env.StepType.MID
            if last[lane]:
                expected = dm_env.StepType.FIRST
                assert timestep.reward[lane] == 0.0
            assert timestep.step_type[lane] == expected
            assert timestep.discount[lane] == (0.0 if terminations[lane] else 1.0)
            last[lane] = ended
            kinds.add(expected)
    assert len(kinds) == 3
    again = ours.reset()
    assert again.first().all()
    assert not ours.step(actions).first().any()


@pytest.mark.parametrize("env_id", ids.IN_GYMNASIUM)
def test_dm_specs(env_id):
    """Every row of what comes out conforms to the specs of one lane; so does what action_spec generates go in."""
    pytest.importorskip("dm_env")
    env = batchenv.make(env_id, 4, env_type="dm", seed=0, max_episode_steps=5)
    spec, action_spec = env.observation_spec(), env.action_spec()
    assert spec._fields == env.reset().observation._fields
    for _ in range(12):
        timestep = env.step(np.stack([action_spec.generate_value()] * 4))
        for lane in range(4):
            spec.env_id.validate(timestep.observation.env_id[lane])
            obs = timestep.observation.obs
            of_tuple = isinstance(spec.obs, tuple)  # one spec and one array a part
            for field, value in zip(spec.obs, obs, strict=True) if of_tuple else [(spec.obs, obs)]:
                field.validate(np.asarray(value[lane]))
            env.reward_spec().validate(np.asarray(timestep.reward[lane]))
            env.discount_spec().validate(np.asarray(timestep.discount[lane]))
    action_spec.validate(env.env.single_action_space.sample())


def test_dm_protocol():
    dm_env = pytest.importorskip("dm_env")
    with batchenv.make("CartPole-v1", 3, env_type="dm", seed=9) as env:
        assert isinstance(env, dm_env.Environment) and isinstance(env.env, batchenv.BatchEnv)
        assert env.num_envs == 3 and env.render() is None and repr(env).startswith("DmBatchEnv(")
        started = env.step(np.zeros(3, int))  # a step before any reset is one
        assert started.first().all()
        equal(started.observation.obs, batchenv.make("CartPole-v1", 3).reset(seed=9)[0])
        equal(started.observation.env_id, np.arange(3, dtype=np.int32))
        with pytest.raises(ValueError, match="action 2 of lane 1"):
            env.step([0, 2, 0])
        assert env.step([0, 1, 0]).mid().all()
        with pytest.raises(ValueError, match="reset_mask"):
            env.reset(options={"reset_mask": np.array([True, False, True])})
    with pytest.raises(ClosedEnvironmentError):
        env.reset()
    for mode in ("SameStep", "Disabled"):
        with pytest.raises(ValueError, match=f"autoreset_mode='{mode}' must be 'NextStep' with env_type='dm'"):
            batchenv.make("CartPole-v1", 2, env_type="dm", autoreset_mode=mode)


def test_dm_env_is_optional():
    code = """
import importlib.util
import sys
sys.modules["dm_env"] = None  # as if it were not installed
import batchenv
batchenv.make("CartPole-v1", 2, env_type="gym").reset(seed=0)
try:
    batchenv.make("CartPole-v1", 2, env_type="dm")
except ImportError as error:
    print(error)
"""
    assert "pip install 'batchenv[dm]'" in run_python(code)


def test_import_loads_no_dm_env():
    code = "import sys, batchenv; assert not {'dm_env', 'tree', 'batchenv.integrations.dm'} & set(sys.modules)"
    run_python(code)


# ---- EnvPool -------------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("env_id", ["CartPole-v1", "Pendulum-v1", "MountainCar-v0", "Acrobot-v1"])
def test_dm_form_is_envpools(env_id):
    """Shapes, dtypes and specs; rewards and discounts have the specs' float64, which EnvPool's arrays have not."""
    envpool = pytest.importorskip("envpool", reason="compares with EnvPool")
    pytest.importorskip("dm_env")
    ours, theirs = batchenv.make(env_id, 4, env_type="dm"), envpool.make(env_id, env_type="dm", num_envs=4)
    actions = np.stack([theirs.action_spec().generate_value()] * 4)
    for a, b in ((ours.reset(), theirs.reset()), (ours.step(actions), theirs.step(actions))):
        equal(a.step_type, b.step_type)
        equal(a.observation.env_id, b.observation.env_id)
        assert a.observation.obs.shape == b.observation.obs.shape and a.observation.obs.dtype == b.observation.obs.dtype
        assert a.reward.shape == b.reward.shape and a.discount.shape == b.discount.shape
        np.testing.assert_array_equal(a.discount, b.discount)
    assert ours.reward_spec() == theirs.reward_spec() and ours.discount_spec() == theirs.discount_spec()
    obs, expected = ours.observation_spec().obs, theirs.observation_spec().obs
    assert (obs.shape, obs.dtype, obs.name) == (expected.shape, expected.dtype, expected.name)
    action, expected = ours.action_spec(), theirs.action_spec()
    assert (action.shape, action.name) == (expected.shape, expected.name)
    np.testing.assert_array_equal(action.minimum, expected.minimum)
    np.testing.assert_array_equal(action.maximum, expected.maximum)


def test_dm_step_types_are_envpools():
    """The same rhythm of FIRST, MID and LAST: every lane pushed to one side until it falls."""
    envpool = pytest.importorskip("envpool", reason="compares with EnvPool")
    pytest.importorskip("dm_env")
    for env in (
        batchenv.make("CartPole-v1", 6, env_type="dm", seed=0),
        envpool.make("CartPole-v1", env_type="dm", num_envs=6, seed=0),
    ):
        env.reset()
        before = None
        for _ in range(60):
            timestep = env.step(np.ones(6, np.int32))
            np.testing.assert_array_equal(timestep.discount, np.where(timestep.last(), 0, 1))
            np.testing.assert_array_equal(timestep.reward, np.where(timestep.first(), 0, 1))
            if before is not None:
                np.testing.assert_array_equal(timestep.first(), before.last())
            before = timestep


@pytest.mark.parametrize("env_type", ["gym", "dm"])
def test_lanes_in_flight(env_type):
    """The rows received are, lane by lane, those of the same face's steps."""
    if env_type == "dm":
        pytest.importorskip("dm_env")
    sync = batchenv.make("CartPole-v1", 6, env_type=env_type, max_episode_steps=5)
    ours = batchenv.make("CartPole-v1", 6, env_type=env_type, max_episode_steps=5, batch_size=2)
    if env_type == "dm":
        expected = [sync.reset(seed=3)]
    else:
        expected = [(sync.reset(seed=3), np.zeros(6), np.zeros(6, bool), {"terminated": np.zeros(6, bool)})]
    expected += [sync.step(np.full(6, t % 2)) for t in range(12)]
    ours.async_reset(seed=3)
    for t, row in enumerate(expected):
        again = []
        for _ in range(3):
            result = ours.recv(10)
            if env_type == "dm":
                ids = result.observation.env_id
                np.testing.assert_array_equal(result.observation.obs, row.observation.obs[ids])
                for k in range(3):
                    np.testing.assert_array_equal(result[k], row[k][ids])
            else:
                assert len(result) == 4
                ids = result[3]["env_id"]
                for k in range(3):
                    np.testing.assert_array_equal(result[k], row[k][ids])
                np.testing.assert_array_equal(result[3]["terminated"], row[3]["terminated"][ids])
            again.extend(ids.tolist())
        assert sorted(again) == list(range(6))
        ours.send(np.full(6, t % 2), again)


def test_python_envs_take_env_type():
    """make_python gives another API, with that API's defaults, as make does."""
    with batchenv.make_python(CartPoleEnv, 2, workers="serial", env_type="gym", seed=3) as env:
        assert type(env).__name__ == "GymBatchEnv"
        assert env.autoreset_mode == AutoresetMode.SAME_STEP
        expected, _ = batchenv.make("CartPole-v1", 2, seed=3).reset()
        assert np.array_equal(env.reset(), expected)
