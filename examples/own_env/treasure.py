"""The rules of treasure.c once more, in plain Python; run it to compare the two, bit for bit."""

from pathlib import Path

import gymnasium
import numpy as np
from gymnasium import spaces

SIZE = 7
WAYS = ((-1, 0), (1, 0), (0, -1), (0, 1))


class Treasure(gymnasium.Env):
    """Find a treasure on a windy field."""

    observation_space = spaces.Dict({name: spaces.Box(0, SIZE - 1, (2,), np.float32) for name in ("place", "goal")})
    action_space = spaces.Discrete(4)

    def __init__(self, wind=0.2, step_cost=0.01):
        self.wind, self.step_cost = wind, step_cost

    def _look(self):
        left = int(np.abs(self.goal - self.place).sum())
        return {"place": self.place.astype(np.float32), "goal": self.goal.astype(np.float32)}, left

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        while True:
            row, column, goal_row, goal_column = (int(self.np_random.integers(SIZE)) for _ in range(4))
            self.place, self.goal = np.array([row, column]), np.array([goal_row, goal_column])
            observation, left = self._look()
            if left > 0:
                return observation, {"distance": left}

    def step(self, action):
        if self.np_random.random() < self.wind:
            action = int(self.np_random.integers(4))
        self.place = np.clip(self.place + WAYS[action], 0, SIZE - 1)
        observation, left = self._look()
        return observation, float(left == 0) - self.step_cost, left == 0, False, {"distance": left}


def compare(num_envs=20, steps=500):
    """Steps both versions with the same actions. Lane i of an env with seed s is the Python env with seed s + i."""
    import batchenv

    batchenv.compile(Path(__file__).with_suffix(".c"))
    winds = np.linspace(0, 1, num_envs)  # a parameter per lane
    ours = batchenv.make("Treasure-v0", num_envs, wind=winds)
    theirs = [gymnasium.wrappers.TimeLimit(Treasure(wind=wind), 60) for wind in winds]
    expected = [env.reset(seed=7 + i) for i, env in enumerate(theirs)]
    observations, infos = ours.reset(seed=7)
    rng, ended = np.random.default_rng(0), np.zeros(num_envs, bool)
    for _ in range(steps):
        for i, (observation, info) in enumerate(expected):
            for name, part in observation.items():
                assert part.tobytes() == observations[name][i].tobytes()
            assert info["distance"] == infos["distance"][i]
        actions = rng.integers(4, size=num_envs)
        observations, rewards, terminated, truncated, infos = ours.step(actions)
        for i, env in enumerate(theirs):
            if ended[i]:  # this step was the reset, as in Gymnasium's vector envs (autoreset mode NextStep)
                expected[i], result = env.reset(), (0.0, False, False)
            else:
                observation, *result, info = env.step(actions[i])
                expected[i] = observation, info
            assert tuple(result) == (rewards[i], terminated[i], truncated[i])
        ended = terminated | truncated
    return steps * num_envs


if __name__ == "__main__":
    print(f"{compare()} steps, all bits the same")
