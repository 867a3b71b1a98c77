"""`recrawl search`: ask the index."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recrawl.cli._engine import Data, Json, ago, stamp, with_data

if TYPE_CHECKING:
    from recrawl.engine.protocols import Index, Store

__all__ = ["register"]


def register(root: typer.Typer) -> None:
    """Hang the command into the command line."""
    root.command(epilog="Example: recrawl search 'fresh pages' --site docs.example.org")(search)


def search(
    query: Annotated[
        list[str], typer.Argument(metavar="QUERY", help='Words; "a phrase"; -word to leave out.')
    ],
    data: Data = Path("recrawl-data"),
    site: Annotated[str | None, typer.Option(metavar="HOST", help="Only pages of this site.")] = None,
    limit: Annotated[int, typer.Option(metavar="N", min=1, max=1000, help="Most hits.")] = 10,
    offset: Annotated[int, typer.Option(metavar="N", min=0, help="Hits to pass over.")] = 0,
    as_json: Json = False,
) -> None:
    """Find pages by BM25; each hit says when it was last seen and how probably the copy is still current."""
    words = " ".join(query)

    async def ask(store: Store, index: Index) -> dict[str, Any]:
        return await _answer(store, index, words, site, limit, offset)

    document = with_data(data, ask)
    if as_json:
        from recrawl.cli._output import print_json

        print_json(document)
    else:
        _print(document)


async def _answer(
    store: Store, index: Index, query: str, site: str | None, limit: int, offset: int
) -> dict[str, Any]:
    from recrawl.engine.insight import Insight

    count, hits = await index.search(query, site=site, limit=limit, offset=offset)
    records = [await store.page(hit.url) for hit in hits]
    now = time.time()
    known = {record.url: record for record in records if record is not None}
    chances = (await Insight.of(store)).current(list(known.values()), now)
    current = dict(zip(known, chances, strict=True))
    found = []
    for hit in hits:
        seen = known[hit.url].last_access if hit.url in known else None
        found.append(
            {
                "url": hit.url,
                "site": hit.site,
                "title": hit.title,
                "snippet": hit.snippet,
                "marks": [list(mark) for mark in hit.marks],
                "score": hit.score,
                "revision": hit.revision,
                "last_seen": stamp(seen),
                "last_seen_seconds_ago": None if seen is None else now - seen,
                "current_probability": current.get(hit.url),
            }
        )
    return {"query": query, "site": site, "count": count, "offset": offset, "hits": found}


def _print(document: dict[str, Any]) -> None:
    import sys

    from rich.console import Console
    from rich.text import Text

    console = Console(width=None if sys.stdout.isatty() else 140, highlight=False)
    count = document["count"]
    console.print(f"{count:,} {'page' if count == 1 else 'pages'}", markup=False)
    now = time.time()
    for hit in document["hits"]:
        console.print()
        console.print(Text(hit["title"] or hit["url"], style="bold"))
        seen = None if hit["last_seen_seconds_ago"] is None else now - hit["last_seen_seconds_ago"]
        current = hit["current_probability"]
        fresh = "" if current is None else f", current with probability {100 * current:.1f} %"
        console.print(Text(f"{hit['url']}  (seen {ago(seen, now)}{fresh})", style="dim"))
        snippet = Text(hit["snippet"])
        for begin, end in hit["marks"]:
            snippet.stylize("bold", begin, end)
        console.print(snippet)
