"""The robots: tasks that access pages, switched on and off by number."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

from recrawl.engine.records import Outcome, State

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from recrawl.engine.measures import Measures
    from recrawl.engine.protocols import Accessor, Clock, Store
    from recrawl.engine.queue import IndexQueue
    from recrawl.engine.records import Access, PageRecord
    from recrawl.engine.scheduler import Scheduler, Ticket

__all__ = ["Robots"]

# No page came: nothing to index, and the page is tried again later.
_FRUITLESS = (Outcome.BUSY, Outcome.FAILED, Outcome.REFUSED)
_REMEMBERED = 20_000  # pages never accessed, some 10 MB


def _asked(page: PageRecord) -> PageRecord:
    """A duplicate is accessed whole, since only its content says whether it still is one."""
    return replace(page, etag=None, last_modified=None) if page.state is State.DUPLICATE else page


class Robots:
    """A pool of robots, of which `active` work; a robot switched off finishes its access, and counts until then.

    Parameters
    ----------
    number
        Most robots that may be active.
    fruitless
        Takes note of an access that brought no page.
    """

    def __init__(
        self,
        number: int,
        scheduler: Scheduler,
        store: Store,
        accessor: Accessor,
        queue: IndexQueue,
        measures: Measures,
        clock: Clock,
        fruitless: Callable[[Access, PageRecord], Awaitable[None]],
    ) -> None:
        self.number = number
        self._scheduler, self._store, self._accessor = scheduler, store, accessor
        self._queue, self._measures, self._clock = queue, measures, clock
        self._fruitless = fruitless
        self.in_flight: dict[str, PageRecord] = {}
        self._found: dict[str, PageRecord] = {}
        self.active = 0
        self.waiting = 0  # robots that are switched on and have nothing to access
        self._working = 0  # robots that access a page or wait for one
        self._room = asyncio.Event()  # one more robot may work
        self._stopping = False
        self.on_wait: Callable[[], None] = lambda: None
        self.on_worked: Callable[[float, int, bool], None] = lambda _seconds, _robots, _delivers: None
        self.on_access: Callable[[Access], None] = lambda _access: None

    @property
    def working(self) -> int:
        """Robots that access a page or wait for one, those included that were switched off meanwhile."""
        return self._working

    def start(self, group: asyncio.TaskGroup) -> list[asyncio.Task[None]]:
        """Make the tasks."""
        return [group.create_task(self._run(), name=f"robot {place}") for place in range(self.number)]

    def switch(self, number: int) -> None:
        """Let this many robots work."""
        self.active = min(max(number, 0), self.number)
        if self._working < self.active:
            self._room.set()

    def stop(self) -> None:
        """Let every robot finish its access and leave."""
        self._stopping = True
        self._room.set()

    def remember(self, pages: Iterable[PageRecord]) -> None:
        """Pages that were found just now: until their first access there is no more to know of them."""
        for page in pages:
            if len(self._found) >= _REMEMBERED:
                return
            self._found[page.url] = page

    async def _run(self) -> None:
        while not self._stopping:
            if self._working >= self.active:
                self._room.clear()
                await self._room.wait()
                continue
            self._working += 1
            try:
                if not await self._work():
                    return
            finally:
                self._working -= 1
                self.on_wait()
                if self._working < self.active:
                    self._room.set()

    async def _work(self) -> bool:
        """One page; whether there may be more."""
        begun = (self._clock.monotonic(), self.active)
        ticket = await self._wait_for_page()
        if ticket is None:
            return False
        if self._working > self.active or self._stopping:  # switched off while waiting
            self._scheduler.ended(ticket.site, None)
            self._scheduler.put_back(ticket.url, tried=False)
        else:
            await self._access(ticket, *begun)
        return True

    async def _wait_for_page(self) -> Ticket | None:
        self.waiting += 1
        self.on_wait()
        try:
            return await self._scheduler.next()
        finally:
            self.waiting -= 1
            self.on_wait()

    async def _access(self, ticket: Ticket, begun: float, robots: int) -> None:
        access = None
        try:
            page = self._found.pop(ticket.url, None) or await self._store.page(ticket.url)
            if page is None:  # another process has removed it
                self._scheduler.remove(ticket.url)
                return
            self.in_flight[page.url] = page
            access = await self._accessor.access(_asked(page))
        finally:
            self._scheduler.ended(ticket.site, access)
            if access is None:  # cancelled at the end of the grace time: the page is still due
                self.in_flight.pop(ticket.url, None)
                self._scheduler.put_back(ticket.url)
        self._measures.outcomes[access.outcome.value] += 1
        self._measures.bytes_received += access.size
        self._measures.access_time.add(access.ended - access.started)
        fruitless = access.outcome in _FRUITLESS
        self.on_worked(self._clock.monotonic() - begun, robots, not fruitless)
        if fruitless:
            self.in_flight.pop(page.url, None)
            await self._fruitless(access, page)
            self.on_access(access)
        else:
            self._queue.deliver(access, self.active)

    def returned(self, url: str) -> None:
        """A page was lost or became obsolete: it is due again."""
        self.in_flight.pop(url, None)
        self._scheduler.put_back(url)
