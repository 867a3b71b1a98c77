"""Times as the phase-type fits take them: exact, censored or grouped."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from recrawl.errors import InvalidModel

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["Sample"]


@dataclass(frozen=True)
class Sample:
    """Each time lies in (low, high]: exact where they are equal, censored where high is infinite."""

    low: NDArray[np.float64]
    high: NDArray[np.float64]
    weights: NDArray[np.float64]

    @classmethod
    def of(cls, times: ArrayLike, censored: ArrayLike | None = None) -> Sample:
        """Measured times; where `censored` is true the time was still running when it was last seen.

        >>> Sample.of([1.0, 2.0, 2.0]).count
        3.0
        """
        values = np.asarray(times, dtype=np.float64)
        if values.ndim != 1 or values.size == 0:
            raise InvalidModel(f"a sample is a list of times, not an array of shape {values.shape}")
        bad = np.flatnonzero(~(np.isfinite(values) & (values > 0)))
        if bad.size:
            raise InvalidModel(f"time {bad[0]} of the sample must be positive, not {values[bad[0]]}")
        open_ended = np.zeros(values.size, bool) if censored is None else np.asarray(censored, dtype=bool)
        if open_ended.shape != values.shape:
            raise InvalidModel(f"{open_ended.size} marks of censoring for {values.size} times")
        if open_ended.all():
            raise InvalidModel("all times of the sample are censored")
        # Equal times are one time with a weight: rounded logs become short.
        pairs, counts = np.unique(np.column_stack((values, open_ended)), axis=0, return_counts=True)
        low = np.ascontiguousarray(pairs[:, 0])
        return cls(low, np.where(pairs[:, 1] > 0, np.inf, low), counts.astype(np.float64))

    @classmethod
    def grouped(cls, edges: ArrayLike, counts: ArrayLike) -> Sample:
        """Counts of the times between rising edges; the last edge may be infinite.

        >>> Sample.grouped([0.0, 1.0, float("inf")], [3, 2]).count
        5.0
        """
        cuts = np.asarray(edges, dtype=np.float64)
        numbers = np.asarray(counts, dtype=np.float64)
        if cuts.size != numbers.size + 1 or cuts.ndim != 1 or numbers.size == 0:
            raise InvalidModel(f"{cuts.size} edges do not enclose {numbers.size} groups")
        if not (np.diff(cuts) > 0).all() or cuts[0] < 0:
            raise InvalidModel(f"edges must rise from 0, not {cuts.tolist()}")
        if not (np.isfinite(numbers) & (numbers >= 0)).all() or numbers.sum() == 0:
            raise InvalidModel("counts of groups must not be negative, and not all zero")
        kept = numbers > 0
        return cls(cuts[:-1][kept], cuts[1:][kept], numbers[kept])

    @property
    def count(self) -> float:
        """Number of times."""
        return float(self.weights.sum())

    @property
    def exact(self) -> NDArray[np.bool_]:
        """Which entries are exact times."""
        return np.asarray(self.low == self.high)

    @property
    def is_grouped(self) -> bool:
        """Some entry is a group with a finite end."""
        return bool((~self.exact & np.isfinite(self.high)).any())

    def moment(self, n: int) -> float:
        """n-th moment of the entries; a group counts by its middle, a censored time by the time seen."""
        middle = np.where(np.isfinite(self.high), 0.5 * (self.low + self.high), self.low)
        return float(self.weights @ middle**n / self.count)

    def condensed(self, cells: int) -> Sample:
        """About the same sample in `cells` groups, equal in the logarithm; for quick first looks."""
        if self.low.size <= 2 * cells or not self.exact.all():
            return self
        edges = np.geomspace(self.low.min() * (1 - 1e-9), self.low.max() * (1 + 1e-9), cells + 1)
        counts = np.histogram(self.low, edges, weights=self.weights)[0]
        return Sample.grouped(edges, counts)
