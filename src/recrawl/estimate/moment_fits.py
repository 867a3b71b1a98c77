"""Phase-type laws from two or three moments."""

from __future__ import annotations

import math

import numpy as np

from recrawl.errors import InvalidModel
from recrawl.laws import PhaseType
from recrawl.laws.law import positive

__all__ = ["from_three_moments", "from_two_moments"]

_MOST_STAGES = 200


def _erlang_mixture(weights: list[float], stage_means: list[float], stages: list[int]) -> PhaseType:
    """With probability weights[j], a sum of stages[j] exponential times of mean stage_means[j]."""
    order = sum(stages)
    alpha = np.zeros(order)
    S = np.zeros((order, order))
    place = 0
    for weight, mean, count in zip(weights, stage_means, stages, strict=True):
        alpha[place] = weight
        for k in range(place, place + count):
            S[k, k] = -1.0 / mean
            if k + 1 < place + count:
                S[k, k + 1] = 1.0 / mean
        place += count
    return PhaseType(alpha / alpha.sum(), S)


def from_two_moments(mean: float, scv: float) -> PhaseType:
    """The usual law of a given mean and squared coefficient of variation.

    scv > 1: hyperexponential with balanced means; scv = 1: exponential; scv < 1: k − 1 or k stages of one
    rate, 1/k ≤ scv < 1/(k − 1) [H. Tijms, Stochastic Models, 1994, (A.14)].

    >>> law = from_two_moments(2.0, 0.3)
    >>> law.order, round(law.mean, 9), round(law.scv, 9)
    (4, 2.0, 0.3)
    """
    from recrawl.laws import Hyperexponential

    mean, scv = positive("mean", mean), positive("scv", scv)
    if scv > 1.0:
        law = Hyperexponential.balanced(mean, scv)
        return _erlang_mixture(list(law.probabilities), list(law.means), [1, 1])
    stages = max(1, math.ceil(1.0 / scv - 1e-9))
    if stages > _MOST_STAGES:
        raise InvalidModel(f"scv {scv:g} would need {stages} stages, more than {_MOST_STAGES}")
    if stages == 1:
        return PhaseType([1.0], [[-1.0 / mean]])
    k = stages
    p = (k * scv - math.sqrt(max(k * (1.0 + scv) - k * k * scv, 0.0))) / (1.0 + scv)
    p = min(max(p, 0.0), 1.0)  # probability of one stage fewer
    rate = (k - p) / mean
    alpha = np.zeros(k)
    alpha[0], alpha[1] = 1.0 - p, p
    return PhaseType(alpha, np.diag(np.full(k, -rate)) + np.diag(np.full(k - 1, rate), 1))


def from_three_moments(first: float, second: float, third: float) -> PhaseType:
    """The smallest law of its family with these raw moments E[X], E[X²], E[X³].

    Tried in turn: hyperexponential of two phases, acyclic of two phases [M. Telek and A. Heindl, Int. J.
    Simulation 3, 2002], mixture of two Erlang laws of n stages each, the smallest n [M. Johnson and
    M. Taaffe, Stochastic Models 5, 1989], which exists for the moments of every law that is not a constant.

    >>> law = from_three_moments(49207.0356, 2.0527e11, 2.5773e18)     # bytes [Avrachenkov, Section 7]
    >>> law.alpha.round(4).tolist()
    [0.0057, 0.9943]
    """
    m = [positive(f"moment {n}", value) for n, value in enumerate((first, second, third), start=1)]
    unit = m[0]
    m2, m3 = m[1] / unit**2, m[2] / unit**3  # the mean is 1 from here on
    if m2 <= 1.0 or m3 <= m2 * m2:
        raise InvalidModel(
            f"no law has the moments {first:g}, {second:g}, {third:g}: "
            "E[X²] must exceed E[X]², and E[X]E[X³] must exceed E[X²]²"
        )
    for stages in range(1, _MOST_STAGES + 1):
        points = _two_points(stages, m2, m3)
        if points is not None:
            weight, low, high = points
            return _erlang_mixture([1.0 - weight, weight], [high * unit, low * unit], [stages, stages])
        if stages == 1:
            acyclic = _acyclic(m2, m3)
            if acyclic is not None:
                p, slow, always = acyclic
                S = np.array([[-1.0 / slow, 1.0 / slow], [0.0, -1.0 / always]]) / unit
                return PhaseType([p, 1.0 - p], S)
    raise InvalidModel(f"these moments would need more than {_MOST_STAGES} stages (scv {m2 - 1.0:g})")


def _characteristic(b2: float, b3: float) -> tuple[float, float] | None:
    """The two roots x of x² − s x + t with b_2 = s − t, b_3 = s b_2 − t (b_1 = 1), or None if not real."""
    if b2 == 1.0:
        return None
    s = (b3 - b2) / (b2 - 1.0)
    t = (b3 - b2 * b2) / (b2 - 1.0)
    square = s * s - 4.0 * t
    if square < 0.0 or s <= 0.0 or t <= 0.0:
        return None
    high = 0.5 * (s + math.sqrt(square))
    return t / high, high


def _two_points(stages: int, m2: float, m3: float) -> tuple[float, float, float] | None:
    """Stage means x_1 < x_2 and P(x_1) of a mixture of two Erlang laws, or None."""
    n = stages
    b2, b3 = m2 * n / (n + 1), m3 * n * n / ((n + 1) * (n + 2))
    if b2 <= 1.0 or b3 <= b2 * b2:
        return None
    roots = _characteristic(b2, b3)
    if roots is None:
        return None
    low, high = roots
    return (high - 1.0) / (high - low), low / n, high / n


def _acyclic(m2: float, m3: float) -> tuple[float, float, float] | None:
    """p, x_1, x_2: with probability p a stage of mean x_1, then always one of mean x_2; or None."""
    roots = _characteristic(0.5 * m2, m3 / 6.0)
    if roots is None:
        return None
    for first, always in (roots, roots[::-1]):
        p = (1.0 - always) / first
        if -1e-12 <= p <= 1.0 + 1e-12:
            return min(max(p, 0.0), 1.0), first, always
    return None
