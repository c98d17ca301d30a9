"""C files for several players through make_parallel: examples/own_env/race.c against its rules in Python."""

import re

import numpy as np
import pytest
from gymnasium import spaces

import batchenv
from helpers.begun import begun
from helpers.project import ROOT

LANES = 9
AGENTS = ["red", "blue"]
RACE = ROOT / "examples/own_env/race.c"


class Race:
    """The rules of race.c once more, with PettingZoo's parallel API."""

    metadata = {"name": "race"}
    possible_agents = AGENTS

    def observation_space(self, agent):
        return spaces.Box(0, 12, (2,), np.float32)

    def action_space(self, agent):
        return spaces.Discrete(2)

    def reset(self, seed=None, options=None):
        if seed is not None:
            self.rng = np.random.default_rng(seed)
        self.place = [int(self.rng.integers(3)) for _ in AGENTS]
        self.agents, self.steps = list(AGENTS), 0
        return self._seen(), {agent: {} for agent in AGENTS}

    def _seen(self):
        own = {"red": self.place, "blue": self.place[::-1]}
        return {agent: np.array(own[agent], np.float32) for agent in self.agents}

    def step(self, actions):
        self.steps += 1
        for j, agent in enumerate(AGENTS):
            if agent in self.agents:
                stride = 1 if actions[agent] == 0 else 2 * (self.rng.random() >= 0.4)
                self.place[j] = min(self.place[j] + stride, 12)
        rewards = {}
        for agent in self.agents:
            j = AGENTS.index(agent)
            rewards[agent] = float(self.place[j] == 12 and self.place[1 - j] < 12) - 0.01
        over = {agent: self.place[AGENTS.index(agent)] == 12 for agent in self.agents}
        cut = dict.fromkeys(self.agents, self.steps == 50)
        result = self._seen(), rewards, over, cut, {agent: {} for agent in self.agents}
        self.agents = [agent for agent in self.agents if not over[agent]]
        return result

    def close(self):
        pass


@pytest.fixture(scope="module", autouse=True)
def compiled(cache):
    batchenv.compile(RACE)


def assert_same(ours, theirs):
    """What two parallel envs have returned."""
    for mine, other in zip(ours[:-1], theirs[:-1], strict=True):
        for agent in AGENTS:
            np.testing.assert_array_equal(mine[agent], other[agent])
            assert mine[agent].dtype == other[agent].dtype
    for agent in AGENTS:
        mine, other = ours[-1][agent], theirs[-1][agent]
        assert mine.keys() == other.keys()
        for key in ("active", "playing"):
            np.testing.assert_array_equal(mine[key], other[key])
        for lane in np.flatnonzero(mine.get("_final_obs", ())):
            np.testing.assert_array_equal(mine["final_obs"][lane], other["final_obs"][lane])


@pytest.mark.parametrize("mode", ["NextStep", "SameStep", "Disabled"])
def test_the_rules_in_python_give_the_same(mode):
    ours = batchenv.make_parallel(str(RACE), LANES, autoreset_mode=mode)
    theirs = batchenv.make_parallel(Race, LANES, workers="serial", autoreset_mode=mode)
    assert ours.possible_agents == ours.agents == AGENTS
    for agent in AGENTS:
        assert ours.observation_space(agent) == theirs.observation_space(agent)
        assert ours.action_space(agent) == theirs.action_space(agent)
    assert_same(ours.reset(seed=4), theirs.reset(seed=4))
    rng, waited, ends = np.random.default_rng(1), 0, 0
    for _ in range(70):
        actions = {agent: rng.integers(2, size=LANES) for agent in AGENTS}
        result = ours.step(actions)
        assert_same(result, theirs.step(actions))
        waited += sum((~result[-1][agent]["active"]).sum() for agent in AGENTS)
        done = (result[2]["red"] | result[3]["red"]) & (result[2]["blue"] | result[3]["blue"])
        ends += done.sum()
        if mode == "Disabled" and done.any():
            first, second = (one.reset(options={"reset_mask": done.copy()}) for one in (ours, theirs))
            assert_same(first, second)
    assert waited > 10 and ends > 20
    theirs.close()
    ours.close()
    assert ours.agents == []


def test_each_player_as_a_lane():
    env = batchenv.make_parallel("Race-v0", 4, env_type="gymnasium")
    assert env.num_envs == 8 and env.single_action_space == spaces.Discrete(2)
    observations, _ = env.reset(seed=0)
    assert observations.shape == (8, 2)
    returns = np.zeros(8)
    for _ in range(60):
        _, rewards, terminated, truncated, _ = env.step(env.action_space.sample())
        returns += rewards
    assert (terminated | truncated).shape == (8,) and returns.any()
    env.close()


def test_the_whole_is_a_batch_env():
    env = begun(batchenv.make("Race-v0", 4, fall=[0.0, 1.0, 0.5, 0.5]))
    _, rewards, _, _, infos = env.step({"red": np.ones(4, int), "blue": np.zeros(4, int)})
    np.testing.assert_array_equal(rewards, infos["red"]["reward"] + infos["blue"]["reward"])
    env.set_state({"place": [11, 11]}, [2])
    assert env.step({"red": np.zeros(4, int), "blue": np.zeros(4, int)})[2].tolist() == [False, False, True, False]


def test_wrong_actions_and_what_is_not_there():
    env = begun(batchenv.make_parallel("Race-v0", 2, max_episode_steps=5))
    for actions, text in [
        ({"red": [0, 0]}, r"actions lack \['blue'\]"),
        ({"red": [0, 0], "blue": [0, 2]}, r"actions\['blue'\]\[1\]=2 is not in 0\.\.1"),
        ({"red": [0, 0], "blue": [0]}, r"actions\['blue'\] have shape \(1,\)"),
    ]:
        with pytest.raises(ValueError, match=text):
            env.step(actions)
    with pytest.raises(NotImplementedError, match="cannot be sent and received by agent"):
        env.async_reset()
    with pytest.raises(NotImplementedError, match=r"env\.env\.state"):
        env.state()
    for _ in range(5):
        result = env.step({"red": [0, 0], "blue": [0, 0]})
    assert result[3]["red"].tolist() == [True, True]
    with pytest.raises(TypeError, match="players=2 is for Atari games: Race-v0 has those that its C file names"):
        batchenv.make_parallel("Race-v0", 2, players=2)


@pytest.mark.parametrize(
    "old, new, text",
    [
        ('"blue/reward", BE_REWARD', '"prize", BE_REWARD', "blue has no reward"),
        ('"blue", BE_OBSERVATION', '"teal", BE_OBSERVATION', "blue has no observation, the observation 'teal' belongs"),
    ],
)
def test_what_is_not_for_several_players(old, new, text, tmp_path):
    source = RACE.read_text()
    assert old in source
    path = tmp_path / "odd.c"
    path.write_text(source.replace(old, new).replace("Race", "Odd" if "teal" in new else "Strange"))
    words = rf"(Odd|Strange)-v0 is not for several players \({text}.*such as \"red\" \(BE_ACTION\)"
    with pytest.raises(ValueError, match=words):
        batchenv.make_parallel(str(path), 2)


def test_one_player():
    with pytest.raises(ValueError, match=r"Treasure-v0 is not for several players \(its action is no Dict"):
        batchenv.make_parallel(f"{ROOT / 'examples/own_env/treasure.c'}:Treasure-v0", 2)
    with pytest.raises(ValueError, match=re.escape("CartPole-v1 is for one player")):
        batchenv.make_parallel("CartPole-v1", 2)
