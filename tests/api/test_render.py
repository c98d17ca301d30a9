"""Frames equal Gymnasium's pixel for pixel, and drawing changes nothing else."""

import copy
import sys
import types

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ClosedEnvironmentError, DependencyNotInstalled, ResetNeeded
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers import RecordVideo
from gymnasium.wrappers import vector as wrappers

import batchenv
from batchenv.backend.lanes import lane_indices
from batchenv.envs import translator
from batchenv.envs.drawing import Drawn, GymnasiumDrawer
from helpers import ids
from helpers.begun import begun
from helpers.lockstep import actions_of
from helpers.processes import run_python

pytest.importorskip("pygame", reason="frames need pygame: pip install 'batchenv[render]'")


@pytest.fixture(autouse=True)
def no_screen(monkeypatch):
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")


def sync(env_id, lanes, mode=AutoresetMode.NEXT_STEP, limit=None, **kwargs):
    def make():
        return gymnasium.make(env_id, max_episode_steps=limit, **kwargs)

    kwargs = {"render_mode": "rgb_array", "disable_env_checker": True, **kwargs}
    return SyncVectorEnv([make] * lanes, autoreset_mode=mode)


def test_call_draws_every_lane():
    env = begun(batchenv.make("CartPole-v1", 3, render_mode="rgb_array"), seed=1)
    for a, b in zip(env.call("render"), env.render(), strict=True):
        np.testing.assert_array_equal(a, b)


def assert_same_frames(ours, theirs):
    assert isinstance(ours, tuple) and len(ours) == len(theirs)
    for a, b in zip(ours, theirs, strict=True):
        assert a.dtype == np.uint8 and a.ndim == 3 and a.shape[2] == 3
        np.testing.assert_array_equal(a, b)


# ---- the picture ---------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.cases(1, per="env_id")
@pytest.mark.parametrize("mode", list(AutoresetMode))
@pytest.mark.parametrize("env_id", ids.DRAWN_ALIKE)
def test_frames_equal_gymnasiums(env_id, mode):
    ours = begun(batchenv.make(env_id, 3, render_mode="rgb_array", autoreset_mode=mode, max_episode_steps=4), seed=7)
    theirs = begun(sync(env_id, 3, mode, limit=4), seed=7)
    assert_same_frames(ours.render(), theirs.render())
    seen = set()
    for actions in actions_of(ours, 11, seed=1):
        _, _, terminations, truncations, _ = ours.step(actions)
        theirs.step(actions)
        frames = ours.render()
        assert_same_frames(frames, theirs.render())
        seen.update(frame.tobytes() for frame in frames)
        done = terminations | truncations
        if mode is AutoresetMode.DISABLED and done.any():
            for env in (ours, theirs):
                env.reset(options={"reset_mask": done})
            assert_same_frames(ours.render(), theirs.render())
    assert len(seen) > 2  # it moves


@pytest.mark.parametrize(
    "env_id, params",
    [
        ("CartPole-v1", {"length": 0.8, "x_threshold": 1.5}),
        ("MountainCar-v0", {"min_position": -1.0, "max_position": 0.5, "goal_position": 0.3}),
        ("MountainCarContinuous-v0", {"min_position": -1.0, "max_position": 0.5, "goal_position": 0.3}),
        ("Acrobot-v1", {"LINK_LENGTH_1": 0.7, "LINK_LENGTH_2": 1.4}),
        ("Pendulum-v1", {"max_torque": 1.0}),
    ],
)
def test_parameters_are_drawn(env_id, params):
    """Also when they change after the first frame."""
    ours = begun(batchenv.make(env_id, 2, render_mode="rgb_array", max_episode_steps=None), seed=3)
    theirs = begun(sync(env_id, 2, limit=-1), seed=3)
    before = ours.render()
    for name, value in params.items():
        ours.set_attr(name, value)
        for env in theirs.envs:
            setattr(env.unwrapped, name, value)
            if name == "length":  # a product that Gymnasium caches and we do not
                env.unwrapped.polemass_length = env.unwrapped.masspole * value
    for actions in actions_of(ours, 3, seed=0):
        ours.step(actions), theirs.step(actions)
    assert_same_frames(ours.render(), theirs.render())
    again = ours.render([1])[0]
    for name, value in params.items():
        made = begun(batchenv.make(env_id, 1, render_mode="rgb_array", **{name: value}), seed=3)
        if env_id != "Pendulum-v1":  # whose torque shows only after a step
            assert not np.array_equal(made.render()[0], before[0]), name
    np.testing.assert_array_equal(again, ours.render()[1])


@pytest.mark.parametrize(
    "env_id, name, values",
    [
        ("CartPole-v1", "length", [0.5, 0.8]),
        ("MountainCar-v0", "goal_position", [0.5, 0.3]),
        ("Acrobot-v1", "LINK_LENGTH_1", [0.7, 1.0]),
    ],
)
def test_parameters_of_lanes_are_drawn(env_id, name, values):
    made = [batchenv.make(env_id, 1, render_mode="rgb_array", **{name: value}) for value in values]
    both = batchenv.make(env_id, 2, render_mode="rgb_array", **{name: values})
    both.reset(seed=3)
    for lane, env in enumerate(made):
        env.reset(seed=3 + lane)
    for actions in actions_of(both, 2, seed=0):
        both.step(actions)
        for lane, env in enumerate(made):
            env.step(actions[lane : lane + 1])
        assert_same_frames(both.render(), tuple(env.render()[0] for env in made))


def test_pendulum_shows_the_clipped_action():
    ours = begun(batchenv.make("Pendulum-v1", 2, render_mode="rgb_array", clip_actions=True))
    theirs = begun(sync("Pendulum-v1", 2))
    for actions in ([[9.0], [-0.5]], np.array([[0], [-1]]), np.array([[0.3], [1.7]], np.float64)):
        ours.step(actions), theirs.step(np.asarray(actions, np.float32))
        assert_same_frames(ours.render(), theirs.render())
    frames = ours.render()
    with pytest.raises(ValueError, match="of lane 1"):
        ours.step([[0.0], [np.nan]])
    assert_same_frames(ours.render(), frames)


class FromGymnasium:
    """What GymnasiumDrawer reads of a `_core.Batch`: the state of Gymnasium environments."""

    def __init__(self, envs, state, params, elapsed):
        self.envs, self.lane_state, self.params, self.steps = envs, state, params, elapsed

    def state(self):
        rows = [self.lane_state(env) for env in self.envs]
        return {name: np.stack([np.asarray(row[name]) for row in rows]) for name in rows[0]}

    def elapsed(self):
        return np.full(len(self.envs), self.steps, np.int32)

    def get_params(self):
        return self.params


def test_pendulum_shows_the_last_action_of_a_rollout():
    ours, theirs = begun(batchenv.make("Pendulum-v1", 2, render_mode="rgb_array")), begun(sync("Pendulum-v1", 2))
    actions = np.linspace(-2, 2, 6, dtype=np.float32).reshape(3, 2, 1)
    ours.rollout(actions)
    for step in actions:
        theirs.step(step)
    assert_same_frames(ours.render(), theirs.render())


@pytest.mark.parametrize("way", ["restore", "deepcopy"])
def test_pendulum_shows_no_action_that_it_does_not_know(way):
    env = begun(batchenv.make("Pendulum-v1", 1, render_mode="rgb_array"))
    env.step([[2.0]])
    saved = env.snapshot()
    if way == "restore":
        env.step([[-2.0]])
        env.restore(saved)
    else:
        env = copy.deepcopy(env)
    frame, lane = env.render()[0], env.state
    gym_env = gymnasium.make("Pendulum-v1", render_mode="rgb_array").unwrapped
    gym_env.reset(seed=0)
    gym_env.state, gym_env.last_u = np.array([lane["theta"][0], lane["theta_dot"][0]]), None
    np.testing.assert_array_equal(frame, gym_env.render())


def test_precision_of_the_state():
    """Gymnasium draws a float32 state in float32: these are states where that changes pixels."""
    ours = begun(batchenv.make("Acrobot-v1", 1, render_mode="rgb_array"), seed=261)
    theirs = begun(gymnasium.make("Acrobot-v1", render_mode="rgb_array"), seed=261)
    assert_same_frames(ours.render(), [theirs.render()])
    theirs.unwrapped.state = theirs.unwrapped.state.astype(np.float64)
    assert not np.array_equal(ours.render()[0], theirs.render())

    def position(env):
        return {"position": float(env.state[0]), "velocity": 0.0}

    env_id = "MountainCarContinuous-v0"
    ours, theirs = batchenv.make(env_id, 1), gymnasium.make(env_id, render_mode="rgb_array")
    batch = FromGymnasium([theirs.unwrapped], position, ours._backend.core.get_params(), elapsed=1)
    theirs.reset(seed=0)
    theirs.unwrapped.state = np.array([-0.44350525736808777, 0.0], np.float32)
    renderer = GymnasiumDrawer(translator("MountainCarContinuous"), env_id, "rgb_array", (1, 1), batch)
    assert_same_frames(renderer.draw([0]), [theirs.render()])
    theirs.unwrapped.state = theirs.unwrapped.state.astype(np.float64)
    assert not np.array_equal(renderer.draw([0])[0], theirs.render())


@pytest.mark.parametrize("env_id", ["CartPole-v1", "Pendulum-v1"])
def test_rendering_disturbs_nothing(env_id):
    drawn = batchenv.make(env_id, 4, render_mode="rgb_array", max_episode_steps=5)
    plain = batchenv.make(env_id, 4, max_episode_steps=5)
    np.testing.assert_array_equal(drawn.reset(seed=1)[0], plain.reset(seed=1)[0])
    held = []
    for actions in actions_of(plain, 12, seed=0):
        a, b = drawn.step(actions), plain.step(actions)
        frames = drawn.render()
        held.append((frames[0], frames[0].copy()))
        for x, y in zip(a[:4], b[:4], strict=True):
            np.testing.assert_array_equal(x, y)
    assert [g.bit_generator.state for g in drawn.np_random] == [g.bit_generator.state for g in plain.np_random]
    for frame, kept in held:
        np.testing.assert_array_equal(frame, kept)


# ---- toy text ------------------------------------------------------------------------------------------------------

LAKE = ["SFH", "FFF", "HFG", "FFF"]


@pytest.mark.cases(8)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("mode", ["rgb_array", "ansi"])
@pytest.mark.parametrize(
    "env_id, kwargs, least",
    [
        ("FrozenLake-v1", {}, 6),
        ("FrozenLake-v1", {"desc": LAKE}, 6),
        ("FrozenLake-v1", {"map_name": "8x8", "is_slippery": False}, 6),
        ("FrozenLake8x8-v1", {}, 6),
        ("CliffWalking-v1", {}, 6),
        ("CliffWalkingSlippery-v1", {}, 6),
        ("Taxi-v4", {}, 20),
        ("Taxi-v4", {"is_rainy": True, "fickle_passenger": True}, 20),
        ("Blackjack-v1", {}, 50),
        ("Blackjack-v1", {"sab": False, "natural": True}, 50),
    ],
    ids=str,
)
def test_toy_text(env_id, kwargs, least, mode):
    """Whole episodes; Taxi turns its car when it is drawn, so every step is."""
    if mode not in gymnasium.make(env_id).metadata["render_modes"]:
        assert mode not in batchenv.make(env_id).metadata["render_modes"]
        return
    ours = batchenv.make(env_id, 3, render_mode=mode, **kwargs)
    theirs = SyncVectorEnv([lambda: gymnasium.make(env_id, render_mode=mode, disable_env_checker=True, **kwargs)] * 3)
    ours.reset(seed=5), theirs.reset(seed=5)
    rng = np.random.default_rng(0)
    seen = set()
    for _ in range(40):
        frames, expected = ours.render(), theirs.render()
        if mode == "ansi":
            assert frames == expected
        else:
            assert_same_frames(frames, expected)
        seen.update(frame if mode == "ansi" else frame.tobytes() for frame in frames)
        actions = rng.integers(ours.single_action_space.n, size=3)
        ours.step(actions), theirs.step(actions)
    assert len(seen) >= least


def test_copies_draw_the_same_map():
    env = begun(batchenv.make("FrozenLake-v1", 2, map_name=None, render_mode="rgb_array"))
    assert_same_frames(copy.deepcopy(env).render(), env.render())


def test_no_pictures():
    """What Gymnasium does not have it does not draw."""
    for env_id in ("Catch-v0", "NChain-v0"):
        assert batchenv.make(env_id).metadata["render_modes"] == []
        with pytest.raises(ValueError, match=f"render_mode='rgb_array' of {env_id} must be None$"):
            batchenv.make(env_id, render_mode="rgb_array")


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_every_type_has_a_drawing():
    for env_id in ids.IN_GYMNASIUM:
        assert isinstance(translator(batchenv.registry.TABLE[env_id].type_name), Drawn)
        expected = gymnasium.make(env_id).metadata["render_modes"]
        assert batchenv.make(env_id).metadata["render_modes"] == expected


# ---- arguments -----------------------------------------------------------------------------------------------------


def test_lanes():
    env = begun(batchenv.make("CartPole-v1", 5, render_mode="rgb_array"))
    every = env.render()
    assert len({frame.tobytes() for frame in every}) == 5
    mask = np.array([True, False, False, True, False])
    for lanes, numbers in [
        (2, [2]),
        (np.int64(4), [4]),
        ([3, 0, 3], [3, 0, 3]),
        ((1,), [1]),
        (np.array([4, 1], np.uint64), [4, 1]),
        (range(2), [0, 1]),
        (slice(None, None, 2), [0, 2, 4]),
        (slice(-2, None), [3, 4]),
        (mask, [0, 3]),
        (mask.tolist(), [0, 3]),
        ([], []),
        (slice(9, 12), []),
    ]:
        assert_same_frames(env.render(lanes), [every[i] for i in numbers])
    assert_same_frames(env.render(lanes=1), every[1:2])


@pytest.mark.parametrize(
    "lanes, error, text",
    [
        (5, ValueError, r"lane 5 of lanes=5 must be in 0\.\.4"),
        (-6, ValueError, r"lane -6 of lanes=-6 must be in 0\.\.4"),
        ([0, 7], ValueError, r"lane 7 of lanes=\[0, 7\] must be in 0\.\.4"),
        (np.array([2**64 - 1], np.uint64), ValueError, r"lane 18446744073709551615 "),
        ([True, False], ValueError, r"must, as a bool mask, have shape \(5,\), not \(2,\)"),
        (True, ValueError, r"must, as a bool mask, have shape \(5,\), not \(\)"),
        ([True, 2], TypeError, "a list of ints"),
        (1.0, TypeError, r"lanes=1\.0 must be None, an int, a list of ints, a slice or a bool mask \(5,\)"),
        ("0", TypeError, "lanes='0' must be"),
        ({0, 1}, TypeError, "must be"),
        ([[0, 1]], TypeError, "must be"),
        ([[0], [1, 2]], TypeError, "must be"),
        ([None], TypeError, "must be"),
    ],
)
def test_wrong_lanes(lanes, error, text):
    env = begun(batchenv.make("CartPole-v1", 5, render_mode="rgb_array"))
    with pytest.raises(error, match=text):
        env.render(lanes)
    with pytest.raises(error, match=text):
        lane_indices(lanes, 5)


@pytest.mark.parametrize("mode", ["rgb", "rgb_array_list", "ansi", "", 1, ["human"], True])
def test_wrong_mode(mode):
    with pytest.raises(ValueError, match=r"render_mode=.* must be None or one of 'human', 'rgb_array'"):
        batchenv.make("CartPole-v1", 1, render_mode=mode)


def test_human_is_for_one_lane():
    with pytest.raises(ValueError, match=r"num_envs=2: take num_envs=1, or render_mode='rgb_array' with .*HumanRender"):
        batchenv.make("CartPole-v1", 2, render_mode="human")


def test_order_of_calls():
    env = batchenv.make("CartPole-v1", 1, render_mode="rgb_array")
    with pytest.raises(ResetNeeded, match="before the first reset"):
        env.render()
    env.reset(seed=0)
    env.render()
    env.close()
    with pytest.raises(ClosedEnvironmentError):
        env.render()
    plain = begun(batchenv.make("CartPole-v1", 1))
    with pytest.warns(UserWarning, match="render_mode='rgb_array'"):
        assert plain.render() is None
    with pytest.warns(UserWarning, match="render_mode='rgb_array'"):
        assert gymnasium.make("batchenv/CartPole-v1").unwrapped.render() is None


def test_without_pygame(monkeypatch):
    monkeypatch.setitem(sys.modules, "pygame", None)
    for mode in ("rgb_array", "human"):
        with pytest.raises(DependencyNotInstalled, match=r"pip install 'batchenv\[render\]'"):
            batchenv.make("CartPole-v1", 1, render_mode=mode)


def test_without_box2d(monkeypatch):
    monkeypatch.setitem(sys.modules, "Box2D", None)
    env = begun(batchenv.make("LunarLander-v3", 2))  # steps need no library
    env.step(env.action_space.sample())
    for missing in ("Box2D", "pygame"):
        monkeypatch.setitem(sys.modules, missing, None)
        words = r"needs Box2D: steps of this environment need no library, .* pip install 'gymnasium\[box2d\]'"
        with pytest.raises(DependencyNotInstalled, match=words):
            batchenv.make("LunarLander-v3", 1, render_mode="rgb_array")


def test_pygame_comes_with_the_first_frame():
    code = """if True:
        import sys, batchenv
        env = batchenv.make("CartPole-v1", 2, render_mode="rgb_array")
        env.reset(seed=0)
        assert "pygame" not in sys.modules
        env.render()
        assert "pygame" in sys.modules
    """
    run_python(code)


# ---- windows and closing -------------------------------------------------------------------------------------------


def shown():
    import pygame

    return pygame.surfarray.array3d(pygame.display.get_surface()).transpose(1, 0, 2)


def quick(renderer_env):
    """No wait between frames: the window's clock would hold the test to 15 frames a second."""
    renderer_env.clock = types.SimpleNamespace(tick=lambda fps: None)


@pytest.mark.parametrize("env_id", ["CartPole-v1", "Pendulum-v1"])
@pytest.mark.parametrize("single", [False, True])
def test_human(env_id, single):
    """The window shows every reset and step without a call of render()."""
    import pygame

    if single:
        env = gymnasium.make(f"batchenv/{env_id}", render_mode="human")
        batch = env.unwrapped._batch
    else:
        env = batch = batchenv.make(env_id, 1, render_mode="human")
    pixels = batchenv.make(env_id, 1, render_mode="rgb_array")
    env.reset(seed=0), pixels.reset(seed=0)
    quick(batch._drawer._env)
    np.testing.assert_array_equal(shown(), pixels.render()[0])
    for actions in actions_of(pixels, 4, seed=0):
        env.step(actions[0] if single else actions), pixels.step(actions)
        np.testing.assert_array_equal(shown(), pixels.render()[0])
    assert env.render() is None
    pixels.close()
    assert pygame.display.get_surface() is not None  # closing an env without a window closes no window
    renderer = batch._drawer
    env.close()
    assert renderer._env is None and pygame.display.get_surface() is None


def test_closing_one_leaves_the_others():
    first, second = (batchenv.make("CartPole-v1", 2, render_mode="rgb_array") for _ in range(2))
    window = batchenv.make("CartPole-v1", 1, render_mode="human")
    for env in (first, second, window):
        env.reset(seed=0)
    frames = first.render()
    assert_same_frames(second.render(), frames)
    for env in (second, window):
        renderer = env._drawer
        env.close()
        assert renderer._env is None
        assert_same_frames(first.render(), frames)


# ---- Gymnasium's ways in -------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
@pytest.mark.parametrize("env_id", ids.DRAWN_ALIKE)
def test_single_env(env_id):
    ours = gymnasium.make(f"batchenv/{env_id}", render_mode="rgb_array")
    theirs = gymnasium.make(env_id, render_mode="rgb_array")
    assert ours.render_mode == "rgb_array" and ours.metadata == theirs.metadata
    ours.reset(seed=2), theirs.reset(seed=2)
    ours.action_space.seed(0)
    for _ in range(4):
        np.testing.assert_array_equal(ours.render(), theirs.render())
        action = ours.action_space.sample()
        if any(ours.step(action)[2:4]) | any(theirs.step(action)[2:4]):
            ours.reset(), theirs.reset()
    many = begun(gymnasium.make(f"batchenv/{env_id}", render_mode="rgb_array_list"), seed=2)
    many.step(action)
    assert len(many.render()) == 2


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_gymnasium_checker():
    check_env(gymnasium.make("batchenv/CartPole-v1", render_mode="rgb_array").unwrapped)


def test_make_vec():
    env = gymnasium.make_vec("batchenv/CartPole-v1", num_envs=3, render_mode="rgb_array")
    assert isinstance(env, batchenv.BatchEnv) and env.get_attr("render_mode") == ("rgb_array",) * 3
    again = gymnasium.make_vec(env.spec)
    made = gymnasium.make_vec(batchenv.make("CartPole-v1", 3, render_mode="rgb_array").spec)
    for each in (env, again, made):
        each.reset(seed=0)
    assert_same_frames(again.render(), env.render())
    assert_same_frames(made.render(), env.render())


def test_a_spec_is_not_changed_with_the_callers_arrays():
    lengths = np.array([0.1, 0.2])
    env = batchenv.make("CartPole-v1", 2, length=lengths)
    lengths[:] = 0.9
    assert gymnasium.make_vec(env.spec).get_attr("length") == env.get_attr("length") == (0.1, 0.2)


@pytest.mark.parametrize("limit", [7, None])
def test_lanes_have_a_spec_with_their_limit(limit):
    env = batchenv.make("CartPole-v1", 2, max_episode_steps=limit)
    assert [spec.max_episode_steps for spec in env.get_attr("spec")] == [limit] * 2


@pytest.mark.filterwarnings("ignore:.*Overriding environment")
@pytest.mark.parametrize("entry", ["numpy:ndarray", "no_such_module:Env", "class"])
def test_an_id_that_a_user_has_registered_again(entry, monkeypatch):
    monkeypatch.setitem(gymnasium.registry, "CartPole-v1", gymnasium.registry["CartPole-v1"])  # for the end
    gymnasium.register("CartPole-v1", type("Mine", (gymnasium.Env,), {}) if entry == "class" else entry)
    env = batchenv.make("batchenv/CartPole-v1", 2)
    assert env.backend == "C" and env.reset(seed=0)[0].shape == (2, 4)
    with pytest.raises(ValueError, match="render_mode='rgb_array' of CartPole-v1 must be None"):
        batchenv.make("batchenv/CartPole-v1", 2, render_mode="rgb_array")


def test_human_rendering_wrapper():
    pytest.importorskip("cv2", reason="the wrapper needs opencv: pip install 'gymnasium[other]'")
    import pygame

    env = begun(wrappers.HumanRendering(batchenv.make("CartPole-v1", 4, render_mode="rgb_array")))
    env.step([0, 1, 0, 1])
    assert pygame.display.get_surface() is not None
    env.close()
    assert "human" in batchenv.make("CartPole-v1").metadata["render_modes"]


# ---- videos --------------------------------------------------------------------------------------------------------


def check_video(folder, recorded):
    """The one video in `folder` shows the `recorded` frames, as well as lossy compression lets it."""
    from moviepy import VideoFileClip

    (path,) = folder.glob("*.mp4")
    with VideoFileClip(str(path)) as clip:
        frames = list(clip.iter_frames())
    # moviepy rounds the length down to hundredths of a second, which may lose the last frame.
    assert len(recorded) - 1 <= len(frames) <= len(recorded)
    for frame, original in zip(frames, recorded, strict=False):
        assert frame.shape == original.shape
        assert np.abs(frame.astype(float) - original).mean() < 2


def test_vector_record_video(tmp_path):
    pytest.importorskip("moviepy", reason="videos need moviepy: pip install 'batchenv[render]'")
    env = batchenv.make("CartPole-v1", 4, render_mode="rgb_array", max_episode_steps=9)
    env = begun(wrappers.RecordVideo(env, str(tmp_path / "videos"), episode_trigger=lambda episode: episode == 0))
    for _ in range(9):
        env.step([0, 1, 0, 1])
    recorded = env.recorded_frames
    env.step([0, 1, 0, 1])  # the autoreset: the video ends
    env.close()
    assert len(recorded) == 10 and recorded[0].shape == (800, 1200, 3)
    assert not np.array_equal(recorded[0], recorded[-1])
    check_video(tmp_path / "videos", recorded)


def test_record_video(tmp_path):
    pytest.importorskip("moviepy", reason="videos need moviepy: pip install 'batchenv[render]'")
    env = gymnasium.make("batchenv/Pendulum-v1", render_mode="rgb_array", max_episode_steps=8)
    env = begun(RecordVideo(env, str(tmp_path / "videos"), episode_trigger=lambda episode: True))
    for _ in range(8):
        env.step(np.array([1.0], np.float32))
    recorded = env.recorded_frames
    env.close()
    assert len(recorded) == 9 and recorded[0].shape == (500, 500, 3)
    check_video(tmp_path / "videos", recorded)
