"""Troubles of the machine and of the network: the engine goes on, or stops and says why; nothing is damaged."""

import asyncio
import random
import sqlite3

import pytest
from tests.engine.fakes import Web, advance, engine, run_for

from recrawl.backends.memory import ManualClock, MemoryIndex, MemoryStore
from recrawl.backends.sqlite import SqliteStore, _files
from recrawl.backends.tantivy import TantivyIndex
from recrawl.engine.options import PolitenessOptions
from recrawl.engine.politeness import Politeness
from recrawl.engine.records import Outcome, State
from recrawl.errors import StoreError

URLS = [f"http://a.example/{i}" for i in range(20)]


@pytest.fixture
def clock():
    return ManualClock()


def texts(word="first"):
    return {url: f"{word} page {url.rsplit('/', 1)[1]}" for url in URLS}


def first_error(group):
    while isinstance(group, BaseExceptionGroup):
        group = group.exceptions[0]
    return group


class Stoppable:
    """An engine that runs in the background, so that a test can interfere."""

    def __init__(self, subject, clock):
        self.subject, self.clock = subject, clock
        self.stopping = asyncio.Event()
        self.task = asyncio.ensure_future(subject.run(self.stopping))

    async def __aenter__(self):
        while not self.subject.running and not self.task.done():
            await asyncio.sleep(0.001)
        return self

    async def __aexit__(self, *_error):
        self.stopping.set()
        for _ in range(2000):
            if self.task.done():
                break
            await advance(self.clock, 0.05, 0.05)
        await self.task


# The disk.


async def test_a_full_disk_stops_the_engine_with_a_message_and_damages_nothing(clock, tmp_path):
    path = tmp_path / "store.db"
    web = Web(clock, {url: f"page {url} " + random.Random(url).randbytes(8000).hex() for url in URLS})
    store = SqliteStore(path)
    (pages,) = store._writer._connection.execute("PRAGMA page_count").fetchone()
    store._writer._connection.execute(f"PRAGMA max_page_count = {pages + 8}")
    with pytest.raises(BaseExceptionGroup) as caught:
        await run_for(engine(clock, web, URLS, store=store, budget=40.0), clock, 3.0)
    error = first_error(caught.value)
    assert isinstance(error, StoreError)
    assert "disk is full" in str(error)
    await store.close()
    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    store, index = SqliteStore(path), MemoryIndex()
    await run_for(engine(clock, web, URLS, store=store, index=index, budget=40.0), clock, 3.0)
    assert (await index.search("page"))[0] == 20
    await store.close()


class Full(MemoryIndex):
    """An index whose disk is full for so many writes."""

    def __init__(self, times):
        super().__init__()
        self.left = times

    async def apply(self, revisions):
        if self.left:
            self.left -= 1
            await super().apply(revisions[: len(revisions) // 2])  # part of it is applied, and forgotten
            self._pending = {} if hasattr(self, "_pending") else None
            raise StoreError(
                "index could not be written: the disk is full; free some space, nothing was damaged"
            )
        await super().apply(revisions)


async def test_an_index_that_cannot_be_written_for_a_while_catches_up(clock):
    index = Full(times=2)
    subject = engine(clock, Web(clock, texts()), URLS, index=index, budget=40.0, commit_seconds=0.2)
    await run_for(subject, clock, 6.0)
    assert index.left == 0
    assert (await index.search("first"))[0] == 20
    assert await index.watermark() == await subject.world.store.last_revision()


async def test_an_index_that_can_never_be_written_stops_the_engine(clock):
    subject = engine(
        clock, Web(clock, texts()), URLS, index=Full(times=10**9), budget=40.0, commit_seconds=0.1
    )
    with pytest.raises(BaseExceptionGroup) as caught:
        await run_for(subject, clock, 30.0)
    assert "disk is full" in str(first_error(caught.value))


# The database.


async def test_a_database_that_is_locked_for_a_while_is_waited_for(clock, tmp_path):
    store = SqliteStore(tmp_path / "store.db")
    web = Web(clock, texts())
    async with Stoppable(engine(clock, web, URLS, store=store, budget=40.0), clock):
        other = sqlite3.connect(tmp_path / "store.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        await advance(clock, 1.0, 0.05)
        held = (await store.statistics())["accesses"]
        other.execute("ROLLBACK")
        other.close()
        await advance(clock, 2.0, 0.05)
        assert (await store.statistics())["accesses"] != held
    assert [page.state for page in [page async for page in store.pages()]] == [State.KNOWN] * 20
    await store.close()


async def test_a_database_that_stays_locked_stops_the_engine(clock, tmp_path, monkeypatch):
    monkeypatch.setattr(_files, "_PATIENCE", 0.1)
    store = SqliteStore(tmp_path / "store.db")
    other = sqlite3.connect(tmp_path / "store.db", isolation_level=None)
    with pytest.raises(BaseExceptionGroup) as caught:  # noqa: PT012
        async with Stoppable(
            engine(clock, Web(clock, texts()), URLS, store=store, budget=40.0), clock
        ) as run:
            other.execute("BEGIN IMMEDIATE")
            while not run.task.done():
                await advance(clock, 0.2, 0.05)
    assert "another program has locked it" in str(first_error(caught.value))
    other.close()
    await store.close()


# The network.


class Unplugged(Web):
    """A web that cannot be reached from one time to another."""

    def __init__(self, clock, texts, begin, end):
        super().__init__(clock, texts)
        self.begin, self.end = clock.time() + begin, clock.time() + end
        self.failed = 0

    async def access(self, page):
        if self.begin <= self.clock.time() < self.end:
            self.failed += 1
            self.outcomes[page.url] = Outcome.FAILED
        else:
            self.outcomes.pop(page.url, None)
        return await super().access(page)


async def test_names_that_do_not_resolve_for_a_while(clock):
    web = Unplugged(clock, texts(), 2.0, 40.0)
    subject = engine(clock, web, URLS, budget=20.0)
    async with Stoppable(subject, clock):
        await advance(clock, 30.0, 0.25)
        assert (await subject.world.index.search("first"))[0] == 20  # the copy is kept
        web.texts |= {URLS[3]: "second page 3"}
        assert web.failed < 60  # back-off: ten seconds, then twenty
        await advance(clock, 60.0, 0.25)
        assert (await subject.world.index.search("second"))[0] == 1
    states = [page.state for page in [page async for page in subject.world.store.pages()]]
    assert states == [State.KNOWN] * 20


async def test_a_site_that_is_away_for_a_week(clock, monkeypatch):
    from recrawl.engine import engine as parts

    for name in ("_LOOK_SECONDS", "_CLOCK_SECONDS", "_LEASE_NOTE_SECONDS"):
        monkeypatch.setattr(parts, name, 3600.0)  # a week of the clock's time in a second
    day = 86400.0
    web = Unplugged(clock, texts(), 0.5 * day, 7.5 * day)
    store, index = MemoryStore(), MemoryIndex()
    options = PolitenessOptions(
        min_delay_seconds=0.0, max_concurrency=4, backoff_seconds=60.0, max_backoff_seconds=day
    )
    subject = engine(
        clock,
        web,
        URLS,
        store=store,
        index=index,
        budget=200 / day,
        politeness=Politeness(clock, options, {}),
        status_seconds=3600.0,
        replan_seconds=3600.0,
    )
    async with Stoppable(subject, clock):
        await advance(clock, 7.4 * day, 7200.0)
        assert (await index.search("first"))[0] == 20
        assert web.failed < 400  # of 1,400 that the budget allowed
        web.texts = texts("second")
        await advance(clock, 2.0 * day, 7200.0)
        assert (await index.search("second"))[0] == 20
    assert all(
        page.state is State.KNOWN and page.failures == 0 for page in [page async for page in store.pages()]
    )


# The clock.


class Jumping(ManualClock):
    """A clock on the wall that somebody sets."""

    offset = 0.0

    def time(self):
        return super().time() + self.offset


@pytest.mark.parametrize("policy", ["optimal", "poisson"])
@pytest.mark.parametrize("jump", [-3e7, 3600.0])
async def test_a_clock_that_is_set(jump, policy):
    from recrawl.engine.scheduler import SchedulerSettings

    clock = Jumping()
    web = Web(clock, texts())
    settings = SchedulerSettings(policy=policy)
    subject = engine(clock, web, URLS, budget=20.0, scheduler=settings)
    async with Stoppable(subject, clock):
        await advance(clock, 3.0, 0.1)
        clock.offset = jump
        await advance(clock, 1.2, 0.1)
        web.texts = texts("second")
        before = len(web.accesses)
        await advance(clock, 4.0, 0.1)
        assert len(web.accesses) - before > 60  # the budget is spent as before
        assert {url for url, _ in web.accesses[before:]} == set(URLS)  # on every page
        assert (await subject.world.index.search("second"))[0] == 20
    again = engine(clock, web, URLS, store=subject.world.store, budget=20.0, scheduler=settings)
    before = len(web.accesses)
    await run_for(again, clock, 3.0)
    assert {url for url, _ in web.accesses[before:]} == set(URLS)


# The index.


@pytest.mark.parametrize("damage", ["meta", "segment", "truncated", "removed"])
async def test_an_index_damaged_while_stopped_is_built_anew(clock, tmp_path, damage):
    web, store = Web(clock, texts()), MemoryStore()
    index = TantivyIndex(tmp_path / "index")
    await run_for(engine(clock, web, URLS, store=store, index=index, budget=40.0), clock, 2.0)
    assert (await index.search("first"))[0] == 20
    await index.close()
    files = {file.suffix: file for file in (tmp_path / "index").iterdir()}
    if damage == "meta":
        (tmp_path / "index" / "meta.json").write_text("{ nothing of use")
    elif damage == "segment":
        data = bytearray(files[".store"].read_bytes())
        data[len(data) // 3] ^= 0xFF
        files[".store"].write_bytes(bytes(data))
    elif damage == "truncated":
        files[".term"].write_bytes(files[".term"].read_bytes()[:20])
    else:
        files[".pos"].unlink()
    index = TantivyIndex(tmp_path / "index")
    subject = engine(clock, web, URLS, store=store, index=index, budget=40.0)
    await run_for(subject, clock, 1.0)
    assert subject.follower.rebuilt
    assert (await index.search("first"))[0] == 20
    await index.verify()
    await index.close()


async def test_files_left_by_a_killed_commit_are_cleared_away(clock, tmp_path):
    """tantivy refuses to write a file that is there already; the index is then built anew, not given up."""

    class Left:
        """The writer of an index in whose directory the next file is there already."""

        def __init__(self, inner):
            self.inner = inner

        def __getattr__(self, name):
            return getattr(self.inner, name)

        def commit(self):
            self.inner = None  # what the error holds on to must not hold the lock
            raise ValueError("Failed to open file for write: 'FileAlreadyExists(\"0f3a.idx\")'")

    web, index = Web(clock, texts()), TantivyIndex(tmp_path / "index")
    subject = engine(clock, web, URLS, index=index, budget=40.0, commit_seconds=0.2)
    apply, times = index._apply, []

    def once(revisions):
        apply(revisions)
        if not times:
            times.append(1)
            index._writer = Left(index._writer)

    index._apply = once
    await run_for(subject, clock, 4.0)
    assert subject.follower.rebuilt
    assert (await index.search("first"))[0] == 20
    assert await index.watermark() == await subject.world.store.last_revision()
    await index.close()
