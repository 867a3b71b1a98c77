"""What all access sequences share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import numpy as np

from recrawl.errors import InvalidModel
from recrawl.revisit.pages import checked_vector

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike, NDArray

__all__ = ["IDLE", "AccessSequence"]

IDLE = -1
"""Stands in a sequence for a slot without access: frequencies that sum to less than 1 leave such slots."""

# When less than this share of the frequencies is left, the rest is laid out anew.
_WORTH_REBUILDING = 0.5


class AccessSequence(ABC):
    """An endless order of accesses that realises given frequencies.

    Iterate over it for one page at a time, or `take(n)` the next n at once (compiled). Pages are numbered from 0, as
    in the frequencies. A page that is gone is taken out by `remove`, and is never returned again; a new one enters
    with the next plan, `replan` [Coffman 1999, Section 6]. Removed pages keep their numbers.
    """

    memoryless = False
    """Whether each access is drawn without regard to those before it."""

    def __init__(self, frequency: ArrayLike) -> None:
        self._set(frequency)
        self._build()

    def _set(self, frequency: ArrayLike) -> None:
        values = checked_vector("frequency", frequency, zero=True)
        total = float(values.sum())
        if total > 1.0 + 1e-6:
            raise InvalidModel(f"frequency sums to {total:.9g}, above 1")
        if total <= 0.0:
            raise InvalidModel("every frequency is zero, so there is nothing to access")
        self._pages = values.size
        idle = 1.0 - total if total < 1.0 - 1e-9 else 0.0
        # The idle slots are one more page, behind the real ones.
        self._frequency = np.append(values, idle) / (total + idle)
        self._alive = (self._frequency > 0).astype(np.uint8)

    @abstractmethod
    def _build(self) -> None:
        """Lay out the pages that are alive, from their frequencies."""

    @abstractmethod
    def start_anywhere(self, rng: np.random.Generator) -> None:
        """Go to a random point of the order, so that independent runs see different stretches of it."""

    @abstractmethod
    def _take(self, out: NDArray[np.int64]) -> None:
        """Fill `out` with the next pages."""

    @property
    def frequency(self) -> NDArray[np.float64]:
        """The frequencies in force, as shares of all slots; zero for pages that are gone."""
        return np.where(self._alive, self._frequency, 0.0)[: self._pages]

    def take(self, count: int) -> NDArray[np.int64]:
        """The next `count` accesses."""
        if not self._alive[: self._pages].any():
            raise InvalidModel("no page is left to access; replan with new ones")
        out = np.empty(int(count), dtype=np.int64)
        self._take(out)
        if self._alive[-1]:
            out[out == self._pages] = IDLE
        return out

    def __iter__(self) -> Iterator[int]:
        return self

    def __next__(self) -> int:
        if not self._alive[: self._pages].any():
            raise StopIteration
        return int(self.take(1)[0])

    def remove(self, page: int) -> None:
        """Never return this page again."""
        if not 0 <= page < self._pages:
            raise InvalidModel(f"page must be from 0 to {self._pages - 1}, not {page}")
        self._alive[page] = 0
        left = float(self._frequency[self._alive > 0].sum())
        if 0 < left < _WORTH_REBUILDING:
            self._frequency = np.where(self._alive, self._frequency / left, 0.0)
            self._replanned(self._frequency * left)

    def replan(self, frequency: ArrayLike) -> None:
        """Go on with new frequencies: the same pages in the same places, new ones appended, 0 for those gone."""
        before = self._frequency[: self._pages] * self._alive[: self._pages]
        self._set(frequency)
        if self._pages < before.size:
            raise InvalidModel(f"the new plan has {self._pages} pages, fewer than the {before.size} so far")
        self._replanned(np.append(before, np.zeros(self._pages - before.size + 1)))

    def _replanned(self, before: NDArray[np.float64]) -> None:  # noqa: ARG002 (a sequence with a memory uses it)
        """Lay out anew; `before` holds the old frequency of each page (0: it was not there)."""
        self._build()
