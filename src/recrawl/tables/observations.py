"""Reads what accesses found: one line per access of a page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from recrawl.errors import ConfigError, InvalidModel
from recrawl.estimate.observations import Observations
from recrawl.tables._text import cell_number, cell_time, open_rows

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["ObservationTable", "read_observations"]

_YES = frozenset(("1", "true", "yes", "y", "changed", "t"))
_NO = frozenset(("0", "false", "no", "n", "unchanged", "f"))


@dataclass(frozen=True)
class ObservationTable:
    """Observations with the names of their pages, and what was left out."""

    pages: list[str]
    observations: Observations
    #: Time of each page's last access, where the table has times; NaN otherwise.
    last_access: np.ndarray[tuple[int, ...], np.dtype[np.float64]]
    lines: int
    first_accesses: int
    same_time: int


def read_observations(path: Path) -> ObservationTable:
    """Read a CSV with the columns `page`, `changed`, and `time` or `interval`; optional `last_modified`.

    With `time`, a page's lines must be in order; its first access tells nothing (unless it has a date), and a
    second access at the same time is left out. `changed` is 1 or 0, true or false, yes or no; it may be empty
    on a page's first access. `last_modified` (a time) or `age` (with `interval`) says when the page last
    changed.
    """
    with open_rows(path, ["page", "changed"], ["time", "interval", "last_modified", "age"]) as cells:
        names = cells.names
        if ("time" in names) == ("interval" in names):
            raise ConfigError(f"{path} needs one of the columns time and interval, besides page and changed")
        table = _Table(path, names)
        for line, row in cells:
            table.add(line, dict(zip(names, row, strict=True)))
    if not table.page_of:
        raise InvalidModel(
            f"{path}: no page was accessed twice, so no access tells anything ({table.lines} lines)"
        )
    observations = Observations.of(
        table.page_of, table.intervals, table.changed, table.ages, number_of_pages=len(table.pages)
    )
    last = np.array([table.last.get(place, np.nan) for place in range(len(table.pages))])
    return ObservationTable(
        list(table.pages), observations, last, table.lines, table.first_accesses, table.same_time
    )


class _Table:
    """Rows as they come."""

    def __init__(self, path: Path, names: list[str]) -> None:
        self.path, self.names = path, names
        self.pages: dict[str, int] = {}
        self.last: dict[int, float] = {}
        self.page_of: list[int] = []
        self.intervals: list[float] = []
        self.changed: list[bool] = []
        self.ages: list[float] = []
        self.lines = self.first_accesses = self.same_time = 0

    def add(self, line: int, row: dict[str, str]) -> None:
        self.lines += 1
        page = self.pages.setdefault(row["page"], len(self.pages))
        if "interval" in row:
            interval = cell_number(row["interval"], self.path, line, "interval")
            if interval <= 0:
                raise InvalidModel(
                    f"{self.path}, line {line}, column interval: {row['interval']} is not a positive time"
                )
            age = self._number(row, "age", line)
            self._take(page, interval, self._flag(row, line), age, line)
            return
        time = cell_time(row["time"], self.path, line, "time")
        date = row.get("last_modified", "").strip()
        age = time - cell_time(date, self.path, line, "last_modified") if date else np.nan
        if age < 0:
            raise InvalidModel(
                f"{self.path}, line {line}, column last_modified: {date} is after the access at {row['time']}"
            )
        previous = self.last.get(page)
        if previous is None:
            self.first_accesses += 1
            if date and age > 0:
                self._take(page, np.inf, True, age, line)
        elif time < previous:
            raise InvalidModel(
                f"{self.path}, line {line}, column time: {row['time']} is before the page's access above it"
            )
        elif time == previous:
            self.same_time += 1
        else:
            self._take(page, time - previous, self._flag(row, line), age, line)
        self.last[page] = time

    def _take(self, page: int, interval: float, changed: bool, age: float, line: int) -> None:
        # A date before the last access contradicts a change since then: the content differs, so the change
        # counts and the date does not.
        if changed and age > interval:
            age = np.nan
        if changed and age < 0:
            raise InvalidModel(f"{self.path}, line {line}, column age: {age} is negative")
        self.page_of.append(page)
        self.intervals.append(interval)
        self.changed.append(changed)
        self.ages.append(age if changed else np.nan)

    def _number(self, row: dict[str, str], column: str, line: int) -> float:
        text = row.get(column, "").strip()
        return cell_number(text, self.path, line, column) if text else np.nan

    def _flag(self, row: dict[str, str], line: int) -> bool:
        text = row["changed"].strip().lower()
        if text in _YES:
            return True
        if text in _NO:
            return False
        raise InvalidModel(
            f"{self.path}, line {line}, column changed: {row['changed']!r} is neither 1 nor 0 "
            "(or true and false, yes and no)"
        )
