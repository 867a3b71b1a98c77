"""Pages that are handed out, and what the store is told of them."""

import asyncio

from tests.engine.fakes import Web, advance, engine, run_for

from recrawl.backends.memory import ManualClock, MemoryStore
from recrawl.engine.leases import Leases
from recrawl.engine.scheduler import SchedulerSettings, Ticket

URLS = [f"http://a.example/{i}" for i in range(8)]


def ticket(slot, handed=0.0):
    return Ticket(f"u{slot}", slot, "a.example", handed, 0.0)


def test_the_store_is_told_of_pages_that_are_still_out():
    leases = Leases(300.0)
    for slot in range(3):
        leases.begin(ticket(slot))
    leases.end(1)  # recorded before anybody was told
    assert leases.news() == (["u0", "u2"], [])
    leases.end(0)  # recorded: the store has ended the lease itself
    leases.end(2, recorded=False)
    assert leases.news() == ([], ["u2"])
    assert leases.news() == ([], [])


def test_leases_end():
    leases = Leases(300.0)
    leases.begin(ticket(1, 0.0))
    leases.begin(ticket(2, 10.0))
    leases.end(1)
    leases.begin(ticket(1, 50.0))  # again: the first lease counts no more
    assert leases.next_end() == 300.0
    assert [t.slot for t in leases.expired(320.0)] == [2]
    assert [t.slot for t in leases.expired(350.0)] == [1]
    assert leases.ended == 2


class Counting(MemoryStore):
    """Counts writes of leases."""

    def __init__(self):
        super().__init__()
        self.calls = []

    async def lease(self, urls, until):
        self.calls.append((sorted(urls), until))
        await super().lease(urls, until)


async def test_quick_accesses_cost_no_write_of_their_own():
    clock = ManualClock()
    store = Counting()
    web = Web(clock, {url: f"page {url[-1]}" for url in URLS}, access_seconds=0.01)
    await run_for(engine(clock, web, URLS, store=store, budget=50.0), clock, 4.0)
    assert len(web.accesses) > 180
    assert sum(len(urls) for urls, _ in store.calls) < 20


async def test_slow_accesses_are_noted_and_ended():
    clock = ManualClock()
    store = Counting()
    web = Web(clock, {url: f"page {url[-1]}" for url in URLS}, access_seconds=30.0)
    subject = engine(clock, web, URLS, store=store, robots=4)
    stopping = asyncio.Event()
    task = asyncio.ensure_future(subject.run(stopping))
    while not subject.running:
        await asyncio.sleep(0.001)
    await advance(clock, 5.0, 0.5)
    held = [page.url for page in [page async for page in store.pages()] if page.leased_until is not None]
    assert len(held) == 4
    assert all(urls == sorted(held) for urls, _ in store.calls)
    stopping.set()
    while not task.done():
        await advance(clock, 1.0, 0.5)
    await task
    assert all(page.leased_until is None for page in [page async for page in store.pages()])


async def test_a_page_that_another_engine_has_is_left_alone():
    """In a store that several engines share, leases of others hold until they end."""
    clock = ManualClock()
    store = MemoryStore()
    web = Web(clock, {url: f"page {url[-1]}" for url in URLS})
    await run_for(engine(clock, web, URLS, store=store, budget=40.0), clock, 2.0)
    await store.lease(URLS[:1], clock.time() + 5.0)
    before = len(web.accesses)
    settings = SchedulerSettings(lease_seconds=1000.0)
    subject = engine(clock, web, [], store=store, budget=40.0, scheduler=settings)
    await run_for(subject, clock, 3.0, step=0.1)
    assert URLS[0] not in {url for url, _ in web.accesses[before:]}
    assert URLS[1] in {url for url, _ in web.accesses[before:]}
    await run_for(engine(clock, web, [], store=store, budget=40.0), clock, 5.0, step=0.1)
    assert URLS[0] in {url for url, _ in web.accesses[before:]}
