"""Plans and orders are made in a worker, while pages come, go and are accessed."""

from __future__ import annotations

import asyncio
import math
from typing import TYPE_CHECKING

import numpy as np

from recrawl.engine.planning import AT_ONCE, Pages, plan_order

if TYPE_CHECKING:
    from recrawl.engine.planning import Found, Plan
    from recrawl.engine.scheduler import Scheduler

__all__ = ["Planner"]

_FEW = 5_000  # pages that are put in order again without a worker
_REST = 19.0  # times as long as an order took, until the next: a twentieth of the event loop's time at most


class Planner:
    """Finds prices and waits anew for a scheduler's pages, and puts the pages in order."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._ordered_at = 0  # the table's `moves`
        self._rests_until = -math.inf
        self._working = False
        self._freed: list[int] = []

    def free(self, slot: int) -> None:
        """A page was removed; a plan in the making may still ask for its slot."""
        self._freed.append(slot)
        if not self._working:
            self._free()

    def _free(self) -> None:
        self._scheduler.table.free(self._freed)
        self._freed = []

    def wants_order(self) -> bool:
        """Whether due times have moved by themselves since pages were last put in order."""
        return self._scheduler.table.moves != self._ordered_at

    async def replan(self, budget: float) -> Plan:
        """Find the price anew in a worker, and take over the order it gives."""
        table = self._scheduler.table
        self._working = True
        try:
            prepared = await asyncio.to_thread(table.prepare, budget)
            table.care(prepared, self._scheduler.clock.time())
            return await self._order(budget)
        finally:
            self._working = False
            self._free()

    def follow(self) -> None:
        """Put pages in order again at once, if due times have moved by themselves and pages are few."""
        scheduler = self._scheduler
        if self._working or len(scheduler) > _FEW or not self.wants_order():
            return
        begun = scheduler.clock.monotonic()
        if begun < self._rests_until:  # what moves meanwhile is put in order by `reorder`
            return
        pages, now, plan = self._begin(), scheduler.clock.time(), scheduler.plan
        self._take_over(plan_order(scheduler.policy, pages, plan, plan.budget, now, thorough=False))
        ended = scheduler.clock.monotonic()
        self._rests_until = ended + _REST * (ended - begun)

    async def reorder(self) -> None:
        """Put pages in order again in a worker."""
        if self._working:
            return
        self._working = True
        try:
            await self._order(self._scheduler.plan.budget, thorough=False)
        finally:
            self._working = False
            self._free()

    async def _order(self, budget: float, thorough: bool = True) -> Plan:
        scheduler = self._scheduler
        pages, now = self._begin(), scheduler.clock.time()
        try:
            found = await asyncio.to_thread(
                plan_order, scheduler.policy, pages, scheduler.plan, budget, now, thorough
            )
            self._take_over(found)
        finally:
            scheduler.order.give_up_order()
        return found.plan

    def _take_over(self, found: Found) -> None:
        scheduler = self._scheduler
        scheduler.plan = found.plan
        scheduler.table.waits[found.slots] = found.waits
        scheduler.order.adopt(found.order)

    def _begin(self) -> Pages:
        """All pages as they are now; from now on it is noted which of them move."""
        scheduler, table = self._scheduler, self._scheduler.table
        self._ordered_at = table.moves
        slots = np.flatnonzero(table.present)
        delays = np.array([scheduler.politeness.delay(name) for name in table.sites])
        waiting = scheduler.order.begin_order()
        due = table.due[waiting]
        kept = np.isnan(table.last[waiting]) | (due <= AT_ONCE)
        kept |= np.isin(waiting, scheduler.announcements.slots())
        ceilings = 1.0 / np.maximum(delays, 1e-9)
        return Pages(slots, table.weight[slots], table.site[slots], ceilings, waiting, due, kept)
