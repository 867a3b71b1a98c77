"""Reads histories of the pages of a site: `NAME.pages.csv` and `NAME.events.csv`, plain or gzip."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

import numpy as np

from recrawl.errors import InvalidModel
from recrawl.simulate.histories import SiteHistory
from recrawl.tables._files import open_to_read

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["find_sites", "read_site", "site_of_git"]

_TECHNICAL = 4  # flag of events in which only the extraction changed


def find_sites(place: Path) -> dict[str, tuple[Path, Path]]:
    """Pairs of page and event tables: those of a directory, or the one that `place` names.

    `place` may be either file of a pair, or their path without `.pages.csv`.
    """
    if place.is_dir():
        folder, stem = place, "*"
    else:
        folder, stem = place.parent, place.name
        for part in (".gz", ".csv", ".pages", ".events"):
            stem = stem.removesuffix(part)
    found = {}
    for pages in sorted(folder.glob(f"{stem}.pages.csv")) + sorted(folder.glob(f"{stem}.pages.csv.gz")):
        events = pages.with_name(pages.name.replace(".pages.csv", ".events.csv"))
        if events.exists():
            found[pages.name.split(".pages.csv")[0]] = (pages, events)
    if not found:
        raise InvalidModel(f"no NAME.pages.csv with its NAME.events.csv at {place}")
    return found


def read_site(name: str, pages: Path, events: Path, *, weights: str | None = None) -> SiteHistory:
    """A site from its two tables; `weights` names a column of the page table (an empty cell counts 0).

    Pages: `page_id, path, ...`. Events: `page_id, unix_time, kind, flags`, kind M (changed), A (appeared) or D (gone);
    events with flag 4 (only the extraction changed) are left out.
    """
    numbers: dict[str, int] = {}
    names: list[str] = []
    mass: list[float] = []
    columns = ["page_id", "path"] if weights is None else ["page_id", "path", weights]
    for line, row in _rows(pages, columns):
        numbers[row[0]] = len(names)
        names.append(row[1])
        mass.append(1.0 if weights is None else _number(row[2] or "0", pages, line, columns[2]))
    times, which, kinds = [], [], []
    for line, (page, moment, kind, *flags) in _rows(events, ["page_id", "unix_time", "kind"], "flags"):
        if page not in numbers:
            raise InvalidModel(f"{events}, line {line}: page_id {page!r} is not in {pages.name}")
        if kind not in ("M", "A", "D"):
            raise InvalidModel(f"{events}, line {line}: kind must be M, A or D, not {kind!r}")
        if flags and int(_number(flags[0] or "0", events, line, "flags")) & _TECHNICAL:
            continue
        times.append(_number(moment, events, line, "unix_time"))
        which.append(numbers[page])
        kinds.append("MAD".index(kind))
    if not times:
        raise InvalidModel(f"{events} holds no event")
    return SiteHistory.of(name, names, times, which, kinds, weights=np.array(mass))


def site_of_git(name: str, directory: Path, pattern: str) -> SiteHistory:
    """A git repository as a site: what its main line published, and when."""
    from recrawl.tables.git_history import read_git

    found = read_git(directory, pattern)
    pages, times, kinds, _flags = zip(*found.events, strict=True)
    return SiteHistory.of(
        name, [page.path for page in found.pages], times, pages, ["MAD".index(kind) for kind in kinds]
    )


def _rows(path: Path, columns: list[str], optional: str | None = None) -> Iterator[tuple[int, list[str]]]:
    with open_to_read(path) as stream:
        reader = csv.reader(stream)
        header = next(reader, [])
        missing = [column for column in columns if column not in header]
        if missing:
            raise InvalidModel(f"{path}: no column {missing[0]!r}; there are {', '.join(header) or 'none'}")
        places = [header.index(column) for column in columns]
        places += [header.index(optional)] if optional in header else []
        for row in reader:
            if row:
                if len(row) < len(header):
                    raise InvalidModel(
                        f"{path}, line {reader.line_num}: {len(row)} cells for {len(header)} columns"
                    )
                yield reader.line_num, [row[place] for place in places]


def _number(text: str, path: Path, line: int, column: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InvalidModel(f"{path}, line {line}: {column} must be a number, not {text!r}") from None
