"""A schedule in a time of its own: pages of known changes, an access every 1/budget, nothing else."""

import asyncio
import math

import numpy as np
from tests.engine.fakes import FreeSites, page

from recrawl.engine.pace import Pace
from recrawl.engine.scheduler import Observation, Scheduler, SchedulerSettings

START = 1e9


class Clock:
    def __init__(self, now=START):
        self.now = now

    def time(self):
        return self.now

    def monotonic(self):
        return self.now


class Outcome:
    """Obsolescence over the second half: as it was, and as the beliefs expected it before each access."""

    def __init__(self, measured, expected):
        self.measured, self.expected = measured, expected


def poisson_changes(rates, seconds, rng):
    """Times of changes of pages that change on their own."""
    return [START + np.sort(rng.uniform(0, seconds, rng.poisson(rate * seconds))) for rate in rates]


def directory_changes(directories, pages, bursts, seconds, rng, share=0.8):
    """Every directory is edited together at random times: most of its pages change within a short while."""
    found = []
    for _ in range(directories):
        edits = rng.uniform(0, seconds, rng.poisson(bursts * seconds))
        for _ in range(pages):
            mine = edits[rng.random(edits.size) < share]
            found.append(START + np.sort(mine + rng.uniform(0, 1e-3 * seconds, mine.size)))
    return found


class Run:
    """One policy on known changes."""

    def __init__(self, policy, urls, changes, budget, seconds):
        self.clock = Clock()
        settings = SchedulerSettings(policy=policy, weights="equal")
        self.scheduler = Scheduler(self.clock, FreeSites(self.clock), Pace(math.inf, START), settings)
        self.scheduler.restore({}, len(urls), budget)
        self.changes, self.budget, self.end = dict(zip(urls, changes, strict=True)), budget, START + seconds
        self.records = {url: page(url) for url in urls}
        self.scheduler.add(list(self.records.values()))
        self.half = START + 0.5 * seconds
        self.fresh = 0.0
        self.scheduler.expected.begin(self.half)

    def run(self):
        asyncio.run(self._run())
        span = (self.end - self.half) * len(self.records)
        for url, record in self.records.items():
            self._count(url, record.last_access, self.end)
        return Outcome(1.0 - self.fresh / span, self.scheduler.expected.end(self.end))

    async def _run(self):
        done = 0
        while self.clock.now < self.end:
            self.clock.now += 1.0 / self.budget
            self._access(self.scheduler.try_next())
            done += 1
            if done % 20 == 0 and self.scheduler.wants_plan():
                await self.scheduler.replan(self.budget)

    def _access(self, ticket):
        now, record = self.clock.now, self.records[ticket.url]
        last = record.last_access
        changed = last is not None and self._changed(ticket.url, last, now)
        if last is not None:
            self._count(ticket.url, last, now)
        self.scheduler.ended(ticket.site, None)
        self.scheduler.learn([Observation(record, now, changed)])
        self.records[ticket.url] = page(
            ticket.url, last_access=now, digest=b"x" * 16, accesses=record.accesses + 1
        )
        self.scheduler.settle([self.records[ticket.url]])

    def _changed(self, url, since, until):
        first, last = np.searchsorted(self.changes[url], [since, until], side="right")
        return bool(last > first)

    def _count(self, url, last, now):
        """Add the time that a copy was current, in the second half only."""
        begin = max(last, self.half)
        if now <= begin:
            return
        times = self.changes[url]
        place = np.searchsorted(times, last, side="right")
        spoilt = times[place] if place < times.size else math.inf
        self.fresh += max(0.0, min(now, spoilt) - begin)
