"""Built-in transforms equal Gymnasium's own wrappers around the same environments under SyncVectorEnv, bit for bit."""

import copy
import functools
import pickle

import gymnasium
import numpy as np
import pytest
from gymnasium import wrappers
from gymnasium.envs.registration import EnvSpec
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers import vector as vector_wrappers
from gymnasium.wrappers.utils import rescale_box

import batchenv
from helpers.begun import begun
from helpers.parity import MODES, Case, assert_same, choose, follow

# Gymnasium's wrappers cast bounds that lose precision, and say so.
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::RuntimeWarning")

LANES = 13  # not a multiple of any vector
STEPS = 260
IDS = ["CartPole-v1", "MountainCar-v0", "MountainCarContinuous-v0", "Pendulum-v1", "Acrobot-v1"]
LIMIT = 37  # episodes end, by truncation too


class Repeat(gymnasium.Wrapper):
    """Takes each action several times; Gymnasium has no such wrapper."""

    def __init__(self, env, times):
        super().__init__(env)
        self.times = times

    def step(self, action):
        total = 0.0
        for _ in range(self.times):
            observation, reward, terminated, truncated, info = self.env.step(action)
            total += float(reward)
            if terminated or truncated:
                break
        return observation, total, terminated, truncated, info


def chain(env_id, max_episode_steps, repeat=1, scale=None, clip=None, rescale=None, time=False, dtype=None, stack=None):
    """One of Gymnasium's environments in the wrappers that our keywords stand for."""
    env = gymnasium.make(env_id, disable_env_checker=True, max_episode_steps=max_episode_steps)
    if repeat > 1:
        env = Repeat(env, repeat)
    if scale is not None:
        env = wrappers.TransformReward(env, lambda reward: float(reward) * scale)
    if clip is not None:
        env = wrappers.ClipReward(env, *clip)
    if rescale is not None:
        low, high = (np.full(env.observation_space.shape, end, np.float32) for end in rescale)
        env = wrappers.RescaleObservation(env, low, high)
    if time:
        env = wrappers.TimeAwareObservation(env)
    if dtype is not None:
        env = wrappers.DtypeObservation(env, dtype)
    if stack is not None:
        env = wrappers.FrameStackObservation(env, stack)
    return env


KEYWORDS = {
    "repeat": "action_repeat",
    "scale": "reward_scale",
    "clip": "clip_reward",
    "rescale": "rescale_observation",
    "time": "time_aware",
    "dtype": "observation_dtype",
    "stack": "frame_stack",
}


def case_of(env_id, max_episode_steps=LIMIT, **options):
    """These wrappers against our keywords for them."""
    ours = {KEYWORDS[name]: value for name, value in options.items()}
    return Case(env_id, both={"max_episode_steps": max_episode_steps}, ours=ours, theirs=options, creator=chain)


OPTIONS = {
    "repeat": {"repeat": 3},
    "scale": {"scale": 0.3},
    "clip": {"clip": (-0.7, 0.5)},
    "clip-one-side": {"clip": (None, -0.5)},
    "rescale": {"rescale": (-1.0, 2.5)},
    "time": {"time": True},
    "float64": {"dtype": np.float64},
    "int64": {"dtype": "int64"},
    "uint8": {"dtype": np.uint8},
    "stack": {"stack": 4},
    "stack-one": {"stack": 1},
    "everything": {
        "repeat": 2,
        "scale": 2.5,
        "clip": (-1.0, 2.0),
        "rescale": (0.0, 1.0),
        "time": True,
        "dtype": np.float32,
        "stack": 3,
    },
}


@pytest.mark.cases(2, per="name")
@pytest.mark.parametrize("mode", MODES, ids=[mode.value for mode in MODES])
@pytest.mark.parametrize("env_id", IDS)
@pytest.mark.parametrize("name", OPTIONS)
def test_equals_gymnasiums_wrappers(name, env_id, mode):
    options = OPTIONS[name]
    if name == "uint8" and env_id not in ("MountainCar-v0", "CartPole-v1"):
        options = {**options, "rescale": (0, 255)}  # negative floats to uint8: undefined in C and in NumPy
    elif name == "uint8":
        options = {**options, "rescale": (1, 200)}
    try:
        theirs = chain(env_id, LIMIT, **options).observation_space
    except (ValueError, TypeError) as refusal:
        with pytest.raises(type(refusal), match=r"rescale_observation|observation_dtype"):
            case_of(env_id, **options).make(LANES, mode)
        return
    if name == "uint8" and not (np.isfinite(theirs.low).all() and np.isfinite(theirs.high).all()):
        pytest.skip("unbounded values do not fit uint8")
    case = case_of(env_id, **options)
    assert follow(case, *case.pair(LANES, mode), STEPS)[0]


@pytest.mark.parametrize("mode", MODES, ids=[mode.value for mode in MODES])
@pytest.mark.parametrize("env_id", IDS)
def test_statistics(env_id, mode):
    ours, both = {"record_episode_statistics": True}, {"max_episode_steps": LIMIT}
    case = Case(env_id, both=both, ours=ours, creator=chain, drop=("t",))
    ours, theirs = case.pair(LANES, mode)
    if mode is AutoresetMode.DISABLED:
        # SyncVectorEnv.reset takes "reset_mask" out of the options, and the wrapper around it then forgets every lane.
        theirs = case_of(env_id).make(LANES, mode)
    assert follow(case, ours, vector_wrappers.RecordEpisodeStatistics(theirs), STEPS)[0]


@pytest.mark.parametrize("mode", MODES, ids=[mode.value for mode in MODES])
def test_statistics_count_raw_rewards_and_decisions(mode):
    ours = batchenv.make(
        "Pendulum-v1", LANES, autoreset_mode=mode, max_episode_steps=LIMIT, record_episode_statistics=True,
        reward_scale=0.1, clip_reward=(-0.2, None), action_repeat=4,
    )  # fmt: skip
    theirs = SyncVectorEnv([lambda: chain("Pendulum-v1", LIMIT, repeat=4)] * LANES, autoreset_mode=mode)
    theirs = vector_wrappers.RecordEpisodeStatistics(theirs)
    ours.reset(seed=1), theirs.reset(seed=1)
    rng = np.random.default_rng(0)
    for step in range(30):
        actions = choose(ours, rng, step)
        _, rewards, _, _, info = ours.step(actions)
        _, raw, _, _, expected = theirs.step(actions)
        np.testing.assert_array_equal(rewards, np.clip(raw * 0.1, -0.2, None))
        assert ("episode" in info) == ("episode" in expected)
        if "episode" in info:
            np.testing.assert_array_equal(info["episode"]["r"], expected["episode"]["r"])
            np.testing.assert_array_equal(info["episode"]["l"], expected["episode"]["l"])
            assert set(info["episode"]["l"][info["_episode"]]) == {10}  # ceil(37 / 4)
        done = info.get("_episode")
        if mode is AutoresetMode.DISABLED and done is not None:
            ours.reset(options={"reset_mask": done}), theirs.reset(options={"reset_mask": done.copy()})


def test_seconds_of_an_episode_pass():
    env = begun(batchenv.make("CartPole-v1", 3, max_episode_steps=5, record_episode_statistics=True))
    for _ in range(5):
        info = env.step(np.array([0, 1, 0]))[4]
    seconds = info["episode"]["t"]
    assert seconds.dtype == np.float64 and (seconds > 0).all() and (seconds < 60).all()
    np.testing.assert_array_equal(seconds, np.round(seconds, 6))


@pytest.mark.parametrize("env_id", IDS)
@pytest.mark.parametrize("dtype", [None, np.float64])
def test_normalized(env_id, dtype):
    ours = {"normalize_observation": True, "observation_dtype": dtype}
    case = Case(env_id, both={"max_episode_steps": LIMIT}, ours=ours, theirs={"dtype": dtype}, creator=chain)
    ours, theirs = case.pair(LANES)
    theirs = vector_wrappers.NormalizeObservation(theirs)
    assert follow(case, ours, theirs, STEPS)[0]
    for name in ("mean", "var", "count"):
        np.testing.assert_array_equal(getattr(ours.normalizer.obs_rms, name), getattr(theirs.obs_rms, name))
    ours.normalizer.update_running_mean = theirs.update_running_mean = False
    before = ours.normalizer.obs_rms.mean.copy()
    assert follow(case, ours, theirs, 40)[0]
    np.testing.assert_array_equal(ours.normalizer.obs_rms.mean, before)


def test_normalized_stack_of_large_batches():
    """More lanes than a pairwise sum's block, and a stack: NumPy's order of adding up is kept."""
    ours = {"frame_stack": 3, "normalize_observation": True}
    case = Case("CartPole-v1", both={"max_episode_steps": 500}, ours=ours, theirs={"stack": 3}, creator=chain)
    ours, theirs = case.pair(300)
    assert follow(case, ours, vector_wrappers.NormalizeObservation(theirs), 40)[0]


@pytest.mark.parametrize("mode", MODES[1:], ids=[mode.value for mode in MODES[1:]])
def test_normalized_in_the_other_modes(mode):
    """Gymnasium's wrapper refuses these; the moments are those of what the user was given."""
    raw = batchenv.make("CartPole-v1", LANES, autoreset_mode=mode)
    env = batchenv.make("CartPole-v1", LANES, autoreset_mode=mode, normalize_observation=True)
    moments = wrappers.utils.RunningMeanStd(shape=(4,), dtype=np.float32)

    def normalized(rows):
        return ((rows - moments.mean) / np.sqrt(moments.var + 1e-8)).astype(np.float32)

    rows = raw.reset(seed=5)[0]
    moments.update(rows)
    np.testing.assert_array_equal(env.reset(seed=5)[0], normalized(rows))
    rng = np.random.default_rng(1)
    finals = 0
    for _ in range(60):
        actions = rng.integers(2, size=LANES)
        rows, *_, expected = raw.step(actions)
        seen, _, terminations, truncations, info = env.step(actions)
        moments.update(rows)
        np.testing.assert_array_equal(seen, normalized(rows))
        done = terminations | truncations
        assert ("final_obs" in info) == ("final_obs" in expected)
        for lane in np.flatnonzero(info.get("_final_obs", [])):
            finals += 1
            np.testing.assert_array_equal(info["final_obs"][lane], normalized(expected["final_obs"][lane]))
        if mode is AutoresetMode.DISABLED and done.any():
            rows = raw.reset(options={"reset_mask": done})[0]
            seen = env.reset(options={"reset_mask": done})[0]
            moments.update(rows[done])
            np.testing.assert_array_equal(seen, normalized(rows))
    assert finals or mode is AutoresetMode.DISABLED


EVERYTHING = {
    "record_episode_statistics": True,
    "frame_stack": 3,
    "time_aware": True,
    "observation_dtype": "float64",
    "reward_scale": 0.5,
    "clip_reward": (-2.0, 1.0),
    "action_repeat": 2,
}


def random_actions(env, steps, seed=2):
    rng = np.random.default_rng(seed)
    return np.stack([choose(env, rng, step) for step in range(steps)])


@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("mode", MODES[:2], ids=[mode.value for mode in MODES[:2]])
@pytest.mark.parametrize("env_id", IDS)
def test_a_rollout_is_that_many_steps(env_id, mode, normalize):
    options = {"autoreset_mode": mode, "max_episode_steps": 21, "normalize_observation": normalize, **EVERYTHING}
    one, other = (begun(batchenv.make(env_id, LANES, **options), seed=3) for _ in range(2))
    actions = random_actions(one, 60)
    rows = one.rollout(actions)
    ended = 0
    for t in range(len(actions)):
        step = other.step(actions[t])
        for a, b in zip(rows[:4], step[:4], strict=True):
            np.testing.assert_array_equal(a[t], b)
        done = rows[4]["_episode"][t]
        np.testing.assert_array_equal(done, step[2] | step[3])
        ended += done.sum()
        if done.any():
            for key in ("r", "l"):
                np.testing.assert_array_equal(rows[4]["episode"][key][t], step[4]["episode"][key])
            if mode is AutoresetMode.SAME_STEP:
                for lane in np.flatnonzero(done):
                    np.testing.assert_array_equal(rows[4]["final_obs"][t][lane], step[4]["final_obs"][lane])
    assert ended


@pytest.mark.parametrize("env_id", IDS)
def test_a_restored_run_continues(env_id):
    env = begun(batchenv.make(env_id, LANES, max_episode_steps=21, **EVERYTHING), seed=3)
    env.rollout(random_actions(env, 17))
    saved = pickle.loads(pickle.dumps(env.snapshot()))
    actions = random_actions(env, 40, seed=8)
    expected = env.rollout(actions)
    other = begun(batchenv.make(env_id, LANES, max_episode_steps=21, **EVERYTHING), seed=77)
    other.restore(saved)
    seen = other.rollout(actions)
    assert_same(seen[:4], expected[:4])
    for key in ("r", "l"):
        np.testing.assert_array_equal(seen[4]["episode"][key], expected[4]["episode"][key])
    plain = begun(batchenv.make(env_id, LANES, max_episode_steps=21))
    with pytest.raises(ValueError):
        plain.restore(saved)


@pytest.mark.parametrize("copies", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_copies_keep_transforms_and_moments(copies):
    env = begun(batchenv.make("Pendulum-v1", 5, max_episode_steps=9, normalize_observation=True, **EVERYTHING), seed=3)
    env.rollout(random_actions(env, 7))
    other = copies(env)
    assert other.observation_space == env.observation_space
    actions = random_actions(env, 25, seed=8)
    for row in actions:
        assert_same(env.step(row)[:4], other.step(row)[:4])
    np.testing.assert_array_equal(env.normalizer.obs_rms.mean, other.normalizer.obs_rms.mean)


@pytest.mark.parametrize("normalize", [False, True])
def test_out_and_ring(normalize):
    options = {"max_episode_steps": 21, "normalize_observation": normalize, **EVERYTHING}
    one = begun(batchenv.make("CartPole-v1", LANES, **options), seed=3)
    ring = begun(batchenv.make("CartPole-v1", LANES, copy=False, **options), seed=3)
    filled = begun(batchenv.make("CartPole-v1", LANES, **options), seed=3)
    space = one.single_observation_space
    out = (
        np.empty((LANES, *space.shape), space.dtype), np.empty(LANES), np.empty(LANES, bool), np.empty(LANES, bool),
    )  # fmt: skip
    for actions in random_actions(one, 50):
        expected = one.step(actions)
        for got in (ring.step(actions), filled.step(actions, out=out)):
            assert_same(got[:4], expected[:4])
            assert got[4].keys() == expected[4].keys()
        np.testing.assert_array_equal(out[0], expected[0])


def test_results_are_the_users():
    """Arrays once returned are not written again, statistics and stacks included."""
    env = begun(batchenv.make("CartPole-v1", 64, max_episode_steps=4, **{**EVERYTHING, "action_repeat": 1}), seed=3)
    held = []
    for actions in random_actions(env, 30):
        result = env.step(actions)
        arrays = [*result[:4], *result[4].get("episode", {}).values()]
        held.append((arrays, [array.copy() for array in arrays]))
    for arrays, copies in held:
        for a, b in zip(arrays, copies, strict=True):
            np.testing.assert_array_equal(a, b)


def test_threads_agree():
    results = []
    for threads in (1, 2):
        env = begun(batchenv.make("Acrobot-v1", 777, max_episode_steps=11, num_threads=threads, **EVERYTHING), seed=1)
        results.append(env.rollout(random_actions(env, 30)))
    assert_same(results[0][:4], results[1][:4])


def test_set_params_moves_the_rescaling():
    """A parameter that moves the observation's bounds moves what is mapped onto [0, 1]."""
    env = batchenv.make("MountainCar-v0", 2, rescale_observation=(0.0, 1.0))
    raw = batchenv.make("MountainCar-v0", 2)
    for each in (env, raw):
        each.set_params(max_position=1.2)
    space = raw.single_observation_space
    seen, rows = env.reset(seed=4)[0], raw.reset(seed=4)[0]
    np.testing.assert_allclose(seen, (rows - space.low) / (space.high - space.low), rtol=1e-5)


@pytest.mark.parametrize(
    "options, error, words",
    [
        ({"frame_stack": 0}, ValueError, "frame_stack=0"),
        ({"frame_stack": 2.5}, TypeError, "frame_stack=2.5"),
        ({"frame_stack": 10**6}, ValueError, "frame_stack"),
        ({"action_repeat": 0}, ValueError, "action_repeat=0"),
        ({"action_repeat": True}, TypeError, "action_repeat=True"),
        ({"time_aware": 1}, TypeError, "time_aware=1"),
        ({"time_aware": True, "max_episode_steps": None}, ValueError, "max_episode_steps"),
        ({"record_episode_statistics": "yes"}, TypeError, "record_episode_statistics='yes'"),
        ({"observation_dtype": "float16"}, ValueError, "observation_dtype='float16'"),
        ({"observation_dtype": "nonsense"}, ValueError, "observation_dtype='nonsense'"),
        ({"observation_dtype": bool}, ValueError, "observation_dtype"),
        ({"reward_scale": "2"}, TypeError, "reward_scale='2'"),
        ({"reward_scale": float("inf")}, ValueError, "reward_scale=inf"),
        ({"reward_scale": float("nan")}, TypeError, "reward_scale=nan"),
        ({"clip_reward": 1.0}, TypeError, "clip_reward=1.0"),
        ({"clip_reward": (1.0, -1.0)}, ValueError, "low <= high"),
        ({"clip_reward": (None, None)}, ValueError, "clips nothing"),
        ({"rescale_observation": 3}, TypeError, "rescale_observation=3"),
        ({"rescale_observation": (1.0, 0.0)}, ValueError, "rescale_observation"),
        ({"rescale_observation": (np.zeros(3), np.ones(3))}, ValueError, "rescale_observation"),
        ({"rescale_observation": ("a", "b")}, (ValueError, TypeError), "rescale_observation"),
        ({"normalize_observation": None}, TypeError, "normalize_observation=None"),
    ],
)
def test_bad_keywords(options, error, words):
    with pytest.raises(error, match=words.replace("(", r"\(")):
        batchenv.make("CartPole-v1", 3, **options)


def test_gymnasium_registration_takes_them():
    env = gymnasium.make_vec("batchenv/CartPole-v1", num_envs=3, frame_stack=2)
    assert env.reset(seed=1)[0].shape == (3, 2, 4)
    assert gymnasium.make_vec(env.spec).observation_space == env.observation_space


@pytest.mark.parametrize("bounds", [(-1.0, 2.5), (np.linspace(-3, 0, 50).reshape(10, 5), 4.0)], ids=["one", "each"])
@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_observations_of_many_components_are_rescaled(bounds, mode):
    """More components than the C side's tables of bounds have room for."""
    plain = batchenv.make("Catch-v0", 70, autoreset_mode=mode)
    env = batchenv.make("Catch-v0", 70, autoreset_mode=mode, rescale_observation=bounds)
    box = plain.single_observation_space
    low, high = (np.broadcast_to(np.asarray(end, box.dtype), box.shape) for end in bounds)
    space, forward, _ = rescale_box(box, low, high)
    assert env.single_observation_space == space
    rng = np.random.default_rng(0)
    observed, raw = env.reset(seed=1)[0], plain.reset(seed=1)[0]
    for _ in range(30):
        expected = np.stack([forward(row) for row in raw])
        assert observed.dtype == expected.dtype
        np.testing.assert_array_equal(observed, expected)
        actions = rng.integers(3, size=70)
        (observed, *_, infos), (raw, *_, raw_infos) = env.step(actions), plain.step(actions)
        assert ("final_obs" in infos) == ("final_obs" in raw_infos)
        for lane in np.flatnonzero(infos.get("_final_obs", [])):
            np.testing.assert_array_equal(infos["final_obs"][lane], forward(raw_infos["final_obs"][lane]))
    snapshot = env.snapshot()
    np.testing.assert_array_equal(batchenv.make("Catch-v0", 70, rescale_observation=bounds).restore(snapshot), observed)
    background = batchenv.make("Catch-v0", 70, autoreset_mode=mode, rescale_observation=bounds, batch_size=70)
    background.async_reset(seed=1)
    np.testing.assert_array_equal(background.recv()[0], env.reset(seed=1)[0])


def test_integers_that_rescaling_would_make_all_the_same_are_refused():
    pytest.importorskip("ale_py")
    with pytest.raises(ValueError, match=r"rescale_observation=\(0, 1\) .* all values would become the same"):
        batchenv.make("Pong-v5", 1, rescale_observation=(0, 1))
    env = batchenv.make("Pong-v5", 1, rescale_observation=(0, 255))
    np.testing.assert_array_equal(env.reset(seed=0)[0], batchenv.make("Pong-v5", 1).reset(seed=0)[0])


@pytest.mark.parametrize("env_id", ["CartPole-v1", "Catch-v0"])
def test_moments_that_a_user_sets(env_id):
    """One number stands for all components; another shape is refused before any lane moves."""
    env, twin = (batchenv.make(env_id, 3, normalize_observation=True) for _ in range(2))
    for each in (env, twin):
        each.reset(seed=0)
        each.normalizer.update_running_mean = False
    shape = env.single_observation_space.shape
    env.normalizer.obs_rms.mean, env.normalizer.obs_rms.var = 0.5, 2.0
    twin.normalizer.obs_rms.mean, twin.normalizer.obs_rms.var = np.full(shape, 0.5), np.full(shape, 2.0)
    np.testing.assert_array_equal(env.step([0, 1, 0])[0], twin.step([0, 1, 0])[0])
    good = env.normalizer.obs_rms.var
    env.normalizer.obs_rms.var = np.ones(77)
    for call in (
        lambda: env.step([0, 0, 0]),
        lambda: env.rollout(2, policy="random"),
        lambda: env.reset(seed=9),
        lambda: env.restore(twin.snapshot()),
    ):
        with pytest.raises(ValueError, match=r"obs_rms.var has shape \(77,\)"):
            call()
    env.normalizer.obs_rms.var = good
    np.testing.assert_array_equal(env.step([1, 1, 0])[0], twin.step([1, 1, 0])[0])


def test_out_of_normalized_integers_is_checked():
    pytest.importorskip("ale_py")
    env = begun(batchenv.make("Pong-v5", 2, normalize_observation=True))
    before = env.snapshot()
    shape = env.observation_space.shape
    storage = np.zeros(int(np.prod(shape)) * 4 + 16, np.uint8)
    observations, rewards = storage[:-16].view(np.float32).reshape(shape), storage[-24:-8].view(np.float64)
    actions = storage[-16:].view(np.int64)
    apart = np.empty(2)
    elsewhere = np.zeros(2, int)
    on_actions = storage[: observations.nbytes].view(np.float32).reshape(shape)
    unaligned = storage[1 : 1 + observations.nbytes].view(np.float32).reshape(shape)
    for out, given, words in (
        ((observations, rewards, None, None), elsewhere, "overlap"),
        ((on_actions, apart, None, None), storage[:16].view(np.int64), "overlap"),
        ((unaligned, apart, None, None), actions, "aligned"),
        ((observations.astype(np.float64), None, None, None), actions, "float32"),
        ((observations[..., ::-1], None, None, None), actions, "contiguous"),
    ):
        with pytest.raises(ValueError, match=words):
            env.step(given, out=out)
    assert bytes(env.snapshot()) == bytes(before)
    result = env.step(np.zeros(2, int), out=(observations, apart, None, None))
    assert result[0] is observations and result[1] is apart


class Filled(gymnasium.Env):
    """Observations of a Box are filled with the number of the step."""

    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, shape, dtype=np.float32, high=9):
        self.observation_space = gymnasium.spaces.Box(0, high, shape, dtype)

    def _look(self):
        return np.full(self.observation_space.shape, self.count, self.observation_space.dtype)

    def reset(self, *, seed=None, options=None):
        self.count = 0
        return self._look(), {}

    def step(self, action):
        self.count += 1 + int(action)
        return self._look(), 1.0, self.count > 5, False, {}


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.uint8])
def test_normalized_numbers_without_an_axis(dtype):
    make = functools.partial(Filled, (), dtype, 9.0 if dtype != np.uint8 else 9)
    ours = batchenv.make_python(make, 3, workers="serial", normalize_observation=True)
    theirs = vector_wrappers.NormalizeObservation(SyncVectorEnv([make] * 3))
    assert ours.single_observation_space == theirs.single_observation_space
    np.testing.assert_array_equal(ours.reset(seed=0)[0], theirs.reset(seed=0)[0], strict=True)
    for step in range(9):
        actions = np.arange(3) * step % 2
        np.testing.assert_array_equal(ours.step(actions)[0], theirs.step(actions)[0], strict=True)
    for name in ("mean", "var", "count"):
        np.testing.assert_array_equal(getattr(ours.normalizer.obs_rms, name), getattr(theirs.obs_rms, name))


# What our keywords stand for, as make_env can do it itself.
IN_MAKE_ENV = {
    "rescale_observation": ((0, 1), lambda env: wrappers.RescaleObservation(env, 0, 1)),
    "time_aware": (True, wrappers.TimeAwareObservation),
    "observation_dtype": ("float64", lambda env: wrappers.DtypeObservation(env, np.float64)),
    "frame_stack": (3, lambda env: wrappers.FrameStackObservation(env, 3)),
    "clip_observation": ((0, 1), lambda env: wrappers.TransformObservation(env, lambda seen: seen.clip(0, 1), None)),
    "normalize_observation": (True, None),
}


@pytest.mark.parametrize("keyword", IN_MAKE_ENV)
@pytest.mark.parametrize(
    "space",
    [((0,),), ((2, 0),), ((2,), np.int16), ((2,), np.float16), ((1, 1, 2, 1, 2),)],
    ids=["empty", "empty rows", "int16", "float16", "five axes"],
)
def test_observations_that_cannot_be_transformed_here(space, keyword):
    """They are refused, and what the message says in place of it gives what Gymnasium gives."""
    make = functools.partial(Filled, *space)
    value, wrap = IN_MAKE_ENV[keyword]
    with pytest.raises(TypeError, match=rf"{keyword}: only arrays of .* leave it out, and (let make_env )?wrap"):
        batchenv.make_python(make, 2, workers="serial", max_episode_steps=7, **{keyword: value})

    def one():
        env = make()
        env.spec = EnvSpec("Filled-v0", max_episode_steps=7)
        env = wrappers.TimeLimit(env, 7)
        return env if wrap is None else wrap(env)

    ours, theirs = batchenv.make_python(one, 2, workers="serial"), SyncVectorEnv([one] * 2)
    if wrap is None:
        ours, theirs = map(vector_wrappers.NormalizeObservation, (ours, theirs))
    np.testing.assert_array_equal(ours.reset(seed=0)[0], theirs.reset(seed=0)[0], strict=True)
    for step in range(9):
        actions = np.arange(2) * step % 2
        np.testing.assert_array_equal(ours.step(actions)[0], theirs.step(actions)[0], strict=True)
    ours.close()


@pytest.mark.parametrize("keyword", IN_MAKE_ENV)
def test_workers_refuse_them_too(keyword):
    with pytest.raises(TypeError, match=f"{keyword}: only arrays of .* leave it out"):
        batchenv.make_python(
            functools.partial(Filled, (0,)), 2, num_workers=1, max_episode_steps=7, **{keyword: IN_MAKE_ENV[keyword][0]}
        )
