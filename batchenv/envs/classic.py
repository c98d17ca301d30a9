"""Pictures of Gymnasium's classic control environments."""

from __future__ import annotations

import numpy as np

from batchenv.envs.drawing import Drawn
from batchenv.registry import Family, add_family

add_family(Family("classic control", translators=__name__, gymnasium="gymnasium.envs.classic_control."))


class CartPole(Drawn):
    """CartPole's picture."""

    def put(self, env, lane, params, action):
        env.length, env.x_threshold = params["length"], params["x_threshold"]
        env.state = np.array([lane["x"], lane["x_dot"], lane["theta"], lane["theta_dot"]])


class MountainCar(Drawn):
    """MountainCar's picture."""

    def put(self, env, lane, params, action):
        for name in ("min_position", "max_position", "goal_position"):
            setattr(env, name, params[name])
        env.state = np.array([lane["position"], lane["velocity"]])


class MountainCarContinuous(MountainCar):
    """MountainCarContinuous's picture."""

    def put(self, env, lane, params, action):
        super().put(env, lane, params, action)
        if lane["elapsed_steps"] > 0:  # a reset leaves float64 there, a step float32
            env.state = env.state.astype(np.float32)


class Pendulum(Drawn):
    """Pendulum's picture, whose arrow is the last torque."""

    watches_actions = True

    def put(self, env, lane, params, action):
        """See `Drawn.put`. A new episode has no torque, and the action that led to its reset does not count."""
        env.state = np.array([lane["theta"], lane["theta_dot"]])
        bound = params["max_torque"]
        known = lane["elapsed_steps"] > 0 and not np.isnan(action).any()
        env.last_u = np.clip(action, -bound, bound)[0] if known else None


class Acrobot(Drawn):
    """Acrobot's picture."""

    def put(self, env, lane, params, action):
        env.LINK_LENGTH_1, env.LINK_LENGTH_2 = params["LINK_LENGTH_1"], params["LINK_LENGTH_2"]
        env.state = np.array([lane["theta1"], lane["theta2"], lane["dtheta1"], lane["dtheta2"]])
        if lane["elapsed_steps"] == 0:  # a reset leaves float32 there, a step float64
            env.state = env.state.astype(np.float32)
