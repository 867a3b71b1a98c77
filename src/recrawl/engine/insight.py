"""What is believed of pages, for commands that look beside the engine: from what the store keeps, nothing else."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from recrawl.engine.clock_pages import table_of
from recrawl.engine.pages import GRID, PageTable, columns_of
from recrawl.engine.planning import Policy
from recrawl.engine.quick import QuickClocks, chance
from recrawl.engine.records import State

if TYPE_CHECKING:
    from collections.abc import Sequence

    from recrawl.engine.planning import PolicyName
    from recrawl.engine.protocols import Store
    from recrawl.engine.records import PageRecord
    from recrawl.revisit import Pages

__all__ = ["BudgetAnswer", "Insight", "PageInsight"]


@dataclass(frozen=True)
class PageInsight:
    """What is believed of one page. Rates are per second, times in seconds since 1970; None: not known."""

    record: PageRecord
    weight: float
    change_rate: float
    change_rate_low: float
    change_rate_high: float
    current_probability: float | None  # that the copy is what the page is now
    access_interval: float | None  # None: not worth an access at the present price
    next_due: float | None


@dataclass(frozen=True)
class BudgetAnswer:
    """Expected freshness at a budget, if pages change as believed."""

    budget: float
    freshness: float


class Insight:
    """The learnt prior and the price, as the engine last kept them."""

    def __init__(
        self,
        kept: bytes | None,
        policy: PolicyName = "optimal",
        weights: str = "links",
        clocks: bytes | None = None,
    ) -> None:
        numbers = np.frombuffer(kept, dtype=np.float64) if kept is not None else np.zeros(0)
        known = numbers.size >= 2
        self.price = float(numbers[0]) if known else math.nan
        self.budget = float(numbers[1]) if known else math.nan
        self._prior = numbers[None, 2:] if numbers.size == 2 + GRID.points else None
        self._clocks = clocks
        self.policy, self._weights = policy, weights

    @classmethod
    async def of(cls, store: Store) -> Insight:
        """From a store, as the engine that last ran left it."""
        kept = await store.load("status")
        status = json.loads(kept) if kept is not None else {}
        return cls(
            await store.load("prior"),
            status.get("policy", "optimal"),
            status.get("weights", "links"),
            await store.load("clocks"),
        )

    def _table(self, records: Sequence[PageRecord]) -> PageTable:
        table = table_of(self.policy, self._weights, True, self._clocks)
        if self._prior is not None and self.policy != "optimal":
            table.belief.set_priors(self._prior)
        table.add(columns_of(records))
        return table

    def pages(self, records: Sequence[PageRecord], now: float, level: float = 0.9) -> list[PageInsight]:
        """What is believed of these pages."""
        if not records:
            return []
        table = self._table(records)
        slots = np.array([table.slot[record.url] for record in records])
        last = table.last[slots]
        rates, bounds = table.change_rate(slots), table.change_rate_interval(slots, level)
        current = table.current(slots, now)
        intervals, dues = np.full(slots.size, np.nan), np.full(slots.size, np.nan)
        if not math.isnan(self.price):
            policy = Policy(self.policy, table)
            prices = np.full(slots.size, self.price)
            waits = policy.find_waits(slots, table.weight[slots], prices)["wait"].astype(np.float64)
            intervals, dues = table.intervals(slots, waits), table.due_times(slots, waits, now)
        found = []
        for place, record in enumerate(records):
            scheduled = record.state in (State.KNOWN, State.DUPLICATE)
            interval = float(intervals[place])
            due = (
                max(float(dues[place]), record.retry_at or -math.inf)
                if last[place] == last[place]
                else math.nan
            )
            found.append(
                PageInsight(
                    record=record,
                    weight=float(table.weight[slots[place]]),
                    change_rate=float(rates[place]),
                    change_rate_low=float(bounds[place, 0]),
                    change_rate_high=float(bounds[place, 1]),
                    current_probability=None if record.digest is None else float(current[place]),
                    access_interval=interval if scheduled and math.isfinite(interval) else None,
                    next_due=due if scheduled and math.isfinite(due) else None,
                )
            )
        return found

    def current(self, records: Sequence[PageRecord], now: float) -> list[float | None]:
        """Probability that each copy is current, for a few pages at once: good to a few hundredths, and quick."""
        if self.policy == "optimal" and self._clocks is not None:
            clocks = QuickClocks(self._clocks)
            return [None if record.digest is None else clocks.current(record, now) for record in records]
        if not records:
            return []
        table = PageTable(self._weights, counts=False)
        table.add(columns_of(records))
        prior = table.belief.priors[0] if self._prior is None else self._prior[0]
        found: list[float | None] = []
        for record in records:
            if record.digest is None or record.last_access is None:
                found.append(None)
                continue
            evidence = table.belief.evidence([table.slot[record.url]])[0]
            found.append(chance(evidence, prior, GRID.rates, now - record.last_access))
        return found

    def rated(self, records: Sequence[PageRecord]) -> Pages:
        """Pages as the theory takes them, with the typical rates that are believed.

        Mean rates would be those of the prior's upper tail as long as little has been seen.
        """
        from recrawl.revisit import Pages

        table = self._table(records)
        slots = np.array([table.slot[record.url] for record in records])
        return Pages(table.typical_rate(slots), table.weight[slots])

    def budgets(
        self, records: Sequence[PageRecord], total: int, factors: Sequence[float]
    ) -> list[BudgetAnswer]:
        """What multiples of the budget would give, from some of `total` pages."""
        from recrawl.revisit import budget_curve

        if not records or math.isnan(self.budget):
            return []
        share = len(records) / total
        points = budget_curve(self.rated(records), [share * factor * self.budget for factor in factors])
        return [
            BudgetAnswer(factor * self.budget, 1.0 - point.obsolescence)
            for factor, point in zip(factors, points, strict=True)
        ]
