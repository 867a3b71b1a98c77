"""The index queue: the finite buffer, seen by robots, indexer, controller and measures.

A full buffer refuses a page (loss); a page that waits past its time leaves (obsolete). Both go back to the schedule.
"""

from __future__ import annotations

import asyncio
import math
import random
from typing import TYPE_CHECKING

from recrawl.engine.records import Delivery
from recrawl.engine.waiting import wait_until_set

if TYPE_CHECKING:
    from collections.abc import Callable

    from recrawl.engine.measures import Measures
    from recrawl.engine.protocols import Buffer, Clock
    from recrawl.engine.records import Access

__all__ = ["IndexQueue"]


class IndexQueue:
    """Counts every page that comes, waits, is served or leaves unserved.

    Parameters
    ----------
    obsolete_after
        Mean time after which a waiting page is obsolete; infinite: never.
    deterministic
        That time for every page, instead of an exponential time for each.
    returned
        Called with the URL of a page that was lost or became obsolete.
    """

    def __init__(
        self,
        buffer: Buffer,
        clock: Clock,
        measures: Measures,
        returned: Callable[[str], None],
        obsolete_after: float = math.inf,
        deterministic: bool = False,
        seed: int | None = None,
    ) -> None:
        self.buffer, self.clock, self.measures = buffer, clock, measures
        self._returned = returned
        self._after, self._deterministic = obsolete_after, deterministic
        self._random = random.Random(seed)
        self._expiry_news = asyncio.Event()
        self._next_expiry = math.inf
        self._came: dict[int, float] = {}  # monotonic, of what is in the buffer
        self._last_done = -math.inf
        self._closed = False
        self.on_level: Callable[[int], None] = lambda _level: None

    def level(self) -> int:
        """Pages waiting and being indexed."""
        return self.buffer.level()

    def deliver(self, access: Access, robots: int) -> bool:
        """A robot brings a page; whether there was room for it."""
        now = self.clock.time()
        self.expire()
        delivery = Delivery(access, now, now + self._keeps(), robots)
        taken = self.buffer.offer(delivery)
        self.measures.arrived(lost=not taken)
        if not taken:
            self._returned(access.url)
            return False
        self._came[id(delivery)] = self.clock.monotonic()
        if delivery.obsolete_at < self._next_expiry:
            self._next_expiry = delivery.obsolete_at
            self._expiry_news.set()
        self.on_level(self.level())
        return True

    def _keeps(self) -> float:
        if self._after == math.inf or self._deterministic:
            return self._after
        return self._random.expovariate(1.0 / self._after)

    async def take(self) -> Delivery | None:
        """The next page to index, waiting for it; None when the queue is closed and empty."""
        if not self._closed:
            self.expire()
        return await self.buffer.take()

    def done(self, delivery: Delivery) -> float:
        """A page is indexed and recorded; how long that took.

        Service begins when the indexer could have begun: when the page came, or when the one before it was done. What
        the engine needs to hand a page over is part of it.
        """
        now = self.clock.monotonic()
        service = max(0.0, now - max(self._came.pop(id(delivery), now), self._last_done))
        self._last_done = now
        self.buffer.done(delivery)
        self.measures.left(obsolete=False, stay=self.clock.time() - delivery.delivered, service=service)
        self.on_level(self.level())
        return service

    def expire(self) -> None:
        """Let waiting pages go whose time is over."""
        now = self.clock.time()
        if self._next_expiry > now:
            return
        gone = self.buffer.expire(now)
        for delivery in gone:
            self._came.pop(id(delivery), None)
            self.measures.left(obsolete=True, stay=now - delivery.delivered)
            self._returned(delivery.access.url)
        self._next_expiry = self.buffer.next_expiry()
        if gone:
            self.on_level(self.level())

    async def watch_expiry(self) -> None:
        """Expire pages when their time is over, until the queue is closed."""
        while not self._closed:
            self._expiry_news.clear()
            wait = self._next_expiry - self.clock.time()
            await wait_until_set(self._expiry_news, self.clock, max(wait, 0.0))
            self.expire()

    def close(self) -> None:
        """Take no more pages; those that wait are still indexed."""
        self._closed = True
        self._expiry_news.set()
        self.buffer.close()
