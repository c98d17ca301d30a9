"""Observations normalized by running moments."""

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

        self.obs_rms = RunningMeanStd(shape=shape, dtype=np.float32)
        self.update_running_mean = True
        self._shape = shape
        self._epsilon = epsilon

    def __repr__(self) -> str:
        rms = self.obs_rms
        moments = f"mean={np.asarray(rms.mean)!r}, var={np.asarray(rms.var)!r}, count={rms.count}"
        return f"Normalizer(obs_rms: {moments}; update_running_mean={self.update_running_mean})"

    def update(self, rows: NDArray[Any]) -> None:
        """Counts rows (n, *shape) in, n >= 1."""
        if not self.update_running_mean:
            return
        rows = self._floating(rows)
        if rows[0].size == 1:  # NumPy adds these in another order
            self.obs_rms.update(rows)
        else:
            self.obs_rms.update_from_moments(*_core.moments(rows), len(rows))

    def apply(self, rows: NDArray[Any], out: NDArray[np.float32] | None = None) -> NDArray[np.float32]:
        """Rows (n, *shape) normalized, in `out` or a new float32 array."""
        rows = self._floating(rows)
        if out is None:
            out = np.empty(rows.shape, np.float32)
        shape = rows.shape[1:]
        mean = np.ascontiguousarray(self._moment("mean", shape), rows.dtype)
        deviation = np.ascontiguousarray(np.sqrt(self._moment("var", shape) + self._epsilon), rows.dtype)
        _core.standardize(rows, mean, deviation, out)
        return out

    def check(self) -> None:
        """TypeError or ValueError where a user has set moments that are no numbers of an observation's shape."""
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


class NormalizedBatch:
    """A `_core.Batch` whose observations are normalized on their way out.

    A reset counts the observations of the lanes it resets, a step those it returns. Final observations (SameStep) are
    normalized by the same moments as their step's, and not counted.
    """

    def __init__(self, batch: _core.Batch, normalizer: Normalizer):
        self._batch = batch
        self._normalizer = normalizer
        self._counted: Any = None  # observations of a batch that recv has counted, and could not deliver

    def __getattr__(self, name: str) -> Any:
        return getattr(self._batch, name)

    def reset(self, seeds: Any, mask: NDArray[np.bool_] | None, options: dict[str, Any]):
        """As the batch's."""
        self._normalizer.check()
        try:
            result = self._batch.reset(seeds, mask, options)
        except _core.LaneError as error:
            error.result = self._treated_reset(error.result, mask)
            raise
        return self._treated_reset(result, mask)

    def _treated_reset(self, result: tuple[Any, ...], mask: NDArray[np.bool_] | None):
        rows, infos = result
        self._normalizer.update(rows if mask is None else rows[mask])
        return self._normalized(rows), infos

    def observe(self) -> NDArray[np.float32]:
        """As the batch's; counts nothing."""
        return self._normalized(self._batch.observe())

    def load(self, data: bytes, rows: NDArray[np.int64], lanes: NDArray[np.int64]) -> NDArray[np.float32]:
        """As the batch's; counts nothing."""
        self._normalizer.check()
        return self._normalized(self._batch.load(data, rows, lanes))

    def step(self, actions: Any, out: Any = None):
        """As the batch's."""
        self._normalizer.check()
        target, out = self._split(out, actions)
        try:
            result = self._batch.step(actions, out)
        except _core.LaneError as error:
            error.result = self._treated(error.result, target)
            raise
        return self._treated(result, target)

    def recv(self, timeout: float | None):
        """As the batch's; counts the observations it returns, so the moments depend on the order in which they come.
        What the batch gives again is not counted again."""
        self._normalizer.check()
        try:
            result = self._batch.recv(timeout)
        except _core.LaneError as error:
            error.result = self._treated(error.result, None)
            raise
        rows = result[0]
        target = np.empty(rows.shape, np.float32)  # the batch may have to give its rows again, as they are
        if self._counted is not rows:
            self._normalizer.update(rows)
            self._counted = rows
        return self._finished(result, target)

    def delivered(self) -> None:
        """As the batch's."""
        self._counted = None
        self._batch.delivered()

    def _treated(self, result: tuple[Any, ...], target: NDArray[np.float32] | None):
        self._normalizer.update(result[0])
        return self._finished(result, target)

    def _finished(self, result: tuple[Any, ...], target: NDArray[np.float32] | None):
        rows, rewards, terminations, truncations, infos = result
        if "final_obs" in infos:
            done = infos["_final_obs"]
            infos["final_obs"] = _core.scatter(self._normalizer.apply(np.stack(list(infos["final_obs"][done]))), done)
        return self._normalized(rows, target), rewards, terminations, truncations, infos

    def rollout(self, actions: Any, steps: int, key: int, first_step: int, out: Any = None):
        """As the batch's; the same as that many steps."""
        self._normalizer.check()
        target, out = self._split(out, actions, steps)
        try:
            result = self._batch.rollout(actions, steps, key, first_step, out)
        except _core.LaneError as error:
            error.result = self._treated_rollout(error.result, target)
            raise
        return self._treated_rollout(result, target)

    def _treated_rollout(self, result: tuple[Any, ...], target: NDArray[np.float32] | None):
        rows, *others, infos, actions = result
        result = rows if rows.dtype == np.float32 else np.empty(rows.shape, np.float32) if target is None else target
        for t in range(len(rows)):
            self._normalizer.update(rows[t])
            self._normalizer.apply(rows[t], result[t])
            if "final_obs" in infos:
                final = infos["final_obs"]
                if t == 0:
                    infos["final_obs"] = np.zeros(final.shape, np.float32)
                    raw_final = final
                done = infos["_final_obs"][t]
                infos["final_obs"][t][done] = self._normalizer.apply(raw_final[t][done])
        return result, *others, infos, actions

    def _normalized(self, rows: NDArray[Any], target: NDArray[np.float32] | None = None) -> NDArray[np.float32]:
        """In `target`; None: in place where the dtype allows it, for the rows are the batch's to give."""
        if target is None and rows.dtype == np.float32:
            target = rows
        return self._normalizer.apply(rows, target)

    def _split(self, out: Any, actions: Any, *steps: int) -> tuple[NDArray[np.float32] | None, Any]:
        """Takes the caller's observation array out of `out`, where the batch cannot write into it."""
        if out is None or self._batch.observation_layout()[1] == np.float32:
            return None, out
        out = self._batch.check_out(out, actions, steps, np.dtype(np.float32))
        return out[0], (None, *out[1:])
