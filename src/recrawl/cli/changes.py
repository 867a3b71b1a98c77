"""`recrawl changes`: every added, changed and removed page, in order."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recrawl.cli._engine import Data, stamp, with_data
from recrawl.errors import ConfigError

if TYPE_CHECKING:
    from recrawl.engine.protocols import Index, Store
    from recrawl.engine.records import Revision

__all__ = ["markdown", "register"]

_CHUNK = 200
_LOOK_SECONDS = 1.0  # between two looks at a store that another process writes


def register(root: typer.Typer) -> None:
    """Hang the command into the command line."""
    root.command(epilog="Example: recrawl changes --since 120 --text")(changes)


def changes(
    data: Data = Path("recrawl-data"),
    since: Annotated[
        int, typer.Option(metavar="CURSOR", min=0, help="Only what came after this cursor.")
    ] = 0,
    follow: Annotated[bool, typer.Option("--follow", help="Wait for more; end with Ctrl-C.")] = False,
    text: Annotated[bool, typer.Option("--text", help="With the extracted text.")] = False,
    as_markdown: Annotated[
        bool, typer.Option("--markdown", help="With the extracted text as Markdown.")
    ] = False,
    limit: Annotated[int | None, typer.Option(metavar="N", min=1, help="Most entries.")] = None,
) -> None:
    """One JSON line per change: cursor, kind, page, time, digest. Keep the last cursor and go on with --since.

    In order, at least once. An entry that a later change of the same page has replaced has "replaced": true and no
    text.
    """
    if text and as_markdown:
        raise ConfigError("--text and --markdown: give one of them")
    form = "markdown" if as_markdown else "text" if text else None

    async def tell(store: Store, _index: Index) -> None:
        await _tell(store, since, follow, form, limit)

    with_data(data, tell)


async def _tell(store: Store, cursor: int, follow: bool, form: str | None, limit: int | None) -> None:
    told = 0
    while True:
        wanted = _CHUNK if limit is None else min(_CHUNK, limit - told)
        revisions = await store.revisions(cursor, wanted) if wanted > 0 else []
        for revision in revisions:
            sys.stdout.write(json.dumps(_entry(revision, form), ensure_ascii=False) + "\n")
        sys.stdout.flush()
        told += len(revisions)
        if revisions:
            cursor = revisions[-1].number
        elif not follow or wanted <= 0:
            return
        else:
            await asyncio.sleep(_LOOK_SECONDS)


def _entry(revision: Revision, form: str | None) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "cursor": revision.number,
        "kind": revision.kind,
        "url": revision.url,
        "site": revision.site,
        "time": stamp(revision.time),
        "digest": revision.digest.hex() if revision.digest else None,
        "replaced": not revision.latest,
    }
    if revision.latest and revision.kind != "removed":
        entry["title"] = revision.title
        if form == "text":
            entry["text"] = revision.text
        elif form == "markdown":
            entry["markdown"] = markdown(revision)
    return entry


def markdown(revision: Revision) -> str:
    r"""Title, text, and headings where the text has them as lines.

    >>> from recrawl.engine.records import Revision
    >>> markdown(Revision(1, "added", "u", "s", 0.0, title="T", text="Part\nWords.", headings=("Part",)))
    '# T\n\n## Part\nWords.'
    """
    headings = list(revision.headings)
    lines = []
    for line in revision.text.split("\n"):
        if headings and line.strip() == headings[0]:
            lines.append(f"## {headings.pop(0)}")
        else:
            lines.append(line)
    title = f"# {revision.title}\n\n" if revision.title else ""
    return title + "\n".join(lines)
