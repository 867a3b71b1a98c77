"""How many Poisson arrivals fall into one random time: mixed Poisson probabilities, without subtraction.

With A the number of arrivals of rate r during a time X of law F,

    k_m = P(A = m) = E[e^{-rX} (rX)^m / m!],   t_m = P(A > m),   E[(A − M)⁺] = t_M + t_{M+1} + …

Every law of this package is one of three cases:

* a mixture over X of Poisson counts (deterministic, empirical; lognormal and uniform by quadrature);
* negative binomial counts, or a mixture of geometric ones (gamma, Erlang, exponential, hyperexponential);
* a phase-type time, where t_m = α P^{m+1} 1 with P = r (rI − S)^{-1} (phase-type, two-task).

All terms are positive, so each result is accurate relative to itself, to about 1e-14 until it underflows (gamma laws:
1e-16 × rate × mean × scv where that is more). A new law joins by `arrival_counts.register`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache, singledispatch
from typing import TYPE_CHECKING

import numpy as np

from recrawl.errors import InvalidModel
from recrawl.laws.closed import Deterministic, Gamma, Uniform
from recrawl.laws.empirical import Empirical
from recrawl.laws.law import Law, positive
from recrawl.laws.lognormal import Lognormal
from recrawl.laws.mixtures import Hyperexponential, TwoTask
from recrawl.laws.phase_type import PhaseType

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["ArrivalCounts", "arrival_counts"]


@dataclass(frozen=True)
class ArrivalCounts:
    """Law of the number A of arrivals during one time.

    `probabilities[m]` = P(A = m) and `tails[m]` = P(A > m) for m = 0..last; `excess` = E[(A − last)⁺];
    `log_none` = ln P(A = 0), which is finite even where P(A = 0) underflows.
    """

    probabilities: NDArray[np.float64]
    tails: NDArray[np.float64]
    excess: float
    log_none: float

    @property
    def excesses(self) -> NDArray[np.float64]:
        """E[(A − m)⁺] for m = 0..last: sums of tails from m on."""
        beyond = self.excess + np.concatenate((np.cumsum(self.tails[:-1][::-1])[::-1], [0.0]))
        return np.asarray(beyond)


@singledispatch
def arrival_counts(law: Law, rate: float, last: int) -> ArrivalCounts:
    """Law of the number of Poisson arrivals of a rate during a random time, for 0..last arrivals.

    >>> from recrawl.laws import Exponential
    >>> arrival_counts(Exponential(1.0), rate=1.0, last=2).tails.round(12).tolist()
    [0.5, 0.25, 0.125]
    """
    del rate, last
    raise InvalidModel(f"no way is known to count arrivals during {law!r}")


def _checked(rate: float, last: int) -> float:
    if last < 0:
        raise InvalidModel(f"last must not be below zero, not {last}")
    return positive("rate", rate)


def _mixed(
    last: int,
    bases: NDArray[np.float64],
    slopes: NDArray[np.float64],
    weights: NDArray[np.float64],
    log_none: float,
) -> ArrivalCounts:
    from recrawl.laws._count_kernels import panjer_counts

    probabilities, tails, excess = panjer_counts(bases, slopes, weights, last)
    return ArrivalCounts(probabilities, tails, excess, log_none)


def _mixed_poisson(
    rate: float, last: int, times: NDArray[np.float64], weights: NDArray[np.float64]
) -> ArrivalCounts:
    """Poisson counts mixed over times; ln P(no arrival) by factoring out the largest term."""
    means = rate * times
    with np.errstate(divide="ignore"):
        exponents = np.log(weights) - means
    largest = float(exponents.max())
    log_none = largest + math.log(float(np.exp(exponents - largest).sum()))
    return _mixed(last, means, np.zeros_like(times), weights, log_none)


@arrival_counts.register
def _(law: Deterministic, rate: float, last: int) -> ArrivalCounts:
    rate = _checked(rate, last)
    return _mixed_poisson(rate, last, np.array([law.value]), np.ones(1))


@arrival_counts.register
def _(law: Empirical, rate: float, last: int) -> ArrivalCounts:
    rate = _checked(rate, last)
    times, weights = law.atoms
    return _mixed_poisson(rate, last, times, weights)


@arrival_counts.register
def _(law: Gamma, rate: float, last: int) -> ArrivalCounts:
    """Negative binomial: P(A = j+1) / P(A = j) = q (shape + j)/(j+1), q = y/(1+y) with y = rate·mean·scv."""
    rate = _checked(rate, last)
    spread = rate * law.mean * law.scv
    q = spread / (1.0 + spread)
    base = rate * law.mean / (1.0 + spread)  # q·shape
    few = _few_counts(rate * law.mean, base, q, -float(law.exponent(rate)), last)
    if few is not None:
        return few
    return _mixed(last, np.array([base]), np.array([q]), np.ones(1), -float(law.exponent(rate)))


def _few_counts(mean: float, base: float, q: float, log_none: float, last: int) -> ArrivalCounts | None:
    """Negative binomial counts far below their mean, upwards from zero; None where that would lose digits."""
    if mean < 4.0 * last + 100.0:
        return None
    m = np.arange(last, dtype=np.float64)
    probabilities = np.exp(log_none) * np.append(1.0, np.cumprod((base + q * m) / (m + 1.0)))
    below = np.cumsum(probabilities)  # P(A <= m)
    if not below[-1] < 0.9:
        return None
    excess = mean - last + float(below[:-1].sum())  # E[(A − M)⁺] = E[A] − M + Σ_{m<M} P(A <= m)
    return ArrivalCounts(probabilities, 1.0 - below, excess, log_none)


@arrival_counts.register
def _(law: Hyperexponential, rate: float, last: int) -> ArrivalCounts:
    """Geometric counts: P(A > m) = Σ p q^{m+1}, q = y/(1+y) with y = rate·mean of the phase."""
    rate = _checked(rate, last)
    p, spread = np.array(law.probabilities), rate * np.array(law.means)
    powers = np.exp(-np.arange(last + 1.0)[:, None] * np.log1p(1.0 / spread))  # q^m
    q, none = spread / (1.0 + spread), 1.0 / (1.0 + spread)
    excess = float(powers[-1] @ (p * spread))  # q^{last+1}/(1 − q)
    return ArrivalCounts(powers @ (p * none), powers @ (p * q), excess, -float(law.exponent(rate)))


@arrival_counts.register
def _(law: PhaseType, rate: float, last: int) -> ArrivalCounts:
    return _phases(law, law.alpha, law.S, law.exits, rate, last)


@arrival_counts.register
def _(law: TwoTask, rate: float, last: int) -> ArrivalCounts:
    check, update, p = 1.0 / law.check_mean, 1.0 / law.update_mean, law.update_probability
    S = np.array([[-check, p * check], [0.0, -update]])
    return _phases(law, np.array([1.0, 0.0]), S, np.array([(1.0 - p) * check, update]), rate, last)


def _phases(
    law: Law,
    alpha: NDArray[np.float64],
    S: NDArray[np.float64],
    exits: NDArray[np.float64],
    rate: float,
    last: int,
) -> ArrivalCounts:
    """Phases at arrivals: one step leads from an arrival to the next, or to the end of the time."""
    from recrawl.laws._count_kernels import phase_counts

    rate = _checked(rate, last)
    between = rate * np.eye(alpha.size) - S
    step = np.maximum(np.linalg.solve(between, rate * np.eye(alpha.size)), 0.0)
    ends = np.maximum(np.linalg.solve(between, exits), 0.0)
    probabilities, tails, phases = phase_counts(
        np.ascontiguousarray(step), np.array(alpha, dtype=np.float64), ends, last
    )
    # Sum over m >= last of α P^{m+1} 1 = α P^{last+1} (I − P)^{-1} 1, and (I − P)^{-1} = I + r (−S)^{-1}.
    from_each = 1.0 + rate * np.linalg.solve(-S, np.ones(alpha.size))
    excess = float(phases @ from_each)
    return ArrivalCounts(probabilities, tails, excess, -float(law.exponent(rate)))


@arrival_counts.register
def _(law: Lognormal, rate: float, last: int) -> ArrivalCounts:
    """Trapezoidal rule over z where X = e^{location + sigma z}.

    P(A = m | X) is the narrower in z the larger m is: its width is 1/(sigma √m). A step h leaves an error of
    e^{-2π²/(h²(1 + m sigma²))}, below 1e-17 for the step chosen. The nodes reach as far as the normal density
    can be told from zero, so that even the rarest counts are right.
    """
    rate = _checked(rate, last)
    step = 0.5 / math.sqrt(1.0 + (last + 4.0) * law.sigma**2)
    reach = math.ceil(38.0 / step)
    z = np.arange(-reach, reach + 1) * step
    weights = np.exp(-0.5 * z * z) * (step / math.sqrt(2.0 * math.pi))
    return _mixed_poisson(rate, last, np.exp(law.location + law.sigma * z), weights)


@cache
def _legendre(size: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    return np.polynomial.legendre.leggauss(size)


@arrival_counts.register
def _(law: Uniform, rate: float, last: int) -> ArrivalCounts:
    """Gauss-Legendre rules on panels half as wide as a Poisson count's standard deviation."""
    rate = _checked(rate, last)
    low, high = rate * law.low, rate * law.high
    times, weights = [], []
    # Above this mean a count exceeds `last` for certain, and one panel integrates a linear function.
    certain = last + 80.0 + 80.0 * math.sqrt(last + 80.0)
    while high > low:
        width = min(high - low, 0.5 * math.sqrt(high)) if low < certain or high < certain else high - low
        if high > certain > low:
            width = high - certain
        nodes, panel = _legendre(64 if high < 25.0 else 32)
        times.append(high - 0.5 * width * (1.0 - nodes))
        weights.append(0.5 * width * panel)
        high = high - width if high - width > low + 1e-9 * width else low
    nodes, panels = np.concatenate(times), np.concatenate(weights)
    return _mixed_poisson(rate, last, nodes / rate, panels / panels.sum())
