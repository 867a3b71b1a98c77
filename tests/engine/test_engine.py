"""The whole engine, in memory and in a time of its own."""

import numpy as np
import pytest
from tests.engine.fakes import Web, engine, run_for

from recrawl.backends.memory import ManualClock, MemoryIndex, MemoryStore
from recrawl.engine.records import Outcome, State

URLS = [f"http://a.example/{i}" for i in range(20)]


@pytest.fixture
def clock():
    return ManualClock()


def texts(urls=URLS, word="first"):
    return {url: f"{word} page {url.rsplit('/', 1)[1]}" for url in urls}


async def test_pages_become_searchable(clock):
    web = Web(clock, texts())
    subject = engine(clock, web, URLS, budget=50.0)
    await run_for(subject, clock, 3.0)
    count, hits = await subject.world.index.search("first")
    assert count == 20
    assert {hit.url for hit in hits} <= set(URLS)
    assert await subject.world.index.watermark() == await subject.world.store.last_revision() == 20
    assert subject.measures.outcomes["not_modified"] > 50  # the rest of the budget


async def test_budget_is_met(clock):
    web = Web(clock, texts())
    await run_for(engine(clock, web, URLS, budget=10.0), clock, 10.0)
    assert 98 <= len(web.accesses) <= 104


async def test_links_are_followed_and_changes_noticed(clock):
    web = Web(clock, texts())
    web.links = {URLS[i]: [URLS[i + 1]] for i in range(19)}
    subject = engine(clock, web, URLS[:1], budget=40.0)

    async def change():
        await clock.sleep(3.0)
        web.texts[URLS[7]] = "second page 7"

    import asyncio

    task = asyncio.ensure_future(change())
    await run_for(subject, clock, 8.0)
    await task
    count, hits = await subject.world.index.search("second")
    assert (count, hits[0].url) == (1, URLS[7])
    record = await subject.world.store.page(URLS[19])
    assert record.depth == 19
    assert (await subject.world.store.page(URLS[7])).changes == 1


async def test_gone_pages_leave_after_confirmation(clock):
    web = Web(clock, texts())
    store, index = MemoryStore(), MemoryIndex()
    await run_for(engine(clock, web, URLS, store=store, index=index, budget=40.0), clock, 2.0)
    del web.texts[URLS[3]]
    from recrawl.engine.conclude import Patience

    patience = Patience(confirm_seconds=1.0)
    subject = engine(clock, web, URLS, store=store, index=index, budget=40.0, patience=patience)
    await run_for(subject, clock, 6.0)
    assert (await store.page(URLS[3])).state is State.GONE
    assert (await index.search("first"))[0] == 19
    tries = [time for url, time in web.accesses if url == URLS[3]]
    assert tries[-1] - tries[-2] >= 1.0
    assert URLS[3] not in subject.scheduler.table.slot


async def test_failures_are_retried_later_and_keep_the_copy(clock):
    web = Web(clock, texts())
    store, index = MemoryStore(), MemoryIndex()
    await run_for(engine(clock, web, URLS, store=store, index=index, budget=40.0), clock, 2.0)
    web.outcomes[URLS[3]] = Outcome.FAILED
    before = len(web.accesses)
    await run_for(engine(clock, web, URLS, store=store, index=index, budget=40.0), clock, 8.0)
    tried = [url for url, _ in web.accesses[before:] if url == URLS[3]]
    record = await store.page(URLS[3])
    assert len(tried) == 1  # the back-off is ten seconds
    assert record.failures == 1
    assert record.state is State.KNOWN
    assert (await index.search("first"))[0] == 20


async def test_a_full_buffer_loses_pages_and_accesses_them_again(clock):
    async def slow(_delivery):
        await clock.sleep(0.2)

    web = Web(clock, texts(), exponential=True)
    subject = engine(clock, web, URLS, capacity=2, delay=slow, batch=1, robots=4, control="fixed")
    await run_for(subject, clock, 20.0)
    queue = subject.measures.queue()
    assert queue["loss"].value > 0.5
    assert (await subject.world.index.search("first"))[0] == 20  # nothing is lost for good
    assert subject.measures.total().arrived > subject.measures.total().served


async def test_pages_become_obsolete_in_the_buffer(clock):
    async def slow(_delivery):
        await clock.sleep(0.2)

    web = Web(clock, texts(), exponential=True)
    subject = engine(
        clock, web, URLS, capacity=16, delay=slow, batch=1, robots=2, obsolete_after=0.5, deterministic=True
    )
    await run_for(subject, clock, 15.0)
    total = subject.measures.total()
    assert total.obsolete > 20
    assert total.arrived == total.lost + total.obsolete + total.served
    assert (await subject.world.index.search("first"))[0] == 20


async def test_duplicates_of_one_batch_are_seen(clock):
    names = URLS[:12]
    web = Web(clock, dict.fromkeys(names, "the same text"))
    subject = engine(clock, web, names, robots=12, batch=12)
    await run_for(subject, clock, 3.0)
    pages = [page async for page in subject.world.store.pages()]
    assert sorted(page.state for page in pages) == [State.DUPLICATE] * 11 + [State.KNOWN]
    (original,) = {page.duplicate_of for page in pages if page.state is State.DUPLICATE}
    assert [page.url for page in pages if page.state is State.KNOWN] == [original]


async def test_duplicates_are_not_searchable(clock):
    web = Web(clock, {**texts(), URLS[5]: "first page 4"})
    subject = engine(clock, web, URLS, budget=40.0)
    await run_for(subject, clock, 2.0)
    states = [(await subject.world.store.page(url)).state for url in URLS]
    assert states.count(State.DUPLICATE) == 1
    assert (await subject.world.index.search("first"))[0] == 19


async def test_restart_continues(clock):
    web = Web(clock, texts())
    store, index = MemoryStore(), MemoryIndex()
    first = engine(clock, web, URLS, store=store, index=index, budget=20.0)
    await run_for(first, clock, 5.0)
    again = engine(clock, web, URLS, store=store, index=index, budget=20.0)
    await run_for(again, clock, 0.2)
    assert len(again.scheduler) == 20
    assert again.replayed == 0
    untouched = [url for url in URLS if url not in {url for url, _ in web.accesses[-8:]}]
    ours, theirs = (
        subject.scheduler.table.belief.evidence([subject.scheduler.table.slot[url] for url in untouched])
        for subject in (again, first)
    )
    assert len(untouched) > 10
    assert np.abs(theirs).max() > 1.0
    assert ours == pytest.approx(theirs, rel=1e-3, abs=1e-3)


async def test_damaged_index_is_built_anew(clock):
    web = Web(clock, texts())
    store, index = MemoryStore(), MemoryIndex()
    await run_for(engine(clock, web, URLS, store=store, index=index, budget=40.0), clock, 2.0)
    await index.clear()
    subject = engine(clock, web, URLS, store=store, index=index, budget=40.0)
    await run_for(subject, clock, 0.5)
    assert subject.replayed == 20
    assert (await index.search("first"))[0] == 20


async def test_grace_time_cancels_what_hangs(clock):
    web = Web(clock, texts(), access_seconds=1e6)
    subject = engine(clock, web, URLS, grace_seconds=1.0)
    begun = clock.monotonic()
    await run_for(subject, clock, 0.5)
    assert clock.monotonic() - begun < 3.0
    assert not subject.robots.in_flight


async def test_thresholds_switch_robots(clock):
    from recrawl.control import Policy

    async def slow(_delivery):
        await clock.sleep(0.1)

    web = Web(clock, texts())
    subject = engine(
        clock, web, URLS, capacity=8, delay=slow, batch=1, control="thresholds", policy=Policy((4, 1), (2,))
    )
    await run_for(subject, clock, 10.0)
    assert subject.controller.table == (4, 4, 4, 1, 1, 1, 1, 1, 1)
    assert 1.0 <= subject.final[0]["active_robots"].value < 2.0
