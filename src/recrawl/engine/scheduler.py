"""Which page next: the order, in memory, and the hand-out that respects sites, budget and leases.

The order is by due times, one line per site. The page that is due first among the sites that may be accessed is
handed out whenever an access is free, early or late: the budget is met exactly, and the price sets the order only.
A page that must not be accessed before a time waits apart until then. Whatever is handed out comes back by itself
when its lease ends.
"""

from __future__ import annotations

import asyncio
import heapq
import math
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING

import numpy as np

from recrawl.engine.dates import Dates
from recrawl.engine.pages import GRID, PageTable, columns_of
from recrawl.engine.planning import Plan, Policy, make_plan
from recrawl.engine.records import PageColumns, State
from recrawl.engine.sites import Sites
from recrawl.engine.waiting import wait_until_set

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from recrawl.engine.pace import Pace
    from recrawl.engine.planning import PolicyName
    from recrawl.engine.protocols import Clock, Politeness
    from recrawl.engine.records import Access, PageRecord

__all__ = ["Observation", "Scheduler", "SchedulerSettings", "Ticket"]

_SCHEDULED = (State.KNOWN, State.DUPLICATE)


@dataclass(frozen=True)
class SchedulerSettings:
    """How the scheduler behaves."""

    policy: PolicyName = "optimal"
    shortest_seconds: float = 0.0
    longest_seconds: float = math.inf
    lease_seconds: float = 300.0
    weights: str = "links"


@dataclass(frozen=True, slots=True)
class Ticket:
    """A page that was handed out."""

    url: str
    slot: int
    site: str
    handed: float
    due: float


@dataclass(frozen=True, slots=True)
class Observation:
    """What an access said about a page, for the belief."""

    page: PageRecord  # as it was before
    ended: float
    changed: bool
    date: float | None = None  # of the page's last change, as its server says


def _newcomer(page: PageRecord) -> float:
    """A page never accessed is due since long ago, shallow pages first."""
    return page.depth * 1e6 + page.found_at * 1e-6 - 1e12


@dataclass
class _Counts:
    """Since the last plan."""

    observed: int = 0
    added: int = 0
    leases_ended: int = 0
    out: dict[int, Ticket] = field(default_factory=dict)


class Scheduler:
    """Owns the order of accesses."""

    def __init__(
        self, clock: Clock, politeness: Politeness, pace: Pace, settings: SchedulerSettings | None = None
    ) -> None:
        self.settings = settings or SchedulerSettings()
        self.table = PageTable(self.settings.weights)
        self.policy = Policy(
            self.settings.policy,
            self.table.belief,
            self.settings.shortest_seconds,
            self.settings.longest_seconds,
        )
        self.plan = Plan(self.settings.policy, 1.0, 1.0)
        self._clock, self._politeness, self._pace = clock, politeness, pace
        self._sites = Sites(self.table, politeness)
        self._later: list[
            tuple[float, int, float]
        ] = []  # pages not to be accessed before a time: slot and due time
        self._leases: list[tuple[float, int, float]] = []
        self._counts = _Counts()
        self._turn = asyncio.Lock()
        self._news = asyncio.Event()
        self._closed = False
        self._moved: set[int] = set()  # slots whose due time was set while a plan was being made
        self._planning = False
        self._freed: list[int] = []
        self._dates = Dates()

    def __len__(self) -> int:
        return len(self.table)

    @property
    def out(self) -> int:
        """Pages that are handed out."""
        return len(self._counts.out)

    @property
    def leases_ended(self) -> int:
        """Pages that came back because nothing was heard of them."""
        return self._counts.leases_ended

    # Pages come and go.

    def add(self, records: Sequence[PageRecord]) -> int:
        """Take pages into the schedule; those already here and those not to be accessed are passed over."""
        fresh = {r.url: r for r in records if r.state in _SCHEDULED and r.url not in self.table.slot}
        if fresh:
            slots = self.table.add(columns_of(list(fresh.values())))
            self._place(slots, list(fresh.values()))
            self._counts.added += slots.size
            self._news.set()
        return len(fresh)

    def load(self, columns: PageColumns) -> int:
        """Take many pages from the store before anything runs; `order_by_last_access` or a plan must follow."""
        chosen = [place for place, state in enumerate(columns.state) if state in _SCHEDULED]
        if len(chosen) < len(columns.state):
            columns = PageColumns(*([getattr(columns, f.name)[i] for i in chosen] for f in fields(columns)))
        slots = self.table.add(columns)
        last = self.table.last[slots]
        depth, found = np.array(columns.depth, dtype=np.float64), np.array(columns.found_at, dtype=np.float64)
        due = np.where(np.isnan(last), depth * 1e6 + found * 1e-6 - 1e12, last)
        now = self._clock.time()
        for place, retry_at in enumerate(columns.retry_at):
            if retry_at is not None and retry_at > now:
                heapq.heappush(self._later, (retry_at, int(slots[place]), float(due[place])))
                due[place] = math.nan
        self.table.due[slots] = due
        self._counts.added += slots.size
        return int(slots.size)

    def order_by_last_access(self) -> None:
        """Put pages that were loaded in a first order, until there is a plan."""
        if len(self.table):
            self._sites.rebuild()

    def remove(self, url: str) -> None:
        """Take a page out of the schedule."""
        slot = self.table.remove(url)
        if slot is None:
            return
        self._counts.out.pop(slot, None)
        self._freed.append(slot)
        if not self._planning:  # a plan in the making still asks for these pages
            self.table.free(self._freed)
            self._freed = []

    def learn(self, observations: Sequence[Observation]) -> list[bytes]:
        """Learn from accesses; what is now believed of each page, in the form that the store keeps."""
        told = [o for o in observations if o.page.url in self.table.slot]
        slots = np.array([self.table.slot[o.page.url] for o in told], dtype=np.int64)
        if slots.size:
            self._learn(told, slots)
        packed = dict(zip((o.page.url for o in told), self.table.packed(slots), strict=True))
        return [packed.get(o.page.url, b"") for o in observations]

    def settle(self, pages: Sequence[PageRecord]) -> None:
        """Put pages back with a new due time, as the store has them now (or take them out)."""
        known = [page for page in pages if page.url in self.table.slot]
        slots = np.array([self.table.slot[page.url] for page in known], dtype=np.int64)
        if not slots.size:
            return
        for slot in slots.tolist():
            self._counts.out.pop(slot, None)
        self.table.update(slots, known)
        self._place(slots, known)
        self._counts.observed += slots.size
        self._news.set()

    def _place(self, slots: NDArray[np.int64], pages: Sequence[PageRecord]) -> None:
        """Let pages wait for their due times, or take them out."""
        intervals = self._intervals(slots)
        for page, slot, interval in zip(pages, slots.tolist(), intervals.tolist(), strict=True):
            if page.state not in _SCHEDULED:
                self.remove(page.url)
            elif page.last_access is None:
                self._put(slot, _newcomer(page), page.retry_at or -math.inf)
            else:
                self._put(slot, page.last_access + interval, self._not_before(page))

    def put_back(self, url: str, tried: bool = True) -> None:
        """A page that was handed out brought nothing: it is due again, behind those that are overdue.

        One that was not even tried keeps its place.
        """
        slot = self.table.slot.get(url)
        if slot is None:
            return
        ticket = self._counts.out.pop(slot, None)
        now = self._clock.time()
        # Kept in front, pages that a full buffer refuses would be all that robots access.
        self._put(slot, now if ticket is None or (tried and ticket.due < now) else ticket.due)
        self._news.set()

    def _learn(self, told: Sequence[Observation], slots: NDArray[np.int64]) -> None:
        last = np.array([math.nan if o.page.last_access is None else o.page.last_access for o in told])
        ended = np.array([o.ended for o in told])
        elapsed = ended - last
        dates = np.array([math.nan if o.date is None else o.date for o in told])
        changed = np.array([o.changed for o in told])
        dated = (
            changed
            & (dates > last)
            & (dates <= ended)
            & self._dates.judge(self.table.site[slots], dates, ended)
        )
        # The first content tells of no change; a clock that was set back says nothing.
        usable = (elapsed > 0) & np.array([o.page.digest is not None for o in told])
        if usable.any():
            ages = np.where(dated, ended - dates, math.nan)
            self.table.belief.update(slots[usable], elapsed[usable], changed[usable], ages[usable])

    def _not_before(self, page: PageRecord) -> float:
        shortest = (page.last_access or 0.0) + self.settings.shortest_seconds
        return max(shortest if self.settings.shortest_seconds else -math.inf, page.retry_at or -math.inf)

    def _intervals(self, slots: NDArray[np.int64]) -> NDArray[np.float64]:
        weight, site = self.table.weight[slots], self.table.site[slots]
        if not self.plan.site_price:
            return self.policy.intervals(slots, weight, self.plan.price)
        found = np.empty(slots.size)
        for place in np.unique(site):
            here = site == place
            found[here] = self.policy.intervals(slots[here], weight[here], self.plan.price_at(int(place)))
        return found

    def _put(self, slot: int, due: float, not_before: float = -math.inf) -> None:
        """Let a page wait in the line of its site, or apart until it may be accessed."""
        if self._planning:
            self._moved.add(slot)
        due = min(due, 1e18)  # pages that are never worth an access are last, not lost
        now = self._clock.time()
        if not_before > now:
            self.table.due[slot] = math.nan
            heapq.heappush(self._later, (not_before, slot, due))
            return
        self.table.due[slot] = due
        self._sites.push(slot, due)

    # The hand-out.

    async def next(self) -> Ticket | None:
        """The page to access now, waiting for it; None when the scheduler is closed. One caller after the other."""
        async with self._turn:
            while not self._closed:
                self._news.clear()
                found = self.try_next()
                if isinstance(found, Ticket):
                    return found
                await wait_until_set(self._news, self._clock, found)
        return None

    def close(self) -> None:
        """Hand out nothing more."""
        self._closed = True
        self._news.set()

    def ended(self, site: str, access: Access | None) -> None:
        """An access of this site has ended (None: it never began), so it may have a place."""
        self._politeness.end(site, access)
        if self._sites.access_ended(site):
            self._news.set()

    def try_next(self) -> Ticket | float:
        """A page, or the seconds until there may be one (infinite: until something happens)."""
        now, steady = self._clock.time(), self._clock.monotonic()
        self._release(now)
        self._sites.unblock(steady)
        paced = self._pace.ready_at(steady) - steady
        if paced > 1e-9:
            return paced
        head = self._sites.first(steady)
        if head is None:
            return self._next_moment(now, steady)
        self._pace.take(steady)
        return self._hand_out(head[1], head[0], now)

    def _hand_out(self, slot: int, due: float, now: float) -> Ticket:
        self.table.due[slot] = math.nan
        ticket = Ticket(self.table.url[slot], slot, self.table.sites[self.table.site[slot]], now, due)
        self._counts.out[slot] = ticket
        self._politeness.begin(ticket.site)
        heapq.heappush(self._leases, (now + self.settings.lease_seconds, slot, now))
        if self._planning:
            self._moved.add(slot)
        return ticket

    def _release(self, now: float) -> None:
        """Let in pages that waited for their time, and those whose leases have ended."""
        while self._later and self._later[0][0] <= now:
            _, slot, due = heapq.heappop(self._later)
            if self.table.present[slot] and math.isnan(self.table.due[slot]) and slot not in self._counts.out:
                self._put(slot, due)
        while self._leases and self._leases[0][0] <= now:
            _, slot, handed = heapq.heappop(self._leases)
            ticket = self._counts.out.get(slot)
            if ticket is not None and ticket.handed == handed:
                self._counts.leases_ended += 1
                self.put_back(ticket.url)

    def _next_moment(self, now: float, steady: float) -> float:
        moments = [self._sites.next_ready() - steady]
        moments += [heap[0][0] - now for heap in (self._later, self._leases) if heap]
        return max(min(moments), 1e-4)

    # What outlives the process.

    def kept_prior(self) -> bytes:
        """The learnt prior and the prices, for `restore_prior`."""
        prior = self.table.belief.priors.ravel()
        return np.concatenate(([self.plan.price, self.plan.budget], prior)).astype(np.float64).tobytes()

    def restore_prior(self, kept: bytes) -> None:
        """Go on with a prior and a price that were kept."""
        numbers = np.frombuffer(kept, dtype=np.float64)
        if numbers.size == 2 + GRID.points:
            self.plan = Plan(self.settings.policy, float(numbers[1]), float(numbers[0]))
            self.table.belief.set_priors(numbers[None, 2:])

    # Planning.

    def wants_plan(self, share: float = 0.05) -> bool:
        """Whether enough has changed since the last plan."""
        return self._counts.observed + self._counts.added >= max(20, share * len(self.table))

    async def replan(self, budget: float) -> Plan:
        """Find the price anew in a worker, and take over the order it gives."""
        table = self.table
        slots = np.flatnonzero(table.present)
        weight, site = table.weight[slots], table.site[slots]
        ceilings = np.array([1.0 / max(self._politeness.delay(name), 1e-9) for name in table.sites])
        self._counts.observed = self._counts.added = 0
        self._moved, self._planning = set(), True
        try:
            plan, intervals = await asyncio.to_thread(self._make, slots, weight, site, budget, ceilings)
        finally:
            self._planning = False
            self.table.free(self._freed)
            self._freed = []
        self.plan = plan
        self._reorder(slots, intervals)
        self._news.set()
        return plan

    def _make(
        self,
        slots: NDArray[np.int64],
        weight: NDArray[np.float64],
        site: NDArray[np.int64],
        budget: float,
        ceilings: NDArray[np.float64],
    ) -> tuple[Plan, NDArray[np.float64]]:
        self.table.learn_prior(slots)
        return make_plan(self.policy, slots, weight, site, budget, ceilings)

    def _reorder(self, slots: NDArray[np.int64], intervals: NDArray[np.float64]) -> None:
        """New due times for pages that wait in line and were not moved meanwhile."""
        table = self.table
        still = table.present[slots] & ~np.isnan(table.due[slots]) & ~np.isnan(table.last[slots])
        if self._moved:
            still &= ~np.isin(slots, np.fromiter(self._moved, dtype=np.int64))
        chosen = slots[still]
        table.due[chosen] = np.minimum(table.last[chosen] + intervals[still], 1e18)
        self._sites.rebuild()
