"""The index queue with exponential service, M/M/1/K: everything in closed form.

Pages arrive in a Poisson stream; load ρ is the arrival rate times the mean service. At most K pages are in the
system, the one in service included; a page that finds K is lost. With L = ln ρ the number of pages has

    P(X = i) = ρ^i (1 − ρ)/(1 − ρ^{K+1}),  i = 0..K                              [Talim 2001, Proposition 1]

and the cost of a load is γ P(X=0) + P(X=K). The paper's derivative (3), (4) has a double root at ρ = 1, where
every digit is lost; setting the derivative of ln C to zero instead gives a form without subtraction,

    E[number of pages at load 1/ρ] = K γ/(γ + ρ^K),

which is the tanh form K tanh(KL/2 − ½ ln γ) = (K+1) Λ((K+1)L/2) − Λ(L/2), Λ(x) = coth x − 1/x, rearranged.
Loads within 1e-13 of one and capacities of a million keep about 15 digits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING

from recrawl.errors import InvalidModel
from recrawl.laws.law import positive

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "Sensitivity",
    "checked_capacity",
    "cost",
    "load_bounds",
    "loss",
    "mean_queue",
    "optimal_load",
    "queue_length",
    "sensitivity",
    "starvation",
]


def checked_capacity(capacity: int, *, least: int = 1) -> int:
    """The capacity as a whole number, or an error that says what is wrong with it.

    >>> checked_capacity(0)
    Traceback (most recent call last):
    ...
    recrawl.errors.InvalidModel: capacity must be a whole number from 1, not 0
    """
    number: object = capacity
    bad = isinstance(number, bool) or not isinstance(number, Real) or not math.isfinite(number)
    if bad or int(capacity) != capacity or capacity < least:
        raise InvalidModel(f"capacity must be a whole number from {least}, not {capacity}")
    return int(capacity)


def starvation(load: float, capacity: int) -> float:
    """P(X = 0): the fraction of time the indexer has nothing to do. [Talim 2001, Proposition 1]

    >>> starvation(load=1.0, capacity=4)
    0.2
    """
    load, capacity = positive("load", load), checked_capacity(capacity)
    if load == 1.0:
        return 1.0 / (capacity + 1)
    log = math.log(load)
    if load < 1.0:
        return (1.0 - load) / -math.expm1((capacity + 1) * log)
    # The same divided by ρ^K above and below, so that nothing overflows.
    return _power(load, -capacity) * loss(load, capacity)


def loss(load: float, capacity: int) -> float:
    """P(X = K): the fraction of arriving pages that find the buffer full. [Talim 2001, Proposition 1]

    >>> round(loss(load=2.0, capacity=3), 12)
    0.533333333333
    """
    load, capacity = positive("load", load), checked_capacity(capacity)
    if load == 1.0:
        return 1.0 / (capacity + 1)
    if load < 1.0:
        return _power(load, capacity) * starvation(load, capacity)
    return (load - 1.0) / load / -math.expm1(-(capacity + 1) * math.log(load))


def _power(load: float, exponent: int) -> float:
    """load^exponent, 0 where it underflows."""
    try:
        return math.pow(load, exponent)
    except OverflowError:
        return math.inf


def queue_length(load: float, capacity: int) -> NDArray[np.float64]:
    """P(X = i) for i = 0..K. [Talim 2001, Proposition 1]

    >>> queue_length(load=2.0, capacity=2).round(6).tolist()
    [0.142857, 0.285714, 0.571429]
    """
    import numpy as np

    load, capacity = positive("load", load), checked_capacity(capacity)
    steps = np.arange(capacity + 1, dtype=np.float64)
    if load <= 1.0:
        return np.asarray(starvation(load, capacity) * np.power(load, steps))
    return np.asarray(loss(load, capacity) * np.power(load, steps - capacity))


def mean_queue(load: float, capacity: int) -> float:
    """E[X]: mean number of pages in the system.

    >>> mean_queue(load=1.0, capacity=6)
    3.0
    """
    load, capacity = positive("load", load), checked_capacity(capacity)
    return _mean_queue(math.log(load), capacity)


def _mean_queue(log: float, capacity: float) -> float:
    """E[X] at load e^log: 1/(e^{-L} − 1) − (K+1)/(e^{-(K+1)L} − 1), by a series where both terms are large."""
    if log > 0:
        return capacity - _mean_queue(-log, capacity)  # full places and empty places change roles
    width = (capacity + 1) * log
    if width > -1.0:
        return 0.5 * (capacity + (capacity + 1) * _langevin(0.5 * width) - _langevin(0.5 * log))
    far = (capacity + 1) * math.exp(width) / -math.expm1(width)
    return math.exp(log) / -math.expm1(log) - far


def _langevin(x: float) -> float:
    """Λ(x) = coth x − 1/x."""
    if abs(x) < 0.6:
        # Σ 2^{2n} B_{2n} x^{2n−1}/(2n)!: eleven terms leave less than 1e-17 of x.
        square, total = x * x, 0.0
        for coefficient in reversed(_LANGEVIN):
            total = coefficient + square * total
        return x * total
    return 1.0 / math.tanh(x) - 1.0 / x


_LANGEVIN = (
    1 / 3,
    -1 / 45,
    2 / 945,
    -1 / 4725,
    2 / 93555,
    -1382 / 638512875,
    4 / 18243225,
    -3617 / 162820783125,
    87734 / 38979295480125,
    -349222 / 1531329465290625,
    310732 / 13447856940643125,
)


def cost(load: float, starvation_weight: float, capacity: int) -> float:
    """γ P(X=0) + P(X=K). [Talim 2001, (1)–(2)]

    >>> round(cost(load=1.0, starvation_weight=2.0, capacity=4), 12)
    0.6
    """
    weight = positive("starvation weight", starvation_weight)
    return weight * starvation(load, capacity) + loss(load, capacity)


def load_bounds(starvation_weight: float, capacity: int) -> tuple[float, float]:
    """Bounds of the optimal load, (γ/K)^{1/(K−1)} <= ρ* <= (γK)^{1/(K−1)}, and 1 on the side that Lemma 1 forbids.

    The lower one is [Talim 2001, (7)]. Reciprocal weights have reciprocal optimal loads, so the upper one
    follows from it; the paper's (8) has K + 1 instead of K and is wider.

    >>> low, high = load_bounds(starvation_weight=2.0, capacity=10)
    >>> low <= optimal_load(2.0, 10) <= high
    True
    """
    weight = positive("starvation weight", starvation_weight)
    capacity = checked_capacity(capacity, least=2)
    lower, upper = (math.pow(weight * size, 1.0 / (capacity - 1)) for size in (1.0 / capacity, capacity))
    return (min(lower, 1.0), 1.0) if weight <= 1.0 else (max(1.0, lower), upper)


def optimal_load(starvation_weight: float, capacity: int) -> float:
    """The load of least cost, unique for K >= 2. [Talim 2001, Lemma 1]

    With K = 1 the cost (γ + ρ)/(1 + ρ) has no minimum: it only approaches one, as the load goes to 0 or ∞.

    >>> optimal_load(starvation_weight=1.0, capacity=7)
    1.0
    >>> round(optimal_load(2.0, 7) * optimal_load(0.5, 7), 12)
    1.0
    """
    weight = positive("starvation weight", starvation_weight)
    return math.exp(_optimal_log(weight, checked_capacity(capacity, least=2)))


def _optimal_log(weight: float, capacity: float) -> float:
    """ln of the optimal load, by the form without subtraction in the module's head."""
    from scipy.optimize import brentq

    if weight == 1.0:
        return 0.0
    if weight < 1.0:
        return -_optimal_log(1.0 / weight, capacity)
    target = math.log(weight)

    def excess(log: float) -> float:
        exponent = capacity * log - target
        return (
            math.log(_mean_queue(-log, capacity) / capacity)
            + max(exponent, 0.0)
            + math.log1p(math.exp(-abs(exponent)))
        )

    high = (math.log(capacity + 1) + target) / (capacity - 1)  # [Talim 2001, (8)]
    return float(brentq(excess, 0.0, high, xtol=1e-300, rtol=8.9e-16, maxiter=500))


@dataclass(frozen=True)
class Sensitivity:
    """How the optimal load moves: `to_weight` = d ln ρ*/d ln γ, `to_capacity` = d ln ρ*/dK (K as a real number)."""

    to_weight: float
    to_capacity: float


def sensitivity(starvation_weight: float, capacity: int) -> Sensitivity:
    """Derivatives of the optimal load, by implicit differentiation of its equation.

    The first is positive [Talim 2001, Proposition 3]; the second is conjectured to have the sign of 1 − γ
    [Talim 2001, Section 3.3].

    >>> sensitivity(2.0, 10).to_weight > 0 > sensitivity(2.0, 10).to_capacity
    True
    """
    weight = positive("starvation weight", starvation_weight)
    capacity = checked_capacity(capacity, least=2)
    if weight < 1.0:
        mirrored = sensitivity(1.0 / weight, capacity)
        return Sensitivity(mirrored.to_weight, -mirrored.to_capacity)
    log = _optimal_log(weight, capacity)
    exponent = capacity * log - math.log(weight)
    share = 1.0 / (1.0 + math.exp(-exponent)) if exponent > -700.0 else 0.0
    mean = _mean_queue(-log, capacity)
    slope = capacity * share - _variance(log, capacity) / mean
    width = (capacity + 1) * log
    by_capacity = _bernoulli_slope(width) / mean + log * share - 1.0 / capacity
    return Sensitivity(share / slope, -by_capacity / slope)


def _bernoulli_slope(y: float) -> float:
    """−d/dy of y/(e^y − 1), for y >= 0."""
    if y < 0.2:
        return 0.5 - y / 6.0 + y**3 / 180.0 - y**5 / 5040.0 + y**7 / 151200.0
    decay = math.exp(-y)
    return decay * (y + math.expm1(-y)) / math.expm1(-y) ** 2


def _variance(log: float, capacity: float) -> float:
    """Var X at load e^log, which is the derivative of E[X] by log."""
    log = abs(log)
    width = (capacity + 1) * log
    if width < 1.0:
        return 0.25 * ((capacity + 1) ** 2 * _langevin_slope(0.5 * width) - _langevin_slope(0.5 * log))
    return 0.25 * (math.sinh(0.5 * log) ** -2 - (capacity + 1) ** 2 * _inverse_sinh_square(0.5 * width))


def _inverse_sinh_square(x: float) -> float:
    return 4.0 * math.exp(-2.0 * x) / math.expm1(-2.0 * x) ** 2


def _langevin_slope(x: float) -> float:
    """Λ'(x) = 1/x² − 1/sinh² x for |x| <= 1/2, by its series."""
    square, total = x * x, 0.0
    for place, coefficient in reversed(list(enumerate(_LANGEVIN))):
        total = (2 * place + 1) * coefficient + square * total
    return total
