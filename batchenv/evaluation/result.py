"""What an evaluation has found: a table of episodes, and what follows from it."""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import NormalDist
from typing import Any

import numpy as np
from gymnasium.error import DependencyNotInstalled
from numpy.typing import NDArray

_RESAMPLES, _SEED, _MOST = 10_000, 20261127, 2_000_000  # of the bootstrap; numbers that it draws at a time


@dataclass(frozen=True, eq=False)
class Evaluation:
    """The episodes of an evaluation, in the order in which they were planned: arrays with a row per episode.

    Attributes:
        seeds: int64; None where the env has its own (see `evaluate`).
        returns: float64: sums of rewards.
        lengths: int64: steps.
        terminated: bool: the env ended the episode. False: it was truncated.
        successes: bool: the info "success" or "is_success" of the last step; None if the env has neither.
        player_returns: float64 (episodes, players): sums of the info "rewards", where several agents play; or None.
        infos: {name: values in the last steps} of the infos asked for.
        lanes: int64: which lane played it.
    """

    seeds: NDArray[np.int64] | None
    returns: NDArray[np.float64]
    lengths: NDArray[np.int64]
    terminated: NDArray[np.bool_]
    lanes: NDArray[np.int64]
    successes: NDArray[np.bool_] | None = None
    player_returns: NDArray[np.float64] | None = None
    infos: dict[str, NDArray[Any]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.returns)

    def summary(self, confidence: float = 0.95) -> dict[str, float]:
        """Numbers about all episodes.

        Args:
            confidence: of the intervals.

        Returns:
            episodes; return_mean, return_std (of the sample), return_median, return_min, return_max; return_low and
            return_high: an interval for the mean return of such episodes, by the percentiles of 10,000 resamples
            (Efron's bootstrap, with a fixed seed); length_mean; and, where the env says what succeeds, success_rate
            with success_low and success_high (Wilson's interval).

        Raises:
            ValueError: confidence is not between 0 and 1.
        """
        if not 0 < confidence < 1:
            raise ValueError(f"confidence={confidence!r} must be between 0 and 1, such as 0.95")
        returns = self.returns
        low, high = _interval_of_mean(returns, confidence)
        result = {
            "episodes": len(self),
            "return_mean": float(returns.mean()),
            "return_low": low,
            "return_high": high,
            "return_std": float(returns.std(ddof=1)) if len(returns) > 1 else 0.0,
            "return_median": float(np.median(returns)),
            "return_min": float(returns.min()),
            "return_max": float(returns.max()),
            "length_mean": float(self.lengths.mean()),
        }
        if self.successes is not None:
            rate = float(self.successes.mean())
            low, high = _wilson(rate, len(self), confidence)
            result |= {"success_rate": rate, "success_low": low, "success_high": high}
        return result

    def columns(self) -> dict[str, NDArray[Any]]:
        """The table as {name: array (episodes,)}. Infos of several numbers, and returns of players, are divided into
        columns NAME_0, NAME_1, ..."""
        columns: dict[str, NDArray[Any]] = {} if self.seeds is None else {"seed": self.seeds}
        columns |= {"return": self.returns, "length": self.lengths, "terminated": self.terminated}
        if self.successes is not None:
            columns["success"] = self.successes
        wide = {} if self.player_returns is None else {"player_return": self.player_returns}
        for name, values in (wide | self.infos).items():
            if values.ndim == 1:
                columns[name] = values
            else:
                flat = values.reshape(len(values), -1)
                columns |= {f"{name}_{k}": flat[:, k] for k in range(flat.shape[1])}
        return columns | {"lane": self.lanes}

    def to_pandas(self) -> Any:
        """The table as a pandas.DataFrame, a row per episode.

        Raises:
            gymnasium.error.DependencyNotInstalled: pandas is not installed.
        """
        try:
            import pandas  # pyright: ignore[reportMissingImports, reportMissingModuleSource]
        except ImportError as error:
            raise DependencyNotInstalled('to_pandas() needs pandas: pip install "batchenv[evaluate]"') from error
        return pandas.DataFrame(self.columns())

    def __str__(self) -> str:
        found = self.summary()
        text = (
            f"{found['episodes']} episodes: mean return {found['return_mean']:.6g} "
            f"(95%: {found['return_low']:.6g} to {found['return_high']:.6g}), from {found['return_min']:.6g} to "
            f"{found['return_max']:.6g}; mean length {found['length_mean']:.6g}"
        )
        if "success_rate" in found:
            rate, low, high = (found[f"success_{name}"] for name in ("rate", "low", "high"))
            text += f"; success {rate:.1%} (95%: {low:.1%} to {high:.1%})"
        return text


def _interval_of_mean(values: NDArray[np.float64], confidence: float) -> tuple[float, float]:
    rng, means = np.random.default_rng(_SEED), np.empty(_RESAMPLES)
    rows = max(1, _MOST // len(values))
    for begin in range(0, _RESAMPLES, rows):
        part = means[begin : begin + rows]
        part[:] = values[rng.integers(0, len(values), (len(part), len(values)))].mean(axis=1)
    low, high = np.quantile(means, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)


def _wilson(rate: float, count: int, confidence: float) -> tuple[float, float]:
    """Wilson, "Probable inference, the law of succession, and statistical inference" (1927)."""
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    middle = (rate + z * z / (2 * count)) / (1 + z * z / count)
    half = z / (1 + z * z / count) * np.sqrt(rate * (1 - rate) / count + z * z / (4 * count * count))
    return float(max(middle - half, 0.0)), float(min(middle + half, 1.0))
