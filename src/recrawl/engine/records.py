"""What the engine's parts hand to each other.

Times are seconds since 1970 (UTC, float); a page's name is its canonical URL.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "KEPT_ACCESSES",
    "Access",
    "AccessNote",
    "Content",
    "Delivery",
    "Finding",
    "Hit",
    "Link",
    "NewPage",
    "Outcome",
    "PageColumns",
    "PageRecord",
    "Revision",
    "State",
]

KEPT_ACCESSES = 200  # of each page, the latest


class Outcome(StrEnum):
    """How an access ended. Each is counted by this name."""

    CONTENT = "content"  # a body came that can be read
    NOT_MODIFIED = "not_modified"  # 304: the copy is current
    GONE = "gone"  # 404 or 410
    MOVED = "moved"  # a redirect to another page of the scope, or a rel=canonical elsewhere
    EXCLUDED = "excluded"  # robots.txt, noindex, or out of scope after a redirect
    UNREADABLE = "unreadable"  # a type or encoding that cannot be indexed, a body over the size cap
    NEEDS_SCRIPT = "needs_script"  # nothing to read without JavaScript
    BUSY = "busy"  # 429 or 503: come back later
    FAILED = "failed"  # any other status, a timeout, a broken connection, a name that does not resolve
    REFUSED = "refused"  # a private address: never connected


class State(StrEnum):
    """What a page is to the store."""

    KNOWN = "known"  # scheduled
    GONE = "gone"  # confirmed gone: neither scheduled nor searchable
    EXCLUDED = "excluded"  # not to be accessed (again)
    DUPLICATE = "duplicate"  # same content as another page: scheduled rarely, not searchable


@dataclass(frozen=True, slots=True)
class Link:
    """A link found on a page."""

    url: str
    follow: bool = True


@dataclass(frozen=True, slots=True)
class NewPage:
    """A page that was found: by a seed, a list, a sitemap or a link."""

    url: str
    site: str
    depth: int
    found_at: float
    weight: float | None = None
    last_modified: float | None = None  # a sitemap's lastmod


@dataclass(frozen=True, slots=True)
class PageRecord:
    """What the store knows of a page, without its text."""

    url: str
    site: str
    state: State
    depth: int
    found_at: float
    weight: float | None = None
    in_links: int = 0
    last_access: float | None = None  # end of the last access that brought news of the page
    last_change: float | None = None  # end of the access that first saw the present content
    last_modified: float | None = None  # as the server says
    etag: str | None = None
    digest: bytes | None = None  # of the extracted main content
    accesses: int = 0  # that brought news
    changes: int = 0  # seen between two of them
    failures: int = 0  # in a row
    retry_at: float | None = None  # not before
    leased_until: float | None = None
    revision: int = 0  # of the last change that was recorded
    title: str = ""
    announced: float | None = None  # a sitemap's lastmod; never sent to the server
    last_try: float | None = None  # end of the last access, whatever it brought
    last_outcome: Outcome | None = None
    reason: str = ""  # for people: what the last access said
    duplicate_of: str | None = None
    moved_to: str | None = None
    belief: bytes = b""  # the planner's, in a form of its own


@dataclass(frozen=True, slots=True)
class PageColumns:
    """Some thousand pages at once, field by field: what a scheduler needs of each, read several times faster.

    The fields are those of `PageRecord`; states are the words of `State`, and None stands where there is no value.
    """

    url: Sequence[str]
    site: Sequence[str]
    state: Sequence[str]
    depth: Sequence[int]
    found_at: Sequence[float]
    weight: Sequence[float | None]
    in_links: Sequence[int]
    last_access: Sequence[float | None]
    last_change: Sequence[float | None]
    accesses: Sequence[int]
    changes: Sequence[int]
    failures: Sequence[int]
    retry_at: Sequence[float | None]
    leased_until: Sequence[float | None]
    announced: Sequence[float | None]
    belief: Sequence[bytes]


@dataclass(frozen=True, slots=True)
class Content:
    """What was extracted from a body."""

    title: str
    text: str  # main content: navigation, header, footer, aside and scripts removed
    headings: tuple[str, ...]
    digest: bytes  # of title and text after the site's ignore patterns
    links: tuple[Link, ...] = ()
    canonical: str | None = None
    index: bool = True  # no noindex
    language: str | None = None


@dataclass(frozen=True, slots=True)
class Access:
    """One access: when, how it ended, what it brought. The body is decompressed, and at most the size cap."""

    url: str
    started: float
    ended: float
    outcome: Outcome
    status: int | None = None
    body: bytes = b""
    content_type: str = ""
    encoding: str | None = None
    final_url: str | None = None
    etag: str | None = None
    last_modified: float | None = None
    retry_after: float | None = None  # seconds
    robots_tag: str = ""  # X-Robots-Tag
    size: int = 0  # bytes received
    reason: str = ""  # for people: what went wrong


@dataclass(frozen=True, slots=True)
class Delivery:
    """An access that waits in the buffer, until it is indexed or obsolete."""

    access: Access
    delivered: float
    obsolete_at: float  # infinity: never
    robots: int  # active when it was delivered


@dataclass(frozen=True, slots=True)
class Finding:
    """What the indexer concludes from an access: written to the store in one transaction."""

    access: Access
    state: State
    changed: bool
    content: Content | None = None  # None: nothing new to store
    duplicate_of: str | None = None
    moved_to: str | None = None
    retry_at: float | None = None
    found: tuple[NewPage, ...] = field(default=())  # with a content: all pages of the scope that it links to
    belief: bytes | None = None  # None: as it was


@dataclass(frozen=True, slots=True)
class Revision:
    """One entry of the change feed, in rising order of `number`: a page added, changed or removed.

    The store keeps the newest text of a page only: an entry that a later one of the same page has replaced has
    `latest` false and no title, text or headings.
    """

    number: int
    kind: str  # "added", "changed", "removed"
    url: str
    site: str
    time: float
    digest: bytes | None = None
    title: str = ""
    text: str = ""
    headings: tuple[str, ...] = ()
    latest: bool = True


@dataclass(frozen=True, slots=True)
class AccessNote:
    """One access of a page, as its history keeps it: when it ended, how, and whether the page had changed.

    The time is good to a millisecond.
    """

    time: float
    outcome: Outcome
    changed: bool


@dataclass(frozen=True, slots=True)
class Hit:
    """One page that a search found; `snippet` is plain text, in which `marks` gives the places of matched words."""

    url: str
    site: str
    title: str
    snippet: str
    score: float
    revision: int
    marks: tuple[tuple[int, int], ...] = ()
