"""`recrawl pages`: what is known and believed of each page."""

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

__all__ = ["register"]

_SORTS = {
    "due": lambda row: (row["next_due"] is None, row["next_due"] or 0.0),
    "rate": lambda row: -row["change_rate"],
    "current": lambda row: (row["current_probability"] is None, row["current_probability"] or 0.0),
    "weight": lambda row: -row["weight"],
    "seen": lambda row: row["last_access"] or 0.0,
    "url": lambda row: row["url"],
}


def register(root: typer.Typer) -> None:
    """Hang the command into the command line."""
    root.command(epilog="Example: recrawl pages --sort rate --limit 20")(pages)


def pages(
    data: Data = Path("recrawl-data"),
    sort: Annotated[str, typer.Option(metavar="BY", help="due, rate, current, weight, seen or url.")] = "due",
    site: Annotated[str | None, typer.Option(metavar="HOST", help="Only pages of this site.")] = None,
    state: Annotated[
        str | None, typer.Option(metavar="STATE", help="known, gone, excluded or duplicate.")
    ] = None,
    matching: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Only pages whose URL contains this.")
    ] = None,
    limit: Annotated[int, typer.Option(metavar="N", min=1, help="Most pages that are shown.")] = 20,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write all of them to this CSV or Parquet file instead."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Each page's change rate with a 90 % interval, access interval, next due time, probability that it is current."""
    if sort not in _SORTS:
        raise ConfigError(f"--sort must be one of {', '.join(_SORTS)}, not {sort!r}")
    if state not in (None, "known", "gone", "excluded", "duplicate"):
        raise ConfigError(f"--state must be one of known, gone, excluded, duplicate, not {state!r}")

    async def collect(store: Store, _index: Index) -> list[dict[str, Any]]:
        return await _collect(store, site, state, matching)

    rows = sorted(with_data(data, collect), key=_SORTS[sort])
    if out is not None:
        from recrawl.tables import write_table

        write_table(out, {name: [row[name] for row in rows] for name in _COLUMNS})
        return
    if as_json:
        from recrawl.cli._output import print_json

        print_json(
            {"pages": len(rows), "shown": min(limit, len(rows)), "rows": [_document(r) for r in rows[:limit]]}
        )
    else:
        _print(rows[:limit], len(rows))


async def _collect(
    store: Store, site: str | None, state: str | None, matching: str | None
) -> list[dict[str, Any]]:
    from recrawl.engine.insight import Insight

    chosen = [
        record
        async for record in store.pages()
        if (site is None or record.site == site)
        and (state is None or record.state.value == state)
        and (matching is None or matching in record.url)
    ]
    return [_row(page) for page in (await Insight.of(store)).pages(chosen, time.time())]


_COLUMNS = (
    "url", "site", "state", "title", "depth", "in_links", "weight", "change_rate", "change_rate_low",
    "change_rate_high", "access_interval", "next_due", "current_probability", "accesses", "changes", "failures",
    "last_access", "last_change",
)  # fmt: skip


def _row(page: PageInsight) -> dict[str, Any]:
    record = page.record
    found = {name: getattr(page if hasattr(page, name) else record, name) for name in _COLUMNS}
    return {**found, "state": record.state.value}


def _document(row: dict[str, Any]) -> dict[str, Any]:
    return {**row, **{name: stamp(row[name]) for name in ("next_due", "last_access", "last_change")}}


def _print(rows: list[dict[str, Any]], total: int) -> None:
    from recrawl.cli._output import print_table, significant

    now = time.time()
    table = [
        [
            row["url"],
            row["state"],
            f"{row['accesses']}/{row['changes']}",
            f"{significant(86400 * row['change_rate'], 3)} ({significant(86400 * row['change_rate_low'], 2)}"
            f" to {significant(86400 * row['change_rate_high'], 2)})",
            span(row["access_interval"]),
            "-" if row["next_due"] is None else ago(row["next_due"], now),
            "-" if row["current_probability"] is None else f"{100 * row['current_probability']:.1f} %",
        ]
        for row in rows
    ]
    header = ["page", "state", "accesses/changes", "changes per day", "access every", "due", "current"]
    print_table(header, table, title=f"{len(rows)} of {total:,} pages", left=2)
