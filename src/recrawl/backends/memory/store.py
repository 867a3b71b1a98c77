"""The reference store: plain dictionaries."""

from __future__ import annotations

import math
from collections import Counter, deque
from dataclasses import dataclass, field, fields, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from recrawl.backends._recording import (
    after,
    announced_again,
    first_seen,
    is_repeat,
    is_searchable,
    keeps_text,
    new_text,
)
from recrawl.engine.history import TIERS, HistoryPoint, choose_tier, joined, merged
from recrawl.engine.records import (
    KEPT_ACCESSES,
    AccessNote,
    Content,
    Finding,
    NewPage,
    PageColumns,
    PageRecord,
    Revision,
    State,
)
from recrawl.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

__all__ = ["MemoryStore"]


@dataclass
class _Tables:
    """All that the store remembers of pages."""

    pages: dict[str, PageRecord] = field(default_factory=dict)
    texts: dict[str, Content] = field(default_factory=dict)
    links: dict[str, frozenset[str]] = field(default_factory=dict)  # of each page that has a text
    feed: dict[int, Revision] = field(default_factory=dict)  # without texts
    replaced: deque[tuple[int, int]] = field(default_factory=deque)  # (by which entry, which entry)
    last_revision: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    changes: int = 0
    accesses: dict[str, deque[AccessNote]] = field(default_factory=dict)
    history: tuple[dict[int, HistoryPoint], ...] = field(default_factory=lambda: tuple({} for _ in TIERS))


class MemoryStore:
    """Forgets everything when the process ends."""

    def __init__(self, keep_replaced: int = 1_000_000) -> None:
        self._tables = _Tables()
        self._saved: dict[str, bytes] = {}
        self._keep_replaced = keep_replaced
        self._closed = False

    async def pages(self) -> AsyncIterator[PageRecord]:
        self._check_open()
        for page in list(self._tables.pages.values()):
            yield page

    async def scan(self) -> AsyncIterator[PageColumns]:
        pages = [page async for page in self.pages()]
        if pages:
            names = [column.name for column in fields(PageColumns)]
            yield PageColumns(*([getattr(page, name) for page in pages] for name in names))

    async def page(self, url: str) -> PageRecord | None:
        self._check_open()
        return self._tables.pages.get(url)

    async def some_pages(self, urls: Sequence[str]) -> list[PageRecord | None]:
        self._check_open()
        return [self._tables.pages.get(url) for url in urls]

    async def accesses(self, url: str) -> list[AccessNote]:
        self._check_open()
        return list(self._tables.accesses.get(url, ()))

    async def note_history(self, time: float, values: Sequence[float]) -> None:
        self._check_open()
        for tier, rows in zip(TIERS, self._tables.history, strict=True):
            slot = math.floor(time / tier.seconds)
            old = rows.get(slot, HistoryPoint(slot * tier.seconds, tier.seconds, 0, ()))
            means = merged(old.count, old.values, 1, values)
            rows[slot] = replace(old, count=old.count + 1, values=means)
            while rows and next(iter(rows)) < math.floor((time - tier.keeps) / tier.seconds):
                del rows[next(iter(rows))]

    async def history(self, begin: float, end: float, points: int) -> list[HistoryPoint]:
        self._check_open()
        finest = self._tables.history[0]
        if not finest:
            return []
        place = choose_tier(begin, max(finest) * TIERS[0].seconds)
        width = TIERS[place].seconds
        rows = sorted(self._tables.history[place].items())
        found = [row for slot, row in rows if math.floor(begin / width) <= slot <= math.floor(end / width)]
        return joined(found, begin, end, points)

    async def add(self, pages: Sequence[NewPage]) -> list[PageRecord]:
        self._check_open()
        return [self._tables.pages[url] for url in _add(self._tables, pages)]

    async def record(self, findings: Sequence[Finding]) -> list[PageRecord]:
        self._check_open()
        tables = self._tables
        known = {new.url for finding in findings for new in finding.found} | tables.pages.keys()
        for finding in findings:
            if finding.access.url not in known:
                raise StoreError(
                    f"nothing is known of {finding.access.url}: add it before recording an access"
                )
        urls = [finding.access.url for finding in findings]
        # All pages of the batch are known before the first finding is written, as a page may be found beside it.
        found = [url for finding in findings for url in _add(tables, finding.found)]
        for finding in findings:
            _record(tables, finding)
        while tables.replaced and tables.replaced[0][0] <= tables.last_revision - self._keep_replaced:
            del tables.feed[tables.replaced.popleft()[1]]
        return [tables.pages[url] for url in [*urls, *found]]

    async def lease(self, urls: Sequence[str], until: float) -> None:
        self._check_open()
        for url in urls:
            if url in self._tables.pages:
                self._tables.pages[url] = replace(self._tables.pages[url], leased_until=until)

    async def text(self, url: str) -> Revision | None:
        self._check_open()
        tables = self._tables
        if url not in tables.texts:
            return None
        page, content = tables.pages[url], tables.texts[url]
        never = Revision(0, "removed", url, page.site, page.last_change or 0.0)  # a duplicate from the start
        entry = tables.feed.get(page.revision, never)
        return replace(
            entry, digest=page.digest, title=content.title, text=content.text, headings=content.headings
        )

    async def revisions(self, after: int, limit: int) -> list[Revision]:
        self._check_open()
        feed = self._tables.feed
        numbers = (n for n in range(after + 1, self._tables.last_revision + 1) if n in feed)
        return [self._with_text(feed[number]) for number in islice(numbers, limit)]

    def _with_text(self, entry: Revision) -> Revision:
        if self._tables.pages[entry.url].revision != entry.number:
            return replace(entry, latest=False)
        if entry.kind == "removed":
            return entry
        content = self._tables.texts[entry.url]
        return replace(entry, title=content.title, text=content.text, headings=content.headings)

    async def last_revision(self) -> int:
        self._check_open()
        return self._tables.last_revision

    async def same_content(self, digest: bytes) -> str | None:
        self._check_open()
        for page in self._tables.pages.values():  # in the order in which they were found
            if is_searchable(page) and page.digest == digest:
                return page.url
        return None

    async def same_contents(self, digests: Sequence[bytes]) -> dict[bytes, str]:
        self._check_open()
        wanted, found = set(digests), dict[bytes, str]()
        for page in self._tables.pages.values():
            if page.digest in wanted and is_searchable(page):
                found.setdefault(page.digest, page.url)
        return found

    async def save(self, name: str, value: bytes) -> None:
        self._check_open()
        self._saved[name] = bytes(value)

    async def load(self, name: str) -> bytes | None:
        self._check_open()
        return self._saved.get(name)

    async def statistics(self) -> dict[str, Any]:
        self._check_open()
        tables = self._tables
        states = Counter(page.state for page in tables.pages.values())
        return {
            "pages": {state.value: states[state] for state in State},
            "searchable": sum(is_searchable(page) for page in tables.pages.values()),
            "accesses": {name: count for name, count in sorted(tables.outcomes.items()) if count},
            "changes": tables.changes,
            "revisions": tables.last_revision,
            "bytes": 0,
        }

    async def close(self) -> None:
        self._closed = True

    def _check_open(self) -> None:
        if self._closed:
            raise StoreError("the store is closed")


def _add(tables: _Tables, pages: Sequence[NewPage]) -> list[str]:
    """Add pages; return the URLs that were not known."""
    unknown = []
    for new in pages:
        known = tables.pages.get(new.url)
        if known is None:
            unknown.append(new.url)
            tables.pages[new.url] = first_seen(new)
        else:
            tables.pages[new.url] = announced_again(known, new)
    return unknown


def _record(tables: _Tables, finding: Finding) -> None:
    """Write one finding."""
    url = finding.access.url
    before = tables.pages[url]
    if is_repeat(before, finding):
        return
    now, kind = after(before, finding, tables.last_revision + 1)
    if kind is not None:
        _enter(tables, before, now, kind)
    tables.pages[url] = now
    tables.outcomes[finding.access.outcome.value] += 1
    tables.changes += now.changes - before.changes
    note = AccessNote(round(finding.access.ended, 3), finding.access.outcome, now.changes > before.changes)
    tables.accesses.setdefault(url, deque(maxlen=KEPT_ACCESSES)).append(note)
    if new_text(before, finding) and finding.content is not None:
        tables.texts[url] = finding.content
    if finding.content is not None and keeps_text(finding):
        _link(tables, url, frozenset(new.url for new in finding.found) - {url})
    if not keeps_text(finding):
        tables.texts.pop(url, None)
        _link(tables, url, frozenset())


def _enter(tables: _Tables, before: PageRecord, now: PageRecord, kind: str) -> None:
    """Write an entry of the change feed."""
    number = tables.last_revision = now.revision
    digest = None if kind == "removed" else now.digest
    tables.feed[number] = Revision(number, kind, now.url, now.site, now.last_try or 0.0, digest)
    if before.revision:
        tables.replaced.append((number, before.revision))


def _link(tables: _Tables, source: str, targets: frozenset[str]) -> None:
    """Let `source` link to `targets` and to nothing else; in-links follow."""
    old = tables.links.get(source, frozenset())
    for url, step in [*((url, 1) for url in targets - old), *((url, -1) for url in old - targets)]:
        page = tables.pages[url]
        tables.pages[url] = replace(page, in_links=page.in_links + step)
    tables.links[source] = targets
