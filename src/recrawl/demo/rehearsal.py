"""Before the show: everything that is compiled or loaded late happens once, while nothing is measured."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from recrawl.assemble import engine_of
from recrawl.demo.contest import contest_settings, contest_web
from recrawl.demo.crowd import best_policy
from recrawl.demo.web import DemoWeb

if TYPE_CHECKING:
    from pathlib import Path

    from recrawl.control import Policy

__all__ = ["prepare"]

_PAGES = 12
_ACCESSES = 150
_MOST_SECONDS = 120.0


def prepare(folder: Path) -> Policy:
    """Run an engine for a moment, fit a queue, and find the thresholds of the second scene. Takes a thread's time."""
    asyncio.run(_rehearse(folder))
    _fit()
    return best_policy()


async def _rehearse(folder: Path) -> None:
    budget = float(_ACCESSES)  # so a second, once everything is loaded
    async with DemoWeb(contest_web(_PAGES, budget, seed=1)) as web:
        settings = contest_settings(web, "optimal", budget, folder / "rehearsal")
        async with engine_of(replace(settings, replan_seconds=0.1)) as engine:
            stopping = asyncio.Event()
            work = asyncio.ensure_future(engine.run(stopping))
            deadline = time.monotonic() + _MOST_SECONDS
            while (
                sum(engine.measures.outcomes.values()) < _ACCESSES
                and time.monotonic() < deadline
                and not work.done()
            ):
                await asyncio.sleep(0.02)
            stopping.set()
            await work


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
