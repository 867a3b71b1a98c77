"""What a log and a fitted process are compared by: moments, correlations, counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from recrawl.estimate.sequences import Gaps
    from recrawl.laws.arrivals import Bmap

__all__ = ["ArrivalStatistics", "of_arrivals", "of_gaps"]

LAGS = 10
#: Windows in which deliveries are counted, in mean gaps.
WINDOWS = (10.0, 100.0, 1000.0)
_FEWEST_WINDOWS = 30


@dataclass(frozen=True)
class ArrivalStatistics:
    """Gaps between batches (mean, scv, third moment, correlations), batches (sizes), counts (dispersion).

    `dispersion[w]` is Var N / E N of the number of batches in a window of `windows[w]`; NaN where the log has
    too few such windows. Correlations start at lag 1.
    """

    count: int
    mean: float
    scv: float
    third_moment: float
    lag_correlations: tuple[float, ...]
    batch_mean: float
    batch_sizes: tuple[float, ...]
    windows: tuple[float, ...]
    dispersion: tuple[float, ...]

    @property
    def rate(self) -> float:
        """Pages per unit of time."""
        return self.batch_mean / self.mean


def of_gaps(gaps: Gaps, lags: int = LAGS) -> ArrivalStatistics:
    """Statistics of a log; pairs of gaps and windows of counts lie inside one run."""
    from recrawl.estimate._log_kernels import accumulate

    mean = float(gaps.times.mean())
    windows = np.array(WINDOWS) * mean
    powers, products, pairs = np.zeros(2), np.zeros(lags), np.zeros(lags)
    size_counts = np.zeros(int(gaps.sizes.max()) + 1, dtype=np.int64)
    counts = np.zeros((windows.size, 3))
    accumulate(
        gaps.times, gaps.sizes, gaps.fresh, mean, powers, products, pairs, size_counts, windows, counts
    )
    variance = float(powers[0]) / len(gaps)
    shares = size_counts / len(gaps)
    known = (pairs > np.arange(1, lags + 1)) & (variance > 0)
    correlations = np.full(lags, np.nan)
    correlations[known] = products[known] / pairs[known] / variance
    return ArrivalStatistics(
        count=len(gaps),
        mean=mean,
        scv=variance / mean**2,
        third_moment=float(powers[1]) / len(gaps),
        lag_correlations=tuple(float(value) for value in correlations),
        batch_mean=float(shares @ np.arange(shares.size)),
        batch_sizes=tuple(float(share) for share in shares[1:]),
        windows=tuple(float(width) for width in windows),
        dispersion=tuple(_dispersion(*row) for row in counts),
    )


def _dispersion(number: float, total: float, squares: float) -> float:
    """Var N / E N from the number of windows, and the sum and sum of squares of their counts."""
    if number < _FEWEST_WINDOWS or total == 0:
        return float("nan")
    return float((squares - total**2 / number) / (number - 1.0) / (total / number))


def of_arrivals(
    arrivals: Bmap, windows: tuple[float, ...], count: int, lags: int = LAGS
) -> ArrivalStatistics:
    """The same statistics of a process in its stationary state."""
    sizes = arrivals.batch_sizes
    mean = arrivals.interval_mean
    return ArrivalStatistics(
        count=count,
        mean=mean,
        scv=arrivals.interval_variance / mean**2,
        third_moment=arrivals.interval_moment(3),
        lag_correlations=tuple(arrivals.interval_correlation(lag) for lag in range(1, lags + 1)),
        batch_mean=float(np.arange(sizes.size) @ sizes),
        batch_sizes=tuple(float(share) for share in sizes[1:]),
        windows=windows,
        dispersion=tuple(_fitted_dispersion(arrivals, width) for width in windows),
    )


def _fitted_dispersion(arrivals: Bmap, t: float) -> float:
    """Var N(t) / E N(t) of the number of batches.

    Var N(t) = (λ − 2λ² + 2 θ D_1 C D_1 1) t − 2 θ D_1 (I − e^{Dt}) C² D_1 1 with C = (1θ − D)^{−1} and D_1
    all moves with a batch. [M. Neuts, Structured Stochastic Matrices of M/G/1 Type, 1989, Section 5.4]
    """
    from scipy.linalg import expm

    theta, D = arrivals.phases, arrivals.generator
    moves = arrivals.D[1:].sum(axis=0)
    ones = np.ones(arrivals.order)
    C = np.linalg.inv(np.outer(ones, theta) - D)
    rate = float(theta @ moves @ ones)
    front, back = theta @ moves, moves @ ones
    slope = rate - 2.0 * rate**2 + 2.0 * float(front @ C @ back)
    bend = 2.0 * float(front @ (np.eye(arrivals.order) - expm(D * t)) @ C @ C @ back)
    return (slope * t - bend) / (rate * t)
