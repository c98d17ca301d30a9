"""Players as rows of a vector env: against PettingZoo's API over the same lanes, and against SuperSuit."""

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.wrappers.vector import RecordEpisodeStatistics

import batchenv
from helpers.begun import begun
from helpers.parallel_envs import Herd, Meadow, supersuit_herd

LANES = 4


def rows(values, agents):
    """{agent: array of lanes} as rows, one by one."""
    return np.array([values[agent][lane] for lane in range(LANES) for agent in agents])


@pytest.mark.parametrize("what", [Herd, "Pong-v5"], ids=["python", "atari"])
def test_rows_are_those_of_each_agent(what):
    keywords = {"workers": "serial"} if what is Herd else {"max_num_frames_per_episode": 300}
    other = batchenv.make_parallel(what, LANES, autoreset_mode="SameStep", **keywords)
    mine = batchenv.make_parallel(what, LANES, env_type="gymnasium", **keywords)
    agents = other.possible_agents
    assert isinstance(mine, gymnasium.vector.VectorEnv) and mine.num_envs == LANES * len(agents)
    assert mine.agents == agents and mine.single_action_space == other.action_space(agents[0])
    assert mine.observation_space.shape == (mine.num_envs, *mine.single_observation_space.shape)
    seen, infos = other.reset(seed=3)
    observations, told = mine.reset(seed=3)
    mine.action_space.seed(0)
    ended = out = 0
    for _ in range(80):
        np.testing.assert_array_equal(observations, rows(seen, agents))
        assert observations in mine.observation_space
        np.testing.assert_array_equal(told["active"], rows({a: infos[a]["active"] for a in agents}, agents))
        if told["active"].all() and "count" in told:
            np.testing.assert_array_equal(told["count"], rows({a: infos[a]["count"] for a in agents}, agents))
        actions = mine.action_space.sample()
        observations, rewards, terminations, truncations, told = mine.step(actions)
        seen, won, over, cut, infos = other.step({a: actions[k :: len(agents)] for k, a in enumerate(agents)})
        np.testing.assert_array_equal(rewards, rows(won, agents))
        done = terminations | truncations
        assert not (terminations & truncations).any()
        first = infos[agents[0]]
        lanes = first["_final_obs"] if "_final_obs" in first else np.zeros(LANES, bool)
        np.testing.assert_array_equal(done, np.repeat(lanes, len(agents)))
        np.testing.assert_array_equal(truncations, done & rows(cut, agents) & ~rows(over, agents))
        for row in np.flatnonzero(done):
            lane, agent = row // len(agents), agents[row % len(agents)]
            np.testing.assert_array_equal(told["final_obs"][row], infos[agent]["final_obs"][lane])
            for name in ("active", "count", "lives"):
                if name in infos[agent]["final_info"]:
                    assert told["final_info"][name][row] == infos[agent]["final_info"][name][lane]
        ended, out = ended + lanes.sum(), out + (~told["active"]).sum()
    assert ended > 3 and (out > 0 or what != Herd)
    other.close()
    mine.close()
    assert mine.closed and mine.parallel.agents == []


def test_a_wrapper_counts_episodes_of_each_agent():
    """An agent that is out gets nothing until its lane's episode ends, so that each has one return per episode."""
    env = begun(RecordEpisodeStatistics(batchenv.make_parallel(Herd, LANES, workers="serial", env_type="gymnasium")))
    sums, checked = np.zeros(env.num_envs), 0
    for _ in range(60):
        _, rewards, terminations, truncations, infos = env.step(env.action_space.sample())
        sums += rewards
        done = terminations | truncations
        if done.any():
            np.testing.assert_allclose(infos["episode"]["r"][done], sums[done], rtol=1e-5)
            checked += done.sum()
        sums[done] = 0
    assert checked >= 3 * LANES
    env.close()


def test_infos_of_some_agents():
    env = begun(batchenv.make_parallel(Herd, 2, workers="serial", env_type="gymnasium", render_mode="rgb_array"))
    *_, infos = env.step(np.zeros((6, 2), np.float32))
    np.testing.assert_array_equal(infos["_text"], [False, True, False] * 2)
    assert infos["text"].tolist() == [None, "ram", None] * 2
    np.testing.assert_array_equal(infos["count"], [1] * 6)
    assert [picture.shape for picture in env.render()] == [(2, 2, 3)] * 2  # of lanes
    env.close()


class Nested(Herd):
    """The herd with observations and actions of several parts."""

    def observation_space(self, agent):
        return spaces.Dict(at=spaces.Box(-9, 9, (3,), np.float32), cry=spaces.Text(4))

    def action_space(self, agent):
        return spaces.Tuple([spaces.Discrete(3), spaces.Box(-1, 1, (2,), np.float32)])

    def _look(self, agents):
        return {agent: {"at": self.random.random(3, np.float32), "cry": agent} for agent in agents}

    def step(self, actions):
        return super().step({agent: action[1] * action[0] for agent, action in actions.items()})


def test_nested_spaces():
    env = begun(batchenv.make_parallel(lambda: Nested(leave=False), 2, workers="serial", env_type="gymnasium"))
    both = []
    for factor in (0, 2):
        env.reset(seed=0)
        actions = (np.full(6, factor), np.arange(12, dtype=np.float32).reshape(6, 2) / 12)
        observations, rewards, *_ = env.step(actions)
        both.append(rewards)
    assert observations["cry"] == tuple(Herd.possible_agents) * 2 and observations["at"].shape == (6, 3)
    np.testing.assert_allclose(both[1] - both[0], 2 * actions[1].sum(axis=1), rtol=1e-5)
    env.close()


def test_refusals():
    make = lambda what=Herd, **keywords: batchenv.make_parallel(  # noqa: E731
        what, 2, workers="serial", env_type="gymnasium", **keywords
    )
    with pytest.raises(ValueError, match=r"space of 'sheep/0' is .*, but that of 'wolf' is .* need equal spaces"):
        make(Meadow)
    with pytest.raises(ValueError, match="must be 'SameStep' where players are rows"):
        make(autoreset_mode="NextStep")
    with pytest.raises(ValueError, match="batch_size=1 must be num_envs=2"):
        batchenv.make_parallel(Herd, 2, workers="threads", env_type="gymnasium", batch_size=1)
    with pytest.raises(ValueError, match="counts the rewards of all players"):
        make(record_episode_statistics=True)
    with pytest.raises(ValueError, match="env_type='dm' must be 'pettingzoo', 'gymnasium' or 'sb3'"):
        batchenv.make_parallel(Herd, 2, env_type="dm")
    env = make()
    with pytest.raises(ValueError, match="reset_mask"):
        env.reset(options={"reset_mask": np.ones(6, bool)})
    env.reset(seed=0)
    with pytest.raises(ValueError, match=r"shape \(2, 2\) do not fit 6 rows \(2 lanes with 3 agents each\)"):
        env.step(np.zeros((2, 2), np.float32))
    with pytest.raises(ValueError, match=r"actions\['ram'\]\[1, 0\]=3.0 is not in"):
        env.step(np.array([[0, 0]] * 4 + [[3, 0]] + [[0, 0]], np.float32))
    env.close()


def test_supersuit():
    """SuperSuit's rows, where all agents end together, as it needs it."""
    other = supersuit_herd(LANES, "gymnasium")
    mine = batchenv.make_parallel(lambda: Herd(leave=False), LANES, workers="serial", env_type="gymnasium")
    assert mine.num_envs == other.num_envs
    np.testing.assert_array_equal(mine.reset(seed=5)[0], other.reset(seed=5)[0])
    ended = 0
    for _ in range(60):
        actions = mine.action_space.sample()
        observations, rewards, terminations, truncations, infos = mine.step(actions)
        seen, won, over, cut, told = other.step(actions)
        np.testing.assert_array_equal(observations, seen)
        np.testing.assert_array_equal(rewards.astype(np.float32), won)
        np.testing.assert_array_equal(terminations, over.astype(bool))
        np.testing.assert_array_equal(truncations, cut.astype(bool) & ~over.astype(bool))
        for row in np.flatnonzero(terminations | truncations):
            np.testing.assert_array_equal(infos["final_obs"][row], told[row]["terminal_observation"])
            ended += 1
    assert ended > 10
    mine.close()
