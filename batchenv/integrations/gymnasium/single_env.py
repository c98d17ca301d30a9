"""One lane as a plain `gymnasium.Env`, for `gymnasium.make("batchenv/<id>")`."""

from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np
from gymnasium import spaces

from batchenv.arguments.seeds import read_seed
from batchenv.backend.protocol import GOAL_FUNCTIONS
from batchenv.env.batch_env import BatchEnv
from batchenv.spaces import nested
from batchenv.text import Texts


class SingleEnv(gymnasium.Env):
    """A BatchEnv of one lane without time limit and autoreset: `gymnasium.make` adds its own TimeLimit.

    Observations are arrays of the lane's shape, ints, texts, or dicts and tuples of these; rewards floats, flags bools.
    Stepping a terminated episode raises ResetNeeded.
    """

    def __init__(self, env_id: str, render_mode: str | None = None, **params: Any):
        plain: dict[str, Any] = {"num_threads": 1, "autoreset_mode": "Disabled", "max_episode_steps": None}
        self._batch = BatchEnv(env_id, 1, **plain, render_mode=render_mode, **params)
        self.metadata = BatchEnv.class_metadata(env_id)
        self.render_mode = render_mode
        self.observation_space = self._batch.single_observation_space
        self.action_space = self._batch.single_action_space

    if not TYPE_CHECKING:  # to a type checker, every name would be an attribute

        def __getattr__(self, name: str) -> Any:
            if name in GOAL_FUNCTIONS and "_batch" in vars(self):
                return getattr(self._batch, name)
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        """Starts an episode; arguments as in `gymnasium.Env.reset`."""
        seed = None if seed is None else read_seed(seed)
        super().reset(seed=seed)
        observation, info = self._batch.reset(seed=seed, options=options)
        return self._first(observation), self._lane_info(info)

    def step(self, action: Any):
        """Takes one action of the action space."""
        if isinstance(self.action_space, (spaces.Dict, spaces.Tuple)):
            row = nested.each(lambda part: np.asarray(part)[np.newaxis], action)
        else:
            row = np.asarray(action)[np.newaxis]
        observation, reward, terminated, truncated, info = self._batch.step(row)
        flags = bool(terminated[0]), bool(truncated[0])
        return self._first(observation), float(reward[0]), *flags, self._lane_info(info)

    @staticmethod
    def _first(observation: Any) -> Any:
        """The only lane's observation: an array, a number, a text, or a dict or tuple of these."""
        return nested.each(
            lambda part: part[0] if isinstance(part, Texts) or part.ndim > 1 else part[0].item(), observation
        )

    @staticmethod
    def _lane_info(infos: dict[str, Any]) -> dict[str, Any]:
        """The only lane's info, without Gymnasium's masks: arrays, and numbers as Python has them."""
        return {key: SingleEnv._lane_value(value) for key, value in infos.items() if f"_{key}" in infos}

    @staticmethod
    def _lane_value(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: SingleEnv._lane_value(part) for key, part in value.items() if not key.startswith("_")}
        return value[0] if value.ndim > 1 else value[0].item()

    def render(self):
        """The lane's picture, as `gymnasium.make(id)` draws it: see `BatchEnv.render`; one frame, not a tuple."""
        frames = self._batch.render()
        return None if frames is None else frames[0]

    def close(self):
        """Releases the lane and the window."""
        self._batch.close()
