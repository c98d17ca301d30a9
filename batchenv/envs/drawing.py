"""Pictures of lanes: Gymnasium's own environments draw them from batchenv's state."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable
from typing import Any

import gymnasium
import numpy as np
from gymnasium.envs.registration import load_env_creator
from gymnasium.error import DependencyNotInstalled

from batchenv.backend.protocol import Drawer
from batchenv.backend.translator import Translator
from batchenv.system.import_lock import importing

Lane = dict[str, Any]


def check_mode(env_id: str, mode: Any, modes: list[str], num_envs: int) -> None:
    """Raises ValueError if `mode` is not in `modes`, or is "human" for more than one lane."""
    if not isinstance(mode, str) or mode not in modes:
        names = ", ".join(map(repr, modes))
        raise ValueError(f"render_mode={mode!r} of {env_id} must be None" + (f" or one of {names}" if modes else ""))
    if mode == "human" and num_envs != 1:
        raise ValueError(
            f"render_mode='human' shows one lane, but num_envs={num_envs}: take num_envs=1, or render_mode='rgb_array' "
            "with gymnasium.wrappers.vector.HumanRendering"
        )


def _gymnasium_class(env_id: str) -> Any:
    """Gymnasium's class for `env_id`, or None where the installed Gymnasium has none, or a user has registered another
    environment under this id."""
    spec = gymnasium.registry.get(env_id)
    entry_point = None if spec is None else spec.entry_point
    if not isinstance(entry_point, str) or not entry_point.startswith("gymnasium.envs."):
        return None
    with importing:
        return load_env_creator(entry_point)


class Drawn(Translator):
    """A translator for a type that one of Gymnasium's environments draws.

    watches_actions: the picture shows the last action, which the state does not hold.
    """

    watches_actions = False

    def put(self, env: Any, lane: Lane, params: Lane, action: Any) -> None:
        """Sets what the Gymnasium environment's `render` reads.

        lane: one value per state field, "elapsed_steps", and its number, "lane"; their dtypes matter, since the sine of
        a float32 is not that of the float64. params: the lane's. action: its last, with `watches_actions` (NaN: it is
        not known); else None.
        """
        raise NotImplementedError

    def render_modes(self, env_id: str) -> list[str]:
        """Those of Gymnasium's environment."""
        cls = _gymnasium_class(env_id)
        return [] if cls is None else list(cls.metadata["render_modes"])

    def check_drawing(self, mode: str) -> None:
        if mode != "ansi" and importlib.util.find_spec("pygame") is None:
            raise DependencyNotInstalled(f"render_mode={mode!r} needs pygame: pip install 'batchenv[render]'")

    def drawer(self, env_id: str, mode: str, action_shape: tuple[int, ...], batch: Any) -> GymnasiumDrawer:
        return GymnasiumDrawer(self, env_id, mode, action_shape, batch)


class GymnasiumDrawer(Drawer):
    """Draws lanes with one Gymnasium environment, which is made at the first frame."""

    def __init__(self, drawn: Drawn, env_id: str, mode: str, action_shape: tuple[int, ...], batch: Any):
        self._drawn = drawn
        self._batch = batch
        self._id = env_id
        self._mode = mode
        self._env: Any = None
        self._actions = np.full(action_shape, np.nan, np.float32) if drawn.watches_actions else None

    def watch(self, actions: Any, lanes: Any = None) -> None:
        """Keeps the actions just taken (by these lanes; None: all), if the picture shows them."""
        if self._actions is not None:
            chosen = slice(None) if lanes is None else lanes
            self._actions[chosen] = np.asarray(actions).reshape(self._actions[chosen].shape)

    def forget(self, lanes: Any) -> None:
        if self._actions is not None:
            self._actions[lanes] = np.nan

    def draw(self, lanes: Iterable[int]) -> tuple[Any, ...] | None:
        """A frame per lane: uint8 (H, W, 3), or a str in mode "ansi"; None in mode "human"."""
        batch = self._batch
        params = batch.get_params()
        if self._env is None:
            keywords = {**gymnasium.registry[self._id].kwargs, **self._drawn.keywords(), "render_mode": self._mode}
            self._env = _gymnasium_class(self._id)(**keywords)
        columns, frames = {**batch.state(), "elapsed_steps": batch.elapsed()}, []
        for i in lanes:
            action = None if self._actions is None else self._actions[i]
            lane = {name: column[i] for name, column in columns.items()} | {"lane": i}
            own = {name: value[i] if isinstance(value, np.ndarray) else value for name, value in params.items()}
            self._drawn.put(self._env, lane, own, action)
            frames.append(self._env.render())
        return None if self._mode == "human" else tuple(frames)

    def close(self) -> None:
        """Closes the window, if there is one.

        Only then is Gymnasium's close() called: it quits all of pygame, and with it windows of other environments.
        """
        if self._env is not None and self._mode == "human":
            self._env.close()
        self._env = None
