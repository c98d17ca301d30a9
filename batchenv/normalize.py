"""Normalizes observations and rewards by running moments: the last stage of the transforms."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from batchenv import _core


class Normalizer:
    """Observations centred and scaled to unit variance by running moments that all lanes share, as
    gymnasium.wrappers.vector.NormalizeObservation does it.

    Attributes:
        obs_rms: `gymnasium.wrappers.utils.RunningMeanStd`: `mean`, `var`, `count`.
        update_running_mean: False: the moments stay as they are (evaluation).
    """

    def __init__(self, shape: tuple[int, ...], epsilon: float = 1e-8):
        from gymnasium.wrappers.utils import RunningMeanStd

        dtype: Any = np.float32  # RunningMeanStd takes any dtype, though its annotation names float64 alone
        self.obs_rms = RunningMeanStd(shape=shape, dtype=dtype)
        self.update_running_mean = True
        self._shape = shape
        self._epsilon = epsilon

    def __repr__(self) -> str:
        rms = self.obs_rms
        moments = f"mean={np.asarray(rms.mean)!r}, var={np.asarray(rms.var)!r}, count={rms.count}"
        return f"Normalizer(obs_rms: {moments}; update_running_mean={self.update_running_mean})"

    def update(self, rows: NDArray[Any]) -> None:
        """Updates the moments with rows (n, *shape), n >= 1."""
        if not self.update_running_mean:
            return
        rows = self._floating(rows)
        if rows[0].size == 1:  # NumPy adds these in another order
            self.obs_rms.update(rows)
        else:
            self.obs_rms.update_from_moments(*_core.moments(rows), len(rows))

    def apply(self, rows: NDArray[Any], out: NDArray[np.float32] | None = None) -> NDArray[np.float32]:
        """Normalizes rows (n, *shape). Returns `out`, or a new float32 array."""
        if out is None:
            out = np.empty(rows.shape, np.float32)
        rows = self._floating(rows)
        shape = rows.shape[1:]
        # Not by ascontiguousarray, which gives one number an axis.
        mean = np.asarray(self._moment("mean", shape), rows.dtype, order="C")
        deviation = np.asarray(np.sqrt(self._moment("var", shape) + self._epsilon), rows.dtype, order="C")
        _core.standardize(rows, mean, deviation, out)
        return out

    def check(self) -> None:
        """Raises TypeError or ValueError if a user has set moments that are not numbers in an observation's shape."""
        self._moment("mean", self._shape)
        self._moment("var", self._shape)
        self._moment("count", ())

    def _moment(self, name: str, shape: tuple[int, ...]) -> NDArray[Any]:
        """`obs_rms.mean` or `obs_rms.var`, which users may set, in the shape of an observation."""
        value = getattr(self.obs_rms, name)
        if np.asarray(value).dtype.kind not in "iuf":
            raise TypeError(f"env.normalizer.obs_rms.{name}={value!r} must be numbers")
        try:
            return np.broadcast_to(value, shape)
        except ValueError:
            raise ValueError(
                f"env.normalizer.obs_rms.{name} has shape {np.shape(value)}, but must have an observation's shape "
                f"{shape}, or be one number for all components"
            ) from None

    @staticmethod
    def _floating(rows: NDArray[Any]) -> NDArray[Any]:
        return np.ascontiguousarray(rows, np.float32 if rows.dtype == np.float32 else np.float64)


class RewardNormalizer:
    """Rewards divided by the deviation of the discounted returns of all lanes, as
    gymnasium.wrappers.vector.NormalizeReward does it.

    Attributes:
        return_rms: `gymnasium.wrappers.utils.RunningMeanStd` of the returns.
        accumulated_reward: each lane's return so far, float32 (num_envs,).
        gamma: the discount factor.
        update_running_mean: False: the moments stay as they are (evaluation).
    """

    def __init__(self, num_envs: int, gamma: float, same_step: bool, epsilon: float = 1e-8):
        from gymnasium.wrappers.utils import RunningMeanStd

        self.return_rms = RunningMeanStd(shape=())
        self.accumulated_reward = np.zeros(num_envs, np.float32)
        self.gamma = gamma
        self.update_running_mean = True
        self._same_step = same_step
        self._idle = np.zeros(num_envs, np.bool_)  # True: the lane's next step is a reset
        self._epsilon = epsilon

    def __repr__(self) -> str:
        rms = self.return_rms
        moments = f"mean={rms.mean}, var={rms.var}, count={rms.count}"
        return (
            f"RewardNormalizer(gamma={self.gamma}, return_rms: {moments}; "
            f"update_running_mean={self.update_running_mean})"
        )

    def start(self, lanes: Any, *, sent: bool) -> None:
        """Notes that episodes begin in `lanes`. sent: the reset itself is still to come, as a step with reward 0."""
        self.accumulated_reward[lanes] = 0
        self._idle[lanes] = sent

    def count(self, rewards: Any, terminations: Any, truncations: Any, lanes: Any) -> None:
        """Updates the returns and their moments with a step of `lanes`."""
        active = ~self._idle[lanes]
        stepped = lanes[active]
        returns = self.accumulated_reward[stepped] * self.gamma * (1 - terminations[active]) + rewards[active]
        self.accumulated_reward[stepped] = returns
        if self.update_running_mean and active.any():
            self.return_rms.update(self.accumulated_reward[stepped])
        done = terminations | truncations
        if self._same_step:
            self._idle[lanes] = False
            self.accumulated_reward[lanes[done]] = 0
        else:
            self._idle[lanes] = done

    def apply(self, rewards: NDArray[np.float64]) -> NDArray[np.float64]:
        """The rewards, normalized."""
        return rewards / np.sqrt(self.return_rms.var + self._epsilon)

    def check(self) -> None:
        """Raises TypeError or ValueError if a user has set moments that are not numbers."""
        for name in ("mean", "var", "count"):
            value = np.asarray(getattr(self.return_rms, name))
            if value.dtype.kind not in "iuf" or value.shape != ():
                raise TypeError(f"env.reward_normalizer.return_rms.{name}={value!r} must be a number")


class Stage:
    """The last transforms of observations and rewards, after those that are done in C: see `Transforms`.

    The moments are updated with the observations of lanes that are reset, and with those that a step returns. Final
    observations (SameStep) are normalized by the same moments as those of their step, but do not update them.

    Args:
        observations, rewards: normalizers, or None.
        bounds: (low, high), to which observations are clipped, or None.
        dtype: of the observations that are returned; None: they are not changed.
    """

    def __init__(
        self,
        num_envs: int,
        observations: Normalizer | None,
        rewards: RewardNormalizer | None,
        bounds: tuple[Any, Any] | None,
        dtype: Any,
    ):
        self.observations, self.rewards, self.observation_dtype = observations, rewards, dtype
        self._bounds = bounds
        self._lanes = np.arange(num_envs)

    def normalizers(self) -> dict[str, Any]:
        """{attribute of BatchEnv: the normalizer}."""
        both = {"normalizer": self.observations, "reward_normalizer": self.rewards}
        return {name: normalizer for name, normalizer in both.items() if normalizer is not None}

    def check(self) -> None:
        """Raises TypeError or ValueError if a user has set invalid moments."""
        for normalizer in (self.observations, self.rewards):
            if normalizer is not None:
                normalizer.check()

    def start(self, lanes: Any, *, sent: bool = False) -> None:
        """Notes that episodes begin in `lanes` (numbers or a mask; None: all)."""
        if self.rewards is not None:
            self.rewards.start(slice(None) if lanes is None else lanes, sent=sent)

    def count_observations(self, rows: NDArray[Any]) -> None:
        """Updates the moments with rows (n, *shape), n >= 1."""
        if self.observations is not None:
            self.observations.update(rows)

    def count_step(self, rows: Any, rewards: Any, terminations: Any, truncations: Any, lanes: Any) -> None:
        """Updates the moments with a step. lanes: the lanes of the rows; None: all."""
        self.count_observations(rows)
        if self.rewards is not None:
            self.rewards.count(rewards, terminations, truncations, self._lanes if lanes is None else lanes)

    def observe(self, rows: NDArray[Any], out: NDArray[Any]) -> None:
        """Writes rows (n, *shape), transformed, into `out`."""
        if self.observations is not None:
            self.observations.apply(rows, out)
        else:
            out[...] = rows
        if self._bounds is not None:
            np.clip(out, *self._bounds, out=out)

    def reward(self, rewards: NDArray[np.float64]) -> NDArray[np.float64]:
        """The rewards, transformed."""
        return rewards if self.rewards is None else self.rewards.apply(rewards)
