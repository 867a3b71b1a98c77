"""`recrawl explain`: everything about one page."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recrawl.cli._engine import Data, Json, ago, span, stamp, with_data
from recrawl.errors import ConfigError

if TYPE_CHECKING:
    from recrawl.engine.insight import PageInsight
    from recrawl.engine.protocols import Index, Store
    from recrawl.engine.records import Revision

__all__ = ["register"]


def register(root: typer.Typer) -> None:
    """Hang the command into the command line."""
    root.command(epilog="Example: recrawl explain https://docs.example.org/start --data docs")(explain)


def explain(
    url: Annotated[str, typer.Argument(metavar="URL", help="The page.")],
    data: Data = Path("recrawl-data"),
    as_json: Json = False,
) -> None:
    """What was extracted from a page, when it changed, what is believed of it, and why it is due when it is."""

    async def collect(store: Store, index: Index) -> dict[str, Any]:
        return await _collect(store, index, url)

    document = with_data(data, collect)
    if as_json:
        from recrawl.cli._output import print_json

        print_json(document)
    else:
        _print(document)


async def _collect(store: Store, index: Index, url: str) -> dict[str, Any]:
    from recrawl.engine.insight import Insight
    from recrawl.engine.urls import canonical_url

    name = canonical_url(url)
    record = await store.page(name) if name else None
    if record is None:
        raise ConfigError(f"{url}: this page is not known")
    insight = await Insight.of(store)
    (page,) = insight.pages([record], time.time())
    text = await store.text(record.url)
    searchable = await index.watermark() >= record.revision and record.digest is not None
    return _document(page, text, searchable, insight.policy, insight.price)


def _document(
    page: PageInsight, text: Revision | None, searchable: bool, policy: str, price: float
) -> dict[str, Any]:
    record = page.record
    return {
        "url": record.url,
        "state": record.state.value,
        "duplicate_of": record.duplicate_of,
        "moved_to": record.moved_to,
        "searchable": searchable and record.state.value == "known",
        "found_at": stamp(record.found_at),
        "depth": record.depth,
        "in_links": record.in_links,
        "weight": page.weight,
        "accesses": record.accesses,
        "changes": record.changes,
        "failures": record.failures,
        "last_outcome": record.last_outcome.value if record.last_outcome else None,
        "reason": record.reason,
        "last_access": stamp(record.last_access),
        "last_change": stamp(record.last_change),
        "digest": record.digest.hex() if record.digest else None,
        "revision": record.revision,
        "etag": record.etag,
        "last_modified": stamp(record.last_modified),
        "change_rate_per_day": 86400.0 * page.change_rate,
        "change_rate_per_day_low": 86400.0 * page.change_rate_low,
        "change_rate_per_day_high": 86400.0 * page.change_rate_high,
        "current_probability": page.current_probability,
        "policy": policy,
        "price": price,
        "access_interval_seconds": page.access_interval,
        "next_due": stamp(page.next_due),
        "why_due": _why(page, policy),
        "title": text.title if text else record.title,
        "headings": list(text.headings) if text else [],
        "text": text.text if text else None,
    }


def _why(page: PageInsight, policy: str) -> str:
    record, now = page.record, time.time()
    if record.state.value in ("gone", "excluded"):
        return f"not scheduled: {record.state.value}" + (f", {record.reason}" if record.reason else "")
    if record.retry_at is not None and record.retry_at > now:
        return f"not before {ago(record.retry_at, now)}: {record.reason or 'the last access brought no news'}"
    if record.last_access is None:
        return "never accessed: as soon as an access is free"
    if page.access_interval is None:
        return "an access is never worth the present price: after all other pages"
    if policy == "uniform":
        return f"every page is due {span(page.access_interval)} after its last access"
    if policy == "proportional":
        return f"accessed in proportion to its changes: every {span(page.access_interval)}"
    return (
        f"after {span(page.access_interval)} the freshness that an access regains (weight {page.weight:.3g}, about "
        f"{86400.0 * page.change_rate:.3g} changes per day) reaches the price"
    )


def _print(document: dict[str, Any]) -> None:
    from recrawl.cli._output import print_table, significant

    text = document.pop("text")
    headings = document.pop("headings")
    rows = []
    for name, value in document.items():
        if value is not None and value != "":
            shown = significant(value) if isinstance(value, float) else str(value)
            rows.append([name.replace("_", " "), shown])
    print_table(["page", ""], rows, left=2)
    if headings:
        typer.echo("Headings: " + " | ".join(headings))
    if text is not None:
        typer.echo(f"Extracted text ({len(text):,} characters):")
        typer.echo(text if len(text) <= 2000 else text[:2000] + " ...")
