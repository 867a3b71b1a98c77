"""Histories of page changes: `NAME.pages.csv` and `NAME.events.csv` (plain or gzip), written and read."""

from __future__ import annotations

import csv
import gzip
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TextIO, cast

import numpy as np

from recrawl.errors import InvalidModel
from recrawl.estimate.histories import History
from recrawl.tables._text import cell_number, open_rows

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["PageRow", "find_histories", "read_history", "write_history"]

_TECHNICAL = 4  # flag of events in which only the extraction changed


@dataclass(frozen=True)
class PageRow:
    """One page: when it was first and last seen, and how often it changed."""

    path: str
    first_seen: int
    last_seen: int | None
    changes: int


def find_histories(place: Path) -> dict[str, tuple[Path, Path]]:
    """Pairs of page and event tables in a directory, by name; or the one that `place` is the stem of."""
    folder, stem = (place, "*") if place.is_dir() else (place.parent, place.name)
    found = {}
    for suffix in ("", ".gz"):
        for pages in sorted(folder.glob(f"{stem}.pages.csv{suffix}")):
            events = pages.with_name(pages.name.replace(".pages.csv", ".events.csv"))
            if events.exists():
                found[pages.name.removesuffix(f".pages.csv{suffix}")] = (pages, events)
    if not found:
        raise InvalidModel(f"no NAME.pages.csv with its NAME.events.csv in {place}")
    return found


def read_history(pages: Path, events: Path) -> History:
    """Changes of every page inside the window of the events; technical ones are left out."""
    rows: dict[str, tuple[int, float, float]] = {}
    with open_rows(pages, ["page_id", "first_seen", "last_seen"]) as cells:
        for line, (page, first, last) in cells:
            born = cell_number(first, pages, line, "first_seen")
            died = cell_number(last, pages, line, "last_seen") if last.strip() else np.inf
            rows[page] = (len(rows), born, died)
    page_of, times = [], []
    begin, end = np.inf, -np.inf
    with open_rows(events, ["page_id", "unix_time", "kind"], ["flags"]) as cells:
        for line, row in cells:
            time = cell_number(row[1], events, line, "unix_time")
            begin, end = min(begin, time), max(end, time)
            flags = int(row[3] or 0) if len(row) > 3 else 0
            if row[2] != "M" or flags & _TECHNICAL:
                continue
            if row[0] not in rows:
                raise InvalidModel(
                    f"{events}, line {line}, column page_id: {row[0]!r} is not in {pages.name}"
                )
            page_of.append(rows[row[0]][0])
            times.append(time)
    if not times:
        raise InvalidModel(f"{events} holds no change")
    born_at = np.array([max(row[1], begin) for row in rows.values()])
    died_at = np.array([min(row[2], end) for row in rows.values()])
    return History.of(np.array(page_of), np.array(times), born_at, died_at)


def _open(path: Path) -> TextIO:
    if path.suffix == ".gz":
        return cast("TextIO", gzip.open(path, "wt", encoding="utf-8", newline=""))
    return path.open("w", encoding="utf-8", newline="")


def write_history(
    stem: Path, pages: Iterable[PageRow], events: Iterable[tuple[int, int, str, int]], *, packed: bool = True
) -> tuple[Path, Path]:
    """Write both tables beside each other; returns their paths."""
    ending = ".csv.gz" if packed else ".csv"
    stem.parent.mkdir(parents=True, exist_ok=True)
    first, second = Path(f"{stem}.pages{ending}"), Path(f"{stem}.events{ending}")
    with _open(first) as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["page_id", "path", "first_seen", "last_seen", "n_changes"])
        for number, page in enumerate(pages):
            gone = "" if page.last_seen is None else page.last_seen
            writer.writerow([number, page.path, page.first_seen, gone, page.changes])
    with _open(second) as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["page_id", "unix_time", "kind", "flags"])
        writer.writerows(events)
    return first, second
