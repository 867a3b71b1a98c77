"""Writing findings: runs in the writer's thread, inside its transaction."""

from __future__ import annotations

import json
import sys
from array import array
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from recrawl.backends._recording import (
    after,
    announced_again,
    first_seen,
    is_repeat,
    is_searchable,
    keeps_text,
)
from recrawl.backends._recording import new_text as brings_new_text
from recrawl.backends.sqlite._files import QUERIES
from recrawl.backends.sqlite._history import log_access
from recrawl.backends.sqlite._packing import pack, unpack
from recrawl.engine.records import Content, Finding, NewPage, Outcome, PageRecord, Revision, State
from recrawl.errors import StoreError

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Sequence

__all__ = ["Recorder", "page_of", "revision_of"]

_STATES = {state.value: state for state in State}
_OUTCOMES: dict[str | None, Outcome | None] = {None: None, **{outcome.value: outcome for outcome in Outcome}}
_REMEMBERED = 100_000  # numbers of pages, some 20 MB


def page_of(row: Sequence[Any]) -> PageRecord:
    """A row of `page_by_url` or `pages_after`."""
    fields = list(row[1:])
    fields[2], fields[21] = _STATES[row[3]], _OUTCOMES[row[22]]
    return PageRecord(*fields)


def revision_of(row: Sequence[Any]) -> Revision:
    """A row of `revisions_after` or `text_of`."""
    number, kind, url, site, time, digest, title, packed, body, headings, replaced_by = row
    if body is None:
        return Revision(number, kind, url, site, time, digest, latest=replaced_by is None)
    return Revision(
        number, kind, url, site, time, digest, title, unpack(packed, body), tuple(json.loads(headings))
    )


class Recorder:
    """One job's view of the tables: reads pages, applies findings, adds up totals.

    `numbers` are the numbers of some pages by URL, which most links of a site are; the caller empties it when a
    transaction is undone.
    """

    def __init__(self, connection: sqlite3.Connection, keep_replaced: int, numbers: dict[str, int]) -> None:
        self._connection = connection
        self._numbers = numbers
        self._keep_replaced = keep_replaced
        self._totals: Counter[str] = Counter()
        self._steps: Counter[int] = Counter()  # by which the numbers of links to pages change
        self._sites: set[str] = set()  # known to be there
        self._number = -1

    def finish(self) -> None:
        """Write the totals."""
        changed = [(name, number) for name, number in self._totals.items() if number]
        self._connection.executemany(QUERIES["count"], changed)
        if self._number > self._keep_replaced:
            self._connection.execute(
                QUERIES["forget_replaced"], {"limit": self._number - self._keep_replaced}
            )

    def add(self, pages: Sequence[NewPage]) -> tuple[list[PageRecord], dict[str, int]]:
        """Remember pages; return those that were not known, and the numbers of all."""
        numbers: dict[str, int] = {}
        others = []
        for new in pages:
            number = self._numbers.get(new.url)
            if number is not None and new.weight is None and new.last_modified is None:
                numbers[new.url] = number
            else:
                others.append(new)
        if not others:
            return [], numbers
        urls = json.dumps([new.url for new in others])
        known = {row[0]: row[1:] for row in self._connection.execute(QUERIES["known_urls"], {"urls": urls})}
        unknown: dict[str, PageRecord] = {}
        for new in others:
            if new.url not in known:
                unknown[new.url] = first_seen(new)
                known[new.url] = self._insert(new), new.weight, new.last_modified
            elif self._mention(new, known) and new.url in unknown:
                unknown[new.url] = announced_again(unknown[new.url], new)
        self._totals["state.known"] += len(unknown)
        numbers |= {url: row[0] for url, row in known.items()}
        self._remember(numbers)
        return list(unknown.values()), numbers

    def _remember(self, numbers: dict[str, int]) -> None:
        if len(self._numbers) > _REMEMBERED:
            self._numbers.clear()
        self._numbers.update(numbers)

    def _insert(self, new: NewPage) -> int:
        if new.site not in self._sites:
            self._connection.execute(QUERIES["add_site"], {"name": new.site})
            self._sites.add(new.site)
        row = self._connection.execute(
            QUERIES["add_page"],
            {
                "url": new.url,
                "site": new.site,
                "depth": new.depth,
                "found_at": new.found_at,
                "weight": new.weight,
                "announced": new.last_modified,
            },
        ).fetchone()
        return int(row[0])

    def _mention(self, new: NewPage, known: dict[str, Any]) -> bool:
        """A known page is found again; does that change anything?"""
        number, *before = known[new.url]
        page = announced_again(
            PageRecord(new.url, new.site, State.KNOWN, 0, 0.0, before[0], announced=before[1]), new
        )
        if [page.weight, page.announced] == before:
            return False
        known[new.url] = number, page.weight, page.announced
        self._connection.execute(
            QUERIES["mention_page"], {"id": number, "weight": page.weight, "announced": page.announced}
        )
        return True

    def record(self, findings: Sequence[Finding]) -> list[PageRecord]:
        """Write findings in order; return their pages and the new ones."""
        self._number = self._connection.execute(QUERIES["last_revision"]).fetchone()[0]
        # All pages of the batch are known before the first finding is written, as a page may be found beside it.
        found: dict[str, PageRecord] = {}
        links = [self._find(finding.found, found) for finding in findings]
        places = {url: numbers[url] for numbers in links for url in numbers.keys() & found.keys()}
        now: dict[str, PageRecord] = {}
        for finding, numbers in zip(findings, links, strict=True):
            url = finding.access.url
            places[url], now[url] = self._record(finding, numbers)
        self._connection.executemany(
            QUERIES["count_link"], sorted((page, step) for page, step in self._steps.items() if step)
        )
        urls = [*(finding.access.url for finding in findings), *found]
        return [self._linked(now.get(url) or found[url], places[url]) for url in urls]

    def _find(self, pages: Sequence[NewPage], found: dict[str, PageRecord]) -> dict[str, int]:
        """Remember the pages of one finding, and those that are new in `found`; the numbers of all."""
        fresh, numbers = self.add(pages)
        for new in pages:
            if new.url in found and not (new.weight is None and new.last_modified is None):
                found[new.url] = announced_again(found[new.url], new)
        found.update((record.url, record) for record in fresh)
        return numbers

    def _linked(self, page: PageRecord, page_number: int) -> PageRecord:
        """A page with the links that the batch has added to it or taken away."""
        step = self._steps[page_number]
        return replace(page, in_links=page.in_links + step) if step else page

    def _record(self, finding: Finding, links: dict[str, int]) -> tuple[int, PageRecord]:
        page_number, before = self._page(finding.access.url)
        if is_repeat(before, finding):
            return page_number, before
        page, kind = after(before, finding, self._number + 1)
        if kind is not None:
            self._enter(page_number, before, page, kind)
        self._update(page_number, page)
        if before.leased_until is not None:
            self._connection.execute(QUERIES["end_lease"], {"page": page_number})
        self._count(before, page)
        log_access(self._connection, page_number, finding, page.changes > before.changes)
        if not keeps_text(finding):
            self._link(page_number, before, ())
            self._connection.execute(QUERIES["drop_text"], {"page": page_number})
        elif finding.content is not None:
            self._link(page_number, before, [n for n in links.values() if n != page_number])
            if brings_new_text(before, finding):
                self._set_text(page_number, finding.content)
        return page_number, page

    def _page(self, url: str) -> tuple[int, PageRecord]:
        row = self._connection.execute(QUERIES["page_by_url"], {"url": url}).fetchone()
        if row is None:
            raise StoreError(f"nothing is known of {url}: add it before recording an access")
        return row[0], page_of(row)

    def _enter(self, page_number: int, before: PageRecord, page: PageRecord, kind: str) -> None:
        """Write an entry of the change feed."""
        self._number = page.revision
        self._connection.execute(
            QUERIES["add_revision"],
            {
                "number": page.revision,
                "page": page_number,
                "kind": kind,
                "time": page.last_try,
                "digest": None if kind == "removed" else page.digest,
            },
        )
        if before.revision:
            self._connection.execute(
                QUERIES["replace_revision"], {"number": before.revision, "by": page.revision}
            )

    def _update(self, page_number: int, page: PageRecord) -> None:
        self._connection.execute(
            QUERIES["update_page"],
            (
                page.state.value,
                page.last_access,
                page.last_change,
                page.last_modified,
                page.etag,
                page.digest,
                page.accesses,
                page.changes,
                page.failures,
                page.retry_at,
                page.revision,
                page.title,
                page.last_try,
                page.last_outcome.value if page.last_outcome else None,
                page.reason,
                page.duplicate_of,
                page.moved_to,
                page.belief,
                page_number,
            ),
        )

    def _count(self, before: PageRecord, page: PageRecord) -> None:
        self._totals[f"state.{before.state.value}"] -= 1
        self._totals[f"state.{page.state.value}"] += 1
        self._totals["searchable"] += int(is_searchable(page)) - int(is_searchable(before))
        self._totals["changes"] += page.changes - before.changes
        if page.last_outcome is not None:
            self._totals[f"outcome.{page.last_outcome.value}"] += 1

    def _link(self, page_number: int, before: PageRecord, targets: Iterable[int]) -> None:
        """Let a page link to `targets` and to nothing else; the counts are written with the batch."""
        row = None
        if before.last_try is not None:  # else it has never linked to anything
            row = self._connection.execute(QUERIES["links_of"], {"page": page_number}).fetchone()
        old, new = set(_unpacked(row[0]) if row else ()), set(targets)
        if old == new:
            return
        steps = self._steps
        for target in new - old:
            steps[target] += 1
        for target in old - new:
            steps[target] -= 1
        if new:
            self._connection.execute(QUERIES["set_links"], {"page": page_number, "targets": _packed(new)})
        else:
            self._connection.execute(QUERIES["drop_links"], {"page": page_number})

    def _set_text(self, page_number: int, content: Content) -> None:
        packed, body = pack(content.text)
        headings = json.dumps(content.headings, ensure_ascii=False)
        self._connection.execute(
            QUERIES["set_text"], {"page": page_number, "packed": packed, "body": body, "headings": headings}
        )


def _packed(numbers: Iterable[int]) -> bytes:
    return _little_endian(array("q", sorted(numbers))).tobytes()


def _unpacked(data: bytes) -> array[int]:
    return _little_endian(array("q", data))


def _little_endian(numbers: array[int]) -> array[int]:
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers
