"""Every Atari game against ale-py, frame by frame; and the usual preprocessing against Gymnasium's wrappers.

libale_c starts a game a few no-op frames later than ale-py, and the two draw the random bytes that memory holds at
power-on differently. So ale-py's machine is first led to ours: as many no-ops as bring its memory nearest, then its
memory is set to ours. From there on all is compared.

BATCHENV_ATARI_FRAMES sets the frames per game; the default keeps the suite short.
"""

import functools

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode
from gymnasium.wrappers import AtariPreprocessing, FrameStackObservation

from batchenv.envs.atari.games import GAMES
from helpers.atari import COUNTS, PLAIN, RAW, ale_py, frames, id_of
from helpers.parity import Case, follow

MOST_OFFSET = 14

# Pong's second paddle, which nobody holds, stands elsewhere: it is in memory, and rarely in a few pixels.
OTHER_BYTES = {"pong": [5, 52, 53, 61, 62]}
# Yars' Revenge shows what is on the console's bus, which no saved state holds.
MOST_OTHER_PIXELS = {"pong": 8, "yars_revenge": 40}
# Cartridges with memory of their own, whose random bytes at power-on cannot be read or set.
OWN_MEMORY = ("darkchambers", "elevator_action", "klax")
# Its points are differences of a clock, which started at another time.
FIRST_REWARD_DIFFERS = ("skiing",)


class Machine(ale_py.AtariEnv):
    """ale-py's env with a power-on from which games start as ours do, and lives of our dtype. If `lives` are episodes,
    a reset before the game is over goes on in it after a frame of doing nothing."""

    def __init__(self, game, lives=False):
        self.lives, self.new_game = lives, True
        super().__init__(game, frameskip=1, repeat_action_probability=0.0)

    def seed_game(self, seed=None):
        self.ale.setInt("random_seed", 1)

    def reset(self, *, seed=None, options=None):
        if self.lives and seed is None and not self.ale.game_over():
            observation, *_, info = self.step(0)
            return observation, info
        self.new_game = True
        return super().reset()

    def step(self, action):
        *result, info = super().step(action)
        return *result, {**info, "lives": np.int32(info["lives"])}


def lead(ours, theirs, observations, game):
    """Brings machines with new games to the memory of ours, and their stacks of frames to our observations."""
    for env, memory, stack in zip(theirs.envs, ours.state["ram"], observations, strict=True):
        ale = env.unwrapped.ale
        if not env.unwrapped.new_game:
            continue
        env.unwrapped.new_game = False
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
        if isinstance(env, FrameStackObservation):
            env.obs_queue.extend(stack)


def machines(ours, theirs, game):
    """Memory, screens and lives of both."""
    state, ales = ours.state, [env.unwrapped.ale for env in theirs.envs]
    memory, screens = np.stack([ale.getRAM() for ale in ales]), np.stack([ale.getScreen() for ale in ales])
    memory[:, OTHER_BYTES.get(game, [])] = state["ram"][:, OTHER_BYTES.get(game, [])]
    mine = state["screen"][:, : screens[0].size].reshape(screens.shape)
    assert (mine != screens).sum(axis=(1, 2)).max() <= MOST_OTHER_PIXELS.get(game, 0)
    lives = np.array([ale.lives() for ale in ales], np.int32)
    return (state["ram"], state["lives"]), (memory, lives)


def excuse(result, expected, begun, game):
    """Allows a few other pixels, and another first reward."""
    if game in MOST_OTHER_PIXELS:
        assert (result[0].dtype, result[0].shape) == (expected[0].dtype, expected[0].shape)
        other = (result[0] != expected[0]).any(axis=-1).sum(axis=(1, 2))
        assert other.max() <= MOST_OTHER_PIXELS[game]
        result[0] = expected[0]
    if game in FIRST_REWARD_DIFFERS:
        result[1] = np.where(begun, expected[1], result[1])


@pytest.mark.cases(8)
@pytest.mark.parametrize("game", [game for game in GAMES if game not in OWN_MEMORY])
def test_frames_equal_ale_py(game):
    case = Case(
        id_of(game),
        ours=RAW,
        theirs={"game": game},
        creator=lambda _, game: Machine(game),
        hold=5,
        align=functools.partial(lead, game=game),
        drop=COUNTS,
        excuse=functools.partial(excuse, game=game),
        look=functools.partial(machines, game=game),
    )
    follow(case, *case.pair(1, AutoresetMode.DISABLED), frames(120), seed=3)


def preprocessed(env_id, game, lives, **keywords):
    env = AtariPreprocessing(Machine(game, lives), noop_max=0, terminal_on_life_loss=lives, **keywords)
    return FrameStackObservation(env, 4)


def show_the_last_frame(result, expected, begun):
    """AtariPreprocessing shows the frame before where an episode ends within a step, ours the last one."""
    ended = expected[2] | expected[3]
    result[0] = np.where(ended.reshape(-1, *[1] * (result[0].ndim - 1)), expected[0], result[0])


@pytest.mark.cases(1, per="game")
@pytest.mark.parametrize("options", [{}, {"grayscale": False}, {"size": (64, 96)}, {"lives": True}], ids=str)
@pytest.mark.parametrize("game", ["breakout", "space_invaders", "ms_pacman", "seaquest", "qbert"])
def test_preprocessing_equals_gymnasium(game, options):
    pytest.importorskip("cv2", reason="Gymnasium's AtariPreprocessing needs opencv-python")
    (width, height), lives = options.get("size", (84, 84)), options.get("lives", False)
    grayscale = options.get("grayscale", True)
    case = Case(
        "ALE/" + game.title().replace("_", "") + "-v5",
        ours={
            **PLAIN,
            "reward_clipping": False,
            "img_height": height,
            "img_width": width,
            "obs_type": "grayscale" if grayscale else "rgb",
            "episodic_life": lives,
        },
        theirs={"game": game, "lives": lives, "screen_size": (width, height), "grayscale_obs": grayscale},
        creator=preprocessed,
        align=functools.partial(lead, game=game),
        drop=COUNTS,
        excuse=show_the_last_frame,
    )
    follow(case, *case.pair(1, AutoresetMode.DISABLED), 150, seed=2)
