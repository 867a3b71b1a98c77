"""One thread for short reads: whatever is asked while it reads is answered together."""

from __future__ import annotations

import asyncio
import queue
import sqlite3
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from recrawl.backends.sqlite._files import explained, open_reader

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["Reader"]

_BATCH = 64  # questions answered before anybody hears an answer

T = TypeVar("T")
_Question = tuple["Callable[[sqlite3.Connection], Any]", asyncio.AbstractEventLoop, "asyncio.Future[Any]"]


class Reader:
    """Owns a reading connection.

    To hand a question to another thread costs more than to answer it, so robots that ask together are woken together.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._questions: queue.SimpleQueue[_Question | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    async def ask(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Do `work` with the connection."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="recrawl-store-ask", daemon=True)
            self._thread.start()
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        self._questions.put((work, loop, future))
        return await future

    async def close(self) -> None:
        """Answer what was asked, and end the thread."""
        if self._thread is not None:
            self._questions.put(None)
            await asyncio.to_thread(self._thread.join)

    def _run(self) -> None:
        connection: sqlite3.Connection | None = None
        while (batch := self._next_batch()) is not None:
            answers: list[Any] = []
            for work, _, _ in batch:
                try:
                    if connection is None:
                        connection = open_reader(self._path)
                    answers.append(work(connection))
                except sqlite3.Error as error:
                    answers.append(explained(self._path, error))
                except Exception as error:  # handed to who asked
                    answers.append(error)
            for loop in {question[1] for question in batch}:
                with suppress(RuntimeError):  # the event loop was closed: nobody waits any more
                    loop.call_soon_threadsafe(_deliver, loop, batch, answers)
        if connection is not None:
            connection.close()

    def _next_batch(self) -> list[_Question] | None:
        """All questions that wait; None when the reader is closed and everything is answered."""
        question = self._questions.get()
        batch: list[_Question] = []
        while question is not None:
            batch.append(question)
            if len(batch) == _BATCH:
                return batch
            try:
                question = self._questions.get_nowait()
            except queue.Empty:
                return batch
        if batch:
            self._questions.put(None)  # answer these first, then end
        return batch or None


def _deliver(here: asyncio.AbstractEventLoop, batch: list[_Question], answers: list[Any]) -> None:
    """Runs in the event loop."""
    for (_, loop, future), answer in zip(batch, answers, strict=True):
        if loop is not here or future.done():
            continue
        if isinstance(answer, BaseException):
            future.set_exception(answer)
        else:
            future.set_result(answer)
