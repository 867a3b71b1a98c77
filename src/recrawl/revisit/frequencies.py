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

from recrawl.errors import InvalidModel, NotConverged
from recrawl.revisit.pages import checked_vector

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

# Demand must meet the budget to this relative accuracy; what is left is spread over the pages between their bounds.
_TOLERANCE = 1e-13
# Above this number of pages the price is first found on every n-th page.
_SAMPLE = 65_536
# How far the price may move, relatively, while a page's Taylor series is trusted: first guess, then refined.
_FIRST_MARGIN = 0.05
_LAST_MARGIN = 0.01
_NONE = np.empty(0)
_NO_SERIES = (0.0, 0.0, 0.0, 0.0)


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
    problem = _Problem.of(pages, access, floor, cap, site_ceiling, randomised)
    return problem.solve()


@dataclass
class _Problem:
    """The arrays of one optimisation, empty where there is no bound."""

    exponent: NDArray[np.float64]  # L, or (1 − h)/h for randomised accesses
    base: NDArray[np.float64]  # μ/c
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    site: NDArray[np.int64] | None
    ceiling: NDArray[np.float64]
    randomised: bool

    @classmethod
    def of(
        cls,
        pages: Pages,
        access: Law,
        floor: ArrayLike | None,
        cap: ArrayLike | None,
        site_ceiling: ArrayLike | None,
        randomised: bool,
    ) -> _Problem:
        size = len(pages)
        low = _NONE if floor is None else checked_vector("floor", _spread(floor, size), size, zero=True)
        high = (
            _NONE
            if cap is None
            else checked_vector("cap", _spread(cap, size), size, zero=True, infinite=True)
        )
        if low.size and high.size and (low > high).any():
            place = int(np.flatnonzero(low > high)[0])
            raise InvalidModel(f"floor[{place}] = {low[place]:g} is above cap[{place}] = {high[place]:g}")
        if low.size and low.sum() > 1.0 + 1e-12:
            raise InvalidModel(
                f"the floors need {low.sum():.6g} of the budget; lower them, or raise the budget"
            )
        ceiling = _NONE
        site = pages.site
        if site_ceiling is not None:
            ceiling = checked_vector("site_ceiling", site_ceiling, zero=True, infinite=True)
            if site is None:
                site = np.zeros(size, dtype=np.int64)
            if ceiling.size < pages.sites:
                raise InvalidModel(f"site_ceiling has {ceiling.size} entries for {pages.sites} sites")
            _check_site_floors(low, site, ceiling)
        exponent = pages.exponents(access)
        if randomised:
            exponent = np.expm1(exponent)
        return cls(exponent, pages.change_rate / pages.weight, low, high, site, ceiling, randomised)

    def solve(self) -> Frequencies:
        frequency = np.empty_like(self.exponent)
        reserve, site_prices = self._solve_sites(frequency)
        price, unused = self._solve_all(frequency, reserve)
        surcharge = np.maximum(site_prices - price, 0.0)
        return Frequencies(frequency, price, surcharge, unused, self.randomised)

    def _solve_sites(self, frequency: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Each site's own price, at which its demand meets its ceiling; its demand there goes into `frequency`."""
        if self.site is None or not np.isfinite(self.ceiling).any():
            return _NONE, np.zeros(max(1, self.ceiling.size))
        prices = np.zeros(self.ceiling.size)
        order = np.argsort(self.site, kind="stable")
        starts = np.searchsorted(self.site[order], np.arange(self.ceiling.size + 1))
        for s in np.flatnonzero(np.isfinite(self.ceiling)):
            members = order[starts[s] : starts[s + 1]]
            if members.size:
                part = _Problem(
                    self.exponent[members],
                    self.base[members],
                    self.low[members] if self.low.size else _NONE,
                    self.high[members] if self.high.size else _NONE,
                    None,
                    _NONE,
                    self.randomised,
                )
                demand = np.empty(members.size)
                prices[s], _ = part._spend(float(self.ceiling[s]), demand, _NONE)
                frequency[members] = demand
        return prices[self.site], prices

    def _solve_all(self, frequency: NDArray[np.float64], reserve: NDArray[np.float64]) -> tuple[float, float]:
        if not reserve.size:
            return self._spend(1.0, frequency, reserve)
        at_ceiling = frequency.copy()
        price, unused = self._spend(1.0, frequency, reserve)
        # A site whose own price is above the common one stays at its ceiling, as it was solved there.
        held = reserve > price
        frequency[held] = at_ceiling[held]
        return price, unused

    def _most(self, reserve: NDArray[np.float64]) -> float:
        """Demand at price zero: what caps and ceilings allow at most."""
        worth = self.exponent > 0
        high = np.where(worth, self.high if self.high.size else np.inf, self.low if self.low.size else 0.0)
        if self.site is not None and reserve.size:
            bound = np.zeros(self.ceiling.size)
            np.add.at(bound, self.site, high)
            return float(np.minimum(bound, self.ceiling).sum())
        return float(high.sum())

    def _spend(
        self, target: float, out: NDArray[np.float64], reserve: NDArray[np.float64]
    ) -> tuple[float, float]:
        """Write the demand at the price where it meets `target`; return that price, and what nobody demands."""
        from recrawl.revisit import _kernels

        arrays = (self.exponent, self.base, self.low, self.high, reserve, self.randomised)
        most = self._most(reserve)
        if most <= target:
            total = _kernels.write_demand(_TINY, *arrays, out)
            return 0.0, max(0.0, target - total)
        least = float(self.low.sum()) if self.low.size else 0.0
        if target <= least:
            out[:] = self.low if self.low.size else 0.0
            return float(1.0 / self.base[self.exponent > 0].min()), 0.0
        guess = 0.25 / float(np.median(self.base[self.exponent > 0][:: max(1, self.base.size // 1000)]))
        stride = self.exponent.size // _SAMPLE
        if stride > 1:
            part = _kernels.find_price(target / stride, guess, 1e-4, *arrays, stride, _NO_SERIES)
            guess = 0.5 * (part[0] + part[1])
            price = None if self.randomised else self._spend_many(target, guess, out, reserve)
            if price is not None:
                return price, 0.0
        cheap, dear, passes = _kernels.find_price(target, guess, _TOLERANCE, *arrays, 1, _NO_SERIES)
        if not (np.isfinite(cheap) and np.isfinite(dear)):
            raise NotConverged(f"no price meets the budget {target:g} after {passes} passes")
        self._write_between(cheap, dear, target, out, reserve)
        return dear, 0.0

    def _spend_many(
        self, target: float, price: float, out: NDArray[np.float64], reserve: NDArray[np.float64]
    ) -> float | None:
        """`_spend` for very many pages by Taylor series; None when too many pages are near an edge or a bound."""
        from recrawl.revisit import _expansion, _kernels

        arrays = (self.exponent, self.base, self.low, self.high, reserve)
        near = np.empty(self.exponent.size // 8, dtype=np.int64)
        margin, steps = _FIRST_MARGIN, 1
        for _ in range(6):
            total, slope, curve, count = _expansion.expand(price, margin, steps, *arrays, out, near)
            if count < 0:
                return None
            places = near[:count]
            exponent, base, low, high, held = (array[places] if array.size else _NONE for array in arrays)
            series = (float(np.log(price)), total, slope, curve)
            cheap, dear, _passes = _kernels.find_price(
                target, price, _TOLERANCE, exponent, base, low, high, held, False, 1, series
            )
            shift = float(np.log(dear / price))
            if not abs(shift) < 0.5 * margin:
                return None
            if steps == 2 and cheap == dear and abs(shift) < 1e-3 * margin:
                total = _expansion.finish(price, shift, *arrays, out)
                self._spread_rounding(target - total, total, dear, out, reserve)
                return dear
            price, margin, steps = dear, _LAST_MARGIN, 2
        return None

    def _write_between(
        self, cheap: float, dear: float, target: float, out: NDArray[np.float64], reserve: NDArray[np.float64]
    ) -> None:
        """Frequencies that sum to the target, between the demands at two neighbouring prices."""
        from recrawl.revisit import _kernels

        arrays = (self.exponent, self.base, self.low, self.high, reserve, self.randomised)
        total = _kernels.write_demand(dear, *arrays, out)
        if cheap != dear:
            other = np.empty_like(out)
            more = _kernels.write_demand(cheap, *arrays, other)
            if more > total:
                out += (target - total) / (more - total) * (other - out)
        else:
            self._spread_rounding(target - total, total, dear, out, reserve)

    def _spread_rounding(
        self, rest: float, total: float, price: float, out: NDArray[np.float64], reserve: NDArray[np.float64]
    ) -> None:
        """Spread a rounding error over the pages that are not held by a bound."""
        free = out > 0
        for bound in (self.low, self.high):
            if bound.size:
                free &= out != bound
        if reserve.size:
            free &= reserve <= price
        inside = total if free.all() else float(out[free].sum())
        if inside > 0:
            np.multiply(out, 1.0 + rest / inside, out=out, where=free)


# The price at which everything that a cap allows is demanded.
_TINY = 1e-290


def _spread(bound: ArrayLike, size: int) -> NDArray[np.float64]:
    values = np.asarray(bound, dtype=np.float64)
    return np.full(size, values) if values.ndim == 0 else values


def _check_site_floors(
    low: NDArray[np.float64], site: NDArray[np.int64], ceiling: NDArray[np.float64]
) -> None:
    if not low.size:
        return
    needed = np.bincount(site, weights=low, minlength=ceiling.size)
    over = np.flatnonzero(needed > ceiling * (1 + 1e-12))
    if over.size:
        s = int(over[0])
        raise InvalidModel(f"the floors of site {s} need {needed[s]:.6g}, above its ceiling {ceiling[s]:.6g}")


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
    low = np.zeros(size) if floor is None else _spread(floor, size)
    high = np.full(size, np.inf) if cap is None else _spread(cap, size)
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
