"""What is loaded or compiled at its first use is used once before robots start, so that no page waits for it."""

from __future__ import annotations

import asyncio
import gc
import math
from typing import TYPE_CHECKING

from recrawl.engine.extract import extract
from recrawl.engine.pace import Pace
from recrawl.engine.records import Access, Outcome, PageRecord, State
from recrawl.engine.scheduler import Observation, Scheduler

if TYPE_CHECKING:
    from recrawl.engine.protocols import Clock, Politeness
    from recrawl.engine.scheduler import SchedulerSettings

__all__ = ["warm_kernels", "warm_up"]

_SITE = "example.invalid"
_GC = (10_000, 20, 10)  # objects and rounds between two looks: pages make many objects, and few circles
_warm: set[str] = set()  # policies for which this process is


async def warm_up(clock: Clock, politeness: Politeness, settings: SchedulerSettings) -> None:
    """Extract a page, and plan a few in a scheduler that is thrown away; once in a process for each policy."""
    if settings.policy in _warm:
        return
    _warm.add(settings.policy)
    page = Access(
        f"http://{_SITE}/", 0.0, 0.0, Outcome.CONTENT, body=b"<h1>a</h1>b", content_type="text/html"
    )
    await asyncio.to_thread(extract, page)
    now = clock.time()
    scheduler = Scheduler(clock, politeness, Pace(math.inf, clock.monotonic()), settings)
    pages = [
        PageRecord(f"http://{_SITE}/{number}", _SITE, State.KNOWN, 1, now - 10.0, digest=b"", last_access=now)
        for number in range(4)
    ]
    scheduler.add(pages)
    scheduler.learn([Observation(page, now + 1.0, number % 2 == 0) for number, page in enumerate(pages)])
    await scheduler.replan(1.0)
    gc.set_threshold(*_GC)
    gc.freeze()  # modules stay: to look through them again and again would stop everything for a while each time


def warm_kernels() -> None:
    """Load or compile the kernels that the scheduler calls, so that no robot waits for them."""
    from recrawl.engine.pages import GRID
    from recrawl.estimate import Belief

    belief = Belief(GRID)
    slots = belief.add(2)
    belief.update(slots, [1.0, 1.0], [True, False])
    belief.learn_priors()
    belief.time_to_price(slots, 1.0)
    belief.current_probability(slots, 1.0)
    belief.mean_rate(slots)
