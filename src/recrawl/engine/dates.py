"""Whose Last-Modified dates can be believed."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Dates"]

_RECENT_SECONDS = 2.0
_FEWEST = 20
_SHARE = 0.05


class Dates:
    """Believes a site's dates once it has shown enough of them, and hardly any that are simply the time of the access.

    All dates of a site are believed or none: to take only those that look old would make pages look as if they changed
    less often than they do. Dates have a resolution of a second, so a site whose pages change within seconds is not
    believed either.

    >>> dates = Dates()
    >>> old, now = np.zeros(30), np.full(30, 1000.0)
    >>> dates.judge(np.zeros(30, dtype=np.int64), old, now)[[0, 29]].tolist()
    [False, True]
    """

    def __init__(self) -> None:
        self._seen: Counter[int] = Counter()
        self._recent: Counter[int] = Counter()

    def judge(
        self, sites: NDArray[np.integer], dates: NDArray[np.float64], ended: NDArray[np.float64]
    ) -> NDArray[np.bool_]:
        """Note dates of accesses (NaN: none); which of them to believe."""
        believed = np.zeros(sites.size, dtype=np.bool_)
        for place, (site, age) in enumerate(zip(sites.tolist(), (ended - dates).tolist(), strict=True)):
            if math.isnan(age):
                continue
            self._seen[site] += 1
            self._recent[site] += age < _RECENT_SECONDS
            believed[place] = self._seen[site] >= _FEWEST and self._recent[site] <= _SHARE * self._seen[site]
        return believed
