"""How fresh is the copy, and how fresh does the engine believe it to be? `python -m benchmarks.freshness`.

The demonstration web (pages of independent lognormal rates, log-sd 2) with a budget equal to its total change rate.
After so many accesses per page on average, obsolescence is measured over as many more: exactly, since the web knows
every change. Beside it what the engine's beliefs expect for the same period, and the bound with true rates.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
import time
from collections import defaultdict
from typing import TYPE_CHECKING

from recrawl.assemble import engine_of
from recrawl.demo import DemoOptions, DemoWeb
from recrawl.engine.records import Access, Outcome, PageRecord
from recrawl.revisit import Pages, budget_curve
from recrawl.settings import Settings

if TYPE_CHECKING:
    from recrawl.engine.protocols import Accessor

_GOOD = (Outcome.CONTENT, Outcome.NOT_MODIFIED)


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
            since, expected = time.time(), engine.freshness_seconds
            await _reach(noting, run, 2 * rounds * pages)
            until, expected = time.time(), engine.freshness_seconds - expected
            stopping.set()
            await run
            status = engine.status(False)
        truth = demo.truth
        point = budget_curve(Pages(truth.rates), [noting.count / (until - truth.start)])[0]
        return {
            "policy": policy,
            "pages": pages,
            "budget": budget,
            "accesses_per_second": rounds * pages / (until - since),
            "measured_obsolescence": truth.obsolescence(noting.ends, since, until),
            "believed_obsolescence": 1.0 - expected / (until - since),
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--policies", default="optimal,uniform,proportional")
    parser.add_argument("--pages", type=int, default=2000)
    parser.add_argument("--budget", type=float, default=300.0)
    parser.add_argument("--rounds", type=int, default=20)
    chosen = parser.parse_args()
    for policy in chosen.policies.split(","):
        print(
            json.dumps(asyncio.run(measure(policy, chosen.pages, chosen.budget, chosen.rounds))), flush=True
        )


if __name__ == "__main__":
    main()
