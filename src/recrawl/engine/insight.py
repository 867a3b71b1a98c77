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
from recrawl.engine.waits import near, wait_at

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from recrawl.engine.planning import PolicyName
    from recrawl.engine.protocols import Store
    from recrawl.engine.records import PageColumns, PageRecord
    from recrawl.estimate import Belief
    from recrawl.revisit import Pages

__all__ = ["BudgetAnswer", "Insight", "InsightArrays", "PageInsight"]


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


@dataclass(frozen=True)
class InsightArrays:
    """The same of many pages, NaN where something is not known; `due` is NaN for pages not scheduled."""

    last: NDArray[np.float64]
    weight: NDArray[np.float64]
    rate: NDArray[np.float64]
    typical_rate: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    current: NDArray[np.float64]
    interval: NDArray[np.float64]
    due: NDArray[np.float64]


def _known(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


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

    def _empty_table(self) -> PageTable:
        table = table_of(self.policy, self._weights, True, self._clocks)
        if self._prior is not None and self.policy != "optimal":
            table.belief.set_priors(self._prior)
        return table

    def blank_belief(self) -> Belief:
        """A belief with the learnt prior and no pages, to replay a history with: as if clocks went evenly."""
        from recrawl.estimate import Belief

        learnt = self._empty_table().belief
        belief = Belief(learnt.grid)
        belief.set_priors(learnt.priors)
        return belief

    def _table(self, records: Sequence[PageRecord]) -> PageTable:
        table = self._empty_table()
        table.add(columns_of(records))
        return table

    def arrays(self, columns: PageColumns, now: float, level: float | None = 0.9) -> InsightArrays:
        """What is believed of these pages, as arrays: for many pages at once.

        Without a level there are no credible intervals, and waits are those that the engine kept, brought to the
        present price; they are found anew only where the price has moved too far from theirs.
        """
        table = self._empty_table()
        slots = table.add(columns)
        last, weight = table.last[slots], table.weight[slots]
        bounds = np.full((slots.size, 2), np.nan)
        if level is not None:
            bounds = table.change_rate_interval(slots, level)
        intervals, due = np.full(slots.size, np.nan), np.full(slots.size, np.nan)
        if not math.isnan(self.price):
            prices = np.full(slots.size, self.price)
            waits = self._waits(table, slots, prices, kept=level is None)
            intervals, due = table.intervals(slots, waits), table.due_times(slots, waits, now)
        scheduled = np.isin(np.array(columns.state), (State.KNOWN.value, State.DUPLICATE.value))
        retry = np.array([-math.inf if moment is None else moment for moment in columns.retry_at])
        due = np.where(scheduled & ~np.isnan(last), np.maximum(due, retry), np.nan)
        return InsightArrays(
            last=last,
            weight=weight,
            rate=table.change_rate(slots),
            typical_rate=table.typical_rate(slots),
            low=bounds[:, 0],
            high=bounds[:, 1],
            current=table.current(slots, now),
            interval=np.where(scheduled & np.isfinite(intervals), intervals, np.nan),
            due=np.where(np.isfinite(due), due, np.nan),
        )

    def _waits(
        self, table: PageTable, slots: NDArray[np.int64], prices: NDArray[np.float64], kept: bool
    ) -> NDArray[np.float64]:
        """How long pages wait at these prices."""
        found = wait_at(table.waits[slots], prices)
        far = np.flatnonzero(~near(table.waits[slots], prices)) if kept else np.arange(slots.size)
        anew = Policy(self.policy, table).find_waits(slots[far], table.weight[slots[far]], prices[far])
        found[far] = anew["wait"]
        return found

    def pages(self, records: Sequence[PageRecord], now: float, level: float = 0.9) -> list[PageInsight]:
        """What is believed of these pages."""
        if not records:
            return []
        arrays = self.arrays(columns_of(records), now, level)
        return [
            PageInsight(
                record=record,
                weight=float(arrays.weight[place]),
                change_rate=float(arrays.rate[place]),
                change_rate_low=float(arrays.low[place]),
                change_rate_high=float(arrays.high[place]),
                current_probability=None if record.digest is None else float(arrays.current[place]),
                access_interval=_known(arrays.interval[place]),
                next_due=_known(arrays.due[place]),
            )
            for place, record in enumerate(records)
        ]

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
