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
from dataclasses import fields
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from recrawl.engine.announcements import Announcements
from recrawl.engine.clock_pages import table_of
from recrawl.engine.dates import Dates
from recrawl.engine.expected import Expected
from recrawl.engine.leases import Leases
from recrawl.engine.pages import GRID, columns_of
from recrawl.engine.planner import Planner
from recrawl.engine.planning import AT_ONCE, NEVER, Plan, Policy
from recrawl.engine.records import PageColumns, State
from recrawl.engine.sites import Sites, sort_pages
from recrawl.engine.tickets import Observation, SchedulerSettings, Ticket
from recrawl.engine.waiting import wait_until_set

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from recrawl.engine.pace import Pace
    from recrawl.engine.protocols import Clock, Politeness
    from recrawl.engine.records import Access, NewPage, PageRecord

__all__ = ["Observation", "Scheduler", "SchedulerSettings", "Ticket"]

_SCHEDULED = frozenset((State.KNOWN, State.DUPLICATE))


Numbers = TypeVar("Numbers", float, "NDArray[np.float64]")


def _newcomer(depth: Numbers, found_at: Numbers) -> Numbers:
    """A page never accessed is due since long ago, shallow pages first."""
    return depth * 1e6 + found_at * 1e-6 - 1e12


class Scheduler:
    """Owns the order of accesses."""

    def __init__(
        self, clock: Clock, politeness: Politeness, pace: Pace, settings: SchedulerSettings | None = None
    ) -> None:
        self.settings = settings or SchedulerSettings()
        self.table = table_of(self.settings.policy, self.settings.weights)
        self.policy = Policy(
            self.settings.policy, self.table, self.settings.shortest_seconds, self.settings.longest_seconds
        )
        self.plan = Plan(self.settings.policy, 1.0, 1.0)
        self.leases = Leases(self.settings.lease_seconds)
        self.announcements = Announcements()
        self.expected = Expected(self.table)
        self.clock, self.politeness, self._pace = clock, politeness, pace
        self.order = Sites(self.table, politeness)
        self._later: list[
            tuple[float, int, float]
        ] = []  # not to be accessed before a time: slot and due time
        self.news_since_plan = 0  # pages that came or were accessed
        self.planner = Planner(self)
        self._turn = asyncio.Lock()
        self._news = asyncio.Event()
        self._closed = False
        self._dates = Dates()

    def __len__(self) -> int:
        return len(self.table)

    @property
    def out(self) -> int:
        """Pages that are handed out."""
        return len(self.leases)

    @property
    def leases_ended(self) -> int:
        """Pages that came back because nothing was heard of them."""
        return self.leases.ended

    # Pages come and go.

    def add(self, records: Sequence[PageRecord]) -> int:
        """Take pages into the schedule; those already here and those not to be accessed are passed over."""
        fresh = {r.url: r for r in records if r.state in _SCHEDULED and r.url not in self.table.slot}
        if fresh:
            slots = self.table.add(columns_of(list(fresh.values())))
            self._find_waits(slots[~np.isnan(self.table.last[slots])])
            self._place(slots, list(fresh.values()))
            self.news_since_plan += slots.size
            self._news.set()
        return len(fresh)

    def load(self, columns: PageColumns) -> int:
        """Take many pages from the store before anything runs; `order_pages` must follow."""
        if not _SCHEDULED.issuperset(columns.state):
            chosen = [place for place, state in enumerate(columns.state) if state in _SCHEDULED]
            columns = PageColumns(*([getattr(columns, f.name)[i] for i in chosen] for f in fields(columns)))
        slots = self.table.add(columns)
        now = self.clock.time()
        # A clock that was set back since must not leave pages for the far future.
        self.table.last[slots] = np.minimum(self.table.last[slots], now)  # NaN stays
        depth, found = np.array(columns.depth, dtype=np.float64), np.array(columns.found_at, dtype=np.float64)
        due = np.where(np.isnan(self.table.last[slots]), _newcomer(depth, found), self.policy.due(slots, now))
        # Leases are those of other machines: a store of one engine ends them when it is opened.
        held = np.fmax(np.array(columns.retry_at, np.float64), np.array(columns.leased_until, np.float64))
        for place in np.flatnonzero(held > now).tolist():
            heapq.heappush(self._later, (float(held[place]), int(slots[place]), float(due[place])))
            due[place] = math.nan
        self.table.due[slots] = due
        self.news_since_plan += slots.size
        return int(slots.size)

    def order_pages(self) -> None:
        """Put all pages that wait in the order of their waits, as an earlier run or the last plan meant them."""
        slots = self.order.begin_order()
        if not slots.size:
            return
        due = self.table.due[slots]
        seen = ~np.isnan(self.table.last[slots])
        due[seen] = self.policy.due(slots[seen], self.clock.time())
        self.order.adopt(sort_pages(slots, due, self.table.site[slots], len(self.table.sites)))

    def remove(self, url: str) -> None:
        """Take a page out of the schedule."""
        slot = self.table.remove(url)
        if slot is None:
            return
        self.leases.end(slot)
        self.announcements.forget(slot)
        self.order.take_out(slot)
        self.planner.free(slot)

    def shift_times(self, shift: float) -> None:
        """The clock on the wall was set back: what was before it was earlier by as much."""
        self.table.shift_times(shift)
        self._later = [(when + shift, slot, due + shift) for when, slot, due in self._later]
        self.leases.shift_times(shift)
        self.order_pages()
        self._news.set()

    def set_weight(self, url: str, weight: float) -> None:
        """Another weight for a page, in force from now on."""
        slot = self.table.slot.get(url)
        if slot is None or self.table.weight[slot] == weight:
            return
        self.table.weight[slot] = weight
        if not math.isnan(self.table.last[slot]):
            self._find_waits(np.array([slot]))
            if not math.isnan(self.table.due[slot]) and slot not in self.announcements:
                self._put(slot, float(self.policy.due(np.array([slot]), self.clock.time())[0]))

    # What is learnt.

    def learn(self, observations: Sequence[Observation]) -> list[bytes]:
        """Learn from accesses; what is now believed of each page, in the form that the store keeps."""
        told = [o for o in observations if o.page.url in self.table.slot]
        slots = np.array([self.table.slot[o.page.url] for o in told], dtype=np.int64)
        if slots.size:
            self._learn(told, slots)
            self._find_waits(slots)
        packed = dict(zip((o.page.url for o in told), self.table.packed(slots), strict=True))
        return [packed.get(o.page.url, b"") for o in observations]

    def _learn(self, told: Sequence[Observation], slots: NDArray[np.int64]) -> None:
        last = np.array([math.nan if o.page.last_access is None else o.page.last_access for o in told])
        ended = np.array([o.ended for o in told])
        dates = np.array([math.nan if o.date is None else o.date for o in told])
        changed = np.array([o.changed for o in told])
        believed = self._dates.judge(self.table.site[slots], dates, ended)
        dates[~(changed & (dates > last) & (dates <= ended) & believed)] = math.nan
        heard = np.full(slots.size, math.nan)
        for place in range(slots.size) if self.announcements else ():
            said = self.announcements.settle(int(slots[place]), bool(changed[place]))
            if said is not None and said.heard > last[place]:
                heard[place], dates[place] = said.heard, said.date
        # The first content tells of no change; a clock that was set back says nothing.
        usable = (ended > last) & np.array([o.page.digest is not None for o in told])
        self.expected.add(slots[usable], last[usable], ended[usable])
        if usable.any():
            told_by = (slots, last, ended, changed, dates, heard)
            self.table.observe(*(column[usable] for column in told_by))
        self.table.seen(slots[~usable], ended[~usable])

    def announce(self, pages: Sequence[NewPage]) -> int:
        """Dates of a list of pages that was read now; how many pages are due at once because of them."""
        now, moved = self.clock.time(), 0
        for page in pages:
            slot = self.table.slot.get(page.url)
            if slot is None or page.last_modified is None:
                continue
            last, site = float(self.table.last[slot]), int(self.table.site[slot])
            if self.announcements.dated(slot, site, last, page.last_modified, now):
                self._hurry(slot, now)
                moved += 1
        return moved

    def signal(self, url: str, when: float | None = None) -> bool:
        """Somebody says that a page has changed, at `when` or just now: it is due at once. Whether that is news."""
        slot, now = self.table.slot.get(url), self.clock.time()
        if slot is None:
            return False
        last = float(self.table.last[slot])
        if not self.announcements.pushed(slot, last, now if when is None else when, now):
            return False
        self._hurry(slot, now)
        return True

    def visit(self, url: str) -> bool:
        """Let a page be accessed before all others. Whether it is known and waits."""
        slot = self.table.slot.get(url)
        if slot is None or slot in self.leases:
            return False
        self._put(slot, AT_ONCE)
        self._news.set()
        return True

    def _hurry(self, slot: int, now: float) -> None:
        """A page whose copy is out of date is due now, unless no access of it is worth the price."""
        due = float(self.table.due[slot])
        if now < due < NEVER:  # pages that are out, or must not be accessed yet, have no due time
            self._put(slot, now)
            self._news.set()

    # Places in the order.

    def settle(self, pages: Sequence[PageRecord]) -> None:
        """Put pages back with a new due time, as the store has them now (or take them out)."""
        known = [page for page in pages if page.url in self.table.slot]
        slots = np.array([self.table.slot[page.url] for page in known], dtype=np.int64)
        if not slots.size:
            return
        for slot in slots.tolist():
            self.leases.end(slot)
        self.table.update(slots, known)
        unknown = np.isnan(self.table.waits["wait"][slots])
        if unknown.any():
            self._find_waits(slots[unknown])
        self._place(slots, known)
        self.planner.follow()
        self.news_since_plan += slots.size
        self._news.set()

    def _place(self, slots: NDArray[np.int64], pages: Sequence[PageRecord]) -> None:
        """Let pages wait for their due times, or take them out."""
        due = self.policy.due(slots, self.clock.time())
        for page, slot, when in zip(pages, slots.tolist(), due.tolist(), strict=True):
            if page.state not in _SCHEDULED:
                self.remove(page.url)
            elif page.last_access is None:
                self._put(slot, _newcomer(page.depth, page.found_at), page.retry_at or -math.inf)
            else:
                self._put(slot, when, self._not_before(page))

    def _find_waits(self, slots: NDArray[np.int64]) -> None:
        """Find anew how long pages wait, at the present price."""
        table = self.table
        prices = self.plan.prices(table.site[slots], len(table.sites))
        table.waits[slots] = self.policy.find_waits(slots, table.weight[slots], prices)

    def put_back(self, url: str, tried: bool = True) -> None:
        """A page that was handed out brought nothing: it is due again, behind those that are overdue.

        One that was not even tried keeps its place.
        """
        slot = self.table.slot.get(url)
        if slot is None:
            return
        ticket = self.leases.end(slot, recorded=False)
        now = self.clock.time()
        # Kept in front, pages that a full buffer refuses would be all that robots access.
        self._put(slot, now if ticket is None or (tried and ticket.due < now) else ticket.due)
        self._news.set()

    def _not_before(self, page: PageRecord) -> float:
        shortest = (page.last_access or 0.0) + self.settings.shortest_seconds
        return max(shortest if self.settings.shortest_seconds else -math.inf, page.retry_at or -math.inf)

    def _put(self, slot: int, due: float, not_before: float = -math.inf) -> None:
        """Let a page wait in the line of its site, or apart until it may be accessed."""
        if not_before > self.clock.time():
            self.order.take_out(slot)
            heapq.heappush(self._later, (not_before, slot, due))
        else:
            self.order.push(slot, due)

    # The hand-out.

    async def next(self) -> Ticket | None:
        """The page to access now, waiting for it; None when the scheduler is closed. One caller after the other."""
        async with self._turn:
            while not self._closed:
                self._news.clear()
                found = self.try_next()
                if isinstance(found, Ticket):
                    return found
                await wait_until_set(self._news, self.clock, found)
        return None

    def close(self) -> None:
        """Hand out nothing more."""
        self._closed = True
        self._news.set()

    def ended(self, site: str, access: Access | None) -> None:
        """An access of this site has ended (None: it never began), so it may have a place."""
        self.politeness.end(site, access)
        if self.order.access_ended(site):
            self._news.set()

    def try_next(self) -> Ticket | float:
        """A page, or the seconds until there may be one (infinite: until something happens)."""
        now, steady = self.clock.time(), self.clock.monotonic()
        self._release(now)
        self.order.unblock(steady)
        paced = self._pace.ready_at(steady) - steady
        if paced > 1e-9:
            return paced
        head = self.order.first(steady)
        if head is None:
            return self._next_moment(now, steady)
        self._pace.take(steady)
        return self._hand_out(head[1], head[0], now)

    def _hand_out(self, slot: int, due: float, now: float) -> Ticket:
        self.order.take_out(slot)
        ticket = Ticket(self.table.url[slot], slot, self.table.sites[self.table.site[slot]], now, due)
        self.leases.begin(ticket)
        self.politeness.begin(ticket.site)
        return ticket

    def _release(self, now: float) -> None:
        """Let in pages that waited for their time, and those whose leases have ended."""
        while self._later and self._later[0][0] <= now:
            _, slot, due = heapq.heappop(self._later)
            if self.table.present[slot] and math.isnan(self.table.due[slot]) and slot not in self.leases:
                self._put(slot, due)
        for ticket in self.leases.expired(now):
            self.put_back(ticket.url)

    def _next_moment(self, now: float, steady: float) -> float:
        moments = [self.order.next_ready() - steady]
        if self._later:
            moments.append(self._later[0][0] - now)
        if (end := self.leases.next_end()) is not None:
            moments.append(end - now)
        return max(min(moments), 1e-4)

    # What outlives the process.

    def kept(self) -> dict[str, bytes]:
        """Prices, what is believed of all pages together, and how far announcements were right, for `restore`."""
        numbers = np.array([self.plan.price, self.plan.budget]).tobytes()
        whole = self.table.kept_prior()
        found = {"announcements": self.announcements.kept(self.table.sites)}
        if self.settings.policy == "optimal":
            return {"prior": numbers, "clocks": whole, **found}
        return {"prior": numbers + whole, **found}

    def restore(self, kept: Mapping[str, bytes], pages: int, budget: float) -> None:
        """Go on from what was kept, before `pages` pages are loaded."""
        numbers = np.frombuffer(kept.get("prior", b""), dtype=np.float64)
        if numbers.size >= 2:
            self.plan = Plan(self.settings.policy, float(numbers[1]), float(numbers[0]))
        per_page = budget / max(pages, 1)
        self.table = table_of(
            self.settings.policy, self.settings.weights, kept=kept.get("clocks"), budget=per_page
        )
        if self.settings.policy != "optimal" and numbers.size == 2 + GRID.points:
            self.table.belief.set_priors(numbers[None, 2:])
        self.policy.table = self.expected.table = self.table
        self.order = Sites(self.table, self.politeness)

    # Planning.

    def wants_plan(self, share: float = 0.05) -> bool:
        """Whether enough has changed since the last plan."""
        return self.news_since_plan >= max(20, share * len(self.table))

    async def replan(self, budget: float) -> Plan:
        """Find the price anew in a worker, and take over the order it gives."""
        self.news_since_plan = 0
        found = await self.planner.replan(budget)
        self._news.set()
        return found
