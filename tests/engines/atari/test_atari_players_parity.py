"""Atari games for several players against the emulator's own multi-agent interface, frame by frame, and PettingZoo's.

The references run the same libale_c, started as ours: so all is equal from the first frame, without leading one machine
to the other. BATCHENV_ATARI_FRAMES sets the frames per game; the default keeps the suite short.
"""

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, MultiDiscrete
from gymnasium.vector import AutoresetMode

import batchenv
from batchenv.envs.atari import files, games, players
from helpers.atari import COUNTS, RAW, frames, id_of, multi_agent_ale_py
from helpers.parity import Case, follow

TEAMS = [(game, count) for game, table in players.MODES.items() for count in table if count > 1]
RAW_TEAM = {**RAW, "max_episode_steps": None}


def make_machine(game, mode=None):
    machine = multi_agent_ale_py.ALEInterface()
    machine.setLoggerMode("error")
    machine.setFloat("repeat_action_probability", 0.0)
    machine.setInt("random_seed", 1)
    machine.loadROM(str(files.rom_path(game)))
    if mode is not None:
        machine.setMode(mode)
    return machine


class Machine(gymnasium.Env):
    """The emulator's own interface as an env. Its episodes wait for `lead`, which starts their games."""

    def __init__(self, game, mode):
        self.game, self.mode = game, mode
        self.reset()
        self.joysticks = self.machine.getMinimalActionSet()
        self.action_space = MultiDiscrete([len(self.joysticks)] * self.machine.numPlayersActive())
        self.observation_space = Box(0, 255, self.machine.getScreenRGB().shape, np.uint8)

    def reset(self, *, seed=None, options=None):
        self.machine, self.started = make_machine(self.game, self.mode), False
        return self.machine.getScreenRGB(), {}

    def step(self, action):
        machine = self.machine
        points = machine.act(self.joysticks[action])
        lives = np.array(machine.allLives(), np.int32)
        info = {"rewards": np.array(points, float), "player_lives": lives, "lives": lives[0]}
        return machine.getScreenRGB(), float(points[0]), machine.game_over(), False, info


def lead(machine, game, snapshot):
    """Brings a new machine to our lane's state: that of one of its first 16 power-ons."""
    saved = bytes(snapshot)
    for _ in range(16):
        machine.reset_game()
        for _ in range(games.about(game).settle):
            machine.act(np.zeros(machine.numPlayersActive(), np.intc))
        state = machine.cloneState()
        found = machine.encodeState(state).tobytes()
        machine.deleteState(state)
        if found in saved:
            return
    pytest.fail("no power-on of the reference has this state")


def lead_new_games(ours, theirs, observations):
    for lane, env in enumerate(theirs.envs):
        if not env.started:
            lead(env.machine, env.game, ours.snapshot([lane]))
            env.started = True


def memory(ours, theirs):
    return ours.state["ram"], np.stack([env.machine.getRAM() for env in theirs.envs])


def team(game, count, mode=None, **options):
    """A game of several players against the library's own."""
    return Case(
        id_of(game),
        ours={**RAW_TEAM, "players": count, **({} if mode is None else {"mode": mode})},
        theirs={"game": game, "mode": players.choose(game, count, mode)},
        creator=lambda _, **keywords: Machine(**keywords),
        align=lead_new_games,
        drop=COUNTS,
        look=memory,
        **options,
    )


@pytest.mark.cases(25)
@pytest.mark.parametrize("game", sorted(path.stem for path in files.rom_path("pong").parent.glob("*.bin")))
def test_the_table_of_modes_is_the_librarys(game):
    machine = make_machine(game)
    theirs = {count: tuple(machine.getAvailableModes(count).tolist()) for count in range(1, players.MAX_PLAYERS + 1)}
    theirs = {count: modes for count, modes in theirs.items() if modes}
    assert theirs.keys() == {1} if game not in players.MODES else theirs == players.MODES[game]


@pytest.mark.cases(8)
@pytest.mark.parametrize("game, count", TEAMS)
def test_frames_equal_the_librarys_own(game, count):
    case = team(game, count, hold=4)
    ours, theirs = case.pair(1, AutoresetMode.DISABLED)
    assert theirs.envs[0].machine.numPlayersActive() == count
    follow(case, ours, theirs, frames(300), seed=3)


@pytest.mark.parametrize("game, mode", [("pong", 45), ("entombed", 3), ("combat", 20), ("joust", 3), ("space_war", 5)])
def test_other_modes_equal_the_librarys_own(game, mode):
    case = team(game, 2, mode)
    follow(case, *case.pair(1, AutoresetMode.DISABLED), 100, seed=1)


def test_frame_skip_and_maxpool_are_those_of_one_player():
    """Steps of four frames against the library's frames, pooled and shrunk by cv2 as AtariPreprocessing does."""
    cv2 = pytest.importorskip("cv2", reason="the reference of the shrinking: opencv-python")
    env = batchenv.make("Pong-v5", players=2, noop_max=0, use_fire_reset=False)
    env.reset(seed=1)
    machine = make_machine("pong", 4)
    lead(machine, "pong", env.snapshot())
    joysticks = machine.getMinimalActionSet()
    rng = np.random.default_rng(5)
    scored = 0
    for _ in range(200):
        actions = rng.integers(6, size=2)
        observation, _, _, _, info = env.step(actions[None])
        points, screens = np.zeros(2, int), []
        for _ in range(4):
            points += machine.act(joysticks[actions])
            screens.append(machine.getScreenGrayscale()[..., 0])
        expected = cv2.resize(np.maximum(*screens[2:]), (84, 84), interpolation=cv2.INTER_AREA)
        np.testing.assert_array_equal(observation[0, -1], expected)
        np.testing.assert_array_equal(info["rewards"][0], points)
        scored += int(points.any())
    assert scored


# ---- PettingZoo ------------------------------------------------------------------------------------------------------


def pettingzoo_pong(**keywords):
    pytest.importorskip("pettingzoo", reason="the reference: pip install pettingzoo")
    from pettingzoo.atari import pong_v3

    return pong_v3.parallel_env(auto_rom_install_path=str(files.rom_path("pong").parent), **keywords)


@pytest.mark.parametrize("count", [2, 4])
def test_pong_equals_pettingzoo(count):
    theirs = pettingzoo_pong(num_players=count, obs_type="rgb_image")
    ours = batchenv.make_parallel("Pong-v5", 1, players=count, autoreset_mode="Disabled", **RAW_TEAM)
    assert ours.possible_agents == theirs.possible_agents
    for agent in ours.possible_agents:
        assert ours.observation_space(agent) == theirs.observation_space(agent)
        assert ours.action_space(agent) == theirs.action_space(agent)
    ours.reset(seed=0)
    theirs.reset(seed=1)
    for _ in range(16):  # no two power-ons of the machine are the same
        if np.array_equal(theirs.unwrapped.ale.getRAM(), ours.env.state["ram"][0]):
            break
        theirs.unwrapped.ale.reset_game()
    rng = np.random.default_rng(3)
    scores = dict.fromkeys(ours.possible_agents, 0)
    for step in range(600):
        actions = {agent: int(rng.integers(6)) for agent in ours.agents}
        mine = ours.step({agent: np.array([action]) for agent, action in actions.items()})
        expected = theirs.step(actions)
        assert [list(part) for part in mine] == [ours.possible_agents] * 5
        for agent in ours.possible_agents:
            np.testing.assert_array_equal(mine[0][agent][0], expected[0][agent], err_msg=f"step {step}")
            for k in (1, 2, 3):
                assert mine[k][agent][0] == expected[k][agent], f"step {step}"
            scores[agent] += mine[1][agent][0]
    assert any(scores.values())


@pytest.mark.parametrize(
    "module, env_id, keywords",
    [
        ("boxing_v2", "Boxing-v5", {}),
        ("space_invaders_v2", "SpaceInvaders-v5", {}),
        ("warlords_v3", "Warlords-v5", {}),
        ("maze_craze_v3", "MazeCraze-v5", {}),
        ("entombed_competitive_v3", "Entombed-v5", {}),
        ("entombed_cooperative_v3", "Entombed-v5", {"mode": 3}),
        ("wizard_of_wor_v3", "WizardOfWor-v5", {}),
        ("flag_capture_v2", "FlagCapture-v5", {}),
        ("pong_v3", "Pong-v5", {}),
    ],
)
def test_default_modes_and_actions_are_pettingzoos(module, env_id, keywords):
    pytest.importorskip("pettingzoo", reason="the reference: pip install pettingzoo")
    import importlib

    theirs = importlib.import_module(f"pettingzoo.atari.{module}").parallel_env(
        auto_rom_install_path=str(files.rom_path("pong").parent)
    )
    ours = batchenv.make_parallel(env_id, **keywords)
    assert ours.possible_agents == theirs.possible_agents
    assert ours.action_space("second_0") == theirs.action_space("second_0")
    game, count = ours.env.get_attr("game")[0], len(ours.possible_agents)
    assert players.choose(game, count, keywords.get("mode")) == theirs.unwrapped.mode
