"""The engine's schedule with a million known pages: start, memory, hand-outs."""

from __future__ import annotations

import asyncio
import math
import os
import resource
import time
from typing import TYPE_CHECKING, cast

import numpy as np

from benchmarks.measure import Measure
from recrawl.engine.pace import Pace
from recrawl.engine.pages import GRID
from recrawl.engine.records import Access, PageColumns
from recrawl.engine.scheduler import Scheduler, Ticket

if TYPE_CHECKING:
    from recrawl.engine.protocols import Politeness

TITLE = "The engine's schedule"
PAGES = int(os.environ.get("RECRAWL_BENCH_PAGES", "1000000"))
_CHUNK = 5_000


class _Clock:
    now = 1.8e9

    def time(self) -> float:
        return self.now

    def monotonic(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.now += seconds


class _Free:
    def ready_at(self, _site: str) -> float:
        return -math.inf

    def begin(self, site: str) -> None:
        pass

    def end(self, site: str, access: Access | None) -> None:
        pass

    def delay(self, _site: str) -> float:
        return 0.0

    def backoff(self, _failures: int, _retry_after: float | None = None) -> float:
        return 1.0


def _columns(start: int, rng: np.random.Generator) -> PageColumns:
    """Pages of a hundred sites, each with a belief as the store keeps it."""
    count = min(_CHUNK, PAGES - start)
    rates = np.exp(rng.normal(-12.0, 2.0, count))
    gaps = np.log(GRID.rates[None, :] / rates[:, None])
    beliefs = np.maximum(-0.5 * gaps**2, -60000.0).astype(np.float16)
    return PageColumns(
        url=[
            f"https://site{i % 100}.example/section/{i // 1000}/page-{i}" for i in range(start, start + count)
        ],
        site=[f"site{i % 100}.example" for i in range(start, start + count)],
        state=["known"] * count,
        depth=[3] * count,
        found_at=[1.7e9] * count,
        weight=[None] * count,
        in_links=[4] * count,
        last_access=(1.8e9 - rng.uniform(0, 1e6, count)).tolist(),
        last_change=[None] * count,
        accesses=[9] * count,
        changes=[2] * count,
        failures=[0] * count,
        retry_at=[None] * count,
        leased_until=[None] * count,
        announced=[None] * count,
        belief=[row.tobytes() for row in beliefs],
    )


def _memory() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def run() -> list[Measure]:
    from recrawl.engine.engine import warm_kernels

    warm_kernels()
    rng = np.random.default_rng(1)
    clock = _Clock()
    scheduler = Scheduler(clock, cast("Politeness", _Free()), Pace(math.inf, clock.now))
    loading = 0.0
    for start in range(0, PAGES, _CHUNK):
        columns = _columns(start, rng)
        begun = time.perf_counter()
        scheduler.load(columns)
        loading += time.perf_counter() - begun
    begun = time.perf_counter()
    scheduler.order_pages()
    loading += time.perf_counter() - begun
    begun = time.perf_counter()
    asyncio.run(_plan(scheduler))
    planning = time.perf_counter() - begun
    begun = time.perf_counter()
    count = 20_000
    for _ in range(count):
        clock.now += 1e-4
        ticket = scheduler.try_next()
        assert isinstance(ticket, Ticket)
        scheduler.ended(ticket.site, None)
    hand_out = (time.perf_counter() - begun) / count
    print(
        f"{PAGES:,} pages: loaded in {loading:.1f} s, planned in {planning:.1f} s (in a worker), {_memory():,.0f} MB"
    )
    megabytes, per_second = _memory(), 1.0 / hand_out
    return [
        Measure("start", f"{loading:.2f} s", "-", "-", "< 10 s", loading < 10.0),
        Measure(
            "memory, resident at most", f"{megabytes:,.0f} MB", "-", "-", "< 1000 MB", megabytes < 1000.0
        ),
        Measure("hand-outs", f"{per_second:,.0f} per s", "-", "-", "> 2000 per s", per_second > 2000.0),
    ]


async def _plan(scheduler: Scheduler) -> None:
    await scheduler.replan(10.0)
