"""How often each page is worth an access: one price for all, one more for each site at its ceiling.

The planner looks for the price at which the pages' demands for accesses sum to the budget; a page's demand is one
access per time that its value takes to reach the price, by what is believed about its change rate. A site whose
demand exceeds what politeness allows gets a price of its own, at which it asks for just that.
Search on a sample of the pages, then one pass over all: it runs in a worker, beside the robots.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from recrawl.engine.clock_pages import ClockTable
from recrawl.engine.sites import sort_pages
from recrawl.engine.waits import near, wait_at, waits_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from recrawl.engine.pages import PageTable
    from recrawl.engine.sites import Order

    Floats = NDArray[np.float64]

__all__ = ["AT_ONCE", "NEVER", "POLICIES", "Pages", "Plan", "Policy", "PolicyName", "make_plan", "plan_order"]

PolicyName = Literal["optimal", "poisson", "uniform", "proportional"]
POLICIES: tuple[PolicyName, ...] = ("optimal", "poisson", "uniform", "proportional")

AT_ONCE = -1e15  # due time of a page that is to be accessed before all others
NEVER = 1e18  # due time of pages that are not worth an access: last, not lost
_SAMPLE = 4096  # pages on which the price is looked for
_FEW = 20_000  # pages for which all waits are found anew by every plan
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

    def prices(self, site: NDArray[np.int32], sites: int) -> Floats:
        """The prices that pages of these sites pay."""
        found = np.full(sites, self.price)
        for place, own in self.site_price.items():
            found[place] = own
        return found[site]


class Policy:
    """How long to wait from one access to the next, from belief and price, by one of the rules.

    `optimal`, `poisson`: until the value of an access reaches the price. `uniform`: the price itself is the wait.
    `proportional`: the price over the change rate, so pages are accessed in proportion to their changes.
    """

    def __init__(
        self, name: PolicyName, table: PageTable, shortest: float = 0.0, longest: float = math.inf
    ) -> None:
        self.name = name
        self.table = table
        self.shortest, self.longest = shortest, longest

    def find_waits(self, slots: NDArray[np.int64], weight: Floats, prices: Floats) -> NDArray[np.void]:
        """How long pages wait from one access to the next, on the clocks that the table keeps for them."""
        if self.name == "uniform":
            return waits_of(prices, prices)
        if self.name == "proportional":
            return waits_of(prices / self.table.belief.mean_rate(slots), prices)
        return self.table.find_waits(slots, weight, prices)

    def intervals(self, slots: NDArray[np.int64], weight: Floats, price: float) -> Floats:
        """The same in seconds, within the bounds that were set."""
        waits = self.find_waits(slots, weight, np.full(slots.size, price))["wait"]
        found = self.table.intervals(slots, waits.astype(np.float64))
        return np.asarray(np.clip(found, self.shortest, self.longest))

    def due(self, slots: NDArray[np.int64], now: float, waits: Floats | None = None) -> Floats:
        """When pages are due, by their waits (or those that the table holds), within the bounds.

        A page whose wait is not known is due since its last access; one not worth an access, at the end of time.
        """
        last = self.table.last[slots]
        found = self.table.due_times(slots, self.table.waits["wait"][slots] if waits is None else waits, now)
        found = np.where(np.isnan(found), last, found)
        return np.asarray(np.minimum(np.clip(found, last + self.shortest, last + self.longest), NEVER))


@dataclass(frozen=True)
class Pages:
    """What a plan is made for: slots, with their weights and sites, and the most accesses per second of each site.

    `waiting` are the slots that wait in line, with their due times; those that are `kept` do not get another one.
    """

    slots: NDArray[np.int64]
    weight: Floats
    site: NDArray[np.int32]
    ceilings: Floats
    waiting: NDArray[np.int64]
    due: Floats
    kept: NDArray[np.bool_]


@dataclass(frozen=True)
class Found:
    """A plan, the waits that were found anew and the prices they were found at, and the order of the waiting pages."""

    plan: Plan
    slots: NDArray[np.int64]
    waits: NDArray[np.void]
    order: Order


def plan_order(
    policy: Policy, pages: Pages, before: Plan, budget: float, now: float, thorough: bool = True
) -> Found:
    """A plan and the order it gives. Runs in a worker, while pages come and go.

    A plan that is not thorough goes on from the waits that are known.
    """
    table = policy.table
    everything = thorough and (table.learn_prior(pages.slots) or pages.slots.size <= _FEW)
    plan = before
    if isinstance(table, ClockTable):
        plan = rank_plan(policy, table, pages, before, budget, now, thorough)
    elif thorough:
        plan = make_plan(policy, pages, budget, before.price if before.pages else None)
    prices = plan.prices(pages.site, pages.ceilings.size)
    known = table.waits[pages.slots]
    places = np.arange(prices.size) if everything else np.flatnonzero(~near(known, prices))
    known[places] = found = policy.find_waits(pages.slots[places], pages.weight[places], prices[places])
    if isinstance(table, ClockTable) and thorough:
        asked = 1.0 / np.maximum(table.intervals(pages.slots, wait_at(known, prices)), 1e-9)
        plan = replace(plan, demand=float(asked.sum()))
    due = np.where(pages.kept, pages.due, math.nan)
    chosen = np.flatnonzero(~pages.kept)
    slots = pages.waiting[chosen]
    where = np.searchsorted(pages.slots, slots)
    due[chosen] = policy.due(slots, now, wait_at(known[where], prices[where]))
    order = sort_pages(pages.waiting, due, table.site[pages.waiting], pages.ceilings.size)
    return Found(plan, pages.slots[places], found, order)


def make_plan(policy: Policy, pages: Pages, budget: float, start: float | None = None, seed: int = 0) -> Plan:
    """The prices for these pages; `start` is a price to look near."""
    slots, weight, site, ceilings = pages.slots, pages.weight, pages.site, pages.ceilings
    if not slots.size:
        return Plan(policy.name, budget, 1.0)
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
    price = _price_of(
        lambda p: float(np.minimum(by_site(p), ceilings).sum()), wanted, start or slots.size / budget
    )
    asked = by_site(price)
    site_price = {}
    full = np.flatnonzero(asked > ceilings)
    if full.size:
        order = np.argsort(site, kind="stable")
        edges = np.searchsorted(site[order], np.arange(ceilings.size + 1))
        for place in full.tolist():
            members = order[edges[place] : edges[place + 1]]
            site_price[place] = _site_price(policy, pages, members, float(ceilings[place]), price)
    demand = float(np.minimum(asked, ceilings).sum())
    return Plan(policy.name, budget, price, site_price, slots.size, demand)


def rank_plan(
    policy: Policy,
    table: ClockTable,
    pages: Pages,
    before: Plan,
    budget: float,
    now: float,
    exact: bool,
    seed: int = 0,
) -> Plan:
    """The prices for pages with clocks: what the pages are worth that will be accessed in the next while.

    Clocks that run fast now will not stay so, hence demands at their present speeds say little. Instead: of all pages
    the twentieth part that is worth most, half the time later that its accesses take, no site above its ceiling.
    Pages that are out do not count: their copies look old until the accesses are recorded, and would raise the price.
    """
    slots, site, ceilings = pages.slots, pages.site, pages.ceilings
    never = np.isnan(table.last[slots])
    seen = np.flatnonzero(~never & np.isin(slots, pages.waiting))
    known = seen.size
    batch = max(8.0, slots.size / 20.0)
    fresh = int(never.sum())  # pages never accessed come first
    if not seen.size or (fresh >= batch and before.pages):
        return replace(before, budget=budget, pages=slots.size)
    pace = min(budget, float(ceilings[np.unique(site)].sum()))
    if seen.size > _SAMPLE:
        seen = np.random.default_rng(seed).choice(seen, _SAMPLE, replace=False)
    scale = known / seen.size
    later = now + 0.5 * batch / pace
    worth = table.log_value(slots[seen], pages.weight[seen], later, exact)
    places = (ceilings * batch / pace / scale)[site[seen]]  # pages of each site that can be accessed
    rank = _rank_in_site(worth, site[seen])
    reached = np.sort(worth[rank < np.maximum(places, 1.0)])[::-1]
    count = min(max(round(max(batch - fresh, 1.0) / scale), 1), reached.size)
    price = float(reached[count - 1])
    if not math.isfinite(price):  # all that is worth an access at all is reached
        return replace(before, budget=budget, pages=slots.size)
    if before.pages and not exact:  # a rank among few pages is noisy, and the price moves slowly
        price = 0.5 * (price + math.log(before.price))
    over = (worth > price) & (rank >= places) & (rank < places + 1.0)
    site_price = {int(s): math.exp(v) for s, v in zip(site[seen][over], worth[over], strict=True)}
    return Plan(policy.name, budget, math.exp(price), site_price, slots.size, before.demand)


def _rank_in_site(worth: Floats, site: NDArray[np.int32]) -> Floats:
    """How many pages of the same site are worth more."""
    order = np.lexsort((-worth, site))
    rank = np.empty(worth.size)
    rank[order] = np.arange(worth.size) - np.searchsorted(site[order], site[order])
    return rank


def _site_price(
    policy: Policy, pages: Pages, members: NDArray[np.int64], ceiling: float, start: float
) -> float:
    some = members[:: -(-members.size // _SAMPLE)]
    scale = members.size / some.size

    def demand(price: float) -> float:
        asked = policy.intervals(pages.slots[some], pages.weight[some], price)
        return float((1.0 / np.maximum(asked, 1e-9)).sum()) * scale

    return _price_of(demand, ceiling, start)


def _price_of(demand: Callable[[float], float], wanted: float, start: float) -> float:
    """The price at which a falling demand meets what is wanted, by false position in logarithms after bracketing.

    Where limits on intervals make the demand too small or too large at any price, the end that is nearest.
    """

    def excess(y: float) -> float:
        return math.log(max(demand(math.exp(y)), 1e-300) / wanted)

    low = high = math.log(max(start, 1e-300))
    above = below = excess(low)
    step = 0.5
    while above < 0 and low > -200:
        low, step, high, below = low - step, 2.0 * step, low, above
        above = excess(low)
    while below > 0 and high < 200:
        high, step, low, above = high + step, 2.0 * step, high, below
        below = excess(high)
    if above < 0 or below > 0:
        return math.exp(low if above < 0 else high)
    for count in range(_STEPS):
        share = above / (above - below) if above > below else 0.5
        # Every third step halves, so that a curve with a corner cannot stall the search.
        middle = low + (high - low) * (0.5 if count % 3 == 2 else min(max(share, 0.02), 0.98))
        found = excess(middle)
        if abs(found) <= _ACCURATE or high - low < 1e-12:
            return math.exp(middle)
        if found > 0:
            low, above = middle, found
        else:
            high, below = middle, found
    return math.exp(0.5 * (low + high))
