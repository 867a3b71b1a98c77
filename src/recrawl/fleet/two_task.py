"""The two-task indexer in closed form. [Talim 2001, Section 4.4]

The indexer checks a page and, with probability p, updates the index; both times are exponential. The paper's closed
form of α_K is a sum of two geometric series. Corrected here: the sums start at i = 3, not 2, and the initial
conditions are u_3 and u_4.

The form is exact but subtracts: in floating point it loses digits where its two roots meet. It serves to check
`fleet/mg1k.py`, which is what the optimiser uses.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from recrawl.fleet.mm1k import checked_capacity
from recrawl.laws.law import positive

if TYPE_CHECKING:
    from recrawl.laws import TwoTask

__all__ = ["TwoTaskRoots", "closed_form_cost", "closed_form_normaliser", "coefficients"]


def coefficients(service: TwoTask, load: float) -> tuple[list[float], list[float]]:
    """The polynomials a_0..a_2 and b_0..b_3 of [Talim 2001, Section 4.4]; the b sum to zero.

    >>> from recrawl.laws import TwoTask
    >>> a, b = coefficients(TwoTask(2.0, 10.0, 1.0), load=1.0)
    >>> abs(sum(b)) < 1e-15
    True
    """
    check, update, p = 1.0 / service.check_mean, 1.0 / service.update_mean, service.update_probability
    rate = positive("load", load) / service.mean
    a = [rate**2 + (check + update) * rate + check * update, -2 * rate**2 - (check + update) * rate, rate**2]
    b = [
        (1 - p) * check * rate + check * update,
        -(rate**2) - ((2 - p) * check + update) * rate - check * update,
        2 * rate**2 + (check + update) * rate,
        -(rate**2),
    ]
    return a, b


@dataclass(frozen=True)
class TwoTaskRoots:
    """The two growth factors of α_K − α_{K−1}, and their weights. [Talim 2001, (37)]"""

    roots: tuple[float, float]
    weights: tuple[float, float]


def _roots(a: list[float], b: list[float]) -> tuple[TwoTaskRoots, float]:
    """Roots, weights, and α_2."""
    alpha2 = a[0] / b[0]
    alpha3 = a[1] / b[0] - b[1] / b[0] * alpha2
    alpha4 = a[2] / b[0] - b[1] / b[0] * alpha3 - b[2] / b[0] * alpha2
    spread = ((b[0] + b[1]) ** 2 + 4 * b[0] * b[3]) ** 0.5
    first, second = ((-(b[0] + b[1]) + sign * spread) / (2 * b[0]) for sign in (1, -1))
    u3, u4 = alpha3 - alpha2, alpha4 - alpha3
    d1 = (second * u3 - u4) / (first**3 * (second - first))
    d2 = (u4 - first * u3) / (second**3 * (second - first))
    return TwoTaskRoots((first, second), (d1, d2)), alpha2


def closed_form_normaliser(service: TwoTask, load: float, capacity: int, *, first: int = 3) -> float:
    """α_K = α_2 + Σ_{i=3}^{K} (d_1 λ_1^i + d_2 λ_2^i).

    [Talim 2001, end of Section 4.4], where the sums wrongly start at 2 (`first` = 2 gives the printed value).

    >>> from recrawl.laws import TwoTask
    >>> round(closed_form_normaliser(TwoTask(1.0, 5.0, 0.0), load=2.0, capacity=4), 9)   # M/M/1/K: 1 + ρ + … + ρ^{K−1}
    15.0
    """
    capacity = checked_capacity(capacity, least=2)
    found, alpha2 = _roots(*coefficients(service, load))
    (one, two), (d1, d2) = found.roots, found.weights
    return alpha2 + sum(d1 * one**i + d2 * two**i for i in range(first, capacity + 1))


def closed_form_cost(service: TwoTask, load: float, starvation_weight: float, capacity: int) -> float:
    """1 + (γ − α_K)/(1 + ρ α_K). [Talim 2001, (21)]

    >>> from recrawl.laws import TwoTask
    >>> round(closed_form_cost(TwoTask(2.0, 10.0, 1.0), 1.0, 2.0, 15), 9)
    0.164545403
    """
    alpha = closed_form_normaliser(service, load, capacity)
    return 1.0 + (positive("starvation weight", starvation_weight) - alpha) / (1.0 + load * alpha)
