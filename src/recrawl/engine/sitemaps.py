"""Sitemaps: the site's own list of its pages.

XML (a list or an index of lists) or plain text, gzipped or not. Parsed piece by piece; a document type or an entity
declaration ends the reading, because they serve nothing here but attacks. What was read before an error is kept.
"""

from __future__ import annotations

import asyncio
import zlib
from collections import deque
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from xml.parsers import expat

from recrawl.engine.records import Outcome
from recrawl.engine.urls import canonical_url, origin_of, resolve

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator

    from recrawl.engine.records import Access

__all__ = ["Entry", "Sitemap", "SitemapOptions", "parse_lastmod", "parse_sitemap", "read_sitemaps"]

_PIECE = 64 * 1024


@dataclass(frozen=True)
class SitemapOptions:
    """Bounds; the first two are the sitemap protocol's own."""

    max_bytes: int = 52_428_800  # of one file, decompressed
    max_entries: int = 50_000  # of one file
    max_files: int = 1_000
    max_pages: int = 10_000_000  # of one reading
    max_levels: int = 3  # an index of indexes of indexes


@dataclass(frozen=True, slots=True)
class Entry:
    """A page, and when the site says it last changed."""

    url: str
    last_modified: float | None = None


@dataclass
class Sitemap:
    """What one file holds: pages, or other sitemaps. `error` says why the rest is missing."""

    pages: list[Entry] = field(default_factory=list)
    sitemaps: list[Entry] = field(default_factory=list)
    error: str = ""


def parse_lastmod(text: str) -> float | None:
    """Seconds since 1970 of a W3C date (year, month, day or time), or None.

    >>> parse_lastmod("1970-01-02"), parse_lastmod("1970-01-01T00:00:30+00:00"), parse_lastmod("yesterday")
    (86400.0, 30.0, None)
    """
    text = text.strip()
    if not 4 <= len(text) <= 40:
        return None
    try:
        if len(text) == 4:
            date = datetime(int(text), 1, 1)
        elif len(text) == 7:
            date = datetime(int(text[:4]), int(text[5:]), 1)
        else:
            date = datetime.fromisoformat(text)
        seconds = (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None
    return seconds if seconds >= 0 else None


class _Stop(Exception):
    """Enough, or too bad."""


class _Reader:
    """Collects loc and lastmod of each url or sitemap element."""

    def __init__(self, url: str, options: SitemapOptions) -> None:
        self.result = Sitemap()
        self._url = url
        self._options = options
        self._text: list[str] | None = None
        self._fields: dict[str, str] = {}
        parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._characters
        parser.StartDoctypeDeclHandler = self._refuse
        parser.EntityDeclHandler = self._refuse
        self._parser = parser

    def feed(self, piece: bytes, last: bool) -> None:
        self._parser.Parse(piece, last)

    def _refuse(self, *_: object) -> None:
        raise _Stop("a document type, refused")

    def _start(self, name: str, _: dict[str, str]) -> None:
        local = name.rpartition(":")[2].lower()
        if local in ("url", "sitemap"):
            self._fields = {}
        self._text = [] if local in ("loc", "lastmod") and ":" not in name else None

    def _characters(self, data: str) -> None:
        if self._text is not None and len(self._text) < 100:
            self._text.append(data)

    def _end(self, name: str) -> None:
        local = name.rpartition(":")[2].lower()
        if self._text is not None and local in ("loc", "lastmod"):
            self._fields[local] = "".join(self._text).strip()
        self._text = None
        if local not in ("url", "sitemap") or "loc" not in self._fields:
            return
        target = resolve(self._fields["loc"], self._url)
        if target is None:
            return
        entry = Entry(target, parse_lastmod(self._fields.get("lastmod", "")))
        (self.result.pages if local == "url" else self.result.sitemaps).append(entry)
        if len(self.result.pages) + len(self.result.sitemaps) >= self._options.max_entries:
            raise _Stop(f"more than {self._options.max_entries} entries")


def _pieces(body: bytes, most: int) -> Iterator[bytes]:
    """The body in pieces, decompressed when it is gzip; at most so many bytes."""
    if not body.startswith(b"\x1f\x8b"):
        for start in range(0, len(body), _PIECE):
            yield body[start : start + _PIECE]
        return
    engine = zlib.decompressobj(wbits=31)
    done, rest = 0, body
    while rest and not engine.eof:
        piece = engine.decompress(rest, _PIECE)
        rest = engine.unconsumed_tail
        done += len(piece)
        if done > most:
            raise _Stop(f"more than {most} bytes decompressed")
        yield piece
    if not engine.eof:
        raise _Stop("a truncated gzip file")


def parse_sitemap(body: bytes, url: str, options: SitemapOptions | None = None) -> Sitemap:
    r"""Read one sitemap.

    >>> parse_sitemap(b"http://example.org/a\nhttp://example.org/b", "http://example.org/sitemap.txt").pages
    [Entry(url='http://example.org/a', last_modified=None), Entry(url='http://example.org/b', last_modified=None)]
    """
    options = options or SitemapOptions()
    reader: _Reader | None = None
    lines: list[bytes] = []
    error = ""
    try:
        for number, piece in enumerate(_pieces(body, options.max_bytes)):
            if number == 0 and piece.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<"):
                reader = _Reader(url, options)
                piece = piece.lstrip(b" \t\r\n")  # noqa: PLW2901
            if reader is None:
                lines.append(piece)
            else:
                reader.feed(piece, False)
        if reader is not None:
            reader.feed(b"", True)
    except (_Stop, expat.ExpatError, zlib.error, ValueError) as problem:
        error = str(problem)
    result = reader.result if reader is not None else _plain(b"".join(lines), options)
    result.error = error
    return result


def _plain(body: bytes, options: SitemapOptions) -> Sitemap:
    result = Sitemap()
    for line in body.decode("utf-8-sig", "replace").split("\n")[: options.max_entries]:
        url = canonical_url(line.strip()) if line.strip() else None
        if url is not None:
            result.pages.append(Entry(url))
    return result


async def read_sitemaps(
    starts: Iterable[str],
    read: Callable[[str, int], Awaitable[Access]],
    options: SitemapOptions | None = None,
    problems: Callable[[str, str], None] | None = None,
) -> AsyncIterator[Entry]:
    """Pages of these sitemaps and of those that they name, each sitemap once; its file's origin or below only.

    Parameters
    ----------
    read
        Reads a URL of at most so many bytes: `HttpAccessor.read`.
    problems
        Told of each file that could not be read to its end.
    """
    options = options or SitemapOptions()
    waiting = deque((url, 0) for start in starts if (url := canonical_url(start)) is not None)
    seen = {url for url, _ in waiting}
    pages = 0
    files = 0
    while waiting and files < options.max_files:
        url, level = waiting.popleft()
        files += 1
        access = await read(url, options.max_bytes)
        if access.outcome is not Outcome.CONTENT:
            if problems is not None:
                problems(url, access.reason or str(access.outcome))
            continue
        place = access.final_url or url
        sitemap = await asyncio.to_thread(parse_sitemap, access.body, place, options)
        if sitemap.error and problems is not None:
            problems(url, sitemap.error)
        for entry in sitemap.sitemaps:
            same = origin_of(entry.url) == origin_of(url)
            if same and level < options.max_levels and entry.url not in seen:
                seen.add(entry.url)
                waiting.append((entry.url, level + 1))
        for entry in sitemap.pages:
            if pages >= options.max_pages:
                return
            pages += 1
            yield entry
