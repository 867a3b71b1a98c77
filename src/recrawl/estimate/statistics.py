"""What a log and a fitted process are compared by: moments, correlations, counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

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
    """Statistics of a log; pairs of gaps count for correlations only inside one run."""
    times = gaps.times
    mean = float(times.mean())
    variance = float(times.var())
    shares = np.bincount(gaps.sizes) / len(gaps)
    run: NDArray[np.int64] = np.cumsum(gaps.fresh, dtype=np.int64)
    centred = times - mean
    correlations = []
    for lag in range(1, lags + 1):
        same = run[lag:] == run[:-lag]
        pairs = int(same.sum())
        product = float((centred[lag:] * centred[:-lag])[same].sum())
        correlations.append(product / pairs / variance if pairs > lag and variance > 0 else float("nan"))
    windows = tuple(width * mean for width in WINDOWS)
    return ArrivalStatistics(
        count=len(gaps),
        mean=mean,
        scv=variance / mean**2,
        third_moment=float((times**3).mean()),
        lag_correlations=tuple(correlations),
        batch_mean=float(gaps.sizes.mean()),
        batch_sizes=tuple(float(share) for share in shares[1:]),
        windows=windows,
        dispersion=tuple(_dispersion(times, run, width) for width in windows),
    )


def _dispersion(times: NDArray[np.float64], run: NDArray[np.int64], width: float) -> float:
    """Var N / E N of the batches in windows of a run; the last, unfinished window of each run is left out."""
    counts = []
    edges = np.flatnonzero(np.diff(run)) + 1
    for part in np.split(times, edges) if edges.size < 10_000 else [times]:
        epochs = np.cumsum(part)
        whole = int(epochs[-1] // width)
        if whole:
            counts.append(np.bincount((epochs[epochs < whole * width] // width).astype(int), minlength=whole))
    joined = np.concatenate(counts) if counts else np.zeros(0)
    if joined.size < _FEWEST_WINDOWS:
        return float("nan")
    return float(joined.var(ddof=1) / joined.mean())


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
