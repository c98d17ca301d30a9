"""Frames of lanes, drawn by Gymnasium's own environments: theirs is the drawing, ours the state."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np
from gymnasium.envs.registration import load_env_creator
from gymnasium.error import DependencyNotInstalled
from numpy.typing import NDArray

from batchenv.toy_text import SUITS, card_name

Lane = dict[str, Any]

# ---- from our state to theirs --------------------------------------------------------------------------------------
#
# Each function gives a Gymnasium environment what its render() reads. `lane` holds one value per state field, and
# "elapsed_steps"; dtypes matter, since their float32 sines are not their float64 sines.


def _cartpole(env: Any, lane: Lane, params: Lane, action: Any) -> None:
    env.length, env.x_threshold = params["length"], params["x_threshold"]
    env.state = np.array([lane["x"], lane["x_dot"], lane["theta"], lane["theta_dot"]])


def _mountain_car(env: Any, lane: Lane, params: Lane, action: Any) -> None:
    for name in ("min_position", "max_position", "goal_position"):
        setattr(env, name, params[name])
    env.state = np.array([lane["position"], lane["velocity"]])


def _mountain_car_continuous(env: Any, lane: Lane, params: Lane, action: Any) -> None:
    _mountain_car(env, lane, params, action)
    if lane["elapsed_steps"] > 0:  # a reset leaves float64 there, a step float32
        env.state = env.state.astype(np.float32)


def _pendulum(env: Any, lane: Lane, params: Lane, action: Any) -> None:
    env.state = np.array([lane["theta"], lane["theta_dot"]])
    # The arrow is the last torque; a new episode has none, and the action that led to its reset does not count.
    bound = params["max_torque"]
    env.last_u = np.clip(action, -bound, bound)[0] if lane["elapsed_steps"] > 0 else None


def _acrobot(env: Any, lane: Lane, params: Lane, action: Any) -> None:
    env.LINK_LENGTH_1, env.LINK_LENGTH_2 = params["LINK_LENGTH_1"], params["LINK_LENGTH_2"]
    env.state = np.array([lane["theta1"], lane["theta2"], lane["dtheta1"], lane["dtheta2"]])
    if lane["elapsed_steps"] == 0:  # a reset leaves float32 there, a step float64
        env.state = env.state.astype(np.float32)


def _grid(env: Any, lane: Lane, params: Lane, action: Any) -> None:
    env.s = int(lane["s"])
    env.lastaction = int(lane["lastaction"]) if lane["lastaction"] >= 0 else None


def _taxi(env: Any, lane: Lane, params: Lane, action: Any) -> None:
    _grid(env, lane, params, action)
    env.taxi_orientation = int(lane["taxi_orientation"])


def _blackjack(env: Any, lane: Lane, params: Lane, action: Any) -> None:
    for hand in ("player", "dealer"):
        setattr(env, hand, [int(card) for card in lane[hand] if card])
    env.dealer_top_card_value_str = card_name(lane["top_card_value"])
    env.dealer_top_card_suit = SUITS[lane["top_card_suit"]]


@dataclass(frozen=True)
class Drawing:
    """How a type of environment is drawn.

    put(env, lane, params, action): gives the Gymnasium environment the lane's state. watches_actions: the picture shows
    the last action, which the state does not hold.
    """

    put: Callable[[Any, Lane, Lane, Any], None]
    watches_actions: bool = False


DRAWINGS = {
    "CartPole": Drawing(_cartpole),
    "MountainCar": Drawing(_mountain_car),
    "MountainCarContinuous": Drawing(_mountain_car_continuous),
    "Pendulum": Drawing(_pendulum, watches_actions=True),
    "Acrobot": Drawing(_acrobot),
    "FrozenLake": Drawing(_grid),
    "CliffWalking": Drawing(_grid),
    "Taxi": Drawing(_taxi),
    "Blackjack": Drawing(_blackjack),
}

# ---- what BatchEnv uses --------------------------------------------------------------------------------------------


def _gymnasium_class(env_id: str) -> Any:
    """Gymnasium's class for `env_id`, or None where the installed Gymnasium has none."""
    spec = gymnasium.registry.get(env_id)
    return None if spec is None else load_env_creator(spec.entry_point)


def render_modes(env_id: str, type_name: str) -> list[str]:
    """The render modes of an id: those of Gymnasium's environment. Imports no pygame."""
    if type_name == "Atari":
        return ["rgb_array"]
    cls = _gymnasium_class(env_id) if type_name in DRAWINGS else None
    return [] if cls is None else list(cls.metadata["render_modes"])


def check_mode(env_id: str, mode: Any, modes: list[str], num_envs: int, pygame: bool = True) -> None:
    """Nothing, if `mode` can be drawn, by pygame or by something else.

    Raises:
        ValueError: it is none of `modes`, or "human" for more than one lane.
        gymnasium.error.DependencyNotInstalled: it needs pygame.
    """
    if not isinstance(mode, str) or mode not in modes:
        names = ", ".join(map(repr, modes))
        raise ValueError(f"render_mode={mode!r} of {env_id} must be None" + (f" or one of {names}" if modes else ""))
    if mode == "human" and num_envs != 1:
        raise ValueError(
            f"render_mode='human' shows one lane, but num_envs={num_envs}: take num_envs=1, or render_mode='rgb_array' "
            "with gymnasium.wrappers.vector.HumanRendering"
        )
    if not pygame or env_id not in gymnasium.registry:
        return
    if gymnasium.registry[env_id].entry_point == "ale_py.env:AtariEnv":
        return  # drawn without pygame
    if mode != "ansi" and importlib.util.find_spec("pygame") is None:
        raise DependencyNotInstalled(f"render_mode={mode!r} needs pygame: pip install 'batchenv[render]'")


def _read(batch: Any) -> dict[str, NDArray[Any]]:
    """The state columns of a `_core.Batch`, as the functions above name them."""
    return {**batch.state(), "elapsed_steps": batch.elapsed()}


class Renderer:
    """Draws lanes with one Gymnasium environment, which is made at the first frame.

    keywords: what its constructor is given beside the id's own keywords, such as a map.
    """

    def __init__(
        self, env_id: str, type_name: str, mode: str, action_shape: tuple[int, ...], keywords: Lane | None = None
    ):
        self._id = env_id
        self._drawing = DRAWINGS[type_name]
        self._mode = mode
        self._keywords = keywords or {}
        self._env: Any = None
        self._actions = np.zeros(action_shape, np.float32) if self._drawing.watches_actions else None

    def watch(self, actions: Any, lanes: Any = None) -> None:
        """Keeps the actions just taken (by these lanes; None: all), if the picture shows them."""
        if self._actions is not None:
            chosen = slice(None) if lanes is None else lanes
            self._actions[chosen] = np.asarray(actions).reshape(self._actions[chosen].shape)

    def draw(self, batch: Any, lanes: Iterable[int]) -> tuple[Any, ...] | None:
        """A frame per lane: uint8 (H, W, 3), or a str in mode "ansi"; None in mode "human"."""
        params = batch.get_params()
        if self._env is None:
            spec = gymnasium.registry[self._id]
            self._env = _gymnasium_class(self._id)(**{**spec.kwargs, **self._keywords, "render_mode": self._mode})
        columns, frames = _read(batch), []
        for i in lanes:
            action = None if self._actions is None else self._actions[i]
            self._drawing.put(self._env, {name: column[i] for name, column in columns.items()}, params, action)
            frames.append(self._env.render())
        return None if self._mode == "human" else tuple(frames)

    def close(self) -> None:
        """Closes the window, if there is one.

        Only then is Gymnasium's close() called: it quits all of pygame, and with it windows of other environments.
        """
        if self._env is not None and self._mode == "human":
            self._env.close()
        self._env = None
