"""What is SQLite's own: files, locks, versions, a full disk, readers beside the engine."""

import asyncio
import random
import re
import signal
import sqlite3
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from recrawl.backends import open_store
from recrawl.backends.sqlite import SqliteStore, _files
from recrawl.backends.sqlite._files import LAYOUT, QUERIES
from recrawl.engine.records import Outcome
from recrawl.errors import StoreError

URL = "http://x.test/{}".format


@pytest.fixture
def path(tmp_path):
    return tmp_path / "data" / "store.sqlite3"


@pytest.fixture
async def store(path):
    opened = SqliteStore(path)
    yield opened
    await opened.close()


async def everything(store):
    pages = [page async for page in store.pages()]
    texts = [await store.text(page.url) for page in pages]
    return pages, texts, await store.revisions(0, 1000), await store.load("plan")


async def everything_of(path):
    store = SqliteStore(path)
    try:
        return await everything(store)
    finally:
        await store.close()


class TestOneFile:
    async def test_everything_is_there_after_reopening(self, path, make):
        store = SqliteStore(path)
        await store.add([make.page("a", weight=2.0), make.page("b")])
        await store.record([make.finding("a", text="hello " * 100, links=["b", "c"], belief=b"1")])
        await store.save("plan", b"x")
        before = await everything(store)
        await store.lease([URL("b")], until=5e9)
        assert (await store.page(URL("b"))).leased_until == 5e9
        await store.close()
        assert sorted(file.name for file in path.parent.iterdir()) == ["store.sqlite3", "store.sqlite3.lock"]
        store = SqliteStore(path)
        assert await everything(store) == before  # without the lease: who had it is dead
        await store.close()

    async def test_texts_are_packed(self, store, path, make):
        await store.add([make.page("long"), make.page("short")])
        await store.record([make.finding("long", text="word " * 10_000), make.finding("short", text="word")])
        with sqlite3.connect(path) as raw:
            sizes = raw.execute("SELECT packed, length(body) FROM texts ORDER BY page").fetchall()
        raw.close()
        assert sizes[0][0] == 2  # zstd
        assert sizes[0][1] < 5_000
        assert sizes[1] == (0, 4)

    async def test_what_is_remembered_is_bounded(self, store, make, monkeypatch):
        monkeypatch.setattr("recrawl.backends.sqlite._recorder._REMEMBERED", 3)
        await store.add([make.page(name) for name in "ab"])
        links = [[make.page(f"{name}{n}") for n in range(5)] for name in "ab"]
        pages = await store.record(
            [
                replace(make.finding(name, text=name), found=tuple(found))
                for name, found in zip("ab", links, strict=True)
            ]
        )
        assert [page.in_links for page in pages] == [0, 0] + [1] * 10
        for at in range(5):
            await store.record([make.finding(f"a{at}", text=f"text {at}")])
        assert len(store._numbers) <= 3 + 5

    async def test_replaced_entries_are_forgotten(self, path, make):
        store = SqliteStore(path, keep_replaced=3)
        await store.add([make.page("a"), make.page("b")])
        await store.record([make.finding("b", text="stays")])
        for at in range(1, 11):
            await store.record([make.finding("a", float(at), text=f"text {at}")])
        numbers = [entry.number for entry in await store.revisions(0, 100)]
        assert numbers == [1, 8, 9, 10, 11]
        await store.close()

    async def test_a_caller_that_gave_up(self, store, make):
        await store.add([make.page("a")])
        task = asyncio.create_task(store.record([make.finding("a", text="one")]))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await store.save("later", b"1")  # behind it in the queue
        assert await store.last_revision() == 1

    async def test_more_callers_than_the_queue_has_room(self, store, make):
        await asyncio.gather(*(store.add([make.page(f"p{n}")]) for n in range(1000)))
        assert (await store.statistics())["pages"]["known"] == 1000

    async def test_values_that_cannot_be_written(self, store, make):
        good = store.add([make.page("good")])
        bad = store.add([make.page("bad", depth=2**70)])
        worse = store.add([make.page("\udcff")])
        results = await asyncio.gather(good, bad, worse, return_exceptions=True)
        assert len(results[0]) == 1
        assert isinstance(results[1], OverflowError)
        assert isinstance(results[2], UnicodeEncodeError)
        assert [page.url async for page in store.pages()] == [URL("good")]


class TestFeedSurvives:
    async def test_entries_wait_for_the_disk_before_they_are_handed_out(self, store, path, make):
        await store.add([make.page()])
        await store.record([make.finding(text="one")])
        reader = SqliteStore(path, read_only=True)
        assert await reader.last_revision() == 1
        assert await reader.revisions(0, 10) == []  # might still be lost with the power
        statements = []
        store._writer._connection.set_trace_callback(statements.append)
        assert len(await store.revisions(0, 10)) == 1
        store._writer._connection.set_trace_callback(None)
        assert statements[0] == "PRAGMA synchronous = full"
        assert statements[-2:] == ["COMMIT", "PRAGMA synchronous = normal"]
        assert len(await reader.revisions(0, 10)) == 1
        await reader.close()

    async def test_no_needless_waiting(self, store, make):
        await store.add([make.page()])
        await store.record([make.finding(text="one")])
        await store.revisions(0, 10)
        statements = []
        store._writer._connection.set_trace_callback(statements.append)
        await store.revisions(0, 10)
        await store.record([make.finding(at=200.0, text="two")])
        store._writer._connection.set_trace_callback(None)
        assert not any("full" in statement for statement in statements)


OWNER = """
import sys, time
from pathlib import Path
from recrawl.backends.sqlite import SqliteStore
store = SqliteStore(Path(sys.argv[1]))
print("ready", flush=True)
time.sleep(60)
"""


class TestOneEngine:
    @pytest.mark.usefixtures("store")
    async def test_a_second_engine_is_refused(self, path):
        with pytest.raises(StoreError, match=r"in use by another engine \(process \d+\)"):
            SqliteStore(path)

    async def test_the_first_goes_on(self, store, path, make):
        with pytest.raises(StoreError):
            SqliteStore(path)
        assert len(await store.add([make.page()])) == 1

    def test_in_another_process_until_it_dies(self, path):
        with subprocess.Popen(
            [sys.executable, "-c", OWNER, path], stdout=subprocess.PIPE, text=True
        ) as owner:
            assert owner.stdout.readline() == "ready\n"
            with pytest.raises(StoreError, match=rf"process {owner.pid}\)"):
                SqliteStore(path)
            owner.send_signal(signal.SIGKILL)
        asyncio.run(SqliteStore(path).close())

    async def test_a_refused_file_leaves_no_lock(self, path):
        path.parent.mkdir()
        path.write_text("this is no database, but long enough to be taken for one" * 20)
        for _ in range(2):
            with pytest.raises(StoreError, match="damaged or not a store"):
                SqliteStore(path)


class TestReaders:
    async def test_beside_the_engine(self, store, path, make):
        reader = open_store(path, read_only=True)
        await store.add([make.page()])
        assert (await reader.page(URL("a"))).accesses == 0
        await store.record([make.finding(text="one")])
        assert (await reader.text(URL("a"))).text == "one"
        assert (await reader.statistics())["searchable"] == 1
        await reader.close()

    @pytest.mark.usefixtures("store")
    async def test_they_write_nothing(self, path, make):
        reader = open_store(path, read_only=True)
        for call in (
            reader.add([make.page()]),
            reader.record([]),
            reader.save("a", b""),
            reader.lease([], 1.0),
        ):
            with pytest.raises(StoreError, match="opened for reading"):
                await call
        await reader.close()

    async def test_after_the_engine(self, path, make):
        store = SqliteStore(path)
        await store.add([make.page()])
        await store.close()
        reader = open_store(path, read_only=True)
        assert await reader.page(URL("a")) is not None
        await reader.close()

    def test_nothing_there(self, path):
        with pytest.raises(StoreError, match="there is none"):
            open_store(path, read_only=True)
        assert not path.parent.exists()

    async def test_a_directory_that_cannot_be_written(self, path, make, monkeypatch):
        """WAL has no place for its files there; the complete file is read as it is."""
        store = SqliteStore(path)
        await store.add([make.page()])
        await store.close()
        connect = _files._connect

        def without_shared_memory(file, mode):
            if "immutable" not in mode:
                raise sqlite3.OperationalError("unable to open database file")
            return connect(file, mode)

        monkeypatch.setattr(_files, "_connect", without_shared_memory)
        monkeypatch.setattr(_files.os, "access", lambda *_: False)
        reader = open_store(path, read_only=True)
        assert await reader.page(URL("a")) is not None
        await reader.close()
        path.with_name(path.name + "-wal").write_bytes(b"left behind")
        with pytest.raises(StoreError):
            open_store(path, read_only=True)


class TestVersions:
    def make_file(self, path, script):
        path.parent.mkdir(exist_ok=True)
        connection = sqlite3.connect(path)
        connection.executescript(script)
        connection.close()

    @pytest.mark.parametrize("read_only", [False, True])
    async def test_a_newer_layout(self, path, read_only):
        await SqliteStore(path).close()
        self.make_file(path, f"PRAGMA user_version = {LAYOUT + 1}")
        before = path.read_bytes()
        with pytest.raises(StoreError, match=r"newer recrawl.*upgrade"):
            SqliteStore(path, read_only=read_only)
        assert path.read_bytes() == before

    @pytest.mark.parametrize("read_only", [False, True])
    def test_a_file_of_somebody_else(self, path, read_only):
        self.make_file(path, "CREATE TABLE songs (name)")
        before = path.read_bytes()
        with pytest.raises(StoreError, match="not a store of recrawl"):
            SqliteStore(path, read_only=read_only)
        assert path.read_bytes() == before

    async def test_an_older_layout_is_upgraded_by_the_engine_only(self, path, make, monkeypatch):
        store = SqliteStore(path)
        await store.add([make.page()])
        await store.close()
        newer = [*_files._MIGRATIONS, (LAYOUT + 1, "-- one\nCREATE TABLE one (a);\nCREATE TABLE two (a);")]
        monkeypatch.setattr(_files, "_MIGRATIONS", newer)
        monkeypatch.setattr(_files, "LAYOUT", LAYOUT + 1)
        with pytest.raises(StoreError, match="older"):
            SqliteStore(path, read_only=True)
        store = SqliteStore(path)
        assert await store.page(URL("a")) is not None
        await store.close()
        reader = SqliteStore(path, read_only=True)
        await reader.close()

    async def test_a_migration_that_fails_changes_nothing(self, path, monkeypatch):
        await SqliteStore(path).close()
        newer = [*_files._MIGRATIONS, (LAYOUT + 1, "CREATE TABLE one (a);\nCREATE TABLE pages (a);")]
        with monkeypatch.context() as patch:
            patch.setattr(_files, "_MIGRATIONS", newer)
            with pytest.raises(StoreError, match="pages already exists"):
                SqliteStore(path)
        connection = sqlite3.connect(path)
        assert connection.execute("PRAGMA user_version").fetchone() == (LAYOUT,)
        assert connection.execute("SELECT * FROM sqlite_master WHERE name = 'one'").fetchall() == []
        connection.close()
        await SqliteStore(path).close()

    def test_migrations_are_numbered_without_gaps(self):
        assert [number for number, _ in _files._MIGRATIONS] == list(range(1, LAYOUT + 1))


class TestTrouble:
    async def test_a_full_disk(self, store, make):
        await store.add([make.page(f"p{n}") for n in range(20)])
        await store.record([make.finding("p0", text="before")])
        connection = store._writer._connection
        (size,) = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count = {size + 2}")
        noise = random.Random(1).randbytes(50_000).hex()
        jobs = [store.record([make.finding(f"p{n}", text=f"{n}{noise}", links=["new"])]) for n in range(1, 5)]
        results = await asyncio.gather(*jobs, return_exceptions=True)
        assert all(isinstance(result, StoreError) for result in results)
        assert "disk is full" in str(results[0])
        # Nothing is half written, reading goes on, and so does writing once there is space.
        assert await store.last_revision() == 1
        assert await store.page(URL("new")) is None
        assert [(await store.page(URL(f"p{n}"))).accesses for n in range(5)] == [1, 0, 0, 0, 0]
        connection.execute("PRAGMA max_page_count = 1000000")
        await store.record([make.finding("p1", text=f"1{noise}", links=["new"])])
        assert await store.last_revision() == 2
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)

    async def test_another_program_holds_the_file(self, path, make, monkeypatch):
        monkeypatch.setattr(_files, "_PATIENCE", 0.1)
        store = SqliteStore(path)
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="another program has locked it"):
            await store.add([make.page()])
        assert await store.page(URL("a")) is None  # reading goes on
        other.execute("ROLLBACK")
        other.close()
        assert len(await store.add([make.page()])) == 1
        await store.close()

    async def test_a_damaged_file(self, path, make):
        store = SqliteStore(path)
        await store.add([make.page(f"p{n}") for n in range(2000)])
        await store.close()
        data = bytearray(path.read_bytes())
        data[8192:] = b"\xff" * (len(data) - 8192)
        path.write_bytes(data)
        with pytest.raises(StoreError, match="damaged"):
            await everything_of(path)

    def test_a_path_that_cannot_be_made(self, tmp_path):
        (tmp_path / "file").write_text("")
        with pytest.raises(StoreError, match="file"):
            SqliteStore(tmp_path / "file" / "store.sqlite3")

    async def test_clocks_that_jump_back(self, store, make):
        """Accesses are taken in the order in which they are recorded, whatever their times say."""
        await store.add([make.page()])
        await store.record([make.finding(at=1000.0, text="one")])
        (page,) = await store.record([make.finding(at=500.0, text="two")])
        assert (page.last_access, page.changes, page.revision) == (500.0, 1, 2)
        (page,) = await store.record([make.finding(at=600.0, outcome=Outcome.FAILED, changed=False)])
        assert page.failures == 1


class TestSql:
    async def test_every_query_is_valid_and_used(self, store):
        connection = store._writer._connection
        room = Path(_files.__file__).parent
        used = set(
            re.findall(r'(?:QUERIES\[|_rows\()"(\w+)"', "".join(f.read_text() for f in room.glob("*.py")))
        )
        assert set(QUERIES) == used
        for query in QUERIES.values():
            places = [None] * query.count("?")
            names = dict.fromkeys(re.findall(r":(\w+)", query))
            connection.execute(f"EXPLAIN {query}", names or places)

    async def test_no_query_walks_a_whole_table(self, store):
        """Except those that are meant to, and the small tables."""
        connection = store._writer._connection
        for name, query in QUERIES.items():
            places = [None] * query.count("?")
            names = dict.fromkeys(re.findall(r":(\w+)", query))
            plan = connection.execute(f"EXPLAIN QUERY PLAN {query}", names or places).fetchall()
            steps = [row[3] for row in plan if row[3].startswith("SCAN")]
            steps = [step for step in steps if "VIRTUAL TABLE" not in step and "totals" not in step]
            assert not [step for step in steps if "CONSTANT ROW" not in step], name

    def test_the_wheel_has_the_sql(self, tmp_path):
        from hatchling.builders.wheel import WheelBuilder

        root = Path(__file__).parents[3]
        (wheel,) = WheelBuilder(str(root)).build(directory=str(tmp_path))
        names = zipfile.ZipFile(wheel).namelist()
        assert "recrawl/backends/sqlite/sql/queries.sql" in names
        assert "recrawl/backends/sqlite/sql/migrations/0001_first.sql" in names
