"""Keywords and pictures of Gymnasium's Box2D environments.

Their physics is in C and needs no library. Gymnasium's classes draw with Box2D's own bodies, so pictures need it."""

from __future__ import annotations

import importlib.util
import itertools

import gymnasium
import numpy as np
from gymnasium.error import DependencyNotInstalled

from batchenv.render import Drawn

BODY_FLOATS = 15  # of a body in the field "bodies"; see the field's description
ANGLE, ORIGIN = 4, slice(6, 8)


class Box2D(Drawn):
    """What the environments have in common."""

    def render_modes(self, env_id):
        """See `Translator.render_modes`. Gymnasium's class cannot be imported without Box2D."""
        return ["human", "rgb_array"]

    def check_drawing(self, mode):
        """See `Translator.check_drawing`."""
        super().check_drawing(mode)
        if importlib.util.find_spec("Box2D") is None:
            raise DependencyNotInstalled(
                f"render_mode={mode!r} of this environment needs Box2D, which Gymnasium draws with: "
                "pip install 'gymnasium[box2d]'"
            )

    def put_bodies(self, bodies, values):
        """Moves Box2D's bodies to where the lane's are."""
        for body, kept in zip(bodies, np.reshape(values, (-1, BODY_FLOATS)), strict=True):
            body.transform = kept[ORIGIN].tolist(), float(kept[ANGLE])


class LunarLander(Box2D):
    """LunarLander's keywords and picture."""

    def to_core(self, keywords):
        """See `Translator.to_core`. Gives Gymnasium's advice about the wind."""
        for name, most in (("wind_power", 20.0), ("turbulence_power", 2.0)):
            value = keywords.get(name, 0.0)
            if np.any(np.less(value, 0.0)) or np.any(np.greater(value, most)):
                gymnasium.logger.warn(f"{name}={value} is recommended to be between 0 and {most}")
        return keywords, None

    def put(self, env, lane, params, action):
        """See `Drawn.put`. The particles of the exhaust are left out: they are bodies of Gymnasium's world."""
        if env.lander is None:
            env.reset(seed=0)
        self.put_bodies(env.drawlist, lane["bodies"])
        height = 400 / 30.0
        ground = [(600 / 30.0 / 10 * i, float(y)) for i, y in enumerate(lane["terrain"])]
        env.sky_polys = [[a, b, (b[0], height), (a[0], height)] for a, b in itertools.pairwise(ground)]
