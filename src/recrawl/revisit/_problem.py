"""The optimisation behind `frequencies`: arrays in, one price out. The module there states the problem."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from recrawl.errors import InvalidModel, NotConverged
from recrawl.revisit.pages import checked_vector

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from recrawl.laws import Law
    from recrawl.revisit.pages import Pages

__all__ = ["Problem", "spread"]

# Demand must meet the budget to this relative accuracy; what is left is spread over the pages between their bounds.
_TOLERANCE = 1e-13
# Above this number of pages the price is first found on every n-th page.
_SAMPLE = 65_536
# How far the price may move, relatively, while a page's Taylor series is trusted: first guess, then refined.
_FIRST_MARGIN = 0.05
_LAST_MARGIN = 0.01
# A page that changes less than this often per access is taken never to change: its value would underflow.
_NEVER = 1e-140
# Beyond this exponent (1 − h)/h overflows; a page that changes so fast is stale at once whatever is done.
_LARGEST = 690.0
_NONE = np.empty(0)
_NO_SERIES = (0.0, 0.0, 0.0, 0.0)
_NO_SITES = np.empty(0, dtype=np.int64)


# The price at which everything that a cap allows is demanded.
_TINY = 1e-290


@dataclass
class Problem:
    """The arrays of one optimisation, empty where there is no bound."""

    exponent: NDArray[np.float64]  # L, or (1 − h)/h for randomised accesses
    base: NDArray[np.float64]  # μ/c
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    site: NDArray[np.int64] | None
    ceiling: NDArray[np.float64]
    randomised: bool
    sites: int = 1
    reserve: NDArray[np.float64] = field(default_factory=lambda: _NONE)  # the own price of the page's site
    held: NDArray[np.float64] = field(default_factory=lambda: _NONE)  # the page's demand at that price

    @classmethod
    def of(
        cls,
        pages: Pages,
        access: Law,
        floor: ArrayLike | None,
        cap: ArrayLike | None,
        site_ceiling: ArrayLike | None,
        randomised: bool,
    ) -> Problem:
        size = len(pages)
        low = _NONE if floor is None else checked_vector("floor", spread(floor, size), size, zero=True)
        high = (
            _NONE if cap is None else checked_vector("cap", spread(cap, size), size, zero=True, infinite=True)
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
        exponent = np.where(exponent < _NEVER, 0.0, exponent)
        if randomised:
            exponent = np.expm1(np.minimum(exponent, _LARGEST))
        base = pages.change_rate / pages.weight
        return cls(exponent, base, low, high, site, ceiling, randomised, pages.sites)

    def solve(self, out: NDArray[np.float64]) -> tuple[float, NDArray[np.float64], float]:
        """Write the optimal frequencies; return the price, the surcharge of each site, and what nobody demands.

        Sites are held at their ceilings as they exceed them. That only lowers the common price, so a site that is
        held stays held, and sites far from their ceilings are never solved.
        """
        prices = np.zeros(max(self.sites, self.ceiling.size))
        limited = self.site is not None and bool(np.isfinite(self.ceiling).any())
        if limited and self._most() <= 1.0:
            self._hold(np.flatnonzero(np.isfinite(self.ceiling)), prices)
        while True:
            price, unused = self._spend(1.0, out)
            over = self._over(out, prices) if limited else _NO_SITES
            if not over.size:
                break
            self._hold(over, prices)
        # A site that meets its ceiling at the common price has no surcharge but rounding.
        return price, np.where(prices > price * (1 + 1e-12), prices - price, 0.0), unused

    def _over(self, frequency: NDArray[np.float64], prices: NDArray[np.float64]) -> NDArray[np.int64]:
        """Sites above their ceilings that are not held yet."""
        used = np.bincount(self._sites, weights=frequency, minlength=self.ceiling.size)
        return np.flatnonzero((used > self.ceiling * (1 + 1e-12)) & (prices[: used.size] == 0.0))

    @property
    def _sites(self) -> NDArray[np.int64]:
        assert self.site is not None
        return self.site

    def _hold(self, sites: NDArray[np.int64], prices: NDArray[np.float64]) -> None:
        """Give each of these sites a price of its own, at which its demand meets its ceiling; hold its pages there."""
        if not self.held.size:
            self.held = np.zeros_like(self.exponent)
        order = np.argsort(self._sites, kind="stable")
        starts = np.searchsorted(self._sites[order], np.arange(self.ceiling.size + 1))
        for s in sites.tolist():
            members = order[starts[s] : starts[s + 1]]
            if members.size:
                part = Problem(
                    self.exponent[members],
                    self.base[members],
                    self.low[members] if self.low.size else _NONE,
                    self.high[members] if self.high.size else _NONE,
                    None,
                    _NONE,
                    self.randomised,
                )
                demand = np.empty(members.size)
                prices[s], _ = part._spend(float(self.ceiling[s]), demand)
                self.held[members] = demand
        self.reserve = prices[self._sites]

    @property
    def _arrays(self) -> tuple[NDArray[np.float64], ...]:
        return self.exponent, self.base, self.low, self.high, self.reserve, self.held

    def _most(self) -> float:
        """Demand at price zero: what caps and ceilings allow at most."""
        worth = self.exponent > 0
        high = np.where(worth, self.high if self.high.size else np.inf, self.low if self.low.size else 0.0)
        if self.site is not None and self.ceiling.size:
            bound = np.zeros(self.ceiling.size)
            np.add.at(bound, self.site, high)
            return float(np.minimum(bound, self.ceiling).sum())
        return float(high.sum())

    def _spend(self, target: float, out: NDArray[np.float64]) -> tuple[float, float]:
        """Write the demand at the price where it meets `target`; return that price, and what nobody demands."""
        from recrawl.revisit import _kernels

        exponent, base, low, high, reserve, held = self._arrays
        if self._most() <= target:
            total = _kernels.write_demand(
                _TINY, exponent, base, low, high, reserve, held, self.randomised, out
            )
            return 0.0, max(0.0, target - total)
        if target <= (float(low.sum()) if low.size else 0.0):
            out[:] = low if low.size else 0.0
            return self._dearest(out), 0.0
        guess = 0.25 / float(np.median(base[exponent > 0][:: max(1, base.size // 1000)]))
        stride = exponent.size // _SAMPLE
        if stride > 1:
            guess = self._hint(target / stride, guess, stride)
            price = None if self.randomised else self._spend_many(target, guess, out)
            if price is not None:
                return price, 0.0
        cheap, dear, passes = self._find(target, guess, _TOLERANCE, 1)
        if not (cheap > 0.0 and np.isfinite(cheap) and np.isfinite(dear)):
            raise NotConverged(f"no price meets the budget {target:g} after {passes} passes")
        self._write_between(cheap, dear, target, out)
        return dear, 0.0

    def _dearest(self, frequency: NDArray[np.float64]) -> float:
        """The largest value of one more access at these frequencies."""
        from scipy.special import gammainc

        worth = self.exponent > 0
        exponent, x = self.exponent[worth], frequency[worth]
        if self.randomised:
            share = (exponent / (exponent + x)) ** 2
        else:
            share = np.where(x > 0, gammainc(2.0, exponent / np.where(x > 0, x, 1.0)), 1.0)
        return float((share / self.base[worth]).max())

    def _find(self, target: float, guess: float, tolerance: float, stride: int) -> tuple[float, float, int]:
        """Prices just below and at which every `stride`-th page together demand `target`; the number of passes."""
        from recrawl.revisit import _kernels

        exponent, base, low, high, reserve, held = self._arrays
        arrays = (exponent, base, low, high, reserve, held)
        return _kernels.find_price(target, guess, tolerance, *arrays, self.randomised, stride, _NO_SERIES)

    def _hint(self, target: float, guess: float, stride: int) -> float:
        """The price at which every `stride`-th page meets its part of the target, or the guess where they cannot."""
        cheap, dear, _ = self._find(target, guess, 1e-4, stride)
        known = 0.0 < cheap < np.inf and 0.0 < dear < np.inf and dear < 1.01 * cheap
        return dear if known else guess

    def _spend_many(self, target: float, price: float, out: NDArray[np.float64]) -> float | None:
        """`_spend` for very many pages by Taylor series; None when too many pages are near an edge or a bound."""
        from recrawl.revisit import _expansion, _kernels

        exponent, base, low, high, reserve, held = self._arrays
        near = np.empty(exponent.size // 8, dtype=np.int64)
        margin, steps = _FIRST_MARGIN, 1
        for _ in range(8):
            total, slope, curve, count = _expansion.expand(
                price, margin, steps, exponent, base, low, high, reserve, held, out, near
            )
            if count < 0:
                return None
            part = [array[near[:count]] if array.size else _NONE for array in self._arrays]
            series = (float(np.log(price)), total, slope, curve)
            cheap, dear, _passes = _kernels.find_price(
                target,
                price,
                _TOLERANCE,
                part[0],
                part[1],
                part[2],
                part[3],
                part[4],
                part[5],
                False,
                1,
                series,
            )
            if not (cheap > 0.0 and np.isfinite(cheap) and np.isfinite(dear)):
                return None
            shift = float(np.log(dear / price))
            if steps == 2 and abs(shift) < 1e-3 * margin:
                if cheap == dear:
                    total = _expansion.finish(price, shift, exponent, base, low, high, reserve, held, out)
                    self._spread_rounding(target - total, total, dear, out)
                else:
                    self._write_between(cheap, dear, target, out)
                return dear
            if abs(shift) < 0.5 * margin:
                margin, steps = _LAST_MARGIN, 2
            price *= float(np.exp(np.clip(shift, -0.5, 0.5)))
        return None

    def _write_between(self, cheap: float, dear: float, target: float, out: NDArray[np.float64]) -> None:
        """Frequencies that sum to the target, between the demands at two neighbouring prices."""
        from recrawl.revisit import _kernels

        exponent, base, low, high, reserve, held = self._arrays
        total = _kernels.write_demand(dear, exponent, base, low, high, reserve, held, self.randomised, out)
        if cheap == dear:
            self._spread_rounding(target - total, total, dear, out)
            return
        other = np.empty_like(out)
        more = _kernels.write_demand(cheap, exponent, base, low, high, reserve, held, self.randomised, other)
        if more > total:
            out += (target - total) / (more - total) * (other - out)

    def _spread_rounding(self, rest: float, total: float, price: float, out: NDArray[np.float64]) -> None:
        """Spread a rounding error over the pages that are not held by a bound."""
        free = out > 0
        for bound in (self.low, self.high):
            if bound.size:
                free &= out != bound
        if self.reserve.size:
            free &= self.reserve <= price
        inside = total if free.all() else float(out[free].sum())
        if inside > 0:
            np.multiply(out, 1.0 + rest / inside, out=out, where=free)


def spread(bound: ArrayLike, size: int) -> NDArray[np.float64]:
    """One bound for all pages, or one for each."""
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
