"""Histories to replay: of one's own, or of real sites as `recrawl replay` reads them."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

from recrawl.errors import ConfigError, InvalidModel

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["read_changes"]


def read_changes(path: Path) -> tuple[list[tuple[float, int | str]], int | None]:
    """Changes as (seconds from the first one, page), and the number of pages where the history says it.

    `path` is a CSV without header (seconds, page number or path), or one of `NAME.pages.csv` and `NAME.events.csv`
    (plain or gzip), or their common path. Pages of such a site are numbered in the order of their paths: those of
    one directory stay together. A page that appears is there before, and changes then; one that goes stays as it was.
    """
    if ".events.csv" in path.name or ".pages.csv" in path.name or not path.exists():
        return _site(path)
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows = [row for row in csv.reader(file) if row]
            return [(float(row[0]), int(row[1]) if row[1].isdecimal() else row[1]) for row in rows], None
    except (OSError, ValueError, IndexError) as error:
        raise ConfigError(f"{path}: {error}") from None


def _site(path: Path) -> tuple[list[tuple[float, int | str]], int]:
    from recrawl.simulate.histories import GONE
    from recrawl.tables.history import find_sites, read_site

    try:
        (name, files), *_ = find_sites(path).items()
        site = read_site(name, *files)
    except InvalidModel as error:
        raise ConfigError(f"history: {error}") from None
    number = {
        page: place for place, page in enumerate(sorted(range(len(site.names)), key=site.names.__getitem__))
    }
    start = float(site.times[0])
    return [
        (float(time) - start, number[int(page)])
        for time, page, kind in zip(site.times, site.pages, site.kinds, strict=True)
        if kind != GONE
    ], len(site.names)
