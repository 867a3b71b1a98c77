"""How often each page is worth an access: one price for all, one more for each site at its ceiling.

The planner looks for the price at which the pages' demands for accesses sum to the budget; a page's demand is one
access per time that its value takes to reach the price, by what is believed about its change rate. A site whose
demand exceeds what politeness allows gets a price of its own, at which it asks for just that.
Search on a sample of the pages, then one pass over all: it runs in a worker, beside the robots.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from recrawl.estimate import Belief

    Floats = NDArray[np.float64]

__all__ = ["POLICIES", "Plan", "Policy", "PolicyName", "make_plan"]

PolicyName = Literal["optimal", "poisson", "uniform", "proportional"]
POLICIES: tuple[PolicyName, ...] = ("optimal", "poisson", "uniform", "proportional")

_SAMPLE = 1024  # pages on which the price is looked for
_STEPS = 40
_ACCURATE = 1e-4  # of the budget


@dataclass(frozen=True)
class Plan:
    """The price, the price of each site that is at its ceiling, and what was planned with."""

    policy: PolicyName
    budget: float
    price: float
    site_price: dict[int, float] = field(default_factory=dict)
    pages: int = 0
    demand: float = 0.0  # accesses per second that the pages ask for at these prices

    def price_at(self, site: int) -> float:
        """The price that the pages of a site pay."""
        return self.site_price.get(site, self.price)


class Policy:
    """Intervals between accesses from belief and price, by one of the rules.

    `optimal`, `poisson`: until the value of an access reaches the price. `uniform`: the price itself is the interval.
    `proportional`: the price over the change rate, so pages are accessed in proportion to their changes.
    """

    def __init__(
        self, name: PolicyName, belief: Belief, shortest: float = 0.0, longest: float = math.inf
    ) -> None:
        self.name = name
        self.belief = belief
        self.shortest, self.longest = shortest, longest

    def intervals(self, slots: NDArray[np.int64], weight: Floats, price: float) -> Floats:
        """Seconds from one access of each page to its next."""
        if self.name == "uniform":
            found = np.full(slots.size, price)
        elif self.name == "proportional":
            found = price / self.belief.mean_rate(slots)
        else:
            found = self.belief.time_to_price(slots, price, weight)
        return np.asarray(np.clip(found, self.shortest, self.longest))


def make_plan(
    policy: Policy,
    slots: NDArray[np.int64],
    weight: Floats,
    site: NDArray[np.int64],
    budget: float,
    ceilings: Floats,
    seed: int = 0,
) -> tuple[Plan, Floats]:
    """The plan for pages `slots` of sites `site`, and the interval of each page.

    `ceilings[s]` is the most accesses per second of site s.
    """
    if not slots.size:
        return Plan(policy.name, budget, 1.0), np.zeros(0)
    chosen = np.arange(slots.size)
    if slots.size > _SAMPLE:
        chosen = np.random.default_rng(seed).choice(slots.size, _SAMPLE, replace=False)
    scale = slots.size / chosen.size
    sample_site = site[chosen]

    def by_site(price: float) -> Floats:
        asked = 1.0 / np.maximum(policy.intervals(slots[chosen], weight[chosen], price), 1e-9)
        return np.asarray(
            np.bincount(sample_site, weights=asked, minlength=ceilings.size) * scale, dtype=np.float64
        )

    wanted = min(budget, float(ceilings[np.unique(site)].sum()) * 0.999999)
    price = _price_of(lambda p: float(np.minimum(by_site(p), ceilings).sum()), wanted, slots.size / budget)
    site_price = {}
    for full in np.flatnonzero(by_site(price) > ceilings).tolist():
        site_price[full] = _site_price(policy, slots, weight, site, full, float(ceilings[full]), price)
    intervals = np.empty(slots.size)
    ordinary = ~np.isin(site, list(site_price))
    intervals[ordinary] = policy.intervals(slots[ordinary], weight[ordinary], price)
    for place, own in site_price.items():
        members = site == place
        intervals[members] = policy.intervals(slots[members], weight[members], own)
    demand = float((1.0 / np.maximum(intervals, 1e-9)).sum())
    return Plan(policy.name, budget, price, site_price, slots.size, demand), intervals


def _site_price(
    policy: Policy,
    slots: NDArray[np.int64],
    weight: Floats,
    site: NDArray[np.int64],
    place: int,
    ceiling: float,
    start: float,
) -> float:
    members = np.flatnonzero(site == place)
    if members.size > _SAMPLE:
        members = members[:: -(-members.size // _SAMPLE)]
    scale = float((site == place).sum()) / members.size

    def demand(price: float) -> float:
        asked = policy.intervals(slots[members], weight[members], price)
        return float((1.0 / np.maximum(asked, 1e-9)).sum()) * scale

    return _price_of(demand, ceiling, start)


def _price_of(demand: Callable[[float], float], wanted: float, start: float) -> float:
    """The price at which a falling demand meets what is wanted, by halving in ln p after bracketing.

    Where limits on intervals make the demand too small or too large at any price, the end that is nearest.
    """
    low = high = math.log(max(start, 1e-300))
    step = 1.0
    while demand(math.exp(low)) < wanted and low > -200:
        low -= step
        step *= 2.0
    step = 1.0
    while demand(math.exp(high)) > wanted and high < 200:
        high += step
        step *= 2.0
    for _ in range(_STEPS):
        middle = 0.5 * (low + high)
        found = demand(math.exp(middle))
        if abs(found - wanted) <= _ACCURATE * wanted:
            return math.exp(middle)
        low, high = (middle, high) if found > wanted else (low, middle)
    return math.exp(0.5 * (low + high))
