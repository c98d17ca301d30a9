"""Every Atari game against ale-py, frame by frame; and the usual preprocessing against Gymnasium's wrappers.

libale_c starts a game a few no-op frames later than ale-py, and the two draw the random bytes that memory holds at
power-on differently. So ale-py's machine is first led to ours: as many no-ops as bring its memory nearest, then its
memory is set to ours. From there on all is compared.

BATCHENV_ATARI_FRAMES sets the frames a game (20000 takes an hour or so); the default keeps the suite short.
"""

import os

import gymnasium
import numpy as np
import pytest
from gymnasium.wrappers import AtariPreprocessing, FrameStackObservation

import batchenv
from batchenv.engines.atari.games import GAMES

ale_py = pytest.importorskip("ale_py", reason="needs ale-py, the reference and its ROMs: pip install 'batchenv[atari]'")
pytest.importorskip("multi_agent_ale_py", reason="needs libale_c: pip install 'batchenv[atari]'")

FRAMES = int(os.environ.get("BATCHENV_ATARI_FRAMES", "120"))
MOST_OFFSET = 14

# Pong's second paddle, which nobody holds, stands elsewhere: it is in memory, and rarely in a few pixels.
OTHER_BYTES = {"pong": [5, 52, 53, 61, 62]}
# Yars' Revenge shows what is on the console's bus, which no saved state holds.
MOST_OTHER_PIXELS = {"pong": 8, "yars_revenge": 40}
# Cartridges with memory of their own, whose random bytes at power-on cannot be read or set.
OWN_MEMORY = ("darkchambers", "elevator_action", "klax")
# Its points are differences of a clock, which started at another time.
FIRST_REWARD_DIFFERS = ("skiing",)


def make_reference(game):
    ale = ale_py.ALEInterface()
    ale.setLoggerMode(ale_py.LoggerMode.Error)
    ale.setFloat("repeat_action_probability", 0.0)
    ale.setInt("max_num_frames_per_episode", 0)
    ale.setInt("random_seed", 1)
    ale.loadROM(ale_py.roms.get_rom_path(game))
    return ale


def lead(ale, memory, game):
    """Brings a machine just reset to `memory`."""
    nearest, state = 129, None
    for offset in range(MOST_OFFSET):
        if offset:
            ale.act(0)
        differ = int((ale.getRAM() != memory).sum())
        if differ < nearest:
            nearest, state = differ, ale.cloneState(include_rng=True)
        if differ == 0:
            break
    ale.restoreState(state)
    for i, byte in enumerate(memory):
        if i not in OTHER_BYTES.get(game, ()):
            ale.setRAM(i, int(byte))


def assert_same(env, ale, result, points, game, where):
    state = env.state
    memory, theirs = state["ram"][0].copy(), ale.getRAM()
    for i in OTHER_BYTES.get(game, ()):
        memory[i] = theirs[i]
    np.testing.assert_array_equal(memory, theirs, err_msg=f"memory of {where}")
    height, width = ale.getScreenDims()
    screen, expected = state["screen"][0][: height * width].reshape(height, width), ale.getScreen()
    assert (screen != expected).sum() <= MOST_OTHER_PIXELS.get(game, 0), f"screen of {where}"
    if game not in MOST_OTHER_PIXELS:
        np.testing.assert_array_equal(result[0][0], ale.getScreenRGB(), err_msg=f"picture of {where}")
    assert result[1][0] == points, f"reward of {where}"
    assert result[2][0] == ale.game_over(with_truncation=False), f"end of {where}"
    assert state["lives"][0] == ale.lives() == result[4]["lives"][0], f"lives of {where}"


@pytest.mark.parametrize("game", [game for game in GAMES if game not in OWN_MEMORY])
def test_frames_equal_ale_py(game):
    name = "".join(word.capitalize() for word in game.split("_"))
    plain = {"obs_type": "rgb", "img_height": None, "img_width": None, "stack_num": None, "frameskip": 1}
    env = batchenv.make(f"{name}-v5", noop_max=0, use_fire_reset=False, autoreset_mode="Disabled", **plain)
    env.reset(seed=3)
    ale = make_reference(game)
    actions = [action.value for action in ale.getMinimalActionSet()]
    assert env.single_action_space.n == len(actions)
    rng = np.random.default_rng(7)
    fresh, action = True, 0
    for frame in range(FRAMES):
        if fresh:
            ale.reset_game()
            lead(ale, env.state["ram"][0], game)
        if frame % 5 == 0:
            action = int(rng.integers(len(actions)))
        result = env.step(np.array([action]))
        points = ale.act(ale_py.Action(actions[action]))
        if fresh and game in FIRST_REWARD_DIFFERS:
            points = result[1][0]
        assert_same(env, ale, result, points, game, f"{game}, frame {frame}")
        fresh = bool(result[2][0] or result[3][0])
        if fresh:
            env.reset()


@pytest.mark.parametrize("options", [{}, {"grayscale": False}, {"size": (64, 96)}, {"lives": True}], ids=str)
@pytest.mark.parametrize("game", ["breakout", "space_invaders", "ms_pacman", "seaquest", "qbert"])
def test_preprocessing_equals_gymnasium(game, options):
    pytest.importorskip("cv2", reason="Gymnasium's AtariPreprocessing needs opencv-python")
    gymnasium.register_envs(ale_py)
    name = game.title().replace("_", "")
    width, height = options.get("size", (84, 84))
    grayscale = options.get("grayscale", True)
    theirs = AtariPreprocessing(
        gymnasium.make(f"ALE/{name}-v5", frameskip=1, repeat_action_probability=0.0, disable_env_checker=True),
        noop_max=0,
        screen_size=(width, height),
        grayscale_obs=grayscale,
        terminal_on_life_loss=options.get("lives", False),
    )
    theirs = FrameStackObservation(theirs, 4)
    ours = batchenv.make(
        f"ALE/{name}-v5",
        repeat_action_probability=0.0,
        reward_clipping=False,
        noop_max=0,
        use_fire_reset=False,
        img_height=height,
        img_width=width,
        obs_type="grayscale" if grayscale else "rgb",
        episodic_life=options.get("lives", False),
        autoreset_mode="Disabled",
    )
    assert ours.single_observation_space == theirs.observation_space
    assert ours.single_action_space.n == theirs.action_space.n
    ours.reset(seed=2)
    theirs.reset(seed=2)
    lead(theirs.unwrapped.ale, ours.state["ram"][0], game)
    rng = np.random.default_rng(3)
    compared = 0
    for step in range(150):
        action = int(rng.integers(theirs.action_space.n))
        observation, reward, terminated, truncated, info = ours.step(np.array([action]))
        expected = theirs.step(action)
        assert (reward[0], terminated[0], truncated[0]) == expected[1:4], step
        assert info["lives"][0] == expected[4]["lives"]
        if terminated[0]:
            break
        if step >= 3:  # the frames of the reset have left the stack
            np.testing.assert_array_equal(observation[0], expected[0], err_msg=f"step {step}")
            compared += 1
    assert compared > 20
