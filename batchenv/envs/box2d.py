"""Keywords and pictures of Gymnasium's Box2D environments.

Their physics is in C and needs no library. Gymnasium's classes draw with Box2D's own bodies, so pictures need it."""

from __future__ import annotations

import importlib.util
import itertools
import math

import gymnasium
import numpy as np
from gymnasium.error import DependencyNotInstalled

from batchenv.envs.drawing import Drawn
from batchenv.registry import Family, add_family

BODY_FLOATS = 15  # of a body in the field "bodies"; see the field's description
ANGLE, ORIGIN = 4, slice(6, 8)


add_family(Family("Box2D", translators=__name__, gymnasium="gymnasium.envs.box2d.", bench_lanes=64))


class Box2D(Drawn):
    """What the environments have in common."""

    def render_modes(self, env_id):
        """See `Translator.render_modes`. Gymnasium's class cannot be imported without Box2D."""
        return ["human", "rgb_array"]

    def check_drawing(self, mode):
        if importlib.util.find_spec("Box2D") is None:  # first: what it says brings pygame as well
            raise DependencyNotInstalled(
                f"render_mode={mode!r} needs Box2D: steps of this environment need no library, but Gymnasium draws it "
                "with Box2D's bodies: pip install 'gymnasium[box2d]'"
            )
        super().check_drawing(mode)

    def put_bodies(self, bodies, values):
        """Moves Box2D's bodies to where the lane's are."""
        for body, kept in zip(bodies, np.reshape(values, (-1, BODY_FLOATS)), strict=True):
            body.transform = kept[ORIGIN].tolist(), float(kept[ANGLE])


class Exhaust:
    """The particles of a lane's exhaust, in a world of their own: the lander's is not Box2D's. They move when a picture
    of the next step is drawn."""

    def __init__(self, ground, gravity):
        import Box2D

        self.world = Box2D.b2World(gravity=(0, gravity))
        moon = self.world.CreateStaticBody(shapes=Box2D.b2EdgeShape(vertices=[(0, 0), (600 / 30.0, 0)]))
        for ends in itertools.pairwise(ground):
            moon.CreateEdgeFixture(vertices=ends, density=0, friction=0.1)
        self.ground, self.particles, self.steps = ground, [], 0

    def step(self, env, blown):
        """Makes a step in which the engines have blown this out; see the field "exhaust"."""
        env.world, env.particles = self.world, self.particles
        for density, (x, y, push_x, push_y, power) in zip((3.5, 0.7), blown, strict=True):
            if power:
                particle = env._create_particle(density, x, y, power)
                particle.ApplyLinearImpulse((push_x, push_y), (x, y), True)
        self.world.Step(1.0 / 50, 180, 60)


class LunarLander(Box2D):
    """LunarLander's keywords and picture."""

    def __init__(self, *arguments, **keywords):
        super().__init__(*arguments, **keywords)
        self.exhaust: dict[int, Exhaust] = {}  # of lanes that have been drawn

    def to_core(self, keywords):
        """See `Translator.to_core`. Gives Gymnasium's advice about the wind."""
        for name, most in (("wind_power", 20.0), ("turbulence_power", 2.0)):
            value = keywords.get(name, 0.0)
            if np.any(np.less(value, 0.0)) or np.any(np.greater(value, most)):
                gymnasium.logger.warn(f"{name}={value} is recommended to be between 0 and {most}")
        return keywords, None

    def put(self, env, lane, params, action):
        """See `Drawn.put`. Particles of the exhaust are known from steps that are drawn one after the other."""
        if env.lander is None:
            env.reset(seed=0)
            env.first_world = env.world  # Box2D frees bodies with their world
        self.put_bodies(env.drawlist, lane["bodies"])
        height = 400 / 30.0
        ground = [(600 / 30.0 / 10 * i, float(y)) for i, y in enumerate(lane["terrain"])]
        env.sky_polys = [[a, b, (b[0], height), (a[0], height)] for a, b in itertools.pairwise(ground)]
        exhaust, steps = self.exhaust.get(lane["lane"]), int(lane["elapsed_steps"])
        if exhaust is None or exhaust.ground != ground or exhaust.steps not in (steps, steps - 1):
            exhaust, blows = Exhaust(ground, float(params["gravity"])), True
            self.exhaust[lane["lane"]] = exhaust
        else:
            blows = exhaust.steps < steps
        if blows:
            exhaust.step(env, lane["exhaust"].reshape(2, 5).tolist())
        exhaust.steps, env.world, env.particles = steps, exhaust.world, exhaust.particles


class Piece:
    """A piece of ground, in the form in which Gymnasium's class draws bodies."""

    def __init__(self, shape, color1, color2):
        import Box2D

        self.shape, self.color1, self.color2 = shape, color1, color2
        self.fixtures, self.body, self.transform = [self], self, Box2D.b2Transform()
        self.transform.SetIdentity()


class BipedalWalker(Box2D):
    """BipedalWalker's picture."""

    LENGTH, STEP = 200, 14 / 30.0

    def put(self, env, lane, params, action):
        """See `Drawn.put`. Gymnasium's class shows a ray of the lidar in 20 of 100 pictures: here, of 100 steps."""
        unmade = env.hull is None
        if unmade:
            env.reset(seed=0)
        self.put_bodies([env.hull, *env.legs], lane["bodies"])
        x = env.hull.position
        env.scroll = x[0] - 600 / 30.0 / 5
        env.lidar_render = int(lane["elapsed_steps"])
        heights = lane["terrain"][: self.LENGTH]
        ground = [(i * self.STEP, float(y)) for i, y in enumerate(heights)]
        env.terrain_poly = [([a, b, (b[0], 0), (a[0], 0)], (102, 153, 76)) for a, b in itertools.pairwise(ground)]
        env.drawlist = [*self.pieces(ground, lane), *env.legs, env.hull]
        env.cloud_poly = [self.cloud(draws) for draws in lane["terrain"][self.LENGTH :].reshape(10, 11)]
        self.put_lidar(env, x, lane["lidar"])

    def pieces(self, ground, lane):
        """The pieces of ground, the newest first."""
        import Box2D

        corners = lane["polygons"].reshape(-1, 4, 2)[: lane["status"][3]].tolist()
        polygons = [Piece(Box2D.b2PolygonShape(vertices=four), (255, 255, 255), (153, 153, 153)) for four in corners]
        greens = [(76, 204 if i % 2 else 255, 76) for i in range(self.LENGTH - 1)]
        edges = [
            Piece(Box2D.b2EdgeShape(vertices=ends), green, green)
            for ends, green in zip(itertools.pairwise(ground), greens, strict=True)
        ]
        return [*polygons, *edges][::-1]

    def cloud(self, draws):
        """A cloud in Gymnasium's form, from the random numbers that it has drawn."""
        step, (first, *others) = self.STEP, draws.tolist()
        x, y = (0 + self.LENGTH * first) * step, 400 / 30.0 * 3 / 4
        corners = [
            (
                x + 15 * step * math.sin(3.14 * 2 * a / 5) + (0 + 5 * step * others[2 * a]),
                y + 5 * step * math.cos(3.14 * 2 * a / 5) + (0 + 5 * step * others[2 * a + 1]),
            )
            for a in range(5)
        ]
        return corners, min(p[0] for p in corners), max(p[0] for p in corners)

    def put_lidar(self, env, start, fractions):
        """Sets where the rays begin and end."""
        begin = np.array([start[0], start[1]], np.float32)
        for i, (ray, fraction) in enumerate(zip(env.lidar, fractions, strict=True)):
            ray.p1 = start
            ray.p2 = (
                start[0] + math.sin(1.5 * i / 10.0) * 160 / 30.0,
                start[1] - math.cos(1.5 * i / 10.0) * 160 / 30.0,
            )
            if fraction < 1:
                ray.p2 = ((np.float32(1) - fraction) * begin + fraction * np.array(ray.p2, np.float32)).tolist()
