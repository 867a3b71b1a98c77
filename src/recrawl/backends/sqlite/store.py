"""The store in one SQLite file: a thread that writes, threads that read, and the records between them."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

from recrawl.backends.sqlite._files import QUERIES, EngineLock, explained, open_reader, open_writer
from recrawl.backends.sqlite._history import accesses_of, note_history, read_history
from recrawl.backends.sqlite._reader import Reader
from recrawl.backends.sqlite._recorder import Recorder, page_of, revision_of
from recrawl.backends.sqlite._writer import Writer
from recrawl.engine.records import Finding, NewPage, PageColumns, PageRecord, Revision, State
from recrawl.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence
    from pathlib import Path

    from recrawl.engine.history import HistoryPoint
    from recrawl.engine.records import AccessNote

__all__ = ["SqliteStore"]

_CHUNK = 5_000  # pages in one read of the whole table
_READERS = 2  # threads, so that a long read does not hold up a short one

T = TypeVar("T")


class SqliteStore:
    """Everything in `path`; one engine writes it, any number of others may look into it with `read_only`.

    `keep_replaced`: entries of the change feed that a later one replaced are forgotten after so many more.
    """

    def __init__(self, path: Path, *, read_only: bool = False, keep_replaced: int = 1_000_000) -> None:
        self._path = path
        self._keep_replaced = keep_replaced
        self._lock: EngineLock | None = None
        self._writer: Writer | None = None
        self._closed = False
        self._numbers: dict[str, int] = {}  # of pages by URL; belongs to the writer's thread
        if not read_only:
            self._open_for_writing()
        else:
            open_reader(path).close()
        self._readers = ThreadPoolExecutor(_READERS, thread_name_prefix="recrawl-store-read")
        self._reader = Reader(path)
        self._local = threading.local()
        self._connections: list[sqlite3.Connection] = []
        self._on_disk = 0  # the newest revision known to survive a power failure

    def _open_for_writing(self) -> None:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._lock = EngineLock(self._path.with_name(self._path.name + ".lock"))
        except (OSError, sqlite3.Error) as error:
            raise StoreError(f"store {self._path}: {error}") from error
        try:
            self._writer = Writer(open_writer(self._path), self._path, undone=self._numbers.clear)
        except BaseException:
            self._lock.release()
            raise

    async def _read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        if self._closed:
            raise StoreError(f"store {self._path} is closed")
        return await asyncio.get_running_loop().run_in_executor(self._readers, self._with_reader, work)

    def _with_reader(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Runs in a reading thread, each of which has its own connection."""
        if not hasattr(self._local, "connection"):
            self._local.connection = open_reader(self._path)
            self._connections.append(self._local.connection)
        try:
            return work(self._local.connection)
        except sqlite3.Error as error:
            raise explained(self._path, error) from error

    async def _write(self, work: Callable[[sqlite3.Connection], T], *, durable: bool = False) -> T:
        if self._closed:
            raise StoreError(f"store {self._path} is closed")
        if self._writer is None:
            raise StoreError(f"store {self._path} was opened for reading")
        return await self._writer.run(work, durable=durable)

    async def _ask(self, query: str, /, **values: Any) -> list[tuple[Any, ...]]:
        """Rows of a query that takes no time."""
        if self._closed:
            raise StoreError(f"store {self._path} is closed")
        return await self._reader.ask(
            lambda connection: connection.execute(QUERIES[query], values).fetchall()
        )

    async def _rows(self, query: str, /, **values: Any) -> list[tuple[Any, ...]]:
        return await self._read(lambda connection: connection.execute(QUERIES[query], values).fetchall())

    async def pages(self) -> AsyncIterator[PageRecord]:
        def read(connection: sqlite3.Connection) -> tuple[int, list[PageRecord]]:
            rows = connection.execute(QUERIES["pages_after"], {"after": last, "limit": _CHUNK}).fetchall()
            return (rows[-1][0] if rows else last), [page_of(row) for row in rows]

        last = 0
        while True:
            last, chunk = await self._read(read)
            if not chunk:
                return
            for page in chunk:
                yield page

    async def scan(self) -> AsyncIterator[PageColumns]:
        last = 0
        while rows := await self._rows("columns_after", after=last, limit=_CHUNK):
            numbers, *columns = zip(*rows, strict=True)
            last = numbers[-1]
            yield PageColumns(*columns)

    async def page(self, url: str) -> PageRecord | None:
        rows = await self._ask("page_by_url", url=url)
        return page_of(rows[0]) if rows else None

    async def some_pages(self, urls: Sequence[str]) -> list[PageRecord | None]:
        rows = await self._rows("pages_by_url", urls=json.dumps(list(urls)))
        known = {row[1]: page_of(row) for row in rows}
        return [known.get(url) for url in urls]

    async def accesses(self, url: str) -> list[AccessNote]:
        return await self._read(lambda connection: accesses_of(connection, url))

    async def note_history(self, time: float, values: Sequence[float]) -> None:
        await self._write(lambda connection: note_history(connection, time, values))

    async def history(self, begin: float, end: float, points: int) -> list[HistoryPoint]:
        return await self._read(lambda connection: read_history(connection, begin, end, points))

    async def add(self, pages: Sequence[NewPage]) -> list[PageRecord]:
        def work(connection: sqlite3.Connection) -> list[PageRecord]:
            recorder = Recorder(connection, self._keep_replaced, self._numbers)
            fresh, _ = recorder.add(pages)
            recorder.finish()
            return fresh

        return await self._write(work)

    async def record(self, findings: Sequence[Finding]) -> list[PageRecord]:
        def work(connection: sqlite3.Connection) -> list[PageRecord]:
            recorder = Recorder(connection, self._keep_replaced, self._numbers)
            pages = recorder.record(findings)
            recorder.finish()
            return pages

        return await self._write(work)

    async def lease(self, urls: Sequence[str], until: float) -> None:
        values = {"urls": json.dumps(list(urls)), "until": until}
        await self._write(lambda connection: connection.execute(QUERIES["lease"], values).close())

    async def text(self, url: str) -> Revision | None:
        rows = await self._rows("text_of", url=url)
        return revision_of(rows[0]) if rows else None

    async def revisions(self, after: int, limit: int) -> list[Revision]:
        if self._writer is not None and await self.last_revision() > self._on_disk:
            self._on_disk = await self._write(_note_on_disk, durable=True)
        return await self._read(
            lambda connection: [
                revision_of(row)
                for row in connection.execute(QUERIES["revisions_after"], {"after": after, "limit": limit})
            ]
        )

    async def last_revision(self) -> int:
        return int((await self._ask("last_revision"))[0][0])

    async def same_content(self, digest: bytes) -> str | None:
        rows = await self._ask("same_content", digest=digest)
        return str(rows[0][0]) if rows else None

    async def same_contents(self, digests: Sequence[bytes]) -> dict[bytes, str]:
        def read(connection: sqlite3.Connection) -> dict[bytes, str]:
            found = {}
            for digest in digests:
                row = connection.execute(QUERIES["same_content"], {"digest": digest}).fetchone()
                if row is not None:
                    found[digest] = row[0]
            return found

        if self._closed:
            raise StoreError(f"store {self._path} is closed")
        return await self._reader.ask(read)

    async def save(self, name: str, value: bytes) -> None:
        values = {"name": name, "value": value}
        await self._write(lambda connection: connection.execute(QUERIES["save"], values).close())

    async def load(self, name: str) -> bytes | None:
        rows = await self._rows("load", name=name)
        return bytes(rows[0][0]) if rows else None

    async def statistics(self) -> dict[str, Any]:
        totals = dict(await self._rows("totals"))
        accesses = {
            name.removeprefix("outcome."): number for name, number in totals.items() if "outcome." in name
        }
        files = [self._path, self._path.with_name(self._path.name + "-wal")]
        return {
            "pages": {state.value: totals.get(f"state.{state.value}", 0) for state in State},
            "searchable": totals.get("searchable", 0),
            "accesses": {name: number for name, number in sorted(accesses.items()) if number},
            "changes": totals.get("changes", 0),
            "revisions": await self.last_revision(),
            "bytes": sum(file.stat().st_size for file in files if file.exists()),
        }

    async def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        if self._writer is not None:
            await self._writer.close()
        await self._reader.close()
        await asyncio.to_thread(self._readers.shutdown)
        for connection in self._connections:
            connection.close()
        if self._writer is not None:
            self._writer.close_file()  # the last connection: moves the log into the file
        if self._lock is not None:
            self._lock.release()


def _note_on_disk(connection: sqlite3.Connection) -> int:
    """Part of a durable transaction: everything up to here can be handed out."""
    (number,) = connection.execute(QUERIES["last_revision"]).fetchone()
    connection.execute(QUERIES["set_total"], ("on disk", number))
    return int(number)
