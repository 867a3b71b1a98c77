"""A whole plan: pages, an access law, a budget and a policy make frequencies, an order, a price and a cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from recrawl.errors import InvalidModel
from recrawl.laws import Deterministic
from recrawl.laws.law import positive
from recrawl.revisit.frequencies import optimal_frequencies
from recrawl.revisit.golden import golden_obsolescence
from recrawl.revisit.measure import measure_sequence
from recrawl.revisit.obsolescence import cost_of, lower_bound, randomised_obsolescence
from recrawl.revisit.sequences import (
    Bracket,
    DueTimes,
    GoldenRatio,
    PowerOfTwo,
    Randomised,
    RoundRobin,
    WhittleIndex,
    Windows,
    power_of_two_frequencies,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from recrawl.laws import Law
    from recrawl.revisit.frequencies import Frequencies
    from recrawl.revisit.pages import Pages
    from recrawl.revisit.sequences import AccessSequence

__all__ = ["POLICIES", "Limits", "Plan", "access_law", "make_plan"]

POLICIES = (
    "windows",
    "golden",
    "index",
    "bracket",
    "due-time",
    "power-of-two",
    "randomised",
    "uniform",
    "proportional",
)
"""Names of whole rules: how frequencies are chosen, and in which order they are realised."""

_INDEX_PAGES = 50_000  # one access of the index policy looks at every page


@dataclass(frozen=True, eq=False)
class Limits:
    """Bounds in the user's unit of time: on each page's interval and on each site's access rate.

    `max_interval`: never longer between two accesses of a page (a floor on its frequency); `min_interval`: never
    shorter on average (a cap); `site_rate`: never more accesses of a site per unit time (rapid-fire avoidance).
    Each is one number for all or one per page (per site); infinity means no bound for that page.
    """

    max_interval: ArrayLike | None = None
    min_interval: ArrayLike | None = None
    site_rate: ArrayLike | None = None

    def __bool__(self) -> bool:
        return any(bound is not None for bound in (self.max_interval, self.min_interval, self.site_rate))

    def least_budget(self, pages: Pages) -> float:
        """The budget that the floors alone need."""
        floor = self._rate("max_interval", self.max_interval)
        return 0.0 if floor is None else float(np.broadcast_to(floor, len(pages)).sum())

    @staticmethod
    def _rate(name: str, interval: ArrayLike | None) -> NDArray[np.float64] | None:
        if interval is None:
            return None
        values = np.asarray(interval, dtype=np.float64)
        if not (values > 0).all():
            raise InvalidModel(f"{name} must be positive, not {values.min() if values.size else values}")
        return np.asarray(1.0 / values)

    def frequencies(self, pages: Pages, access: Law, randomised: bool = False) -> Frequencies:
        """Optimal frequencies within these limits; the access law's mean sets the budget."""
        floor, cap = (
            self._rate("max_interval", self.max_interval),
            self._rate("min_interval", self.min_interval),
        )
        ceiling = None
        if self.site_rate is not None:
            rates = np.asarray(self.site_rate, dtype=np.float64)
            if not (rates >= 0).all():
                raise InvalidModel(f"site_rate must not be negative, not {rates.min()}")
            ceiling = np.broadcast_to(rates * access.mean, pages.sites)
        if floor is not None and self.least_budget(pages) > (1 + 1e-12) / access.mean:
            needed, budget = self.least_budget(pages), 1.0 / access.mean
            raise InvalidModel(
                f"max_interval needs {needed:.6g} accesses per unit time, above the budget {budget:.6g}"
            )
        return optimal_frequencies(
            pages,
            access,
            floor=None if floor is None else floor * access.mean,
            cap=None if cap is None else cap * access.mean,
            site_ceiling=ceiling,
            randomised=randomised,
        )


def access_law(access: Law | None = None, budget: float | None = None, robots: int = 1) -> Law:
    """The law of the time between two accesses of the whole fleet; 1/mean is the budget.

    An access law alone: `robots` robots, budget robots/E[X]. A budget alone: deterministic accesses of mean
    1/budget. Both: the law rescaled to mean 1/budget with its scv. For several robots this is the limit of many
    pages: their accesses overlap, and the time between two of them is taken to have the scv of one access.

    >>> from recrawl.laws import Exponential
    >>> access_law(Exponential(0.5), robots=4).mean, access_law(budget=5.0), access_law(Exponential(9.0), 5.0)
    (0.125, Deterministic(value=0.2), Exponential(mean=0.2))
    """
    if int(robots) != robots or robots < 1:
        raise InvalidModel(f"robots must be a whole number from 1, not {robots}")
    if budget is not None:
        mean = 1.0 / positive("budget", budget)
        return Deterministic(mean) if access is None else access.scaled(mean)
    if access is None:
        raise InvalidModel("a plan needs an access law, a budget, or both")
    return access if robots == 1 else access.scaled(access.mean / robots)


@dataclass(frozen=True, eq=False)
class Plan:
    """Frequencies, their price and what the policy costs.

    `page_obsolescence` is the obsolescence rate of each page under the policy: exact where the policy is cyclic
    or has a closed form, otherwise averaged over the gaps of `measured_accesses` accesses (0: exact).
    `lower_bound` is the least cost of any policy within the same limits.
    """

    pages: Pages
    access: Law
    policy: str
    frequency: NDArray[np.float64]
    price: float
    site_price: NDArray[np.float64]
    unused: float
    lower_bound: float
    page_obsolescence: NDArray[np.float64]
    measured_accesses: int
    short_pages: int

    @property
    def budget(self) -> float:
        """Accesses per unit time."""
        return 1.0 / self.access.mean

    @property
    def access_rate(self) -> NDArray[np.float64]:
        """Accesses of each page per unit time."""
        return self.frequency * self.budget

    @property
    def cost(self) -> float:
        """Σ weight × obsolescence rate."""
        return cost_of(self.pages, self.page_obsolescence)

    @property
    def obsolescence(self) -> float:
        """Cost over the sum of weights: the share of weight that is out of date, on average."""
        return self.cost / self.pages.total_weight

    @property
    def obsolescence_bound(self) -> float:
        """The lower bound over the sum of weights."""
        return self.lower_bound / self.pages.total_weight

    @property
    def never_visited(self) -> NDArray[np.int64]:
        """Pages with frequency zero."""
        return np.flatnonzero(self.frequency == 0.0)

    def sequence(self, rng: np.random.Generator | int | None = None) -> AccessSequence:
        """The endless order of accesses; `rng` matters for the randomised policy only."""
        return _sequence(self.policy, self.pages, self.access, self.frequency, rng)


def _sequence(
    policy: str,
    pages: Pages,
    access: Law,
    frequency: NDArray[np.float64],
    rng: np.random.Generator | int | None,
) -> AccessSequence:
    if policy == "index":
        return WhittleIndex(frequency, pages.exponents(access))
    if policy == "randomised":
        return Randomised(frequency, rng)
    plain: dict[str, Callable[[NDArray[np.float64]], AccessSequence]] = {
        "windows": Windows,
        "proportional": Windows,
        "golden": GoldenRatio,
        "bracket": Bracket,
        "due-time": DueTimes,
        "power-of-two": PowerOfTwo,
        "uniform": RoundRobin,
    }
    return plain[policy](frequency)


def _policy_frequency(
    policy: str, pages: Pages, access: Law, limits: Limits, optimum: Frequencies
) -> NDArray[np.float64]:
    size = len(pages)
    if policy == "uniform":
        return np.full(size, 1.0 / size)
    if policy == "proportional":
        if pages.total_change_rate <= 0:
            raise InvalidModel("no page ever changes, so there is nothing to be proportional to")
        return pages.change_rate / pages.total_change_rate
    if policy == "randomised":
        return limits.frequencies(pages, access, randomised=True).frequency
    if policy == "power-of-two":
        # Idle slots take part in the rounding like a page of their own.
        return power_of_two_frequencies(np.append(optimum.frequency, max(optimum.unused, 0.0)))[:size]
    return optimum.frequency


def make_plan(
    pages: Pages,
    access: Law | None = None,
    *,
    budget: float | None = None,
    robots: int = 1,
    policy: str = "windows",
    limits: Limits | None = None,
    measure_accesses: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> Plan:
    """Plan the accesses of a set of pages.

    >>> from recrawl.laws import Exponential
    >>> from recrawl.revisit import Pages
    >>> plan = make_plan(Pages([4.0, 2.0, 1.0, 0.5]), Exponential(0.2))
    >>> plan.frequency.round(3).tolist(), round(plan.price, 4)
    ([0.261, 0.286, 0.252, 0.201], 0.1644)
    """
    if policy not in POLICIES:
        raise InvalidModel(f"unknown policy {policy!r}; known are {', '.join(POLICIES)}")
    limits = limits or Limits()
    if limits and policy in ("uniform", "proportional", "power-of-two"):
        raise InvalidModel(f"the {policy} policy cannot keep limits on intervals or sites; use windows")
    if policy == "index" and len(pages) > _INDEX_PAGES:
        raise InvalidModel(
            f"the index policy looks at all pages for each access; above {_INDEX_PAGES} pages use windows"
        )
    law = access_law(access, budget, robots)
    optimum = limits.frequencies(pages, law)
    bound = cost_of(pages, lower_bound(pages, law, optimum.frequency))
    frequency = _policy_frequency(policy, pages, law, limits, optimum)
    rates = _closed_obsolescence(policy, pages, law, frequency)
    measured, short = 0, 0
    if rates is None:
        measured = measure_accesses or default_accesses(len(pages), policy)
        run = measure_sequence(pages, law, _sequence(policy, pages, law, frequency, 0), measured, progress)
        rates, short = run.obsolescence, run.short.size
    return Plan(
        pages=pages,
        access=law,
        policy=policy,
        frequency=frequency,
        price=optimum.price,
        site_price=optimum.site_price,
        unused=optimum.unused,
        lower_bound=bound,
        page_obsolescence=rates,
        measured_accesses=measured,
        short_pages=int(short),
    )


def default_accesses(pages: int, policy: str) -> int:
    """How many accesses the cost of a policy without a closed form is measured over."""
    most = 20_000_000 if policy != "index" else int(2e9 / pages)
    return int(min(max(200_000, 100 * pages), most))


def _closed_obsolescence(
    policy: str, pages: Pages, access: Law, frequency: NDArray[np.float64]
) -> NDArray[np.float64] | None:
    """Obsolescence rates of a policy that is cyclic or has a closed form."""
    if policy in ("uniform", "power-of-two"):
        return lower_bound(pages, access, frequency)  # exactly even spacing reaches the bound
    if policy == "randomised":
        return randomised_obsolescence(pages, access, frequency)
    if policy == "golden":
        sequence = GoldenRatio(frequency)
        return golden_obsolescence(pages, access, sequence.counts, sequence.k)
    return None
