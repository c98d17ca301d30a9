"""An environment of your own, in Python: sixteen lanes in two processes, and what happens if one of them fails.

python examples/python_env.py [--quick]
"""

import sys

import gymnasium
import numpy as np
from gymnasium import spaces

import batchenv


class Walk(gymnasium.Env):
    """A walk on a line: to the right end is good, to the left end is bad. In the middle there is a trap."""

    observation_space, action_space = spaces.Box(-5, 5, (1,), np.float32), spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place = int(self.np_random.integers(-3, 4))
        return np.float32([self.place]), {}

    def step(self, action):
        self.place += 1 if action else -1
        if self.place == 0 and self.np_random.random() < 0.01:
            raise RuntimeError("fell into the trap")
        ended = abs(self.place) == 5
        return np.float32([self.place]), float(np.sign(self.place) * ended), ended, False, {"place": self.place}


env = batchenv.make_python(Walk, 16, num_workers=2, record_episode_statistics=True)
observations, infos = env.reset(seed=0)
returns, failures = [], 0
for _ in range(300 if "--quick" in sys.argv else 1000):
    try:
        observations, rewards, terminations, truncations, infos = env.step(env.action_space.sample())
    except batchenv.LaneError as error:  # the other lanes have done their step
        observations, rewards, terminations, truncations, infos = error.result
        failures += len(error.env_id)
    if "episode" in infos:
        returns += infos["episode"]["r"][infos["_episode"]].tolist()
env.close()
print(f"{len(returns)} episodes with a mean return of {np.mean(returns):.2f}; {failures} failures, each of one lane")
