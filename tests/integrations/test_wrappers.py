"""Every vector wrapper of Gymnasium over our env gives what it gives over SyncVectorEnv."""

import copy
from functools import partial

import gymnasium
import numpy as np
import pytest
from gymnasium import wrappers as single
from gymnasium.spaces import Box, Dict
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers import vector

import batchenv
from batchenv._core import Infos
from batchenv.integrations.fragments import FragmentMaker
from helpers.lockstep import actions_of
from helpers.python_envs import Plain

LANES, LIMIT, STEPS = 3, 13, 60


def make_ours(env_id, mode):
    return batchenv.make(env_id, LANES, autoreset_mode=mode, max_episode_steps=LIMIT)


def make_theirs(env_id, mode):
    make = partial(gymnasium.make, env_id, disable_env_checker=True, max_episode_steps=LIMIT)
    return SyncVectorEnv([make] * LANES, autoreset_mode=mode)


def as_dict(env):
    space = Dict({"head": Box(-10, 10, (2,)), "tail": Box(-10, 10, (1,))})
    return vector.VectorizeTransformObservation(
        env, single.TransformObservation, func=lambda o: {"head": o[:2], "tail": o[2:]}, observation_space=space
    )


def as_image(env):
    """Observations as 8 by 8 colour pictures."""

    def draw(observations):
        grey = np.clip(np.abs(observations[:, :3]) * 100, 0, 255).astype(np.uint8)
        return np.broadcast_to(grey[:, None, None, :], (len(grey), 8, 8, 3)).copy()

    return vector.TransformObservation(env, draw, single_observation_space=Box(0, 255, (8, 8, 3), np.uint8))


def resized(env):
    pytest.importorskip("cv2", reason="ResizeObservation needs OpenCV")
    return vector.ResizeObservation(as_image(env), (4, 4))


def to_torch(env):
    pytest.importorskip("torch", reason="NumpyToTorch needs torch")
    pytest.importorskip("array_api_compat", reason="NumpyToTorch needs array-api-compat")
    return vector.NumpyToTorch(env)


def converted(env):
    pytest.importorskip("array_api_compat", reason="ArrayConversion needs array-api-compat")
    return vector.ArrayConversion(env, env_xp=np, target_xp=np)


WIDE = Box(-5, 5, (1,), np.float32)
CASES = {
    "VectorizeTransformObservation": ("Pendulum-v1", as_dict),
    "VectorizeTransformAction": (
        "Pendulum-v1",
        lambda env: vector.VectorizeTransformAction(
            env, single.TransformAction, func=lambda a: a * np.float32(0.4), action_space=WIDE
        ),
    ),
    "VectorizeTransformReward": (
        "Pendulum-v1",
        lambda env: vector.VectorizeTransformReward(env, single.TransformReward, func=lambda r: r * 2 + 1),
    ),
    "DictInfoToList": ("CartPole-v1", vector.DictInfoToList),
    "TransformObservation": ("Acrobot-v1", lambda env: vector.TransformObservation(env, lambda o: o * 2)),
    "FilterObservation": ("Pendulum-v1", lambda env: vector.FilterObservation(as_dict(env), ["tail"])),
    "FlattenObservation": ("Acrobot-v1", vector.FlattenObservation),
    "GrayscaleObservation": ("Pendulum-v1", lambda env: vector.GrayscaleObservation(as_image(env))),
    "ResizeObservation": ("Pendulum-v1", resized),
    "ReshapeObservation": ("Pendulum-v1", lambda env: vector.ReshapeObservation(env, (3, 1))),
    "RescaleObservation": ("MountainCar-v0", lambda env: vector.RescaleObservation(env, -1.0, 1.0)),
    "DtypeObservation": ("CartPole-v1", lambda env: vector.DtypeObservation(env, np.float64)),
    "NormalizeObservation": ("CartPole-v1", vector.NormalizeObservation),
    "TransformAction": (
        "Pendulum-v1",
        lambda env: vector.TransformAction(env, lambda a: a * np.float32(0.4), single_action_space=WIDE),
    ),
    "ClipAction": ("MountainCarContinuous-v0", vector.ClipAction),
    "RescaleAction": ("MountainCarContinuous-v0", lambda env: vector.RescaleAction(env, 1.0, 2.0)),
    "TransformReward": ("Pendulum-v1", lambda env: vector.TransformReward(env, lambda r: r - 1)),
    "ClipReward": ("Pendulum-v1", lambda env: vector.ClipReward(env, -2.0, -0.5)),
    "NormalizeReward": ("Pendulum-v1", vector.NormalizeReward),
    "RecordEpisodeStatistics": ("CartPole-v1", vector.RecordEpisodeStatistics),
    "ArrayConversion": ("CartPole-v1", converted),
    "NumpyToTorch": ("CartPole-v1", to_torch),
    # Both refuse an env that does not draw.
    "RecordVideo": ("CartPole-v1", lambda env: vector.RecordVideo(env, "unused")),
    "HumanRendering": ("CartPole-v1", vector.HumanRendering),
}
NOT_FOR_NUMPY = {"JaxToNumpy", "JaxToTorch"}  # they wrap environments of JAX arrays


def same(a, b):
    """Equal in every bit, type and key; wall-clock times are left out."""
    if type(a) is Infos:
        a = dict(a)
    assert type(a) is type(b)
    if isinstance(a, dict):
        assert a.keys() == b.keys()
        for key in a.keys() - {"t"}:
            same(a[key], b[key])
    elif isinstance(a, (list, tuple)):
        assert len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            same(x, y)
    elif isinstance(a, np.ndarray):
        assert a.dtype == b.dtype and a.shape == b.shape
        if a.dtype == object:
            same(list(a), list(b))
        else:
            np.testing.assert_array_equal(a, b)
    elif hasattr(a, "numpy"):
        same(a.numpy(), b.numpy())
    else:
        assert a == b


def outcome(call):
    """What `call` returns, or its error."""
    try:
        return call(), None
    except (TypeError, ValueError, AssertionError, AttributeError, BufferError) as error:
        return None, error


def unlike_sync(name, mode):
    """Why a wrapper over SyncVectorEnv is no measure; None where it is one."""
    if name in NOT_FOR_NUMPY:
        return "not for environments of NumPy arrays"
    if name not in CASES:
        return "no case for this wrapper"
    if name == "RecordEpisodeStatistics" and mode is AutoresetMode.DISABLED:
        return "see test_statistics_of_masked_resets"
    return None


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.cases(1, per="name")
@pytest.mark.parametrize("mode", list(AutoresetMode), ids=str)
@pytest.mark.parametrize("name", vector.__all__)
def test_wrapper(name, mode):
    if unlike_sync(name, mode):
        pytest.skip(unlike_sync(name, mode))
    env_id, wrap = CASES[name]
    (ours, our_error), (theirs, their_error) = (
        outcome(lambda make=make: wrap(make(env_id, mode))) for make in (make_ours, make_theirs)
    )
    assert type(our_error) is type(their_error)
    if their_error is not None:
        return
    for space in ("observation_space", "action_space", "single_observation_space", "single_action_space"):
        assert getattr(ours, space) == getattr(theirs, space)
    assert repr(ours).startswith(f"<{name}")
    same(ours.reset(seed=4), theirs.reset(seed=4))
    ended = 0
    for actions in actions_of(theirs, STEPS, seed=0):
        if name == "NumpyToTorch":
            actions = pytest.importorskip("torch").tensor(actions)
        # A wrapper may work in place: each side gets its own actions.
        results = (outcome(partial(env.step, copy.deepcopy(actions))) for env in (ours, theirs))
        (a, our_error), (b, their_error) = results
        assert type(our_error) is type(their_error)
        if their_error is not None:  # such as object arrays, which the conversions cannot take
            assert mode is AutoresetMode.SAME_STEP
            return
        same(a, b)
        done = np.asarray(b[2]) | np.asarray(b[3])
        ended += done.sum()
        if mode is AutoresetMode.DISABLED and done.any():
            same(*(env.reset(options={"reset_mask": done.copy()}) for env in (ours, theirs)))
    assert ended > LANES
    for queue in ("return_queue", "length_queue"):
        if hasattr(ours, queue):
            same(list(getattr(ours, queue)), list(getattr(theirs, queue)))
    if name == "NormalizeObservation":
        same(ours.obs_rms.mean, theirs.obs_rms.mean)
    ours.close(), theirs.close()


def test_statistics_of_masked_resets():
    """Episodes are counted lane by lane, as by one RecordEpisodeStatistics for each of Gymnasium's environments.

    SyncVectorEnv takes the mask out of the caller's options, so the wrapper around it counts from 0 again in all lanes.
    """
    ours = vector.RecordEpisodeStatistics(make_ours("CartPole-v1", AutoresetMode.DISABLED))
    lanes = [gymnasium.make("CartPole-v1", max_episode_steps=LIMIT) for _ in range(LANES)]
    lanes = list(map(single.RecordEpisodeStatistics, lanes))
    ours.reset(seed=4)
    for i, lane in enumerate(lanes):
        lane.reset(seed=4 + i)
    rng = np.random.default_rng(0)
    partial_resets = 0
    for _ in range(STEPS):
        actions = (rng.random(LANES) < [0.0, 0.5, 0.8]).astype(int)  # lanes that fall at different times
        info = ours.step(actions)[4]
        done = np.zeros(LANES, bool)
        for i, lane in enumerate(lanes):
            _, _, terminated, truncated, expected = lane.step(actions[i])
            done[i] = terminated or truncated
            if done[i]:
                assert info["_episode"][i]
                assert info["episode"]["r"][i] == expected["episode"]["r"]
                assert info["episode"]["l"][i] == expected["episode"]["l"]
                lane.reset()
        if done.any():
            partial_resets += not done.all()
            ours.reset(options={"reset_mask": done})
    assert partial_resets > LANES


@pytest.mark.parametrize("workers", ["serial", "processes"])
def test_fragments_of_environments_in_python(workers):
    """Last observations come the same way from lanes in this process and in others."""
    make = partial(batchenv.make_python, Countdown, 3, workers=workers, num_workers=2, autoreset_mode="SameStep")

    def policy(weights, observations, rng):
        return np.arange(3) % 2

    maker = FragmentMaker(make, policy, steps=6, seed=1, actor=0)
    fragment = maker.fragment(0, 0, None)
    steps, lanes, rows = fragment.final_rows
    assert steps.tolist() == [1, 2, 2, 3, 5, 5, 5] and lanes.tolist() == [1, 0, 2, 1, 0, 1, 2]
    assert rows.tolist() == [[4], [3], [3], [4], [3], [4], [3]]
    maker.env.close()


@pytest.mark.parametrize("policy", [None, lambda weights, seen, rng: np.zeros(LANES, int)], ids=["random", "policy"])
@pytest.mark.parametrize("make", [partial(batchenv.make, "MountainCar-v0"), partial(batchenv.make_python, Plain)])
def test_a_fragment_in_which_no_episode_ends(make, policy):
    maker = FragmentMaker(partial(make, LANES, autoreset_mode="SameStep"), policy, steps=6, seed=1, actor=0)
    steps, lanes, rows = maker.fragment(0, 0, None).final_rows
    assert steps.dtype == lanes.dtype == np.int64 and steps.shape == lanes.shape == (0,)
    assert rows.dtype == np.float32 and rows.shape == (0, 2)
    maker.env.close()


class Countdown(gymnasium.Env):
    """An episode ends when the actions, plus 1 each, have come to 3."""

    observation_space, action_space = Box(0, 9, (1,)), gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        self.count = 0
        return np.float32([0]), {}

    def step(self, action):
        self.count += 1 + int(action)
        return np.float32([self.count]), 1.0, self.count >= 3, False, {}
