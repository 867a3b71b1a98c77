"""What more or less budget would give, from the pages as they are believed to change."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from recrawl.engine.records import State
from recrawl.web.catalogue import STATES
from recrawl.web.documents import BudgetValue, CountBin, PolicyValue

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from recrawl.revisit import Pages
    from recrawl.web.catalogue import Catalogue
    from recrawl.web.queue_documents import PolicyWord

__all__ = ["PlanAnswer", "at_budget", "plan_answer"]

_SAMPLE = 10_000  # pages that curves are computed from
_FACTORS = tuple(10.0 ** (place / 20.0) for place in range(-20, 21))  # 1 is one of them
_EDGES = (
    0.0,
    1.0,
    10.0,
    60.0,
    600.0,
    3600.0,
    6 * 3600.0,
    86400.0,
    3 * 86400.0,
    7 * 86400.0,
    30 * 86400.0,
    365 * 86400.0,
)
_NAMED = 100  # never visited pages that are named


@dataclass(frozen=True)
class PlanAnswer:
    """The slow part of a plan's view: for one state of the catalogue and one budget."""

    rated: Pages | None
    share: float  # of the pages that were sampled
    pages: int
    curve: list[BudgetValue]
    policies: list[PolicyValue]
    intervals: list[CountBin]
    never_visited: int
    never_visited_pages: list[str]


def plan_answer(catalogue: Catalogue, budget: float) -> PlanAnswer:
    """Everything about a plan at `budget` accesses per second (NaN: not known). Runs in a worker."""
    from recrawl.revisit import Pages

    numbers = catalogue.numbers
    known = (catalogue.state == STATES.index(State.KNOWN.value)) & (numbers["weight"] > 0)
    scheduled = known & ~np.isnan(numbers["seen"])
    # A page that no price reaches has no interval; before the first plan none has one.
    never = scheduled & np.isnan(numbers["interval"]) & np.any(~np.isnan(numbers["interval"]))
    places = np.flatnonzero(known & ~np.isnan(numbers["typical"]))
    total = int(places.size)
    if total > _SAMPLE:
        places = np.random.default_rng(0).choice(places, _SAMPLE, replace=False)
    rated = Pages(numbers["typical"][places], numbers["weight"][places]) if total else None
    share = places.size / total if total else 1.0
    usable = rated is not None and budget > 0 and rated.total_change_rate > 0
    missing = np.flatnonzero(never)
    return PlanAnswer(
        rated=rated if usable else None,
        share=share,
        pages=total,
        curve=[at_budget(rated, share, factor * budget) for factor in _FACTORS] if usable and rated else [],
        policies=_policies(rated, share * budget) if usable and rated else [],
        intervals=_bins(numbers["interval"][scheduled]),
        never_visited=int(missing.size),
        never_visited_pages=[catalogue.url[place] for place in missing[:_NAMED]],
    )


def at_budget(rated: Pages, share: float, budget: float) -> BudgetValue:
    """The least obsolescence that a budget allows. A sample with its share of the budget has the price of all."""
    from recrawl.revisit import access_law, cost_of, lower_bound, optimal_frequencies

    law = access_law(None, share * budget)
    found = optimal_frequencies(rated, law)
    cost = cost_of(rated, lower_bound(rated, law, found.frequency))
    return BudgetValue(
        budget_per_second=budget,
        obsolescence=_share(cost / rated.total_weight),
        price=max(found.price, 0.0),
        never_visited=round(int((found.frequency == 0).sum()) / share),
    )


def _policies(pages: Pages, budget: float) -> list[PolicyValue]:
    """Rules compared at one budget; accesses of each page are equally far apart, but for `randomised`."""
    from recrawl.revisit import (
        access_law,
        cost_of,
        lower_bound,
        optimal_frequencies,
        proportional_frequencies,
        randomised_obsolescence,
    )

    law = access_law(None, budget)
    best = optimal_frequencies(pages, law).frequency
    even = np.full(len(pages), 1.0 / len(pages))
    found: tuple[tuple[PolicyWord, str, NDArray[np.float64]], ...] = (
        ("optimal", "Optimal (lower bound)", lower_bound(pages, law, best)),
        ("uniform", "Every page equally often", lower_bound(pages, law, even)),
        (
            "proportional",
            "In proportion to its changes",
            lower_bound(pages, law, proportional_frequencies(pages, law)),
        ),
        ("randomised", "Optimal frequencies in random order", randomised_obsolescence(pages, law, best)),
    )
    return [
        PolicyValue(
            policy=name, label=label, obsolescence=_share(cost_of(pages, values) / pages.total_weight)
        )
        for name, label, values in found
    ]


def _share(value: float) -> float:
    return min(max(float(value), 0.0), 1.0) if math.isfinite(value) else 1.0


def _bins(intervals: NDArray[np.float64]) -> list[CountBin]:
    """How many pages are accessed how often; empty bins at both ends are left out."""
    finite = intervals[np.isfinite(intervals)]
    counts, _ = np.histogram(np.minimum(finite, _EDGES[-1]), bins=_EDGES)
    filled = np.flatnonzero(counts)
    if not filled.size:
        return []
    return [
        CountBin(low=_EDGES[place], high=_EDGES[place + 1], count=int(counts[place]))
        for place in range(int(filled[0]), int(filled[-1]) + 1)
    ]
