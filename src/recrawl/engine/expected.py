"""The freshness that beliefs expect, over a stretch of time and before the truth is seen.

A copy is current from the moment its access ends, whenever that is recorded. So what is expected of it is added up when
the next access of the page has ended, for the whole time between the two, by what was believed before that access: the
integral of the probability that the copy was current. What is still open at the end of the stretch is added then.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from recrawl.engine.pages import PageTable

__all__ = ["Expected"]


class Expected:
    """Adds up expected freshness while it is `since` a time; otherwise does nothing."""

    def __init__(self, table: PageTable) -> None:
        self.table = table
        self.since = math.inf
        self._fresh = self._total = 0.0

    def begin(self, now: float) -> None:
        """A stretch of time begins."""
        self.since, self._fresh, self._total = now, 0.0, 0.0

    def add(self, slots: NDArray[np.int64], last: NDArray[np.float64], ended: NDArray[np.float64]) -> None:
        """Pages were accessed again; nothing is learnt from that yet."""
        begin = np.maximum(last, self.since)
        chosen = np.flatnonzero(ended > begin)
        if not chosen.size:
            return
        slots, begin, span = slots[chosen], begin[chosen], (ended - begin)[chosen]
        weight = self.table.weight[slots]
        self._fresh += float(weight @ self._fresh_time(slots, last[chosen], begin, span))
        self._total += float(weight @ span)

    def _fresh_time(
        self,
        slots: NDArray[np.int64],
        last: NDArray[np.float64],
        begin: NDArray[np.float64],
        span: NDArray[np.float64],
    ) -> NDArray[np.float64]:
        """Time that copies from `last` are expected to be current, from `begin` on.

        With a rate λ, ∫ e^{−λu} du from 0 to τ is what an access regains after τ, plus τe^{−λτ}. Clocks are taken as
        even within each of a few parts of the time.
        """
        parts = self.table.parts
        found = np.zeros(slots.size)
        edges = [self.table.elapsed(slots, last, begin + span * (k / parts)) for k in range(parts + 1)]
        fresh = [self._integral(slots, edge) for edge in edges]
        for k in range(parts):
            step = edges[k + 1] - edges[k]
            with np.errstate(divide="ignore", invalid="ignore"):
                mean = (fresh[k + 1] - fresh[k]) / step
            even = self.table.belief.current_probability(slots, edges[k])
            found += span / parts * np.where(step > 1e-9 * edges[k + 1], mean, even)
        return found

    def _integral(self, slots: NDArray[np.int64], elapsed: NDArray[np.float64]) -> NDArray[np.float64]:
        belief = self.table.belief
        return belief.value(slots, elapsed) + elapsed * belief.current_probability(slots, elapsed)

    def end(self, now: float) -> float:
        """Expected obsolescence of the copies since `begin`; pages that were never accessed do not count."""
        table = self.table
        slots = np.flatnonzero(table.present & ~np.isnan(table.last))
        self.add(slots, table.last[slots], np.full(slots.size, now))
        self.since = math.inf
        return 1.0 - self._fresh / self._total if self._total > 0 else math.nan
