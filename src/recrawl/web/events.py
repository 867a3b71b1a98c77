"""Server-sent events: the overview (`status`) every two seconds, and each change as it is recorded."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import msgspec
from starlette.responses import Response, StreamingResponse

from recrawl.web.problems import Problem

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from starlette.requests import Request

    from recrawl.web.options import WebOptions
    from recrawl.web.source import Source

__all__ = ["Events"]

_SECONDS = 2.0
_CHANGES = 20  # that are told at once; who is interested in all reads the change feed


def _event(name: str, document: object, number: int | None = None) -> bytes:
    """One event. JSON has no line breaks, so one line of data is enough."""
    mark = b"" if number is None else b"id: %d\n" % number
    return mark + b"event: " + name.encode() + b"\ndata: " + msgspec.json.encode(document) + b"\n\n"


class Events:
    """All streams; they end when the server does."""

    def __init__(self, source: Source, options: WebOptions) -> None:
        self._source, self._most = source, options.max_streams
        self._open = 0
        self._closing = asyncio.Event()

    def close(self) -> None:
        """End every stream."""
        self._closing.set()

    async def answer(self, _request: Request) -> Response:
        """A stream for one listener."""
        if self._open >= self._most:
            raise Problem(429, "too_many", f"{self._most} streams of events are open already")
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        return StreamingResponse(self._stream(), headers=headers, media_type="text/event-stream")

    async def _stream(self) -> AsyncIterator[bytes]:
        self._open += 1
        try:
            yield b"retry: 3000\n\n"
            cursor = await self._source.store.last_revision()
            while not self._closing.is_set():
                yield _event("status", await self._source.overview())
                newest = await self._source.store.last_revision()
                if newest > cursor:
                    found = await self._source.changes(max(cursor, newest - _CHANGES), _CHANGES)
                    for change in found.changes:
                        yield _event("change", change, change.cursor)
                    cursor = max(cursor, found.cursor)
                try:
                    async with asyncio.timeout(_SECONDS):
                        await self._closing.wait()
                except TimeoutError:
                    continue
        finally:
            self._open -= 1
