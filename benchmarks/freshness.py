"""How fresh is the copy, and how fresh does the engine believe it to be? `python -m benchmarks.freshness`.

The demonstration web (pages of independent lognormal rates, log-sd 2) with a budget equal to its total change rate.
After so many accesses per page on average, obsolescence is measured over as many more: exactly, since the web knows
every change. Beside it what the beliefs expect for the same period, before the truth is seen: for each copy the
time that it is expected to be current from the end of its access to the end of the next, by what was believed before
that one. And the bound with true rates, for as many accesses as there were.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
import time
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING

from recrawl.assemble import engine_of
from recrawl.demo import DemoOptions, DemoWeb
from recrawl.engine.records import Access, Outcome, PageRecord
from recrawl.revisit import Pages, budget_curve
from recrawl.settings import Settings

if TYPE_CHECKING:
    from recrawl.engine.protocols import Accessor

_GOOD = (Outcome.CONTENT, Outcome.NOT_MODIFIED)
_DRAIN_SECONDS = 0.5


class _Noting:
    """An accessor that notes when each page was accessed."""

    def __init__(self, inner: Accessor) -> None:
        self.inner = inner
        self.ends: defaultdict[str, list[float]] = defaultdict(list)
        self.count = 0

    async def access(self, page: PageRecord) -> Access:
        access = await self.inner.access(page)
        if access.outcome in _GOOD:
            self.ends[page.url].append(access.ended)
            self.count += 1
        return access

    async def close(self) -> None:
        await self.inner.close()


async def measure(
    policy: str, pages: int, budget: float, rounds: int, log_sd: float = 2.0
) -> dict[str, object]:
    options = DemoOptions(
        sites=1, pages_per_site=pages, mean_rate_per_second=budget / pages, log_sd=log_sd, page_bytes=2000
    )
    async with DemoWeb(options) as demo:
        budget = float(demo.truth.rates.sum())  # what was drawn
        settings = Settings(
            seeds=tuple(demo.seeds),
            data=tempfile.mkdtemp(),
            budget=f"{budget}/s",
            policy=policy,
            weights="equal",
            min_delay_seconds=0.0,
            max_concurrency=32,
            robots=32,
            replan_seconds=1.0,
            longest_interval_seconds=1e9,
        )
        async with engine_of(settings) as engine:
            noting = _Noting(engine.robots._accessor)
            engine.robots._accessor = noting
            stopping = asyncio.Event()
            run = asyncio.ensure_future(engine.run(stopping))
            await _reach(noting, run, rounds * pages)
            since = time.time()
            engine.scheduler.expected.begin(since)
            await _reach(noting, run, 2 * rounds * pages)
            until = time.time()
            await asyncio.sleep(_DRAIN_SECONDS)  # accesses that have ended are recorded
            expected = engine.scheduler.expected.end(until)
            stopping.set()
            await run
            status = engine.status(False)
        truth = demo.truth
        accesses = sum(since < end <= until for ends in noting.ends.values() for end in ends)
        point = budget_curve(Pages(truth.rates), [accesses / (until - since)])[0]
        measured = truth.obsolescence(noting.ends, since, until)
        return {
            "policy": policy,
            "pages": pages,
            "budget": budget,
            "accesses_per_second": accesses / (until - since),
            "measured_obsolescence": measured,
            "expected_obsolescence": expected,
            "expected_over_measured": expected / measured,
            "bound_with_true_rates": point.obsolescence,
            "seconds": until - since,
            "index_delay_p50": status["index_delay_seconds"]["p50"],
            "loop_lag_p99": status["loop_lag_seconds"]["p99"],
            "loss": status["queue"]["loss"]["value"],
        }


async def _reach(noting: _Noting, run: asyncio.Future[None], count: int) -> None:
    while noting.count < count:
        if run.done():
            run.result()
        await asyncio.sleep(0.02)


def _measure(arguments: tuple[str, int, float, int, float]) -> dict[str, object]:
    policy, pages, budget, rounds, log_sd = arguments
    return asyncio.run(measure(policy, pages, budget, rounds, log_sd))


def _print(found: dict[str, object]) -> None:
    numbers = "  ".join(
        f"{found[name]:.4f}"
        for name in ("measured_obsolescence", "expected_obsolescence", "bound_with_true_rates")
    )
    print(
        f"{found['policy']:<13} {numbers}  {found['accesses_per_second']:.1f}/s  loss {found['loss']}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--policies", default="optimal,poisson,uniform,proportional")
    parser.add_argument("--pages", type=int, default=2000)
    parser.add_argument("--budget", type=float, default=300.0, help="accesses per second")
    parser.add_argument("--rounds", type=int, default=20, help="accesses per page to learn, and to measure")
    parser.add_argument("--log-sd", type=float, default=2.0)
    parser.add_argument("--at-once", action="store_true", help="all policies at the same time")
    parser.add_argument("--json", metavar="FILE", help="write everything there")
    chosen = parser.parse_args()
    work = [
        (p, chosen.pages, chosen.budget, chosen.rounds, chosen.log_sd) for p in chosen.policies.split(",")
    ]
    print("policy        measured expected bound with true rates", flush=True)
    # Each policy in a process of its own, so that none profits from what another has loaded.
    with ProcessPoolExecutor(len(work) if chosen.at_once else 1, mp_context=get_context("spawn")) as pool:
        found = []
        for one in pool.map(_measure, work):
            found.append(one)
            _print(one)
    if chosen.json:
        Path(chosen.json).write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
