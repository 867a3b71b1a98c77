"""One thread that writes: jobs wait in a bounded queue, and as many as are waiting share a transaction."""

from __future__ import annotations

import asyncio
import queue
import sqlite3
import threading
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from recrawl.backends.sqlite._files import explained
from recrawl.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["Writer"]

_QUEUE = 256  # jobs that may wait; who comes then waits in the event loop
_BATCH = 64  # jobs in one transaction

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class _Job:
    work: Callable[[sqlite3.Connection], Any]
    durable: bool  # wait for the disk
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[Any]


class Writer:
    """Owns the writing connection. A job either is written whole or not at all; its caller hears which.

    `undone` is called in the writer's thread when something was rolled back.
    """

    def __init__(self, connection: sqlite3.Connection, path: Path, undone: Callable[[], None]) -> None:
        self._connection = connection
        self._path = path
        self._undone = undone
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._room = asyncio.Semaphore(_QUEUE)
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="recrawl-store", daemon=True)
        self._thread.start()

    async def run(self, work: Callable[[sqlite3.Connection], T], *, durable: bool = False) -> T:
        """Do `work` in a transaction; with `durable`, return only when it and everything before it is on disk."""
        async with self._room:
            if self._closed:
                raise StoreError(f"store {self._path} is closed")
            loop = asyncio.get_running_loop()
            job = _Job(work, durable, loop, loop.create_future())
            self._jobs.put(job)
            result: T = await job.future
            return result

    async def close(self) -> None:
        """Write what is queued, and end the thread."""
        if not self._closed:
            self._closed = True
            self._jobs.put(None)
        await asyncio.to_thread(self._thread.join)

    def close_file(self) -> None:
        """Close the connection; nobody else may have one, or the log stays beside the file."""
        self._connection.close()

    def _run(self) -> None:
        while (batch := self._next_batch()) is not None:
            results = self._write(batch)
            with suppress(RuntimeError):  # the event loop was closed: nobody waits any more
                batch[0].loop.call_soon_threadsafe(_deliver, batch, results)

    def _next_batch(self) -> list[_Job] | None:
        """All jobs that are waiting, at most `_BATCH`; None when the writer is closed and everything is written."""
        job = self._jobs.get()
        batch = []
        while job is not None:
            batch.append(job)
            if len(batch) == _BATCH:
                return batch
            try:
                job = self._jobs.get_nowait()
            except queue.Empty:
                return batch
        if batch:
            self._jobs.put(None)  # write these first, then end
        return batch or None

    def _write(self, batch: list[_Job]) -> list[Any]:
        """The result or the error of each job."""
        durable = any(job.durable for job in batch)
        try:
            if durable:
                self._connection.execute("PRAGMA synchronous = full")
            self._connection.execute("BEGIN IMMEDIATE")
            results = [self._attempt(job) for job in batch]
            self._connection.execute("COMMIT")
        except (sqlite3.Error, MemoryError) as error:
            with suppress(sqlite3.Error):  # SQLite may have rolled back by itself
                self._connection.rollback()
            self._undone()
            failure = explained(self._path, error) if isinstance(error, sqlite3.Error) else error
            return [failure for _ in batch]
        finally:
            if durable:
                with suppress(sqlite3.Error):
                    self._connection.execute("PRAGMA synchronous = normal")
        return results

    def _attempt(self, job: _Job) -> Any:
        """Do one job; when it fails by its own fault the others of the batch do not suffer."""
        self._connection.execute("SAVEPOINT job")
        try:
            result = job.work(self._connection)
        except sqlite3.OperationalError:
            raise  # disk, lock: the whole batch
        except Exception as error:  # handed to the caller
            self._connection.execute("ROLLBACK TO job")
            self._undone()
            result = explained(self._path, error) if isinstance(error, sqlite3.Error) else error
        self._connection.execute("RELEASE job")
        return result


def _deliver(batch: list[_Job], results: list[Any]) -> None:
    """Runs in the event loop. A caller that was cancelled is not there any more; its job was done all the same."""
    for job, result in zip(batch, results, strict=True):
        if job.future.done():
            continue
        if isinstance(result, BaseException):
            job.future.set_exception(result)
        else:
            job.future.set_result(result)
