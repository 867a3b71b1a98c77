"""Known change times of pages, and what a robot that visits now and then would see of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from recrawl.errors import InvalidModel
from recrawl.estimate.observations import Observations
from recrawl.laws.law import positive

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["History"]


@dataclass(frozen=True)
class History:
    """Change times of each page (those of a page together, rising), and when each page lived."""

    starts: NDArray[np.int64]
    changes: NDArray[np.float64]
    born: NDArray[np.float64]
    died: NDArray[np.float64]

    @classmethod
    def of(
        cls,
        page_of: NDArray[np.int64],
        times: NDArray[np.float64],
        born: NDArray[np.float64],
        died: NDArray[np.float64],
    ) -> History:
        """From one entry for each change; `born` and `died` also know the pages without one."""
        if (died < born).any():
            page = int(np.flatnonzero(died < born)[0])
            raise InvalidModel(
                f"page {page} disappears at {died[page]:g}, before it appears at {born[page]:g}"
            )
        order = np.lexsort((times, page_of))
        starts = np.searchsorted(page_of[order], np.arange(born.size + 1)).astype(np.int64)
        return cls(starts, times[order].astype(np.float64), born.astype(np.float64), died.astype(np.float64))

    @property
    def pages(self) -> int:
        """Number of pages."""
        return int(self.born.size)

    @property
    def rates(self) -> NDArray[np.float64]:
        """Changes per unit of time that each page lived; NaN for a page that did not live."""
        lived = self.died - self.born
        counts = np.diff(self.starts)
        return np.where(lived > 0, counts / np.where(lived > 0, lived, 1.0), np.nan)

    @property
    def mean_rate(self) -> float:
        """Changes per unit of time of an average living page."""
        return float(self.changes.size / (self.died - self.born).sum())

    def observed(
        self, interval: float, rng: np.random.Generator, *, dated: bool = False
    ) -> tuple[Observations, NDArray[np.float64]]:
        """What a robot sees that visits every page each `interval`, from a random moment on; and when.

        The first visit of a page tells nothing and is left out. With `dated`, every change found carries the
        time of the page's last change.
        """
        interval = positive("interval", interval)
        first = self.born + rng.random(self.pages) * interval
        visits = np.maximum(np.floor((self.died - first) / interval), 0.0).astype(np.int64)
        page = np.repeat(np.arange(self.pages), visits)
        turn = np.arange(page.size) - np.repeat(np.cumsum(visits) - visits, visits)
        now = first[page] + (turn + 1) * interval
        upto = self._count(page, now)
        before = self._count(page, now - interval)
        changed = upto > before
        ages = np.full(page.size, np.nan)
        if dated:
            ages[changed] = now[changed] - self.changes[self.starts[page[changed]] + upto[changed] - 1]
        seen = Observations.of(page, np.full(page.size, interval), changed, ages, number_of_pages=self.pages)
        return seen, now

    def _count(self, page: NDArray[np.int64], time: NDArray[np.float64]) -> NDArray[np.int64]:
        """Changes of each page up to a time (included)."""
        # One search over all pages: times are shifted so that each page has a stretch of its own.
        begin, end = float(self.born.min()), float(self.died.max())
        width = 2.0 * (end - begin) + 1.0
        keys = np.repeat(np.arange(self.pages) * width, np.diff(self.starts)) + (self.changes - begin)
        found = np.searchsorted(keys, page * width + (time - begin), side="right")
        return np.clip(found, self.starts[page], self.starts[page + 1]) - self.starts[page]

    def poisson_twin(self, rng: np.random.Generator) -> History:
        """The same pages with the same lives, changing as Poisson processes of their own mean rates."""
        counts = rng.poisson(np.diff(self.starts).astype(np.float64))
        page = np.repeat(np.arange(self.pages), counts)
        times = self.born[page] + rng.random(page.size) * (self.died - self.born)[page]
        return History.of(page, times, self.born, self.died)
