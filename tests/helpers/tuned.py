"""Gymnasium's Box2D environments with other constants than those of its modules."""

from contextlib import contextmanager

import gymnasium
import pytest
from gymnasium.envs.box2d import bipedal_walker, lunar_lander

FIXTURES = {"hull_density": ["HULL_FD"], "leg_density": ["LEG_FD", "LOWER_FD"]}  # of BipedalWalker's module


class Tuned(gymnasium.Wrapper):
    """`gymnasium.make(env_id, **keywords)` with the constants `tuned`, which have our parameters' names. They are put
    into the module while the env is made, reset or stepped; the dictionary may be changed in between."""

    def __init__(self, env_id, tuned, **keywords):
        self.tuned = tuned
        self.module = lunar_lander if env_id.startswith("LunarLander") else bipedal_walker
        with self.constants():
            super().__init__(gymnasium.make(env_id, **keywords))

    @contextmanager
    def constants(self):
        with pytest.MonkeyPatch.context() as patch:
            for name, value in self.tuned.items():
                if self.module is bipedal_walker and name in FIXTURES:
                    for fixture in FIXTURES[name]:
                        patch.setattr(getattr(self.module, fixture), "density", value)
                elif not name.endswith("_density"):
                    patch.setattr(self.module, name.upper(), value)
            if self.module is lunar_lander:
                patch.setattr(lunar_lander, "fixtureDef", self.fixture)
            yield

    def fixture(self, density, fixture=lunar_lander.fixtureDef, **keywords):
        """Box2D's fixtureDef, which is what the lander's module calls for each body."""
        name = {5.0: "lander_density", 1.0: "leg_density"}[density]
        return fixture(density=self.tuned.get(name, density), **keywords)

    def reset(self, **keywords):
        with self.constants():
            return super().reset(**keywords)

    def step(self, action):
        with self.constants():
            return super().step(action)
