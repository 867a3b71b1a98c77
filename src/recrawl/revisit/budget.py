"""What a budget buys, and what a target costs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from recrawl.errors import InvalidModel
from recrawl.laws.law import positive
from recrawl.revisit.obsolescence import cost_of, lower_bound
from recrawl.revisit.plan import Limits, access_law

if TYPE_CHECKING:
    from collections.abc import Sequence

    from recrawl.laws import Law
    from recrawl.revisit.pages import Pages

__all__ = ["BudgetPoint", "budget_curve", "budget_for"]

_MOST = 1e18  # accesses per unit time; no target needs more


@dataclass(frozen=True)
class BudgetPoint:
    """The optimum at one budget: least cost, obsolescence, and the price (what one more access would buy)."""

    budget: float
    cost: float
    obsolescence: float
    price: float
    unused: float


def _point(pages: Pages, access: Law | None, budget: float, limits: Limits) -> BudgetPoint:
    law = access_law(access, budget)
    found = limits.frequencies(pages, law)
    cost = cost_of(pages, lower_bound(pages, law, found.frequency))
    return BudgetPoint(budget, cost, cost / pages.total_weight, found.price, found.unused)


def budget_curve(
    pages: Pages, budgets: Sequence[float], access: Law | None = None, limits: Limits | None = None
) -> list[BudgetPoint]:
    """The least cost against the budget.

    >>> from recrawl.revisit import Pages
    >>> [round(point.obsolescence, 3) for point in budget_curve(Pages([1.0, 1.0]), [1.0, 2.0, 4.0])]
    [0.568, 0.368, 0.213]
    """
    return [_point(pages, access, positive("budget", budget), limits or Limits()) for budget in budgets]


def budget_for(
    pages: Pages, target_obsolescence: float, access: Law | None = None, limits: Limits | None = None
) -> BudgetPoint:
    """The smallest budget whose lower bound on obsolescence is the target.

    >>> from recrawl.revisit import Pages
    >>> round(budget_for(Pages([1.0, 1.0]), 0.213).budget, 2)
    4.0
    """
    limits = limits or Limits()
    if not 0.0 < target_obsolescence < 1.0:
        raise InvalidModel(f"target_obsolescence must be between 0 and 1, not {target_obsolescence}")
    least = limits.least_budget(pages)
    start = max(pages.total_change_rate, least * (1 + 1e-9))
    if start <= 0:
        raise InvalidModel("no page ever changes: every copy stays fresh without any access")
    low, high = _bracket(pages, access, limits, target_obsolescence, start, least)
    if low == high:
        return _point(pages, access, low, limits)
    from scipy.optimize import brentq

    def gap(log_budget: float) -> float:
        return _point(pages, access, math.exp(log_budget), limits).obsolescence - target_obsolescence

    root = brentq(gap, math.log(low), math.log(high), xtol=1e-12, rtol=4 * np.finfo(float).eps)
    return _point(pages, access, math.exp(root), limits)


def _bracket(
    pages: Pages, access: Law | None, limits: Limits, target: float, start: float, least: float
) -> tuple[float, float]:
    """Budgets below and above the one that is looked for; twice the same when the floors alone are enough."""
    high = start
    while (point := _point(pages, access, high, limits)).obsolescence > target:
        if point.unused > 0.5 or high > _MOST:
            raise InvalidModel(
                f"caps and ceilings keep the obsolescence at {point.obsolescence:.6g}, above the target {target:g}"
            )
        high *= 4.0
    low = high
    while _point(pages, access, low, limits).obsolescence <= target:
        low /= 4.0
        if low <= least:
            low = least * (1 + 1e-9)
            if _point(pages, access, low, limits).obsolescence <= target:
                return low, low
            break
        if low < start * 1e-18:
            # Pages that never change carry so much weight that hardly any access is needed.
            raise InvalidModel(f"any budget keeps the obsolescence below the target {target:g}")
    return low, high
