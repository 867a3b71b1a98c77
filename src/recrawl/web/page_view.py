"""One page: rows of tables, its history, what was believed of it at each time, why it is due when it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recrawl.engine.records import Outcome
from recrawl.web.documents import AccessEntry, BeliefPoint, PageRow, PageView
from recrawl.web.wording import rate, significant

if TYPE_CHECKING:
    from collections.abc import Sequence

    from recrawl.engine.insight import Insight, PageInsight
    from recrawl.engine.records import AccessNote, Revision

__all__ = ["page_row", "page_view", "replayed", "safe_link", "span", "why_due"]

_TELLING = (Outcome.CONTENT, Outcome.NOT_MODIFIED)
_TEXT = 20_000  # characters of a page's text that are shown


def safe_link(url: str) -> str | None:
    """The URL if it may be a link: http or https, nothing else.

    >>> safe_link("https://a.example/"), safe_link("javascript:alert(1)"), safe_link("//a.example/")
    ('https://a.example/', None, None)
    """
    return url if url.startswith(("http://", "https://")) else None


def span(seconds: float) -> str:
    """A length of time in its natural unit.

    >>> span(0.02), span(90), span(7200), span(3 * 86400)
    ('0.02 s', '1.5 min', '2 h', '3 d')
    """
    for unit, size in (("d", 86400.0), ("h", 3600.0), ("min", 60.0)):
        if seconds >= size:
            return f"{significant(seconds / size)} {unit}"
    return f"{significant(seconds)} s"


def page_row(page: PageInsight, due: float | None) -> PageRow:
    """A page as tables show it."""
    record = page.record
    current = page.current_probability
    return PageRow(
        url=record.url,
        href=safe_link(record.url),
        site=record.site,
        title=record.title,
        state=record.state.value,
        depth=record.depth,
        in_links=max(record.in_links, 0),
        weight=page.weight,
        change_rate=page.change_rate,
        change_rate_low=page.change_rate_low,
        change_rate_high=page.change_rate_high,
        access_interval=page.access_interval,
        next_due=due,
        last_seen=record.last_access,
        last_change=record.last_change,
        current_probability=None if current is None else min(max(current, 0.0), 1.0),
        accesses=record.accesses,
        changes=record.changes,
        failures=record.failures,
    )


def page_view(
    page: PageInsight,
    due: float | None,
    text: Revision | None,
    searchable: bool,
    notes: Sequence[AccessNote],
    insight: Insight,
    now: float,
) -> PageView:
    """Everything about a page. Replays its history: run it in a worker."""
    record = page.record
    return PageView(
        row=page_row(page, due),
        found_at=record.found_at,
        searchable=searchable,
        duplicate_of=record.duplicate_of,
        moved_to=record.moved_to,
        last_outcome=record.last_outcome.value if record.last_outcome else None,
        reason=record.reason,
        etag=record.etag,
        last_modified=record.last_modified,
        announced=record.announced,
        retry_at=record.retry_at,
        digest=record.digest.hex() if record.digest else None,
        revision=record.revision,
        why_due=why_due(page, insight.policy, now),
        policy=insight.policy,
        price=insight.price if insight.price == insight.price else None,
        headings=list(text.headings[:200]) if text else [],
        text=text.text[:_TEXT] if text else None,
        text_characters=len(text.text) if text else 0,
        accesses=[AccessEntry(time=n.time, outcome=n.outcome.value, changed=n.changed) for n in notes],
        belief=replayed(insight, notes),
    )


def replayed(insight: Insight, notes: Sequence[AccessNote]) -> list[BeliefPoint]:
    """What is believed of the rate after each access, with a 90 % interval: one belief for each beginning of the log.

    Today's prior is taken throughout, and dates that servers gave are left out.
    """
    told = [note for note in notes if note.outcome in _TELLING]
    if not told:
        return []
    belief = insight.blank_belief()
    slots = belief.add(len(told))
    for place in range(1, len(told)):
        later = slots[place:]
        elapsed = max(told[place].time - told[place - 1].time, 1e-3)
        belief.update(later, [elapsed] * later.size, [told[place].changed] * later.size)
    rates, bounds = belief.mean_rate(slots), belief.interval(slots, 0.9)
    return [
        BeliefPoint(time=note.time, rate=float(rate), low=float(min(low, rate)), high=float(max(high, rate)))
        for note, rate, (low, high) in zip(told, rates, bounds, strict=True)
    ]


def why_due(page: PageInsight, policy: str, now: float) -> str:
    """Why the page is due when it is, in a sentence."""
    record = page.record
    if record.state.value in ("gone", "excluded"):
        return f"not scheduled: {record.state.value}" + (f", {record.reason}" if record.reason else "")
    if record.retry_at is not None and record.retry_at > now:
        reason = record.reason or "the last access brought no news"
        return f"not for another {span(record.retry_at - now)}: {reason}"
    if record.last_access is None:
        return "never accessed: as soon as an access is free"
    if page.access_interval is None:
        return "an access is never worth the present price: after all other pages"
    if policy == "uniform":
        return f"every page is due {span(page.access_interval)} after its last access"
    if policy == "proportional":
        return f"accessed in proportion to its changes: every {span(page.access_interval)}"
    return (
        f"after {span(page.access_interval)} the freshness that an access regains (weight {significant(page.weight)}, "
        f"changes about {rate(page.change_rate)}) reaches the price"
    )
