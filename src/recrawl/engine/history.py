"""Measures over time, kept for years in a bounded place: fine for the last minutes, coarser the older they get.

Every sample goes into one row of each tier: the mean of the samples in its stretch of time. Whatever dies, at most
the last sample is missing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["SERIES", "TIERS", "HistoryPoint", "Tier", "choose_tier", "joined", "merged"]

# Names of the values of a sample, in order. New ones come at the end: older rows are shorter.
SERIES = (
    "obsolescence", "obsolescence_bound", "budget_per_second", "accesses_per_second", "changes_per_second",
    "failures_per_second", "bytes_per_second", "change_share", "robots_active", "robots_accessing", "buffer_level",
    "loss", "obsolete", "starvation", "spare", "index_delay_seconds", "loop_lag_seconds", "pages", "uncommitted",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Tier:
    """Rows of `seconds` each, kept for `keeps` seconds."""

    seconds: float
    keeps: float


TIERS = (
    Tier(2.0, 1200.0),
    Tier(30.0, 6 * 3600.0),
    Tier(300.0, 8 * 86400.0),
    Tier(3600.0, 5 * 366 * 86400.0),
)


@dataclass(frozen=True, slots=True)
class HistoryPoint:
    """The mean of `count` samples over a stretch of time that begins at `time`; NaN: not known."""

    time: float
    seconds: float
    count: int
    values: tuple[float, ...]


def merged(count: int, old: Sequence[float], more: int, new: Sequence[float]) -> tuple[float, ...]:
    """The mean of `count` and `more` samples, from the means of each; what one does not know comes from the other.

    >>> merged(1, (1.0, math.nan), 3, (2.0, 5.0))
    (1.75, 5.0)
    """
    size = max(len(old), len(new))
    left = [*old, *(math.nan,) * (size - len(old))]
    right = [*new, *(math.nan,) * (size - len(new))]
    return tuple(
        b if math.isnan(a) else a if math.isnan(b) else (count * a + more * b) / (count + more)
        for a, b in zip(left, right, strict=True)
    )


def choose_tier(begin: float, newest: float) -> int:
    """The finest tier that reaches back to `begin`, when the newest sample is of `newest`.

    >>> [choose_tier(1e9 - age, 1e9) for age in (600.0, 3600.0, 7 * 86400.0, 1e12)]
    [0, 1, 2, 3]
    """
    for place, tier in enumerate(TIERS):
        if begin >= newest - tier.keeps:
            return place
    return len(TIERS) - 1


def joined(points: Iterable[HistoryPoint], begin: float, end: float, most: int) -> list[HistoryPoint]:
    """Neighbours joined so that there are at most `most` points from `begin` to `end`, all of the same width."""
    rows = list(points)
    if not rows:
        return []
    width = rows[0].seconds
    while (math.floor(end / width) - math.floor(begin / width) + 1) > most:
        width *= 2.0
    found: list[HistoryPoint] = []
    for row in rows:
        time = math.floor(row.time / width) * width
        if found and found[-1].time == time:
            last = found[-1]
            values = merged(last.count, last.values, row.count, row.values)
            found[-1] = HistoryPoint(time, width, last.count + row.count, values)
        else:
            found.append(HistoryPoint(time, width, row.count, row.values))
    return found
