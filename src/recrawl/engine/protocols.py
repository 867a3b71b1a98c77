"""What the engine needs from the world: small Protocols, satisfied by `backends`.

The store is the truth, the index follows it. One store transaction writes a finding and a rising revision; the index
applies revisions in order and keeps its watermark behind its commit, so that whatever dies, everything above the
watermark is applied again. Leases instead of ownership: a page is handed out for a while, and comes back by itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from recrawl.engine.history import HistoryPoint
    from recrawl.engine.records import (
        Access,
        AccessNote,
        Delivery,
        Finding,
        Hit,
        NewPage,
        PageColumns,
        PageRecord,
        Revision,
    )

__all__ = ["Accessor", "Buffer", "Clock", "Index", "Politeness", "Store"]


class Clock(Protocol):
    """Time and waiting, so that tests can run in a time of their own."""

    def time(self) -> float:
        """Seconds since 1970."""

    def monotonic(self) -> float:
        """Seconds since some moment; never goes back."""

    async def sleep(self, seconds: float) -> None:
        """Wait."""


class Accessor(Protocol):
    """Accesses one page, politely and safely. Never raises for what a server does: that is an outcome."""

    async def access(self, page: PageRecord) -> Access:
        """Access a page, conditionally when its etag or date is known."""

    async def close(self) -> None:
        """Close connections."""


class Store(Protocol):
    """Remembers pages and what each access found."""

    def pages(self) -> AsyncIterator[PageRecord]:
        """All pages, in one sequential read, in the order in which they were found."""

    def scan(self) -> AsyncIterator[PageColumns]:
        """All pages as columns, some thousand at a time: for a start with millions of pages."""

    async def page(self, url: str) -> PageRecord | None:
        """One page, or None."""

    async def some_pages(self, urls: Sequence[str]) -> list[PageRecord | None]:
        """Several pages in one read, in the order asked for."""

    async def accesses(self, url: str) -> list[AccessNote]:
        """The latest accesses of a page, oldest first: at most KEPT_ACCESSES."""

    async def note_history(self, time: float, values: Sequence[float]) -> None:
        """Take a sample of the measures `SERIES`; NaN: not known. Old and fine ones are forgotten."""

    async def history(self, begin: float, end: float, points: int) -> list[HistoryPoint]:
        """At most so many points over a stretch of time, as fine as they are kept for its beginning."""

    async def add(self, pages: Sequence[NewPage]) -> list[PageRecord]:
        """Remember pages; return those that were not known.

        A known page keeps its place; it takes a weight that is given and a newer lastmod. In-links are not counted here
        (a sitemap is read again and again) but by `record`, once for each page that links.
        """

    async def record(self, findings: Sequence[Finding]) -> list[PageRecord]:
        """Write findings, their texts, new pages and revisions in one transaction.

        Return the pages as they are now: one for each finding, in order, then those of `found` that were not known.
        A page has a text while it has a digest, and is searchable while its state is known besides; the revision says
        how that changed. A finding that was recorded before (same page, same end of access) changes nothing. A finding
        about an unknown page is a StoreError, and then nothing is written.
        """

    async def lease(self, urls: Sequence[str], until: float) -> None:
        """Note that these pages are handed out until then (or, with a time that is past, no more).

        A store that belongs to one engine forgets all leases when that engine opens it: whoever had them is dead. One
        that many engines share keeps them, and a scheduler that loads a leased page leaves it alone until then.
        """

    async def text(self, url: str) -> Revision | None:
        """The stored title, text and headings of a page, as its latest revision."""

    async def revisions(self, after: int, limit: int) -> list[Revision]:
        """The change feed above a revision, in order, with texts. What it hands out survives a power failure."""

    async def last_revision(self) -> int:
        """The newest revision number; 0 when nothing was recorded."""

    async def same_content(self, digest: bytes) -> str | None:
        """The searchable page, if any, that was first found with this digest."""

    async def same_contents(self, digests: Sequence[bytes]) -> dict[bytes, str]:
        """The same for many at once; those that no page has are left out."""

    async def save(self, name: str, value: bytes) -> None:
        """Keep a named value: a scheduler's state, a watermark, a fitted model."""

    async def load(self, name: str) -> bytes | None:
        """A named value, or None."""

    async def statistics(self) -> dict[str, Any]:
        """Counts for people: pages by state, accesses by outcome, changes, size on disk."""

    async def close(self) -> None:
        """Write what is left and close."""


class Buffer(Protocol):
    """The finite buffer between robots and indexer. `capacity` counts the delivery being indexed too."""

    capacity: int

    def offer(self, delivery: Delivery) -> bool:
        """Take a delivery, or refuse it because the buffer is full (loss)."""

    async def take(self) -> Delivery | None:
        """The next delivery, waiting for it; None when the buffer is closed and empty. It counts until `done`."""

    def done(self, delivery: Delivery) -> None:
        """The delivery has left the system: recorded, or dropped."""

    def level(self) -> int:
        """Deliveries waiting and being indexed."""

    def expire(self, now: float) -> Sequence[Delivery]:
        """Take out the waiting deliveries whose `obsolete_at` is past: they leave room at once."""

    def next_expiry(self) -> float:
        """The earliest `obsolete_at` of the waiting deliveries; infinity when there is none."""

    def close(self) -> None:
        """Take no more; `take` hands out what is left."""


class Index(Protocol):
    """A searchable index that follows the store.

    After an error of `apply` or `commit`, what was applied since the last commit is forgotten: go on at the watermark.
    An index that cannot be read raises IndexDamaged: `clear` it and apply every revision again.
    """

    async def apply(self, revisions: Sequence[Revision]) -> None:
        """Apply revisions in order: delete by URL, then add. Not searchable before `commit`.

        Entries that are not `latest` only raise the watermark; entries at or below it may come again.
        """

    async def commit(self) -> int:
        """Make everything applied searchable and durable; return the watermark, the highest revision in it."""

    async def watermark(self) -> int:
        """The highest revision that is searchable."""

    async def search(
        self, query: str, *, site: str | None = None, limit: int = 10, offset: int = 0
    ) -> tuple[int, list[Hit]]:
        """How many pages match, and the best of them by BM25.

        Any text is a query: words, "a phrase", -word to leave out. Pages that have all of it, or, when there are
        none, some of it.
        """

    async def verify(self) -> None:
        """Read everything once; IndexDamaged when it is not what was written. Takes a second or so per gigabyte."""

    async def clear(self) -> None:
        """Forget everything; the index is rebuilt from the store's texts."""

    async def close(self) -> None:
        """Close without committing."""


class Politeness(Protocol):
    """When each site may be accessed. Times are the clock's monotonic seconds."""

    def ready_at(self, site: str) -> float:
        """When the site may be accessed next; infinity while all its places are taken."""

    def begin(self, site: str) -> None:
        """An access starts."""

    def end(self, site: str, access: Access | None) -> None:
        """An access ended; None when it was given up, and says nothing of the site."""

    def delay(self, site: str) -> float:
        """Seconds between the starts of two accesses to a site: its polite rate is one over it."""

    def backoff(self, failures: int, retry_after: float | None = None) -> float:
        """Seconds until a page that failed so many times in a row is tried again."""
