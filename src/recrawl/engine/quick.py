"""Is a copy still current? For a few pages at once, from what the store keeps, without loading compiled code.

The posterior is taken at the grid's own rates, without interpolation: good to a few hundredths.
"""

from __future__ import annotations

import io
import math
import zlib
from typing import TYPE_CHECKING

import numpy as np

from recrawl.engine.waits import WAIT_FIELDS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from recrawl.engine.records import PageRecord

__all__ = ["QuickClocks", "chance"]

_BINS = 64


def chance(
    evidence: NDArray[np.floating], prior: NDArray[np.float64], rates: NDArray[np.float64], elapsed: float
) -> float:
    """Probability that a page has not changed in the time elapsed."""
    weight = prior * np.exp(evidence.astype(np.float64) - float(evidence.max()))
    return float(weight @ np.exp(-rates * max(elapsed, 0.0)) / weight.sum())


class QuickClocks:
    """Clocks of groups as a table with clocks kept them, for reading."""

    def __init__(self, kept: bytes) -> None:
        with np.load(io.BytesIO(zlib.decompress(kept)), allow_pickle=False) as arrays:
            self._arrays: Mapping[str, NDArray[np.generic]] = dict(arrays)
        low, high, points = (float(value) for value in self._arrays["grid"])
        self._rates = np.geomspace(low, high, int(points))
        self._low = low
        ends = np.ones(self._rates.size)
        ends[[0, -1]] = 0.5
        self._prior = np.asarray(self._arrays["density"][0], dtype=np.float64) * ends
        numbers = [*WAIT_FIELDS, ("stamp", "<u4"), ("group", "<i4")]
        page = [("low", "<f8"), ("last", "<f8"), ("state", "u1"), ("evidence", "<f4", (self._rates.size,))]
        self._row = np.dtype([*page, *numbers])
        self._stamp = zlib.crc32(b"\0".join(self._prefixes()))

    def _prefixes(self) -> list[bytes]:
        text, lengths = self._arrays["prefixes.text"].tobytes(), self._arrays["prefixes.lengths"]
        ends = np.cumsum(lengths)
        return [text[end - size : end] for end, size in zip(ends.tolist(), lengths.tolist(), strict=True)]

    def current(self, record: PageRecord, now: float) -> float | None:
        """Probability that the copy of a page is current; None: not known."""
        if len(record.belief) != self._row.itemsize or record.last_access is None:
            return None
        row = np.frombuffer(record.belief, dtype=self._row)[0]
        group = int(row["group"]) if row["stamp"] == self._stamp else self._group(record.url)
        elapsed = self._clock(group, now) - self._clock(group, record.last_access)
        step = math.log(self._rates[1] / self._rates[0])
        shift = round(math.log(float(row["low"]) / self._low) / step)
        return chance(row["evidence"], self._prior, self._rates * math.exp(shift * step), elapsed)

    def _group(self, url: str) -> int:
        from recrawl.engine.clock_pages import Prefixes

        return Prefixes({prefix: number for number, prefix in enumerate(self._prefixes())}).of([url])[0]

    def _clock(self, group: int, time: float) -> float:
        """As `clock_at` of the compiled loops."""
        width, origin = (float(self._arrays["numbers"][place]) for place in (0, 1))
        newest = int(self._arrays["counters"][0])
        place = (time - origin) / width
        oldest, number = newest - _BINS + 1, min(math.floor(place), newest)
        base = float(self._arrays["groups.base"][group])
        if number < oldest:
            return base - (oldest - place) * width
        column = number & (_BINS - 1)
        speed = float(self._arrays["groups.speed"][group, column])
        return base + float(self._arrays["groups.since"][group, column]) + speed * (place - number) * width
