"""A small world for tests of the engine: a clock that jumps, sites without delays, pages with known truth."""

import asyncio
import heapq
import itertools
import math

from recrawl.engine.records import Access, Outcome, PageRecord, State


class JumpingClock:
    """Time that stands still while anything can run, then jumps to the next sleeper."""

    def __init__(self, start=1_000_000.0):
        self.now = start
        self._sleepers = []
        self._number = itertools.count()

    def time(self):
        return self.now

    def monotonic(self):
        return self.now

    async def sleep(self, seconds):
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        future = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self.now + seconds, next(self._number), future))
        await future

    async def run(self, until, patience=20):
        """Let time pass: whenever nothing moves for a while, jump."""
        while True:
            for _ in range(patience):
                await asyncio.sleep(0)
            while self._sleepers and self._sleepers[0][2].done():
                heapq.heappop(self._sleepers)
            if not self._sleepers or self._sleepers[0][0] > until:
                self.now = until
                return
            when, _, future = heapq.heappop(self._sleepers)
            self.now = max(self.now, when)
            future.set_result(None)


class FreeSites:
    """No politeness, or a delay per site that the test sets."""

    def __init__(self, clock, delay=0.0):
        self.clock, self.delay = clock, delay
        self.next_free = {}

    def ready_at(self, site):
        return self.next_free.get(site, -math.inf)

    def interval(self, site):
        return self.delay

    def begin(self, site):
        self.next_free[site] = self.clock.monotonic() + self.delay


def page(url, site="a.example", **changes):
    return PageRecord(**{"url": url, "site": site, "state": State.KNOWN, "depth": 0, "found_at": 0.0, **changes})


def access(url, ended, outcome=Outcome.CONTENT, **changes):
    return Access(**{"url": url, "started": ended - 0.01, "ended": ended, "outcome": outcome, **changes})
