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
        self._taken = 0
        self._assign(*self._checked(frequency))
        self._build()

    def _checked(self, frequency: ArrayLike) -> tuple[NDArray[np.float64], int]:
        """Frequencies with the idle slots as one more page behind the real ones, and the number of real pages."""
        values = checked_vector("frequency", frequency, zero=True)
        total = float(values.sum())
        if total > 1.0 + 1e-6:
            raise InvalidModel(f"frequency sums to {total:.9g}, above 1")
        if total <= 0.0:
            raise InvalidModel("every frequency is zero, so there is nothing to access")
        idle = 1.0 - total if total < 1.0 - 1e-9 else 0.0
        return np.append(values, idle) / (total + idle), values.size

    def _assign(self, frequency: NDArray[np.float64], pages: int) -> None:
        self._frequency, self._pages = frequency, pages
        self._alive = (frequency > 0).astype(np.uint8)
        self._living = int(self._alive[:pages].sum())
        self._left = 1.0  # the sum of the frequencies of what is alive, idle slots included

    @abstractmethod
    def _build(self) -> None:
        """Lay out the pages that are alive, from their frequencies, and go on where the order is."""

    @abstractmethod
    def start_anywhere(self, rng: np.random.Generator) -> None:
        """Go to a random point of the order, so that independent runs see different stretches of it."""

    @abstractmethod
    def _take(self, out: NDArray[np.int64]) -> None:
        """Fill `out` with the next pages."""

    @property
    def frequency(self) -> NDArray[np.float64]:
        """The frequencies in force, as shares of all slots; zero for pages that are gone."""
        return np.where(self._alive, self._frequency / self._left, 0.0)[: self._pages]

    def take(self, count: int) -> NDArray[np.int64]:
        """The next `count` accesses."""
        if not self._living:
            raise InvalidModel("no page is left to access; replan with new ones")
        out = np.empty(int(count), dtype=np.int64)
        self._take(out)
        self._taken += out.size
        if self._alive[-1]:
            out[out == self._pages] = IDLE
        return out

    def __iter__(self) -> Iterator[int]:
        return self

    def __next__(self) -> int:
        if not self._living:
            raise StopIteration
        return int(self.take(1)[0])

    def remove(self, page: int) -> None:
        """Never return this page again.

        Its slots go to the pages that are left, in proportion, until the next plan: also beyond caps and ceilings
        that the plan had.
        """
        if not 0 <= page < self._pages:
            raise InvalidModel(f"page must be from 0 to {self._pages - 1}, not {page}")
        if not self._alive[page]:
            return
        self._alive[page] = 0
        self._living -= 1
        self._left -= float(self._frequency[page])
        if self._living and self._left < _WORTH_REBUILDING:
            before = np.where(self._alive, self._frequency, 0.0)
            self._frequency = before / before.sum()
            self._left = 1.0
            self._replanned(before)

    def replan(self, frequency: ArrayLike) -> None:
        """Go on with new frequencies: the same pages in the same places, new ones appended, 0 for those gone."""
        checked, pages = self._checked(frequency)
        if pages < self._pages:
            raise InvalidModel(f"the new plan has {pages} pages, fewer than the {self._pages} so far")
        before = np.zeros(pages + 1)
        before[: self._pages] = (self._frequency * self._alive)[: self._pages]
        self._assign(checked, pages)
        self._replanned(before)

    def _replanned(self, before: NDArray[np.float64]) -> None:  # noqa: ARG002 (a sequence with a memory uses it)
        """Lay out anew; `before` holds the old frequency of each page (0: it was not there)."""
        self._build()
