"""What a finding makes of a page: the one place where these rules are written, for every store.

A page has a text while it has a digest, and is searchable while its state is known besides. Validators (etag, date) are
kept with a text only, so that a page without one is never asked for "only if it changed".
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from recrawl.engine.records import Finding, NewPage, Outcome, PageRecord, State

__all__ = ["after", "announced_again", "first_seen", "is_repeat", "is_searchable", "keeps_text", "new_text"]

# Outcomes that say nothing about the page itself.
_NO_NEWS = frozenset({Outcome.BUSY, Outcome.FAILED, Outcome.REFUSED})


def first_seen(new: NewPage) -> PageRecord:
    """A page that was just found."""
    return PageRecord(
        url=new.url,
        site=new.site,
        state=State.KNOWN,
        depth=new.depth,
        found_at=new.found_at,
        weight=new.weight,
        announced=new.last_modified,
    )


def announced_again(page: PageRecord, new: NewPage) -> PageRecord:
    """A known page that was found again: it takes a weight that is given, and a newer lastmod."""
    weight = page.weight if new.weight is None else new.weight
    dates = [date for date in (page.announced, new.last_modified) if date is not None]
    return replace(page, weight=weight, announced=max(dates, default=None))


def is_repeat(page: PageRecord, finding: Finding) -> bool:
    """Was this very access recorded before? Deliveries may come twice."""
    return page.last_try == finding.access.ended


def is_searchable(page: PageRecord) -> bool:
    """Is the page to be found by a search?"""
    return page.state is State.KNOWN and page.digest is not None


def keeps_text(finding: Finding) -> bool:
    """May the page have a text after this finding? Duplicates do, so that they can take the original's place."""
    return finding.state in (State.KNOWN, State.DUPLICATE) and finding.moved_to is None


def new_text(page: PageRecord, finding: Finding) -> bool:
    """Does the finding bring a text that is not the stored one?"""
    return keeps_text(finding) and finding.content is not None and finding.content.digest != page.digest


def after(page: PageRecord, finding: Finding, number: int) -> tuple[PageRecord, str | None]:
    """The page after a finding, and the kind of revision that it makes: "added", "changed", "removed" or None.

    `number` is the revision that the page gets if it makes one.
    """
    access, content = finding.access, finding.content
    without_news = access.outcome in _NO_NEWS or (
        access.outcome is Outcome.GONE and finding.state is not State.GONE  # not confirmed yet
    )
    fields: dict[str, Any] = {
        "state": finding.state,
        "retry_at": finding.retry_at,
        "leased_until": None,
        "last_try": access.ended,
        "last_outcome": access.outcome,
        "reason": access.reason,
        "duplicate_of": finding.duplicate_of,
        "failures": page.failures + 1 if without_news else 0,
    }
    if finding.belief is not None:
        fields["belief"] = finding.belief
    if not without_news:
        differs = content is None or content.digest != page.digest
        fields["last_access"] = access.ended
        fields["accesses"] = page.accesses + 1
        fields["changes"] = page.changes + int(finding.changed and differs and page.digest is not None)
        fields["moved_to"] = finding.moved_to
    fields |= _text_fields(page, finding)
    kind = _kind(page, finding.state, fields.get("digest", page.digest))
    if kind is not None:
        fields["revision"] = number
    return replace(page, **fields), kind


def _text_fields(page: PageRecord, finding: Finding) -> dict[str, Any]:
    """Digest, title and validators, where a finding changes them."""
    access, content = finding.access, finding.content
    if not keeps_text(finding) or (content is None and page.digest is None):
        return {"digest": None, "etag": None, "last_modified": None}
    fields: dict[str, Any] = {}
    if content is not None and content.digest != page.digest:
        fields |= {"digest": content.digest, "title": content.title, "last_change": access.ended}
    if access.outcome is Outcome.CONTENT:
        fields |= {"etag": access.etag, "last_modified": access.last_modified}
    elif access.outcome is Outcome.NOT_MODIFIED:
        modified = page.last_modified if access.last_modified is None else access.last_modified
        fields |= {"etag": access.etag or page.etag, "last_modified": modified}
    return fields


def _kind(before: PageRecord, state: State, digest: bytes | None) -> str | None:
    if state is not State.KNOWN or digest is None:
        return "removed" if is_searchable(before) else None
    if not is_searchable(before):
        return "added"
    return "changed" if digest != before.digest else None
