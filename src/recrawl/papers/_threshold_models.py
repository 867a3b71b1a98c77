"""The queues behind the tables and figures of Avrachenkov et al., Section 7."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from recrawl.control.model import Costs, Model, modes_of
from recrawl.laws.arrivals import Bmap
from recrawl.laws.phase_type import PhaseType
from recrawl.papers._threshold_data import BATCH_SIZES

__all__ = [
    "MEAN_SERVICE",
    "base_model",
    "crawler_arrivals",
    "crawler_model",
    "refitted_arrivals",
    "refitted_model",
    "with_obsolescence_scale",
    "with_obsolescence_variance",
    "with_service_scale",
    "with_service_variance",
]

_ZERO = [[0.0, 0.0], [0.0, 0.0]]
_S = np.array([[-3.0, 1.0], [2.0, -3.0]])
_GAMMA = np.array([[-0.6, 0.4], [0.1, -0.3]])
MEAN_SERVICE = 23.0 / 35.0


def base_model(capacity: int = 5) -> Model:
    """Table 1, with what the scan lost: two signs in D⁽²⁾, one in D₀⁽³⁾ (row sums are then zero)."""
    modes = modes_of(
        [
            Bmap([[[-10, 2], [0, -0.5]], [[0.05, 3], [0.29, 0.005]], [[0.05, 4.9], [0.2, 0.005]]]),
            Bmap(
                [
                    [[-5.65, 1.1], [0, -0.85]],
                    [[0.01, 2.5], [0.25, 0]],
                    [[0.02, 0.5], [0.25, 0]],
                    [[0.02, 1.5], [0.1, 0.25]],
                ]
            ),
            Bmap([[[-2.48, 0.48], [0.48, -3.48]], [[1.5, 0], [0, 2.25]], [[0.5, 0], [0, 0.75]]]),
            Bmap([[[-1.45, 0.45], [0.6, -2.6]], [[0.25, 0], [0, 0.5]], _ZERO, _ZERO, [[0.75, 0], [0, 1.5]]]),
        ]
    )
    return Model(
        capacity=capacity,
        service=PhaseType([0.4, 0.6], _S),
        modes=modes,
        costs=Costs(loss=5, obsolete=10, response=2, robot=20, starvation=300),
        obsolescence=PhaseType([0.3, 0.7], _GAMMA),
    )


def with_service_scale(s: float) -> Model:
    """Table 3: S multiplied by s."""
    return replace(base_model(), service=PhaseType([0.4, 0.6], _S * s))


def with_obsolescence_scale(s: float) -> Model:
    """Table 4: Γ multiplied by s."""
    return replace(base_model(), obsolescence=PhaseType([0.3, 0.7], _GAMMA * s))


def _two_rates(mean: float, alpha: float) -> PhaseType:
    """(0.9, 0.1) with rates α₁ and α₂ = 0.1 α₁/(mean α₁ − 0.9), so that the mean is kept."""
    return PhaseType([0.9, 0.1], [[-alpha, 0.0], [0.0, -0.1 * alpha / (mean * alpha - 0.9)]])


def with_service_variance(alpha: float) -> Model:
    """Figures 2 and 3: service of mean 23/35 and a variance that grows with α₁."""
    return replace(base_model(), service=_two_rates(MEAN_SERVICE, alpha))


def with_obsolescence_variance(alpha: float, capacity: int = 5) -> Model:
    """Figure 4: obsolescence of mean 5 and a variance that grows with α₁; exponential at 0.2."""
    return replace(base_model(capacity), obsolescence=_two_rates(5.0, alpha))


def _batched(rates: np.ndarray, A: np.ndarray) -> Bmap:
    """A MAP of batches with diagonal D₀ and the printed law of batch sizes."""
    sizes = np.array(BATCH_SIZES) / sum(BATCH_SIZES)
    return Bmap([-np.diag(rates), *(size * A for size in sizes)])


def crawler_arrivals() -> Bmap:
    """The crawler's batches with the printed A and D₀ = −diag(A 1): the printed D₀ does not fit it."""
    A = np.array([[0.0037, 6.58e-5], [1.3e-4, 0.0064]])
    return _batched(A.sum(axis=1), A)


def refitted_arrivals() -> Bmap:
    """The same with the two rates of D₀ from the printed mean and variance of intervals between batches.

    With θ = (b, a)/(a + b): θ·l = 1/212.03 and 2 θ·(1/l) λ_g⁻¹ − λ_g⁻² = 51352.38: a quadratic in l₁.
    """
    a, b, mean, variance = 6.58e-5, 1.3e-4, 212.03, 51352.38
    first, second = b / (a + b), a / (a + b)
    rate, inverse = 1.0 / mean, (variance + mean**2) / (2.0 * mean)
    # first·x + second·y = rate, first/x + second/y = inverse.
    roots = np.roots([inverse * first, second**2 - first**2 - inverse * rate, first * rate]).real
    x = float(min(roots))
    y = (rate - first * x) / second
    return _batched(np.array([x, y]), np.array([[x - a, a], [b, y - b]]))


def _service_from_moments(first: float, second: float, third: float, fast_rate: float) -> PhaseType:
    """A hyperexponential law of two phases with three moments, in units of the given fast rate."""
    m1, m2, m3 = first, second / 2.0, third / 6.0
    total, product = np.linalg.solve(np.array([[m1, -1.0], [m2, -m1]]), np.array([m2, m3]))
    slow, fast = np.roots([1.0, -total, product]).real
    p = (m1 - fast) / (slow - fast)
    return PhaseType([p, 1.0 - p], np.diag([-fast_rate * fast / slow, -fast_rate]))


def crawler_model(arrivals: Bmap | None = None, service: PhaseType | None = None) -> Model:
    """Table 5: r robots bring r times the batches."""
    arrivals = arrivals or crawler_arrivals()
    return Model(
        capacity=20,
        service=service or PhaseType([0.0057, 0.9943], [[-0.0014, 0.0], [0.0, -0.2409]]),
        modes=modes_of([arrivals.scaled(r) for r in (1, 2, 3, 4)]),
        costs=Costs(loss=200, obsolete=250, response=3, robot=20, starvation=600),
        obsolescence=PhaseType([1.0], [[-0.0005]]),
    )


def refitted_model() -> Model:
    """Table 5 from the printed moments of content sizes and intervals instead of the rounded matrices."""
    service = _service_from_moments(49207.0356, 2.0527e11, 2.5773e18, fast_rate=0.2409)
    return crawler_model(refitted_arrivals(), service)
