"""The engine on the demonstration web, over real connections."""

import asyncio
import json
import time
from collections import defaultdict

import pytest

from recrawl.assemble import engine_of
from recrawl.demo import TROUBLES, DemoOptions, DemoWeb
from recrawl.engine.records import State
from recrawl.errors import AccessError
from recrawl.settings import Settings

FAST = {
    "min_delay_seconds": 0.0,
    "max_concurrency": 8,
    "robots": 8,
    "total_timeout_seconds": 2.0,
    "connect_timeout_seconds": 1.0,
    "commit_seconds": 0.3,
    "status_seconds": 0.2,
    "backoff_seconds": 0.5,
    "confirm_seconds": 0.2,
    "grace_seconds": 3.0,
}

OUTCOMES = ("content", "gone", "unreadable", "failed", "busy")


async def run(settings, seconds, until=None):
    """Run an engine for so long, or until something holds."""
    async with engine_of(settings) as engine:
        stopping = asyncio.Event()
        task = asyncio.ensure_future(engine.run(stopping))
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and not task.done() and not (until and until(engine)):
            await asyncio.sleep(0.05)
        stopping.set()
        await task
        pages = [page async for page in engine.world.store.pages()]
        counts = {}
        for word in ("page", "the"):
            counts[word] = (await engine.world.index.search(word))[0]
        agree = await engine.world.index.watermark() == await engine.world.store.last_revision()
        kept = json.loads(await engine.world.store.load("status"))
        return engine, pages, counts, agree, kept


async def test_every_page_is_found_and_searchable(tmp_path):
    async with DemoWeb(DemoOptions(sites=2, pages_per_site=60, mean_rate_per_second=0.01)) as demo:
        settings = Settings(seeds=tuple(demo.seeds), data=str(tmp_path), budget="200/s", **FAST)
        _, pages, _, agree, kept = await run(
            settings,
            20.0,
            lambda e: e.measures.findings["added"] >= 120 and e.measures.findings["unchanged"] > 50,
        )
        assert {page.url for page in pages} >= set(demo.truth.urls)
        assert agree
        assert sum(page.digest is not None for page in pages) == 120
        assert not kept["running"]
        assert kept["outcomes"]["not_modified"] > 0
        assert kept["queue"]["starvation"]["value"] < 0.001  # with a budget, idle time is spare


async def test_changes_are_noticed_and_measured(tmp_path):
    async with DemoWeb(DemoOptions(sites=1, pages_per_site=30, mean_rate_per_second=0.5, log_sd=0.5)) as demo:
        settings = Settings(
            seeds=tuple(demo.seeds), data=str(tmp_path), budget="60/s", weights="equal", **FAST
        )
        begun = time.time()
        engine, pages, *_ = await run(settings, 6.0)
        ends = defaultdict(list)
        for page in pages:
            ends[page.url].append(page.last_access)
        assert engine.measures.findings["changed"] > 20
        # A copy taken at the end of its last access is current until the page's next change.
        assert 0.0 < demo.truth.obsolescence(ends, begun, time.time()) <= 1.0
        assert 0.3 < engine.expected_freshness < 1.0


def tried_enough(engine, urls):
    """Whether every outcome came, and nearly all pages were tried that the site has let the engine find."""
    outcomes, waiting = engine.measures.outcomes, engine.robots.in_flight
    known = [url for url in urls if url in engine.scheduler.table.slot and url not in waiting]
    return sum(outcomes.values()) > 160 and len(known) > 0.9 * len(urls) and all(map(outcomes.get, OUTCOMES))


async def test_every_trouble_is_survived_and_counted(tmp_path):
    options = DemoOptions(sites=1, pages_per_site=20, troubles=tuple(TROUBLES), mean_rate_per_second=0.001)
    async with DemoWeb(options) as demo:
        settings = Settings(
            seeds=tuple(demo.seeds), data=str(tmp_path), max_body_bytes=300_000, max_pages=400, max_depth=8,
            max_backoff_seconds=1.0,  # the one site is busy or fails most of the time, and is left alone then
            **{**FAST, "robots": 24, "max_concurrency": 24},
        )  # fmt: skip
        wanted = [demo.trouble(name) for name in TROUBLES]
        engine, pages, _, agree, kept = await run(
            settings, 30.0, lambda e: tried_enough(e, [*demo.truth.urls, *wanted])
        )
        assert agree
        found = {page.url: page for page in pages}
        assert all(found[url].digest is not None for url in demo.truth.urls)
        outcomes = engine.measures.outcomes
        assert all(outcomes[name] > 0 for name in OUTCOMES), outcomes
        assert len(found) <= 400 + 1
        tried = [url for url in wanted if url in found and found[url].last_outcome is not None]
        assert len(tried) > 0.7 * len(TROUBLES)  # some wait while the site asks to be left alone
        assert kept["outcomes"] == dict(outcomes)


async def test_gone_pages_leave_the_index(tmp_path):
    async with DemoWeb(DemoOptions(sites=1, pages_per_site=15, mean_rate_per_second=0.0)) as demo:
        settings = Settings(seeds=tuple(demo.seeds), data=str(tmp_path), **FAST)
        await run(settings, 10.0, lambda e: e.measures.findings["added"] >= 15)
        lost = demo.url(7)
        demo.gone.add(lost)
        _, pages, _, agree, _ = await run(settings, 10.0, lambda e: e.measures.findings["gone"] >= 1)
        assert {page.url: page.state for page in pages}[lost] is State.GONE
        assert agree


async def test_a_disallowed_seed_ends_with_a_message(tmp_path):
    async with DemoWeb(DemoOptions(sites=1, pages_per_site=5, exclusion="disallow")) as demo:
        settings = Settings(seeds=tuple(demo.seeds), data=str(tmp_path), sitemaps=False, **FAST)
        with pytest.raises(ExceptionGroup) as caught:
            await run(settings, 10.0)
        assert caught.group_contains(AccessError, match="disallowed by robots.txt")


async def test_site_away_for_a_while(tmp_path):
    async with DemoWeb(DemoOptions(sites=2, pages_per_site=10, mean_rate_per_second=0.0)) as demo:
        settings = Settings(seeds=tuple(demo.seeds), data=str(tmp_path), budget="100/s", **FAST)
        await run(settings, 10.0, lambda e: e.measures.findings["added"] >= 20)
        demo.down.add(1)
        engine, pages, *_ = await run(settings, 3.0)
        away = [page for page in pages if page.site.endswith(str(demo.ports[1]))]
        assert all(page.digest is not None and page.state is State.KNOWN for page in away)
        assert engine.measures.outcomes["busy"] < 40  # left alone, while the other site goes on
        assert engine.measures.outcomes["not_modified"] > 50


async def test_traps_of_earlier_runs_count(tmp_path):
    async with DemoWeb(DemoOptions(sites=1, pages_per_site=30, mean_rate_per_second=0.0)) as demo:
        settings = Settings(seeds=tuple(demo.seeds), data=str(tmp_path), **FAST)
        await run(settings, 10.0, lambda e: e.measures.findings["added"] >= 30)
        engine, *_ = await run(settings, 1.5)
        assert sum(engine.world.admission.traps.shapes.values()) >= 25


async def test_large_pages_are_parsed_elsewhere(tmp_path):
    async with DemoWeb(DemoOptions(sites=1, pages_per_site=4, page_bytes=30_000)) as demo:
        settings = Settings(seeds=tuple(demo.seeds), data=str(tmp_path), large_page_bytes=10_000, **FAST)
        engine, pages, *_ = await run(settings, 15.0, lambda e: e.measures.findings["added"] >= 4)
        assert engine.world.extract._processes is not None
        assert sum(page.digest is not None for page in pages) == 4
