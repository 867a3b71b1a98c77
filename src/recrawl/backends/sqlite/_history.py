"""Measures over time and the latest accesses of pages, in SQLite."""

from __future__ import annotations

import math
import sys
from array import array
from typing import TYPE_CHECKING, TypeVar

from recrawl.backends.sqlite._files import QUERIES
from recrawl.engine.history import TIERS, HistoryPoint, choose_tier, joined, merged
from recrawl.engine.records import KEPT_ACCESSES, AccessNote, Outcome

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

    from recrawl.engine.records import Finding

__all__ = ["accesses_of", "log_access", "note_history", "read_history"]

_OUTCOMES = tuple(Outcome)  # by number; new ones come at the end
_NUMBERS = {outcome: number for number, outcome in enumerate(_OUTCOMES)}
_CHANGED = 128
Number = TypeVar("Number", int, float)
_FORGET_EVERY = 64  # slots of a tier between two cleanings


def log_access(connection: sqlite3.Connection, page: int, finding: Finding, changed: bool) -> None:
    """Add one access to the page's log."""
    access = finding.access
    number = (round(1000.0 * max(access.ended, 0.0)) << 8) + _NUMBERS[access.outcome] + _CHANGED * changed
    values = {"page": page, "entry": number.to_bytes(8, "little"), "most": 8 * KEPT_ACCESSES}
    connection.execute(QUERIES["log_access"], values)


def accesses_of(connection: sqlite3.Connection, url: str) -> list[AccessNote]:
    """The page's log."""
    row = connection.execute(QUERIES["accesses_of"], {"url": url}).fetchone()
    if row is None:
        return []
    numbers = _native(array("Q", bytes(row[0])))
    return [
        AccessNote((number >> 8) / 1000.0, _OUTCOMES[number & (_CHANGED - 1)], bool(number & _CHANGED))
        for number in numbers
    ]


def note_history(connection: sqlite3.Connection, time: float, values: Sequence[float]) -> None:
    """Take a sample into every tier."""
    for place, tier in enumerate(TIERS):
        slot = math.floor(time / tier.seconds)
        where = {"tier": place, "slot": slot}
        row = connection.execute(QUERIES["history_row"], where).fetchone()
        count, means = (0, ()) if row is None else (row[0], _unpacked(row[1]))
        means = merged(count, means, 1, values)
        connection.execute(QUERIES["set_history"], {**where, "count": count + 1, "means": _packed(means)})
        if row is None and slot % _FORGET_EVERY == 0:
            oldest = math.floor((time - tier.keeps) / tier.seconds) - _FORGET_EVERY
            connection.execute(QUERIES["forget_history"], {"tier": place, "slot": oldest})


def read_history(connection: sqlite3.Connection, begin: float, end: float, points: int) -> list[HistoryPoint]:
    """At most so many points, from the tier that reaches back far enough."""
    (newest,) = connection.execute(QUERIES["newest_history"], {"tier": 0}).fetchone()
    if newest is None:
        return []
    place = choose_tier(begin, newest * TIERS[0].seconds)
    width = TIERS[place].seconds
    where = {"tier": place, "first": _slot(begin, width), "last": _slot(end, width)}
    rows = connection.execute(QUERIES["history_between"], where)
    found = (HistoryPoint(slot * width, width, count, _unpacked(means)) for slot, count, means in rows)
    return joined(found, begin, end, points)


def _slot(time: float, width: float) -> int:
    return max(-(2**62), min(2**62, math.floor(time / width)))


def _packed(values: Sequence[float]) -> bytes:
    return _native(array("f", values)).tobytes()


def _unpacked(data: bytes) -> tuple[float, ...]:
    return tuple(_native(array("f", data)))


def _native(numbers: array[Number]) -> array[Number]:
    """From this machine's order of bytes to little endian, or back."""
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers
