"""Before the show: everything that is compiled or loaded late happens once, while nothing is measured."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from recrawl.assemble import engine_of
from recrawl.demo.contest import contest_settings, contest_web
from recrawl.demo.crowd import best_policy
from recrawl.demo.web import DemoWeb

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from recrawl.control import Policy

__all__ = ["Preparation", "prepare"]

_PAGES = 100
_WARMING = 200  # accesses
_TIMED_SECONDS = 1.0
_MOST_SECONDS = 120.0
_SHARE = 0.2  # of what one engine can do alone: there will be four, and people who look at their pages
_BUDGETS = (60.0, 120.0)  # accesses per second, least and most


@dataclass(frozen=True)
class Preparation:
    """The thresholds of the second scene, and how many accesses a second an engine managed in the rehearsal."""

    policy: Policy
    access_rate: float

    @property
    def budget(self) -> float:
        """Accesses per second that suit the machine.

        >>> [Preparation(None, rate).budget for rate in (100.0, 500.0, 5000.0)]
        [60.0, 100.0, 120.0]
        """
        return min(max(10.0 * (_SHARE * self.access_rate // 10.0), _BUDGETS[0]), _BUDGETS[1])


def prepare(folder: Path) -> Preparation:
    """Run an engine for a moment, fit a queue, and find the thresholds of the second scene. Takes a thread's time."""
    rate = asyncio.run(_rehearse(folder))
    _fit()
    return Preparation(best_policy(), rate)


async def _rehearse(folder: Path) -> float:
    budget = 2000.0  # more than it can do
    async with DemoWeb(contest_web(_PAGES, budget, seed=1)) as web:
        settings = contest_settings(web, "optimal", budget, folder / "rehearsal")
        async with engine_of(replace(settings, replan_seconds=0.1)) as engine:
            stopping = asyncio.Event()
            work = asyncio.ensure_future(engine.run(stopping))
            done = engine.measures.outcomes.total
            await _until(lambda: work.done() or done() >= _WARMING, _MOST_SECONDS)
            before, began = done(), time.monotonic()
            await _until(work.done, _TIMED_SECONDS)
            rate = (done() - before) / (time.monotonic() - began)
            stopping.set()
            await work
    return rate


async def _until(over: Callable[[], bool], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not over() and time.monotonic() < deadline:
        await asyncio.sleep(0.02)


def _fit() -> None:
    """Kernels of the fits that engines make of their queue while they run."""
    import numpy as np

    from recrawl.engine.automatic import fit_queue
    from recrawl.engine.fitted import Conditions
    from recrawl.engine.queue_log import FEWEST, Log

    random, log = np.random.default_rng(1), Log()
    for seconds in random.exponential(1.0, (2 * FEWEST, 2)):
        log.accessed(float(seconds[0]), 2, delivers=True)
        log.served(float(seconds[1]))
    fit_queue(log, Conditions(1, 2), (2, 1), 0.0).predict()
