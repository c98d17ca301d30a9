"""Built-in transforms of observations and rewards: Gymnasium's wrappers, done in C."""

from __future__ import annotations

import contextlib
import math
import warnings
from collections.abc import Iterator
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.envs.registration import EnvSpec
from numpy.typing import NDArray

from batchenv.arguments.numbers import brief, integer, number
from batchenv.normalize import Normalizer, RewardNormalizer, Stage

DEFAULTS: dict[str, Any] = {
    "record_episode_statistics": False,
    "frame_stack": None,
    "time_aware": False,
    "rescale_observation": None,
    "observation_dtype": None,
    "normalize_observation": False,
    "clip_observation": None,
    "reward_scale": None,
    "clip_reward": None,
    "normalize_reward": None,
    "reward_dtype": "float64",
    "action_repeat": 1,
}
# What to do in place of a transform of observations.
_INSTEAD = {
    name: f"let make_env wrap its env in gymnasium.wrappers.{wrapper}"
    for name, wrapper in (
        ("rescale_observation", "RescaleObservation"),
        ("time_aware", "TimeAwareObservation"),
        ("observation_dtype", "DtypeObservation"),
        ("frame_stack", "FrameStackObservation"),
        ("clip_observation", "TransformObservation"),
    )
} | {"normalize_observation": "wrap the env that is made in gymnasium.wrappers.vector.NormalizeObservation"}
_MAX_FRAMES = 1024
_MAX_REPEAT = 2**20


def flag(name: str, value: Any) -> bool:
    """`value`. Raises TypeError if it is not a bool."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name}={value!r} must be True or False, not {type(value).__name__}")
    return bool(value)


def _number(name: str, value: Any) -> float:
    result = number(name, value)
    if math.isnan(result):
        raise TypeError(f"{name}={value!r} must be a number")
    return result


def _limits(name: str, value: Any) -> tuple[float, float]:
    """A pair of bounds; None, which is allowed for one of them, means no bound."""
    ends = _pair(name, value)
    if ends == (None, None):
        raise ValueError(f"{name}=(None, None) clips nothing: give a lower or an upper bound")
    low = -math.inf if ends[0] is None else _number(f"{name}[0]", ends[0])
    high = math.inf if ends[1] is None else _number(f"{name}[1]", ends[1])
    if low > high:
        raise ValueError(f"{name}={value!r} must have low <= high")
    return low, high


def _pair(name: str, value: Any) -> tuple[Any, Any]:
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        raise TypeError(f"{name}={value!r} must be a pair (low, high)")
    return value[0], value[1]


class Transforms:
    """The transforms that an env's keywords ask for, checked, and how they change the spaces.

    The order is fixed. Rewards: summed over repeated actions, recorded, scaled, clipped, normalized, converted.
    Observations: rescaled, the time appended, converted, stacked, normalized, clipped.
    """

    def __init__(self, max_episode_steps: int | None, **keywords: Any):
        self.keywords = keywords
        self._max_episode_steps = max_episode_steps
        self.normalize = flag("normalize_observation", keywords["normalize_observation"])
        self.core: dict[str, Any] = {
            "record_episode_statistics": flag("record_episode_statistics", keywords["record_episode_statistics"]),
            "time_aware": flag("time_aware", keywords["time_aware"]),
            "action_repeat": integer("action_repeat", keywords["action_repeat"], 1, _MAX_REPEAT),
        }
        if self.core["time_aware"] and max_episode_steps is None:
            raise ValueError("time_aware=True needs a time limit: pass max_episode_steps as well")
        if keywords["frame_stack"] is not None:
            self.core["frame_stack"] = integer("frame_stack", keywords["frame_stack"], 1, _MAX_FRAMES)
        if keywords["observation_dtype"] is not None:
            self.core["dtype"] = self._dtype(keywords["observation_dtype"])
        self.reward_dtype = self._reward_dtype(keywords["reward_dtype"])
        self.gamma = None
        if keywords["normalize_reward"] is not None:
            self.gamma = _number("normalize_reward", keywords["normalize_reward"])
            if not 0 <= self.gamma <= 1:
                raise ValueError(f"normalize_reward={self.gamma!r} must be a discount factor: 0 to 1")
        self.clip = None
        if keywords["clip_observation"] is not None:
            self.clip = _limits("clip_observation", keywords["clip_observation"])
        if keywords["reward_scale"] is not None or keywords["clip_reward"] is not None:
            self._check_reward(keywords["reward_scale"], keywords["clip_reward"])
        self._bounds = None
        if keywords["rescale_observation"] is not None:
            self._bounds = _pair("rescale_observation", keywords["rescale_observation"])
            self.core["rescale"] = True

    @staticmethod
    def _dtype(value: Any) -> np.dtype:
        known = [np.dtype(name) for name in ("uint8", "int32", "int64", "float32", "float64")]
        with contextlib.suppress(TypeError):
            if (dtype := np.dtype(value)) in known:
                return dtype
        raise ValueError(f"observation_dtype={value!r} must be one of {', '.join(map(str, known))}")

    @staticmethod
    def _reward_dtype(value: Any) -> np.dtype:
        with contextlib.suppress(TypeError):
            if value is not None and (dtype := np.dtype(value)) in (np.float32, np.float64):
                return dtype
        raise ValueError(f"reward_dtype={value!r} must be 'float32' or 'float64'")

    def _check_reward(self, scale: Any, bounds: Any) -> None:
        scale = 1.0 if scale is None else _number("reward_scale", scale)
        if not math.isfinite(scale):
            raise ValueError(f"reward_scale={scale!r} must be a finite number")
        low, high = (-math.inf, math.inf) if bounds is None else _limits("clip_reward", bounds)
        self.core.update(reward_scale=scale, clip_reward=(low, high))

    def stage(self, num_envs: int, same_step: bool, space: spaces.Space[Any]) -> Stage | None:
        """The last transforms of observations of this space and of rewards, or None if there are none."""
        if not self.normalize and self.gamma is None and self.clip is None:
            return None
        shape = space.shape  # not None where it is needed: `space` has found a Box
        return Stage(
            num_envs,
            Normalizer(shape) if self.normalize and shape is not None else None,
            None if self.gamma is None else RewardNormalizer(num_envs, self.gamma, same_step),
            self.clip,
            space.dtype if self.normalize or self.clip is not None else None,
        )

    def space(self, raw: spaces.Space[Any], in_core: bool = True) -> spaces.Space[Any]:
        """The space of transformed observations, computed by Gymnasium's own wrappers.

        Args:
            raw: the space of observations as the env gives them.
            in_core: whether all of an observation goes through the C core, which transforms it.

        Raises:
            TypeError, ValueError: the transforms do not suit the space.
        """
        for name, instead in _INSTEAD.items():
            if not in_core and self.keywords[name] not in (None, False):
                raise TypeError(
                    f"{name}: only arrays of up to 4 axes, with at least one value, and of bool, int8, uint8, int32, "
                    f"int64, float32 or float64 can be transformed so, and these observations are {raw}: leave it out, "
                    f"and {instead}"
                )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # bounds that lose precision in the new dtype
            return self._space(raw)

    def _space(self, raw: spaces.Space[Any]) -> spaces.Space[Any]:
        wrappers = gymnasium.wrappers
        env: Any = _Blank(raw, self._max_episode_steps)
        made = []
        for name, asked in (
            ("rescale_observation", self._bounds is not None),
            # The C core adds the time to an array, and to a Tuple of numbers, but not to a part.
            ("time_aware", self.core["time_aware"] and (isinstance(raw, spaces.Dict) or len(_parts(raw)) == 1)),
            ("observation_dtype", "dtype" in self.core),
            ("normalize_observation", self.normalize),
            ("clip_observation", self.clip is not None),
        ):
            if asked and (parts := _parts(raw)):
                raise TypeError(
                    f"{name}: only observations that are one array can be transformed so, and these have several parts "
                    f"({', '.join(map(repr, parts))}): leave it out and transform the parts that reset() and step() "
                    "return, or, where the environment has that keyword, pass observation='flat'"
                )
        try:
            if self._bounds is not None:
                made = [f"rescale_observation={brief(self._bounds)}"]
                if not isinstance(raw, spaces.Box):
                    raise TypeError("it needs a Box")
                low, high = self._ends(raw, self._bounds)
                env = wrappers.RescaleObservation(env, low, high)
            if self.core["time_aware"]:
                env = wrappers.TimeAwareObservation(env)
            if "dtype" in self.core:
                made = [f"observation_dtype={str(self.core['dtype'])!r}"]
                env = wrappers.DtypeObservation(env, self.core["dtype"])
            if "frame_stack" in self.core:
                env = wrappers.FrameStackObservation(env, self.core["frame_stack"])
        except (ValueError, TypeError, AssertionError) as refusal:
            # Old releases of Gymnasium assert, some without a word.
            kind = ValueError if isinstance(refusal, AssertionError) else type(refusal)
            why = str(refusal) or f"Gymnasium {gymnasium.__version__} refuses it"
            raise kind(f"{made[0]} does not suit observations of {raw}: {why}") from None
        space = env.observation_space
        if self.normalize:
            if not isinstance(space, spaces.Box):
                raise TypeError(f"normalize_observation=True needs Box observations, not {space}")
            space = spaces.Box(-np.inf, np.inf, space.shape, np.float32)
        if self.clip is not None:
            if not isinstance(space, spaces.Box) or space.dtype.kind != "f":
                raise TypeError(
                    f"clip_observation={self.clip!r} needs Box observations of floats, not {space}: "
                    "observation_dtype='float32' makes them so"
                )
            low, high = (np.clip(end, *self.clip) for end in (space.low, space.high))
            space = spaces.Box(low, high, space.shape, space.dtype.type)
        return space

    @staticmethod
    def _ends(raw: spaces.Box, bounds: tuple[Any, Any]) -> Iterator[NDArray[Any]]:
        """The bounds of rescaled observations, in the dtype of `raw` and of its shape."""
        for end in bounds:
            try:
                values = np.asarray(end)
            except ValueError:  # ragged
                values = np.empty(1, object)
            if values.ndim == 0:
                values = np.asarray(number("a bound", end))
            elif values.dtype.kind not in "iuf":
                raise TypeError(f"{brief(end)} must be a number, or an array of numbers of shape {raw.shape}")
            if raw.dtype.kind in "iu":
                range_ = np.iinfo(raw.dtype.name)
                if not ((values >= range_.min) & (values <= range_.max)).all():
                    raise ValueError(
                        f"they stay {raw.dtype}, so the bounds must be in {range_.min}..{range_.max}; rescale "
                        "observations to other bounds yourself"
                    )
            yield np.broadcast_to(values.astype(raw.dtype), raw.shape)

    def coefficients(self, raw: spaces.Space[Any]) -> tuple[NDArray[Any], NDArray[Any]] | None:
        """(gradient, intercept) of rescaled observations, rounded as in gymnasium.wrappers.utils.rescale_box:
        components with an unbounded side are only shifted, the others also scaled. None if nothing is rescaled."""
        if self._bounds is None or not isinstance(raw, spaces.Box):
            return None
        low, high = self._ends(raw, self._bounds)
        bounded = np.isfinite(low) & np.isfinite(high)
        wide = getattr(np, "float128", np.float64)
        gradient = np.ones(raw.shape, raw.dtype)
        width = raw.high[bounded].astype(wide) - raw.low[bounded].astype(wide)
        gradient[bounded] = (high[bounded] - low[bounded]) / width
        if raw.dtype.kind in "iu" and ((gradient == 0) & (raw.low < raw.high) & (low < high)).any():
            raise ValueError(
                f"rescale_observation={self._bounds!r} does not suit observations of {raw}: integers are rescaled with "
                "integers, as by gymnasium.wrappers.RescaleObservation, and here all values would become the same; "
                "leave it out, and scale what your policy gets (observation_dtype='float32' makes it floats)"
            )
        intercept = np.zeros(raw.shape, raw.dtype)
        above, below = np.isfinite(high), np.isfinite(low)
        intercept[above] = high[above] - raw.high[above]
        intercept[below] = gradient[below] * -raw.low[below] + low[below]
        return gradient.ravel(), intercept.ravel()


def _parts(space: spaces.Space[Any], path: str = "") -> list[str]:
    """The paths of the parts of a Dict or Tuple, such as "arm/0"; none for another space."""
    if isinstance(space, (spaces.Dict, spaces.Tuple)):
        parts = space.spaces.items() if isinstance(space, spaces.Dict) else enumerate(space.spaces)
        return [name for key, part in parts for name in _parts(part, f"{path}/{key}") or [f"{path}/{key}"[1:]]]
    return []


class _Blank(gymnasium.Env):
    """An env with only a space and a time limit: Gymnasium's wrappers around it compute their own spaces."""

    def __init__(self, space: spaces.Space[Any], max_episode_steps: int | None):
        self.observation_space = space
        self.action_space = spaces.Discrete(1)
        self.spec = EnvSpec("Blank-v0", max_episode_steps=max_episode_steps)
