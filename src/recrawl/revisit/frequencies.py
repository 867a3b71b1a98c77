"""Optimal access frequencies: one price for all pages.

The problem [Coffman 1999, (7)], carried past the paper to general weights and constraints:

    minimise  Σ c_i r_i(x_i)   over  Σ x_i = 1,   floor_i <= x_i <= cap_i,   Σ_{i of site s} x_i <= ceiling_s

r_i is the bound of Theorem 3.3 (evenly spaced accesses) or Lemma 4.1 (randomised ones); both are convex in x_i.
Let v_i(x) = −(c_i/μ_i)·E[X]·μ_i·∂r_i/∂x be the weighted freshness that one more access of page i buys. Then x is
optimal exactly when there are a price p >= 0 and for each site a surcharge q_s >= 0 with

    floor < x < cap:  v(x) = p + q_s         x = floor:  v(x) <= p + q_s         x = cap:  v(x) >= p + q_s
    q_s = 0 unless the ceiling of site s is reached,   p = 0 unless the whole budget is used.

(the Karush-Kuhn-Tucker conditions; `kkt_residual` measures how well they hold). Because the demand of a site falls
with its price P_s = p + q_s, a ceiling fixes P_s by itself, without regard to p: so each ceiling is one scalar
equation, and then p is one more. Pages whose value never reaches the price get frequency zero: they change too fast for
their weight [the paper asks for f > 0; the optimum does not]. A floor gives them accesses all the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from recrawl.errors import InvalidModel
from recrawl.revisit._problem import Problem, spread

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from recrawl.laws import Law
    from recrawl.revisit.pages import Pages

__all__ = [
    "Frequencies",
    "access_value",
    "kkt_residual",
    "optimal_frequencies",
    "proportional_frequencies",
    "randomised_proportional_frequencies",
]


@dataclass(frozen=True, eq=False)
class Frequencies:
    """Optimal frequencies and their price.

    `frequency` sums to 1 − `unused`; `price` is the weighted freshness that one more access per unit time would
    buy; `site_price` is the surcharge of each site whose ceiling is reached (0 elsewhere).
    """

    frequency: NDArray[np.float64]
    price: float
    site_price: NDArray[np.float64]
    unused: float
    randomised: bool

    @property
    def never_visited(self) -> NDArray[np.int64]:
        """Pages with frequency zero."""
        return np.flatnonzero(self.frequency == 0.0)


def proportional_frequencies(pages: Pages, access: Law) -> NDArray[np.float64]:
    """x = ln h / Σ ln h: optimal when weights are proportional to change rates [Coffman 1999, (10)]."""
    exponent = pages.exponents(access)
    return exponent / _some_change(exponent)


def randomised_proportional_frequencies(pages: Pages, access: Law) -> NDArray[np.float64]:
    """x ∝ 1/h − 1: optimal for randomised accessing with proportional weights [Coffman 1999, (16)]."""
    odds = np.expm1(pages.exponents(access))
    return odds / _some_change(odds)


def _some_change(values: NDArray[np.float64]) -> float:
    total = float(values.sum())
    if total <= 0:
        raise InvalidModel("no page ever changes, so no access is worth anything")
    return total


def optimal_frequencies(
    pages: Pages,
    access: Law,
    *,
    floor: ArrayLike | None = None,
    cap: ArrayLike | None = None,
    site_ceiling: ArrayLike | None = None,
    randomised: bool = False,
) -> Frequencies:
    """The frequencies that minimise the cost, for any weights, floors, caps and ceilings of sites.

    All bounds are frequencies (shares of all accesses); `site_ceiling` has one entry per site (infinity: none).
    Bounds that leave some of the budget without use are legal: `unused` says how much.

    >>> from recrawl.laws import Deterministic
    >>> from recrawl.revisit import Pages
    >>> found = optimal_frequencies(Pages([1.0, 10.0], [1.0, 1.0]), Deterministic(1.0))
    >>> found.frequency.round(4).tolist(), round(found.price, 4)     # the fast page is not worth a visit
    ([1.0, 0.0], 0.2642)
    """
    problem = Problem.of(pages, access, floor, cap, site_ceiling, randomised)
    frequency = np.empty(len(pages))
    price, site_price, unused = problem.solve(frequency)
    return Frequencies(frequency, price, site_price, unused, randomised)


def access_value(
    pages: Pages, access: Law, frequency: ArrayLike, *, randomised: bool = False
) -> NDArray[np.float64]:
    """The weighted freshness that one more access per unit time of each page would buy, at these frequencies.

    (c/μ)·(1 − h^{1/f}(1 + L/f)) [Coffman 1999, (8)], or (c/μ)·((1−h)/(1−h+f·h))² for randomised accesses (13).
    It is 0 for a page that never changes.
    """
    frequency = np.asarray(frequency, dtype=np.float64)
    exponent = pages.exponents(access)
    changing = exponent > 0
    worth = np.where(changing, pages.weight / np.where(changing, pages.change_rate, 1.0), 0.0)
    if randomised:
        odds = np.expm1(exponent)
        return np.asarray(
            worth * np.where(changing, (odds / np.where(changing, odds + frequency, 1.0)) ** 2, 0.0)
        )
    visited = changing & (frequency > 0)
    z = exponent / np.where(visited, frequency, 1.0)
    # ∫_0^z t e^{−t} dt as an incomplete gamma function: no cancellation, and not the solver's own series.
    from scipy.special import gammainc

    return np.asarray(worth * np.where(visited, gammainc(2.0, z), 1.0))


def kkt_residual(
    pages: Pages,
    access: Law,
    found: Frequencies,
    *,
    floor: ArrayLike | None = None,
    cap: ArrayLike | None = None,
    site_ceiling: ArrayLike | None = None,
) -> float:
    """How far the optimality conditions (see the module) are from holding; 0 is an exact optimum.

    The largest of: |v − p − q| over p + q for pages between their bounds, the positive part of the same with
    the sign that a bound forbids, bounds and ceilings exceeded, budget not met, and slack of a ceiling or a
    budget that has a price.
    """
    size = len(pages)
    x = found.frequency
    low = np.zeros(size) if floor is None else spread(floor, size)
    high = np.full(size, np.inf) if cap is None else spread(cap, size)
    value = access_value(pages, access, x, randomised=found.randomised)
    site = np.zeros(size, dtype=np.int64) if pages.site is None else pages.site
    price = found.price + found.site_price[site]
    scale = np.where(price > 0, price, max(float(value.max()), 1e-300))
    excess = (value - price) / scale
    at_low, at_high = x <= low, x >= high
    wrong = np.where(
        at_low & at_high,
        0.0,
        np.where(at_low, np.maximum(excess, 0), np.where(at_high, np.maximum(-excess, 0), np.abs(excess))),
    )
    residual = [float(wrong.max()), float(np.maximum(low - x, 0).max()), float(np.maximum(x - high, 0).max())]
    total = float(x.sum())
    residual.append(abs(total + found.unused - 1.0))
    if found.price > 0:
        residual.append(abs(total - 1.0))
    if site_ceiling is not None:
        ceiling = np.asarray(site_ceiling, dtype=np.float64)
        used = np.bincount(site, weights=x, minlength=ceiling.size)
        residual.append(float(np.maximum(used - ceiling, 0).max()))
        priced = found.site_price > 0
        residual.append(float(np.abs((used - ceiling)[priced]).max()) if priced.any() else 0.0)
    return max(residual)
