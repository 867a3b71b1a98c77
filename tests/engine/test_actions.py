"""What people do with a running engine."""

import asyncio
from contextlib import asynccontextmanager

import pytest
from tests.engine.fakes import Web, advance, engine

from recrawl.backends.memory import ManualClock, MemoryIndex, MemoryStore
from recrawl.engine.actions import load_paused
from recrawl.engine.records import State
from recrawl.errors import ConfigError

URLS = [f"http://{site}.example/{i}" for site in "ab" for i in range(10)]


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
def web(clock):
    return Web(clock, {url: f"text of {url}" for url in URLS})


@asynccontextmanager
async def running(clock, subject):
    stopping = asyncio.Event()
    task = asyncio.ensure_future(subject.run(stopping))
    while not subject.running and not task.done():
        await asyncio.sleep(0.001)
    try:
        yield subject
    finally:
        stopping.set()
        for _ in range(400):
            await advance(clock, 0.05, 0.05)
            if task.done():
                break
        await task


def accessed(web, since, site):
    return [url for url, time in web.accesses if time > since and f"//{site}." in url]


async def test_a_paused_site_is_left_alone_and_the_budget_goes_elsewhere(clock, web):
    store = MemoryStore()
    async with running(clock, engine(clock, web, URLS, store=store, budget=20.0)) as subject:
        await advance(clock, 3.0, 0.05)
        assert await subject.actions.pause("a.example")
        assert not await subject.actions.pause("a.example")
        begun = clock.time() + 0.1  # an access that runs is finished
        await advance(clock, 5.0, 0.05)
        assert accessed(web, begun, "a") == []
        assert len(accessed(web, begun, "b")) >= 90
        assert await subject.actions.resume("a.example")
        resumed = clock.time()
        await advance(clock, 3.0, 0.05)
        assert accessed(web, resumed, "a")
        assert await load_paused(store) == set()


async def test_a_pause_survives_a_restart(clock, web):
    store, index = MemoryStore(), MemoryIndex()
    async with running(clock, engine(clock, web, URLS, store=store, index=index, budget=20.0)) as subject:
        await advance(clock, 2.0, 0.05)
        await subject.actions.pause("b.example")
    begun = clock.time()
    async with running(clock, engine(clock, web, URLS, store=store, index=index, budget=20.0)) as subject:
        assert subject.actions.paused == {"b.example"}
        await advance(clock, 3.0, 0.05)
        assert accessed(web, begun, "b") == []
        assert accessed(web, begun, "a")


async def test_unknown_sites_and_pages_are_named(clock, web):
    async with running(clock, engine(clock, web, URLS, budget=20.0)) as subject:
        await advance(clock, 1.0, 0.05)
        with pytest.raises(ConfigError, match=r"c\.example: this site is not known"):
            await subject.actions.pause("c.example")
        with pytest.raises(ConfigError, match="not scheduled"):
            subject.actions.visit("http://a.example/none")
        assert not subject.actions.signal("http://a.example/none", None)


async def test_a_page_that_is_to_be_visited_comes_first(clock, web):
    async with running(clock, engine(clock, web, URLS, budget=2.0)) as subject:
        await advance(clock, 15.0, 0.05)
        last = max(URLS, key=lambda url: subject.scheduler.table.due[subject.scheduler.table.slot[url]])
        asked = clock.time()
        assert subject.actions.visit(last)
        await advance(clock, 1.2, 0.05)
        assert next(url for url, time in web.accesses if time > asked + 0.02) == last


async def test_a_signal_moves_the_due_time(clock, web):
    async with running(clock, engine(clock, web, URLS, budget=2.0)) as subject:
        await advance(clock, 15.0, 0.05)
        table = subject.scheduler.table
        url = max(URLS, key=lambda url: table.due[table.slot[url]])
        before = float(table.due[table.slot[url]])
        assert subject.actions.signal(url, None)
        assert table.due[table.slot[url]] < before
        known = float(table.last[table.slot[URLS[0]]])
        assert not subject.actions.signal(URLS[0], known - 1.0)  # the copy is younger than that change


async def test_unknown_pages_of_a_signal_are_found(clock, web):
    async with running(clock, engine(clock, web, URLS[:10], budget=20.0)) as subject:
        await advance(clock, 2.0, 0.05)
        assert await subject.actions.discover([URLS[10], URLS[0]]) == 1
        await advance(clock, 2.0, 0.05)
        assert (await subject.world.store.page(URLS[10])).accesses > 0


async def test_a_weight_is_kept_and_used(clock, web):
    store = MemoryStore()
    async with running(clock, engine(clock, web, URLS, store=store, budget=10.0)) as subject:
        await advance(clock, 4.0, 0.05)
        await subject.actions.set_weight(await store.page(URLS[3]), 7.5)
        assert (await store.page(URLS[3])).weight == 7.5
        assert subject.scheduler.table.weight[subject.scheduler.table.slot[URLS[3]]] == 7.5
    again = engine(clock, web, URLS, store=store, budget=10.0)
    async with running(clock, again):
        assert again.scheduler.table.weight[again.scheduler.table.slot[URLS[3]]] == 7.5


async def test_a_removed_page_stays_away(clock, web):
    web.links = {URLS[0]: [URLS[3]]}
    store, index = MemoryStore(), MemoryIndex()
    async with running(clock, engine(clock, web, URLS, store=store, index=index, budget=20.0)) as subject:
        await advance(clock, 4.0, 0.05)
        await subject.actions.remove(await store.page(URLS[3]))
        removed = clock.time()
        await advance(clock, 4.0, 0.05)
        record = await store.page(URLS[3])
        assert (record.state, record.digest, record.reason) == (State.EXCLUDED, None, "removed by hand")
        assert URLS[3] not in [url for url, time in web.accesses if time > removed + 0.02]
        assert not [hit for hit in (await index.search("3"))[1] if hit.url == URLS[3]]
        assert (await store.revisions(0, 1000))[-1].kind == "removed"


async def test_another_budget(clock, web):
    async with running(clock, engine(clock, web, URLS, budget=2.0)) as subject:
        await advance(clock, 5.0, 0.05)
        await subject.actions.set_budget(20.0)
        begun = clock.time()
        await advance(clock, 5.0, 0.05)
        assert len([1 for _, time in web.accesses if time > begun]) == pytest.approx(100, abs=8)
        assert subject.scheduler.plan.budget == 20.0
    async with running(clock, engine(clock, web, URLS)) as subject:
        with pytest.raises(ConfigError, match="--budget"):
            await subject.actions.set_budget(1.0)
