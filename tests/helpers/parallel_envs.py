"""An environment with PettingZoo's parallel API that does everything such an env may; it needs no PettingZoo."""

import copy

import numpy as np
import pytest
from gymnasium import spaces

_SPACES = {
    "wolf": (
        spaces.Dict(observation=spaces.Box(-9, 9, (2, 3), np.float32), action_mask=spaces.MultiBinary(4)),
        spaces.Discrete(4),
    ),
    "sheep": (spaces.Box(-np.inf, np.inf, (3,), np.float64), spaces.Box(-1, 1, (2,), np.float32)),
    "dog": (spaces.Discrete(5, start=3), spaces.MultiDiscrete([3, 2])),
    "shepherd": (
        spaces.Tuple([spaces.Text(8), spaces.Box(0, 255, (2, 2), np.uint8)]),
        spaces.Dict(way=spaces.Discrete(3, start=-1), on=spaces.MultiBinary(2)),
    ),
}


class Meadow:
    """Agents with different spaces, who leave in different ways, come later, and come again."""

    metadata = {"name": "meadow_v0", "render_modes": ["rgb_array"], "render_fps": 5}
    possible_agents = ["wolf", "sheep/0", "sheep/1", "sheep/2", "dog", "shepherd"]

    def __init__(self, render_mode=None, herd=3):
        self.render_mode, self.herd, self.weight = render_mode, herd, 1.0
        pairs = {agent: copy.deepcopy(_SPACES[agent.split("/")[0]]) for agent in self.possible_agents}
        self.observation_spaces = {agent: pair[0] for agent, pair in pairs.items()}
        self.action_spaces = {agent: pair[1] for agent, pair in pairs.items()}

    def observation_space(self, agent):
        return self.observation_spaces[agent]

    def action_space(self, agent):
        return self.action_spaces[agent]

    def _look(self, agents):
        seen = {}
        for agent in agents:
            self.observation_spaces[agent].seed(int(self.random.integers(2**31)))
            seen[agent] = self.observation_spaces[agent].sample()
        return seen

    def _tell(self, agents):
        infos = {agent: {"count": self.count, "luck": self.random.random()} for agent in agents}
        for agent in agents:
            if self.random.random() < 0.3:
                infos[agent] |= {"text": f"{agent} at {self.count}", "pair": self.random.random(2)}
            if self.random.random() < 0.2:
                infos[agent] = {}
        return infos

    def reset(self, seed=None, options=None):
        if seed is not None or not hasattr(self, "random"):
            self.random = np.random.default_rng(seed)
        self.count, self.options, self.closed = 0, options, False
        self.agents = [agent for agent in self.possible_agents if agent not in ("dog", "sheep/2")]
        return self._look(self.agents), self._tell(self.agents)

    def step(self, actions):
        assert set(actions) == set(self.agents), f"actions of {list(actions)}, but {self.agents} play"
        for agent, action in actions.items():
            assert self.action_spaces[agent].contains(action), f"{action!r} of {agent}"
        self.count += 1
        playing = list(self.agents)
        rewards = {agent: self.random.normal() * self.weight + _number(actions.get(agent)) for agent in self.agents}
        terminations = {agent: bool(self.random.random() < 0.08) for agent in playing}
        truncations = {agent: bool(self.random.random() < 0.04) for agent in playing}
        if self.count == 40:
            truncations = dict.fromkeys(playing, True)
        self.agents = [agent for agent in playing if not (terminations[agent] or truncations[agent])]
        for late in ("dog", "sheep/2"):  # they come, and may come again
            if self.agents and late not in playing and self.random.random() < 0.2:
                self.agents.append(late)
        told = list(dict.fromkeys([*playing, *self.agents]))
        return self._look(told), rewards, terminations, truncations, self._tell(told)

    def state(self):
        return np.array([self.count, len(self.agents)])

    def double(self, number):
        return 2 * number

    def render(self):
        return np.full((2, 2, 3), self.count, np.uint8)

    def close(self):
        self.closed = True


def _number(action):
    """Something that depends on each part of an action."""
    if isinstance(action, dict):
        return sum(_number(part) for part in action.values())
    return 0.0 if action is None else float(np.sum(np.asarray(action, np.float64) * 0.25))


class Herd:
    """Agents with equal spaces. leave: some go before others do; else all end together, at a random step."""

    metadata = {"name": "herd_v0", "render_modes": ["rgb_array"]}
    possible_agents = ["ewe", "ram", "lamb"]

    def __init__(self, render_mode=None, leave=True):
        self.render_mode, self.leave, self.weight = render_mode, leave, 1.0

    def observation_space(self, agent):
        return spaces.Box(-9, 9, (3,), np.float32)

    def action_space(self, agent):
        return spaces.Box(-1, 1, (2,), np.float32)

    def reset(self, seed=None, options=None):
        if seed is not None or not hasattr(self, "random"):
            self.random = np.random.default_rng(seed)
        self.agents, self.count = list(self.possible_agents), 0
        return self._look(self.agents), {agent: {"luck": self.random.random()} for agent in self.agents}

    def _look(self, agents):
        return {agent: self.random.random(3, np.float32) for agent in agents}

    def step(self, actions):
        assert set(actions) == set(self.agents)
        self.count += 1
        playing = list(self.agents)
        rewards = {agent: float(self.random.normal()) * self.weight + float(actions[agent].sum()) for agent in playing}
        over = bool(self.random.random() < 0.1)
        terminations = {agent: bool(self.random.random() < 0.1) if self.leave else over for agent in playing}
        truncations = dict.fromkeys(playing, self.count == 12)
        self.agents = [agent for agent in playing if not (terminations[agent] or truncations[agent])]
        infos = {agent: {"count": self.count} | ({"text": agent} if agent == "ram" else {}) for agent in playing}
        return self._look(playing), rewards, terminations, truncations, infos

    def double(self, number):
        self.weight *= number
        return self.weight

    def render(self):
        return np.full((2, 2, 3), self.count, np.uint8)

    def close(self):
        pass


def supersuit_herd(lanes, base_class):
    """SuperSuit's rows for the agents of so many herds, which all end together, as it needs it. Skips the test if it is
    not installed."""
    supersuit, pettingzoo = pytest.importorskip("supersuit"), pytest.importorskip("pettingzoo")

    class Zoo(Herd, pettingzoo.ParallelEnv):
        pass

    one = supersuit.pettingzoo_env_to_vec_env_v1(Zoo(leave=False))
    return supersuit.concat_vec_envs_v1(one, lanes, base_class=base_class)
