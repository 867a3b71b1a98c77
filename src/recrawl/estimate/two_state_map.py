"""A two-state process from the mean and variance of gaps and the decay of their correlations.

The idea of Diamond and Alfa (Queueing Systems 34, 2000) that [Avrachenkov, Section 7] applies: the chain of
phases after each delivery is P = [[1−a, a], [b, 1−b]], the gap in phase i is exponential of mean x_i, so
D_0 = −diag(1/x), D_1 = diag(1/x) P. Gaps are then hyperexponential with the weights w = (b, a)/(a+b), and

    correlation at lag k = γ^k (scv − 1)/(2 scv),   γ = 1 − a − b:

a geometric decay below the bound (scv − 1)/(2 scv) < 1/2, whatever the data say.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from recrawl.errors import InvalidModel
from recrawl.estimate.moment_fits import _characteristic
from recrawl.laws.arrivals import Bmap
from recrawl.laws.law import positive

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["TwoStateFit", "correlation_decay", "two_state_map"]


@dataclass(frozen=True)
class TwoStateFit:
    """The process, the largest lag-1 correlation that it could have, and what it cannot reproduce."""

    arrivals: Bmap
    decay: float
    correlation_bound: float
    warnings: tuple[str, ...]


def correlation_decay(correlations: Sequence[float]) -> float:
    """γ of the geometric decay c·γ^k nearest to the correlations from lag 1 on (least squares of logarithms).

    Lags from the first correlation that is not positive on are left out.

    >>> round(correlation_decay([0.622, 0.574, 0.555, 0.537, 0.523, 0.507]), 4)  # [Avrachenkov, Section 7]
    0.9626
    """
    positives = []
    for value in correlations:
        if not value > 0:
            break
        positives.append(math.log(value))
    if len(positives) < 2:
        raise InvalidModel(
            f"the decay of correlations needs two positive ones from lag 1 on, not {list(correlations)[:3]}"
        )
    slope = float(np.polyfit(np.arange(1, len(positives) + 1), positives, 1)[0])
    return min(math.exp(slope), 1.0 - 1e-9)


def two_state_map(
    mean: float,
    variance: float,
    correlations: Sequence[float],
    *,
    third_moment: float | None = None,
    weight: float = 0.5,
) -> TwoStateFit:
    """Match mean, variance and the decay of correlations of gaps (variance above mean²).

    The weight of the slow phase among gaps follows from the third moment where one is given.

    >>> fit = two_state_map(212.03, 51352.38, [0.622, 0.574, 0.555, 0.537, 0.523, 0.507])
    >>> round(fit.correlation_bound, 4), round(fit.arrivals.interval_mean, 6)
    (0.0623, 212.03)
    """
    mean, variance = positive("mean", mean), positive("variance", variance)
    scv = variance / mean**2
    if scv <= 1.0:
        raise InvalidModel(
            f"this two-state process needs a variance above mean² (scv above 1), not scv {scv:.4g}; "
            "fit by EM instead"
        )
    decay = correlation_decay(correlations)
    slow, fast, weight = _means(mean, scv, third_moment, weight)
    # P keeps the phase with probability γ and redraws it by the weights otherwise.
    P = decay * np.eye(2) + (1.0 - decay) * np.array([[weight, 1.0 - weight]] * 2)
    rates = np.array([1.0 / slow, 1.0 / fast])
    arrivals = Bmap([-np.diag(rates), rates[:, None] * P])
    bound = (scv - 1.0) / (2.0 * scv)
    warnings = []
    if correlations[0] > bound:
        warnings.append(
            f"the correlation {correlations[0]:.3g} at lag 1 is impossible for this process "
            f"(bound {bound:.3g}); it has {arrivals.interval_correlation(1):.3g}"
        )
    return TwoStateFit(arrivals, decay, bound, tuple(warnings))


def _means(mean: float, scv: float, third_moment: float | None, weight: float) -> tuple[float, float, float]:
    """Mean gaps of the slow and the fast phase, and the weight of the slow one."""
    if third_moment is not None:
        b2, b3 = 0.5 * (1.0 + scv), positive("third moment", third_moment) / (6.0 * mean**3)
        roots = _characteristic(b2, b3) if b3 > b2 * b2 else None
        if roots is None:
            raise InvalidModel(
                f"no two exponential phases have mean {mean:g}, scv {scv:g} and "
                f"third moment {third_moment:g}; leave the third moment out"
            )
        low, high = roots
        return high * mean, low * mean, (1.0 - low) / (high - low)
    if not 0 < weight < 1:
        raise InvalidModel(f"weight must lie between 0 and 1, not {weight}")
    spread = mean * math.sqrt(0.5 * (scv - 1.0))  # standard deviation of the phase's mean
    fast = mean - spread * math.sqrt(weight / (1.0 - weight))
    if fast <= 0:
        raise InvalidModel(
            f"with weight {weight:g} of the slow phase and scv {scv:g} the fast phase would have "
            f"a mean of {fast:g}; choose a smaller weight or give the third moment"
        )
    return mean + spread * math.sqrt((1.0 - weight) / weight), fast, weight
